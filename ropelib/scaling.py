"""Ways to stretch a trained model's frequencies to longer sequences, one function each.

Every function returns `(inv_freq, attention_factor)`: float64 frequencies in rad/token for
`cos_sin`, and the number that multiplies both of its tables. They differ in which pairs they slow
down: all alike (`linear`), slow pairs more than fast ones (`ntk_aware`), or slow pairs only
(`ntk_by_parts`, `yarn`, `llama3`).
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ropelib import checks, frequencies


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
    return frequencies.inv_freq(rotary_dim, base), 1.0


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
    return frequencies.inv_freq(rotary_dim, base) / factor, 1.0


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
        >>> ntk_aware(128, factor=8.0)[0][[0, -1]] / default(128)[0][[0, -1]]
        tensor([1.0000, 0.1250], dtype=torch.float64)
    """
    checks.factor("factor", factor)
    return frequencies.inv_freq(rotary_dim, _stretched_base(rotary_dim, base, factor)), 1.0


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
        >>> ntk_fixed(128, factor=8.0)[0][[0, -1]] / default(128)[0][[0, -1]]
        tensor([0.9680, 0.1250], dtype=torch.float64)
    """
    checks.factor("factor", factor)
    frequencies.check_base(base)
    inv_freq = frequencies.inv_freq(rotary_dim, base * factor)
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
    return frequencies.inv_freq(rotary_dim, _stretched_base(rotary_dim, base, growth)), 1.0


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
        >>> ntk_by_parts(8, factor=4.0, original_max_seq_len=1000)[0] / default(8)[0]
        tensor([1.0000, 0.6109, 0.2643, 0.2500], dtype=torch.float64)
    """
    checks.factor("factor", factor)
    checks.length("original_max_seq_len", original_max_seq_len)
    checks.positive("beta_slow", beta_slow)
    checks.positive("beta_fast", beta_fast)
    if beta_slow >= beta_fast:
        raise ValueError(
            f"beta_slow must be below beta_fast, got beta_slow {beta_slow}, beta_fast {beta_fast}"
        )
    inv_freq = frequencies.inv_freq(rotary_dim, base)
    turns = frequencies.turns(inv_freq, original_max_seq_len)
    return _blend(inv_freq, factor, (turns - beta_slow) / (beta_fast - beta_slow)), 1.0


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
        `(inv_freq, attention_factor)`. Both tables are multiplied, so scores grow by the square:
        the paper's `1 / t`.

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
        >>> inv_freq[[0, -1]] / default(64)[0][[0, -1]]
        tensor([1.0000, 0.2500], dtype=torch.float64)
        >>> round(attention_factor, 4)
        1.1386
    """
    checks.factor("factor", factor)
    checks.length("original_max_seq_len", original_max_seq_len)
    checks.positive("beta_slow", beta_slow)
    checks.positive("beta_fast", beta_fast)
    if beta_slow > beta_fast:
        raise ValueError(
            f"beta_slow must be at most beta_fast, got beta_slow {beta_slow}, beta_fast {beta_fast}"
        )
    if not isinstance(truncate, bool):
        raise TypeError(f"truncate must be True or False, got {checks.shown(truncate)}")
    inv_freq = frequencies.inv_freq(rotary_dim, base)
    if base <= 1:
        raise ValueError(f"base must be above 1 for YaRN, got {base}")

    def index(turns: float) -> float:
        # One logarithm each: their product or ratio could leave the range of a float.
        logarithm = math.log(original_max_seq_len) - math.log(2 * math.pi) - math.log(turns)
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
    `beta_slow = low_freq_factor`. Attention is not sharpened.

    Args:
        rotary_dim: leading dimensions that rotate.
        base: of the unscaled frequencies.
        factor: new length over trained length, at least 1; 8 in Llama 3.1.
        original_max_seq_len: trained length, tokens; 8192.
        low_freq_factor: turns up to which a pair is fully slowed; 1.
        high_freq_factor: turns from which it is left alone, above `low_freq_factor`; 4.

    Returns:
        `(inv_freq, 1.0)`.

    Raises:
        TypeError: if a number is not real or the length not an integer.
        ValueError: if a number is not finite, `factor` is below 1, the length not positive, or
            `0 < low_freq_factor < high_freq_factor` does not hold.

    Source:
        meta-llama/llama-models, `models/llama3/reference_impl/model.py`, `apply_scaling`;
        transformers 5.23, `_compute_llama3_parameters`.

    Example:
        >>> scaled, _ = llama3(128, factor=8.0, original_max_seq_len=8192, low_freq_factor=1.0,
        ...                    high_freq_factor=4.0)
        >>> scaled[[0, -1]] / default(128, 500_000.0)[0][[0, -1]]
        tensor([1.0000, 0.1250], dtype=torch.float64)
    """
    checks.positive("low_freq_factor", low_freq_factor)
    checks.positive("high_freq_factor", high_freq_factor)
    if low_freq_factor >= high_freq_factor:
        raise ValueError(
            "low_freq_factor must be below high_freq_factor, got low_freq_factor "
            f"{low_freq_factor}, high_freq_factor {high_freq_factor}"
        )
    return ntk_by_parts(
        rotary_dim,
        base,
        factor=factor,
        original_max_seq_len=original_max_seq_len,
        beta_fast=high_freq_factor,
        beta_slow=low_freq_factor,
    )


