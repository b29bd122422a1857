"""An exercise as a widget, on the page and in a notebook."""

from typing import TYPE_CHECKING, Any

from ropebook.exercises.definitions import told

if TYPE_CHECKING:
    from ropebook.widgets import Asking


def ask(name: str, **options: Any) -> "Asking":
    """Return the widget of an exercise: a bet, an answer box or code with gaps.

    Its `answer` is what the reader has given last, its `done` says whether the exercise is done.

    Args:
        name: the exercise's name, as its chapter's file in `ropebook/exercises` defines it.
        **options: for a bet, `veils`: how many blocks of text after it the built page veils until
            it is placed.

    Raises:
        ValueError: If no exercise of that name is defined, or it is a task, which belongs to a
            widget: `ScoreBuilder(task="peak at four back")`.

    Example:
        >>> box = ask("turn by hand")
        >>> box.answer, box.done
        (None, False)
    """
    from ropebook.widgets import AnswerBox, BetCards, FillInBox

    definition = told(name)
    for box in (AnswerBox, BetCards, FillInBox):
        if definition["kind"] in box.kinds:
            return box(definition, **options)
    widget = definition["widget"]
    raise ValueError(f"{name!r} is a task of the widget {widget}, which shows it by task={name!r}")
