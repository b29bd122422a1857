"""`apply_rotary` against `reference.py`, its laws, its layouts, other people's code."""

import math
import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck
from vectors import OTHER, POSITIONS, both_ways, every_layout, every_width, randn, tables

from ropelib import (
    RotaryEmbedding,
    apply_rotary,
    convert_layout,
    convert_rows,
    inv_freq,
    pairs,
    reference,
)


@every_layout
def test_one_pair_turns_counter_clockwise(layout):
    c, s = math.cos(2.0), math.sin(2.0)
    matrix = torch.tensor([[c, -s], [s, c]], dtype=torch.float64)
    x = torch.tensor([[3.0, 0.5]], dtype=torch.float64)
    rotated = apply_rotary(x, *tables([2], rotary_dim=2), layout=layout)
    torch.testing.assert_close(rotated, x @ matrix.T, rtol=0, atol=1e-15)


def error_in_ulp(result, exact, layout, rotary_dim):
    """Largest error of a rotated dimension; an ulp is 2**-23 of the length of its pair."""
    first, second = pairs.split_pairs(exact[..., :rotary_dim], layout)
    length = pairs.join_pairs(*2 * [torch.hypot(first, second)], layout)
    error = (result.double() - exact)[..., :rotary_dim].abs()
    return (error / length).max().item() * 2**23


@both_ways
@every_layout
@every_width
@pytest.mark.parametrize("form", POSITIONS)
def test_rotation_equals_the_oracle(layout, head_dim, rotary_dim, form):
    x, frequencies, ids = randn(2, 3, 5, head_dim), inv_freq(rotary_dim), POSITIONS[form]
    exact = reference.rotate(x, ids, frequencies, layout=layout)
    rotated = apply_rotary(x, *tables(ids, rotary_dim), layout=layout)
    torch.testing.assert_close(rotated, exact, rtol=0, atol=1e-9)

    x = x.float()
    exact = reference.rotate(x, ids, frequencies, layout=layout)
    rotated = apply_rotary(x, *tables(ids, rotary_dim, torch.float32), layout=layout)
    assert rotated.dtype == torch.float32
    assert error_in_ulp(rotated, exact, layout, rotary_dim) <= 2
    assert torch.equal(rotated[..., rotary_dim:], x[..., rotary_dim:])


@both_ways
@every_layout
@every_width
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_low_precision_is_float32_rounded_once(layout, head_dim, rotary_dim, dtype):
    x = randn(2, 3, 50, head_dim, dtype=dtype)
    cos_and_sin = tables(range(50), rotary_dim, torch.float32)
    rotated = apply_rotary(x, *cos_and_sin, layout=layout)
    assert rotated.dtype == dtype
    # Contiguous, so that both go through the same vector instructions: FMA or not is a last bit.
    in_float32 = apply_rotary(x[..., :rotary_dim].float(), *cos_and_sin, layout=layout)
    assert torch.equal(rotated[..., :rotary_dim], in_float32.to(dtype))
    assert torch.equal(rotated[..., rotary_dim:], x[..., rotary_dim:])


@both_ways
@every_layout
def test_float64_tables_serve_float32_vectors_and_the_reverse(layout):
    x, wide, narrow = randn(5, 8), tables(), tables(dtype=torch.float32)
    a = apply_rotary(x.float(), *wide, layout=layout)
    assert torch.equal(a, apply_rotary(x.float(), *narrow, layout=layout))
    b = apply_rotary(x, *narrow, layout=layout)
    assert b.dtype == torch.float64
    torch.testing.assert_close(b, apply_rotary(x, *wide, layout=layout), rtol=0, atol=1e-6)


@both_ways
@every_layout
def test_rotations_form_a_group(layout):
    x = randn(3, 5, 8)

    def rotate(x, position):
        return apply_rotary(x, *tables([position] * 5), layout=layout)

    assert torch.equal(rotate(x, 0), x)
    torch.testing.assert_close(rotate(rotate(x, 7), -2.5), rotate(x, 4.5))
    torch.testing.assert_close(rotate(rotate(x, 7), -7), x)
    torch.testing.assert_close(rotate(x, 7).norm(dim=-1), x.norm(dim=-1))


@both_ways
@every_layout
def test_negative_position_is_the_transpose(layout):
    eye = torch.eye(8, dtype=torch.float64)  # rotating its rows gives R^T
    forward = apply_rotary(eye, *tables([3] * 8), layout=layout)
    assert torch.equal(apply_rotary(eye, *tables([-3] * 8), layout=layout), forward.T)


