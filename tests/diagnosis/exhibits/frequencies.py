"""Frequencies that nobody chooses, and those that only look so."""

import math

import torch

from exhibits.kit import DIM, PLAIN, exhibit, plain, turn, yarn
from ropelib import inv_freq

PAIRS = torch.arange(0, DIM, 2).double()


class Backward:
    inv_freq, direction = 4 * PLAIN, -1


def yarn_like(width):
    """Frequencies of two series, the slow one an eighth of the other."""
    return inv_freq(width).where(torch.arange(width // 2) < width // 4, inv_freq(width) / 8)


def of_any_width(times, frequencies=inv_freq):
    return lambda x, ids: plain(x, ids, times * frequencies(x.shape[-1]))


def turning_by(frequencies, **more):
    return {"rotate": lambda x, ids: plain(x, ids, frequencies)} | more


@exhibit("base ** 2i / d for base ** (2i / d)", "base-beyond-sense", layout="half")
def _():
    return turning_by(1 / (10_000**PAIRS / DIM))


@exhibit("base ** 2i", "base-beyond-sense", layout="half")
def _():
    return turning_by(10_000**-PAIRS)


@exhibit("exp without the logarithm of the base", "base-beyond-sense", layout="half", base=math.e)
def _():
    return turning_by((-PAIRS / DIM).exp())


@exhibit("an integer division in the exponent", "base-beyond-sense", layout="half", base=1)
def _():
    return turning_by(10_000 ** -(PAIRS // DIM))


@exhibit("radians taken for degrees", "angles-in-degrees", layout="half", base=10_000)
def _():
    return turning_by(torch.deg2rad(PLAIN))


for few in (2, 4):

    @exhibit(f"radians taken for degrees, {few} pairs", "angles-in-degrees", base=10_000)
    def _(few=few):
        return turning_by(torch.deg2rad(inv_freq(2 * few)), head_dim=2 * few)


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


@exhibit("positions doubled", "frequencies-multiplied", layout="half", base=10_000, factor=1 / 2)
def _():
    return {"rotate": lambda x, ids: plain(x, 2 * ids)}


def upwards(width, dtype, base=10_000):
    """The exponent has lost its minus, on few pairs: most make more than half a turn a token."""

    def rotate(x, ids):
        frequencies = base ** (torch.arange(0, x.shape[-1], 2) / x.shape[-1]).to(dtype)
        return turn(x, ids[..., None].to(dtype) * frequencies, "half")

    return {"rotate": rotate, "head_dim": width}


@exhibit("no minus, on three pairs", "exponents-positive", layout="half")
def _():
    return upwards(6, torch.float64)


@exhibit("no minus, on four pairs", "exponents-positive", layout="half")
def _():
    return upwards(8, torch.float32)


@exhibit("no minus, on four pairs, against a configuration", "exponents-positive", layout="half")
def _():
    return upwards(8, torch.float64) | {"inv_freq": inv_freq(8)}


@exhibit("no minus, on eight pairs", "exponents-positive", layout="half")
def _():
    return upwards(16, torch.float64)


@exhibit("no minus, on eight pairs of a large base", "exponents-positive", layout="half")
def _():
    return upwards(16, torch.float32, 500_000)


@exhibit("octaves, the slowest first", layout="half", notes=("slowest-pairs-first",))
def _():
    return turning_by(2.0 ** torch.arange(-3, 1).double(), head_dim=8)


FAST = {"direction": 1, "layout": "half"}
SCALED = ("linearly-scaled",)


@exhibit("linear scaling by 4 multiplied", "frequencies-multiplied", base=10_000, **FAST)
def _():
    return {"rotate": of_any_width(4)}


@exhibit("degrees made of radians", "frequencies-multiplied", base=10_000, layout="half")
def _():
    return turning_by(torch.rad2deg(PLAIN))


@exhibit("positions counted in half turns", "frequencies-multiplied", base=10_000, **FAST)
def _():
    return turning_by(PLAIN * math.pi)


@exhibit("positions counted in turns (DINOv3)", notes=SCALED, layout="half", factor=1 / math.tau)
def _():
    return turning_by(PLAIN * math.tau)


@exhibit("more than half a turn in a step, as expected", notes=SCALED, base=10_000, **FAST)
def _():
    return turning_by(4 * PLAIN, inv_freq=4 * PLAIN)


@exhibit("as expected, modulo a turn", notes=SCALED, base=10_000, **FAST)
def _():
    return turning_by(4 * PLAIN, inv_freq=torch.cat((4 * PLAIN[:1] - 2 * torch.pi, 4 * PLAIN[1:])))


@exhibit("multiplied by 8, against a configuration", "factor-not-as-expected", **FAST)
def _():
    return {"rotate": of_any_width(8), "inv_freq": PLAIN}


@exhibit("YaRN multiplied by 4, against a configuration", "factor-not-as-expected", layout="half")
def _():
    return turning_by(4 * yarn(), inv_freq=yarn())


@exhibit("YaRN by 4, at any width", layout="half", notes=("mixed-directions", "not-geometric"))
def _():
    return {"rotate": of_any_width(4, yarn_like)}


@exhibit("the slowest pair first, more than half a turn", notes=("slowest-pairs-first",))
def _():
    return turning_by(4 * PLAIN.flip(0))


@exhibit("more than half a turn, clockwise, as expected", notes=("clockwise",), direction=-1)
def _():
    return turning_by(-4 * PLAIN, expected=Backward())


@exhibit("the slowest pair first", layout="half", notes=("slowest-pairs-first",))
def _():
    return turning_by(PLAIN.flip(0))
