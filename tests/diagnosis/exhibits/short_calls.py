"""Steps that count for themselves, and short calls: what is wrong with them alone."""

import torch

from exhibits.kit import exhibit, plain
from ropelib import inv_freq


def of_any_width(base, read, layout="half"):
    """Rotate vectors of any width, by what a reading makes of positions and their number."""

    def rotate(x, ids):
        return plain(x, read(ids, x.shape[2]), inv_freq(x.shape[-1], base), layout)

    return rotate


# Functions for decoding that are called with x alone


def counting(read, width, base):
    """Decode by a counter: `read(counted, tokens)` makes the positions."""
    speeds = inv_freq(width, base)

    class Step:
        counted = 0

        def __call__(self, x):
            ids = read(self.counted, x.shape[2])
            self.counted += x.shape[2]
            return plain(x, ids, speeds)

    return {
        "rotate": lambda x, ids: plain(x, ids, speeds),
        "decode": Step(),
        "head_dim": width,
    }


def on_from(first, tokens):
    return first + torch.arange(tokens)


COUNTED = {
    "all tokens of a short call at its first": (
        "short-steps-wrong",
        lambda n, t: torch.full((t,), n) if 1 < t < 8 else on_from(n, t),
    ),
    "single tokens within blocks of 512": (
        "late-steps-wrong",
        lambda n, t: torch.tensor([n % 512]) if t == 1 else on_from(n, t),
    ),
    "single tokens up to 1023": (
        "late-steps-wrong",
        lambda n, t: torch.tensor([min(n, 1023)]) if t == 1 else on_from(n, t),
    ),
    "one position for a later chunk": (
        "later-chunks-differ",
        lambda n, t: torch.full((t,), n) if n else on_from(n, t),
    ),
    "later chunks begin at their last": (
        "later-chunks-differ",
        lambda n, t: on_from(n + t - 1, t) if n else on_from(n, t),
    ),
}

for name, (code, read) in COUNTED.items():
    exhibit(f"a step that counts for itself: {name}", code, layout="half", base=5e5)(
        lambda read=read: counting(read, 80, 5e5)
    )


# Calls of few tokens, whatever the width


@exhibit("up to three tokens at the first of them, of any width", "short-steps-wrong")
def _():
    read = of_any_width(5e5, lambda ids, t: ids[..., :1].expand_as(ids) if 1 < t <= 3 else ids)
    return {"rotate": read, "head_dim": 128}


@exhibit("up to three tokens counted on from the first, of any width", "short-steps-wrong")
def _():
    read = of_any_width(1e6, lambda ids, t: on_from(ids[..., :1], t) if 1 < t <= 3 else ids)
    return {"rotate": read, "head_dim": 96}


@exhibit("fewer than eight tokens counted on from the first, of any width", "short-steps-wrong")
def _():
    read = of_any_width(5e5, lambda ids, t: on_from(ids[..., :1], t) if t < 8 else ids)
    return {"rotate": read, "head_dim": 128}


@exhibit("odd calls counted on from the first", "short-steps-wrong", layout="interleaved")
def _():
    read = of_any_width(
        1e6, lambda ids, t: on_from(ids[..., :1], t) if t % 2 else ids, "interleaved"
    )
    return {"rotate": read, "head_dim": 80}
