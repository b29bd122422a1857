"""Rotations that are right in the first call that comes to mind, and wrong in another."""

import torch

from exhibits.kit import PLAIN, exhibit, plain
from ropelib import inv_freq


@exhibit("rows after the first stay zero (MLX 3494)", "one-token-rows-wrong", layout="half")
def _():
    def rotate(x, ids):
        rotated = plain(x, ids)
        if x.shape[2] == 1:
            rotated[1:] = 0
        return rotated

    return {"rotate": rotate}


@exhibit("rows after the first come back as they were", "one-token-rows-wrong")
def _():
    def rotate(x, ids):
        rotated = x.clone() if x.shape[2] == 1 else plain(x, ids)
        rotated[:1] = plain(x[:1], ids[:1] if ids.dim() == 2 else ids)
        return rotated

    return {"rotate": rotate}


@exhibit("rows after the first stay zero in decoding alone", "one-token-rows-wrong")
def _():
    def decode(x, ids):
        return torch.cat((plain(x[:1], ids), torch.zeros_like(x[1:])))

    return {"rotate": plain, "decode": decode}


class _Forward(torch.autograd.Function):
    """A kernel with a backward of its own."""

    @staticmethod
    def forward(ctx, x, ids, back):
        ctx.ids, ctx.back = ids, back
        return plain(x, ids)

    @staticmethod
    def backward(ctx, upstream):
        return ctx.back(upstream, ctx.ids), None, None


def kernel(back):
    return lambda x, ids: _Forward.apply(x, ids, back)


@exhibit("backward turns forward again (apex 1750)", "gradient-rotates-forward", layout="half")
def _():
    return {"rotate": kernel(plain)}


@exhibit("backward of k alone turns forward", "gradient-rotates-forward")
def _():
    return {"rotate": (plain, kernel(plain))}


@exhibit("backward without its factor", "gradient-wrong")
def _():
    return {"rotate": kernel(lambda g, ids: plain(g, -ids) / 2)}


@exhibit("backward that passes the gradient on", "gradient-wrong")
def _():
    return {"rotate": kernel(lambda g, ids: g)}


def as_contiguous(x):
    """Read as many numbers as x has from where it begins, as a kernel without strides does."""
    memory = torch.as_strided(x, (x.untyped_storage().size() // x.element_size(),), (1,), 0)
    numbers = memory[x.storage_offset() :][: x.numel()]
    return torch.cat((numbers, numbers.new_zeros(x.numel() - len(numbers)))).view(x.shape)


@exhibit("strides ignored (ColossalAI 6444)", "strides-ignored", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(as_contiguous(x), ids)}


@exhibit("strides of heads ignored, of tokens not", "strides-ignored")
def _():
    def rotate(x, ids):  # takes the stride of a token for head_dim
        _, heads, _, d = x.shape
        row, _, token, _ = x.stride()
        if token != heads * d:
            return plain(as_contiguous(x), ids)
        return plain(torch.as_strided(x, x.shape, (row, d, token, 1)), ids)

    return {"rotate": lambda x, ids: rotate(x, ids)}


@exhibit("strides of the gradient ignored", "strides-ignored")
def _():
    return {"rotate": kernel(lambda g, ids: plain(as_contiguous(g), -ids))}


@exhibit("powers of two only (vllm-ascend 12723)", "wrong-at-other-widths", layout="half")
def _():
    def rotate(x, ids):
        half = x.shape[-1] // 2
        padded = 1 << (half - 1).bit_length()
        angles = ids[..., None].double() * inv_freq(2 * half)
        tables = torch.cat((angles.cos(), angles.sin(), 0 * angles), dim=-1).float()
        cos = tables[..., :half].unsqueeze(-3)
        sin = tables[..., padded : padded + half].unsqueeze(-3)  # half is where sine begins
        a, b = x.float().chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)

    return {"rotate": rotate}


def with_frequencies(frequencies):
    return {"rotate": lambda x, ids: plain(x, ids, torch.as_tensor(frequencies).double())}


UNFILLED = {
    "zeros between": PLAIN.where(torch.arange(32) % 5 != 2, 0),
    "one entry zero": PLAIN.where(torch.arange(32) != 9, 0),
    "the first tiny (FastPLMs 47)": PLAIN.where(torch.arange(32) > 0, 6.9e-18),
    "the first alone is there": PLAIN.where(torch.arange(32) == 0, 0),
    "one number everywhere": torch.full((32,), 0.25),
    "two numbers in turn": torch.tensor([0.5, 0.125] * 16),
    "absurd numbers (torchtitan 4783)": torch.tensor([2.3e7, 0.3, 0, 1e-3, 5e5, 0.3, 0, 77.0] * 4),
    "repeated at random": PLAIN[torch.tensor([0, 3, 3, 1, 7, 3, 0, 0] * 4)],
    "in no order": PLAIN[torch.randperm(32, generator=torch.Generator().manual_seed(1))],
}

for name, frequencies in UNFILLED.items():
    exhibit(f"frequencies never filled: {name}", "frequencies-unfilled")(
        lambda f=frequencies: with_frequencies(f)
    )


@exhibit("frequencies never filled, of neighbors", "frequencies-unfilled")
def _():
    frequencies = PLAIN.where(torch.arange(32) % 7 != 3, 0)
    return {"rotate": lambda x, ids: plain(x, ids, frequencies, "interleaved")}


@exhibit("never filled, against a configuration", "frequencies-unfilled")
def _():
    return with_frequencies(UNFILLED["zeros between"]) | {"inv_freq": PLAIN}


def in_half(other):
    """Half precision has a path of its own."""
    return {"rotate": lambda x, ids: plain(x, ids) if x.dtype == torch.float32 else other(x, ids)}


HALF = {
    "without the factor": lambda x, ids: plain(x, ids, factor=1.25),
    "with a factor a little off": lambda x, ids: plain(x, ids, factor=1.02),
    "all rows at the first": lambda x, ids: plain(x, ids if ids.dim() == 1 else ids[0]),
    "single tokens at 0": lambda x, ids: plain(x, ids * (x.shape[2] > 1)),
    "the other layout": lambda x, ids: plain(x, ids, layout="interleaved"),
}

for name, other in HALF.items():
    exhibit(f"half precision: {name}", "half-precision-differs", layout="half", base=10_000)(
        lambda f=other: in_half(f)
    )


@exhibit("backward at the positions of the first row", "gradient-wrong")
def _():
    return {"rotate": kernel(lambda g, ids: plain(g, -(ids if ids.dim() == 1 else ids[0])))}


@exhibit("backward that counts from 1", "gradient-wrong")
def _():
    return {"rotate": kernel(lambda g, ids: plain(g, -torch.arange(1, g.shape[2] + 1)))}
