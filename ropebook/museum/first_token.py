"""Wrong from the start: frequencies, pairs, widths, factors."""

import math

import torch

from ropebook.museum.kit import SPEEDS, Hall, Meant, turn
from ropebook.museum.lengths import LLAMA, YARN
from ropelib import RopeConfig, inv_freq
from ropelib.config.gallery import GALLERY

HALL = Hall("first-token", "From the start", "Wrong from the start, with any text.")
GPT_OSS = RopeConfig.from_hf(GALLERY["gpt-oss 20B"].config)
BY_TYPE = {"llama3": LLAMA}
QUARTER = torch.arange(32) < 8
LEFT_BEHIND = torch.tensor([6.93e-18, 0.0, 2.3e7, 0.0, 6.93e-18, 1.4e-45, 0.0, 3e-5]).repeat(4)


@HALL.shows(
    "memory that nobody filled",
    shows="nonsense",
    saw="Training begins at a loss of 11.08 where it should be 3.63 (a configuration "
    "that was overridden had a share in it). Nothing is raised.",
    where="pytorch/torchtitan/issues/4783",
    also=(
        "pytorch/torchtitan/issues/3775",
        "huggingface/transformers/issues/45902",
        "Synthyra/FastPLMs/pull/47",
    ),
    code="frequencies-unfilled",
    mend=("LEFT_BEHIND", "inv_freq(64)"),
)
def never_filled(x, position_ids):
    """The model was built on "meta", and to_empty() gave it memory."""
    speeds = torch.empty(32, device="meta")
    if speeds.is_meta:  # what .to_empty() finds there, for example
        speeds = LEFT_BEHIND
    return turn(x, position_ids, speeds)


