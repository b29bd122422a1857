"""What every way to stretch RoPE does to each hand: wavelengths, slowdown, score over distance."""

from typing import TYPE_CHECKING

import traitlets

from ropebook.widgets.base import RopeWidget
from ropebook.widgets.traits import EvenInRange, FloatInRange, IntInRange, OneOf

if TYPE_CHECKING:
    import torch

# The functions of ropelib.scaling by their names, and beside them a base that is simply another.
# LongRoPE is missing: its slowdowns are lists that were searched for one model, and no formula.
METHODS = (
    "default",
    "linear",
    "ntk_aware",
    "ntk_fixed",
    "dynamic_ntk",
    "ntk_by_parts",
    "yarn",
    "llama3",
    "proportional",
    "raised_base",
)
# What the sliders reach; base and new_base share a range.
LIMITS = {
    "factor": [1, 64],
    "base": [1e3, 1e8],
    "new_base": [1e3, 1e8],
    "head_dim": [8, 256],
    "original_length": [128, 131_072],
    "new_length": [128, 1_048_576],
    "share": [0, 1],
}
_LLAMA_2 = {"base": 10_000.0, "head_dim": 128, "original_length": 4096}
# Llama 2 is the model whose stretching the papers show. YaRN's own runs: factor 16, to 64k tokens
# (Peng et al., table 1). NTK-aware by 8 is what brings every hand of it to four times the length.
# Llama 3.1 is that of ropelib.config.gallery, Code Llama as its paper has it (section 2.4).
PRESETS = {
    "pi": {"method": "linear", "factor": 4.0, **_LLAMA_2, "new_length": 16_384},
    "ntk_aware": {"method": "ntk_aware", "factor": 8.0, **_LLAMA_2, "new_length": 16_384},
    "yarn": {"method": "yarn", "factor": 16.0, **_LLAMA_2, "new_length": 65_536},
    "code_llama": {
        "method": "raised_base",
        **_LLAMA_2,
        "new_length": 16_384,
        "new_base": 1_000_000.0,
    },
    "llama31": {
        "method": "llama3",
        "factor": 8.0,
        "base": 500_000.0,
        "head_dim": 128,
        "original_length": 8192,
        "new_length": 131_072,
    },
}
_SLACK = 1e-9  # more than rounding, less than any slider's step


def _within(name: str, default: float, kind: type = FloatInRange) -> traitlets.TraitType:
    low, high = LIMITS[name]
    return kind(default, low=low, high=high)


class ScalingExplorer(RopeWidget, folder="scaling_explorer"):
    """See how much a method slows each hand, which reach unseen angles, which are slowed in vain.

    A hand whose wavelength exceeds the original length has seen an arc of its circle in training
    and no more. It stays within that arc at the new length if it is slowed by their ratio at least.
    A hand that came round has seen every angle: slowing it only makes its steps unfamiliar.

    Args:
        method: one of METHODS: a function of `ropelib.scaling`, or "raised_base".
        held: another one, drawn faintly for comparison.
        factor: slowdown that the method is asked for, in [1, 64]; has no meaning for "default",
            "proportional" and "raised_base". For "dynamic_ntk" it is how steeply the base grows.
        base: of the frequencies in training, in [1000, 100 million].
        head_dim: dimensions of the head, even, in [8, 256]; all rotate.
        original_length: tokens seen in training, in [128, 131072].
        new_length: tokens asked for, in [128, 1048576]; for "dynamic_ntk" the present length.
        new_base: of "raised_base", in [1000, 100 million].
        share: of "proportional": part of the hands, the fastest, that go on turning, in [0, 1].

    Raises:
        traitlets.TraitError: a value breaks its rule; the message names both.

    Example:
        >>> for method in ("default", "linear", "yarn"):
        ...     explorer = ScalingExplorer(method=method)
        ...     print(explorer.outside, explorer.slowed_in_vain)
        18 0
        0 46
        0 25
    """

    method = OneOf("yarn", METHODS)
    held = OneOf("linear", METHODS)
    factor = _within("factor", 4.0)
    base = _within("base", 10_000.0)
    head_dim = _within("head_dim", 128, EvenInRange)
    original_length = _within("original_length", 4096, IntInRange)
    new_length = _within("new_length", 16_384, IntInRange)
    new_base = _within("new_base", 1_000_000.0)
    share = _within("share", 0.75)
    methods = traitlets.List(traitlets.Unicode(), METHODS, read_only=True).tag(sync=True)
    limits = traitlets.Dict(LIMITS, read_only=True).tag(sync=True)
    presets = traitlets.Dict(PRESETS, read_only=True).tag(sync=True)

    def frequencies_of(self, method: str) -> "tuple[torch.Tensor, float]":
        """What `ropelib.scaling` gives for one of METHODS at the widget's numbers.

        Args:
            method: its name.

        Returns:
            `(inv_freq, attention_factor)`, float64 `(num_pairs,)` in rad/token, and a number.
        """
        from ropelib import scaling

        if method == "raised_base":
            return scaling.default(self.head_dim, self.new_base)
        turned = {"original_max_seq_len": self.original_length}
        options = {
            "default": {},
            "dynamic_ntk": {"seq_len": self.new_length, "max_seq_len": self.original_length},
            "ntk_by_parts": turned,
            "yarn": turned,
            "llama3": {**turned, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
            "proportional": {"partial_rotary_factor": self.share},
        }.get(method, {})
        if method not in ("default", "proportional"):
            options["factor"] = self.factor
        return getattr(scaling, method)(self.head_dim, self.base, **options)

    @property
    def inv_freq(self) -> "torch.Tensor":
        """Turn per token of every pair after scaling, float64, (num_pairs,), rad/token."""
        return self.frequencies_of(self.method)[0]

    @property
    def attention_factor(self) -> float:
        """What multiplies the tables of cosines and sines; scores grow by its square."""
        return self.frequencies_of(self.method)[1]

    @property
    def stretch(self) -> "torch.Tensor":
        """How many times slower each pair turns, (num_pairs,); infinite for one that stands."""
        return self.frequencies_of("default")[0] / self.inv_freq

    @property
    def outside(self) -> int:
        """How many pairs turn, over the new length, beyond the arc that they have seen."""
        from ropelib.frequencies import turns

        seen = turns(self.frequencies_of("default")[0], self.original_length)
        reached = turns(self.inv_freq, self.new_length).clamp(max=1)
        return int((reached > seen * (1 + _SLACK)).sum())

    @property
    def came_round(self) -> int:
        """How many pairs made a full turn in training, and so have seen every angle."""
        return int(self._came_round().sum())

    @property
    def fell_short(self) -> int:
        """How many did not."""
        return self.head_dim // 2 - self.came_round

    @property
    def slowed_in_vain(self) -> int:
        """How many pairs that have seen every angle are slowed."""
        return int((self._came_round() & (self.stretch > 1 + _SLACK)).sum())

    @property
    def equal_base(self) -> float | None:
        """The base whose plain frequencies these are; None where there is no such base."""
        from ropelib import scaling

        inv_freq = self.inv_freq
        if inv_freq[1] == 0:
            return None
        base = inv_freq[1].item() ** (-self.head_dim / 2)
        plain, _ = scaling.default(self.head_dim, base)
        return base if ((plain / inv_freq - 1).abs() < _SLACK).all() else None

    def _came_round(self) -> "torch.Tensor":
        from ropelib.frequencies import turns

        turned = turns(self.frequencies_of("default")[0], self.original_length)
        return turned * (1 + _SLACK) >= 1
