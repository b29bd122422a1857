"""T5's relative positions: one learned number per head and bucket of distances."""

import math

import torch
from torch import Tensor, nn

from ropelib import checks
from ropelib.encodings.base import PositionEncoding, signed_distance


def t5_bucket(
    distance: Tensor,
    *,
    num_buckets: int = 32,
    max_distance: int = 128,
    bidirectional: bool = True,
) -> Tensor:
    """Return the bucket of each signed distance: exact when near, logarithmic when far, then one.

    Where attention looks both ways, the second half of the buckets is for keys ahead of the query.
    Of the buckets of one direction half are single distances 0, 1, 2, ...; the others grow
    geometrically up to `max_distance`, and the last one holds all that is further away. Where
    attention looks back only, keys ahead share bucket 0 with distance 0.

    Args:
        distance: n - m, key minus query, integers of any shape, tokens.
        num_buckets: even and at least 4 where `bidirectional`, at least 2 otherwise.
        max_distance: more than the number of single distances, tokens.
        bidirectional: whether keys ahead of the query have buckets of their own.

    Returns:
        int64 tensor like `distance`, in [0, num_buckets).

    Raises:
        TypeError: if distances or sizes are not integers.
        ValueError: if `num_buckets` or `max_distance` breaks its rule.

    Convention:
        Logarithms are taken in float32, as trained models have had them.

    Source:
        Raffel et al. 2019, arXiv:1910.10683, section 2.1; transformers,
        `T5Attention._relative_position_bucket`.

    Example:
        >>> t5_bucket(torch.tensor([0, -1, -7, -8, -100, -1000, 1]))
        tensor([ 0,  1,  7,  8, 15, 15, 17])
    """
    checks.whole_numbers("distance", distance)
    per_direction, exact = check_buckets(num_buckets, max_distance, bidirectional)
    if bidirectional:
        first = (distance > 0).long() * per_direction
        apart = distance.abs()
    else:
        first = torch.zeros_like(distance, dtype=torch.long)
        apart = (-distance).clamp(min=0)
    share = torch.log(apart.clamp(min=1).float() / exact) / math.log(max_distance / exact)
    far = exact + (share * (per_direction - exact)).long()
    return first + torch.where(apart < exact, apart, far.clamp(max=per_direction - 1))


def check_buckets(num_buckets: int, max_distance: int, bidirectional: bool) -> tuple[int, int]:
    """Return how many buckets a direction has, and how many of them are single distances.

    Args:
        num_buckets: as in `t5_bucket`.
        max_distance: as in `t5_bucket`.
        bidirectional: as in `t5_bucket`.

    Raises:
        TypeError: if a size is not an integer.
        ValueError: if the buckets cannot be divided so.

    Example:
        >>> check_buckets(32, 128, True)
        (16, 8)
    """
    checks.integer("num_buckets", num_buckets, 4 if bidirectional else 2)
    checks.integer("max_distance", max_distance, 1)
    if bidirectional and num_buckets % 2:
        raise ValueError(f"num_buckets must be even, one half per direction, got {num_buckets}")
    per_direction = num_buckets // 2 if bidirectional else num_buckets
    exact = per_direction // 2
    if max_distance <= exact:
        raise ValueError(
            f"max_distance must be more than the {exact} single distances of {num_buckets} "
            f"buckets, got {max_distance}"
        )
    return per_direction, exact


class T5Bias(PositionEncoding):
    """Add to each score the number of its head and of its distance's bucket.

    Scores are not divided by sqrt(head_dim): T5 leaves that to its initialization.

    Args:
        num_heads: number of query heads.
        num_buckets: as in `t5_bucket`.
        max_distance: as in `t5_bucket`.
        bidirectional: as in `t5_bucket`.

    Raises:
        TypeError: if a size is not an integer.
        ValueError: if a size breaks its rule.

    Convention:
        Counts key minus query, n - m.

    Source:
        Raffel et al. 2019, arXiv:1910.10683, section 2.1.

    Example:
        >>> sum(p.numel() for p in T5Bias(num_heads=8).parameters())
        256
    """

    def __init__(
        self,
        num_heads: int,
        num_buckets: int = 32,
        max_distance: int = 128,
        *,
        bidirectional: bool = True,
    ):
        super().__init__()
        checks.num_heads(num_heads)
        check_buckets(num_buckets, max_distance, bidirectional)
        self.max_distance, self.bidirectional = max_distance, bidirectional
        self.table = nn.Parameter(torch.randn(num_buckets, num_heads))

    def score_bias(
        self, q: Tensor, k: Tensor, position_ids: Tensor, key_position_ids: Tensor
    ) -> Tensor:
        """Return table[bucket(n - m)] per head, `(num_heads, q_len, k_len)`, batch before it.

        Raises:
            TypeError: if a position is not whole.
        """
        distance = signed_distance(position_ids, key_position_ids)
        buckets = t5_bucket(
            distance,
            num_buckets=len(self.table),
            max_distance=self.max_distance,
            bidirectional=self.bidirectional,
        )
        if buckets.dim() == 4:
            buckets = buckets.squeeze(1)
        return self.table[buckets].movedim(-1, -3)

    def scale(self, head_dim: int) -> float:
        """Return 1: T5 does not scale its scores."""
        return 1.0
