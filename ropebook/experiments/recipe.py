"""All that decides a trained model, in one place that can be written down and compared."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from ropebook.experiments import tasks
from ropelib import checks, scaling

STDLIB = "stdlib"
ADDED = ("sinusoidal", "learned")  # to the embeddings, before the first layer
BIASES = ("shaw", "transformer_xl", "t5", "t5_quick", "deberta", "alibi", "content_bias")
ROTARY = ("rope", "rope_learned")
ENCODINGS = ("none", *ADDED, *BIASES, *ROTARY)
METHODS = tuple(name for name in scaling.__all__ if name != "yarn_mscale")
DTYPES = ("float32", "bfloat16")


@dataclass(frozen=True)
class Recipe:
    """A model, what it reads, and how it is trained; a seed is all that is missing.

    Args:
        encoding: one of `ENCODINGS`.
        data: "stdlib" for language modeling on bytes, or the name of a task.
        seq_len: bytes or tokens that the model sees in training.
        model_dim: width of a token's vector, a multiple of `num_heads`.
        num_heads: heads per layer.
        num_layers: layers.
        rotary_dim: leading dimensions of a head that turn; all of them unless given.
        base: of RoPE's frequencies.
        scaling: a method of `ropelib.scaling` and its numbers, as
            `{"method": "linear", "factor": 4.0}`; unscaled unless given.
        nope_every: every so manieth layer has no position encoding; 0 for none.
        num_steps: training steps.
        batch_size: texts per step, over all processes.
        learning_rate: the highest, of AdamW.
        warmup: steps until it is reached; then it falls as a cosine to a tenth.
        weight_decay: of the linear maps.
        dtype: "bfloat16" for matrix products in bfloat16 (autocast), or "float32".

    Raises:
        TypeError: if a size is not an integer, or a rate no number.
        ValueError: if a number is out of range, or a name is unknown.

    Example:
        >>> Recipe(encoding="alibi").key == Recipe().key
        False
    """

    encoding: str = "rope"
    data: str = STDLIB
    seq_len: int = 128
    model_dim: int = 128
    num_heads: int = 2
    num_layers: int = 2
    rotary_dim: int | None = None
    base: float = 10_000.0
    scaling: Mapping[str, Any] | None = None
    nope_every: int = 0
    num_steps: int = 400
    batch_size: int = 16
    learning_rate: float = 2e-3
    warmup: int = 40
    weight_decay: float = 0.1
    dtype: str = "bfloat16"

    def __post_init__(self):
        for name in ("seq_len", "model_dim", "num_heads", "num_layers", "num_steps", "batch_size"):
            checks.integer(name, getattr(self, name), 1)
        for name in ("nope_every", "warmup"):
            checks.integer(name, getattr(self, name), 0)
        checks.positive("learning_rate", self.learning_rate)
        checks.number("weight_decay", self.weight_decay)
        if self.weight_decay < 0:
            raise ValueError(f"weight_decay must be at least 0, got {self.weight_decay}")
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype must be one of {list(DTYPES)}, got {checks.shown(self.dtype)}")
        if self.model_dim % self.num_heads:
            raise ValueError(
                "model_dim must be a multiple of num_heads, "
                f"got {self.model_dim} and {self.num_heads}"
            )
        if self.data != STDLIB:
            tasks.check(self.data)
        self._check_encoding()

    @property
    def head_dim(self) -> int:
        """Width of a head."""
        return self.model_dim // self.num_heads

    def frequencies(self) -> tuple[Tensor, float]:
        """Return `(inv_freq, attention_factor)`: RoPE's frequencies, rad/token, float64, scaled.

        Raises:
            TypeError: as the method of `ropelib.scaling`.
            ValueError: if there is no such method, or as the method.

        Example:
            >>> Recipe(rotary_dim=2, scaling={"method": "linear", "factor": 4.0}).frequencies()
            (tensor([0.2500], dtype=torch.float64), 1.0)
        """
        rotary_dim = self.head_dim if self.rotary_dim is None else self.rotary_dim
        told = dict(self.scaling or {"method": "default"})
        method = told.pop("method", None)
        if method not in METHODS:
            raise ValueError(f"scaling must name a method of {METHODS}, got {checks.shown(method)}")
        return getattr(scaling, method)(rotary_dim, self.base, **told)

    def told(self) -> dict[str, Any]:
        """Return the recipe as JSON values."""
        return asdict(self)

    @property
    def key(self) -> str:
        """A short name that no other recipe has, for files."""
        text = json.dumps(self.told(), sort_keys=True)
        return f"{self.encoding}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"

    def _check_encoding(self) -> None:
        if self.encoding not in ENCODINGS:
            raise ValueError(
                f"encoding must be one of {list(ENCODINGS)}, got {checks.shown(self.encoding)}"
            )
        if self.encoding in ROTARY:
            self.frequencies()
        elif self.rotary_dim is not None:
            raise ValueError(
                f"rotary_dim is RoPE's, got {self.rotary_dim} with encoding {self.encoding!r}"
            )
        if self.scaling is not None and self.encoding != "rope":
            raise ValueError(f"scaling is RoPE's, got it with encoding {self.encoding!r}")
        if self.nope_every and self.encoding in ADDED:
            raise ValueError(
                "nope_every must be 0 for an encoding that is added to the embeddings, "
                f"got {self.nope_every} with {self.encoding!r}"
            )
