"""The exercises of Beyond the training length accept what is right and name the misconception."""

import numpy as np
import torch
from answers import accepted, filled, hinted

from ropebook.exercises import check
from ropelib import inv_freq
from ropelib.distance import cosine_mean


def clipped(m, n, trained):
    return min(m - n, trained - 1)


def folded(m, n, trained):
    back = m - n
    return back if back < trained else trained // 2 + n % (trained // 2)


def by_remainder(m, n, trained):
    return (m - n) % trained


def clipped_too_late(m, n, trained):
    return min(m - n, trained)


def stretched(m, n, trained):
    return (m - n) / 8


def halved(m, n, trained):
    return (m - n) // 2


RIGHT = [
    ("who comes round", 11),
    ("who comes round", torch.tensor(11)),
    ("the hand that turns against you", 18),
    ("the hand that turns against you", 18.0),
    ("show it at an old distance", clipped),
    ("show it at an old distance", folded),
    ("show it at an old distance", filled("fold a far key")),
    ("fold a far key", folded),
    ("fold a far key", ["trained", "half + n % half"]),
    ("blame", 0.9),
    ("blame", "90%"),
    ("blame", (0.60 - 0.06) / 0.60),
    ("how far is the order safe", 22),
    ("how far is the order safe", np.int64(22)),
]
WRONG = [
    ("who comes round", 29, "none in 65 536 either"),
    ("who comes round", 18, "even in 65 536"),
    ("who comes round", 35, "seen every angle already"),
    ("who comes round", 46, "within 8192 tokens already"),
    ("who comes round", 8, "Count the wavelengths"),
    ("the hand that turns against you", 20, "distances 0 to 9"),
    ("the hand that turns against you", 9, "the opposite way"),
    ("the hand that turns against you", 10, "only begun"),
    ("the hand that turns against you", 36, "for the first time"),
    ("the hand that turns against you", 12, "half a turn in 9 steps"),
    ("show it at an old distance", lambda m, n, trained: None, "returned None"),
    ("show it at an old distance", lambda m, n, trained: m - n, "the largest that it knows is 1"),
    ("show it at an old distance", clipped_too_late, "the largest that it knows"),
    ("show it at an old distance", by_remainder, "A remainder begins at 0 again"),
    ("show it at an old distance", stretched, "whole distances"),
    ("show it at an old distance", halved, "leave it alone"),
    ("fold a far key", clipped, "at distance 127"),
    ("fold a far key", by_remainder, "at distance 0"),
    ("fold a far key", ["trained", "n % half"], "stand in the other half"),
    ("fold a far key", ["trained", "half + (m - n) % half"], "whenever the query does"),
    ("fold a far key", ["trained - 1", "half + n % half"], "trained - 1 too"),
    ("fold a far key", ["half", "half + n % half"], "from half on too"),
    ("blame", 90, "from 0 to 1"),
    ("blame", 0.1, "more keys, and older ones"),
    ("blame", 0.54, "That many nats"),
    ("blame", 0.5, "does folding take away"),
    ("how far is the order safe", 21, "still 3/4 or more"),
    ("how far is the order safe", 15, "64 dimensions?"),
    ("how far is the order safe", 9, "base 10 000"),
    ("how far is the order safe", 7.5, "Give a whole distance"),
    ("how far is the order safe", 100, "At distance 100 the order is kept"),
]


test_what_is_right_is_accepted = accepted(RIGHT)
test_a_misconception_is_named = hinted(WRONG)


def test_below_one_half_is_another_question():
    likeness = cosine_mean(inv_freq(128, 5e5), torch.arange(2000))
    verdict = check("how far is the order safe", int((likeness < 0.5).nonzero()[0]))
    assert not verdict.ok and "solve for C" in verdict.message
