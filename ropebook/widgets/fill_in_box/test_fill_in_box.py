"""Code with gaps, where it is shown: fields that grow, a box that scrolls by itself."""

import pytest

pytest.importorskip("anywidget")

from answering import Box
from oracles import Oracle
from samples import SAMPLES

ORACLE = Oracle(lambda inputs: {})
EXERCISE = next(one for one in SAMPLES if one.kind == "fill-in")


def test_a_gap_grows_with_its_text_and_the_code_scrolls_in_its_own_box(on_scratch):
    page = on_scratch("fill_in_box", (340, 844)).page
    gap = Box(page, EXERCISE).fields.first
    before = gap.bounding_box()["width"]
    gap.fill("distance * theta + 0 * distance * theta")
    assert gap.bounding_box()["width"] > 2 * before
    sizes = page.locator("pre").evaluate("(box) => [box.scrollWidth, box.clientWidth]")
    assert sizes[0] > sizes[1] > 200
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_gaps_have_a_name_each_and_stand_in_the_code(on_scratch):
    page = on_scratch("fill_in_box").page
    names = page.get_by_role("textbox").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
    assert names == ["gap 1 of 2", "gap 2 of 2"]
    assert "return" in page.locator("pre").inner_text()
