"""Bugs beside the bases, widths and sizes of other models, where they look like others."""

import math

import torch

from exhibits.kit import exhibit, swapped_neighbors, turn
from ropelib import RopeConfig, apply_rotary, inv_freq


def over(width, base, layout="half", factor=1.0, added=0.0):
    """Rotate by the base and for the width of a model, and add to the angles."""
    speeds = inv_freq(width, base)

    def rotate(x, ids):
        return turn(x, ids[..., None].double() * speeds + added, layout, factor)

    return rotate


# Angles at position 0


@exhibit("half a radian is added, base 500 000", "turned-at-position-0")
def _():
    return {"rotate": over(64, 500_000.0, added=0.5)}


@exhibit("the result is negated, base 500 000", "turned-at-position-0")
def _():
    return {"rotate": over(64, 500_000.0, factor=-1.0)}


@exhibit("random phases, base 10 000 000", "turned-at-position-0")
def _():
    phases = torch.rand(64, generator=torch.Generator().manual_seed(0)).double()
    return {"rotate": over(128, 1e7, added=phases), "head_dim": 128}


def of_tables(table, width=64):
    """Take cosine and sine of what a table holds."""
    return lambda x, ids: turn(x, table(ids[..., None].double() * inv_freq(width)), "half")


@exhibit("cosines taken for angles", "turned-at-position-0")
def _():
    return {"rotate": of_tables(torch.cos)}


@exhibit("sines taken for angles", "angles-drift")
def _():
    return {"rotate": of_tables(torch.sin)}


def in_steps(steps, index, more=0.0):
    step = math.tau / steps
    return {"rotate": of_tables(lambda angles: (index(angles / step) + more) * step)}


@exhibit("a table of 1024 angles, read at the one below", "angles-drift")
def _():
    return in_steps(1024, torch.floor)


@exhibit("a table of 1024 angles, filled in the middle of each step", "turned-at-position-0")
def _():
    return in_steps(1024, torch.floor, 0.5)


# Frequencies


def powers_of_2i(base, layout, width, d=1.0):
    speeds = d / base ** torch.arange(0, width, 2).double()
    return {
        "rotate": lambda x, ids: turn(x, ids[..., None].double() * speeds, layout),
        "head_dim": width,
    }


@exhibit("exponents 2i, base 10 000, neighbors", "base-beyond-sense")
def _():
    return powers_of_2i(1e4, "interleaved", 64)


@exhibit("exponents 2i, base 10 000, width 128", "base-beyond-sense")
def _():
    return powers_of_2i(1e4, "half", 128)


@exhibit("exponents 2i, of the part / d, base 500 000", "base-beyond-sense")
def _():
    return powers_of_2i(5e5, "interleaved", 64, d=64.0)


@exhibit("exponents 2i, base 500 000: one pair turns", "frequencies-unfilled")
def _():
    return powers_of_2i(5e5, "interleaved", 64)


LLAMA_3 = {
    "model_type": "llama",
    "head_dim": 128,
    "rope_theta": 500_000.0,
    "max_position_embeddings": 131_072,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}


@exhibit("Llama 3's scaling, and another base", "base-not-as-expected")
def _():
    speeds = RopeConfig.from_hf(LLAMA_3 | {"rope_theta": 10_000.0}).inv_freq()
    return {
        "rotate": lambda x, ids: turn(x, ids[..., None].double() * speeds, "half"),
        "expected": LLAMA_3,
    }


@exhibit("the expected frequencies, the first four one pair late", "frequencies-not-as-expected")
def _():
    speeds = inv_freq(64)
    late = torch.cat((speeds[:4].roll(1), speeds[4:]))
    return {
        "rotate": lambda x, ids: turn(x, ids[..., None].double() * late, "half"),
        "inv_freq": speeds,
    }


def of_hidden_size(heads, base, width=128):
    speeds = base ** (-torch.arange(0, width, 2).double() / (width * heads))
    return {
        "rotate": lambda x, ids: turn(x, ids[..., None].double() * speeds, "half"),
        "head_dim": width,
    }


for heads, base in ((32, 1e4), (12, 1e4), (64, 1e6)):
    exhibit(f"exponents over {heads} heads, base {base:g}", "base-beyond-sense")(
        lambda heads=heads, base=base: of_hidden_size(heads, base)
    )


@exhibit("exponents i / d of a wide head, beside what is expected", "exponents-not-as-expected")
def _():
    return {**of_hidden_size(2, 5e5, 256), "inv_freq": inv_freq(256, 5e5)}


# Pairs that rest


