"""Rotations that lose precision, each in another place."""

import math

import torch

from exhibits.kit import (
    DIM,
    PLAIN,
    exhibit,
    in_eight_bits,
    llama_tables,
    modeling,
    over_heads,
    plain,
    round_mantissa,
    turn,
    turned_back,
)
from ropelib import apply_rotary, inv_freq
from ropelib.diagnosis import from_tables


@exhibit("positions in bfloat16", "positions-in-bfloat16")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.bfloat16())}


@exhibit("positions in the dtype of x", "positions-in-bfloat16")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.to(x.dtype))}


@exhibit("a table filled in the dtype of the first far call", "angles-in-bfloat16", layout="half")
def _():
    class Kept(torch.nn.Module):
        rows = 0

        def forward(self, x, position_ids):
            if (rows := int(position_ids.max()) + 1) > self.rows:
                ids = torch.arange(rows, dtype=x.dtype)
                self.rows, self.angles = rows, torch.outer(ids, PLAIN.to(x.dtype))
            return turn(x, self.angles[position_ids].double(), "half")

    return {"rotate": Kept(), "max_position": 1024}


@exhibit("positions of 11 bits", "positions-in-float16", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, round_mantissa(ids))}


@exhibit("position_ids.half()", "positions-in-float16", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids.half())}


@exhibit("a TF32 product of positions and frequencies", "positions-in-tf32")
def _():
    frequencies = round_mantissa(PLAIN)
    return {"rotate": lambda x, ids: plain(x, round_mantissa(ids), frequencies)}


@exhibit("positions in float16", "positions-in-float16")
def _():
    def rotate(x, ids):
        return plain(x, ids.to(torch.float16 if x.dtype == torch.float16 else torch.float64))

    return {"rotate": rotate}


@exhibit("model.bfloat16() takes the frequencies along", "frequencies-in-bfloat16")
def _():
    apply = modeling("llama").apply_rotary_pos_emb
    return {"rotate": from_tables(apply, llama_tables().bfloat16())}


@exhibit("model.half() takes the frequencies along", "frequencies-in-float16")
def _():
    apply = modeling("llama").apply_rotary_pos_emb
    return {"rotate": from_tables(apply, llama_tables().half())}


@exhibit("small frequencies in float16", "frequencies-in-float16", layout="half")
def _():
    frequencies = inv_freq(DIM, 500_000.0).half().double()  # below 6.1e-5 it has fewer bits
    return {"rotate": lambda x, ids: plain(x, ids, frequencies)}


@exhibit("frequencies in TF32", "frequencies-in-tf32")
def _():
    # float16 holds larger frequencies as exactly.
    frequencies = round_mantissa(inv_freq(DIM, 500_000.0))
    return {"rotate": lambda x, ids: plain(x, ids, frequencies)}


@exhibit("frequencies in the dtype of x", "frequencies-in-bfloat16")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, PLAIN.to(x.dtype))}


@exhibit("angles and tables in bfloat16", "angles-in-bfloat16")
def _():
    def rotate(x, ids):
        angles = over_heads(ids[..., None].bfloat16() * PLAIN.bfloat16())
        return apply_rotary(x, angles.cos().float(), angles.sin().float(), layout="half")

    return {"rotate": rotate}


@exhibit("angles in the dtype of x", "angles-in-bfloat16")
def _():
    return {"rotate": lambda x, ids: turn(x, (ids[..., None] * PLAIN).to(x.dtype), "half")}


@exhibit("angles in float16", "angles-in-float16")
def _():
    def rotate(x, ids):
        dtype = torch.float16 if x.dtype == torch.float16 else torch.float64
        return turn(x, (ids[..., None] * PLAIN).to(dtype), "half")

    return {"rotate": rotate}


@exhibit("angles in bfloat16 (gpt-neox)", "angles-in-bfloat16")
def _():
    def rotate(x, ids):
        return turn(x, ids[..., None].bfloat16() * PLAIN.bfloat16(), "half")

    return {"rotate": rotate}


# The way back


def back_through(rounded):
    """Turn the gradient back by rounded numbers, and vectors forth by exact ones."""
    return turned_back(lambda up, ids: plain(rounded(up), -ids).to(up.dtype))


@exhibit("the gradient alone in bfloat16", base=10_000, notes=("vectors-in-low-precision",))
def _():
    return back_through(torch.Tensor.bfloat16)


@exhibit("the gradient alone of bfloat16 values", notes=("vectors-in-low-precision",))
def _():
    return back_through(lambda g: g.bfloat16().float())


IN_EIGHT_BITS = {
    "float8_e4m3fn": lambda x: x.to(torch.float8_e4m3fn).to(x.dtype),
    "float8_e5m2": lambda x: x.to(torch.float8_e5m2).to(x.dtype),
    "int8, by the largest of a call": in_eight_bits(torch.int8),
    "int8, by the largest of a head": in_eight_bits(torch.int8, (-1, -2)),
    "int8, by the largest of a token": in_eight_bits(torch.int8, (-1,)),
    "float8_e4m3fn, by the largest of a token": in_eight_bits(torch.float8_e4m3fn, (-1,)),
}
for name, rounded in IN_EIGHT_BITS.items():

    @exhibit(f"rounded for a cache: {name}", "vectors-of-few-bits")
    def _(rounded=rounded):
        return {"rotate": lambda x, ids: rounded(plain(x, ids, inv_freq(96, 1e6))), "head_dim": 96}


@exhibit("float8_e4m3fn on the way in", "vectors-of-few-bits")
def _():
    rounded = IN_EIGHT_BITS["float8_e4m3fn"]
    return {"rotate": lambda x, ids: plain(rounded(x), ids, inv_freq(128, 1e6)), "head_dim": 128}


def by_fast_math(x, ids, base, layout):
    """Take sine and cosine of an angle whose turns are counted in float32, as a GPU's fast ones."""
    angles = ids[..., None].float() * inv_freq(x.shape[-1], base).float()
    turns = angles * torch.tensor(1 / math.tau, dtype=torch.float32)
    return turn(x, (turns - turns.round()).double() * math.tau, layout)


for base, layout in ((1e4, "half"), (5e5, "interleaved")):

    @exhibit(
        f"fast math, base {base:g}", layout=layout, base=base, notes=("sines-of-large-angles",)
    )
    def _(base=base, layout=layout):
        rotate = lambda x, ids: by_fast_math(x, ids, base, layout)  # noqa: E731
        return {"rotate": rotate, "head_dim": 128}


for dtype, width, base in ((torch.bfloat16, 80, 1e6), (torch.float16, 96, 5e5)):
    name = str(dtype)[6:]

    @exhibit(f"exponents in {name}, the power in float32", f"frequencies-in-{name}")
    def _(dtype=dtype, width=width, base=base):
        exponents = (torch.arange(0, width, 2).to(dtype) / width).float()
        speeds = base**-exponents
        return {"rotate": lambda x, ids: plain(x, ids, speeds), "head_dim": width}
