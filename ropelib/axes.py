"""Positions with several axes: image patches, video frames, text among them."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ropelib import checks
from ropelib.frequencies import check_rotary_dim, inverse_frequencies
from ropelib.rotation import cos_sin
from ropelib.tensor_checks import array_of_positions, check_inv_freq

_ORDERS = ("chunked", "interleaved")


def axis_of_pairs(sections: Sequence[int], *, order: str) -> list[int]:
    """Return for each pair of dimensions the axis whose position turns it.

    - "chunked": the first `sections[0]` pairs turn by axis 0, the next `sections[1]` by axis 1, and
      so on.
    - "interleaved": the axes take turns, 0 1 2 0 1 2 ..., and where an axis has had its share, its
      turn goes to axis 0.

    Args:
        sections: number of pairs for each axis.
        order: "chunked" or "interleaved". This is no `layout`: it says which axis turns a pair, not
            where in memory the pair lies.

    Returns:
        `sum(sections)` axes.

    Raises:
        TypeError: if a section is not an integer.
        ValueError: if a section is negative, there is no pair, `order` is unknown, or taking turns
            does not come out at the given shares.

    Source:
        M-RoPE of Qwen2-VL (Wang et al., arXiv:2409.12191). Chunked: `mrope_section` in
        `models/qwen2_vl/modeling_qwen2_vl.py` of transformers 5.23. Interleaved: the same in
        `models/qwen3_vl/modeling_qwen3_vl.py`, which overwrites axis 0 at 1::3 and 2::3.

    Example:
        >>> axis_of_pairs([2, 3, 3], order="chunked")
        [0, 0, 1, 1, 1, 2, 2, 2]
        >>> axis_of_pairs([4, 2, 2], order="interleaved")
        [0, 1, 2, 0, 1, 2, 0, 0]
    """
    sections, num_axes = list(sections), len(sections)
    for axis, section in enumerate(sections):
        checks.integer(f"sections[{axis}]", section, 0)
    sections = [int(section) for section in sections]  # sums of NumPy's wrap around
    if not sum(sections):
        raise ValueError(f"sections must have at least one pair, got {sections}")
    if order not in _ORDERS:
        raise ValueError(f'order must be "chunked" or "interleaved", got {order!r}')
    if order == "chunked":
        return [axis for axis, section in enumerate(sections) for _ in range(section)]
    axes = []
    for pair in range(sum(sections)):
        turn, axis = divmod(pair, num_axes)
        axes.append(axis if turn < sections[axis] else 0)
    shares = [axes.count(axis) for axis in range(num_axes)]
    if shares != sections:
        raise ValueError(f"sections {sections} cannot be interleaved: taking turns gives {shares}")
    return axes


def axial_inv_freq(rotary_dim: int, num_axes: int, base: float = 10_000.0) -> Tensor:
    """Return frequencies for axes of equal rank: each axis has a whole spectrum of its own.

    `num_axes` copies of `inv_freq(rotary_dim // num_axes, base)`, one after the other, for chunked
    `sections` of equal size.

    Args:
        rotary_dim: leading dimensions that rotate, all axes together.
        num_axes: axes of a position, 2 for the row and column of an image patch.
        base: what the frequencies are powers of.

    Returns:
        float64 tensor `(rotary_dim // 2,)`, rad per step along the axis.

    Raises:
        TypeError: if `rotary_dim` or `num_axes` is not an integer or `base` not a real number.
        ValueError: if `num_axes` is not positive, `rotary_dim` is not positive or cannot be shared
            out in pairs, or `base` is not positive and finite.

    Source:
        `compute_axial_rope_parameters` in `models/qwen2_vl/modeling_qwen2_vl.py` of transformers
        5.23. RoPE-ViT (Heo et al., arXiv:2403.13298) compares it with learned, mixed frequencies.

    Example:
        >>> axial_inv_freq(8, num_axes=2)
        tensor([1.0000, 0.0100, 1.0000, 0.0100], dtype=torch.float64)
    """
    num_axes = checks.integer("num_axes", num_axes, 1)
    check_rotary_dim(rotary_dim)
    rotary_dim = int(rotary_dim)  # sums of NumPy's wrap around
    if rotary_dim % (2 * num_axes):
        raise ValueError(
            f"rotary_dim must be a multiple of 2 * num_axes, got {rotary_dim} for {num_axes} axes"
        )
    return inverse_frequencies(rotary_dim // num_axes, base).repeat(num_axes)


def axial_cos_sin(
    position_ids: Tensor | np.ndarray | Sequence,
    inv_freq: Tensor,
    *,
    sections: Sequence[int],
    order: str = "chunked",
    attention_factor: float = 1.0,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor]:
    """Return the cosine and the sine of the angle of each pair, each pair following its own axis.

    `angles[..., s, i] = position_ids[axis_of_pairs[i], ..., s] * inv_freq[i]`

    Where all axes agree, as for text, these are the tables of `cos_sin`.

    Args:
        position_ids: `(num_axes, seq_len)` or `(num_axes, batch, seq_len)`, steps along each axis.
        inv_freq: `(num_pairs,)`, rad per step. For M-RoPE the spectrum of one axis, which the axes
            share out among them; for axial rotation that of `axial_inv_freq`.
        sections: number of pairs for each axis.
        order: "chunked" or "interleaved", as in `axis_of_pairs`.
        attention_factor: multiplies both tables.
        dtype: of the tables, float32 or float64.

    Returns:
        `(cos, sin)` for `apply_rotary`, each `(..., seq_len, num_pairs)`.

    Raises:
        TypeError: as `axis_of_pairs` and `cos_sin`.
        ValueError: likewise, and if there is not one row of positions for each section, or not one
            frequency for each pair.

    Convention:
        The score of two tokens depends, in each axis, only on how far apart they are along it.

    Source:
        As `axis_of_pairs` and `axial_inv_freq`.

    Example:
        >>> row, column = [0, 0, 1, 1], [0, 1, 0, 1]  # four patches of an image
        >>> tables = axial_cos_sin([row, column], axial_inv_freq(4, num_axes=2), sections=[1, 1])
        >>> tables[1]
        tensor([[0.0000, 0.0000],
                [0.0000, 0.8415],
                [0.8415, 0.0000],
                [0.8415, 0.8415]])
    """
    axes = axis_of_pairs(sections, order=order)
    if not isinstance(position_ids, Tensor):
        position_ids = array_of_positions(position_ids)
    shape = tuple(position_ids.shape)
    if len(shape) not in (2, 3) or shape[0] != len(sections):
        raise ValueError(
            "position_ids must be (num_axes, seq_len) or (num_axes, batch, seq_len) with "
            f"{len(sections)} axes, got shape {shape}"
        )
    check_inv_freq(inv_freq)
    if len(inv_freq) != len(axes):
        raise ValueError(
            f"inv_freq must be (num_pairs,) with {len(axes)} pairs from sections {list(sections)}, "
            f"got shape {tuple(inv_freq.shape)}"
        )
    # Each axis turns its own pairs; then every pair goes back to its seat.
    pairs = [[i for i, a in enumerate(axes) if a == axis] for axis in range(len(sections))]
    seats = torch.tensor([i for of_axis in pairs for i in of_axis]).argsort()
    tables = [
        cos_sin(ids, inv_freq[of_axis], attention_factor=attention_factor, dtype=dtype)
        for ids, of_axis in zip(position_ids, pairs, strict=True)
    ]
    cos, sin = (torch.cat(parts, dim=-1) for parts in zip(*tables, strict=True))
    return cos[..., seats], sin[..., seats]
