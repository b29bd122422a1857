"""The exercises of Complex numbers rotate: right in any form, each misconception by its name."""

import cmath
import math

import numpy as np
import pytest
import sympy as sp
import torch
from answers import accepted, hinted

from ropebook.exercises import check


def from_matrix(matrix):
    (a, minus_b), (b, d) = matrix
    if a != d or minus_b != -b:
        raise ValueError("outside")
    return complex(a, b)


def by_arccosine(a, b):
    angle = math.acos(a / math.hypot(a, b))
    return angle if b >= 0 else -angle


def by_arctangent(a, b):
    if a == 0:
        return math.copysign(math.pi / 2, b)
    angle = math.atan(b / a)
    if a > 0:
        return angle
    return angle + math.pi if b >= 0 else angle - math.pi


def by_half_the_angle(a, b):
    if a >= 0:
        return 2 * math.atan(b / (math.hypot(a, b) + a))
    half_a_turn = math.pi if b >= 0 else -math.pi
    return half_a_turn - 2 * math.atan(b / (math.hypot(a, b) - a))


def turned(x, y, angle):
    return cmath.rect(1, angle) * complex(x, y)


def step(twelfths):
    return cmath.exp(1j * math.pi / 6 * twelfths)


RIGHT = [
    ("multiply by hand", 5 + 5j),
    ("multiply by hand", (5, 5)),
    ("multiply by hand", [5.0, 5.0]),
    ("multiply by hand", np.array([5, 5])),
    ("multiply by hand", torch.tensor([5.0, 5.0])),
    ("multiply by hand", torch.tensor(5.0 + 5.0j)),
    ("multiply two arrows", 2),
    ("quarter turn", (5, 2)),
    ("quarter turn", 1j * (2 - 5j)),
    ("half of a quarter turn", {"w": [0.7, 0.71]}),
    ("turn an arrow", turned),
    ("turn an arrow", ("sin(angle) * y", "x * sin(angle)")),
    ("turn an arrow", ("y * sin(angle)", "x * cos(angle - pi / 2)")),
    ("pushed on together", 120),
    ("pushed on together", "4 * 30"),
    ("turn one onto the other", 0.6 + 0.8j),
    ("turn one onto the other", (0.6, 0.8)),
    ("turn one onto the other", (1 + 3j) / (3 + 1j)),
    ("turn one onto the other", (sp.Rational(3, 5), sp.Rational(4, 5))),
    ("turn one onto the other", ("3/5", "4/5")),
    ("back from a matrix", from_matrix),
    ("back from a matrix", lambda matrix: (from_matrix(matrix).real, from_matrix(matrix).imag)),
    ("angle in every quadrant", by_half_the_angle),
    ("angle in every quadrant", by_arctangent),
    ("twelve directions", step(5)),
    ("twelve directions", (-0.866, 0.5)),
    ("twelve directions", (-sp.sqrt(3) / 2, sp.Rational(1, 2))),
    ("enough small steps", 124),
    ("enough small steps", 124.0),
]
WRONG = [
    ("multiply by hand", (3, -2), "coordinate by coordinate"),
    ("multiply by hand", 1 + 5j, "what is i times i"),
    ("multiply by hand", 1 + 7j, "multiplied by 3 + i"),
    ("multiply by hand", 1 - 7j, "1 − 2i for 1 + 2i"),
    ("multiply by hand", 4 + 1j, "That is the sum"),
    ("multiply by hand", -5 + 5j, "direction is not"),
    ("multiply by hand", 2 + 0j, "Lengths multiply: the square of yours is 4,"),
    ("multiply by hand", (1, 2, 3), "expected two numbers"),
    ("multiply by hand", "5+5j", "expected two numbers"),
    ("multiply two arrows", 0, "angles add"),
    ("multiply two arrows", 1, "lengths multiply"),
    ("quarter turn", (-5, -2), "clockwise"),
    ("half of a quarter turn", {"w": [0.0, 1.0]}, "Not answered"),
    ("half of a quarter turn", {"w": [1.0, 1.0]}, "Not answered"),
    ("half of a quarter turn", {"w": [-0.71, -0.71]}, "Not answered"),
    ("quarter turn", (-5, 2), "not turned"),
    ("quarter turn", (5, -2), "its own sign"),
    ("quarter turn", (-2, 5), "half a turn"),
    ("quarter turn", (2, -5), "before the turn"),
    ("quarter turn", (1, 2), "keeps the length"),
    ("quarter turn", (-2, -5), "goes to (−y, x)"),
    ("turn an arrow", ("x * sin(angle)", "y * sin(angle)"), "into the other one"),
    ("turn an arrow", ("-y * sin(angle)", "-x * sin(angle)"), "clockwise"),
    ("turn an arrow", ("y * sin(angle)", "-x * sin(angle)"), "yours goes to (0, −1)"),
    ("turn an arrow", ("-y * sin(angle)", "x * sin(angle)"), "a minus before"),
    ("turn an arrow", lambda x, y, angle: [x, y], "it should give"),
    ("turn an arrow", lambda x, y, angle: None, "returned None"),
    ("pushed on together", -120, "from cat to dog"),
    ("pushed on together", 30180, "has turned"),
    ("pushed on together", 180, "pointed before"),
    ("pushed on together", 30120, "in front of both"),
    ("pushed on together", 4, "in places"),
    ("pushed on together", 90, "the example"),
    ("pushed on together", "2*pi/3", "in radians"),
    ("pushed on together", 0, "How many places"),
    ("turn one onto the other", (3 + 1j) / (1 + 3j), "the wrong way round"),
    ("turn one onto the other", 6 + 8j, "length squared"),
    ("turn one onto the other", (1 + 3j) * (3 + 1j), "You multiplied the two"),
    ("turn one onto the other", 1j, "which is too far"),
    ("turn one onto the other", (1, 0), "takes (3, 1) to (3.00, 1.00)"),
    ("back from a matrix", lambda matrix: None, "returned None"),
    ("back from a matrix", lambda matrix: from_matrix(matrix).conjugate(), "lower left corner"),
    ("back from a matrix", lambda matrix: 1 + 1j, "you return (1+1j)"),
    ("back from a matrix", lambda matrix: complex(matrix[0][0], matrix[1][0]), "accept a mirror"),
    (
        "back from a matrix",
        lambda matrix: from_matrix([matrix[0], [matrix[1][0], matrix[0][0]]]),
        "accept a mirror",
    ),
    ("angle in every quadrant", lambda a, b: math.atan(b / a), "the opposite arrow"),
    (
        "angle in every quadrant",
        lambda a, b: by_arctangent(a, b) if a > 0 or b > 0 else math.atan(b / a) - math.pi,
        "you divide by zero",
    ),
    ("angle in every quadrant", lambda a, b: math.acos(a / math.hypot(a, b)), "above the"),
    ("angle in every quadrant", lambda a, b: by_arccosine(a, b) % math.tau, "outside the range"),
    (
        "angle in every quadrant",
        lambda a, b: by_arccosine(a, b) if b or a > 0 else -math.pi,
        "outside the range",
    ),
    ("angle in every quadrant", lambda a, b: math.degrees(by_arccosine(a, b)), "in degrees"),
    ("angle in every quadrant", by_arccosine, "cannot see a small angle"),
    ("angle in every quadrant", lambda a, b: 0.3, "is not its angle"),
    ("angle in every quadrant", lambda a, b: None, "returned None"),
    ("twelve directions", 0.9 * step(5), "spiral inward"),
    ("twelve directions", 1.1 * step(5), "spiral outward"),
    ("twelve directions", cmath.exp(2.5j), "not whole"),
    ("twelve directions", step(-5), "clockwise"),
    ("twelve directions", step(7), "clockwise"),
    ("twelve directions", step(1), "more than a quarter turn"),
    ("twelve directions", 1j, "more than a quarter turn"),
    ("twelve directions", step(4), "visit 3 directions"),
    ("twelve directions", step(6), "to and fro"),
    ("enough small steps", 123, "the length is 1.01008."),
    ("enough small steps", 125, "fewer will do"),
    ("enough small steps", 247, "half of that"),
    ("enough small steps", 246, "half of that"),
    ("enough small steps", 123.4, "whole number"),
    ("enough small steps", 0, "whole number"),
]


