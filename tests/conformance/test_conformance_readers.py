"""The readers of `examples/conformance`: plain, short, and none is to be fooled."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from javascript import node
from toc import ROOT

EXAMPLES = ROOT / "examples" / "conformance"
FLAGS = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"]
NUMBERS = ["inv_freq", "attention_factor", "position_ids", "cos", "sin", "q", "k"]
NUMBERS += ["q_rotated", "k_rotated"]


def compiler():
    """A C compiler: that of the environment, or the first there is."""
    named = os.environ.get("CC", "").split()
    return next(filter(None, map(shutil.which, [*named[:1], "cc", "gcc", "clang", "tcc"])), None)


def compiled(source, folder):
    """Compile a reader in C, without a warning."""
    if compiler() is None:
        pytest.skip("no C compiler: the reader in C was NOT tested")
    program = folder / "reader"
    flags = FLAGS if "tcc" not in os.path.basename(compiler()) else FLAGS[:1]
    command = [compiler(), *flags, source, "-o", program, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def made(source, folder):
    """Return a function that runs a reader on a folder of vectors: its exit status, its lines."""
    if source.suffix == ".c":
        program = [compiled(source, folder)]
    else:
        program = [node() if source.suffix == ".mjs" else sys.executable, source]

    def read(folder):
        name = "vectors.txt" if source.suffix == ".c" else "vectors.json"
        with open(folder / name) as file:
            arguments = [] if source.suffix == ".c" else [folder / name]
            done = subprocess.run(
                [*program, *arguments], stdin=file, capture_output=True, text=True, timeout=300
            )
        assert not done.stderr
        return done.returncode, done.stdout.splitlines()

    return read


SOURCES = ["reader.py", "reader.c", "reader.mjs"]


@pytest.fixture(scope="module", params=SOURCES)
def reader(request, tmp_path_factory):
    """A reader as it stands."""
    return made(EXAMPLES / request.param, tmp_path_factory.mktemp("reader"))


def test_what_was_written_is_right(reader, written):
    count = len(written.vectors["cases"])
    status, said = reader(written.folder)
    assert status == 0 and f"{count} of {count} right" in said
    assert not any(line.startswith("wrong") for line in said)


def flipped(written, folder):
    """Copy the files with one sign flipped in each of some cases; say which, and of what."""
    done = {}
    vectors = json.loads((written.folder / "vectors.json").read_text("ascii"))
    lines = (written.folder / "vectors.txt").read_text("ascii").splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("name ")]
    for number, case in enumerate(vectors["cases"]):
        if number % 3:
            continue
        key = NUMBERS[(number // 3) % len(NUMBERS)]
        (at,) = (
            i for i in range(starts[number], starts[number] + 16) if lines[i].startswith(f"{key} ")
        )
        words = lines[at].split(" ")
        # The last that is far from zero and not at position 0, where no sign matters.
        place = max(i for i, word in enumerate(words[2:]) if abs(float(word)) > 1e-5)
        words[2 + place] = str(-float(words[2 + place]))
        lines[at] = " ".join(words)
        case[key], rest = with_sign_flipped(case[key], place)
        assert rest < 0
        done[case["name"]] = key
    (folder / "vectors.json").write_text(json.dumps(vectors), "ascii")
    (folder / "vectors.txt").write_text("\n".join(lines) + "\n", "ascii")
    return done


def with_sign_flipped(value, place):
    """The nested list with the number at a flat place negated, and what is left of the place."""
    if not isinstance(value, list):
        return (-value if place == 0 else value), place - 1
    parts = []
    for part in value:
        part, place = with_sign_flipped(part, place)
        parts.append(part)
    return parts, place


def test_one_flipped_sign_is_caught(reader, written, tmp_path):
    done = flipped(written, tmp_path)
    assert set(done.values()) == set(NUMBERS) and len(done) > 25
    status, said = reader(tmp_path)
    count = len(written.vectors["cases"])
    assert status == 1 and f"{count - len(done)} of {count} right" in said
    named = {line.removeprefix("wrong ") for line in said if not line.startswith("right ")}
    assert named - {f"{count - len(done)} of {count} right"} == set(done)


# Where a reader's own rotation has its positions, and the same counted from 1.
OWN_ANGLES = {
    "reader.py": ("in tables(at,", "in tables(at + 1,"),
    "reader.c": ("(at[i] * freq[i])", "((at[i] + 1) * freq[i])"),
    "reader.mjs": ("of(at[i] *", "of((at[i] + 1) *"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_rotation_with_angles_of_its_own_is_tested_with_them(name, written, tmp_path):
    text, (old, new) = (EXAMPLES / name).read_text("ascii"), OWN_ANGLES[name]
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new), "ascii")
    status, said = made(tmp_path / name, tmp_path)(written.folder)
    assert status == 1 and f"0 of {len(written.vectors['cases'])} right" in said


# The same with angles off by a part of themselves, as in float32, and what allows it.
OFF = {
    "reader.py": ("in tables(at,", "in tables(at * (1 + 1e-8),"),
    "reader.c": ("(at[i] * freq[i])", "(at[i] * freq[i] * (1 + 1e-8))"),
    "reader.mjs": ("of(at[i] *", "of((1 + 1e-8) * at[i] *"),
}
GRADE = {
    "reader.py": ("ANGLES, BETWEEN = 0, 0", "ANGLES, BETWEEN = 2**-19, 0"),
    "reader.c": ("ANGLES = 0,", "ANGLES = 0x1p-19,"),
    "reader.mjs": ("BETWEEN] = [0,", "BETWEEN] = [2 ** -19,"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_reader_allows_what_the_grade_allows_that_it_is_set_to(name, written, tmp_path):
    text = (EXAMPLES / name).read_text("ascii").replace(*OFF[name])
    (tmp_path / name).write_text(text, "ascii")
    status, said = made(tmp_path / name, tmp_path)(written.folder)
    assert status == 1
    assert name == "reader.py" or sum("are right with ANGLES =" in line for line in said) == 1
    assert GRADE[name][0] in text
    (tmp_path / name).write_text(text.replace(*GRADE[name]), "ascii")
    status, said = made(tmp_path / name, tmp_path)(written.folder)
    count = len(written.vectors["cases"])
    assert status == 0 and f"{count} of {count} right" in said
    assert not any("ANGLES" in line for line in said)


# Where a reader's own rotation has cosine and sine, and the same a little too long.
TOO_LONG = {
    "reader.py": ("(t.astype(np.float32)", "((t * {by}).astype(np.float32)"),
    "reader.c": ("*a = first", "c *= {by}, s *= {by}, *a = first"),
    "reader.mjs": ("(of) => by * of(at[i]", "(of) => {by} * by * of(at[i]"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_reader_calls_exact_what_the_page_does(name, written, tmp_path):
    """Pairs too long by more than half a unit and 2^-22 are not, in any case; by a tenth, all."""
    text, (old, new) = (EXAMPLES / name).read_text("ascii"), TOO_LONG[name]
    assert text.count(old) == 1
    count = len(written.vectors["cases"])
    for by, right in (("1.0000006", 0), ("1.00000003", count)):
        (tmp_path / name).write_text(text.replace(old, new.format(by=by)), "ascii")
        status, said = made(tmp_path / name, tmp_path)(written.folder)
        assert status == (right == 0) and f"{right} of {count} right" in said


def test_no_case_at_all_is_not_right(reader, tmp_path):
    (tmp_path / "vectors.json").write_text('{"format":1,"generator":1,"cases":[]}', "ascii")
    (tmp_path / "vectors.txt").write_text("format 1 1\ngenerator 1 1\n", "ascii")
    status, said = reader(tmp_path)
    assert status == 1 and said == ["0 of 0 right"]


@pytest.mark.parametrize("name", SOURCES)
def test_a_reader_is_short_and_needs_nothing_of_ours(name):
    text = (EXAMPLES / name).read_text("ascii")
    lines = text.splitlines()
    assert len(lines) < (40 if name == "reader.py" else 45) and max(map(len, lines)) <= 120
    assert "ropelib" not in text and "torch" not in text
