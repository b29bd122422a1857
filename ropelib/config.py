"""What a model's config.json says about its rotation, all of it or an error."""

import json
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from ropelib import distance, frequencies, model_types, scaling

_LAYOUTS = ("interleaved", "half")
_METHODS = {
    "default": scaling.default,
    "linear": scaling.linear,
    "dynamic": scaling.dynamic_ntk,
    "yarn": scaling.yarn,
    "longrope": scaling.longrope,
    "llama3": scaling.llama3,
    "proportional": scaling.proportional,
    "ntk_alpha": scaling.ntk_alpha,
}
_ALIASES = {"su": "longrope", "mrope": "default"}
_REQUIRED = {
    "linear": {"factor"},
    "dynamic": {"factor"},
    "yarn": {"factor", "original_max_position_embeddings"},
    "longrope": {"short_factor", "long_factor", "original_max_position_embeddings"},
    "llama3": {
        "factor",
        "low_freq_factor",
        "high_freq_factor",
        "original_max_position_embeddings",
    },
    "ntk_alpha": {"alpha"},
}
_OPTIONAL = {
    "yarn": {
        "attention_factor",
        "beta_fast",
        "beta_slow",
        "mscale",
        "mscale_all_dim",
        "truncate",
    },
    "longrope": {"factor", "attention_factor"},
    "proportional": {"factor"},
}
_EVERY_TYPE = {"rope_type", "rope_theta", "partial_rotary_factor"}
_SCALING_KEYS = set().union(*_REQUIRED.values(), *_OPTIONAL.values())
_NOT_OF_THE_TABLES = {
    "finetuned": "says how the model was trained",
    "llama_4_scaling_beta": "scales queries by position, beside the rotation",
    "max_position_embeddings": "repeats what stands outside",
    "mrope_interleaved": "is about images; text rotates as without it",
    "mrope_section": "is about images; text rotates as without it",
}
_TOP_KEYS = {
    "global_rope_theta",
    "layer_rope_theta",
    "local_rope_theta",
    "no_rope_layer_interval",
    "no_rope_layers",
    "original_rope",
    "partial_rotary_factor",
    "qk_rope_head_dim",
    "rope_interleave",
    "rope_local_base_freq",
    "rope_parameters",
    "rope_pct",
    "rope_ratio",
    "rope_scaling",
    "rope_theta",
    "rotary_dim",
    "rotary_emb_base",
    "rotary_pct",
}
_SPELLINGS = {
    "hidden_size": ("hidden_size", "n_embd", "d_model"),
    "num_attention_heads": ("num_attention_heads", "n_head"),
    "num_hidden_layers": ("num_hidden_layers", "n_layer", "num_layers"),
    "max_position_embeddings": ("max_position_embeddings", "n_positions", "seq_length"),
    "head_dim": ("head_dim", "kv_channels"),
}
_WITHOUT_ATTENTION = ("linear_attention", "conv", "mamba", "recurrent")
_BFLOAT16_DISTINCT = 256  # 8 significant bits: 256 is followed by 258


