"""Rotations whose scaling is wrong, and those that only an expectation shows to be."""

import torch

from exhibits.kit import DIM, PLAIN, YARN_FACTOR, exhibit, plain, turn, yarn
from ropelib import inv_freq
from ropelib.scaling import llama3


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


@exhibit("YaRN's beta_fast and beta_slow exchanged", "inverted-ramp")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, yarn(betas=(1, 32)), factor=YARN_FACTOR)}


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


@exhibit("a layer without positions is rotated (transformers 43756)", "width-not-as-expected")
def _():
    return {"rotate": plain, "inv_freq": torch.zeros(DIM // 2)}


@exhibit("YaRN's factor applied twice (sglang 33558)", "attention-factor-not-as-expected")
def _():
    return {
        "rotate": lambda x, ids: plain(x, ids, yarn(), factor=YARN_FACTOR**2),
        "inv_freq": yarn(),
        "attention_factor": YARN_FACTOR,
    }


@exhibit("the last quarter of a head, where NeoX turns the first", "pairs-not-as-expected")
def _():
    def rotate(x, ids):
        return torch.cat((x[..., :-24], plain(x[..., -24:], ids, inv_freq(24))), dim=-1)

    return {"rotate": rotate, "head_dim": 96, "expected": "gpt-neox-20b"}


@exhibit("one frequency off", "frequencies-not-as-expected")
def _():
    return {"rotate": plain, "inv_freq": PLAIN * (1 + 0.001 * (torch.arange(DIM // 2) == 3))}


@exhibit("another factor", "attention-factor-not-as-expected")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, factor=1.1), "attention_factor": 1.2}


P_ROPE = PLAIN.where(torch.arange(DIM // 2) < 8, 0)  # a quarter of the pairs turns


@exhibit("p-RoPE paired within its part (Megatron-Bridge 4195)", "pairs-not-as-expected")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, PLAIN[:8]), "inv_freq": P_ROPE}


@exhibit("partial rotation paired across the head", "pairs-not-as-expected")
def _():
    frequencies = torch.nn.functional.pad(inv_freq(16), (0, 24))
    return {"rotate": lambda x, ids: plain(x, ids, frequencies), "inv_freq": inv_freq(16)}


@exhibit("q and k clockwise", "direction-not-as-expected", layout="half", direction=-1)
def _():
    back = lambda x, ids: plain(x, -ids)  # noqa: E731
    return {"rotate": (back, back), "inv_freq": PLAIN}


EXPONENTS = {
    "exponents i / d (LeetCUDA 290)": inv_freq(DIM, 100.0),
    "exponents 2i over the number of pairs": inv_freq(DIM, 1e8),
    "exponents of the whole head": PLAIN[:8],
    "exponents of the whole head, of which half turns": PLAIN[:16],
    "exponents of a head of 96 (transformers 32495)": inv_freq(96)[: DIM // 2],
    "exponents by linspace": 10_000.0 ** -torch.linspace(0, 1, DIM // 2, dtype=torch.float64),
}

for name, frequencies in EXPONENTS.items():
    exhibit(name, "exponents-not-as-expected")(
        lambda f=frequencies: {
            "rotate": lambda x, ids: plain(x, ids, f),
            "inv_freq": inv_freq(2 * len(f)),
        }
    )


@exhibit("pairs counted from one (CS336 4)", "exponents-from-one", layout="half", base=10_000)
def _():
    return {"rotate": lambda x, ids: plain(x, ids, PLAIN / 10_000 ** (1 / 32))}


@exhibit("pairs counted from a half (CS336 22)", "exponents-from-a-half", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, PLAIN / 10_000 ** (1 / 64))}


@exhibit("pairs counted from one, against a configuration", "exponents-from-one")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, PLAIN / 10_000 ** (1 / 32)), "inv_freq": PLAIN}


def dynamic_from(tokens):
    return {
        "model_type": "llama",
        "hidden_size": 4 * DIM,
        "num_attention_heads": 4,
        "max_position_embeddings": tokens,
        "rope_parameters": {"rope_type": "dynamic", "rope_theta": 10_000.0, "factor": 4.0},
    }


@exhibit("dynamic NTK read as fixed, against a configuration", "long-calls-not-as-expected")
def _():
    return {"rotate": plain, "expected": dynamic_from(1024)}


@exhibit("dynamic NTK beyond what is tried", layout="half", notes=("long-calls-not-tried",))
def _():
    return {"rotate": plain, "expected": dynamic_from(2**15)}


LLAMA_3, _ = llama3(
    DIM, 1e4, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_seq_len=2048
)


@exhibit("Llama 3's blend by the factor of another model", "factor-not-as-expected")
def _():
    other, _ = llama3(
        DIM, 1e4, factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_seq_len=2048
    )
    return {"rotate": lambda x, ids: plain(x, ids, other), "inv_freq": LLAMA_3}


@exhibit("smooth for 1 - smooth in Llama 3's blend", "blend-not-as-expected")
def _():
    turns = 2048 * PLAIN / (2 * torch.pi)
    smooth = (turns - 1) / 3
    between = smooth * PLAIN / 8 + (1 - smooth) * PLAIN
    swapped = LLAMA_3.where((turns < 1) | (turns > 4), between)
    return {"rotate": lambda x, ids: plain(x, ids, swapped), "inv_freq": LLAMA_3}


@exhibit("frequencies in reverse", "frequencies-not-as-expected")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, PLAIN.flip(0)), "inv_freq": PLAIN}


NTK = inv_freq(DIM, 1e4 * 4 ** (DIM / (DIM - 2)))


@exhibit("NTK-aware, where linear scaling is meant", "base-not-as-expected")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, NTK), "inv_freq": PLAIN / 4}


@exhibit("an NTK-aware base, where a plain one is meant", "base-not-as-expected")
def _():
    return {"rotate": lambda x, ids: plain(x, ids, NTK), "inv_freq": PLAIN}


@exhibit("plain, where an NTK-aware base is meant", "base-not-as-expected")
def _():
    return {"rotate": plain, "inv_freq": NTK}


def in_parts(count, layout):
    """Turn each part of a head as a head of its own, as where it is cut over devices."""

    def rotate(x, ids):
        parts = x.chunk(count, dim=-1)
        own = inv_freq(x.shape[-1] // count, 5e5)
        return torch.cat([plain(part, ids, own, layout) for part in parts], dim=-1)

    return rotate


for layout, count in (("half", 2), ("interleaved", 4)):

    @exhibit(f"a head cut in {count} parts, {layout}", "width-not-as-expected")
    def _(layout=layout, count=count):
        return {
            "rotate": in_parts(count, layout),
            "head_dim": 128,
            "inv_freq": inv_freq(128, 5e5),
            "layout": layout,
        }


@exhibit("a head cut in 2 parts", notes=("unusual-pairs", "not-geometric"))
def _():
    return {"rotate": in_parts(2, "half"), "head_dim": 128}


@exhibit("a table as wide as the head, read in rows of half", "positions-bent")
def _():
    angles = torch.arange(20_000)[:, None] * inv_freq(128, 5e5)
    rows = angles.repeat(1, 2).reshape(-1, 64)
    return {"rotate": lambda x, ids: turn(x, rows[ids], "half"), "head_dim": 128}
