"""How fast each pair of dimensions turns."""

import math
import sys
from numbers import Real

import torch
from torch import Tensor

from ropelib import checks
from ropelib.checks import shown

_MOST_DIMENSIONS = 2**20  # of a head: beyond any model, and a list of frequencies of 4 MiB


def check_head_dim(head_dim: int) -> None:
    """Raise unless `head_dim` is an integer from 1 to 2 ** 20.

    Args:
        head_dim: width of the head.

    Raises:
        TypeError: if it is not an integer; a bool is none.
        ValueError: if it is not positive, or larger.

    Example:
        >>> check_head_dim(128)
    """
    checks.integer("head_dim", head_dim, 1, _MOST_DIMENSIONS)


def check_rotary_dim(rotary_dim: int, head_dim: int | None = None) -> None:
    """Raise unless `rotary_dim` is a positive even integer, at most `head_dim` where that is given.

    Args:
        rotary_dim: leading dimensions of a head that rotate.
        head_dim: width of the head.

    Raises:
        TypeError: if `rotary_dim` is not an integer; a bool is none.
        ValueError: if it is not positive, is odd, or exceeds `head_dim` or 2 ** 20.

    Example:
        >>> check_rotary_dim(64, head_dim=128)
    """
    checks.integer("rotary_dim", rotary_dim, 1, _MOST_DIMENSIONS)
    if rotary_dim % 2:
        raise ValueError(f"rotary_dim must be even, got {shown(rotary_dim)}")
    if head_dim is not None and rotary_dim > head_dim:
        raise ValueError(
            f"rotary_dim must be at most head_dim, got {shown(rotary_dim)} with head_dim "
            f"{shown(head_dim)}"
        )


def rotary_dim_of(head_dim: int, rotary_dim: int | None = None) -> int:
    """Return how many leading dimensions of a head rotate: all unless it is said.

    Args:
        head_dim: width of the head.
        rotary_dim: what is said.

    Returns:
        A positive even integer, at most `head_dim`.

    Raises:
        TypeError: if `rotary_dim` is not an integer; a bool is none.
        ValueError: if it is not positive, is odd, or exceeds `head_dim` or 2 ** 20, or if it is not
            said and `head_dim` is odd.

    Example:
        >>> rotary_dim_of(128), rotary_dim_of(128, 64)
        (128, 64)
    """
    if rotary_dim is None and head_dim % 2:
        raise ValueError(f"head_dim must be even where all of it rotates, got {head_dim}")
    rotary_dim = head_dim if rotary_dim is None else rotary_dim
    check_rotary_dim(rotary_dim, head_dim)
    return int(rotary_dim)


def check_base(base: float) -> None:
    """Raise unless `base` is a positive number whose powers are finite.

    Args:
        base: what frequencies are powers of.

    Raises:
        TypeError: if `base` is not a real number; a bool is none.
        ValueError: if it is not positive and finite, or so small that a frequency is not.

    Example:
        >>> check_base(10_000.0)
    """
    if isinstance(base, bool) or not isinstance(base, Real):
        raise TypeError(f"base must be a real number, got {shown(base)}")
    if not 0 < base <= sys.float_info.max:
        raise ValueError(f"base must be positive and finite, got {shown(base)}")
    if base < sys.float_info.min:
        raise ValueError(f"base must be at least {sys.float_info.min}, got {shown(base)}")


def inverse_frequencies(rotary_dim: int, base: float = 10_000.0) -> Tensor:
    """Return the angle by which each pair of dimensions turns from one token to the next.

    `from ropelib import inv_freq` is this function under the name that its result goes by.

    `inv_freq[i] = base ** (-2 * i / rotary_dim)` for `i = 0 .. rotary_dim // 2 - 1`: the first pair
    turns by one radian per token, the last by little more than `1 / base`.

    Args:
        rotary_dim: leading dimensions that rotate, positive and even.
        base: what the frequencies are powers of, positive; 10000 in the paper.

    Returns:
        float64 tensor `(rotary_dim // 2,)`, rad/token. It lies on the CPU whatever the default
        device is, so that a model built on the "meta" device does not lose it.

    Raises:
        TypeError: if `rotary_dim` is not an integer or `base` not a real number.
        ValueError: if `rotary_dim` is odd, not positive or above 2 ** 20, or `base` is not positive
            and finite.

    Source:
        RoFormer (Su et al., arXiv:2104.09864), section 3.2.2, the set of angles below equation 15;
        the paper counts pairs from 1.

    Example:
        >>> inverse_frequencies(4)
        tensor([1.0000, 0.0100], dtype=torch.float64)
    """
    check_rotary_dim(rotary_dim)
    check_base(base)
    rotary_dim = int(rotary_dim)  # the negative of an unsigned one would wrap around
    exponent = torch.arange(0, rotary_dim, 2, dtype=torch.float64, device="cpu") / -rotary_dim
    return torch.pow(float(base), exponent)


def wavelength(inv_freq: Tensor) -> Tensor:
    """Return the number of tokens after which each pair has turned once.

    `wavelength[i] = 2 * pi / inv_freq[i]`; a pair that never turns has an infinite wavelength.

    Args:
        inv_freq: `(num_pairs,)`, rad/token.

    Returns:
        `(num_pairs,)`, tokens.

    Example:
        >>> wavelength(inverse_frequencies(4))
        tensor([  6.2832, 628.3185], dtype=torch.float64)
    """
    return 2 * math.pi / inv_freq


def turns(inv_freq: Tensor, seq_len: float) -> Tensor:
    """Return how many turns each pair makes within `seq_len` tokens.

    `turns[i] = seq_len * inv_freq[i] / (2 * pi)`

    Args:
        inv_freq: `(num_pairs,)`, rad/token.
        seq_len: length of the sequence, tokens.

    Returns:
        `(num_pairs,)`, turns; below 1 the pair never comes back to where it started.

    Example:
        >>> turns(inverse_frequencies(4), seq_len=100)
        tensor([15.9155,  0.1592], dtype=torch.float64)
    """
    return seq_len * inv_freq / (2 * math.pi)


# The name that code bases give to these numbers, and readers to the function.
inv_freq = inverse_frequencies
