"""The one definition of an exercise, for the page and for Python.

A chapter's file registers its exercises with `define(...)`; `ask("name")` shows one on a page,
`check("name", answer)` judges an answer in Python, and both say the same.

Questions, options, hints and solutions are plain text in which <b> <i> <code> <sub> <sup> may
stand. What is said to an answer may have values in braces: `{a}` is the answer, `{right}` the right
one, `{cos(a):.4f}` any expression of `ropebook.exercises.language` with four decimals; a brace
itself is written twice, `{{`.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ropebook.exercises import judging
from ropebook.exercises.base import CHECKERS
from ropebook.exercises.language import LanguageError, expression
from ropebook.exercises.meaning import given, show, value_of
from ropebook.exercises.program import NO_RETURN

KINDS = ("number", "numbers", "set", "choice", "order", "expression")
"""What an `Answer` may ask for."""

DEFINITIONS: dict[str, "Exercise"] = {}
"""All exercises that are defined, by name."""

_TAG = re.compile(r"</?(\w+)[^<>]*>|<(?=[/a-zA-Z!])")
_TAGS = ("b", "i", "code", "sub", "sup")
_GAP = re.compile(r"<<(.*?)>>")
_MARKUP = re.compile(rf"</?(?:{'|'.join(_TAGS)})>")


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

    def told(self) -> dict[str, Any]:
        """Return the definition as a page gets it, in what JSON can say."""
        told: dict[str, Any] = {"kind": self.kind, "name": self.name, "question": self.question}
        told["solution"] = self.solution
        if self.kind == "choice":
            return told | {"options": [_told_option(option) for option in self.options]}
        told |= {"otherwise": self.otherwise, "tolerance": self.tolerance, "unit": self.unit}
        told |= {"accept": self.accept, "let": dict(self.let), "labels": self._labels()}
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
            **{"otherwise": self.otherwise, "tolerance": self.tolerance, "let": dict(self.let)},
            "parameters": [],
        }
        read = judging.completed(told, told["gaps"])
        told |= {"function": read.name, "parameters": read.parameters}
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
            _look_at(exercise)
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
    if isinstance(exercise, FillIn) and callable(answer):
        return judging.judged_outputs(exercise.told(), _run(exercise, answer))
    return judging.judged(exercise.told(), _as_page(exercise, answer))


def plain(text: str) -> str:
    """Return a text without its markup."""
    return _MARKUP.sub("", text)


def _checker(exercise: Exercise) -> Callable[[object], str | None]:
    def checker(answer: object) -> str | None:
        ok, message = judge(exercise.name, answer)
        return None if ok else message

    return checker


# ---- answers in Python's forms ----------------------------------------------------------------


def _plain_value(value: object) -> object:
    """Return numbers and arrays of any library as Python's own; texts stay texts."""
    if hasattr(value, "tolist"):  # NumPy, torch, SymPy's matrices
        value = value.tolist()
    if isinstance(value, str | bool | int | float) or value is None:
        return value
    if isinstance(value, Sequence | set | frozenset):
        return [_plain_value(item) for item in value]
    if isinstance(value, complex):
        return [value.real, value.imag]
    return float(value)  # SymPy's numbers, fractions


def _as_page(exercise: Exercise, answer: object) -> object:
    """Return an answer in the form in which a page has it."""
    if isinstance(exercise, Task):
        traits = re.findall(r"[A-Za-z_]\w*", exercise.done)
        if isinstance(answer, Mapping):
            return answer
        return {name: getattr(answer, name) for name in traits if hasattr(answer, name)}
    answer = _plain_value(answer)
    if isinstance(exercise, FillIn):
        return [answer] if isinstance(answer, str) else answer
    if isinstance(exercise, Bet) or exercise.kind == "choice":
        texts = [plain(option.text) for option in exercise.options]
        return texts.index(answer) if answer in texts else answer
    if exercise.kind == "order":
        items = [plain(item) for item in exercise.items]
        return [items.index(item) if item in items else item for item in answer]
    if exercise.kind == "set" and not isinstance(answer, list | str):
        raise LanguageError("Give a set, such as {1, 2}: there may be more than one.")
    if exercise.kind == "numbers" and isinstance(answer, str):
        return judging.split(answer.strip(" ()[]"))
    if exercise.kind == "numbers" and not isinstance(answer, list):
        return [answer]
    return answer


def _run(exercise: FillIn, function: Callable[..., object]) -> list:
    """Return what a reader's own function gives for each case."""
    import torch

    def handed(value: Any) -> Any:
        if exercise.tensors and isinstance(value, Sequence):
            return torch.tensor(value, dtype=torch.float64)
        return [handed(item) for item in value] if isinstance(value, Sequence) else value

    found: list = []
    for case in exercise.cases:
        try:
            value = function(*map(handed, case))
        except ArithmeticError as error:
            found.append(error)
            continue
        if value is None:
            raise LanguageError(NO_RETURN)
        found.append(given(_plain_value(value)))
    return found


# ---- what a definition must be ----------------------------------------------------------------


def _look_at(exercise: Exercise) -> None:
    for text in _strings(exercise):
        _look_at_tags(exercise.name, text)
    if isinstance(exercise, Task):
        expression(exercise.done)
    elif isinstance(exercise, Bet):
        _look_at_options(exercise.name, exercise.options)
    elif isinstance(exercise, FillIn):
        _look_at_fill_in(exercise)
    else:
        _look_at_answer(exercise)


