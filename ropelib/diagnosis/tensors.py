"""Numbers about tensors that several files need."""

import math

import torch
from torch import Tensor

SAME = 2e-3  # two results of one rotation, entries of about 1


def random(*shape: int, like: Tensor | None = None) -> Tensor:
    """Return the same noise at each call, and leave the global generator alone."""
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(0))
    return x if like is None else x.to(like.device, like.dtype)


def wrap(angle: Tensor) -> Tensor:
    """Return the angle in [-pi, pi)."""
    return torch.remainder(angle + math.pi, 2 * math.pi) - math.pi


def gap(a: Tensor, b: Tensor) -> float:
    """Return the largest difference."""
    return float((a.double() - b.double()).abs().max())


def spread(x: Tensor, axis: int) -> float:
    """Return the largest difference from the first along `axis`."""
    return gap(x, x.narrow(axis, 0, 1))
