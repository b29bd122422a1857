"""Rotations whose scaling is wrong, and those that only an expectation shows to be."""

import torch

from exhibits.kit import DIM, PLAIN, YARN_FACTOR, exhibit, plain, yarn
from ropelib import inv_freq


@exhibit("YaRN's ramp inverted (litgpt)", "inverted-ramp")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, yarn(inverted=True), factor=YARN_FACTOR)}


@exhibit("YaRN's ramp inverted, against a configuration", "inverted-ramp")
def _():
    # Too few pairs keep their frequency to see two ends of one series without the configuration.
    frequencies = yarn(inverted=True, original=300)
    return {
        "rotate": lambda x, ids: plain(x, ids, frequencies),
        "inv_freq": yarn(original=300),
    }


@exhibit("YaRN without its factor", "attention-factor-missing")
def _():
    return {
        "rotate": lambda x, ids: plain(x, ids, yarn()),
        "inv_freq": yarn(),
        "attention_factor": YARN_FACTOR,
    }


@exhibit("scaling not read from the configuration", "scaling-missing")
def _():
    return {"rotate": plain, "inv_freq": yarn()}


@exhibit("linear scaling multiplied", "factor-not-as-expected")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, PLAIN * 2), "inv_freq": PLAIN / 2}


@exhibit("base lost", "base-not-as-expected")
def _():
    return {"rotate": plain, "inv_freq": inv_freq(DIM, 500_000.0)}


@exhibit("code of the other layout", "layout-not-as-expected")
def _():
    return {"rotate": plain, "layout": "interleaved"}


@exhibit("half as wide as expected", "width-not-as-expected", layout="half")
def _():
    return {"rotate": plain, "inv_freq": PLAIN[:16]}


@exhibit("one frequency off", "frequencies-not-as-expected")
def _():
    return {"rotate": plain, "inv_freq": PLAIN * (1 + 0.001 * (torch.arange(DIM // 2) == 3))}


@exhibit("another factor", "attention-factor-not-as-expected")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, factor=1.1), "attention_factor": 1.2}
