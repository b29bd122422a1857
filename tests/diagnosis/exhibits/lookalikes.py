"""More rotations whose bug looks like another one: in heads, rows, memory, and by chance."""

import torch

from exhibits.kit import DIM, PLAIN, exhibit, over_heads, plain, swapped_halves
from ropelib.diagnosis import seq_first


def broadcast(x, places):
    """Rotate by tables that broadcast against x, and make the result larger where they are."""
    angles = places[..., None] * torch.cat((PLAIN, PLAIN)).float()
    return (x * angles.cos() + swapped_halves(x) * angles.sin()).to(x.dtype)


# Heads


@exhibit("tables as long as the heads (DeepSpeed 2782)", "rotates-by-head")
def _():
    return {"rotate": lambda x, ids: broadcast(x, torch.arange(x.shape[1])[:, None])}


@exhibit("tables as long as x.shape[-2], heads there (xformers 841)", "rotates-by-head")
def _():
    return {"rotate": seq_first(lambda x, ids: plain(x, torch.arange(x.shape[-2])))}


@exhibit("heads weigh otherwise, and nothing turns", "heads-differ")
def _():
    return {"rotate": lambda x, ids: x * (1 + torch.arange(x.shape[1]))[:, None, None].to(x.dtype)}


def of_their_own(x, ids):
    """One series of 32 frequencies for each head, each head slower."""
    return broadcast(x, ids[..., None, :] / (1 + torch.arange(x.shape[1]))[:, None])


@exhibit("heads of their own, as expected", notes=("heads-of-their-own",), positions=33)
def _():
    return {"rotate": of_their_own, "expected": of_their_own, "max_position": 33}


@exhibit("one base for heads that are meant to have their own", "factor-not-as-expected")
def _():
    return {"rotate": plain, "expected": of_their_own, "max_position": 33}


@exhibit("heads of their own, looked at one by one", base=10_000, positions=33)
def _():
    def first(x, ids):
        alone = [of_their_own(v[:, None].repeat(1, 16, 1, 1), ids)[:, 0] for v in x.unbind(1)]
        return torch.stack(alone, 1)

    return {"rotate": first, "max_position": 33}


@exhibit("heads made of the first", "heads-mixed")
def _():
    return {"rotate": lambda x, ids: plain(x[:, :1], ids).expand_as(x).clone()}


@exhibit("the turning part of all heads made of the first", "heads-mixed")
def _():
    def rotate(x, ids):
        turned = plain(x[:, :1, :, 32:], ids, PLAIN[:16]).expand(-1, x.shape[1], -1, -1)
        return torch.cat((x[..., :32], turned), dim=-1)

    return {"rotate": rotate}


# Rows


def rows_added_to_tokens(ids, tokens):
    """Positions as `arange(tokens) + offset` has them, for the first of each row as offset."""
    return torch.arange(tokens) + (ids[:, 0] if ids.dim() == 2 else ids[:1])


@exhibit("offsets of rows added to tokens (mlx-vlm 1883)", "batch-taken-for-tokens")
def _():
    return {"rotate": lambda x, ids: broadcast(x, rows_added_to_tokens(ids, x.shape[2]))}


@exhibit("offsets of rows added to single tokens alone", "batch-rows-mixed")
def _():
    def rotate(x, ids):
        if ids.dim() == 2 and x.shape[2] > 1:
            raise ValueError("one offset for all")
        return broadcast(x, rows_added_to_tokens(ids, x.shape[2]))

    return {"rotate": rotate}


@exhibit("q and k by rows that meet the heads", base=10_000, notes=("rows-refused",))
def _():
    return {"rotate": lambda q, k, position_ids: [broadcast(x, position_ids) for x in (q, k)]}


# By chance


def losing(part, fewest=1, seed=0):
    """A race between kernels: now and then a token comes out as it went in."""
    generator = torch.Generator().manual_seed(seed)

    def rotate(x, ids):
        lost = torch.rand(len(x), 1, x.shape[2], 1, generator=generator) < part
        return torch.where(lost & (x.shape[2] >= fewest), x, plain(x, ids))

    return rotate


