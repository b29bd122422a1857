"""Which layers rotate."""

from typing import Any

from ropelib.config.keys import DENSE, MODEL_TYPES, READ_BY, SPELLINGS, WITHOUT_ATTENTION
from ropelib.config.rules import checked
from ropelib.config.values import Values


def rotating_layers(
    values: Values, entries: dict, num_layers: int | None, layer_type: str | None
) -> tuple[int, ...] | None:
    """Return the indices of the layers of a kind that rotate.

    Args:
        values: of the configuration.
        entries: rope parameters by kind of layer.
        num_layers: of the model.
        layer_type: which layers are asked for; None for all.

    Returns:
        Indices, or None where `num_layers` is, or where a hybrid lists no kinds of layers.

    Raises:
        ValueError: if a list has not one entry per layer, or none says of which kind they are.
    """
    if num_layers is None:
        return None
    kinds = _kinds(values, num_layers)
    switches, dense = _switches(values, num_layers), _dense(values, num_layers)
    sliding_only = values.belongs("sliding_only")
    if sliding_only and not values.belongs("sliding_only_always"):
        sliding_only = values.text.get("sliding_window", "unsaid") is not None
    if kinds is None and (sliding_only or layer_type is not None):
        raise ValueError("layer_types is missing: it says which layers rotate")
    if kinds is None and values.belongs("hybrids"):
        return None
    return tuple(
        i
        for i, kind in enumerate(kinds or [None] * num_layers)
        if switches[i]
        and kind not in WITHOUT_ATTENTION
        and (kind == "sliding_attention" or dense[i] or not sliding_only)
        and layer_type in (None, kind)
        and not (kind in entries and entries[kind] is None)
    )


def _kinds(values: Values, num_layers: int) -> list[str] | None:
    for key in SPELLINGS["layer_types"]:
        if values.text.get(key) is not None:
            return _for_each_layer(key, values.text[key], num_layers)
    blocks = values.text.get("block_types")
    if blocks:
        return [blocks[i % len(blocks)] for i in range(num_layers)]
    indices = values.text.get("attn_layer_indices")
    if indices is None and values.belongs("names_attention"):
        values.assume("attn_layer_indices", "none")
        indices = []
    if indices is not None:
        return ["attention" if i in indices else "mamba" for i in range(num_layers)]
    if values.belongs("alternating"):
        every = values.or_default("global_attn_every_n_layers")
        return [_window(i % every) for i in range(num_layers)]
    pattern = values.first(*SPELLINGS["sliding_window_pattern"])
    pattern = pattern or MODEL_TYPES["patterns"].get(values.model_type)
    if pattern is None:
        return None
    if isinstance(pattern, str):
        return [_window(pattern[i % len(pattern)] == "L") for i in range(num_layers)]
    if not values.belongs("dense_first"):
        return [_window((i + 1) % pattern) for i in range(num_layers)]
    first = _of_dense(values, "first_k_dense_replace")
    among = _of_dense(values, "prefix_dense_sliding_window_pattern")
    return [
        _window((i + 1) % among if i < first else (i - first + 1) % pattern)
        for i in range(num_layers)
    ]


def _switches(values: Values, num_layers: int) -> list[bool]:
    """Return which layers rotate by `no_rope_layers`, where a 1 means that a layer does."""
    bases = values.text.get("layer_rope_theta")
    if bases is not None:
        _for_each_layer("layer_rope_theta", bases, num_layers)
        return [base != 0 for base in bases]
    if values.belongs("crossing"):
        crossing = values.or_default("cross_attention_layers")
        return [i not in crossing for i in range(num_layers)]
    if values.belongs("counted_back"):
        return [(num_layers - 1 - i) % 4 != 0 for i in range(num_layers)]
    listed = values.text.get("no_rope_layers")
    if values.model_type not in READ_BY["no_rope_layers"] and (listed is None or values.is_known):
        return [True] * num_layers
    if listed:
        _for_each_layer("no_rope_layers", listed, num_layers)
        return [switch == 1 for switch in listed]
    every = values.or_default("no_rope_layer_interval")
    return [(i + 1) % every != 0 for i in range(num_layers)]


def _dense(values: Values, num_layers: int) -> list[bool]:
    """Return which layers rotate because they have no experts, whatever their window."""
    if not values.belongs("dense_first"):
        return [False] * num_layers
    if _of_dense(values, "prefix_dense_sliding_window_pattern") != 1:
        return [False] * num_layers
    if values.text.get("mlp_layer_types") is not None:
        listed = _of_dense(values, "mlp_layer_types")
        _for_each_layer("mlp_layer_types", listed, num_layers)
        return [kind == "dense" for kind in listed]
    first = _of_dense(values, "first_k_dense_replace")
    return [i < first for i in range(num_layers)]


def _of_dense(values: Values, key: str) -> Any:
    return checked(key, values.or_default(key), DENSE[key])


def _for_each_layer(key: str, values: list, num_layers: int) -> list:
    if len(values) != num_layers:
        raise ValueError(
            f"{key} must have num_hidden_layers = {num_layers} entries, got {len(values)}"
        )
    return values


def _window(is_local: object) -> str:
    return "sliding_attention" if is_local else "full_attention"
