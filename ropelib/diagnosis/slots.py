"""Rules about slots of a call: which of the tokens of a call comes out as another should."""

from dataclasses import replace

import torch

from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import CallError, Curves, measure
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import SAME, gap, random, spread

_POSITIONS = torch.tensor([1, 4, 6])  # each measured in a call of one token
_CAUSE = "a path, or a number, that the number of tokens in the call decides"
_SOME = 64  # tokens that are looked for among all


def _by_runs(m: Measured) -> bool:
    return any(getattr(m.probe.rotate, name, False) for name in ("counts_itself", "runs_only"))


def tokens_exchanged(m: Measured, count: int, dtype: torch.dtype = torch.float32) -> Finding | None:
    """Random vectors at few positions: what is wrong of `count` is what others should be."""
    if m.obeys != "all" or _by_runs(m) or m.head_dim < 4:  # many vectors of two numbers are alike
        return None
    ids = _POSITIONS[torch.arange(count) % len(_POSITIONS)]
    x = random(1, 1, count, m.head_dim).to(dtype)
    try:
        alone = [measure(m.probe, p, dtype) for p in _POSITIONS.split(1)]
        matrices = torch.cat([each.matrices for each in alone])
        expected = replace(alone[0], positions=_POSITIONS, matrices=matrices).applied(x, ids)[0, 0]
        found = m.probe(x, ids)[0, 0].double()
    except CallError:
        return None
    rounding = 2.0**-4 if dtype != torch.float32 or m.noise > 1e-5 else SAME
    wrongly = ((found - expected).abs().amax(-1) > rounding).nonzero().flatten()
    if not len(wrongly):
        return None
    to_others = torch.cdist(found[wrongly[:_SOME]], expected, p=float("inf"))
    if float(to_others.amin(1).max()) > rounding:
        return None
    return wrong(
        "tokens-mixed",
        f"In a call of {count} tokens some come out as others should.",
        "a tile that is read or written one token off, or an order of tokens (context "
        "parallelism, zigzag) that is not undone",
        tokens=count,
        wrong_tokens=len(wrongly),
        first_wrong_token=int(wrongly[0]),
    )


def of_its_slot(m: Measured, curves: Curves, slot: int, dtype: torch.dtype) -> Finding | None:
    """Say so where the position in a slot of `curves` is turned otherwise alone."""
    if m.obeys != "all" or m.depends_on_length:
        return None
    position = curves.positions[slot : slot + 1]
    (alone,) = measure(m.probe, position, dtype).matrices
    if m.permutation is not None:
        alone = alone[m.permutation]
    difference = gap(alone, curves.matrices[slot])
    rounding = 2.0**-4 if dtype != torch.float32 or m.noise > 1e-5 else SAME
    if difference < rounding:
        return None
    if _by_runs(m):  # calls of other lengths than this one
        return wrong(
            "long-call-differs",
            f"The token at position {int(position)} is turned otherwise in one call than in "
            "another.",
            _CAUSE,
            int(position),
            largest_difference=difference,
        )
    return wrong_beside_others(int(position), len(curves.positions), difference)


def wrong_beside_others(position: int, count: int, difference: float) -> Finding:
    """Return the finding on a token that is turned otherwise in a long call than alone."""
    return wrong(
        "long-call-differs",
        f"In a call of {count} tokens the one at position {position} is turned otherwise than "
        "alone.",
        _CAUSE,
        position,
        largest_difference=difference,
        tokens=count,
    )


def as_ranks(m: Measured) -> Finding | None:
    """Positions with gaps, in a call that rises, come out as those without."""
    if m.obeys not in ("all", "differences") or _by_runs(m):
        return None
    x = random(1, 3, 1, m.head_dim).expand(1, 3, 7, m.head_dim)
    try:
        run, gaps = m.probe(x, range(7)), m.probe(x, [0, 2, 3, 7, 8, 9, 11])
    except CallError:
        return None
    if gap(run, gaps) > SAME or spread(run, axis=2) < SAME:
        return None
    return wrong(
        "gaps-ignored",
        "Spaced positions are turned as if they had no gaps: 0, 2, 3, 7 as 0, 1, 2, 3.",
        "position_ids read as their order: argsort of argsort, or unique with return_inverse",
    )


def first_token_left(m: Measured) -> Finding | None:
    """The first token of a call, at positions other than 0."""
    if m.obeys != "all" or _by_runs(m):
        return None
    for ids in (torch.tensor([3, 1, 5, 2]), torch.tensor([1, 4, 2])):
        x = random(1, 2, len(ids), m.head_dim)
        found = m.probe(x, ids)
        wrongly = m.differs(found, x, ids).any(-1).any(1)[0]
        if not wrongly[0] or wrongly[1:].any() or gap(found[:, :, 0], x[:, :, 0]) > SAME:
            return None
    return wrong(
        "first-token-not-turned",
        "The first token of a call comes out as it went in, whatever its position.",
        "a first slot left for a class token or a token that attention sinks into, where the first "
        "position is meant",
    )
