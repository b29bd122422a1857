"""Each way of rotating is the one formula, wherever tensors lie in memory."""

import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from vectors import (
    LAYOUTS,
    POSITIONS,
    assert_equal_but_for_the_last_bit,
    both_ways,
    every_layout,
    every_width,
    randn,
    tables,
)

from ropelib import RotaryEmbedding, apply_rotary, convert_layout, inv_freq, kernels, reference
from ropelib.pairs import rotate_pairs


def by_few(x, cos, sin, layout):
    return kernels.rotate_few(x, *kernels.factors_of(x, cos, sin, layout))


def by_few_together(x, cos, sin, layout):
    first, both = kernels.rotate_together(x[:, :1], x, *kernels.factors_of(x, cos, sin, layout))
    assert torch.equal(first, both[:, :1])
    return both


def by_neighbors(x, cos, sin, layout):
    """As they are in the interleaved layout; of the other, seated so and back again."""
    rotary_dim = 2 * cos.shape[-1]
    turns = x[..., :rotary_dim].clone()
    if layout == "half":
        turns = convert_layout(turns, source="half", target="interleaved")
    turned = kernels.rotate_neighbors(turns, torch.complex(cos, sin))
    if layout == "half":
        turned = convert_layout(turned, source="interleaved", target="half")
    return torch.cat((turned, x[..., rotary_dim:]), dim=-1)


def by_blocks(x, cos, sin, layout):
    return kernels.rotate_into(torch.empty_like(x), x, cos, sin, layout)


def chosen(x, cos, sin, layout):
    return kernels.rotate(x, cos, sin, layout, None)


WAYS = {
    "rotate": chosen,
    "rotate_few": by_few,
    "rotate_fused": kernels.rotate_fused,
    "rotate_into": by_blocks,
    "rotate_neighbors": by_neighbors,
    "rotate_together": by_few_together,
    "rotate_with_gradient": kernels.rotate_with_gradient,
}


@every_layout
@every_width
@pytest.mark.parametrize("way", WAYS)
def test_every_way_is_the_formula(way, layout, head_dim, rotary_dim):
    x, (cos, sin) = randn(2, 3, 5, head_dim), tables(rotary_dim=rotary_dim)
    exact = rotate_pairs(x, cos, sin, layout)
    # Two products and a sum of numbers below 8, each rounded by itself, or all at once.
    torch.testing.assert_close(WAYS[way](x, cos, sin, layout), exact, rtol=0, atol=4e-15)


def test_no_way_is_left_out():
    functions = {name for name in vars(kernels) if name.startswith("rotate")}
    assert functions == {*WAYS, rotate_pairs.__name__}


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
def test_a_sign_that_is_still_to_be_turned_is_turned(layout):
    x, turned = randn(2, 5, 8), torch._neg_view(-randn(2, 5, 8))
    expected = apply_rotary(x, *tables(), layout=layout)
    assert_equal_but_for_the_last_bit(apply_rotary(turned, *tables(), layout=layout), expected)
    for out in (torch.empty_like(x), torch._neg_view(torch.empty_like(x))):
        apply_rotary(turned, *tables(), layout=layout, out=out)
        assert_equal_but_for_the_last_bit(out, expected)


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
    monkeypatch.setattr(kernels, "BLOCK", block)
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


class Allocated(TorchDispatchMode):
    """Add up the memory of what is made, as if nothing were ever given back; note the largest."""

    largest = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        made = operation(*args, **(kwargs or {}))
        known = {
            x.untyped_storage().data_ptr()
            for x in tree_leaves((args, kwargs))
            if isinstance(x, torch.Tensor)
        }
        for x in tree_leaves(made):
            if isinstance(x, torch.Tensor) and x.untyped_storage().data_ptr() not in known:
                self.largest = max(self.largest, x.untyped_storage().nbytes())
        return made


@every_layout
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("in_place", [True, False])
def test_writing_into_out_needs_no_more_than_a_block(layout, dtype, in_place, monkeypatch):
    monkeypatch.setattr(kernels, "FEW", 0)
    monkeypatch.setattr(kernels, "TINY", 0)
    monkeypatch.setattr(kernels.native, "kernel", lambda: None)
    x, cos_and_sin = randn(64, 256, 64, dtype=dtype), tables(range(256), 64, torch.float32)
    out = x if in_place else torch.empty_like(x)
    monkeypatch.setattr(kernels, "BLOCK", 2**13)
    with Allocated() as allocated:
        apply_rotary(x, *cos_and_sin, layout=layout, out=out)
    tables_too = 2 * cos_and_sin[0].nbytes  # as complex numbers, or as they are
    assert allocated.largest <= max(tables_too, 2 * 2**13 * torch.get_num_threads())
    with Allocated() as allocated:
        apply_rotary(x, *cos_and_sin, layout=layout)
    assert allocated.largest >= x.nbytes


# torch's own ways to change what operations do


@both_ways
@every_layout
@pytest.mark.parametrize("rotary_dim", [8, 6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("autocast", [torch.bfloat16, torch.float16])
def test_autocast_changes_nothing(layout, rotary_dim, dtype, autocast):
    rotary, cos_and_sin = (
        RotaryEmbedding(8, rotary_dim=rotary_dim, layout=layout),
        tables(range(5), rotary_dim, torch.float32),
    )
    q, k = randn(1, 3, 5, 8, dtype=dtype), randn(1, 2, 5, 8, seed=1, dtype=dtype)
    learned = cos_and_sin[0].clone().requires_grad_()

    def rotated():
        steps = [x[:, :, :1] for x in (q, k)]
        yield from rotary(q, k)
        yield from rotary(*steps, offset=3)
        yield from rotary(*steps, offset=4)
        yield from rotary(*steps, torch.tensor([4]))
        yield apply_rotary(q, learned, cos_and_sin[1], layout=layout)
        yield apply_rotary(q.clone().requires_grad_(), *cos_and_sin, layout=layout)
        yield apply_rotary(q, *cos_and_sin, layout=layout, out=torch.empty_like(q))

    expected = [*rotated()]
    with torch.autocast("cpu", dtype=autocast):
        for ours, exact in zip(rotated(), expected, strict=True):
            assert torch.equal(ours, exact) and ours.dtype == dtype


@every_layout
def test_autocast_changes_nothing_of_what_a_compiler_reads(layout):
    torch.compiler.reset()
    x, cos_and_sin = randn(3, 5, 8, dtype=torch.float16), tables(dtype=torch.float32)

    def rotate(x):
        return apply_rotary(x, *cos_and_sin, layout=layout)

    with torch.autocast("cpu", dtype=torch.bfloat16):
        turned = torch.compile(rotate, fullgraph=True, backend="aot_eager")(x)
    torch.testing.assert_close(turned, rotate(x))


@both_ways
@every_layout
@pytest.mark.filterwarnings("ignore")  # torch.jit.trace warns of much
def test_functions_without_side_effects_and_traces_hold_for_other_numbers(layout):
    x, cos_and_sin = randn(3, 5, 8), tables(rotary_dim=6)

    def rotate(x):
        return apply_rotary(x, *cos_and_sin, layout=layout)

    def gradient(x):
        return torch.func.grad(lambda x: rotate(x).pow(3).sum())(x)

    torch.testing.assert_close(torch.func.functionalize(rotate)(x), rotate(x))
    torch.testing.assert_close(torch.func.functionalize(gradient)(x), gradient(x))
    traced = torch.jit.trace(rotate, x, check_trace=False)
    torch.testing.assert_close(traced(x + 1), rotate(x + 1))
