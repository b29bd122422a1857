"""The rules on vectors themselves: sums must stay sums, and values as fine as they come."""

import math

import torch
from torch import Tensor

from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import CallError
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import random

_FEWEST, _MOST = 8, 256  # values: of a sign alone, or none; and what eight bits hold
_FINE = 1e-3  # of the largest entry: what float16 leaves of sums
_NEAR = 1e-5  # of an entry: what a factor of float32 leaves
_GROUP, _ON_GRID = 16, 2e-3  # entries, and of a step what float32 leaves of 255
_ENTRIES = 2048  # of one head, of which so few come by rounding alone


def of_few_bits(m: Measured) -> Finding | None:
    """Values that float8, or whole numbers of eight bits and a factor, hold."""
    if m.far.curvature < _FINE:
        return None
    tokens = min(math.ceil(_ENTRIES / m.head_dim), m.limit)
    if tokens * m.head_dim < _ENTRIES:
        return None
    x = random(1, 2, tokens, m.head_dim)
    calls = {"as they come back": range(tokens), "on the way in": torch.zeros(tokens).long()}
    for where, ids in calls.items():
        try:
            heads = m.probe(x, ids)[0]
        except CallError:
            continue
        count = max(len(head.unique()) for head in heads)
        if _FEWEST < count <= _MOST or _by_parts(heads):
            return wrong(
                "vectors-of-few-bits",
                f"Vectors are rounded to eight bits or fewer {where}: nothing finer can be judged.",
                "float8 or int8, as a cache keeps them; hand over the rotation before it",
                values_of_a_head=count,
                entries_of_a_head=tokens * m.head_dim,
            )
    return None


def _by_parts(heads: Tensor) -> bool:
    """Say whether entries are eight bits times a factor, or that and more, of their token's."""
    most = heads.abs().amax(-1, keepdim=True).clamp(min=1e-12)
    for dtype, bits in ((torch.float8_e4m3fn, 3), (torch.float8_e5m2, 2)):
        for power in range(9):  # what the largest of a token became: any of these
            for mantissa in range(2**bits):
                scaled = heads / most * (1 + mantissa / 2**bits) * 2.0**power
                off = (scaled.to(dtype).to(scaled.dtype) - scaled).abs()
                if bool((off <= _NEAR * scaled.abs()).all()):
                    return True
    groups = heads[..., : heads.shape[-1] // _GROUP * _GROUP].unflatten(-1, (-1, _GROUP)).double()
    least, most = groups.amin(-1, keepdim=True), groups.amax(-1, keepdim=True)
    parts = ((groups - least) / (most - least).clamp(min=1e-12)).flatten(0, -2)
    for steps in range(3, 256):  # between the least and the largest of each group
        whole = parts * steps
        parts = parts[((whole - whole.round()).abs() > _ON_GRID).any(-1)]
        if not len(parts):
            return True
    return False


def not_linear(m: Measured) -> Finding | None:
    """Sums of vectors must become sums of the results."""
    if m.far.curvature > 0.02:  # bfloat16 inside stays far below
        return wrong(
            "not-linear",
            "The result for a sum of vectors is not the sum of the results.",
            "a normalization inside the rotation, or values that are cut off; both belong outside",
            relative_error=m.far.curvature,
        )
