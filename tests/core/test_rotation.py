"""Every fast path against `reference.py`, its laws, its gradients, other people's code."""

import copy
import math
import re
import reprlib

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from ropelib import RotaryEmbedding, apply_rotary, convert_layout, cos_sin, inv_freq, reference
from ropelib import rotation as rotation_module

LAYOUTS = ["interleaved", "half"]
OTHER = {"interleaved": "half", "half": "interleaved"}
WIDTHS = [(2, 2), (8, 8), (8, 6), (9, 4), (64, 64), (96, 24)]  # (head_dim, rotary_dim)
POSITIONS = {
    "from zero": torch.arange(5),
    "int32": torch.tensor([7, 0, 7, 100_000, 3], dtype=torch.int32),
    "negative": torch.tensor([-1, -5, 0, 2, -1_000_000]),
    "real": torch.tensor([0.5, -2.25, 1e-3, 1000.125, 3.0]),
    "per batch": torch.tensor([[0, 1, 2, 3, 4], [-3, 2.5, 0, 100, 4]]),
}
SHARED = {name: ids for name, ids in POSITIONS.items() if ids.dim() == 1}
every_layout = pytest.mark.parametrize("layout", LAYOUTS)
every_width = pytest.mark.parametrize(("head_dim", "rotary_dim"), WIDTHS)


@pytest.fixture(params=["few", "many"])
def way(request, monkeypatch):
    """Rotate few elements, as these tests do, by either of the two ways."""
    if request.param == "many":
        monkeypatch.setattr(rotation_module, "_FEW", 0)


both_ways = pytest.mark.usefixtures("way")


