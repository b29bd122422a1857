"""The plan of the museum: a square for each exhibit, that says who finds it and leads to it."""

import json
import re

import pytest
from bs4 import BeautifulSoup
from toc import ROOT

from ropebook.museum import EXHIBITS, HALLS
from ropebook.museum.plan import STATES, Plan
from ropebook.museum.walls import Walls, slug


@pytest.fixture(scope="module")
def plan():
    return Plan(Walls(HALLS.values()))


@pytest.fixture(scope="module")
def shown(plan):
    return BeautifulSoup(plan._repr_html_(), "html.parser")


def test_each_exhibit_is_a_square_that_leads_to_its_leaf(plan, shown):
    squares = shown.select("a.rope-plan-square")
    walls = BeautifulSoup(plan.walls._repr_html_(), "html.parser")
    leaves = [leaf["id"] for leaf in walls.select(".rope-museum-leaf")]
    assert [square["href"] for square in squares] == [f"#{leaf}" for leaf in leaves]
    names = [exhibit.name for hall in HALLS.values() for exhibit in plan.shown(hall)]
    assert sorted(names) == sorted(EXHIBITS)
    for square, name in zip(squares, names, strict=True):
        assert walls.find(id=square["href"][1:]).name == "details"
        assert square["aria-label"].lower().startswith(f"{name.lower()}: ")
    for hall, link in zip(HALLS.values(), shown.select("a.rope-plan-hall"), strict=True):
        assert link.get_text() == hall.when and walls.find(id=link["href"][1:]).name == "details"
        assert len(link.parent.select("a.rope-plan-square")) == len(hall.exhibits)


def test_a_square_says_who_found_it(plan, shown):
    squares = {square["href"]: square for square in shown.select("a.rope-plan-square")}
    for exhibit in EXHIBITS.values():
        square = squares[f"#bug-{slug(exhibit.name)}"]
        report, told = plan.walls.reports[exhibit.name]
        assert exhibit.code in report.codes
        state = "told" if told else "noted" if report.ok else "alone"
        assert f"rope-plan-{state}" in square["class"]
        assert square["aria-label"].endswith(STATES[state])
    told, found = plan.walls.told, plan.walls.found
    assert plan.counts == {"alone": found, "told": told, "noted": len(EXHIBITS) - found - told}
    assert plan.counts["noted"] == 1, "no gradient: right for inference"
    key = [item.get_text() for item in shown.select(".rope-plan-key li")]
    assert key == repr(plan).splitlines()


def test_halls_are_called_as_in_the_list_of_families(shown):
    cells = json.loads((ROOT / "book/practice/bugs.ipynb").read_text("utf-8"))["cells"]
    prose = next(text for cell in cells if "the family before" in (text := "".join(cell["source"])))
    bold = re.findall(r"^- \*\*(.+?)\*\*:", prose, re.MULTILINE)
    called = [link.get_text() for link in shown.select("a.rope-plan-hall")]
    assert [re.sub(r"\[(.+?)\]\(.+?\)", r"\1", name) for name in bold] == called


def test_what_is_not_found_is_not_hidden(plan):
    name = next(iter(EXHIBITS))
    reports = plan.walls.reports
    kept = reports[name]
    try:
        reports[name] = (EXHIBITS["strides that are not asked"].examined(plan_right)[0], False)
        assert plan.counts["missed"] == 1 and "not found" in plan._repr_html_()
    finally:
        reports[name] = kept


def plan_right(x, position_ids):
    """The rotation that most exhibits were meant to be."""
    return next(iter(EXHIBITS.values())).meant.rotate(x, position_ids)
