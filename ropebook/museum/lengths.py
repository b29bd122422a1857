"""Wrong past some length: scaling, tables, precision."""

import math

import torch

from ropebook.museum.kit import SPEEDS, Hall, Meant, by_angles, turn
from ropelib import RopeConfig, inv_freq, scaling

HALL = Hall(
    "length",
    "Past some length",
    "Right at first, wrong past some length.",
    aside="With a cache only, all at once? Then it is what grows or switches: [a switch in the "
    "middle of a text], [a base that grows, keys that stay]. Gibberish after some 20 tokens "
    "already, or worse and worse with distance? Wrong partners show so too: [weights in another "
    "order], [the whole head for its part]. So does a base that was not read: [a base that moved].",
)
SCALED = {
    "llama3": {
        "rope_type": "llama3",
        "factor": 32.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
    "yarn": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 2048},
}


def speeds_of(rope_type: str, base: float, context: int) -> torch.Tensor:
    """Return the frequencies of a head of 64 dimensions, as the library reads a configuration.

    Example:
        >>> len(speeds_of("yarn", 10_000.0, 16_384))
        32
    """
    shape = {"head_dim": 64, "hidden_size": 2048, "num_attention_heads": 32}
    rope = {"rope_theta": base, "rope_scaling": SCALED[rope_type]}
    config = {"model_type": "llama", "max_position_embeddings": context, **shape, **rope}
    return RopeConfig.from_hf(config).inv_freq()


LLAMA = speeds_of("llama3", 500_000.0, 131_072)
YARN = speeds_of("yarn", 10_000.0, 16_384)
YARN_BY_THE_BASE, _ = scaling.yarn(64, factor=10_000.0, original_max_seq_len=2048)


def in_tf32(values: torch.Tensor) -> torch.Tensor:
    """Keep of a float32 what a tensor core keeps: ten bits after the first.

    Example:
        >>> in_tf32(torch.tensor([2049.0, 2050.0]))
        tensor([2050., 2050.])
    """
    bits = values.float().contiguous().view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32)


@HALL.shows(
    "factors loaded and left lying",
    shows="nonsense",
    saw="Perplexity of a model of 1B at 32,768 tokens 2916, then 5.50; of one of 8B 5.22, then "
    "3.20. It begins at 8192, says the thread.",
    where="ikawrakow/ik_llama.cpp/pull/2291",
    code="scaling-missing",
    mend=("return attention()", 'return attention(file["rope_freqs"])'),
    meant=Meant(LLAMA),
)
def nobody_hands_them_on(x, position_ids):
    """The file's factors slow the slow pairs down, if they arrive."""
    plain = inv_freq(64, 500_000.0)
    file = {}
    file["rope_freqs"] = plain / LLAMA

    def attention(factors=None):
        speeds = plain if factors is None else plain / factors
        return turn(x, position_ids, speeds)

    return attention()


@HALL.shows(
    "a table that grows differently",
    shows="compared",
    saw="Right on all rows that were there from the start. On the added ones cos and sin are off "
    "by up to 2.14, over all kinds of scaling that the thread tries.",
    where="sgl-project/sglang/pull/35171",
    also=("sgl-project/sglang/pull/38786",),
    code="frequencies-change-midway",
    mend=("* YARN_BY_THE_BASE", "* YARN"),
    meant=Meant(YARN),
    differs="The thread's added rows have lost YaRN's attention factor as well.",
)
def grown_by_the_base_class(x, position_ids):
    """Its base class adds rows, and hands the base on as the factor."""
    rows = torch.arange(512)[:, None]
    angles = rows * YARN
    angles[256:] = rows[256:] * YARN_BY_THE_BASE
    return by_angles(x, angles[position_ids])


@HALL.shows(
    "scaling parsed and never read",
    shows="nonsense",
    saw="The order of the hundred likeliest words agrees by 0.96 (rank correlation) at 195 tokens, "
    "by 0.53 at 2916. Then loops; in another program it stays fluent.",
    where="Blaizzy/mlx-vlm/pull/1709",
    also=("lablup/mlxcel/issues/1340",),
    akin=("ollama/ollama/pull/13452",),
    code="factor-not-as-expected",
    mend=('config["rope_theta"])', 'config["rope_theta"]) / config["factor"]'),
    meant=Meant(inv_freq(64, 1_000_000.0) / 8),
)
def positions_eight_times_too_large(x, position_ids):
    """Gemma 3's global layers are slowed by 8. These are not."""
    config = {"rope_theta": 1_000_000.0, "factor": 8.0}
    speeds = inv_freq(64, config["rope_theta"])
    return turn(x, position_ids, speeds)


