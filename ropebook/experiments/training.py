"""How experiments train: the same numbers for the same seed, and nobody else's disturbed."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import Tensor, nn

from ropelib import checks

Model = TypeVar("Model", bound=nn.Module)


def trained(
    make: Callable[[], Model],
    loss: Callable[[Model], Tensor],
    *,
    seed: int,
    num_steps: int,
    learning_rate: float,
    one_cycle: bool = False,
) -> Model:
    """Return a new model, trained by Adam; the same for the same seed.

    Args:
        make: makes the model, its first parameters drawn after the seed.
        loss: of the model at one step, a scalar. It may draw new data, by a generator of its own or
            by torch's.
        seed: of torch's generator.
        num_steps: training steps, at least 2 where the learning rate rises and falls.
        learning_rate: of Adam; the highest, where it rises and falls.
        one_cycle: whether the learning rate rises and falls, over all steps; it stays otherwise.

    Raises:
        TypeError: if `num_steps` is not an integer.
        ValueError: if it is too small.

    Example:
        >>> def loss(model):
        ...     return (model(torch.ones(1)) - 3).square().sum()
        >>> model = trained(
        ...     lambda: nn.Linear(1, 1), loss, seed=0, num_steps=200, learning_rate=0.1
        ... )
        >>> bool(loss(model) < 1e-3)
        True
    """
    checks.integer("num_steps", num_steps, 2 if one_cycle else 1)
    with seeded(seed):
        model = make()
        optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
        schedule = None
        if one_cycle:
            schedule = torch.optim.lr_scheduler.OneCycleLR(
                optimizer, learning_rate, total_steps=num_steps
            )
        for _ in range(num_steps):
            optimizer.zero_grad()
            loss(model).backward()
            optimizer.step()
            if schedule:
                schedule.step()
    return model


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch and use one thread, and leave both as they were found.

    Args:
        seed: of torch's generator.

    Example:
        >>> with seeded(0):
        ...     first = torch.rand(1)
        >>> with seeded(0):
        ...     bool(torch.rand(1) == first)
        True
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)


def check_seeds(seeds: Sequence[int]) -> None:
    """Raise unless there is a seed, and no seed stands twice.

    Args:
        seeds: of an experiment, one training run each.

    Raises:
        ValueError: if there is none, or one stands twice.

    Example:
        >>> check_seeds((0, 1))
    """
    if not seeds:
        raise ValueError("seeds must name at least one seed, got none")
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds must be different, got {seeds}")
