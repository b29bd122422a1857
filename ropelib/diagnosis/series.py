"""The rule on frequencies that nobody chose: a buffer of them that was never filled."""

import math
from itertools import pairwise

import torch
from torch import Tensor

from ropelib.diagnosis.fit import Fit, is_round, raised
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.precision import lost_precision
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import wrap

_EQUAL = 1e-5  # relative difference below which two frequencies are one
_LARGEST_BASE, _SMALLEST_BASE = 1e15, 1.5  # of a series that somebody chose
_USUAL_BASES = (10_000, 500_000, 1_000_000, 100_000, 10_000_000)
_HEADS = range(6, 257)  # of one layer, where fewer may be parts or axes of one head
_LARGEST_STEP = 1e3  # by which one pair is slower than the one before
_STEEP = 9e3  # where no more than an eighth of them is seen
_UNDIVIDED = (
    "exponents without their denominator: base ** 2i, or base ** 2i / d, where base ** (2i / d) is "
    "meant"
)
_MOST_AXES = 4  # pairs of a still axis come by steps: time, height and width, and one to spare
_MOST_SERIES = 8  # side by side: six axes of a pose in space, and two to spare


def unfilled(m: Measured) -> Finding | None:
    """Frequencies that are zero between others, repeated, or in no order."""
    slots = _slots(m)
    if slots is None or (m.axes and m.axes.of_pairs is None):  # of mixed axes text has the sums
        return None
    speeds = m.speeds[: m.num_pairs]
    parts = [speeds]
    if m.axes:  # each has a series of its own
        axes = torch.tensor(m.axes.of_pairs)
        parts = [speeds[axes == axis] for axis in axes.unique()]
    orders = (_repeats(part) or _disorder(m, part) for part in parts)
    reason = _lone(m, slots) or _gaps(slots, speeds) or next(filter(None, orders), "")
    if not reason:
        return None
    explained = lost_precision(m)
    if explained and explained.code != "angles-drift":  # a short table, say, which starts anew
        return explained
    return wrong(
        "frequencies-unfilled",
        f"{reason}: few choose such frequencies, and memory that was never written holds them.",
        "inv_freq is a buffer that is not saved: made on the meta device, given memory by "
        "to_empty(), and never computed again"
        + _overflown(reason, speeds)
        + (", or pairs that are counted from the second on" if slots[0] == 1 else ""),
        pairs_that_turn=m.num_pairs,
        of=_room(m, slots),
        first_frequencies=", ".join(f"{float(s):.4g}" for s in speeds[:4]),
    )


def of_each_axis(m: Measured) -> dict[int, Fit]:
    """Return the series of each axis over its own pairs; none unless all have one, of 3 pairs."""
    if m.axes is None or m.axes.of_pairs is None:
        return {}
    of_pairs = torch.tensor(m.axes.of_pairs)
    parts = {axis: m.turning[of_pairs == axis] for axis in of_pairs.unique().tolist()}
    fits = {axis: Fit.of(part, len(part), m.tolerance) for axis, part in parts.items()}
    known = len(fits) > 1 and all(len(part) > 2 for part in parts.values())
    return fits if known and all(fit.is_geometric for fit in fits.values()) else {}


