"""What The museum of shipped bugs says of its bugs as a whole, decided."""

import math

import pytest
import torch

from ropebook.exercises.definitions import DEFINITIONS
from ropebook.museum import EXHIBITS, HALLS
from ropebook.museum.elsewhere import ELSEWHERE
from ropebook.museum.plan import Plan
from ropebook.museum.walls import Walls


@pytest.fixture(scope="module")
def walls():
    return Walls(HALLS.values())


def test_about_two_in_three_are_found_by_measuring_alone(walls):
    assert 0.6 < walls.found / len(EXHIBITS) < 0.72
    right = next(option for option in DEFINITIONS["told or not"].options if option.right)
    assert right.text == "About two in three."


OF_NO_MODEL = {  # a rotation that agrees with itself, and that nobody means
    *("frequencies-unfilled", "base-beyond-sense", "exponents-from-a-half", "exponents-from-one"),
    *("inverted-ramp", "frequencies-in-bfloat16"),
}


def test_most_of_what_is_found_contradicts_itself(walls):
    alone = [e for e in EXHIBITS.values() if Plan(walls).state(e) == "alone"]
    assert len(alone) == walls.found
    against = [e for e in alone if e.part != "decode" and e.code not in OF_NO_MODEL]
    assert len(alone) / 2 < len(against) < len(alone)
    assert any(e.part == "decode" for e in alone) and any(e.code in OF_NO_MODEL for e in alone)


def test_what_a_fold_recomputes_is_so():
    """The cosine at position 15,962, with the position in bfloat16 and as it is."""
    exhibit = EXHIBITS["tables made in bfloat16"]
    x, ids = torch.zeros(1, 1, 1, 64), torch.tensor([15_962])
    x[..., 0] = 1
    for rotation, at in ((exhibit.mended(), 15_962), (exhibit.wrong(), 15_936)):
        cosine = rotation(x, ids)[..., 0].item()
        assert cosine == pytest.approx(math.cos(at), abs=1e-3)
        assert f"{at:,}" in exhibit.saw and f"{math.cos(at):.3f}" in exhibit.saw


def test_what_has_to_be_told_is_right_for_another_model(walls):
    """The rotation alone has no fault; what it was meant to be is what shows it."""
    for exhibit in EXHIBITS.values():
        report, told = walls.reports[exhibit.name]
        if told and not report.ok:
            code = report.codes[0]
            named = code.endswith(("-as-expected", "-missing", "-as-linear"))
            assert named or exhibit.meant.axis_of_pairs


def test_what_hangs_elsewhere_hangs_nowhere_else():
    threads = {exhibit.where for exhibit in EXHIBITS.values()}
    assert len({where for _, where, _ in ELSEWHERE}) == len(ELSEWHERE)
    assert not threads & {where for _, where, _ in ELSEWHERE}
