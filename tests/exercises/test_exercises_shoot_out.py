"""The exercises of The shoot-out accept what is right and name the misconception."""

import torch
from answers import accepted, filled, hinted


def in_double(rule):
    def answer(one, other):
        return rule(*(torch.tensor(x, dtype=torch.float64) for x in (one, other)))

    return answer


def bias(q, to_relative, bank, m, n):
    if not 0 <= m - n < bank.shape[1]:
        return 0.0
    return (q @ to_relative) @ bank[:, m - n]


def clipped(q, to_relative, bank, m, n):
    return (q @ to_relative) @ bank[:, min(max(m - n, 0), bank.shape[1] - 1)] if n <= m else 0


def unmasked(q, to_relative, bank, m, n):
    return 0.0 if m - n >= bank.shape[1] else (q @ to_relative) @ bank[:, abs(m - n)]


BANK = 6144 * 64 * 16 + 16 * 1024
RIGHT = [
    (
        "a difference over seeds",
        in_double(lambda x, y: ((x - y).mean(), (x - y).std() / len(x) ** 0.5)),
    ),
    (
        "a difference over seeds",
        in_double(lambda x, y: torch.stack(((x - y).mean(), (x - y).std() / len(x) ** 0.5))),
    ),
    ("a difference over seeds", filled("how far the mean may be off")),
    (
        "how far the mean may be off",
        in_double(lambda x, y: torch.stack(((x - y).mean(), (x - y).std() / len(x) ** 0.5))),
    ),
    ("how far the mean may be off", ["(len(gaps) - 1)", "variance / len(gaps)"]),
    ("the error of a difference", (0.03, 0.0058)),
    ("the error of a difference", torch.tensor([0.03, 0.005774])),
    ("what a bank holds", BANK),
    ("what a bank holds", torch.tensor(BANK)),
    ("a bias that listens", bias),
    ("a bias that listens", lambda *args: float(bias(*args))),
    ("hands of a small share", 1),
    ("hands of a small share", torch.tensor(1)),
    ("how far to the key", 97),
    ("how far to the key", 97.0),
]
WRONG = [
    ("a difference over seeds", lambda x, y: None, "returned None"),
    ("a difference over seeds", lambda x, y: 3.0, "Return two numbers"),
    ("a difference over seeds", lambda x, y: (0.0, 0.0), "mean of the one"),
    (
        "a difference over seeds",
        in_double(lambda x, y: ((y - x).mean(), 0.0)),
        "the other minus the one",
    ),
    (
        "a difference over seeds",
        in_double(lambda x, y: ((x - y).mean(), ((x.var() + y.var()) / len(x)) ** 0.5)),
        "nothing in common",
    ),
    (
        "a difference over seeds",
        in_double(lambda x, y: ((x - y).mean(), (x - y).std())),
        "single differences",
    ),
    (
        "a difference over seeds",
        in_double(lambda x, y: ((x - y).mean(), (x - y).std(correction=0) / len(x) ** 0.5)),
        "Divide the squares by 4",
    ),
    ("a difference over seeds", in_double(lambda x, y: ((x - y).mean(), 1.0)), "of each seed"),
    (
        "how far the mean may be off",
        in_double(lambda x, y: torch.stack(((x - y).mean(), (x - y).std()))),
        "single differences",
    ),
    ("how far the mean may be off", ["len(gaps)", "variance / len(gaps)"], "one less is free"),
    ("how far the mean may be off", ["(len(gaps) - 1)", "variance"], "single differences"),
    ("how far the mean may be off", ["1", "variance / len(gaps)"], "your function makes"),
    ("the error of a difference", (-0.03, 0.00577), "other minus the one"),
    ("the error of a difference", (0.03, 0.01155), "single differences"),
    ("the error of a difference", (0.03, 0.005), "Divide the squares by 3"),
    ("the error of a difference", (0.03, 0.0321), "nothing in common"),
    ("the error of a difference", (0.02, 0.01), "over the root of 4"),
    ("what a bank holds", 6144 * 64 * 16, "bank has to be learned"),
    ("what a bank holds", 16 * 1024, "projection of its own"),
    ("what a bank holds", 6144 * 16 + 16 * 1024, "each of the 64"),
    ("what a bank holds", 64 * (6144 * 16 + 16 * 1024), "all heads share it"),
    ("what a bank holds", 128 * 64 * 16 + 16 * 1024, "reads the whole h"),
    ("what a bank holds", 1024, "How large is the matrix"),
    ("a bias that listens", lambda *args: None, "returned None"),
    ("a bias that listens", lambda *args: bias(*args) / 6**0.5, "no square root"),
    ("a bias that listens", clipped, "You clip, as Shaw does"),
    ("a bias that listens", unmasked, "stands after the query"),
    ("a bias that listens", lambda *args: 0.0, "column 0"),
    (
        "a bias that listens",
        lambda *args: bias(*args) if args[3] - args[4] < 5 else 1.0,
        "beyond the bank",
    ),
    ("hands of a small share", 3, "spreads its hands"),
    ("hands of a small share", 2, "135 tokens"),
    ("hands of a small share", 0, "6.28 tokens"),
    ("hands of a small share", 16, "three hands"),
    ("how far to the key", 98, "distance to the mark"),
    ("how far to the key", 32, "counted from the beginning"),
    ("how far to the key", 99, "counted from 0"),
    ("how far to the key", 50, "Where does the mark stand"),
]


test_what_is_right_is_accepted = accepted(RIGHT)
test_a_misconception_is_named = hinted(WRONG)