def beyond_sense(m: Measured) -> Finding | None:
    """A geometric series of a base that nobody takes, or of angles in degrees."""
    fit, width = m.fit, m.pairing.width
    if finding := _too_steep(m):
        return finding
    if not fit.is_geometric or m.num_pairs < 2:
        return None
    chosen = width >= 8 or (fit.base > 1 and is_round(fit.base))  # few pairs follow any series
    if chosen and abs(fit.factor / math.degrees(1) - 1) < 1e-4:
        return wrong(
            "angles-in-degrees",
            "All frequencies are divided by 57.2958: angles are taken for degrees, and made "
            "radians once more.",
            "deg2rad, or a factor of pi / 180, on angles that are radians already",
            factor=fit.factor,
        )
    if width < 8:  # a round base says that it was chosen
        upwards = m.num_pairs > 2 and fit.base < 1e-2 and is_round(1 / fit.base)
        return exponents_positive(m) if upwards and abs(fit.factor - 1) < 1e-4 else None
    if fit.base < 0.5 and abs(fit.factor - 1) < 1e-4 + m.noise:
        return exponents_positive(m)
    step = fit.base ** (1 / width)  # from pair to pair
    if fit.base > _LARGEST_BASE and (m.num_pairs >= 4 or step > _LARGEST_STEP):
        own = raised(fit.base, m.num_pairs / width)
        apart = m.num_pairs < width and m.pairing.layout == "half" and is_round(own)
        return wrong(
            "base-beyond-sense",
            f"The base is {own:.6g} over the {2 * m.num_pairs} dimensions that turn, and "
            f"{fit.base:.6g} over all that pairs (i, i + {width}) have room for."
            if apart
            else f"The base is {fit.base:.6g}: all but the first pairs hardly turn.",
            f"the partner of dimension i at i + {width}, half a head on, where it is at "
            f"i + {m.num_pairs}, half of the part that turns"
            if apart
            else _UNDIVIDED,
            base=fit.base,
            second_frequency_in_the_first=1 / step,
        )
    if abs(fit.factor - 1) < 1e-4 and (of_more := _of_more_dims(fit.base, m)):
        return of_more
    if 1 - _EQUAL < fit.base < _SMALLEST_BASE and abs(fit.factor - 1) < 1e-4:
        return wrong(
            "base-beyond-sense",
            f"The base is {fit.base:.6g}: all pairs turn at nearly one frequency, 1 rad/token.",
            "exponents that are all zero, as an integer division 2i // d makes them",
            base=fit.base,
        )
    if abs(fit.base / math.e - 1) < 1e-4 + m.noise and abs(fit.factor - 1) < 1e-4:
        return wrong(
            "base-beyond-sense",
            f"The base is {fit.base:.6g}, which is e: even the slowest pair turns by "
            f"{float(m.turning.min()):.3g} rad/token.",
            "exp(-2i / d), without the logarithm of the base: exp(-2i / d * log(base))",
            base=fit.base,
        )
    return None


def _of_more_dims(base: float, m: Measured) -> Finding | None:
    """Exponents over a width that several heads have together."""
    if is_round(base) or base < 1 + _EQUAL:
        return None
    for whole in _USUAL_BASES:
        heads = round(math.log(whole) / math.log(base))
        if heads in _HEADS and abs(math.log(base) * heads / math.log(whole) - 1) < m.tolerance:
            return wrong(
                "base-beyond-sense",
                f"The base is {base:.6g}, which is {whole:,} ** (1 / {heads}): even the slowest "
                f"pair turns by {float(m.turning.min()):.3g} rad/token.",
                f"exponents over the width of {heads} heads together, hidden_size, where that of "
                "one is meant",
                base=base,
            )
    return None


def _too_steep(m: Measured) -> Finding | None:
    """A series of which few pairs can be seen to turn, and not as a part of a head that turns."""
    speeds, count = m.turning.abs(), m.num_pairs
    if count < 2 or 8 * count > m.head_dim or m.axes or _slots(m) != [*range(count)]:
        return None
    steps = speeds[:-1] / speeds[1:]
    if float(steps.min()) < _STEEP:
        return None
    return wrong(
        "base-beyond-sense",
        f"Of {m.head_dim // 2} pairs the first {count} alone turn by what can be seen, each by "
        f"less than 1 / {int(steps.min())} of the one before.",
        _UNDIVIDED,
        first_frequencies=", ".join(f"{float(s):.4g}" for s in speeds),
    )