@exhibit("one token of a thousand is lost now and then (vllm 46685)", "not-deterministic")
def _():
    return {"rotate": losing(1e-3)}


@exhibit("one token of ten thousand is lost now and then", "not-deterministic")
def _():
    return {"rotate": losing(1e-4)}


@exhibit("tokens of long calls are lost now and then (1Cat-vLLM 162)", "not-deterministic")
def _():
    return {"rotate": losing(31 / 1024, fewest=1024)}


# Memory


def read_on(cosines, sines):
    """A table of 3000 rows, and what lies behind it."""
    angles = torch.arange(3000)[:, None] * torch.cat((PLAIN, PLAIN)).float()
    cosines = torch.cat((angles.cos(), cosines(angles)))
    sines = torch.cat((angles.sin(), sines(angles)))

    def rotate(x, ids):
        cos, sin = (over_heads(table[ids]) for table in (cosines, sines))
        return (x * cos + swapped_halves(x) * sin).to(x.dtype)

    return {"rotate": rotate}


def noise(angles):
    return torch.randn(5192, DIM, generator=torch.Generator().manual_seed(0))


@exhibit("a table read on into noise", "table-read-past-its-end", layout="half", base=10_000)
def _():
    return read_on(noise, noise)


@exhibit("a table read on into zeros", "table-read-past-its-end", layout="half")
def _():
    return read_on(*[lambda angles: torch.zeros(5192, DIM)] * 2)


@exhibit("cosines read on into sines (pegainfer 220)", "table-read-past-its-end", layout="half")
def _():
    def zeros(angles):
        return torch.zeros(5192, DIM)

    return read_on(lambda angles: torch.cat((angles.sin(), zeros(angles)))[:5192], zeros)


@exhibit("a buffer of positions whose last is never written", "tables-of-an-earlier-call")
def _():
    kept = torch.zeros(8192, dtype=torch.long)

    def rotate(x, ids):
        count = ids.numel()
        kept[: count - 1] = ids.flatten()[:-1]
        return plain(x, kept[:count].view(ids.shape))

    return {"rotate": rotate}


# Width and precision


@exhibit("half of x beside whole tables (OpenArch 13)", "tables-half-width")
def _():
    def rotate(x, ids):
        angles = over_heads(ids[..., None] * torch.cat((PLAIN, PLAIN)).float())
        return x.chunk(2, -1)[0] * angles.cos() + swapped_halves(x) * angles.sin()

    return {"rotate": rotate}


def from_rounded(dtype):
    """The offset of a call is rounded, and its tokens are counted from there."""

    def rotate(x, offset):
        return plain(x, torch.arange(x.shape[2]) + float(torch.tensor(float(offset)).to(dtype)))

    return {"rotate": rotate}


@exhibit("an offset that is added twice", "positions-shifted", layout="half")
def _():
    return {"rotate": lambda x, offset: plain(x, torch.arange(x.shape[2]) + 2 * offset)}


MOVED = {
    "past_len + 1": lambda offset, tokens: offset + 1,
    "start_pos - 1": lambda offset, tokens: offset - 1,
    "the length after the new tokens": lambda offset, tokens: offset + tokens,
}

for name, moved in MOVED.items():

    @exhibit(f"an offset above 0 is {name}", "positions-shifted", layout="half")
    def _(moved=moved):
        def rotate(x, offset):
            tokens = x.shape[2]
            return plain(x, torch.arange(tokens) + (moved(offset, tokens) if offset else 0))

        return {"rotate": rotate}


@exhibit("position_ids count on from one late, but from 0", "positions-shifted", layout="half")
def _():
    def rotate(x, ids):
        first = ids[..., :1]
        return plain(x, torch.arange(x.shape[2]) + first + (first > 0))

    return {"rotate": rotate}


@exhibit("an offset in bfloat16 (keras-hub 1544)", "positions-in-bfloat16", base=10_000)
def _():
    return from_rounded(torch.bfloat16)


@exhibit("an offset in float16", "positions-in-float16", base=10_000)
def _():
    return from_rounded(torch.float16)
