"""An exercise accepts what is right in any form, and answers a misconception with its name."""

import math

import numpy as np
import pytest
import sympy as sp
import torch

import ropelib
from ropebook import exercises
from ropebook.exercises import check, solution_of
from ropebook.exercises.your_model import mystery_rotation


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
    ("turn by hand", (1, 3)),
    ("turn by hand", [1.0, 3.0]),
    ("turn by hand", np.array([1, 3])),
    ("turn by hand", torch.tensor([1.0, 3.0])),
    ("score from the distance", closed_form),
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
    ("turn by hand", (-1, -3), "clockwise"),
    ("turn by hand", (3, -6), "keeps the length"),
    ("turn by hand", (-3, 1), "direction is not"),
    ("turn by hand", (1, 2, 3), "expected two numbers"),
    (
        "score from the distance",
        lambda q, k, d, a: closed_form(q, k, -d, a),
        "m - n instead of n - m",
    ),
    ("score from the distance", lambda q, k, d, a: q @ k * math.cos(d * a), "q x k"),
    ("score from the distance", lambda q, k, d, a: 0.0, "your score is 0.0000"),
    ("score from the distance", lambda q, k, d, a: q @ k, "without positions"),
    ("score from the distance", lambda q, k, d, a: q.zero_().sum(), "your score is 0.0000"),
    ("score from the distance", lambda q, k, d, a: closed_form(q, k, d, 0.7), "your score is"),
    ("score from the distance", lambda q, k, d, a: None, "returned None"),
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
    ("not a turn", lambda m: [[-1, 0], [0, 1]], "A(0) = I"),
    ("not a turn", lambda m: [[1, 0], [0, 2.0**m]], "The wish fails"),
    ("not a turn", lambda m: [[1, 0], [0, (-1) ** m if abs(m) < 7 else 5]], "The wish fails"),
    ("not a turn", lambda m: None, "returned None"),
]


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_a_right_answer_is_accepted_in_any_form(name, answer):
    verdict = check(name, answer)
    assert verdict, verdict
    assert "rope-verdict-right" in verdict._repr_html_()


@pytest.mark.parametrize(("name", "answer", "hint"), WRONG)
def test_a_misconception_gets_its_own_hint(name, answer, hint):
    verdict = check(name, answer)
    assert not verdict
    assert hint in verdict.message
    assert "rope-verdict-open" in verdict._repr_html_()


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


@pytest.mark.parametrize("answer", [..., None])
def test_an_empty_answer_is_open_and_not_wrong(answer):
    assert check("turn by hand", answer).message == "Not answered yet."


def test_a_stub_that_raises_not_implemented_is_open():
    def stub(*_):
        raise NotImplementedError

    assert check("not a turn", stub).message == "Not answered yet."


def test_an_error_in_the_readers_code_is_reported_with_its_type():
    assert "ZeroDivisionError" in check("not a turn", lambda m: 1 / 0).message


def test_an_unknown_exercise_is_an_error_that_lists_the_names():
    with pytest.raises(ValueError, match=r"no exercise is named 'turn'.*turn by hand"):
        check("turn", 1)


def right_rotation(x, position_ids):
    return ropelib.apply_rotary(
        x, *ropelib.cos_sin(position_ids, ropelib.inv_freq(64)), layout="half"
    )


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("hands that never turn", 24),
        ("name the bug", "positions-in-tf32"),
        ("repair it", right_rotation),
    ],
)
def test_a_right_answer_about_a_model_is_accepted(name, answer):
    assert check(name, answer)


@pytest.mark.parametrize(
    ("name", "answer", "hint"),
    [
        ("hands that never turn", 40, "that do complete"),
        ("hands that never turn", 15, "2 pi radians"),
        ("hands that never turn", 3, "wavelength above"),
        ("name the bug", "positions-in-bfloat16", "how many bits"),
        ("name the bug", "off-by-one", "Pass mystery_rotation"),
        ("name the bug", 7, "a string"),
        ("repair it", lambda x, p: right_rotation(x, p + 1), "off-by-one"),
        ("repair it", mystery_rotation, "positions-in-tf32"),
    ],
)
def test_a_misconception_about_a_model_gets_its_own_hint(name, answer, hint):
    verdict = check(name, answer)
    assert not verdict
    assert hint in verdict.message


# ---- solutions --------------------------------------------------------------------------------


@pytest.fixture
def said(monkeypatch):
    """What cells show, in a session that has just begun."""
    monkeypatch.delenv(exercises.RUN_SOLUTIONS, raising=False)
    monkeypatch.setattr(exercises, "_answered", set())
    monkeypatch.setattr(exercises, "_offered", [])
    said = []
    monkeypatch.setattr(exercises.sys, "displayhook", said.append)
    return said


def run_solution(runs):
    @solution_of("turn by hand")
    def _():
        runs.append("ran")
        return 1, 3


def test_a_solution_waits_until_its_cell_is_run_twice_in_a_row(said):
    runs = []
    run_solution(runs)
    assert not runs and not said[0] and "run this cell once more" in said[0].message
    run_solution(runs)
    assert runs and said[1] and said[1].message == "Right."
    run_solution(runs)
    assert not said[2], "it is offered anew, as at first"


@pytest.mark.parametrize(
    "between",
    [lambda: check("turn by hand", ...), lambda: solution_of("find the distance")(lambda: {5, -5})],
    ids=["an exercise", "another solution"],
)
def test_running_all_cells_twice_runs_no_solution(said, between):
    runs = []
    for _ in range(3):
        run_solution(runs)
        between()
    assert not runs
    assert not any(said)


def test_a_solution_is_checked_at_once_when_its_exercise_is_solved(said):
    check("find the distance", {5, -5})
    run_solution(runs := [])
    assert not runs, "another exercise was solved"
    check("turn by hand", (0, 0))
    run_solution(runs)
    assert not runs, "the answer was wrong"
    check("turn by hand", (1, 3))
    run_solution(runs)
    assert runs and said[-1].message == "Right."


def test_solutions_of_a_built_book_are_checked_at_once(said, monkeypatch):
    monkeypatch.setenv(exercises.RUN_SOLUTIONS, "1")
    run_solution(runs := [])
    assert runs and said[0].message == "Right."


@pytest.mark.parametrize(
    ("name", "solution", "message"),
    [
        ("score from the distance", closed_form, "Right."),  # with parameters: the answer itself
        ("find the distance", lambda: {5, -5}, "Right."),
        ("find the distance", lambda: {5}, "ahead from behind"),
        ("find the distance", lambda: None, "Not answered yet."),
    ],
)
def test_a_solution_is_a_function_or_returns_a_value(said, monkeypatch, name, solution, message):
    monkeypatch.setenv(exercises.RUN_SOLUTIONS, "1")
    solution_of(name)(solution)
    assert message in said[0].message


def test_an_error_in_a_solution_is_an_error_of_its_cell(said, monkeypatch):
    monkeypatch.setenv(exercises.RUN_SOLUTIONS, "1")
    with pytest.raises(ZeroDivisionError):
        solution_of("find the distance")(lambda: 1 / 0)


def test_the_name_of_a_solution_means_afterwards_what_it_meant_before(said):
    space = {"solution_of": solution_of, "turned": "the reader's"}
    for name in ("turned", "new"):
        exec(f"@solution_of('turn by hand')\ndef {name}(): return 1, 3", space)
    assert space["turned"] == "the reader's"
    assert space["new"] is None


def test_a_solution_of_an_unknown_exercise_is_an_error_though_it_waits(said):
    with pytest.raises(ValueError, match="no exercise is named 'turn'"):
        solution_of("turn")
