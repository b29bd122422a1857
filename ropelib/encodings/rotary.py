"""RoPE behind the interface of the other encodings, so that one attention runs them all."""

import math
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from ropelib.checks import shown
from ropelib.config import RopeConfig
from ropelib.embedding import RotaryEmbedding
from ropelib.encodings.base import PositionEncoding


class Rotary(PositionEncoding):
    """Turn queries and keys by their positions, as a `RotaryEmbedding` does; add nothing anywhere.

    Args:
        head_dim: width of a head.
        rotary_dim: leading dimensions that turn; all of `head_dim` unless given.
        base: what the frequencies are powers of; 10 000 unless given.
        inv_freq: `(num_pairs,)`, rad/token, float64, in place of `base` and `rotary_dim`.
        attention_factor: multiplies cos and sin, and so every dimension that turns.
        layout: "interleaved" or "half".

    Raises:
        TypeError: as `RotaryEmbedding`.
        ValueError: likewise.

    Source:
        RoFormer (Su et al. 2021, arXiv:2104.09864), equation 16.

    Example:
        >>> import torch
        >>> q = k = torch.tensor([[1.0, 0.0]])
        >>> Rotary(2).rotate(q, k, torch.tensor([0]), torch.tensor([1]))[1]
        tensor([[0.5403, 0.8415]])
    """

    def __init__(
        self,
        head_dim: int,
        *,
        rotary_dim: int | None = None,
        base: float | None = None,
        inv_freq: Tensor | None = None,
        attention_factor: float = 1.0,
        layout: str = "interleaved",
    ):
        super().__init__()
        self.softmax_factor = 1.0
        self.rotary = RotaryEmbedding(
            head_dim,
            rotary_dim=rotary_dim,
            base=base,
            inv_freq=inv_freq,
            attention_factor=attention_factor,
            layout=layout,
        )

    @classmethod
    def from_module(cls, rotary: RotaryEmbedding) -> "Rotary":
        """Return the encoding that turns as a module does, which it shares.

        Args:
            rotary: the module.

        Raises:
            TypeError: if it is none.

        Example:
            >>> Rotary.from_module(RotaryEmbedding(64, layout="half")).rotary.layout
            'half'
        """
        if not isinstance(rotary, RotaryEmbedding):
            raise TypeError(f"rotary must be a RotaryEmbedding, got {type(rotary).__name__}")
        encoding = cls(rotary.head_dim, rotary_dim=rotary.rotary_dim, layout=rotary.layout)
        encoding.rotary = rotary
        return encoding

    @classmethod
    def from_config(cls, config: RopeConfig | Mapping[str, Any]) -> "Rotary":
        """Return the encoding that a model's configuration asks for, its scaling included.

        Where frequencies depend on the length of the sequence (dynamic NTK, LongRoPE), they are
        those of the last position + 1 among queries and keys.

        Args:
            config: a `RopeConfig`, or a mapping that `RopeConfig.from_hf` reads.

        Raises:
            TypeError: if it is neither, or as `RopeConfig.from_hf`.
            ValueError: as `RopeConfig.from_hf`.

        Example:
            >>> linear = {"model_type": "llama", "head_dim": 64, "rope_theta": 10_000.0,
            ...     "rope_scaling": {"rope_type": "linear", "factor": 4.0}}
            >>> Rotary.from_config(linear).rotary.inv_freq[0]
            tensor(0.2500, dtype=torch.float64)
        """
        if isinstance(config, Mapping):
            config = RopeConfig.from_hf(config)
        elif not isinstance(config, RopeConfig):
            raise TypeError(f"config must be a RopeConfig or a mapping, got {shown(config)}")
        encoding = cls.from_module(RotaryEmbedding.from_config(config))
        encoding.softmax_factor = config.softmax_factor
        return encoding

    @property
    def inv_freq(self) -> Tensor:
        """Frequencies, `(num_pairs,)`, rad/token, float64, of a short sequence; a copy."""
        return self.rotary.inv_freq

    def rotate(
        self, q: Tensor, k: Tensor, position_ids: Tensor, key_position_ids: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return queries turned by m * inv_freq and keys turned by n * inv_freq."""
        seq_len = self._seq_len(position_ids, key_position_ids)
        if position_ids is key_position_ids:
            return self.rotary(q, k, position_ids, seq_len=seq_len)
        return (
            self._turned(q, position_ids, seq_len),
            self._turned(k, key_position_ids, seq_len),
        )

    def scale(self, head_dim: int) -> float:
        """Return 1 / sqrt(head_dim), times the softmax factor of the DeepSeek family."""
        return self.softmax_factor * super().scale(head_dim)

    def _seq_len(self, *position_ids: Tensor) -> int | None:
        """Return the one length that chooses the frequencies of both, where they depend on it."""
        if self.rotary.config is None:
            return None
        return max([1] + [math.floor(ids.max()) + 1 for ids in position_ids if ids.numel()])

    def _turned(self, x: Tensor, position_ids: Tensor, seq_len: int | None) -> Tensor:
        """Return `x` turned; the module takes two, so its partner is one that has no heads."""
        heads = x if x.dim() > 2 else x.unsqueeze(0)
        turned, _ = self.rotary(heads, heads[..., :0, :, :], position_ids, seq_len=seq_len)
        return turned.reshape(x.shape)
