"""What a trained model can do: its loss at each position, its answers, what it keeps in memory."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ropebook.experiments import data, engine
from ropebook.experiments.training import seeded
from ropebook.experiments.transformer import Transformer
from ropelib import checks


@torch.no_grad()
def losses(model: Transformer, token_ids: Tensor, batch_size: int = 2) -> Tensor:
    """Return how badly the model foresaw each next token, in float32.

    Args:
        model: on any device.
        token_ids: texts, `(num_texts, length)`, at least 2 long.
        batch_size: how many texts at once.

    Returns:
        Nats per token at positions 0 to length - 2, `(num_texts, length - 1)`, float64. The loss at
        position m is that of token m + 1, foretold from tokens 0 to m.

    Raises:
        ValueError: if `token_ids` are not texts of at least 2 tokens.

    Example:
        >>> from ropebook.experiments.encodings import build
        >>> from ropebook.experiments.recipe import Recipe
        >>> model = build(Recipe(model_dim=8, num_heads=1), vocab_size=4)
        >>> losses(model, torch.tensor([[0, 1, 2]])).shape
        torch.Size([1, 2])
    """
    if token_ids.dim() != 2 or token_ids.shape[1] < 2:
        raise ValueError(
            "token_ids must be (num_texts, length) with a length of at least 2, "
            f"got shape {tuple(token_ids.shape)}"
        )
    device = next(model.parameters()).device
    parts = []
    for texts in token_ids.split(batch_size):
        texts = texts.to(device)
        scores = model(texts[:, :-1]).float().transpose(1, 2)
        parts.append(F.cross_entropy(scores, texts[:, 1:], reduction="none").double().cpu())
    return torch.cat(parts)


def in_bins(per_position: Tensor, width: int) -> Tensor:
    """Return means over the texts and over `width` neighboring positions.

    Args:
        per_position: `(num_texts, length)`.
        width: positions in a bin; it divides the length.

    Returns:
        `(length / width,)`.

    Raises:
        TypeError: if `width` is not an integer.
        ValueError: if it does not divide the length.

    Example:
        >>> in_bins(torch.tensor([[1.0, 3.0, 5.0, 5.0]]), 2)
        tensor([2., 5.])
    """
    checks.integer("width", width, 1)
    if per_position.shape[-1] % width:
        raise ValueError(f"width must divide {per_position.shape[-1]} positions, got {width}")
    return per_position.mean(dim=0).unflatten(-1, (-1, width)).mean(dim=-1)


@torch.no_grad()
def accuracy(model: Transformer, batch: data.Batch) -> float:
    """Return the share of what is asked that the model answers rightly.

    Args:
        model: on any device.
        batch: the texts.
    """
    device = next(model.parameters()).device
    said = model(batch.token_ids.to(device)).argmax(dim=-1).cpu()
    return (said == batch.targets)[batch.asked].double().mean().item()


def saved_bytes(model: Transformer, token_ids: Tensor) -> int:
    """Return how many bytes a forward pass in float32 keeps for the backward pass.

    Each piece of memory is counted once, the model's own parameters not at all.

    Args:
        model: of which one pass is made.
        token_ids: texts, `(num_texts, length)`.
    """
    own = {p.untyped_storage().data_ptr() for p in model.parameters()}
    kept = {}

    def keep(x: Tensor) -> Tensor:
        kept[x.untyped_storage().data_ptr()] = x.untyped_storage()  # alive, so none is used again
        return x

    asked = torch.ones_like(token_ids, dtype=torch.bool)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x), seeded(0):
        loss = engine.loss_of(model, data.Batch(token_ids, token_ids, asked))
    total = sum(storage.nbytes() for place, storage in kept.items() if place not in own)
    del loss
    return total
