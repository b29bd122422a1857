"""What only a long call can show: frequencies that are meant to change with its length."""

import inspect
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from ropelib.config import RopeConfig
from ropelib.diagnosis.dynamic_meant import grown_otherwise, is_dynamic
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.report import Finding, note, wrong
from ropelib.rotation import apply_rotary, cos_sin

_ANGLE_ERROR = 0.02  # rad, as at far positions, and what float32 adds there, for each position
_ROUNDING = 2.0**-21
_NOT_GROWN = "rope_type dynamic not read, or the length of the first call kept"
_LONGEST = 2**24  # tokens; beyond every length that a model is made for

Meant = Callable[[int], tuple[Tensor, float]]


def meant_at(inv_freq: object, attention_factor: object) -> Meant | None:
    """Return what is meant for a call of so many tokens, where that differs from a short one's.

    Args:
        inv_freq: what an expectation has by that name, perhaps a method that takes `seq_len`.
        attention_factor: likewise.

    Example:
        >>> from ropelib.config import RopeConfig
        >>> config = RopeConfig(4, 4, 10_000.0, "half", "dynamic", {"factor": 2.0}, max_seq_len=8)
        >>> meant = meant_at(config.inv_freq, config.attention_factor)
        >>> [round(float(meant(length)[0][1]), 4) for length in (8, 16)]
        [0.01, 0.0033]
    """
    if not _takes_length(inv_freq):
        return None

    def meant(length: int) -> tuple[Tensor, float]:
        factor = attention_factor(length) if _takes_length(attention_factor) else attention_factor
        factor = factor() if callable(factor) else factor
        return torch.as_tensor(inv_freq(length)).double(), 1.0 if factor is None else float(factor)

    return None if _same(meant(1), meant(_LONGEST)) else meant


def _takes_length(value: object) -> bool:
    return callable(value) and "seq_len" in inspect.signature(value).parameters


def _same(one: tuple[Tensor, float], other: tuple[Tensor, float]) -> bool:
    return torch.equal(one[0], other[0]) and one[1] == other[1]


def differs_when_long(
    m: Measured, meant: Meant | None, config: RopeConfig | None = None
) -> Finding | None:
    """Compare a call of as many tokens as are taken with what is meant for that length."""
    if meant is None or m.permutation is not None or m.pairing.layout is None or m.axes:
        return None
    if m.pairing.offset or _same(meant(1), meant(m.limit)):
        return None
    turned = {m.limit: m.full[0, 0]}
    for length in _where_they_switch(meant, m.limit):
        x = m.one_vector.expand(1, 2, length, m.head_dim)
        turned[length] = m.probe(x, range(length))[0, 0]
    for length, result in turned.items():
        since = _first_difference(m, result, meant(length))
        if since is not None:
            if _first_difference(m, result, meant(1)) is not None:
                named = grown_otherwise(m, config, result, since)
                return named or _unlike(length, since, stays=False)
            finding = _unlike(length, since, stays=True)
            return replace(finding, cause=_NOT_GROWN) if is_dynamic(config) else finding
    return None


def _where_they_switch(meant: Meant, limit: int) -> tuple[int, ...]:
    """Return the last length of short frequencies and the next, where there are two kinds."""
    if not _same(meant(limit), meant(_LONGEST)):
        return ()
    short, long = 1, limit
    while long - short > 1:
        middle = (short + long) // 2
        short, long = (middle, long) if _same(meant(middle), meant(1)) else (short, middle)
    return short, long


def _unlike(length: int, since: int, *, stays: bool) -> Finding:
    return wrong(
        "long-calls-not-as-expected",
        f"In a call of {length} tokens pairs turn otherwise than is meant for that length"
        + (": as in a short call." if stays else "."),
        "dynamic NTK or LongRoPE read as fixed, long_factor never taken, or another list, factor "
        "or length at which they change",
        since,
        tokens=length,
    )


def _first_difference(m: Measured, result: Tensor, meant: tuple[Tensor, float]) -> int | None:
    """Return the first position of a call that is not turned as these frequencies turn it."""
    inv_freq, factor = meant
    x, ids = m.one_vector.double().expand(len(result), -1), torch.arange(len(result))
    cos, sin = (factor * table for table in cos_sin(ids, inv_freq, dtype=torch.float64))
    turned = apply_rotary(x, cos, sin * (m.direction or 1), layout=m.pairing.layout)
    return _since(m, result, turned)


def _since(m: Measured, turned: Tensor, meant: Tensor, noise: float = 0) -> int | None:
    """Return the first position at which two long calls differ by more than rounding."""
    apart = (turned.double() - meant.double()).abs().amax(-1)
    angle = _ANGLE_ERROR + 8 * (m.noise + noise) + torch.arange(len(apart)) * _ROUNDING
    differs = apart > angle * float(meant.abs().max())
    return int(differs.nonzero()[0]) if bool(differs.any()) else None


def differs_from_another(m: Measured, other: Measured) -> Finding | None:
    """Compare long calls of two rotations that are alike in short ones."""
    if m.limit != other.limit or not (m.depends_on_length or other.depends_on_length):
        return None
    since = _since(m, m.full[0, 0], other.full[0, 0], other.noise)
    return None if since is None else _unlike(m.limit, since, stays=not m.depends_on_length)


def not_reached(m: Measured, meant: Meant | None) -> Finding | None:
    """Say that frequencies are meant to change beyond the positions that were tried."""
    if meant is not None and _same(meant(1), meant(m.limit)):
        return note(
            "long-calls-not-tried",
            f"Frequencies are meant to change in calls of more than {m.limit} tokens, which were "
            "not tried: raise max_position.",
            tokens=m.limit,
        )
    return None
