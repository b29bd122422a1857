"""The exercises of Relative encodings accept what is right and name the misconception."""

import math

import numpy as np
import torch
from answers import accepted, hinted

from ropebook.exercises import check


def is_relative_bias(matrix):
    return bool(torch.allclose(matrix[1:, 1:], matrix[:-1, :-1], atol=1e-6))


def by_distance(matrix):
    found = {}
    for m in range(len(matrix)):
        for n in range(len(matrix)):
            found.setdefault(n - m, set()).add(round(float(matrix[m, n]), 6))
    return all(len(values) == 1 for values in found.values())


def shaw_term(q, table, m, n, sign=1, scale=1.0, first=None):
    limit = (len(table) - 1) // 2
    row = max(-limit, min(limit, sign * (n - m))) + (limit if first is None else first)
    return scale * q @ table[row]


def conversations_in(added, distances=range(-6, 7), skip=()):
    q, k = torch.tensor([[1.0, 0.3, -2.0, 0.7], [0.4, -1.1, 0.9, 2.0]]).double()
    found, zero = set(), torch.zeros(4).double()
    for distance in distances:
        alone = added(zero, zero, distance)
        heard = {
            "position to position": alone,
            "content to position": added(q, zero, distance) - alone,
            "position to content": added(zero, k, distance) - alone,
        }
        found |= {name for name, sound in heard.items() if abs(sound) > 1e-9}
    return found - set(skip)


def without_subtracting(added):
    q, zero = torch.ones(4).double(), torch.zeros(4).double()
    found = set()
    for distance in range(-6, 7):
        found |= {"position to position"} if abs(added(zero, zero, distance)) > 1e-9 else set()
        found |= {"content to position"} if abs(added(q, zero, distance)) > 1e-9 else set()
        found |= {"position to content"} if abs(added(zero, q, distance)) > 1e-9 else set()
    return found


def two_columns(slope, position_ids, query=-1, key=1):
    one, place = torch.ones(len(position_ids)).double(), slope * position_ids.double()
    for_q, for_k = (query * place, one), (one, key * place)
    return torch.stack(for_q, -1), torch.stack(for_k, -1)


