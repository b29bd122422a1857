"""What RoPE in two dimensions says of the plane beyond what its cells assert."""

import math

import pytest
import sympy as sp
import torch

from ropebook.symbolic import assert_equal, m, n, rotation, theta
from ropelib.attention import attend
from ropelib.encodings import Alibi, NoPosition, T5Bias, alibi_slopes


def shear(steps, slope):
    return torch.tensor([[1.0, slope * steps], [0.0, 1.0]], dtype=torch.float64)


def test_the_second_column_of_a_turn_is_where_up_goes():
    """A slip that is easily made: (0, 1) does not go where (1, 0) goes."""
    assert rotation(1) * sp.Matrix([0, 1]) == sp.Matrix([-sp.sin(1), sp.cos(1)])


def test_of_two_rotations_one_must_be_turned_back():
    """Imprecise without it: the angles add."""
    assert_equal(rotation(m * theta) * rotation(n * theta), rotation((m + n) * theta))
    assert_equal(rotation(m * theta).T * rotation(n * theta), rotation((n - m) * theta))


@pytest.mark.parametrize("s", [0.3, 2.0, -5.0])
@pytest.mark.parametrize("t", [0.7, -1.5, 4.0])
def test_the_area_under_what_adds_gives_the_same_from_both_sides(s, t):
    """s phi(t) = Phi(t + s) - Phi(t) - Phi(s) where phi adds, and not where it does not."""
    u = sp.Symbol("u", real=True)

    def gap(phi):
        def area(x):
            return sp.integrate(phi(u), (u, 0, x))

        return float(s * phi(t) - (area(t + s) - area(t) - area(s)))

    assert math.isclose(gap(lambda x: 3 * x), 0, abs_tol=1e-9)
    assert abs(gap(lambda x: x**2)) > 0.05


def test_alibi_is_a_shear_of_two_constant_coordinates():
    """As GRAPE has it: the attention of ALiBi, from a dot product alone, looking back."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 4, 20, 8, generator=generator, dtype=torch.float64)
    alibi = Alibi(4).double()
    right, _ = attend(alibi, q, k, v, causal=True)

    lengthened = []
    for x, start in ((q, (1.0, 0.0)), (k, (0.0, 1.0))):
        constant = torch.tensor(start, dtype=torch.float64)
        heads = []
        for slope in alibi_slopes(4).tolist():
            slope *= math.sqrt(8)  # the division by sqrt(head_dim) takes it away again
            moved = [
                shear(-place, slope).T @ constant if x is q else shear(place, slope) @ constant
                for place in range(20)
            ]
            heads.append(torch.stack(moved))
        lengthened.append(torch.cat([x, torch.stack(heads)], dim=-1))
    by_shear, _ = attend(NoPosition(), *lengthened, v, causal=True, scale=1 / math.sqrt(8))
    torch.testing.assert_close(by_shear, right, atol=1e-12, rtol=1e-12)
    without, _ = attend(NoPosition(), q, k, v, causal=True)
    assert not torch.allclose(without, right, atol=1e-2)


def test_two_coordinates_hold_a_line_and_no_table_of_t5():
    """Scores q^T M^r k follow from the two before; two coordinates give a matrix of rank 2."""
    generator = torch.Generator().manual_seed(1)
    for _ in range(20):
        M, vectors = torch.randn(2, 2, 2, generator=generator, dtype=torch.float64)
        M = M + 2 * torch.eye(2).double()
        scores = [vectors[0] @ torch.linalg.matrix_power(M, r) @ vectors[1] for r in range(6)]
        for r in range(4):
            follows = M.trace() * scores[r + 1] - torch.linalg.det(M) * scores[r]
            torch.testing.assert_close(scores[r + 2], follows, rtol=1e-9, atol=1e-9)

    places = torch.arange(256)
    torch.manual_seed(0)
    table = T5Bias(1, bidirectional=False).score_bias(None, None, places, places)[0]
    line = Alibi(8).score_bias(None, None, places, places)[0]
    # Queries of the second half, keys of the first: a causal mask leaves all of these.
    ranks = [torch.linalg.matrix_rank(x[128:, :128].double()).item() for x in (line, table)]
    assert ranks[0] == 2 and ranks[1] > 50


def test_every_kind_of_step_in_the_plane_is_one_of_three():
    """The real Jordan form: complex eigenvalues turn, equal ones shear, real ones stretch."""
    generator = torch.Generator().manual_seed(2)
    kinds = set()
    for _ in range(50):
        M = torch.randn(2, 2, generator=generator, dtype=torch.float64)
        discriminant = M.trace() ** 2 - 4 * torch.linalg.det(M)
        values, vectors = torch.linalg.eig(M)
        if discriminant < 0:
            kinds.add("turn")
            factor, angle = values[0].abs(), values[0].angle()
            basis = torch.stack([vectors[:, 0].real, vectors[:, 0].imag], dim=1)
            c, s = angle.cos(), angle.sin()
            normal = factor * torch.stack([torch.stack([c, s]), torch.stack([-s, c])])
        else:
            kinds.add("stretch")
            basis, normal = vectors.real, torch.diag(values.real)
        torch.testing.assert_close(basis @ normal @ torch.linalg.inv(basis), M)
    assert kinds == {"turn", "stretch"}
    # Between them, where the discriminant is 0: a multiple of I, or of a shear.
    for M in (sp.Matrix([[3, 1], [-1, 1]]), sp.Matrix([[2, 0], [0, 2]])):
        _, form = M.jordan_form()
        assert form[0, 0] == form[1, 1] == 2 and form[1, 0] == 0 and form[0, 1] in (0, 1)
