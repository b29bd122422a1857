"""Small tasks under several encodings: who learns them, and who still can when texts are longer."""

from dataclasses import replace
from typing import Any

import torch

from ropebook.experiments import data, evaluate, tasks
from ropebook.experiments.recipe import Recipe
from ropebook.experiments.transformer import Transformer
from ropebook.experiments.workshop import Workshop

BASE = Recipe(
    data="copy",
    seq_len=32,
    model_dim=64,
    batch_size=32,
    learning_rate=3e-3,
    warmup=50,
    dtype="float32",
)
STEPS = {"copy": 500, "induction": 400, "passkey": 500, "nearest": 700, "parity": 100}
ENCODINGS: dict[str, dict[str, Any]] = {
    **{
        name: {"encoding": name}
        for name in ("none", "sinusoidal", "t5", "t5_quick", "alibi", "content_bias")
    },
    "rope": {},
    "rope 4 of 32": {"rotary_dim": 4},
    "rope layer 2 without": {"nope_every": 2},
}
RECIPES = {
    f"{task} {name}": replace(BASE, data=task, num_steps=steps, **options)
    for task, steps in STEPS.items()
    for name, options in ENCODINGS.items()
}
CASES = tuple(RECIPES)
LENGTHS = (32, 48, 64, 128)  # 1, 1.5, 2 and 4 times the trained one
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
COUNT = 256
CONFIG = {
    "recipes": {name: recipe.told() for name, recipe in RECIPES.items()},
    "lengths": list(LENGTHS),
    "depths": list(DEPTHS),
    "count": COUNT,
}


def run(case: str, seed: int, workshop: Workshop) -> dict[str, Any]:
    """Train a case and ask it what it learned.

    Args:
        case: one of `CASES`, a task and an encoding.
        seed: of the training; texts to be answered are the same for all.
        workshop: has the trained models.

    Returns:
        Numbers by name, of which `accuracy` is the share of right answers at each of `LENGTHS`, of
        copying as many words as fit; `by_depth`, of "passkey", the same for each of `DEPTHS`, a
        list for each length; and `curve` the training loss.
    """
    recipe = RECIPES[case]
    trained = workshop.trained(recipe, seed)
    model = trained.model.cpu()
    numbers: dict[str, Any] = {
        "accuracy": [_accuracy(model, recipe.data, length) for length in LENGTHS],
        "curve": trained.curve,
    }
    if recipe.data == "passkey":
        numbers["by_depth"] = [
            [_accuracy(model, recipe.data, length, depth=depth) for depth in DEPTHS]
            for length in LENGTHS
        ]
    return numbers


def _accuracy(model: Transformer, task: str, length: int, **options: Any) -> float:
    if task == "copy":
        options["words"] = (length - 1) // 2
    texts = tasks.draw(task, COUNT, length, torch.Generator().manual_seed(length), **options)
    return evaluate.accuracy(model, data.Batch(*texts))
