"""A widget on a card: its picture alone, over a sentence that leads to its chapter."""

import pytest
import traitlets
from scratch import made, widget_classes

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
    says = root.locator(".rope-card-says").inner_text()
    assert says.splitlines() == ["One <b> sentence.", "A chapter"]


@pytest.mark.parametrize("card", [{"say": "x"}, {"says": 3, "title": "a", "to": "b"}, "words"])
def test_what_is_no_card_is_refused(card):
    with pytest.raises(traitlets.TraitError, match="card"):
        made("rotation_explorer", card=card)
    assert made("rotation_explorer").card is None
