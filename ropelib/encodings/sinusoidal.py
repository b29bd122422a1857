"""Sinusoidal position codes: the clock hands of the first Transformer, added to the embeddings."""

import torch
from torch import Tensor

from ropelib import checks
from ropelib.encodings.base import PositionEncoding
from ropelib.frequencies import inv_freq
from ropelib.rotation import cos_sin


def sinusoids(
    position_ids: Tensor,
    model_dim: int,
    *,
    base: float = 10_000.0,
    layout: str = "interleaved",
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Return the sinusoidal code of each position.

    Pair i holds `sin(position * inv_freq[i])` and `cos(position * inv_freq[i])`, where
    `inv_freq[i] = base ** (-2i / model_dim)`.

    Args:
        position_ids: integer or real, any sign, `(seq_len,)` or `(batch, seq_len)`, tokens.
        model_dim: width of the code, positive and even.
        base: what the frequencies are powers of, positive.
        layout: "interleaved" puts pair i at (2i, 2i + 1), as the paper does; "half" puts all sines
            before all cosines, as several libraries do.
        dtype: of the result, float32 or float64; the phase is computed in float64.

    Returns:
        `(..., seq_len, model_dim)`, on the device of `position_ids`.

    Raises:
        TypeError: if a dtype is wrong, or `model_dim` is not an integer.
        ValueError: if `model_dim` is odd or not positive, `base` is not positive, a position is not
            finite, or `layout` is unknown.

    Convention:
        The sine comes first. Read as the point (cos, sin), a hand turns counterclockwise.

    Source:
        Vaswani et al. 2017, arXiv:1706.03762, section 3.5. "half": the Marian models of
        transformers, `MarianSinusoidalPositionalEmbedding.create_weight`.

    Example:
        >>> sinusoids(torch.tensor([0, 1]), 4)
        tensor([[0.0000, 1.0000, 0.0000, 1.0000],
                [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    checks.layout("layout", layout)
    cos, sin = cos_sin(position_ids, inv_freq(model_dim, base), dtype=dtype)
    if layout == "half":
        return torch.cat([sin, cos], dim=-1)
    return torch.stack([sin, cos], dim=-1).flatten(-2)


def shift_matrix(
    offset: float, model_dim: int, *, base: float = 10_000.0, layout: str = "interleaved"
) -> Tensor:
    """Return the matrix T that takes the code of any position to the code `offset` further on.

    `T @ sinusoids(m) = sinusoids(m + offset)` for every m: T knows nothing of m. Each pair turns by
    `offset * inv_freq[i]`; on the vector (sin, cos) that is [[cos, sin], [-sin, cos]].

    Args:
        offset: integer or real, tokens.
        model_dim: width of the code, positive and even.
        base: as in `sinusoids`.
        layout: as in `sinusoids`.

    Returns:
        float64 `(model_dim, model_dim)`, orthogonal.

    Raises:
        TypeError: if `model_dim` is not an integer.
        ValueError: if `model_dim` is odd or not positive, `base` is not positive, `offset` is not
            finite, or `layout` is unknown.

    Example:
        >>> code = sinusoids(torch.tensor([7, 10]), 8, dtype=torch.float64)
        >>> torch.allclose(shift_matrix(3, 8) @ code[0], code[1])
        True
    """
    checks.layout("layout", layout)
    cos, sin = cos_sin([offset], inv_freq(model_dim, base), dtype=torch.float64)
    pairs = torch.arange(model_dim // 2)
    if layout == "interleaved":
        sines, cosines = 2 * pairs, 2 * pairs + 1
    else:
        sines, cosines = pairs, pairs + model_dim // 2
    matrix = torch.zeros(model_dim, model_dim, dtype=torch.float64)
    matrix[sines, sines] = matrix[cosines, cosines] = cos[0]
    matrix[sines, cosines] = sin[0]
    matrix[cosines, sines] = -sin[0]
    return matrix


class Sinusoidal(PositionEncoding):
    """Add the sinusoidal code of its position to each embedding.

    Args:
        model_dim: width of the embeddings, positive and even.
        base: what the frequencies are powers of, positive.
        layout: "interleaved" or "half", as in `sinusoids`.

    Raises:
        TypeError: if `model_dim` is not an integer.
        ValueError: if `model_dim` is odd or not positive, `base` is not positive, or `layout` is
            unknown.

    Source:
        Vaswani et al. 2017, arXiv:1706.03762, section 3.5.

    Example:
        >>> Sinusoidal(4).embed(torch.zeros(1, 4), torch.tensor([0]))
        tensor([[0., 1., 0., 1.]])
    """

    def __init__(self, model_dim: int, base: float = 10_000.0, layout: str = "interleaved"):
        super().__init__()
        inv_freq(model_dim, base)  # raises for what `embed` could not use
        checks.layout("layout", layout)
        self.model_dim, self.base, self.layout = model_dim, base, layout

    def embed(self, x: Tensor, position_ids: Tensor) -> Tensor:
        """Return `x` plus the code of its position.

        Args:
            x: `(..., seq_len, model_dim)`.
            position_ids: integer or real, `(seq_len,)` or `(batch, seq_len)`, tokens.

        Raises:
            ValueError: if `x` has another width than `model_dim`.
        """
        if x.shape[-1] != self.model_dim:
            raise ValueError(f"x must have width model_dim {self.model_dim}, got {x.shape[-1]}")
        code = sinusoids(position_ids, self.model_dim, base=self.base, layout=self.layout)
        return x + code.to(x)
