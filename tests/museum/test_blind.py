"""The blind tests pass on their bugs, and the one that sees does not."""

import pytest
from bs4 import BeautifulSoup
from toc import ROOT

from ropebook.museum import EXHIBITS
from ropebook.museum.blind import BLIND, sees, verdict
from ropebook.museum.room import MEANS, Room

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
    *rows, last = shown.select("tbody tr")
    assert len(rows) == len(BLIND)
    for blind, row in zip(BLIND, rows, strict=True):
        said = row.td.get_text().lstrip("✓✗ ")
        assert said.startswith(verdict(blind.test, EXHIBITS[blind.bug])) and said.endswith("missed")
        assert row.td.span["class"] == ["rope-museum-bad"]
        assert blind.test.__doc__ in row.th.get_text()
    number = len({blind.bug for blind in BLIND})
    assert last.td.span["class"] == ["rope-museum-good"] and sees.__doc__ in last.get_text()
    assert f"fails on {number} of {number} bugs, and passes {number} once mended" in last.get_text()


def test_a_test_that_fails_what_is_mended_is_no_good():
    room = Room(BLIND)
    room.seen[BLIND[0].bug] = ("fails", "fails")
    last = BeautifulSoup(room._repr_html_(), "html.parser").select("tbody tr")[-1]
    assert last.td.span["class"] == ["rope-museum-bad"]
    assert {MEANS[said][0] for said in ("passes", "skipped")} == {"bad"}


def test_the_page_says_to_how_many_bugs_the_test_that_sees_is_blind():
    """Of those with one axis; one alone needs wider heads than the test has."""
    blind_to = set()
    for name, exhibit in EXHIBITS.items():
        if exhibit.meant.axis_of_pairs is not None:
            continue
        try:
            if verdict(sees, exhibit) == "passes":
                blind_to.add((exhibit.hall, name))
        except ValueError as error:
            assert "96" in str(error) and name == "sines from the next power of two"
    prose = (ROOT / "book/practice/bugs.ipynb").read_text("utf-8")
    assert f"with one axis and heads of 64, {len(blind_to)} pass it" in prose
    assert not {hall for hall, _ in blind_to} & {"first-token"}


def test_what_was_not_shipped_is_what_an_issue_warns_of():
    """ "Four kinds were shipped, and an issue warns of a fifth", says the page."""
    (warned,) = [blind for blind in BLIND if not blind.shipped]
    assert len(BLIND) == 5 and "/issues/" in warned.where
    assert warned.test.__name__ == "values_without_pairs"
