"""The position encodings of a recipe, and a trained model under another one."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ropebook.experiments.recipe import Recipe
from ropebook.experiments.transformer import Transformer
from ropelib.encodings import (
    Alibi,
    ContentBias,
    Deberta,
    LearnedAbsolute,
    LearnedRotary,
    NoPosition,
    PositionEncoding,
    Rotary,
    Shaw,
    Sinusoidal,
    T5Bias,
    TransformerXL,
)


def rotary(recipe: Recipe) -> Rotary:
    """Return the RoPE of a recipe: its share, its base, its scaling."""
    inv_freq, attention_factor = recipe.frequencies()
    return Rotary(recipe.head_dim, inv_freq=inv_freq, attention_factor=attention_factor)


class UnitT5(T5Bias):
    """T5's bias for queries that start as everybody's do here.

    T5 leaves 1 / sqrt(head_dim) out of its scores and lets its queries start that much smaller.
    """

    def scale(self, head_dim: int) -> float:
        """Return 1 / sqrt(head_dim)."""
        return PositionEncoding.scale(self, head_dim)


class QuickT5(UnitT5):
    """T5's bias, whose numbers start at 0 and move 30 times as far in a step.

    Adam moves every number by about the learning rate, whatever its gradient. A head's vectors make
    a large score of many such numbers, a bias that is added as it is has one: in a short training
    it gets nowhere. Its paper's optimizer takes steps in proportion to a parameter's size.
    """

    FASTER = 30.0

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        torch.nn.init.zeros_(self.table)

    def score_bias(
        self, q: Tensor, k: Tensor, position_ids: Tensor, key_position_ids: Tensor
    ) -> Tensor:
        """Return the table's numbers, times 30."""
        return self.FASTER * super().score_bias(q, k, position_ids, key_position_ids)


def t5(recipe: Recipe, kind: type[T5Bias]) -> T5Bias:
    """Return T5's bias of a recipe: looking back, its buckets as far as the trained length."""
    return kind(
        recipe.num_heads,
        num_buckets=min(32, recipe.seq_len),
        max_distance=recipe.seq_len,
        bidirectional=False,
    )


# One encoding per recipe. What layers do not share in its paper is made anew for each: OWN.
MAKERS: dict[str, Callable[[Recipe], PositionEncoding]] = {
    "none": lambda recipe: NoPosition(),
    "sinusoidal": lambda recipe: Sinusoidal(recipe.model_dim),
    "learned": lambda recipe: LearnedAbsolute(recipe.seq_len, recipe.model_dim),
    "shaw": lambda recipe: Shaw(recipe.head_dim, recipe.seq_len // 2),
    "transformer_xl": lambda recipe: TransformerXL(recipe.num_heads, recipe.head_dim),
    "t5": lambda recipe: t5(recipe, UnitT5),
    "t5_quick": lambda recipe: t5(recipe, QuickT5),
    "deberta": lambda recipe: Deberta(recipe.num_heads, recipe.head_dim, recipe.seq_len // 2),
    "alibi": lambda recipe: Alibi(recipe.num_heads),
    "content_bias": lambda recipe: ContentBias(
        recipe.num_heads, recipe.head_dim, extent=recipe.seq_len
    ),
    "rope": rotary,
    "rope_learned": lambda recipe: LearnedRotary(
        recipe.num_heads, recipe.head_dim, rotary_dim=recipe.rotary_dim, base=recipe.base
    ),
}
OWN = {"shaw", "transformer_xl", "deberta", "content_bias", "rope_learned"}


def per_layer(recipe: Recipe) -> list[PositionEncoding]:
    """Return one encoding for each layer of a recipe's model."""
    make = MAKERS[recipe.encoding]
    shared = make(recipe)
    made = [
        NoPosition()
        if recipe.nope_every and layer % recipe.nope_every == 0
        else (make(recipe) if recipe.encoding in OWN else shared)
        for layer in range(1, recipe.num_layers + 1)
    ]
    if recipe.encoding == "deberta":  # its layers share the table, and project it each in its way
        turning = [encoding for encoding in made if isinstance(encoding, Deberta)]
        for encoding in turning:
            encoding.table = turning[0].table
    return made


def build(recipe: Recipe, vocab_size: int) -> Transformer:
    """Return the model of a recipe, untrained.

    Args:
        recipe: what decides it.
        vocab_size: number of different tokens.
    """
    return Transformer(
        vocab_size,
        model_dim=recipe.model_dim,
        num_heads=recipe.num_heads,
        num_layers=recipe.num_layers,
        encoding=per_layer(recipe),
        causal=True,
    )


def with_encodings(model: Transformer, encodings: Sequence[PositionEncoding]) -> Transformer:
    """Return a copy of a model whose layers have other encodings.

    Args:
        model: stays as it is.
        encodings: one per layer.

    Raises:
        ValueError: if there is not one per layer.
    """
    if len(encodings) != len(model.layers):
        raise ValueError(
            f"encodings must be one per layer, got {len(encodings)} for {len(model.layers)} layers"
        )
    changed = copy.deepcopy(model)
    for layer, encoding in zip(changed.layers, encodings, strict=True):
        layer.encoding = encoding
    return changed


def with_rotary(model: Transformer, inv_freq: Tensor, attention_factor: float = 1.0) -> Transformer:
    """Return a copy of a RoPE model whose hands turn at other speeds; nothing else changes.

    Layers that do not rotate stay without.

    Args:
        model: stays as it is; its rotating layers have `Rotary`.
        inv_freq: `(num_pairs,)`, rad/token, as many as the model's or more.
        attention_factor: multiplies cos and sin.

    Raises:
        ValueError: if no layer of the model rotates.

    Example:
        >>> recipe = Recipe(model_dim=8, num_heads=1)
        >>> slow = with_rotary(build(recipe, vocab_size=4), recipe.frequencies()[0] / 2)
        >>> slow.layers[0].encoding.inv_freq[0]
        tensor(0.5000, dtype=torch.float64)
    """
    rotating = [isinstance(layer.encoding, Rotary) for layer in model.layers]
    if not any(rotating):
        raise ValueError("model must have a layer that rotates, got none")
    return with_encodings(
        model,
        [
            Rotary(
                layer.encoding.rotary.head_dim,
                inv_freq=inv_freq,
                attention_factor=attention_factor,
                layout=layer.encoding.rotary.layout,
            )
            if turns
            else layer.encoding
            for layer, turns in zip(model.layers, rotating, strict=True)
        ],
    )
