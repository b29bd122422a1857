"""Rotations that are told from others by their numbers alone."""

import math

import torch

from exhibits.kit import (
    DIM,
    PLAIN,
    YARN_FACTOR,
    exhibit,
    over_heads,
    plain,
    swapped_halves,
    swapped_neighbors,
    turn,
    yarn,
)
from ropelib import inv_freq

LINES = torch.tensor([1.003, 1.0]).repeat_interleave(DIM // 2)


def by_tables(cosine=lambda t: t, sine=lambda t: t, of=PLAIN, sine_late=0):
    """Rotate by changed tables of cos and sin."""

    def rotate(x, ids):
        angles, late = (
            over_heads((ids + shift)[..., None].double() * of) for shift in (0, sine_late)
        )
        cos, sin = (torch.cat((t, t), -1) for t in (cosine(angles.cos()), sine(late.sin())))
        return (x.double() * cos + swapped_halves(x.double()) * sin).to(x.dtype)

    return {"rotate": rotate}


# Cosine beside sine


@exhibit("sine alone has a factor", "norm-not-kept", layout="half", base=10_000)
def _():
    return by_tables(sine=lambda t: 1.005 * t)


@exhibit("cosine alone has a large factor", "norm-not-kept", layout="half", base=10_000)
def _():
    return by_tables(lambda t: 1.2 * t)


@exhibit("cosine alone has a factor, in bfloat16", "norm-not-kept", layout="half")
def _():
    return by_tables(lambda t: (1.02 * t).bfloat16().double(), lambda t: t.bfloat16().double())


@exhibit("cosine alone has the factor of YaRN", "norm-not-kept", layout="half", base=10_000)
def _():
    return by_tables(lambda t: YARN_FACTOR * t, of=yarn())


@exhibit("x is added inside", "norm-not-kept", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: x + plain(x, ids)}


@exhibit("half of x is added to half of what is rotated", "norm-not-kept", base=10_000)
def _():
    return {"rotate": lambda x, ids: (x + plain(x, ids, layout="interleaved")) / 2}


@exhibit("one line of each pair has a factor", "norm-not-kept", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids) * LINES}


@exhibit("sine is read one row late", "norm-not-kept")
def _():
    return by_tables(sine_late=1)


def nearest(steps):
    """Look a sine up in a table of so many steps of a turn, made of one of cosines by a quarter."""
    return lambda sine: (sine.asin() * steps / math.tau).round().mul(math.tau / steps).sin()


@exhibit("a table of 64 sines beside an exact cosine", "norm-not-kept", layout="half")
def _():
    return by_tables(sine=nearest(64))


@exhibit("1024 sines beside an exact cosine", layout="half", notes=("tables-in-low-precision",))
def _():
    return by_tables(sine=nearest(1024))


@exhibit("tables of a few bits", "norm-not-kept", layout="half")
def _():
    return by_tables(*[lambda t: (16 * t).round() / 16] * 2)


@exhibit("tables of eight bits", layout="half", notes=("tables-in-low-precision",))
def _():
    return by_tables(*[lambda t: (127 * t).round() / 127] * 2)


def by_orders(cosines_tiled, sines_tiled, swapped):
    """Rotate by tables of cos and sin that are tiled or repeated each by itself."""

    def in_order(angles, tiled):
        return torch.cat((angles, angles), -1) if tiled else angles.repeat_interleave(2, -1)

    def rotate(x, ids):
        angles = over_heads(ids[..., None] * PLAIN)
        cos, sin = in_order(angles, cosines_tiled).cos(), in_order(angles, sines_tiled).sin()
        return (x * cos + swapped(x) * sin).type_as(x)

    return {"rotate": rotate}


@exhibit("cosines tiled, sines repeated", "angles-differ-within-pairs")
def _():
    return by_orders(True, False, swapped_halves)


@exhibit("cosines repeated, sines tiled, of neighbors", "angles-differ-within-pairs")
def _():
    return by_orders(False, True, swapped_neighbors)


# Frequencies and angles


def by_angles(reduced):
    return {"rotate": lambda x, ids: turn(x, reduced(ids[..., None].double() * PLAIN), "half")}


@exhibit("angles modulo 6.2832", "turns-of-a-rounded-pi", layout="half")
def _():
    return by_angles(lambda angles: angles % 6.2832)


@exhibit("clockwise angles modulo 6.2832", "turns-of-a-rounded-pi", layout="half", direction=-1)
def _():
    return by_angles(lambda angles: -angles % 6.2832)


@exhibit("angles less whole turns of 6.28", "turns-of-a-rounded-pi", layout="half")
def _():
    return by_angles(lambda angles: angles - (angles / 6.28).round() * 6.28)


@exhibit("angles modulo pi", "angles-drift", layout="half")
def _():
    return by_angles(lambda angles: angles % torch.pi)


@exhibit("angles of the fast half modulo pi", "angles-drift", layout="half")
def _():
    return by_angles(lambda t: torch.cat((t[..., :16] % torch.pi, t[..., 16:]), -1))


@exhibit("angles by 64 steps of a turn", "angles-drift", layout="half")
def _():
    return by_angles(lambda angles: (angles * 64 / math.tau).round() * math.tau / 64)


@exhibit("angles modulo 2 pi", layout="half", base=10_000)
def _():
    return by_angles(lambda angles: angles % (2 * torch.pi))


@exhibit("the exponent has lost its minus", "exponents-positive", layout="half")
def _():
    return by_tables(of=1 / PLAIN)


@exhibit("no minus, against a configuration", "exponents-positive")
def _():
    return by_tables(of=1 / PLAIN) | {"inv_freq": PLAIN}


@exhibit("the first eight pairs rest", layout="half", notes=("fast-pairs-stand-still",))
def _():
    def rotate(x, ids):
        width = x.shape[-1]
        frequencies = inv_freq(width)
        frequencies[:8] = 0
        return plain(x, ids, frequencies)

    return {"rotate": rotate}


# Tokens and heads


@exhibit("positions are read as their ranks", "gaps-ignored")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.argsort(-1).argsort(-1))}


@exhibit("positions are read as their ranks from the first on", "gaps-ignored")
def _():
    return {
        "rotate": lambda x, ids: plain(x, ids.argsort(-1).argsort(-1) + ids.amin(-1, keepdim=True))
    }


@exhibit("the first token of each call is left", "first-token-not-turned", base=10_000)
def _():
    return {"rotate": lambda x, ids: torch.cat((x[:, :, :1], plain(x, ids)[:, :, 1:]), dim=2)}


@exhibit("heads come out in reverse", "heads-mixed")
def _():
    return {"rotate": lambda x, ids: plain(x, ids).flip(1)}
