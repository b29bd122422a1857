"""Rotations that cannot be measured, and what only another implementation shows."""

import time

import torch

from exhibits.kit import exhibit, plain


@exhibit("a key of the cache that is not there", "call-raises")
def _():
    return {"rotate": lambda x, ids: {}["cos_cached"]}


@exhibit("a rank that waits for the others", "call-hangs")
def _():
    return {"rotate": lambda x, ids: time.sleep(3600), "timeout": 0.2}


@exhibit("heads merged on the way out", "shape-not-kept")
def _():
    return {"rotate": lambda x, ids: plain(x, ids).transpose(1, 2).flatten(2)}


@exhibit("heads and tokens exchanged on the way out", "shape-not-kept")
def _():
    return {"rotate": lambda x, ids: plain(x, ids).transpose(1, 2)}


@exhibit("memory that nobody has written", "not-finite")
def _():
    return {"rotate": lambda x, ids: torch.full_like(x, torch.nan)}


@exhibit("a result that stays on another device", "device-not-kept")
def _():
    return {"rotate": lambda x, ids: plain(x, ids).to("meta")}


@exhibit("dimensions that come out in reverse, against another code", "results-not-as-expected")
def _():
    return {"rotate": lambda x, ids: plain(x, ids).flip(-1), "expected": plain}
