"""Rotations whose two lines are written otherwise than a cos - b sin and b cos + a sin."""

import torch

from exhibits.kit import PLAIN, exhibit, over_heads


def by_lines(lines, layout="half", factor=1.0):
    """Make a rotation of what `lines` makes of a, b, cos and sin of each pair."""

    def rotate(x, ids):
        angles = over_heads(ids[..., None].double() * PLAIN)
        cos, sin = angles.cos() * factor, angles.sin() * factor
        if layout == "half":
            a, b = x.double().chunk(2, dim=-1)
            return torch.cat(lines(a, b, cos, sin), dim=-1).to(x.dtype)
        a, b = x.double()[..., 0::2], x.double()[..., 1::2]
        return torch.stack(lines(a, b, cos, sin), dim=-1).flatten(-2).to(x.dtype)

    return {
        "rotate": lambda x, ids: torch.cat([rotate(x[i : i + 1], row) for i, row in rows(x, ids)])
    }


def rows(x, ids):
    return enumerate(ids.expand(len(x), -1))


MISWRITTEN = {
    "the first line copied": lambda a, b, c, s: (a * c - b * s, a * c - b * s),
    "the second line copied": lambda a, b, c, s: (b * c + a * s, b * c + a * s),
    "a for b in the second line": lambda a, b, c, s: (a * c - b * s, a * c + a * s),
    "b for a in the first line": lambda a, b, c, s: (b * c - b * s, b * c + a * s),
    "b for a, and sin for cos": lambda a, b, c, s: (a * c - b * s, b * s + a * s),
    "cos for sin in the first line": lambda a, b, c, s: (a * c - b * c, b * c + a * s),
    "cos handed over twice": lambda a, b, c, s: (a * c - b * c, b * c + a * c),
    "sin handed over twice": lambda a, b, c, s: (a * s - b * s, b * s + a * s),
    "rotate_half of rotate_half": lambda a, b, c, s: (a * c - a * s, b * c - b * s),
    "x for rotate_half": lambda a, b, c, s: (a * c + a * s, b * c + b * s),
    "sines alone": lambda a, b, c, s: (a * s, b * s),
    "no second line, of zeros": lambda a, b, c, s: (a * c - b * s, 0 * b),
    "no second line, of x": lambda a, b, c, s: (a * c - b * s, b),
    "no sine in the second line": lambda a, b, c, s: (a * c - b * s, b * c),
    "no cosine": lambda a, b, c, s: (a - b * s, b + a * s),
    "no sine": lambda a, b, c, s: (a * c - b, b * c + a),
    "clockwise, b for a in the second line": lambda a, b, c, s: (a * c + b * s, b * c - b * s),
    "sin and cos swapped, a minus for a plus": lambda a, b, c, s: (a * s - b * c, b * s - a * c),
}
for name, lines in MISWRITTEN.items():

    @exhibit(name, "lines-miswritten")
    def _(lines=lines):
        return by_lines(lines)

    @exhibit(f"{name}, neighbors", "lines-miswritten")
    def _(lines=lines):
        return by_lines(lines, "interleaved")


@exhibit("a for b in the second line, with a factor", "lines-miswritten")
def _():
    return by_lines(MISWRITTEN["a for b in the second line"], factor=1.2)


@exhibit("the second line with sin for cos, and cos for sin", "sin-and-cos-swapped")
def _():
    return by_lines(lambda a, b, c, s: (a * c - b * s, b * s + a * c))


@exhibit("a minus for a plus", "minus-sign-missing")
def _():
    return by_lines(lambda a, b, c, s: (a * c - b * s, b * c - a * s), "interleaved")
