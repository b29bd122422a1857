"""What an expectation shows of frequencies: other exponents, or some axes that are off."""

import math

import torch
from torch import Tensor

from ropelib.diagnosis.fit import Fit, is_round, raised
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.resting import last_pair_still
from ropelib.diagnosis.tensors import wrap

_SAME = 1e-4  # relative
_DEFAULT = 10_000  # of nearly all code, for a base that is not given


def base_off(m, fit: Fit) -> Finding | None:
    """Return the finding that the base is not that of what is expected, scaled or not."""
    if not m.fit.is_geometric or fit.base is None:
        return None
    apart = (1e-5 if fit.is_geometric else _SAME) + 8 * m.noise
    if abs(m.fit.base / fit.base - 1) <= apart:
        return None
    sentence = f"The base is {m.fit.base:.6g}, expected {fit.base:.6g}"
    evidence = {"base": m.fit.base, "expected": fit.base}
    cause = "another rope_theta than that of the configuration"
    if abs(m.fit.base / _DEFAULT - 1) <= apart:
        cause = "rope_theta lost on the way from the configuration, so that a default is used"
    times = fit.factor * (fit.jump or 1)  # by what slow pairs are divided
    if times > 1.01 and abs(m.fit.factor - 1) < 1e-3:
        which = "slow" if fit.jump else "all"
        sentence += ", and the scaling that is expected is missing as well: "
        sentence += f"{which} pairs are meant to be divided by {times:.6g}"
        cause = "rope_parameters (rope_theta, rope_scaling) not read, so that defaults are used"
    if ntk := _base_scaled(m, fit.base, times):
        sentence, cause = f"The base is {m.fit.base:.6g}, expected {fit.base:.6g}{ntk[0]}", ntk[1]
    return _exponents_off(m, fit.base) or wrong(
        "base-not-as-expected", f"{sentence}.", cause, **evidence
    )


def _base_scaled(m, base: float, times: float) -> tuple[str, str] | None:
    """Say that the base is NTK-aware where it is not meant to be, or the other way round."""
    rotary = 2 * m.pairing.width
    if rotary < 4 or abs(m.fit.factor - 1) > 1e-3:
        return None
    power = rotary / (rotary - 2)
    if times > 1.01 and abs(m.fit.base / (base * times**power) - 1) < _SAME:
        return (
            f", and frequencies divided by {times:.6g}: it is the base that is scaled",
            f"NTK-aware scaling, base * factor ** (d / (d - 2)) with factor {times:.6g}, in place "
            "of the rope_type that is expected",
        )
    if times > 1.01 or is_round(m.fit.base) == is_round(base):
        return None
    if left_out := _exponent_left_out(m.fit.base, base, power):
        return left_out
    smaller, larger = sorted((base, m.fit.base))
    factor = (larger / smaller) ** (1 / power)
    if not is_round(smaller) or round(factor) < 2 or abs(factor / round(factor) - 1) > _SAME:
        return None
    how = f"{smaller:.6g} * {factor:.6g} ** (d / (d - 2))"
    if base == larger:
        return (
            f", which is {how}",
            f"NTK-aware scaling by {factor:.6g} left out, or computed and not used: rope_theta "
            "alone is taken",
        )
    return (
        f"; {larger:.6g} is {how}",
        f"NTK-aware scaling by {factor:.6g} where none is expected, or the base that a dynamic one "
        "has at one length",
    )


def _exponent_left_out(measured: float, base: float, power: float) -> tuple[str, str] | None:
    """Say that a base is multiplied by a factor, where it is meant by one to a power."""
    factor = raised(base / measured, 1 / (power - 1))
    if not 1.5 < factor < 1e6 or abs(factor / round(factor) - 1) > _SAME**0.5:
        return None
    factor = round(factor)
    if not is_round(measured / factor) or abs(base * factor / measured / factor**power - 1) > _SAME:
        return None
    one = f"{measured / factor:.6g} * {factor}"
    return (
        f", which is {one} ** (d / (d - 2)), and the measured one {one}",
        "the exponent d / (d - 2) of NTK-aware scaling left out",
    )


