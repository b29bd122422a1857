"""The answer box's Python side: which definitions it shows, and what is told of it."""

import pytest
import traitlets

pytest.importorskip("anywidget")

from oracles import Oracle
from samples import SAMPLES

from ropebook.exercises import ask
from ropebook.exercises.definitions import DEFINITIONS, Task
from ropebook.widgets import AnswerBox, BetCards, FillInBox

ORACLE = Oracle(lambda inputs: {})


@pytest.mark.parametrize("exercise", SAMPLES, ids=lambda one: one.kind)
def test_a_widget_shows_the_kinds_that_are_its_own(exercise):
    told = exercise.told()
    shows = [cls for cls in (AnswerBox, BetCards, FillInBox) if told["kind"] in cls.kinds]
    assert len(shows) == 1
    assert shows[0](told).definition == told
    for other in {AnswerBox, BetCards, FillInBox} - set(shows):
        with pytest.raises(
            ValueError, match=rf"^{other.__name__} shows .*, got .* '{told['kind']}'"
        ):
            other(told)


def test_ask_gives_the_widget_of_an_exercise_by_its_name():
    for name, exercise in DEFINITIONS.items():
        if not isinstance(exercise, Task):
            widget = ask(name)
            assert widget.definition == exercise.told()
            assert (widget.answer, widget.done) == (None, False)


def test_ask_refuses_a_name_that_is_none_and_a_task(monkeypatch):
    with pytest.raises(ValueError, match=r"no exercise .* is named 'turn'.*turn by hand"):
        ask("turn")
    task = Task("reach four", "score_builder", "Bring it to 4.", done="distance == 4")
    monkeypatch.setitem(DEFINITIONS, task.name, task)
    with pytest.raises(ValueError, match="'reach four' is a task of the widget score_builder"):
        ask("reach four")


@pytest.mark.parametrize("name", ["definition", "answer", "done"])
def test_what_the_reader_did_is_read_and_not_set(name):
    with pytest.raises(traitlets.TraitError, match="read-only"):
        setattr(ask("turn by hand"), name, None)


def test_a_page_tells_python_what_was_answered():
    box = ask("turn by hand")
    box.set_state({"answer": ["1", "3"], "done": True})
    assert (box.answer, box.done) == (["1", "3"], True)
