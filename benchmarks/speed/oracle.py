"""How far a candidate's results are from the float64 oracle, which decides whether it is timed."""

import random

import torch
from torch import Tensor

from ropelib import reference
from ropelib.pairs import join_pairs, split_pairs
from speed.candidates import Candidate, Inputs

POSITIONS = 26  # that are looked at: the oracle takes its time


class Oracle:
    """The right results of a case, at some of its positions.

    Args:
        inputs: of the case.
    """

    def __init__(self, inputs: Inputs):
        self.inputs, self._kept = inputs, {}
        seq_len = inputs.case.shape[2]
        # Another sample in each run: no position is safe from being looked at.
        chosen = random.sample(range(seq_len), min(seq_len, POSITIONS))
        self.rows = sorted({0, seq_len - 1, *chosen})

    def error(self, candidate: Candidate, results: tuple[Tensor, ...]) -> float:
        """Return the largest error of a candidate's results, in ulp of its pair's length.

        Args:
            candidate: whose results they are.
            results: what its call returned.

        Returns:
            The error; infinite where a result is no number, or a dimension that should have passed
            through has changed.

        Raises:
            ValueError: if a result has another shape or dtype than it must have.
        """
        tensors = (self.inputs.q, self.inputs.k, *(self.inputs.grads or ()))
        worst = 0.0
        for i, (x, y) in enumerate(zip(tensors, results, strict=True)):
            y = y.detach().transpose(1, 2) if candidate.sequence_first else y.detach()
            if (y.shape, y.dtype) != (x.shape, x.dtype):
                raise ValueError(
                    f"{candidate.name} must return {x.dtype} {tuple(x.shape)}, "
                    f"got {y.dtype} {tuple(y.shape)}"
                )
            expected, ulp = self._expected(i, x, candidate.layout)
            found = y[..., self.rows, :].double()
            off = torch.where(found == expected, 0.0, (found - expected).abs() / ulp)
            worst = max(worst, off.nan_to_num(nan=torch.inf, posinf=torch.inf).max().item())
        return worst

    def _expected(self, i: int, x: Tensor, layout: str) -> tuple[Tensor, Tensor]:
        """Return the right numbers and the ulp of each; the gradients turn back."""
        if (i, layout) not in self._kept:
            rotary_dim = self.inputs.case.rotary_dim
            positions = self.inputs.positions[self.rows] * (1 if i < 2 else -1)
            expected = reference.rotate(
                x[..., self.rows, :], positions, self.inputs.inv_freq, layout=layout
            )
            length = torch.hypot(*split_pairs(expected[..., :rotary_dim], layout))
            _, exponent = torch.frexp(length)
            ulp = torch.ldexp(torch.full_like(length, torch.finfo(x.dtype).eps), exponent - 1)
            # What passes through has an ulp of nothing: any change of it is endless.
            wide = torch.zeros_like(expected)
            wide[..., :rotary_dim] = join_pairs(ulp, ulp, layout)
            self._kept[i, layout] = expected, wide
        return self._kept[i, layout]
