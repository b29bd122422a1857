"""Rules about position_ids that are told apart by an end alone, and rows that fit by chance."""

import torch
from torch import Tensor

from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import CallError
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import gap, random

BY_THE_FIRST_ROW, BY_THE_LAST_TOKEN, BY_EITHER = (
    f"a table made as long as {what} asks for; take position_ids.max()"
    for what in (
        "position_ids[0]",
        "the last entry of position_ids",
        "position_ids[0], or its last entry,",
    )
)
_ONE, _OTHER = [0, 1, 5, 2, 4, 3, 6, 7], [0, 1, 3, 2, 4, 5, 6, 7]  # as long, with the same ends

_ADDED_TO_TOKENS = "the axis of rows added to that of tokens: offset where offset[:, None] is meant"


def tables_kept_by_ends(m: Measured) -> Finding | None:
    """Two calls of one shape whose first, last, largest and sum agree, and first rows too."""
    if m.obeys != "all":
        return None
    one, other, rises = (torch.tensor(ids) for ids in (_ONE, _OTHER, range(8)))
    for before, after in ((one, other), *((torch.stack((rises, ids)) for ids in (one, other)),)):
        x = random(len(after) if after.dim() == 2 else 1, 3, 8, m.head_dim)
        try:
            m.probe(x, before)
            found = m.probe(x, after)
        except CallError:  # rows are refused
            continue
        if m.differs(found, x, after).any() and not m.differs(found, x, before).any():
            return wrong(
                "tables-of-an-earlier-call",
                "Tokens are turned by the positions of an earlier call that had as many, and the "
                "same first and last, or the same first row.",
                "tables kept by an end, the largest or the first row of position_ids; keep them by "
                "all their values, or not at all",
                largest_difference=gap(found, m.applied(x, after)),
            )
    return None


def cut_short(m: Measured, found: Tensor, x: Tensor, ids: Tensor) -> Finding | None:
    """Positions beyond the last one of the call, or the largest of its first row, are as that."""
    largest, last, first = (int(of.max()) for of in (ids, ids.flatten()[-1:], ids[:1]))

    def ends_at(end: int) -> bool:
        return end < largest and not m.differs(found, x, ids.clamp(max=end)).any()

    if ends_at(last):
        return wrong(
            "table-grown-by-the-last-token",
            "Positions beyond the last of a call are turned as that one.",
            BY_THE_LAST_TOKEN,
            largest_difference=gap(found, m.applied(x, ids)),
            last=last,
        )
    if ids.dim() == 2 and ends_at(first):
        return wrong(
            "table-grown-by-the-first-row",
            "Positions beyond the largest of the first row are turned as that one.",
            BY_THE_FIRST_ROW,
            largest_difference=gap(found, m.applied(x, ids)),
            largest_of_the_first_row=first,
        )
    return None


def grown_by(m: Measured, found: Tensor, x: Tensor, ids: Tensor, error: float) -> Finding:
    """Return the finding that a far position is wrong until some call has let a kept table grow.

    Args:
        m: one rotation.
        found: what the first call with a far position gave.
        x: its vectors.
        ids: its positions: that one begins the second row, and a nearer one ends it.
        error: largest difference from what is right.
    """
    end, evidence = ids[1:, -1:], {"largest_difference": error, "position": int(ids.max())}
    if m.differs(found[1:, :, -1:], x[1:, :, -1:], end).any():
        until, cause = "a first row has held one as far", BY_THE_FIRST_ROW
    elif m.differs(found[1:, :, :1], x[1:, :, :1], end).any():
        until, cause = "a call has held one as far in its first row, or at its end", BY_EITHER
    else:
        return wrong(
            "table-grown-by-the-last-token",
            "A far position is turned as the last of its call, until a call has ended with one as "
            "far.",
            BY_THE_LAST_TOKEN,
            **evidence,
        )
    return wrong(
        "table-grown-by-the-first-row",
        f"A far position in the second row is turned as another, until {until}.",
        cause,
        **evidence,
    )


