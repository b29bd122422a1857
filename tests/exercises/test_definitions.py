"""What a definition must be, and in which forms Python takes an answer to it."""

import numpy as np
import pytest
import sympy as sp
import torch

from ropebook.exercises import check
from ropebook.exercises.definitions import (
    DEFINITIONS,
    Answer,
    Bet,
    FillIn,
    Hint,
    Option,
    Task,
    define,
    judge,
    told,
)
from ropebook.exercises.forms import without_markup

YES, NO = Option("yes", "so", right=True), Option("no", "not so")
CODE = "def double(x):\n    return <<2 * x>>\n"


@pytest.fixture
def defined(monkeypatch):
    """Defines an exercise for one test."""
    for name in ("ropebook.exercises.definitions.DEFINITIONS", "ropebook.exercises.base.CHECKERS"):
        module, _, attribute = name.rpartition(".")
        registry = getattr(__import__(module, fromlist=[attribute]), attribute)
        for known in ("x", "y"):
            monkeypatch.delitem(registry, known, raising=False)
            monkeypatch.setitem(registry, known, None)
            monkeypatch.delitem(registry, known)

    def register(*exercises):
        define(*exercises)
        return exercises[0]

    return register


def number(**how):
    return lambda: Answer("x", **{"kind": "number", "question": "?", "right": 2, **how})