def randn(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def tables(position_ids=tuple(range(5)), rotary_dim=8, dtype=torch.float64, **kwargs):
    return cos_sin(position_ids, inv_freq(rotary_dim), dtype=dtype, **kwargs)


def error_in_ulp(result, exact, layout, rotary_dim):
    """Largest error of a rotated dimension; an ulp is 2**-23 of the length of its pair."""
    first, second = rotation_module._split_pairs(exact[..., :rotary_dim], layout)
    length = rotation_module._join_pairs(*2 * [torch.hypot(first, second)], layout)
    error = (result.double() - exact)[..., :rotary_dim].abs()
    return (error / length).max().item() * 2**23


# The tables


def test_tables_are_exact_at_position_one_million():
    positions = [1_000_000, 999_999, -1_000_000, 131_071, 1, 0]
    for dtype, bound in ((torch.float32, 3e-7), (torch.float64, 1e-9)):
        cos, sin = tables(positions, rotary_dim=128, dtype=dtype)
        assert cos.dtype == sin.dtype == dtype and cos.shape == sin.shape == (6, 64)
        with mpmath.workdps(40):
            for s, position in enumerate(positions):
                for i in range(64):
                    angle = position * mpmath.mpf(10_000) ** (mpmath.mpf(-i) / 64)
                    assert abs(cos[s, i].item() - mpmath.cos(angle)) <= bound
                    assert abs(sin[s, i].item() - mpmath.sin(angle)) <= bound


def test_angles_in_float32_would_miss_that_bound():
    angles = torch.tensor([1e6]) * inv_freq(128).float()
    assert (angles.cos() - tables([1_000_000], 128)[0]).abs().max() > 1e-3


def test_float32_frequencies_err_in_proportion_to_the_position():
    def error(position):
        coarse, _ = cos_sin([position], inv_freq(128).float(), dtype=torch.float64)
        return (coarse - tables([position], 128)[0]).abs().max()

    assert error(1_000) < 1e-4
    assert error(100_000) > 1e-4


def test_every_form_of_positions_gives_the_same_tables():
    expected = torch.stack(tables(torch.tensor([3, 4, 5])))
    for ids in ([3, 4, 5], range(3, 6), (3.0, 4.0, 5.0), np.arange(3, 6), torch.arange(3.0, 6.0)):
        assert torch.equal(torch.stack(tables(ids)), expected)
    assert torch.equal(torch.stack(tables([[3, 4, 5]])), expected.unsqueeze(1))
    assert not torch.equal(torch.stack(tables([3, 4, 6])), expected)


def test_lists_of_floats_keep_their_float64_value():
    cos, _ = tables([100_000.1])
    assert cos[0, 0].item() == math.cos(100_000.1)


def test_attention_factor_multiplies_both_tables():
    plain, scaled = tables(dtype=torch.float64), tables(attention_factor=1.25)
    for a, b in zip(plain, scaled, strict=True):
        assert torch.equal(a * 1.25, b)


@both_ways
def test_no_positions_give_empty_tables():
    cos, sin = tables([])
    assert cos.shape == sin.shape == (0, 4)
    assert apply_rotary(randn(3, 0, 8), cos, sin, layout="interleaved").shape == (3, 0, 8)


def test_gradients_reach_positions_and_frequencies():
    ids, frequencies = randn(3).requires_grad_(), inv_freq(8).requires_grad_()
    assert gradcheck(lambda p, f: cos_sin(p, f, dtype=torch.float64), (ids, frequencies))


# The sign, the oracle, the laws


@every_layout
def test_one_pair_turns_counter_clockwise(layout):
    c, s = math.cos(2.0), math.sin(2.0)
    matrix = torch.tensor([[c, -s], [s, c]], dtype=torch.float64)
    x = torch.tensor([[3.0, 0.5]], dtype=torch.float64)
    rotated = apply_rotary(x, *tables([2], rotary_dim=2), layout=layout)
    torch.testing.assert_close(rotated, x @ matrix.T, rtol=0, atol=1e-15)


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


# Memory


def assert_equal_but_for_the_last_bit(a, b):
    """Other strides mean other vector instructions, with or without fused multiply-add."""
    torch.testing.assert_close(a, b, rtol=torch.finfo(a.dtype).eps, atol=2e-7)


def strided(x):
    """Views equal to `x` that lie differently in memory."""
    yield x.transpose(-3, -2).contiguous().transpose(-3, -2)
    yield x.transpose(-2, -1).contiguous().transpose(-2, -1)
    yield torch.stack((x, x), dim=-1)[..., 0]  # stride 2 along the head
    yield torch.cat((x, x), dim=-1)[..., : x.shape[-1]]
    yield torch.cat((x[..., :1], x), dim=-1)[..., 1:]  # odd offset and odd strides


@both_ways
@every_layout
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_strides_do_not_matter(layout, dtype):
    x, cos_and_sin = randn(2, 3, 5, 8, dtype=dtype), tables(rotary_dim=6, dtype=torch.float32)
    expected = apply_rotary(x, *cos_and_sin, layout=layout)
    for view in strided(x):
        assert_equal_but_for_the_last_bit(apply_rotary(view, *cos_and_sin, layout=layout), expected)
        for out in strided(torch.zeros_like(x)):
            assert apply_rotary(view, *cos_and_sin, layout=layout, out=out) is out
            assert_equal_but_for_the_last_bit(out, expected)
        assert apply_rotary(view, *cos_and_sin, layout=layout, out=view) is view
        assert_equal_but_for_the_last_bit(view, expected)


@both_ways
@every_layout
def test_expanded_vectors_are_rotated_each(layout):
    x = randn(5, 8).expand(2, 3, 5, 8)
    rotated = apply_rotary(x, *tables(POSITIONS["per batch"]), layout=layout)
    exact = reference.rotate(x, POSITIONS["per batch"], inv_freq(8), layout=layout)
    torch.testing.assert_close(rotated, exact, rtol=0, atol=1e-12)


@both_ways
@every_layout
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_out_may_be_x_itself(layout, dtype):
    x = randn(2, 3, 5, 10, dtype=dtype)
    expected = apply_rotary(x, *tables(), layout=layout)
    assert apply_rotary(x, *tables(), layout=layout, out=x) is x
    assert torch.equal(x, expected)


@both_ways
@every_layout
def test_x_is_left_alone(layout):
    x = randn(2, 5, 8)
    before = x.clone()
    apply_rotary(x, *tables(), layout=layout)
    apply_rotary(x, *tables(), layout=layout, out=torch.empty_like(x))
    assert torch.equal(x, before)


@both_ways
@every_layout
def test_part_of_a_packed_tensor_is_rotated_in_place(layout):
    packed = randn(2, 9, 5, 8)
    q, rest = packed[:, :6], packed[:, 6:].clone()
    expected = apply_rotary(q, *tables(), layout=layout)
    apply_rotary(q, *tables(), layout=layout, out=q)
    assert_equal_but_for_the_last_bit(packed, torch.cat((expected, rest), dim=1))


@both_ways
@every_layout
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("block", [1, 50, 100, 300])
@pytest.mark.parametrize("form", ["from zero", "per batch"])
def test_blocks_do_not_matter(layout, dtype, block, form, monkeypatch):
    x = randn(2, 7, 5, 8, dtype=dtype) if form == "per batch" else randn(5, 8, dtype=dtype)
    cos_and_sin = tables(POSITIONS[form], 6, torch.float32)
    expected = apply_rotary(x, *cos_and_sin, layout=layout)
    monkeypatch.setattr(rotation_module, "_BLOCK", block)
    assert_equal_but_for_the_last_bit(apply_rotary(x, *cos_and_sin, layout=layout), expected)
    assert_equal_but_for_the_last_bit(apply_rotary(x, *cos_and_sin, layout=layout, out=x), expected)


@both_ways
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dimensions_beyond_rotary_dim_pass_bit_for_bit(dtype):
    x = randn(2, 5, 12, dtype=dtype)
    x[..., 9], x[..., 10], x[..., 11] = math.nan, -0.0, math.inf
    bits = torch.int32 if dtype == torch.float32 else torch.int16
    for layout in LAYOUTS:
        rotated = apply_rotary(x, *tables(), layout=layout)
        assert torch.equal(rotated[..., 8:].view(bits), x[..., 8:].view(bits))


# Gradients, transforms


@every_layout
@every_width
@pytest.mark.parametrize("form", POSITIONS)
def test_gradients_equal_those_of_the_oracle(layout, head_dim, rotary_dim, form):
    ids, weight = POSITIONS[form], randn(2, 3, 5, head_dim, seed=1)
    x, y = (randn(2, 3, 5, head_dim).requires_grad_() for _ in range(2))
    (apply_rotary(x, *tables(ids, rotary_dim), layout=layout) * weight).sum().backward()
    (reference.rotate(y, ids, inv_freq(rotary_dim), layout=layout) * weight).sum().backward()
    torch.testing.assert_close(x.grad, y.grad, rtol=0, atol=1e-9)


@every_layout
def test_low_precision_gradients_are_float32_rounded_once(layout):
    cos_and_sin = tables(dtype=torch.float32)
    x, grad = randn(3, 5, 8).bfloat16().requires_grad_(), randn(3, 5, 8, seed=1).bfloat16()
    apply_rotary(x, *cos_and_sin, layout=layout).backward(grad)
    cos, sin = cos_and_sin
    expected = apply_rotary(grad.float(), cos, -sin, layout=layout).bfloat16()
    assert x.grad.dtype == torch.bfloat16 and torch.equal(x.grad, expected)


@both_ways
@every_layout
@pytest.mark.parametrize("form", ["from zero", "per batch"])
def test_derivatives_of_first_and_second_order_are_right(layout, form):
    cos, sin = tables(POSITIONS[form], 6)
    x = randn(2, 1, 5, 8).requires_grad_()

    def rotate(x, cos=cos, sin=sin):
        return apply_rotary(x, cos, sin, layout=layout)

    assert gradcheck(rotate, x, check_forward_ad=True)
    assert gradgradcheck(rotate, x)
    inputs = (x, cos.clone().requires_grad_(), sin.clone().requires_grad_())
    assert gradcheck(rotate, inputs, check_forward_ad=True)
    assert gradgradcheck(rotate, inputs)
    assert gradcheck(rotate, (x.detach(), *inputs[1:]))


@every_layout
def test_backward_keeps_only_the_tables(layout):
    kept = []
    x, cos_and_sin = randn(2, 3, 5, 8).requires_grad_(), tables()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        apply_rotary(x, *cos_and_sin, layout=layout)
    assert {t.data_ptr() for t in kept} == {t.data_ptr() for t in cos_and_sin}


@both_ways
@every_layout
def test_function_transforms_compose_with_the_rotation(layout):
    x, cos_and_sin = randn(2, 3, 5, 8), tables(rotary_dim=6)
    per_batch = tables(POSITIONS["per batch"], 6)

    def rotate(x, cos=cos_and_sin[0], sin=cos_and_sin[1]):
        return apply_rotary(x, cos, sin, layout=layout)

    def loss(x):
        return rotate(x).pow(3).sum()

    leaf = x.clone().requires_grad_()
    (grad,) = torch.autograd.grad(loss(leaf), leaf)
    close = torch.testing.assert_close
    close(torch.vmap(rotate)(x), rotate(x))
    close(torch.vmap(rotate, in_dims=1, out_dims=1)(x), rotate(x))
    close(torch.vmap(rotate)(x, *per_batch), rotate(x, *per_batch))
    close(torch.func.grad(loss)(x), grad)
    close(torch.vmap(torch.func.grad(loss))(x), grad)
    close(torch.func.grad(lambda x: torch.vmap(loss)(x).sum())(x), grad)
    close(torch.func.jvp(rotate, (x,), (2 * x,))[1], 2 * rotate(x))
    close(torch.func.jacfwd(rotate)(x[0, 0]), torch.func.jacrev(rotate)(x[0, 0]))


@both_ways
@every_layout
@pytest.mark.parametrize("rotary_dim", [8, 6])
def test_gradients_in_batches_are_those_one_by_one(layout, rotary_dim):
    x, cos_and_sin = randn(5, 8).requires_grad_(), tables(rotary_dim=rotary_dim)
    per_batch = tables(POSITIONS["per batch"], rotary_dim)

    def rotate(x):
        return apply_rotary(x, *cos_and_sin, layout=layout)

    def loss(x):
        return rotate(x).pow(3).sum()

    rotated, grads = rotate(x), randn(3, 5, 8, seed=1)
    (ours,) = torch.autograd.grad(rotated, x, grads, is_grads_batched=True, retain_graph=True)
    each = [torch.autograd.grad(rotated, x, grad, retain_graph=True)[0] for grad in grads]
    torch.testing.assert_close(ours, torch.stack(each))

    jacobian, hessian = torch.autograd.functional.jacobian, torch.autograd.functional.hessian
    expected, expected_hessian = jacobian(rotate, x), hessian(loss, x)
    for kind in ("reverse-mode", "forward-mode"):
        ours = jacobian(rotate, x, vectorize=True, strategy=kind)
        torch.testing.assert_close(ours, expected)
        ours = hessian(loss, x, vectorize=True, outer_jacobian_strategy=kind)
        torch.testing.assert_close(ours, expected_hessian)

    y = randn(2, 3, 5, 8).requires_grad_()
    rotated, grads = apply_rotary(y, *per_batch, layout=layout), randn(4, 2, 3, 5, 8, seed=1)
    (ours,) = torch.autograd.grad(rotated, y, grads, is_grads_batched=True, retain_graph=True)
    each = [torch.autograd.grad(rotated, y, grad, retain_graph=True)[0] for grad in grads]
    torch.testing.assert_close(ours, torch.stack(each))


@every_layout
def test_compiles_into_one_graph(layout):
    torch.compiler.reset()
    backend = "aot_eager"  # what "eager" captures, and then the backward pass
    rotary = RotaryEmbedding(8, rotary_dim=6, layout=layout)
    compiled = torch.compile(rotary, fullgraph=True, backend=backend)
    for dtype in (torch.float32, torch.bfloat16):
        q, k = randn(2, 4, 5, 8, dtype=dtype), randn(2, 2, 5, 8, seed=1, dtype=dtype)
        for ids in (None, POSITIONS["real"], POSITIONS["per batch"]):
            torch.testing.assert_close(compiled(q, k, ids), rotary(q, k, ids))

    x, cos_and_sin = randn(5, 8).requires_grad_(), tables(rotary_dim=6)

    def rotate(x, out=None):
        return apply_rotary(x, *cos_and_sin, layout=layout, out=out)

    compiled = torch.compile(rotate, fullgraph=True, backend=backend)
    torch.testing.assert_close(
        torch.autograd.grad(compiled(x).pow(2).sum(), x),
        torch.autograd.grad(rotate(x).pow(2).sum(), x),
    )
    in_place = x.detach().clone()
    compiled(in_place, in_place)
    torch.testing.assert_close(in_place, rotate(x.detach()))


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


@every_layout
def test_the_module_takes_the_sequence_at_any_axis(layout):
    rotary = RotaryEmbedding(8, layout=layout)
    for q_len in (1, 5):  # 5 is the number of heads of q
        q, k = randn(2, q_len, 5, 8), randn(2, q_len, 2, 8, seed=1)
        for ids in ({"offset": 7}, {"position_ids": torch.arange(2 * q_len).reshape(2, -1)}):
            expected = rotary(q.transpose(1, 2), k.transpose(1, 2), **ids)
            for seq_dim in (1, -3):
                rotated = rotary(q, k, seq_dim=seq_dim, **ids)
                for ours, x in zip(rotated, expected, strict=True):
                    torch.testing.assert_close(ours, x.transpose(1, 2), rtol=0, atol=1e-12)


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


# The module


@both_ways
@every_layout
@pytest.mark.parametrize("form", [None, *POSITIONS])
def test_module_rotates_queries_and_keys_as_the_oracle_does(layout, form):
    q, k = randn(2, 6, 5, 10), randn(2, 2, 5, 10, seed=1)
    rotary = RotaryEmbedding(10, rotary_dim=8, base=500.0, layout=layout)
    ids = None if form is None else POSITIONS[form]
    for x, rotated in zip((q, k), rotary(q, k, ids), strict=True):
        positions = range(5) if ids is None else ids
        exact = reference.rotate(x, positions, inv_freq(8, 500.0), layout=layout)
        torch.testing.assert_close(rotated, exact, rtol=0, atol=1e-9)


def test_module_keeps_the_dtype_of_each_input():
    rotary = RotaryEmbedding(8, layout="half")
    q, k = rotary(randn(5, 8, dtype=torch.bfloat16), randn(5, 8))
    assert (q.dtype, k.dtype) == (torch.bfloat16, torch.float64)


@pytest.mark.parametrize("cast", ["bfloat16", "half", "double", "float"])
def test_casting_the_module_does_not_touch_its_frequencies(cast):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), RotaryEmbedding(8, layout="half"))
    rotary = getattr(copy.deepcopy(model), cast)()[1]
    assert rotary.inv_freq.dtype == torch.float64
    assert torch.equal(rotary.inv_freq, inv_freq(8))
    assert not rotary.state_dict() and not list(rotary.buffers())


