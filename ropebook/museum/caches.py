"""Wrong after a cache hit: steps that stand elsewhere, keys that were turned otherwise."""

import torch

from ropebook.museum.kit import SPEEDS, Hall, Meant, turn
from ropelib import apply_rotary, cos_sin, inv_freq

HALL = Hall(
    "cache", "After the cache", "It reads well and writes badly: wrong once a cache is read."
)
SHORT, LONG = inv_freq(64), inv_freq(64) / torch.linspace(1, 8, 32)
AT_512 = inv_freq(64, 10_000.0 * 13 ** (64 / 62))


@HALL.shows(
    "every step at position 0",
    shows="nonsense",
    saw="The prompt is read rightly, and every word that follows stands at its beginning.",
    where="Blaizzy/mlx-vlm/issues/1983",
    also=("Blaizzy/mlx-vlm/pull/1993",),
    akin=("RobertCsordas/moeut/pull/6",),
    code="decode-restarts-at-zero",
    mend=("0 * offset", "offset"),
    part="decode",
)
def no_offset(x, position_ids):
    """The cache knows its length, and nobody asks."""
    offset, step = position_ids[..., :1], torch.arange(x.shape[2])
    return turn(x, 0 * offset + step, SPEEDS)


@HALL.shows(
    "counted before its time",
    shows="compared",
    saw="With a cache and without, another answer: all layers but the first are a token ahead.",
    where="fla-org/flash-linear-attention/issues/766",
    also=("fla-org/flash-linear-attention/issues/477",),
    code="decode-off-by-one",
    mend=("start + 1", "start"),
    part="decode",
)
def layer_0_has_counted_it(x, position_ids):
    """The first layer adds the new token, the others find it there."""
    start = position_ids[..., :1]
    if x.shape[2] == 1:
        start = start + 1
    return turn(x, start + torch.arange(x.shape[2]), SPEEDS)


@HALL.shows(
    "the prompt's last place, again",
    shows="compared",
    saw="A robot's gripper is told -1.00 where it should be told 0.995.",
    where="flashrt-project/FlashRT/pull/75",
    code="decode-off-by-one",
    mend=("(start - 1).clamp(min=0)", "start"),
    part="decode",
)
def one_less_than_the_prefix(x, position_ids):
    """After n tokens the next one stands at n, as the first is 0."""
    start = position_ids[..., :1]
    start = (start - 1).clamp(min=0)
    return turn(x, start + torch.arange(x.shape[2]), SPEEDS)


@HALL.shows(
    "a window at one place",
    shows="compared",
    saw="Several tokens at once are checked, all at the place of the first; their keys stay.",
    where="jundot/omlx/pull/2363",
    code="decode-differs",
    mend=("0 * step", "step"),
    part="decode",
)
def start_for_the_whole_window(x, position_ids):
    """With one token a step, which is usual, nothing shows."""
    step = torch.arange(x.shape[2])
    return turn(x, position_ids[..., :1] + 0 * step, SPEEDS)


@HALL.shows(
    "a table kept by its length",
    shows="compared",
    saw="The same text with another offset comes out as it did the first time.",
    where="lucidrains/rotary-embedding-torch/issues/11",
    code="tables-of-an-earlier-call",
    mend=("key = x.shape[2]", "key = str(position_ids.tolist())"),
    makes=True,
)
def kept_by_length():
    """The offset is no part of the name under which it is kept."""
    kept = {}

    def rotate(x, position_ids):
        key = x.shape[2]
        if key not in kept:
            kept[key] = cos_sin(position_ids, SPEEDS, dtype=torch.float32)
        return apply_rotary(x, *kept[key], layout="half")

    return rotate


@HALL.shows(
    "a base that grows, keys that stay",
    shows="fluent",
    saw="Token by token another perplexity than in one pass, past the trained length.",
    where="huggingface/transformers/issues/25104",
    code="cached-keys-keep-old-frequencies",
    mend=("int(position_ids.max()) + 1", "512"),
    meant=Meant(AT_512),
    part="both",
    price="This line mends the cache and costs short texts: they get the base of 512 tokens, as in "
    "[a length that cancels]. The thread asks for keys that are cached unturned, and turned anew "
    "whenever the base grows: that keeps both.",
)
def base_of_this_length(x, position_ids):
    """Every step has its own base; each key keeps that of its day."""
    length = int(position_ids.max()) + 1
    stretch = max(4 * length / 128 - 3, 1)
    base = 10_000.0 * stretch ** (64 / 62)
    return turn(x, position_ids, inv_freq(64, base))


@HALL.shows(
    "a switch in the middle of a text",
    shows="nonsense",
    saw="Good up to token 4096, often garbled from the next one on.",
    where="huggingface/transformers/pull/33129",
    also=("microsoft/onnxruntime-genai/pull/1161",),
    code="cached-keys-keep-old-frequencies",
    mend=("position_ids.max() >= 256", "True"),
    meant=Meant(LONG),
    part="both",
    price="This line mends the cache and costs short texts: they get the long list, which has been "
    "reported as a bug too [ggml-org/llama.cpp/issues/24823]. The threads fill the cache anew at "
    "the switch: that keeps both.",
)
def short_then_long(x, position_ids):
    """Two lists of factors, chosen anew in every step."""
    is_long = position_ids.max() >= 256
    return turn(x, position_ids, LONG if is_long else SHORT)


@HALL.shows(
    "pieces joined without turning",
    shows="compared",
    saw="Cached texts are put one behind the other, and each still stands at position 0.",
    where="MemTensor/MemOS/issues/2315",
    code="decode-restarts-at-zero",
    mend=("0 * start", "start"),
    part="decode",
)
def joined_as_they_are(x, position_ids):
    """A turned key moves on by another turn, of as far as it moves."""
    start = position_ids[..., :1]
    cached = turn(x, position_ids - start, SPEEDS)
    moved = 0 * start + 0 * position_ids
    return turn(cached, moved, SPEEDS)


@HALL.shows(
    "a shift over the whole head",
    shows="nonsense",
    saw="Fails once a talk is so long that its cache is shifted.",
    where="ggml-org/llama.cpp/pull/4889",
    code="decode-differs",
    mend=("inv_freq(64)", "inv_freq(32)"),
    meant=Meant(inv_freq(32)),
    part="decode",
)
def shifted_too_widely(x, position_ids):
    """Half of the head turns, all of it is turned back."""
    cached = turn(x, position_ids + 100, inv_freq(32))
    return turn(cached, 0 * position_ids - 100, inv_freq(64))
