"""Positions in rows, (batch, seq_len), by a path of their own; those of (seq_len,) are right."""

import torch

from exhibits.kit import exhibit, plain, swapped_halves
from ropelib import inv_freq


def counted_on(ids):
    return ids[:, :1] + torch.arange(ids.shape[1])


def late(read):
    """Read positions of rows otherwise."""
    return lambda x, ids, base, layout: plain(x, read(ids), inv_freq(x.shape[-1], base), layout)


def by(base=None, layout=None, factor=1.0, sign=1):
    """Turn rows by another base, layout, factor or direction."""

    def rotate(x, ids, own_base, own_layout):
        speeds = sign * inv_freq(x.shape[-1], base or own_base)
        return plain(x, ids, speeds, layout or own_layout, factor)

    return rotate


BY_ROWS = {
    "cumsum without - 1": ("rows-turned-otherwise", late(lambda ids: ids + 1)),
    "a count from 1 that is none": (
        "rows-turned-otherwise",
        late(lambda ids: (ids - 1).clamp(0)),
    ),
    "the base of a default": ("rows-turned-otherwise", by(base=1e4)),
    "the other direction": ("rows-turned-otherwise", by(sign=-1)),
    "an attention factor": ("rows-turned-otherwise", by(factor=1.2)),
    "linear scaling left out": ("rows-turned-otherwise", late(lambda ids: 4 * ids)),
    "gaps are closed": (
        "rows-turned-otherwise",
        late(lambda ids: ids[:, :1] + (ids.diff(prepend=ids[:, :1]) > 0).cumsum(1)),
    ),
    "counted on from the first": ("packed-rows-wrong", late(counted_on)),
    "counted on where they do not rise": (
        "packed-rows-wrong",
        late(lambda ids: counted_on(ids) if (ids.diff() <= 0).any() else ids),
    ),
    "padding told by the last": (
        "packed-rows-wrong",
        late(lambda ids: (counted_on(ids) - counted_on(ids)[:, -1:] + ids[:, -1:]).clamp(0)),
    ),
    "the largest so far": ("packed-rows-wrong", late(lambda ids: ids.cummax(1).values)),
    "sorted": ("order-of-positions-ignored", late(lambda ids: ids.sort().values)),
}
MODELS = [(80, 5e5, "half"), (128, 1e6, "interleaved")]
WAYS = [(name, code, path, i % 2) for i, (name, (code, path)) in enumerate(BY_ROWS.items())]
WAYS += [
    (f"layout {layout}", "rows-turned-otherwise", by(layout=layout), i)
    for i, layout in enumerate(("interleaved", "half"))
]


def apart(path, width, base, layout, taken):
    """Rotate rightly, but for calls that another path takes."""

    def rotate(x, ids):
        if taken(x, ids):
            return path(x, ids, base, layout)
        return plain(x, ids, inv_freq(width, base), layout)

    return {"rotate": rotate, "head_dim": width}


for name, code, path, which in WAYS:

    @exhibit(f"in rows: {name}", code)
    def _(path=path, which=which):
        return apart(path, *MODELS[which], lambda x, ids: ids.dim() == 2)


@exhibit("in rows of one token: cumsum without - 1", "one-token-rows-wrong")
def _():
    rows = late(lambda ids: ids + 1)
    return apart(rows, *MODELS[0], lambda x, ids: ids.dim() == 2 and ids.shape[1] == 1)


for path, name in ((late(lambda ids: ids + 1), "one place late"), (by(base=1e4), "base 10000")):

    @exhibit(f"several rows of x: {name}", "batch-rows-mixed")
    def _(path=path):
        return apart(path, *MODELS[1], lambda x, ids: len(x) > 1)


@exhibit("up to eight tokens counted from 0", "short-steps-wrong")
def _():
    taken = lambda x, ids: ids.shape[-1] <= 8  # noqa: E731
    return apart(late(lambda ids: torch.arange(ids.shape[-1]).expand_as(ids)), *MODELS[0], taken)


@exhibit("the part that passes comes first", notes=("output-permuted", "partial"))
def _():
    def rotate(x, ids):
        part, rest = x[..., :64], x[..., 64:]
        return torch.cat((rest, plain(part, ids, inv_freq(64, 5e5))), dim=-1)

    return {"rotate": rotate, "head_dim": 192}


@exhibit("tables of half the width, read at the whole", "turned-at-position-0")
def _():
    rows = (torch.arange(20_000)[:, None] * inv_freq(128, 5e5)).reshape(-1, 128)

    def rotate(x, ids):
        angles = rows[ids] if ids.dim() == 1 else rows[ids][:, None]
        return x * angles.cos().to(x.dtype) + swapped_halves(x) * angles.sin().to(x.dtype)

    return {"rotate": rotate, "head_dim": 128}