def test_module_survives_construction_on_the_meta_device():
    with torch.device("meta"):
        rotary = RotaryEmbedding(8, layout="half")
    q = randn(5, 8)
    rotated, _ = rotary.to_empty(device="cpu")(q, q)
    exact = reference.rotate(q, range(5), inv_freq(8), layout="half")
    torch.testing.assert_close(rotated, exact)


def test_module_shows_its_settings():
    assert repr(RotaryEmbedding(8, rotary_dim=4, layout="half")) == (
        "RotaryEmbedding(8, rotary_dim=4, base=10000.0, layout='half')"
    )


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


# Errors


@pytest.mark.parametrize(
    ("position_ids", "error", "message"),
    [
        (torch.tensor([True, False]), TypeError, "must be integer or real, got torch.bool"),
        ([True, False], TypeError, "must be integer or real, got torch.bool"),
        (torch.tensor([1j]), TypeError, "must be integer or real, got torch.complex64"),
        (torch.arange(5).bfloat16(), TypeError, "got torch.bfloat16, .*897 distinct places"),
        (np.arange(5, dtype=np.float16), TypeError, "got torch.float16, .*cannot tell positions"),
        (torch.tensor([0.0, math.nan]), ValueError, "position_ids must be finite, got .*nan"),
        ([0.0, math.inf], ValueError, "position_ids must be finite, got .*inf"),
        (3, ValueError, r"must be \(seq_len,\) or \(batch, seq_len\), got shape \(\)"),
        (torch.zeros(1, 1, 1), ValueError, r"or \(batch, seq_len\), got shape \(1, 1, 1\)"),
        (None, TypeError, "must be integer or real, .*, got None"),
        ("abc", TypeError, "must be integer or real, .*, got 'abc'"),
        ([1, "a"], TypeError, r"must be integer or real, .*, got \[1, 'a'\]"),
        ({"a": 1}, TypeError, "must be integer or real, .*, got {'a': 1}"),
        ([2**64], TypeError, r"in at most 64 bits, got \[18446744073709551616\]"),
        ([[0, 1], [2]], ValueError, r"got rows of different lengths: \[\[0, 1\], \[2\]\]"),
        ([2**53], ValueError, r"must be less than 9.007e\+15 in size.*, got 9007199254740992"),
        ([0, -(2**53) - 1], ValueError, "in size, where float64 knows their angles"),
        ([-(2**63)], ValueError, "got 9223372036854775808"),
        ([2**63], ValueError, "got 9.22"),
        ([1e16], ValueError, r"in size, where float64 knows their angles, got 1e\+16"),
        (np.array([2**64 - 1], dtype=np.uint64), ValueError, "got 1.8"),
        (torch.tensor([2.0**24]), ValueError, r"float32 must be less than 2\*\*24.*got 16777216;"),
        (torch.tensor([[0.0], [-(2.0**25)]]), ValueError, "float32 skips whole numbers"),
        (np.array([2**24 + 1], dtype=np.float32), ValueError, "give integers or float64"),
    ],
)
def test_wrong_positions_are_refused(position_ids, error, message):
    with pytest.raises(error, match=message):
        cos_sin(position_ids, inv_freq(8))
    if position_ids is not None:  # what the module takes to mean "one after the other"
        with pytest.raises(error, match=message):
            RotaryEmbedding(8, layout="half")(randn(2, 8), randn(2, 8), position_ids)


