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
    assert sorted(square["href"] for square in squares) == sorted(f"#{leaf}" for leaf in leaves)
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


def test_in_each_row_what_is_found_alone_stands_first_and_else_as_its_folds_do(plan):
    for hall in plan.walls.halls:
        folds = [one for leaves in plan.walls.branches(hall).values() for one in leaves]
        by_state = [one for state in STATES for one in folds if plan.state(one) == state]
        assert plan.shown(hall) == by_state


@pytest.fixture
def on_page(plan, chromium):
    """Return a function that shows the plan alone, as a browser with these options has it."""
    contexts = []

    def on_page(**options):
        contexts.append(chromium.new_context(**options))
        page = contexts[-1].new_page()
        head = '<!doctype html><meta name="viewport" content="width=device-width">'
        page.set_content(head + plan._repr_html_())
        return page

    yield on_page
    for context in contexts:
        context.close()


SAID = """() => [...document.querySelectorAll("a.rope-plan-square")].filter((square) =>
  getComputedStyle(square, "::after").display !== "none").map((square) => square.ariaLabel)"""
HINTED = "() => document.querySelector('.rope-plan-line').checkVisibility(ALL)".replace(
    "ALL", "{ visibilityProperty: true }"
)


def name_of(square):
    return square.get_attribute("aria-label")


def followed(page, square):
    """Wait until a square has led to its exhibit."""
    page.wait_for_function("(to) => location.hash === to", arg=square.get_attribute("href"))


def test_under_pointer_or_keyboard_a_square_is_named_in_the_one_line(on_page):
    page = on_page()
    first, other = (page.locator("a.rope-plan-square").nth(i) for i in (3, 30))
    assert (page.evaluate(SAID), page.evaluate(HINTED)) == ([], True)
    first.focus()
    assert (page.evaluate(SAID), page.evaluate(HINTED)) == ([name_of(first)], False)
    other.hover()  # one line has one name
    assert page.evaluate(SAID) == [name_of(other)]
    other.click()
    followed(page, other)


@pytest.mark.parametrize("again", ["the square", "its name"])
def test_the_first_touch_names_a_square_and_the_second_follows_it(on_page, again):
    page = on_page(has_touch=True, is_mobile=True, viewport={"width": 390, "height": 844})
    squares = page.locator("a.rope-plan-square")
    square, other = squares.nth(5), squares.nth(0)
    box = square.bounding_box()
    assert round(box["width"]) == round(box["height"]) == 32
    assert squares.nth(6).bounding_box()["x"] - box["x"] >= 36, "a gap between"

    def touch(box):
        page.touchscreen.tap(box["x"] + 16, box["y"] + box["height"] - 12)

    touch(other.bounding_box())
    touch(box)
    page.evaluate(
        "new Promise((go) => setTimeout(go, 500))"
    )  # were it followed, it would be by now
    assert (page.evaluate(SAID), page.evaluate("location.hash")) == ([name_of(square)], "")
    touch(box if again == "the square" else {"x": 40, "y": 844 - 32, "height": 12})
    followed(page, square)


def test_on_a_phone_the_name_of_a_square_is_on_the_screen_with_it(on_page):
    page = on_page(has_touch=True, is_mobile=True, viewport={"width": 390, "height": 300})
    page.add_style_tag(content="body { padding-bottom: 300px }")  # more of a page stands below
    for seat in page.locator(".rope-plan-seat").all():
        seat.evaluate("(seat) => seat.scrollIntoView({ block: 'center' })")
        seat.tap()
        named = seat.evaluate(
            """(seat) => {
              const at = [40, innerWidth - 40].map((x) => [x, innerHeight - 32]);
              return at.every((at) => document.elementFromPoint(...at) === seat.firstChild);
            }"""
        )
        assert named, name_of(seat.locator("a"))


def test_halls_are_called_as_in_the_list_of_families(shown):
    cells = json.loads((ROOT / "book/practice/bugs.ipynb").read_text("utf-8"))["cells"]
    prose = next(
        text for cell in cells if "a few families, before" in (text := "".join(cell["source"]))
    )
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
