"""Rules about what is handed over: its order in memory, and the way back."""

import contextlib
import copy
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from ropelib.diagnosis.in_company import turns_otherwise_when_short
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import CallError, Probe, Rotate
from ropelib.diagnosis.report import Finding, note, wrong
from ropelib.diagnosis.tensors import SAME, gap, random

GROUPED, GRADIENT, AUTOCAST = "grouped queries", "gradient", "autocast"  # told of elsewhere
_FUSED = "heads of q in a fused qkv"
_RARE = ("rows of a batch expanded", "the last axis by steps of two")  # no matter if refused


# Order in memory


def _packed(x: Tensor) -> Tensor:
    return torch.stack((torch.zeros_like(x), x, torch.zeros_like(x)), dim=-2).flatten(-2)


def _slice(x: Tensor) -> Tensor:
    return _packed(x)[..., x.shape[-1] : 2 * x.shape[-1]]


def _across(x: Tensor) -> Tensor:
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def _orders(x: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Return x, its values, in other orders of memory."""
    yield "heads and tokens transposed", _across(x)
    yield "a slice of the last axis", _slice(x)
    yield "every other head of twice as many", x.repeat_interleave(2, dim=1)[:, ::2]
    yield "every other token of twice as many", x.repeat_interleave(2, dim=2)[:, :, ::2]
    fused = torch.cat((x, torch.zeros_like(x), -x), dim=1).transpose(1, 2).contiguous()
    yield _FUSED, fused.transpose(1, 2)[:, : x.shape[1]]
    yield "the last axis by steps of two", x.repeat_interleave(2, dim=-1)[..., ::2]
    yield "rows of a batch expanded", x[:1].expand(*x.shape)
    yield "rows after others", torch.cat((x.flip(-1), x))[len(x) :]


def strides(m: Measured) -> Finding | None:
    """The same values must give the same result, however they lie in memory."""
    six, one = (random(rows_taken(m), 4, tokens, m.head_dim) for tokens in (6, 1))
    plain = m.probe(six, range(6))
    ways = [(six, plain, *each) for each in _orders(six)]
    with contextlib.suppress(CallError):  # a batch of single tokens is refused: a note says so
        fused = next(each for name, each in _orders(one) if name == _FUSED)  # as decoding has it
        ways.append((one, m.probe(one, range(1)), f"{_FUSED}, one token", fused))
    wrongly = {}
    for x, plain, name, arranged in ways:
        ids = torch.arange(x.shape[2])
        expected = plain[:1] if "expanded" in name else plain
        try:
            result = through(m.probe, lambda rotate, to=arranged: _given(rotate, to))(x, ids)
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


def rows_taken(m: Measured) -> int:
    """Return 2, or 1 where x of two rows with one row of positions is refused."""
    if "rows" not in m.crowd:
        try:
            m.probe(random(2, 3, 5, m.head_dim), range(5))  # tables of rows fit as many heads
            m.crowd["rows"] = 2
        except CallError:
            m.crowd["rows"] = 1
    return m.crowd["rows"]


def _given(rotate: Rotate, arranged: Tensor) -> Rotate:
    """Make a rotation that is given `arranged`, on the device and in the dtype of x."""

    def call(x: Tensor, position_ids: Tensor) -> Tensor:
        if (arranged.device, arranged.dtype) == (x.device, x.dtype):
            return rotate(arranged, position_ids)
        memory = _memory_of(arranged)
        moved = memory.to(x.device, x.dtype)
        order = (arranged.shape, arranged.stride(), arranged.storage_offset())
        return rotate(moved.as_strided(*order), position_ids)

    return call


def _memory_of(x: Tensor) -> Tensor:
    """Return all numbers in the memory of x, those before it too, in one line."""
    return x.as_strided((x.untyped_storage().nbytes() // x.element_size(),), (1,), 0)


def through(probe: Probe, change: Callable[[Rotate], Rotate]) -> Probe:
    """Return the probe of a rotation that is made from this one."""
    other = copy.copy(probe)
    other.rotate = change(probe.rotate)
    return other


# The way back

ROUNDED_BACK = 0.05 / 4  # of the largest entry: what bfloat16 on the way back leaves
_EXACT_BACK = 1e-4  # of the largest entry: more than float32 leaves, and less than float16
_DENSE = "densely"


_EXPANDED = {
    "one number for all": lambda g: g[:1, :1, :1, :1].expand(g.shape),
    "one vector for all tokens": lambda g: g[:, :, :1].expand(g.shape),
    "one number for each vector": lambda g: g[..., :1].expand(g.shape),
}
_HANDED_BACK = {
    _DENSE: lambda g: g,
    "heads and tokens transposed": _across,
    "a slice of the last axis": _slice,
} | _EXPANDED


def gradient(m: Measured) -> Finding | None:
    """The gradient of a rotation is turned back by the same angle."""
    x = random(rows_taken(m), 3, 8, m.head_dim)
    ids = _uneven_rows(m, x)
    value = m.probe(x, ids)
    if m.differs(value, x, ids).any():  # not the way back alone
        m.crowd["unnamed"] = unlike_one_by_one(x, gap(value, m.applied(x, ids)))
        return None
    turned = images(m, x, ids)
    upstream = x.flip(-1)
    errors = {}
    for name, arrange in _HANDED_BACK.items():
        try:
            probe = through(m.probe, lambda rotate, a=arrange: gradient_of(rotate, upstream, a))
            found = probe(x, ids)
        except CallError as error:
            m.refused[GRADIENT] = str(error.__cause__ or error).partition("\n")[0]
            return None
        backward = turned_back(turned, arrange(upstream))
        allowed = ROUNDED_BACK * float(backward.abs().max())
        if gap(found, backward) < allowed:
            if name == _DENSE:
                m.crowd[GRADIENT] = gap(found, backward) / float(backward.abs().max()), found
            continue
        if name == _DENSE:
            trained = through(m.probe, _in_training)(x, ids)
            if m.differs(trained, x, ids).any():
                return _training_forward(gap(trained, m.applied(x, ids)))
            if m.resting and not bool(found[..., m.resting].any()):
                return wrong(
                    "gradient-wrong",
                    "No gradient comes back of the dimensions that do not turn, which pass on the "
                    "way forth.",
                    "detach(), no_grad or .data on the part that passes",
                    dimensions=len(m.resting),
                )
            forward = torch.einsum("bitr,bhti->bhtr", turned, upstream.double())
            return _not_turned_back(gap(found, backward), gap(found, forward) < allowed)
        errors[name] = gap(found, backward)
    if errors:
        return _misread(errors)


def unnamed(m: Measured) -> Finding | None:
    """What the gradient was asked of, where that is wrong and no other rule has said why."""
    if m.depends_on_length and turns_otherwise_when_short(m):
        return None  # all short calls have other frequencies: a note says so
    return m.crowd.get("unnamed") or _short_call(m)


def _short_call(m: Measured) -> Finding | None:
    """The first call of all, which was measured for later: its tokens must turn as alone."""
    x, ids = random(1, 1, 1, m.head_dim).expand(*m.fresh.shape), torch.arange(m.fresh.shape[2])
    if not m.differs(m.fresh, x, ids).any():
        return None
    alone = torch.cat([m.probe(x[:, :, :1], [position]) for position in ids.tolist()], dim=2)
    return None if m.differs(alone, x, ids).any() else unlike_one_by_one(x, gap(m.fresh, alone))


def unlike_one_by_one(x: Tensor, difference: float) -> Finding:
    """Return the finding that vectors in one call are turned otherwise than alone."""
    rows, heads, tokens, _ = x.shape
    return wrong(
        "crowded-call-differs",
        f"{rows} row{'s' * (rows > 1)} of {tokens} tokens of {heads} heads are turned otherwise in "
        "one call than one by one.",
        "a path that is taken by some sizes of a call; compare its result with that of parts of "
        "the call",
        largest_difference=difference,
        rows=rows,
        heads=heads,
        tokens=tokens,
    )


def images(m: Measured, x: Tensor, ids: Tensor) -> Tensor:
    """What becomes of each basis vector, (batch, head_dim, seq_len, head_dim), in float64."""
    basis = torch.eye(m.head_dim)[None, :, None].expand(1, -1, x.shape[2], -1)
    each = ids if ids.dim() == 2 else ids[None]
    return torch.cat([m.applied(basis, row) for row in each]).expand(len(x), -1, -1, -1)


def turned_back(turned: Tensor, upstream: Tensor) -> Tensor:
    """Return the gradient by x, given that by the result."""
    return torch.einsum("bitr,bhtr->bhti", turned, upstream.double())


def _not_turned_back(error: float, forward: bool) -> Finding:
    if forward:
        return wrong(
            "gradient-rotates-forward",
            "The gradient is turned forward once more, by the angle of the position, where it must "
            "be turned back by it: inference is right, and training is not.",
            "a backward that calls the forward with the same sine; it needs -sin",
            largest_difference=error,
        )
    return wrong(
        "gradient-wrong",
        "The gradient is not that of the rotation: inference is right, and training is not.",
        "a backward written by hand: it is the rotation by minus the angle, times the same factor",
        largest_difference=error,
    )


def _misread(errors: dict[str, float]) -> Finding:
    """Return the finding on gradients that are right where they lie densely in memory."""
    ordered = [name for name in errors if name not in _EXPANDED]
    if ordered:
        return wrong(
            "strides-ignored",
            "A gradient in another order of memory is turned into another result: it is read as if "
            f"it were contiguous ({', '.join(ordered)}).",
            "a backward kernel that counts addresses itself; call contiguous() on what it is given",
            largest_difference=max(errors.values()),
        )
    return wrong(
        "expanded-gradient-misread",
        "A gradient that repeats one number in memory, as sum() and mean() hand it back, is turned "
        f"into another result: it is read as if it were contiguous ({', '.join(errors)}).",
        "a backward kernel that counts addresses itself, and takes no stride to be 0; call "
        "contiguous() on what it is given",
        largest_difference=max(errors.values()),
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


def gradient_of(rotate: Rotate, upstream: Tensor, arrange: Callable[[Tensor], Tensor]) -> Rotate:
    """Make a function that returns the gradient by x of a rotation, given that by its result."""

    def call(x: Tensor, position_ids: Tensor) -> Tensor:
        with torch.enable_grad():
            leaf = x.detach().clone().requires_grad_()
            result = rotate(leaf * 1, position_ids)  # what is no leaf may be written into
            if not (isinstance(result, Tensor) and result.requires_grad):
                raise RuntimeError("the result does not depend on x for autograd")
            given = arrange(upstream.to(x.device, result.dtype, copy=True))
            (grad,) = torch.autograd.grad(result, leaf, given)
        return grad

    return call


def _in_training(rotate: Rotate) -> Rotate:
    """Make the rotation of an x whose gradient is asked for."""

    def call(x: Tensor, position_ids: Tensor) -> Tensor:
        with torch.enable_grad():
            return rotate(x.detach().clone().requires_grad_() * 1, position_ids).detach()

    return call


def _training_forward(error: float) -> Finding:
    return wrong(
        "training-forward-differs",
        "Where a gradient is asked for, vectors are rotated otherwise than where none is, and the "
        "gradient is that of another rotation.",
        "a path for training with frequencies, tables or positions of its own",
        largest_difference=error,
    )


def no_gradient(m: Measured) -> Finding | None:
    """Say that gradients could not be compared."""
    if GRADIENT in m.refused:
        return note(
            "no-gradient",
            "No gradient comes back, so that this can serve inference alone: "
            f"{m.refused[GRADIENT]}",
        )


def coarse_gradient(m: Measured) -> Finding | None:
    """Say that a gradient has lost digits that vectors keep on the way forth."""
    error, found = m.crowd.get(GRADIENT, (0.0, None))
    if error < _EXACT_BACK or m.noise > _EXACT_BACK / 10 or m.probe.dtype:
        return None
    rounded = (
        d for d in (torch.bfloat16, torch.float16) if torch.equal(found, found.to(d).float())
    )
    dtype = next(rounded, None)
    how = f"is rounded to {str(dtype)[6:]}" if dtype else "is coarse, as in half precision,"
    return note(
        "vectors-in-low-precision",
        f"The gradient of float32 vectors {how} on the way back, and their rotation is not: it is "
        f"off by up to {100 * error:.2g}% of its largest entry.",
    )


def refused_strides(m: Measured) -> Finding | None:
    """Say which orders of memory are refused."""
    orders = [name for name in m.refused if name not in (GROUPED, GRADIENT, AUTOCAST)]
    if orders:
        return note(
            "strides-refused",
            f"x is refused in another order of memory ({', '.join(orders)}): "
            f"{m.refused[orders[0]]}",
        )
