"""Transformer-XL's relative positions: all four terms, with sinusoids of the distance."""

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
from ropelib.encodings.sinusoidal import sinusoids
from ropelib.frequencies import inv_freq


class TransformerXL(PositionEncoding):
    """Keep all four terms of the score: the key's place becomes a distance, the query's a constant.

    `score[m, n] = (q_m + u) . k_n + (q_m + v) . W r(m - n)`, times `1 / sqrt(head_dim)`. r is the
    sinusoidal code of the distance, W projects it to one vector per head, and u and v are learned,
    one per head: what the query's own position used to say is the same everywhere.

    Args:
        num_heads: number of query heads.
        head_dim: width of a head; `num_heads * head_dim`, the width of r, must be even.
        base: of the sinusoids.
        layout: of the sinusoids; the paper's own code and XLNet have "half".

    Raises:
        TypeError: if a size is not an integer.
        ValueError: if a size is less than 1, `num_heads` above 2 ** 20, `num_heads * head_dim` is
            odd, or `base` or `layout` breaks its rule.

    Convention:
        The paper's R has the index i - j, query minus key: minus this book's n - m.

    Source:
        Dai et al. 2019, arXiv:1901.02860, section 3.3; XLNet (Yang et al. 2019, arXiv:1906.08237)
        has the same terms.

    Example:
        >>> encoding = TransformerXL(num_heads=2, head_dim=4)
        >>> q = k = torch.randn(2, 5, 4)
        >>> encoding.score_bias(q, k, torch.arange(5), torch.arange(5)).shape
        torch.Size([2, 5, 5])
    """

    def __init__(
        self, num_heads: int, head_dim: int, *, base: float = 10_000.0, layout: str = "half"
    ):
        super().__init__()
        checks.num_heads(num_heads)
        checks.integer("head_dim", head_dim, 1)
        self.model_dim = num_heads * head_dim
        inv_freq(self.model_dim, base)  # raises for what `score_bias` could not use
        self.base, self.layout = base, layout
        self.content_bias = nn.Parameter(0.02 * torch.randn(num_heads, head_dim))
        self.position_bias = nn.Parameter(0.02 * torch.randn(num_heads, head_dim))
        self.project = nn.Linear(self.model_dim, self.model_dim, bias=False)

    def score_bias(
        self, q: Tensor, k: Tensor, position_ids: Tensor, key_position_ids: Tensor
    ) -> Tensor:
        """Return all but q_m . k_n of the score, `(..., num_heads, q_len, k_len)`.

        Raises:
            ValueError: if `q` has other heads than the encoding.
        """
        num_heads, head_dim = self.content_bias.shape
        check_heads(q, num_heads, head_dim)
        keys = repeat_heads(k, q).transpose(-2, -1)
        content = self.content_bias.unsqueeze(-2) @ keys  # (..., num_heads, 1, k_len)

        distance = signed_distance(position_ids, key_position_ids)
        distances, entry = distance.unique(return_inverse=True)
        code = sinusoids(-distances, self.model_dim, base=self.base, layout=self.layout)
        vectors = self.project(code.to(q)).unflatten(-1, (num_heads, head_dim))
        per_entry = (q + self.position_bias.unsqueeze(-2)) @ vectors.permute(1, 2, 0)
        return (content + per_pair(per_entry, entry)) * self.scale(head_dim)
