"""The exercises on absolute encodings accept every right form and name each misconception."""

import math

import numpy as np
import torch
from answers import accepted, hinted

from ropebook.exercises import check
from ropelib.encodings import shift_matrix, sinusoids


def walk(code, offset, inv_freq):
    sines, cosines = code[0::2], code[1::2]
    c, s = torch.cos(offset * inv_freq), torch.sin(offset * inv_freq)
    return torch.stack([sines * c + cosines * s, cosines * c - sines * s], dim=-1).flatten()


def by_angles(code, offset, inv_freq):
    angles = torch.atan2(code[0::2], code[1::2]) + offset * inv_freq
    return [f(angle) for angle in angles.tolist() for f in (math.sin, math.cos)]


def of(angles):
    return [f(angle) for angle in angles for f in (math.sin, math.cos)]


BASE = (4096 / (2 * math.pi)) ** (64 / 62)

RIGHT = [
    ("two places ahead", shift_matrix(-2, 8)),
    ("two places ahead", (3 * shift_matrix(-2, 8)).tolist()),
    ("bits that flip", (4, 5)),
    ("bits that flip", np.array([4, 5])),
    ("code of place 1", of([1, 0.1])),
    ("code of place 1", (0.841, 0.540, 0.100, 0.995)),
    ("code of place 1", sinusoids(torch.tensor([1]), 4, base=100)[0]),
    ("offset of two codes", 20),
    ("offset of two codes", torch.tensor(20.0)),
    ("walk on", walk),
    ("walk on", by_angles),
    ("once around in 4096", BASE),
    ("once around in 4096", 804),
    ("hand in disguise", math.pi / 3),
    ("hand in disguise", -1.047),
    ("hand in disguise", torch.tensor(5 * math.pi / 3)),
]
WRONG = [
    ("two places ahead", shift_matrix(2, 8), "two places back"),
    ("two places ahead", torch.eye(8), "finds itself"),
    ("two places ahead", shift_matrix(-3, 8), "n - m = 3"),
    ("two places ahead", torch.diag(torch.arange(8.0)), "depends on the place"),
    ("two places ahead", torch.eye(4), r"8 x 8 matrix, got shape (4, 4)"),
    ("bits that flip", (1, 1), "changes by one"),
    ("bits that flip", (5, 4), "other order"),
    ("bits that flip", (4, 4), "fifth digit"),
    ("bits that flip", (3, 5), "one under the other"),
    ("bits that flip", 4, "expected two numbers, got 1"),
    (
        "code of place 1",
        (math.sin(1), math.cos(0.1), math.sin(0.01), math.cos(0.001)),
        "count dimensions",
    ),
    ("code of place 1", (0.540, 0.841, 0.995, 0.100), "sine comes first"),
    ("code of place 1", (0.841, 0.100, 0.540, 0.995), "side by side"),
    ("code of place 1", of([math.radians(1), math.radians(0.1)]), "degrees"),
    ("code of place 1", of([1, 10]), "exponent is -2i/d"),
    ("code of place 1", of([1, 100**-0.25]), "exponent is -2i/d"),
    ("code of place 1", (1, 1, 0, 1), "add up to 1"),
    ("code of place 1", of([0, 0]), "Each pair lies on the circle"),
    ("code of place 1", (0.841, 0.540), "expected four numbers, got 2"),
    ("offset of two codes", -20, "from the query to the key"),
    ("offset of two codes", 64, "outside the range"),
    ("offset of two codes", 19.8, "whole numbers"),
    ("offset of two codes", 1, "gone round more often"),
    ("offset of two codes", 26, "gone round more often"),
    ("offset of two codes", 23, "Compare both"),
    ("walk on", lambda c, o, f: walk(c, -o, f), "walk back"),
    ("walk on", lambda c, o, f: c, "do not arrive"),
    ("walk on", lambda c, o, f: walk(c, 0.5 * o, f), "do not arrive"),
    ("walk on", lambda c, o, f: walk(torch.tensor([0.0, 1.0]).repeat(len(f)), o, f), "itself"),
    ("walk on", lambda c, o, f: walk(c, o, f).reshape(-1, 2).flip(-1).flatten(), "changed places"),
    ("walk on", lambda c, o, f: walk(c, o, f).reshape(-1, 2).T.flatten(), "side by side"),
    ("walk on", lambda c, o, f: walk(c, o, f).reshape(-1, 2), "one flat vector"),
    ("walk on", lambda c, o, f: None, "returned None"),
    ("once around in 4096", 4096 / (2 * math.pi), "i = 31"),
    ("once around in 4096", 4096 ** (64 / 62), "2 pi radians"),
    ("once around in 4096", 10_000, "47117 tokens"),
    ("once around in 4096", -3, "positive"),
    ("hand in disguise", 6, "one place"),
    ("hand in disguise", 60, "in degrees"),
    ("hand in disguise", 1.05, "give more digits"),
    ("hand in disguise", 1 / 6, "share of a full turn"),
    ("hand in disguise", 0, "stands still"),
    ("hand in disguise", 2 * math.pi / 5, "side by side again"),
]


test_a_right_answer_is_accepted_in_any_form = accepted(RIGHT)
test_a_misconception_gets_its_own_hint = hinted(WRONG)


def test_walking_on_agrees_with_the_shift_matrix():
    def by_matrix(code, offset, inv_freq):
        blocks = [shift_matrix(offset * f, 2) for f in inv_freq.tolist()]
        return torch.block_diag(*blocks) @ code

    assert check("walk on", by_matrix)


def test_the_two_printed_codes_allow_one_offset_only():
    query, key = (torch.tensor(c) for c in ([-0.96, 0.28, 0.48, 0.88], [-0.13, 0.99, 0.60, -0.80]))
    fitting = []
    for offset in range(61):
        moved = shift_matrix(offset, 4, base=100).float() @ query
        if (moved - key).abs().max() < 0.03:
            fitting.append(offset)
    assert fitting == [20]


def test_the_disguised_hand_turns_a_sixth_of_the_way_round_at_each_place():
    step = torch.tensor([[0.0, 1.0], [-1.0, 1.0]]).double()
    lengths = torch.linalg.eigvals(step).abs()
    assert torch.allclose(lengths, torch.ones(2).double())
    sequence = [0, 1]
    for _ in range(10):
        sequence.append(sequence[-1] - sequence[-2])
    assert sequence == [0, 1, 1, 0, -1, -1] * 2
    assert check("hand in disguise", torch.linalg.eigvals(step).angle().max())
