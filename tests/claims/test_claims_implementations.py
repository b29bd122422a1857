"""What the sources say about RoPE's code, decided claim by claim.

No line of theirs stands here: each form is rebuilt from what it does.
"""

import pytest
import torch
from claims import decides

from ropelib import apply_rotary, convert_layout, convert_rows, cos_sin, inv_freq, reference
from ropelib.diagnosis import diagnose, from_tables, seq_first
from ropelib.scaling import dynamic_ntk

HEAD_DIM, LENGTH = 8, 5
IDS = torch.arange(LENGTH)
FREQUENCIES = inv_freq(HEAD_DIM)
COS, SIN = cos_sin(IDS, FREQUENCIES)


@pytest.fixture
def x():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, 3, LENGTH, HEAD_DIM, generator=generator)


def oracle(x, ids=IDS, layout="interleaved"):
    return reference.rotate(x, ids, FREQUENCIES, layout=layout).float()


def neighbors(x, cos, sin, join):
    first, second = x[..., 0::2], x[..., 1::2]
    return join((first * cos - second * sin, first * sin + second * cos))


def zipped(parts):
    return torch.stack(parts, dim=-1).flatten(-2)


def piled(parts):
    return torch.cat(parts, dim=-1)


def partners(x, dim=-1):
    return torch.stack((-x[..., 1::2], x[..., 0::2]), dim=dim).flatten(-2)


def as_complex(x, table, axis):
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * table).flatten(axis)


