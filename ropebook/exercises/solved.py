"""What a solution says beside its verdict: the value, or what its function returned first."""

import copy
import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch

_LONG = 100
_DIGITS = 6


class Watched:
    """A function that remembers its first call, as it was, and otherwise does what it did."""

    def __init__(self, function: Callable[..., Any]):
        functools.update_wrapper(self, function)
        self.function = function
        self.first: tuple[tuple, Any] | None = None

    def __call__(self, *values: Any, **named: Any) -> Any:
        """Return what the function returns."""
        if self.first is not None:
            return self.function(*values, **named)
        given = tuple(map(_kept, values))
        result = self.function(*values, **named)
        self.first = (given, _kept(result))
        return result


def answer_said(answer: Any) -> str:
    """Return a sentence with the value of a solution, or "" where it cannot be said shortly.

    Args:
        answer: a value, or a `Watched` function that has been called.

    Example:
        >>> answer_said((1, 2 / 3))
        'The value is (1, 0.666667).'
    """
    if not isinstance(answer, Watched):
        said = value_said(answer)
        return f"The value is {said}." if said else ""
    if answer.first is None:
        return ""
    values, result = answer.first
    names = list(inspect.signature(answer.function).parameters)
    parts = [f"{name} = {value_said(value)}" for name, value in zip(names, values, strict=False)]
    if not value_said(result):
        return ""
    if all(map(value_said, values)) and len(", ".join(parts)) <= 2 * _LONG:
        return f"For {', '.join(parts)} it gives {value_said(result)}."
    return f"On the first case it gives {value_said(result)}."


def value_said(value: Any) -> str:
    """Return a value as text, numbers with six digits, or "" where it is no short one.

    Example:
        >>> value_said([torch.tensor([0.5, 1]), {"b", "a"}, True])
        "[[0.5, 1], {'a', 'b'}, True]"
    """
    said = _said(value)
    return said if 0 < len(said) <= _LONG else ""


def _said(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return _said(value.tolist()) if value.numel() <= _LONG else ""
    if hasattr(value, "tolist") and not isinstance(value, type):  # NumPy, SymPy's matrices
        return _said(value.tolist())
    if value is None or callable(value):
        return ""
    if isinstance(value, bool | str | int):
        return repr(value)
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}"
    if isinstance(value, complex):
        sign = "-" if value.imag < 0 else "+"
        return f"{value.real:.{_DIGITS}g} {sign} {abs(value.imag):.{_DIGITS}g}j"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(_said, value)))}}}"
    if isinstance(value, list | tuple):
        parts = [_said(item) for item in value]
        inside = ", ".join(parts) if all(parts) else ""
        if not inside and value:
            return ""
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    if isinstance(value, dict):
        parts = [f"{_said(key)}: {_said(item)}" for key, item in value.items()]
        return f"{{{', '.join(parts)}}}"
    text = str(value)
    return "" if text.startswith("<") or "\n" in text else text


def _kept(value: Any) -> Any:
    """Return a copy of a value that a function may go on to change."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return copy.deepcopy(value) if isinstance(value, list | dict | set | tuple) else value
