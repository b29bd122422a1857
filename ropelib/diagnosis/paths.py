"""Rules about what is asked otherwise: in half precision, after a long call, at every position."""

import torch
from torch import Tensor

from ropelib.diagnosis.crowded import half_is_well
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import CallError
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.slots import tokens_exchanged, wrong_beside_others
from ropelib.diagnosis.tensors import SAME, gap, random

_ROUNDED = 2.0**-5  # of the largest entry: what tables and sums in bfloat16 leave
_LARGE = 1024.0  # times vectors of entries of about 1, exactly
_REPEATS = 100  # what goes wrong once in as many calls shows
_REPEATS_OF_ALL = 16  # as do one token in 100,000
_BY_CHANCE = {"single-positions-wrong", "decode-differs", "late-steps-wrong", "long-call-differs"}
_BY_CHANCE |= {"short-steps-wrong", "later-chunks-differ", "crowded-call-differs"}
_BY_CHANCE |= {"positions-wrap-around", "positions-clamped", "angles-drift"}
_FACTOR = 2.0**-7  # of a factor, over many entries


def stays_grown(m: Measured) -> Finding | None:
    """A short call must give the same before a long one and after it."""
    after = m.short_call()
    if gap(m.fresh, after) > SAME:
        if gap(after, m.short_call()) > SAME:
            return not_repeated(gap(m.fresh, after))
        m.probe(random(1, 1, 1, m.head_dim).expand(1, 2, 12, -1), range(20, 32))
        if gap(after, m.short_call()) > SAME:  # no length has grown: other positions were asked for
            return wrong(
                "tables-of-an-earlier-call",
                "Tokens are turned by positions that an earlier, longer call left.",
                "a buffer of positions that is kept, as for a captured graph, and not written to "
                "the end",
                largest_difference=gap(m.fresh, after),
            )
        return _last_rows(m, after) or wrong(
            "frequencies-stay-grown",
            "A short call after a long one is turned otherwise than the same call before it: what "
            "the long one asked for stays.",
            "dynamic NTK or LongRoPE whose base is scaled up and not back, or a table that is made "
            "anew with other frequencies",
            since=0,
            largest_difference=gap(m.fresh, after),
            longest_position_between=int(m.far.positions[-1]),
        )


def _last_rows(m: Measured, after: Tensor) -> Finding | None:
    """Say so where a short call is turned as tokens farther on are in a call of all positions."""
    after, count = after[0, 0], after.shape[2]
    try:
        line = m.probe(random(1, 1, 1, m.head_dim).expand(1, 2, m.limit, -1), range(m.limit))[0, 0]
    except CallError:
        return None
    alike = (line[1 : len(line) - count + 1] - after[0]).abs().amax(-1) < SAME
    for first in (1 + alike.nonzero().flatten()).tolist():
        if gap(after, line[first : first + count]) < SAME:
            return wrong(
                "tables-of-an-earlier-call",
                "A short call that begins at position 0 is turned, after a longer one, as if it "
                f"began at position {first}.",
                "the last rows of a table that is kept, cos[-n:], in place of its first, or of "
                "those from the offset on",
                since=0,
                largest_difference=gap(m.fresh[0, 0], after),
                shift=first,
            )
    return None


def unsteady(m: Measured, found: list[Finding]) -> float:
    """Return how much a call that is repeated changes, 0 where none does: a short one, and all.

    What is said of few tokens of many, or of a call beside another, may be the chance of one call:
    then the one that holds every position is repeated more often.
    """
    first = m.short_call()
    change = max(gap(first, m.short_call()) for _ in range(_REPEATS))
    by_chance = any(finding.code in _BY_CHANCE for finding in found)
    if change <= SAME and (by_chance or "full" in vars(m)):
        first = m.all_positions()  # once more: the one that is kept may be from before a change
        for _ in range(_REPEATS_OF_ALL if by_chance else 1):
            change = max(change, gap(first, m.all_positions()))
    return change if change > SAME else 0.0


def not_repeated(change: float) -> Finding:
    """Return the finding that the same call gives different results."""
    return wrong(
        "not-deterministic",
        "The same call gives different results.",
        "dropout, noise, or a state that earlier calls have changed",
        largest_change=change,
    )


def every_position(m: Measured) -> Finding | None:
    """One vector at all positions: its score with itself one on must not jump."""
    x = m.full[0, 0].double()
    scores = (x[1:] * x[:-1]).sum(-1) / (x[0] ** 2).sum()
    jumps = scores.diff().abs() > 0.02 + 1e-6 * m.limit
    if bool(jumps.any()):
        first = _stranger(x, int(jumps.nonzero()[0]))
        return wrong(
            "single-positions-wrong",
            f"Around position {first} a vector is turned otherwise than neighbors tell, and not "
            "everywhere after it.",
            "a table filled in blocks, of which a row is left out or written twice",
            since=first,
            jumps=int(jumps.sum()),
            largest=float(scores.diff().abs().max()),
        )


def position_or_slot(m: Measured) -> Finding | None:
    """The same, where it is the position that is wrong, and not where it stands in the call."""
    finding = every_position(m)
    return finding and (_of_its_slot(m, finding.since) or finding)


