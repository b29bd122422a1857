"""The training of a recipe: the same bits for the same seed, and nothing lost by a stop."""

import copy
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ropebook.experiments import data, encodings, files, processes
from ropebook.experiments.recipe import Recipe
from ropebook.experiments.training import seeded
from ropebook.experiments.transformer import Transformer

CHECKPOINT_EVERY = 100  # steps
CURVE_EVERY = 10
Progress = Callable[[int, float], object]


@dataclass
class Trained:
    """What a training gives.

    Args:
        model: in evaluation mode.
        curve: mean loss of every ten steps, nats per token.
        seconds: what the steps took.
    """

    model: Transformer
    curve: list[float] = field(default_factory=list)
    seconds: float = 0.0


def train(
    recipe: Recipe,
    seed: int,
    *,
    start: Transformer | None = None,
    path: Path | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Trained:
    """Return a trained model; the same bits for the same recipe and seed on one machine.

    With `path`, what is done is kept there every 100 steps: a training that was stopped goes on and
    ends with the same bits, and one that is done is read. Under `torchrun` all processes train one
    model, each on its part of every batch; only the first one writes.

    Args:
        recipe: what to train, and how.
        seed: of the first weights and of the data.
        start: a model to go on from, which stays as it is; a new one unless given.
        path: a file of this training alone.
        device: "cpu", "cuda", "cuda:1", ...
        progress: called after every ten steps with the number of steps done and their mean loss.

    Raises:
        OSError: if `path` cannot be written.
        ValueError: if `path` holds another training, or the processes cannot share the batch.

    Example:
        >>> recipe = Recipe(model_dim=8, num_heads=1, seq_len=8, num_steps=20)
        >>> len(train(recipe, seed=0).curve)
        2
    """
    with seeded(seed):
        made = start is None
        model = encodings.build(recipe, data.vocab_size(recipe)) if made else copy.deepcopy(start)
        model.to(device).train()
        return _Training(recipe, seed, model, path, device, progress or (lambda *_: None)).run()


def learning_rate(recipe: Recipe, step: int) -> float:
    """Return the rate of a step, counted from 0: a straight rise, then a cosine down to a tenth.

    Args:
        recipe: has the highest rate, and the number of steps of the rise and of all.
        step: from 0 on.

    Example:
        >>> recipe = Recipe(learning_rate=1.0, warmup=2, num_steps=4)
        >>> [round(learning_rate(recipe, step), 3) for step in range(4)]
        [0.5, 1.0, 1.0, 0.55]
    """
    if step < recipe.warmup:
        return recipe.learning_rate * (step + 1) / recipe.warmup
    done = (step - recipe.warmup) / max(1, recipe.num_steps - recipe.warmup)
    return recipe.learning_rate * (0.55 + 0.45 * math.cos(math.pi * done))


def loss_of(model: nn.Module, batch: data.Batch, dtype: str = "float32") -> Tensor:
    """Return the mean loss over all tokens that are asked, nats per token.

    Args:
        model: gives the scores of every token.
        batch: the texts.
        dtype: of matrix products.
    """
    kind = batch.token_ids.device.type
    with torch.autocast(kind, torch.bfloat16, enabled=dtype == "bfloat16"):
        scores = model(batch.token_ids)
    return F.cross_entropy(scores[batch.asked].float(), batch.targets[batch.asked])


class _Training:
    """One training: where it stands, how it is kept, how it goes on."""

    def __init__(self, recipe, seed, model, path, device, progress):
        self.recipe, self.seed, self.device, self.progress = recipe, seed, device, progress
        self.model, self.path = model, path
        self.optimizer = torch.optim.AdamW(
            _decayed(model, recipe.weight_decay), betas=(0.9, 0.95), fused=True
        )
        self.generator = torch.Generator().manual_seed(seed)
        self.step, self.curve, self.seconds, self.recent = 0, [], 0.0, []

    def run(self) -> Trained:
        if processes.agreed(self.path is not None and self.path.exists()):
            self.load()
        network = processes.shared(self.model)
        while self.step < self.recipe.num_steps:
            begun = time.perf_counter()
            self.recent.append(self.one_step(network))
            self.seconds += time.perf_counter() - begun
            self.step += 1
            if self.step % CURVE_EVERY == 0:
                mean = processes.mean(torch.stack(self.recent).mean()).item()
                self.curve.append(mean)
                self.recent = []
                self.progress(self.step, mean)
            if self.step % CHECKPOINT_EVERY == 0 or self.step == self.recipe.num_steps:
                self.save()
        return Trained(self.model.eval(), self.curve, self.seconds)

    def one_step(self, network: nn.Module) -> Tensor:
        drawn = data.draw(self.recipe, self.generator)
        batch = data.Batch(*(processes.own_part(x).to(self.device) for x in drawn))
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.recipe, self.step)
        self.optimizer.zero_grad()
        loss = loss_of(network, batch, self.recipe.dtype)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.detach()

    def identity(self) -> dict:
        return {"recipe": asdict(self.recipe), "seed": self.seed, "torch": str(torch.__version__)}

    def save(self) -> None:
        if self.path is None or processes.rank() != 0:
            return
        state = {
            **self.identity(),
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "recent": self.recent,
            **{name: getattr(self, name) for name in ("step", "curve", "seconds")},
        }
        files.replace(self.path, lambda beside: torch.save(state, beside))

    def load(self) -> None:
        try:
            state = torch.load(self.path, map_location=self.device, weights_only=True)
        except Exception as error:  # what is no such file breaks in many ways
            raise ValueError(
                f"{self.path} must be a training that this engine kept, and cannot be read: "
                "move it away"
            ) from error
        for name, own in self.identity().items():
            if state[name] != own:
                raise ValueError(
                    f"{self.path} must hold a training of {name} {own!r}, got {state[name]!r}: "
                    "move it away"
                )
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"].cpu())
        for name in ("step", "curve", "seconds", "recent"):
            setattr(self, name, state[name])


def _decayed(model: nn.Module, weight_decay: float) -> list[dict]:
    """Return the parameters in two groups: the linear maps' matrices, which decay, and the rest."""
    matrices = {m.weight for m in model.modules() if isinstance(m, nn.Linear)}
    rest = [p for p in model.parameters() if p not in matrices]
    return [
        {"params": [p for p in model.parameters() if p in matrices], "weight_decay": weight_decay},
        {"params": rest, "weight_decay": 0.0},
    ]
