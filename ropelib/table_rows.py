"""Which row of a table of cos and sin turns which token, where it is not simply the next one."""

import torch
from torch import Tensor

from ropelib.devices import has_values
from ropelib.tensor_checks import check_tensor

_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def looked_up(
    cos: Tensor,
    sin: Tensor,
    position_ids: Tensor | None,
    cu_seqlens: Tensor | None,
    *,
    seq_len: int,
) -> tuple[Tensor, Tensor]:
    """Return the rows of the tables that turn each token.

    Args:
        cos: `(num_rows, num_pairs)`; row m is position m.
        sin: like `cos`.
        position_ids: `(seq_len,)` or `(batch, seq_len)`, or None.
        cu_seqlens: where packed sequences start and the last ends, or None.
        seq_len: tokens.

    Returns:
        `(cos, sin)`, each `(..., seq_len, num_pairs)`; no numbers where the tables have no such
        row. The tables themselves where neither `position_ids` nor `cu_seqlens` is given.

    Example:
        >>> cos = torch.tensor([[1.0], [0.5], [0.0]])
        >>> packed = torch.tensor([0, 2, 3])  # a sequence of two tokens, and one of one
        >>> looked_up(cos, cos, None, packed, seq_len=3)[0].flatten()
        tensor([1.0000, 0.5000, 1.0000])
    """
    if cu_seqlens is not None:
        cu_seqlens = cu_seqlens.long().contiguous()  # 8 bits end before many a sequence does
        place = torch.arange(seq_len, device=cos.device)
        position_ids = place - cu_seqlens[torch.searchsorted(cu_seqlens, place, right=True) - 1]
    if position_ids is None:
        return cos, sin
    position_ids = position_ids.long()
    missing = ((position_ids < 0) | (position_ids >= len(cos))).unsqueeze(-1)
    rows = position_ids.clamp(0, len(cos) - 1)
    return tuple(table[rows].masked_fill(missing, torch.nan) for table in (cos, sin))


def check_rows(
    position_ids: Tensor | None, cu_seqlens: Tensor | None, cos: Tensor, seq_len: int
) -> None:
    """Raise unless these say which row of a table turns each of `seq_len` tokens.

    Values are looked at on the CPU alone: a GPU would have to be waited for.

    Args:
        position_ids: integers, `(seq_len,)` or `(batch, seq_len)`, or None.
        cu_seqlens: integers, `(num_sequences + 1,)`, or None.
        cos: the table.
        seq_len: tokens.

    Raises:
        TypeError: if what is given is no tensor or not of integers.
        ValueError: if both are given, the table is not `(num_rows, num_pairs)` or on another
            device, a shape is wrong, a position has no row, or `cu_seqlens` do not rise from 0 to
            at most `seq_len`.

    Example:
        >>> check_rows(torch.tensor([0, 3]), None, torch.ones(3, 1), 2)
        Traceback (most recent call last):
        ...
        ValueError: position_ids must be rows of the tables, 0 to 2, got 3
    """
    if position_ids is not None and cu_seqlens is not None:
        raise ValueError("give position_ids or cu_seqlens, not both")
    if position_ids is None and cu_seqlens is None:
        return
    name, given = (
        ("cu_seqlens", cu_seqlens) if position_ids is None else ("position_ids", position_ids)
    )
    check_tensor(name, given)
    if given.dtype not in _INTEGERS:
        raise TypeError(f"{name} must be signed integers or uint8, got {given.dtype}")
    if given.device != cos.device:
        raise ValueError(f"{name} must be on {cos.device}, as the tables, got {given.device}")
    if cos.dim() != 2 or not len(cos):
        raise ValueError(
            f"cos and sin must be (num_rows, num_pairs) where {name} is given, "
            f"got shape {tuple(cos.shape)}"
        )
    looks = given.is_cpu and has_values(given)
    if position_ids is not None:
        if given.dim() not in (1, 2) or given.shape[-1] != seq_len:
            raise ValueError(
                f"position_ids must be (seq_len,) or (batch, seq_len), with seq_len {seq_len}, "
                f"got shape {tuple(given.shape)}"
            )
        if looks and given.numel():
            _check_inside("position_ids", *given.aminmax(), cos)
        return
    if given.dim() != 1 or len(given) < 2:
        raise ValueError(f"cu_seqlens must be (num_sequences + 1,), got shape {tuple(given.shape)}")
    if looks:
        given = given.long()
        lengths = given.diff()
        if given[0] != 0 or lengths.min() < 0 or given[-1] > seq_len:
            raise ValueError(
                f"cu_seqlens must rise from 0 to at most seq_len {seq_len}, got {given.tolist()}"
            )
        longest = max(lengths.max().item(), seq_len - given[-1].item())
        if longest > len(cos):
            raise ValueError(
                f"cos and sin must have a row for each position of a sequence, got {len(cos)} for "
                f"a sequence of {longest}"
            )


def _check_inside(name: str, low: Tensor, high: Tensor, cos: Tensor) -> None:
    for value in (low.item(), high.item()):
        if not 0 <= value < len(cos):
            raise ValueError(f"{name} must be rows of the tables, 0 to {len(cos) - 1}, got {value}")
