"""Whatever a reader does to a widget, in whatever order and in the midst of a motion: it holds."""

import pytest

pytest.importorskip("anywidget")

from random_actions import Reader
from scratch import page_of, widget_classes

CLASSES = widget_classes()
ACTIONS = 30  # benchmarks/random_actions.py does thousands


@pytest.mark.parametrize("name", CLASSES)
def test_random_actions_leave_numbers_and_a_silent_console(chromium, tmp_path, name):
    reader = Reader(chromium, tmp_path, CLASSES[name](), seed=3)
    for _ in range(ACTIONS):
        assert reader.act() == []
    assert reader.leave() == []


def test_another_sentence_chosen_while_words_travel_begins_at_rest(chromium, tmp_path):
    address = tmp_path / "index.html"
    address.write_text(page_of(CLASSES["token_shuffle"]()), encoding="utf-8")
    context = chromium.new_context(reduced_motion="no-preference", offline=True)
    page = context.new_page()
    page.goto(address.as_uri())
    page.wait_for_selector(".rope-widget")
    # Each frame's transforms, until well after the first motion would have come to its end.
    seen = page.evaluate(
        """async () => {
          const frame = () => new Promise((done) => requestAnimationFrame(done));
          const look = () => [...document.querySelectorAll(".rope-tokens [transform]")]
            .map((node) => node.getAttribute("transform"));
          document.querySelector("[data-control=swap]").click();
          const before = look();
          while (String(look()) === String(before)) await frame();
          document.querySelector("[role=radio][aria-checked=false]").click();
          await frame();
          await frame();
          const seen = [look()];
          for (const end = performance.now() + 600; performance.now() < end; await frame()) {
            seen.push(look());
          }
          return seen;
        }"""
    )
    context.close()
    assert "NaN" not in str(seen)
    assert all(look == seen[0] for look in seen), "the new sentence moves by itself"


def test_a_word_in_the_hand_is_put_down_when_the_sentence_changes(chromium, tmp_path):
    address = tmp_path / "index.html"
    address.write_text(page_of(CLASSES["token_shuffle"]()), encoding="utf-8")
    context = chromium.new_context(viewport={"width": 800, "height": 1200}, offline=True)
    page = context.new_page()
    page.goto(address.as_uri())
    page.evaluate(
        """() => {
          model.set("sentence", "english");
          model.set("order", [0, 1, 2, 3, 4]);
        }"""
    )
    tile = page.locator("[data-control=tile_0]")
    box = tile.bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 40, box["y"] + 20)
    page.evaluate(
        """() => {
          model.set("sentence", "chinese");
          model.set("order", [0, 1, 2]);
        }"""
    )
    page.mouse.move(box["x"] + 600, box["y"] + 20)
    page.mouse.up()
    assert page.evaluate("model.get('order')") == [0, 1, 2]
    context.close()