def test_positions_up_to_the_last_are_rotated():
    last = 2**53 - 1
    for ids in ([last], [-last], [float(last)], np.array([last], dtype=np.uint64)):
        exact = math.cos(float(last))
        assert tables(ids)[0][0, 0].item() == pytest.approx(exact, abs=1e-12)
    for ids in (torch.tensor([2.0**24 - 1]), torch.tensor([2**31 - 1], dtype=torch.int32)):
        assert tables(ids)[0][0, 0].item() == pytest.approx(math.cos(ids.item()), abs=1e-12)


@pytest.mark.parametrize(
    "position_ids",
    [
        np.arange(5)[::-1],
        np.arange(1)[::-1],
        np.arange(5, dtype=">i8"),
        np.arange(5, dtype=">f8"),
        np.arange(5, dtype=np.uint16),
        np.arange(5, dtype=np.uint32),
        np.arange(5, dtype=np.uint64),
        np.arange(5, dtype=np.longdouble),
        np.arange(10).reshape(5, 2).T,
        np.broadcast_to(np.arange(3), (2, 3)),
    ],
    ids=lambda ids: f"{ids.dtype.str} {ids.shape} {ids.strides}",
)
def test_arrays_of_any_kind_are_read_as_they_are(position_ids):
    for ours, expected in zip(tables(position_ids), tables(position_ids.tolist()), strict=True):
        assert torch.equal(ours, expected)


