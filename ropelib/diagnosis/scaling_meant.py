"""What became of a scaling that is expected: the usual slips in it are computed."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

import torch
from torch import Tensor

from ropelib.config import RopeConfig
from ropelib.diagnosis.fit import Fit
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.report import Finding, wrong
from ropelib.frequencies import inverse_frequencies
from ropelib.scaling import llama3, ntk_by_parts, yarn

UNSCALED = "Frequencies are the unscaled ones: the scaling that is expected is missing."
_DEFAULT_BASE = 10_000.0
_LARGEST_BASE = 1e15
_KEYS = {  # of the two ends, and what they are in files that leave them out
    "yarn": {"beta_fast": 32.0, "beta_slow": 1.0},
    "llama3": {"high_freq_factor": 4.0, "low_freq_factor": 1.0},
}
_OTHER_RAMP = {  # what it is like, and how that comes about
    "yarn": (
        "over turns, not over indices of pairs",
        "the ramp as YaRN's paper has it; models are trained with one over indices",
    ),
    "llama3": ("over indices of pairs, not over turns", "YaRN's ramp between Llama 3's numbers"),
}
_OF_TURNS = {
    "yarn": "ln(length / turns) for ln(length / (2 pi turns))",
    "llama3": "1 / inv_freq taken for the wavelength, which is 2 pi / inv_freq",
}


def slipped(
    config: RopeConfig | None, measured: Tensor, tolerance: float, evidence: dict
) -> Finding | None:
    """Return the finding that frequencies are as one slip in what is configured makes them.

    Args:
        config: what is expected, if it was given as a configuration.
        measured: frequencies of all pairs, rad/token.
        tolerance: relative, of frequencies that are the same.
        evidence: what is told beside.
    """
    if config is None or len(measured) != config.rotary_dim // 2:
        return None
    slips = {"yarn": _of_blends, "llama3": _of_blends, "longrope": _of_lists}
    of_type = slips.get(config.rope_type, lambda _: ())(config)
    for made, code, sentence, cause in chain(of_type, _of_the_base(config, measured)):
        if bool(((measured / made - 1).abs() < tolerance).all()):
            return wrong(code, sentence, cause, **evidence)
    return None


def scaling_off(m: Measured, fit: Fit, evidence: dict) -> Finding | None:
    """Where slow pairs alone are meant to be slowed, say what became of the others."""
    if m.fit.base is None or abs(m.fit.base / fit.base - 1) > 1e-4:
        return None
    if m.fit.is_geometric and abs(m.fit.factor / fit.jump - 1) < 1e-3:
        return Finding(
            "scaled-as-linear",
            "wrong",
            f"All frequencies are divided by {m.fit.factor:.6g}, expected of slow pairs alone.",
            evidence,
            "rope_type llama3 or yarn read as linear: its factor is taken, and no more",
        )
    if m.fit.jump is not None and abs(m.fit.jump / fit.jump - 1) < 1e-3:
        which, cause = _between(m, fit)
        sentence = f"Base and factor are the expected ones, and {which}."
        return Finding("blend-not-as-expected", "wrong", sentence, evidence, cause)
    if (m.fit.jump or 1) > 1.01:
        return wrong(
            "factor-not-as-expected",
            f"Slow pairs are divided by {m.fit.jump:.6g}, expected {fit.jump:.6g}.",
            "the factor of another model, or of another length, in rope_scaling",
            ratio=fit.jump / m.fit.jump,
        )
    return None


def _between(m: Measured, fit: Fit) -> tuple[str, str]:
    """Say which pairs lie between fast and slow ones, beside what is expected, and why."""
    fast, slow = m.fit.split
    if fast + slow == m.pairing.width and sum(fit.split) < m.pairing.width:
        return (
            f"no pair lies between the {fast} fast and the {slow} slow ones, as in a step",
            "a step in place of a ramp, or its ends exchanged (beta_fast and beta_slow, "
            "low_freq_factor and high_freq_factor)",
        )
    if (fast, slow) == fit.split:
        return (
            "the same pairs lie between the fast and the slow ones, at other frequencies",
            "smooth (or the ramp) for 1 - smooth in the blend, truncate ignored (gpt-oss), or "
            "another interpolation",
        )
    return (
        "other pairs lie between the fast and the slow ones",
        "its ends exchanged or defaults (beta_fast and beta_slow, low_freq_factor and "
        "high_freq_factor), truncate ignored (gpt-oss), or another "
        "original_max_position_embeddings",
    )


def _of_the_base(config: RopeConfig, measured: Tensor) -> Iterator[tuple[Tensor, str, str, str]]:
    """Yield the scaled frequencies of the base that the fast pairs have, if it is another one."""
    if config.rope_type == "default" or len(measured) < 3 or float(measured[:2].min()) <= 0:
        return
    base = float(f"{float(measured[0] / measured[1]) ** len(measured):.3g}")
    if not 1 < base < _LARGEST_BASE or abs(base / config.base - 1) < 1e-3:
        return
    try:
        made = replace(config, base=base).inv_freq()
    except ValueError:  # whose ramp would lie outside of the head
        return
    yield (
        made,
        "base-not-as-expected",
        f"The base is {base:.6g}, expected {config.base:.6g}; the scaling is the expected one.",
        "rope_theta lost on the way from the configuration, so that a default is used; or that of "
        "another model",
    )


def _of_lists(config: RopeConfig) -> Iterator[tuple[Tensor, str, str, str]]:
    """Yield frequencies by factors of other calls or used otherwise, and what is said of each."""
    plain = inverse_frequencies(config.rotary_dim, config.base)
    short, long = (
        torch.tensor(config.scaling[key], dtype=torch.float64)
        for key in ("short_factor", "long_factor")
    )
    yield (
        plain / long,
        "frequencies-not-as-expected",
        "Short calls have the frequencies of long ones, by long_factor.",
        "long_factor taken whatever the length, or the two lists exchanged: up to "
        f"original_max_position_embeddings, {config.original_max_seq_len}, short_factor is due",
    )
    yield (
        plain,
        "scaling-missing",
        UNSCALED,
        "rope_scaling not read: calls of any length have factors, short ones short_factor",
    )
    yield (
        plain * short,
        "frequencies-not-as-expected",
        "Frequencies are multiplied by short_factor, which should divide them.",
        "a factor of wavelengths taken for one of frequencies",
    )


def _of_blends(config: RopeConfig) -> Iterator[tuple[Tensor, str, str, str]]:
    """Yield frequencies by blends that are made otherwise, and what is said of each."""
    for made, how, cause in _slips(config):
        sentence = f"Base and factor are the expected ones, and the blend is one {how}."
        yield made, "blend-not-as-expected", sentence, cause


def _slips(config: RopeConfig) -> Iterator[tuple[Tensor, str, str]]:
    """Yield frequencies, what their blend is like, and how that comes about."""
    method, other = {"yarn": (yarn, ntk_by_parts), "llama3": (llama3, yarn)}[config.rope_type]
    (fast, of_fast), (slow, of_slow) = (defaults := _KEYS[config.rope_type]).items()
    length = config.original_max_seq_len
    options = defaults | dict(config.scaling) | {"original_max_seq_len": length}
    factor, plain = options["factor"], inverse_frequencies(config.rotary_dim, config.base)

    def blended(
        of: Callable = method,
        width: int = config.rotary_dim,
        base: float = config.base,
        options: dict = options,
        **changes,
    ) -> Tensor:
        """Return frequencies of the right base whose blend is made otherwise."""
        try:
            made, _ = of(width, base, **options | changes)
        except ValueError:  # these numbers do not allow the slip
            return torch.full_like(plain, math.nan)
        return plain * (made / inverse_frequencies(width, base))[: len(plain)]

    for longer in dict.fromkeys((config.max_seq_len, round(length * factor))):
        if longer not in (None, length):
            yield (
                blended(original_max_seq_len=longer),
                f"of a trained length of {longer} tokens, expected {length}",
                "max_position_embeddings taken for original_max_position_embeddings",
            )
    yield (
        blended(**{fast: options[fast] / math.tau, slow: options[slow] / math.tau}),
        "without the 2 pi in its ends",
        _OF_TURNS[config.rope_type],
    )
    if (options[fast], options[slow]) != (of_fast, of_slow):
        yield (
            blended(**defaults),
            f"of {fast} {of_fast:g} and {slow} {of_slow:g}, expected {options[fast]:g} and "
            f"{options[slow]:g}",
            f"{fast} and {slow} not read, so that defaults are used",
        )
    ends = {"beta_fast": options[fast], "beta_slow": options[slow]}
    yield (
        blended(other, options={"factor": factor, "original_max_seq_len": length} | ends),
        *_OTHER_RAMP[config.rope_type],
    )
    right = blended()
    yield (
        right.where((right == plain) | (right == plain / factor), plain + plain / factor - right),
        "that is upside down between its ends",
        "smooth for 1 - smooth in the blend",
    )
    if method is yarn:
        yield from _slips_of_indices(config, blended)


def _slips_of_indices(
    config: RopeConfig, blended: Callable[..., Tensor]
) -> Iterator[tuple[Tensor, str, str]]:
    """Yield those of a ramp over indices of pairs."""
    truncated = config.scaling.get("truncate", True)
    yield (
        blended(truncate=not truncated),
        f"whose ends are {'not ' * truncated}rounded to whole pairs",
        "floor and ceil left out" if truncated else "truncate: false not read (gpt-oss)",
    )
    yield (
        blended(width=config.head_dim),
        f"made for a width of {config.head_dim}, expected {config.rotary_dim}",
        "head_dim handed to the ramp, where rotary_dim turns",
    )
    yield (
        blended(base=math.sqrt(config.base)),
        "that begins and ends at twice the index",
        "ln(base) for 2 ln(base) in the ends of the ramp, which counts pairs",
    )
    plain = inverse_frequencies(config.rotary_dim, config.base)
    twice = (2 * torch.arange(len(plain))).clamp(max=len(plain) - 1)
    yield (
        plain * (blended() / plain)[twice],
        "that begins and ends at half the index",
        "torch.arange(0, d, 2) for torch.arange(d // 2) in the ramp, which counts pairs",
    )
    yield (
        blended(base=_DEFAULT_BASE),
        f"made for base {_DEFAULT_BASE:g}, expected {config.base:g}",
        "rope_theta not handed to the ramp, so that a default is used",
    )
