"""The tables of codes: filtered by what is typed, and a link leads to its row."""

import re
from collections import Counter

import pytest
import small_book
from browser import FRAMES, PHONE, WIDE, accessibility_faults, open_page
from docutils.core import publish_doctree
from myst_parser.docutils_ import Parser
from playwright.sync_api import expect

from ropebook.site.codes import address, name_rows
from ropelib.diagnosis.codes import CODES, grouped, markdown


def test_each_row_of_the_table_has_the_id_of_its_code():
    settings = {"myst_enable_extensions": [], "report_level": 5}
    other = "\n\n| a | b |\n|---|---|\n| `no-code` | `clockwise` |\n"
    doctree = publish_doctree(markdown() + other, parser=Parser(), settings_overrides=settings)
    name_rows(doctree)
    ids = [
        name for row in doctree.findall(lambda node: node.tagname == "row") for name in row["ids"]
    ]
    told = [code for codes in grouped().values() for code in codes]
    assert ids == [address(code).partition("#")[2] for code in told]
    assert ids[0] == f"codes-{next(iter(CODES))}"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    museum = "[Bugs](practice/bugs.md)"
    words = f"# Codes of the diagnosis\n\nThey stay. {museum}\n\n{markdown()}\n"
    files = {"book/codes.md": words, "book/practice/bugs.md": "# Bugs\n"}
    return small_book.build(tmp_path_factory.mktemp("codes"), files)


@pytest.fixture(params=[WIDE, PHONE], ids=["wide", "phone"])
def page(chromium, pages, request):
    viewport = {"width": request.param[0], "height": request.param[1]}
    context = chromium.new_context(viewport=viewport, offline=True)
    page, log = open_page(context, (pages / "book/codes.html").as_uri())
    yield page
    context.close()
    assert (log.outside(), log.failed, log.complaints) == ([], [], [])


def test_codes_are_filtered_by_what_is_typed(page):
    rows = page.locator("#codes-of-the-diagnosis tbody tr:visible")
    said = page.locator(".rope-filter [role=status]")
    box = page.get_by_role("searchbox", name="Filter these codes")
    expect(rows).to_have_count(len(CODES))
    expect(said).to_have_text(f"{len(CODES)} codes")
    headings = page.locator("#codes-of-the-diagnosis h2").filter(visible=True)
    for typed in ("off-by-one", "Off by  one ", "counted from 1, OR taken"):
        box.fill(typed)
        expect(rows.locator("code").first).to_have_text("off-by-one")
        expect(rows).to_have_count(1)
        expect(said).to_have_text(f"1 of {len(CODES)} codes")
        expect(headings).to_have_text([re.compile("^Positions")])
    box.fill("wrong base")
    based = rows.count()
    box.fill("the wrong base is a bug")
    expect(rows).to_have_count(based)
    notes = [code for code, one in CODES.items() if one.severity == "note"]
    for typed, codes in {"note": notes, "training": grouped()["Training"]}.items():
        box.fill(typed)  # what stands over a row is read as well
        left = [
            row.split("codes-")[1] for row in rows.evaluate_all("(all) => all.map((r) => r.id)")
        ]
        assert set(codes) <= set(left) and len(left) < len(codes) + 12
    box.fill(f"{notes[0]} {CODES[notes[0]].cause}")
    expect(page.locator("#codes-of-the-diagnosis table:visible")).to_have_count(1)
    assert accessibility_faults(page) == []
    box.fill("zweihundert")
    expect(rows).to_have_count(0)
    expect(said).to_have_text(f"0 of {len(CODES)} codes")
    expect(page.get_by_text("Nothing here says “zweihundert”. Try")).to_be_visible()
    expect(page.get_by_role("link", name="Find it by what you see")).to_have_attribute(
        "href", "practice/bugs.html"
    )
    assert accessibility_faults(page) == []
    clear = page.get_by_role("button", name="Clear the filter")
    clear.click()
    expect(clear).to_be_hidden()
    expect(box).to_be_focused()
    expect(rows).to_have_count(len(CODES))


