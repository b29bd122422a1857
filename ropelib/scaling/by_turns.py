"""Only pairs are slowed that turn seldom within the trained length."""

import math

import torch
from torch import Tensor

from ropelib import checks
from ropelib.frequencies import inverse_frequencies, turns


def ntk_by_parts(
    rotary_dim: int,
    base: float = 10_000.0,
    *,
    factor: float,
    original_max_seq_len: int,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
) -> tuple[Tensor, float]:
    """Leave pairs that turn often alone, slow the others down, and blend between, by turns.

    With `r = turns of the pair within original_max_seq_len`, `kept = (r - beta_slow) / (beta_fast
    - beta_slow)` clamped to 0 .. 1, and `f` the unscaled frequency:
    `inv_freq = (1 - kept) * f / factor + kept * f`.

    Limits: a pair with at least `beta_fast` turns keeps its frequency exactly, one with at most
    `beta_slow` is divided by `factor` exactly; `factor = 1` is `default`.

    Args:
        rotary_dim: leading dimensions that rotate.
        base: of the unscaled frequencies.
        factor: new length over trained length, at least 1.
        original_max_seq_len: trained length, tokens.
        beta_fast: turns from which a pair is left alone; the paper's beta.
        beta_slow: turns up to which it is fully slowed, below `beta_fast`; the paper's alpha.

    Returns:
        `(inv_freq, 1.0)`.

    Raises:
        TypeError: if a number is not real or the length not an integer.
        ValueError: if a number is not finite, `factor` is below 1, the length not positive, or
            `0 < beta_slow < beta_fast` does not hold.

    Source:
        YaRN (Peng et al., arXiv:2309.00071), definition 2, equations 17 to 20. `yarn` as it is
        shipped draws its ramp over pair indices instead; `llama3` draws this one.

    Example:
        >>> ntk_by_parts(8, factor=4.0, original_max_seq_len=1000)[0] / inverse_frequencies(8)
        tensor([1.0000, 0.6109, 0.2643, 0.2500], dtype=torch.float64)
    """
    _check_ramp(factor, original_max_seq_len, beta_slow, beta_fast)
    if beta_slow >= beta_fast:
        raise ValueError(
            f"beta_slow must be below beta_fast, got beta_slow {beta_slow}, beta_fast {beta_fast}"
        )
    inv_freq = inverse_frequencies(rotary_dim, base)
    r = turns(inv_freq, original_max_seq_len)
    return _blend(inv_freq, factor, (r - beta_slow) / (beta_fast - beta_slow)), 1.0


def llama3(
    rotary_dim: int,
    base: float = 500_000.0,
    *,
    factor: float,
    original_max_seq_len: int,
    low_freq_factor: float,
    high_freq_factor: float,
) -> tuple[Tensor, float]:
    """Scale as Llama 3.1 does: `ntk_by_parts` under other names.

    A pair whose wavelength is below `original_max_seq_len / high_freq_factor` keeps its frequency,
    one above `original_max_seq_len / low_freq_factor` is divided by `factor`, and those between are
    blended linearly in `original_max_seq_len / wavelength`, which is the number of turns.

    Limits: those of `ntk_by_parts` with `beta_fast = high_freq_factor` and
    `beta_slow = low_freq_factor`. Where both are one number, as in Llama 4 Scout, no pair is
    blended, and one with just as many turns is left alone. Attention is not sharpened.

    Args:
        rotary_dim: leading dimensions that rotate.
        base: of the unscaled frequencies.
        factor: new length over trained length, at least 1; 8 in Llama 3.1.
        original_max_seq_len: trained length, tokens; 8192.
        low_freq_factor: turns up to which a pair is fully slowed; 1.
        high_freq_factor: turns from which it is left alone, at least `low_freq_factor`; 4.

    Returns:
        `(inv_freq, 1.0)`.

    Raises:
        TypeError: if a number is not real or the length not an integer.
        ValueError: if a number is not finite, `factor` is below 1, the length not positive, or
            `0 < low_freq_factor <= high_freq_factor` does not hold.

    Source:
        meta-llama/llama-models, `models/llama3/reference_impl/model.py`, `apply_scaling`;
        transformers 5.23, `_compute_llama3_parameters`.

    Example:
        >>> scaled, _ = llama3(128, factor=8.0, original_max_seq_len=8192, low_freq_factor=1.0,
        ...                    high_freq_factor=4.0)
        >>> scaled[[0, -1]] / inverse_frequencies(128, 500_000.0)[[0, -1]]
        tensor([1.0000, 0.1250], dtype=torch.float64)
    """
    checks.positive("low_freq_factor", low_freq_factor)
    checks.positive("high_freq_factor", high_freq_factor)
    if low_freq_factor > high_freq_factor:
        raise ValueError(
            "low_freq_factor must not be above high_freq_factor, got low_freq_factor "
            f"{low_freq_factor}, high_freq_factor {high_freq_factor}"
        )
    if low_freq_factor == high_freq_factor:
        _check_ramp(factor, original_max_seq_len, low_freq_factor, high_freq_factor)
        inv_freq = inverse_frequencies(rotary_dim, base)
        kept = turns(inv_freq, original_max_seq_len) >= high_freq_factor
        return _blend(inv_freq, factor, kept.to(inv_freq)), 1.0
    return ntk_by_parts(
        rotary_dim,
        base,
        factor=factor,
        original_max_seq_len=original_max_seq_len,
        beta_fast=high_freq_factor,
        beta_slow=low_freq_factor,
    )


