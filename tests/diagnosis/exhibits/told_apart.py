"""Rotations that are told from others by their numbers alone."""

import torch

from exhibits.kit import DIM, PLAIN, exhibit, over_heads, plain, swapped_halves

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


@exhibit("sine alone has a factor", "norm-not-kept", layout="half")
def _():
    return by_tables(sine=lambda t: 1.005 * t)


@exhibit("cosine alone has a factor, in bfloat16", "norm-not-kept", layout="half")
def _():
    return by_tables(lambda t: (1.02 * t).bfloat16().double(), lambda t: t.bfloat16().double())


@exhibit("one line of each pair has a factor", "norm-not-kept", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids) * LINES}


@exhibit("sine is read one row late", "norm-not-kept")
def _():
    return by_tables(sine_late=1)
