"""Ways to call that the names of arguments do not tell apart: the one that is right is taken."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ropelib.diagnosis.tensors import gap, random, spread

_HEADS, _TOKENS = 3, 5  # of the call that tells ways apart: neither is taken for the other
_ROUNDED = {torch.bfloat16: 2.0**-5, torch.float16: 2.0**-8}  # of scores; 2**-10 elsewhere


@dataclass(frozen=True)
class Way:
    """One way to call a function: `call(x, position_ids)`, or with several tensors before them.

    `words` say how it then gets its arguments; there are none for the way that a form is known by.
    """

    call: Callable
    words: str = ""


def the_right_one(ways: Sequence[Way]) -> Callable:
    """Make a rotation that is called in the first of some ways in which it is right.

    Right is what a short call tells: heads are alike, tokens are not, and scores depend on the
    distance. Where no way is right it is called in one that works, of q and k for one of them if
    not for both, and in which partners take as much of each other, to be judged so. What is taken
    stands in `way`, a list, from the first call on.

    Example:
        >>> from ropelib import apply_rotary, cos_sin, inv_freq
        >>> def by(width):
        ...     tables = lambda ids: cos_sin(ids, inv_freq(width))
        ...     return lambda x, ids: apply_rotary(x, *tables(ids), layout="half")
        >>> rotate = the_right_one([Way(by(16)), Way(by(4), "tables of 2")])
        >>> rotate(torch.ones(1, 2, 3, 4), torch.arange(3)).shape, rotate.way[0].words
        (torch.Size([1, 2, 3, 4]), 'tables of 2')
    """
    chosen: list[Way] = []

    def rotate(*given: Tensor, **options) -> Tensor | tuple[Tensor, ...]:
        if not chosen and len(ways) > 1:
            chosen.extend(_best(ways, *given))
        return (chosen or ways)[0].call(*given, **options)

    if len(ways) > 1:
        rotate.way = chosen
    return rotate


def _best(ways: Sequence[Way], *given: Tensor) -> list[Way]:
    """Return the first way that is right, or else that is nearest to it; none where all raise."""
    working = {}
    for way in ways:
        right = _part_that_is_right(way, *given)
        if right == 1:
            return [way]
        if right is not None:
            working[way] = right
    if len(working) < 2:
        return [*working]
    return [max(working, key=lambda way: (working[way], -_unevenness(way, *given)))]


def _unevenness(way: Way, *given: Tensor) -> float:
    """Say how far partners are from taking as much of each other, and keeping as much, as in pairs.

    Tables in another order than the pairs show so beside any slip in a line.
    """
    *tensors, ids = given
    width = tensors[0].shape[-1]
    ones = torch.eye(width, dtype=tensors[0].dtype, device=ids.device)[None, None]
    positions = torch.ones(width, dtype=ids.dtype, device=ids.device)
    try:
        with torch.no_grad():
            turned = way.call(
                *(ones.clone() for _ in tensors),
                positions.expand(*ids.shape[:-2], *ids.shape[-2:-1] and (1,), -1).clone(),
            )
    except Exception:  # as many tokens as there are dimensions, all at one position
        return math.inf
    first = turned if isinstance(turned, Tensor) else turned[0]
    sizes = first[0, 0].detach().cpu().double().abs()
    kept = sizes.diagonal()
    partner = (sizes - kept.diag()).argmax(1)
    taken = sizes.gather(1, partner[:, None])[:, 0]
    uneven = (kept - kept[partner]).abs() + (taken - taken[partner]).abs()
    return round(float(uneven.mean()), 4)


def _part_that_is_right(way: Way, *given: Tensor) -> float | None:
    """Call with one vector in all heads and at all tokens, then another; None where it raises.

    Returns:
        1 where all that comes back is right, less where only q or k is, 0 where nothing is.
    """
    *tensors, ids = given
    x = tensors[0]
    vector = random(1, 1, 1, x.shape[-1], like=x)
    positions = torch.arange(_TOKENS, device=ids.device)
    positions = positions.expand(*ids.shape[:-2], *ids.shape[-2:-1] and (1,), -1)
    pairs = []
    try:
        for v in (vector, vector.flip(-1)):
            inputs = [v.repeat(1, _HEADS, _TOKENS, 1) for _ in tensors]
            with torch.no_grad():
                turned = way.call(*inputs, positions.clone())
            turned = (turned,) if isinstance(turned, Tensor) else tuple(turned)
            if any(each.shape != inputs[0].shape for each in turned):
                return None
            pairs.append([each.cpu().double() for each in turned])
    except Exception:  # whatever it raises that is called otherwise
        return None
    allowed = _ROUNDED.get(x.dtype, 2.0**-10)
    right = [_rotates(one, other, allowed) for one, other in zip(*pairs, strict=True)]
    return sum(right) / len(right)


def _rotates(one: Tensor, other: Tensor, allowed: float) -> bool:
    size = float(one.abs().max())
    scores = one[0, 0] @ other[0, 0].T
    lengths = float(one.norm(dim=-1).max() * other.norm(dim=-1).max())
    return (
        spread(one, axis=1) < allowed * size
        and spread(one, axis=2) > allowed * size
        and gap(scores[1:, 1:], scores[:-1, :-1]) < allowed * lengths
    )