test_a_right_answer_is_accepted_in_any_form = accepted(RIGHT)
test_a_misconception_gets_its_own_hint = hinted(WRONG)


@pytest.mark.parametrize(
    ("matrix", "name"),
    [
        ([[1, 0], [0, -1]], "a mirror"),
        ([[0, 1], [1, 0]], "the other mirror"),
        ([[2, 0], [0, 1]], "stretches one axis"),
        ([[1, 1], [0, 1]], "a shear"),
        ([[1, -2], [2, 3]], "diagonal does not agree"),
    ],
)
def test_a_way_back_that_lets_one_outsider_in_is_caught(matrix, name):
    def too_kind(given):
        return 1j if given == matrix else from_matrix(given)

    assert name in check("back from a matrix", too_kind).message


def test_what_is_pushed_on_together_keeps_its_angle():
    hand = cmath.rect(1, math.radians(30))
    before, after = hand**6 / hand**2, hand**1006 / hand**1002
    assert cmath.isclose(before, after, rel_tol=1e-9)
    assert check("pushed on together", round(math.degrees(cmath.phase(after)), 6))


def test_no_hint_gives_the_answer_away():
    answers = {
        "multiply by hand": ("5 + 5", "(5, 5)"),
        "quarter turn": ("(5, 2)",),
        "pushed on together": ("120",),
        "turn one onto the other": ("0.6", "0.8"),
        "twelve directions": ("150",),
        "enough small steps": ("124",),
    }
    for name, wrong, _ in WRONG:
        for answer in answers.get(name, ()):
            assert answer not in check(name, wrong).message
