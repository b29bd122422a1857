"""What the exercises of rope/two_dimensions accept, and what they answer to a misconception."""

import math

import numpy as np
import pytest
import sympy as sp
import torch
from answers import accepted, hinted

from ropebook.exercises import check


def turn(position, angle=0.3):
    c, s = math.cos(position * angle), math.sin(position * angle)
    return torch.tensor([[c, -s], [s, c]], dtype=torch.float64)


def closed_form(q, k, distance, angle):
    dot, cross = q[0] * k[0] + q[1] * k[1], q[0] * k[1] - q[1] * k[0]
    return dot * math.cos(distance * angle) - cross * math.sin(distance * angle)


def is_relative(rotate):
    q, k = torch.tensor([1.0, 0.4]).double(), torch.tensor([-0.3, 2.0]).double()
    places = [(0, 3), (1, 4), (40, 43), (98, 101), (500, 503)]
    scores = torch.stack([rotate(q, m) @ rotate(k, n) for m, n in places])
    return bool(torch.allclose(scores, scores[0].expand(5), atol=1e-9))


RIGHT = [
    ("push both words on", 2),
    ("turn by hand", (1, 3)),
    ("turn by hand", [1.0, 3.0]),
    ("turn by hand", np.array([1, 3])),
    ("turn by hand", torch.tensor([1.0, 3.0])),
    ("score from the distance", closed_form),
    ("choose your own angles", (80, 200)),
    ("choose your own angles", (440, -160)),
    ("find the distance", {5, -5}),
    ("find the distance", [-5, 5]),
    ("look four back", (0, 1)),
    ("look four back", torch.tensor([0.0, 1.0])),
    ("is it relative", is_relative),
    ("not a turn", lambda m: [[1, 0], [0, (-1) ** m]]),
    ("not a turn", lambda m: sp.Matrix([[1, 0], [0, -1]]) ** m),
    ("not a turn", lambda m: torch.tensor([[-1.0, 0.0], [0.0, 1.0]]).matrix_power(m % 2)),
]
WRONG = [
    ("push both words on", 0, "changed alike"),
    ("push both words on", 1, "no arrow longer"),
    ("turn by hand", (-1, -3), "clockwise"),
    ("turn by hand", (1, -3), "One sign"),
    ("turn by hand", (-1, 3), "One sign"),
    ("turn by hand", (3, -6), "keeps the length"),
    ("turn by hand", (-3, 1), "direction is not"),
    ("turn by hand", (1, 2, 3), "expected two numbers"),
    (
        "score from the distance",
        lambda q, k, d, a: closed_form(q, k, -d, a),
        "m - n instead of n - m",
    ),
    ("score from the distance", lambda q, k, d, a: q @ k * math.cos(d * a), "inside the cosine"),
    (
        "score from the distance",
        lambda q, k, d, a: q.norm() * k.norm() * math.cos(d * a),
        "the wave starts is missing",
    ),
    (
        "score from the distance",
        lambda q, k, d, a: closed_form(q, k, d, a) / (q.norm() * k.norm()) * (q.norm() + k.norm()),
        "you add them",
    ),
    ("score from the distance", lambda q, k, d, a: 0.0, "your score is 0.0000"),
    ("score from the distance", lambda q, k, d, a: q @ k, "without positions"),
    ("score from the distance", lambda q, k, d, a: q.zero_().sum(), "your score is 0.0000"),
    ("score from the distance", lambda q, k, d, a: closed_form(q, k, d, 0.7), "your score is"),
    ("score from the distance", lambda q, k, d, a: None, "returned None"),
    ("choose your own angles", (40, 40), "nothing turns"),
    ("choose your own angles", (80, 100), "a step of 40° again"),
    ("choose your own angles", (160, 1000), "from 1 to 2 by 120°"),
    ("find the distance", {5}, "ahead from behind"),
    ("find the distance", 5, "Give a set"),
    ("find the distance", {5.9, -5.9}, "whole numbers"),
    ("find the distance", {5, -5, 20}, "outside the range"),
    ("find the distance", set(), "does fit"),
    ("find the distance", {5, -5, 7}, "At distance 7 the score is"),
    ("look four back", (0, -1), "four ahead"),
    ("look four back", (0, 3), "length 1"),
    ("look four back", (1, 0), "largest at n - m = 0"),
    ("is it relative", lambda rotate: True, "adding a vector"),
    ("is it relative", lambda rotate: False, "You refuse"),
    ("is it relative", lambda rotate: None, "returned None"),
    ("not a turn", lambda m: turn(m), "it is a turn"),
    ("not a turn", lambda m: [[1, 0], [0, 1]], "it is a turn"),
    ("not a turn", lambda m: [[-1, 0], [0, 1]], "F(0) = I"),
    ("not a turn", lambda m: [[1, 0], [0, 2.0**m]], "The wish fails"),
    ("not a turn", lambda m: [[1, 0], [0, (-1) ** m if abs(m) < 7 else 5]], "The wish fails"),
    ("not a turn", lambda m: None, "returned None"),
]


test_a_right_answer_is_accepted_in_any_form = accepted(RIGHT)
test_a_misconception_gets_its_own_hint = hinted(WRONG)


def looking_at(places, *, parallel=False):
    """A relativity test that looks at these pairs of (m, n, shift) only."""

    def relative(rotate):
        q = torch.tensor([1.0, 0.4]).double()
        k = q if parallel else torch.tensor([-0.3, 2.0]).double()
        return all(
            torch.isclose(rotate(q, m) @ rotate(k, n), rotate(q, m + s) @ rotate(k, n + s))
            for m, n, s in places
        )

    return relative


@pytest.mark.parametrize(
    ("places", "fooled_by"),
    [
        ([(0, 3, 1)], "stops at position 64"),
        ([(0, 2, 1), (2, 8, 500)], "every 100 positions"),
        ([(0, 2, 200), (4, 8, 500), (90, 2, 6), (98, 2, 4)], "odd positions only"),
    ],
)
def test_a_relativity_test_that_looks_in_too_few_places_is_fooled(places, fooled_by):
    assert fooled_by in check("is it relative", looking_at(places)).message


def test_a_relativity_test_by_determinant_refuses_the_mirror():
    def by_determinant(rotate):
        columns = [rotate(torch.tensor(e).double(), 1) for e in ([1.0, 0.0], [0.0, 1.0])]
        return bool(torch.linalg.det(torch.stack(columns)) > 0)

    assert not check("is it relative", by_determinant)