def test_a_square_for_each_code_says_what_it_is_and_whether_it_is_left(page):
    def squares(kind=""):
        return page.locator(f"#codes-of-the-diagnosis .rope-strip{kind} i")

    count = Counter(code.severity for code in CODES.values())
    assert (squares().count(), squares(".rope-wrong").count()) == (len(CODES), count["wrong"])
    look = 'getComputedStyle(one, "::before")'
    fills = f"(squares) => [...new Set(squares.map((one) => {look}.backgroundColor))]"
    (full,), (hollow,) = (
        squares(kind).evaluate_all(fills) for kind in (".rope-wrong", ":not(.rope-wrong)")
    )
    assert full != hollow == "rgba(0, 0, 0, 0)"
    page.get_by_role("searchbox", name="Filter these codes").fill("counted from 1, or taken")
    left = page.locator(".rope-strip i:not([data-off])")
    expect(left).to_have_count(1)
    expect(page.locator("section:has(> details .rope-strip i:not([data-off])) h2")).to_have_text(
        [re.compile("^Positions")]
    )
    assert left.evaluate(f"(one) => {look}.opacity") == "1"
    off = page.locator(".rope-strip:has(i:not([data-off])) i[data-off]").first
    assert float(off.evaluate(f"(one) => {look}.opacity")) < 0.5
    page.get_by_role("searchbox", name="Filter these codes").fill("")
    square = squares().nth(40)
    code = square.get_attribute("data-code")
    square.hover()
    named = square.evaluate("(one) => getComputedStyle(one, '::after').content")
    assert named == f'"{code}"'
    square.click()
    row = page.locator(f"#codes-{code}")
    expect(row).to_be_in_viewport()
    assert page.evaluate("location.hash") == f"#codes-{code}"


def test_the_box_is_as_wide_as_the_longest_code(page):
    box = page.get_by_role("searchbox", name="Filter these codes")
    box.fill(max(CODES, key=len))
    assert box.evaluate("(box) => box.scrollWidth <= box.clientWidth")


def test_the_contents_list_the_groups_that_are_left(page):
    box = page.get_by_role("searchbox", name="Filter these codes")
    lines = page.locator(".page-toc li:has(a[href^='#'])")
    hidden = page.locator(".page-toc li[hidden]")
    number = lines.count()
    assert number == len(grouped())
    box.fill("off-by-one")
    expect(hidden).to_have_count(number - 1)
    expect(page.locator(".page-toc li:not([hidden])")).to_have_text([re.compile("^Positions")])
    assert {hidden.nth(i).evaluate("(line) => getComputedStyle(line).display") for i in (0, 3)} == {
        "none"
    }
    box.fill("zweihundert")
    contents = page.locator(".sidebar-secondary-item:has(.page-toc)")
    expect(contents).to_have_attribute("hidden", "")
    box.fill("")
    expect(hidden).to_have_count(0)
    assert contents.get_attribute("hidden") is None


def test_the_box_stays_where_it_is_however_little_is_left(page):
    box = page.get_by_role("searchbox", name="Filter these codes")
    box.evaluate("(box) => scrollTo(0, box.getBoundingClientRect().top + scrollY - 100)")
    at = box.bounding_box()["y"]
    for typed in ("off-by-one", "zweihundert", "cache", "zz"):
        box.fill(typed)
        assert box.bounding_box()["y"] == at, typed


def test_the_box_stays_in_reach_and_what_is_left_begins_below_it(page):
    box = page.get_by_role("searchbox", name="Filter these codes")
    bar = page.locator("#codes-of-the-diagnosis > .rope-filter")
    rows = page.locator("#codes-of-the-diagnosis tbody tr:visible")
    for typed in ("off-by-one", "cache", "zweihundert"):
        box.fill("")
        rows.nth(90).evaluate(
            "(row) => row.scrollIntoView({ block: 'center', behavior: 'instant' })"
        )
        page.evaluate(FRAMES)
        at = bar.bounding_box()
        assert 40 <= at["y"] < 70 and at["y"] + at["height"] < page.viewport_size["height"] / 5
        expect(box).to_be_in_viewport()
        box.fill(typed)
        page.evaluate(FRAMES)
        now = bar.bounding_box()
        assert now["y"] == at["y"], "it does not move under the hand that types"
        assert now["y"] + now["height"] < page.viewport_size["height"] / (4 if rows.count() else 3)
        if rows.count():
            assert 0 <= rows.first.bounding_box()["y"] - now["y"] - now["height"] < 120


def test_the_names_of_columns_stay_below_the_box(page):
    page.evaluate("location.hash = 'codes-decode-restarts-at-zero'")
    heads = page.locator("table:has(tr:target) thead th")
    if page.viewport_size["width"] <= 600:
        return expect(heads.first).not_to_be_in_viewport()  # cards, each with the names in it
    page.wait_for_function("scrollY > 100")
    page.evaluate("scrollBy({ top: 300, behavior: 'instant' })")
    box = page.locator(".rope-filter")
    below = box.evaluate("(box) => box.getBoundingClientRect().bottom")
    assert abs(heads.first.bounding_box()["y"] - below) < 3
    return None


def test_on_the_narrowest_phone_the_box_hides_nothing_of_a_row(chromium, pages):
    context = chromium.new_context(viewport={"width": 320, "height": 640}, offline=True)
    page, _ = open_page(context, (pages / "book/codes.html").as_uri())
    page.evaluate("location.hash = 'codes-decode-restarts-at-zero'")
    row = page.locator("tr:target")
    page.wait_for_function("scrollY > 100")
    below = page.locator(".rope-filter").evaluate("(box) => box.getBoundingClientRect().bottom")
    assert row.bounding_box()["y"] >= below - 1
    context.close()


