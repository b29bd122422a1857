"""One training on several processes, as `torchrun` starts them; alone, all of this does nothing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel


def rank() -> int:
    """Return the number of this process, from 0; only 0 writes files."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def count() -> int:
    """Return how many processes train together."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


@contextmanager
def together(device: str) -> Iterator[str]:
    """Join the processes that `torchrun` started, if it did, and give this one's device.

    Args:
        device: "cpu" or "cuda", on which all of them compute.
    """
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        yield device
        return
    if device == "cuda":
        device = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    try:
        yield device
    finally:
        distributed.destroy_process_group()


def shared(model: nn.Module) -> nn.Module:
    """Return the model with gradients that are the mean over all processes."""
    return DistributedDataParallel(model) if count() > 1 else model


def own_part(x: Tensor) -> Tensor:
    """Return this process' share of a batch that all of them have drawn.

    Raises:
        ValueError: if the batch cannot be shared evenly.
    """
    if len(x) % count():
        raise ValueError(f"batch_size must be a multiple of the {count()} processes, got {len(x)}")
    return x.chunk(count())[rank()]


def agreed(value: object) -> object:
    """Return what process 0 says, so that all go the same way."""
    said = [value]
    if count() > 1:
        distributed.broadcast_object_list(said)
    return said[0]


def mean(x: Tensor) -> Tensor:
    """Return the mean of a number over all processes."""
    if count() > 1:
        distributed.all_reduce(x)
        x /= count()
    return x
