"""Rotations whose bug looks like another one, which `diagnose` must not name."""

import torch

from exhibits.kit import DIM, PLAIN, exhibit, plain, swapped_halves, turn
from exhibits.several_axes import IN_TURN, of


def where(condition, shift=1):
    """Positions are shifted where a call, or the vectors of it, are such."""
    return {"rotate": lambda x, ids: plain(x, ids + shift * int(condition(x, ids)))}


# The number of tokens decides


def by_blocks_of(size, rest=lambda x: x):
    def rotate(x, ids):
        count = x.shape[2] // size * size
        return torch.cat((plain(x[:, :, :count], ids[..., :count]), rest(x[:, :, count:])), dim=2)

    return {"rotate": rotate}


@exhibit("a grid of whole blocks of 2 tokens", "last-tokens-not-turned")
def _():
    return by_blocks_of(2)


@exhibit("a grid of whole blocks of 32 tokens", "last-tokens-not-turned")
def _():
    return by_blocks_of(32)


@exhibit("a grid of whole blocks of 128 tokens, zeros behind", "last-tokens-not-turned")
def _():
    return by_blocks_of(128, torch.zeros_like)


@exhibit("other positions from 3000 tokens on", "long-call-differs")
def _():
    return where(lambda x, ids: x.shape[2] > 3000)


@exhibit("heads exchanged where heads times tokens are many", "long-call-differs")
def _():
    many = 10_240
    return {"rotate": lambda x, ids: plain(x.flip(1) if x[..., 0].numel() >= many else x, ids)}


@exhibit("LongRoPE by the tokens of the call, from 2048 on", "scaled-in-the-prefill-alone")
def _():
    longer = PLAIN / torch.linspace(1, 12, DIM // 2).double()
    return {"rotate": lambda x, ids: plain(x, ids, longer if x.shape[2] > 2048 else PLAIN)}


@exhibit("a later chunk stands at its last position", "later-chunks-differ")
def _():
    def rotate(x, offset=0):
        ids = offset + torch.arange(x.shape[-2])
        return plain(x, ids[-1:].expand(len(ids)) if offset else ids)

    return {"rotate": rotate}


@exhibit("a later chunk of decoding stands at its last position", "later-chunks-differ")
def _():
    def decode(x, ids):
        return plain(x, ids[-1:].expand(len(ids)) if ids[0] > 0 else ids)

    return {"rotate": plain, "decode": decode}


@exhibit("one of as many tokens as pairs stands one early", "crowded-call-differs")
def _():
    def rotate(x, ids):
        across = ids.dim() == 1 and len(ids) > 1 and 0 < ids[0] < 4096 <= ids[-1]
        return plain(x, torch.where(ids >= 4096, ids - 1, ids) if across else ids)

    return {"rotate": rotate}


# Positions


@exhibit("257 rows of zeros before the table (ControlAR 18)", "early-positions-not-turned")
def _():
    return {"rotate": lambda x, ids: plain(x, (ids - 257).clamp(min=0))}


@exhibit("a row of zeros before the table, for a class token", "early-positions-not-turned")
def _():
    return {"rotate": lambda x, ids: plain(x, (ids - 1).clamp(min=0))}


@exhibit("four rows of zeros before the table, for registers", "early-positions-not-turned")
def _():
    return {"rotate": lambda x, ids: plain(x, (ids - 4).clamp(min=0))}


@exhibit("five rows of zeros before the table", "early-positions-not-turned")
def _():
    return {"rotate": lambda x, ids: plain(x, (ids - 5).clamp(min=0))}


@exhibit("position 1 alone is another", "single-positions-wrong", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, torch.where(ids == 1, 0, ids))}


@exhibit("one position alone is another", "single-positions-wrong")
def _():
    return {"rotate": lambda x, ids: plain(x, torch.where(ids == 4097, 4096, ids))}


@exhibit("sine and cosine err as the angle grows", "angles-drift")
def _():
    def rotate(x, ids):
        angles = (ids[..., None].double() * PLAIN).unsqueeze(-3)
        error = angles * 2.0**-19
        cos, sin = (torch.cat((t, t), -1) for t in (angles.cos() + error, angles.sin() - error))
        return (x * cos + swapped_halves(x) * sin).float()

    return {"rotate": rotate}


@exhibit("angles less whole turns of 6.2831", "turns-of-a-rounded-pi")
def _():
    def rotate(x, ids):
        angles = ids[..., None].double() * PLAIN
        return turn(x, angles - (angles / 6.2831).round() * 6.2831, "half")

    return {"rotate": rotate, "inv_freq": PLAIN}


