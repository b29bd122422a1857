"""Derivations display only what SymPy has proved, and equal what torch computes."""

import pytest
import sympy as sp
import torch

import ropelib
from ropebook.symbolic import (
    Derivation,
    Formula,
    WrongStep,
    assert_equal,
    difference,
    k,
    m,
    n,
    product,
    q,
    rotation,
    score,
    score_closed_form,
    theta,
)

i = sp.I
q_c, k_c = q[0] + i * q[1], k[0] + i * k[1]

TRUE = {
    "closed form": (score(), score_closed_form()),
    "one matrix": (score(), product(q.T, rotation((n - m) * theta), k)),
    "complex, bar on q": (
        score(),
        sp.re(sp.conjugate(q_c) * k_c * sp.exp(i * (n - m) * theta)),
    ),
    "complex, bar on k": (
        score(),
        sp.re(q_c * sp.conjugate(k_c) * sp.exp(i * (m - n) * theta)),
    ),
    "composition": (rotation(m) * rotation(n), rotation(m + n)),
    "transpose": (rotation(m).T, rotation(-m)),
    "identity": (rotation(0), sp.eye(2)),
    "determinant": (rotation(m).det(), 1),
    "generator": ((m * sp.Matrix([[0, -1], [1, 0]])).exp(), rotation(m)),
}
FALSE = {
    "sources 002 and 003: R((m - n) theta)": (
        score(),
        product(q.T, rotation((m - n) * theta), k),
    ),
    "closed form with the other sign": (score(), score_closed_form().subs(theta, -theta)),
    "bar on the wrong side": (
        score(),
        sp.re(sp.conjugate(q_c) * k_c * sp.exp(i * (m - n) * theta)),
    ),
    "no bar at all": (score(), sp.re(q_c * k_c * sp.exp(i * (n - m) * theta))),
    "plain score times a cosine": (score(), q.dot(k) * sp.cos((n - m) * theta)),
    "no transpose": (rotation(m) * rotation(n), rotation(n - m)),
    "clockwise": (rotation(m), rotation(-m)),
    "a mirror for a turn": (rotation(m), rotation(m) * sp.diag(1, -1)),
    "source 000: the image of (0, 1)": (
        rotation(1) * sp.Matrix([0, 1]),
        sp.Matrix([sp.cos(1), sp.sin(1)]),
    ),
    "sin + i sin": (sp.exp(i * theta), sp.sin(theta) + i * sp.sin(theta)),
}


@pytest.mark.parametrize("identity", TRUE)
def test_a_true_identity_is_proved(identity):
    assert_equal(*TRUE[identity])


@pytest.mark.parametrize("identity", FALSE)
def test_a_false_identity_is_refused_with_what_is_left_over(identity):
    with pytest.raises(WrongStep, match="their difference is"):
        assert_equal(*FALSE[identity])


def test_sides_of_different_shape_are_an_error_and_not_a_difference():
    with pytest.raises(ValueError, match=r"one shape, got \(2, 2\) and \(2, 1\)"):
        difference(rotation(m), q)


def test_a_derivation_names_the_line_that_is_wrong():
    with pytest.raises(WrongStep, match=r"line 2 \(flip it\)"):
        Derivation(score(), [(score_closed_form(), "expand"), (-score_closed_form(), "flip it")])


def test_a_derivation_shows_every_line_and_reason_in_order():
    chain = Derivation(
        product(q.T, rotation(0), k),
        [(q.dot(k), "nothing turned"), (k.dot(q), "dot products commute")],
        name="s",
    )
    text = chain._repr_markdown_()
    assert chain.start.args == (q.T, rotation(0), k)  # displayed as written, not multiplied out
    assert text.count(r"\begin{matrix}") == 3
    assert chain.end == k.dot(q)
    assert text.startswith("$$ s = ")
    assert text.index("nothing turned") < text.index("dot products commute")
    assert text.count("$$") == 6


def test_formulae_are_written_as_by_hand():
    text = Formula(score_closed_form())._repr_markdown_()
    assert r"q_{1} k_{1} + q_{2} k_{2}" in text
    assert r"q_{1} k_{2} - q_{2} k_{1}" in text
    assert r"\left(n - m\right) \theta" in text
    a, b = sp.symbols("alpha beta")
    written = {
        sp.exp(-sp.I * m * theta): "e^{- i m \\theta}",
        sp.cos(b) * sp.cos(a): r"\cos{\left(\alpha \right)} \cos{\left(\beta \right)}",
        -m / 2: r"- \frac{m}{2}",
        k[0] * m: r"k_{1} m",
        a * q[0] * k[0]: r"q_{1} k_{1} \alpha",
    }
    for expression, latex in written.items():
        assert Formula(expression)._repr_markdown_() == f"$$ {latex} $$"


def test_the_symbolic_score_equals_the_tensors():
    generator = torch.Generator().manual_seed(0)
    numbers = sp.lambdify([*q, *k, m, n, theta], score_closed_form())
    for query_position, key_position, angle in [(3, 7, 0.5), (0, -4, 2.0), (1000, 1001, 3.1)]:
        vectors = torch.randn(2, 2, generator=generator, dtype=torch.float64)
        cos, sin = ropelib.cos_sin(
            [query_position, key_position],
            torch.tensor([angle], dtype=torch.float64),
            dtype=torch.float64,
        )
        q_m, k_n = ropelib.apply_rotary(vectors, cos, sin, layout="interleaved")
        expected = numbers(*vectors.flatten().tolist(), query_position, key_position, angle)
        assert float(q_m @ k_n) == pytest.approx(expected, abs=1e-12)
