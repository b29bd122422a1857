"""The pairs of a head: where each lies, and how it turns. `kernels.py` does the same, faster."""

import torch
from torch import Tensor


def rotate_pairs(x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> Tensor:
    """Rotate by operations that torch can differentiate, batch and compile."""
    rotary_dim = 2 * cos.shape[-1]
    dtype = compute_dtype(x)
    cos, sin = cos.to(dtype), sin.to(dtype)
    turns, rest = x.split((rotary_dim, x.shape[-1] - rotary_dim), dim=-1)
    a, b = split_pairs(turns.to(dtype), layout)
    turned = join_pairs(a * cos - b * sin, a * sin + b * cos, layout)
    return torch.cat((turned.to(x.dtype), rest), dim=-1)


def split_pairs(x: Tensor, layout: str) -> tuple[Tensor, Tensor]:
    """Return the first and the second of each pair, both `(..., num_pairs)`."""
    return (x[..., 0::2], x[..., 1::2]) if layout == "interleaved" else x.chunk(2, dim=-1)


def join_pairs(first: Tensor, second: Tensor, layout: str) -> Tensor:
    """Return `(..., rotary_dim)` of which these are the first and the second of each pair."""
    if layout == "interleaved":
        # What flattens the last two axes, but for gradients that come in batches.
        return torch.stack((first, second), -1).reshape(*first.shape[:-1], 2 * first.shape[-1])
    return torch.cat((first, second), dim=-1)


def compute_dtype(x: Tensor) -> torch.dtype:
    """Return what `x` is rotated in: float64 in float64, and all else in float32."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32
