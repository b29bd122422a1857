"""Bugs at widths, sizes and ids that most callers send and odd probes miss; and what is right."""

import torch

from exhibits.kit import DIM, PLAIN, exhibit, over_heads, plain, swapped_neighbors, turned_back
from ropelib import inv_freq


def any_width(x, ids):
    return plain(x, ids, inv_freq(x.shape[-1]))


# Other widths


def at_128(other):
    return lambda x, ids: (other if x.shape[-1] == 128 else any_width)(x, ids)


AT_128 = {
    "nothing turns": lambda x, ids: x,
    "neighbors": lambda x, ids: plain(x, ids, inv_freq(128), "interleaved"),
    "clockwise": lambda x, ids: any_width(x, -ids),
    "twice as long": lambda x, ids: 2 * any_width(x, ids),
    "three fourths turn": lambda x, ids: torch.cat(
        (any_width(x[..., :96], ids), x[..., 96:]), dim=-1
    ),
    "no frequencies in order": lambda x, ids: plain(x, ids, PLAIN.repeat(2)),
    "exponents of 64": lambda x, ids: plain(x, ids, torch.cat((PLAIN, 1e-4 * PLAIN))),
    "slots for positions": lambda x, ids: any_width(x, torch.arange(x.shape[2])),
    "positions in bfloat16": lambda x, ids: any_width(x, ids.bfloat16().double()),
    "rows at the first": lambda x, ids: any_width(x, ids.reshape(-1, x.shape[2])[0]),
    "no numbers": lambda x, ids: x / 0,
}

for name, other in AT_128.items():
    exhibit(f"width 128: {name}", "wrong-at-other-widths", layout="half", base=10_000)(
        lambda f=other: {"rotate": at_128(f)}
    )


@exhibit("any width, its base scaled by 8 (NTK)", layout="half")
def _():
    def rotate(x, ids):
        d = x.shape[-1]
        return plain(x, ids, inv_freq(d, 10_000.0 * 8 ** (d / (d - 2))))

    return {"rotate": rotate}


