"""RoPE whose frequencies are trained, for each head its own."""

import torch
from torch import Tensor, nn

from ropelib import checks
from ropelib.devices import computes_for
from ropelib.encodings.base import PositionEncoding
from ropelib.frequencies import check_head_dim, inverse_frequencies, rotary_dim_of
from ropelib.pairs import compute_dtype, rotate_pairs
from ropelib.tensor_checks import checked_positions

_END = 2**53  # where float64 begins to skip positions


class LearnedRotary(PositionEncoding):
    """Turn queries and keys by frequencies that each head learns; at first it is RoPE.

    `inv_freq[h, i] = base ** (-2 * i / rotary_dim) * exp(log_stretch[h, i])`, with `log_stretch`
    trained from 0 on: a frequency keeps its sign, a step moves slow and fast ones alike by a share
    of their size, and weight decay pulls toward RoPE.

    Args:
        num_heads: number of key heads; query heads that share a key turn as it does.
        head_dim: width of a head.
        rotary_dim: leading dimensions that turn; all of `head_dim` unless given.
        base: what the first frequencies are powers of.
        layout: "interleaved" or "half".

    Raises:
        TypeError: if a size is not an integer or `base` not a real number.
        ValueError: if `num_heads` is less than 1 or above 2 ** 20, `head_dim` is not positive or,
            where all of it turns, odd, `rotary_dim` is odd, not positive or above `head_dim`,
            `base` is not positive and finite, or `layout` is unknown.

    Source:
        Heo et al. 2024, arXiv:2403.13298, learn frequencies for each head of a vision transformer
        (RoPE-Mixed); AdaRoPE (ICML 2026, poster 60704) for each head of a language model, with a
        scaling factor of its own, which is not here; `rotary-embedding-torch` has learned
        frequencies that all heads share.

    Example:
        >>> encoding = LearnedRotary(num_heads=2, head_dim=4)
        >>> encoding.inv_freq.detach()
        tensor([[1.0000, 0.0100],
                [1.0000, 0.0100]], dtype=torch.float64)
    """

    def __init__(
        self,
        num_heads: int,
        head_dim: int,
        *,
        rotary_dim: int | None = None,
        base: float = 10_000.0,
        layout: str = "interleaved",
    ):
        super().__init__()
        checks.num_heads(num_heads)
        check_head_dim(head_dim)
        checks.layout("layout", layout)
        self.head_dim, self.layout = head_dim, layout
        # No buffer: what rounds a model's weights must not round these.
        self._start = inverse_frequencies(rotary_dim_of(head_dim, rotary_dim), base)
        self.log_stretch = nn.Parameter(torch.zeros(num_heads, len(self._start)))

    @property
    def inv_freq(self) -> Tensor:
        """Frequencies as they are now, `(num_heads, num_pairs)`, rad/token, float64."""
        device = computes_for(self.log_stretch.device)
        return self._start.to(device) * self.log_stretch.to(device).double().exp()

    def rotate(
        self, q: Tensor, k: Tensor, position_ids: Tensor, key_position_ids: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return queries turned by m * inv_freq[h] and keys turned by n * inv_freq[h].

        Raises:
            TypeError: if positions are bool, complex or of low precision.
            ValueError: if `k` has other heads than the encoding, or `q` no multiple of them, or a
                position is not finite or 2 ** 53 or more in size.
        """
        inv_freq = self.inv_freq
        return (
            self._turned("q", q, position_ids, inv_freq),
            self._turned("k", k, key_position_ids, inv_freq),
        )

    def _turned(self, name: str, x: Tensor, position_ids: Tensor, inv_freq: Tensor) -> Tensor:
        num_heads = len(inv_freq)
        heads = x.shape[-3] if x.dim() > 2 else 0
        fits = heads and (heads % num_heads == 0 if name == "q" else heads == num_heads)
        if not fits or x.shape[-1] != self.head_dim:
            count = f"a multiple of {num_heads}" if name == "q" else f"{num_heads}"
            raise ValueError(
                f"{name} must be (..., {count}, seq_len, {self.head_dim}), "
                f"got shape {tuple(x.shape)}"
            )
        per_head = inv_freq.repeat_interleave(heads // num_heads, dim=0).unsqueeze(-2)
        position_ids = checked_positions(position_ids, _END).to(inv_freq.device).double()
        angles = position_ids[..., None, :, None] * per_head  # (..., heads, seq_len, num_pairs)
        where = {"device": x.device, "dtype": compute_dtype(x)}
        return rotate_pairs(x, angles.cos().to(**where), angles.sin().to(**where), self.layout)
