"""The rule on whole turns that are taken off angles as a rounded 2 pi."""

import math

import torch
from torch import Tensor

from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import wrap

_LEAST = 2e-6  # rad a turn; float32 holds 2 pi to a tenth of that
_FITS = 0.2  # of the error: what whole turns may leave unexplained


def reduced_coarsely(m: Measured) -> Finding | None:
    """With each whole turn an angle is off by the same number, in all pairs alike."""
    steady = m.obeys_ids and not m.depends_on_length and m.noise < 1e-5
    if not steady or m.num_pairs < 3:
        return None
    phases = m.phases(m.far)[:, : m.num_pairs]
    if float(phases[0].abs().max()) > 1e-4:
        return None
    positions = m.far.positions.double()[:, None]
    for first, count in ((math.tau, torch.floor), (math.pi, torch.round)):  # a % t, or the nearest
        speeds = _before(phases, positions, 0.99 * first)
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
        left = wrap(errors[:, pairs] - turns[:, pairs] * off).square().mean().sqrt()
        if abs(off) > _LEAST and float(left) < _FITS * float(before):
            return wrong(
                "turns-of-a-rounded-pi",
                f"Whole turns are taken off angles as {math.tau - off:.6g}, and 2 pi is "
                f"{math.tau:.8g}: with each turn an angle is off by {abs(off):.2g} rad more, at "
                f"position {m.limit - 1} by {abs(off) * float(turns.abs().max()):.2g}.",
                "angles % 6.2832, or a pi of a few digits",
                off_by_a_turn=off,
            )
    return None


def _before(phases: Tensor, positions: Tensor, end: float) -> Tensor:
    """Return frequencies as angles below `end` tell them."""
    speeds = phases[1] / positions[1]
    for phase, position in zip(phases[2:], positions[2:], strict=True):
        known = (position * speeds).abs() < end
        speeds = speeds + (wrap(phase - position * speeds) / position).where(known, 0)
    return speeds
