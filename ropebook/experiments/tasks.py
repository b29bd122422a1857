"""Small tasks that only places can solve: texts of any length, and what is asked where.

`draw(name, count, length, generator)` gives as long texts as one likes, so that what was learned at
one length can be read at others. Every answer follows from the tokens up to the place where it is
asked. With the length L the distance back to what must be found grows:

    copy       the n words again, in order: the answer stands exactly n back, n <= (L - 1) // 2
    induction  what followed this symbol the first time: 1 to L - 2 back, on average L / 2
    passkey    the symbol after the one key: (1 - depth)(L - 3) + 1 back, rounded
    nearest    the symbol after the later of two keys: 2 to L - 4 back, on average near L / 3
    parity     whether the ones so far are odd in number: all p places back to the first, at place p
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ropelib import checks

VOCAB_SIZE = 64
SYMBOLS = 16  # of the tasks that have other tokens beside: few, so that they repeat
KEY, QUERY, PAD = 61, 62, 63


class Texts(NamedTuple):
    """Texts with what is asked of them, each `(count, length)`.

    Args:
        tokens: what is read, whole numbers below `VOCAB_SIZE`.
        targets: what must be said at each token; 0 where nothing is asked.
        asked: bool, where the answer counts.
    """

    tokens: Tensor
    targets: Tensor
    asked: Tensor


@dataclass(frozen=True)
class Task:
    """How texts of one kind are made.

    Args:
        make: `make(count, length, generator, **options) -> Texts`, of checked arguments.
        shortest: tokens in a text at least.
        longest: likewise at most, where symbols would run out.
        options: the names of its options.
    """

    make: Callable[..., Texts]
    shortest: int
    longest: int | None = None
    options: tuple[str, ...] = ()


def draw(name: str, count: int, length: int, generator: torch.Generator, **options: Any) -> Texts:
    """Return random texts of a task; the same for the same generator.

    Args:
        name: a key of `TASKS`.
        count: how many texts, at least 1.
        length: tokens in each.
        generator: of the random numbers; it moves on.
        **options: of "copy", `words`: how many to copy, from 1 to (length - 1) // 2, drawn anew for
            each text unless given. Of "passkey", `depth`: where the key stands, from 0 (first) to 1
            (just before it is asked for), anywhere unless given.

    Raises:
        TypeError: if a number is none.
        ValueError: if there is no such task or option, or a number is out of range.

    Example:
        >>> texts = draw("copy", 1, 7, torch.Generator().manual_seed(0), words=3)
        >>> texts.tokens[0, :3].tolist() == texts.tokens[0, 4:].tolist() == [12, 15, 5]
        True
        >>> texts.asked[0].int().tolist()
        [0, 0, 0, 1, 1, 1, 0]
    """
    check(name)
    task = TASKS[name]
    checks.integer("count", count, 1)
    checks.integer(f"length of {name}", length, task.shortest, task.longest)
    for option in options:
        if option not in task.options:
            raise ValueError(
                f"options of {name} must be among {list(task.options)}, got {checks.shown(option)}"
            )
    return task.make(count, length, generator, **options)


def check(name: str) -> None:
    """Raise unless there is a task of that name.

    Args:
        name: what is said to be one.

    Raises:
        ValueError: if it is none.

    Example:
        >>> check("parity")
    """
    if not isinstance(name, str) or name not in TASKS:
        raise ValueError(f"task must be one of {sorted(TASKS)}, got {checks.shown(name)}")


def _copy(count: int, length: int, generator: torch.Generator, words: int | None = None) -> Texts:
    """Return `w_1 .. w_n QUERY w_1 .. w_n PAD ..`: at QUERY and at each word after it the next."""
    most = (length - 1) // 2
    if words is None:
        words = torch.randint(1, most + 1, (count, 1), generator=generator)
    else:
        checks.integer("words", words, 1, most)
    place = torch.arange(length).expand(count, -1)
    symbols = torch.randint(SYMBOLS, (count, length), generator=generator)
    earlier = symbols.gather(1, (place - words - 1).clamp(min=0))
    tokens = torch.where(place < words, symbols, earlier)
    tokens = torch.where(place == words, QUERY, tokens)
    tokens = torch.where(place > 2 * words, PAD, tokens)
    return _texts(tokens, tokens.roll(-1, 1), (words <= place) & (place < 2 * words))


def _induction(count: int, length: int, generator: torch.Generator) -> Texts:
    """Return symbols, each once, and all again in another order: at each again, its follower."""
    half = length // 2
    first = torch.rand(count, VOCAB_SIZE, generator=generator).argsort(1)[:, : length - half]
    again = torch.rand(count, half, generator=generator).argsort(1)
    tokens = torch.cat((first, first.gather(1, again)), 1)
    followers = first.roll(-1, 1).gather(1, again)
    known = again < first.shape[1] - 1  # the last of the first half has no follower there
    nothing = torch.zeros_like(first)
    return _texts(tokens, torch.cat((nothing, followers), 1), torch.cat((nothing.bool(), known), 1))


def _passkey(
    count: int, length: int, generator: torch.Generator, depth: float | None = None
) -> Texts:
    """Return symbols, somewhere KEY before one of them, and QUERY at the end: which one?"""
    last = length - 3
    if depth is None:
        place = torch.randint(last + 1, (count, 1), generator=generator)
    else:
        checks.share("depth", depth)
        place = torch.full((count, 1), round(depth * last))
    tokens = torch.randint(SYMBOLS, (count, length), generator=generator)
    return _asked_at_the_end(tokens.scatter(1, place, KEY), place + 1)


def _nearest(count: int, length: int, generator: torch.Generator) -> Texts:
    """Return symbols, KEY before two of them that differ, and QUERY at the end: which is later?"""
    tokens = torch.randint(SYMBOLS, (count, length), generator=generator)
    order = torch.rand(count, length // 2 - 1, generator=generator).argsort(1)
    places = 2 * order[:, :2].sort(1)[0]  # even, so that the pairs lie apart
    other = torch.randint(1, SYMBOLS, (count, 1), generator=generator)
    later = (tokens.gather(1, places[:, :1] + 1) + other) % SYMBOLS
    tokens = tokens.scatter(1, places, KEY).scatter(1, places[:, 1:] + 1, later)
    return _asked_at_the_end(tokens, places[:, 1:] + 1)


def _parity(count: int, length: int, generator: torch.Generator) -> Texts:
    """Return zeros and ones: at each, whether the ones up to here are odd in number."""
    tokens = torch.randint(2, (count, length), generator=generator)
    return _texts(tokens, tokens.cumsum(1) % 2, torch.ones_like(tokens, dtype=torch.bool))


def _asked_at_the_end(tokens: Tensor, answer: Tensor) -> Texts:
    """Return texts that end with QUERY, whose answer stands at a place `(count, 1)`."""
    tokens[:, -1] = QUERY
    asked = torch.zeros_like(tokens, dtype=torch.bool)
    asked[:, -1] = True
    return _texts(tokens, tokens.gather(1, answer).expand_as(tokens), asked)


def _texts(tokens: Tensor, targets: Tensor, asked: Tensor) -> Texts:
    return Texts(tokens, torch.where(asked, targets, 0), asked)


TASKS: Mapping[str, Task] = MappingProxyType(
    {
        "copy": Task(_copy, 3, options=("words",)),
        "induction": Task(_induction, 4, 2 * VOCAB_SIZE),
        "passkey": Task(_passkey, 3, options=("depth",)),
        "nearest": Task(_nearest, 6),
        "parity": Task(_parity, 1),
    }
)