def longrope(
    rotary_dim: int,
    base: float = 10_000.0,
    *,
    short_factor: Sequence[float],
    long_factor: Sequence[float],
    factor: float,
    original_max_seq_len: int,
    seq_len: int | None = None,
    attention_factor: float | None = None,
) -> tuple[Tensor, float]:
    """Slow each pair down by its own factor, from one list for short sequences and one for long.

    `inv_freq[i] = base ** (-2 * i / rotary_dim) / slowdown[i]`, with `slowdown = long_factor` if
    `seq_len > original_max_seq_len`, else `short_factor`. `attention_factor`, unless given, is
    `sqrt(1 + ln(factor) / ln(original_max_seq_len))`, or 1 for a factor up to 1.

    Limits: lists of ones are `default`; all entries equal are `linear`. The attention factor is the
    same for both lists. At `original_max_seq_len + 1` all frequencies change at once, and keys in a
    cache no longer fit; vLLM therefore stays with the long list for a whole run.

    Args:
        rotary_dim: leading dimensions that rotate.
        base: of the unscaled frequencies.
        short_factor: `rotary_dim // 2` positive numbers.
        long_factor: likewise.
        factor: new length over trained length, positive; sets the attention factor only.
        original_max_seq_len: trained length, tokens, above 1.
        seq_len: length of the present sequence, tokens; short unless given.
        attention_factor: in place of the formula.

    Returns:
        `(inv_freq, attention_factor)`.

    Raises:
        TypeError: if a number is not real, a length not an integer, or a list not a sequence.
        ValueError: if a number is not positive and finite, a list has another length than
            `rotary_dim // 2`, or `original_max_seq_len` is 1.

    Source:
        LongRoPE (Ding et al., arXiv:2402.13753); transformers 5.23,
        `_compute_longrope_parameters`.

    Example:
        >>> options = dict(short_factor=[1, 1], long_factor=[1, 4], factor=4.0,
        ...                original_max_seq_len=4096)
        >>> longrope(4, **options, seq_len=4096)[0]
        tensor([1.0000, 0.0100], dtype=torch.float64)
        >>> longrope(4, **options, seq_len=4097)[0]
        tensor([1.0000, 0.0025], dtype=torch.float64)
    """
    checks.positive("factor", factor)
    checks.length("original_max_seq_len", original_max_seq_len)
    if original_max_seq_len == 1:
        raise ValueError("original_max_seq_len must be above 1 for LongRoPE, got 1")
    inv_freq = frequencies.inv_freq(rotary_dim, base)
    for name, numbers in (("short_factor", short_factor), ("long_factor", long_factor)):
        checks.positive_list(name, numbers, len(inv_freq))
    if seq_len is not None:
        checks.length("seq_len", seq_len)
    if attention_factor is None:
        growth = math.log(max(factor, 1)) / math.log(original_max_seq_len)
        attention_factor = math.sqrt(1 + growth)
    checks.positive("attention_factor", attention_factor)
    is_long = seq_len is not None and seq_len > original_max_seq_len
    slowdown = torch.tensor(
        long_factor if is_long else short_factor, dtype=torch.float64, device="cpu"
    )
    return inv_freq / slowdown, float(attention_factor)


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


def clipped(
    rotary_dim: int, base: float = 10_000.0, *, original_max_seq_len: int
) -> tuple[Tensor, float]:
    """Let every pair stand still that does not complete a turn within the trained length.

    `inv_freq[i] = f[i] if f[i] >= 2 pi / original_max_seq_len else 0`, with `f` unscaled.

    Limits: a trained length beyond the longest wavelength changes nothing. This is hard clipping;
    the softer edge of CoPE, which its paper argues for, is not implemented here.

    Args:
        rotary_dim: leading dimensions that rotate.
        base: of the unscaled frequencies.
        original_max_seq_len: trained length, tokens.

    Returns:
        `(inv_freq, 1.0)`.

    Raises:
        TypeError: if the length is not an integer.
        ValueError: if it is not positive.

    Source:
        Hard clipping as discussed in CoPE (arXiv:2602.05258), abstract.

    Example:
        >>> clipped(8, original_max_seq_len=100)[0]
        tensor([1.0000, 0.1000, 0.0000, 0.0000], dtype=torch.float64)
    """
    checks.length("original_max_seq_len", original_max_seq_len)
    inv_freq = frequencies.inv_freq(rotary_dim, base)
    return inv_freq * (frequencies.turns(inv_freq, original_max_seq_len) >= 1), 1.0


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


def _stretched_base(rotary_dim: int, base: float, factor: float) -> float:
    frequencies.check_rotary_dim(rotary_dim)
    frequencies.check_base(base)
    if rotary_dim == 2:
        raise ValueError("rotary_dim must be above 2 where the base is stretched, got 2")
    try:
        return base * factor ** (rotary_dim / (rotary_dim - 2))
    except OverflowError as error:
        raise ValueError(
            f"the stretched base must be finite, got base {checks.shown(base)} stretched by "
            f"{checks.shown(factor)}"
        ) from error
