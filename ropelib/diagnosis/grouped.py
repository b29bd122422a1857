"""Rules about grouped queries: where q and k go in together, k may have fewer heads."""

import functools

import torch
from torch import Tensor

from ropelib.diagnosis.inputs import (
    GROUPED,
    ROUNDED_BACK,
    gradient_of,
    images,
    through,
    turned_back,
)
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import CallError, Probe, signature_of
from ropelib.diagnosis.refusals import refused, takes
from ropelib.diagnosis.report import Finding, note, wrong
from ropelib.diagnosis.tensors import gap, random

# Heads of q and of k, rows, and tokens: a step of decoding among them.
_SIZES = (
    (8, 2, 1, 5),
    (8, 1, 1, 5),
    (32, 8, 2, 3),
    (12, 4, 1, 1),
    (6, 1, 2, 1),
    (28, 4, 1, 2),
    (9, 3, 1, 4),
)


_TOKENS = 37  # more than a block of 32
_FAR, _ROUNDED = 0.01, 2.0**-5  # of the largest entry: far float32 angles; sums in bfloat16


def grouped(m: Measured) -> Finding | None:
    """Each of q and k must be turned as it is beside as many heads of the other."""
    try:
        together = "other_heads" in signature_of(m.probe.rotate).parameters
    except ValueError:  # a built-in function
        together = False
    if not together:
        return None
    of_k = m.probe.name.endswith("of k")
    for q, k, rows, tokens in _SIZES:
        heads, others = (k, q) if of_k else (q, k)
        finding = _forth(m, heads, others, rows, tokens)
        if finding or GROUPED in m.refused:
            return finding
    heads, others = (2, 8) if of_k else (8, 2)
    for dtype in (torch.float32, torch.bfloat16):
        if finding := _far(m, heads, others, dtype):
            return finding
    return _back(m, *((2, 8) if of_k else (8, 2)))


def _beside(m: Measured, others: int) -> Probe:
    return through(m.probe, lambda rotate: functools.partial(rotate, other_heads=others))


def _forth(m: Measured, heads: int, others: int, rows: int, tokens: int) -> Finding | None:
    ids = torch.tensor([3]) if tokens == 1 else torch.arange(tokens)
    x = random(rows, heads, tokens, m.head_dim)
    try:
        result = _beside(m, others)(x, ids)
    except CallError as error:
        if rows > 1:  # a batch is refused, and another rule says so
            return None
        if error.code == "shape-not-kept" and (finding := _repeated(m, heads, others, x, ids)):
            return finding
        m.refused[GROUPED] = str(error.__cause__ or error).partition("\n")[0]
        return None
    if m.differs(result, x, ids).any():
        return wrong(
            "grouped-queries-wrong",
            "With fewer heads of k than of q it is turned otherwise than with as many.",
            "the number of heads, or the stride, of one taken for the other, or one read in place "
            "of the other",
            heads=heads,
            of_the_other=others,
            rows=rows,
            tokens=tokens,
            largest_difference=gap(result, m.applied(x, ids)),
        )


def _far(m: Measured, heads: int, others: int, dtype: torch.dtype) -> Finding | None:
    """Rows of many tokens, far ones too, in another order of memory; and in bfloat16."""
    if m.obeys != "all" or m.depends_on_length:
        return None
    ids = m.far.positions[-_TOKENS:]
    if m.early is not None:  # else rows are refused
        ids = torch.stack((ids, ids.flip(0)))
    x = random(len(ids) if ids.dim() == 2 else 1, ids.shape[-1], heads, m.head_dim)
    x, name = x.transpose(1, 2).to(dtype), str(dtype)[6:]
    differing = ", which differ from row to row," if len(x) > 1 else ""
    exact = m.applied(x, ids)
    allowed = (_ROUNDED if dtype == torch.bfloat16 else _FAR) * float(exact.abs().max())
    try:
        result = _beside(m, others)(x, ids)
        if gap(result, exact) <= allowed or gap(m.probe(x, ids), exact) > allowed:
            return None  # the latter: so are as many heads, as other rules say
    except CallError as error:
        if takes(m, dtype):
            refused(m, f"{heads} heads beside {others}, far rows of {name}", error)
        return None
    return wrong(
        "grouped-queries-wrong",
        f"With fewer heads of k than of q {ids.shape[-1]} tokens of {name} at far positions"
        f"{differing} are turned otherwise than with as many.",
        "a path of its own for k, with a table that ends, or the number of heads, rows or tokens "
        "of one taken for the other",
        heads=heads,
        of_the_other=others,
        rows=len(x),
        tokens=ids.shape[-1],
        largest_difference=gap(result, exact),
    )


def _repeated(m: Measured, heads: int, others: int, x: Tensor, ids: Tensor) -> Finding | None:
    """Where k comes back with as many heads as q, each must stand beside the queries it serves."""
    times = others // heads
    for which in range(times):

        def one_of_each(rotate, which=which):
            def call(x: Tensor, position_ids: Tensor) -> Tensor:
                result = rotate(x, position_ids, other_heads=others)
                return result.unflatten(1, (heads, times))[:, :, which]

            return call

        try:
            result = through(m.probe, one_of_each)(x, ids)
        except (TypeError, CallError):
            return None
        if m.differs(result, x, ids).any():
            return wrong(
                "keys-repeated-out-of-order",
                "k comes back with as many heads as q, and not in the order of the groups: a query "
                "meets the keys of another group.",
                "repeat, or an index of heads by the remainder, where each head of k must come "
                "as often as it serves, one after the other (repeat_interleave)",
                heads=heads,
                of_the_other=others,
                largest_difference=gap(result, m.applied(x, ids)),
            )
    return None


def _back(m: Measured, heads: int, others: int) -> Finding | None:
    """The gradient, too."""
    x, ids = random(1, heads, 5, m.head_dim), torch.arange(5)
    upstream = x.flip(-1)
    probe = _beside(m, others)
    try:
        found = through(probe, lambda rotate: gradient_of(rotate, upstream, lambda g: g))(x, ids)
        alone = through(m.probe, lambda rotate: gradient_of(rotate, upstream, lambda g: g))(x, ids)
    except CallError:
        return None  # a note says so
    turned = turned_back(images(m, x, ids), upstream)
    allowed = ROUNDED_BACK * float(turned.abs().max())
    if gap(found, turned) > allowed > gap(alone, turned):
        return wrong(
            "grouped-gradient-wrong",
            "With fewer heads of k than of q the gradient is another than with as many: inference "
            "is right, and training is not.",
            "a backward with the number of heads, or the stride, of q for k",
            heads=heads,
            of_the_other=others,
            largest_difference=gap(found, turned),
        )


def refused_groups(m: Measured) -> Finding | None:
    """Say that k must have as many heads as q."""
    if GROUPED in m.refused:
        return note(
            "grouped-queries-refused",
            "k with fewer heads than q is refused, or comes back with as many: "
            f"{m.refused[GROUPED]}",
        )