def _look_at_tags(name: str, text: str) -> None:
    opened: list[str] = []
    for match in _TAG.finditer(text):
        tag = match[0]
        if tag.strip("</>") not in _TAGS:
            allowed = " ".join(f"<{tag}>" for tag in _TAGS)
            raise ValueError(f"exercise {name!r}: only {allowed} may stand in text, got {tag!r}")
        if not tag.startswith("</"):
            opened.append(match[1])
        elif not opened or opened.pop() != match[1]:
            raise ValueError(f"exercise {name!r}: {tag} closes nothing in {text!r}")
    if opened:
        raise ValueError(f"exercise {name!r}: <{opened[-1]}> is never closed in {text!r}")


def _strings(exercise: Exercise) -> list[str]:
    """Return all texts of an exercise that readers see."""
    found = [exercise.text, exercise.said] if isinstance(exercise, Task) else [exercise.question]
    found += [part for o in getattr(exercise, "options", ()) for part in (o.text, o.said)]
    found += [hint.said for hint in getattr(exercise, "hints", ())]
    found += [*getattr(exercise, "items", ()), *getattr(exercise, "labels", ())]
    return [*found, getattr(exercise, "solution", ""), getattr(exercise, "otherwise", "")]


def _look_at_options(name: str, options: Sequence[Option]) -> None:
    right = sum(option.right for option in options)
    if len(options) < 2 or right != 1:
        raise ValueError(
            f"exercise {name!r}: there must be two or more options and one right one, "
            f"got {len(options)} with {right} right"
        )
    if len({option.text for option in options}) < len(options):
        raise ValueError(f"exercise {name!r}: two options say the same")


def _look_at_answer(exercise: Answer) -> None:
    name = exercise.name
    if exercise.kind not in KINDS:
        raise ValueError(f"exercise {name!r}: kind must be one of {KINDS}, got {exercise.kind!r}")
    if exercise.kind == "choice":
        _look_at_options(name, exercise.options)
        return
    if exercise.right is None:
        raise ValueError(f"exercise {name!r}: the right answer is missing")
    if exercise.labels and len(exercise.labels) != len(exercise.right):
        raise ValueError(
            f"exercise {name!r}: {len(exercise.labels)} labels for {len(exercise.right)} numbers"
        )
    if exercise.kind == "order" and sorted(exercise.right) != list(range(len(exercise.items))):
        raise ValueError(
            f"exercise {name!r}: right must have each place of {len(exercise.items)} items once, "
            f"got {exercise.right}"
        )
    if exercise.kind == "order" and list(exercise.right) == sorted(exercise.right):
        raise ValueError(f"exercise {name!r}: the items are shown in the right order already")
    told = exercise.told()
    _look_at_rules(exercise)

    def verdict(answer: Any) -> tuple[bool, str]:
        return judging.judged(told, answer)

    if not verdict(_shape(exercise, exercise.right))[0]:
        raise ValueError(f"exercise {name!r}: its right answer {exercise.right!r} is not accepted")
    _look_at_hints(exercise, told, lambda hint: verdict(_shape(exercise, hint.example)))


def _look_at_fill_in(exercise: FillIn) -> None:
    told = exercise.told()
    if not told["gaps"]:
        raise ValueError(f"exercise {exercise.name!r}: its code has no gap, such as <<a + b>>")
    broken = [case["given"] for case in told["cases"] if case["right"] is None]
    if broken or not told["cases"]:
        raise ValueError(f"exercise {exercise.name!r}: its code gives nothing for {broken}")
    _look_at_rules(exercise)
    _look_at_hints(exercise, told, lambda hint: judging.judged(told, _texts(hint.example)))


def _look_at_rules(exercise: Answer | FillIn) -> None:
    for rule in (*exercise.let.values(), *(hint.when for hint in exercise.hints if hint.when)):
        expression(rule)
    if getattr(exercise, "accept", ""):
        expression(exercise.accept)


def _look_at_hints(exercise: Answer | FillIn, told: Mapping, verdict: Callable) -> None:
    for place, hint in enumerate(exercise.hints):
        ok, message = verdict(hint)
        if ok:
            raise ValueError(
                f"exercise {exercise.name!r}: a hint is for a wrong answer, but {hint.example!r} "
                "is right"
            )
        alone = {**told, "hints": [told["hints"][place]], "otherwise": "\0"}
        alone_said = judging.judged(alone, _example(exercise, hint))[1]
        if message != alone_said or "?" in message.replace("?", "", hint.said.count("?")):
            raise ValueError(
                f"exercise {exercise.name!r}: {hint.example!r} should get its own hint, "
                f"{hint.said!r}, got {message!r}"
            )


def _example(exercise: Answer | FillIn, hint: Hint) -> Any:
    is_fill_in = isinstance(exercise, FillIn)
    return _texts(hint.example) if is_fill_in else _shape(exercise, hint.example)


def _shape(exercise: Answer, answer: Any) -> Any:
    """Return an answer of the definition in the form in which a page has it."""
    return list(answer) if exercise.kind in ("numbers", "set", "order") else answer


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


def _with_value(answer: Any) -> str:
    value = _evaluated(answer)
    said = show(value)
    return f"{answer} = {said}" if isinstance(answer, str) and answer != said else said


__all__ = ["Answer", "Bet", "FillIn", "Hint", "Option", "Task", "define", "judge", "told"]
