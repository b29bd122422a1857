"""One clock hand per pair of dimensions, from fast to slow."""

import math
from typing import TYPE_CHECKING

import traitlets

from ropebook.widgets.base import RopeWidget
from ropebook.widgets.traits import EvenInRange, Positive

if TYPE_CHECKING:
    import torch

# Seen in the models' own configurations:
# roformer: JunnYu/RoFormer_pytorch, pretrained_models/chinese_roformer_base/config.json:
#   hidden_size 768, num_attention_heads 12 (64 per head), max_position_embeddings 512. The file
#   names no base; 10000 is the paper's (arXiv 2104.09864, section 3.2.2). The checkpoint
#   junnyu/roformer_chinese_base says 1536 instead of 512, its char_small sibling again 512.
# llama3: Meta-Llama-3-8B config.json, read in its copy pandyamarut/Meta-Llama-3-8B (3689724):
#   head_dim 128, rope_theta 500000.0, max_position_embeddings 8192, rope_scaling null.
# llama3_old_base is no model: Llama 3's head and context with the base that it replaced.
PRESETS = {
    "roformer": {"rotary_dim": 64, "base": 10_000.0, "context": 512},
    "llama3": {"rotary_dim": 128, "base": 500_000.0, "context": 8192},
    "llama3_old_base": {"rotary_dim": 128, "base": 10_000.0, "context": 8192},
}
_CUSTOM = "custom"
_SHAPE = ("rotary_dim", "base", "context")


class FrequencyClocks(RopeWidget, folder="frequency_clocks"):
    """Watch every pair's hand turn by position * inv_freq, and see which never come round.

    Hands start at 3 o'clock and turn counterclockwise, as the plane does.

    Args:
        preset: `"roformer"` (default), `"llama3"` or `"llama3_old_base"`; sets the next three.
            Reads `"custom"` when they match none.
        rotary_dim: rotated dimensions, even, in [2, 256]; one hand per two.
        base: greater than 0; inv_freq[i] = base ** (-2i / rotary_dim).
        context: length of the text, at least 1 token.
        position: where the hands are read, at least 0, integer or real, tokens.

    Raises:
        traitlets.TraitError: a value breaks its rule; the message names both.

    Example:
        >>> clocks = FrequencyClocks(preset="llama3")
        >>> clocks.rotary_dim, clocks.base, clocks.context
        (128, 500000.0, 8192)
        >>> len(clocks.never_turn)
        29
    """

    rotary_dim = EvenInRange(64, low=2, high=256)
    base = Positive(10_000.0)
    context = traitlets.Int(512).tag(sync=True)
    position = traitlets.Float(100.0).tag(sync=True)
    preset = traitlets.Unicode("roformer")  # the picture knows presets by their values
    presets = traitlets.Dict(PRESETS, read_only=True).tag(sync=True)

    def __init__(self, **values):
        named = PRESETS.get(values.get("preset"), {})
        # What is given next to a preset wins; `preset` then says whether it still holds.
        super().__init__(**{**named, **values})
        self._name_preset()
        self.observe(self._take_preset, "preset")
        self.observe(self._name_preset, _SHAPE)

    def _take_preset(self, change: dict) -> None:
        named = PRESETS.get(change["new"])
        if named and not self._is_preset(change["new"]):
            # Held, or the first of the three to change would rename the preset for a moment.
            with self.hold_trait_notifications():
                for name, value in named.items():
                    setattr(self, name, value)

    def _name_preset(self, change: dict | None = None) -> None:
        self.preset = next(filter(self._is_preset, PRESETS), _CUSTOM)

    def _is_preset(self, name: str) -> bool:
        return all(getattr(self, key) == value for key, value in PRESETS[name].items())

    @traitlets.validate("context")
    def _at_least_one(self, proposal: dict) -> int:
        context = proposal["value"]
        if context < 1:
            raise traitlets.TraitError(f"context must be at least 1 token, got {context}")
        return context

    @traitlets.validate("position")
    def _not_negative(self, proposal: dict) -> float:
        position = proposal["value"]
        if not 0 <= position < math.inf:
            raise traitlets.TraitError(f"position must be finite and at least 0, got {position}")
        return position

    @traitlets.validate("preset")
    def _known(self, proposal: dict) -> str:
        preset = proposal["value"]
        if preset not in PRESETS and preset != _CUSTOM:
            known = ", ".join([*PRESETS, _CUSTOM])
            raise traitlets.TraitError(f"preset must be one of {known}, got {preset!r}")
        return preset

    @property
    def inv_freq(self) -> "torch.Tensor":
        """Turn per token of every pair, rad/token, float64, (num_pairs,)."""
        from ropelib import inv_freq

        return inv_freq(self.rotary_dim, self.base)

    @property
    def wavelengths(self) -> "torch.Tensor":
        """Tokens to a full turn of every pair, float64, (num_pairs,)."""
        from ropelib.frequencies import wavelength

        return wavelength(self.inv_freq)

    @property
    def turns(self) -> "torch.Tensor":
        """Turns that every pair makes within the context, float64, (num_pairs,)."""
        from ropelib.frequencies import turns

        return turns(self.inv_freq, self.context)

    @property
    def never_turn(self) -> list[int]:
        """Indices of the pairs that complete no turn within the context."""
        return (self.wavelengths > self.context).nonzero().flatten().tolist()
