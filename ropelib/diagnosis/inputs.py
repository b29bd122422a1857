"""Rules about what is handed over: its order in memory, its width, and the way back."""

import copy
import functools
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import CallError, Probe, Rotate, signature_of
from ropelib.diagnosis.report import Finding, note, wrong
from ropelib.diagnosis.tensors import SAME, gap, random

_OTHER_WIDTHS = (80, 96, 128, 192)  # of heads that models have, and most no power of two
_GROUPED, _GRADIENT = "grouped queries", "gradient"
_RARE = ("rows of a batch expanded", "the last axis by steps of two")  # no matter if refused


# Order in memory


def _packed(x: Tensor) -> Tensor:
    return torch.stack((torch.zeros_like(x), x, torch.zeros_like(x)), dim=-2).flatten(-2)


def _orders(x: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Return x, its values, in other orders of memory."""
    d = x.shape[-1]
    yield "heads and tokens transposed", x.transpose(1, 2).contiguous().transpose(1, 2)
    yield "a slice of the last axis", _packed(x)[..., d : 2 * d]
    yield "every other head of twice as many", x.repeat_interleave(2, dim=1)[:, ::2]
    yield "every other token of twice as many", x.repeat_interleave(2, dim=2)[:, :, ::2]
    fused = torch.cat((x, torch.zeros_like(x), -x), dim=1).transpose(1, 2).contiguous()
    yield "heads of q in a fused qkv", fused.transpose(1, 2)[:, : x.shape[1]]
    yield "the last axis by steps of two", x.repeat_interleave(2, dim=-1)[..., ::2]
    yield "rows of a batch expanded", x[:1].expand(*x.shape)


def strides(m: Measured) -> Finding | None:
    """The same values must give the same result, however they lie in memory."""
    x, ids = random(_rows(m), 4, 6, m.head_dim), torch.arange(6)
    plain = m.probe(x, ids)
    wrongly = {}
    for name, arranged in _orders(x):
        expected = plain[:1] if "expanded" in name else plain
        try:
            result = _through(m.probe, lambda rotate, to=arranged: _given(rotate, to))(x, ids)
        except CallError as error:
            if name not in _RARE:
                m.refused[name] = str(error.__cause__ or error).partition("\n")[0]
            continue
        if gap(result, expected) > SAME:
            wrongly[name] = gap(result, expected)
    if wrongly:
        return wrong(
            "strides-ignored",
            "The same values in another order of memory give another result: x is read as if it "
            f"were contiguous ({', '.join(wrongly)}).",
            "a kernel that counts addresses itself; hand it the strides, or call x.contiguous() "
            "before it",
            largest_difference=max(wrongly.values()),
        )


def _rows(m: Measured) -> int:
    """Two, or one where one row of positions does not serve a batch."""
    if "rows" not in m.crowd:
        try:
            m.probe(random(2, 2, 5, m.head_dim), range(5))
            m.crowd["rows"] = 2
        except CallError:
            m.crowd["rows"] = 1
    return m.crowd["rows"]


def _given(rotate: Rotate, arranged: Tensor) -> Rotate:
    """Make a rotation that is given `arranged`, on the device and in the dtype of x."""

    def call(x: Tensor, position_ids: Tensor) -> Tensor:
        if (arranged.device, arranged.dtype) == (x.device, x.dtype):
            return rotate(arranged, position_ids)
        place = {"device": x.device, "dtype": x.dtype}
        moved = torch.empty_strided(arranged.shape, arranged.stride(), **place)
        return rotate(moved.copy_(arranged), position_ids)

    return call


def _through(probe: Probe, change: Callable[[Rotate], Rotate]) -> Probe:
    """Return the probe of a rotation that is made from this one."""
    other = copy.copy(probe)
    other.rotate = change(probe.rotate)
    return other


# Grouped queries


def grouped(m: Measured) -> Finding | None:
    """Where q and k go in together, k may have fewer heads."""
    try:
        together = "other_heads" in signature_of(m.probe.rotate).parameters
    except ValueError:  # a built-in function
        together = False
    if not together:
        return None
    for of_q, of_k in ((8, 2), (8, 1)):
        heads, others = (of_k, of_q) if m.probe.name.endswith("of k") else (of_q, of_k)
        finding = _grouped(m, heads, others)
        if finding or _GROUPED in m.refused:
            return finding
    return None


def _grouped(m: Measured, heads: int, others: int) -> Finding | None:
    x, ids = random(1, heads, 5, m.head_dim), torch.arange(5)
    probe = _through(m.probe, lambda rotate: functools.partial(rotate, other_heads=others))
    try:
        result = probe(x, ids)
    except CallError as error:
        m.refused[_GROUPED] = str(error.__cause__ or error).partition("\n")[0]
        return None
    if gap(result, m.probe(x, ids)) > SAME:
        return wrong(
            "grouped-queries-wrong",
            "With fewer heads of k than of q it is turned otherwise than with as many.",
            "the number of heads, or the stride, of one taken for the other, or one read in place "
            "of the other",
            heads=heads,
            of_the_other=others,
            largest_difference=gap(result, m.probe(x, ids)),
        )


def refused_groups(m: Measured) -> Finding | None:
    """Say that k must have as many heads as q."""
    if _GROUPED in m.refused:
        return note(
            "grouped-queries-refused",
            f"k with fewer heads than q is refused: {m.refused[_GROUPED]}",
        )


# The way back


def gradient(m: Measured) -> Finding | None:
    """The gradient of a rotation is turned back by the same angle."""
    d = m.head_dim
    x = random(_rows(m), 3, 8, d)
    ids = _uneven_rows(m, x)
    basis = torch.eye(d)[None, :, None].expand(1, -1, 8, -1)
    each = ids if ids.dim() == 2 else ids[None]
    images = torch.cat([m.applied(basis, row) for row in each])  # (1 or batch, d, 8, d)
    images = images.expand(len(x), -1, -1, -1)
    upstream = x.flip(-1)
    backward = torch.einsum("bitr,bhtr->bhti", images, upstream.double())
    forward = torch.einsum("bitr,bhti->bhtr", images, upstream.double())
    across = upstream.transpose(1, 2).contiguous().transpose(1, 2)
    try:
        measured = [
            _through(m.probe, lambda rotate, g=g: _gradient_of(rotate, g))(x, ids)
            for g in (upstream, across)
        ]
    except CallError as error:
        m.refused[_GRADIENT] = str(error.__cause__ or error).partition("\n")[0]
        return None
    allowed = 0.05 * float(backward.abs().max()) / 4  # what bfloat16 on the way back leaves
    errors = [gap(grad, backward) for grad in measured]
    if errors[0] < allowed > errors[1]:
        return None
    if errors[0] < allowed:
        return wrong(
            "strides-ignored",
            "A gradient in another order of memory is turned into another result: it is read as if "
            "it were contiguous.",
            "a backward kernel that counts addresses itself; call contiguous() on what it is given",
            largest_difference=errors[1],
        )
    if gap(measured[0], forward) < allowed:
        return wrong(
            "gradient-rotates-forward",
            "The gradient is turned forward once more, by the angle of the position, where it must "
            "be turned back by it: inference is right, and training is not.",
            "a backward that calls the forward with the same sine; it needs -sin",
            largest_difference=errors[0],
        )
    return wrong(
        "gradient-wrong",
        "The gradient is not that of the rotation: inference is right, and training is not.",
        "a backward written by hand: it is the rotation by minus the angle, times the same factor",
        largest_difference=errors[0],
    )


def _uneven_rows(m: Measured, x: Tensor) -> Tensor:
    """Positions that are no count of tokens, and others in each row, if rows are taken."""
    if m.obeys != "all":
        return torch.arange(1, 9)  # near positions, measured
    rows = torch.tensor([[3, 1, 4, 8, 5, 7, 2, 6], [2, 7, 1, 8, 3, 0, 4, 5]])[: len(x)]
    try:
        together = m.probe(x, rows)
    except CallError:
        return rows[0]
    wrongly = m.differs(together, x, rows).any()  # then a rule on batches says so
    return rows[0].sort().values if wrongly else rows


def _gradient_of(rotate: Rotate, upstream: Tensor) -> Rotate:
    """Make a function that returns the gradient by x of a rotation, given that by its result."""

    def call(x: Tensor, position_ids: Tensor) -> Tensor:
        with torch.enable_grad():
            leaf = x.detach().clone().requires_grad_()
            result = rotate(leaf * 1, position_ids)  # what is no leaf may be written into
            if not (isinstance(result, Tensor) and result.requires_grad):
                raise RuntimeError("the result does not depend on x for autograd")
            given = torch.empty_strided(upstream.shape, upstream.stride(), device=x.device)
            given = given.copy_(upstream).to(result.dtype)
            (grad,) = torch.autograd.grad(result, leaf, given)
        return grad

    return call


def no_gradient(m: Measured) -> Finding | None:
    """Say that gradients could not be compared."""
    if _GRADIENT in m.refused:
        return note(
            "no-gradient",
            "No gradient comes back, so that this can serve inference alone: "
            f"{m.refused[_GRADIENT]}",
        )


def refused_strides(m: Measured) -> Finding | None:
    """Say which orders of memory are refused."""
    orders = [name for name in m.refused if name not in (_GROUPED, _GRADIENT)]
    if orders:
        return note(
            "strides-refused",
            f"x is refused in another order of memory ({', '.join(orders)}): "
            f"{m.refused[orders[0]]}",
        )


# Width


def other_widths(m: Measured) -> Finding | None:
    """Where vectors of another width are taken, they must be rotated as well."""
    for width in _OTHER_WIDTHS:
        if width == m.head_dim:
            continue
        x = random(1, 8, 1, width)
        try:
            rotated = m.probe(x.expand(-1, -1, 9, -1), range(9))[0].double()
        except (TypeError, ValueError):  # made for one width
            continue
        scores = torch.einsum("hmc,gnc->hgmn", rotated, rotated)
        error = gap(scores[..., 1:, 1:], scores[..., :-1, :-1]) / float(scores.abs().max())
        error = max(error, _change_of_length(m, x, rotated))
        if error > 1e-2:
            return wrong(
                "wrong-at-other-widths",
                f"Vectors of {m.head_dim} dimensions are rotated rightly, and those of {width}, "
                "which are taken too, are not: lengths change, or scores depend on more than the "
                "distance.",
                "a kernel that pads the width to a power of two, and finds sine or the second half "
                "by the padded width; or a width that is written into it and not checked",
                width=width,
                relative_change_of_scores_at_one_distance=error,
            )


def _change_of_length(m: Measured, x: Tensor, rotated: Tensor) -> float:
    """How far lengths are from between 1, of what rests, and the factor of what turns."""
    lengths = rotated.norm(dim=-1) / x[0].double().norm(dim=-1)
    ends = sorted((1.0, float(m.scale.mean())))
    return float((lengths - lengths.clamp(*ends)).abs().max())