def slow_pairs_still(m, measured: Tensor, expected: Tensor, before: int) -> Finding | None:
    """Return the finding that the slowest pairs stand still, and the others are as expected.

    `before` counts pairs that stand still before those that turn.
    """
    turn, rest = m.num_pairs, len(expected) - m.num_pairs
    if before or rest < 1 or turn < 1 or not bool(expected.all()):
        return None
    if rest >= turn and m.pairing.width != len(expected):
        return None  # of neighbors, a smaller part that turns
    seen = float(expected[turn].abs()) * int(m.far.positions[-1]) > 2e-6
    if not seen or bool(((measured[:turn] / expected[:turn] - 1).abs() >= 1e-4).any()):
        return None
    if rest == 1:
        return last_pair_still(turn, float(measured[turn - 1]))
    return wrong(
        "frequencies-not-as-expected",
        f"The slowest {rest} pairs stand still and are expected to turn; the {turn} others are as "
        "expected.",
        "p-RoPE where none is meant, or a kernel that leaves out its last, incomplete block",
        pair=turn,
        measured=0.0,
        expected=float(expected[turn]),
    )


def in_reverse(measured: Tensor, expected: Tensor, noise: float) -> Finding | None:
    """Return the finding that the frequencies are the expected ones, the last pair's first."""
    if bool(((measured.flip(0) / expected - 1).abs() > _SAME + 4 * noise).any()):
        return None
    return wrong(
        "frequencies-not-as-expected",
        "Frequencies are the expected ones in reverse: the first pair has that of the last, and "
        "so on.",
        "a table that is flipped, or exponents that are counted from the last pair on",
        pair=0,
        measured=float(measured[0]),
        expected=float(expected[0]),
    )


def in_another_order(measured: Tensor, expected: Tensor, noise: float) -> Finding | None:
    """Return the finding that the frequencies are the expected ones, at other pairs."""
    sizes, meant = measured.abs(), expected.abs()
    apart = (sizes.sort().values - meant.sort().values).abs()
    tolerance = (_SAME + 4 * noise) * meant.sort().values
    if bool((apart > tolerance).any()):
        return None
    seats = ((sizes - meant).abs() > (_SAME + 4 * noise) * meant).nonzero().flatten()
    if not len(seats):
        return None
    first = int(seats[0])
    return wrong(
        "frequencies-not-as-expected",
        f"Frequencies are the expected ones in another order: {len(seats)} of {len(measured)} "
        f"pairs have that of another one, the first of them pair {first}.",
        "pairs, parts of a head or parts of axes that are joined in another order, or dimensions "
        "that are counted from another one on",
        pair=first,
        measured=float(measured[first]),
        expected=float(expected[first]),
    )


def _exponents_off(m, base: float) -> Finding | None:
    """Return the finding that the base is right and its exponents count something else."""
    measured = math.log(m.fit.base) / math.log(base)
    rotary, count = 2 * m.pairing.width, m.pairing.width
    whole = f"2i / {m.head_dim}, of the whole head, in place of 2i / {rotary}"
    if m.head_dim == 2 * rotary:
        whole += "; or i / d in place of 2i / d"
    reasons = {  # what exponents are times those that are expected, and how that comes about
        whole: rotary / m.head_dim,
        "i / d in place of 2i / d": 1 / 2,
        "2i / (d / 2) in place of 2i / d: d is the number of pairs": 2,
        "i / (d/2 - 1), a linspace that reaches its end": count / max(1, count - 1),
    }
    width = round(rotary / measured)
    if width % 8 == 0 and not is_round(m.fit.base):  # a round one is rather the base itself
        of_model = "of another model, or hidden_size // num_heads"
        reasons[f"2i / {width} in place of 2i / {rotary}: the width {of_model}"] = rotary / width
    for reason, times in reasons.items():
        if times != 1 and abs(measured / times - 1) < 1e-4:
            return wrong(
                "exponents-not-as-expected",
                f"The base is the expected one, {base:.6g}, and its exponents are {times:.6g} "
                f"times the expected ones, so that the base seems to be {m.fit.base:.6g}.",
                reason,
                exponents_times=measured,
                base=m.fit.base,
            )
    return None