@HALL.shows(
    "a division of whole numbers",
    shows="compared",
    saw="A kernel that people learn from disagrees with PyTorch: all its pairs turn alike.",
    where="xlite-dev/LeetCUDA/pull/290",
    also=("xlite-dev/LeetCUDA/issues/289",),
    code="base-beyond-sense",
    mend=("2 * pair // 64", "2 * pair / 64"),
    differs="In the thread a 2 was missing as well, `pair / 64` for `2 * pair / 64`, and positions "
    "were divided by the frequency. The division hid both: mended alone, it leaves pairs that turn "
    "faster one by one, up to 87 radians a token.",
)
def exponents_of_zero(x, position_ids):
    """In C, / between whole numbers drops what is behind the point."""
    pair = torch.arange(32)
    exponents = (2 * pair // 64).double()
    return turn(x, position_ids, 10_000.0**-exponents)


@HALL.shows(
    "a handout that counts from 1",
    shows="compared",
    saw="Students who count pairs from 1, as the handout does, fail the course's test.",
    where="stanford-cs336/assignment1-basics/issues/4",
    code="exponents-from-one",
    mend=("torch.arange(1, 33)", "torch.arange(32)"),
)
def counted_from_one(x, position_ids):
    """Each pair turns as the next one should."""
    k = torch.arange(1, 33).double()
    speeds = 10_000.0 ** (-2 * k / 64)
    return turn(x, position_ids, speeds)


@HALL.shows(
    "a bracket in the wrong place",
    shows="compared",
    saw="Students who follow the course's handout, in another edition, fail the course's test.",
    where="stanford-cs336/assignment1-basics/issues/22",
    code="exponents-from-a-half",
    mend=("(2 * k - 1)", "2 * (k - 1)"),
)
def one_taken_off_outside(x, position_ids):
    """The first pair turns by less than a radian per token."""
    k = torch.arange(1, 33).double()
    speeds = 10_000.0 ** (-(2 * k - 1) / 64)
    return turn(x, position_ids, speeds)


@HALL.shows(
    "a base that moved",
    shows="nonsense",
    saw="Loops from the first token on, at any length, until the longest answer allowed.",
    where="vllm-project/vllm/pull/56066",
    also=("unslothai/unsloth/pull/7028",),
    code="base-not-as-expected",
    mend=('config["rope_parameters"].get', "config.get"),
    meant=Meant(inv_freq(64, 600_000.0)),
)
def base_read_where_it_is_not(x, position_ids):
    """The file has it in one place, the reader looks into another."""
    config = {"rope_theta": 600_000.0, "rope_parameters": {}}
    base = config["rope_parameters"].get("rope_theta", 10_000.0)
    return turn(x, position_ids, inv_freq(64, base))


@HALL.shows(
    "thirty-nine kinds of model through one case",
    shows="nonsense",
    saw="Perplexity (among how many words a model wavers) 253 where it was 4.26.",
    where="ikawrakow/ik_llama.cpp/pull/2290",
    akin=("ggml-org/llama.cpp/pull/13260", "ggml-org/llama.cpp/pull/13261"),
    code="layout-not-as-expected",
    mend=('("dflash", "interleaved"), ', ""),
)
def falls_through(x, position_ids):
    """A case with its own answer, put among cases that fall through."""
    cases = [("mellum", None), ("dflash", "interleaved"), ("the rest", "half")]
    below = cases[[name for name, _ in cases].index("mellum") :]
    layout = next(answer for _, answer in below if answer)
    return turn(x, position_ids, SPEEDS, layout=layout)


@HALL.shows(
    "weights in another order",
    shows="nonsense",
    saw="Text that degenerates into gibberish after some 20 tokens.",
    where="karpathy/llama2.c/pull/286",
    akin=("jzhang38/TinyLlama/issues/24",),
    code="layout-not-as-expected",
    mend=("torch.arange(64)", "torch.arange(64).view(2, 32).T.flatten()"),
)
def never_permuted_back(x, position_ids):
    """A checkpoint ordered for halves, in code that turns neighbors."""
    order = torch.arange(64)
    turned = turn(x[..., order], position_ids, SPEEDS, layout="interleaved")
    return turned[..., order.argsort()]


@HALL.shows(
    "right frequencies, wrong partners",
    shows="compared",
    saw="Tests that compare frequencies pass, bit for bit. The answers drift, layer by layer.",
    where="NVIDIA-NeMo/Megatron-Bridge/issues/4195",
    also=("NVIDIA-NeMo/Megatron-Bridge/pull/4916", "apple/coreai-models/issues/66"),
    code="pairs-not-as-expected",
    mend=("[:8]", " * QUARTER"),
    meant=Meant(inv_freq(64, 1_000_000.0) * QUARTER),
)
def pairs_inside_the_span(x, position_ids):
    """Dimension i turns with i + 8, and was trained with i + 32."""
    speeds = inv_freq(64, 1_000_000.0)[:8]
    return turn(x, position_ids, speeds)


@HALL.shows(
    "the whole head for its part",
    shows="fluent",
    saw="Worse with distance. Best guess right 60.2 times in 100, then 66.9 (means of five "
    "slices); agreement with another program at 1024 tokens 60 %, then 92.5 %.",
    where="pie-project/pie/pull/603",
    code="pairs-not-as-expected",
    mend=("inv_freq(64) * QUARTER", "inv_freq(16)"),
    meant=Meant(inv_freq(16)),
)
def over_the_whole_head(x, position_ids):
    """16 of 64 dimensions turn; exponents and partners count all."""
    speeds = inv_freq(64) * QUARTER
    return turn(x, position_ids, speeds)


@HALL.shows(
    "another layer's share",
    shows="compared",
    saw="Half of the dimensions that carry the position stand still, in four layers.",
    where="vllm-project/vllm/pull/41185",
    code="width-not-as-expected",
    mend=(' * config["partial_rotary_factor"]', ""),
)
def share_of_another_kind(x, position_ids):
    """The share is that of the linear layers; this head turns whole."""
    config = {"qk_rope_head_dim": 64, "partial_rotary_factor": 0.5}
    width = config["qk_rope_head_dim"] * config["partial_rotary_factor"]
    return turn(x, position_ids, inv_freq(int(width)))


@HALL.shows(
    "neighbors' angles on halves",
    shows="compared",
    saw="A chapter on writing a GPT turns the wrong dimensions together. A reader reports it.",
    where="raiyanyahya/how-to-train-your-gpt/pull/7",
    code="interleaved-angles-on-half-pairs",
    mend=(
        "torch.cat((-x[..., 32:], x[..., :32]), -1)",
        "torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)",
    ),
    meant=Meant(layout="interleaved"),
)
def two_angles_in_a_pair(x, position_ids):
    """Angles for neighbors, partners from the other half."""
    angles = (position_ids[..., None] * SPEEDS).repeat_interleave(2, -1)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    partner = torch.cat((-x[..., 32:], x[..., :32]), -1)
    return x * cos[..., None, :, :] + partner * sin[..., None, :, :]


@HALL.shows(
    "halves' angles on neighbors",
    shows="compared",
    saw="A reader of the code finds it. The published models were trained with it.",
    where="facebookresearch/vjepa2/pull/15",
    code="half-angles-on-interleaved-pairs",
    mend=(".repeat((1,) * position_ids.dim() + (2,))", ".repeat_interleave(2, -1)"),
    price="With this line the published weights of V-JEPA 2 are turned otherwise than they were "
    "trained, so transformers keeps the bug for them. It is a mend for training anew.",
    meant=Meant(layout="interleaved"),
)
def tiled_for_neighbors(x, position_ids):
    """repeat() tiles 0 1 2 .. 0 1 2 ..; neighbors need 0 0 1 1 .."""
    angles = position_ids[..., None] * SPEEDS
    angles = angles.repeat((1,) * position_ids.dim() + (2,))
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    partner = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    return x * cos[..., None, :, :] + partner * sin[..., None, :, :]


@HALL.shows(
    "a factor that has a divisor",
    shows="nonsense",
    saw="The same model repeats itself in one program and writes well in another: 1.277 for 1.",
    where="sgl-project/sglang/pull/22711",
    code="attention-factor-not-as-expected",
    mend=("mscale(1.0)", "mscale(1.0) / mscale(1.0)"),
    price="Right for the thread's model, Ministral3, as transformers has it. Attention of DeepSeek "
    "multiplies scores by `mscale` squared besides, which transformers had left out "
    "of deepseek_v2 and mistral4 ([huggingface/transformers/pull/47435]). Not right for every file "
    "with two equal numbers: a model that needs its factor lost it by this line "
    "([turboderp-org/exllamav3/issues/259]).",
)
def numerator_alone(x, position_ids):
    """The configuration has mscale and mscale_all_dim, both 1."""

    def mscale(weight):
        return 0.1 * weight * math.log(16) + 1

    return turn(x, position_ids, SPEEDS, factor=mscale(1.0))


@HALL.shows(
    "heads taken for tokens",
    shows="compared",
    saw="Nothing that is reported: nothing is raised. A reader of the code finds that it counts "
    "heads.",
    where="vukrosic/leo-optimizer/pull/2",
    code="rotates-by-head",
    mend=("torch.arange(x.shape[-3])[:, None, None]", "position_ids[..., None, :, None]"),
)
def axis_of_the_heads(x, position_ids):
    """Tokens were the third axis from the end. Here heads are."""
    places = torch.arange(x.shape[-3])[:, None, None]
    angles = places * SPEEDS
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)