@dataclass(frozen=True)
class RopeConfig:
    """The rotation of one model, or of its layers of one type.

    `inv_freq(seq_len)` and `attention_factor(seq_len)` feed `cos_sin`, and `layout` feeds
    `apply_rotary`::

        config = RopeConfig.from_hf("config.json")
        cos, sin = cos_sin(position_ids, config.inv_freq(),
                           attention_factor=config.attention_factor())
        q = apply_rotary(q, cos, sin, layout=config.layout)

    Attributes:
        head_dim: width of what is rotated; in multi-head latent attention `qk_rope_head_dim`.
        rotary_dim: leading dimensions of it that rotate.
        base: of the unscaled frequencies.
        layout: "interleaved" or "half", as the model's weights expect it.
        rope_type: "default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional" or
            "ntk_alpha"; the functions of `ropelib.scaling`.
        scaling: what that function is called with besides width, base and lengths.
        max_seq_len: `max_position_embeddings` as the file has it, tokens; None where it is missing.
        original_max_seq_len: trained length before scaling, tokens, where the file gives one.
        num_layers: of the model; None where it is missing.
        rotating_layers: indices of the layers that rotate so; None where `num_layers` is missing.
        softmax_factor: what the DeepSeek family multiplies its softmax scale by, once for query
            and key together: `yarn_mscale(factor, mscale_all_dim) ** 2`. It is no part of the
            tables and not applied by anything here; 1 for all others.
        model_type: as in the file.
        layer_type: which of the model's rotations this is, where it has several.
        assumed: what the file leaves to transformers' defaults, one sentence each.

    Raises:
        TypeError: if a value has a wrong type.
        ValueError: if a value breaks a rule of the scaling function, a width is odd or does not
            fit, or `layout` or `rope_type` is unknown.

    Source:
        transformers 5.23: `modeling_rope_utils.py` and each model's configuration and modeling.

    Example:
        >>> config = RopeConfig(head_dim=128, rotary_dim=128, base=500_000.0, layout="half")
        >>> config.inv_freq().shape, config.attention_factor()
        (torch.Size([64]), 1.0)
    """

    head_dim: int
    rotary_dim: int
    base: float
    layout: str
    rope_type: str = "default"
    scaling: Mapping[str, Any] = field(default_factory=dict)
    max_seq_len: int | None = None
    original_max_seq_len: int | None = None
    num_layers: int | None = None
    rotating_layers: tuple[int, ...] | None = None
    softmax_factor: float = 1.0
    model_type: str | None = None
    layer_type: str | None = None
    assumed: tuple[str, ...] = ()

    def __post_init__(self):
        if self.layout not in _LAYOUTS:
            raise ValueError(f'layout must be "interleaved" or "half", got {self.layout!r}')
        if self.rope_type not in _METHODS:
            raise ValueError(
                f"rope_type must be one of {_listed(_METHODS)}, got {self.rope_type!r}"
            )
        frequencies.check_rotary_dim(self.rotary_dim, self.head_dim)
        self._scaled(None)

    @classmethod
    def from_hf(
        cls, config: Mapping[str, Any] | str | os.PathLike, layer_type: str | None = None
    ) -> "RopeConfig":
        """Read a Hugging Face configuration, old style or new.

        Old style is `rope_theta` beside `rope_scaling`, new style is `rope_parameters`, flat or
        one per layer type. Where both stand they must agree. A `text_config` within is what counts.
        No rope key is dropped in silence: one that is read nowhere is an error inside the rope part
        and a warning outside of it, one that has no effect on this rope type is a warning.

        Args:
            config: the configuration as a mapping, or the path of a config.json.
            layer_type: which layers, where the model rotates them differently, such as
                "sliding_attention" and "full_attention" in Gemma 3.

        Returns:
            What the file says.

        Raises:
            TypeError: if `config` is neither a mapping nor a path, or a value has a wrong type: a
                string or a bool for a number included.
            ValueError: if the file is missing or not JSON, a key is missing, unknown, repeated with
                another value or out of range, the model does not rotate or not in a way that this
                library computes, or `layer_type` is missing or unknown.

        Warns:
            UserWarning: if `model_type` is unknown (the layout is then assumed to be "half"), or a
                key has no effect.

        Example:
            >>> config = RopeConfig.from_hf({"model_type": "llama", "hidden_size": 4096,
            ...     "num_attention_heads": 32, "rope_theta": 500000.0,
            ...     "rope_scaling": {"rope_type": "linear", "factor": 4.0}})
            >>> config.rotary_dim, config.layout, config.scaling
            (128, 'half', {'factor': 4.0})
        """
        return _Reader(_text_part(_load(config))).read(layer_type)

    def inv_freq(self, seq_len: int | None = None) -> Tensor:
        """Return the scaled frequencies.

        Args:
            seq_len: length of the present sequence, tokens; it matters for "dynamic" and
                "longrope" only, and unless given is the trained length.

        Returns:
            float64 `(rotary_dim // 2,)`, rad/token.

        Raises:
            TypeError: if `seq_len` is not an integer.
            ValueError: if `seq_len` is not positive.

        Example:
            >>> RopeConfig(head_dim=8, rotary_dim=4, base=100.0, layout="half").inv_freq()
            tensor([1.0000, 0.1000], dtype=torch.float64)
        """
        return self._scaled(seq_len)[0]

    def attention_factor(self, seq_len: int | None = None) -> float:
        """Return what multiplies cos and sin.

        Args:
            seq_len: as in `inv_freq`.

        Returns:
            A positive number.

        Raises:
            TypeError: if `seq_len` is not an integer.
            ValueError: if `seq_len` is not positive.

        Example:
            >>> RopeConfig(head_dim=4, rotary_dim=4, base=100.0, layout="half").attention_factor()
            1.0
        """
        return self._scaled(seq_len)[1]

    def describe(self) -> dict[str, Any]:
        """Return facts about this rotation, unformatted.

        Everything in tokens. Lengths are judged by `max_seq_len`; entries that need one are None
        where the file gives none.

        Returns:
            Fields as they are, and: `in_words`, what the scaling does; `shortest_wavelength` and
            `longest_wavelength`; `incomplete_pairs`, how many pairs do not complete a turn within
            `max_seq_len`; `bfloat16_positions`, up to which all integers are distinct in bfloat16;
            `first_negative_distance`, the smallest distance m up to `max_seq_len` at which the sum
            of `cos(m * f)` over the unscaled frequencies f is negative, so that tokens no longer
            prefer, on average, their like (None: nowhere). Dimensions that do not rotate are not
            in the sum; they would raise it.

        Source:
            Base of RoPE Bounds Context Length (Men et al., arXiv:2405.14591), for the sum.

        Example:
            >>> facts = RopeConfig(head_dim=128, rotary_dim=128, base=10_000.0, layout="half",
            ...                    max_seq_len=4096).describe()
            >>> facts["incomplete_pairs"], facts["first_negative_distance"]
            (18, 1707)
        """
        inv_freq, attention_factor = self._scaled(self.max_seq_len)
        wavelengths = frequencies.wavelength(inv_freq)
        incomplete, first_negative = None, None
        if self.max_seq_len is not None:
            turns = frequencies.turns(inv_freq, self.max_seq_len)
            incomplete = int((turns < 1).sum())
            unscaled = frequencies.inv_freq(self.rotary_dim, self.base)
            first_negative = distance.first_negative_distance(unscaled, self.max_seq_len)
        return {
            "model_type": self.model_type,
            "layer_type": self.layer_type,
            "num_layers": self.num_layers,
            "rotating_layers": self.rotating_layers,
            "layout": self.layout,
            "head_dim": self.head_dim,
            "rotary_dim": self.rotary_dim,
            "base": self.base,
            "rope_type": self.rope_type,
            "in_words": self._in_words(),
            "attention_factor": attention_factor,
            "softmax_factor": self.softmax_factor,
            "max_seq_len": self.max_seq_len,
            "original_max_seq_len": self.original_max_seq_len,
            "shortest_wavelength": wavelengths.min().item(),
            "longest_wavelength": wavelengths.max().item(),
            "incomplete_pairs": incomplete,
            "bfloat16_positions": _BFLOAT16_DISTINCT,
            "first_negative_distance": first_negative,
            "assumed": self.assumed,
        }

    def _scaled(self, seq_len: int | None) -> tuple[Tensor, float]:
        if seq_len is not None:
            scaling._check_length("seq_len", seq_len)
        options = dict(self.scaling)
        if self.rope_type == "dynamic":
            if self.max_seq_len is None:
                raise ValueError('rope_type "dynamic" needs max_position_embeddings')
            options |= {"seq_len": seq_len or self.max_seq_len, "max_seq_len": self.max_seq_len}
        elif self.rope_type == "longrope":
            options["seq_len"] = seq_len
        if self.rope_type in ("yarn", "longrope", "llama3"):
            options["original_max_seq_len"] = self.original_max_seq_len
        return _METHODS[self.rope_type](self.rotary_dim, self.base, **options)

    def _in_words(self) -> str:
        options, factor = self.scaling, self.scaling.get("factor")
        if self.rope_type == "linear":
            return f"all pairs are slowed by {factor:g}"
        if self.rope_type == "dynamic":
            return f"the base grows with the sequence beyond {self.max_seq_len} tokens"
        if self.rope_type == "ntk_alpha":
            return f"the base is enlarged once; the last pair is slowed by {options['alpha']:g}"
        if self.rope_type == "longrope":
            return (
                "each pair is slowed by its own factor, by "
                f"{min(options['short_factor']):g} to {max(options['short_factor']):g} up to "
                f"{self.original_max_seq_len} tokens and by {min(options['long_factor']):g} to "
                f"{max(options['long_factor']):g} beyond"
            )
        if self.rope_type == "proportional":
            share = options.get("partial_rotary_factor", 1.0)
            return f"the fastest {share:.0%} of the pairs rotate, the rest stand still"
        if self.rope_type in ("yarn", "llama3"):
            slow, fast = (
                (options["low_freq_factor"], options["high_freq_factor"])
                if self.rope_type == "llama3"
                else (options.get("beta_slow", 1.0), options.get("beta_fast", 32.0))
            )
            return (
                f"pairs are slowed by {factor:g} where they turn at most {slow:g} times in "
                f"{self.original_max_seq_len} tokens, and not at all from {fast:g} times on"
            )
        return "frequencies are as they were trained"


