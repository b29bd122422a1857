"""What the sources claim about complex numbers, decided: each test is named after what holds."""

import math

import pytest
import sympy as sp
import torch
from claims import decides

from ropebook.symbolic import WrongStep, assert_equal, m, q, rotation, theta
from ropelib import reference

a, b, c, d, x, y = sp.symbols("a b c d x y", real=True)
r = sp.Symbol("r", positive=True)
z, w = a + b * sp.I, c + d * sp.I
J = sp.Matrix([[0, -1], [1, 0]])
QUADRANTS = [(1.0, 2.0), (-1.0, 2.0), (-1.0, -2.0), (1.0, -2.0)]


def f(number):
    real, imaginary = sp.sympify(number).as_real_imag()
    return sp.Matrix([[real, -imaginary], [imaginary, real]])


@decides("S001-55")
def test_every_complex_number_is_one_pair_of_real_numbers():
    """As the sources say."""
    assert (sp.re(z), sp.im(z)) == (a, b)
    assert sp.solve([sp.re(z - w), sp.im(z - w)], [c, d]) == {c: a, d: b}


@decides("S001-56")
def test_the_imaginary_part_is_b_and_not_the_unit():
    """The sources say it imprecisely."""
    assert sp.im(z) == b
    assert sp.I not in sp.im(z).atoms()


@decides("S001-57")
def test_sums_and_products_are_as_printed():
    """As the sources say."""
    assert_equal(z + w, (a + c) + (b + d) * sp.I)
    assert_equal(z * w, (a * c - b * d) + (b * c + a * d) * sp.I)


@decides("S001-58")
def test_the_matrices_keep_sums_and_products():
    """True; with the minus in the other corner it is still true, with none it is not."""
    assert_equal(f(z + w), f(z) + f(w))
    assert_equal(f(z * w), f(z) * f(w))

    def without_minus(number):
        return f(number).applyfunc(abs)

    assert without_minus((1 + 2 * sp.I) * (3 + sp.I)) != without_minus(
        1 + 2 * sp.I
    ) * without_minus(3 + sp.I)


@decides("S001-59", "S001-63")
def test_the_image_is_what_commutes_with_the_quarter_turn_and_no_more():
    """Imprecise: the whole ring of these matrices, a subring of all 2 x 2."""
    entries = sp.symbols("e:4", real=True)
    matrix = sp.Matrix(2, 2, entries)
    (solved,) = sp.solve(list(matrix * J - J * matrix), entries[1::2], dict=True)
    assert_equal(matrix.subs(solved), f(entries[0] + solved.get(entries[2], entries[2]) * sp.I))
    mirror = sp.diag(1, -1)  # in R^(2 x 2), and no number's matrix
    assert sp.solve(list(f(z) - mirror), [a, b]) == []
    assert mirror * J != J * mirror
    assert sp.solve(list(f(z)), [a, b]) == {a: 0, b: 0}  # one-to-one


@decides("S001-60")
def test_the_determinant_is_the_modulus_squared():
    """The sources say otherwise: false."""
    assert_equal(f(z).det(), abs(z) ** 2)
    with pytest.raises(WrongStep):
        assert_equal(f(z).det(), abs(z))
    assert sp.solve(sp.Eq(r**2, r), r) == [1]  # besides zero


@decides("S001-61")
def test_the_conjugate_is_the_transpose():
    """As the sources say."""
    assert_equal(f(sp.conjugate(z)), f(z).T)


@decides("S001-62", "S002-11")
def test_multiplication_is_the_matrix_times_the_vector():
    """As the sources say."""
    by_matrix = f(z) * sp.Matrix([x, y])
    assert_equal(sp.Matrix([sp.re(z * (x + y * sp.I)), sp.im(z * (x + y * sp.I))]), by_matrix)


@decides("S001-64", "S001-65")
def test_the_polar_form_has_a_cosine():
    """The sources say otherwise: false."""
    polar = r * (sp.cos(theta) + sp.I * sp.sin(theta))
    assert_equal(abs(polar), r)
    assert_equal(sp.conjugate(polar), r * (sp.cos(theta) - sp.I * sp.sin(theta)))
    printed = r * (sp.sin(theta) + sp.I * sp.sin(theta))
    assert_equal(sp.re(printed), sp.im(printed))
    with pytest.raises(WrongStep):
        assert_equal(abs(printed) ** 2, r**2)


