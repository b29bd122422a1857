"""A score over distance, put together cosine by cosine."""

import math
from typing import TYPE_CHECKING

import traitlets

from ropebook.widgets.base import RopeWidget
from ropebook.widgets.traits import EvenInRange, IntInRange, Positive

if TYPE_CHECKING:
    import torch

REACH = 32
MAX_PAIRS = 8
_DISTANCES = range(-REACH, REACH + 1)
_START_BASE, _START_AIM = 100.0, -7
_RULES = {"amplitudes": (0, 1, "[0, 1]"), "start_angles": (-math.pi, math.pi, "[-pi, pi]")}
_EQUAL = 1e-9  # scores that differ by less count as equal


def _wrapped(angle: float) -> float:
    """Return the same direction as an angle in [-pi, pi]."""
    return math.remainder(angle, math.tau)


def _aim(distance: int, head_dim: int, base: float) -> list[float]:
    return [_wrapped(-distance * base ** (-2 * i / head_dim)) for i in range(MAX_PAIRS)]


class ScoreBuilder(RopeWidget, folder="score_builder"):
    """Add cosines A_i cos(alpha_i + (n - m) theta_i), pair by pair, until a peak stands out.

    The score of a head is the sum over its pairs; theta_i = base ** (-2i / head_dim). The length
    A_i = |q_i| |k_i| says how much a pair counts, alpha_i (the angle from q_i to k_i) where its
    clock starts. The widget keeps an aim when its sliders change base or head_dim.

    Args:
        head_dim: width of the head, even, in [2, 16]; one clock per two. A smaller head takes
            `pairs` and `pair` down with it.
        base: finite and greater than 0.
        pairs: how many pairs are switched on, fastest first, in [1, head_dim / 2].
        amplitudes: eight numbers in [0, 1]; those beyond head_dim / 2 wait.
        start_angles: eight angles in [-pi, pi], rad; unless given, all cosines agree at -7.
        distance: n - m where the score is read, an integer in [-32, 32], tokens.
        pair: which clock the two sliders below the clocks belong to, in [0, head_dim / 2 - 1].

    Raises:
        traitlets.TraitError: a value breaks its rule; the message names both.

    Example:
        >>> builder = ScoreBuilder(head_dim=16)
        >>> builder.aim(-12)
        >>> builder.peak, round(builder.peak_score, 6)
        (-12, 8.0)
    """

    head_dim = EvenInRange(16, low=2, high=2 * MAX_PAIRS)
    base = Positive(_START_BASE)
    pairs = traitlets.Int(MAX_PAIRS).tag(sync=True)
    amplitudes = traitlets.List(traitlets.Float(), [1.0] * MAX_PAIRS).tag(sync=True)
    start_angles = traitlets.List(traitlets.Float()).tag(sync=True)
    distance = IntInRange(_START_AIM, low=-REACH, high=REACH)
    pair = traitlets.Int(0).tag(sync=True)

    def __init__(self, **values):
        super().__init__(**values)
        self._keep_pairs()
        self.observe(self._keep_pairs, "head_dim")

    def _keep_pairs(self, change: dict | None = None) -> None:
        self.pairs = min(self.pairs, self.num_pairs)
        self.pair = min(self.pair, self.num_pairs - 1)

    @traitlets.default("start_angles")
    def _aimed(self) -> list[float]:
        return _aim(_START_AIM, self.head_dim, self.base)

    @traitlets.validate("pairs", "pair")
    def _within_the_head(self, proposal: dict) -> int:
        value, name = proposal["value"], proposal["trait"].name
        low, high = {"pairs": (1, self.num_pairs), "pair": (0, self.num_pairs - 1)}[name]
        if not low <= value <= high:
            raise traitlets.TraitError(
                f"{name} must lie in [{low}, {high}] for head_dim {self.head_dim}, got {value}"
            )
        return value

    @traitlets.validate("amplitudes", "start_angles")
    def _one_for_each_pair(self, proposal: dict) -> list[float]:
        values, name = proposal["value"], proposal["trait"].name
        if len(values) != MAX_PAIRS:
            raise traitlets.TraitError(
                f"{name} must have {MAX_PAIRS} numbers, one for each pair, got {len(values)}"
            )
        low, high, rule = _RULES[name]
        for value in values:
            # Not "value < low": NaN has to fail as well.
            if not low <= value <= high:
                raise traitlets.TraitError(f"{name} must lie in {rule}, got {value}")
        return values

    def aim(self, distance: float) -> None:
        """Start every clock so that all cosines are at their top at this distance n - m."""
        self.start_angles = _aim(distance, self.head_dim, self.base)

    @property
    def num_pairs(self) -> int:
        """Clocks of the head, switched on or not."""
        return self.head_dim // 2

    @property
    def inv_freq(self) -> "torch.Tensor":
        """Turn per token of every clock, rad/token, float64, (num_pairs,)."""
        from ropelib import inv_freq

        return inv_freq(self.head_dim, self.base)

    @property
    def wavelengths(self) -> "torch.Tensor":
        """Tokens to a full turn of every clock, float64, (num_pairs,)."""
        from ropelib.frequencies import wavelength

        return wavelength(self.inv_freq)

    @property
    def q(self) -> "torch.Tensor":
        """A query with these amplitudes and starts: (1, 0) in every pair, interleaved."""
        import torch

        return torch.tensor([1.0, 0.0], dtype=torch.float64).repeat(self.num_pairs)

    @property
    def k(self) -> "torch.Tensor":
        """A key to go with it: length A_i at angle alpha_i; zero where a pair is off."""
        import torch

        length = torch.tensor(self.amplitudes, dtype=torch.float64)[: self.num_pairs]
        angle = torch.tensor(self.start_angles, dtype=torch.float64)[: self.num_pairs]
        length[self.pairs :] = 0
        return torch.stack((length * angle.cos(), length * angle.sin()), -1).flatten()

    @property
    def contributions(self) -> list[float]:
        """What every pair that is on adds to the score at `distance`."""
        return self._parts([self.distance])[0, : self.pairs].tolist()

    @property
    def score(self) -> float:
        """The score at `distance`: the sum of the contributions."""
        return sum(self.contributions)

    @property
    def scores(self) -> "torch.Tensor":
        """The score at all distances from -32 to 32, float64, (65,)."""
        return self._parts(_DISTANCES).sum(-1)

    @property
    def total(self) -> float:
        """What the score would be where all cosines agree: the sum of the amplitudes."""
        return sum(self.amplitudes[: self.pairs])

    @property
    def peak(self) -> int:
        """Distance of the highest score in -32 .. 32; of equals the nearest, behind first."""
        return self._best(_DISTANCES)

    @property
    def peak_score(self) -> float:
        """The highest score in -32 .. 32."""
        return self.scores[self.peak + REACH].item()

    @property
    def beside(self) -> float:
        """The higher of the two scores beside the peak."""
        scores, peak = self.scores.tolist(), self.peak
        return max(scores[d + REACH] for d in _DISTANCES if abs(d - peak) == 1)

    @property
    def rival(self) -> int | None:
        """The best distance on another hill than the peak; None where there is no other."""
        scores, first, last = self.scores.tolist(), self.peak, self.peak
        while first > -REACH and scores[first - 1 + REACH] <= scores[first + REACH] + _EQUAL:
            first -= 1
        while last < REACH and scores[last + 1 + REACH] <= scores[last + REACH] + _EQUAL:
            last += 1
        others = [distance for distance in _DISTANCES if not first <= distance <= last]
        return self._best(others) if others else None

    @property
    def rival_score(self) -> float:
        """The score there; NaN where there is no other hill."""
        return math.nan if self.rival is None else self.scores[self.rival + REACH].item()

    def _best(self, among) -> int:
        every = self.scores.tolist()
        scores = {distance: every[distance + REACH] for distance in among}
        best = max(scores.values())
        near = [distance for distance, score in scores.items() if score > best - _EQUAL]
        return min(near, key=lambda distance: (abs(distance), distance))

    def _parts(self, distances) -> "torch.Tensor":
        import torch

        from ropelib import apply_rotary, cos_sin

        # The query stands at position 0, so a key's position is its distance.
        cos, sin = cos_sin(list(distances), self.inv_freq, dtype=torch.float64)
        keys = self.k.expand(len(cos), -1)
        products = self.q * apply_rotary(keys, cos, sin, layout="interleaved")
        return products.unflatten(-1, (self.num_pairs, 2)).sum(-1)
