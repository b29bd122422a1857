"""The numbers in what a reader pastes, however it was printed."""

import math
import re

# What is printed around numbers, as `vector_check/numbers.js` has it.
_AROUND = [
    (re.compile(r"<tf\.[^<]*?numpy\s*=([^>]*)>"), r"\1"),
    (
        re.compile(
            r"\b(?:dtype|device|grad_fn|requires_grad|weak_type|precision|size|shape"
            r"|strides|layout|const ndim|Name)[\"']?\s*[=:]\s*"
            r"(?:'[^']*'|\"[^\"]*\"|<[^>]*>|\([0-9, ]*\)|\[[0-9, ]*\]"
            r"|[A-Za-z0-9_.]+(?: \(0x[0-9a-f]+\))?)"
        ),
        " ",
    ),
    (
        re.compile(
            r"[0-9]+-element [^:\n]*:|\[ *[A-Za-z]+Type\{[0-9,]*\} *\]"
            r"|Tensor\[\[[0-9, ]*\], [a-z0-9]+\]"
        ),
        " ",
    ),
    (
        re.compile(
            r"(?<![A-Za-z0-9_.<])[\"']?(?:[A-Za-z_]+ )*[A-Za-z_][A-Za-z0-9_]*"
            r"(?:\[[0-9, ]*\]|\([0-9]+\))*[\"']?\s*[=:]"
        ),
        " ",
    ),
    (re.compile(r"[\"'][0-9]+[\"']\s*:|(?<![A-Za-z0-9_.+-])[0-9]+:(?=\s)"), " "),
    (
        re.compile(
            r"(?:[A-Za-z]+\.)?(?:float[0-9]+array(?:\([0-9]*\))?|tensor|array|vec!"
            r"|b?float[0-9]*)\s*[(\[]",
            re.IGNORECASE,
        ),
        "(",
    ),
]
_COUNTED = re.compile(r"(?:^|\n)[ \t]*\[[0-9]+\](?=[ \t]+[-+.0-9])")
_NUMBER = re.compile(
    r"([+-]?(?:[0-9]+\.?([0-9]*)|\.([0-9]+))(?:e([+-]?[0-9]+))?)(?:f(?:32|64)?)?", re.IGNORECASE
)


def _words(bare: str) -> list[str]:
    return [word for word in re.split(r"[\s,;()\[\]{}\"']+", bare) if word]


def _with_points(bare: str, count: int) -> list[str] | None:
    """Return the words with commas as decimal points, where each has one; else None."""
    words = _words(re.sub(r"(?<=[0-9]),(?=[0-9])", ".", bare))
    fit = len(words) == count and all(word.count(".") == 1 for word in words)
    return words if fit and "." not in bare else None


def read(text: str, count: int, most: int) -> list[tuple[float, float]]:
    """Return the numbers of a text that a program printed, with its brackets, commas and names.

    Commas are decimal points where that alone makes `count` numbers, each with one.

    Args:
        text: what was printed.
        count: how many numbers must stand there.
        most: how many characters it may have.

    Returns:
        Each number, and by how much its last digit leaves it open.

    Raises:
        ValueError: there are not `count` finite numbers and nothing else.

    Example:
        >>> read("y = [np.float64(1.25), -2e1]", 2, 99)
        [(1.25, 0.005), (-20.0, 5.0)]
        >>> read("1,25 -2,5", 2, 99)
        [(1.25, 0.005), (-2.5, 0.05)]
    """
    if len(text) > most:
        raise ValueError(f"pasted must have at most {most} characters, got {len(text)}")
    bare = text.replace("\N{MINUS SIGN}", "-")
    for around, instead in _AROUND:
        bare = around.sub(instead, bare)
    bare = _COUNTED.sub(" ", bare)
    words = _words(bare)
    # What a table's first column counts.
    counts = [[str(start + i) for i in range(count)] for start in (0, 1)]
    if words[::2] in counts and len(words) == 2 * count:
        words = words[1::2]
    if len(words) != count:
        words = _with_points(bare, count) or words
    if not words:
        raise ValueError(f"pasted must have {count} numbers, got none")
    numbers = []
    for word in words:
        endless = re.fullmatch(r"[+-]?(?:nan|inf|infinity)", word, re.IGNORECASE)
        parts = _NUMBER.fullmatch(word)
        if not endless and not parts:
            raise ValueError(f"pasted must have numbers and nothing else, got {word!r}")
        number = float(parts[1]) if parts else math.nan
        if not math.isfinite(number):
            raise ValueError(f"pasted must have finite numbers, got {word!r}")
        last = int(parts[4] or 0) - len(parts[2] or parts[3] or "")
        numbers.append((number, 0.5 * 10.0 ** max(-20, min(last, 20))))
    if len(numbers) != count:
        raise ValueError(f"pasted must have {count} numbers, got {len(numbers)}")
    return numbers
