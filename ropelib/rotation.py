"""Rotary position embedding: exact tables, and the rotation in both of its layouts."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ropelib import checks, kernels
from ropelib.devices import computes_for, has_values
from ropelib.frequencies import check_head_dim, rotary_dim_of
from ropelib.memory import is_bare
from ropelib.pairs import join_pairs, split_pairs
from ropelib.tensor_checks import (
    FULL_PRECISION,
    check_inv_freq,
    check_out,
    check_tables,
    check_tensor,
    checked_positions,
    sequence_before_last,
)

LONG = 8192  # positions that follow one another from which on tables are made by adding angles
BLOCK = 2**16  # numbers of a table that are made at once: they stay in the cache, two cores share


def cos_sin(
    position_ids: Tensor | np.ndarray | Sequence,
    inv_freq: Tensor,
    *,
    attention_factor: float = 1.0,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor]:
    """Return the cosine and the sine of the angle of each pair at each position.

    `angles[..., s, i] = position_ids[..., s] * inv_freq[i]`, multiplied, reduced and evaluated in
    float64; only the result is rounded to `dtype`. In float32 an angle near 1000000 rad is known to
    0.03 rad at best, and its cosine no better; in float64 an angle is known to 1.1e-16 of its size.
    A long range of positions in float32 is computed by adding angles, in a third of the time: a few
    in 100000 of its numbers are rounded to the other neighbor.
    On a device without float64, as Apple's MPS, the CPU computes, and the result is moved.

    Args:
        position_ids: integer or real, any sign, `(seq_len,)` or `(batch, seq_len)`, tokens.
        inv_freq: `(num_pairs,)`, rad/token, float64. float32 is taken as it is, so its rounding
            error (up to 6e-8 of the frequency) grows with the position.
        attention_factor: multiplies both tables, as YaRN asks for.
        dtype: of the tables, float32 or float64.

    Returns:
        `(cos, sin)`, each `(..., seq_len, num_pairs)`, on the device of `position_ids`, or of
        `inv_freq` where they are no tensor.

    Raises:
        TypeError: if `position_ids` are bool, complex, of low precision or no numbers, `inv_freq`
            is no tensor, its dtype or `dtype` is neither float32 nor float64, or `attention_factor`
            is no real number.
        ValueError: if a shape is wrong, a position or a frequency is not finite, a position is
            2**53 or more in size (2**24 in float32, which skips whole numbers from there on), an
            angle may be 2**53 rad or more, or `attention_factor` is not positive or not within
            float32. Values inside a tensor are not looked at where that is impossible (while
            `torch.compile` traces, on the "meta" device) or would make a GPU wait (integers there).

    Source:
        RoFormer (Su et al., arXiv:2104.09864), the entries of equation 15.

    Example:
        >>> from ropelib import inv_freq
        >>> cos, sin = cos_sin([0, 1, 1_000_000], inv_freq(4))
        >>> cos
        tensor([[ 1.0000,  1.0000],
                [ 0.5403,  0.9999],
                [ 0.9368, -0.9522]])
    """
    end = check_inv_freq(inv_freq)
    if dtype not in FULL_PRECISION:
        raise TypeError(f"dtype must be torch.float32 or torch.float64, got {dtype}")
    attention_factor = checks.attention_factor(attention_factor)
    device = (position_ids if isinstance(position_ids, Tensor) else inv_freq).device
    position_ids = checked_positions(position_ids, end)
    inv_freq = inv_freq.to(computes_for(device))
    return exact_tables(position_ids, inv_freq, attention_factor, device=device, dtype=dtype)


def exact_tables(
    position_ids: Tensor,
    inv_freq: Tensor,
    attention_factor: float,
    *,
    device: torch.device,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor]:
    """Return cos and sin for `device` of what has been checked; `cos_sin` is this and the checks.

    Args:
        position_ids: `(seq_len,)` or `(batch, seq_len)`, tokens.
        inv_freq: `(num_pairs,)`, rad/token, already where tables for `device` are computed.
        attention_factor: multiplies both tables.
        device: of the tables.
        dtype: of the tables.

    Returns:
        `(cos, sin)`, each `(..., seq_len, num_pairs)`.

    Example:
        >>> where = {"device": torch.device("cpu"), "dtype": torch.float32}
        >>> exact_tables(torch.tensor([0]), torch.ones(1), 1.0, **where)
        (tensor([[1.]]), tensor([[0.]]))
    """
    if dtype == torch.float32 and _is_long_range(position_ids) and _is_constant(inv_freq):
        start, stop = position_ids[0].item(), position_ids[-1].item() + 1
        return _tables_of_range(start, stop, inv_freq.double(), attention_factor)
    position_ids = position_ids.to(inv_freq.device).double()
    angles = position_ids.unsqueeze(-1) * inv_freq.double()  # (..., seq_len, 1) * (num_pairs,)
    return (
        (angles.cos() * attention_factor).to(dtype).to(device),
        (angles.sin() * attention_factor).to(dtype).to(device),
    )


def _is_long_range(position_ids: Tensor) -> bool:
    """Say whether positions follow one another for so long that adding angles pays."""
    if (
        position_ids.dim() != 1
        or not position_ids.is_cpu
        or position_ids.is_floating_point()
        or not has_values(position_ids)  # while a compiler traces, a length must not be asked for
        or len(position_ids) < LONG
        or not is_bare(position_ids)
    ):
        return False
    start, last = position_ids[0].item(), position_ids[-1].item()
    return last - start == len(position_ids) - 1 and torch.equal(
        position_ids, torch.arange(start, last + 1, dtype=position_ids.dtype, device="cpu")
    )


def _is_constant(inv_freq: Tensor) -> bool:
    """Say whether frequencies are numbers on the CPU, of which no derivative is wanted."""
    return inv_freq.is_cpu and not inv_freq.requires_grad and is_bare(inv_freq)


def _tables_of_range(
    start: int, stop: int, inv_freq: Tensor, factor: float
) -> tuple[Tensor, Tensor]:
    """Return cos and sin of positions start .. stop - 1 in float32, by adding angles in float64.

    Position m is h + l with h a multiple of `step` and 0 <= l < `step`, and cos and sin of a sum
    are products of theirs: a few multiplications where a cosine takes dozens. Either way float64
    knows the angle to 1.1e-16 of its size, and float32 the result to 3e-8; of position 0 all is
    exact.
    """
    step = max(BLOCK // max(len(inv_freq), 1), 1)
    first = start // step * step
    low, high = (
        torch.arange(*span, dtype=torch.float64, device="cpu").unsqueeze(-1) * inv_freq
        for span in ((step,), (first, stop, step))
    )
    low_cos, low_sin = low.cos(), low.sin()  # (step, num_pairs)
    highs = (high.cos() * factor).unbind(), (high.sin() * factor).unbind()
    kind = {"dtype": torch.float32, "device": "cpu"}  # whatever the default is
    tables = [torch.empty(stop - first, len(inv_freq), **kind) for _ in range(2)]
    scratch = torch.empty_like(low_cos)
    for high_cos, high_sin, cos, sin in zip(*highs, *(t.split(step) for t in tables), strict=True):
        torch.mul(low_cos, high_cos, out=scratch).addcmul_(low_sin, high_sin, value=-1)
        cos.copy_(scratch[: len(cos)])
        torch.mul(low_sin, high_cos, out=scratch).addcmul_(low_cos, high_sin)
        sin.copy_(scratch[: len(sin)])
    cos, sin = (table[start - first :] for table in tables)
    return cos, sin


def apply_rotary(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    *,
    layout: str,
    seq_dim: int = -2,
    out: Tensor | None = None,
) -> Tensor:
    """Rotate each pair of dimensions of `x` by its angle.

    A pair `(x, y)` becomes `(x * cos - y * sin, x * sin + y * cos)`; dimensions after the last
    pair pass through unchanged.

    Args:
        x: `(..., seq_len, head_dim)`, bfloat16, float16, float32 or float64, any strides. The
            sequence is axis `seq_dim`, always: nothing is inferred from sizes.
        cos: from `cos_sin`, `(seq_len, num_pairs)` for all of `x`, or `(batch, seq_len, num_pairs)`
            for an `x` of shape `(batch, num_heads, seq_len, head_dim)`. Nothing else broadcasts.
        sin: like `cos`.
        layout: "interleaved" pairs dimensions (2i, 2i + 1), "half" pairs (i, i + num_pairs).
        seq_dim: axis of the sequence. A tensor `(batch, seq_len, num_heads, head_dim)` needs 1 or
            -3; with -2 it is refused, except where num_heads happens to equal seq_len: that cannot
            be told apart, and is rotated by head instead of by token.
        out: where to write, of the shape, dtype and device of `x`. It may be `x` itself, which is
            then rotated in place, but must not otherwise share memory with `x`, `cos` or `sin`, nor
            with itself, as an expanded tensor does.

    Returns:
        Tensor like `x`, or `out`. float64 is computed in float64 and all else in float32, with
        one rounding to the dtype of `x` at the end.

    Raises:
        TypeError: if `x`, a table or `out` is no tensor, `x` is none of its four dtypes, a table is
            neither float32 nor float64, or `seq_dim` is not an integer.
        ValueError: if shapes or devices do not fit, `layout` is unknown, `seq_dim` is no axis of
            `x` or its last, `out` does not fit `x` or shares memory as it must not, or `out` is
            given where a gradient would have to flow or inside a transform of `torch.func`.

    Convention:
        Position m rotates counterclockwise by m * inv_freq. Gradients flow to `x` (backward is the
        rotation by the negative angle and stores nothing but the tables), and to `cos` and `sin`.

    Source:
        RoFormer (Su et al., arXiv:2104.09864), equation 34.

    Example:
        >>> from ropelib import inv_freq
        >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
        >>> apply_rotary(x, *cos_sin([0, 1], inv_freq(2)), layout="interleaved")
        tensor([[1.0000, 0.0000],
                [0.5403, 0.8415]])
    """
    checks.layout("layout", layout)
    if seq_dim != -2:
        x = sequence_before_last("x", x, seq_dim)
        if out is None:
            return apply_rotary(x, cos, sin, layout=layout).movedim(-2, seq_dim)
        turned = sequence_before_last("out", out, seq_dim)
        apply_rotary(x, cos, sin, layout=layout, out=turned)
        return out
    check_tables(x, cos, sin)
    if out is not None:
        check_out(out, x, cos, sin)
    if cos.dim() == 3:
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)  # (batch, 1, seq_len, num_pairs)
    return kernels.rotate(x, cos, sin, layout, out)


def convert_layout(x: Tensor, *, source: str, target: str, rotary_dim: int | None = None) -> Tensor:
    """Move each pair of dimensions from where layout `source` has it to where `target` has it.

    Rotating in one layout and converting equals converting and rotating in the other.

    Args:
        x: `(..., head_dim)`, any dtype.
        source: "interleaved" or "half", the layout of `x`.
        target: the layout of the result.
        rotary_dim: leading dimensions that form pairs; all of `head_dim` unless given. The rest
            stays where it is.

    Returns:
        New tensor like `x`, the same numbers in other places.

    Raises:
        TypeError: if `x` is no tensor or `rotary_dim` is not an integer.
        ValueError: if a layout is unknown, `x` has no axis, or `rotary_dim` is odd, not positive or
            above `head_dim`.

    Example:
        >>> convert_layout(torch.arange(6), source="half", target="interleaved")
        tensor([0, 3, 1, 4, 2, 5])
    """
    checks.layout("source", source)
    checks.layout("target", target)
    check_tensor("x", x)
    if not x.dim():
        raise ValueError("x must be (..., head_dim), got shape ()")
    return x.index_select(-1, _seats(x, x.shape[-1], source, target, rotary_dim))


def convert_rows(
    weight: Tensor, head_dim: int, *, source: str, target: str, rotary_dim: int | None = None
) -> Tensor:
    """Reorder the rows of a projection, so that the queries or keys it makes are in `target`.

    Row i of a head makes dimension i of its queries, so `convert_layout` of what comes out is this
    of the matrix. A bias, the scales of quantized rows and the like move with the rows. Convert the
    projections of queries and of keys, and never that of values.

    It asks for `head_dim`, which queries and keys share, and not for a number of heads, which they
    do not under grouped-query attention: 2 key heads taken for 4 half as wide would run, and be
    wrong.

    Args:
        weight: `(num_heads * head_dim, ...)`, any dtype: a matrix `(out, in)` as in
            `torch.nn.Linear`, or a bias.
        head_dim: width of one head.
        source: "interleaved" or "half", the layout that `weight` was trained in.
        target: the layout of the result.
        rotary_dim: leading dimensions of a head that form pairs; all unless given.

    Returns:
        New tensor like `weight`, the same rows in another order.

    Raises:
        TypeError: if `weight` is no tensor, or `head_dim` or `rotary_dim` is not an integer.
        ValueError: if the rows of `weight` are not whole heads, `head_dim` is not positive, above
            2**20, or odd while all of it rotates, a layout is unknown, or `rotary_dim` is odd, not
            positive or above `head_dim`.

    Example:
        >>> convert_rows(torch.arange(8), 4, source="interleaved", target="half")
        tensor([0, 2, 1, 3, 4, 6, 5, 7])
    """
    check_tensor("weight", weight)
    check_head_dim(head_dim)
    if not weight.dim() or not len(weight) or len(weight) % head_dim:
        raise ValueError(
            f"the rows of weight must be whole heads of head_dim {head_dim}, "
            f"got shape {tuple(weight.shape)}"
        )
    checks.layout("source", source)
    checks.layout("target", target)
    seats = _seats(weight, head_dim, source, target, rotary_dim)
    heads = torch.arange(0, len(weight), head_dim, device=weight.device)
    return weight.index_select(0, (heads[:, None] + seats).flatten())


def _seats(near: Tensor, head_dim: int, source: str, target: str, rotary_dim: int | None) -> Tensor:
    """Return where in `source` stands what each dimension of `target` holds, beside a tensor."""
    rotary_dim = rotary_dim_of(head_dim, rotary_dim)
    dims = torch.arange(head_dim, device=near.device)
    pairs = split_pairs(dims[:rotary_dim], source)
    return torch.cat((join_pairs(*pairs, target), dims[rotary_dim:]))