@every_layout
def test_inner_products_depend_only_on_relative_position(layout):
    q, k = randn(1, 64), randn(1, 64, seed=1)

    def score(m, n, rotates_k=True):
        q_m = apply_rotary(q, *tables([m], 64), layout=layout)
        k_n = apply_rotary(k, *tables([n], 64), layout=layout) if rotates_k else k
        return (q_m @ k_n.T).item()

    assert score(8, 3) == pytest.approx(score(1008, 1003), abs=1e-10)
    # Which numbers these are is chance; that they are equal would not be.
    assert abs(score(8, 3) - score(8, 4)) > 1e-6
    assert abs(score(8, 3, rotates_k=False) - score(1008, 1003, rotates_k=False)) > 1e-6


@every_layout
@settings(max_examples=30, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_shape_and_positions_equal_the_oracle(layout, data):
    leading = data.draw(st.lists(st.integers(0, 3), max_size=3))
    num_pairs = data.draw(st.integers(1, 5))
    head_dim = 2 * num_pairs + data.draw(st.integers(0, 3))
    real = st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6))
    ids = data.draw(st.lists(real, min_size=1, max_size=4))
    x, frequencies = randn(*leading, len(ids), head_dim), inv_freq(2 * num_pairs)
    rotated = apply_rotary(x, *tables(ids, 2 * num_pairs), layout=layout)
    exact = reference.rotate(x, ids, frequencies, layout=layout)
    torch.testing.assert_close(rotated, exact, rtol=0, atol=1e-9)


# Layouts


@both_ways
@every_layout
@every_width
def test_layouts_are_one_rotation_in_other_seats(layout, head_dim, rotary_dim):
    x, cos_and_sin = randn(2, 5, head_dim), tables(rotary_dim=rotary_dim)
    seats = {"source": layout, "target": OTHER[layout], "rotary_dim": rotary_dim}
    rotated = convert_layout(apply_rotary(x, *cos_and_sin, layout=layout), **seats)
    moved = apply_rotary(convert_layout(x, **seats), *cos_and_sin, layout=OTHER[layout])
    torch.testing.assert_close(rotated, moved, rtol=0, atol=1e-15)


@every_layout
@every_width
def test_converting_there_and_back_changes_nothing(layout, head_dim, rotary_dim):
    x = randn(3, head_dim)
    there = convert_layout(x, source=layout, target=OTHER[layout], rotary_dim=rotary_dim)
    back = convert_layout(there, source=OTHER[layout], target=layout, rotary_dim=rotary_dim)
    assert torch.equal(back, x)
    assert torch.equal(there[:, rotary_dim:], x[:, rotary_dim:])
    same = convert_layout(x, source=layout, target=layout, rotary_dim=rotary_dim)
    assert torch.equal(same, x) and same.data_ptr() != x.data_ptr()


def test_conversion_seats_pairs_as_the_names_say():
    x = torch.arange(8)
    to_half = convert_layout(x, source="interleaved", target="half", rotary_dim=6)
    assert to_half.tolist() == [0, 2, 4, 1, 3, 5, 6, 7]
    to_interleaved = convert_layout(x, source="half", target="interleaved", rotary_dim=6)
    assert to_interleaved.tolist() == [0, 3, 1, 4, 2, 5, 6, 7]


@every_layout
@every_width
@pytest.mark.parametrize("num_heads", [1, 3])
def test_a_projection_with_converted_rows_makes_converted_vectors(
    layout, head_dim, rotary_dim, num_heads
):
    weight, bias, words = randn(num_heads * head_dim, 5), randn(num_heads * head_dim), randn(4, 5)
    seats = {"source": layout, "target": OTHER[layout], "rotary_dim": rotary_dim}
    moved = (convert_rows(rows, head_dim, **seats) for rows in (weight, bias))
    heads, found = (
        torch.nn.functional.linear(words, *rows).unflatten(-1, (num_heads, head_dim))
        for rows in ((weight, bias), moved)
    )
    torch.testing.assert_close(found, convert_layout(heads, **seats), rtol=0, atol=1e-14)


def test_rows_of_any_dtype_are_copied_and_not_computed():
    codes = torch.arange(-8, 8, dtype=torch.int8)[:, None]
    half = convert_rows(codes, 8, source="interleaved", target="half")
    assert half.dtype == torch.int8 and sorted(half.flatten().tolist()) == list(range(-8, 8))
    assert torch.equal(convert_rows(half, 8, source="half", target="interleaved"), codes)


