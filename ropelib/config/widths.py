"""How wide a head is, and how much of it rotates."""

import re

from ropelib.checks import shown
from ropelib.config.keys import MODEL_TYPES, SHARE, SPELLINGS
from ropelib.config.rules import checked
from ropelib.config.values import Values, agreed


def widths(values: Values, entry: dict, rope_type: str, layer_type: str | None) -> tuple[int, int]:
    """Return `head_dim` and `rotary_dim`.

    Args:
        values: of the configuration.
        entry: the rope parameters.
        rope_type: their type.
        layer_type: which layers are asked for.

    Returns:
        Both widths.

    Raises:
        ValueError: if a width is missing, or two ways of saying it differ.
    """
    latent = values.text.get("qk_rope_head_dim")
    head_dim = latent or _head_dim(values, layer_type)
    if rope_type == "proportional":
        return head_dim, head_dim
    # In latent attention a share, where it is given, is one of the whole head.
    rest = values.text.get("qk_nope_head_dim") or 0
    width = head_dim + rest if latent else head_dim
    found = {}
    for name in SPELLINGS["share"]:
        for part in (entry, values.text):
            share = part.get(name)
            if share is not None:
                found[f"{name} {share}"] = head_dim if share == 1 else int(width * share)
    said = values.text.get("rotary_dim")
    found["rotary_dim"] = None if values.belongs("ignores_rotary_dim") else said
    default = MODEL_TYPES["rotary_dims"].get(values.model_type)
    if default and found["rotary_dim"] is None:
        if "rotary_dim" in values.text:
            raise ValueError("rotary_dim must be an integer, got None")
        values.assume("rotary_dim", default)
        found["rotary_dim"] = default
    if values.belongs("half_a_head"):
        found[f"half of the head, as in {values.model_type}"] = head_dim // 2
    found["qk_rope_head_dim"] = latent
    rotary_dim = agreed("rotary_dim", found)
    if rotary_dim is None:
        share = MODEL_TYPES["shares"].get(values.model_type, 1.0)
        if share != 1:
            values.assume(SHARE, share)
        rotary_dim = int(head_dim * share)
    if values.belongs("ignores_rotary_dim") and said not in (None, rotary_dim):
        values.note(
            "unread",
            "rotary_dim",
            f"rotary_dim ({said}) is not read for model_type {shown(values.model_type)}, whose "
            f"code turns {rotary_dim} of {head_dim} dimensions",
        )
    return head_dim, rotary_dim


def _head_dim(values: Values, layer_type: str | None) -> int:
    own = {}
    for i, layer in (values.text.get("per_layer_config") or {}).items():
        if not re.fullmatch("[0-9]{1,9}", i) or not isinstance(layer, dict):
            raise ValueError(
                "per_layer_config must map the index of a layer to a mapping, got "
                f"{shown(i)}: {shown(layer)}"
            )
        if layer.get("head_dim") is not None:
            key = f"per_layer_config[{i!r}]['head_dim']"
            own[int(i)] = checked(key, layer["head_dim"], "dimensions")
    if not own:
        return _common_head_dim(values, layer_type)
    num_layers = values.spelled("num_hidden_layers") or 0
    kinds = values.text.get("layer_types") or [None] * num_layers
    asked = [i for i, kind in enumerate(kinds) if kind == layer_type]
    found = {own[i] for i in asked if i in own}
    if any(i not in own for i in asked):
        found.add(_common_head_dim(values, layer_type))
    if len(found) != 1:
        raise ValueError(
            f"head_dim must be one number for layers of type {shown(layer_type)}, got "
            f"{shown(sorted(found))} in per_layer_config"
        )
    return found.pop()


def _common_head_dim(values: Values, layer_type: str | None) -> int:
    is_global = layer_type == "full_attention"
    if is_global and values.text.get("global_head_dim") is not None:
        return values.text["global_head_dim"]
    doubled = values.belongs("double_heads")
    head_dim = None if doubled else values.spelled("head_dim")
    if head_dim is not None:
        return head_dim
    if is_global and values.belongs("global_head_dims"):
        head_dim = MODEL_TYPES["global_head_dims"][values.model_type]
        values.assume("global_head_dim", head_dim)
        return head_dim
    if values.belongs("head_dims"):
        head_dim = MODEL_TYPES["head_dims"][values.model_type]
        values.assume("head_dim", head_dim)
        return head_dim
    hidden_size, num_heads = map(values.spelled, ("hidden_size", "num_attention_heads"))
    if doubled and hidden_size is not None:
        hidden_size *= 2
    for name, size in (("hidden_size", hidden_size), ("num_attention_heads", num_heads)):
        if size is None:
            raise ValueError(f"{name} is missing, and head_dim too")
    if hidden_size % num_heads:
        raise ValueError(
            "hidden_size must be a multiple of num_attention_heads where head_dim is missing, "
            f"got {hidden_size} and {num_heads}"
        )
    return checked("head_dim", hidden_size // num_heads, "dimensions")
