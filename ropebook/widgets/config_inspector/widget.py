"""Paste a model's config.json and see what its rotary settings mean."""

import json
import re

import traitlets

from ropebook.widgets.base import RopeWidget
from ropelib.config import RopeConfig, keys, layer_types
from ropelib.config.files import parsed
from ropelib.config.gallery import GALLERY

# Texts to begin with, a word for each rope type and way of writing it; where they were read stands
# in the gallery.
_EXAMPLES = {
    "llama3_1": "Llama 3.1 8B",
    "qwen2_5_yarn": "Qwen2.5 7B with YaRN",
    "gemma3": "Gemma 3 12B",
    "gpt_neox": "GPT-NeoX 20B",
    "deepseek_v3": "DeepSeek-V3",
    "phi3": "Phi-3 128k",
    "gpt_oss": "gpt-oss 20B",
}


def _as_text(config: dict) -> str:
    """Return JSON as a config.json has it, but a list of numbers on as few lines as it fills."""
    text = json.dumps(config, indent=2)
    return re.sub(r"\[[\d\s.,]+\]", lambda found: " ".join(found[0].split()), text)


EXAMPLES = {name: _as_text(GALLERY[model].config) for name, model in _EXAMPLES.items()}


class ConfigInspector(RopeWidget, folder="config_inspector"):
    """Paste a model's config.json; see which pairs turn, how fast, and what scaling did to them.

    The text is the reader's typing, so a mistake in it is no error here: the widget names it where
    it stands, and `rope_config` raises.

    Args:
        config: text of a config.json; Llama 3.1 8B unless given.
        layer_type: which layers, where a model rotates them differently, such as
            `"sliding_attention"`; empty (default) for the first kind that the text names.
        seq_len: length of the text for the types whose frequencies depend on it, dynamic and
            LongRoPE, tokens; 0 (default) for the longest that the config names.

    Raises:
        traitlets.TraitError: `seq_len` is negative or of a wrong type.

    Example:
        >>> inspector = ConfigInspector()
        >>> inspector.rope_config.rope_type, inspector.rope_config.base
        ('llama3', 500000.0)
        >>> inspector.config = inspector.examples["gemma3"]
        >>> inspector.layer_type = "sliding_attention"
        >>> inspector.rope_config.base
        10000.0
    """

    config = traitlets.Unicode(EXAMPLES["llama3_1"]).tag(sync=True)
    layer_type = traitlets.Unicode("").tag(sync=True)
    seq_len = traitlets.Int(0).tag(sync=True)
    examples = traitlets.Dict(EXAMPLES, read_only=True).tag(sync=True)
    rules = traitlets.Dict(keys.table(), read_only=True).tag(sync=True)

    @traitlets.validate("seq_len")
    def _not_negative(self, proposal: dict) -> int:
        seq_len = proposal["value"]
        if seq_len < 0:
            raise traitlets.TraitError(f"seq_len must be at least 0 tokens, got {seq_len}")
        return seq_len

    @property
    def rope_config(self) -> RopeConfig:
        """The configuration that the text describes, for `layer_type`.

        Raises:
            ValueError: the text is too long or not JSON, or breaks a rule of `RopeConfig.from_hf`.
            TypeError: a value in it has a wrong type, or it is not an object.
        """
        mapping = parsed(self.config)
        return RopeConfig.from_hf(mapping, layer_type=self.layer_type or layer_types(mapping)[0])
