"""Rules about ways to call: they compare calls with each other, whatever the rotation is."""

from itertools import pairwise

import torch

from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import CallError, by_head
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import SAME, gap, random


def _heads_equal_tokens(m: Measured) -> Finding | None:
    """Six heads and six tokens of one vector must give what one head and six tokens give."""
    x = random(1, 1, 1, m.head_dim).expand(1, 6, 6, m.head_dim)
    square, line = m.probe(x, range(6)), m.probe(x[:, :2], range(6))
    if gap(square, line[:, :1]) > SAME:
        return by_head({"largest difference, square against not": gap(square, line[:, :1])})


def _batch_rows(m: Measured) -> Finding | None:
    """Rows with their own positions, one of them padded on the left."""
    rows = (torch.arange(5) + torch.tensor([[0], [-2], [7]])).clamp(min=0)
    x = random(3, 2, 5, m.head_dim)
    try:
        together = m.probe(x, rows)
    except CallError:
        return None  # a note says so
    apart = torch.cat([m.probe(x[b : b + 1], rows[b]) for b in range(3)])
    if gap(together, apart) < SAME:
        return None
    shared = torch.cat([m.probe(x[b : b + 1], rows[0]) for b in range(3)])
    if gap(together, shared) < SAME:
        return wrong(
            "batch-rows-share-positions",
            "Every row of the batch is turned by the positions of the first, so that a row with "
            "left padding stands at the wrong places.",
            "position_ids[0], or tables without a batch axis",
            largest_difference=gap(together, apart),
        )
    return wrong(
        "batch-rows-mixed",
        "A row of a batch is turned otherwise than the same row alone.",
        "an axis of the tables that broadcasts against heads or batch",
        largest_difference=gap(together, apart),
    )


def _cached(m: Measured) -> Finding | None:
    """One sequence in chunks must equal one full pass."""
    step = m.decode or m.probe
    length = m.limit
    x = random(1, 2, 1, m.head_dim).expand(1, 2, length, m.head_dim)
    full = m.probe(x, range(length))
    # A prompt, single steps, and the rest at once, for what depends on the length.
    ends = [0, 8, *range(9, 17), length - 1, length]
    chunks = [step(x[:, :, a:b], torch.arange(a, b)) for a, b in pairwise(ends) if a < b]
    cached = torch.cat(chunks, dim=2)
    differs = (cached - full).abs().amax(dim=(0, 1, 3)) > SAME
    if not differs.any():
        return None
    if m.depends_on_length:
        if m.decode is None:
            return None  # a note says so
        return wrong(
            "cached-keys-keep-old-frequencies",
            "Frequencies change with the length of the sequence, and what was cached before keeps "
            "the old ones: its scores are those of another distance.",
            "dynamic NTK or LongRoPE with keys cached after the rotation; cache them before it, or "
            "fix the length",
            since=0,
            largest_difference=gap(cached, full),
        )
    since = int(differs.nonzero()[0])
    steps = cached[0, 0, 8:16]
    line = m.probe(x[:, :, :32], range(32))[0, 0]
    evidence = {"largest difference": gap(cached, full)}
    if gap(steps, line[:1]) < SAME:
        return Finding(
            "decode-restarts-at-zero",
            "wrong",
            "A token that comes alone is turned as if it stood at position 0.",
            evidence,
            "positions made by arange over the tokens of the step, without the length of the cache",
            since,
        )
    for shift in (-8, -1, 1):
        if gap(steps, line[8 + shift : 16 + shift]) < SAME:
            code = "decode-off-by-one" if abs(shift) == 1 else "decode-forgets-the-prompt"
            return Finding(
                code,
                "wrong",
                f"A token that comes alone is turned as if it stood {shift:+d} from where it does.",
                {"shift": shift, **evidence},
                "the length of the cache taken before, or after, the token is in it",
                since,
            )
    return Finding(
        "decode-differs",
        "wrong",
        "A sequence in chunks is turned otherwise than in one pass.",
        evidence,
        "positions or tables of a step that are not those of the full pass",
        since,
    )


CALLS = [_heads_equal_tokens, _batch_rows, _cached]
