"""What a model reads in training, drawn from its recipe: pieces of a text, or texts of a task."""

from typing import NamedTuple

import torch
from torch import Tensor

from ropebook.experiments import tasks
from ropebook.experiments.corpus import corpus
from ropebook.experiments.recipe import STDLIB, Recipe

BYTES = 256


class Batch(NamedTuple):
    """Texts with what is asked of them, each `(batch, seq_len)`.

    Args:
        token_ids: what the model reads.
        targets: what it must say at each token.
        asked: bool, where that counts.
    """

    token_ids: Tensor
    targets: Tensor
    asked: Tensor


def vocab_size(recipe: Recipe) -> int:
    """Return how many different tokens there are."""
    return BYTES if recipe.data == STDLIB else tasks.VOCAB_SIZE


def draw(recipe: Recipe, generator: torch.Generator) -> Batch:
    """Return the next texts of training, `recipe.batch_size` of them.

    Args:
        recipe: says what they are, how many and how long.
        generator: of the random numbers; it moves on.
    """
    if recipe.data == STDLIB:
        windows = corpus().windows("train", recipe.batch_size, recipe.seq_len + 1, generator)
        token_ids, targets = windows[:, :-1], windows[:, 1:]
        return Batch(token_ids, targets, torch.ones_like(targets, dtype=torch.bool))
    return Batch(*tasks.draw(recipe.data, recipe.batch_size, recipe.seq_len, generator))
