"""Shaw's relative positions: a clipped table of vectors for keys, and one for values."""

import torch
from torch import Tensor, nn

from ropelib import checks
from ropelib.encodings.base import PositionEncoding, per_pair, signed_distance


class Shaw(PositionEncoding):
    """Give every signed distance, up to a limit, a vector that is added to keys and one to values.

    `score[m, n] = q_m . (k_n + a^K[clip(n - m)]) / sqrt(head_dim)` and
    `output[m] = sum_n weight[m, n] (v_n + a^V[clip(n - m)])`, clipped to `max_distance`. The tables
    are shared by all heads. Neither a^K nor a^V is ever laid out per pair: the query meets each of
    the 2 * max_distance + 1 vectors once, and weights are summed per vector.

    Args:
        head_dim: width of a head.
        max_distance: the largest distance with a vector of its own, at least 1, tokens.
        values: whether values get vectors too.

    Raises:
        TypeError: if a size is not an integer.
        ValueError: if a size is less than 1.

    Convention:
        The paper counts j - i, key minus query, as this book does.

    Source:
        Shaw et al. 2018, arXiv:1803.02155, equations 3 and 4.

    Example:
        >>> sum(table.numel() for table in Shaw(head_dim=64, max_distance=16).parameters())
        4224
    """

    def __init__(self, head_dim: int, max_distance: int, *, values: bool = True):
        super().__init__()
        checks.integer("head_dim", head_dim, 1)
        checks.integer("max_distance", max_distance, 1)
        self.max_distance = max_distance
        entries = 2 * max_distance + 1
        self.key_table = nn.Parameter(head_dim**-0.5 * torch.randn(entries, head_dim))
        table = nn.Parameter(head_dim**-0.5 * torch.randn(entries, head_dim)) if values else None
        self.register_parameter("value_table", table)

    def score_bias(
        self, q: Tensor, k: Tensor, position_ids: Tensor, key_position_ids: Tensor
    ) -> Tensor:
        """Return q_m . a^K[clip(n - m)] / sqrt(head_dim), `(..., num_heads, q_len, k_len)`.

        Raises:
            TypeError: if a position is not whole.
            ValueError: if `q` has another width than the table.
        """
        if q.shape[-1] != self.key_table.shape[-1]:
            raise ValueError(f"q must have head_dim {self.key_table.shape[-1]}, got {q.shape[-1]}")
        per_entry = q @ self.key_table.T * self.scale(q.shape[-1])
        return per_pair(per_entry, self._entry(position_ids, key_position_ids))

    def value_bias(
        self, weights: Tensor, position_ids: Tensor, key_position_ids: Tensor
    ) -> Tensor | None:
        """Return sum_n weight[m, n] a^V[clip(n - m)], `(..., num_heads, q_len, head_dim)`.

        Raises:
            TypeError: if a position is not whole.
        """
        if self.value_table is None:
            return None
        entry = self._entry(position_ids, key_position_ids).expand_as(weights)
        per_entry = weights.new_zeros(*weights.shape[:-1], len(self.value_table))
        return per_entry.scatter_add(-1, entry, weights) @ self.value_table

    def _entry(self, position_ids: Tensor, key_position_ids: Tensor) -> Tensor:
        checks.whole_numbers("position_ids", position_ids)
        checks.whole_numbers("key_position_ids", key_position_ids)
        distance = signed_distance(position_ids, key_position_ids)
        return distance.clamp(-self.max_distance, self.max_distance) + self.max_distance
