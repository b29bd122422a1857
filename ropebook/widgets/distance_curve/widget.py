"""The mean of the cosines of all pairs over distance, RoFormer's bound, and the base."""

import math
from typing import TYPE_CHECKING

import traitlets

from ropebook.widgets.base import RopeWidget
from ropebook.widgets.traits import FloatInRange, IntInRange

if TYPE_CHECKING:
    import torch

# roformer, llama2, llama3: sizes of ropelib.config.gallery; for RoFormer the paper's 512 tokens.
# p_rope: the head, base and length of the Gemma 2B models of Round and Round We Go
# (arXiv:2410.06205, section 6.1), whose best kept the fastest 0.75 of the frequencies.
# one_hand is no model.
PRESETS = {
    "roformer": {"head_dim": 64, "base": 10_000.0, "context": 512, "kept": 1.0},
    "llama2": {"head_dim": 128, "base": 10_000.0, "context": 4096, "kept": 1.0},
    "llama3": {"head_dim": 128, "base": 500_000.0, "context": 8192, "kept": 1.0},
    "p_rope": {"head_dim": 256, "base": 10_000.0, "context": 8192, "kept": 0.75},
    "one_hand": {"head_dim": 2, "base": 10_000.0, "context": 64, "kept": 1.0},
}
# Candidates for the base bound: twenty to a tenfold, from 100 to 10 million, three digits each.
BASES = [float(f"{10 ** (2 + i / 20):.3g}") for i in range(101)]


class DistanceCurve(RopeWidget, folder="distance_curve"):
    """See what the frequencies alone do over distance: many rises and falls under a loose bound.

    The curve is C(r), the mean of cos(r * inv_freq) over the pairs, at every whole distance r from
    0 to the context; the bound is RoFormer's, the mean length of the partial sums.

    Args:
        head_dim: dimensions of the head, even, in [2, 256].
        base: in [100, 10 million]; inv_freq[i] = base ** (-2i / head_dim).
        context: how far the curve goes, in [64, 131072] tokens.
        kept: share of the pairs that rotate, the fastest, in [0, 1]; the others stand still, as in
            p-RoPE.
        log_axis: whether the distances stand on a logarithmic axis.

    Raises:
        traitlets.TraitError: a value breaks its rule; the message names both.

    Example:
        >>> curve = DistanceCurve()
        >>> curve.rises, curve.first_negative, curve.base_bound
        (244, None, 5620.0)
        >>> DistanceCurve(head_dim=128, context=4096).first_negative
        1707
    """

    head_dim = IntInRange(64, low=2, high=256)
    base = FloatInRange(10_000.0, low=1e2, high=1e7)
    context = IntInRange(512, low=64, high=131_072)
    kept = FloatInRange(1.0, low=0, high=1)
    log_axis = traitlets.Bool(False).tag(sync=True)
    presets = traitlets.Dict(PRESETS, read_only=True).tag(sync=True)
    bases = traitlets.List(traitlets.Float(), BASES, read_only=True).tag(sync=True)

    @traitlets.validate("head_dim")
    def _two_per_pair(self, proposal: dict) -> int:
        if proposal["value"] % 2:
            raise traitlets.TraitError(f"head_dim must be even, got {proposal['value']}")
        return proposal["value"]

    @property
    def inv_freq(self) -> "torch.Tensor":
        """Turn per token of every pair, 0 for those that stand still, float64, (num_pairs,)."""
        from ropelib.scaling import proportional

        return proportional(self.head_dim, self.base, partial_rotary_factor=self.kept)[0]

    @property
    def curve(self) -> "torch.Tensor":
        """C(r) for r from 0 to the context, float64, (context + 1,)."""
        return self._over_distance("cosine_mean")

    @property
    def bound(self) -> "torch.Tensor":
        """B(r) for r from 0 to the context, float64, (context + 1,)."""
        return self._over_distance("partial_sum_bound")

    @property
    def rises(self) -> int:
        """At how many distances from 1 to the context the curve is above the distance before."""
        curve = self.curve
        return int((curve[1:] > curve[:-1]).sum())

    @property
    def first_negative(self) -> int | None:
        """The first distance up to the context where the curve is negative."""
        from ropelib.distance import first_negative_distance

        return first_negative_distance(self.inv_freq, self.context)

    @property
    def base_bound(self) -> float | None:
        """The smallest of `bases` that keeps the curve at 0 or more up to the context."""
        from ropelib.distance import smallest_base

        return smallest_base(
            self.head_dim, self.context, self.bases, partial_rotary_factor=self.kept
        )

    @property
    def slowest_wavelength(self) -> float | None:
        """Tokens to a full turn of the slowest pair that rotates; None where all stand still."""
        turning = self.inv_freq[self.inv_freq > 0]
        return math.tau / turning[-1].item() if len(turning) else None

    def _over_distance(self, what: str) -> "torch.Tensor":
        import torch

        from ropelib import distance

        blocks = torch.arange(self.context + 1).split(8192)
        return torch.cat([getattr(distance, what)(self.inv_freq, block) for block in blocks])