def test_positions_are_looked_at_in_vmap_no_more_than_they_can_be():
    rows = torch.tensor([[0, 1, 2], [5, 6, 9]])
    for ids in (rows, rows.double()):
        ours = torch.vmap(lambda ids: torch.stack(tables(ids)))(ids)
        assert torch.equal(ours, torch.stack([torch.stack(tables(row)) for row in ids]))


def test_bfloat16_positions_are_as_few_as_the_error_says():
    assert len(torch.arange(8192).bfloat16().unique()) == 897


@pytest.mark.parametrize(
    ("frequencies", "error", "message"),
    [
        (
            inv_freq(8).bfloat16(),
            TypeError,
            "inv_freq must be float64 or float32, got torch.bfloat",
        ),
        (torch.arange(4), TypeError, "inv_freq must be float64 or float32, got torch.int64"),
        (inv_freq(8)[None], ValueError, r"must be \(num_pairs,\), got shape \(1, 4\)"),
        (inv_freq(8) * math.nan, ValueError, "inv_freq must be finite, got .*nan"),
        (inv_freq(8) * math.inf, ValueError, "inv_freq must be finite, got .*inf"),
        (inv_freq(8) * 1e300, ValueError, r"must be less than 2\*\*53 rad/token.*, got 1e\+300"),
        (-inv_freq(8) * 2**53, ValueError, r"must be less than 2\*\*53 rad/token"),
        ([1.0], TypeError, r"inv_freq must be a tensor, got \[1.0\]"),
        (None, TypeError, "inv_freq must be a tensor, got None"),
    ],
)
def test_wrong_frequencies_are_refused(frequencies, error, message):
    with pytest.raises(error, match=message):
        cos_sin([0], frequencies)