def report(config: RopeConfig) -> str:
    """Return what there is to say about a rotation, as lines of text that end with a verdict.

    Args:
        config: the rotation.

    Returns:
        Text to print.

    Example:
        >>> config = RopeConfig(head_dim=128, rotary_dim=128, base=10_000.0, layout="half",
        ...                     max_seq_len=4096)
        >>> print(report(config).splitlines()[-1].split("; ")[0])
        Verdict: 18 of 64 pairs never complete a turn
        >>> print(report(config).splitlines()[-1].split("; ")[1])
        by the cosine bound its base carries 1706 of the 4096 tokens.
    """
    facts = config.describe()
    num_pairs = config.rotary_dim // 2
    name = facts["model_type"] or "model of no stated type"
    lines = [f"{name}, {facts['layer_type']} layers" if facts["layer_type"] else name]

    def line(label: str, text: object) -> None:
        lines.append(f"  {label:<17}{text}")

    line("layout", facts["layout"])
    line("rotates", f"{facts['rotary_dim']} of {facts['head_dim']} dimensions, {num_pairs} pairs")
    if facts["rotating_layers"] is not None:
        line("layers", f"{len(facts['rotating_layers'])} of {facts['num_layers']} rotate so")
    line("base", f"{facts['base']:g}")
    line("scaling", f"{facts['rope_type']}: {facts['in_words']}")
    if facts["attention_factor"] != 1:
        line("attention factor", f"{facts['attention_factor']:.6g}, on cos and on sin")
    if facts["softmax_factor"] != 1:
        line("softmax factor", f"{facts['softmax_factor']:.6g}, on the scale, outside the tables")
    line(
        "wavelengths",
        f"{facts['shortest_wavelength']:.4g} to {facts['longest_wavelength']:.4g} tokens",
    )
    line("bfloat16", f"keeps integer positions distinct up to {facts['bfloat16_positions']}")
    for sentence in facts["assumed"]:
        line("assumed", sentence)
    if facts["max_seq_len"] is None:
        return "\n".join([*lines, "Verdict: no length is stated, so none can be judged."])
    line("longest sequence", f"{facts['max_seq_len']} tokens")
    incomplete = facts["incomplete_pairs"]
    verdict = (
        f"{incomplete} of {num_pairs} pairs never complete a turn"
        if incomplete
        else "all pairs complete a turn"
    )
    first_negative = facts["first_negative_distance"]
    where = "nowhere negative" if first_negative is None else f"negative first at {first_negative}"
    line("cosine sum", f"{where}, before scaling")
    carried = "all" if first_negative is None else f"{first_negative - 1} of the"
    bound = f"by the cosine bound its base carries {carried} {facts['max_seq_len']} tokens"
    return "\n".join([*lines, f"Verdict: {verdict}; {bound}."])