def pair_by_pair(x, cos, sin):
    y = x.clone()
    for i in range(0, x.shape[-1], 2):
        c, s = cos[..., i // 2], sin[..., i // 2]
        y[..., i] = x[..., i] * c - x[..., i + 1] * s
        y[..., i + 1] = x[..., i] * s + x[..., i + 1] * c
    return y


class Loop(torch.nn.Module):
    """The module of document 000, by its description: tables per text, pairs in a loop."""

    def __init__(self, dim, max_position_embeddings=2048):
        super().__init__()
        self.max_position_embeddings = max_position_embeddings
        self.register_buffer("frequencies", 1.0 / 10_000 ** (torch.arange(0, dim, 2) / dim))

    def forward(self, x, seq_len=None):
        positions = torch.arange(x.shape[-2] if seq_len is None else seq_len)
        angles = positions[:, None] * self.frequencies
        tables = (t[None].repeat(len(x), 1, 1) for t in (angles.cos(), angles.sin()))
        return pair_by_pair(x, *tables)


# ---- source 000 ----


@decides("S000-43")
def test_the_frequencies_are_the_buffer_that_it_describes():
    """1 / base ** (2i / dim), base 10000, a buffer."""
    module = Loop(HEAD_DIM)
    assert dict(module.named_buffers()).keys() == {"frequencies"}
    assert torch.allclose(module.frequencies.double(), FREQUENCIES, rtol=1e-6)


@decides("S000-44", "S000-50")
def test_without_heads_the_loop_is_rope(x):
    """(batch, seq_len, dim) is rotated, in the small example too."""
    assert torch.allclose(Loop(HEAD_DIM)(x[:, 0]), oracle(x[:, 0]), atol=1e-6)
    assert Loop(4)(torch.randn(1, 3, 4)).shape == (1, 3, 4)


@decides("S000-45")
def test_an_odd_width_does_not_run():
    """`dim` must be even."""
    with pytest.raises((IndexError, RuntimeError)):
        Loop(5)(torch.randn(1, 3, 5))


@decides("S000-46")
def test_the_maximum_length_has_no_effect(x):
    """Any length runs, whatever max_position_embeddings says."""
    assert torch.equal(Loop(HEAD_DIM, max_position_embeddings=2)(x[:1]), Loop(HEAD_DIM)(x[:1]))
    assert Loop(HEAD_DIM, 16)(torch.randn(1, 40, HEAD_DIM)).shape == (1, 40, HEAD_DIM)


@decides("S000-47")
def test_the_tables_do_not_have_the_dimensions_of_x():
    """(batch, seq_len, dim / 2), not "the same as x"; broadcasting serves any rank."""
    x4 = torch.randn(2, 3, LENGTH, HEAD_DIM)
    assert COS[None].repeat(2, 1, 1).shape == (2, LENGTH, HEAD_DIM // 2) != x4.shape
    for x_ in (x4, x4[:, 0]):
        assert torch.allclose(pair_by_pair(x_, COS[None], SIN[None]), oracle(x_), atol=1e-6)


@decides("S000-48")
@pytest.mark.parametrize("seq_len", [LENGTH - 1, LENGTH + 1])
def test_another_seq_len_does_not_run(x, seq_len):
    """The argument must equal the length of x; 1 runs, and turns nothing."""
    with pytest.raises(RuntimeError, match="must match"):
        Loop(HEAD_DIM)(x[:, 0], seq_len=seq_len)
    assert torch.equal(Loop(HEAD_DIM)(x[:, 0], seq_len=LENGTH), Loop(HEAD_DIM)(x[:, 0]))
    assert torch.equal(Loop(HEAD_DIM)(x[:, 0], seq_len=1), x[:, 0]), "one row serves every token"


@decides("S000-49")
def test_a_step_of_decoding_starts_at_0_again(x):
    """Positions come from the length of the input, so a new token is not turned.

    For a whole text it serves.
    """
    token = x[:, 0, -1:]
    assert torch.equal(Loop(HEAD_DIM)(token), token)
    assert not torch.allclose(token, oracle(x[:, 0])[:, -1:])

    def from_zero(x, ids):
        return apply_rotary(
            x, *cos_sin(torch.arange(x.shape[-2]), inv_freq(64)), layout="interleaved"
        )

    def right(x, ids):
        return apply_rotary(x, *cos_sin(ids, inv_freq(64)), layout="interleaved")

    assert diagnose(right, decode=from_zero, max_position=256).codes == ("decode-restarts-at-zero",)


@decides("S000-51", "S000-52")
def test_the_example_with_heads_crashes_as_printed():
    """Both q and k of (2, 8, 10, 64) crash; once repaired, scores are (2, 8, 10, 10).

    With one text it runs and is right, and with as many texts as heads: a test with batch size 1
    does not see it.
    """
    q = torch.randn(2, 8, 10, 64)
    with pytest.raises(RuntimeError, match="must match"):
        Loop(64)(q)
    frequencies = inv_freq(64)
    right = reference.rotate(q, range(10), frequencies, layout="interleaved").float()
    assert torch.allclose(Loop(64)(q[:1]), right[:1], atol=1e-5)
    assert torch.allclose(Loop(64)(q[:, :2]), right[:, :2], atol=1e-5)
    repaired = pair_by_pair(q, *cos_sin(torch.arange(10), frequencies))
    assert torch.allclose(repaired, right, atol=1e-5)
    assert (repaired @ repaired.mT).shape == (2, 8, 10, 10)


def test_the_loop_is_a_loop(x):
    """One pass over pairs at a time; vectorized it is a line, the same numbers.

    The matrix needs no care in code: what goes wrong is layout, broadcasting and offsets.
    """
    assert torch.allclose(pair_by_pair(x, COS, SIN), neighbors(x, COS, SIN, zipped), atol=1e-6)


def test_an_attention_takes_it_without_a_change(x):
    """Both q and k are replaced, nothing else moves."""
    from ropelib import RotaryEmbedding
    from ropelib.attention import attention_scores

    rotary = RotaryEmbedding(HEAD_DIM, layout="interleaved")
    by_hand = oracle(x) @ oracle(x.flip(1)).mT / HEAD_DIM**0.5
    assert torch.allclose(attention_scores(*rotary(x, x.flip(1))), by_hand, atol=1e-5)


# ---- source 001 ----


@decides("S000-59", "S001-74", "S001-75")
def test_the_elementwise_form_is_the_matrix(x):
    """Cosines twice each, partners with a minus on the firsts."""
    cos, sin = (t.repeat_interleave(2, dim=-1) for t in (COS, SIN))
    assert torch.allclose(x * cos + partners(x) * sin, oracle(x), atol=1e-6)


@decides("S001-78")
def test_the_last_axis_is_the_head(x):
    """Tables as wide as the whole model do not fit a head.

    They are the model's only if there is one head.
    """
    wide = cos_sin(IDS, inv_freq(3 * HEAD_DIM))
    with pytest.raises(RuntimeError, match="must match"):
        neighbors(x, *wide, zipped)


@decides("S000-28", "S001-79", "S004-13")
def test_cosines_stand_at_odd_places_of_the_sinusoid(x):
    """Tables hold sin at 0, 2, ..; cos at 1, 3, .."""
    from ropelib.encodings import sinusoids

    table = sinusoids(IDS, HEAD_DIM)
    assert torch.allclose(table[:, 1::2], COS, atol=1e-6)
    assert torch.allclose(table[:, 0::2], SIN, atol=1e-6)


@decides("S001-80", "S001-81")
def test_stacking_makes_the_axis_of_two_the_last(x):
    """(.., D // 2, 2); only that order interleaves when it is flattened."""
    heads_last = x.transpose(1, 2)  # (batch, seq_len, num_heads, head_dim)
    halves = heads_last[..., 0::2], heads_last[..., 1::2]
    assert torch.stack(halves, dim=4).shape == (2, LENGTH, 3, HEAD_DIM // 2, 2)
    assert torch.equal(torch.stack(halves, dim=4).flatten(-2), heads_last)
    assert not torch.equal(torch.stack(halves, dim=3).flatten(-2), heads_last)

    def wrong(x, ids):
        cos, sin = (t.repeat_interleave(2, dim=-1) for t in cos_sin(ids, inv_freq(64)))
        return x * cos + partners(x, dim=-2) * sin

    assert diagnose(wrong, max_position=64).codes == ("not-pairwise",)


@decides("S001-82")
def test_turning_the_query_alone_is_no_relative_score(x):
    """The quoted lines turn qw; kw must be turned too."""
    q, k = x
    later = IDS + 7
    both = oracle(q) @ oracle(k).mT
    assert torch.allclose(both, oracle(q, later) @ oracle(k, later).mT, atol=1e-5)
    assert not torch.allclose(oracle(q) @ k.mT, oracle(q, later) @ k.mT, atol=0.1)


@decides("S001-83", "S001-85")
def test_the_pairs_count_from_2j(x):
    """(x_2j, x_2j+1); with (x_2j, x_2j-1) the first has no partner."""
    assert torch.allclose(neighbors(x, COS, SIN, zipped), oracle(x), atol=1e-6)
    shifted = x.roll(1, dims=-1)  # pairs (2j - 1, 2j), in the other order
    turned = neighbors(shifted, COS, SIN, zipped).roll(-1, dims=-1)
    assert not torch.allclose(turned, oracle(x), atol=0.1)


@decides("S001-84")
def test_the_inverted_condition_never_runs(x):
    """Unpacks tables exactly when there are none."""

    def inverted(x, tables=None):
        if tables is None:
            cos, sin = tables
        return neighbors(x, cos, sin, piled)

    with pytest.raises(TypeError, match="unpack"):
        inverted(x)
    with pytest.raises(UnboundLocalError, match="cos"):
        inverted(x, (COS, SIN))


@decides("S001-86")
def test_the_output_in_halves_is_valid_in_scores_only(x):
    """The same scores, another tensor; mixed or fed on, it is wrong."""
    out = neighbors(x, COS, SIN, piled)
    assert torch.allclose(out[0] @ out[1].mT, oracle(x[0]) @ oracle(x[1]).mT, atol=1e-5)
    assert not torch.allclose(out, oracle(x), atol=0.1)
    assert not torch.allclose(out[0] @ oracle(x[1]).mT, out[0] @ out[1].mT, atol=0.1)
    back = convert_layout(out, source="half", target="interleaved")
    assert torch.allclose(back, oracle(x), atol=1e-6)


@decides("S001-87", "S004-10")
def test_forms_are_equal_up_to_one_permutation(x):
    """Interleaved and half are conjugate; weights must be converted."""
    seats = {"source": "interleaved", "target": "half"}
    half = oracle(convert_layout(x, **seats), layout="half")
    assert torch.allclose(half, convert_layout(oracle(x), **seats), atol=1e-6)
    assert not torch.allclose(oracle(x), oracle(x, layout="half"), atol=0.1)


# ---- source 002 ----


@decides("S002-33")
def test_most_of_the_matrix_is_zero():
    """Two entries in a row of d."""
    matrix = reference.rotation_matrix(3, FREQUENCIES, layout="interleaved")
    assert (matrix != 0).sum() == 2 * HEAD_DIM < HEAD_DIM**2


def test_columns_of_half_the_length_do_not_multiply(x):
    """Each cosine must appear twice; in the plane it works by broadcasting."""
    with pytest.raises(RuntimeError, match="must match"):
        x * COS + partners(x) * SIN
    plane, tables = x[..., :2], cos_sin(IDS, inv_freq(2))
    turned = plane * tables[0] + partners(plane) * tables[1]
    assert torch.allclose(turned, neighbors(plane, *tables, zipped), atol=1e-6)


def test_llama_turns_queries_and_keys_and_not_embeddings():
    """In transformers, inside the attention, after q and k."""
    import inspect

    from transformers.models.llama import modeling_llama

    source = inspect.getsource(modeling_llama.LlamaAttention.forward)
    projected, turned = source.index("k_proj("), source.index("apply_rotary_pos_emb(")
    assert projected < turned < source.index("attention_interface(")
    line = source[turned : source.index(")", turned)]
    assert "query" in line and "key" in line and "value" not in line


def test_polar_makes_the_turns(x):
    """(seq_len, dim // 2) complex numbers, shape and dtype kept."""
    angles = torch.outer(IDS, FREQUENCIES.float())
    table = torch.polar(torch.ones_like(angles), angles)
    assert (table.shape, table.dtype) == ((LENGTH, HEAD_DIM // 2), torch.complex64)
    out = as_complex(x[:, 0], table, 2)
    assert (out.shape, out.dtype) == (x[:, 0].shape, x.dtype)
    assert torch.allclose(out, oracle(x[:, 0]), atol=1e-5)


def test_frequencies_are_powers_and_not_multiples():
    """Neighbors stand in a fixed ratio, and no frequency is a multiple of the base."""
    assert torch.allclose(FREQUENCIES[1:] / FREQUENCIES[:-1], torch.tensor(0.1).double())
    assert (FREQUENCIES <= 1).all()


def test_flatten_from_axis_2_merges_tokens_and_dimensions(x):
    """Right for (batch, seq_len, dim) only; flatten(-2) is right for all."""
    table = torch.complex(COS, SIN)
    assert as_complex(x, table, 2).shape == (2, 3, LENGTH * HEAD_DIM)
    assert torch.allclose(as_complex(x, table, -2), oracle(x), atol=1e-6)


def test_an_annotation_that_was_not_imported_stops_the_code():
    """Tuple in a signature is looked up when the function is made."""
    with pytest.raises(NameError, match="Tuple"):
        exec("def rotate(x) -> Tuple[int, int]: ...", {})


@decides("S002-43")
def test_a_table_that_is_not_sliced(x):
    """Refused for several tokens; for one it broadcasts to as many as the table has."""
    table = torch.complex(*cos_sin(torch.arange(64), FREQUENCIES))
    with pytest.raises(RuntimeError, match="must match"):
        as_complex(x[:, 0], table, 2)
    assert as_complex(x[:, 0, :1], table, 2).shape == (2, 64, HEAD_DIM)
    assert torch.allclose(as_complex(x, table[:LENGTH], -2), oracle(x), atol=1e-6)


def test_names_that_were_never_assigned_stop_the_class():
    """dim, batch_size and freqs_cis are used without self or args."""

    class Attention:
        def __init__(self):
            self.table = torch.zeros(dim)  # noqa: F821

    with pytest.raises(NameError, match="dim"):
        Attention()


def test_one_head_without_a_mask_sees_the_future():
    """Llama's attention has a causal mask; without it later words change earlier ones."""
    from ropelib.attention import attend
    from ropelib.encodings import NoPosition

    q, k, v = torch.randn(3, 1, LENGTH, HEAD_DIM).unbind()
    changed = v.clone()
    changed[:, -1] += 1
    for causal, same in ((False, False), (True, True)):
        before, after = (
            attend(NoPosition(), q, k, value, causal=causal)[0] for value in (v, changed)
        )
        assert torch.allclose(before[:, 0], after[:, 0]) == same


def test_rotated_before_the_scores_and_scaled():
    """Both q and k are turned, v is not; tables may be kept."""
    from ropelib import RotaryEmbedding
    from ropelib.attention import attend
    from ropelib.encodings import Rotary

    q, k, v = torch.randn(3, 1, 1, LENGTH, HEAD_DIM).unbind()
    rotary = RotaryEmbedding(HEAD_DIM, layout="interleaved")
    output, weights = attend(Rotary.from_module(rotary), q, k, v)
    scores = oracle(q) @ oracle(k).mT / HEAD_DIM**0.5
    assert torch.allclose(weights, scores.softmax(-1), atol=1e-5)
    assert torch.allclose(output, scores.softmax(-1) @ v, atol=1e-5)


# ---- source 004 ----


@decides("S004-32", "S004-33")
def test_the_pseudo_code_needs_a_name_and_an_axis():
    """An undefined name; then tables meet the heads instead of the tokens."""

    def rotate(x):
        return torch.arange(head_dim // 2)  # noqa: F821

    with pytest.raises(NameError, match="head_dim"):
        rotate(torch.zeros(1))
    for heads in (1, 3, LENGTH):
        x = torch.randn(2, LENGTH, heads, HEAD_DIM)  # (batch, seq_len, num_heads, head_dim)
        right = oracle(x.transpose(1, 2)).transpose(1, 2)
        repaired = neighbors(x, COS[:, None], SIN[:, None], zipped)
        assert torch.allclose(repaired, right, atol=1e-6)
        if heads == 3:
            with pytest.raises(RuntimeError, match="must match"):
                neighbors(x, COS, SIN, zipped)
            continue
        wrong = neighbors(x, COS, SIN, zipped)
        assert wrong.shape == (2, LENGTH, LENGTH, HEAD_DIM)
        assert (wrong.shape == x.shape) == (heads == LENGTH), "with one head the shape tells"
        assert not torch.allclose(wrong, right.expand_as(wrong), atol=0.1)
    first = torch.randn(2, 1, 3, HEAD_DIM)
    assert torch.equal(neighbors(first, COS[:1], SIN[:1], zipped), first), "the first word is right"

    def as_printed(x, ids):
        return neighbors(x, *cos_sin(ids, inv_freq(64)), zipped)

    assert diagnose(seq_first(as_printed), max_position=64).codes == ("rotates-by-head",)


@decides("S004-34")
def test_its_angles_are_the_usual_ones():
    """The code has pos / 10000 ** (i / (d / 2))."""
    half = HEAD_DIM // 2
    angles = IDS[:, None] / 10_000 ** (torch.arange(half) / half)
    assert torch.allclose(angles.cos(), COS, atol=1e-6)


@decides("S004-35", "S004-38")
def test_stack_and_flatten_or_a_reshape_keep_the_order(x):
    """Slices or (.., d / 2, 2): the same pairs."""
    assert torch.equal(zipped((x[..., 0::2], x[..., 1::2])), x)
    pairs = x.unflatten(-1, (-1, 2))
    assert torch.equal(pairs[..., 0], x[..., 0::2]) and torch.equal(pairs[..., 1], x[..., 1::2])


@decides("S004-36")
def test_an_arange_without_a_device_does_not_follow_x():
    """Positions are made where x lies, frequencies on the CPU."""
    positions = torch.arange(LENGTH, device="meta")
    with pytest.raises(RuntimeError, match="device"):
        torch.add(positions[:4], torch.arange(4))


@decides("S004-19")
def test_stablelm_alpha_rotates_a_part_in_halves():
    """GPT-NeoX's code, whose default turns a quarter of each head, in halves."""
    from transformers import GPTNeoXConfig
    from transformers.models.gpt_neox import modeling_gpt_neox

    config = GPTNeoXConfig(hidden_size=256, num_attention_heads=4)
    tables = modeling_gpt_neox.GPTNeoXRotaryEmbedding(config)
    report = diagnose(from_tables(modeling_gpt_neox.apply_rotary_pos_emb, tables), max_position=256)
    assert (report.rotary_dim, report.head_dim, report.layout) == (16, 64, "half")


# ---- weights ----


def test_conversion_of_weights_is_the_published_permutation():
    """The rows of a projection, head by head: first of each pair first, then the second."""
    heads, head_dim, model_dim = 3, 8, 16
    weight = torch.randn(heads * head_dim, model_dim)
    rows = weight.unflatten(0, (heads, head_dim)).transpose(1, 2)
    converted = convert_layout(rows, source="interleaved", target="half").transpose(1, 2)
    for head in range(heads):
        block = weight[head * head_dim : (head + 1) * head_dim]
        assert torch.equal(converted[head], torch.cat((block[0::2], block[1::2])))
    there = converted.flatten(0, 1)
    back = there.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2)
    assert torch.equal(back, weight)
    assert torch.equal(convert_rows(there, head_dim, source="half", target="interleaved"), weight)


def test_key_rows_cut_into_as_many_heads_as_queries_have_make_other_scores():
    """Two key heads taken for four run without a word; by head_dim it cannot be said."""
    words, seats = torch.randn(LENGTH, 32), {"source": "interleaved", "target": "half"}
    for_queries, for_keys = torch.randn(4 * HEAD_DIM, 32), torch.randn(2 * HEAD_DIM, 32)

    def scores(q_weight, k_weight, layout):
        q, k = (
            apply_rotary(
                (words @ w.T).unflatten(-1, (-1, HEAD_DIM)).transpose(0, 1),
                COS,
                SIN,
                layout=layout,
            )
            for w in (q_weight, k_weight)
        )
        return q @ k.repeat_interleave(2, dim=0).mT

    trained = scores(for_queries, for_keys, "interleaved")
    queries = convert_rows(for_queries, HEAD_DIM, **seats)
    right = scores(queries, convert_rows(for_keys, HEAD_DIM, **seats), "half")
    torch.testing.assert_close(right, trained, atol=1e-3, rtol=1e-5)  # sums of 32 * 8 products
    silent = convert_rows(for_keys, HEAD_DIM // 2, **seats)  # 2 heads of 8, taken for 4 of 4
    assert (scores(queries, silent, "half") - trained).abs().max() > 1


def test_the_weights_of_a_norm_on_the_heads_move_as_a_head_does(x):
    """A norm with one weight per dimension, before the turn, as Qwen3 has it."""
    weight, seats = torch.rand(HEAD_DIM) + 0.5, {"source": "interleaved", "target": "half"}

    def normed(x, weight):
        return torch.nn.functional.rms_norm(x, (HEAD_DIM,), weight)

    right = oracle(normed(x, weight))
    for moved, same in ((convert_layout(weight, **seats), True), (weight, False)):
        half = oracle(normed(convert_layout(x, **seats), moved), layout="half")
        back = convert_layout(half, source="half", target="interleaved")
        assert torch.allclose(back, right, atol=1e-6) == same


# ---- other libraries ----


@pytest.mark.parametrize(
    ("family", "config", "rotary", "layout", "products"),
    [
        ("llama", "LlamaConfig", "LlamaRotaryEmbedding", "half", torch.bfloat16),
        ("cohere", "CohereConfig", "CohereRotaryEmbedding", "interleaved", torch.float32),
    ],
)
def test_what_transformers_does_to_bfloat16(family, config, rotary, layout, products):
    """Tables in the dtype of x; products in it for Llama, in float32 for Cohere."""
    import importlib

    import transformers

    modeling = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    config = getattr(transformers, config)(hidden_size=256, num_attention_heads=4)
    tables = getattr(modeling, rotary)(config)
    report = diagnose(from_tables(modeling.apply_rotary_pos_emb, tables), max_position=256)
    assert report.layout == layout
    x, ids = torch.randn(1, 4, LENGTH, 64).bfloat16(), torch.arange(1000, 1000 + LENGTH)
    cos, sin = tables(x, ids[None])
    assert cos.dtype == torch.bfloat16
    found, _ = modeling.apply_rotary_pos_emb(x, x, cos, sin)
    partner = modeling.rotate_half(x).to(products)
    expected = x.to(products) * cos[:, None] + partner * sin[:, None]
    assert torch.equal(found, expected.bfloat16())


# ---- keys that move on ----


def turned(x, ids, frequencies):
    return apply_rotary(x, *cos_sin(ids, frequencies, dtype=torch.float64), layout="half")


@pytest.mark.parametrize("delta", [-1000, -1, 7])
def test_a_rotated_key_moves_by_the_difference(delta):
    """R(delta) R(n) k = R(n + delta) k, whatever the frequencies are."""
    keys, ids = torch.randn(LENGTH, HEAD_DIM).double(), torch.arange(2000, 2000 + LENGTH)
    by, frequencies = torch.full((LENGTH,), delta), torch.rand(HEAD_DIM // 2).double()
    moved = turned(turned(keys, ids, frequencies), by, frequencies)
    torch.testing.assert_close(moved, turned(keys, ids + delta, frequencies), atol=1e-9, rtol=0)


def test_a_move_does_not_mend_frequencies_that_have_changed():
    """It takes (n + delta) f' - n f, which asks for the place of each key."""
    keys, ids = torch.randn(LENGTH, 64).double(), torch.arange(3000, 3000 + LENGTH)
    old = inv_freq(64)
    new, _ = dynamic_ntk(64, factor=2.0, seq_len=8192, max_seq_len=4096)
    assert not torch.equal(old, new)
    cached, right = turned(keys, ids, old), turned(keys, ids - 1000, new)
    by = torch.full((LENGTH,), -1000)
    for frequencies in (old, new):
        assert (turned(cached, by, frequencies) - right).norm() > 0.5 * right.norm()
    unturned = turned(cached, -ids, old)
    torch.testing.assert_close(turned(unturned, ids - 1000, new), right, atol=1e-9, rtol=0)


def test_many_small_moves_in_bfloat16_leave_slow_pairs_where_they_were():
    """A pair that turns by less than half a step between neighbors is rounded back."""
    generator = torch.Generator().manual_seed(1)
    # In [1, 2) neighbors are 2^-7 apart: far more than the slowest pair's 1.3e-4 per token.
    keys = (1 + torch.rand(LENGTH, 64, generator=generator)).bfloat16()
    frequencies = inv_freq(64)
    down = torch.full((LENGTH,), -1)
    tables = cos_sin(down, frequencies)
    moved = keys
    for _ in range(1000):
        moved = apply_rotary(moved, *tables, layout="half")
    at_once = turned(keys.double(), 1000 * down, frequencies)
    assert torch.equal(moved.unflatten(-1, (2, 32))[..., -1], keys.unflatten(-1, (2, 32))[..., -1])
    assert (moved.double() - at_once).norm() > 0.2 * at_once.norm()
    once = apply_rotary(keys, *cos_sin(1000 * down, frequencies), layout="half")
    assert (once.double() - at_once).norm() < 0.004 * at_once.norm()


def test_most_of_what_small_moves_cost_is_in_pairs_that_are_partly_let_through():
    """theta from 0.003 to 0.001: turned too little and made longer; slower ones hardly move."""
    keys = torch.randn(256, 64, generator=torch.Generator().manual_seed(2)).bfloat16()
    down, frequencies = torch.full((256,), -1), inv_freq(64)
    tables = cos_sin(down, frequencies)
    moved = keys
    for _ in range(1000):
        moved = apply_rotary(moved, *tables, layout="half")
    at_once = turned(keys.double(), 1000 * down, frequencies)

    def pairs(x):
        return torch.complex(*x.double().unflatten(-1, (2, 32)).unbind(-2))

    before, after, right = pairs(keys), pairs(moved), pairs(at_once)
    error = (after - right).abs().square().sum(0)
    partly = (frequencies > 0.00099) & (frequencies < 0.0032)
    assert error[partly].sum() > 0.7 * error.sum()
    assert error[frequencies < 0.0003].sum() < 0.05 * error.sum()  # the slowest make little
    still = (moved == keys).unflatten(-1, (2, 32)).double().mean((0, 1))
    assert still[-1] > 0.9 and (still[partly] < 0.8).all()
    longer = after.abs().square().mean(0) / right.abs().square().mean(0)
    assert (longer[partly] > 1.02).all()
    # Far enough on their way to have left their place, and not as far as they should be.
    angle = -(after * before.conj()).sum(0).angle()
    assert ((0.1 < angle) & (angle < 0.9 * 1000 * frequencies))[partly].all()


# ---- where to round ----


def test_rounding_costs_least_once_and_at_the_end():
    """Mean errors of 1.7, 1.3 and 1 for products and tables, tables, and the result alone."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(8, 1024, 128, generator=generator).bfloat16()
    ids, frequencies = torch.arange(3072, 4096), inv_freq(128)
    exact = turned(x.double(), ids, frequencies)
    wide = cos_sin(ids, frequencies)

    def by_halves(x, cos, sin):
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)

    narrow = [table.bfloat16() for table in wide]
    mean = [
        (by_halves(*given).bfloat16().double() - exact).abs().mean().item()
        for given in (
            (x, *narrow),
            (x.float(), *(table.float() for table in narrow)),
            (x.float(), *wide),
        )
    ]
    assert 1.6 < mean[0] / mean[2] < 1.7 and 1.25 < mean[1] / mean[2] < 1.35
    assert round(mean[2], 4) == 0.0011
