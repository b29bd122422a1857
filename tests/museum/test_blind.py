"""The blind tests pass on their bugs, and the one that sees does not."""

import pytest
from bs4 import BeautifulSoup

from ropebook.museum import EXHIBITS
from ropebook.museum.blind import BLIND, sees, verdict
from ropebook.museum.room import HEADS, MEANS, Room

every = pytest.mark.parametrize("blind", BLIND, ids=lambda blind: blind.test.__name__)


@every
def test_a_bug_passes_the_blind_test(blind):
    said = verdict(blind.test, EXHIBITS[blind.bug])
    assert said == ("skipped" if blind.test.__name__ == "skipped" else "passes")


@every
def test_the_test_that_sees_tells_the_bug_from_its_mend(blind):
    assert verdict(sees, EXHIBITS[blind.bug]) == "fails"
    assert verdict(sees, EXHIBITS[blind.bug], mended=True) == "passes"


def test_a_blind_test_is_not_blind_to_everything():
    """All but those that never compare fail where the positions are shifted."""
    shifted = {
        blind.test.__name__: verdict(blind.test, EXHIBITS["the first document's places"])
        for blind in BLIND
    }
    assert shifted["unasserted"] == "passes" and shifted["skipped"] == "skipped"
    assert shifted["copied_from_the_code"] == "fails"


def test_the_room_says_what_each_verdict_means():
    shown = BeautifulSoup(Room(BLIND)._repr_html_(), "html.parser")
    heads = [head.get_text() for head in shown.select("thead th")]
    rows = shown.select("tbody tr")
    assert tuple(heads[1:]) == HEADS and len(rows) == len(BLIND)
    for blind, row in zip(BLIND, rows, strict=True):
        exhibit = EXHIBITS[blind.bug]
        said = [cell.get_text().lstrip("✓✗ ") for cell in row.find_all("td")]
        assert [cell["data-head"] for cell in row.find_all("td")] == list(HEADS)
        assert said[0].startswith(verdict(blind.test, exhibit)) and said[0].endswith("missed")
        assert said[1].startswith(verdict(sees, exhibit)) and said[1].endswith("seen")
        assert said[2].startswith(verdict(sees, exhibit, mended=True)) and "right" in said[2]
        kinds = [cell.span["class"] for cell in row.find_all("td")]
        assert kinds == [["rope-museum-bad"], ["rope-museum-good"], ["rope-museum-good"]]


def test_a_test_that_fails_what_is_mended_is_no_good():
    assert MEANS["fails", True][0] == "bad" and MEANS["passes", True][0] == "good"
    assert {MEANS[said, False][0] for said in ("passes", "skipped")} == {"bad"}
