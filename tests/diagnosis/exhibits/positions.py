"""Rotations at wrong positions."""

import math

import torch

from exhibits.kit import PLAIN, exhibit, llama_pair, plain, turn
from ropelib import inv_freq


@exhibit("off by one", "off-by-one", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids + 1)}


@exhibit("three late", "positions-shifted", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids + 3)}


@exhibit("half a token late", "positions-shifted", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids.double() + 0.5)}


@exhibit("late by the tokens of the call (mlx-lm 1097)", "positions-shifted", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids + x.shape[2])}


@exhibit("an offset read after the new tokens but one", "positions-shifted", layout="half")
def _():
    def rotate(x, offset):
        return plain(x, offset + x.shape[-2] - 1 + torch.arange(x.shape[-2]))

    return {"rotate": rotate}


@exhibit("half a radian added to every angle", "turned-at-position-0", layout="half")
def _():
    return {"rotate": lambda x, ids: turn(x, ids[..., None] * PLAIN + 0.5, "half")}


for name, code, read in (
    ("the square of the position", "positions-bent", lambda p: p**2 / 100),
    ("the cube of the position", "positions-bent", lambda p: p**3),
    ("the logarithm of the position", "positions-bent", torch.log1p),
    ("positions in pairs", "positions-bent", lambda p: p // 2),
    ("half the position, rounded", "positions-bent", lambda p: (p / 2).round()),
    ("a number more for each page", "positions-bent", lambda p: p + p // 64),
    ("a table of six rows, clamped", "positions-clamped", lambda p: p.clamp(max=5)),
    ("a table of seven rows that wraps around", "positions-wrap-around", lambda p: p % 7),
):

    @exhibit(name, code, layout="half")
    def _(read=read):
        return {"rotate": lambda x, ids: plain(x, read(ids.double()))}


for name, size in (
    ("an offset, divided by the tokens of the call", lambda start, tokens: tokens),
    ("an offset, divided by the length of the text", lambda start, tokens: start + tokens),
):

    @exhibit(name, "positions-bent", layout="half")
    def _(size=size):
        def rotate(x, offset):
            ids = offset + torch.arange(x.shape[-2]).double()
            return plain(x, 100 * ids / size(offset, x.shape[-2]))

        return {"rotate": rotate}


for name, back in (
    ("counted back from the end of the text", lambda ids: 8191 - ids),
    ("counted back from the last position of the call", lambda ids: ids.max() - ids),
    ("counted back from the number of tokens", lambda ids: ids.shape[-1] - 1 - ids),
):

    @exhibit(name, "positions-reversed", layout="half", base=10_000, direction=-1)
    def _(back=back):
        return {"rotate": lambda x, ids: plain(x, back(ids))}


@exhibit("a degree more at odd positions", "not-relative", layout="half")
def _():
    def rotate(x, ids):
        return turn(x, ids[..., None] * PLAIN + math.radians(1) * (ids % 2)[..., None], "half")

    return {"rotate": rotate}


@exhibit("position_ids ignored", "position-ids-ignored", layout="interleaved", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, torch.arange(x.shape[2]), layout="interleaved")}


@exhibit("counted from the first of the call", "positions-restart", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids - ids[..., :1])}


@exhibit("a decode step at position 0", "decode-restarts-at-zero", layout="half")
def _():
    return {"rotate": plain, "decode": lambda x, ids: plain(x, torch.arange(x.shape[2]))}


@exhibit("single tokens at position 0", "decode-restarts-at-zero", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids if x.shape[2] > 1 else 0 * ids)}


@exhibit("numbers its tokens from 1", "off-by-one", base=10_000)
def _():
    return {"rotate": lambda x: plain(x, 1 + torch.arange(x.shape[-2]))}


@exhibit("a decode step one late", "decode-off-by-one")
def _():
    return {"rotate": plain, "decode": lambda x, ids: plain(x, ids + (x.shape[2] == 1))}


@exhibit("a decode step one early", "decode-off-by-one")
def _():
    return {"rotate": plain, "decode": lambda x, ids: plain(x, ids - 1 * (x.shape[2] == 1))}


@exhibit("a decode step that forgets the prompt", "decode-forgets-the-prompt", layout="half")
def _():
    return {"rotate": plain, "decode": lambda x, ids: plain(x, ids - 8 * (x.shape[2] == 1))}


