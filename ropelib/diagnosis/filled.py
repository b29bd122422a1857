"""The rule on a table that is filled in the dtype of whichever call first needs it."""

import contextlib
import copy
import types
from collections.abc import Iterator
from dataclasses import replace

import torch

from ropelib.diagnosis.circumstances import modules_of
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.precision import explain
from ropelib.diagnosis.probes import CallError, Uncalled, with_width
from ropelib.diagnosis.report import Finding
from ropelib.diagnosis.tensors import gap

_LARGEST = 2**23  # numbers of modules that are copied
_PLAIN = (torch.Tensor, torch.dtype, torch.device, int, float, str, tuple, type(None))
_ROUNDED = 1e-4  # of numbers of about 1


def uncalled(rotate: object) -> Uncalled:
    """Return what holds state, and a copy of that state; nothing where it is large or compiled."""
    owner = getattr(rotate, "__self__", rotate)
    holders = modules_of(rotate)
    with contextlib.suppress(Exception):  # whatever its own attributes or copies raise
        if not holders and all(isinstance(each, _PLAIN) for each in vars(owner).values()):
            functions = (types.FunctionType, types.ModuleType, type)
            holders = [] if isinstance(owner, functions) else [owner]
        modules = [part for part in holders if isinstance(part, torch.nn.Module)]
        if any(isinstance(part, torch.jit.ScriptModule) or _compiled(part) for part in modules):
            return []
        tensors = [each for part in modules for each in part.state_dict(keep_vars=True).values()]
        if not _compiled(rotate) and sum(each.numel() for each in tensors) <= _LARGEST:
            return list(zip(holders, copy.deepcopy([vars(each) for each in holders]), strict=True))
    return []


def _compiled(source: object) -> bool:
    names = ("_orig_mod", "_torchdynamo_orig_callable")
    return any(name in getattr(source, "__dict__", ()) for name in names)


@contextlib.contextmanager
def _as_before(states: Uncalled) -> Iterator[None]:
    """Within this, objects have the state from before any far call; after it, their own."""
    own = [(holder, vars(holder)) for holder, _ in states]
    try:
        for holder, state in states:
            object.__setattr__(holder, "__dict__", state)
        yield
    finally:
        for holder, state in own:
            object.__setattr__(holder, "__dict__", state)


def filled_in_its_dtype(m: Measured) -> Finding | None:
    """Angles that a far call in bfloat16 fills, where it comes first, must not be rounded."""
    if not m.uncalled or not m.obeys_ids or m.depends_on_length or m.permutation is not None:
        return None
    asked = with_width(m.probe, m.head_dim)  # what it refuses is not noted
    x = m.one_vector.expand(1, 2, 2, -1).bfloat16()
    with _as_before(m.uncalled):
        m.uncalled = []  # called by now
        try:
            asked(x, range(m.limit - 2, m.limit))
            after = m.curves(torch.float32)
        except (TypeError, CallError):
            return None
    if gap(after.matrices, m.far.matrices) < _ROUNDED:
        return None
    found = explain(m, after, m.near, "")
    if found is None or not found.code.endswith("-in-bfloat16"):
        return None  # coarse tables: what comes back in bfloat16 is as coarse
    return replace(
        found,
        sentence=f"{found.sentence} So it is in float32 too, where a far call in bfloat16 came "
        "first, and not where one in float32 did.",
        cause="a table filled in the dtype of the call that first needs it, and kept",
    )
