"""A widget on a card: its picture alone, over a sentence that leads to its chapter."""

import pytest
import traitlets
from playwright.sync_api import expect
from scratch import made, page_of, widget_classes

CARD = {"says": "One <b> sentence.", "title": "A chapter", "to": "chapter.html"}
SEEN = """(root) => ({
  drawn: [...root.querySelectorAll("svg, canvas")].filter(
    (node) => node.getClientRects().length && node.getBoundingClientRect().height > 60).length,
  sentences: [...root.querySelectorAll(".rope-lesson, .rope-readouts")].filter(
    (node) => node.getClientRects().length).length,
  wide: root.scrollWidth - root.clientWidth,
  sticks: [root, ...root.querySelectorAll("*")].filter(
    (node) => getComputedStyle(node).position === "sticky").length,
  beyond: [...root.querySelectorAll("svg text")].filter((node) => {
    const [box, card] = [node.getBoundingClientRect(), root.getBoundingClientRect()];
    return box.width && (box.right > card.right + 0.5 || box.left < card.left - 0.5);
  }).map((node) => node.textContent),
})"""


@pytest.mark.parametrize("name", widget_classes())
def test_a_card_shows_the_picture_and_where_it_leads(on_scratch, name):
    widget = on_scratch(name, (300, 700), traits={"card": CARD})
    root = widget.page.locator(".rope-card")
    seen = root.evaluate(SEEN)
    assert seen["drawn"] >= 1 and seen["sentences"] == 0 and seen["wide"] <= 0, seen
    assert seen["sticks"] == 0 and seen["beyond"] == [], seen
    link = root.get_by_role("link", name="A chapter")
    assert link.get_attribute("href") == "chapter.html"
    assert root.locator(".rope-card-says > *").all_inner_texts() == [
        "One <b> sentence.",
        "A chapter",
    ]


def test_a_card_keeps_the_controls_that_it_names_and_no_others(on_scratch):
    card = CARD | {"moves": "n both_move"}
    widget = on_scratch("rotation_explorer", (300, 700), traits={"card": card})
    shown = widget.page.locator(".rope-card [data-control]:visible")
    names = shown.evaluate_all("(nodes) => nodes.map((node) => node.dataset.control)")
    assert set(names) - {"q", "k"} == {"n", "both_move"}  # q and k are in the picture
    assert widget.page.get_by_text("n, position of k").is_visible()
    widget.page.locator("[data-control=n]").press("End")
    expect(widget.page.locator("[data-report=n]")).to_have_text("24")


def test_a_card_that_names_no_control_says_so(chromium, tmp_path):
    page = chromium.new_page()
    (tmp_path / "page.html").write_text(
        page_of(made("rotation_explorer", card=CARD | {"moves": "nothing"})), encoding="utf-8"
    )
    page.goto((tmp_path / "page.html").as_uri())
    said = page.get_by_role("alert").inner_text()
    assert "moves must name controls of the widget, got nothing" in said
    page.close()


@pytest.mark.parametrize("card", [{"say": "x"}, {"says": 3, "title": "a", "to": "b"}, "words"])
def test_what_is_no_card_is_refused(card):
    with pytest.raises(traitlets.TraitError, match="card"):
        made("rotation_explorer", card=card)
    assert made("rotation_explorer").card is None