def rows_restart(m: Measured, found: Tensor, x: Tensor, rows: Tensor) -> Finding | None:
    """Each row counted from its own first token, where those of some are not 0."""
    if not rows[:, 0].any() or m.differs(found, x, rows - rows[:, :1]).any():
        return None
    return wrong(
        "positions-restart",
        "In position_ids of shape (batch, seq_len) positions of each row are counted from its own "
        "first token: a row that begins at 5 is turned as one that begins at 0.",
        "position_ids - position_ids[:, :1], or a count of the tokens of each row",
        largest_difference=gap(found, m.applied(x, rows)),
    )


def rows_by_slots(m: Measured, tokens: int) -> Finding:
    """Return the finding that rows of positions, or all of so few tokens, are not read at all."""
    x, ids = random(1, 2, tokens, m.head_dim), torch.arange(tokens) + 5
    if m.differs(m.probe(x, ids), x, ids).any():
        return wrong(
            "short-steps-wrong",
            f"The tokens of a call of {tokens} are turned by their slot, whatever position_ids "
            "say; those of longer ones follow position_ids.",
            "a path for short calls that makes its own positions by arange(seq_len)",
        )
    return wrong(
        "position-ids-ignored",
        "With position_ids of shape (batch, seq_len) tokens are turned by their slot in the row, "
        "whatever position_ids say; those of shape (seq_len,) are followed.",
        "positions of a batch made inside by arange(seq_len)",
    )


def rows_of_runs(m: Measured) -> Finding | None:
    """Where positions are counted on from the first: (1, seq_len), and rows of other firsts."""
    for starts in ([3], [3, 0, 5]):
        rows = torch.tensor(starts)[:, None] + torch.arange(4)
        x = random(len(rows), 2, 4, m.head_dim)
        try:
            found = m.probe(x, rows)
        except CallError as error:  # that is clear enough, unless others are taken
            return rows_that_fit(m, error)
        if not m.differs(found, x, rows).any():
            continue
        error = gap(found, m.applied(x, rows))
        if len(rows) == 1:
            return wrong(
                "row-of-one-ignored",
                "position_ids of shape (1, seq_len), as most models hand them on, are not "
                "followed: no error, and other positions.",
                "a path for (seq_len,) alone; take position_ids.flatten()[0], or refuse others",
                largest_difference=error,
            )
        if m.differs(found, x, rows[:1]).any():  # one offset for all: a note says so
            return wrong(
                "batch-rows-mixed",
                "Rows that begin at different positions are taken, and turned neither each by its "
                "own nor all by those of the first.",
                "an offset that is made of all rows; refuse rows that differ",
                rows=len(rows),
                largest_difference=error,
            )
    return None


def rows_that_fit(m: Measured, refused: CallError) -> Finding | None:
    """Where rows are refused: as many as tokens, and rows of one token, may be taken all the same.

    There are other numbers of heads: tables without an axis for rows fit rows of as many heads.
    """
    if refused.code == "shape-not-kept":  # all come back so: a note says it
        return None
    one = torch.tensor([[3], [1]])
    try:
        m.probe(random(2, 5, 1, m.head_dim), one)
    except CallError as error:
        grown = error.code == "shape-not-kept"
    else:
        grown = False
    rows = torch.tensor([3, 0, 5])[:, None] + torch.arange(3)
    x = random(3, 2, 3, m.head_dim)
    try:
        found = m.probe(x, rows)
    except CallError:
        if not grown:
            return None
        return wrong(
            "batch-rows-mixed",
            "2 rows of one token come back in another shape, and other rows are refused.",
            _ADDED_TO_TOKENS,
        )
    if not m.differs(found, x, rows).any():
        return None
    return wrong(
        "batch-taken-for-tokens",
        "As many rows as tokens are taken and turned wrongly, where other numbers of rows are "
        "refused" + (", and rows of one token come back in another shape." if grown else "."),
        _ADDED_TO_TOKENS,
        rows=3,
        tokens=3,
        largest_difference=gap(found, m.applied(x, rows)),
    )