def test_angles_that_float64_does_not_know_are_refused():
    fast = inv_freq(8) * 2**20
    rotary, q = RotaryEmbedding(8, inv_freq=fast, layout="half"), randn(1, 8)
    cos_sin([2**32], fast), rotary(q, q, [2**32]), rotary(q, q, offset=2**32)
    for call in (
        lambda: cos_sin([2**33], fast),
        lambda: rotary(q, q, [2**33]),
        lambda: rotary(q, q, offset=2**33),
    ):
        with pytest.raises(
            ValueError, match=r"8.59e\+09 in size, where float64 knows their angles"
        ):
            call()


def test_tables_of_low_precision_are_refused():
    for dtype in (torch.bfloat16, torch.float16, torch.int64):
        with pytest.raises(TypeError, match=f"dtype must be torch.float32 or .*, got {dtype}"):
            tables(dtype=dtype)
        with pytest.raises(TypeError, match=f"cos and sin must be float32 or float64, got {dtype}"):
            apply_rotary(randn(5, 8), *(t.to(dtype) for t in tables()), layout="half")


@pytest.mark.parametrize("factor", [0.0, -1.0, math.nan, math.inf])
def test_wrong_attention_factor_is_refused(factor):
    with pytest.raises(ValueError, match=f"must be positive and finite, got {factor}"):
        tables(attention_factor=factor)


@pytest.mark.parametrize("factor", [1e40, 1e-40])
def test_attention_factor_beyond_float32_is_refused(factor):
    message = f"attention_factor must be between .* and .*, .* got {re.escape(str(factor))}"
    with pytest.raises(ValueError, match=message):
        tables(attention_factor=factor)
    with pytest.raises(ValueError, match=message):
        RotaryEmbedding(8, attention_factor=factor, layout="half")


@pytest.mark.parametrize("factor", ["a", None, True, 1j, [1.0]])
def test_attention_factor_must_be_a_number(factor):
    message = f"attention_factor must be a real number, got {re.escape(repr(factor))}"
    with pytest.raises(TypeError, match=message):
        tables(attention_factor=factor)
    with pytest.raises(TypeError, match=message):
        RotaryEmbedding(8, attention_factor=factor, layout="half")


@pytest.mark.parametrize(
    "dtype", [torch.int64, torch.bool, torch.complex64, torch.float8_e4m3fn, torch.float8_e5m2]
)
def test_x_must_be_floating(dtype):
    rotary = RotaryEmbedding(8, layout="half")
    for seq_len in (1, 5):
        x = torch.ones(2, 3, seq_len, 8).to(dtype)
        with pytest.raises(TypeError, match=f"x must be bfloat16, .* or float64, got {dtype}"):
            apply_rotary(x, *tables(range(seq_len)), layout="half")
        for ids in (None, range(seq_len)):
            with pytest.raises(TypeError, match=f"x must be bfloat16, .*, got {dtype}"):
                rotary(x, x, ids)


