"""What holds for every widget on disk where it is shown: by looks, at rest and when it moves."""

import re

import pytest
from browser import accessibility_faults, watched
from oracles import oracle_of
from scratch import widget_classes

from ropebook.widgets import base

CLASSES = widget_classes()
# As wide as the text of a page on a wide screen, with the margins; a phone; a small one.
LOOKS = [(696, "light"), (390, "light"), (340, "dark")]

# Runs in the page: one thing after another that a reader may do, by numbers that follow from a
# seed; gives the height after each, and what was done.
_WANDER = """async ([seed, steps]) => {
  const draw = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const any = (all) => all[Math.floor(draw() * all.length)];
  const seen = (kind) => [...document.querySelectorAll(`.rope-widget :is(${kind})`)]
    .filter((node) => node.checkVisibility({ visibilityProperty: true }));
  const kinds = `button:not([data-control=reset]), [role=radio],
    input:is([type=range], [type=checkbox])`;
  const found = [];
  for (let step = 0; step < steps; step += 1) {
    const node = any(seen(kinds));
    if (node.type === "range") {
      node.value = Number(node.min) + draw() * (Number(node.max) - Number(node.min));
      node.dispatchEvent(new Event("input", { bubbles: true }));
    } else node.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    await passFrames();
    const name = node.closest("[data-control]").dataset.control;
    found.push([document.querySelector(".rope-frame").offsetHeight, name, node.value ?? ""]);
  }
  return found;
}"""


@pytest.mark.parametrize("name", CLASSES)
def test_every_synced_trait_is_read_or_set_by_the_picture(on_scratch, name):
    widget = on_scratch(name)
    widget.slide(**dict.fromkeys(widget.sliders(), 0.37))
    own = set(CLASSES[name]().keys) - set(base.RopeWidget().keys)
    assert own - set(widget.page.evaluate("[...touched]")) == set()


# Where a line wraps with letters set wide, and the widget grows by it: 22 November 2026.
JUMPS = {("config_inspector", width) for width in (340, 390)}  # the verdict, by its length


def known(name, width, theme):
    mark = pytest.mark.xfail(reason="a line wraps where letters are set wide")
    return pytest.param(name, width, theme, marks=mark if (name, width) in JUMPS else ())


@pytest.mark.parametrize(
    ("name", "width", "theme"), [known(name, *look) for name in CLASSES for look in LOOKS]
)
def test_nothing_jumps_in_height_whatever_the_font(on_scratch, name, width, theme):
    widget = on_scratch(name, (width, 844), theme, reduced_motion="reduce")
    resizing = re.compile(oracle_of(widget).resizing)
    # A notebook has the fonts of its machine: letters set closer stand for narrow ones, wider for
    # wide ones (those of DejaVu Sans take 0.03em more than the book's).
    for seed, spacing in enumerate(["-0.06em", "-0.03em", "0", "0.04em"], start=1):
        widget.page.evaluate("(text) => { document.body.style.letterSpacing = text }", spacing)
        widget.frames()
        height = widget.page.locator(".rope-frame").evaluate("(node) => node.offsetHeight")
        for now, control, value in widget.page.evaluate(_WANDER, [seed, 60]):
            assert now == height or resizing.match(control), (spacing, control, value)
            height = now


@pytest.mark.parametrize(("width", "theme"), LOOKS)
@pytest.mark.parametrize("name", CLASSES)
def test_axe_finds_nothing_at_first_and_after_a_while(on_scratch, name, width, theme):
    page = on_scratch(name, (width, 844), theme, reduced_motion="reduce").page
    assert accessibility_faults(page) == []
    for seed in (1, 2):
        page.evaluate(_WANDER, [seed, 15])
        assert accessibility_faults(page) == []


def test_reset_brings_back_the_first_state(on_scratch):
    held = []
    for widget in map(on_scratch, CLASSES):
        if "reset" in widget.controls():
            first = widget.snapshot()
            widget.page.evaluate(_WANDER, [3, 20])
            widget.still()
            assert widget.snapshot() != first, "nothing moved"
            widget.control("reset").click()
            widget.still()
            assert widget.snapshot() == first, str(widget)
            held.append(str(widget))
    assert len(held) > 2, held


