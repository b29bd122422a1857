"""Positions in rows, (batch, seq_len), that a path of their own turns otherwise than (seq_len,)."""

from collections.abc import Iterator

import torch
from torch import Tensor

from ropelib.diagnosis.causes import CAUSES
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import CallError, with_width
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import SAME, gap, random

_ROWS = (  # from 0, padded on the left, late, of two documents, and in no order
    (0, 1, 2, 3, 4, 5),
    (0, 0, 0, 1, 2, 3),
    (2, 3, 4, 5, 6, 7),
    (0, 1, 2, 0, 1, 2),
    (3, 1, 4, 2, 0, 5),
)
_IN_ROWS = "In position_ids of shape (batch, seq_len)"
_APART = 1e-3  # relative difference of two factors, or frequencies


def rows_turned_otherwise(m: Measured) -> Finding | None:
    """Name what is done to rows, one of them as several; none where these rows are right."""
    rows = torch.tensor(_ROWS)
    x = random(len(rows), 2, rows.shape[1], m.head_dim)
    found = m.probe(x, rows)
    if not m.differs(found, x, rows).any():
        return None
    error = gap(found, m.applied(x, rows))
    for code, sentence, cause, read in _readings(rows):
        if not m.differs(found, x, read).any():
            return wrong(code, f"{_IN_ROWS} {sentence}.", cause, largest_difference=error)
    return _by_itself(m, error)


def _readings(rows: Tensor) -> Iterator[tuple[str, str, str, Tensor]]:
    """Yield a code, what is said of rows, how it comes about, and the positions that it takes."""
    count = torch.arange(rows.shape[1])
    yield (
        "packed-rows-wrong",
        "tokens are counted on from the first of their row: rows padded on the left, or of several "
        "documents, are turned otherwise",
        "position_ids[:, :1] + arange(seq_len), or positions taken to rise through a row",
        rows[:, :1] + count,
    )
    yield (
        "packed-rows-wrong",
        "tokens are counted back from the last of their row, not below 0: rows of several "
        "documents, or padded on the right, are turned otherwise",
        "a number of padded tokens that is told by the last position of a row",
        (rows[:, -1:] - count.flip(0)).clamp(0),
    )
    yield (
        "packed-rows-wrong",
        "a position below an earlier one is taken for that one, as where a second document begins",
        "positions taken to rise through a row: cummax, or a mask that is counted",
        rows.cummax(1).values,
    )
    yield (
        "order-of-positions-ignored",
        "tokens are turned by the positions of their row in rising order",
        "position_ids that are sorted; look tables up by them as they are",
        rows.sort().values,
    )
    yield (
        "rows-turned-otherwise",
        "tokens are turned as if they stood one place earlier, and those at 0 as they are; those "
        "of shape (seq_len,) are right",
        "(position_ids - 1).clamp(0), meant for a count from 1, as attention_mask.cumsum(-1) is",
        (rows - 1).clamp(0),
    )


def _by_itself(m: Measured, error: float) -> Finding | None:
    """Examine what rows alone are given as if it were the whole rotation."""
    probe = with_width(m.probe, m.head_dim)
    probe.wants_rows = True
    try:
        rowed = Measured(probe, m.limit)
    except (CallError, ValueError):
        return None
    if rowed.obeys != "all":
        return None
    finding = next(filter(None, (rule(rowed) for rule in CAUSES)), None)
    said = finding.sentence if finding else _apart(m, rowed)
    if not said:
        return None
    return wrong(
        "rows-turned-otherwise",
        "With position_ids of shape (batch, seq_len) tokens are turned otherwise than with "
        f"(seq_len,), as by another rotation. {said}",
        f"{finding.cause}, in a path for rows"
        if finding
        else "a path for rows with tables, or lines, of its own",
        largest_difference=error,
    )


def _apart(m: Measured, rowed: Measured) -> str:
    """Say how two rotations differ that are both right, empty where they do not."""
    layout, direction = rowed.pairing.layout, rowed.direction
    if layout != m.pairing.layout:
        return f"Its layout is {layout or 'unknown'}, and not {m.pairing.layout or 'unknown'}."
    if direction != m.direction:
        return "Its pairs turn the other way."
    longer = float(rowed.scale.mean() / m.scale.mean())
    if abs(longer - 1) > _APART + 4 * m.noise:
        return f"It makes vectors {longer:.4g} times as long."
    if len(rowed.speeds) != len(m.speeds):
        return f"Of its pairs {rowed.num_pairs} turn, and not {m.num_pairs}."
    ratio = rowed.speeds / m.speeds
    if float((ratio - ratio[0]).abs().max()) < _APART < abs(float(ratio[0]) - 1):
        return f"Its frequencies are multiplied by {float(ratio[0]):.4g}."
    if rowed.fit.is_geometric and m.fit.is_geometric:
        if abs(rowed.fit.base / m.fit.base - 1) > SAME:
            return f"Its base is {rowed.fit.base:.6g}, and not {m.fit.base:.6g}."
    elif float((ratio - 1).abs().max()) > _APART:
        pair = int((ratio[: m.num_pairs] - 1).abs().argmax())
        return (
            f"Its frequencies are others: pair {pair} turns {float(ratio[pair]):.4g} times as far."
        )
    return ""