@exhibit("a decode step that turns back", "decode-differs", layout="half")
def _():
    return {"rotate": plain, "decode": lambda x, ids: plain(x, -ids)}


@exhibit("dynamic NTK with a cache of old keys", "cached-keys-keep-old-frequencies")
def _():
    rotate, _ = llama_pair(rope_type="dynamic", factor=4.0)
    return {"rotate": rotate, "decode": rotate}


@exhibit("all rows at the positions of the first", "batch-rows-share-positions")
def _():
    return {"rotate": lambda x, ids: plain(x, ids if ids.dim() == 1 else ids[0])}


@exhibit("rows of the batch mixed up", "batch-rows-mixed")
def _():
    return {"rotate": lambda x, ids: plain(x, ids if ids.dim() == 1 else ids.flip(0))}


@exhibit("rows counted from their own first token", "positions-restart", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids - ids[:, :1] if ids.dim() == 2 else ids)}


@exhibit("rows counted, whatever their positions", "position-ids-ignored", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids if ids.dim() == 1 else torch.arange(len(ids[0])))}


@exhibit("a row alone is counted on from its first position", "row-of-one-ignored", layout="half")
def _():
    def rotate(x, ids):
        if ids.dim() == 2 and len(ids) == 1:
            ids = ids[0, 0] + torch.arange(ids.shape[1])
        return plain(x, ids)

    return {"rotate": rotate}


@exhibit("a single token alone is squeezed to a number of tokens", "row-of-one-ignored")
def _():
    def rotate(x, ids):
        ids = ids.squeeze() if ids.shape == (1, 1) else ids
        return plain(x, torch.arange(x.shape[2]) if ids.dim() == 0 else ids)

    return {"rotate": rotate}


def end_to_end(x, ids):
    return plain(x, ids + torch.arange(len(x))[:, None] * x.shape[2])


@exhibit("positions run on from row to row", "batch-rows-mixed")
def _():
    return {"rotate": end_to_end}


@exhibit("table clamped at 2048", "positions-clamped")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.clamp(max=2047))}


@exhibit("a table of 3000 rows, clamped", "positions-clamped")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.clamp(max=2999))}


@exhibit("a table as long as the call, clamped", "positions-clamped", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.clamp(max=x.shape[2] - 1))}


@exhibit("positions modulo the tokens of the call", "positions-wrap-around", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids % x.shape[2])}


@exhibit("a table as long as the longest call so far, clamped", "positions-clamped", layout="half")
def _():
    rows = [0]

    def rotate(x, ids):
        rows[0] = max(rows[0], x.shape[2])
        return plain(x, ids.clamp(max=rows[0] - 1))

    return {"rotate": rotate}


@exhibit("a table of 2000 rows that wraps around", "positions-wrap-around")
def _():
    return {"rotate": lambda x, ids: plain(x, ids % 2000, layout="interleaved")}


@exhibit("position 0 clamped to 1", "position-0-lost", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids.clamp(min=1))}


@exhibit("position 0 taken for padding", "position-0-lost", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, torch.where(ids == 0, 4095, ids))}


@exhibit("one output buffer for all calls", "result-overwritten", layout="half", base=10_000)
def _():
    buffers = {}

    def rotate(x, ids):
        buffer = buffers.setdefault((x.shape, x.dtype), torch.empty_like(x))
        return buffer.copy_(plain(x, ids))

    return {"rotate": rotate}


@exhibit("positions one on for the next layer", "position-ids-overwritten", layout="half")
def _():
    def rotate(x, ids):
        rotated = plain(x, ids)
        ids += 1
        return rotated

    return {"rotate": rotate}


@exhibit("table wraps around at 2048", "positions-wrap-around")
def _():
    return {"rotate": lambda x, ids: plain(x, ids % 2048)}


@exhibit("positions in uint8", "positions-wrap-around", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids.to(torch.uint8))}


@exhibit("positions that may not fall (packed rows)", "packed-rows-wrong", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.cummax(dim=-1).values)}


@exhibit("the first token's position for single tokens", "one-token-rows-wrong", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids if ids.shape[-1] > 1 else ids.flatten()[:1])}