def _of_its_slot(m: Measured, position: int) -> Finding | None:
    """Say so where the call of all positions, and not the table, is wrong from one of them on."""
    if mixed := tokens_exchanged(m, m.limit):
        return mixed
    if not m.obeys_ids or m.depends_on_length:
        return None
    for near in range(position, min(position + 4, m.limit)):
        alone = m.probe(random(1, 2, 1, m.head_dim), [near])
        difference = gap(alone, m.full[:, :, near : near + 1])
        if difference > SAME:
            return wrong_beside_others(near, m.limit, difference)
    return None


def _stranger(x: Tensor, first: int) -> int:
    """Return which of three positions from `first` on is the one that its neighbors do not know.

    Its two scores with them are far from what others have, and theirs, over its head, is not.
    """
    near, over = ((x[n:] * x[:-n]).sum(-1) for n in (1, 2))
    near, over = ((scores - scores.median()).abs() for scores in (near, over))
    some = range(max(first, 1), min(first + 3, len(x) - 1))
    return max(some, key=lambda p: float(near[p - 1] + near[p] - over[p - 1]))


def half_precision(m: Measured) -> Finding | None:
    """The same calls in half precision: rows, single tokens, and the factor."""
    dtypes = (torch.float16,) if half_is_well(m) else (torch.bfloat16, torch.float16)
    return next(filter(None, (_in_half(m, dtype) for dtype in dtypes)), None)


def _in_half(m: Measured, dtype: torch.dtype) -> Finding | None:
    rows, name_of_dtype = m.obeys == "all", str(dtype)[6:]
    some = torch.tensor([[3, 4, 5, 6, 7], [0, 1, 2, 3, 4], [4, 5, 6, 7, 8]])
    calls = {
        "rows of a batch": (random(3, 2, 5, m.head_dim), some if rows else some[0]),
        "single tokens": (random(3, 2, 1, m.head_dim), some[:, -1:] if rows else some[0, -1:]),
    }
    for name, (x, ids) in calls.items():
        x = x.to(dtype)
        try:
            low = m.probe(x, ids).double()
        except (TypeError, CallError):  # a note says so
            continue
        exact = m.applied(x, ids)
        if gap(low, exact) > _ROUNDED * float(exact.abs().max()):
            if m.differs(m.probe(x.float(), ids), x, ids).any():
                return None  # so is float32: other rules say so
            return otherwise(name_of_dtype, name, gap(low, exact))
        factor = float((low * exact).sum() / (exact * exact).sum())
        if abs(factor - 1) > _FACTOR:
            where = f"{name}, by a factor of {factor:.4g}"
            return otherwise(name_of_dtype, where, gap(low, exact))
    return None


def large_and_late(m: Measured) -> Finding | None:
    """Vectors a thousand times as long turn alike, after calls in half precision too."""
    x, ids = _LARGE * random(1, 1, 1, m.head_dim).expand(1, 2, 9, -1), range(9)
    if gap(m.fresh, m.probe(x, ids) / _LARGE) < 1e-4:
        return None
    if (change := gap(m.fresh, m.short_call())) > 1e-4:
        return _stays_rounded(change)
    if gap(m.fresh, m.probe(x, ids) / _LARGE) > SAME:
        return wrong(
            "large-values-changed",
            f"Vectors {_LARGE:g} times as long as usual are turned otherwise: what comes out is "
            "cut off, or rounded to a grid.",
            "a clamp, or whole numbers of a fixed step inside",
            largest_entry=float(x.abs().max()),
        )
    return None


def stays_rounded(m: Measured) -> Finding | None:
    """What differs since vectors of half precision came, by no more than their rounding."""
    change = gap(m.fresh, m.short_call())
    if 1e-4 < change < _ROUNDED * float(m.fresh.abs().max()):
        return _stays_rounded(change)
    return None


def _stays_rounded(change: float) -> Finding:
    return wrong(
        "tables-stay-rounded",
        "A call in float32 gives another result after calls in half precision than before.",
        "tables, or inv_freq, that are cast to the dtype of x and kept",
        largest_difference=change,
    )


def otherwise(dtype: str, where: str, difference: float) -> Finding:
    """Return the finding that vectors of a half precision are rotated otherwise."""
    return wrong(
        "half-precision-differs",
        f"Vectors of {dtype} are rotated otherwise than the same vectors of float32, by more than "
        f"rounding (seen: {where}).",
        "a fast path or kernel for half precision that lacks the factor, the rows of position_ids, "
        "the layout or the frequencies of the other one",
        largest_difference=difference,
    )


def at_near_positions(m: Measured, matrices: Tensor, dtype: torch.dtype) -> Finding | None:
    """Compare the first positions, where no rounding of positions or frequencies shows yet."""
    count = min(9, len(matrices), len(m.near.matrices))
    difference = gap(matrices[:count], m.near.matrices[:count])
    if difference > 0.1 * float(m.scale.mean()):
        return otherwise(str(dtype)[6:], f"at positions 0 to {count - 1}", difference)
    return None