@exhibit("a quarter of any width", layout="half", base=10_000, notes=("partial",))
def _():
    return {"rotate": lambda x, ids: plain(x, ids, inv_freq(x.shape[-1] // 4))}


for part, base, notes in ((32, 100, ("frequencies-of-the-whole-head",)), (48, 1000, ())):
    name = f"{part} dimensions of any width, exponents over all of it"

    @exhibit(name, layout="half", base=base, notes=("partial", *notes))
    def _(pairs=part // 2):
        return {"rotate": lambda x, ids: plain(x, ids, inv_freq(x.shape[-1])[:pairs])}


# Tables kept by a part of position_ids


def kept(key, for_good=False):
    tables = {}

    def rotate(x, ids):
        by = (tuple(ids.shape), key(ids))
        if by not in tables:
            if not for_good:
                tables.clear()
            tables[by] = ids.clone()
        return plain(x, tables[by])

    return {"rotate": rotate}


KEYS = {
    "the largest": lambda ids: int(ids.max()),
    "the last": lambda ids: int(ids.flatten()[-1]),
    "the sum": lambda ids: int(ids.sum()),
    "the first row": lambda ids: tuple(ids.reshape(-1, ids.shape[-1])[0].tolist()),
}

for name, key in KEYS.items():
    exhibit(f"tables kept by {name}", "tables-of-an-earlier-call")(lambda k=key: kept(k))


@exhibit("tables kept for good by the largest", "tables-of-an-earlier-call")
def _():
    return kept(KEYS["the largest"], for_good=True)


@exhibit("tables kept by all of position_ids", layout="half", base=10_000)
def _():
    return kept(lambda ids: tuple(ids.flatten().tolist()))


# Positions counted on from the first, in rows


def counted_from(first):
    return {"rotate": lambda x, ids: plain(x, first(ids) + torch.arange(x.shape[2]))}


@exhibit("an offset, and 0 for (1, seq_len)", "row-of-one-ignored", layout="half")
def _():
    return counted_from(lambda ids: ids[0] if ids.dim() == 1 else 0)


@exhibit("one offset for all rows", layout="half", notes=("contiguous-positions-only",))
def _():
    return counted_from(lambda ids: ids.flatten()[0])


@exhibit("counted back from the last", layout="half", notes=("contiguous-positions-only",))
def _():
    return counted_from(lambda ids: ids[..., -1:] - ids.shape[-1] + 1)


@exhibit("the smallest offset for all rows", "batch-rows-mixed", layout="half")
def _():
    return counted_from(lambda ids: ids.min())


@exhibit("an offset for each row", layout="half", notes=("contiguous-positions-only",))
def _():
    return counted_from(lambda ids: ids[..., :1])


# Sizes that fill blocks


def where(condition, other=lambda x, ids: plain(x, ids + 1)):
    return {"rotate": lambda x, ids: (other if condition(x) else plain)(x, ids)}


ROUND = {
    "heads by sixteens": lambda x: x.shape[1] % 16 == 0,
    "heads by fours": lambda x: x.shape[1] % 4 == 0 and x.shape[-1] == DIM and len(x) > 1,
    "rows by fours": lambda x: len(x) % 4 == 0,
    "single tokens in rows by fours": lambda x: len(x) % 4 == 0 and x.shape[2] == 1,
    "512 tokens": lambda x: x.shape[2] == 512,
    "1024 tokens": lambda x: x.shape[2] == 1024,
    "rows of tokens by 256s": lambda x: x.shape[2] % 256 == 0 and len(x) > 1,
    "32 heads of bfloat16": lambda x: x.shape[1] == 32 and x.dtype == torch.bfloat16,
}

for name, condition in ROUND.items():
    exhibit(f"one late: {name}", "round-sizes-wrong", layout="half", base=10_000)(
        lambda c=condition: where(c)
    )


@exhibit("one late: rows of single tokens of many heads", "crowded-call-differs", layout="half")
def _():
    return where(lambda x: len(x) > 4 and x.shape[1] > 10 and x.shape[2] == 1)


@exhibit("one head in rows", "batch-rows-share-positions", layout="half", base=10_000)
def _():
    return where(
        lambda x: x.shape[1] == 1, lambda x, ids: plain(x, ids.reshape(-1, ids.shape[-1])[0])
    )


def back(condition):
    return turned_back(lambda up, ids: plain(up, ids if condition(up) else -ids))


@exhibit("backward of 32 heads turns forward", "gradient-rotates-forward")
def _():
    return back(lambda g: g.shape[1] % 32 == 0)


@exhibit("backward of eight rows of bfloat16 turns forward", "gradient-rotates-forward")
def _():
    return back(lambda g: len(g) % 8 == 0 and g.dtype == torch.bfloat16)


# Memory that begins before x, or before position_ids


@exhibit("x read from where its memory begins", "strides-ignored", layout="half")
def _():
    def rotate(x, ids):
        return plain(x.as_strided(x.shape, x.stride(), 0) if x.is_contiguous() else x, ids)

    return {"rotate": rotate}


@exhibit("x of float16 alone, read from where its memory begins", "strides-ignored", layout="half")
def _():
    def rotate(x, ids):
        if x.dtype != torch.float16:
            raise TypeError("a kernel for float16")
        return plain(x.as_strided(x.shape, x.stride(), 0) if x.is_contiguous() else x, ids)

    return {"rotate": rotate}


READ = {
    "read from where their memory begins": lambda ids: ids.as_strided(ids.shape, ids.stride(), 0),
    "read as contiguous rows": lambda ids: (
        ids.as_strided(
            ids.shape, (*(() if ids.dim() == 1 else (ids.shape[1],)), 1), ids.storage_offset()
        )
        if ids.dim() == 1 or (ids.stride(1) == 1 and ids.stride(0) > 0)
        else ids
    ),
}

for name, read in READ.items():
    exhibit(f"position_ids {name}", "strided-ids-misread", layout="half")(
        lambda r=read: {"rotate": lambda x, ids: plain(x, r(ids))}
    )


# xPos


@exhibit("xPos, scales tiled beside neighbors", "decay-differs-within-pairs", layout="interleaved")
def _():
    scales = ((torch.arange(0, DIM, 2) + 0.4 * DIM) / (1.4 * DIM)).repeat(2)  # not in twos

    def grown(sign):
        def rotate(x, ids):
            scale = scales ** over_heads(sign * ids[..., None] / 512)
            angles = over_heads((ids[..., None] * PLAIN).repeat_interleave(2, dim=-1))
            turned = x * angles.cos() + swapped_neighbors(x) * angles.sin()
            return (turned * scale).type_as(x)

        return rotate

    return {"rotate": (grown(1), grown(-1)), "max_position": 1024}
