"""The rule on whole turns that are taken off angles as a rounded 2 pi."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import wrap

_LEAST = 2e-6  # rad a turn; float32 holds 2 pi to a tenth of that
_FITS = 0.2  # of the error: what whole turns may leave unexplained
_STRAYS, _ROUNDED = 0.1, 4e-7  # of that number, and rad: what angles below a turn may be off by


def reduced_coarsely(m: Measured) -> Finding | None:
    """With each whole turn an angle is off by the same number, in all pairs alike."""
    steady = m.obeys_ids and not m.depends_on_length and m.noise < 1e-5
    if not steady or m.num_pairs < 3:
        return None
    phases = m.phases(m.far)[:, : m.num_pairs]
    if float(phases[0].abs().max()) > 1e-4:
        return None
    positions = m.far.positions.double()[:, None]
    # a % t, the nearest turn, and -a % t, where all but position 0 have a turn from the start
    ways = (math.tau, torch.floor, 0), (math.pi, torch.round, 0), (math.tau, torch.ceil, 1)
    fits = [fit for way in ways if (fit := _fitted(phases, positions, *way))]
    left, off, most = min(fits, default=(1.0, 0.0, 0.0))
    if abs(off) < _LEAST or left > _FITS:
        return None
    return wrong(
        "turns-of-a-rounded-pi",
        f"Whole turns are taken off angles as {math.tau - off:.6g}, and 2 pi is "
        f"{math.tau:.8g}: with each turn an angle is off by {abs(off):.2g} rad more, at "
        f"position {m.limit - 1} by {abs(off) * most:.2g}.",
        "angles % 6.2832, or a pi of a few digits",
        off_by_a_turn=off,
    )


def _fitted(
    phases: Tensor, positions: Tensor, end: float, count: Callable, since: int
) -> tuple[float, float, float] | None:
    """Return what part of the error one number for each turn leaves, that number, most turns."""
    speeds = _before(phases[since:], positions[since:], 0.99 * end)
    turns = count((positions * speeds).abs() / math.tau) * speeds.sign()
    pairs = (turns.abs() >= 2).any(0)
    if int(pairs.sum()) < 3:
        return None
    errors, off = phases - positions * speeds, 0.0
    fastest = int(speeds.abs().argmax())
    for error, number in zip(errors[:, fastest], turns[:, fastest], strict=True):
        if number:  # each place tells it better than the one before
            off += float(wrap(error - number * off) / number)
    before = wrap(errors[:, pairs]).square().mean().sqrt()
    left = wrap(errors - turns * off)
    first = left[turns.abs() <= since]  # angles of less than a turn
    if first.numel() and float(first.abs().max()) > _STRAYS * abs(off) + _ROUNDED:
        return None
    left = left[:, pairs].square().mean().sqrt()
    return float(left / before) if before else 1.0, off, float(turns.abs().max())


def _before(phases: Tensor, positions: Tensor, end: float) -> Tensor:
    """Return frequencies as steps from the first place tell them, at angles below `end`."""
    turned, steps = phases - phases[0], positions - positions[0]
    speeds = wrap(turned[1]) / steps[1]
    for angle, step, position in zip(turned[2:], steps[2:], positions[2:], strict=True):
        known = (position * speeds).abs() < end
        speeds = speeds + (wrap(angle - step * speeds) / step).where(known, 0)
    return speeds