def layer_types(config: str | os.PathLike | Mapping[str, Any]) -> list[str | None]:
    """Return the kinds of layer that a configuration rotates differently, in its own order.

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
    return list(_Reader(_text_part(_load(config)))._entries())


class _Reader:
    """One text configuration, read key by key."""

    def __init__(self, text: dict[str, Any]):
        self.text = text
        self.assumed: list[str] = []
        self.model_type = text.get("model_type")
        if self.model_type is not None and not isinstance(self.model_type, str):
            raise TypeError(f"model_type must be a string, got {self.model_type!r}")
        if self.model_type in model_types.UNSUPPORTED:
            reason = model_types.UNSUPPORTED[self.model_type]
            raise ValueError(f'model_type "{self.model_type}" is not supported: {reason}')

    def read(self, layer_type: str | None) -> RopeConfig:
        if self.text.get("alibi") is True:
            raise ValueError("alibi is true: the model does not rotate")
        if self.text.get("position_embedding_type") in ("alibi", "nope"):
            kind = self.text["position_embedding_type"]
            raise ValueError(f'position_embedding_type is "{kind}": the model does not rotate')
        self._warn_of_unread_keys()
        layout = self._layout()
        entries = self._entries()
        entry = self._choose(entries, layer_type)
        key = _where(entries, layer_type)
        rope_type = self._rope_type(entry, key)
        self._check_keys(entry, rope_type, key)
        max_seq_len = self._size("max_position_embeddings")
        if max_seq_len is not None:
            scaling._check_length("max_position_embeddings", max_seq_len)
        original = self._original(entry, key)
        options = self._options(entry, rope_type, max_seq_len, original, key)
        head_dim, rotary_dim = self._widths(entry, rope_type, layer_type)
        if rope_type == "proportional":
            share = self._first("partial_rotary_factor", entry, self.text)
            options["partial_rotary_factor"] = 1.0 if share is None else share
        num_layers = self._size("num_hidden_layers")
        return RopeConfig(
            head_dim=head_dim,
            rotary_dim=rotary_dim,
            base=self._base(entry, key),
            layout=layout,
            rope_type=rope_type,
            scaling=options,
            max_seq_len=max_seq_len,
            original_max_seq_len=original,
            num_layers=num_layers,
            rotating_layers=self._rotating_layers(num_layers, entries, layer_type),
            softmax_factor=self._softmax_factor(rope_type, options),
            model_type=self.model_type,
            layer_type=layer_type,
            assumed=tuple(self.assumed),
        )

    def _layout(self) -> str:
        flag = self.text.get("rope_interleave")
        if flag is not None and not isinstance(flag, bool):
            raise TypeError(f"rope_interleave must be true or false, got {flag!r}")
        if self.model_type in model_types.INTERLEAVED:
            if flag is False and self.model_type in model_types.HAS_INTERLEAVE_FLAG:
                return "half"
            return "interleaved"
        if self.model_type in model_types.HALF:
            return "half"
        if flag is not None:
            return "interleaved" if flag else "half"
        _warn(f'model_type {self.model_type!r} is unknown: layout "half" is assumed')
        self.assumed.append('layout "half", as in most models')
        return "half"

    def _entries(self) -> dict[str | None, dict[str, Any] | None]:
        """Return the rope parameters of each layer type, or of all layers under None."""
        old = _flat(self.text.get("rope_scaling"), "rope_scaling")
        new = self.text.get("rope_parameters")
        if new is not None and not isinstance(new, Mapping):
            raise TypeError(f"rope_parameters must be a mapping, got {new!r}")
        if new and any(isinstance(value, Mapping) for value in new.values()):
            return self._nested(old, new)
        entry = _merged(old, _flat(new, "rope_parameters"))
        if not entry and self.model_type in model_types.SCALED_BY_DEFAULT:
            raise ValueError(
                "rope_scaling and rope_parameters are missing, and transformers' default for "
                f"model_type {self.model_type!r} is not to leave frequencies as they are"
            )
        local = self._first("rope_local_base_freq", self.text)
        if local is None:
            local = self._first("local_rope_theta", self.text)
        if self.model_type in model_types.TWO_BASES or local is not None:
            return self._two_bases(entry, local)
        if self.model_type == "olmo3":
            # Only global layers are stretched.
            plain = {k: v for k, v in entry.items() if k == "rope_theta"}
            return {"full_attention": entry, "sliding_attention": plain}
        return {None: entry}

    def _nested(self, old: dict, new: Mapping) -> dict[str | None, dict[str, Any] | None]:
        for name, value in new.items():
            if value is not None and not isinstance(value, Mapping):
                raise ValueError(
                    f"rope_parameters must be flat or one mapping per layer type, got both: "
                    f"{name!r} is {value!r}"
                )
        entries = {
            name: None if value is None else _flat(value, f"rope_parameters[{name!r}]")
            for name, value in new.items()
        }
        outer = old | self._present({"rope_theta": "rope_theta"})
        for key, value in outer.items():
            if key == "rope_theta" and any(
                entry and key not in entry for entry in entries.values()
            ):
                continue
            if not any(entry and entry.get(key) == value for entry in entries.values()):
                raise ValueError(
                    f"{key} is {value!r} outside of rope_parameters, and no entry repeats it"
                )
        return entries

    def _two_bases(self, entry: dict, local: Any) -> dict[str | None, dict[str, Any] | None]:
        defaults = model_types.TWO_BASES.get(self.model_type)
        spelled = "rope_local_base_freq"
        is_bert = str(self.model_type).startswith("modernbert") or "local_rope_theta" in self.text
        if is_bert:
            spelled = "local_rope_theta"
            entry = _merged(entry, self._present({"rope_theta": "global_rope_theta"}))
        if "rope_theta" not in entry and self._first("rope_theta", self.text) is None and defaults:
            entry = entry | {"rope_theta": defaults[0]}
            self._assume("rope_theta of full_attention", defaults[0])
        if local is None:
            local = defaults[1]
            self._assume(spelled, local)
        sliding = {"rope_theta": local}
        if is_bert:
            sliding = {k: v for k, v in entry.items() if k != "rope_theta"} | sliding
        return {"full_attention": entry, "sliding_attention": sliding}

    def _choose(self, entries: dict, layer_type: str | None) -> dict[str, Any]:
        known = list(entries) if None not in entries else self.text.get("layer_types") or []
        if layer_type is not None and layer_type not in known:
            has = f"one of {_listed(sorted(set(known)))}" if known else "left out for this model"
            raise ValueError(f"layer_type must be {has}, got {layer_type!r}")
        if None in entries:
            return entries[None]
        if layer_type is None:
            raise ValueError(
                f"layer_type must be given: this model rotates {_listed(entries)} differently"
            )
        if entries[layer_type] is None:
            raise ValueError(f"layers of type {layer_type!r} do not rotate in this model")
        return entries[layer_type]

    def _rope_type(self, entry: dict, key: str) -> str:
        rope_type = entry.get("rope_type")
        if rope_type is None:
            lost = sorted(set(entry) & _SCALING_KEYS)
            if lost:
                raise ValueError(f"{key} has {_listed(lost)} but no rope_type")
            return "default"
        if rope_type == "dynamic" and entry.get("alpha"):
            return "ntk_alpha"  # HunYuan's files call it dynamic
        if rope_type == "axial":
            raise ValueError('rope_type "axial" is not supported: it rotates by two coordinates')
        if rope_type not in _METHODS:
            raise ValueError(
                f"rope_type must be one of {_listed(_METHODS)}, got {rope_type!r} in {key}"
            )
        return rope_type

    def _check_keys(self, entry: dict, rope_type: str, key: str) -> None:
        required = _REQUIRED.get(rope_type, set())
        optional = _OPTIONAL.get(rope_type, set()) | _EVERY_TYPE
        for name in sorted(set(entry) - required - optional):
            if name in _NOT_OF_THE_TABLES:
                _warn(f"{key}[{name!r}] is not read: it {_NOT_OF_THE_TABLES[name]}")
            elif rope_type == "default" and name in _SCALING_KEYS:
                raise ValueError(f'{key}[{name!r}] is given, but rope_type is "default"')
            elif name in _SCALING_KEYS:
                _warn(f"{key}[{name!r}] has no effect with rope_type {rope_type!r}")
            else:
                raise ValueError(
                    f"{key}[{name!r}] is unknown; rope_type {rope_type!r} reads "
                    f"{_listed(sorted(required | optional))}"
                )
        for name in sorted(required - {"original_max_position_embeddings"}):
            if name not in entry:
                raise ValueError(f"{key} lacks {name!r}, which rope_type {rope_type!r} needs")
        if "original_max_position_embeddings" in required and self._original(entry, key) is None:
            raise ValueError(
                f"{key} lacks 'original_max_position_embeddings', which rope_type "
                f"{rope_type!r} needs"
            )

    def _original(self, entry: dict, key: str) -> int | None:
        name = "original_max_position_embeddings"
        inner, outer = entry.get(name), self.text.get(name)
        if inner is not None and outer is not None and inner != outer:
            raise ValueError(f"{name} is {inner!r} in {key} and {outer!r} outside of it")
        value = outer if inner is None else inner
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if value is not None:
            scaling._check_length(name, value)
        return value

    def _options(
        self, entry: dict, rope_type: str, max_seq_len: int | None, original: int | None, key: str
    ) -> dict[str, Any]:
        names = _REQUIRED.get(rope_type, set()) | _OPTIONAL.get(rope_type, set())
        options = {
            name: entry[name]
            for name in sorted(names - {"original_max_position_embeddings"})
            if entry.get(name) is not None
        }
        if rope_type in ("yarn", "longrope") and "factor" not in options:
            # DeepSeek and Phi-3 leave it to the ratio of the lengths, and so does transformers.
            if max_seq_len is None:
                raise ValueError(f"{key} lacks 'factor', and max_position_embeddings is missing")
            options["factor"] = max_seq_len / original
            self._assume("factor", options["factor"], "the ratio of the two lengths")
        if rope_type == "yarn" and "attention_factor" in options:
            for name in ("mscale", "mscale_all_dim"):
                if options.pop(name, None) is not None:
                    _warn(f"{key}[{name!r}] has no effect beside attention_factor")
        for name, value in options.items():
            if name not in ("short_factor", "long_factor", "truncate"):
                scaling._check_number(f"{key}[{name!r}]", value)
        return options

    def _base(self, entry: dict, key: str) -> float:
        found = {f"{key}['rope_theta']": entry.get("rope_theta")}
        if key == "the rope part" or "rope_theta" not in entry:
            for name in ("rope_theta", "rotary_emb_base"):
                found[name] = self.text.get(name)
        if self.model_type == "chatglm":
            ratio = self.text.get("rope_ratio", 1)
            scaling._check_positive("rope_ratio", ratio)
            found["10000 * rope_ratio"] = 10_000.0 * ratio
        found["layer_rope_theta"] = self._layer_base()
        found = {name: value for name, value in found.items() if value is not None}
        for name, value in found.items():
            scaling._check_positive(name, value)
        if len(set(found.values())) > 1:
            said = ", ".join(f"{name} {value!r}" for name, value in found.items())
            raise ValueError(f"the base must be one number, got {said}")
        if found:
            return float(next(iter(found.values())))
        known = model_types.INTERLEAVED | model_types.HALF
        if self.model_type not in known:
            raise ValueError("rope_theta is missing, and the model_type is unknown")
        base = model_types.BASES.get(self.model_type, 10_000.0)
        self._assume("rope_theta", base)
        return base

    def _layer_base(self) -> float | None:
        bases = self.text.get("layer_rope_theta")
        if bases is None:
            return None
        if not isinstance(bases, list):
            raise TypeError(f"layer_rope_theta must be a list, got {bases!r}")
        for i, base in enumerate(bases):
            scaling._check_number(f"layer_rope_theta[{i}]", base)
        rotating = sorted(set(bases) - {0})
        if len(rotating) != 1:
            raise ValueError(
                f"layer_rope_theta must have one base besides 0 to be read, got {rotating}"
            )
        return rotating[0]

    def _widths(self, entry: dict, rope_type: str, layer_type: str | None) -> tuple[int, int]:
        """Return `head_dim` and `rotary_dim`."""
        latent = self.text.get("qk_rope_head_dim")
        if latent is not None:
            scaling._check_length("qk_rope_head_dim", latent)
        head_dim = latent or self._head_dim(layer_type)
        if rope_type == "proportional":
            return head_dim, head_dim
        # In latent attention a share, where it is given, is one of the whole head.
        rest = self.text.get("qk_nope_head_dim") or 0
        scaling._check_number("qk_nope_head_dim", rest)
        width = head_dim + rest if latent else head_dim
        found = {}
        for name in ("partial_rotary_factor", "rotary_pct", "rope_pct"):
            for part in (entry, self.text):
                share = part.get(name)
                if share is None:
                    continue
                scaling._check_positive(name, share)
                if share > 1:
                    raise ValueError(f"{name} must be at most 1, got {share}")
                found[f"{name} {share}"] = head_dim if share == 1 else int(width * share)
        given = self.text.get("rotary_dim")
        if given is not None:
            scaling._check_length("rotary_dim", given)
            found[f"rotary_dim {given}"] = given
        elif self.model_type in ("gptj", "codegen"):
            if "rotary_dim" in self.text:
                raise ValueError("rotary_dim must be an integer, got None")
            self._assume("rotary_dim", 64)
            found["rotary_dim"] = 64
        if self.model_type == "chatglm":
            found["half of the head, as in chatglm"] = head_dim // 2
        if latent:
            found[f"qk_rope_head_dim {head_dim}"] = head_dim
        if len(set(found.values())) > 1:
            said = ", ".join(f"{value} by {name}" for name, value in found.items())
            raise ValueError(f"rotary_dim must be one number, got {said}")
        if found:
            return head_dim, next(iter(found.values()))
        share = model_types.PARTIAL_ROTARY_FACTORS.get(self.model_type, 1.0)
        if share != 1:
            self._assume("partial_rotary_factor", share)
        return head_dim, int(head_dim * share)

    def _head_dim(self, layer_type: str | None) -> int:
        wide = self.text.get("global_head_dim")
        head_dim = wide if wide and layer_type == "full_attention" else self._size("head_dim")
        if self.text.get("per_layer_config") is not None:
            return self._head_dim_by_layer(head_dim, layer_type)
        if head_dim is not None:
            scaling._check_length("head_dim", head_dim)
            return head_dim
        if self.model_type == "gemma4_text" and layer_type == "full_attention":
            self._assume("global_head_dim", 512)
            return 512
        if self.model_type in model_types.HEAD_DIMS:
            head_dim = model_types.HEAD_DIMS[self.model_type]
            self._assume("head_dim", head_dim)
            return head_dim
        sizes = []
        for name in ("hidden_size", "num_attention_heads"):
            size = self._size(name)
            if size is None:
                raise ValueError(f"{name} is missing, and head_dim too")
            scaling._check_length(name, size)
            sizes.append(size)
        hidden_size, num_heads = sizes
        if hidden_size % num_heads:
            raise ValueError(
                "hidden_size must be a multiple of num_attention_heads where head_dim is missing, "
                f"got {hidden_size} and {num_heads}"
            )
        return hidden_size // num_heads

    def _head_dim_by_layer(self, head_dim: int | None, layer_type: str | None) -> int:
        """Return the width that all layers of a type share, where each has its own settings."""
        settings = self.text["per_layer_config"]
        if not isinstance(settings, Mapping):
            raise TypeError(f"per_layer_config must be a mapping, got {settings!r}")
        for i, layer in settings.items():
            if not str(i).isdigit() or not isinstance(layer, Mapping):
                raise ValueError(
                    "per_layer_config must map the index of a layer to a mapping, got "
                    f"{i!r}: {layer!r}"
                )
        own = {int(i): layer.get("head_dim", head_dim) for i, layer in settings.items()}
        types = self.text.get("layer_types") or [None] * (self._size("num_hidden_layers") or 0)
        widths = {own.get(i, head_dim) for i, kind in enumerate(types) if kind == layer_type}
        if len(widths) != 1:
            raise ValueError(
                f"head_dim must be one number for layers of type {layer_type!r}, got "
                f"{sorted(widths, key=str)} in per_layer_config"
            )
        (width,) = widths
        scaling._check_length("head_dim", width)
        return width

    def _rotating_layers(
        self, num_layers: int | None, entries: dict, layer_type: str | None
    ) -> tuple[int, ...] | None:
        if num_layers is None:
            return None
        scaling._check_length("num_hidden_layers", num_layers)
        types = self._layer_types(num_layers)
        switches = self._switches(num_layers)
        sliding_only = self.model_type in model_types.ROTATES_SLIDING_ONLY
        if sliding_only and self.model_type != "cohere2" and "sliding_window" in self.text:
            sliding_only = self.text["sliding_window"] is not None
        if types is None and (sliding_only or layer_type is not None):
            raise ValueError("layer_types is missing: it says which layers rotate")
        layers = []
        for i in range(num_layers):
            kind = types[i] if types else None
            if kind in _WITHOUT_ATTENTION or not switches[i]:
                continue
            if sliding_only and kind != "sliding_attention":
                continue
            if layer_type is not None and kind != layer_type:
                continue
            if kind in entries and entries[kind] is None:
                continue
            layers.append(i)
        return tuple(layers)

    def _layer_types(self, num_layers: int) -> list[str] | None:
        types = self.text.get("layer_types")
        if types is not None:
            if not isinstance(types, list):
                raise TypeError(f"layer_types must be a list, got {types!r}")
            if len(types) != num_layers:
                raise ValueError(
                    f"layer_types must have num_hidden_layers = {num_layers} entries, "
                    f"got {len(types)}"
                )
            return types
        if str(self.model_type).startswith("modernbert"):
            every = self.text.get("global_attn_every_n_layers", 3)
            scaling._check_length("global_attn_every_n_layers", every)
            return [_window(i % every) for i in range(num_layers)]
        pattern = self.text.get("sliding_window_pattern", self.text.get("_sliding_window_pattern"))
        if pattern is None:
            pattern = model_types.SLIDING_WINDOW_PATTERNS.get(self.model_type)
        if pattern is None:
            return None
        if isinstance(pattern, str):
            if not pattern or set(pattern) - set("LG"):
                raise ValueError(f"sliding_window_pattern must be of L and G, got {pattern!r}")
            return [_window(pattern[i % len(pattern)] == "L") for i in range(num_layers)]
        scaling._check_length("sliding_window_pattern", pattern)
        return [_window((i + 1) % pattern) for i in range(num_layers)]

    def _switches(self, num_layers: int) -> list[bool]:
        """Return which layers rotate by `no_rope_layers`, where a 1 means that a layer does."""
        bases = self.text.get("layer_rope_theta")
        if bases is not None:
            if len(bases) != num_layers:
                raise ValueError(
                    f"layer_rope_theta must have num_hidden_layers = {num_layers} entries, "
                    f"got {len(bases)}"
                )
            return [base != 0 for base in bases]
        known = model_types.INTERLEAVED | model_types.HALF
        listed = self.text.get("no_rope_layers")
        if self.model_type not in model_types.HAS_NO_ROPE_LAYERS:
            if listed is None or self.model_type in known:
                return [True] * num_layers
        if listed:
            if not isinstance(listed, list) or any(
                isinstance(switch, bool) or switch not in (0, 1) for switch in listed
            ):
                raise TypeError(f"no_rope_layers must be a list of 0 and 1, got {listed!r}")
            if len(listed) != num_layers:
                raise ValueError(
                    f"no_rope_layers must have num_hidden_layers = {num_layers} entries, "
                    f"got {len(listed)}"
                )
            return [bool(switch) for switch in listed]
        every = self.text.get("no_rope_layer_interval", 4)
        scaling._check_length("no_rope_layer_interval", every)
        return [bool((i + 1) % every) for i in range(num_layers)]

    def _softmax_factor(self, rope_type: str, options: dict) -> float:
        weight = options.get("mscale_all_dim")
        if rope_type != "yarn" or not weight:
            return 1.0
        if self.model_type not in model_types.SCALES_SOFTMAX:
            return 1.0
        return scaling.yarn_mscale(options["factor"], weight) ** 2

    def _warn_of_unread_keys(self) -> None:
        unread = {
            name
            for name, value in self.text.items()
            if re.search("rope|rotary|yarn|ntk|alibi", str(name), re.IGNORECASE)
            and name not in _TOP_KEYS
            and value not in (None, False)
        }
        for name, types in (
            ("no_rope_layers", model_types.HAS_NO_ROPE_LAYERS),
            ("rope_interleave", model_types.HAS_INTERLEAVE_FLAG),
            ("rope_ratio", {"chatglm"}),
        ):
            known = self.model_type in model_types.INTERLEAVED | model_types.HALF
            needless = name == "rope_interleave" and self.model_type in model_types.INTERLEAVED
            if known and self.model_type not in types and self.text.get(name) is not None:
                if not (needless and self.text[name] is True):
                    unread.add(name)
        for name in sorted(unread):
            _warn(f"{name} ({self.text[name]!r}) is not read for model_type {self.model_type!r}")

    def _size(self, name: str) -> int | None:
        found = {
            spelling: self.text[spelling]
            for spelling in _SPELLINGS[name]
            if self.text.get(spelling) is not None
        }
        if len(set(map(repr, found.values()))) > 1:
            said = ", ".join(f"{key} {value!r}" for key, value in found.items())
            raise ValueError(f"{name} must be one number, got {said}")
        return next(iter(found.values()), None)

    def _first(self, name: str, *parts: Mapping) -> Any:
        return next((part[name] for part in parts if part.get(name) is not None), None)

    def _present(self, names: dict[str, str]) -> dict[str, Any]:
        found = {inner: self.text.get(outer) for inner, outer in names.items()}
        return {name: value for name, value in found.items() if value is not None}

    def _assume(self, name: str, value: object, why: str | None = None) -> None:
        why = why or f"transformers' default for model_type {self.model_type!r}"
        self.assumed.append(f"{name} {value}: {why}")


def _load(config: Mapping[str, Any] | str | os.PathLike) -> Mapping[str, Any]:
    if isinstance(config, Mapping):
        return config
    if not isinstance(config, (str, os.PathLike)):
        raise TypeError(
            "config must be a mapping or the path of a config.json, got "
            f"{type(config).__name__}; of a transformers configuration, give its to_dict()"
        )
    path = Path(config)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"config must be a file that can be read: {path}: {error}") from error
    except ValueError as error:
        raise ValueError(f"config must be JSON: {path}: {error}") from error
    if not isinstance(content, dict):
        raise TypeError(f"config must hold a JSON object: {path} holds {type(content).__name__}")
    return content


def _text_part(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part about text, which must not contradict what stands around it."""
    for name in ("text_config", "language_config", "llm_config"):
        text = config.get(name)
        if text is None:
            continue
        if not isinstance(text, Mapping):
            raise TypeError(f"{name} must be a mapping, got {text!r}")
        for key in _TOP_KEYS & set(config):
            if config[key] is not None and config[key] != text.get(key):
                raise ValueError(f"{key} is {config[key]!r}, but {text.get(key)!r} within {name}")
        return {"model_type": config.get("model_type"), **text}
    return dict(config)


