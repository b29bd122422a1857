"""The complex product in Python: two ways to the same number, and what it refuses."""

import cmath
import math

import pytest
import torch
import traitlets

pytest.importorskip("anywidget")

from ropebook.widgets import ComplexProduct
from ropelib import apply_rotary, cos_sin

PAIRS = [
    ([1.2, 0.5], [-0.9, 1.2]),
    ([0.3, -1.4], [1.0, 1.0]),
    ([-1.0, 0.2], [-0.4, -0.7]),
    ([1.6, 0.0], [0.0, -1.6]),
]


def test_the_first_state_has_round_numbers():
    explorer = ComplexProduct()
    assert explorer.product == pytest.approx(-1.68 + 0.99j, abs=1e-12)
    assert explorer.lengths == pytest.approx((1.3, 1.5, 1.95), abs=1e-12)
    assert explorer.determinant == pytest.approx(2.25, abs=1e-12)
    degrees = [round(math.degrees(angle), 1) for angle in explorer.angles]
    assert degrees == [22.6, 126.9, 149.5]
    assert explorer.unit is False


@pytest.mark.parametrize(("z", "w"), PAIRS)
def test_the_matrix_gives_the_same_product(z, w):
    explorer = ComplexProduct(z=z, w=w)
    assert explorer.product_by_matrix == pytest.approx(explorer.product, abs=1e-12)
    a, b = w
    assert explorer.matrix.tolist() == [[a, -b], [b, a]]
    assert explorer.determinant == pytest.approx(a * a + b * b, abs=1e-12)


@pytest.mark.parametrize(("z", "w"), PAIRS)
def test_lengths_multiply_and_angles_add(z, w):
    explorer = ComplexProduct(z=z, w=w)
    lengths, angles = explorer.lengths, explorer.angles
    assert lengths[2] == pytest.approx(lengths[0] * lengths[1], abs=1e-12)
    over = math.remainder(angles[2] - angles[0] - angles[1], math.tau)
    assert over == pytest.approx(0, abs=1e-12)
    for number, length, angle in zip((z, w), lengths, angles, strict=False):
        assert cmath.rect(length, angle) == pytest.approx(complex(*number), abs=1e-12)


@pytest.mark.parametrize("angle", [0.0, 0.7, math.pi, -2.0])
def test_a_factor_of_length_one_turns_as_rope_does(angle):
    explorer = ComplexProduct(w=[math.cos(angle), math.sin(angle)], unit=True)
    tables = cos_sin([1], torch.tensor([angle], dtype=torch.float64), dtype=torch.float64)
    z = torch.tensor([explorer.z], dtype=torch.float64)
    turned = complex(*apply_rotary(z, *tables, layout="interleaved")[0].tolist())
    assert explorer.product == pytest.approx(turned, abs=1e-12)


def test_zero_has_no_angle():
    explorer = ComplexProduct(z=[0.0, 0.0])
    assert explorer.product == 0
    assert [math.isnan(angle) for angle in explorer.angles] == [True, False, True]


def test_minus_one_has_half_a_turn_whatever_the_sign_of_its_zero():
    assert ComplexProduct(w=[-1.0, -0.0]).angles[1] == math.pi


def test_unit_takes_w_to_the_circle_in_its_direction_and_zero_to_one():
    explorer = ComplexProduct(w=[-0.9, 1.2])
    explorer.unit = True
    assert explorer.w == pytest.approx([-0.6, 0.8], abs=1e-12)
    assert ComplexProduct(unit=True).w == pytest.approx([-0.6, 0.8], abs=1e-12)
    zero = ComplexProduct(w=[0.0, 0.0])
    zero.unit = True
    assert zero.w == [1.0, 0.0]
    zero.unit = False
    zero.w = [0.5, 0.0]
    assert zero.lengths[1] == 0.5


def test_while_unit_is_on_w_keeps_to_the_circle():
    explorer = ComplexProduct(w=[0.0, 1.0], unit=True)
    message = r"w must have length 1 while unit is on, got \[1.0, 1.0\]"
    with pytest.raises(traitlets.TraitError, match=message):
        explorer.w = [1.0, 1.0]
    assert explorer.w == [0.0, 1.0]
    with pytest.raises(traitlets.TraitError, match=message):
        ComplexProduct(w=[1.0, 1.0], unit=True)
    explorer.w = [math.cos(2.0), math.sin(2.0)]


def test_the_picture_may_change_w_and_unit_at_once():
    explorer = ComplexProduct(w=[0.0, 1.0], unit=True)
    explorer.set_state({"w": [1.0, 1.0], "unit": False})
    assert (explorer.w, explorer.unit) == ([1.0, 1.0], False)
    explorer.set_state({"unit": True, "w": [0.8, 0.6]})
    assert (explorer.w, explorer.unit) == ([0.8, 0.6], True)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("z", [1.0], r"z must have a real and an imaginary part, got \[1.0\]"),
        ("w", [1.0, 0.0, 0.0], r"w must have a real and an imaginary part, got \[1.0, 0.0, 0.0\]"),
        ("z", [1.6, 0.1], r"z must have length at most 1.6, got \[1.6, 0.1\]"),
        ("w", [math.nan, 0.1], r"w must have length at most 1.6, got \[nan, 0.1\]"),
        ("w", [math.inf, 0.1], r"w must have length at most 1.6, got \[inf, 0.1\]"),
    ],
)
def test_the_product_refuses(name, value, message):
    with pytest.raises(traitlets.TraitError, match=message):
        ComplexProduct(**{name: value})
    explorer = ComplexProduct()
    before = getattr(explorer, name)
    with pytest.raises(traitlets.TraitError, match=message):
        setattr(explorer, name, value)
    assert getattr(explorer, name) == before


@pytest.mark.parametrize("name", ["z", "w"])
def test_the_product_takes_the_edge_of_its_rule(name):
    assert getattr(ComplexProduct(**{name: [0.0, -1.6]}), name) == [0.0, -1.6]
