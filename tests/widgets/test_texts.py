"""No text of a widget covers another or sticks out of its card, in whatever state it is."""

import pytest
from collisions import faults_of_states, learn, set_in
from scratch import widget_classes

from ropebook import fonts

CLASSES = widget_classes()
# The page's width and theme: a widget's box is 24 px less, on most screens 696 and at most 960;
# from 600 on, where there is least room for it, its parts stand beside each other.
# A notebook has the fonts of its machine, not the book's: letters set wider stand for wide ones.
WIDER = "0.04em"
LOOKS = [(390, "light", WIDER), (626, "dark", WIDER), (720, "light", "0"), (984, "dark", WIDER)]


@pytest.fixture(scope="module")
def faces(tmp_path_factory):
    pytest.importorskip("fontTools")
    folder = tmp_path_factory.mktemp("fonts")
    fonts.write(folder)
    return folder


@pytest.mark.parametrize("name", CLASSES)
def test_no_text_covers_another_or_is_cut(on_scratch, faces, name):
    widget = on_scratch(name, (390, 844), reduced_motion="reduce")
    page = widget.page
    learn(page)
    set_in(page, faces)
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
