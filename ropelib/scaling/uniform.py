"""All pairs that rotate are treated alike: as they were trained, or slowed by one factor."""

from torch import Tensor

from ropelib import checks
from ropelib.frequencies import inverse_frequencies


def default(rotary_dim: int, base: float = 10_000.0) -> tuple[Tensor, float]:
    """Return the frequencies as they were trained, unscaled.

    `inv_freq[i] = base ** (-2 * i / rotary_dim)`

    Args:
        rotary_dim: leading dimensions that rotate, positive and even.
        base: what the frequencies are powers of, positive.

    Returns:
        `(inv_freq, 1.0)`, float64 `(rotary_dim // 2,)`, rad/token.

    Raises:
        TypeError: if `rotary_dim` is not an integer or `base` not a real number.
        ValueError: if `rotary_dim` is odd or not positive, or `base` is not positive and finite.

    Source:
        RoFormer (Su et al., arXiv:2104.09864), section 3.2.2.

    Example:
        >>> default(4)
        (tensor([1.0000, 0.0100], dtype=torch.float64), 1.0)
    """
    return inverse_frequencies(rotary_dim, base), 1.0


def linear(rotary_dim: int, base: float = 10_000.0, *, factor: float) -> tuple[Tensor, float]:
    """Slow every pair down alike (position interpolation).

    `inv_freq[i] = base ** (-2 * i / rotary_dim) / factor`: positions are divided by `factor`.

    Limits: `factor = 1` is `default`. Neighboring tokens come `factor` times closer in every pair,
    the fastest included, which is why the model has to be trained further.

    Args:
        rotary_dim: leading dimensions that rotate.
        base: of the unscaled frequencies.
        factor: new length over trained length, at least 1.

    Returns:
        `(inv_freq, 1.0)`.

    Raises:
        TypeError: if `factor` is not a real number.
        ValueError: if `factor` is not finite or below 1.

    Source:
        Position Interpolation (Chen et al., arXiv:2306.15595), the replacement of `f(x, m)` by
        `f(x, m L / L')`; transformers 5.23, `_compute_linear_scaling_rope_parameters`.

    Example:
        >>> linear(4, factor=2.0)
        (tensor([0.5000, 0.0050], dtype=torch.float64), 1.0)
    """
    checks.factor("factor", factor)
    return inverse_frequencies(rotary_dim, base) / factor, 1.0


def proportional(
    head_dim: int,
    base: float = 10_000.0,
    *,
    partial_rotary_factor: float = 1.0,
    factor: float = 1.0,
) -> tuple[Tensor, float]:
    """Rotate only the fastest pairs of a head and let the slow ones stand still (p-RoPE).

    `inv_freq[i] = base ** (-2 * i / head_dim) / factor` for the first
    `int(partial_rotary_factor * head_dim // 2)` pairs, and 0 for the rest.

    Limits: with `partial_rotary_factor = 1` it is `linear`. Partial rotation as in GPT-NeoX is
    something else: there the fewer pairs spread over all wavelengths
    (`default(int(partial_rotary_factor * head_dim), base)`); here those that remain keep theirs.

    Args:
        head_dim: width of the head, all of it: a pair that stands still keeps its place.
        base: of the unscaled frequencies.
        partial_rotary_factor: share of the pairs that rotate, 0 to 1.
        factor: slowdown, at least 1.

    Returns:
        `(inv_freq, 1.0)`, `(head_dim // 2,)` with zeros at the end.

    Raises:
        TypeError: if a number is not real.
        ValueError: if `partial_rotary_factor` lies outside 0 .. 1 or `factor` is not finite or
            below 1.

    Source:
        Round and Round We Go (Barbero et al., arXiv:2410.06205) for p-RoPE; transformers 5.23,
        `_compute_proportional_rope_parameters` (Gemma 4), for rounding and `factor`.

    Example:
        >>> proportional(8, partial_rotary_factor=0.5)[0]
        tensor([1.0000, 0.1000, 0.0000, 0.0000], dtype=torch.float64)
    """
    checks.share("partial_rotary_factor", partial_rotary_factor)
    inv_freq, attention_factor = linear(head_dim, base, factor=factor)
    inv_freq[int(partial_rotary_factor * head_dim // 2) :] = 0
    return inv_freq, attention_factor
