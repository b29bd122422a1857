"""Reads one configuration by the table of `keys.py`, key by key.

`widgets/config_reader.js` does the same in the same order; `tests/test_config_parity.py` holds the
two together.
"""

import re
from typing import Any, NamedTuple

from ropelib import scaling
from ropelib.checks import printable, shown
from ropelib.config.keys import (
    ABOUT_ROTATION,
    ALIASES,
    DEFAULTS,
    KEYS,
    MODEL_TYPES,
    MOST,
    NOT_OF_THE_TABLES,
    RATIO_OF_LENGTHS,
    READ_BY,
    ROPE_TYPES,
    ROTATING_EMBEDDINGS,
    SPELLINGS,
    TEXT_PARTS,
    UNSUPPORTED_TYPES,
    WITHOUT_ATTENTION,
    rules_of,
)
from ropelib.config.rules import checked, plain, same

_ORIGINAL = "original_max_position_embeddings"
_OF_A_TYPE = {key for part in ROPE_TYPES.values() for keys in part.values() for key in keys if keys}


class Note(NamedTuple):
    """What a reader of the result should know: `code` is one of a few, `key` what it is about."""

    code: str
    key: str
    sentence: str


class Reader:
    """One text configuration, read key by key.

    Args:
        config: as `rules.loaded` returns it.

    Raises:
        TypeError: if a value has a wrong type.
        ValueError: if a value breaks its rule, two values disagree, or the model does not rotate
            or in a way that is not computed here.
    """

    def __init__(self, config: dict[str, Any]):
        self.text = _text_part(config)
        self.notes: list[Note] = []
        for key, rule in KEYS.items():
            if self.text.get(key) is not None:
                self.text[key] = checked(key, self.text[key], rule)
        self.model_type = self.text.get("model_type")
        self._check_that_it_rotates()
        self.is_known = self._is("interleaved") or self._is("half")
        self.entries = self._entries()
        if len(self.entries) > MOST["kinds_of_layers"]:
            raise ValueError(
                f"rope_parameters must have at most {MOST['kinds_of_layers']} kinds of layers, "
                f"got {len(self.entries)}"
            )

    def layer_types(self) -> list[str | None]:
        """Return the kinds of layer that are rotated differently, `[None]` where all are alike."""
        return list(self.entries)

    def read(self, layer_type: str | None) -> dict[str, Any]:
        """Return the fields of a `RopeConfig`; what it warns of stands in `notes`.

        Args:
            layer_type: one of `layer_types()`.

        Returns:
            Fields by name.

        Raises:
            TypeError: if a value has a wrong type.
            ValueError: if a value breaks its rule, is missing, or two disagree.
        """
        entry = self._choose(layer_type)
        where = "the rope part"
        if None not in self.entries:
            where += f" of {printable(layer_type)}"
        self._note_unread_keys()
        layout = self._layout()
        rope_type = self._rope_type(entry, where)
        entry = self._checked_entry(entry, rope_type, where)
        max_seq_len = self._spelled("max_position_embeddings")
        original = self._original(entry, where)
        self._check_missing(entry, rope_type, original, max_seq_len, where)
        options = self._options(entry, rope_type, max_seq_len, original, where)
        head_dim, rotary_dim = self._widths(entry, rope_type, layer_type)
        base = self._base(entry, where)
        num_layers = self._spelled("num_hidden_layers")
        return {
            "head_dim": head_dim,
            "rotary_dim": rotary_dim,
            "base": base,
            "layout": layout,
            "rope_type": rope_type,
            "scaling": options,
            "max_seq_len": max_seq_len,
            "original_max_seq_len": original,
            "num_layers": num_layers,
            "rotating_layers": self._rotating_layers(num_layers, layer_type),
            "softmax_factor": self._softmax_factor(rope_type, options),
            "model_type": self.model_type,
            "layer_type": layer_type,
            "assumed": tuple(note.sentence for note in self.notes if note.code == "assumed"),
        }

    def _check_that_it_rotates(self) -> None:
        if self.model_type in MODEL_TYPES["unsupported"]:
            reason = MODEL_TYPES["unsupported"][self.model_type]
            raise ValueError(f'model_type "{self.model_type}" is not supported: {reason}')
        if self._is("without_rotation"):
            raise ValueError(
                f'model_type is "{self.model_type}": the model does not rotate, whatever its '
                "configuration says"
            )
        if self.text.get("alibi"):
            raise ValueError("alibi is true: the model does not rotate")
        kind = self.text.get("position_embedding_type")
        if kind is not None and kind not in ROTATING_EMBEDDINGS:
            raise ValueError(
                f'position_embedding_type is "{printable(kind)}": the model does not rotate'
            )

    # The rope part: old style is rope_scaling with keys beside it, new style rope_parameters, flat
    # or one set for each kind of layer.

    def _entries(self) -> dict[str | None, dict[str, Any] | None]:
        """Return the rope parameters of each layer type, or of all layers under None."""
        old = _flat(self.text.get("rope_scaling"), "rope_scaling")
        new = self.text.get("rope_parameters")
        if new and any(isinstance(value, dict) for value in new.values()):
            return self._nested(old, new)
        entry = _merged(old, _flat(new, "rope_parameters"))
        if not entry and self._is("scaled_by_default"):
            raise ValueError(
                "rope_scaling and rope_parameters are missing, and transformers' default for "
                f"model_type {self.model_type!r} is not to leave frequencies as they are"
            )
        local = self._first("rope_local_base_freq", "local_rope_theta")
        if self._is("two_bases") or local is not None:
            return self._two_bases(entry, local)
        if self._is("one_base_scaled"):
            plain_ = {key: value for key, value in entry.items() if key == "rope_theta"}
            return {"full_attention": entry, "sliding_attention": plain_}
        return {None: entry}

    def _nested(self, old: dict, new: dict) -> dict[str | None, dict[str, Any] | None]:
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
        base = self.text.get("rope_theta")
        for key, value in (old | ({} if base is None else {"rope_theta": base})).items():
            if key == "rope_theta" and any(key not in entry for entry in inside):
                continue
            if not any(key in entry and same(entry[key], value) for entry in inside):
                raise ValueError(
                    f"{printable(key)} is {shown(value)} outside of rope_parameters, and no entry "
                    "repeats it"
                )
        return entries

    def _two_bases(self, entry: dict, local: float | None) -> dict[str | None, dict[str, Any]]:
        defaults = MODEL_TYPES["two_bases"].get(self.model_type)
        is_bert = self._is("alternating") or self.text.get("local_rope_theta") is not None
        spelled = "local_rope_theta" if is_bert else "rope_local_base_freq"
        outer = self.text.get("global_rope_theta")
        if is_bert and outer is not None:
            entry = _merged(entry, {"rope_theta": outer})
        if "rope_theta" not in entry and self.text.get("rope_theta") is None and defaults:
            entry = entry | {"rope_theta": defaults[0]}
            self._assume("rope_theta of full_attention", defaults[0])
        if local is None:
            local = defaults[1]
            self._assume(spelled, local)
        sliding = {key: value for key, value in entry.items() if is_bert}
        return {"full_attention": entry, "sliding_attention": sliding | {"rope_theta": local}}

    def _choose(self, layer_type: str | None) -> dict[str, Any]:
        if layer_type is not None and not isinstance(layer_type, str):
            raise TypeError(f"layer_type must be a string, got {shown(layer_type)}")
        is_one = None in self.entries
        kinds = self.text.get("layer_types") or [] if is_one else list(self.entries)
        if layer_type is not None and layer_type not in kinds:
            has = f"one of {_listed(sorted(set(kinds)))}" if kinds else "left out for this model"
            raise ValueError(f"layer_type must be {has}, got {shown(layer_type)}")
        if is_one:
            return self.entries[None]
        if layer_type is None:
            raise ValueError(
                f"layer_type must be given: this model rotates {_listed(kinds)} differently"
            )
        if self.entries[layer_type] is None:
            raise ValueError(f"layers of type {shown(layer_type)} do not rotate in this model")
        return self.entries[layer_type]

    def _rope_type(self, entry: dict, where: str) -> str:
        rope_type = entry.get("rope_type")
        if rope_type is None:
            lost = sorted(set(entry) & _OF_A_TYPE)
            if lost:
                raise ValueError(f"{where} has {_listed(lost)} but no rope_type")
            return "default"
        if rope_type == "dynamic" and entry.get("alpha") is not None:
            return "ntk_alpha"  # HunYuan's files call it dynamic
        if rope_type in UNSUPPORTED_TYPES:
            reason = UNSUPPORTED_TYPES[rope_type]
            raise ValueError(f'rope_type "{rope_type}" is not supported: {reason}')
        if rope_type not in ROPE_TYPES:
            raise ValueError(
                f"rope_type must be one of {_listed(ROPE_TYPES)}, got {shown(rope_type)} in {where}"
            )
        return rope_type

    def _checked_entry(self, entry: dict, rope_type: str, where: str) -> dict[str, Any]:
        """Return the entry's keys that are read, each by its rule; note or refuse the others."""
        rules = rules_of(rope_type)
        for name in sorted(set(entry) - set(rules)):
            key = f"{where}[{shown(name)}]"
            if name in NOT_OF_THE_TABLES:
                self._note("aside", name, f"{key} is not read: it {NOT_OF_THE_TABLES[name]}")
            elif rope_type == "default" and name in _OF_A_TYPE:
                raise ValueError(f'{key} is given, but rope_type is "default"')
            elif name in _OF_A_TYPE:
                self._note("no_effect", name, f"{key} has no effect with rope_type {rope_type!r}")
            else:
                known = _listed(sorted(rules))
                raise ValueError(f"{key} is unknown; rope_type {rope_type!r} reads {known}")
        rules = rules | {_ORIGINAL: "count"}
        return {
            name: value if value is None else checked(f"{where}[{name!r}]", value, rules[name])
            for name, value in sorted(entry.items())
            if name in rules
        }

    def _original(self, entry: dict, where: str) -> int | None:
        inner, outer = entry.get(_ORIGINAL), self.text.get(_ORIGINAL)
        if inner is not None and outer is not None and inner != outer:
            raise ValueError(f"{_ORIGINAL} is {inner} in {where} and {outer} outside of it")
        return outer if inner is None else inner

    def _check_missing(
        self,
        entry: dict,
        rope_type: str,
        original: int | None,
        max_seq_len: int | None,
        where: str,
    ) -> None:
        given = entry.keys() | ({_ORIGINAL} if original else set())
        missing = sorted(ROPE_TYPES[rope_type]["required"].keys() - given)
        if missing:
            raise ValueError(
                f"{where} lacks {_listed(missing)}, which rope_type {rope_type!r} needs"
            )
        if max_seq_len is not None:
            return
        if rope_type == "dynamic":
            raise ValueError('rope_type "dynamic" needs max_position_embeddings')
        if rope_type in RATIO_OF_LENGTHS and entry.get("factor") is None:
            raise ValueError(f"{where} lacks 'factor', and max_position_embeddings is missing")

    def _options(
        self,
        entry: dict,
        rope_type: str,
        max_seq_len: int | None,
        original: int | None,
        where: str,
    ) -> dict[str, Any]:
        """Return what the scaling function is called with besides width, base and lengths."""
        part = ROPE_TYPES[rope_type]
        names = sorted((part["required"] | part["optional"]).keys() - {_ORIGINAL})
        options = {name: entry[name] for name in names if entry.get(name) is not None}
        if rope_type in RATIO_OF_LENGTHS and "factor" not in options:
            # DeepSeek and Phi-3 leave it to the ratio of the lengths, and so does transformers.
            rule = rules_of(rope_type)["factor"]
            options["factor"] = checked(f"{where}['factor']", max_seq_len / original, rule)
            self._assume("factor", options["factor"], "the ratio of the two lengths")
        if rope_type == "yarn" and "attention_factor" in options:
            for name in ("mscale", "mscale_all_dim"):
                if options.pop(name, None) is not None:
                    key = f"{where}[{name!r}]"
                    self._note("beside", name, f"{key} has no effect beside attention_factor")
        if rope_type == "proportional":
            shares = (entry.get(_SHARE), self.text.get(_SHARE), 1.0)
            options[_SHARE] = next(share for share in shares if share is not None)
        return options

    def _base(self, entry: dict, where: str) -> float:
        found = {f"{where}['rope_theta']": entry.get("rope_theta")}
        if None in self.entries or "rope_theta" not in entry:
            found |= {name: self.text.get(name) for name in SPELLINGS["base"]}
        if self._is("half_a_head"):
            found["10000 * rope_ratio"] = DEFAULTS["rope_theta"] * self._or_default("rope_ratio")
        bases = self.text.get("layer_rope_theta")
        if bases is not None:
            rotating = sorted(set(bases) - {0})
            if len(rotating) != 1:
                raise ValueError(
                    "layer_rope_theta must have one base besides 0 to be read, got "
                    f"{shown(rotating)}"
                )
            found["layer_rope_theta"] = rotating[0]
        base = _agreed("the base", found)
        if base is not None:
            return float(base)
        if not self.is_known:
            raise ValueError("rope_theta is missing, and the model_type is unknown")
        base = MODEL_TYPES["bases"].get(self.model_type, DEFAULTS["rope_theta"])
        self._assume("rope_theta", base)
        return base

    # Widths

    def _widths(self, entry: dict, rope_type: str, layer_type: str | None) -> tuple[int, int]:
        """Return `head_dim` and `rotary_dim`."""
        latent = self.text.get("qk_rope_head_dim")
        head_dim = latent or self._head_dim(layer_type)
        if rope_type == "proportional":
            return head_dim, head_dim
        # In latent attention a share, where it is given, is one of the whole head.
        rest = self.text.get("qk_nope_head_dim") or 0
        width = head_dim + rest if latent else head_dim
        found = {}
        for name in SPELLINGS["share"]:
            for part in (entry, self.text):
                share = part.get(name)
                if share is not None:
                    found[f"{name} {share}"] = head_dim if share == 1 else int(width * share)
        found["rotary_dim"] = self.text.get("rotary_dim")
        default = MODEL_TYPES["rotary_dims"].get(self.model_type)
        if default and found["rotary_dim"] is None:
            if "rotary_dim" in self.text:
                raise ValueError("rotary_dim must be an integer, got None")
            self._assume("rotary_dim", default)
            found["rotary_dim"] = default
        if self._is("half_a_head"):
            found[f"half of the head, as in {self.model_type}"] = head_dim // 2
        found["qk_rope_head_dim"] = latent
        rotary_dim = _agreed("rotary_dim", found)
        if rotary_dim is not None:
            return head_dim, rotary_dim
        share = MODEL_TYPES["shares"].get(self.model_type, 1.0)
        if share != 1:
            self._assume(_SHARE, share)
        return head_dim, int(head_dim * share)

    def _head_dim(self, layer_type: str | None) -> int:
        own = {}
        for i, layer in (self.text.get("per_layer_config") or {}).items():
            if not re.fullmatch("[0-9]{1,9}", i) or not isinstance(layer, dict):
                raise ValueError(
                    "per_layer_config must map the index of a layer to a mapping, got "
                    f"{shown(i)}: {shown(layer)}"
                )
            if layer.get("head_dim") is not None:
                key = f"per_layer_config[{i!r}]['head_dim']"
                own[int(i)] = checked(key, layer["head_dim"], "dimensions")
        if not own:
            return self._common_head_dim(layer_type)
        num_layers = self._spelled("num_hidden_layers") or 0
        kinds = self.text.get("layer_types") or [None] * num_layers
        asked = [i for i, kind in enumerate(kinds) if kind == layer_type]
        widths = {own[i] for i in asked if i in own}
        if any(i not in own for i in asked):
            widths.add(self._common_head_dim(layer_type))
        if len(widths) != 1:
            raise ValueError(
                f"head_dim must be one number for layers of type {shown(layer_type)}, got "
                f"{shown(sorted(widths))} in per_layer_config"
            )
        return widths.pop()

    def _common_head_dim(self, layer_type: str | None) -> int:
        is_global = layer_type == "full_attention"
        if is_global and self.text.get("global_head_dim") is not None:
            return self.text["global_head_dim"]
        head_dim = self._spelled("head_dim")
        if head_dim is not None:
            return head_dim
        if is_global and self._is("global_head_dims"):
            head_dim = MODEL_TYPES["global_head_dims"][self.model_type]
            self._assume("global_head_dim", head_dim)
            return head_dim
        if self._is("head_dims"):
            head_dim = MODEL_TYPES["head_dims"][self.model_type]
            self._assume("head_dim", head_dim)
            return head_dim
        hidden_size, num_heads = map(self._spelled, ("hidden_size", "num_attention_heads"))
        for name, size in (("hidden_size", hidden_size), ("num_attention_heads", num_heads)):
            if size is None:
                raise ValueError(f"{name} is missing, and head_dim too")
        if hidden_size % num_heads:
            raise ValueError(
                "hidden_size must be a multiple of num_attention_heads where head_dim is missing, "
                f"got {hidden_size} and {num_heads}"
            )
        return checked("head_dim", hidden_size // num_heads, "dimensions")

    # Layers

    def _rotating_layers(
        self, num_layers: int | None, layer_type: str | None
    ) -> tuple[int, ...] | None:
        if num_layers is None:
            return None
        kinds = self._kinds(num_layers)
        switches = self._switches(num_layers)
        sliding_only = self._is("sliding_only")
        if sliding_only and not self._is("sliding_only_always") and "sliding_window" in self.text:
            sliding_only = self.text["sliding_window"] is not None
        if kinds is None and (sliding_only or layer_type is not None):
            raise ValueError("layer_types is missing: it says which layers rotate")
        return tuple(
            i
            for i, kind in enumerate(kinds or [None] * num_layers)
            if switches[i]
            and kind not in WITHOUT_ATTENTION
            and (kind == "sliding_attention" or not sliding_only)
            and layer_type in (None, kind)
            and not (kind in self.entries and self.entries[kind] is None)
        )

    def _kinds(self, num_layers: int) -> list[str] | None:
        kinds = self.text.get("layer_types")
        if kinds is not None:
            return self._for_each_layer("layer_types", kinds, num_layers)
        if self._is("alternating"):
            every = self._or_default("global_attn_every_n_layers")
            return [_window(i % every) for i in range(num_layers)]
        pattern = self._first(*SPELLINGS["sliding_window_pattern"])
        pattern = pattern or MODEL_TYPES["patterns"].get(self.model_type)
        if pattern is None:
            return None
        if isinstance(pattern, str):
            return [_window(pattern[i % len(pattern)] == "L") for i in range(num_layers)]
        return [_window((i + 1) % pattern) for i in range(num_layers)]

    def _switches(self, num_layers: int) -> list[bool]:
        """Return which layers rotate by `no_rope_layers`, where a 1 means that a layer does."""
        bases = self.text.get("layer_rope_theta")
        if bases is not None:
            self._for_each_layer("layer_rope_theta", bases, num_layers)
            return [base != 0 for base in bases]
        listed = self.text.get("no_rope_layers")
        if self.model_type not in READ_BY["no_rope_layers"] and (listed is None or self.is_known):
            return [True] * num_layers
        if listed:
            self._for_each_layer("no_rope_layers", listed, num_layers)
            return [switch == 1 for switch in listed]
        every = self._or_default("no_rope_layer_interval")
        return [(i + 1) % every != 0 for i in range(num_layers)]

    def _for_each_layer(self, key: str, values: list, num_layers: int) -> list:
        if len(values) != num_layers:
            raise ValueError(
                f"{key} must have num_hidden_layers = {num_layers} entries, got {len(values)}"
            )
        return values

    # The rest

    def _layout(self) -> str:
        flag = self.text.get("rope_interleave")
        if self._is("interleaved"):
            turned = flag is False and self.model_type in READ_BY["rope_interleave"]
            return "half" if turned else "interleaved"
        if self._is("half"):
            return "half"
        if flag is not None:
            return "interleaved" if flag else "half"
        sentence = f'model_type {shown(self.model_type)} is unknown: layout "half" is assumed'
        self._note("model", "model_type", sentence)
        self.notes.append(Note("assumed", "layout", 'layout "half", as in most models'))
        return "half"

    def _softmax_factor(self, rope_type: str, options: dict) -> float:
        weight = options.get("mscale_all_dim")
        if rope_type != "yarn" or not weight or not self._is("softmax"):
            return 1.0
        return scaling.yarn_mscale(options["factor"], weight) ** 2

    def _note_unread_keys(self) -> None:
        unread = {
            key
            for key, value in self.text.items()
            if key not in KEYS and value is not None and value is not False
        }
        for key, model_types in READ_BY.items():
            if self.is_known and self.model_type not in model_types:
                is_what_it_does = key == "rope_interleave" and self._is("interleaved")
                if self.text.get(key) is not None and not (is_what_it_does and self.text[key]):
                    unread.add(key)
        for key in sorted(unread):
            value, model_type = shown(self.text[key]), shown(self.model_type)
            sentence = f"{printable(key)} ({value}) is not read for model_type {model_type}"
            self._note("unread", key, sentence)

    def _is(self, group: str) -> bool:
        return self.model_type in MODEL_TYPES[group]

    def _spelled(self, name: str) -> Any:
        return _agreed(name, {spelling: self.text.get(spelling) for spelling in SPELLINGS[name]})

    def _first(self, *names: str) -> Any:
        return next((self.text[name] for name in names if self.text.get(name) is not None), None)

    def _or_default(self, key: str) -> Any:
        value = self.text.get(key)
        return DEFAULTS[key] if value is None else value

    def _note(self, code: str, key: str, sentence: str) -> None:
        self.notes.append(Note(code, key, sentence))

    def _assume(self, key: str, value: Any, why: str | None = None) -> None:
        why = why or f"transformers' default for model_type {self.model_type!r}"
        self._note("assumed", key, f"{key} {value}: {why}")


_SHARE = "partial_rotary_factor"


def _text_part(config: dict[str, Any]) -> dict[str, Any]:
    """Return what the part about text says of rotation; what stands around it must agree."""
    text = config
    for name in TEXT_PARTS:
        if config.get(name) is None:
            continue
        text = checked(name, config[name], "mapping")
        for key in _REPEATED:
            outer, inner = plain(config.get(key), key), plain(text.get(key), key)
            if outer is not None and not same(outer, inner):
                raise ValueError(f"{key} is {shown(outer)}, but {shown(inner)} within {name}")
        text = {"model_type": config.get("model_type"), **text}
        break
    return {
        key: plain(value, key)
        for key, value in text.items()
        if isinstance(key, str) and (key in KEYS or _is_about_rotation(key))
    }


def _is_about_rotation(key: str) -> bool:
    return re.search(ABOUT_ROTATION, key, re.IGNORECASE | re.ASCII) is not None


_REPEATED = [key for key in KEYS if _is_about_rotation(key)]


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


def _agreed(name: str, found: dict[str, Any]) -> Any:
    """Return the one number that all say who say any."""
    found = {said: value for said, value in found.items() if value is not None}
    if len(set(found.values())) > 1:
        listed = ", ".join(f"{shown(value)} by {said}" for said, value in found.items())
        raise ValueError(f"{name} must be one number, got {listed}")
    return next(iter(found.values()), None)


def _window(is_local: object) -> str:
    return "sliding_attention" if is_local else "full_attention"


def _listed(names: Any) -> str:
    names = [shown(name) for name in names]
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
