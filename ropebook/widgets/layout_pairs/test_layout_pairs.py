"""The layout pairs in Python: what each seating does to a score, and what the widget refuses."""

import math

import pytest
import torch

pytest.importorskip("anywidget")

from browser import watched
from oracles import Oracle, held_by, wrong_readouts
from refusals import assert_refused

from ropebook.widgets import LayoutPairs
from ropelib import convert_layout, inv_freq, reference

LAYOUTS = ("interleaved", "half")
# Entries of a vector in layout "interleaved", in the order in which "half" seats them.
SEATS = {"interleaved": list(range(8)), "half": [0, 2, 4, 6, 1, 3, 5, 7]}


def by_the_oracle(pairs, q_layout, k_layout, *, convert):
    """The score from explicit matrices."""
    turned = []
    for vector, position, layout in ((pairs.q, pairs.m, q_layout), (pairs.k, pairs.n, k_layout)):
        x = torch.tensor(vector, dtype=torch.float64)
        x = x[SEATS[layout]] if convert else x
        matrix = reference.rotation_matrix(position, inv_freq(8, 100.0), layout=layout)
        turned.append(matrix @ x)
    return (turned[0] @ turned[1]).item()


@pytest.mark.parametrize("convert", [False, True])
@pytest.mark.parametrize("q_layout", LAYOUTS)
@pytest.mark.parametrize("k_layout", LAYOUTS)
@pytest.mark.parametrize(("n", "distance"), [(6, -4), (0, 0), (24, -8), (13, -1)])
def test_scores_are_those_of_the_oracle(q_layout, k_layout, convert, n, distance):
    pairs = LayoutPairs(
        q_layout=q_layout, k_layout=k_layout, convert=convert, n=n, distance=distance
    )
    assert pairs.m == n - distance
    score = by_the_oracle(pairs, q_layout, k_layout, convert=convert)
    right = by_the_oracle(pairs, "interleaved", "interleaved", convert=False)
    assert pairs.score == pytest.approx(score, abs=1e-12)
    assert pairs.reference == pytest.approx(right, abs=1e-12)
    assert pairs.error == pytest.approx(score - right, abs=1e-12)
    rotated = (torch.tensor(x) for x in (pairs.q_rotated, pairs.k_rotated))
    assert torch.dot(*rotated).item() == pytest.approx(score, abs=1e-6)


@pytest.mark.parametrize("convert", [False, True])
def test_equal_layouts_stand_still_and_mixed_ones_move(convert):
    for layout in LAYOUTS:
        same = LayoutPairs(q_layout=layout, k_layout=layout, convert=convert)
        assert same.drift < 1e-12
    for q_layout, k_layout in (LAYOUTS, LAYOUTS[::-1]):
        mixed = LayoutPairs(q_layout=q_layout, k_layout=k_layout, convert=convert)
        assert mixed.drift > 5
        scores = []
        for n in range(25):
            mixed.n = n
            scores.append(mixed.score)
        assert mixed.drift == pytest.approx(max(scores) - min(scores), abs=1e-12)


def test_the_first_state_is_the_lesson():
    pairs = LayoutPairs()
    assert (pairs.q_layout, pairs.k_layout, pairs.convert) == ("interleaved", "half", False)
    assert (pairs.m, pairs.n) == (10, 6)
    assert round(pairs.score, 2) == -0.77
    assert round(pairs.reference, 2) == 4.17


def test_only_converted_vectors_keep_the_score_in_the_other_layout():
    pairs = LayoutPairs(q_layout="half", k_layout="half")
    assert abs(pairs.error) > 1
    pairs.convert = True
    assert pairs.error == pytest.approx(0, abs=1e-12)


def test_at_position_0_a_mix_does_not_show():
    pairs = LayoutPairs(n=0, distance=0)
    assert pairs.error == 0
    pairs.convert = True
    assert abs(pairs.error) > 1


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("q_layout", "neox", 'q_layout must be "interleaved" or "half", got \'neox\''),
        ("k_layout", "", 'k_layout must be "interleaved" or "half", got \'\''),
        ("n", -1, r"n must lie in \[0, 24\] tokens, got -1"),
        ("n", 25, r"n must lie in \[0, 24\] tokens, got 25"),
        ("distance", 1, r"distance must lie in \[-8, 0\] tokens, got 1"),
        ("distance", -9, r"distance must lie in \[-8, 0\] tokens, got -9"),
        ("q", [1.0] * 7, "q must have 8 numbers, got 7"),
        ("k", [1.0] * 7 + [2.5], "numbers of k must have size at most 2, got 2.5"),
        ("k", [math.nan] * 8, "numbers of k must have size at most 2, got nan"),
    ],
)
def test_the_widget_refuses(name, value, message):
    assert_refused(LayoutPairs, name, value, message)


@pytest.mark.parametrize(
    ("name", "value"), [("n", 0), ("n", 24), ("distance", -8), ("distance", 0), ("q", [-2.0] * 8)]
)
def test_the_widget_takes_the_edge_of_its_rules(name, value):
    assert getattr(LayoutPairs(**{name: value}), name) == value


# ---- what it must report ----


def answers(inputs):
    n, distance = int(inputs["n"]), int(inputs["distance"])

    def turned(name, position, layout, convert):
        x = torch.tensor([inputs[name]], dtype=torch.float64)
        if convert:
            x = convert_layout(x, source="interleaved", target=layout)
        return reference.rotate(x, [position], inv_freq(8, 100.0), layout=layout)[0]

    def score_at(position, q_layout, k_layout, convert):
        q = turned("q", position - distance, q_layout, convert)
        return (q @ turned("k", position, k_layout, convert)).item()

    seated = [inputs[name] for name in ("q_layout", "k_layout", "convert")]
    score = score_at(n, *seated)
    reference_score = score_at(n, "interleaved", "interleaved", False)
    scores = [score_at(position, *seated) for position in range(25)]
    return {
        "score": score,
        "reference": reference_score,
        "error": score - reference_score,
        "m": n - distance,
        "drift": max(scores) - min(scores),
    }


ORACLE = Oracle(answers, held=("q", "k", "q_layout", "k_layout", "convert"))


# ---- what it does when it is moved ----


STOPS = {
    "both_interleaved": ("interleaved", "interleaved", False),
    "both_half": ("half", "half", False),
    "both_half_converted": ("half", "half", True),
    "one_of_each": ("interleaved", "half", False),
}


def test_stops_of_the_layouts_seat_q_and_k_as_they_say(on_scratch):
    pairs = on_scratch("layout_pairs")
    held = held_by(pairs)
    for stop, (q_layout, k_layout, convert) in STOPS.items():
        pairs.control(stop).click()
        pairs.frames()
        assert pairs.control(stop).get_attribute("aria-pressed") == "true"
        assert pairs.control("convert").is_checked() == convert
        seated = {"q_layout": q_layout, "k_layout": k_layout, "convert": convert}
        assert wrong_readouts(pairs, held | seated) == [], stop
        frames = watched(pairs, "both_move", ["score", "n"], seconds=1.5)
        assert len({n for _, n in frames}) > 10, "nothing moved"
        scores = [score for score, _ in frames]
        assert (max(scores) - min(scores) > 0.5) == (q_layout != k_layout), stop
        pairs.control("both_move").click()
        pairs.frames()
    pairs.control("reset").click()
    pairs.still()
    assert wrong_readouts(pairs, held) == []
