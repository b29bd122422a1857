"""The rules for numbers and names that several modules check by, and how a value is shown."""

import math
import reprlib
from collections.abc import Sequence
from numbers import Integral, Real

import torch

LAYOUTS = ("interleaved", "half")
_MOST_SHOWN = 80
_LARGEST = 2**63 - 1  # what an int64 tensor of positions holds
_MOST_HEADS = 2**20

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _MOST_SHOWN
_short.maxlevel = 3


def shown(value: object) -> str:
    """Return a value for an error message: short, on one line, and safe to print in a terminal.

    Args:
        value: anything.

    Returns:
        Its `repr`, cut to about 80 characters.

    Example:
        >>> shown("yarn"), shown(10**400), shown([1] * 100)
        ("'yarn'", 'an integer of about 401 digits', '[1, 1, 1, 1, 1, 1, ...]')
    """
    if isinstance(value, Integral) and not isinstance(value, bool):
        digits = int(abs(int(value)).bit_length() * math.log10(2)) + 1
        return repr(value) if digits <= 40 else f"an integer of about {digits} digits"
    text = _short.repr(value)
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 3] + "..."


def printable(text: str) -> str:
    """Return a text without its quotes as `shown` has it: escaped and cut."""
    return shown(text)[1:-1]


def escaped(text: str) -> str:
    r"""Return a text, whole, with everything in it escaped that a terminal would not just show.

    Args:
        text: anything; the ends of its lines are kept.

    Returns:
        The text, safe to print.

    Example:
        >>> escaped("a\x1b[31mb")
        'a\\x1b[31mb'
    """
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def number(name: str, value: float) -> None:
    """Raise unless a value is a finite real number.

    Args:
        name: of the value, for the message.
        value: what to check.

    Raises:
        TypeError: if it is not a real number; a bool is none.
        ValueError: if it is not finite, or too large for a float.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a real number, got {shown(value)}")
    try:
        is_finite = math.isfinite(value)
    except OverflowError:
        is_finite = False
    if not is_finite:
        raise ValueError(f"{name} must be finite, got {shown(value)}")


def positive(name: str, value: float) -> None:
    """Raise unless a value is a finite number above 0; arguments and errors as in `number`."""
    number(name, value)
    if value <= 0:
        raise ValueError(f"{name} must be positive, got {shown(value)}")


def factor(name: str, value: float) -> None:
    """Raise unless a value is a finite number of at least 1; otherwise as `number`."""
    number(name, value)
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {shown(value)}")


def share(name: str, value: float) -> None:
    """Raise unless a value is a number from 0 to 1; otherwise as `number`."""
    number(name, value)
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie within 0 .. 1, got {shown(value)}")


def integer(name: str, value: int, least: int | None = None, most: int | None = None) -> int:
    """Return an integer as one of Python's: sums of NumPy's wrap around.

    Args:
        name: of the value, for the message.
        value: what to check; a compiler's symbol for an integer is one.
        least: which it may be itself.
        most: likewise.

    Raises:
        TypeError: if it is not an integer; a bool is none.
        ValueError: if it is smaller than `least` or larger than `most`.
    """
    if type(value) is not int and not isinstance(value, torch.SymInt):
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise TypeError(f"{name} must be an integer, got {shown(value)}")
        value = int(value)
    if least is not None and value < least:
        rule = "positive" if least == 1 else f"at least {least}"
        raise ValueError(f"{name} must be {rule}, got {shown(value)}")
    if most is not None and value > most:
        raise ValueError(f"{name} must be at most {most}, got {shown(value)}")
    return value


def length(name: str, value: int) -> None:
    """Raise unless a value is an integer from 1 to 2 ** 63 - 1, a number of tokens.

    Args:
        name: of the value, for the message.
        value: what to check.

    Raises:
        TypeError: if it is not an integer; a bool is none.
        ValueError: if it is not positive, or larger than a tensor of positions holds.
    """
    integer(name, value, 1, _LARGEST)


def attention_factor(value: float) -> float:
    """Return what multiplies cos and sin, as a float: a tensor cannot be multiplied by a fraction.

    Args:
        value: what to check.

    Raises:
        TypeError: if it is not a real number; a bool is none.
        ValueError: if it is not positive and finite, or tables in float32 could not be so large or
            so small.
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"attention_factor must be a real number, got {shown(value)}")
    if not 0 < value < math.inf:
        raise ValueError(f"attention_factor must be positive and finite, got {shown(value)}")
    float32 = torch.finfo(torch.float32)
    if not float32.tiny <= value <= float32.max:
        raise ValueError(
            f"attention_factor must be between {float32.tiny:.3g} and {float32.max:.3g}, as tables "
            f"in float32 are, got {shown(value)}"
        )
    return float(value)


def layout(name: str, value: str) -> None:
    """Raise unless a value is the name of a layout.

    Args:
        name: of the value, for the message.
        value: what to check.

    Raises:
        ValueError: if it is neither "interleaved" nor "half".
    """
    if value not in LAYOUTS:
        raise ValueError(f'{name} must be "interleaved" or "half", got {shown(value)}')


def positive_list(name: str, numbers: Sequence[float], count: int) -> None:
    """Raise unless a value is a sequence of so many positive numbers, one for each pair.

    Args:
        name: of the sequence, for the message.
        numbers: what to check.
        count: of pairs.

    Raises:
        TypeError: if it is not a sequence, or an entry not a real number.
        ValueError: if its length is another, or an entry not positive and finite.
    """
    if isinstance(numbers, str) or not isinstance(numbers, Sequence):
        raise TypeError(f"{name} must be a list of numbers, got {shown(numbers)}")
    if len(numbers) != count:
        raise ValueError(f"{name} must have {count} numbers, one per pair, got {len(numbers)}")
    for i, entry in enumerate(numbers):
        positive(f"{name}[{i}]", entry)


def num_heads(value: int) -> None:
    """Raise unless a number of heads is an integer from 1 to 2 ** 20, beyond any model.

    Args:
        value: number of heads.

    Raises:
        TypeError: if it is not an integer; a bool is none.
        ValueError: if it is smaller or larger.
    """
    integer("num_heads", value, 1, _MOST_HEADS)


def whole_numbers(name: str, numbers: torch.Tensor) -> None:
    """Raise unless a tensor holds integers: what looks into a table needs them.

    Args:
        name: of the tensor, for the message.
        numbers: any tensor.

    Raises:
        TypeError: if the dtype is not an integer one; bool is none.
    """
    if numbers.is_floating_point() or numbers.is_complex() or numbers.dtype == torch.bool:
        raise TypeError(f"{name} must be whole numbers, got {numbers.dtype}")
