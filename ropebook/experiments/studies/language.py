"""Every encoding reads the same text: how well within the trained length, and how far beyond it."""

import statistics
import time
from dataclasses import replace
from typing import Any

import torch

from ropebook.experiments import data, engine, evaluate
from ropebook.experiments.corpus import corpus
from ropebook.experiments.encodings import build
from ropebook.experiments.recipe import Recipe
from ropebook.experiments.transformer import Transformer
from ropebook.experiments.workshop import Workshop
from ropelib.encodings import LearnedRotary

BASE = Recipe()
RECIPES = {
    **{
        name: replace(BASE, encoding=name)
        for name in (
            *("none", "sinusoidal", "learned", "shaw", "transformer_xl", "t5", "deberta"),
            *("alibi", "content_bias", "rope", "rope_learned", "t5_quick"),
        )
    },
    **{f"rope {d} of 64": replace(BASE, rotary_dim=d) for d in (32, 16, 6, 2)},
    **{f"rope base {b:g}": replace(BASE, base=float(b)) for b in (100, 500_000)},
    "rope layer 2 without": replace(BASE, nope_every=2),
    "rope 4 layers": replace(BASE, num_layers=4),
    "rope 4 layers every 4th without": replace(BASE, num_layers=4, nope_every=4),
    "rope 4 layers every 2nd without": replace(BASE, num_layers=4, nope_every=2),
}
CASES = tuple(RECIPES)
TEXTS, LONGEST, BIN = 48, 8, 32  # texts of validation; times the trained length; bytes in a bin
CONFIG = {
    "recipes": {name: recipe.told() for name, recipe in RECIPES.items()},
    "texts": TEXTS,
    "longest": LONGEST,
    "bin": BIN,
}
TIMED = 15  # steps, turn by turn with a model that has no encoding


def run(case: str, seed: int, workshop: Workshop) -> dict[str, Any]:
    """Train a case and measure it.

    Args:
        case: one of `CASES`.
        seed: of the training; validation texts are the same for all.
        workshop: has the trained models.

    Returns:
        Numbers by name.
        `loss`: nats per byte in each bin of 32 positions, up to eight times the trained length, nan
        where the encoding has no positions; `within`: of the last quarter of the trained length;
        `parameters`; `saved_bytes`: what a batch keeps for the backward pass, per text;
        `step_ratio`: time of a training step over that of a model without encoding and of the same
        depth; `curve`: training loss;
        `speeds`, of learned frequencies: of each head and hand, over RoPE's.
    """
    recipe = RECIPES[case]
    trained = workshop.trained(recipe, seed)
    model = trained.model.cpu()
    length = recipe.seq_len * (1 if recipe.encoding == "learned" else LONGEST)
    windows = corpus().windows("valid", TEXTS, LONGEST * recipe.seq_len + 1)[:, : length + 1]
    loss = evaluate.in_bins(evaluate.losses(model, windows), BIN)
    missing = LONGEST * recipe.seq_len // BIN - len(loss)
    quarter = slice(recipe.seq_len * 3 // 4 // BIN, recipe.seq_len // BIN)
    return {
        "loss": [*loss.tolist(), *[float("nan")] * missing],
        "within": loss[quarter].mean().item(),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "saved_bytes": saved_bytes(model, recipe),
        "step_ratio": step_ratio(model, recipe, workshop.device),
        "curve": trained.curve,
        **learned_stretch(model),
    }


def saved_bytes(model: Transformer, recipe: Recipe) -> float:
    """Return what a batch of training keeps for the backward pass, bytes per text."""
    texts = data.draw(recipe, torch.Generator()).token_ids
    return evaluate.saved_bytes(model, texts) / len(texts)


def learned_stretch(model: Transformer) -> dict[str, Any]:
    """Return how much faster each hand of each head turns than RoPE's, where heads learn that."""
    layers = [layer.encoding for layer in model.layers]
    if not all(isinstance(encoding, LearnedRotary) for encoding in layers):
        return {}
    stretch = torch.stack([encoding.log_stretch.detach().exp() for encoding in layers])
    return {"speeds": stretch.flatten(0, 1).tolist()}


def step_ratio(model: Transformer, recipe: Recipe, device: str) -> float:
    """Return the time of a training step over that of the same model without encoding.

    The two take turns, so that whatever else the machine does slows both.

    Args:
        model: of the recipe.
        recipe: says how long and how many texts are.
        device: on which to compute.
    """
    plain = replace(recipe, encoding="none", rotary_dim=None, scaling=None, nope_every=0)
    vocab_size = data.vocab_size(recipe)
    models = [model.to(device), build(plain, vocab_size).to(device)]
    batch = data.Batch(*(x.to(device) for x in data.draw(recipe, torch.Generator())))
    times = [[], []]
    for _ in range(TIMED):
        for one, seconds in zip(models, times, strict=True):
            begun = time.perf_counter()
            engine.loss_of(one, batch, recipe.dtype).backward()
            if device.startswith("cuda"):
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - begun)
            one.zero_grad()
    return statistics.median(times[0]) / statistics.median(times[1])
