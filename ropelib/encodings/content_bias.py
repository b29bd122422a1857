"""A relative bias that the query chooses: what models of 2026 have that do not rotate."""

import torch
from torch import Tensor, nn

from ropelib import checks
from ropelib.encodings.base import PositionEncoding, check_heads, per_pair, signed_distance
from ropelib.pairs import compute_dtype


class ContentBias(PositionEncoding):
    """Let each query choose how much each distance back is worth, up to an extent.

    `score[m, n] = q_m . k_n / sqrt(head_dim) + (W_h q_m) . bank[m - n]` for `0 <= m - n < extent`,
    and nothing is added for keys further back or after the query. `W_h q_m` is the relative query,
    narrow and different for each head; the bank has one trained vector per distance, shared by all
    heads. So each head has Shaw's score with vectors `sqrt(head_dim) W_h^T bank[m - n]`, of rank
    `rel_dim` at most, and its far keys have no vector at all.

    Not as in the original, where the relative query is `W_h h_m`, of the vector h_m that the layer
    reads: it may ask for a distance by what no head's query says. Here an encoding sees q_m alone,
    which is `W_q h_m`, so what `W_h` reads has passed through the head's query. The original also
    normalizes q and k and scales by `1 / head_dim`; it adds the bias unscaled, as here.

    Args:
        num_heads: number of query heads.
        head_dim: width of a head.
        rel_dim: width of a relative query, 16 in the original.
        extent: distances with a vector, from 0 on, tokens; 1024 in the original.
        log_floor: tokens; where given, query and bias at position m are multiplied by
            `1 + log_strength * ln(max(1, (m + 1) / log_floor))`, so that attention among many keys
            stays as sharp as among few. 128 000 in Inkling 2; it knows of absolute positions.
        log_strength: of that factor, 0.1 in the original.

    Raises:
        TypeError: if a size is not an integer, or `log_strength` not a real number.
        ValueError: if a size is less than 1, `num_heads` above 2 ** 20, or `log_strength` not
            positive and finite.

    Convention:
        The original counts query minus key: minus this book's n - m.

    Source:
        Inkling (Thinking Machines, 2026) in transformers 5.23, `InklingRelativeLogits` and
        `InklingAttention`; no paper. Score vectors by distance are those of Shaw et al. 2018,
        arXiv:1803.02155.

    Example:
        >>> encoding = ContentBias(num_heads=2, head_dim=4, rel_dim=3, extent=2)
        >>> q = k = torch.randn(2, 5, 4)
        >>> bias = encoding.score_bias(q, k, torch.arange(5), torch.arange(5))
        >>> bias[0].ne(0).int()
        tensor([[1, 0, 0, 0, 0],
                [1, 1, 0, 0, 0],
                [0, 1, 1, 0, 0],
                [0, 0, 1, 1, 0],
                [0, 0, 0, 1, 1]], dtype=torch.int32)
    """

    def __init__(
        self,
        num_heads: int,
        head_dim: int,
        *,
        rel_dim: int = 16,
        extent: int = 1024,
        log_floor: int | None = None,
        log_strength: float = 0.1,
    ):
        super().__init__()
        checks.num_heads(num_heads)
        checks.integer("head_dim", head_dim, 1)
        checks.integer("rel_dim", rel_dim, 1)
        checks.integer("extent", extent, 1)
        if log_floor is not None:
            checks.integer("log_floor", log_floor, 1)
        checks.positive("log_strength", log_strength)
        self.log_floor, self.log_strength = log_floor, log_strength
        self.to_relative = nn.Parameter(head_dim**-0.5 * torch.randn(num_heads, head_dim, rel_dim))
        self.bank = nn.Parameter(0.02 * torch.randn(rel_dim, extent))

    def rotate(
        self, q: Tensor, k: Tensor, position_ids: Tensor, key_position_ids: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return q times the factor of its position, and k; the bias, linear in q, follows."""
        if self.log_floor is None:
            return q, k
        times = (position_ids + 1).to(compute_dtype(q)) / self.log_floor
        factor = (1 + self.log_strength * times.clamp(min=1).log()).unsqueeze(-1)
        factor = factor if factor.dim() == 2 else factor.unsqueeze(-3)
        return (q * factor).to(q.dtype), k

    def score_bias(
        self, q: Tensor, k: Tensor, position_ids: Tensor, key_position_ids: Tensor
    ) -> Tensor:
        """Return (W_h q_m) . bank[m - n], or 0 out of its reach, `(..., num_heads, q_len, k_len)`.

        Raises:
            TypeError: if a position is not whole.
            ValueError: if `q` has other heads than the encoding.
        """
        checks.whole_numbers("position_ids", position_ids)
        checks.whole_numbers("key_position_ids", key_position_ids)
        num_heads, head_dim, _ = self.to_relative.shape
        check_heads(q, num_heads, head_dim)
        back = -signed_distance(position_ids, key_position_ids)
        extent = self.bank.shape[-1]
        per_entry = nn.functional.pad(q @ self.to_relative @ self.bank, (0, 1))  # the last is 0
        return per_pair(per_entry, torch.where((0 <= back) & (back < extent), back, extent))