WRONG = {
    "two right options": (
        lambda: Bet("x", "?", (YES, Option("maybe", "so", right=True))),
        "2 right",
    ),
    "no right option": (lambda: Bet("x", "?", (NO, Option("maybe", "so"))), "0 right"),
    "one option": (lambda: Bet("x", "?", (YES,)), "got 1 with 1 right"),
    "the same option twice": (lambda: Bet("x", "?", (YES, Option("yes", ""))), "not say the same"),
    "a choice without a right option": (
        lambda: Answer("x", "choice", "?", options=(NO, Option("maybe", ""))),
        "0 right",
    ),
    "an unknown tag": (number(question="<em>how</em> many?"), "may stand in text, got '<em>'"),
    "a tag with attributes": (number(solution="<b class='x'>2</b>"), "got \"<b class='x'>\""),
    "a tag that is not closed": (number(otherwise="<b>no"), "<b> is never closed in '<b>no'"),
    "a tag that closes another": (number(otherwise="<b><i>n</b></i>"), "</b> closes nothing"),
    "an unknown tag in an option": (
        lambda: Bet("x", "?", (YES, Option("no", "<a>"))),
        "got '<a>'",
    ),
    "a hint for the right answer": (number(hints=(Hint("1 + 1", "?"),)), "must be wrong, got 2"),
    "a hint that another hides": (
        number(hints=(Hint(3, "large", when="a > 2"), Hint(4, "four"))),
        "4 must get its own hint, 'four', got 'large'",
    ),
    "a rule that its example breaks": (
        number(hints=(Hint(1, "large", when="a > 2"),)),
        "1 must get its own hint",
    ),
    "an unknown name in a rule": (
        number(hints=(Hint(1, "small", when="answer < 2"),)),
        "answer means nothing in 'answer < 2'",
    ),
    "an unknown name in a text": (number(otherwise="not {b}"), "b means nothing in 'b'"),
    "a text without a value": (number(hints=(Hint(0, "1/a is {1/a}"),)), r"got '1/a is \?'"),
    "a rule that cannot be read": (number(hints=(Hint(1, "", when="a <"),)), "missing at the end"),
    "a name of `let` before its time": (
        number(let={"b": "c + 1", "c": "a"}),
        "c means nothing in 'c [+] 1'",
    ),
    "a right answer that is refused": (number(accept="a > 2"), "right answer 2 is not accepted"),
    "a right answer without a value": (number(right="1/0"), "divides by zero"),
    "no right answer": (number(right=None), "the right answer must be given, got None"),
    "an unknown kind": (number(kind="word"), "kind must be one of number, .*, got 'word'"),
    "too few labels": (
        lambda: Answer("x", "numbers", "?", right=(1, 2), labels=("a",)),
        "a label for each of 2 numbers, got",
    ),
    "an order of other places": (
        lambda: Answer("x", "order", "?", right=(1, 2), items=("a", "b")),
        "each place of 2 items once, got",
    ),
    "an order shown in order": (
        lambda: Answer("x", "order", "?", right=(0, 1), items=("a", "b")),
        "must not be shown in the right order",
    ),
    "an expression of nothing": (
        lambda: Answer("x", "expression", "?", right="1"),
        "an expression must have variables",
    ),
    "an expression in another name": (
        lambda: Answer("x", "expression", "?", right="n + 1", variables=("m",)),
        "“n” is not known here",
    ),
    "code without a gap": (lambda: FillIn("x", "?", "def f(x):\n    return x", ((1,),)), "a gap"),
    "code without a case": (lambda: FillIn("x", "?", CODE, ()), r"values of x, got \(\)"),
    "a case of two values": (lambda: FillIn("x", "?", CODE, ((1, 2),)), "values of x, got"),
    "code that fails": (
        lambda: FillIn("x", "?", "def f(x):\n    return <<1/x>>", ((1,), (0,))),
        r"must give a value for \[\[0\]\]",
    ),
    "code that cannot be read": (
        lambda: FillIn("x", "?", "f = <<1>>", ((1,),)),
        "“def” is missing",
    ),
    "a hint that fills in what is right": (
        lambda: FillIn("x", "?", CODE, ((1,),), hints=(Hint("x + 1", "?"),)),
        r"must be wrong, got \['x \+ 1'\]",
    ),
    "a task that cannot be read": (
        lambda: Task("x", "score_builder", "?", done="k[0"),
        "never closed",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_a_reader_would_stumble_over_is_refused(wrong):
    make, message = WRONG[wrong]
    with pytest.raises(ValueError, match=message):
        define(make())
    assert "x" not in DEFINITIONS


def test_a_name_is_taken_once(defined):
    bet = defined(Bet("x", "?", (YES, NO)))
    with pytest.raises(ValueError, match="an exercise named 'x' already"):
        define(bet)
    with pytest.raises(ValueError, match="an exercise named 'is it relative' already"):
        define(Bet("is it relative", "?", (YES, NO)))


def test_what_is_not_defined_cannot_be_told():
    with pytest.raises(ValueError, match="with a definition is named 'is it relative'; there are"):
        told("is it relative")


def test_python_says_what_the_page_says(defined):
    defined(Bet("x", "?", (YES, NO)))
    assert (check("x", 0).ok, check("x", "yes").message) == (True, "so")
    assert (check("x", "no").ok, check("x", 1).message) == (False, "not so")
    assert check("x", "maybe").message == "Choose one of the 2 options."


@pytest.mark.parametrize(
    "answer", [2.5, "5/2", np.float32(2.5), torch.tensor(2.5), sp.Rational(5, 2)], ids=repr
)
def test_a_number_is_taken_from_any_library(defined, answer):
    defined(number(right=2.5)())
    assert check("x", answer)


@pytest.mark.parametrize("answer", [3 - 1j, (3, -1), ["3", "-1"], "3, −1", torch.tensor([3, -1])])
def test_two_numbers_may_be_one_complex_number(defined, answer):
    defined(Answer("x", "numbers", "?", right=(3, -1)))
    assert check("x", answer)


@pytest.mark.parametrize("answer", [["c", "a", "b"], (2, 0, 1), np.array([2, 0, 1])])
def test_an_order_is_one_of_places_or_of_items(defined, answer):
    defined(Answer("x", "order", "?", right=(2, 0, 1), items=("<b>a</b>", "b", "c")))
    assert check("x", answer)
    assert not check("x", ["c", "b", "a"])
    assert "each of them once" in check("x", ["c", "d", "a"]).message


@pytest.mark.parametrize(
    "answer", [lambda x: x + x, "x * 2", ["x + x"], lambda x: torch.tensor(2 * x)]
)
def test_a_function_and_its_gaps_get_one_verdict(defined, answer):
    defined(FillIn("x", "?", CODE, ((3,), (0.5,)), hints=(Hint("x * x", "Squared."),)))
    assert check("x", answer)
    assert check("x", lambda x: x**2).message == check("x", "x**2").message == "Squared."
    wrong = "For x = 3 it gives 7, and it should give 6."
    assert check("x", lambda x: 2 * x + 1).message == check("x", "2*x + 1").message == wrong


def test_a_function_gets_new_values_for_each_case(defined):
    code = "def f(q, names):\n    return <<q[0] + len(names)>>\n"
    cases = (((1.0, 2.0), ((1, 2),)), ((3.0, 4.0), ((1, 2),)))
    defined(FillIn("x", "?", code, cases, tensors=True))

    def emptied(q, names):
        first = q[0] + len(names)
        q.zero_()
        return first

    assert check("x", emptied) and check("x", emptied)


def test_a_division_by_zero_is_a_misconception_of_its_own(defined):
    hint = Hint("1 / x", "At 0 there is no slope.")
    defined(FillIn("x", "?", "def f(x):\n    return <<x>>\n", ((1,), (0,)), hints=(hint,)))
    assert check("x", lambda x: 1 / x).message == check("x", "1/x").message == hint.said


def test_a_task_is_done_by_a_widget_or_by_its_traits(defined):
    defined(Task("x", "score_builder", "?", done="k[0] > 1", said="There."))

    class Widget:
        k = (2.0, 0.0)

    assert check("x", Widget()).message == check("x", {"k": [2, 0]}).message == "There."
    assert check("x", {"k": [0, 0]}).message == "Not answered yet."


def test_a_rule_may_accept_many_answers(defined):
    defined(
        Answer("x", "number", "?", right=4, accept="a > 2 and a == round(a)", otherwise="{a}?"),
        Answer("y", "set", "?", right=(1, 2), let={"most": "max(a)"}, otherwise="{{{most:.1f}}}"),
    )
    assert judge("x", 3) == judge("x", "8/2") == (True, "Right.")
    assert judge("x", 2.5) == (False, "2.5?")
    assert judge("y", {0.5, 9}) == (False, "{9.0}")


def test_markup_is_left_out_where_it_cannot_be_shown():
    assert without_markup("a < b <i>c</i> <u>") == "a < b c <u>"
