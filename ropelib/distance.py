"""What the frequencies alone do to a score over distance: the mean of cosines, its bound, the base.

Nothing here knows a query or a key. `cosine_mean` is the score of a query with a key that equals it
in every pair, `partial_sum_bound` the factor by which RoFormer bounds all others.
"""

from collections.abc import Iterable

import torch
from torch import Tensor

from ropelib import checks, scaling
from ropelib.frequencies import check_rotary_dim

_BLOCK = 2**18  # cosines at once: 2 MB
_FIRST_BLOCK = 256  # distances: most bases fail among the farthest


def cosine_mean(inv_freq: Tensor, distances: Tensor) -> Tensor:
    """Return the mean of the cosines of all pairs at each distance.

    `C(r) = (1 / num_pairs) * sum_i cos(r * inv_freq[i])`: the score of a key at distance r that
    equals its query, both of length 1 and spread evenly over the pairs.

    Args:
        inv_freq: `(num_pairs,)`, rad/token; a pair that stands still has 0.
        distances: tokens, any shape; the sign does not matter.

    Returns:
        float64 tensor of the shape of `distances`, between -1 and 1.

    Source:
        Base of RoPE Bounds Context Length (Men et al., arXiv:2405.14591), theorem 1, where the sum
        is called B and not divided by the number of pairs.

    Example:
        >>> from ropelib import inv_freq
        >>> cosine_mean(inv_freq(64), torch.tensor([0, 1, 512]))
        tensor([1.0000, 0.9662, 0.1854], dtype=torch.float64)
    """
    return _angles(inv_freq, distances).cos_().mean(dim=-1)


def partial_sum_bound(inv_freq: Tensor, distances: Tensor) -> Tensor:
    """Return the mean length of the partial sums, RoFormer's "relative upper bound".

    `B(r) = (1 / num_pairs) * sum_j |S_j|` with `S_j = sum_{i < j} exp(1j * r * inv_freq[i])` for
    `j = 1 .. num_pairs`. With `h_i` the product of the i-th pairs, conj(q) * k as complex numbers,
    and `h_num_pairs = 0`, a score is at most `num_pairs * B(r) * max_i |h_{i+1} - h_i|`.

    Args:
        inv_freq: `(num_pairs,)`, rad/token, in the order of the pairs.
        distances: tokens, any shape.

    Returns:
        float64 tensor of the shape of `distances`; `(num_pairs + 1) / 2` at distance 0.

    Source:
        RoFormer (Su et al., arXiv:2104.09864), section 3.4.3, equations 36 and 37 and figure 2.

    Example:
        >>> from ropelib import inv_freq
        >>> partial_sum_bound(inv_freq(64), torch.tensor([0, 512]))
        tensor([16.5000,  2.9859], dtype=torch.float64)
    """
    angles = _angles(inv_freq, distances)
    hands = torch.polar(torch.ones_like(angles), angles)
    return hands.cumsum(dim=-1).abs().mean(dim=-1)


def first_negative_distance(inv_freq: Tensor, max_distance: int) -> int | None:
    """Return the smallest whole distance from 1 to `max_distance` where `cosine_mean` is negative.

    Args:
        inv_freq: `(num_pairs,)`, rad/token.
        max_distance: tokens, positive.

    Returns:
        Tokens, or None where there is no such distance.

    Raises:
        TypeError: if `max_distance` is not an integer.
        ValueError: if `max_distance` is not positive.

    Source:
        Base of RoPE Bounds Context Length (Men et al., arXiv:2405.14591), equation 10, where the
        length that a base carries is one less than this.

    Example:
        >>> from ropelib import inv_freq
        >>> first_negative_distance(inv_freq(128), 4096)
        1707
    """
    checks.length("max_distance", max_distance)
    size = _block_size(inv_freq)
    for start in range(1, max_distance + 1, size):
        block = torch.arange(start, min(start + size, max_distance + 1), device=inv_freq.device)
        negative = (cosine_mean(inv_freq, block) < 0).nonzero()
        if len(negative):
            return start + int(negative[0])
    return None


def smallest_base(
    rotary_dim: int,
    max_distance: int,
    bases: Iterable[float],
    *,
    partial_rotary_factor: float = 1.0,
) -> float | None:
    """Return the smallest of some bases whose cosines sum to 0 or more up to a distance.

    A larger base may fail where this one holds: whether a base holds is not monotone in the base.

    Args:
        rotary_dim: dimensions of the head, positive and even.
        max_distance: tokens, positive; `cosine_mean` must not be negative from 1 up to it.
        bases: candidates; the finer they lie, the nearer is the answer to the infimum.
        partial_rotary_factor: share of the pairs that rotate, the fastest; the others stand still
            and are in the sum with a cosine of 1, as in `scaling.proportional`.

    Returns:
        One of `bases`, or None where all fail.

    Raises:
        TypeError: if `rotary_dim` or `max_distance` is not an integer, or another number not real.
        ValueError: if `rotary_dim` is odd, `partial_rotary_factor` lies outside 0 .. 1, or one of
            the other numbers is not positive.

    Source:
        Base of RoPE Bounds Context Length (Men et al., arXiv:2405.14591), equation 11 and table 2.

    Example:
        >>> smallest_base(128, 1000, range(4000, 5000, 100))
        4300
    """
    checks.length("max_distance", max_distance)
    check_rotary_dim(rotary_dim)
    for base in sorted(bases):
        inv_freq, _ = scaling.proportional(
            rotary_dim, base, partial_rotary_factor=partial_rotary_factor
        )
        if _never_negative(inv_freq, max_distance):
            return base
    return None


def _never_negative(inv_freq: Tensor, max_distance: int) -> bool:
    """Say the same as `first_negative_distance(...) is None`, sooner: a base fails far away."""
    largest = _block_size(inv_freq)
    size, end = min(_FIRST_BLOCK, largest), max_distance
    while end > 0:
        block = torch.arange(max(1, end - size + 1), end + 1, device=inv_freq.device)
        if (cosine_mean(inv_freq, block) < 0).any():
            return False
        end, size = end - size, min(2 * size, largest)
    return True


def _angles(inv_freq: Tensor, distances: Tensor) -> Tensor:
    distances = torch.as_tensor(distances, device=inv_freq.device)
    return distances.double().unsqueeze(-1) * inv_freq.double()


def _block_size(inv_freq: Tensor) -> int:
    return max(1, _BLOCK // max(1, len(inv_freq)))
