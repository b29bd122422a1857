"""`python -m ropelib`: what it prints, and its exit status."""

import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from ropelib.__main__ import COULD_NOT_RUN, main
from ropelib.config import RopeConfig, layer_types, report
from ropelib.config.gallery import GALLERY

ROTATIONS = """
import torch
from ropelib import apply_rotary, cos_sin, inv_freq

def right(x, position_ids):
    num_dims = x.shape[-1]
    return apply_rotary(x, *cos_sin(position_ids, inv_freq(num_dims)), layout="half")

def late(x, position_ids):
    return right(x, position_ids + 1)

def restarts(x, position_ids):
    return right(x, torch.arange(x.shape[2]))

def two(q, k, c, d):
    return q

def nothing(x, position_ids):
    pass

def raises(x, position_ids):
    raise KeyError("cos_cached")

def sequence_first(x, position_ids):
    assert x.shape[1] == position_ids.shape[-1]
    return right(x.transpose(1, 2), position_ids).transpose(1, 2)

class Unmeasured(torch.Tensor):
    # What a rotation returns, and what raises when it is asked for its shape.
    error = MemoryError("no memory\\nfor \\x1b[31mthis")

    @property
    def shape(self):
        raise self.error

def out_of_memory(x, position_ids):
    return Unmeasured()

def colored(x, position_ids):
    raise RuntimeError("64 and 32 \\x1b[31mred")

number = 3
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rotations.py").write_text(ROTATIONS)
    (tmp_path / "broken.py").write_text("1 / 0")
    return tmp_path


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Run a command in this process, which has imported torch already."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", sys.path.copy())

    def run(*arguments):
        for name in ("rotations", "broken"):  # another folder's, perhaps
            monkeypatch.delitem(sys.modules, name, raising=False)
        try:
            status = main(arguments)
        except SystemExit as stop:  # argparse
            status = stop.code
        said = capsys.readouterr()
        return SimpleNamespace(returncode=status, stdout=said.out, stderr=said.err)

    yield run
    for name in ("rotations", "broken"):
        sys.modules.pop(name, None)


@pytest.fixture
def shell(folder):
    def shell(*arguments):
        command = [sys.executable, "-m", "ropelib", *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True)

    return shell


def test_what_is_worth_a_warning_is_a_note_without_the_line_of_code(shell, folder):
    (folder / "unknown.json").write_text(
        '{"model_type": "foo", "head_dim": 64, "rope_theta": 10000.0}'
    )
    read = shell("inspect", "unknown.json")
    assert read.stderr == "note: layout is not known for model_type 'foo'\n"
    assert read.returncode == 0 and read.stdout
    (folder / "warns.py").write_text("import warnings; warnings.warn('own'); rotate = None")
    others = shell("diagnose", "warns.py:rotate")
    assert "warns.py:1: UserWarning: own" in others.stderr


def test_a_shell_sees_status_output_and_errors(shell):
    right = shell("diagnose", "rotations:right", "--head-dim", "32")
    assert (right.returncode, right.stderr) == (0, "")
    assert "This rotation is right." in right.stdout
    absent = shell("inspect", "absent.json")
    assert (absent.returncode, absent.stdout) == (2, "")
    assert "absent.json" in absent.stderr and absent.stderr.count("\n") == 1


@pytest.mark.parametrize(("name", "status"), [("late", 1), ("right", 0)])
def test_who_closes_the_pipe_hears_the_verdict_and_nothing_else(folder, name, status):
    reads, writes = os.pipe()
    os.close(reads)
    command = [sys.executable, "-m", "ropelib", "diagnose", f"rotations:{name}"]
    command += ["--max-position", "64"]
    done = subprocess.run(command, cwd=folder, stdout=writes, stderr=subprocess.PIPE, text=True)
    os.close(writes)
    assert (done.returncode, done.stderr) == (status, "")


def test_a_right_rotation_exits_with_0_and_prints_the_report(run):
    result = run("diagnose", "rotations:right", "--head-dim", "32")
    assert (result.returncode, result.stderr) == (0, "")
    assert "This rotation is right." in result.stdout
    assert "32 of 32" in result.stdout and "base 10000" in result.stdout


def test_a_wrong_rotation_exits_with_1_and_is_named(run):
    result = run("diagnose", "rotations:late", "--max-position", "300")
    assert (result.returncode, result.stderr) == (1, "")
    assert "off-by-one" in result.stdout and "0 to 299" in result.stdout


def test_decoding_can_be_another_function(run):
    result = run("diagnose", "rotations:right", "--decode", "rotations:restarts")
    assert result.returncode == 1 and "decode-restarts-at-zero" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing:rotate"], "module missing cannot be imported: ModuleNotFoundError"),
        (["broken:rotate"], "module broken cannot be imported: ZeroDivisionError"),
        (["rotations:absent"], "module rotations has no absent"),
        (["rotations"], "a function is named module:function, got rotations"),
        (["rotations:two"], "rotate must take (x, position_ids): missing a required argument"),
        (["rotations:nothing"], "rotate must return a tensor, got None"),
        (["rotations:raises"], "rotate raised KeyError for x (1, 3, 5, 64)"),
        (["rotations:number"], "rotate must be callable, got 3"),
        (["rotations:right", "--head-dim", "1"], "head_dim must be at least 2, got 1"),
        (["rotations:right", "--head-dim", "1000000"], "head_dim must be at most 1024"),
        (["rotations:right", "--max-position", "1" + "0" * 12], "max_position must be at most"),
        (["rotations:right", "--timeout", "-1"], "timeout must be positive, got -1"),
        (["rotations:out_of_memory"], "MemoryError: no memory for \\x1b[31mthis"),
        (["math:\x1b[31mx"], "module math has no \\x1b[31mx"),
        (["rotations:right", "--layer-type", "sliding_attention"], "--expected, which is missing"),
    ],
)
def test_what_cannot_run_exits_with_2_and_says_why_in_a_report(run, arguments, message):
    result = run("diagnose", *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    head, *rest = result.stderr.splitlines()
    assert head.startswith("This rotation could not be checked")
    assert sum(message in line for line in rest) == 1 and 2 <= len(rest) <= 4
    assert all(line.isprintable() for line in rest)


def test_a_report_says_which_line_of_the_rotation_raised(run):
    said = run("diagnose", "rotations:raises").stderr.splitlines()
    assert said[0] == "This rotation could not be checked: call-raises."
    number = ROTATIONS.splitlines().index('    raise KeyError("cos_cached")') + 1
    assert said[2] == f'       raised at: rotations.py, line {number}: raise KeyError("cos_cached")'
    assert said[3].startswith("       usual cause: ") and said[4].startswith("       mend: ")


def test_a_report_is_safe_to_print(run):
    result = run("diagnose", "rotations:colored")
    assert result.returncode == 1 and "64 and 32 \\x1b[31mred" in result.stdout
    assert "\x1b" not in result.stdout


def test_a_text_report_is_safe_to_print():
    config = RopeConfig(64, 64, 10_000.0, "half", assumed=("base \x1b[31mred",))
    assert "  assumed          base \\x1b[31mred\n" in report(config)


def test_a_rotation_of_the_other_order_of_axes_is_judged_in_it(run):
    result = run("diagnose", "rotations:sequence_first")
    assert result.returncode == 1 and "takes-sequence-first" in result.stdout
    options = ["--seq-first", "--decode", "rotations:sequence_first"]
    result = run("diagnose", "rotations:sequence_first", *options)
    assert (result.returncode, result.stderr) == (0, "")
    assert "This rotation is right" in result.stdout


def test_a_file_is_named_by_its_path_and_finds_its_neighbors(run, folder, monkeypatch):
    inner = folder / "inner"
    inner.mkdir()
    (inner / "neighbor.py").write_text("from rotations import late, right")
    (inner / "given.py").write_text("from neighbor import late, right")
    for name in ("given", "neighbor"):
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, name)
    result = run("diagnose", "inner/given.py:right", "--max-position", "64")
    assert (result.returncode, result.stderr) == (0, "")
    result = run("diagnose", str(inner / "given.py:late"), "--max-position", "64")
    assert result.returncode == 1 and "off-by-one" in result.stdout
    result = run("diagnose", "inner/absent.py:right")
    assert result.returncode == 2 and "inner/absent.py cannot be imported" in result.stderr


@pytest.mark.parametrize(
    ("name", "status", "exits", "codes"),
    [
        ("right", "right", 0, []),
        ("late", "wrong", 1, ["off-by-one"]),
        ("raises", "could-not-run", 2, ["call-raises"]),
        ("absent", "could-not-run", 2, None),
        ("chatty", "right", 0, []),
    ],
)
def test_json_is_one_object_whatever_happens(run, folder, name, status, exits, codes):
    with (folder / "rotations.py").open("a") as file:
        file.write('print("imported")\ndef chatty(x, ids):\n    print(x.shape)\n')
        file.write("    return right(x, ids)\n")
    result = run("diagnose", f"rotations:{name}", "--max-position", "64", "--json")
    told = json.loads(result.stdout)
    assert (result.returncode, told["status"], told["schema"]) == (exits, status, 1)
    assert told["rotation"] == f"rotations:{name}"
    assert (told["error"] is None) == (exits != 2)
    if codes is None:
        assert told["report"] is None and "module rotations has no absent" in told["error"]
        return
    assert [finding["code"] for finding in told["report"]["findings"]] == codes
    assert told["report"]["ok"] == (exits == 0)
    if exits < 2:
        assert len(told["report"]["inv_freq"]) == 32 and told["report"]["head_dim"] == 64
    if name == "chatty":
        assert "torch.Size" in result.stderr


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no alarm to set here")
@pytest.mark.parametrize(
    ("source", "asked"),
    [
        ("while True: pass", ["endless:rotate"]),
        ("while True: pass", ["endless:rotate", "--json"]),
        ("def __getattr__(name):\n    while True: pass", ["endless:rotate"]),
        ("while True: pass", ["rotations:right", "--expected", "endless:rotate"]),
        ("while True: pass", ["rotations:right", "--decode", "endless:rotate"]),
    ],
)
def test_loading_may_take_as_long_as_a_call(run, folder, source, asked):
    (folder / "endless.py").write_text(source)
    try:
        result = run("diagnose", *asked, "--timeout", "3")
    finally:
        sys.modules.pop("endless", None)
    said = "loading endless:rotate took longer than 3 s"
    assert result.returncode == 2
    if "--json" in asked:
        told = json.loads(result.stdout)
        assert (told["status"], told["error"], told["report"]) == ("could-not-run", said, None)
    else:
        assert result.stdout == "" and f"  why       {said}\n" in result.stderr


def test_it_is_compared_with_a_model_by_name_and_with_another_implementation(run):
    given = ["diagnose", "rotations:right", "--max-position", "64"]
    result = run(*given, "--head-dim", "128", "--expected", "llama-2-7b")
    assert (result.returncode, result.stderr) == (0, "")
    result = run(*given, "--head-dim", "128", "--expected", "llama-3-8b")
    assert result.returncode == 1 and "base-not-as-expected" in result.stdout
    assert run(*given, "--expected", "rotations:right").returncode == 0
    result = run(*given, "--expected", "rotations:late")
    assert result.returncode == 2 and "expected must be right itself" in result.stderr
    result = run(*given, "--expected", "lama")
    assert result.returncode == 2 and "one of roformer, " in result.stderr


def test_help_says_what_the_exit_status_means(run):
    said = " ".join(run("diagnose", "--help").stdout.split())
    assert "Exit status: 0 right, notes included; 1 wrong; 2 could not be checked" in said


def test_no_command_and_unknown_commands_exit_with_2(run):
    assert run().returncode == run("dance").returncode == 2


LLAMA_3 = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_attention_heads": 4,
    "head_dim": 64,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}


def test_inspect_reads_a_configuration(run, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA_3))
    result = run("inspect", "config.json")
    assert (result.returncode, result.stderr) == (0, "")
    assert "llama3" in result.stdout and "500000" in result.stdout.replace(",", "").replace(" ", "")


def test_a_rotation_is_compared_with_a_configuration(run, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA_3))
    result = run("diagnose", "rotations:right", "--expected", "config.json")
    assert result.returncode == 1 and "as-expected" in result.stdout


def test_a_rotation_is_compared_with_one_kind_of_layer(run, folder):
    config = GALLERY["Gemma 3 12B"].config
    (folder / "config.json").write_text(json.dumps(config))
    given = ["diagnose", "rotations:right", "--head-dim", "256", "--max-position", "300"]
    given += ["--expected", "config.json"]
    result = run(*given)
    assert result.returncode == 2 and "layer_type must be given" in result.stderr
    result = run(*given, "--layer-type", "sliding_attention")  # base 10 000, unscaled
    assert (result.returncode, result.stderr) == (0, "")
    result = run(*given, "--layer-type", "full_attention")
    assert result.returncode == 1 and "-not-as-expected" in result.stdout


def test_a_missing_configuration_exits_with_2(run):
    result = run("inspect", "absent.json")
    assert (result.returncode, result.stdout) == (2, "")
    assert "absent.json" in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", GALLERY)
def test_inspect_reads_its_own_gallery(run, folder, name):
    config = GALLERY[name].config
    (folder / "config.json").write_text(json.dumps(config))
    result = run("inspect", "config.json")
    assert (result.returncode, result.stderr) == (0, "")
    expected = [report(RopeConfig.from_hf(config, kind)) for kind in layer_types(config)]
    assert result.stdout == "\n\n".join(expected) + "\n"
    assert result.stdout.count("Verdict: ") == (2 if "Gemma 3" in name else 1)


def test_inspect_reads_one_kind_of_layer(run, folder):
    config = GALLERY["Gemma 3 12B"].config
    (folder / "config.json").write_text(json.dumps(config))
    result = run("inspect", "config.json", "--layer-type", "sliding_attention")
    assert result.stdout == report(RopeConfig.from_hf(config, "sliding_attention")) + "\n"
    result = run("inspect", "config.json", "--layer-type", "other")
    assert (result.returncode, result.stdout) == (2, "")
    assert "layer_type must be one of" in result.stderr and result.stderr.count("\n") == 1


def test_inspect_leaves_out_layers_that_do_not_rotate(run, folder):
    parts = {"still": None, "moving": {"rope_theta": 5000.0}}
    config = {key: value for key, value in LLAMA_3.items() if "rope" not in key}
    (folder / "config.json").write_text(json.dumps(config | {"rope_parameters": parts}))
    result = run("inspect", "config.json")
    assert result.returncode == 0 and "moving layers" in result.stdout
    result = run("inspect", "config.json", "--layer-type", "still")
    assert result.returncode == 2 and "'still' do not rotate" in result.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 10_000, "nested at most 100 deep"),
        ('{"model_type": "\\u001b[2J\\u202e", "head_dim": 7}', "not seem to rotate"),
        ('{"head_dim": ' + "9" * 6000 + "}", "head_dim must be"),
    ],
)
@pytest.mark.filterwarnings("ignore:model_type")
def test_hostile_files_exit_with_2_and_a_line_that_is_safe_to_print(run, folder, text, message):
    (folder / "config.json").write_text(text)
    result = run("inspect", "config.json")
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr and result.stderr[:-1].isprintable()
    assert len(result.stderr) < 400


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("raise SystemExit(0)", "module exits cannot be imported: SystemExit: 0"),
        ("import sys; rotate = lambda x, ids: sys.exit(0)", "rotate raised SystemExit for x (1, "),
        (
            "import sys; from ropelib import RotaryEmbedding\n"
            "class Exits(RotaryEmbedding):\n"
            "    def forward(self, q, k, position_ids): sys.exit(0)\n"
            "rotate = Exits(64, layout='half')",
            "rotate raised SystemExit for x (1, ",
        ),
        (
            "import sys\ndef __getattr__(name): sys.exit(0)",
            "exits:rotate cannot be loaded: SystemExit: 0",
        ),
        (
            "import sys\n"
            "class Exits:\n"
            "    def __call__(self, x, ids): return x\n"
            "    __signature__ = property(lambda self: sys.exit(0))\n"
            "rotate = Exits()",
            "reading the signature raised SystemExit: 0",
        ),
    ],
)
def test_a_module_that_exits_does_not_decide_the_status(
    source, message, tmp_path, monkeypatch, capsys
):
    (tmp_path / "exits.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert main(["diagnose", "exits:rotate"]) == COULD_NOT_RUN
    finally:
        sys.modules.pop("exits", None)
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith("This rotation could not be checked")
    assert message in told.err and "Traceback" not in told.err


@pytest.mark.parametrize("source", ["raise KeyboardInterrupt", "def rotate(x, ids): {}"])
def test_control_c_stops_the_command_line_too(source, tmp_path, monkeypatch):
    (tmp_path / "stops.py").write_text(source.format("raise KeyboardInterrupt"))
    monkeypatch.syspath_prepend(tmp_path)
    try:
        with pytest.raises(KeyboardInterrupt):
            main(["diagnose", "stops:rotate"])
    finally:
        sys.modules.pop("stops", None)
