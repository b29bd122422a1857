"""Queries and keys rotated in one go, by positions that index a table or start anew."""

import reprlib

from torch import Tensor

from ropelib import checks, cuda
from ropelib.cuda import ops
from ropelib.devices import has_values
from ropelib.memory import overlaps
from ropelib.rotation import apply_rotary
from ropelib.table_rows import check_rows, looked_up
from ropelib.tensor_checks import (
    check_out,
    check_tables,
    check_tensor,
    sequence_before_last,
    shared_row,
)


def rotate_qk(
    q: Tensor,
    k: Tensor,
    cos: Tensor,
    sin: Tensor,
    *,
    layout: str,
    position_ids: Tensor | None = None,
    cu_seqlens: Tensor | None = None,
    seq_dim: int = -2,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Rotate `q` and `k` by the same positions: on a GPU one program for both, where it can be.

    As `apply_rotary` for each, with two more ways to say where a token stands. Positions index a
    table, row m for position m, which then need not be spelled out for each token; packed sequences
    each start again at its first row.

    Args:
        q: `(..., num_heads, seq_len, head_dim)` or `(seq_len, head_dim)`, as in `apply_rotary`.
        k: like `q`; its number of heads may differ.
        cos: as in `apply_rotary`; where one of the next is given, a table `(num_rows, num_pairs)`.
        sin: like `cos`.
        layout: "interleaved" or "half".
        position_ids: integers, rows of the tables, `(seq_len,)`, `(1, seq_len)` or
            `(batch, seq_len)`, on their device.
        cu_seqlens: integers, `(num_sequences + 1,)`: sequence i of those that lie one after the
            other is tokens `cu_seqlens[i]` to `cu_seqlens[i + 1] - 1`. Tokens after the last are
            one more sequence.
        seq_dim: axis of the sequence, as in `apply_rotary`.
        out: where to write `q` and `k`; may be `(q, k)`, which are then rotated in place.

    Returns:
        `(q, k)`, rotated, or `out`.

    Raises:
        TypeError: as `apply_rotary`, or if positions or `cu_seqlens` are no tensor of integers.
        ValueError: as `apply_rotary`, or if `q` and `k` differ in more than their heads, positions
            and `cu_seqlens` are both given, have a wrong shape, leave the tables or do not rise.
            On a GPU, which would have to be waited for, values are not looked at: what turns of a
            token whose row the tables do not have becomes nan.

    Example:
        >>> import torch
        >>> from ropelib import cos_sin, inv_freq
        >>> q, k = torch.randn(8, 5, 64), torch.randn(2, 5, 64)
        >>> tables = cos_sin(range(100), inv_freq(64))
        >>> packed = torch.tensor([0, 2, 5])  # a sequence of two tokens, and one of three
        >>> q, k = rotate_qk(q, k, *tables, layout="half", cu_seqlens=packed)
    """
    checks.layout("layout", layout)
    if out is not None:
        _check_two(out)
    if seq_dim != -2:
        q, k = (sequence_before_last(*x, seq_dim) for x in (("q", q), ("k", k)))
        rows = {"position_ids": position_ids, "cu_seqlens": cu_seqlens}
        if out is None:
            turned = rotate_qk(q, k, cos, sin, layout=layout, **rows)
            return tuple(x.movedim(-2, seq_dim) for x in turned)
        moved = tuple(sequence_before_last("out", x, seq_dim) for x in out)
        rotate_qk(q, k, cos, sin, layout=layout, **rows, out=moved)
        return out
    position_ids = check_together(q, k, cos, sin, position_ids, cu_seqlens)
    if out is not None:
        check_outs(out, q, k, cos, sin)
    rows = {"position_ids": position_ids, "cu_seqlens": cu_seqlens}
    outs = (None, None) if out is None else out
    if cuda.takes(q, k, *outs, tables=(cos, sin, *rows.values())):
        return ops.rotate(q, k, cos, sin, layout, **rows, out=out)
    tables = looked_up(cos, sin, position_ids, cu_seqlens, seq_len=q.shape[-2])
    pairs = zip((q, k), outs, strict=True)
    return tuple(apply_rotary(x, *tables, layout=layout, out=o) for x, o in pairs)


def check_together(
    q: Tensor,
    k: Tensor,
    cos: Tensor,
    sin: Tensor,
    position_ids: Tensor | None = None,
    cu_seqlens: Tensor | None = None,
) -> Tensor | None:
    """Raise unless `q` and `k` may be rotated together; return positions as they are to be used.

    Args:
        q: as in `rotate_qk`.
        k: likewise.
        cos: likewise.
        sin: likewise.
        position_ids: likewise.
        cu_seqlens: likewise.

    Returns:
        `position_ids`, without an axis for rows that are all alike.

    Example:
        >>> import torch
        >>> x, table = torch.ones(3, 4), torch.ones(3, 2)
        >>> check_together(x, x[:2], table, table)
        Traceback (most recent call last):
        ...
        ValueError: q and k must differ in their heads alone, got (3, 4) and (2, 4)
    """
    for name, x in (("q", q), ("k", k), ("cos", cos), ("sin", sin)):
        check_tensor(name, x)
    if q.shape[:-3] != k.shape[:-3] or q.shape[-2:] != k.shape[-2:] or q.dim() != k.dim():
        raise ValueError(
            f"q and k must differ in their heads alone, got {tuple(q.shape)} and {tuple(k.shape)}"
        )
    for name in ("dtype", "device"):
        if getattr(q, name) != getattr(k, name):
            raise ValueError(
                f"q and k must have one {name}, got {getattr(q, name)} and {getattr(k, name)}"
            )
    seq_len = q.shape[-2] if q.dim() > 1 else 0
    check_rows(position_ids, cu_seqlens, cos, seq_len)
    if position_ids is None and cu_seqlens is None:
        check_tables(q, cos, sin)
    elif sin.shape != cos.shape:
        raise ValueError(
            "cos and sin must have the same shape and dtype, "
            f"got {tuple(cos.shape)} {cos.dtype} and {tuple(sin.shape)} {sin.dtype}"
        )
    else:
        check_tables(q, *(table[:1].expand(seq_len, -1) for table in (cos, sin)))
    return None if position_ids is None else shared_row(position_ids, q, k)


def check_outs(out: tuple[Tensor, Tensor], q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> None:
    """Raise unless `q` and `k`, rotated, may be written into the two of `out`.

    Args:
        out: for `q` and for `k`.
        q: as in `rotate_qk`.
        k: likewise.
        cos: likewise.
        sin: likewise.

    Example:
        >>> import torch
        >>> x, table = torch.ones(3, 4), torch.ones(3, 2)
        >>> check_outs((x, x), x, x.clone(), table, table)
        Traceback (most recent call last):
        ...
        ValueError: out of k must not share memory with q
    """
    _check_two(out)
    check_out(out[0], q, cos, sin)
    check_out(out[1], k, cos, sin)
    # Both are written at once, so that neither may lie where the other is still to be read.
    if has_values(q) and has_values(k):
        for name, target, other in (("q", out[0], "k"), ("k", out[1], "q")):
            if overlaps(target, k if other == "k" else q):
                raise ValueError(f"out of {name} must not share memory with {other}")
        if overlaps(*out):
            raise ValueError("the two of out must not share memory")


def _check_two(out: tuple[Tensor, Tensor]) -> None:
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise TypeError(
            f"out must be two tensors, one for q and one for k, got {reprlib.repr(out)}"
        )