@pytest.mark.parametrize("autocast", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_autocast_moves_the_same_numbers(dtype, autocast):
    """Autocast refuses to put parts of the other dtype of 16 bits beside each other."""
    x, seats = randn(3, 8).to(dtype), {"source": "half", "target": "interleaved"}
    expected = convert_layout(x, **seats), convert_rows(x.T, 4, **seats)
    with torch.autocast("cpu", dtype=autocast):
        found = convert_layout(x, **seats), convert_rows(x.T, 4, **seats)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == dtype and torch.equal(a, b)


def test_key_rows_taken_for_as_many_heads_as_queries_have_would_be_others():
    rows = torch.arange(8)  # two key heads of 4; a model with four query heads
    seats = {"source": "interleaved", "target": "half"}
    assert convert_rows(rows, 4, **seats).tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
    assert convert_rows(rows, 8 // 4, **seats).tolist() == list(range(8))  # 4 "heads" of one pair


@pytest.mark.parametrize(
    ("weight", "head_dim", "error", "message"),
    [
        (randn(12, 3), 8, ValueError, r"whole heads of head_dim 8, got shape \(12, 3\)"),
        (randn(0, 3), 8, ValueError, r"got shape \(0, 3\)"),
        (torch.tensor(1.0), 8, ValueError, r"got shape \(\)"),
        (randn(16, 3), 0, ValueError, "head_dim must be positive, got 0"),
        (randn(9, 3), 3, ValueError, "head_dim must be even where all of it rotates, got 3"),
        (randn(16, 3), 8.0, TypeError, "head_dim must be an integer, got 8.0"),
        ([1.0], 8, TypeError, r"weight must be a tensor, got \[1.0\]"),
    ],
)
def test_rows_that_are_not_whole_heads_are_refused(weight, head_dim, error, message):
    with pytest.raises(error, match=message):
        convert_rows(weight, head_dim, source="half", target="interleaved")


def test_unknown_layouts_of_rows_and_wrong_rotary_dims_are_refused():
    for wrong in ({"source": "neox"}, {"target": "neox"}):
        with pytest.raises(ValueError, match='must be "interleaved" or "half", got \'neox\''):
            convert_rows(randn(8), 8, **{"source": "half", "target": "half"} | wrong)
    for rotary_dim, message in ((3, "must be even"), (10, "at most head_dim")):
        with pytest.raises(ValueError, match=message):
            convert_rows(randn(8), 8, source="half", target="half", rotary_dim=rotary_dim)


@every_layout
def test_the_wrong_layout_is_not_the_right_one(layout):
    x = randn(5, 8)
    right = apply_rotary(x, *tables(), layout=layout)
    assert (right - apply_rotary(x, *tables(), layout=OTHER[layout])).abs().max() > 0.1


# The axis of the sequence

ORDERS = {  # where (batch, num_heads, seq_len, head_dim) go, and the seq_dim that says so
    "(batch, seq_len, num_heads, head_dim)": ((0, 2, 1, 3), 1),
    "(seq_len, batch, num_heads, head_dim)": ((2, 0, 1, 3), 0),
    "(batch, num_heads, seq_len, head_dim)": ((0, 1, 2, 3), 2),
}


@both_ways
@every_layout
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("form", ["from zero", "per batch"])
@pytest.mark.parametrize("num_heads", [3, 5])  # 5 is seq_len, so that no shape can tell
def test_the_sequence_may_be_any_axis(layout, order, form, num_heads):
    axes, seq_dim = ORDERS[order]
    x, cos_and_sin = randn(2, num_heads, 5, 10), tables(POSITIONS[form])
    exact = reference.rotate(x, POSITIONS[form], inv_freq(8), layout=layout).permute(axes)
    moved = x.permute(axes).contiguous()
    for dim in (seq_dim, seq_dim - 4):
        rotated = apply_rotary(moved, *cos_and_sin, layout=layout, seq_dim=dim)
        torch.testing.assert_close(rotated, exact, rtol=0, atol=1e-9)
        out = torch.empty_like(moved)
        assert apply_rotary(moved, *cos_and_sin, layout=layout, seq_dim=dim, out=out) is out
        torch.testing.assert_close(out, exact, rtol=0, atol=1e-9)
        in_place = moved.clone()
        apply_rotary(in_place, *cos_and_sin, layout=layout, seq_dim=dim, out=in_place)
        torch.testing.assert_close(in_place, exact, rtol=0, atol=1e-9)
    if num_heads == 5 and seq_dim == 1:
        by_head = apply_rotary(moved, *cos_and_sin, layout=layout)
        assert (by_head - exact).abs().max() > 0.1  # what the argument is for


@pytest.mark.parametrize("shape", [(5, 8), (3, 5, 8), (2, 2, 3, 5, 8)])
def test_the_axis_may_be_any_whatever_their_number(shape):
    rotary, x = RotaryEmbedding(8, layout="half"), randn(*shape)
    exact = reference.rotate(x, range(5), inv_freq(8), layout="half")
    for seq_dim in range(len(shape) - 1):
        moved, expected = x.movedim(-2, seq_dim), exact.movedim(-2, seq_dim)
        function = apply_rotary(moved, *tables(range(5)), layout="half", seq_dim=seq_dim)
        for rotated in (function, *rotary(moved, moved, seq_dim=seq_dim)):
            torch.testing.assert_close(rotated, expected, rtol=0, atol=1e-9)


def test_gradients_and_compilers_follow_the_axis():
    torch.compiler.reset()
    x, cos_and_sin = randn(2, 5, 3, 8).requires_grad_(), tables()

    def rotate(x):
        return apply_rotary(x, *cos_and_sin, layout="half", seq_dim=1)

    assert gradcheck(rotate, x, check_forward_ad=True)
    compiled = torch.compile(rotate, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x), rotate(x))


@pytest.mark.parametrize(
    ("seq_dim", "error", "message"),
    [
        (3, ValueError, r"seq_dim must be an axis of x before its last, got 3 for shape \(2, 3, 5"),
        (-1, ValueError, "seq_dim must be an axis of x before its last, got -1"),
        (4, ValueError, "before its last, got 4"),
        (-5, ValueError, "before its last, got -5"),
        (1.0, TypeError, "seq_dim must be an integer, got 1.0"),
        (None, TypeError, "seq_dim must be an integer, got None"),
        (True, TypeError, "seq_dim must be an integer, got True"),
    ],
)
def test_wrong_axes_are_refused(seq_dim, error, message):
    x, rotary = randn(2, 3, 5, 8), RotaryEmbedding(8, layout="half")
    with pytest.raises(error, match=message):
        apply_rotary(x, *tables(), layout="half", seq_dim=seq_dim)
    with pytest.raises(error, match=message.replace("of x", "of q")):
        rotary(x, x, seq_dim=seq_dim)


# Independent witnesses


def test_half_layout_equals_llama_of_transformers():
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    config = llama.LlamaConfig(hidden_size=64, num_attention_heads=4, head_dim=16)
    assert config.rope_parameters["rope_theta"] == 10_000.0
    q, k = randn(2, 4, 7, 16).float(), randn(2, 2, 7, 16, seed=1).float()
    ids = torch.tensor([[0, 1, 2, 3, 4, 5, 6], [9, 8, 7, 6, 5, 40, 3]])
    their_tables = llama.LlamaRotaryEmbedding(config)(q, ids)
    theirs = llama.apply_rotary_pos_emb(q, k, *their_tables)
    ours = RotaryEmbedding(16, layout="half")(q, k, ids)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-5)


def test_interleaved_layout_equals_gptj_of_transformers():
    gptj = pytest.importorskip("transformers.models.gptj.modeling_gptj")
    q, k = randn(2, 4, 7, 16).float(), randn(2, 4, 7, 16, seed=1).float()
    sin, cos = gptj.create_sinusoidal_positions(7, 16)[None].chunk(2, dim=-1)
    # GPT-J has (batch, seq_len, num_heads, head_dim)
    theirs = [
        gptj.apply_rotary_pos_emb(x.transpose(1, 2), sin, cos).transpose(1, 2) for x in (q, k)
    ]
    ours = RotaryEmbedding(16, layout="interleaved")(q, k)
    torch.testing.assert_close(ours, tuple(theirs), rtol=0, atol=1e-5)


def test_the_module_is_found_where_it_stood():
    from ropelib.rotation import RotaryEmbedding as found

    saved = b"cropelib.rotation\nRotaryEmbedding\n."  # as `torch.save` wrote of a module
    assert pickle.loads(saved) is found is RotaryEmbedding
