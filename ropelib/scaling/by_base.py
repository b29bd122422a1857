"""Pairs are slowed by way of a larger base, the slow ones more (NTK)."""

from torch import Tensor

from ropelib import checks
from ropelib.frequencies import check_base, check_rotary_dim, inverse_frequencies


def ntk_aware(rotary_dim: int, base: float = 10_000.0, *, factor: float) -> tuple[Tensor, float]:
    """Enlarge the base so that the slowest pair slows down by `factor` and the fastest not at all.

    `inv_freq[i] = (base * factor ** (d / (d - 2))) ** (-2 * i / d)`, with `d = rotary_dim`; the
    ratio to `default` is `factor ** (-2 * i / (d - 2))`.

    Limits: exactly 1 at the first pair and `1 / factor` at the last. Pairs between are slowed by
    less than `factor`, so at the new length they reach angles that training never showed: in
    practice `factor` has to be set higher than the extension that is wanted (YaRN, section 3.1).

    Args:
        rotary_dim: leading dimensions that rotate, above 2.
        base: of the unscaled frequencies.
        factor: slowdown of the last pair, at least 1.

    Returns:
        `(inv_freq, 1.0)`.

    Raises:
        TypeError: if `factor` is not a real number.
        ValueError: if `factor` is not finite or below 1, or `rotary_dim` is 2: a single pair is
            first and last at once.

    Source:
        YaRN (Peng et al., arXiv:2309.00071), definition 1, equations 14 to 16. Not to be confused
        with `ntk_fixed`.

    Example:
        >>> ntk_aware(128, factor=8.0)[0][[0, -1]] / inverse_frequencies(128)[[0, -1]]
        tensor([1.0000, 0.1250], dtype=torch.float64)
    """
    checks.factor("factor", factor)
    return inverse_frequencies(rotary_dim, _stretched_base(rotary_dim, base, factor)), 1.0


def ntk_fixed(rotary_dim: int, base: float = 10_000.0, *, factor: float) -> tuple[Tensor, float]:
    """Slow pair i down by `factor ** (2 * (i + 1) / rotary_dim)`: what vLLM calls "ntk".

    `inv_freq[i] = (base * factor) ** (-2 * i / rotary_dim) / factor ** (2 / rotary_dim)`

    Limits: `1 / factor` at the last pair, as in `ntk_aware`, but the first pair is slowed too, by
    `factor ** (2 / rotary_dim)`: for a factor of 8 and 128 dimensions 0.9680 against 1.0000. Books
    print one formula and call it by the other's name.

    Args:
        rotary_dim: leading dimensions that rotate.
        base: of the unscaled frequencies.
        factor: slowdown of the last pair, at least 1.

    Returns:
        `(inv_freq, 1.0)`.

    Raises:
        TypeError: if `factor` is not a real number.
        ValueError: if `factor` is not finite or below 1.

    Source:
        vLLM, `rotary_embedding/ntk_scaling_rope.py`, which follows kexue.fm/archives/9706.

    Example:
        >>> ntk_fixed(128, factor=8.0)[0][[0, -1]] / inverse_frequencies(128)[[0, -1]]
        tensor([0.9680, 0.1250], dtype=torch.float64)
    """
    checks.factor("factor", factor)
    check_base(base)
    inv_freq = inverse_frequencies(rotary_dim, base * factor)
    return inv_freq / factor ** (2 / rotary_dim), 1.0


def ntk_alpha(rotary_dim: int, base: float = 10_000.0, *, alpha: float) -> tuple[Tensor, float]:
    """Enlarge the base once and for all, as HunYuan does: `ntk_aware` with `factor = alpha`.

    `inv_freq[i] = (base * alpha ** (d / (d - 2))) ** (-2 * i / d)`, with `d = rotary_dim`

    Limits: as `ntk_aware`. Unlike `dynamic_ntk`, under whose name HunYuan's files ask for it, it
    does not depend on the length of the sequence.

    Args:
        rotary_dim: leading dimensions that rotate, above 2.
        base: of the unscaled frequencies.
        alpha: slowdown of the last pair, at least 1; 1000 in HunYuan.

    Returns:
        `(inv_freq, 1.0)`.

    Raises:
        TypeError: if `alpha` is not a real number.
        ValueError: if `alpha` is not finite or below 1, or `rotary_dim` is 2.

    Source:
        transformers 5.23, `models/hunyuan_v1_dense/modeling_hunyuan_v1_dense.py`,
        `compute_ntk_alpha_rope_parameters`.

    Example:
        >>> ntk_alpha(4, alpha=100.0)[0]
        tensor([1.0000e+00, 1.0000e-04], dtype=torch.float64)
    """
    checks.factor("alpha", alpha)
    return ntk_aware(rotary_dim, base, factor=alpha)


def dynamic_ntk(
    rotary_dim: int, base: float = 10_000.0, *, factor: float, seq_len: int, max_seq_len: int
) -> tuple[Tensor, float]:
    """Enlarge the base by as much as the present sequence asks for.

    `base' = base * (factor * L / max_seq_len - (factor - 1)) ** (d / (d - 2))`, with
    `L = max(seq_len, max_seq_len)` and `d = rotary_dim`

    Limits: `default` up to the trained length, whatever the factor; with `factor = 1` it is
    `ntk_aware` by `L / max_seq_len`. Frequencies change as the sequence grows, so keys that were
    rotated before and kept in a cache no longer fit: cache them unrotated (YaRN, section 3.3).

    Args:
        rotary_dim: leading dimensions that rotate, above 2.
        base: of the unscaled frequencies.
        factor: how steeply the base grows, at least 1.
        seq_len: length of the present sequence, tokens.
        max_seq_len: trained length, tokens.

    Returns:
        `(inv_freq, 1.0)`.

    Raises:
        TypeError: if `factor` is not a real number or a length not an integer.
        ValueError: if `factor` is not finite or below 1, a length is not positive, or `rotary_dim`
            is 2.

    Source:
        transformers 5.23, `_compute_dynamic_ntk_parameters`; named in YaRN (arXiv:2309.00071),
        section 3.3, which multiplies by `L / max_seq_len` instead.

    Example:
        >>> dynamic_ntk(4, factor=2.0, seq_len=4096, max_seq_len=4096)[0]
        tensor([1.0000, 0.0100], dtype=torch.float64)
        >>> dynamic_ntk(4, factor=2.0, seq_len=8192, max_seq_len=4096)[0]
        tensor([1.0000, 0.0033], dtype=torch.float64)
    """
    checks.factor("factor", factor)
    checks.length("seq_len", seq_len)
    checks.length("max_seq_len", max_seq_len)
    growth = factor * max(seq_len, max_seq_len) / max_seq_len - (factor - 1)
    return inverse_frequencies(rotary_dim, _stretched_base(rotary_dim, base, growth)), 1.0


def _stretched_base(rotary_dim: int, base: float, factor: float) -> float:
    check_rotary_dim(rotary_dim)
    check_base(base)
    if rotary_dim == 2:
        raise ValueError("rotary_dim must be above 2 where the base is stretched, got 2")
    try:
        return base * factor ** (rotary_dim / (rotary_dim - 2))
    except OverflowError as error:
        raise ValueError(
            f"the stretched base must be finite, got base {checks.shown(base)} stretched by "
            f"{checks.shown(factor)}"
        ) from error
