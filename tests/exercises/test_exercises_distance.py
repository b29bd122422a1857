"""The exercises of Distance accept what is right and name the misconception."""

import math

import numpy as np
import torch
from answers import accepted, hinted

from ropebook.exercises import check

GROWING = ([0, 0, 1, 0, 0, 0, 0, 0], [0, 0, math.cos(2), math.sin(2), 0, 0, 0, 0])
FALLING = ([0, 0, 1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0, 0])


def by_the_mean(scores):
    home = scores[:, 0]
    return "aligned" if home.mean() > 5 * home.std() / 20 else "random"


def by_the_size(scores):
    return "aligned" if scores.mean() > 1 else "random"


def by_the_sign(scores):
    return "aligned" if scores[:, 0].mean() > 0 else "random"


def by_never_below_zero(scores):
    return "aligned" if (scores[:, 0] > 0).all() else "random"


RIGHT = [
    ("count the rises", 4),
    ("count the rises", torch.tensor(4)),
    ("first zero crossing", 725),
    ("first zero crossing", np.int64(725)),
    ("smallest base for a context", 16_000),
    ("smallest base for a context", 16e3),
    ("a score that grows", GROWING),
    ("a score that grows", [torch.tensor(v) * 0.01 for v in GROWING]),
    ("a score that grows", ([0] * 6 + [1, 0], [0] * 6 + [0, 1])),
    ("stop the hands that never come round", 0.625),
    ("stop the hands that never come round", 0.63),
    ("random or aligned", by_the_mean),
]
WRONG = [
    ("count the rises", 2, "comes back to 1 twice"),
    ("count the rises", 8, "8 steps in all"),
    ("count the rises", 3, "not peaks"),
    ("count the rises", 6, "Write down cos"),
    ("first zero crossing", 724, "last distance"),
    ("first zero crossing", 1707, "128 dimensions"),
    ("first zero crossing", 474, "16 hands"),
    ("first zero crossing", 2048, "not for the first time"),
    ("first zero crossing", 100, "At distance 100 the mean is 0.5586"),
    ("smallest base for a context", 18_000, "halve an interval"),
    ("smallest base for a context", 17_000, "negative at distance"),
    ("smallest base for a context", 11_591, "Give one of the bases"),
    ("smallest base for a context", 61_000, "Give one of the bases"),
    ("a score that grows", FALLING, "falls at every step"),
    ("a score that grows", ([1, 0], [0, 1]), "8 numbers"),
    ("a score that grows", ([0] * 8, [1] * 8), "length 0"),
    ("a score that grows", ([1, 0] * 4, [-1, 0] * 4), "fast hand"),
    ("a score that grows", (GROWING[0], [-x for x in GROWING[1]]), "falls at every step"),
    ("stop the hands that never come round", 0.375, "stands still"),
    ("stop the hands that never come round", 40, "from 0 to 1"),
    ("stop the hands that never come round", 0.75, "does not come round"),
    ("stop the hands that never come round", 0.5, "stop hands that do"),
    ("random or aligned", lambda scores: None, "returned None"),
    ("random or aligned", lambda scores: True, 'Return "random"'),
    ("random or aligned", lambda scores: "random", "k equal to q"),
    ("random or aligned", by_the_size, "a hundred times smaller"),
    ("random or aligned", by_never_below_zero, "noisy copy"),
]


test_what_is_right_is_accepted = accepted(RIGHT)
test_a_misconception_is_named = hinted(WRONG)


def test_a_sign_alone_is_fooled_by_chance():
    assert not check("random or aligned", by_the_sign)
