"""Rotations at wrong positions."""

import math

import torch

from exhibits.kit import PLAIN, exhibit, llama_pair, plain, turn


@exhibit("off by one", "off-by-one", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids + 1)}


@exhibit("three late", "positions-shifted", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids + 3)}


@exhibit("half a token late", "positions-shifted", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids.double() + 0.5)}


@exhibit("half a radian added to every angle", "turned-at-position-0", layout="half")
def _():
    return {"rotate": lambda x, ids: turn(x, ids[..., None] * PLAIN + 0.5, "half")}


@exhibit("the square of the position", "angles-drift", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.double() ** 2 / 100)}


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


@exhibit("table clamped at 2048", "positions-clamped")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.clamp(max=2047))}


@exhibit("table wraps around at 2048", "positions-wrap-around")
def _():
    return {"rotate": lambda x, ids: plain(x, ids % 2048)}