@HALL.shows(
    "a product on the tensor cores",
    shows="compared",
    saw="On a B200, with matrix products allowed in TF32 (a float32 that loses 13 bits on the way "
    "in), and a batch, positions past 2048 are off, first the odd ones. Frequencies are rounded as "
    "well: in these lines angles are off from the start, by up to 0.33 at 2048.",
    where="huggingface/transformers/issues/48428",
    also=("huggingface/transformers/pull/48450",),
    code="positions-in-tf32",
    mend=("in_tf32(t) @ in_tf32(speeds)", "t * speeds"),
    options={"max_position": 4096},
    differs="In the thread 2049 becomes 2048; these lines round it up to 2050.",
)
def matmul_in_tf32(x, position_ids):
    """Position 2049 has twelve bits; a tensor core keeps eleven."""
    t, speeds = position_ids[..., None].float(), SPEEDS[None].float()
    return by_angles(x, in_tf32(t) @ in_tf32(speeds))


@HALL.shows(
    "tables made in bfloat16",
    shows="compared",
    saw="Position 15,962 is turned as 15,936: a cosine of -0.908 becomes -0.268 (recomputed: the "
    "thread has other figures).",
    where="huggingface/candle/pull/3520",
    also=("EleutherAI/gpt-neox/issues/1003", "huggingface/transformers/pull/29285"),
    code="angles-in-bfloat16",
    mend=("torch.bfloat16", "torch.float32"),
    differs="Positions are whole up to 256. Frequencies and angles are rounded from the start: by "
    "position 58 these are off by 0.1 radians.",
)
def built_in_the_models_dtype(x, position_ids):
    """Of whole numbers eight bits keep every second from 256 to 512."""
    dtype = torch.bfloat16
    t, speeds = position_ids.to(dtype), SPEEDS.to(dtype)
    return by_angles(x, t[..., None] * speeds)


@HALL.shows(
    "frequencies in the dtype of x",
    shows="compared",
    saw="Angles off by up to 0.6 radians at 512 tokens, by up to half a turn within 4096.",
    where="Modalities/modalities/pull/462",
    code="frequencies-in-bfloat16",
    mend=(".to(x.dtype)", ""),
    differs="That was a head of 128. In one of 64, as here, they are off by 0.2 at 512.",
)
def cast_before_they_are_used(x, position_ids):
    """Right in float32. Training is in bfloat16."""
    speeds = SPEEDS.to(x.dtype).double()
    return by_angles(x, position_ids[..., None] * speeds)


@HALL.shows(
    "a cast that takes the buffer along",
    shows="compared",
    saw="A fine-tuned model, loaded elsewhere, gives other odds: a divergence of 0.011 where "
    "0.005 is allowed.",
    where="NVIDIA-NeMo/Automodel/pull/2549",
    also=("huggingface/transformers/issues/29496",),
    code="frequencies-in-bfloat16",
    mend=("rotary.speeds.float()", "inv_freq(64)"),
)
def rounded_with_the_model(x, position_ids):
    """float() does not bring back what bfloat16 has dropped."""
    rotary = torch.nn.Module()
    rotary.register_buffer("speeds", SPEEDS.float())
    rotary.to(torch.bfloat16)
    return turn(x, position_ids, rotary.speeds.float())


@HALL.shows(
    "a logarithm taken twice",
    shows="compared",
    saw="Nothing at 256,000 tokens; larger errors at a million.",
    where="NVIDIA/TensorRT-LLM/pull/16379",
    code="attention-factor-not-as-expected",
    mend=("0.1 * final * math.log(64) + 1", "final"),
    meant=Meant(attention_factor=0.1 * math.log(64) + 1),
    differs="The factor is off at all positions; the thread expects harm at a million tokens.",
)
def final_taken_for_a_weight(x, position_ids):
    """The configuration gives the final factor, not what makes it."""
    final = 0.1 * math.log(64) + 1
    factor = 0.1 * final * math.log(64) + 1
    return turn(x, position_ids, SPEEDS, factor=factor)
