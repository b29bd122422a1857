"""The tool that measures the tests: what it changes, what it leaves, and that it finds a gap."""

import ast
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import mutants as tool


def changes(source):
    return {(m.old, m.new) for m in tool.mutants(source)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 3", {("3", "4")}),
        ("x = 0.5", {("0.5", "0.75")}),
        ("x = 0.0", {("0.0", "1.0")}),
        ("x = 1e-3", {("1e-3", "1.0")}),
        ("x = True", {("True", "False")}),
        ("x = -y", {("-y", "(y)")}),
        ("x = not y", {("not y", "(y)")}),
        ("x = a + b", {("a + b", "(a - b)")}),
        ("x = a ** b", {("a ** b", "(a * b)")}),
        ("x = a and b", {("a and b", "(a or b)")}),
        ("x = a < b", {("a < b", "(a >= b)")}),
        ("x = a < 2", {("a < 2", "(a >= 2)"), ("a < 2", "(a <= 2)"), ("2", "3")}),
        ("x = a is None", {("a is None", "(a is not None)")}),
        ("if a: b()", {("a", "False")}),
        ("x = a if b else c", {("b", "False")}),
        ("x = [a for a in b if a]", {("a", "False")}),
        ("x = a[1:]", {("1", "2")}),
    ],
)
def test_each_kind_of_thing_has_its_mutants(source, expected):
    assert changes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        'x = "a 1 < 2"',
        'x = f"{a + 1:.3f}"',
        '"""One of 2."""',
        "def f(a: Literal[1]) -> Literal[2]: ...",
        "x: Literal[1]",
        "raise ValueError(a + 1)",
        "x = a < b < c",
        "x = a @ b",
    ],
)
def test_words_and_what_is_raised_are_left_alone(source):
    assert changes(source) == set()


def test_a_mutant_changes_its_place_and_nothing_else():
    source = 'é = "é"; x = (1 +\n    2) * y  # é\nz = 1\n'
    for mutant in tool.mutants(source):
        ast.parse(mutant.apply(source))
    found = {str(m): m.apply(source) for m in tool.mutants(source)}
    assert found[":1: `1 + 2` -> `(1 - 2)`"] == 'é = "é"; x = ((1 - 2)) * y  # é\nz = 1\n'
    assert found[":3: `1` -> `2`"] == source.replace("z = 1", "z = 2")
    assert len(found) == 5


def test_a_sample_is_drawn_by_its_seed_from_every_file_of_a_module():
    first = tool.sample(tool.ROOT, ["encodings", "axes"], 40, 1)
    assert first == tool.sample(tool.ROOT, ["encodings", "axes"], 40, 1)
    assert first != tool.sample(tool.ROOT, ["encodings", "axes"], 40, 2)
    assert len(set(first)) == 40 and len({m.path for m in first}) > 3
    assert all(m.path.startswith(("ropelib/encodings/", "ropelib/axes.py")) for m in first)
    every = tool.sample(tool.ROOT, ["axes"], 10**6, 1)
    assert every == tool.mutants((tool.ROOT / "ropelib/axes.py").read_text(), "ropelib/axes.py")


@pytest.mark.parametrize("module", tool.MODULES.split())
def test_every_module_has_tests_and_mutants(module):
    drawn = tool.sample(tool.ROOT, [module], 10, 1)
    assert drawn
    for mutant in drawn:
        assert all(
            (tool.ROOT / name.partition("::")[0]).exists() for name in tool.tests_of(mutant.path)
        )


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "ropelib").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "ropelib/__init__.py").touch()
    (tmp_path / "ropelib/sums.py").write_text(
        "def add(a, b):\n    return a + b\n\ndef close(a, b):\n    return a < b + 1\n"
    )
    (tmp_path / "tests/test_sums.py").write_text(
        "from ropelib.sums import add, close\n\n"
        "def test_sums():\n    assert add(1, 2) == 3 and close(0, 5)\n"
    )
    return tmp_path


def test_what_no_test_notices_is_found(tree, capsys):
    source = (tree / "ropelib/sums.py").read_text()
    drawn = tool.sample(tree, ["sums"], 100, 1)
    left = tool.run(tree, drawn, jobs=1)
    assert {(m.old, m.new) for m in left} == {("b + 1", "(b - 1)"), ("1", "2")}
    assert {m.line for m in left} == {5} and len(drawn) == 4
    assert capsys.readouterr().out.splitlines() == [str(m) for m in left]
    assert (tree / "ropelib/sums.py").read_text() == source


def test_tests_that_fail_as_they_are_say_nothing(tree):
    (tree / "tests/test_sums.py").write_text("def test_sums():\n    assert False\n")
    with pytest.raises(
        RuntimeError, match=r"some of .*tests/test_sums.py.* fail, or take too long"
    ):
        tool.run(tree, tool.sample(tree, ["sums"], 1, 1), jobs=1)


def test_tests_that_never_end_are_stopped_and_count_as_failed(tree):
    (tree / "tests/test_sums.py").write_text("while True:\n    pass\n")
    assert tool.fails(tree, ["tests/test_sums.py"], seconds=1)


@pytest.mark.parametrize("test", ["tests/test_sums.py", "tests/test_sums.py::test_sums"])
def test_a_module_that_cannot_be_imported_counts_as_failed(tree, test):
    assert not tool.fails(tree, [test], seconds=60)
    (tree / "ropelib/sums.py").write_text("raise TypeError")
    assert tool.fails(tree, [test], seconds=60)


def test_tests_that_cannot_run_are_no_failure(tree):
    (tree / "tests/test_sums.py").write_text("")
    with pytest.raises(RuntimeError, match=r"pytest exits with 5 for \['tests/test_sums.py'\]"):
        tool.fails(tree, ["tests/test_sums.py"], seconds=60)
