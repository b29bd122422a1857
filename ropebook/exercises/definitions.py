"""The one definition of an exercise, for the page and for Python.

A chapter's file registers its exercises with `define(...)`; `ask("name")` shows one on a page,
`check("name", answer)` judges an answer in Python, and both say the same.

Questions, options, hints and solutions are plain text in which <b> <i> <code> <sub> <sup> may
stand. What is said to an answer may have values in braces: `{a}` is the answer, `{right}` the right
one, `{cos(a):.4f}` any expression of `ropebook.exercises.language` with four decimals (`:,.0f`
groups thousands); a brace itself is written twice, `{{`.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ropebook.exercises import judging
from ropebook.exercises.base import CHECKERS
from ropebook.exercises.forms import as_on_a_page, outputs_of
from ropebook.exercises.language import LanguageError, expression
from ropebook.exercises.meaning import given, show, value_of
from ropebook.exercises.program import function
from ropebook.exercises.rules import look_at

KINDS = ("number", "numbers", "set", "choice", "order", "expression")
"""What an `Answer` may ask for."""

DEFINITIONS: dict[str, "Exercise"] = {}
"""All exercises that are defined, by name."""

_GAP = re.compile(r"<<(.*?)>>")


@dataclass(frozen=True)
class Option:
    """One option of a bet or a choice.

    Args:
        text: what the option claims.
        said: what the page answers to it: never only "wrong".
        right: whether it is the right one.
    """

    text: str
    said: str
    right: bool = False


@dataclass(frozen=True)
class Hint:
    """What is said to a wrong answer that rests on a known misconception.

    Args:
        example: the wrong answer, as `right` is given; for a fill-in the texts of its gaps.
        said: what helps, never the answer itself.
        when: a rule that recognizes it, an expression in `a` (the answer), `right` and the names
            of `let`; without a rule, an answer is recognized by being equal to the example, and
            that of a fill-in by giving what the example gives for every case.
    """

    example: Any
    said: str
    when: str = ""


@dataclass(frozen=True)
class Bet:
    """A question to guess at before the page answers it: no option is a disgrace.

    Args:
        name: what the exercise is called, unique in the book.
        question: what is asked.
        options: two or more, one of them right.
    """

    name: str
    question: str
    options: tuple[Option, ...]
    kind: ClassVar[str] = "bet"

    def told(self) -> dict[str, Any]:
        """Return the definition as a page gets it, in what JSON can say."""
        return {
            **{"kind": self.kind, "name": self.name, "question": self.question},
            "options": [_told_option(option) for option in self.options],
        }


@dataclass(frozen=True)
class Answer:
    """A question whose answer is typed, chosen or put into an order.

    Args:
        name: what the exercise is called, unique in the book.
        kind: `number`; `numbers`, as many as there are labels; `set`, in any order; `choice` of one
            of `options`; `order` of `items`; `expression` in `variables`.
        question: what is asked.
        right: the right answer: a number or an expression of one, `"200*pi"` (number), several of
            them (numbers, set), places in `items` (order: `(2, 0, 1)` is the third, the first, the
            second), a text (expression). A choice needs none, its option says so.
        hints: what is said to known misconceptions; the first that fits is said.
        otherwise: what is said to any other wrong answer.
        solution: why the right answer is right; its value is said before it.
        labels: the names of the numbers that are asked for: `("x", "y")`.
        unit: what a number counts: `"tokens"`.
        tolerance: by which part of itself a number may be off; what readers round needs more.
        accept: a rule in place of `right` where many answers are right; `right` is then one.
        let: names for rules and texts, `{"length": "hypot(a[0], a[1])"}`; each may use the last.
        options: of a choice, one of them right.
        items: of an order, as they are shown.
        variables: of an expression, the names that it is written in.
        samples: values of the variables at which expressions are compared; made if none are given.
    """

    name: str
    kind: str
    question: str
    right: Any = None
    hints: tuple[Hint, ...] = ()
    otherwise: str = "That is not it."
    solution: str = ""
    labels: tuple[str, ...] = ()
    unit: str = ""
    tolerance: float = 1e-6
    accept: str = ""
    let: Mapping[str, str] = field(default_factory=dict)
    options: tuple[Option, ...] = ()
    items: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    samples: tuple[Mapping[str, float], ...] = ()

    def __post_init__(self):
        def refuse(rule: str, value: object) -> None:
            raise ValueError(f"exercise {self.name!r}: {rule}, got {value!r}")

        if self.kind not in KINDS:
            refuse(f"kind must be one of {', '.join(KINDS)}", self.kind)
        if self.kind != "choice" and self.right is None:
            refuse("the right answer must be given", self.right)
        if self.kind == "numbers" and self.labels and len(self.labels) != len(self.right):
            refuse(f"there must be a label for each of {len(self.right)} numbers", self.labels)
        if self.kind == "order" and sorted(self.right) != list(range(len(self.items))):
            refuse(f"right must hold each place of {len(self.items)} items once", self.right)
        if self.kind == "order" and list(self.right) == sorted(self.right):
            refuse("the items must not be shown in the right order", self.right)
        if self.kind == "expression" and not (self.variables or self.samples):
            refuse("an expression must have variables", self.variables)

    def told(self) -> dict[str, Any]:
        """Return the definition as a page gets it, in what JSON can say."""
        told: dict[str, Any] = {"kind": self.kind, "name": self.name, "question": self.question}
        told["solution"] = self.solution
        if self.kind == "choice":
            return told | {"options": [_told_option(option) for option in self.options]}
        told |= {"otherwise": self.otherwise, "tolerance": self.tolerance, "unit": self.unit}
        told |= {"accept": self.accept, "let": _in_order(self.let), "labels": self._labels()}
        if self.kind == "order":
            told["items"] = list(self.items)
        if self.kind == "expression":
            told["variables"], told["samples"] = list(self.variables), self._samples()
        told["right"], told["shown"] = self._value(self.right), self._shown()
        told["hints"] = [
            {"example": self._value(hint.example), "said": hint.said, "when": hint.when}
            for hint in self.hints
        ]
        return told

    def _labels(self) -> list[str]:
        count = len(self.right) if self.kind == "numbers" else 0
        return list(self.labels) or [f"number {i + 1}" for i in range(count)]

    def _samples(self) -> list[dict[str, float]]:
        if self.samples:
            return [{name: given(value) for name, value in row.items()} for row in self.samples]
        golden = (math.sqrt(5) - 1) / 2  # spreads values evenly, and none of them is special
        return [
            {
                name: round(0.3 + 1.6 * ((row + 1) * (place + 2) * golden % 1), 6)
                for place, name in enumerate(self.variables)
            }
            for row in range(5)
        ]

    def _value(self, answer: Any) -> Any:
        """Return an answer of the definition as a value: a number or a list of them."""
        if self.kind == "expression":
            return [value_of(expression(answer), sample) for sample in self._samples()]
        if self.kind in ("number", "numbers", "set", "order"):
            value = given(_evaluated(answer))
            return sorted(value) if self.kind == "set" else value
        return answer

    def _shown(self) -> str:
        """Return the right answer as text, with its value where that is not the same."""
        if self.kind == "expression":
            return self.right
        if self.kind == "order":
            return ", ".join(self.items[place] for place in self.right)
        if self.kind == "number":
            return _with_value(self.right) + (f" {self.unit}" if self.unit else "")
        parts = [_with_value(part) for part in self.right]
        if self.kind == "numbers":
            parts = [f"{label} = {part}" for label, part in zip(self._labels(), parts, strict=True)]
        return ", ".join(parts)


@dataclass(frozen=True)
class FillIn:
    """A function with gaps, which is run on cases and compared with the function without gaps.

    Args:
        name: what the exercise is called, unique in the book.
        question: what is asked.
        code: a function in the small language, `def` and all; each gap is written with what
            belongs there, `return <<dot * cos(turn)>>`.
        cases: values of the parameters, a tuple for each case; the first that fails is told.
        hints: misconceptions: the texts of all gaps (a text where there is one gap), what is said.
        otherwise: what is said to any other wrong output, by default the case with both values;
            it may use the parameters by name, `{a}` (what came out) and `{right}`.
        solution: why it is right.
        tolerance: by which part of itself a number may be off.
        let: names for rules and texts.
        tensors: whether `check` hands lists of numbers to a reader's function as torch tensors.
    """

    name: str
    question: str
    code: str
    cases: tuple[tuple, ...]
    hints: tuple[Hint, ...] = ()
    otherwise: str = ""
    solution: str = ""
    tolerance: float = 1e-6
    let: Mapping[str, str] = field(default_factory=dict)
    tensors: bool = False
    kind: ClassVar[str] = "fill-in"

    def told(self) -> dict[str, Any]:
        """Return the definition as a page gets it, in what JSON can say."""
        parts = _GAP.split(self.code)
        told: dict[str, Any] = {
            **{"kind": self.kind, "name": self.name, "question": self.question},
            **{"pieces": parts[::2], "gaps": parts[1::2], "solution": self.solution},
            **{
                "otherwise": self.otherwise,
                "tolerance": self.tolerance,
                "let": _in_order(self.let),
            },
        }
        read = function(_GAP.sub(r"(\1)", self.code))
        told |= {"function": read.name, "parameters": read.parameters, "names": read.names}
        for case in self.cases or [()]:
            if len(case) != len(read.parameters) or not self.cases:
                wanted = f"values of {', '.join(read.parameters)}"
                raise ValueError(f"exercise {self.name!r}: a case must have {wanted}, got {case!r}")
        told["cases"] = [{"given": given(case)} for case in self.cases]
        for case, value in zip(told["cases"], self._outputs(told, told["gaps"]), strict=True):
            case["right"] = value
        told["shown"] = _shown_gaps(told)
        told["hints"] = [
            {
                **{"gaps": _texts(hint.example), "said": hint.said, "when": hint.when},
                "outputs": self._outputs(told, _texts(hint.example)),
            }
            for hint in self.hints
        ]
        return told

    def _outputs(self, told: Mapping, gaps: Sequence[str]) -> list:
        found = judging.outputs(told, gaps)
        return [None if isinstance(value, Exception) else given(value) for value in found]


@dataclass(frozen=True)
class Task:
    """Something to reach with a widget, which says so by itself.

    Args:
        name: what the exercise is called, unique in the book.
        widget: the folder of the widget, `"score_builder"`.
        text: what is to be reached.
        done: a rule over the widget's traits, by their names.
        said: what is said when it is reached.
    """

    name: str
    widget: str
    text: str
    done: str
    said: str = "Done."
    kind: ClassVar[str] = "task"

    def told(self) -> dict[str, Any]:
        """Return the definition as a page gets it, in what JSON can say."""
        return {
            **{"kind": self.kind, "name": self.name, "widget": self.widget},
            **{"text": self.text, "done": self.done, "said": self.said},
        }


def within(amount: float, *right: str) -> str:
    """Return a rule that holds when each number is right up to an amount.

    Example:
        >>> within(0.05, "8 * log(2)")
        'abs(a - (8 * log(2))) <= 0.05'
    """
    parts = [f"a[{place}]" for place in range(len(right))] if len(right) > 1 else ["a"]
    rules = [f"abs({a} - ({b})) <= {amount}" for a, b in zip(parts, right, strict=True)]
    return " and ".join(rules)


Exercise = Bet | Answer | FillIn | Task


def define(*exercises: Exercise) -> None:
    """Register exercises, after a look at each of them.

    Args:
        exercises: what `ask`, `check` and widgets will know by name.

    Raises:
        ValueError: If a name is taken, a text has an unknown tag, there is not exactly one right
            option, a hint's example is right or gets another hint, or a rule cannot be read.
    """
    for exercise in exercises:
        if exercise.name in DEFINITIONS or exercise.name in CHECKERS:
            raise ValueError(f"there is an exercise named {exercise.name!r} already")
        try:
            look_at(exercise.told())
        except LanguageError as error:
            raise ValueError(f"exercise {exercise.name!r}: {error}") from error
        DEFINITIONS[exercise.name] = exercise
        CHECKERS[exercise.name] = _checker(exercise)


def told(name: str) -> dict[str, Any]:
    """Return the definition of an exercise as a page gets it.

    Raises:
        ValueError: If no exercise of that name is defined.
    """
    if name not in DEFINITIONS:
        known = ", ".join(sorted(DEFINITIONS))
        raise ValueError(f"no exercise with a definition is named {name!r}; there are {known}")
    return DEFINITIONS[name].told()


def judge(name: str, answer: object) -> tuple[bool, str]:
    """Return whether a value, a text or a function is right, and what is said to it."""
    exercise = DEFINITIONS[name]
    told = exercise.told()
    if isinstance(exercise, FillIn) and callable(answer):
        cases = [case["given"] for case in told["cases"]]
        found = outputs_of(answer, cases, tensors=exercise.tensors)
        return judging.judged_outputs(told, found)
    return judging.judged(told, as_on_a_page(told, answer))


def _checker(exercise: Exercise) -> Callable[[object], str | None]:
    def checker(answer: object) -> str | None:
        ok, message = judge(exercise.name, answer)
        return None if ok else message

    return checker


def _shown_gaps(told: Mapping) -> str:
    """Return what belongs in the gaps, and what the function gives for the first case."""
    gaps = [f"<code>{gap}</code>" for gap in told["gaps"]]
    if len(gaps) > 1:
        gaps = [f"Gap {place}: {gap}" for place, gap in enumerate(gaps, 1)]
    case = told["cases"][0]
    pairs = zip(told["parameters"], case["given"], strict=True)
    call = ", ".join(f"{name} = {show(value)}" for name, value in pairs)
    return f"{', '.join(gaps)}. For {call} it gives {show(case['right'])}."


def _told_option(option: Option) -> dict[str, Any]:
    return {"text": option.text, "said": option.said, "right": option.right}


def _texts(gaps: str | Sequence[str]) -> list[str]:
    return [gaps] if isinstance(gaps, str) else list(gaps)


def _evaluated(answer: Any) -> Any:
    if isinstance(answer, str):
        return value_of(expression(answer), {})
    if isinstance(answer, Sequence | set | frozenset):
        return [_evaluated(part) for part in answer]
    return given(answer)


def _in_order(let: Mapping[str, str]) -> list[list[str]]:
    """Return names and rules as pairs: a built page sorts the keys of what it stores."""
    return [[name, rule] for name, rule in let.items()]


def _with_value(answer: Any) -> str:
    value = _evaluated(answer)
    said = show(value)
    return f"{answer} = {said}" if isinstance(answer, str) and answer != said else said
