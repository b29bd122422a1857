"""Bugs that were shipped, by the thread that tells of each."""

import torch

from exhibits.kit import (
    DIM,
    PLAIN,
    YARN_FACTOR,
    exhibit,
    over_heads,
    plain,
    turn,
    yarn,
)
from ropelib import inv_freq
from ropelib.diagnosis import from_module
from ropelib.scaling import llama3

LLAMA_3, _ = llama3(
    DIM, 1e4, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_seq_len=2048
)


def shipped(name, code, rotate, **options):
    exhibit(name, code)(lambda: {"rotate": rotate, **options})


def at(frequencies, layout="half", factor=1.0):
    return lambda x, ids: plain(x, ids, frequencies, layout, factor)


shipped("Llama 3's factors unused (ik_llama 2291)", "scaling-missing", plain, inv_freq=LLAMA_3)
shipped("llama3 as linear (mlxcel 1688)", "scaled-as-linear", at(PLAIN / 8), inv_freq=LLAMA_3)
shipped("rope_theta lost (vLLM 56066)", "base-not-as-expected", plain, inv_freq=inv_freq(DIM, 6e5))
shipped("yarn as linear", "scaled-as-linear", at(PLAIN / 8), inv_freq=yarn())
shipped(
    "another training length (gpt-oss, vLLM 28244)",
    "blend-not-as-expected",
    at(yarn(original=2300)),
    inv_freq=yarn(original=1700),
)
shipped(
    "factor 8 on every layer (Gemma 3, ollama 13452)",
    "factor-not-as-expected",
    at(PLAIN / 8),
    inv_freq=PLAIN,
)
shipped(
    "factor 8 on no layer (Gemma 3, vLLM 29111)",
    "factor-not-as-expected",
    plain,
    inv_freq=PLAIN / 8,
)
shipped(
    "the indexer's layout (DeepSeek V3.2, sglang 13530)",
    "layout-not-as-expected",
    at(PLAIN, "interleaved"),
    layout="half",
)
shipped(
    "Meta's order for HF's weights (TinyLlama 24)",
    "layout-not-as-expected",
    at(PLAIN),
    layout="interleaved",
)
shipped(
    "p-RoPE for an ordinary part (pie 603)",
    "pairs-not-as-expected",
    at(PLAIN.where(torch.arange(32) < 8, 0)),
    inv_freq=inv_freq(16),
)
shipped("half of an MLA head (vLLM 41185)", "width-not-as-expected", at(PLAIN[:16]), inv_freq=PLAIN)
shipped(
    "a share applied twice (vLLM 29966)",
    "width-not-as-expected",
    at(inv_freq(16)),
    inv_freq=inv_freq(32),
)
shipped(
    "rotary_dim of the whole head (vLLM 43676)",
    "width-not-as-expected",
    plain,
    inv_freq=inv_freq(32),
)
shipped(
    "YaRN's factor twice (TRT-LLM 16379)",
    "attention-factor-not-as-expected",
    at(yarn(), factor=YARN_FACTOR**2),
    inv_freq=yarn(),
    attention_factor=YARN_FACTOR,
)
shipped(
    "keys rotated again from the cache (shainet 110)",
    "k-rotated-twice",
    (plain, lambda x, ids: plain(plain(x, ids), ids)),
)
shipped(
    "queries rotated by attention too",
    "q-rotated-twice",
    (lambda x, ids: plain(plain(x, ids), ids), plain),
)
shipped(
    "queries of 1e4 on keys of 1.6e5 (DeepSeek V4, transformers 45910)",
    "q-and-k-frequencies-differ",
    (plain, at(inv_freq(DIM, 1.6e5))),
)


@exhibit("a table grown without its scaling (sglang 35171)", "frequencies-change-midway")
def _():
    def rotate(x, ids):
        angles = ids[..., None].double() * torch.where(ids[..., None] < 2048, yarn(), PLAIN)
        return turn(x, angles, "half")

    return {"rotate": rotate}


def beyond(x, ids, near, far, since=4097):
    """Rotate by `near` below a position, and by `far` from there on."""
    there = over_heads((ids >= since)[..., None])
    return torch.where(there, far(x, ids), near(x, ids))