def yarn(
    rotary_dim: int,
    base: float = 10_000.0,
    *,
    factor: float,
    original_max_seq_len: int,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
    attention_factor: float | None = None,
    mscale: float | None = None,
    mscale_all_dim: float | None = None,
) -> tuple[Tensor, float]:
    """Leave fast pairs alone, slow slow ones down, blend between by index, and sharpen attention.

    `low` and `high` are the indices, as real numbers, at which a pair would turn `beta_fast` and
    `beta_slow` times within the trained length:
    `index(r) = rotary_dim * ln(original_max_seq_len / (2 pi r)) / (2 ln base)`. `truncate` rounds
    them outward to whole pairs; both are then held within `0 .. rotary_dim - 1`. With
    `slowed = (i - low) / (high - low)` clamped to 0 .. 1 and `f` the unscaled frequency,
    `inv_freq = (1 - slowed) * f + slowed * f / factor`.

    `attention_factor` is `0.1 * ln(factor) + 1` unless given, or, with both mscales,
    `(0.1 * mscale * ln(factor) + 1) / (0.1 * mscale_all_dim * ln(factor) + 1)`.

    Limits: pairs up to `low` keep their frequency exactly, pairs from `high` on are divided by
    `factor` exactly, and those between never leave that range; `factor = 1` is `default` with an
    attention factor of 1. The ramp is linear in the index of the pair, as in all implementations,
    and not in its turns, as in equation 18 of the paper: that is `ntk_by_parts`.

    Args:
        rotary_dim: leading dimensions that rotate.
        base: of the unscaled frequencies, above 1.
        factor: new length over trained length, at least 1.
        original_max_seq_len: trained length, tokens.
        beta_fast: turns from which a pair is left alone.
        beta_slow: turns up to which it is fully slowed, at most `beta_fast`.
        truncate: whether the ramp starts and ends at whole pairs. gpt-oss says no.
        attention_factor: in place of the formula.
        mscale: weight of the logarithm above the line, with `mscale_all_dim`, as in DeepSeek.
        mscale_all_dim: the same below the line. DeepSeek multiplies its softmax scale by the square
            of that line in addition, which is not part of these tables
            (`RopeConfig.softmax_factor`).

    Returns:
        `(inv_freq, attention_factor)`. The factor multiplies both tables, so scores grow by its
        square, the paper's `1 / t`.

    Raises:
        TypeError: if a number is not real, the length not an integer, or `truncate` not a bool.
        ValueError: if a number is not finite, `factor` is below 1, the length not positive, `base`
            not above 1, `0 < beta_slow <= beta_fast` does not hold, an attention factor or mscale
            is not positive, only one mscale is given, or both and `attention_factor`, or the ramp
            lies outside the head.

    Source:
        YaRN (Peng et al., arXiv:2309.00071), definition 3, equations 20 to 22, with the ramp of
        transformers 5.23, `_compute_yarn_parameters`.

    Example:
        >>> inv_freq, attention_factor = yarn(64, factor=4.0, original_max_seq_len=4096)
        >>> inv_freq[[0, -1]] / inverse_frequencies(64)[[0, -1]]
        tensor([1.0000, 0.2500], dtype=torch.float64)
        >>> round(attention_factor, 4)
        1.1386
    """
    _check_ramp(factor, original_max_seq_len, beta_slow, beta_fast)
    if beta_slow > beta_fast:
        raise ValueError(
            f"beta_slow must be at most beta_fast, got beta_slow {beta_slow}, beta_fast {beta_fast}"
        )
    if not isinstance(truncate, bool):
        raise TypeError(f"truncate must be True or False, got {checks.shown(truncate)}")
    inv_freq = inverse_frequencies(rotary_dim, base)
    if base <= 1:
        raise ValueError(f"base must be above 1 for YaRN, got {base}")

    def index(r: float) -> float:
        # One logarithm each: their product or ratio could leave the range of a float.
        logarithm = math.log(original_max_seq_len) - math.log(2 * math.pi) - math.log(r)
        return rotary_dim * logarithm / (2 * math.log(base))

    low, high = max(index(beta_fast), 0), min(index(beta_slow), rotary_dim - 1)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    if low > high:
        # Here transformers' ramp runs backward and slows exactly the wrong pairs.
        raise ValueError(
            f"the ramp from {beta_fast} to {beta_slow} turns must lie within the head, got "
            f"original_max_seq_len {original_max_seq_len} with base {base}"
        )
    i = torch.arange(len(inv_freq), dtype=torch.float64, device="cpu")
    slowed = (i - low) / ((high - low) or 0.001)
    attention_factor = _yarn_attention_factor(factor, attention_factor, mscale, mscale_all_dim)
    return _blend(inv_freq, factor, 1 - slowed), attention_factor


