"""The complex product in Python: two ways to the same number, and what it refuses."""

import cmath
import math

import pytest
import torch
import traitlets

pytest.importorskip("anywidget")

from browser import watched
from hands import drag
from oracles import Oracle, held_by, wrong_readouts
from refusals import assert_refused

from ropebook.widgets import ComplexProduct
from ropelib import apply_rotary, cos_sin
from ropelib.reference import rotation_matrix

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
    by_matrix = explorer.matrix @ torch.tensor(z, dtype=torch.float64)
    assert complex(*by_matrix.tolist()) == pytest.approx(explorer.product, abs=1e-12)
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
    assert_refused(ComplexProduct, name, value, message)


@pytest.mark.parametrize("name", ["z", "w"])
def test_the_product_takes_the_edge_of_its_rule(name):
    assert getattr(ComplexProduct(**{name: [0.0, -1.6]}), name) == [0.0, -1.6]


# ---- what it must report ----


def answers(inputs):
    z, w = (torch.tensor(inputs[name], dtype=torch.float64) for name in ("z", "w"))

    def angle(number):
        return math.atan2(number[1], number[0]) if number.any() else math.nan

    # Not by the rule for products: stretched by the length of w, turned by its angle.
    turn = angle(w) if w.any() else 0.0
    matrix = w.norm() * rotation_matrix(1.0, [turn], layout="interleaved")
    numbers = {"z": z, "w": w, "product": matrix @ z}
    return {
        **{f"{name}_re": number[0].item() for name, number in numbers.items()},
        **{f"{name}_im": number[1].item() for name, number in numbers.items()},
        **{f"{name}_length": number.norm().item() for name, number in numbers.items()},
        **{f"{name}_angle": angle(number) for name, number in numbers.items()},
        **{f"matrix_{i}{j}": matrix[i, j].item() for i in (0, 1) for j in (0, 1)},
        "determinant": torch.linalg.det(matrix).item(),
    }


ORACLE = Oracle(answers, held=("z", "w"))


# ---- what it does when it is moved ----


STOPS = {
    "w_i": lambda z: 1j,
    "w_minus_one": lambda z: -1,
    "w_one_plus_i": lambda z: 1 + 1j,
    "w_z": lambda z: z,
    "w_conjugate": lambda z: z.conjugate(),
}


def test_stops_set_the_factor_that_they_name(on_scratch):
    product = on_scratch("complex_product")
    start = held_by(product)
    product.control("unit").click()
    for stop, factor in STOPS.items():
        product.control(stop).click()
        product.still()
        w = complex(factor(complex(*start["z"])))
        assert wrong_readouts(product, {"z": start["z"], "w": [w.real, w.imag]}) == []
        assert product.control(stop).get_attribute("aria-pressed") == "true"
        # A factor off the unit circle cannot leave the switch on.
        assert product.control("unit").is_checked() == (stop in ("w_i", "w_minus_one"))
    product.control("reset").click()
    product.still()
    assert wrong_readouts(product, start) == []


def test_handles_of_a_product_obey_arrow_keys_and_the_unit_circle(on_scratch):
    product = on_scratch("complex_product")
    start = held_by(product)
    z, w = (list(start[name]) for name in ("z", "w"))
    for handle, number in (("z", z), ("w", w)):
        product.control(handle).focus()
        for key, axis, step in (("ArrowRight", 0, 0.1), ("Shift+ArrowDown", 1, -0.5)):
            product.page.keyboard.press(key)
            number[axis] += step
    product.frames()
    assert wrong_readouts(product, {"z": z, "w": w}) == []
    product.control("unit").click()
    angle = math.atan2(w[1], w[0])
    product.control("w").focus()
    for key, turn in (("ArrowRight", 5), ("ArrowDown", -5), ("Shift+ArrowUp", 25)):
        product.page.keyboard.press(key)
        product.frames()
        angle += math.radians(turn)
        on_circle = [math.cos(angle), math.sin(angle)]
        assert wrong_readouts(product, {"z": z, "w": on_circle}) == []
    product.reveal("w")
    at = product.center("w")
    drag(product.page, at, [at[0] + 150, at[1] - 20])
    product.frames()
    assert product.report("w_length") == pytest.approx(1, abs=1e-9)
    assert product.report("w_angle") != pytest.approx(math.remainder(angle, math.tau), abs=0.1)
    held = {"z": z, "w": [product.report("w_re"), product.report("w_im")]}
    assert wrong_readouts(product, held) == []


def test_lengths_hold_while_the_factor_runs_once_around(on_scratch):
    product = on_scratch("complex_product")
    product.control("unit").click()
    product.frames()
    names = ["w_length", "product_length", "z_angle", "w_angle", "product_angle"]
    start = [product.report(name) for name in names]
    frames = watched(product, "once_around", names, seconds=6.0)
    product.still()
    for shown in frames:
        assert shown[:3] == pytest.approx(start[:3], abs=1e-9)
        apart = shown[4] - shown[3] - shown[2]
        assert math.remainder(apart, math.tau) == pytest.approx(0, abs=1e-9)
    assert {round(frame[3]) for frame in frames} == {-3, -2, -1, 0, 1, 2, 3}, "not all around"
    assert [product.report(name) for name in names] == pytest.approx(start, abs=1e-9)
