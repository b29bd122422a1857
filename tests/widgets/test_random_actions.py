"""Whatever a reader does to a widget, in whatever order and in the midst of a motion: it holds."""

import pytest

pytest.importorskip("anywidget")

from random_actions import Reader
from scratch import asking_classes, made, widget_classes

CLASSES = widget_classes() | asking_classes()
ACTIONS = 30  # benchmarks/random_actions.py does thousands


@pytest.mark.parametrize("name", CLASSES)
def test_random_actions_leave_numbers_and_a_silent_console(chromium, tmp_path, name):
    reader = Reader(chromium, tmp_path, made(name), seed=3)
    for _ in range(ACTIONS):
        assert reader.act() == []
    assert reader.leave() == []
