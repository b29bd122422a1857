"""What document 003 claims, where no chapter's own tests decide it: its proof, line by line."""

import pytest
import sympy as sp
import torch
from claims import decides

from ropebook.symbolic import WrongStep, assert_equal, m, n, rotation, theta

Q, K = (sp.Matrix(sp.symbols(f"{letter}_1:3", real=True)) for letter in "qk")
TURN_M, TURN_N = rotation(m * theta), rotation(n * theta)


@decides("S003-2")
def test_queries_and_keys_are_linear_maps_of_one_word():
    generator = torch.Generator().manual_seed(0)
    words = torch.randn(5, 8, generator=generator, dtype=torch.float64)
    for features in (4, 8):
        to_q = torch.nn.Linear(8, features, bias=False).double()
        by_matrix = torch.stack([to_q.weight @ word for word in words])
        torch.testing.assert_close(to_q(words), by_matrix)


@decides("S002-22", "S003-11", "S003-12")
def test_a_key_turns_as_a_query_does_and_the_score_is_the_product_of_both():
    for vector, place, turn in ((Q, m, TURN_M), (K, n, TURN_N)):
        number = (vector[0] + sp.I * vector[1]) * sp.exp(sp.I * place * theta)
        assert_equal(sp.Matrix([sp.re(number), sp.im(number)]), turn * vector)
    barred = (Q[0] + sp.I * Q[1]) * (K[0] - sp.I * K[1]) * sp.exp(sp.I * (m - n) * theta)
    assert_equal((TURN_M * Q).dot(TURN_N * K), sp.re(barred))


@decides("S003-13")
def test_a_column_does_not_multiply_the_matrix_from_the_left():
    between = sp.Matrix(
        [
            [
                sp.cos(m * theta) * sp.cos(n * theta) + sp.sin(m * theta) * sp.sin(n * theta),
                sp.sin(m * theta) * sp.cos(n * theta) - sp.cos(m * theta) * sp.sin(n * theta),
            ],
            [
                sp.cos(m * theta) * sp.sin(n * theta) - sp.sin(m * theta) * sp.cos(n * theta),
                sp.cos(m * theta) * sp.cos(n * theta) + sp.sin(m * theta) * sp.sin(n * theta),
            ],
        ]
    )
    with pytest.raises(sp.matrices.exceptions.ShapeError):
        Q * between * K
    assert_equal((Q.T * between * K)[0], (TURN_M * Q).dot(TURN_N * K))


@decides("S003-6", "S003-14")
def test_between_query_and_key_stands_the_turn_by_n_minus_m():
    score = (TURN_M * Q).dot(TURN_N * K)
    assert_equal((Q.T * rotation((n - m) * theta) * K)[0], score)
    with pytest.raises(WrongStep):
        assert_equal((Q.T * rotation((m - n) * theta) * K)[0], score)
    # Where the printed sign would be right: the turn is the key's, or the row is the key.
    assert_equal((K.T * rotation((m - n) * theta) * Q)[0], score)
