"""Wrong in the fast path only: fused kernels, and what they take for granted."""

import torch

from ropebook.museum.kit import SPEEDS, Hall, Meant, turn
from ropelib import apply_rotary, cos_sin, inv_freq

HALL = Hall("fast-path", "With the fast kernel", "Right the plain way, wrong with the fast kernel.")


@HALL.shows(
    "a width left to its default",
    shows="nonsense",
    saw="0 of 1319 problems solved, where an answer must have the form asked for.",
    where="vllm-project/vllm/pull/43676",
    code="width-not-as-expected",
    mend=("return kernel()", "return kernel(rotary_dim=32)"),
    meant=Meant(inv_freq(32)),
)
def reads_past_the_table(x, position_ids):
    """Half of the head turns; the kernel turns all of it."""
    memory = torch.cat((inv_freq(32), inv_freq(32)))  # another row follows

    def kernel(rotary_dim=64):
        return turn(x, position_ids, memory[: rotary_dim // 2])

    return kernel()


@HALL.shows(
    "a flag that the kernel does not know",
    shows="fluent",
    saw="Of school problems 93.1 % solved with the fused kernel, 95.5 % without.",
    where="sgl-project/sglang/pull/30342",
    akin=("sgl-project/sglang/issues/13530", "ml-explore/mlx-lm/pull/1431"),
    code="layout-not-as-expected",
    mend=('"interleaved"  # written in', '"half" if is_neox else "interleaved"'),
    differs="In the thread the kernels are those of the indexer alone, which picks what sparse "
    "attention looks at.",
)
def pairs_written_in(x, position_ids):
    """One family of models pairs halves, another one neighbors."""

    def kernel(is_neox):
        layout = "interleaved"  # written in
        return turn(x, position_ids, SPEEDS, layout=layout)

    return kernel(is_neox=True)


@HALL.shows(
    "sines from the next power of two",
    shows="fluent",
    saw="Vectors of 192 dimensions at 0.73 of their length. Of what a small model drafts, 3.06 "
    "tokens are accepted at a time, not 5.55.",
    where="vllm-project/vllm-ascend/issues/12723",
    also=("vllm-project/vllm-ascend/pull/15688",),
    code="sines-of-other-pairs",
    mend=("padded // 2 :", "96 // 2 :"),
    meant=Meant(inv_freq(96)),
    differs="These lines leave 0.91 of it, at 96: most sines are there, each for another pair, "
    "and the last 16 of 48 are 0. In the thread more seem to be lost: without any sine 0.73 is "
    "left, by base 10,000 over 4096 positions.",
    options={"head_dim": 96},
)
def padded_width(x, position_ids):
    """A row holds 48 cosines, then 48 sines, then something else."""
    cos, sin = cos_sin(position_ids, inv_freq(96), dtype=torch.float32)
    row = torch.cat((cos, sin, torch.zeros_like(cos)), -1)
    padded = 128
    sin = row[..., padded // 2 :][..., :48]
    return apply_rotary(x, cos, sin, layout="half")


@HALL.shows(
    "half of a query made of the key",
    shows="compared",
    saw="Nothing: its test was skipped, and its comparison was never asserted.",
    where="hpcaitech/ColossalAI/pull/6444",
    also=("hpcaitech/ColossalAI/issues/6428",),
    code="q-and-k-mixed",
    mend=("k0 * sin + k1 * cos", "q0 * sin + q1 * cos"),
    differs="In the thread half of the key is made of the query, too.",
)
def crossed_wires(q, k, position_ids):
    """Two names of the line for k stand in that for q."""
    cos, sin = cos_sin(position_ids, SPEEDS, dtype=torch.float32)
    cos, sin = (t[..., None, :, :].to(q.dtype) for t in (cos, sin))
    (q0, q1), (k0, k1) = q.chunk(2, -1), k.chunk(2, -1)
    q = torch.cat((q0 * cos - q1 * sin, k0 * sin + k1 * cos), -1)
    k = torch.cat((k0 * cos - k1 * sin, k1 * cos + k0 * sin), -1)
    return q, k


@HALL.shows(
    "strides that are not asked",
    shows="compared",
    saw="Wrong as soon as q or k is a slice of something larger, as the query of latent attention "
    "(MLA) is.",
    where="vllm-project/vllm/pull/17091",
    akin=("hpcaitech/ColossalAI/pull/6444",),
    code="strides-ignored",
    mend=("x.as_strided", "x.contiguous().as_strided"),
)
def as_if_side_by_side(x, position_ids):
    """The kernel walks through memory; x may lie there otherwise."""
    flat = x.as_strided((x.numel(),), (1,))
    return turn(flat.view(x.shape), position_ids, SPEEDS)


@HALL.shows(
    "a key turned in the cache alone",
    shows="nonsense",
    saw="Gibberish. With the mend, 2 + 2 is 4 again.",
    where="kvcache-ai/sglang/pull/66",
    also=("sgl-project/sglang/pull/19636", "kvcache-ai/sglang/pull/31"),
    code="k-not-rotated",
    mend=("return q, k", "return q, cache"),
)
def not_written_back(q, k, position_ids):
    """The cache is read from the next step on; this step reads k."""
    cache = torch.empty_like(k)
    cache[:] = turn(k, position_ids, SPEEDS)
    q = turn(q, position_ids, SPEEDS)
    return q, k
