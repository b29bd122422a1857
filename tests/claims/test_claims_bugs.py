"""What The museum of shipped bugs says of its bugs as a whole, decided."""

import pytest

from ropebook.exercises.definitions import DEFINITIONS
from ropebook.museum import EXHIBITS, HALLS
from ropebook.museum.elsewhere import ELSEWHERE
from ropebook.museum.walls import Walls


@pytest.fixture(scope="module")
def walls():
    return Walls(HALLS.values())


def test_about_two_in_three_are_found_by_measuring_alone(walls):
    alone = 1 - walls.told / len(EXHIBITS)
    assert 0.6 < alone < 0.72
    right = next(option for option in DEFINITIONS["told or not"].options if option.right)
    assert right.text == "About two in three."


def test_what_has_to_be_told_is_right_for_another_model(walls):
    """The rotation alone has no fault; what it was meant to be is what shows it."""
    for exhibit in EXHIBITS.values():
        report, told = walls.reports[exhibit.name]
        if told and not report.ok:
            code = report.codes[0]
            assert code.endswith(("-as-expected", "-missing")) or exhibit.meant.axis_of_pairs


def test_what_hangs_elsewhere_hangs_nowhere_else():
    threads = {exhibit.where for exhibit in EXHIBITS.values()}
    assert len({where for _, where, _ in ELSEWHERE}) == len(ELSEWHERE)
    assert not threads & {where for _, where, _ in ELSEWHERE}
