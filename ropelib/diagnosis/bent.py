"""The rule on positions that are not read as they are: all pairs turn by the same other number."""

import math
import re
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from ropelib.diagnosis.fit import whole_turns
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.origins import shift_of
from ropelib.diagnosis.report import Finding, wrong

_TURNED = 0.3  # rad of the fastest pair, by which frequencies are told
_UNTIL_FLOAT32 = 1e-4  # of an angle
_FEWEST = 4  # pairs: fewer agree by chance
_FIRST = 9  # positions, all of them, that must be told
_NEAR, _FAR = 129, 1e4  # where others need not be told: from the one on, or after the other
_ALIKE = 0.02  # of a position: what float32 leaves of far ones
_WIDEST = 64  # positions that are read as one, or after which they end
_CAUSES = {
    "positions-bent": "a function of the positions before they are multiplied by inv_freq: a "
    "logarithm, groups of neighbors, a rounding",
    "positions-clamped": "a table that ends there, indexed with a clamp",
    "positions-wrap-around": "positions taken modulo the length of the table",
}


def bent(m: Measured, phases: Tensor, ids: Tensor) -> Finding | None:
    """Say as which position each is turned, where all pairs agree on it and some are others."""
    if m.num_pairs < _FEWEST or m.depends_on_length or m.noise > 1e-4:
        return None
    read = _read_as(phases, m.pairing.slots)
    whole = len(read) == len(ids) or int(ids[len(read)]) >= _NEAR
    ids = ids[: len(read)].double()
    if len(read) < _FIRST or not (whole or float(read[-1]) > _FAR) or _times(read, ids):
        return None
    others = ((read - ids).abs() > _ALIKE).nonzero().flatten()
    kind, like = next(_shapes(read, ids), ("bent", ""))
    code = f"positions-{kind}"
    some = [int(others[i]) for i in sorted({0, len(others) // 2, len(others) - 1})]
    told = ", ".join(f"{int(ids[i])} like {float(read[i]):.6g}" for i in some)
    return wrong(
        code,
        f"Position p is not read as p{like and f', but as {like}'}: all pairs turn {told}.",
        _as_scaled(like) or _in_few_bits(like) or _CAUSES[code],
        int(ids[some[0]]),
    )


def _in_few_bits(like: str) -> str:
    """Return the cause where it is a position as a whole number of few bits has it."""
    if not (written := re.fullmatch(r"int(\d+)\(p\)", like)):
        return ""
    return f"position_ids cast to int{written[1]}, which ends at {2 ** (int(written[1]) - 1) - 1}"


def _as_scaled(like: str) -> str:
    """Return the cause where it is a position that one number divides, but for a rounding.

    Example:
        >>> _as_scaled("p // 4")[:67]
        'linear scaling by an integer division or a rounding, p // 4 for p /'
    """
    written = re.fullmatch(r"p // (\d+)|(?:round|ceil)\(p / (\d+)\)", like)
    if written is None:
        return ""
    times = written[1] or written[2]
    if like == "p // 2":
        also = "; or a table as wide as the head, of which rows of half the width are read"
    else:
        also = ""
    return (
        f"linear scaling by an integer division or a rounding, {like} for p / {times}, so that "
        f"neighbors have one angle; or groups of neighbors, as in Self-Extend{also}"
    )


def _read_as(phases: Tensor, slots: Sequence[int]) -> Tensor:
    """Return the positions that angles are of, as long as one number explains those of all pairs.

    The fastest pair is taken to turn by 1 rad/token.
    """
    fastest = phases.abs().amax(1)
    turned = (fastest > _TURNED).nonzero().flatten()
    if not len(turned):
        return fastest[:0]
    first = phases[turned[0]]
    first = first + whole_turns(first, slots, _UNTIL_FLOAT32)
    speeds = first / first.abs().max()
    read = []
    for each in phases:
        position = shift_of(each, speeds)
        if position is None:
            break
        read.append(position)
    return torch.tensor(read, dtype=torch.float64)


def _times(read: Tensor, other: Tensor) -> float | None:
    """Return how many times the other numbers they are, if they are so."""
    if not other.any():
        return None
    times = float((read * other).sum() / (other * other).sum())
    alike = (read - times * other).abs() <= _ALIKE * (1 + read.abs() / 10)
    return times if bool(alike.all()) else None


def _shapes(read: Tensor, ids: Tensor) -> Iterator[tuple[str, str]]:
    """Return the code, and the formula, of each known function of the position that it is."""
    for code, name, other in _known(read, ids):
        if times := _times(read, other):
            yield code, name if abs(times - 1) < _ALIKE else f"{times:.4g} * ({name})"


def _known(read: Tensor, ids: Tensor) -> Iterator[tuple[str, str, Tensor]]:
    yield "bent", "log(1 + p)", (1 + ids).log()
    for bits in (8, 16):
        half = 2 ** (bits - 1)
        yield "wrap-around", f"int{bits}(p)", (ids + half) % (2 * half) - half
    if float(read[1:].min()) > 0:
        power = math.log(float(read[-1] / read[1])) / math.log(float(ids[-1] / ids[1]))
        name = "sqrt(p)" if abs(power - 0.5) < 1e-3 else f"p ** {power:.4g}"
        yield "bent", name, ids**power
    for n in range(1, _WIDEST + 1):
        yield "bent", f"p // {n}", (ids / n).floor()
        yield "bent", f"round(p / {n})", (ids / n).round()
        yield "bent", f"ceil(p / {n})", (ids / n).ceil()
        yield "clamped", f"min(p, {n})", ids.clamp(max=n)
        yield "wrap-around", f"p % {n}", ids % n
