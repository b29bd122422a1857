"""Rules about ways to call: they compare calls with each other, whatever the rotation is."""

import torch
from torch import Tensor

from ropelib.diagnosis.by_rows import rows_turned_otherwise
from ropelib.diagnosis.grouped import grouped
from ropelib.diagnosis.ids_in_memory import sliced_ids
from ropelib.diagnosis.inputs import gradient, strides
from ropelib.diagnosis.kept import (
    cut_short,
    rows_by_slots,
    rows_of_runs,
    rows_restart,
    rows_that_fit,
    tables_kept_by_ends,
)
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.past_the_end import grown_by_tokens
from ropelib.diagnosis.paths import half_precision, position_or_slot, stays_rounded
from ropelib.diagnosis.probes import CallError, by_head, heads_beside
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.slots import first_token_left
from ropelib.diagnosis.steps import cached, one_token_of_each
from ropelib.diagnosis.tensors import SAME, gap, random
from ropelib.diagnosis.told_length import length_told_by_one
from ropelib.diagnosis.widths import other_widths

_MOST_HEADS = 257
_OF_V = 0.05  # of numbers of about 1: more than rounding to bfloat16
_UNORDERED = [0, 5, 2, 8, 1, 9, 3, 6, 4, 7]  # 0 to 9, which no other call has in their order


