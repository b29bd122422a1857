"""The rule on how position_ids lie in memory: slices of longer ones, and one row for many."""

from collections.abc import Callable

import torch
from torch import Tensor

from ropelib.diagnosis.inputs import through
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import CallError, Rotate
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import gap, random

_ROW, _OTHERS = torch.tensor([3, 1, 4, 2, 5]), torch.tensor([8, 0, 7, 8, 6])
_BOTH = torch.stack((_ROW, _ROW + 2))
_ARRANGED = {
    "a slice of a longer row": lambda: torch.cat((_OTHERS, _ROW))[5:],
    "a slice of longer rows": lambda: torch.cat((_BOTH.flip(1), _BOTH), dim=1)[:, 5:],
    "one row expanded": lambda: torch.cat((_OTHERS, _ROW))[None, 5:].expand(2, -1),
}


def sliced_ids(m: Measured) -> Finding | None:
    """The same positions must give the same result, however they lie in memory."""
    if m.obeys != "all":
        return None
    for name, arranged in _ARRANGED.items():
        ids = arranged()
        if ids.dim() == 1 and m.probe.wants_rows:
            continue
        x = random(len(ids) if ids.dim() == 2 else 1, 2, 5, m.head_dim)
        try:
            found = through(m.probe, lambda rotate, to=arranged: _told(rotate, to))(x, ids)
            wrongly = m.differs(found, x, ids).any()
            if not wrongly or m.differs(m.probe(x, ids.contiguous()), x, ids).any():
                continue  # the latter: a rule on rows says so
        except CallError:
            continue
        return wrong(
            "strided-ids-misread",
            f"position_ids that are {name} are read as if they began where their memory does, or "
            "were contiguous.",
            "a kernel that counts addresses itself; hand it the strides and the first address, or "
            "call contiguous()",
            largest_difference=gap(found, m.applied(x, ids)),
        )
    return None


def _told(rotate: Rotate, arranged: Callable[[], Tensor]) -> Rotate:
    """Make a rotation that is told positions made anew: it may write into them."""
    return lambda x, position_ids: rotate(x, arranged().to(x.device))
