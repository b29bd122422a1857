"""What One page of checks says, decided: its pasted lines by themselves, and its three kinds."""

import ast
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from ropebook.widgets import BugLamps
from ropebook.widgets.bug_lamps.widget import BUGS, TESTS
from ropelib import inv_freq, reference
from ropelib.diagnosis import diagnose

ROOT = Path(__file__).parents[2]
CELLS = json.loads((ROOT / "book/rope/checks.ipynb").read_text("utf-8"))["cells"]
LESSONS = ["".join(c["source"]) for c in CELLS if "lesson" in c["metadata"].get("tags", [])]


@pytest.fixture
def pasted():
    """What a reader gets who pastes the page's lines into a file: nothing else is there."""
    names = {}
    exec("\n".join(LESSONS), names)
    return names["check_rotation"]


def rotation(layout="half", base=10_000.0, sign=1, at=lambda position: position):
    def rotate(x, position):
        speeds = inv_freq(len(x), base)
        matrix = reference.rotation_matrix(sign * at(position), speeds, layout=layout)
        return matrix.numpy() @ x

    return rotate


def wrong(found):
    return [test for test, ok in found.items() if not ok]


def test_the_lines_to_paste_need_numpy_alone():
    imported = [
        name.name
        for lesson in LESSONS
        for node in ast.walk(ast.parse(lesson))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    ]
    assert imported == ["numpy"]
    assert all(len(lesson.splitlines()) <= 20 for lesson in LESSONS)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize(("d", "base"), [(64, 10_000.0), (2, 10_000.0), (128, 500_000.0)])
def test_a_right_rotation_passes(pasted, layout, d, base):
    assert wrong(pasted(rotation(layout, base), d=d, layout=layout, base=base)) == []


@pytest.mark.parametrize(
    ("broken", "noticed"),
    [
        (rotation(sign=-1), ["formula"]),
        (rotation("interleaved"), ["formula"]),
        (rotation(base=100.0), ["formula"]),
        (rotation(at=lambda m: torch.tensor(float(m)).bfloat16().item()), ["far"]),
        (rotation(at=lambda m: m + 1), ["at 0", "formula"]),
        (lambda x, m: 1.01 * rotation()(x, m), ["length", "at 0", "formula"]),
        (
            lambda x, m: rotation()(x, m * (1 + m / 1000)),
            ["7 on", "far", "formula"],
        ),
    ],
)
def test_a_broken_one_is_noticed_by_these(pasted, broken, noticed):
    assert wrong(pasted(broken)) == noticed


def test_in_the_plane_it_sees_no_seats(pasted):
    assert wrong(pasted(rotation("interleaved"), d=2, layout="half")) == []


def test_float32_passes_with_the_tolerance_that_the_page_names(pasted):
    def rotate(x, position):
        angles = np.float32(position) * inv_freq(64).numpy().astype(np.float32)
        cos, sin = np.cos(angles), np.sin(angles)
        a, b = np.split(x.astype(np.float32), 2)
        return np.concatenate((a * cos - b * sin, a * sin + b * cos))

    assert "far" in wrong(pasted(rotate))
    assert wrong(pasted(rotate, atol=1e-2)) == []


def test_laws_are_obeyed_by_every_rotation():
    """A wrong speed, a wrong width, a mirror, wrong seats for both: no law notices."""
    laws = {"length", "zero", "push", "alike"}
    for bugs in (("exponent",), ("width",), ("q_sign", "k_sign"), ("q_seat", "k_seat")):
        assert not laws & set(BugLamps.with_bugs(*bugs).lit), bugs


def test_four_bugs_are_invisible_to_the_original_and_two_tests_find_three_of_them():
    lit = {bug: set(BugLamps.with_bugs(bug).lit) for bug in BUGS}
    unseen = {bug for bug in BUGS if "original" not in lit[bug]}
    assert unseen == {"rounded", "from_one", "restart", "reread"}
    assert {bug for bug in unseen if lit[bug] & {"far", "cache"}} == unseen - {"from_one"}


def test_no_single_test_notices_all():
    lit = [set(BugLamps.with_bugs(bug).lit) for bug in BUGS]
    for test in TESTS:
        assert 0 < sum(test in found for found in lit) < len(BUGS)


def test_positions_from_1_do_harm_once_half_of_the_code_counts_from_0():
    q = rotation(at=lambda m: m + 1)
    x, y = np.random.default_rng(0).normal(size=(2, 64))
    right = rotation()(x, 3) @ rotation()(y, 1)
    assert np.isclose(q(x, 3) @ q(y, 1), right)
    assert not np.isclose(q(x, 3) @ rotation()(y, 1), right)


def test_diagnose_names_the_rounded_positions_from_257_on():
    def rotate(x, position_ids):
        at = position_ids.to(torch.bfloat16).double()
        return reference.rotate(x, at, inv_freq(64), layout="half").to(x.dtype)

    report = diagnose(rotate, max_position=2048)
    assert report.codes == ("positions-in-bfloat16",)
