"""An answer given in Python, in the form in which a page has it."""

import html
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ropebook.exercises.language import LanguageError, split
from ropebook.exercises.meaning import given
from ropebook.exercises.program import NO_RETURN

_MARKUP = re.compile(r"</?(?:b|i|code|sub|sup)>")


def without_markup(text: str) -> str:
    """Return a text without its markup.

    Example:
        >>> without_markup("q<sub>m</sub> turned")
        'qm turned'
    """
    return _MARKUP.sub("", text)


def with_markup(text: str) -> str:
    """Return a text as HTML, in which nothing but its few tags means markup.

    Example:
        >>> with_markup("<b>q</b> < <img>")
        '<b>q</b> &lt; &lt;img&gt;'
    """
    parts = _MARKUP.split(text)
    tags = [*_MARKUP.findall(text), ""]
    return "".join(html.escape(part) + tag for part, tag in zip(parts, tags, strict=True))


def plain(value: object) -> object:
    """Return numbers and arrays of any library as Python's own; texts stay texts."""
    if hasattr(value, "tolist"):  # NumPy, torch, SymPy's matrices
        value = value.tolist()
    if isinstance(value, str | bool | int | float) or value is None:
        return value
    if value is ...:  # a dot of the stub that is still there
        return None
    if isinstance(value, Sequence | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, complex):
        return [value.real, value.imag]
    return float(value)  # SymPy's numbers, fractions


def as_on_a_page(told: Mapping, answer: Any) -> Any:
    """Return an answer in the form in which a page has it.

    Args:
        told: the definition as a page gets it.
        answer: a value of Python; for a task, a widget or its traits.

    Raises:
        LanguageError: If a set is asked for, and one number given.
    """
    kind = told["kind"]
    if kind == "task":
        if isinstance(answer, Mapping):
            return answer
        names = re.findall(r"[A-Za-z_]\w*", told["done"])
        return {name: plain(getattr(answer, name)) for name in names if hasattr(answer, name)}
    answer = plain(answer)
    if "options" in told:
        texts = [without_markup(option["text"]) for option in told["options"]]
        return texts.index(answer) if answer in texts else answer
    if kind == "order" and isinstance(answer, list):
        items = [without_markup(item) for item in told["items"]]
        return [items.index(item) if item in items else item for item in answer]
    if kind == "set" and not isinstance(answer, list | str):
        raise LanguageError("Give a set, such as {1, 2}: there may be more than one.")
    if kind == "numbers" and isinstance(answer, str):
        return split(answer.strip(" ()[]"))
    if kind in ("numbers", "fill-in", "order") and not isinstance(answer, list):
        return [answer]
    return answer


def outputs_of(function: Callable, cases: Sequence[Sequence], *, tensors: bool) -> list:
    """Return what a reader's own function gives for each case, or the error of arithmetic.

    Args:
        function: the reader's.
        cases: values of its parameters.
        tensors: whether it gets lists of numbers as torch tensors, new ones for each case.

    Raises:
        LanguageError: If it returns None, or what is no number and no list of numbers.
    """

    def handed(value: Any) -> Any:
        if isinstance(value, Sequence) and not isinstance(value, str):
            items = [handed(item) for item in value]
            return torch.tensor(value, dtype=torch.float64) if tensors else items
        return value

    found: list = []
    for case in cases:
        try:
            value = function(*map(handed, case))
        except ArithmeticError as error:
            found.append(error)
            continue
        if value is None:
            raise LanguageError(NO_RETURN)
        found.append(given(plain(value)))
    return found