RIGHT = [
    ("t5 bucket by hand", 10),
    ("t5 bucket by hand", torch.tensor(10)),
    ("alibi halving distance", 8 * math.log(2)),
    ("alibi halving distance", 5.5),
    ("is it a relative bias", is_relative_bias),
    ("is it a relative bias", by_distance),
    ("shaw's term", shaw_term),
    ("count the parameters", (50688, 384, 0)),
    ("count the parameters", [50688, 384, 0]),
    ("count the parameters", np.array([50688, 384, 0])),
    ("which conversations", conversations_in),
    ("which conversations", lambda added: list(conversations_in(added))),
    ("alibi in two columns", two_columns),
    ("alibi in two columns", lambda *given: [part.flip(-1) for part in two_columns(*given)]),
]
WRONG = [
    ("t5 bucket by hand", 26, "20 ahead"),
    ("t5 bucket by hand", 17, "one direction"),
    ("t5 bucket by hand", 20, "below 8"),
    ("t5 bucket by hand", 10.64, "round down"),
    ("t5 bucket by hand", 11, "Round down"),
    ("t5 bucket by hand", 2, "step above 8"),
    ("t5 bucket by hand", 15, "Two parts"),
    ("alibi halving distance", -5.5, "not negative"),
    ("alibi halving distance", math.log(2) / 8, "multiplied by the slope"),
    ("alibi halving distance", 4, "bias is -1/2"),
    ("alibi halving distance", 8, "1/e"),
    ("alibi halving distance", 16 * math.log(2), "right for head 4"),
    ("alibi halving distance", 70, "solve for t"),
    ("is it a relative bias", lambda matrix: True, "You accept"),
    ("is it a relative bias", lambda matrix: False, "You refuse"),
    ("is it a relative bias", lambda matrix: None, "returned None"),
    ("is it a relative bias", lambda matrix: bool((matrix == matrix.T).all()), "You refuse"),
    (
        "is it a relative bias",
        lambda matrix: bool(torch.equal(matrix[1:, 1:], matrix[:-1, :-1])),
        "rounding errors",
    ),
    (
        "is it a relative bias",
        lambda matrix: bool(torch.allclose(matrix[1:, 2:], matrix[:-1, 1:-1])),
        "You accept",
    ),
    ("shaw's term", lambda q, table, m, n: None, "returned None"),
    ("shaw's term", lambda *args: shaw_term(*args, sign=-1), "query minus key"),
    ("shaw's term", lambda *args: shaw_term(*args, scale=0.5), "square root"),
    ("shaw's term", lambda *args: shaw_term(*args, first=0), "distance 0 is row L"),
    ("shaw's term", lambda q, table, m, n: q @ table[6], "does not use row 3"),
    (
        "shaw's term",
        lambda q, table, m, n: q @ table[n - m + 3] if abs(n - m) < 4 else 0 * q[0],
        "does not use row 6",
    ),
    ("count the parameters", 5, "three numbers"),
    ("count the parameters", (1, 2), "three numbers"),
    ("count the parameters", (25344, 384, 0), "one for the values"),
    ("count the parameters", (4224, 384, 0), "one layer"),
    ("count the parameters", (49152, 384, 0), "there is a 0"),
    ("count the parameters", (24576, 384, 0), "both ways"),
    ("count the parameters", (26112, 384, 0), "both ways"),
    ("count the parameters", (792, 384, 0), "is a vector"),
    ("count the parameters", (608256, 384, 0), "share the tables"),
    ("count the parameters", (7, 384, 0), "times the width"),
    ("count the parameters", (50688, 4608, 0), "all layers share"),
    ("count the parameters", (50688, 32, 0), "numbers of its own"),
    ("count the parameters", (50688, 24576, 0), "not a vector"),
    ("count the parameters", (50688, 7, 0), "per bucket"),
    ("count the parameters", (50688, 384, 12), "slopes learned"),
    ("which conversations", lambda added: None, "returned None"),
    ("which conversations", lambda added: {"content"}, "none of the three names"),
    ("which conversations", lambda added: conversations_in(added, [0]), "silent at your"),
    (
        "which conversations",
        lambda added: conversations_in(added, skip=["position to content"]),
        "do not hear position to content",
    ),
    ("which conversations", without_subtracting, "which is not there"),
    ("alibi in two columns", lambda slope, ids: None, "returned None"),
    ("alibi in two columns", lambda slope, ids: 3, "two tensors"),
    ("alibi in two columns", lambda slope, ids: (ids, ids), "a row per word"),
    ("alibi in two columns", lambda slope, ids: two_columns(-slope, ids), "Turn the sign"),
    ("alibi in two columns", lambda *given: two_columns(*given, query=0), "needs no more"),
    ("alibi in two columns", lambda *given: two_columns(*given, key=0), "query's part only"),
    ("alibi in two columns", lambda *given: two_columns(*given, query=1), "with a minus"),
    ("alibi in two columns", lambda slope, ids: two_columns(1, ids), "Where is the slope"),
    (
        "alibi in two columns",
        lambda slope, ids: two_columns(slope, torch.arange(len(ids))),
        "may have gaps",
    ),
    ("alibi in two columns", lambda slope, ids: two_columns(slope**2, ids), "slope times (n - m)"),
]


test_a_right_answer_is_accepted_in_any_form = accepted(RIGHT)
test_a_wrong_answer_is_met_with_the_misconception_behind_it = hinted(WRONG)


def test_hints_do_not_give_the_answer_away():
    numbers = {"t5 bucket by hand": "10", "alibi halving distance": "5.5"}
    for name, answer, _ in WRONG:
        if name in numbers:
            assert numbers[name] not in check(name, answer).message