@pytest.mark.parametrize("name", CLASSES)
def test_reduced_motion_arrives_without_traveling(on_scratch, name):
    widget = on_scratch(name, reduced_motion="reduce")
    silent = {*oracle_of(widget).untold, "pair"}
    for button in widget.controls("button"):
        names = [name for name in widget.reports() if name not in silent]
        frames = watched(widget, button, names, seconds=0.8)
        for values in zip(names, *frames, strict=True):
            places = {*map(str, values[1:])} - {"nan"}  # nan: a search that takes several frames
            assert len(places) <= 2, f"{button}: a jump has two places {values}"
        widget.control(button).evaluate("(button) => button.click()")


# Runs in the page: for each control, whether a place of the page shows it and the picture that it
# moves, both whole; a picture beside a control that is itself a picture counts as seen.
_TOGETHER = """async () => {
  const within = ({ top, bottom }) => top >= -1 && bottom <= innerHeight + 1;
  const boxes = [...document.querySelectorAll(".rope-widget svg")]
    .filter((node) => node.checkVisibility() && node.getBoundingClientRect().height > 90);
  const controls = [...document.querySelectorAll(".rope-widget :is(button, input[type=range])")]
    .filter((node) => node.checkVisibility({ visibilityProperty: true }));
  const apart = [];
  for (const node of controls) {
    let together = false;
    for (let share = 0.02; share < 1 && !together; share += 0.07) {
      const { top } = node.getBoundingClientRect();
      scrollTo({ top: scrollY + top - share * innerHeight, behavior: "instant" });
      await passFrames();
      const box = node.getBoundingClientRect();
      const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
      const onTop = document.elementFromPoint(x, y);
      const reached = within(box) && (onTop === node || node.contains(onTop));
      together = reached && boxes.some((one) => within(one.getBoundingClientRect()));
    }
    if (!together) apart.push(node.closest("[data-control]")?.dataset.control ?? node.outerHTML);
  }
  return apart;
}"""
# What they show is text: a reader's own beside a table, and lamps right under their switches.
_NO_PICTURE = {"bug_lamps", "config_inspector"}
# Runs in the page: which of some buttons change no picture, wherever the sliders stand. Nobody
# looks at the picture for those.
_IDLE = """async (names) => {
  const pictures = () => [...document.querySelectorAll(".rope-widget svg")];
  const look = () => pictures().map((node) => node.outerHTML).join();
  const moves = async (button) => {
    for (const input of document.querySelectorAll(".rope-widget input[type=range]")) {
      input.value = Number(input.min) + 0.37 * (Number(input.max) - Number(input.min));
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }
    await passFrames(30);
    const before = look();
    button.click();
    for (let frame = 0; frame < 60; frame += 1) {
      await passFrames();
      if (look() !== before) return true;
    }
    return false;
  };
  const idle = [];
  for (const name of names) {
    const button = document.querySelector(`.rope-widget button[data-control="${name}"]`);
    if (button && !(await moves(button))) idle.push(name);
  }
  return idle;
}"""


@pytest.mark.parametrize("name", sorted(set(CLASSES) - _NO_PICTURE))
def test_on_a_phone_a_picture_is_seen_while_any_control_is_in_hand(on_scratch, name):
    widget = on_scratch(name, size=(390, 788))  # what the page's bar leaves of a phone
    apart = widget.page.evaluate(_TOGETHER)
    assert set(apart) == set(widget.page.evaluate(_IDLE, apart))


