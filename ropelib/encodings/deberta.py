"""DeBERTa's disentangled attention: content to position, and position to content."""

import math

import torch
from torch import Tensor, nn

from ropelib import checks
from ropelib.encodings.base import (
    PositionEncoding,
    check_heads,
    per_pair,
    repeat_heads,
    signed_distance,
)


class Deberta(PositionEncoding):
    """Let content meet relative position in both directions; position never meets position.

    `score[m, n] = (q_m . k_n + q_m . W_k p[d(m, n)] + k_n . W_q p[d(n, m)]) / sqrt(3 head_dim)`,
    where `d(m, n) = clip(m - n + span)` is an index of the 2 * span vectors p, shared by all heads.

    Args:
        num_heads: number of query heads.
        head_dim: width of a head.
        span: distances from -span to span - 1 have vectors of their own, at least 1, tokens; the
            paper calls it k and takes 512.
        as_released: the paper prints d(n, m) for the third term; the authors' code and transformers
            compute d(m, n). True does as the code does.

    Raises:
        TypeError: if a size is not an integer.
        ValueError: if a size is less than 1 or `num_heads` above 2 ** 20.

    Convention:
        The paper counts i - j, query minus key: minus this book's n - m.

    Source:
        He et al. 2020, arXiv:2006.03654, equations 2 to 4; transformers,
        `DisentangledSelfAttention.disentangled_att_bias` of DeBERTa.

    Example:
        >>> encoding = Deberta(num_heads=2, head_dim=4, span=3)
        >>> q = k = torch.randn(2, 5, 4)
        >>> encoding.score_bias(q, k, torch.arange(5), torch.arange(5)).shape
        torch.Size([2, 5, 5])
    """

    def __init__(self, num_heads: int, head_dim: int, span: int, *, as_released: bool = False):
        super().__init__()
        checks.num_heads(num_heads)
        checks.integer("head_dim", head_dim, 1)
        checks.integer("span", span, 1)
        model_dim = num_heads * head_dim
        self.num_heads, self.head_dim, self.span = num_heads, head_dim, span
        self.as_released = as_released
        self.table = nn.Parameter(0.02 * torch.randn(2 * span, model_dim))
        self.to_keys = nn.Linear(model_dim, model_dim, bias=False)
        self.to_queries = nn.Linear(model_dim, model_dim)

    def score_bias(
        self, q: Tensor, k: Tensor, position_ids: Tensor, key_position_ids: Tensor
    ) -> Tensor:
        """Return the two position terms, scaled, `(..., num_heads, q_len, k_len)`.

        Raises:
            TypeError: if a position is not whole.
            ValueError: if `q` has other heads than the encoding.
        """
        checks.whole_numbers("position_ids", position_ids)
        checks.whole_numbers("key_position_ids", key_position_ids)
        check_heads(q, self.num_heads, self.head_dim)
        heads = (self.num_heads, self.head_dim)
        keys = self.to_keys(self.table).unflatten(-1, heads).permute(1, 2, 0)
        queries = self.to_queries(self.table).unflatten(-1, heads).permute(1, 2, 0)
        ahead = signed_distance(position_ids, key_position_ids)  # n - m

        to_position = per_pair(q @ keys, self._entry(-ahead))
        entry = self._entry(-ahead if self.as_released else ahead)
        # Rows are keys here; the table's queries look at them.
        from_position = per_pair(repeat_heads(k, q) @ queries, entry.transpose(-2, -1))
        return (to_position + from_position.transpose(-2, -1)) * self.scale(self.head_dim)

    def scale(self, head_dim: int) -> float:
        """Return 1 / sqrt(3 head_dim): three terms are added."""
        return 1 / math.sqrt(3 * head_dim)

    def _entry(self, distance: Tensor) -> Tensor:
        return (distance + self.span).clamp(0, 2 * self.span - 1)