def yarn_mscale(factor: float, mscale: float = 1.0) -> float:
    """Return YaRN's temperature term for one stretch and one weight.

    `0.1 * mscale * ln(factor) + 1`

    Args:
        factor: new length over trained length, at least 1.
        mscale: weight of the logarithm.

    Returns:
        A number of at least 1 for positive weights.

    Raises:
        TypeError: if a number is not real.
        ValueError: if a number is not finite or `factor` is below 1.

    Source:
        YaRN (arXiv:2309.00071), equation 22, for a weight of 1; transformers 5.23, `get_mscale`.

    Example:
        >>> round(yarn_mscale(40.0), 4)
        1.3689
    """
    checks.factor("factor", factor)
    checks.number("mscale", mscale)
    return 0.1 * mscale * math.log(factor) + 1.0


def _check_ramp(
    factor: float, original_max_seq_len: int, beta_slow: float, beta_fast: float
) -> None:
    checks.factor("factor", factor)
    checks.length("original_max_seq_len", original_max_seq_len)
    checks.positive("beta_slow", beta_slow)
    checks.positive("beta_fast", beta_fast)


def _yarn_attention_factor(
    factor: float,
    attention_factor: float | None,
    mscale: float | None,
    mscale_all_dim: float | None,
) -> float:
    if (mscale is None) != (mscale_all_dim is None):
        raise ValueError(
            "mscale and mscale_all_dim must be given together, "
            f"got mscale {mscale}, mscale_all_dim {mscale_all_dim}"
        )
    if attention_factor is not None:
        if mscale is not None:
            raise ValueError("attention_factor and mscale must not both be given")
        checks.positive("attention_factor", attention_factor)
        return float(attention_factor)
    if mscale is None:
        return yarn_mscale(factor)
    checks.positive("mscale", mscale)
    checks.positive("mscale_all_dim", mscale_all_dim)
    return yarn_mscale(factor, mscale) / yarn_mscale(factor, mscale_all_dim)


def _blend(inv_freq: Tensor, factor: float, kept: Tensor) -> Tensor:
    """Keep frequencies where `kept` is 1 or more, divide them where it is 0 or less."""
    kept = kept.clamp(0, 1)
    return (1 - kept) * (inv_freq / factor) + kept * inv_freq
