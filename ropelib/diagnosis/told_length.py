"""The rule on frequencies that depend on the length: the largest of all positions tells it."""

from collections.abc import Iterator

import torch
from torch import Tensor

from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import CallError
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import SAME, gap, random


def length_told_by_one(m: Measured) -> Finding | None:
    """Far positions that stand neither last nor in the first row must count as well."""
    runs = any(getattr(m.probe.rotate, name, False) for name in ("counts_itself", "runs_only"))
    if m.obeys != "all" or runs or not m.depends_on_length:
        return None
    last = int(m.far.positions[-1])
    far = torch.arange(last - 3, last + 1)
    meant = _turned(m, far)[0, -2:]
    for ids, row, where in _calls(far):  # all of as many tokens
        try:
            found = _turned(m, ids)[row]
        except CallError:  # rows are refused
            continue
        found = found[-2:] if ids.dim() == 2 else found[:2]
        if (error := gap(found, meant)) > SAME:
            return wrong(
                "length-told-by-one",
                f"Frequencies change with the length, and a far position {where} does not count: "
                "its tokens are turned as in a shorter text.",
                "the length taken of position_ids[0], of the last of them, or of their number, "
                "where position_ids.max() + 1 is meant",
                largest_difference=error,
                position=last,
            )
    return None


def _calls(far: Tensor) -> Iterator[tuple[Tensor, int, str]]:
    """Yield positions, in which row they begin with far ones, and the words for where they stand.

    A row of near ones may have a length of its own.
    """
    near = torch.arange(4)
    yield torch.stack((near, far)), 1, "in the second row"
    yield torch.stack((far, near)), 0, "in the first row of two"
    yield torch.cat((far[-2:], near[:2])), 0, "before near ones"


def _turned(m: Measured, ids: Tensor) -> Tensor:
    rows = len(ids) if ids.dim() == 2 else 1
    x = random(1, 1, 1, m.head_dim).expand(rows, 2, ids.shape[-1], -1)
    return m.probe(x, ids)[:, 0]
