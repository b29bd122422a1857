"""The rotation of one model, as its configuration asks for it."""

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from ropelib import checks
from ropelib.checks import shown
from ropelib.config.files import loaded
from ropelib.config.keys import METHODS, MOST
from ropelib.config.reader import Reader
from ropelib.config.values import Note
from ropelib.distance import first_negative_distance
from ropelib.frequencies import check_rotary_dim, inverse_frequencies, turns, wavelength

_BFLOAT16_DISTINCT = 256  # 8 significant bits: 256 is followed by 258
_MOST_UNREAD = 20  # keys that are named in a warning each
_MOST_COSINES = 2**26  # of a search for the first negative sum: a fraction of a second


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
        layout: "interleaved" or "half", as the model's weights expect it; None where it is not
            known, which only `as_read` leaves so.
        rope_type: "default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional" or
            "ntk_alpha"; the functions of `ropelib.scaling`.
        scaling: what that function is called with besides width, base and lengths.
        max_seq_len: `max_position_embeddings` as the file has it, tokens; None where it is missing.
        original_max_seq_len: trained length before scaling, tokens, where the file gives one.
        num_layers: of the model; None where it is missing.
        rotating_layers: indices of the layers that rotate so; None where `num_layers` is missing,
            or the file of a hybrid does not list which layers have attention.
        softmax_factor: what the DeepSeek family multiplies its softmax scale by, once for query
            and key together: `yarn_mscale(factor, mscale_all_dim) ** 2`. It is no part of the
            tables, and of all here only `encodings.Rotary` applies it; 1 for all others.
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
    layout: str | None
    rope_type: str = "default"
    scaling: Mapping[str, Any] = field(default_factory=dict, hash=False)
    max_seq_len: int | None = None
    original_max_seq_len: int | None = None
    num_layers: int | None = None
    rotating_layers: tuple[int, ...] | None = None
    softmax_factor: float = 1.0
    model_type: str | None = None
    layer_type: str | None = None
    assumed: tuple[str, ...] = ()

    def __post_init__(self):
        if self.layout is not None:
            checks.layout("layout", self.layout)
        if not isinstance(self.rope_type, str) or self.rope_type not in METHODS:
            names = ", ".join(map(repr, METHODS))
            raise ValueError(f"rope_type must be one of {names}, got {shown(self.rope_type)}")
        if not isinstance(self.scaling, Mapping):
            raise TypeError(f"scaling must be a mapping, got {shown(self.scaling)}")
        object.__setattr__(self, "scaling", dict(self.scaling))  # a copy that nobody changes
        for name, most in (("head_dim", MOST["dimensions"]), ("num_layers", MOST["layers"])):
            value = getattr(self, name)
            if value is None and name == "num_layers":
                continue
            checks.integer(name, value, 1, most)
        for name in ("max_seq_len", "original_max_seq_len"):
            if getattr(self, name) is not None:
                checks.length(name, getattr(self, name))
        check_rotary_dim(self.rotary_dim, self.head_dim)
        self._scaled(None)

    @classmethod
    def from_hf(
        cls,
        config: Mapping[str, Any] | str | os.PathLike | object,
        layer_type: str | None = None,
        *,
        layout: str | None = None,
    ) -> "RopeConfig":
        """Read a Hugging Face configuration, old style or new.

        Old style is `rope_theta` beside `rope_scaling`, new style is `rope_parameters`, flat or
        one per layer type. Where both stand they must agree. A `text_config` within is what counts.
        No rope key is dropped in silence: one that is read nowhere is an error inside the rope part
        and a warning outside of it, one that has no effect on this rope type is a warning. Whole
        numbers may be written as 64 or 64.0. No number may exceed 10 ** 15, no width 4096, no model
        have more than 10 000 layers, and no file more than a million bytes.

        Args:
            config: the configuration as a mapping, the path of a config.json, or an object with
                `to_dict()`, such as transformers' `LlamaConfig()`.
            layer_type: which layers, where the model rotates them differently, such as
                "sliding_attention" and "full_attention" in Gemma 3.
            layout: "interleaved" or "half", for a `model_type` that this library does not know.
                No file says it: it stands in the model's code alone.

        Returns:
            What the file says.

        Raises:
            TypeError: if `config` is none of these, or a value has a wrong type: a string or a bool
                for a number included.
            ValueError: if the file is missing, too large, no ordinary file or not JSON, a key is
                missing, unknown, repeated with another value or out of range, the model does not
                rotate or not in a way that this library computes, `layer_type` is missing or
                unknown, `layout` is missing for an unknown `model_type` or contradicts a known one,
                or `to_dict()` raises.

        Warns:
            UserWarning: if a key has no effect; of keys that are not read the first twenty are
                named.

        Example:
            >>> config = RopeConfig.from_hf({"model_type": "llama", "hidden_size": 4096,
            ...     "num_attention_heads": 32, "rope_theta": 500000.0,
            ...     "rope_scaling": {"rope_type": "linear", "factor": 4.0}})
            >>> config.rotary_dim, config.layout, config.scaling
            (128, 'half', {'factor': 4.0})
        """
        if layout is not None:
            checks.layout("layout", layout)
        reader = Reader(loaded(config))
        fields = reader.read(layer_type, layout)
        if fields["layout"] is None:
            raise ValueError(
                f"layout is not known for model_type {shown(reader.values.model_type)}: give "
                'layout="half" or layout="interleaved", as the code of the model has it'
            )
        for sentence in _worth_a_warning(reader.values.notes):
            warnings.warn(sentence, UserWarning, stacklevel=2)
        return cls(**fields)

    @classmethod
    def as_read(
        cls,
        config: Mapping[str, Any] | str | os.PathLike | object,
        layer_type: str | None = None,
    ) -> "RopeConfig":
        """Read what a configuration says of frequencies, whether or not the layout is known.

        For a report or a comparison of frequencies; to rotate, `from_hf` asks for the layout.

        Args:
            config: as in `from_hf`.
            layer_type: as in `from_hf`.

        Returns:
            As `from_hf`, with a layout of None for a `model_type` that nobody has looked up.

        Raises:
            TypeError: as `from_hf`.
            ValueError: as `from_hf`, but for the layout.

        Warns:
            UserWarning: as `from_hf`, and if the layout is not known.

        Example:
            >>> import warnings
            >>> with warnings.catch_warnings():
            ...     warnings.simplefilter("ignore")
            ...     mine = {"model_type": "mine", "head_dim": 64, "rope_theta": 1e4}
            ...     RopeConfig.as_read(mine).layout is None
            True
        """
        reader = Reader(loaded(config))
        fields = reader.read(layer_type)
        for sentence in _worth_a_warning(reader.values.notes):
            warnings.warn(sentence, UserWarning, stacklevel=2)
        return cls(**fields)

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
            Fields as they are, and `in_words`, what the scaling does; `shortest_wavelength` and
            `longest_wavelength`; `incomplete_pairs`, how many pairs do not complete a turn within
            `max_seq_len`; `still_pairs`, how many of them stand still at every position;
            `bfloat16_positions`, up to which all integers are distinct in bfloat16;
            `first_negative_distance`, the smallest distance m up to `distances_searched` at which
            the sum of `cos(m * f)` over the unscaled frequencies f is negative, so that tokens no
            longer prefer, on average, their like (None: nowhere). Dimensions that do not rotate are
            not in the sum; they would raise it. `distances_searched` is `max_seq_len`, or as far as
            a fraction of a second reaches.

        Raises:
            ValueError: inside `FakeTensorMode`, whose tensors hold no numbers.

        Source:
            Base of RoPE Bounds Context Length (Men et al., arXiv:2405.14591), for the sum.

        Example:
            >>> facts = RopeConfig(head_dim=128, rotary_dim=128, base=10_000.0, layout="half",
            ...                    max_seq_len=4096).describe()
            >>> facts["incomplete_pairs"], facts["first_negative_distance"]
            (18, 1707)
        """
        inv_freq, attention_factor = self._scaled(self.max_seq_len)
        if type(inv_freq) is not Tensor:
            raise ValueError(
                "a rotation can be described only where tensors hold numbers, got "
                f"{type(inv_freq).__name__}"
            )
        wavelengths = wavelength(inv_freq)
        incomplete, first_negative, searched = None, None, None
        if self.max_seq_len is not None:
            incomplete = int((turns(inv_freq, self.max_seq_len) < 1).sum())
            unscaled = inverse_frequencies(self.rotary_dim, self.base)
            searched = min(self.max_seq_len, _MOST_COSINES // len(unscaled))
            first_negative = first_negative_distance(unscaled, searched)
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
            "still_pairs": int((inv_freq == 0).sum()),
            "bfloat16_positions": _BFLOAT16_DISTINCT,
            "first_negative_distance": first_negative,
            "distances_searched": searched,
            "assumed": self.assumed,
        }

    def _scaled(self, seq_len: int | None) -> tuple[Tensor, float]:
        if seq_len is not None:
            checks.length("seq_len", seq_len)
        options = dict(self.scaling)
        if self.rope_type == "dynamic":
            if self.max_seq_len is None:
                raise ValueError('rope_type "dynamic" needs max_position_embeddings')
            options |= {"seq_len": seq_len or self.max_seq_len, "max_seq_len": self.max_seq_len}
        elif self.rope_type == "longrope":
            options["seq_len"] = seq_len
        if self.rope_type in ("yarn", "longrope", "llama3"):
            options["original_max_seq_len"] = self.original_max_seq_len
        return METHODS[self.rope_type](self.rotary_dim, self.base, **options)

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
                f"pairs are slowed by {factor:g} up to {slow:g} turn{'s' * (slow != 1)} in "
                f"{self.original_max_seq_len} tokens, and not at all from {fast:g} "
                f"turn{'s' * (fast != 1)} on"
            )
        return "frequencies are as they were trained"


def _worth_a_warning(notes: Iterable[Note]) -> Iterator[str]:
    """Yield what a reader should know; of keys that are not read, the first and how many more."""
    unread = 0
    for note in notes:
        unread += note.code == "unread"
        if note.code != "assumed" and not (note.code == "unread" and unread > _MOST_UNREAD):
            yield note.sentence
    if unread > _MOST_UNREAD:
        yield f"{unread - _MOST_UNREAD} more keys that seem to be about rotation are not read"
