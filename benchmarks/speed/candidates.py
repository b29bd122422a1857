"""What a candidate is, what it is given, and how far from the oracle it may be."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ropelib import cos_sin, inv_freq
from speed.cases import DTYPES, Case

Pair = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Candidate:
    """A rotation of q and k.

    Args:
        name: whose it is, and how it is called.
        layout: of its pairs.
        run: takes q and k, returns them rotated.
        of: whose code it is, with its version.
        exact: whether its angles are computed in float64; else in float32.
        once: whether it computes in float32 and rounds once, at the end.
        writes: "new" memory, a "buffer" that is there, or the "inputs" themselves.
        sequence_first: whether it wants `(batch, seq_len, num_heads, head_dim)`.
        seen: whether torch sees the memory that it takes.
        before: called before its measurements, outside of what is timed.
    """

    name: str
    layout: str
    run: Callable[[Tensor, Tensor], Pair]
    of: str
    exact: bool = False
    once: bool = False
    writes: str = "new"
    sequence_first: bool = False
    seen: bool = True
    before: Callable[[], None] = lambda: None

    def within(self, case: Case) -> float:
        """Return how far its results may be from the oracle's, in ulp.

        An ulp is that of a pair's length. Two products, their sum and two tables, each rounded to
        within half an ulp of what it is, make less than 4 of these; one rounding at the end makes
        one half. An angle computed in float32 is off by at most 3 * 2**-24 of its position: for
        pair t of the way down the frequencies, 10000**-t * (9.2 t + 3) is largest at t = 0.
        """
        last = case.start + case.shape[2] - 1
        wide = torch.finfo(torch.float32).eps / torch.finfo(DTYPES[case.dtype]).eps
        angles = 0 if self.exact else 3 * last * wide
        if self.once or case.dtype == "float32":
            return angles + (4 if case.dtype == "float32" else 0.5 + 4 * wide)
        return angles + 4


@dataclass(frozen=True)
class Untimed:
    """A candidate that is not measured, and why not."""

    name: str
    reason: str


class Inputs:
    """What all candidates of a case share: q and k, their positions, buffers to write to.

    Args:
        case: the case.
    """

    def __init__(self, case: Case):
        self.case = case
        generator = torch.Generator().manual_seed(0)

        def randn(shape):
            return torch.randn(shape, generator=generator).to(DTYPES[case.dtype])

        self.q, self.k = randn(case.shape), randn(case.key_shape)
        self.grads = (randn(case.shape), randn(case.key_shape)) if case.backward else None
        self.positions = torch.arange(case.start, case.start + case.shape[2])
        self.inv_freq = inv_freq(case.rotary_dim)

    @cached_property
    def tables(self) -> Pair:
        """The exact cos and sin."""
        return cos_sin(self.positions, self.inv_freq)

    @cached_property
    def buffers(self) -> Pair:
        """Memory to write q and k to, touched."""
        return self.q.clone(), self.k.clone()

    @cached_property
    def scratch(self) -> Pair:
        """A q and a k that may be overwritten."""
        return self.q.clone(), self.k.clone()

    @cached_property
    def _gradient_buffers(self) -> Pair:
        return tuple(g.clone() for g in self.grads)

    @cached_property
    def _sequence_first(self) -> tuple[Pair, Pair | None]:
        def turned(pair):
            return tuple(x.transpose(1, 2).contiguous() for x in pair)

        return turned((self.q, self.k)), None if self.grads is None else turned(self.grads)

    def copy(self) -> Callable[[], object]:
        """Return what everything is measured by: the same bytes, copied into touched memory.

        Forward, these are q and k; with backward, their gradients too.
        """
        pairs = list(zip(self.buffers, (self.q, self.k), strict=True))
        if self.grads is not None:
            pairs += zip(self._gradient_buffers, self.grads, strict=True)

        def copy():
            for to, x in pairs:
                to.copy_(x)

        return copy

    def clone(self) -> Callable[[], object]:
        """Return a copy into new memory, which nothing that returns new memory can beat."""
        tensors = (self.q, self.k, *(self.grads or ()))
        return lambda: [x.clone() for x in tensors]

    def call(self, candidate: Candidate) -> Callable[[], tuple[Tensor, ...]]:
        """Return what a measurement calls; it returns q and k rotated, and then their gradients."""
        inputs, grads = (self.q, self.k), self.grads
        if candidate.sequence_first:
            inputs, grads = self._sequence_first
        if candidate.writes == "inputs":
            inputs = self.scratch
            for to, x in zip(inputs, (self.q, self.k), strict=True):
                to.copy_(x)
        if grads is None:
            return lambda: candidate.run(*inputs)
        leaves = [x.detach().requires_grad_() for x in inputs]

        def both():
            rotated = candidate.run(*leaves)
            return *rotated, *torch.autograd.grad(rotated, leaves, grads)

        return both
