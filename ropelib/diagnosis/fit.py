"""The geometric series nearest to frequencies."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ropelib.diagnosis.tensors import wrap

_STEEPEST = 20.0  # logarithm of what one pair is faster than the next, in any series of sense
_LARGEST_POWER = math.log(sys.float_info.max)
_EXACT, _FLOAT32 = 3e-5, 2.0**-23  # of a frequency, in rad/token and relatively
ROUND_BASES = torch.tensor([n * 10.0**k for k in range(1, 7) for n in range(10, 100)]).double()


@dataclass(frozen=True)
class Fit:
    """The geometric series nearest to frequencies, if there is one."""

    base: float | None = None
    factor: float | None = None
    jump: float | None = None  # by what the slow end is divided, if both ends are geometric alike
    split: tuple[int, int] = (0, 0)  # pairs at the fast end and at the slow end

    @classmethod
    def of(
        cls, speeds: Tensor, width: int, tolerance: float, slots: Sequence[int] | None = None
    ) -> "Fit":
        """Fit logarithms of `speeds` up to `tolerance`; `width` pairs make up the exponent 1.

        They are those of the pairs `slots`, of all unless given: the others stand still.
        """
        if len(speeds) < 2 or (speeds <= 0).any():
            return cls()
        logs = speeds.log()
        steps = torch.arange(len(speeds), dtype=torch.float64)
        if slots is not None:
            steps = torch.tensor(slots, dtype=torch.float64)
        exact = steps[0] == 0 and abs(float(logs[0])) < tolerance
        if exact:  # starts at 1, as it should: one unknown less
            slope = float((logs * steps).sum() / (steps * steps).sum())
            start = 0.0
        else:
            centered = steps - steps.mean()
            slope = float((logs * centered).sum() / (centered * centered).sum())
            start = float(logs.mean() - slope * steps.mean())
        if (logs - start - slope * steps).abs().max() < tolerance:
            return cls(_exp(-slope * width), _exp(-start))
        if bool((steps.diff() != 1).any()):
            return cls()
        return cls._two_ends(logs, width, tolerance)

    @classmethod
    def _two_ends(cls, logs: Tensor, width: int, tolerance: float) -> "Fit":
        """Look for one slope at both ends, with a step between: YaRN, Llama 3."""
        slopes = logs.diff()
        same = [(slopes - slopes[end]).abs() < 4 * tolerance for end in (0, -1)]
        fast = int((~same[0]).int().argmax()) if (~same[0]).any() else len(slopes)
        slow = int((~same[1]).flip(0).int().argmax()) if (~same[1]).any() else len(slopes)
        if fast < 2 or slow < 2 or abs(float(slopes[0] - slopes[-1])) > 4 * tolerance:
            return cls()
        slope = float(slopes[:fast].mean())
        jump = float(logs[0] - logs[-1] + slope * (len(logs) - 1))
        if jump < float(logs[0]) - 1e-3:  # slow pairs faster than unscaled: another series
            return cls()
        return cls(
            _exp(-slope * width),
            _exp(-float(logs[0])),
            _exp(jump),
            (fast + 1, slow + 1),
        )

    @property
    def is_geometric(self) -> bool:
        """Say whether all frequencies are of one series."""
        return self.base is not None and self.jump is None


def _exp(power: float) -> float:
    """Return e to that power, or the largest number there is."""
    return math.exp(power) if power < _LARGEST_POWER else sys.float_info.max


def whole_turns(speeds: Tensor, slots: Sequence[int], tolerance: float) -> Tensor:
    """Return what is to be added to frequencies that are known up to whole turns a token.

    It is zero unless they are of a geometric series that goes on beyond half a turn.
    """
    for backwards in (False, True):  # the slow pairs are the last ones, or the first
        order = range(len(speeds))[:: -1 if backwards else 1]
        found = speeds[list(order)] * speeds[order[-1]].sign()
        steps = [slots[i] for i in order]
        for i in range(len(found) - 3, -1, -1):
            near, later = found[i + 1 : i + 3].tolist()
            if min(near, later) <= 0 or near < later:
                break
            of_steps = (steps[i + 1] - steps[i]) / (steps[i + 2] - steps[i + 1])
            rises = of_steps * math.log(near / later)
            if rises > _STEEPEST:
                break
            found[i] += math.tau * round((near * math.exp(rises) - float(found[i])) / math.tau)
        added = (found * speeds[order[-1]].sign())[list(order)] - speeds
        if len(speeds) >= 4 and bool((added.abs() > 1).any()):
            width = max(slots) + 1
            if Fit.of(found, width, tolerance, [abs(s - steps[0]) for s in steps]).is_geometric:
                return added
    return _to_powers(speeds, slots, tolerance)


def _to_powers(speeds: Tensor, slots: Sequence[int], tolerance: float) -> Tensor:
    """Return what makes frequencies the powers of a round base, from 1 rad/token upwards.

    Few pairs of them turn less than half a turn a token, so that no series is seen to go on.
    """
    nothing, steps = torch.zeros_like(speeds), torch.tensor(slots, dtype=torch.float64)
    way, width = speeds[0].sign(), max(slots) + 1
    coarse = tolerance > _EXACT or abs(abs(float(speeds[0])) - 1) > tolerance
    if len(speeds) < 3 or slots[0] or coarse or Fit.of(speeds * way, width, 1e-3).is_geometric:
        return nothing
    powers = way * ROUND_BASES[:, None] ** (steps / width)
    left = wrap(speeds - powers).abs() / (_EXACT + 4 * _FLOAT32 * powers.abs())
    best = int(left.amax(1).argmin())
    return powers[best] - speeds if float(left[best].max()) < 1 else nothing


def raised(base: float, exponent: float) -> float:
    """Return `base ** exponent`, at most the largest float: measured bases have no bounds.

    Example:
        >>> round(raised(10.0, 3.0)), raised(1e300, 2.0) > 1e308
        (1000, True)
    """
    return _exp(exponent * math.log(base))


def is_round(value: float) -> bool:
    """Say whether two digits tell the value, as they do of bases that people choose."""
    return abs(float(f"{value:.1e}") / value - 1) < 2e-5