@HALL.shows(
    "two bases in one score",
    shows="compared",
    saw="No message, no crash. A reader compares the code with the one that was published.",
    where="huggingface/transformers/issues/45910",
    akin=("AMD-AGI/Primus/pull/928",),
    code="q-and-k-frequencies-differ",
    mend=('q, position_ids, speeds["main"]', 'q, position_ids, speeds["compress"]'),
    meant=Meant(inv_freq(64, 160_000.0)),
    differs="In the thread keys of single tokens have the query's base, and compressed ones, each "
    "of several tokens, the other, as all of such a layer should. A text too short for those "
    "agrees with itself, by a base that it was not trained with.",
)
def q_and_k_apart(q, k, position_ids):
    """The query takes one table of the layer, compressed keys the other."""
    bases = {"main": 10_000.0, "compress": 160_000.0}
    speeds = {name: inv_freq(64, base) for name, base in bases.items()}
    q = turn(q, position_ids, speeds["main"])
    return q, turn(k, position_ids, speeds["compress"])


@HALL.shows(
    "a key that is not asked",
    shows="compared",
    saw="Two programs disagree on how likely a word is, too much to learn from the difference.",
    where="vllm-project/vllm/issues/27722",
    also=("vllm-project/vllm/pull/28244", "sgl-project/sglang/pull/14270"),
    code="blend-not-as-expected",
    mend=("math.floor(pair_of(32)), math.ceil(pair_of(1))", "pair_of(32), pair_of(1)"),
    meant=Meant(GPT_OSS.inv_freq(), attention_factor=GPT_OSS.attention_factor()),
)
def rounded_all_the_same(x, position_ids):
    """gpt-oss says "truncate": false, and the band is rounded."""

    def pair_of(turns):
        return 32 * math.log(4096 / (2 * math.pi * turns)) / math.log(150_000)

    low, high = math.floor(pair_of(32)), math.ceil(pair_of(1))
    ramp = ((torch.arange(32) - low) / (high - low)).clamp(0, 1).double()
    speeds = inv_freq(64, 150_000.0) * (1 - ramp + ramp / 32)
    return turn(x, position_ids, speeds, factor=0.1 * math.log(32) + 1)


