"""Each pair is slowed by a factor of its own, which somebody has searched for and written down."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ropelib import checks
from ropelib.frequencies import inverse_frequencies


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
    cache no longer fit. vLLM therefore decides once for a whole run: the long list if the longest
    sequence that it is to allow, `max_model_len`, is above the trained length, else the short one.

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
        `_compute_longrope_parameters`; vLLM, `rotary_embedding/phi3_long_rope_scaled_rope.py`.

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
    inv_freq = inverse_frequencies(rotary_dim, base)
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
