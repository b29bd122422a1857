"""Derivatives of the rotation, and torch's function transforms."""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from vectors import POSITIONS, both_ways, every_layout, every_width, randn, tables

from ropelib import apply_rotary, inv_freq, kernels, reference
from ropelib.pairs import rotate_pairs


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


def nested(rotate, x, cos, sin):
    """Derivatives to tables while an inner transform takes one to `x`, by name."""

    def loss(x, cos):
        return (rotate(x, cos, sin) ** 3).sum()

    def inner(cos):
        return (torch.func.grad(loss)(x, cos) ** 2).sum()

    yield "reverse over reverse", torch.func.grad(inner)(cos)
    yield "forward over reverse", torch.func.jvp(inner, (cos,), (cos,))[1]
    yield (
        "reverse over forward",
        torch.func.grad(lambda c: torch.func.jacfwd(loss)(x, c).sum())(cos),
    )
    learned = cos.clone().requires_grad_()
    (grad,) = torch.autograd.grad(inner(learned), learned)
    yield "reverse over reverse, outside of functions", grad
    many = torch.stack((cos, sin))

    def over_tables(cos):
        return torch.vmap(lambda c: rotate(x, c, sin))(cos)

    yield "forward over tables in batches", torch.func.jvp(over_tables, (many,), (many,))[1]
    yield "reverse over tables in batches", torch.func.grad(lambda c: over_tables(c).sum())(many)


@both_ways
@every_layout
@pytest.mark.parametrize("form", ["from zero", "per batch"])
def test_tables_get_the_derivatives_that_an_outer_transform_takes(layout, form):
    x, (cos, sin) = randn(2, 2, 5, 8), tables(POSITIONS[form], 6)

    def exact(x, cos, sin):
        wide = (t.unsqueeze(-3) if t.dim() == 3 else t for t in (cos, sin))
        return rotate_pairs(x, *wide, layout)

    def ours(x, cos, sin):
        return apply_rotary(x, cos, sin, layout=layout)

    expected = nested(exact, x, cos, sin)
    for (name, right), (_, result) in zip(expected, nested(ours, x, cos, sin), strict=True):
        torch.testing.assert_close(result, right, msg=lambda text, name=name: f"{name}: {text}")


@both_ways
@every_layout
def test_learned_tables_are_constants_where_no_gradient_is_kept(layout, monkeypatch):
    x, (cos, sin) = randn(2, 2, 5, 8), tables()
    expected = apply_rotary(x, cos, sin, layout=layout)
    learned = cos.clone().requires_grad_()

    def stopped(x):
        with torch.no_grad():
            turned = apply_rotary(x, learned, sin, layout=layout)
        return (x * turned).sum()

    torch.testing.assert_close(torch.func.grad(stopped)(x), expected)
    monkeypatch.setattr(kernels, "rotate_pairs", None)
    with torch.no_grad():
        torch.testing.assert_close(apply_rotary(x, learned, sin, layout=layout), expected)
        asking = x.clone().requires_grad_()
        torch.testing.assert_close(
            apply_rotary(asking, cos, learned * 0 + sin, layout=layout), expected
        )
