"""Frequencies that nobody chooses, and those that only look so."""

import torch

from exhibits.kit import DIM, PLAIN, exhibit, plain
from ropelib import inv_freq

PAIRS = torch.arange(0, DIM, 2).double()


def turning_by(frequencies, **more):
    return {"rotate": lambda x, ids: plain(x, ids, frequencies)} | more


@exhibit("base ** 2i / d for base ** (2i / d)", "base-beyond-sense", layout="half")
def _():
    return turning_by(1 / (10_000**PAIRS / DIM))


@exhibit("base ** 2i", "base-beyond-sense", layout="half")
def _():
    return turning_by(10_000**-PAIRS)


@exhibit("an integer division in the exponent", "base-beyond-sense", layout="half", base=1)
def _():
    return turning_by(10_000 ** -(PAIRS // DIM))


@exhibit("radians taken for degrees", "angles-in-degrees", layout="half", base=10_000)
def _():
    return turning_by(torch.deg2rad(PLAIN))


@exhibit("some pairs turn the other way than expected", "direction-not-as-expected")
def _():
    return turning_by(PLAIN * torch.tensor([1, -1]).repeat(DIM // 4), inv_freq=PLAIN)


@exhibit("p-RoPE, one pair is still, as expected", notes=("slow-pairs-stand-still",))
def _():
    frequencies = PLAIN.where(torch.arange(DIM // 2) < DIM // 2 - 1, 0)
    return turning_by(frequencies, inv_freq=frequencies)


@exhibit("multiples of 1/32", layout="half", notes=("not-geometric",))
def _():
    return turning_by(torch.linspace(1, 1 / 32, 32).double())


@exhibit("frequencies learned from noise", layout="half", notes=("not-geometric",))
def _():
    return turning_by(torch.rand(32, generator=torch.Generator().manual_seed(1)).double() + 0.01)


@exhibit("four pairs, divided by 10", layout="half", base=10_000, notes=("linearly-scaled",))
def _():
    return turning_by(inv_freq(8) / 10, head_dim=8)


@exhibit("a factor of 1 / sqrt(2), as expected", notes=("attention-factor",))
def _():
    return {"rotate": lambda x, ids: plain(x, ids, factor=0.5**0.5), "attention_factor": 0.5**0.5}


@exhibit("more than half a turn in a step, as expected", layout="half", notes=("mixed-directions",))
def _():
    return turning_by(4 * PLAIN, inv_freq=4 * PLAIN)


@exhibit("the slowest pair first", layout="half", notes=("slowest-pairs-first",))
def _():
    return turning_by(PLAIN.flip(0))