def test_a_heading_that_an_address_names_is_not_under_the_box(page):
    heading = page.locator("#codes-of-the-diagnosis h2").nth(3)
    name = heading.evaluate("(h) => h.closest('section').id")
    page.evaluate("(id) => { location.hash = id }", name)
    page.evaluate(FRAMES)
    expect(heading).to_be_in_viewport()
    bar = page.locator("#codes-of-the-diagnosis > .rope-filter").bounding_box()
    page.wait_for_function(
        "([name, low]) => document.querySelector(name).getBoundingClientRect().top > low",
        arg=[f"#{name} h2", bar["y"] + bar["height"]],
    )


def test_the_frame_of_the_row_that_an_address_names_is_whole(page):
    """The box around the table clips what stands out of it."""
    page.evaluate(
        "document.querySelectorAll('#codes-of-the-diagnosis tbody tr')[40].id = 'codes-this'"
    )
    page.evaluate("location.hash = 'codes-this'")
    drawn = "(row) => [getComputedStyle(row).outlineStyle, getComputedStyle(row).outlineOffset]"
    style, offset = page.locator("#codes-this").evaluate(drawn)
    assert (style, offset) in (("none", "0px"), ("solid", "-2px"))
    assert (style == "solid") == (page.viewport_size["width"] < 600)


OPEN = "(folds) => folds.filter((fold) => fold.open).map((fold) => fold.parentElement.id)"


def test_groups_are_folded_and_those_of_what_is_typed_are_open_until_it_is_gone(page):
    folds = page.locator("#codes-of-the-diagnosis details")
    told = folds.locator("summary .rope-deeper-label").all_text_contents()
    groups = grouped()
    assert told == [f"{len(codes)} codes" for codes in groups.values()]
    assert sum(map(len, groups.values())) == len(CODES)
    page.get_by_role("button", name="Close all").click()
    assert folds.evaluate_all(OPEN) == []
    page.get_by_role("heading", name="Training").click()
    assert folds.evaluate_all(OPEN) == ["training"]
    box = page.get_by_role("searchbox", name="Filter these codes")
    for typed, group in (("off-by-one", "positions"), ("call hangs", "it-cannot-be-measured")):
        box.fill(typed)
        shown = page.locator("#codes-of-the-diagnosis > section:visible details").evaluate_all(OPEN)
        assert shown == [group]
        label = page.locator("#codes-of-the-diagnosis > section:visible .rope-deeper-label")
        (of,) = (len(codes) for codes in groups.values() if typed.replace(" ", "-") in codes)
        expect(label).to_have_text(f"1 of {of} codes")
    box.fill("")
    assert folds.locator("summary .rope-deeper-label").all_text_contents() == told
    assert folds.evaluate_all(OPEN) == ["training"]
    code = next(code for codes in groups.values() for code in codes if code == "off-by-one")
    page.evaluate("(id) => { location.hash = id }", address(code).partition("#")[2])
    expect(page.get_by_text(CODES[code].cause)).to_be_in_viewport()
    assert folds.evaluate_all(OPEN) == ["positions", "training"]


MARKED = """() => [...CSS.highlights.get("rope-typed")].map(
  ({ startContainer, startOffset, endOffset }) =>
    startContainer.data.slice(startOffset, endOffset))"""


def test_what_is_typed_is_marked_in_the_rows_that_are_left(page):
    box = page.get_by_role("searchbox", name="Filter these codes")
    box.fill("off_by-one")
    assert page.evaluate(MARKED) == ["off-by-one"]
    box.fill("Cache forgets")
    marked = page.evaluate(MARKED)
    assert {one.lower() for one in marked} == {"cache", "forgets"}
    box.fill("")
    assert page.evaluate(MARKED) == []


def test_an_address_shows_its_row_whatever_was_typed(page):
    page.evaluate(
        "document.querySelectorAll('#codes-of-the-diagnosis tbody tr')[40].id = 'codes-this'"
    )
    page.get_by_role("searchbox", name="Filter these codes").fill("zweihundert")
    page.evaluate("location.hash = 'codes-this'")
    row = page.locator("#codes-this")
    expect(row).to_be_visible()
    page.evaluate(FRAMES)
    expect(row).to_be_in_viewport()
    expect(page.locator("#codes-of-the-diagnosis tbody tr:visible")).to_have_count(len(CODES))


def test_what_a_browser_brings_back_into_the_box_is_applied(page):
    page.evaluate(
        """() => {
          document.querySelector(".rope-filter input").value = "off-by-one";
          dispatchEvent(new PageTransitionEvent("pageshow"));
        }"""
    )
    expect(page.locator("#codes-of-the-diagnosis tbody tr:visible")).to_have_count(1)
