"""What became of a base that is meant to grow with the call: the usual slips are computed."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from ropelib.config import RopeConfig
from ropelib.diagnosis.fit import Fit
from ropelib.diagnosis.measured import Measured, speeds_of
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import wrap
from ropelib.frequencies import inverse_frequencies

_SAME = 1e-4  # relative, of a base
_ANGLE_ERROR = 0.02  # rad, as at far positions, and what float32 adds there, for each position
_ROUNDING = 2.0**-21
_POWER = " ** (d / (d - 2))"
_LENGTH = "max_position_embeddings"

Of = Callable[[int], float]  # of the length of a call
Slip = tuple[Of, Of, str, str]


def is_dynamic(config: RopeConfig | None) -> bool:
    """Say whether a configuration is given whose base grows with the length of a call."""
    return config is not None and config.rope_type == "dynamic" and config.rotary_dim > 2


def grown_otherwise(
    m: Measured, config: RopeConfig | None, result: Tensor, since: int
) -> Finding | None:
    """Return the finding that the base of long calls grows by one slip in dynamic NTK.

    Args:
        m: one rotation, right in short calls.
        config: what is expected, if it was given as a configuration.
        result: what a call of many tokens makes of `m.one_vector`, `(tokens, head_dim)`.
        since: first position that is not turned as is meant for so many.
    """
    if not is_dynamic(config):
        return None
    length, trained = len(result), config.max_seq_len
    m.short_call()  # code that grows with the longest call begins anew
    between = trained + 3 * (length - trained) // 4
    x = m.one_vector.expand(1, 2, between, m.head_dim)
    calls = [_angles(m, each) for each in (result, m.probe(x, range(between))[0, 0])]
    for base, divisor, said, cause in _slips(m, config, *calls[0]):
        if all(_turn_by(m, base, divisor, *call) for call in calls):
            finding = _finding(config, length, base(length), said, cause)
            return replace(finding, since=since)
    return None


def _angles(m: Measured, result: Tensor) -> tuple[int, Tensor, Tensor]:
    """Return the length of a call, positions in it, and the angles of all pairs there."""
    known, x = m.far.positions[m.far.positions < len(result)], m.one_vector[0].double()
    a, b = m.dims[: m.num_pairs], m.dims[m.num_pairs :]
    turned = result[known].double()
    angles = torch.atan2(turned[:, b], turned[:, a]) - torch.atan2(x[b], x[a])
    return len(result), known, angles * (m.direction or 1)


def _turn_by(
    m: Measured, base: Of, divisor: Of, length: int, known: Tensor, angles: Tensor
) -> bool:
    """Say whether the pairs of a call turn by a row of this base, divided."""
    row = inverse_frequencies(2 * m.pairing.width, base(length)) / divisor(length)
    apart = wrap(angles - known.double()[:, None] * row[list(m.pairing.slots)]).abs().amax(1)
    return bool((apart < _ANGLE_ERROR + 8 * m.noise + known * _ROUNDING).all())


def _finding(config: RopeConfig, length: int, base: float, said: str, cause: str) -> Finding:
    expected = config.base * _growth(config, length) ** _power(config)
    return wrong(
        "long-calls-not-as-expected",
        f"In a call of {length} tokens the base is {base:.6g}, expected {expected:.6g}: {said}.",
        cause,
        tokens=length,
        base=base,
        expected=expected,
    )


def _power(config: RopeConfig) -> float:
    return config.rotary_dim / (config.rotary_dim - 2)


def _growth(config: RopeConfig, length: int) -> float:
    factor = config.scaling["factor"]
    return factor * max(length, config.max_seq_len) / config.max_seq_len - (factor - 1)


def _slips(
    m: Measured, config: RopeConfig, length: int, known: Tensor, angles: Tensor
) -> Iterator[Slip]:
    """Yield base and divisor by the length of a call, what is said of them, and the cause."""
    trained, factor, power = config.max_seq_len, config.scaling["factor"], _power(config)

    def by(growth: Of, said: str, cause: str) -> Slip:
        said = f"it is {config.base:g} * {said}" + " for n tokens" * ("n" in said)
        return lambda n: config.base * growth(n) ** power, lambda n: 1.0, said, cause

    of_n, less = f"n / {trained}", f"{factor - 1:g}"
    yield by(
        lambda n: n / trained,
        f"({of_n}){_POWER}",
        "the factor of rope_scaling left out, as if it were 1",
    )
    yield by(
        lambda n: factor * n / trained,
        f"({factor:g} * {of_n}){_POWER}",
        "- (factor - 1) left out",
    )
    yield by(
        lambda n: factor,
        f"{factor:g}{_POWER}",
        "NTK-aware scaling in place of dynamic: by the factor alone, and not by the length",
    )
    yield by(
        lambda n: _growth(config, n) ** (1 / power),
        f"({factor:g} * {of_n} - {less})",
        "the exponent d / (d - 2) left out",
    )
    yield by(
        lambda n: factor * n - (factor - 1),
        f"({factor:g} * n - {less}){_POWER}",
        f"n for n / {_LENGTH}",
    )
    measured = Fit.of(speeds_of(angles, known), m.pairing.width, m.tolerance, m.pairing.slots)
    if measured.is_geometric:
        growth = (measured.base / config.base) ** (1 / power)
        yield from _of_other_numbers(config, by, length, growth)
    for divisor, said, cause in (
        (lambda n: factor, f"{factor:g}", "rope_type dynamic read as linear, in long calls"),
        (lambda n: n / trained, f"{of_n} for n tokens", "positions squeezed into the trained ones"),
    ):
        yield lambda n: config.base, divisor, f"all frequencies are divided by {said}", cause


def _of_other_numbers(
    config: RopeConfig, by: Callable[..., Slip], length: int, growth: float
) -> Iterator[Slip]:
    """Yield those by another factor, or another length, which the growth of one call tells."""
    trained, factor = config.max_seq_len, config.scaling["factor"]
    other = round(2 * (growth - 1) / (length / trained - 1)) / 2
    if other >= 1:
        yield by(
            lambda n: other * n / trained - (other - 1),
            f"({other:g} * n / {trained} - {other - 1:g}){_POWER}",
            f"another factor than that of the configuration, {factor:g}",
        )
    begins = round(factor * length / (growth + factor - 1))
    if begins > 0:
        yield by(
            lambda n: factor * max(n, begins) / begins - (factor - 1),
            f"({factor:g} * n / {begins} - {factor - 1:g}){_POWER}",
            f"another length than {_LENGTH}, {trained}",
        )


def grown_when_short(m: Measured, config: RopeConfig | None) -> Finding | None:
    """Return the finding that calls within the trained length are scaled as well."""
    if not is_dynamic(config):
        return None
    tokens, trained = int(m.near.positions[-1]) + 1, config.max_seq_len
    if not m.fit.is_geometric or m.obeys != "all" or tokens > trained:
        return None
    if 2 * m.pairing.width != config.rotary_dim:
        return None
    factor, times = config.scaling["factor"], m.fit.base / config.base
    if abs(times - 1) < _SAME and factor != 1 and abs(m.fit.factor / factor - 1) < _SAME:
        return wrong(
            "factor-not-as-expected",
            f"All frequencies are divided by {factor:g}, and it is the base that is meant to grow, "
            f"in calls of more than {trained} tokens.",
            "rope_type dynamic read as linear: its factor is taken, and no more",
            ratio=1 / factor,
        )
    every = "NTK-aware scaling of calls of any length, in place of dynamic"
    ways = [(factor, f"{factor:g}{_POWER}", every)] if factor != 1 else []
    if m.depends_on_length:
        ways += _without_a_least_length(tokens, trained, factor)
    for growth, said, cause in ways:
        if abs(m.fit.factor - 1) < _SAME and abs(times / growth ** _power(config) - 1) < _SAME:
            return wrong(
                "base-not-as-expected",
                f"In a call of {tokens} tokens the base is {m.fit.base:.6g}, expected "
                f"{config.base:.6g} in calls of up to {trained}: it is {config.base:g} * {said}.",
                cause,
                base=m.fit.base,
                expected=config.base,
            )
    return None


def _without_a_least_length(
    tokens: int, trained: int, factor: float
) -> Iterator[tuple[float, str, str]]:
    """Yield by what the base of a short call is scaled, what is said of that, and the cause."""
    for times, of_n, also in (
        (1, f"n / {trained}", " and the factor" * (factor != 1)),
        (factor, f"{factor:g} * n / {trained}", " and - (factor - 1)"),
    ):
        yield (
            times * tokens / trained,
            f"({of_n}){_POWER} for n tokens",
            f"max(n, {_LENGTH}){also} left out, so that short calls are scaled as well",
        )
