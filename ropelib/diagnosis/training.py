"""The rule on training: the way back of many tokens, far positions and half precision."""

import copy
import warnings

import torch
from torch import Tensor

from ropelib.diagnosis.crowded import Oracle, Way, compared, positions, vectors
from ropelib.diagnosis.inputs import GRADIENT, ROUNDED_BACK
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import CallError
from ropelib.diagnosis.refusals import refused, takes
from ropelib.diagnosis.report import Finding, wrong

_MANY, _SOME, _FEW = (3, 17, 67), (2, 9, 21), (1, 9, 1)  # rows, heads, tokens
_ROUND = (8, 32, 8)  # what fills blocks
_SIZES = (  # fewer in half precision, where what is large is a kernel of its own less often
    (torch.float32, _MANY),
    (torch.bfloat16, _SOME),
    (torch.float16, _SOME),
    (torch.float32, _FEW),
    (torch.float32, _ROUND),
    (torch.bfloat16, _ROUND),
)


def differs_in_training(m: Measured, oracle: Oracle) -> Finding | None:
    """The value under grad mode, the gradient, and what becomes of the gradient that is given."""
    for dtype, (rows, heads, tokens) in _SIZES:
        count = min(tokens, m.limit)
        ids = oracle.positions[-count:]
        if not oracle.by_runs and count > 1:
            ids = oracle.some(rows, count)
        way = Way(ids, len(ids) if ids.dim() == 2 else 1, heads, dtype, transposed=True)
        for each in way.simpler(oracle.takes_rows):
            try:
                seen = _trained(m, each)
            except CallError as error:
                last = error
                continue
            if finding := _judged(m, oracle, each, seen):
                return finding
            break
        else:
            if GRADIENT not in m.refused and not oracle.by_runs and takes(m, dtype):
                name = str(dtype)[6:]
                refused(m, f"the gradient of {rows} x {heads} x {tokens} of {name}", last)
    return None


def _judged(m: Measured, oracle: Oracle, way: Way, seen: dict[str, Tensor]) -> Finding | None:
    coarse = m.noise > 1e-5
    name = str(way.dtype)[6:]
    value = compared(seen["value"], oracle.curves.applied(vectors(m, way), way.ids), way, coarse)
    if value.is_wrong:
        return wrong(
            "training-forward-differs",
            f"Where a gradient is asked for, vectors of {name} are rotated otherwise than under "
            "no_grad.",
            "a path for training, with its own tables or kernel, that lacks far positions or rows",
            largest_difference=value.error,
        )
    if not torch.equal(seen["given"], seen["given after"]):
        return wrong(
            "gradient-overwrites-its-input",
            "The gradient that comes in is overwritten on the way back, and whoever else uses it, "
            "a residual branch or a hook, gets the turned one.",
            "a backward kernel in place; write into a tensor of its own, or clone what is given",
            largest_change=float((seen["given"] - seen["given after"]).abs().max()),
        )
    upstream = seen["given"]
    back = compared(
        seen["gradient"], oracle.curves.applied(upstream, way.ids, back=True), way, coarse
    )
    if not back.is_wrong or _as_rounded(seen["gradient"], back.error):
        return None
    forward = compared(seen["gradient"], oracle.curves.applied(upstream, way.ids), way, coarse)
    if not forward.is_wrong:
        return wrong(
            "gradient-rotates-forward",
            f"The gradient of {name} is turned forward once more, by the angle of the position, "
            "where it must be turned back by it.",
            "a backward that calls the forward with the same sine; it needs -sin",
            largest_difference=back.error,
        )
    others = others_of(way.ids)
    if not compared(
        seen["gradient"], oracle.curves.applied(upstream, others, back=True), way, coarse
    ).is_wrong:
        return wrong(
            "gradient-of-another-call",
            "The gradient is turned back by the positions of the call that came last, not of its "
            "own: layers or texts that differ in position_ids get that of others.",
            "positions or tables kept in common; save them for the backward of each call",
            largest_difference=back.error,
        )
    if way.dtype == torch.float32:
        return wrong(
            "gradient-wrong-far",
            "The gradient is right for a few tokens and heads at near positions, and not for "
            f"{way.ids.shape[-1]} of {way.heads} heads at far ones.",
            "a backward with a table, or a number of tokens, of its own; hand it those of the "
            "forward",
            largest_difference=back.error,
            tokens=way.ids.shape[-1],
        )
    return wrong(
        "gradient-wrong",
        f"The gradient of {name} is not that of the rotation, and that of float32 is.",
        "a backward for half precision written by hand: it is the rotation by minus the angle",
        largest_difference=back.error,
    )


def _as_rounded(gradient: Tensor, error: float) -> bool:
    """Whether a gradient of float32 is rounded to half precision, and off by no more than that."""
    some = any(
        torch.equal(gradient, gradient.to(dtype).to(gradient.dtype))
        for dtype in (torch.bfloat16, torch.float16)
    )
    allowed = ROUNDED_BACK * float(gradient.abs().max())
    return gradient.dtype == torch.float32 and some and error < allowed


def others_of(position_ids: Tensor) -> Tensor:
    """Return other positions of the same shape: from the last on, or 3 for one token."""
    return position_ids.flip(-1) if position_ids.shape[-1] > 1 else position_ids * 0 + 3


def _trained(m: Measured, way: Way) -> dict[str, Tensor]:
    """Call with a gradient, and return what was seen on the way forth and back."""
    seen = {}
    upstream = vectors(m, way).flip(-1)

    def rotate(x: Tensor, position_ids: Tensor) -> Tensor:
        with torch.enable_grad():
            leaf = x.detach().clone().requires_grad_()
            result = m.probe.rotate(leaf * 1, position_ids)  # no leaf may be written into
            if not (isinstance(result, Tensor) and result.requires_grad):
                raise RuntimeError("the result does not depend on x for autograd")
            value = result.detach().cpu().clone()
            given = upstream.to(x.device, result.dtype, copy=True)
            if way.transposed:
                given = given.transpose(1, 2).contiguous().transpose(1, 2)
            before = given.cpu().clone()
            # Another layer, or the next text: what the way back needs must not be kept in common.
            if way.dtype == torch.float32:
                m.probe.rotate(leaf.detach()[:, :1] * 1, others_of(position_ids))
            with warnings.catch_warnings():  # complex numbers of float16 are said to be new
                warnings.simplefilter("ignore")
                (gradient,) = torch.autograd.grad(result, leaf, given)
        seen.update({"value": value, "given": before, "given after": given.cpu()})
        return gradient

    probe = copy.copy(m.probe)
    probe.rotate = rotate
    seen["gradient"] = probe(vectors(m, way), positions(way))
    return seen