def exponents_positive(m: Measured) -> Finding:
    """Return the finding that frequencies grow from 1 rad/token on."""
    base = 1 / m.fit.base
    return wrong(
        "exponents-positive",
        f"The first pair turns by 1 rad/token and each by more than the one before, up to "
        f"{float(m.turning.max()):.6g}: they are {base:.6g} ** (2i / d), not {base:.6g} ** "
        "(-2i / d).",
        "the minus of the exponent is lost, or the reciprocal of the power",
        base=base,
        fastest_frequency=float(m.turning.max()),
    )


def counted_late(m: Measured) -> Finding | None:
    """Exponents that are half a step or a step late."""
    fit, width = m.fit, m.pairing.width
    if not fit.is_geometric or m.num_pairs < 4 or not is_round(fit.base):
        return None
    if is_round(fit.factor):  # few pairs: a linear factor can be such a power of the base
        return None
    if abs(fit.factor / fit.base ** (0.5 / width) - 1) < 1e-5 + 4 * m.noise:
        return wrong(
            "exponents-from-a-half",
            f"Pairs are counted half a step late: the first turns by {float(m.turning[0]):.6g} and "
            "not by 1 rad/token.",
            "the exponent (2i - 1)/d taken literally for pairs counted from 1; it needs "
            "2(i - 1)/d, or 2i/d for pairs counted from 0",
            base=fit.base,
            factor=fit.factor,
        )
    if abs(fit.factor / fit.base ** (1 / width) - 1) < 1e-5 + 4 * m.noise:
        return wrong(
            "exponents-from-one",
            f"Pairs are counted from 1: the first turns by {float(m.turning[0]):.6g} and not by "
            "1 rad/token, and each as the next one should.",
            "a formula with i = 1 .. d/2 and the exponent 2i/d, taken literally; it needs "
            "2(i - 1)/d, or pairs counted from 0",
            base=fit.base,
            factor=fit.factor,
        )


def multiplied(m: Measured) -> Finding | None:
    """Frequencies of a series that begins above 1 rad/token, where no axis has its own unit."""
    fit = m.fit
    if not fit.is_geometric or fit.base < 1 or m.axes or fit.factor > 1 - 1e-3 - 8 * m.noise:
        return None
    if abs(fit.factor * math.tau - 1) < 1e-4:
        return None  # positions counted in turns, as DINOv3's
    first = float(m.turning[0])
    beyond = (
        f" The first is taken for {first:.6g} rad/token, as the slower ones go on: seen alone, "
        f"modulo a turn, it is {math.remainder(first, math.tau):.6g}."
    )
    times = 1 / fit.factor
    in_degrees = abs(math.radians(times) - 1) < 1e-4
    return wrong(
        "frequencies-multiplied",
        f"All frequencies are multiplied by {times:.6g}, and scaling for longer texts "
        f"divides them.{beyond if first > math.pi else ''}",
        "angles in degrees: cos and sin take radians"
        if in_degrees
        else "positions that are doubled, vectors that are rotated twice, or linear scaling "
        "multiplied where it divides",
        multiplied_by=times,
    )


def _room(m: Measured, slots: list[int]) -> int:
    """Return of how many pairs those that turn are a part."""
    if m.num_pairs == 1:
        return m.head_dim // 2
    return m.pairing.width if m.pairing.layout else int(slots[-1]) + 1


