"""One slip each in a scaling that a configuration asks for, by formulas of their own."""

import math

import torch

from exhibits.kit import DIM, PLAIN, YARN_FACTOR, exhibit, plain
from exhibits.several_axes import of
from ropelib import inv_freq

LENGTH, FACTOR = 2048, 8.0
SHORT = (1 + 0.02 * torch.arange(DIM // 2)).double()
LONG = (1 + 0.5 * torch.arange(DIM // 2)).double()
LONGROPE_FACTOR = math.sqrt(1 + math.log(32) / math.log(4096))


def config(base=10_000.0, head_dim=DIM, share=1.0, **scaling):
    known = {"factor": FACTOR, "original_max_position_embeddings": LENGTH}
    return {
        "model_type": "llama",
        "hidden_size": 4 * head_dim,
        "num_attention_heads": 4,
        "head_dim": head_dim,
        "num_hidden_layers": 2,
        "max_position_embeddings": 16_384,
        "partial_rotary_factor": share,
        "rope_parameters": {"rope_theta": base, "rope_type": "yarn"} | known | scaling,
    }


def of_ends(low, high, index=None, frequencies=PLAIN):
    """Divide frequencies by 8 from one end of a ramp to the other."""
    index = torch.arange(len(frequencies)) if index is None else index
    kept = 1 - ((index - low) / (high - low)).clamp(0, 1).double()
    return frequencies * kept + frequencies / FACTOR * (1 - kept)


def end(turns, length=LENGTH, base=10_000.0, dim=DIM, two_pi=2 * math.pi):
    return dim * math.log(length / (two_pi * turns)) / (2 * math.log(base))


def yarn_by(low=None, high=None, whole=True, **options):
    low, high = low or end(32, **options), high or end(1, **options)
    return of_ends(*((math.floor(low), math.ceil(high)) if whole else (low, high)))


LLAMA_3 = {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0}
TURNS = LENGTH * PLAIN / math.tau


def llama_by(turns, slow=1.0, fast=4.0):
    kept = ((turns - slow) / (fast - slow)).clamp(0, 1)
    return PLAIN * kept + PLAIN / FACTOR * (1 - kept)


BLENDS = {  # what the sentence says of each, and what it is told by
    "the length of the whole for the trained one": (
        "of a trained length of 16384 tokens, expected 2048",
        yarn_by(length=16_384),
        config(),
    ),
    "no 2 pi in YaRN's ends": ("without the 2 pi", yarn_by(two_pi=1), config()),
    "no floor and ceil": ("not rounded to whole", yarn_by(whole=False), config()),
    "truncate: false not read": (
        "ends are rounded to whole",
        yarn_by(),
        config(truncate=False),
    ),
    "beta_fast not read": ("of beta_fast 32 and beta_slow 1", yarn_by(), config(beta_fast=16.0)),
    "ln(base) for 2 ln(base)": ("at twice the index", yarn_by(base=100.0), config()),
    "a ramp over dimensions": (
        "at half the index",
        of_ends(math.floor(end(32)), math.ceil(end(1)), torch.arange(0, DIM, 2)),
        config(),
    ),
    "the ramp's base a default": (
        "made for base 10000, expected 500000",
        PLAIN ** (math.log(500_000) / math.log(10_000)) * (yarn_by() / PLAIN),
        config(base=500_000.0),
    ),
    "the ramp for the whole head": (
        "made for a width of 128, expected 64",
        yarn_by(dim=128),
        config(head_dim=128, share=0.5),
    ),
    "YaRN's ramp over turns": (
        "over turns, not over indices",
        llama_by(TURNS, fast=32.0),
        config(),
    ),
    "the length of the whole for Llama 3's": (
        "of a trained length of 16384 tokens",
        llama_by(8 * TURNS),
        config(**LLAMA_3),
    ),
    "1 / inv_freq for a wavelength": (
        "without the 2 pi",
        llama_by(math.tau * TURNS),
        config(**LLAMA_3),
    ),
    "Llama 3's factors not read": (
        "of high_freq_factor 4 and low_freq_factor 1, expected 8",
        llama_by(TURNS),
        config(**LLAMA_3 | {"high_freq_factor": 8.0}),
    ),
    "YaRN's ramp with Llama 3's numbers": (
        "over indices of pairs, not over turns",
        yarn_by(low=end(4)),
        config(**LLAMA_3),
    ),
    "smooth for 1 - smooth, against a configuration": (
        "upside down between",
        PLAIN.where(TURNS > 4, PLAIN / FACTOR).where(
            (TURNS < 1) | (TURNS > 4), PLAIN + PLAIN / FACTOR - llama_by(TURNS)
        ),
        config(**LLAMA_3),
    ),
}


def rotating(frequencies, factor):
    def rotate(x, ids):
        turned = plain(x[..., :DIM], ids, frequencies, factor=factor)
        return torch.cat((turned, x[..., DIM:]), dim=-1)

    return rotate


for _name, (_, _frequencies, _config) in BLENDS.items():
    _factor = YARN_FACTOR if _config["rope_parameters"]["rope_type"] == "yarn" else 1.0
    _made = {"rotate": rotating(_frequencies, _factor), "expected": _config}
    if _config["head_dim"] != DIM:
        _made["head_dim"] = _config["head_dim"]
    exhibit(_name, "blend-not-as-expected")(lambda made=_made: made)


def longrope(frequencies):
    lists = {"short_factor": SHORT.tolist(), "long_factor": LONG.tolist()}
    expected = config(rope_type="longrope", original_max_position_embeddings=4096, **lists)
    expected["max_position_embeddings"] = 32 * 4096
    del expected["rope_parameters"]["factor"]
    rotate = rotating(frequencies, LONGROPE_FACTOR)
    return lambda: {"rotate": rotate, "expected": expected}


exhibit("long_factor in short calls", "frequencies-not-as-expected")(longrope(PLAIN / LONG))
exhibit("short_factor multiplied", "frequencies-not-as-expected")(longrope(PLAIN * SHORT))
exhibit("LongRoPE left out", "scaling-missing")(longrope(PLAIN))


@exhibit("a step in place of a ramp", "blend-not-as-expected")
def _():
    step = PLAIN.where(TURNS > 4, PLAIN / FACTOR)
    return {"rotate": rotating(step, 1.0), "expected": config(**LLAMA_3)}


@exhibit("NTK-aware without its exponent", "base-not-as-expected")
def _():
    powered = inv_freq(DIM, 4e4 * 4 ** (2 / (DIM - 2)))
    return {"rotate": rotating(inv_freq(DIM, 4e4), 1.0), "inv_freq": powered}


@exhibit("one axis by the frequencies of the other", "factor-not-as-expected")
def _():
    even, odd = PLAIN[::2], PLAIN[1::2]
    expected = of([0] * 16 + [1] * 16, torch.cat((even, odd)))
    return {"rotate": of([0] * 16 + [1] * 16, even.repeat(2)), "axes": 2, "expected": expected}


@exhibit("exponents of the head on each axis", "base-not-as-expected")
def _():
    expected, measured = (
        of([0] * 16 + [1] * 16, inv_freq(DIM // 2, base).repeat(2)) for base in (100, 10)
    )
    return {"rotate": measured, "axes": 2, "expected": expected}


@exhibit("YaRN's factor left out of a step", "decode-differs")
def _():
    full, step = (rotating(yarn_by(), factor) for factor in (YARN_FACTOR, 1.0))
    return {"rotate": full, "decode": step, "expected": config()}


@exhibit("q and k by one base that stays grown", "frequencies-stay-grown")
def _():
    longest = [1024]

    def rotate(x, ids):
        longest[0] = max(longest[0], int(ids.max()) + 1)
        base = 1e4 * (2 * longest[0] / 1024 - 1) ** (DIM / (DIM - 2))
        return plain(x, ids, inv_freq(DIM, base))

    part = {"rope_theta": 1e4, "rope_type": "dynamic", "factor": 2.0}
    expected = config() | {"max_position_embeddings": 1024, "rope_parameters": part}
    return {"rotate": (rotate, rotate), "expected": expected}
