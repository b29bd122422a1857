"""Several widgets on one page: no control, name or label of one may belong to another."""

import pytest
from scratch import asking_classes, made, page_of, widget_classes

pytest.importorskip("anywidget")

CLASSES = widget_classes() | asking_classes()
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
# Every attribute by which one element of HTML or SVG names others by their id.
REFERENCES = [
    *("for", "form", "list", "headers", "href"),
    *("aria-labelledby", "aria-describedby", "aria-controls", "aria-owns", "aria-details"),
    *("aria-activedescendant", "aria-errormessage", "aria-flowto"),
]


@pytest.fixture(scope="module")
def page(chromium, tmp_path_factory):
    """All widgets, each of them twice: a chapter may well show one widget in two states."""
    address = tmp_path_factory.mktemp("together") / "index.html"
    address.write_text(page_of(*map(made, 2 * [*CLASSES])), encoding="utf-8")
    context = chromium.new_context(viewport={"width": 1000, "height": 900}, offline=True)
    page = context.new_page()
    page.goto(address.as_uri())
    page.wait_for_function(
        f"document.querySelectorAll('.rope-widget-host .rope-widget').length === {2 * len(CLASSES)}"
    )
    page.evaluate(FRAMES)
    yield page
    context.close()


def test_every_id_is_unique(page):
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert sorted(set(ids)) == sorted(ids)


def test_what_a_widget_points_at_is_its_own(page):
    strays = page.evaluate(
        """(references) => {
          const strays = [];
          for (const host of document.querySelectorAll(".rope-widget-host")) {
            for (const node of host.querySelectorAll("*")) {
              for (const { name, value } of node.attributes) {
                const ids = references.includes(name) ? value.replace(/^#/, "").split(/\\s+/)
                  : [...value.matchAll(/url\\(["']?#([^"')]+)/g)].map((found) => found[1]);
                for (const id of ids) {
                  if (!host.contains(document.getElementById(id))) strays.push([name, value]);
                }
              }
            }
          }
          return strays;
        }""",
        REFERENCES,
    )
    assert strays == []


def test_a_labels_control_is_in_its_own_widget(page):
    found = page.evaluate(
        """() => [...document.querySelectorAll(".rope-widget-host")].flatMap((host) =>
          [...host.querySelectorAll("label")].map((label) =>
            label.control !== null && host.contains(label.control)))"""
    )
    assert found.count(True) == len(found) > 2 * len(CLASSES)


def test_every_slider_has_the_name_that_stands_above_it(page):
    sliders = page.locator("input[type=range]")
    assert sliders.count() > 2 * len(CLASSES)
    for slider in sliders.all():
        words = slider.evaluate("(node) => node.labels[0]?.textContent")
        assert words
        seen = slider.aria_snapshot()
        if seen:  # a slider that its widget hides at first has no name to tell
            assert seen.startswith((f'- slider "{words}"', f'- \'slider "{words}"')), seen


def test_a_click_on_a_sliders_words_moves_the_keyboard_there(page):
    for slider in page.locator("input[type=range]:visible").all():
        slider.evaluate("() => document.activeElement.blur()")
        slider.evaluate("(node) => node.closest('.rope-slider').scrollIntoView({block: 'center'})")
        words = slider.locator("xpath=ancestor::*[@class='rope-slider']").get_by_text(
            slider.evaluate("(node) => node.labels[0]?.textContent ?? 'its words'"), exact=True
        )
        words.first.click()
        assert slider.evaluate("(node) => node === document.activeElement")


_LOOK = """(names) => [...document.querySelectorAll(".rope-widget-host *")].map((node) => {
  const style = getComputedStyle(node);
  return [node.getAttribute("class") ?? node.tagName, ...names.map((name) => style[name])].join();
})"""
_LOOKS = [
    *("display", "margin", "padding", "gap", "justifyContent", "gridTemplateColumns", "textAlign"),
    *("minHeight", "minWidth", "maxWidth", "borderWidth", "borderRadius", "fontSize", "fontWeight"),
    *("color", "fill", "stroke", "strokeWidth", "strokeDasharray", "opacity"),
]


@pytest.mark.parametrize("name", CLASSES)
def test_the_style_of_other_widgets_changes_nothing(on_scratch, name):
    """Each brings the kit's rules once more, and the last on the page come after all others."""
    page = on_scratch(name).page
    before = page.evaluate(_LOOK, _LOOKS)
    others = "".join(one._css for other, one in CLASSES.items() if other != name)
    page.add_style_tag(content=others)
    after = page.evaluate(_LOOK, _LOOKS)
    assert [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]] == []