def _slots(m: Measured) -> list[int] | None:
    """Return the number of each turning pair among those that its layout has room for."""
    firsts = m.dims[: m.num_pairs]
    distances = {m.partner[a] - a for a in firsts}
    if len(distances) != 1:
        return None
    if distances != {1}:
        return firsts if max(firsts) < min(distances) + firsts[0] else None
    return [a // 2 for a in firsts] if len({a % 2 for a in firsts}) == 1 else None


def _lone(m: Measured, slots: list[int]) -> str:
    if slots != [0] or m.head_dim < 16:
        return ""
    firsts = torch.tensor([1.0, m.head_dim, 1 / m.head_dim])
    if m.pairing.width < 8 and float((wrap(firsts).abs() - m.turning.abs()).abs().min()) > _EQUAL:
        return ""  # neighbors: a part of two dimensions
    return f"One pair of {m.head_dim // 2} turns"


def _overflown(reason: str, speeds: Tensor) -> str:
    """What else makes 1, 0, 0, ..: a base that float16 does not hold, or powers of all 2i."""
    if not reason.startswith("One pair"):
        return ""
    if abs(float(speeds[0].abs()) - 1) > _EQUAL:
        return f"; or {_UNDIVIDED}"
    return (
        "; or a base above 65504 in float16, where it is infinite, and all powers but the first; "
        f"or {_UNDIVIDED}"
    )


def _gaps(slots: list[int], speeds: Tensor) -> str:
    """Pairs that stand still before or between others, but for those of an axis that is still."""
    gaps = sorted(set(range(slots[-1])) - set(slots))
    if not gaps:
        return ""
    between = [slot for slot in gaps if slot > slots[0]]
    line = _line_over(slots, speeds)
    if between:
        steps = {b - a for a, b in pairwise(between)}
        one_step = len(between) >= 3 and len(steps) == 1 and max(steps) <= _MOST_AXES
        of_an_axis = one_step or len(between) >= len(slots)
        if line is not None and of_an_axis:
            return ""
        return f"Pairs between others stand still, the first of them pair {between[0]}"
    if line is not None and abs(line) < 1e-3 and gaps == [0]:
        return f"The first of {slots[-1] + 1} pairs stands still, and the others turn as usual"
    return ""


def _line_over(slots: list[int], speeds: Tensor) -> float | None:
    """Return the logarithm at slot 0 of the geometric series over `slots`, if it is one."""
    if len(slots) < 3:
        return None
    x, logs = torch.tensor(slots, dtype=torch.float64), speeds.abs().log()
    x0, y0 = x.mean(), logs.mean()
    slope = ((x - x0) * (logs - y0)).sum() / ((x - x0) ** 2).sum()
    start = y0 - slope * x0
    return float(start) if (logs - start - slope * x).abs().max() < 1e-3 else None


def _repeats(speeds: Tensor) -> str:
    if len(speeds) < 3:
        return ""
    ordered = speeds.sort().values
    new = torch.cat((torch.tensor([True]), ordered.diff() > _EQUAL * ordered[1:].abs()))
    counts = torch.bincount(new.cumsum(0) - 1)
    if len(counts) == len(speeds):
        return ""
    if len(counts) == 1:
        return f"All {len(speeds)} pairs turn at one frequency"
    most = f"{int(counts.max())} pairs of {len(speeds)} turn at one frequency"
    falls, rises = _falls_and_rises(speeds)
    if not min(falls, rises):  # one series, with ties: of several axes in turn, or rounded
        return "" if len(counts) > 2 else most
    axes = min(falls, rises) + 1  # series side by side, each with a value once
    return "" if counts.max() <= axes <= _MOST_SERIES else most


def _falls_and_rises(speeds: Tensor) -> tuple[int, int]:
    steps = speeds.abs().diff()
    clear = steps[steps.abs() > _EQUAL * speeds[1:].abs()]
    return int((clear < 0).sum()), int((clear > 0).sum())


def _disorder(m: Measured, speeds: Tensor) -> str:
    """Frequencies that neither fall nor rise, nor do those of axes that take turns."""
    count = len(speeds)
    if m.pairing.layout is None or count < 4:
        return ""
    if any(
        all(min(_falls_and_rises(speeds[i::axes])) == 0 for i in range(axes))
        for axes in range(1, min(_MOST_SERIES, count // 4) + 1)
    ):
        return ""
    if min(_falls_and_rises(speeds)) * 4 < count or min(_falls_and_rises(speeds)) < 2:
        return ""
    sane = bool(((speeds.abs() > 1e-6) & (speeds.abs() < math.pi)).all())
    ordered = Fit.of(speeds.abs().sort(descending=True).values, count, 1e-3)
    if sane and not ordered.is_geometric:
        return ""  # learned, it may be: all different, none out of range
    return "Frequencies neither fall nor rise from pair to pair"
