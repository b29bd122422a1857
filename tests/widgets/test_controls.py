"""Rules for every widget found on disk: each control is alive, each number is ropelib's."""

import random

import pytest
from browser import PHONE
from hands import by_keyboard, by_pointer, by_touch, dead_controls, drag
from oracles import held_by, wrong_readouts
from scratch import widget_classes

WIDGETS = list(widget_classes())


@pytest.mark.parametrize("name", WIDGETS)
def test_every_control_is_alive_by_keyboard(on_scratch, name):
    assert dead_controls(on_scratch(name), by_keyboard) == []


@pytest.mark.parametrize("name", WIDGETS)
def test_every_control_is_alive_by_pointer(on_scratch, name):
    assert dead_controls(on_scratch(name), by_pointer) == []


@pytest.mark.parametrize("name", WIDGETS)
def test_every_control_is_alive_by_touch_on_a_phone(on_scratch, name):
    widget = on_scratch(name, PHONE, has_touch=True, is_mobile=True)
    assert dead_controls(widget, by_touch) == []


def test_a_finger_takes_a_tip_along_and_leaves_the_page_where_it_is(on_scratch):
    for name in ("rotation_explorer", "complex_product"):
        widget = on_scratch(name, PHONE, has_touch=True, is_mobile=True)
        for handle in widget.controls(".rope-handle"):
            widget.reveal(handle)
            (x, y), scrolled = widget.center(handle), widget.page.evaluate("scrollY")
            # Towards the origin, so that the tip stays inside of its circle, and up or down.
            middle = widget.part(handle).evaluate(
                "(node) => { const b = node.ownerSVGElement.getBoundingClientRect();"
                " return [b.x + b.width / 2, b.y + b.height / 2]; }"
            )
            to = [x + (middle[0] - x) / 2, y + (middle[1] - y) / 2]
            drag(widget.page, (x, y), to, touch=True)
            widget.still()
            assert widget.center(handle) == pytest.approx(to, abs=1.5), (name, handle)
            assert widget.page.evaluate("scrollY") == scrolled


@pytest.mark.parametrize("name", WIDGETS)
def test_every_control_is_reached_by_the_tab_key(on_scratch, name):
    widget = on_scratch(name)
    names = widget.controls()
    reached = set()
    folds = widget.host.locator("summary").count()  # which the key stops at as well
    for _ in range(len(names) + folds + 2):
        widget.page.keyboard.press("Tab")
        reached.add(
            widget.page.evaluate(
                "document.activeElement.closest('[data-control]')?.dataset.control"
            )
        )
    assert set(names) <= reached


@pytest.mark.parametrize("name", WIDGETS)
def test_readouts_equal_ropelib(on_scratch, name):
    draw = random.Random(0)
    widget = on_scratch(name)
    wrong = wrong_readouts(widget, held_by(widget))
    sliders = widget.sliders()
    spread = [dict.fromkeys(sliders, end) for end in (0.0, 1.0)]
    spread += [{slider: draw.random() for slider in sliders} for _ in range(12)]
    for settings in spread:
        widget.slide(**settings)
        wrong += wrong_readouts(widget, held_by(widget))
    assert not wrong, "\n".join(wrong)
