"""Exercises that tell the reader whether they are right: `check("turn by hand", (1, 3))`.

A checker looks at an answer and returns None when it is right, or a hint that names the
misconception behind a wrong one, never the answer. Checkers stand in one file per chapter; the
exercises' wording and their solutions stand in the chapters, and `solution_of` keeps a solution to
itself until the reader asks for it.
"""

import html
import importlib
import inspect
import os
import pkgutil
import sys
from collections.abc import Callable
from dataclasses import dataclass

from ropebook.exercises.asking import ask as ask
from ropebook.exercises.base import CHECKERS
from ropebook.exercises.definitions import DEFINITIONS, judge
from ropebook.exercises.forms import with_markup, without_markup
from ropebook.exercises.language import LanguageError
from ropebook.exercises.solved import Watched, answer_said

RUN_SOLUTIONS = "ROPELIB_RUN_SOLUTIONS"
"""Environment variable under which solutions are checked at once: in the built book, in tests."""

_answered: set[str] = set()  # exercises that the reader has solved
_offered: list[str] = []  # the solution that the reader was offered last, until the next verdict


@dataclass(frozen=True)
class Verdict:
    """What `check` found: true in a condition when the answer is right, readable in a notebook."""

    name: str
    ok: bool
    message: str

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return f"{'✓' if self.ok else '✗'} {self.name}: {without_markup(self.message)}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        kind = "right" if self.ok else "open"
        mark = "✓" if self.ok else "○"
        return (
            f'<div class="rope-verdict rope-verdict-{kind}"><strong>{mark} {html.escape(self.name)}'
            f"</strong> {with_markup(self.message)}</div>"
        )


def check(name: str, answer: object) -> Verdict:
    """Say whether an answer to an exercise is right, and if not, what it may rest on.

    Args:
        name: the exercise's name, as the chapter gives it.
        answer: a value or a function, as the exercise asks; `...` means not answered yet.

    Returns:
        A Verdict; an exception that the answer raises is reported in it with its type.

    Raises:
        ValueError: If there is no exercise of that name.

    Example:
        >>> check("turn by hand", (1, -4))
        ✗ turn by hand: A turn keeps the length: your vector is longer or shorter than (3, -1).
    """
    verdict = _judge(name, answer)
    _offered.clear()
    if verdict:
        _answered.add(name)
    return verdict


def solution_of(name: str) -> Callable[[Callable[..., object]], object]:
    """Keep the book's solution of an exercise until the reader asks for it, then check it.

    The decorated function is the answer where an exercise asks for a function; where it asks for a
    value, it takes no argument and returns that value. It is checked, and the verdict shown as the
    cell's value, once the reader has solved the exercise, or when its cell is run twice in a row;
    until then a line says so. The verdict says the value, of a function that of its first case.
    "Run All" therefore answers nothing for the reader, however often it is chosen. Nor does it take
    a name away: that of the function means afterwards what it meant before, and all others are
    local to it.

    Where the environment variable `ROPELIB_RUN_SOLUTIONS` is set, solutions are checked at once.

    Args:
        name: the exercise's name, as the chapter gives it.

    Raises:
        ValueError: If there is no exercise of that name.

    Example:
        >>> check("turn by hand", (1, 3))
        ✓ turn by hand: Right.
        >>> @solution_of("turn by hand")
        ... def _():
        ...     return 1, 3
        ✓ turn by hand: Right. The value is (1, 3).
    """
    _checker(name)

    def settle(function: Callable[..., object]) -> object:
        asked_for = name in _answered or _offered == [name] or os.environ.get(RUN_SOLUTIONS)
        _offered[:] = [] if asked_for else [name]
        verdict = Verdict(name, False, _WAITS)
        if asked_for:
            takes_values = bool(inspect.signature(function).parameters)
            answer = Watched(function) if takes_values else function()
            verdict = _judge(name, answer)
            if verdict and answer_said(answer):
                verdict = Verdict(name, True, f"{verdict.message} {answer_said(answer)}")
        sys.displayhook(verdict)  # as the value of a cell is shown, in a notebook and without one
        return function.__globals__.get(function.__name__)

    return settle


_WAITS = (
    "The book's solution waits until you have tried: run this cell once more to see it checked."
)


def _judge(name: str, answer: object) -> Verdict:
    checker = _checker(name)
    if answer is ... or answer is None:
        return Verdict(name, False, "Not answered yet.")
    try:
        if name in DEFINITIONS:
            return Verdict(name, *judge(name, answer))
        hint = checker(answer)
    except LanguageError as error:
        return Verdict(name, False, str(error))
    except Exception as error:  # the reader's own code failed: that is the answer's verdict
        if isinstance(error.__cause__ or error, NotImplementedError):
            return Verdict(name, False, "Not answered yet.")
        return Verdict(name, False, f"Your answer raised {type(error).__name__}: {error}")
    return Verdict(name, hint is None, hint or "Right.")


def _checker(name: str) -> Callable[..., str | None]:
    if name not in CHECKERS:
        raise ValueError(f"no exercise is named {name!r}; there are {', '.join(sorted(CHECKERS))}")
    return CHECKERS[name]


for _chapter in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_chapter.name}")