# Runs in the page, which is as high as a phone: how high what stays stands over the rest, whether
# it hides all under it, what of the rest it covers that moves nothing or is told in a fold, and how
# much of the last control is seen below it, and below its edge of 6 pixels, where it leaves.
_STAYS = """async () => {
  const stays = document.querySelector(".rope-widget .rope-stays");
  if (!stays) return null;
  for (const fold of document.querySelectorAll(".rope-frame details")) fold.open = true;
  const seen = (node) => node.checkVisibility({ visibilityProperty: true });
  const after = ":is(details:not(.rope-lamps-group), .rope-readouts) *";
  const rest = [...document.querySelectorAll(after)]
    .filter((node) => node.childElementCount === 0 && seen(node));
  const covered = new Set();
  let high = 0;
  const sticks = getComputedStyle(stays).position === "sticky";
  let stump = sticks ? Infinity : 0;
  document.body.style.paddingBottom = "100vh";
  const last = document.body.scrollHeight;
  for (let at = 0; at < last; at += 40) {
    scrollTo({ top: at, behavior: "instant" });
    await passFrames();
    const over = stays.getBoundingClientRect();
    const end = stays.closest(".rope-reach").getBoundingClientRect().bottom;
    if (sticks) stump = Math.min(stump, end - over.bottom - 6);
    if (over.top < 1) high = Math.max(high, Math.min(over.bottom, innerHeight));
    for (const node of rest) {
      const { top, bottom } = node.getBoundingClientRect();
      if (bottom > over.top + 1 && top < over.bottom - 1) covered.add(node.outerHTML.slice(0, 80));
    }
  }
  const opaque = !/, 0\\)$/.test(getComputedStyle(stays).backgroundColor);
  return { share: high / innerHeight, opaque, covered: [...covered], stump };
}"""


# Pictures of many cells, each of which must be told from the next.
_TALL = {"bias_explorer", "frequency_clocks", "sinusoid_explorer"}


@pytest.mark.parametrize("name", CLASSES)
def test_on_a_phone_what_stays_is_low_and_leaves_with_its_last_control(on_scratch, name):
    found = on_scratch(name, size=(390, 788)).page.evaluate(_STAYS)
    if found is None:
        pytest.skip("nothing stays")
    assert name in _TALL or found["share"] <= 0.45, "half of the screen is left for what moves it"
    assert found["opaque"] and found["covered"] == [] and found["stump"] <= 0.1


# Runs in the page: circles that look as if they could be grabbed, a dot in a ring or of two colors,
# and are in nothing that answers to a hand or a key.
_LIKE_HANDLES = """() => {
  const seen = (color) => color !== "none" && !/^rgba\\(.*, 0\\)$/.test(color);
  const circles = [...document.querySelectorAll(".rope-widget svg:not([aria-hidden]) circle")]
    .filter((node) => node.checkVisibility({ visibilityProperty: true }))
    .filter((node) => !node.closest("[tabindex]"))
    .map((node) => {
      const { fill, stroke, strokeWidth } = getComputedStyle(node);
      const { left, right, top, bottom } = node.getBoundingClientRect();
      const edge = seen(stroke) && parseFloat(strokeWidth) >= 1;
      const at = [(left + right) / 2, (top + bottom) / 2];
      return { node, at, radius: Number(node.getAttribute("r")), fill, stroke, edge };
    })
    .filter(({ radius }) => radius > 0 && radius <= 14);
  const within = (ring, dot) => dot.radius < ring.radius
    && Math.hypot(dot.at[0] - ring.at[0], dot.at[1] - ring.at[1]) < 1;
  const isGrip = (one) => one.radius >= 4.5 && one.edge
    && ((seen(one.fill) && one.fill !== one.stroke) || circles.some((dot) => within(one, dot)));
  return [circles.length, circles.filter(isGrip).map(({ node }) => node.outerHTML)];
}"""


def test_what_cannot_be_grabbed_does_not_look_as_if_it_could(on_scratch):
    circles = {}
    for widget in map(on_scratch, CLASSES):
        for seed in (0, 1, 2):
            widget.page.evaluate(_WANDER, [seed, 10 * bool(seed)])
            widget.still()
            count, grips = widget.page.evaluate(_LIKE_HANDLES)
            circles[str(widget)] = circles.get(str(widget), 0) + count
            assert grips == [], str(widget)
    assert sum(count > 0 for count in circles.values()) > 4, "there are dots to look at"
    explorer = on_scratch("rotation_explorer")
    explorer.page.evaluate("document.querySelector('[data-control=q]').removeAttribute('tabindex')")
    assert len(explorer.page.evaluate(_LIKE_HANDLES)[1]) == 1, "a handle is told by its looks"
