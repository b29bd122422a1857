"""No text of a widget covers another or sticks out of its card, in whatever state it is."""

import re

import pytest
from collisions import faults_of_states, learn
from scratch import widget_classes

CLASSES = widget_classes()
# The page's width and theme: a widget's box is 24 px less, on most screens 696 and at most 960;
# from 600 on, where there is least room for it, its parts stand beside each other.
# A notebook has the fonts of its machine, not the book's: letters set wider stand for wide ones.
WIDER = "0.04em"
LOOKS = [(390, "light", WIDER), (626, "dark", WIDER), (720, "light", "0"), (984, "dark", WIDER)]


@pytest.mark.parametrize("name", CLASSES)
def test_no_text_covers_another_or_is_cut(on_scratch, name):
    widget = on_scratch(name, (390, 844), reduced_motion="reduce")
    page = widget.page
    learn(page)
    wrong = []
    for width, theme, spacing in LOOKS:  # one page load serves them all
        page.set_viewport_size({"width": width, "height": 844})
        page.evaluate("(theme) => { document.documentElement.dataset.theme = theme }", theme)
        page.evaluate("(text) => { document.body.style.letterSpacing = text }", spacing)
        widget.frames()
        found, count = faults_of_states(widget, CLASSES[name])
        assert count > 3
        wrong += [f"{width} px, {theme}, letters {spacing} wider: {fault}" for fault in found]
    assert not wrong, "\n".join(wrong)


# What stands in a card, 300 x 100, and what is wrong with it.
SHAPES = {
    '<text x="10" y="20">one</text><text x="18" y="22">two</text>': [
        '"one" and "two" cover each other'
    ],
    '<text x="10" y="20">one</text><text x="10" y="34">two</text>': [],  # two lines
    '<text x="10" y="20">one</text><text x="18" y="22" opacity="0">two</text>': [],
    '<text x="290" y="20">some words</text>': ['"some words" sticks out of rope-frame by'],
    # Turned by 45 degrees, 20 px apart: boxes around them would meet, the letters do not.
    '<g transform="rotate(45 60 20)"><text x="60" y="20">128</text></g>'
    '<g transform="rotate(45 80 20)"><text x="80" y="20">256</text></g>': [],
    '<g transform="rotate(45 60 20)"><text x="60" y="20">128</text></g>'
    '<g transform="rotate(45 66 20)"><text x="66" y="20">256</text></g>': [
        '"128" and "256" cover each other'
    ],
}
BLOCKS = {
    '<p style="width: 40px; overflow: hidden; white-space: nowrap">cut away</p>': [
        '"cut away" is cut'
    ],
    '<p style="width: 40px; overflow: auto; white-space: nowrap">scrolled to</p>': [],
    '<button style="width: 50px; white-space: nowrap">too long a name</button>': [
        '"too long a name" sticks out of button by'
    ],
    "<p>a line<br>and another</p>"
    '<p class="rope-hidden" style="position: absolute; top: 0">said</p>': [],
}


@pytest.fixture(scope="module")
def measure(chromium):
    page = chromium.new_page(viewport={"width": 600, "height": 200})
    learn(page)
    yield page
    page.close()


@pytest.mark.parametrize("inside", [*SHAPES, *BLOCKS])
def test_the_measure_finds_what_a_reader_sees(measure, inside):
    picture = f'<svg width="300" height="100" style="overflow: visible">{inside}</svg>'
    style = "width: 300px; height: 100px; font: 16px/1.2 sans-serif; background: #eee"
    content = picture if inside in SHAPES else inside
    measure.evaluate(
        "(html) => { document.body.innerHTML = html }",
        f'<div class="rope-frame" style="{style}">{content}</div>',
    )
    found = measure.evaluate("textFaults(document.querySelector('.rope-frame'))")
    expected = (SHAPES | BLOCKS)[inside]
    assert len(found) == len(expected), found
    # Which of two texts is named first depends on how high a machine's letters stand.
    turned = [re.sub(r'^("\w+") and ("\w+")', r"\2 and \1", one) for one in found]
    assert all(
        a.startswith(c) or b.startswith(c) for a, b, c in zip(found, turned, expected, strict=True)
    )