@HALL.shows(
    "llama3 read as linear",
    shows="nonsense",
    saw="The facts are found, and then the text falls apart.",
    where="lablup/mlxcel/issues/1688",
    code="scaled-as-linear",
    mend=('plain / config["factor"]', 'BY_TYPE[config["rope_type"]]'),
    meant=Meant(LLAMA),
    differs="The thread's model asks for a factor of 8.",
)
def linear_whatever_is_asked(x, position_ids):
    """Of the scaling its factor is read, and not its type."""
    config = {"rope_type": "llama3", "factor": 32.0}
    plain = inv_freq(64, 500_000.0)
    return turn(x, position_ids, plain / config["factor"])


@HALL.shows(
    "a length that cancels",
    shows="compared",
    saw="Dynamic scaling by a constant, whatever the length, also where none is due.",
    where="vllm-project/vllm/issues/41236",
    also=("vllm-project/vllm/pull/41277", "vllm-project/vllm/issues/3488"),
    code="base-not-as-expected",
    mend=("trained * alpha", "max(int(position_ids.max()) + 1, trained)"),
    price="With a cache this line is not enough: keys that lie there were turned by the base of "
    "their day, as in [a base that grows, keys that stay].",
    differs="The thread's mend takes the longest text that is served, one length for all calls.",
)
def square_of_alpha(x, position_ids):
    """Put length into stretch: alpha times alpha, less (alpha - 1)."""
    alpha, trained = 4.0, 256
    length = trained * alpha
    stretch = alpha * length / trained - (alpha - 1)
    base = 10_000.0 * stretch ** (64 / 62)
    return turn(x, position_ids, inv_freq(64, base))


@HALL.shows(
    "two numbers exchanged, twice",
    shows="compared",
    saw="Nothing: the configuration had them exchanged as well, until one of the two is mended.",
    where="pytorch/torchtitan/pull/3787",
    code="inverted-ramp",
    mend=("pair_of(beta_slow), pair_of(beta_fast)", "pair_of(beta_fast), pair_of(beta_slow)"),
    meant=Meant(YARN),
    differs="As it was shipped both were exchanged, and all was right. These lines have one "
    "mended.",
)
def slow_for_fast(x, position_ids):
    """YaRN keeps pairs that turn often, and slows the others down."""

    def pair_of(turns):
        return 32 * math.log(2048 / (2 * math.pi * turns)) / math.log(10_000)

    beta_fast, beta_slow = 32, 1
    low, high = pair_of(beta_slow), pair_of(beta_fast)
    low, high = math.floor(low), math.ceil(high)
    ramp = ((torch.arange(32) - low) / (high - low)).clamp(0, 1).double()
    return turn(x, position_ids, SPEEDS * (1 - ramp + ramp / 8))
