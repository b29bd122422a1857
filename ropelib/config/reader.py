"""Reads one configuration by the table of `keys.py`, key by key.

`config_inspector/reader.js` does the same in the same order, with files of the same names beside
it, and `tests/config/test_config_parity.py` holds the two together.
"""

from typing import Any

from ropelib import scaling
from ropelib.checks import printable, shown
from ropelib.config.keys import (
    DEFAULTS,
    KEYS,
    MODEL_TYPES,
    NOT_OF_THE_TABLES,
    RATIO_OF_LENGTHS,
    READ_BY,
    READ_ELSEWHERE,
    ROPE_TYPES,
    SHARE,
    SPELLINGS,
    UNSUPPORTED_TYPES,
    rules_of,
)
from ropelib.config.layers import rotating_layers
from ropelib.config.rope_part import entries_by_kind
from ropelib.config.rules import checked
from ropelib.config.values import Values, agreed, listed
from ropelib.config.widths import widths

_ORIGINAL = "original_max_position_embeddings"
_OF_A_TYPE = {key for part in ROPE_TYPES.values() for keys in part.values() for key in keys}


class Reader:
    """One text configuration, read key by key.

    Args:
        config: as `files.loaded` returns it.

    Raises:
        TypeError: if a value has a wrong type.
        ValueError: if a value breaks its rule, two values disagree, or the model does not rotate
            or in a way that is not computed here.
    """

    def __init__(self, config: dict[str, Any]):
        self.values = Values(config)
        self.entries = entries_by_kind(self.values)

    def layer_types(self) -> list[str | None]:
        """Return the kinds of layer that rotate differently, `[None]` where all are alike."""
        return [kind for kind, entry in self.entries.items() if entry is not None]

    def read(self, layer_type: str | None, layout: str | None = None) -> dict[str, Any]:
        """Return the fields of a `RopeConfig`; what it warns of stands in `values.notes`.

        Args:
            layer_type: one of `layer_types()`.
            layout: of a model whose type nobody has looked up.

        Returns:
            Fields by name; the layout is None where neither the model type nor the caller says it.

        Raises:
            TypeError: if a value has a wrong type.
            ValueError: if a value breaks its rule, is missing, or two disagree.
        """
        entry = self._choose(layer_type)
        where = "the rope part"
        if None not in self.entries:
            where += f" of {printable(layer_type)}"
        self._note_unread_keys()
        layout = self._layout(layout)
        rope_type = self._rope_type(entry, where)
        entry = self._checked_entry(entry, rope_type, where)
        max_seq_len = self.values.spelled("max_position_embeddings")
        original = self._original(entry, rope_type, max_seq_len, where)
        self._check_missing(entry, rope_type, original, max_seq_len, where)
        options = self._options(entry, rope_type, max_seq_len, original, where)
        head_dim, rotary_dim = widths(self.values, entry, rope_type, layer_type)
        base = self._base(entry, where)
        num_layers = self.values.spelled("num_hidden_layers")
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
            "rotating_layers": rotating_layers(self.values, self.entries, num_layers, layer_type),
            "softmax_factor": self._softmax_factor(rope_type, options),
            "model_type": self.values.model_type,
            "layer_type": layer_type,
            "assumed": tuple(note.sentence for note in self.values.notes if note.code == "assumed"),
        }

    def _choose(self, layer_type: str | None) -> dict[str, Any]:
        if layer_type is not None and not isinstance(layer_type, str):
            raise TypeError(f"layer_type must be a string, got {shown(layer_type)}")
        is_one = None in self.entries
        kinds = self.values.text.get("layer_types") or [] if is_one else list(self.entries)
        if layer_type is not None and layer_type not in kinds:
            has = f"one of {listed(sorted(set(kinds)))}" if kinds else "left out for this model"
            raise ValueError(f"layer_type must be {has}, got {shown(layer_type)}")
        if is_one:
            return self.entries[None]
        if layer_type is None:
            raise ValueError(
                f"layer_type must be given: this model rotates {listed(kinds)} differently "
                f"(on the command line --layer-type {kinds[0]}, say)"
            )
        if self.entries[layer_type] is None:
            raise ValueError(f"layers of type {shown(layer_type)} do not rotate in this model")
        return self.entries[layer_type]

    def _rope_type(self, entry: dict, where: str) -> str:
        rope_type = entry.get("rope_type")
        if rope_type is None:
            lost = sorted(set(entry) & _OF_A_TYPE)
            if lost:
                raise ValueError(f"{where} has {listed(lost)} but no rope_type")
            return "default"
        if rope_type == "dynamic" and entry.get("alpha") is not None:
            return "ntk_alpha"  # HunYuan's files call it dynamic
        if rope_type in UNSUPPORTED_TYPES:
            reason = UNSUPPORTED_TYPES[rope_type]
            raise ValueError(f'rope_type "{rope_type}" is not supported: {reason}')
        if rope_type not in ROPE_TYPES:
            raise ValueError(
                f"rope_type must be one of {listed(ROPE_TYPES)}, got {shown(rope_type)} in {where}"
            )
        return rope_type

    def _checked_entry(self, entry: dict, rope_type: str, where: str) -> dict[str, Any]:
        """Return the entry's keys that are read, each by its rule; note or refuse the others."""
        rules = rules_of(rope_type)
        for name in sorted(set(entry) - set(rules)):
            key = f"{where}[{shown(name)}]"
            if name in NOT_OF_THE_TABLES:
                self.values.note("aside", name, f"{key} is not read: it {NOT_OF_THE_TABLES[name]}")
            elif rope_type == "default" and name in _OF_A_TYPE:
                raise ValueError(f'{key} is given, but rope_type is "default"')
            elif name in _OF_A_TYPE:
                self.values.note(
                    "no_effect", name, f"{key} has no effect with rope_type {rope_type!r}"
                )
            else:
                known = listed(sorted(rules))
                elsewhere = f"; {READ_ELSEWHERE[name]}" if name in READ_ELSEWHERE else ""
                raise ValueError(
                    f"{key} is unknown; rope_type {rope_type!r} reads {known}{elsewhere}"
                )
        rules = rules | {_ORIGINAL: "count"}
        return {
            name: value if value is None else checked(f"{where}[{name!r}]", value, rules[name])
            for name, value in sorted(entry.items())
            if name in rules
        }

    def _original(
        self, entry: dict, rope_type: str, max_seq_len: int | None, where: str
    ) -> int | None:
        inner, outer = entry.get(_ORIGINAL), self.values.text.get(_ORIGINAL)
        if inner is not None and outer is not None and inner != outer:
            raise ValueError(f"{_ORIGINAL} is {inner} in {where} and {outer} outside of it")
        original = outer if inner is None else inner
        if original is None and rope_type in RATIO_OF_LENGTHS and max_seq_len is not None:
            # transformers fills it in.
            self.values.assume(_ORIGINAL, max_seq_len, "max_position_embeddings stands in for it")
            return max_seq_len
        return original

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
                f"{where} lacks {listed(missing)}, which rope_type {rope_type!r} needs"
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
            self.values.assume("factor", options["factor"], "the ratio of the two lengths")
        if rope_type == "yarn" and "attention_factor" in options:
            for name in ("mscale", "mscale_all_dim"):
                if options.pop(name, None) is not None:
                    key = f"{where}[{name!r}]"
                    self.values.note("beside", name, f"{key} has no effect beside attention_factor")
        if rope_type == "proportional":
            shares = (entry.get(SHARE), self.values.text.get(SHARE), 1.0)
            options[SHARE] = next(share for share in shares if share is not None)
        return options

    def _base(self, entry: dict, where: str) -> float:
        found = {f"{where}['rope_theta']": entry.get("rope_theta")}
        if None in self.entries or "rope_theta" not in entry:
            found |= {name: self.values.text.get(name) for name in SPELLINGS["base"]}
        if self.values.belongs("half_a_head"):
            ratio = self.values.or_default("rope_ratio")
            found["10000 * rope_ratio"] = DEFAULTS["rope_theta"] * ratio
        bases = self.values.text.get("layer_rope_theta")
        if bases is not None:
            rotating = sorted(set(bases) - {0})
            if len(rotating) != 1:
                raise ValueError(
                    "layer_rope_theta must have one base besides 0 to be read, got "
                    f"{shown(rotating)}"
                )
            found["layer_rope_theta"] = rotating[0]
        base = agreed("the base", found)
        if base is not None:
            return float(base)
        if not self.values.is_known:
            raise ValueError(
                "rope_theta is missing, and no default is known for model_type "
                f"{shown(self.values.model_type)}"
            )
        base = MODEL_TYPES["bases"].get(self.values.model_type, DEFAULTS["rope_theta"])
        self.values.assume("rope_theta", base)
        return base

    def _layout(self, given: str | None) -> str | None:
        flag = self.values.text.get("rope_interleave")
        found = None
        if self.values.belongs("interleaved"):
            turned = flag is False and self.values.model_type in READ_BY["rope_interleave"]
            found = "half" if turned else "interleaved"
        elif self.values.belongs("half"):
            found = "half"
        elif flag is not None:
            found = "interleaved" if flag else "half"
        if found is not None and given not in (None, found):
            raise ValueError(
                f'layout is "{found}" by model_type or rope_interleave, got {shown(given)}; '
                "dataclasses.replace turns what was read into another"
            )
        if found is None and given is None:
            self.values.note(
                "no_model" if self.values.model_type is None else "model",
                "model_type",
                f"layout is not known for model_type {shown(self.values.model_type)}",
            )
        return given if found is None else found

    def _softmax_factor(self, rope_type: str, options: dict) -> float:
        weight = options.get("mscale_all_dim")
        if rope_type != "yarn" or not weight or not self.values.belongs("softmax"):
            return 1.0
        return scaling.yarn_mscale(options["factor"], weight) ** 2

    def _note_unread_keys(self) -> None:
        text, model_type = self.values.text, self.values.model_type
        unread = {
            key
            for key, value in text.items()
            if key not in KEYS and value is not None and value is not False
        }
        for key, model_types in READ_BY.items():
            if self.values.is_known and model_type not in model_types and text.get(key) is not None:
                is_interleaved = key == "rope_interleave" and self.values.belongs("interleaved")
                if not (is_interleaved and text[key]):  # else it says what is so
                    unread.add(key)
        for key in sorted(unread):
            said = f"{printable(key)} ({shown(text[key])})"
            self.values.note(
                "unread", key, f"{said} is not read for model_type {shown(model_type)}"
            )