def _flat(part: Any, key: str) -> dict[str, Any]:
    """Return rope parameters with one spelling of the type and without nulls."""
    if part is None:
        return {}
    if not isinstance(part, Mapping):
        raise TypeError(f"{key} must be a mapping, got {part!r}")
    entry = dict(part)
    types = {}
    for name in ("rope_type", "type"):
        value = entry.pop(name, None)
        if value is None:
            continue
        if not isinstance(value, str):
            raise TypeError(f"{key}[{name!r}] must be a string, got {value!r}")
        types[name] = _ALIASES.get(value, value)
    if len(set(types.values())) > 1:
        raise ValueError(
            f"{key} must have one type, got rope_type {types['rope_type']!r} "
            f"and type {types['type']!r}"
        )
    # Of a null factor the presence matters: YaRN then takes the ratio of the lengths.
    keeps_null = "yarn" in types.values()
    entry = {k: v for k, v in entry.items() if v is not None or (k == "factor" and keeps_null)}
    return entry | {"rope_type": next(iter(types.values()))} if types else entry


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    for key in first.keys() & second.keys():
        if first[key] != second[key]:
            raise ValueError(f"{key} is given as {first[key]!r} and as {second[key]!r}")
    return first | second


def _where(entries: dict, layer_type: str | None) -> str:
    return f"the rope part of {layer_type}" if None not in entries else "the rope part"


def _window(is_local: object) -> str:
    return "sliding_attention" if is_local else "full_attention"


def _listed(names: Any) -> str:
    return ", ".join(repr(name) for name in names)


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=2)