def in_whole_blocks(layout, block=16, only=None):
    """Turn the pairs of whole blocks, whatever the width."""

    def rotate(x, ids):
        speeds = inv_freq(x.shape[-1]).clone()
        if only not in (None, x.shape[-1]):
            raise ValueError("another width")
        speeds[len(speeds) // block * block :] = 0
        return turn(x, ids[..., None].double() * speeds, layout)

    return rotate


for layout, width in (("half", 80), ("interleaved", 80), ("half", 112)):

    @exhibit(f"the last block is left out, {layout}, width {width}", "last-pair-not-rotated")
    def _(layout=layout, width=width):
        return {"rotate": in_whole_blocks(layout), "head_dim": width}


@exhibit("the last block is left out, of one width", notes=("slow-pairs-stand-still",))
def _():
    return {"rotate": in_whole_blocks("half", only=80), "head_dim": 80}


for layout in ("half", "interleaved"):

    @exhibit(f"the last block is left out and expected, {layout}", "frequencies-not-as-expected")
    def _(layout=layout):
        return {"rotate": in_whole_blocks(layout), "head_dim": 80, "inv_freq": inv_freq(80)}


def of_a_part(rotary, base, layout):
    def rotate(x, ids):
        angles = ids[..., None].double() * inv_freq(rotary, base)
        return torch.cat((turn(x[..., :rotary], angles, layout), x[..., rotary:]), dim=-1)

    return rotate


for width, rotary, base, layout in (
    (512, 256, 5e5, "half"),
    (512, 256, 1e4, "interleaved"),
    (256, 206, 1e6, "interleaved"),
    (320, 256, 5e5, "interleaved"),
):

    @exhibit(f"{rotary} of {width}, {layout}", layout=layout, base=base, notes=("partial",))
    def _(width=width, rotary=rotary, base=base, layout=layout):
        return {"rotate": of_a_part(rotary, base, layout), "head_dim": width}


for width, base in ((64, 1e4), (128, 5e5)):

    @exhibit(f"halves of {width} paired over the whole head", "base-beyond-sense")
    def _(width=width, base=base):
        speeds = torch.zeros(width // 2).double()
        speeds[: width // 8] = inv_freq(width // 4, base)
        return {
            "rotate": lambda x, ids: turn(x, ids[..., None].double() * speeds, "half"),
            "head_dim": width,
        }


def cosines_alone(width, rotary, base, layout):
    def rotate(x, ids):
        part = x[..., :rotary]
        turned = turn(part, ids[..., None].double() * inv_freq(rotary, base), layout)
        back = turn(part, -ids[..., None].double() * inv_freq(rotary, base), layout)
        return torch.cat(((turned + back) / 2, x[..., rotary:]), dim=-1)

    return {"rotate": rotate, "head_dim": width}


for case in (
    (96, 96, 1e6, "interleaved"),
    (128, 64, 1e6, "interleaved"),
    (80, 20, 1e5, "half"),
    (128, 128, 5e5, "half"),
):
    exhibit(f"no sine, {case[1]} of {case[0]}, {case[3]}", "sine-is-zero")(
        lambda case=case: cosines_alone(*case)
    )


@exhibit("the slowest eight without their sine, width 128", "sine-partly-zero")
def _():
    def rotate(x, ids):
        angles = ids[..., None].double() * inv_freq(128, 1e6)
        sine = angles.sin().where(torch.arange(64) < 56, 0)
        return apply_rotary(x, angles.cos().float(), sine.float(), layout="interleaved")

    return {"rotate": rotate, "head_dim": 128}


for base in (5e5, 1e5):

    @exhibit(f"a degree more at odd positions, base {base:g}", "not-relative")
    def _(base=base):
        def rotate(x, ids):
            odd = math.radians(1) * (ids % 2)[..., None]
            return turn(x, ids[..., None].double() * inv_freq(96, base) + odd, "half")

        return {"rotate": rotate, "head_dim": 96}


# Axes

OF_PAIRS = [0] * 24 + [1] * 20 + [2] * 20


def of_places(read):
    speeds = inv_freq(128, 1e6)

    def rotate(x, places):  # (3, batch, seq_len)
        each = torch.stack(read(*places.double()))[OF_PAIRS]
        return turn(x, each.permute(1, 2, 0) * speeds, "half")

    return {"rotate": rotate, "head_dim": 128, "axes": OF_PAIRS}


for name, read in {
    "the number of a patch": lambda t, h, w: (t, 32 * h + w, 32 * h + w),
    "row plus column": lambda t, h, w: (t, h + w, h + w),
    "the mean of row and column": lambda t, h, w: (t, (h + w) / 2, (h + w) / 2),
}.items():
    exhibit(f"{name} for either axis", "sections-not-as-expected")(lambda r=read: of_places(r))


# q beside k


def both(of_q, of_k, **more):
    return {"rotate": lambda q, k, ids: (of_q(q, ids), of_k(k, ids)), **more}


@exhibit("scores are scaled in q, by its width", notes=("q-and-k-factors-differ",))
def _():
    def plain(x, ids):
        return turn(x, ids[..., None].double() * inv_freq(x.shape[-1]), "half")

    return both(lambda q, ids: plain(q, ids) * q.shape[-1] ** -0.5, plain)


@exhibit("k is turned twice, beside what is expected", "k-rotated-twice")
def _():
    once = over(64, 1e4)
    return both(once, lambda k, ids: once(once(k, ids), ids), inv_freq=inv_freq(64))


@exhibit("k in the other layout, beside what is expected", "q-and-k-layouts-differ")
def _():
    return both(over(64, 1e4), over(64, 1e4, "interleaved"), layout="half")


# Tables handed over, which are made in more than one way


def of_lines(turned):
    """Rotate neighbors by two tables as wide as x."""

    def rotate(x, cos, sin):
        return turned(x, swapped_neighbors(x), cos, sin)

    return {"rotate": rotate}


@exhibit("tables are handed, and a minus is missing", "minus-sign-missing")
def _():
    def turned(x, copy, cos, sin):
        lost = torch.stack((-copy[..., ::2], copy[..., 1::2]), dim=-1).flatten(-2)
        return x * cos + lost * sin

    return of_lines(turned)


@exhibit("tables are handed, and sin is taken for cos", "lines-miswritten")
def _():
    return of_lines(lambda x, copy, cos, sin: x * sin + copy * sin)


@exhibit("tables are handed, and that of cos is lost", "lines-miswritten")
def _():
    return of_lines(lambda x, copy, cos, sin: x + copy * sin)


# Calls


@exhibit("counted from the last of each call", "positions-restart")
def _():
    rotate = over(128, 5e5)
    return {"rotate": lambda x, ids: rotate(x, ids - ids[..., -1:]), "head_dim": 128}


@exhibit("the part that passes is detached", "gradient-wrong")
def _():
    rotate = over(32, 1e5)
    return {
        "rotate": lambda x, ids: torch.cat(
            (rotate(x[..., :32], ids), x[..., 32:].detach()), dim=-1
        ),
        "head_dim": 80,
    }


@exhibit("heads beyond a multiple of four pass", "heads-differ")
def _():
    rotate = over(64, 1e4)

    def in_fours(x, ids):
        whole = x.shape[1] // 4 * 4
        return torch.cat((rotate(x[:, :whole], ids), x[:, whole:]), dim=1)

    return {"rotate": in_fours}


@exhibit("steps are not turned beyond 12", "decode-differs")
def _():
    rotate = over(128, 1e6)
    return {
        "rotate": rotate,
        "decode": lambda x, ids: rotate(x, ids) if int(ids.max()) < 12 else x,
        "head_dim": 128,
    }


@exhibit("steps swap neighbors and turn nothing", "decode-differs")
def _():
    return {"rotate": over(64, 1e6), "decode": lambda x, ids: swapped_neighbors(x)}


for name, read in {
    "a table of 1024": lambda ids: ids.clamp(max=1023),
    "the next multiple of eight": lambda ids: (ids + 7) // 8 * 8,
}.items():

    @exhibit(f"steps alone read {name}", "decode-differs")
    def _(read=read):
        rotate = over(128, 1e6)
        return {
            "rotate": rotate,
            "decode": lambda x, ids: rotate(x, read(ids)),
            "head_dim": 128,
        }


class Casting(torch.nn.Module):
    """It casts its frequencies to the dtype of each x, and keeps them so."""

    def __init__(self):
        super().__init__()
        self.speeds = inv_freq(64).float()

    def forward(self, x, ids):
        self.speeds = self.speeds.to(x.dtype)
        return turn(x, ids[..., None].float() * self.speeds.float(), "half").to(x.dtype)


@exhibit("frequencies are cast to the dtype of x and kept", "tables-stay-rounded")
def _():
    return {"rotate": Casting(), "inv_freq": inv_freq(64)}


def in_blocks(size, wrongly):
    """Take another path where the tokens of a call fill blocks of a size."""
    right = over(64, 1e4)

    def rotate(x, ids):
        return wrongly(x, ids) if x.shape[-2] % size == 0 else right(x, ids)

    return rotate


@exhibit("blocks of 16 are not turned", "round-sizes-wrong")
def _():
    return {"rotate": in_blocks(16, lambda x, ids: x)}


@exhibit("blocks of 64 are one place late", "round-sizes-wrong")
def _():
    return {"rotate": in_blocks(64, lambda x, ids: over(64, 1e4)(x, ids + 1))}


@exhibit("blocks of 64 ignore positions, at odd lengths", "round-sizes-wrong")
def _():
    slots = in_blocks(64, lambda x, ids: over(64, 1e4)(x, torch.arange(x.shape[-2])))
    return {"rotate": slots, "max_position": 8191}


@exhibit("the second half of each even call begins anew", "long-call-differs")
def _():
    def rotate(x, ids):
        count = ids.shape[-1]
        if count > 1 and count % 2 == 0:
            first, second = ids.chunk(2, dim=-1)
            ids = torch.cat((first, second - second[..., :1] + first[..., :1]), dim=-1)
        return over(64, 1e4)(x, ids)

    return {"rotate": rotate}


@exhibit("positions are cast to int16", "positions-wrap-around")
def _():
    rotate = over(64, 1e4)
    return {"rotate": lambda x, ids: rotate(x, ids.to(torch.int16)), "max_position": 65_536}


@exhibit("compiled as one graph, for every call", layout="half")
def _():
    rotate = over(64, 1e4)
    return {"rotate": torch.compile(rotate, backend="eager", fullgraph=True)}