@exhibit("a table grown without its factor (sglang 38786)", "factor-changes-midway")
def _():
    return {"rotate": lambda x, ids: beyond(x, ids, at(PLAIN, factor=1.2), plain)}


@exhibit("grown without its factor, against a configuration", "factor-changes-midway")
def _():
    rotate = lambda x, ids: beyond(x, ids, at(yarn(), factor=YARN_FACTOR), at(yarn()))  # noqa: E731
    return {"rotate": rotate, "inv_freq": yarn(), "attention_factor": YARN_FACTOR}


@exhibit("far positions a thousandth as long", "factor-changes-midway", layout="half")
def _():
    return {"rotate": lambda x, ids: beyond(x, ids, plain, at(PLAIN, factor=0.001), 1000)}


@exhibit("lengths that fall beyond position 4096", "norm-not-kept", layout="half")
def _():
    def rotate(x, ids):
        factor = 1 - 0.5 * (ids - 4096).clamp(min=0) / 4096
        return plain(x, ids) * over_heads(factor[..., None])

    return {"rotate": rotate}


@exhibit("what passes is lost from position 1000 on", "rest-not-kept", layout="half")
def _():
    half = lambda x, ids: torch.cat((plain(x[..., :32], ids, inv_freq(32)), x[..., 32:]), -1)  # noqa: E731
    cut = torch.cat((torch.ones(32), torch.zeros(32)))
    return {"rotate": lambda x, ids: beyond(x, ids, half, lambda x, ids: half(x, ids) * cut, 1000)}


@exhibit("later rows of a table at base 10000", "frequencies-change-midway")
def _():
    scaled = inv_freq(DIM, 500_000.0)

    def rotate(x, ids):
        angles = ids[..., None].double() * torch.where(ids[..., None] < 4096, scaled, PLAIN)
        return turn(x, angles, "half")

    return {"rotate": rotate}


@exhibit("one row for all of a padded batch (unsloth 3699)", "batch-rows-share-positions")
def _():
    return {"rotate": lambda x, ids: plain(x, ids if ids.dim() == 1 else ids[0])}


@exhibit("a batch summed in a product (transformers 29109)", "batch-rows-mixed")
def _():
    return {"rotate": lambda x, ids: plain(x, ids if ids.dim() == 1 else ids.sum(0))}


@exhibit("a slice per rank (Megatron 5243)", "positions-restart")
def _():
    return {"rotate": lambda x, ids: plain(x, ids - ids.min())}


@exhibit("the chunk's offset forgotten (Seq1F1B 6)", "decode-restarts-at-zero")
def _():
    return {"rotate": plain, "decode": lambda x, ids: plain(x, ids - ids[..., :1])}


@exhibit("positions in bfloat16 (SimpleTuner 2038)", "positions-in-bfloat16")
def _():
    return {"rotate": lambda x, ids: plain(x, ids.to(torch.bfloat16))}


@exhibit("k by q's number of heads (ColossalAI 6428)", "grouped-queries-wrong")
def _():
    def both(q, k, position_ids):
        rotated = [plain(x, position_ids) for x in (q, k)]
        if k.shape[1] < q.shape[1]:  # what a stride of q's heads reads of k
            rotated[1] = rotated[1][:, [0] * k.shape[1]]
        return rotated

    return {"rotate": from_module(both)}


@exhibit("half of q from k (ColossalAI 6444)", "grouped-queries-wrong")
def _():
    def both(q, k, position_ids):
        mixed = q.clone()
        if q.shape[1] > k.shape[1]:
            mixed[:, : k.shape[1]] = k
        return plain(mixed, position_ids), plain(k, position_ids)

    return {"rotate": from_module(both)}


@exhibit("grouped queries refused", notes=("grouped-queries-refused",))
def _():
    def both(q, k, position_ids):
        stacked = torch.stack((q, k))
        angles = over_heads(position_ids[..., None] * PLAIN)
        cos, sin = angles.cos().float(), angles.sin().float()
        a, b = stacked.float().chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(q.dtype)

    return {"rotate": from_module(both)}