@decides("S001-66", "S002-13")
@pytest.mark.parametrize(("real", "imaginary"), QUADRANTS)
def test_the_arctangent_is_the_angle_for_positive_real_parts_only(real, imaginary):
    """The sources say it imprecisely."""
    length, angle = math.hypot(real, imaginary), math.atan2(imaginary, real)
    assert math.isclose(length * math.cos(angle), real)
    assert math.isclose(length * math.sin(angle), imaginary)
    assert math.isclose(math.atan(imaginary / real), angle) is (real > 0)


@decides("S001-67", "S003-9")
def test_euler():
    """As the sources say."""
    assert_equal(sp.exp(sp.I * theta), sp.cos(theta) + sp.I * sp.sin(theta))
    assert_equal(sp.conjugate(r * sp.exp(sp.I * theta)), r * sp.exp(-sp.I * theta))
    assert_equal(sp.exp(sp.I * m * theta), sp.cos(m * theta) + sp.I * sp.sin(m * theta))


def test_euler_is_where_small_steps_lead():
    """True, without SymPy's own knowledge of exp."""
    target = complex(math.cos(2), math.sin(2))
    misses = [abs((1 + 2j / steps) ** steps - target) for steps in (100, 10_000, 1_000_000)]
    assert misses[0] / misses[1] == pytest.approx(100, rel=0.05)
    assert misses[2] < 1e-5


@decides("S001-32")
def test_the_addition_formulas():
    """As the sources say."""
    i, j = sp.symbols("i j", real=True)
    assert_equal(sp.sin(i + j), sp.sin(i) * sp.cos(j) + sp.cos(i) * sp.sin(j))
    assert_equal(sp.cos(i + j), sp.cos(i) * sp.cos(j) - sp.sin(i) * sp.sin(j))
    at = sp.Matrix([sp.sin(i), sp.cos(i)])
    ahead = sp.Matrix([[sp.cos(j), sp.sin(j)], [-sp.sin(j), sp.cos(j)]])  # free of i
    assert_equal(ahead * at, sp.Matrix([sp.sin(i + j), sp.cos(i + j)]))


@decides("S002-12", "S002-14")
def test_multiplication_rotates_and_scales():
    """Imprecise where only the turn is named."""
    polar = r * sp.exp(sp.I * theta)
    assert_equal(f(polar), r * rotation(theta))
    assert_equal(f(polar), sp.diag(r, r) * rotation(theta))
    assert_equal(f(polar).T * f(polar), r**2 * sp.eye(2))
    with pytest.raises(WrongStep):
        assert_equal(f(polar).T * f(polar), sp.eye(2))  # what a rotation would do


@decides("S000-23", "S003-8")
def test_neighboring_dimensions_are_read_as_complex_numbers():
    """As the sources say."""
    vector = torch.tensor([1.0, 2.0, 3.0, 4.0])
    pairs = torch.view_as_complex(vector.unflatten(-1, (-1, 2)))
    assert pairs.tolist() == [1 + 2j, 3 + 4j]


@decides("S000-24", "S000-25", "S001-71", "S002-15", "S003-10", "S004-12")
def test_multiplying_by_a_number_of_length_one_is_the_rotation_matrix():
    """As the sources say."""
    turned = z * sp.exp(sp.I * theta)
    printed = (a * sp.cos(theta) - b * sp.sin(theta), a * sp.sin(theta) + b * sp.cos(theta))
    assert_equal(turned, printed[0] + sp.I * printed[1])
    assert_equal(sp.Matrix(printed), rotation(theta) * sp.Matrix([a, b]))

    at_m = (q[0] + sp.I * q[1]) * sp.exp(sp.I * m * theta)
    assert_equal(sp.Matrix([sp.re(at_m), sp.im(at_m)]), rotation(m * theta) * q)
    numbers = torch.randn(5, dtype=torch.complex128)
    by_number = numbers * torch.polar(torch.ones(5).double(), 0.3 * torch.arange(5).double())
    by_matrix = reference.rotate(
        torch.view_as_real(numbers), torch.arange(5), [0.3], layout="interleaved"
    )
    assert torch.allclose(torch.view_as_real(by_number), by_matrix, rtol=0, atol=1e-14)
