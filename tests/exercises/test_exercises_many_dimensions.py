"""The exercises on many dimensions accept every right form and name each misconception."""

import math

import numpy as np
import torch
from answers import accepted, hinted

from ropebook.exercises.judging import OPEN
from ropebook.widgets import FrequencyClocks, ScoreBuilder
from ropelib.frequencies import inv_freq, wavelength
from ropelib.reference import rotation_matrix


def score(amplitudes, starts, frequencies, distance):
    clocks = zip(amplitudes, starts, frequencies, strict=True)
    return sum(a * math.cos(alpha + distance * f) for a, alpha, f in clocks)


def by_numpy(amplitudes, starts, frequencies, distance):
    angles = np.array(starts) + distance * np.array(frequencies)
    return np.dot(amplitudes, np.cos(angles))


def aimed(q, frequencies, distance):
    """A key of unit pairs whose score with q is largest at this n - m."""
    pairs = q.view(-1, 2)
    angle = torch.atan2(pairs[:, 1], pairs[:, 0]) - distance * frequencies
    return torch.stack([angle.cos(), angle.sin()], dim=-1).flatten()


def speeds(G):
    return torch.linalg.eigvals(G).imag.sort().values[len(G) // 2 :].clamp(min=0)


def by_squares(G):
    return torch.linalg.eigvalsh(-G @ G).clamp(min=0)[::2]


NEVER = int((wavelength(inv_freq(128)) > 4096).sum())
ODOMETER = [2 * math.pi / 10, 2 * math.pi / 100, 2 * math.pi / 1000]
RIGHT = [
    ("exactly seven back", 1),
    ("quiet everywhere else", ScoreBuilder(pairs=5)),
    ("two hands by hand", -1),
    ("a longer text", FrequencyClocks(context=4096)),
    ("hands that aim best", 1),
    ("the middle hand", 200 * math.pi),
    ("the middle hand", 628),
    ("score from the clocks", score),
    ("score from the clocks", by_numpy),
    ("hands that never come round", NEVER),
    ("hands that never come round", torch.tensor(NEVER)),
    ("aim a head", lambda q, f, back: aimed(q, f, -back)),
    ("aim a head", lambda q, f, back: aimed(q, f, -back).tolist()),
    ("speeds of a generator", speeds),
    ("speeds of a generator", lambda G: speeds(G).tolist()),
    ("axes that get along", {"ab", "ad", "bd", "cd"}),
    ("axes that get along", ["ba", "da", "db", "dc"]),
    ("three hands", ODOMETER),
    ("three hands", torch.tensor(ODOMETER)),
    ("three hands", [-speed for speed in ODOMETER]),
]
WRONG = [
    ("exactly seven back", 0, "nearly as high on another hill"),
    ("exactly seven back", 2, "switch them on one by one"),
    *[("quiet everywhere else", ScoreBuilder(pairs=j), OPEN) for j in (1, 2, 3, 4, 6, 7, 8)],
    ("two hands by hand", -3, "the first hand"),
    ("two hands by hand", 2, "the second hand"),
    ("two hands by hand", 3, "before any turn"),
    ("two hands by hand", -5, "clockwise"),
    ("two hands by hand", 7, "Two dot products"),
    ("a longer text", FrequencyClocks(), OPEN),
    ("a longer text", FrequencyClocks(context=8192), OPEN),
    ("a longer text", FrequencyClocks(context=512, base=537), OPEN),
    ("hands that aim best", 0, "every 6.28 words"),
    ("hands that aim best", 2, "less than half"),
    ("the middle hand", 100, "turned by one radian"),
    ("the middle hand", 0.01, "per token, in radians"),
    ("the middle hand", 20 * math.pi, "a half and not a quarter"),
    ("the middle hand", 36_000, "not 360"),
    ("the middle hand", 7, "full turn is 2 pi radians"),
    ("score from the clocks", lambda *a: None, "returned None"),
    ("score from the clocks", lambda a, s, f, d: score(a, s, f, d) / len(a), "That is the mean"),
    ("score from the clocks", lambda a, s, f, d: score(a, s, f, -d), "wrong way"),
    ("score from the clocks", lambda a, s, f, d: score(a, s, f, 0), "have to move"),
    ("score from the clocks", lambda a, s, f, d: 7.0, "should be"),
    ("hands that never come round", 64 - NEVER, "do come round"),
    ("hands that never come round", 64 - NEVER - 1, "the last that does"),
    *[("hands that never come round", NEVER + off, "Nearly") for off in (-1, 1, 2)],
    (
        "hands that never come round",
        int((1 / inv_freq(128) > 4096).sum()),
        "2 pi times 4096",
    ),
    (
        "hands that never come round",
        int((wavelength(inv_freq(64)) > 4096).sum()),
        "head of 64 dimensions",
    ),
    ("hands that never come round", 63, "longer than the text"),
    ("aim a head", lambda *a: None, "returned None"),
    ("aim a head", lambda q, f, back: aimed(q, f, back), "looks 1 ahead"),
    ("aim a head", lambda q, f, back: aimed(q, f, 0), "parallel to the query"),
    ("aim a head", lambda q, f, back: 2 * aimed(q, f, -back), "have length 1"),
    ("aim a head", lambda q, f, back: aimed(q, f, -back)[:2], "must have 4 numbers"),
    ("aim a head", lambda q, f, back: aimed(q, 2 * f, -back), "to be turned onto"),
    ("speeds of a generator", lambda G: None, "returned None"),
    ("speeds of a generator", by_squares, "squares of the speeds"),
    ("speeds of a generator", lambda G: speeds(G).repeat(2), "occurs twice"),
    ("speeds of a generator", lambda G: -speeds(G), "no negative speeds"),
    ("speeds of a generator", lambda G: speeds(G)[:1], "has 2 speeds, you give 1"),
    ("speeds of a generator", lambda G: speeds(G) * 1.1, "you find"),
    ("axes that get along", "ab", "set of two-letter words"),
    ("axes that get along", {"ab", "ae"}, "'ae' is not a pair"),
    ("axes that get along", {"ab", "ac"}, "two products differ"),
    ("axes that get along", {"ab", "ad", "bd"}, "c mixes the two planes"),
    ("axes that get along", {"ab", "cd"}, "2 more"),
    ("three hands", [0.1, 0.01, 0.001], "Neighbors are too much alike"),
    ("three hands", inv_freq(6), "At distance 132"),
    ("three hands", [1.0, 1.0, 1.0], "At distance 710"),
    ("three hands", [2 * math.pi / 10, 2 * math.pi / 100, 0.5], "all three hands"),
    ("three hands", [1.0, 0.1], "expected three numbers"),
]


test_a_right_answer_is_accepted_in_any_form = accepted(RIGHT)
test_a_misconception_gets_its_own_hint = hinted(WRONG)


def test_the_odometer_is_as_unlike_at_every_scale():
    distance = torch.tensor([1, 10, 100])
    alike = (distance[:, None] * torch.tensor(ODOMETER)).cos().mean(-1)
    torch.testing.assert_close(alike, alike[0].expand(3), atol=2e-3, rtol=0)


def test_two_hands_by_hand_is_what_the_matrices_give():
    """And what the hints say: one hand alone, no turn, the second hand the other way."""
    q, k = torch.tensor([2.0, 1, 1, 0]).double(), torch.tensor([1.0, 1, 0, 2]).double()

    def parts(speeds, m, n):
        turn_q, turn_k = (rotation_matrix(p, speeds, layout="interleaved") for p in (m, n))
        products = (turn_q @ q) * (turn_k @ k)
        return [round(part) for part in products.view(2, 2).sum(-1).tolist()]

    assert parts([math.pi, math.pi / 2], 1, 4) == parts([math.pi, math.pi / 2], 0, 3) == [-3, 2]
    assert parts([0.0, 0.0], 1, 4) == [3, 0]
    assert parts([math.pi, -math.pi / 2], 1, 4) == [-3, -2]
