"""How an answer is checked, whatever the exercise, and when a solution shows itself."""

import math

import numpy as np
import pytest
import torch

from ropebook import exercises
from ropebook.exercises import Verdict, check, solution_of
from ropebook.exercises.solved import Watched, answer_said, value_said


def closed_form(q, k, distance, angle):
    dot, cross = q[0] * k[0] + q[1] * k[1], q[0] * k[1] - q[1] * k[0]
    return dot * math.cos(distance * angle) - cross * math.sin(distance * angle)


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
    assert runs and said[1] and said[1].message == "Right. The value is (1, 3)."
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
    assert runs and said[-1].message == "Right. The value is (1, 3)."


def test_solutions_of_a_built_book_are_checked_at_once(said, monkeypatch):
    monkeypatch.setenv(exercises.RUN_SOLUTIONS, "1")
    run_solution(runs := [])
    assert runs and said[0].message == "Right. The value is (1, 3)."


@pytest.mark.parametrize(
    ("name", "solution", "message"),
    [
        (
            "score from the distance",
            closed_form,
            "distance = 0, angle = 0.7 it gives -0.4.",
        ),  # with parameters: the answer itself
        ("find the distance", lambda: {5, -5}, "Right. The value is {-5, 5}."),
        ("find the distance", lambda: {5}, "ahead from behind"),
        ("find the distance", lambda: None, "Not answered yet."),
    ],
)
def test_a_solution_is_a_function_or_returns_a_value(said, monkeypatch, name, solution, message):
    monkeypatch.setenv(exercises.RUN_SOLUTIONS, "1")
    solution_of(name)(solution)
    assert message in said[0].message


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (2 / 3, "0.666667"),
        (torch.tensor([0.5, 1]), "[0.5, 1]"),
        (np.float64(0.25), "0.25"),
        (3 - 1j, "3 - 1j"),
        ({"A", "C"}, "{'A', 'C'}"),
        ([(), None], ""),
        (list(range(100)), ""),
        (torch.zeros(20, 20), ""),
        (lambda: 1, ""),
        (object(), ""),
    ],
)
def test_a_short_value_is_said_and_no_other(value, said):
    assert value_said(value) == said


def test_a_function_is_said_with_its_first_call_as_it_was():
    def emptied(q, factor):
        total = factor * sum(q)
        q.clear()
        return total

    watched = Watched(emptied)
    assert answer_said(watched) == "" and watched([1, 2], 0.5) == 1.5 and watched([], 1) == 0
    assert answer_said(watched) == "For q = [1, 2], factor = 0.5 it gives 1.5."


def test_a_function_of_functions_is_said_by_what_it_gives():
    watched = Watched(lambda rotate: rotate(2) > 1)
    watched(lambda position: position)
    assert answer_said(watched) == "On the first case it gives True."


def test_a_verdict_shows_the_tags_that_a_text_may_have_and_no_others():
    shown = Verdict("x", False, "<b>q<sub>m</sub></b> < <img> & more")._repr_html_()
    assert "<b>q<sub>m</sub></b> &lt; &lt;img&gt; &amp; more" in shown
    assert str(Verdict("x", False, "<b>q<sub>m</sub></b> < 1")) == "✗ x: qm < 1"


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