def _what_is_shared(m: Measured) -> Finding | None:
    """What goes in and comes out must be the caller's own."""
    if m.probe.same_buffer:
        return wrong(
            "result-overwritten",
            "Each call returns the same memory, so that the next one overwrites what this one "
            "returned: q, where k is rotated after it.",
            "one output buffer that is kept, as for a captured graph",
        )
    if (change := max(getattr(m.probe.rotate, "v_changes", ()), default=0)) > _OF_V:
        return wrong(
            "v-changed",
            "v comes back otherwise than it went in: what attention sums up would carry positions, "
            "or be lost.",
            "a loop or a kernel that turns q, k and v alike, or memory of v that is not written",
            largest_change=change,
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


def _heads_counted(m: Measured) -> Finding | None:
    """As many heads as it was measured with are right, and few are not."""
    heads = heads_beside(m.head_dim + 2, len(m.near.positions))
    x, ids = random(1, heads, 4, m.head_dim), torch.arange(4)
    few = x[:, :2]
    if m.differs(m.probe(x, ids), x, ids).any() or not m.differs(m.probe(few, ids), few, ids).any():
        return None
    return wrong(
        "heads-mixed",
        f"A head is turned otherwise in a call of 1 or 2 heads than in one of {heads}.",
        "a number, such as the length of the text, that is read from the axis of the heads",
        largest_difference=gap(m.probe(few, ids), m.applied(few, ids)),
        heads=heads,
    )


def _order_of_positions(m: Measured) -> Finding | None:
    """Positions in no order, as sorted ones, or counted on from their first, would be turned."""
    one_by_one = ("counts_itself", "runs_only")  # a call of its own for each of them
    if m.obeys != "all" or any(getattr(m.probe.rotate, name, False) for name in one_by_one):
        return None
    ids = torch.tensor(_UNORDERED)
    x = random(1, 2, len(ids), m.head_dim)
    try:
        found = m.probe(x, ids)
    except CallError:
        return None
    if m.differs(found, x, ids).any() and not m.differs(found, x, ids.sort().values).any():
        return wrong(
            "order-of-positions-ignored",
            "Where positions of a call do not rise, tokens are turned by those of others.",
            "position_ids that are sorted, or taken to rise; look tables up by them as they are",
            largest_difference=gap(found, m.applied(x, ids)),
            tokens=len(ids),
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
        return cut_short(m, packed, x, ids) or wrong(
            "packed-rows-wrong",
            "Where a row holds several documents, each counted from 0, later ones are turned "
            "otherwise than alone.",
            "positions that are taken to rise through a row (reset_position_ids is not followed)",
            first_wrong_token=int(differs.any(-1)[0].any(0).nonzero()[0]),
            largest_difference=gap(packed, m.applied(x, ids)),
        )


def _batch_rows(m: Measured) -> Finding | None:
    """Rows with their own positions, one of them padded on the left."""
    if m.obeys == "start":
        return rows_of_runs(m)
    try:
        # A few rows, and as many as there are heads, and one head, as k of multi-query attention
        # has; more of each, and of tokens, in crowded.py.
        finding = _rows_of(m, 3, 2, 4) or _rows_of(m, 5, 5, 4) or _rows_of(m, 3, 1, 4)
        finding = finding or _row_alone(m)
    except CallError as error:
        finding = rows_that_fit(m, error)  # or a note says so
    return finding or one_token_of_each(m)


def _rows_of(m: Measured, count: int, heads: int, tokens: int) -> Finding | None:
    starts = torch.tensor([0, -2, 3, 1, -1, 4, 2, -3, 5])[:count, None]
    rows = (torch.arange(tokens) + starts).clamp(0, 8)  # padded on the left, and on the right
    x = random(count, heads, tokens, m.head_dim)
    together = m.probe(x, rows)
    if not m.differs(together, x, rows).any():
        return None
    apart = m.applied(x, rows)
    if not m.differs(together, x, rows[:1]).any():
        if not m.differs(m.probe(x, rows.flip(0)), x, rows[:1]).any():
            return rows_by_slots(m, tokens)
        return wrong(
            "batch-rows-share-positions",
            "Every row of the batch is turned by the positions of the first, so that a row with "
            "left padding stands at the wrong places.",
            "position_ids[0], or tables without a batch axis",
            largest_difference=gap(together, apart),
        )
    if finding := cut_short(m, together, x, rows) or rows_restart(m, together, x, rows):
        return finding
    alone = torch.cat([m.probe(x[i : i + 1], rows[i : i + 1]) for i in range(count)])
    if gap(together, alone) < SAME:
        return rows_turned_otherwise(m) or wrong(
            "crowded-call-differs",
            "Tokens of a row that begins late, or repeats positions, are turned otherwise than "
            "one by one, in a batch as alone.",
            "a path for the first or last tokens of a call, or for positions that repeat",
            largest_difference=gap(together, apart),
        )
    return wrong(
        "batch-rows-mixed",
        "A row of a batch is turned otherwise than the same row alone.",
        "an axis of the tables that broadcasts against heads or batch, or a path of its own for "
        "several rows",
        rows=count,
        heads=heads,
        largest_difference=gap(together, apart),
    )


def _row_alone(m: Measured) -> Finding | None:
    """A row of positions, (1, seq_len), must be what (seq_len,) is, for one token too."""
    for tokens in () if m.probe.wants_rows else (4, 1):  # they are handed over as rows already
        ids, x = torch.tensor(_UNORDERED)[1 : 1 + tokens], random(1, 3, tokens, m.head_dim)
        try:
            found = m.probe(x, ids[None])
        except CallError:
            return None  # and a note says so
        if m.differs(found, x, ids).any() and not m.differs(m.probe(x, ids), x, ids).any():
            if tokens == 1 and gap(*_of_singles(m)) > SAME:
                return None  # and the next rule says how
            if several := rows_turned_otherwise(m):
                return several
            return wrong(
                "row-of-one-ignored",
                f"position_ids of shape (1, {tokens}), as most models hand them on, are not "
                f"followed beside one row of x; those of shape ({tokens},), and of several rows, "
                "are.",
                "a path for one row that counts tokens, or position_ids that are squeezed",
                largest_difference=gap(found, m.applied(x, ids)),
            )
    return None


def _of_singles(m: Measured) -> tuple[Tensor, Tensor]:
    x, ids = random(3, 2, 1, m.head_dim), torch.tensor([[5], [0], [9]])
    return m.probe(x, ids), m.applied(x, ids)


def heads_rows_and_tokens(m: Measured) -> Finding | None:
    """The first of these: heads that are mixed show in rows, and in packed ones, too."""
    if stays_rounded(m):  # which is no matter of heads or rows
        return None
    few = [random(1, heads, 4, m.head_dim) for heads in (1, 2)]
    if all(m.differs(m.probe(x, range(4)), x, torch.arange(4)).any() for x in few):
        return _heads_counted(m)  # or it has changed since: the keys that are cached tell how
    rules = (_heads_equal_tokens, _heads_apart, _order_of_positions, first_token_left)
    rules += (_batch_rows, _packed_rows)
    return next(filter(None, (rule(m) for rule in rules)), None)


CALLS = [
    _what_is_shared,
    stays_rounded,
    heads_rows_and_tokens,
    tables_kept_by_ends,
    length_told_by_one,
    cached,
    grown_by_tokens,
    position_or_slot,
    half_precision,
    strides,
    sliced_ids,
    grouped,
    gradient,
    other_widths,
    _what_is_shared,  # once more: single tokens may be what overwrites
]