@pytest.mark.parametrize("wrong", [None, [1.0, 2.0], 3, np.ones((5, 8))])
def test_tensors_must_be_tensors(wrong):
    x, (cos, sin), rotary = randn(5, 8), tables(), RotaryEmbedding(8, layout="half")
    got = f"must be a tensor, got {re.escape(reprlib.repr(wrong))}"
    for name, call in {
        "x": lambda: apply_rotary(wrong, cos, sin, layout="half"),
        "cos": lambda: apply_rotary(x, wrong, sin, layout="half"),
        "sin": lambda: apply_rotary(x, cos, wrong, layout="half"),
        "q": lambda: rotary(wrong, x),
        "k": lambda: rotary(x, wrong),
    }.items():
        with pytest.raises(TypeError, match=f"{name} {got}"):
            call()
    for seq_dim in (-2, 0):
        with pytest.raises(TypeError, match=f"x {got}"):
            apply_rotary(wrong, cos, sin, layout="half", seq_dim=seq_dim)
    with pytest.raises(TypeError, match=f"x {got}"):
        convert_layout(wrong, source="half", target="half")


@pytest.mark.parametrize(
    ("x_shape", "table_shape", "message"),
    [
        ((8,), (5, 4), r"x must be \(..., seq_len, head_dim\), got shape \(8,\)"),
        ((5, 8), (4,), r"or \(batch, seq_len, num_pairs\), got shape \(4,\)"),
        ((5, 8), (1, 1, 5, 4), r"or \(batch, seq_len, num_pairs\), got shape \(1, 1, 5, 4\)"),
        ((5, 6), (5, 4), "at most head_dim, got 8 from cos and sin with head_dim 6"),
        ((5, 6), (5, 0), "rotary_dim must be positive .*, got 0"),
        ((3, 4, 8), (5, 4), r"x of shape \(3, 4, 8\) has seq_len 4, cos and sin 5$"),
        ((5, 8), (1, 4), "has seq_len 5, cos and sin 1$"),
        ((1, 8), (5, 4), "has seq_len 1, cos and sin 5$"),
        (
            (2, 5, 3, 8),
            (5, 4),
            r"is x \(batch, seq_len, num_heads, head_dim\)\? Then pass seq_dim=-3",
        ),
        ((2, 5, 3, 8), (2, 5, 4), r"is x \(batch, seq_len, num_heads, head_dim\)\?"),
        ((2, 3, 5, 8), (1, 5, 4), r"with the same batch, got cos \(1, 5, 4\) and x \(2, 3, 5, 8\)"),
        ((1, 3, 5, 8), (2, 5, 4), "with the same batch"),
        (
            (2, 5, 8),
            (2, 5, 4),
            r"per batch need x of shape \(batch, num_heads, seq_len, head_dim\)",
        ),
        ((1, 2, 3, 5, 8), (1, 5, 4), "per batch need x of shape"),
    ],
)
def test_nothing_broadcasts_silently(x_shape, table_shape, message):
    for out in (None, torch.zeros(x_shape)):
        with pytest.raises(ValueError, match=message):
            args = torch.zeros(x_shape), torch.zeros(table_shape), torch.zeros(table_shape)
            apply_rotary(*args, layout="half", out=out)


def test_cos_and_sin_must_be_alike():
    cos, sin = tables()
    with pytest.raises(ValueError, match=r"same shape and dtype, got \(5, 4\) .* and \(5, 3\)"):
        apply_rotary(randn(5, 8), cos, sin[:, :3], layout="half")
    with pytest.raises(ValueError, match=r"same shape and dtype, got .*float64 and .*float32"):
        apply_rotary(randn(5, 8), cos, sin.float(), layout="half")


def test_devices_must_agree():
    with pytest.raises(ValueError, match="must be on one device, got meta, cpu, cpu"):
        apply_rotary(torch.empty(5, 8, device="meta"), *tables(), layout="half")


def test_unknown_layouts_are_refused():
    for layout in ("neox", "HALF", None):
        message = f'must be "interleaved" or "half", got {layout!r}'
        with pytest.raises(ValueError, match=f"layout {message}"):
            apply_rotary(randn(5, 8), *tables(), layout=layout)
        with pytest.raises(ValueError, match=f"layout {message}"):
            RotaryEmbedding(8, layout=layout)
        with pytest.raises(ValueError, match=f"source {message}"):
            convert_layout(randn(8), source=layout, target="half")
        with pytest.raises(ValueError, match=f"target {message}"):
            convert_layout(randn(8), source="half", target=layout)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (torch.zeros(5, 6), r"out must have the shape of x, got .*\[5, 6\].* for .*\[5, 8\]"),
        (torch.zeros(1, 5, 8), "out must have the shape of x"),
        (torch.zeros(5, 8).double(), "out must have the dtype of x, got .*float64 for .*float32"),
        (torch.zeros(5, 8, device="meta"), "out must have the device of x, got meta for cpu"),
        (torch.zeros(5, 8, requires_grad=True), "no gradient flows through out"),
    ],
)
@every_layout
def test_wrong_out_is_refused(out, message, layout):
    with pytest.raises(ValueError, match=message):
        apply_rotary(randn(5, 8).float(), *tables(), layout=layout, out=out)


