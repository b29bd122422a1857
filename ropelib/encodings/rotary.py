"""RoPE behind the interface of the other encodings, so that one attention runs them all."""

import torch
from torch import Tensor

from ropelib.encodings.base import PositionEncoding
from ropelib.frequencies import inv_freq
from ropelib.rotation import apply_rotary, cos_sin


class Rotary(PositionEncoding):
    """Turn queries and keys by their positions; add nothing anywhere.

    Models that are run want `ropelib.RotaryEmbedding`, which keeps its tables; this one makes them
    at each call.

    Args:
        head_dim: width of a head, even; all of it turns.
        base: what the frequencies are powers of.
        layout: "interleaved" or "half".

    Raises:
        TypeError: if `head_dim` is not an integer.
        ValueError: if `head_dim` is odd or not positive, `base` is not positive, or `layout` is
            unknown.

    Source:
        RoFormer (Su et al. 2021, arXiv:2104.09864), equation 16.

    Example:
        >>> q = k = torch.tensor([[1.0, 0.0]])
        >>> Rotary(2).rotate(q, k, torch.tensor([0]), torch.tensor([1]))[1]
        tensor([[0.5403, 0.8415]])
    """

    def __init__(self, head_dim: int, base: float = 10_000.0, layout: str = "interleaved"):
        super().__init__()
        # No buffer: `.to(torch.bfloat16)` would round the frequencies.
        self.inv_freq = inv_freq(head_dim, base)
        if layout not in ("interleaved", "half"):
            raise ValueError(f"layout must be 'interleaved' or 'half', got {layout!r}")
        self.layout = layout

    def rotate(
        self, q: Tensor, k: Tensor, position_ids: Tensor, key_position_ids: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return queries turned by m * inv_freq and keys turned by n * inv_freq."""
        dtype = torch.float64 if q.dtype == torch.float64 else torch.float32
        turned = []
        for x, positions in ((q, position_ids), (k, key_position_ids)):
            cos, sin = cos_sin(positions, self.inv_freq, dtype=dtype)
            turned.append(apply_rotary(x, cos, sin, layout=self.layout))
        return tuple(turned)
