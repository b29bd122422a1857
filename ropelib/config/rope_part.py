"""The rope part of a configuration: in old style, in new style, or one for each kind of layer."""

from typing import Any

from ropelib.checks import printable, shown
from ropelib.config.keys import ALIASES, MODEL_TYPES, MOST
from ropelib.config.rules import checked, same
from ropelib.config.values import Values


def entries_by_kind(values: Values) -> dict[str | None, dict[str, Any] | None]:
    """Return the rope parameters of each kind of layer, or of all layers under None.

    Old style is rope_scaling with keys beside it, new style rope_parameters, flat or one set for
    each kind of layer.

    Args:
        values: of the configuration.

    Returns:
        Parameters by kind; None for a kind that does not rotate.

    Raises:
        TypeError: if a type is no string.
        ValueError: if two places disagree, styles are mixed, or kinds are too many.
    """
    old = _flat(values.text.get("rope_scaling"), "rope_scaling")
    new = values.text.get("rope_parameters")
    if new and any(isinstance(value, dict) for value in new.values()):
        if len(new) > MOST["kinds_of_layers"]:
            raise ValueError(
                f"rope_parameters must have at most {MOST['kinds_of_layers']} kinds of layers, got "
                f"{len(new)}"
            )
        return _nested(values, old, new)
    entry = _merged(old, _flat(new, "rope_parameters"))
    if not entry and values.belongs("scaled_by_default"):
        raise ValueError(
            "rope_scaling and rope_parameters are missing, and transformers' default for "
            f"model_type {values.model_type!r} is not to leave frequencies as they are"
        )
    local = values.first("rope_local_base_freq", "local_rope_theta")
    if values.belongs("two_bases") or local is not None:
        return _two_bases(values, entry, local)
    if values.belongs("one_base_scaled"):
        # Only global layers are stretched.
        sliding = {key: value for key, value in entry.items() if key == "rope_theta"}
        return {"full_attention": entry, "sliding_attention": sliding}
    return {None: entry}


def _nested(values: Values, old: dict, new: dict) -> dict[str | None, dict[str, Any] | None]:
    for name, value in new.items():
        if value is not None and not isinstance(value, dict):
            raise ValueError(
                "rope_parameters must be flat or one mapping per layer type, got both: "
                f"{shown(name)} is {shown(value)}"
            )
    entries = {
        name: None if value is None else _flat(value, f"rope_parameters[{shown(name)}]")
        for name, value in new.items()
    }
    inside = [entry for entry in entries.values() if entry]
    base = values.text.get("rope_theta")
    for key, value in (old | ({} if base is None else {"rope_theta": base})).items():
        if key == "rope_theta" and any(key not in entry for entry in inside):
            continue
        if not any(key in entry and same(entry[key], value) for entry in inside):
            raise ValueError(
                f"{printable(key)} is {shown(value)} outside of rope_parameters, and no entry "
                "repeats it"
            )
    return entries


def _two_bases(
    values: Values, entry: dict, local: float | None
) -> dict[str | None, dict[str, Any]]:
    defaults = MODEL_TYPES["two_bases"].get(values.model_type)
    is_bert = values.belongs("alternating") or values.text.get("local_rope_theta") is not None
    spelled = "local_rope_theta" if is_bert else "rope_local_base_freq"
    outer = values.text.get("global_rope_theta")
    if is_bert and outer is not None:
        entry = _merged(entry, {"rope_theta": outer})
    if "rope_theta" not in entry and values.text.get("rope_theta") is None and defaults:
        entry = entry | {"rope_theta": defaults[0]}
        values.assume("rope_theta of full_attention", defaults[0])
    if local is None:
        local = defaults[1]
        values.assume(spelled, local)
    sliding = {key: value for key, value in entry.items() if is_bert}
    return {"full_attention": entry, "sliding_attention": sliding | {"rope_theta": local}}


def _flat(part: dict[str, Any] | None, key: str) -> dict[str, Any]:
    """Return rope parameters with one spelling of the type and without nulls."""
    entry = dict(part or {})
    types = {}
    for name in ("rope_type", "type"):
        value = entry.pop(name, None)
        if value is not None:
            checked(f"{key}[{name!r}]", value, "text")
            types[name] = ALIASES.get(value, value)
    if len(set(types.values())) > 1:
        raise ValueError(
            f"{key} must have one type, got rope_type {shown(types['rope_type'])} "
            f"and type {shown(types['type'])}"
        )
    # Of a null factor the presence matters: YaRN then takes the ratio of the lengths.
    keeps_null = "yarn" in types.values()
    entry = {k: v for k, v in entry.items() if v is not None or (k == "factor" and keeps_null)}
    return entry | {"rope_type": next(iter(types.values()))} if types else entry


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    for key in sorted(first.keys() & second.keys()):
        if not same(first[key], second[key]):
            raise ValueError(
                f"{printable(key)} is given as {shown(first[key])} and as {shown(second[key])}"
            )
    return first | second
