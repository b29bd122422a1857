"""The position encodings of a recipe, and a trained model under another one."""

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from ropebook.experiments.transformer import Transformer
from ropelib import checks, scaling
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

if TYPE_CHECKING:
    from ropebook.experiments.recipe import Recipe


def rotary(recipe: "Recipe") -> Rotary:
    """Return the RoPE of a recipe: its share, its base, its scaling."""
    inv_freq, attention_factor = frequencies(recipe)
    return Rotary(recipe.head_dim, inv_freq=inv_freq, attention_factor=attention_factor)


def frequencies(recipe: "Recipe") -> tuple[Tensor, float]:
    """Return `(inv_freq, attention_factor)` of a recipe: frequencies in rad/token, float64.

    Raises:
        TypeError: as the method of `ropelib.scaling`.
        ValueError: if there is no such method, or as the method.
    """
    rotary_dim = recipe.head_dim if recipe.rotary_dim is None else recipe.rotary_dim
    told = dict(recipe.scaling or {"method": "default"})
    method = told.pop("method", None)
    if method not in METHODS:
        raise ValueError(f"scaling must name a method of {METHODS}, got {checks.shown(method)}")
    return getattr(scaling, method)(rotary_dim, recipe.base, **told)


METHODS = tuple(name for name in scaling.__all__ if name != "yarn_mscale")

# One encoding per recipe. What has parameters of its own and is not shared by the layers in its
# paper is made anew for each layer: OWN.
MAKERS: dict[str, Callable[["Recipe"], PositionEncoding]] = {
    "none": lambda recipe: NoPosition(),
    "sinusoidal": lambda recipe: Sinusoidal(recipe.model_dim),
    "learned": lambda recipe: LearnedAbsolute(recipe.seq_len, recipe.model_dim),
    "shaw": lambda recipe: Shaw(recipe.head_dim, recipe.seq_len // 2),
    "transformer_xl": lambda recipe: TransformerXL(recipe.num_heads, recipe.head_dim),
    "t5": lambda recipe: T5Bias(recipe.num_heads, max_distance=recipe.seq_len, bidirectional=False),
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
ROTARY = {"rope"}


def check(recipe: "Recipe") -> None:
    """Raise unless the recipe's encoding can be made.

    Raises:
        TypeError: if a number of RoPE's is none.
        ValueError: if there is no such encoding, RoPE's numbers do not fit or belong to an encoding
            that does not turn, or layers without an encoding meet one that adds to the embeddings.
    """
    if recipe.encoding not in MAKERS:
        raise ValueError(
            f"encoding must be one of {sorted(MAKERS)}, got {checks.shown(recipe.encoding)}"
        )
    if recipe.encoding in ROTARY:
        frequencies(recipe)
    elif recipe.rotary_dim is not None or recipe.scaling is not None:
        raise ValueError(
            f"rotary_dim and scaling are RoPE's, got them with encoding {recipe.encoding!r}"
        )
    if recipe.nope_every and recipe.encoding in ("sinusoidal", "learned"):
        raise ValueError(
            "nope_every must be 0 for an encoding that is added to the embeddings, "
            f"got {recipe.nope_every} with {recipe.encoding!r}"
        )


def per_layer(recipe: "Recipe") -> list[PositionEncoding]:
    """Return one encoding for each layer of a recipe's model."""
    make = MAKERS[recipe.encoding]
    shared = make(recipe)
    return [
        NoPosition()
        if recipe.nope_every and layer % recipe.nope_every == 0
        else (make(recipe) if recipe.encoding in OWN else shared)
        for layer in range(1, recipe.num_layers + 1)
    ]


def build(recipe: "Recipe", vocab_size: int) -> Transformer:
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
        >>> from ropebook.experiments.recipe import Recipe
        >>> model = build(Recipe(model_dim=8, num_heads=1), vocab_size=4)
        >>> slow = with_rotary(model, frequencies(Recipe(model_dim=8, num_heads=1))[0] / 2)
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