@exhibit("more rows than four at the positions of the first", "batch-rows-mixed", layout="half")
def _():
    def rotate(x, ids):
        if ids.dim() == 2:
            ids = torch.cat((ids[:4], ids[:1].expand(max(0, len(ids) - 4), -1)))
        return plain(x, ids)

    return {"rotate": rotate}


@exhibit("tables that land on the heads where rows are as many", "batch-rows-mixed")
def _():
    def rotate(x, ids):
        if ids.dim() == 1 or x.shape[0] != x.shape[1]:
            return plain(x, ids)
        return plain(x.transpose(0, 1), ids).transpose(0, 1)

    return {"rotate": rotate}


@exhibit("a row left out of each block of 1000", "single-positions-wrong", layout="half")
def _():
    angles = torch.arange(8192)[:, None] * PLAIN
    angles[999::1000] = 0
    return {"rotate": lambda x, ids: turn(x, angles[ids], "half")}


@exhibit("dynamic NTK that stays grown (transformers 27227)", "frequencies-stay-grown")
def _():
    longest = 2048

    def rotate(x, ids):
        nonlocal longest
        longest = max(longest, int(ids.max()) + 1)
        base = 10_000.0 * (4 * longest / 2048 - 3) ** (64 / 62)
        return plain(x, ids, inv_freq(64, base))

    return {"rotate": rotate}


OF_THE_CALL = [
    ("divided by the tokens of the call", "bent", lambda x, p: p / x.shape[2]),
    ("divided by the length of the text", "bent", lambda x, p: p / (p.max() + 1)),
    ("a thousandth of the largest for one", "bent", lambda x, p: 1000 * p.double() / p.max()),
    ("from -1 to 1, whatever the length", "bent", lambda x, p: (2 * p + 1) / (p.max() + 1) - 1),
    ("a window of 1024 that slides", "clamped", lambda x, p: p.clamp(min=int(p.max()) - 1023)),
    ("a window of 64 that slides", "clamped", lambda x, p: p.clamp(min=int(p.max()) - 63)),
    ("counted within a window", "bent", lambda x, p: (p - (p.max() - 99).relu()).relu()),
]
for name, code, read in OF_THE_CALL:
    exhibit(name, f"positions-{code}", layout="half")(
        lambda read=read: {"rotate": lambda x, ids: plain(x, read(x, ids))}
    )


def kept_by(key):
    kept = {}
    return lambda x, ids: plain(x, kept.setdefault(key(x, ids), ids.clone()))


@exhibit("tables kept by the length", "tables-of-an-earlier-call")
def _():
    return {"rotate": kept_by(lambda x, ids: x.shape[2])}


@exhibit("tables kept by the shape of position_ids", "tables-of-an-earlier-call")
def _():
    return {"rotate": kept_by(lambda x, ids: ids.shape)}


@exhibit(
    "tables kept by the length, by offset (rotary-embedding-torch 11)", "tables-of-an-earlier-call"
)
def _():
    rotate = kept_by(lambda x, ids: x.shape[2])
    return {"rotate": lambda x, offset: rotate(x, offset + torch.arange(x.shape[2]))}


def from_the_end():
    """Count as the last rows of a table do that is as long as the longest call so far."""
    rows = [0]

    def counted(count, needed):
        rows[0] = max(rows[0], needed)
        return torch.arange(rows[0])[-count:]

    return counted


@exhibit("the last rows of a table, by offset", "tables-of-an-earlier-call", layout="half")
def _():
    counted = from_the_end()
    return {"rotate": lambda x, offset: plain(x, counted(x.shape[2], offset + x.shape[2]))}


@exhibit("the last rows of a table, of q and k", "tables-of-an-earlier-call", layout="half")
def _():
    counted = from_the_end()

    def both(q, k, position_ids):
        ids = counted(q.shape[2], int(position_ids.max()) + 1)
        return plain(q, ids), plain(k, ids)

    return {"rotate": both}


@exhibit("slots counted from the middle", "position-ids-ignored")
def _():
    return {"rotate": lambda x, ids: plain(x, torch.arange(x.shape[2]) - x.shape[2] // 2)}


@exhibit("an offset ignored, and frequencies that follow the length", "position-ids-ignored")
def _():
    def rotate(x, ids):
        n = x.shape[2]
        return plain(x, torch.arange(n), PLAIN / (1 + n / 64))

    return {"rotate": rotate}
