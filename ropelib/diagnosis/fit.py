"""The geometric series nearest to frequencies."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


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
            return cls(math.exp(-slope * width), math.exp(-start))
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
            math.exp(-slope * width),
            math.exp(-float(logs[0])),
            math.exp(jump),
            (fast + 1, slow + 1),
        )

    @property
    def is_geometric(self) -> bool:
        """Say whether all frequencies are of one series."""
        return self.base is not None and self.jump is None


def is_round(value: float) -> bool:
    """Say whether two digits tell the value, as they do of bases that people choose."""
    return abs(float(f"{value:.1e}") / value - 1) < 2e-5