def axes_off(
    m, measured: Tensor, expected: Tensor, meant: tuple[int, ...] | None
) -> Finding | None:
    """Explain frequencies by a factor of some axes, or by their base.

    Args:
        m: the rotation as it was measured.
        measured: frequencies of all pairs, 0 where one stands still.
        expected: those that are expected, as many.
        meant: the axis that is expected of each pair, if that is known.
    """
    if m.axes is None or (of_pairs := m.axes.of_pairs) is None or meant not in (None, of_pairs):
        return None
    slots, axes = measured.nonzero().flatten(), torch.tensor(of_pairs)
    if not torch.equal(slots, expected.nonzero().flatten()):
        return None
    parts = {axis: slots[axes == axis] for axis in axes.unique().tolist()}
    tolerance = _SAME + 4 * m.noise
    off = {
        axis: own
        for axis, own in parts.items()
        if not _are_times(measured[own], expected[own], 1.0, tolerance)
    }
    if not off:  # by less than that
        return None
    return _by_factors(measured, expected, off, parts, tolerance) or _by_bases(
        measured, expected, off, tolerance
    )


def _are_times(measured: Tensor, expected: Tensor, ratio: float, tolerance: float) -> bool:
    """Say whether frequencies are so many times the expected ones, but for whole turns."""
    apart = wrap(measured - ratio * expected).abs()
    return bool((apart <= tolerance * (ratio * expected).abs()).all())


def _by_factors(
    measured: Tensor,
    expected: Tensor,
    off: dict[int, Tensor],
    parts: dict[int, Tensor],
    tolerance: float,
) -> Finding | None:
    ratios = {}
    for axis, own in off.items():
        slowest = own[expected[own].abs().argmin()]
        ratio = ratios[axis] = float(measured[slowest] / expected[slowest])
        if ratio <= 0 or not _are_times(measured[own], expected[own], ratio, tolerance):
            return None
    times = _listed([f"{ratio:.6g}" for ratio in ratios.values()])
    of_others = [
        f"axis {axis} given the frequencies of axis {other}"
        for axis, own in off.items()
        for other, seats in parts.items()
        if other != axis
        and len(seats) == len(own)
        and _are_times(measured[own], expected[seats], 1.0, tolerance)
    ]
    return wrong(
        "factor-not-as-expected",
        f"Frequencies of {_axes(off)} are {times} times what is expected.",
        "; ".join(of_others)
        or "positions of one axis counted in other steps, as frames are by their rate or the size "
        "of a patch; or a scaling left out, applied twice, or multiplied instead of divided",
        **{f"ratio_of_axis_{axis}": ratio for axis, ratio in ratios.items()},
    )


def _by_bases(
    measured: Tensor, expected: Tensor, off: dict[int, Tensor], tolerance: float
) -> Finding | None:
    bases = {}
    for axis, own in off.items():
        # Each axis with a series of its own, or all with one, dealt out among them.
        fits = []
        for width, slots in ((len(own), None), (len(expected), own.tolist())):
            one, other = (
                Fit.of(each[own], width, tolerance, slots) for each in (measured, expected)
            )
            if one.is_geometric and other.is_geometric and abs(other.factor - 1) < tolerance:
                fits.append((one, other))
        if not fits:
            return None
        found, meant = max(fits, key=lambda fit: is_round(fit[1].base))
        if abs(found.factor / meant.factor - 1) > tolerance:
            return None
        bases[axis] = found.base, meant.base
    if len({f"{one:.6g} {other:.6g}" for one, other in bases.values()}) == 1:
        one, other = next(iter(bases.values()))
        sentence = f"The base of {_axes(off)} is {one:.6g}, expected {other:.6g}."
    else:
        each = (f"axis {a} {one:.6g}, expected {other:.6g}" for a, (one, other) in bases.items())
        sentence = f"Bases are others: {'; '.join(each)}."
    evidence = {f"base_of_axis_{axis}": one for axis, (one, _) in bases.items()}
    evidence |= {f"expected_of_axis_{axis}": other for axis, (_, other) in bases.items()}
    return wrong(
        "base-not-as-expected",
        sentence,
        "rope_theta (theta) lost on the way to the tables of axes, so that a default is used"
        + _or_exponents([*bases.values()]),
        **evidence,
    )


def _or_exponents(bases: list[tuple[float, float]]) -> str:
    """Say that bases may be right, where exponents are half or twice the expected ones."""
    times = {round(math.log(one) / math.log(other), 3) for one, other in bases}
    if times == {0.5}:
        return "; or exponents i / d for 2i / d, by the width of the head and not of an axis"
    return "; or exponents 4i / d for 2i / d" if times == {2.0} else ""


def _axes(axes: dict[int, object]) -> str:
    return ("axis " if len(axes) == 1 else "axes ") + _listed([str(axis) for axis in axes])


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