@every_layout
def test_out_is_refused_where_a_gradient_would_be_lost(layout):
    x, (cos, sin) = randn(5, 8), tables()
    for wants in (x, cos, sin):
        wants.requires_grad_()
        with pytest.raises(ValueError, match=r"no gradient flows through out; .* torch.no_grad"):
            apply_rotary(x, cos, sin, layout=layout, out=torch.empty(5, 8).double())
        with torch.no_grad():
            apply_rotary(x, cos, sin, layout=layout, out=torch.empty(5, 8).double())
        wants.requires_grad_(False)


@every_layout
def test_out_that_overlaps_x_is_refused(layout):
    memory = randn(6, 8)
    with pytest.raises(ValueError, match="out must be x itself or lie in other memory"):
        apply_rotary(memory[:5], *tables(), layout=layout, out=memory[1:])


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"head_dim": 7}, ValueError, "head_dim must be even where all of it rotates, got 7"),
        ({"head_dim": 8, "rotary_dim": 5}, ValueError, "rotary_dim must be even, got 5"),
        ({"head_dim": 8, "rotary_dim": 0}, ValueError, "rotary_dim must be positive, got 0"),
        ({"head_dim": 8, "rotary_dim": 10}, ValueError, "at most head_dim, got 10 with head_dim 8"),
        ({"head_dim": 8, "rotary_dim": 4.0}, TypeError, "rotary_dim must be an integer, got 4.0"),
        ({"head_dim": 8, "base": 0}, ValueError, "base must be positive and finite, got 0"),
        ({"head_dim": 8, "base": "10000"}, TypeError, "base must be a real number, got '10000'"),
    ],
)
def test_wrong_module_settings_are_refused(kwargs, error, message):
    with pytest.raises(error, match=message):
        RotaryEmbedding(**kwargs, layout="half")


@pytest.mark.parametrize(
    ("head_dim", "rotary_dim", "error", "message"),
    [
        (7, None, ValueError, "head_dim must be even where all of it rotates, got 7"),
        (8, 5, ValueError, "rotary_dim must be even, got 5"),
        (8, -2, ValueError, "rotary_dim must be positive, got -2"),
        (8, 10, ValueError, "rotary_dim must be at most head_dim, got 10 with head_dim 8"),
        (8, 4.0, TypeError, "rotary_dim must be an integer, got 4.0"),
    ],
)
def test_wrong_conversion_is_refused(head_dim, rotary_dim, error, message):
    with pytest.raises(error, match=message):
        convert_layout(randn(head_dim), source="half", target="half", rotary_dim=rotary_dim)


def test_module_refuses_inputs_that_do_not_fit():
    rotary = RotaryEmbedding(8, layout="half")
    with pytest.raises(ValueError, match=r"q must have head_dim 8, got shape \(5, 6\)"):
        rotary(randn(5, 6), randn(5, 8))
    with pytest.raises(ValueError, match=r"k must have head_dim 8, got shape \(5, 10\)"):
        rotary(randn(5, 8), randn(5, 10))
    with pytest.raises(
        ValueError, match="same seq_len where no position_ids are given, got 5 and 4"
    ):
        rotary(randn(5, 8), randn(4, 8))
    with pytest.raises(ValueError, match="has seq_len 5, cos and sin 4"):
        rotary(randn(5, 8), randn(5, 8), range(4))
    with pytest.raises(ValueError, match="has seq_len 4, cos and sin 5"):
        rotary(randn(5, 8), randn(4, 8), range(5))
    for shape in ((8,), ()):
        with pytest.raises(ValueError, match=r"q must have head_dim 8, got shape"):
            rotary(torch.zeros(shape), torch.zeros(shape))
    for ids in (None, range(5)):
        for other in ((3, 2, 5, 8), (2, 5, 8), (1, 2, 2, 5, 8)):
            with pytest.raises(ValueError, match=r"same axes before their heads, got .* and"):
                rotary(randn(2, 4, 5, 8), randn(*other), ids)
        rotary(randn(2, 4, 5, 8), randn(2, 1, 5, 8), ids)
    with pytest.raises(ValueError, match=r"x must be \(..., head_dim\), got shape \(\)"):
        convert_layout(torch.tensor(1.0), source="half", target="half")