# From call to call


def kept_by(key):
    tables = {}
    return {"rotate": lambda x, ids: plain(x, tables.setdefault(key(ids), ids.clone()))}


@exhibit("tables kept by the address of positions", "tables-of-an-earlier-call")
def _():
    return kept_by(lambda ids: (ids.data_ptr(), ids.shape))


@exhibit("tables kept by the identity of positions", "tables-of-an-earlier-call")
def _():
    return kept_by(lambda ids: (id(ids), ids.shape))


def each(count):
    calls = []

    def condition(x, ids):
        calls.append(1)
        return len(calls) % count == 0

    return where(condition)


@exhibit("each tenth call", "not-deterministic")
def _():
    return each(10)


@exhibit("each 31st call", "not-deterministic")
def _():
    return each(31)


@exhibit("half as wide with each call (vLLM 11883)", "not-deterministic")
def _():
    width = [DIM]

    def rotate(x, ids):
        now, width[0] = width[0], max(2, width[0] // 2)
        return torch.cat((plain(x[..., :now], ids, PLAIN[: now // 2]), x[..., now:]), -1)

    return {"rotate": rotate}


# Rows, heads, axes, lines


@exhibit("two rows, and each even number of them", "batch-rows-mixed")
def _():
    return where(lambda x, ids: len(x) % 2 == 0)


@exhibit("two positions on in a call of 9 tokens", "crowded-call-differs")
def _():
    return {"rotate": lambda x, ids: plain(x, ids + 2 * (x.shape[2] == 9))}


@exhibit("twice as far in a call of 9 tokens", "crowded-call-differs")
def _():
    return {"rotate": lambda x, ids: plain(x, ids * (1 + (x.shape[2] == 9)))}


@exhibit("a call of 2 rows, 3 heads and 8 tokens", "crowded-call-differs")
def _():
    return where(lambda x, ids: x.shape[:3] == (2, 3, 8))


@exhibit("the length is read from the heads (mlx-lm 1553)", "heads-mixed")
def _():
    def rotate(x, ids):
        base = 10_000 * max(1, 6 * x.shape[1] / 32 - 5) ** (DIM / (DIM - 2))
        return plain(x, ids, base ** (-torch.arange(0, DIM, 2).double() / DIM))

    return {"rotate": rotate}


@exhibit("tall images are turned as wide ones", "axes-ordered-by-size", base=1e4)
def _():
    def rotate(x, ids):
        tall = (ids[1].amax(-1) - ids[1].amin(-1) > ids[2].amax(-1) - ids[2].amin(-1))[..., None]
        h, w = torch.where(tall, ids[2], ids[1]), torch.where(tall, ids[1], ids[2])
        return of(IN_TURN)(x, torch.stack((ids[0], h, w)))

    return {"rotate": rotate, "axes": 3}


@exhibit("positions of three axes are made those of one in place (vLLM 54519)", "axis-ignored")
def _():
    def rotate(x, ids):
        ids[1:] = ids[0].clone()
        return of(IN_TURN)(x, ids)

    return {"rotate": rotate, "axes": 3}


@exhibit("a half of x negated in place", "cosine-negated")
def _():
    def rotate(x, ids):
        angles = (ids[..., None].double() * PLAIN).repeat(*[1] * ids.dim(), 2).unsqueeze(-3)
        a, b = x.chunk(2, dim=-1)
        copy = torch.cat((b.neg_(), a), dim=-1)
        return (x * angles.cos() + copy * angles.sin()).float()

    return {"rotate": lambda x, ids: rotate(x.clone(), ids)}


@exhibit("a sign on the wrong term of the second line", "cosine-negated")
def _():
    def rotate(x, ids):
        angles = (ids[..., None].double() * PLAIN).unsqueeze(-3)
        cos, sin = angles.cos(), angles.sin()
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, a * sin - b * cos), dim=-1).float()

    return {"rotate": rotate}


@exhibit("results through bfloat16", layout="half", notes=("vectors-in-low-precision",))
def _():
    return {"rotate": lambda x, ids: plain(x, ids).bfloat16().to(x.dtype)}


@exhibit("vectors through bfloat16", layout="half", notes=("vectors-in-low-precision",))
def _():
    return {"rotate": lambda x, ids: plain(x.bfloat16().float(), ids).bfloat16().to(x.dtype)}
