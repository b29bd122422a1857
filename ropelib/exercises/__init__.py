"""Exercises that tell the reader whether they are right: `check("turn by hand", (1, 3))`.

A checker looks at an answer and returns None when it is right, or a hint that names the
misconception behind a wrong one, never the answer. Checkers stand in one file per chapter; the
exercises' wording and their folded solutions stand in the chapters.
"""

import html
import importlib
import pkgutil
from dataclasses import dataclass

from ropelib.exercises.base import CHECKERS


@dataclass(frozen=True)
class Verdict:
    """What `check` found: true in a condition when the answer is right, readable in a notebook."""

    name: str
    ok: bool
    message: str

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return f"{'✓' if self.ok else '✗'} {self.name}: {self.message}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        kind = "right" if self.ok else "open"
        mark = "✓" if self.ok else "○"
        return (
            f'<div class="rope-verdict rope-verdict-{kind}"><strong>{mark} {html.escape(self.name)}'
            f"</strong> {html.escape(self.message)}</div>"
        )


def check(name: str, answer) -> Verdict:
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
    if name not in CHECKERS:
        raise ValueError(f"no exercise is named {name!r}; there are {', '.join(sorted(CHECKERS))}")
    if answer is ... or answer is None:
        return Verdict(name, False, "Not answered yet.")
    try:
        hint = CHECKERS[name](answer)
    except Exception as error:  # the reader's own code failed: that is the answer's verdict
        if isinstance(error.__cause__ or error, NotImplementedError):
            return Verdict(name, False, "Not answered yet.")
        return Verdict(name, False, f"Your answer raised {type(error).__name__}: {error}")
    return Verdict(name, hint is None, hint or "Right.")


for _chapter in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_chapter.name}")
