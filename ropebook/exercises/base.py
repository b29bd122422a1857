"""What the checkers of all chapters share."""

from collections.abc import Callable

import torch

from ropelib import reference

CHECKERS: dict[str, Callable] = {}
NO_RETURN = "Your function returned None: does every path end in a return?"


def exercise(name: str):
    """Register a checker: a function of the answer that returns None or a hint."""

    def register(checker):
        CHECKERS[name] = checker
        return checker

    return register


def vector_of(answer) -> torch.Tensor:
    """Return an answer of two numbers, in whatever form they came, as float64 `(2,)`."""
    vector = torch.as_tensor(answer, dtype=torch.float64)
    if vector.shape != (2,):
        raise ValueError(f"expected two numbers, got shape {tuple(vector.shape)}")
    return vector


def close(left, right) -> bool:
    """Say whether two tensors or lists of numbers agree to 1e-6."""
    return bool(torch.allclose(torch.as_tensor(left).double(), right.double(), atol=1e-6))


def turn(position: float, angle: float) -> torch.Tensor:
    """Return the plane's rotation by `position` times `angle` (rad/token), from the oracle."""
    return reference.rotation_matrix(position, torch.tensor([angle]).double(), layout="interleaved")
