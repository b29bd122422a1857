"""What a model's config.json says about its rotation, all of it or an error."""

import os
from collections.abc import Mapping
from typing import Any

from ropelib.config.files import loaded
from ropelib.config.reader import Reader
from ropelib.config.rope_config import RopeConfig
from ropelib.config.text_report import report

__all__ = ["RopeConfig", "layer_types", "report"]


def layer_types(config: str | os.PathLike | Mapping[str, Any]) -> list[str | None]:
    """Return the kinds of layer that a configuration rotates differently, in its own order.

    A kind whose layers do not rotate at all is none of them.

    Args:
        config: as in `RopeConfig.from_hf`.

    Returns:
        Names to give to `RopeConfig.from_hf` as `layer_type`; `[None]` where all layers are alike.

    Raises:
        TypeError: if the configuration or a value in it has a wrong type.
        ValueError: if the model is not supported, or a value breaks its rule.

    Example:
        >>> layer_types({"model_type": "llama", "head_dim": 64})
        [None]
    """
    return Reader(loaded(config)).layer_types()
