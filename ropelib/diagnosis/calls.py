"""Rules about ways to call: they compare calls with each other, whatever the rotation is."""

from itertools import pairwise

import torch
from torch import Tensor

from ropelib.diagnosis.inputs import gradient, grouped, other_widths, strides
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.paths import every_position, half_precision
from ropelib.diagnosis.probes import CallError, Probe, by_head
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import SAME, gap, random

_MOST_HEADS = 257


def _what_is_shared(m: Measured) -> Finding | None:
    """What goes in and comes out must be the caller's own."""
    if m.probe.same_buffer:
        return wrong(
            "result-overwritten",
            "Each call returns the same memory, so that the next one overwrites what this one "
            "returned: q, where k is rotated after it.",
            "one output buffer that is kept, as for a captured graph",
        )
    if m.probe.changes_positions:
        return wrong(
            "position-ids-overwritten",
            "position_ids are changed by the call, so that whoever hands them on to the next layer "
            "hands on others.",
            "an operation in place, position_ids += offset",
        )
    return None


def _heads_equal_tokens(m: Measured) -> Finding | None:
    """Six heads and six tokens of one vector must give what one head and six tokens give."""
    x = random(1, 1, 1, m.head_dim).expand(1, 6, 6, m.head_dim)
    square, line = m.probe(x, range(6)), m.applied(x, torch.arange(6))
    if m.differs(square, x, torch.arange(6)).any():
        return by_head({"largest difference, square against not": gap(square, line)})


def _heads_apart(m: Measured) -> Finding | None:
    """What becomes of a head must not depend on the others, nor on how many there are."""
    for heads in (1, 5, _MOST_HEADS):
        x, ids = random(1, heads, 4, m.head_dim), torch.arange(4)
        try:
            together = m.probe(x, ids)
        except CallError:
            if heads == _MOST_HEADS:  # more than it is made for
                return None
            raise
        differs = m.differs(together, x, ids).any(-1).any(-1)[0]
        if not differs.any():
            continue
        return wrong(
            "heads-mixed",
            "A head comes out otherwise beside others than alone: heads are mixed, or only some "
            "numbers of heads are taken rightly.",
            "a kernel that works on a fixed number of heads at once, or takes the number of heads "
            "or the stride of k from q (grouped queries)",
            first_wrong_head=int(differs.nonzero()[0]),
            of=heads,
        )
    return None


def _packed_rows(m: Measured) -> Finding | None:
    """Documents one after the other in a row, each counted from 0."""
    if m.obeys == "start":
        return None  # a note says so
    lengths = (3, 4, 1, 2)
    x = random(1, 5, sum(lengths), m.head_dim)
    ids = torch.cat([torch.arange(length) for length in lengths])
    packed = m.probe(x, ids)
    differs = m.differs(packed, x, ids)
    if differs.any():
        return wrong(
            "packed-rows-wrong",
            "Where a row holds several documents, each counted from 0, later ones are turned "
            "otherwise than alone.",
            "positions that are taken to rise through a row (reset_position_ids is not followed), "
            "or a slice of the table in place of a look-up",
            first_wrong_token=int(differs.any(-1)[0].any(0).nonzero()[0]),
            largest_difference=gap(packed, m.applied(x, ids)),
        )


def _batch_rows(m: Measured) -> Finding | None:
    """Rows with their own positions, one of them padded on the left."""
    if m.obeys == "start":
        return None  # a note says so
    try:
        # A few rows, and as many as there are heads; more of each, and of tokens, in crowded.py.
        finding = _rows_of(m, 3, 2, 4) or _rows_of(m, 5, 5, 4)
    except CallError:
        finding = None  # a note says so; tables that then fit by chance are nobody's rows
    return finding or _one_token_of_each(m)


def _rows_of(m: Measured, count: int, heads: int, tokens: int) -> Finding | None:
    starts = torch.tensor([0, -2, 3, 1, -1, 4, 2, -3, 5])[:count, None]
    rows = (torch.arange(tokens) + starts).clamp(0, 8)  # padded on the left, and on the right
    x = random(count, heads, tokens, m.head_dim)
    together = m.probe(x, rows)
    if not m.differs(together, x, rows).any():
        return None
    apart = m.applied(x, rows)
    if not m.differs(together, x, rows[:1]).any():
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
        rows=count,
        heads=heads,
        largest_difference=gap(together, apart),
    )


def _cached(m: Measured) -> Finding | None:
    """One sequence in chunks must equal one full pass."""
    step = m.decode or m.probe
    length = m.limit
    x, full = random(1, 2, 1, m.head_dim).expand(1, 2, length, m.head_dim), m.full
    # A prompt, single steps, and the rest at once, for what depends on the length.
    ends = [0, 8, *range(9, 17), length - 1]
    chunks = [step(x[:, :, a:b], torch.arange(a, b)) for a, b in pairwise(ends) if a < b]
    last = _last_token(step, x[:, :, -1:], length - 1)
    if gap(last, last[:1]) > SAME:
        return _one_token_rows(last - last[:1], last[1:])
    cached = torch.cat((*chunks, last[:1]), dim=2)
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


def _one_token_of_each(m: Measured) -> Finding | None:
    """Rows of one token, each at its own position, as a batch of texts is decoded."""
    x, ids = random(3, 2, 1, m.head_dim), torch.tensor([[5], [0], [9]])
    try:
        together = m.probe(x, ids)
    except CallError:
        return None  # a note says so
    apart = torch.cat([m.probe(x[b : b + 1], ids[b]) for b in range(3)])
    return None if gap(together, apart) < SAME else _one_token_rows(together - apart, together[1:])


def _last_token(step: Probe, x: Tensor, position: int) -> Tensor:
    """Rotate a token that comes alone, in as many rows of a batch as are taken."""
    try:
        return step(x.expand(3, -1, -1, -1), [position])
    except CallError:  # a cache for one row
        return step(x, [position])


def _one_token_rows(errors: Tensor, others: Tensor) -> Finding:
    """Return the finding on rows of one token each, by what is wrong and what others are."""
    what = "stay zero" if float(others.abs().max()) < SAME else "come out otherwise than alone"
    return wrong(
        "one-token-rows-wrong",
        f"In a batch of single tokens, as each step of decoding has it, rows {what}.",
        "a kernel that takes the number of tokens for that of rows, or a fast path for one token "
        "that forgets the batch",
        wrong_rows=int((errors.abs().amax(dim=(1, 2, 3)) > SAME).sum()),
        largest_difference=float(errors.abs().max()),
        largest_entry_of_other_rows=float(others.abs().max()),
    )


def _heads_rows_and_tokens(m: Measured) -> Finding | None:
    """The first of these: heads that are mixed show in rows, and in packed ones, too."""
    few = [random(1, heads, 4, m.head_dim) for heads in (1, 2)]
    if all(m.differs(m.probe(x, range(4)), x, torch.arange(4)).any() for x in few):
        return None  # it has changed since it was measured: the keys that are cached tell how
    rules = (_heads_equal_tokens, _heads_apart, _batch_rows, _packed_rows)
    return next(filter(None, (rule(m) for rule in rules)), None)


CALLS = [
    _what_is_shared,
    _heads_rows_and_tokens,
    _cached,
    every_position,
    half_precision,
    strides,
    grouped,
    gradient,
    other_widths,
]
