"""The page "Check yours": what it tells a reader to copy is run, word for word."""

import importlib
import json
import re
import shlex
import sys

import pytest
import torch
import yaml
from toc import ROOT

from ropebook.site.reports import diagnosed
from ropelib import diagnosis
from ropelib.__main__ import main
from ropelib.config.gallery import GALLERY, slug
from ropelib.diagnosis.codes import CODES

PAGE = (ROOT / "book/practice/check_yours.md").read_text("utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


COMMANDS = re.findall(r"^\$ python -m ropelib (.*)$", "".join(blocks("console")), re.MULTILINE)
(WORKFLOW,) = map(yaml.safe_load, blocks("yaml"))
CELLS = blocks("python")
DIAGNOSED = re.findall(
    r"^```\{diagnosed\} (\S+)\n((?::\S+:\n)*)(.*?)^```", PAGE, re.MULTILINE | re.DOTALL
)

ROPE = """
from ropelib import apply_rotary, cos_sin, inv_freq

def rotate(x, position_ids):
    return apply_rotary(x, *cos_sin(position_ids, inv_freq(x.shape[-1])), layout="half")

def step(x, position_ids):
    return rotate(x, position_ids)
"""
NUMPY = """
import numpy as np

def rotate(x, position_ids):
    inv_freq = 10000 ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = position_ids[..., None, :, None] * inv_freq
    (a, b), cos, sin = np.split(x, 2, axis=-1), np.cos(angles), np.sin(angles)
    return np.concatenate((a * cos - b * sin, a * sin + b * cos), axis=-1).astype(x.dtype)
"""
COURSE = """
import torch

class RotaryPositionalEmbedding(torch.nn.Module):
    def __init__(self, theta, d_k, max_seq_len, device=None):
        super().__init__()
        angles = torch.arange(max_seq_len)[:, None] / theta ** (torch.arange(0, d_k, 2) / d_k)
        self.cos, self.sin = angles.cos(), angles.sin()

    def forward(self, x, token_positions):
        cos, sin = self.cos[token_positions], self.sin[token_positions]
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)

def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return RotaryPositionalEmbedding(theta, d_k, max_seq_len)(in_query_or_key, token_positions)
"""
IMAGES = """
import torch

from ropelib import apply_rotary, inv_freq
from ropelib.axes import axial_cos_sin, axial_inv_freq

def mrope(x, position_ids):
    tables = axial_cos_sin(position_ids, inv_freq(x.shape[-1]), sections=[16, 24, 24])
    return apply_rotary(x, *tables, layout="half")

def by_row_and_column(x, rows, columns):
    places = torch.stack((rows, columns))
    tables = axial_cos_sin(places, axial_inv_freq(64, 2), sections=[16, 16])
    return apply_rotary(x, *tables, layout="half")
"""
CONFIG = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 8,
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "vocab_size": 8,
    "rope_theta": 10000.0,
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What the page speaks of: files of code, and a configuration."""
    (tmp_path / "rope.py").write_text(ROPE)
    (tmp_path / "numpy_rope.py").write_text(NUMPY)
    (tmp_path / "course.py").write_text(COURSE)
    (tmp_path / "images.py").write_text(IMAGES)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path
    for name in ("rope", "numpy_rope", "course", "images"):
        sys.modules.pop(name, None)


def run(line, capsys):
    status = main(shlex.split(line))
    return status, capsys.readouterr()


def test_there_is_a_command_for_each_kind_of_reader():
    told = " ".join(COMMANDS)
    for word in ("rope.py:rotate", "LlamaRotaryEmbedding", "inspect", "course.py", "conformance"):
        assert word in told
    assert len(CELLS) == 5


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_page_runs_as_it_stands(line, folder, capsys):
    status, said = run(line, capsys)
    assert (status, said.err) == (0, "")
    assert "is right" in said.out or not line.startswith("diagnose")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_of_the_page_runs_as_it_stands(cell, folder, capsys):
    if "transformers" in cell:
        pytest.importorskip("transformers")
    namespace = {}
    exec(cell, namespace)
    tests = [made for name, made in namespace.items() if name.startswith("test_")]
    for test in tests:
        test()
    said = capsys.readouterr().out
    assert len(tests) == 1 or said.count("This rotation is right") == cell.count("print(")


def test_the_choices_lead_to_the_sections_of_the_page():
    chosen = re.findall(
        r"^- \[[^]]+\]\(#([^)]+)\)$", PAGE.split("{.rope-choices}")[1], re.MULTILINE
    )
    headings = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(chosen) <= slugs and len(set(chosen)) == 8


def test_one_way_stands_open_and_each_other_is_folded():
    folded = set(re.findall(r"^\{[^}]*\.deeper\}\n## (.+)$", PAGE, re.MULTILINE))
    open_ones = [one for one in re.findall(r"^## (.+)$", PAGE, re.MULTILINE) if one not in folded]
    assert open_ones == [
        *("What do you have?", "With the library", "A function in a file"),
        *("It is right, and the model is still wrong", "What it answers"),
    ]


def test_reports_of_the_page_are_what_the_command_prints(folder, capsys):
    verdicts = []
    shown = [(name, code) for name, options, code in DIAGNOSED if "could-not" not in options]
    for name, code in shown:
        (folder / "rope.py").write_text(code)
        status, said = run(f"diagnose {name}", capsys)
        command, _, report = diagnosed(name, code).partition("\n")
        assert command == f"$ python -m ropelib diagnose {name}" and report == said.out.rstrip()
        verdicts.append((status, report.partition("\n")[0]))
    wrong, right = verdicts
    assert wrong == (1, "This rotation is wrong: interleaved-angles-on-half-pairs.")
    assert right[0] == 0 and right[1].startswith("This rotation is right")
    (line,) = set(shown[1][1].splitlines()) - set(shown[0][1].splitlines())
    assert line.partition("=")[2].strip() in CODES["interleaved-angles-on-half-pairs"].fix


def test_the_numbers_in_the_box_are_what_the_first_function_makes_of_the_vector():
    pytest.importorskip("anywidget")
    from ropebook.widgets import VectorCheck

    (cell,) = re.findall(r"^```\{code-cell\} python3\n.*?\n\n(.*?)^```", PAGE, re.M | re.DOTALL)
    assert cell.split() == "from ropebook.widgets import VectorCheck VectorCheck()".split()
    check, namespace = VectorCheck(), {}
    exec(DIAGNOSED[0][2], namespace)
    x = torch.tensor(check.x, dtype=torch.float64).reshape(1, 1, 1, -1)
    made = namespace["rotate"](x, torch.tensor([check.position])).flatten()
    assert made.tolist() == pytest.approx(check.numbers, abs=6e-5)
    assert check.verdict == "interleaved-angles-on-half-pairs"
    mended = {}
    exec(DIAGNOSED[1][2], mended)
    check.pasted = str(mended["rotate"](x, torch.tensor([check.position])))
    assert (check.verdict, check.layout) == ("right", "half")


def test_each_way_to_fail_is_shown_as_it_is_said(folder, capsys):
    heads = []
    for name, options, code in DIAGNOSED:
        if "could-not-run" not in options:
            continue
        report = diagnosed(name, code, could_not_run=True).splitlines()
        assert report[0] == f"$ python -m ropelib diagnose {name}"
        assert report[1].startswith("This rotation could not be checked") and report[1][:27] in PAGE
        heads.append(report[2:])
        if "string_at" not in code:  # that would end this process
            (folder / "rope.py").write_text(code)
            status, said = run(f"diagnose {name}", capsys)
            assert (status, said.err.splitlines()) == (2, report[1:])
    raises, absent, crash = heads
    line = '    return x * tables["cos"][position_ids]'
    assert raises[1] == f"       raised at: rope.py, line 7: {line.strip()}"
    assert absent == ["  rotation  rope.py:rotary", "  why       module rope.py has no rotary"]
    assert crash[1].startswith("  why       the process crashed with SIGSEGV: ")
    with pytest.raises(ValueError, match=r"rope\.py:rotate must be a function that cannot"):
        diagnosed("rope.py:rotate", ROPE, could_not_run=True)


def test_a_page_shows_no_report_of_what_cannot_be_checked():
    with pytest.raises(ValueError, match=r"(?s)rope\.py:absent must be .* has no absent"):
        diagnosed("rope.py:absent", "")


def test_the_names_that_are_told_are_those_of_the_gallery():
    told = PAGE.split("## Names that `--expected` knows\n\n")[1].split("\n\n")[0]
    assert re.findall(r"`([^`]+)`", told) == list(map(slug, GALLERY))


def test_a_turn_clockwise_is_noted_and_wrong_where_it_is_not_expected(folder, capsys):
    (folder / "rope.py").write_text(ROPE.replace("cos_sin(position_ids", "cos_sin(-position_ids"))
    status, said = run("diagnose rope.py:rotate", capsys)
    assert status == 0 and "note   clockwise" in said.out
    status, said = run("diagnose rope.py:rotate --head-dim 128 --expected llama-2-7b", capsys)
    code = re.search(r"if its weights want the other way, it says `(.*)`", PAGE)[1]
    assert status == 1 and f"wrong: {code}." in said.out


def test_what_is_right_for_the_exercise_is_wrong_for_the_weights(folder, capsys):
    line = "diagnose course.py:RotaryPositionalEmbedding"
    assert run(line, capsys)[0] == 0
    told, code = re.search(r"Name it: `([^`]*)` says `([^`]*)`", PAGE).groups()
    status, said = run(f"{line} {told}", capsys)
    assert status == 1 and f"This rotation is wrong: {code}." in said.out


def test_the_words_that_adapt_exist():
    words = re.findall(r"^- `(\w+)\(.*`: ", PAGE, re.MULTILINE)
    assert len(words) == 4
    assert all(callable(getattr(diagnosis, word)) for word in words)


def test_the_workflow_runs_the_command_and_installs_this_repository(folder, capsys):
    (job,) = WORKFLOW["jobs"].values()
    install, check = (step["run"] for step in job["steps"] if "run" in step)
    assert install == "pip install third_party/rope-book" and install.split()[-1] in PAGE
    status, said = run(check.removeprefix("python -m ropelib "), capsys)
    assert (status, json.loads(said.out)["status"]) == (0, "right")


def keys_told():
    table = PAGE.split("What `--json` prints")[1].split("{.deeper}")[0]
    return re.findall(r"^\| `([a-z._]+)` \|", table, re.MULTILINE)


def test_the_table_of_keys_is_what_json_prints(folder, capsys):
    for name, status in (("rope:rotate", "right"), ("rope:absent", "could-not-run")):
        _, said = run(f"diagnose {name} --max-position 64 --json", capsys)
        told = json.loads(said.out)
        assert told["status"] == status and f'"{status}"' in PAGE
        report = told["report"] or {}
        keys = [*told, *(f"report.{key}" for key in report)]
        assert set(keys) <= set(keys_told())
    assert set(keys_told()) == {*told, *(f"report.{k}" for k in _report(capsys))}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("raise ValueError", "call-raises"),
        ("while True: pass", "call-hangs"),
        ("return x[..., :3]", "shape-not-kept"),
        ("return x * float('nan')", "not-finite"),
        ("return x.to('meta')", "device-not-kept"),
        ("return None", None),
        ("return x.tolist()", None),
    ],
)
def test_a_report_is_null_only_where_there_is_no_code(body, code, folder, capsys):
    """Of what cannot be measured; `absent` above and a crash have no code and no report either."""
    (told,) = re.findall(r"^\| `report` \| (.*) \|$", PAGE, re.MULTILINE)
    assert "its one finding has" in told and told.endswith(
        "null only where [there is no code](#what-could-not-be-checked) either"
    )
    (folder / "rope.py").write_text(f"def rotate(x, position_ids):\n    {body}\n")
    status, said = run("diagnose rope.py:rotate --timeout 2 --json", capsys)
    told = json.loads(said.out)
    assert (status, told["status"]) == (2, "could-not-run") and told["error"]
    codes = told["report"] and [finding["code"] for finding in told["report"]["findings"]]
    assert codes == (code and [code])


def _report(capsys):
    return json.loads(run("diagnose rope:rotate --max-position 64 --json", capsys)[1].out)["report"]


def test_what_a_finding_has_is_told():
    told = re.search(r"each has (.*) \|", PAGE)[1]
    finding = importlib.import_module("ropelib.diagnosis").Finding
    assert set(re.findall(r"`([a-z]+)`", told)) == {*finding.__dataclass_fields__, "mend"}
