"""Whatever is answered to an exercise of the book, the page says what Python says."""

import functools
import json

import javascript
import pytest

from ropebook.exercises import judging
from ropebook.exercises.definitions import DEFINITIONS, Answer, FillIn, Hint, Task, told
from ropebook.exercises.meaning import show

NONSENSE = [
    *(
        "",
        " ",
        "\t\n",
        "word",
        "two words",
        "1e999",
        "nan",
        "inf",
        "-inf",
        "None",
        "[]",
        "{}",
        "()",
    ),
    *("(((", ")", "1)", "[1", "{1", "1,,2", ",", ";", "=", "==", "*", "-", "1 2", "2pi", "2(3)"),
    *("1/0", "0/0", "9**9**9", "sqrt(-1)", "1e-400", "1.2.3", "0x10", "1_000", "1j", "5%", "3,5"),
    *(
        "65,537",
        "7 111 001",
        "7\u2009680",
        "61.7%",
        "0,125",
        "12,34",
        "max(1,037)",
        "1,000 2",
        "(2,048)",
    ),
    *(
        "2^3",
        "√2",
        "90°",
        "½",
        "²",
        "∞",
        "١",
        "Ａ",
        "😀",
        "\u200b1",
        "1\u00a0000",
        "1\n2",
        "\ud800",
    ),
    *("__import__('os')", "().__class__", "lambda: 1", "x := 1", "import os", "constructor"),
    *("toString", "__proto__", "hasOwnProperty", "a", "right", "e", "True", "'text'", '"'),
    *("<b>1</b>", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "{a}", "{{1}}"),
    *("1" * 399, "9" * 5000, "(" * 300, "-" * 300 + "1", "1+" * 2000 + "1", "[" * 200 + "]" * 200),
    *("1, " * 150, "[0] * 9999", "range(9999)", "[[0] * 99] * 99", "cos", "cos(1", "pi", "π"),
]
ANSWERS = {
    "number": lambda told, text: [text],
    "set": lambda told, text: [text, f"{{{text}, {text}}}"],
    "expression": lambda told, text: [text],
    "numbers": lambda told, text: [[text] * len(told["right"]), [text]],
    "fill-in": lambda told, text: [[text] * len(told["gaps"]), [*told["gaps"][1:], text]],
}
_JUDGED = """
const { judge, solutionOf } = await import("./kit/answers.js");
console.log(JSON.stringify(given.map(({ exercise, answers }) => ({
  solution: solutionOf(exercise),
  verdicts: answers.map((answer) => judge(exercise, answer)),
}))));
"""

# Kinds that no chapter has need not wait for one: the page and Python agree on them as well.
SAMPLES = [
    Answer("a number", "number", "?", right="200*pi", unit="tokens", tolerance=0.002),
    Answer(
        "an expression",
        "expression",
        "?",
        right="cos(n * theta) - x / 3",
        variables=("n", "theta", "x"),
        hints=(Hint("cos(n * theta) + x / 3", "The sign of {a} is {right[0]:.3f}."),),
        otherwise="Not {a[0]:.2f} and not {a}.",
    ),
    Answer(
        "an order",
        "order",
        "?",
        right=(2, 0, 1),
        items=("a", "<b>b</b>", "c"),
        hints=(Hint((0, 2, 1), "The {a[0]}th?"),),
    ),
    FillIn(
        "a sum",
        "?",
        code="def total(values, shift):\n    found = <<0>>\n    for value in values:\n"
        "        found += <<value * shift>>\n    return found\n",
        cases=(((1.0, 2.5), 2), ((), 1), ((0.25,), -1)),
        hints=(
            Hint(("1", "value * shift"), "One too many.", when="near(a, right + 1)"),
            Hint(("0", "value / 0"), "That divides."),
        ),
    ),
    Task("a task", "score_builder", "?", done="k[0] > 1 and layout == 'half' and on"),
]
EXERCISES = {sample.name: sample.told() for sample in SAMPLES}
EXERCISES |= {name: told(name) for name in DEFINITIONS}


def spelled(value):
    """Numbers in the ways in which readers write them."""
    yield repr(value)
    yield f"  {value!r} ".replace("-", "−")
    yield f"({value!r} * 3) / 3"
    yield f"{value / 2!r} × 2"
    yield f"{value!r} * 1.004"
    if value == int(value):
        yield f"{int(value)}.0"
        yield f"{2 * int(value)}/2"
        yield f"{1000 * int(value):,} / 1000"
        yield f"{10**6 * int(value):_} / 1000\u2009000".replace("_", "\u202f")
    else:
        yield f"{value!r} * pi/π"
        yield f"{value:.3f}"


def known(exercise):
    """The answers that the definition itself names: the right one, and each misconception."""
    kind = exercise["kind"]
    if "options" in exercise:
        return list(range(len(exercise["options"])))
    if kind == "task":
        return [{"k": [2, 0], "layout": "half", "on": True}, {"k": [0.5]}, {}]
    if kind == "fill-in":
        found = [exercise["gaps"], [f" ({gap}) " for gap in exercise["gaps"]]]
        return found + [hint["gaps"] for hint in exercise["hints"]]
    values = [exercise["right"], *(hint["example"] for hint in exercise["hints"])]
    if kind == "number":
        return [text for value in values for text in spelled(value)]
    if kind == "numbers":
        rows = (zip(*map(spelled, value), strict=False) for value in values)
        return [list(row) for written in rows for row in written]
    if kind == "set":
        lists = [", ".join(map(repr, value)) for value in values]
        return [*lists, *(f"{{{text}}}" for text in lists), *(f"[{text}, 1/2]" for text in lists)]
    if kind == "expression":
        shown = exercise["shown"]
        return [shown, f"0 + ({shown})", f"-({shown})", f"2*({shown})/2"]
    return values


def odd(exercise):
    """Answers of the wrong form, and nonsense."""
    kind = exercise["kind"]
    if kind == "task":
        return [{"k": []}, {"k": [9], "layout": 3, "on": False}]
    if kind in ("bet", "choice"):
        return [None, "", -1, 99, 0.5, True, "word"]
    if kind == "order":
        return [None, [], [0], [0, 0, 1], [0, 1, 9], [True, 0, 2], [0.5, 1, 2]]
    return [answer for text in NONSENSE for answer in ANSWERS[kind](exercise, text)]


def stored(exercise):
    """The exercise as a built page keeps it, with a notebook's widgets: its keys are sorted."""
    return json.loads(json.dumps(exercise, sort_keys=True))


@functools.cache
def on_the_page():
    """What the page says to every answer, by exercise, whose keys a built page has sorted."""
    batch = [
        {"exercise": stored(exercise), "answers": known(exercise) + odd(exercise)}
        for exercise in EXERCISES.values()
    ]
    return dict(zip(EXERCISES, javascript.run(_JUDGED, batch), strict=True))


@pytest.mark.parametrize("name", EXERCISES)
def test_the_page_says_what_python_says(name):
    exercise, page = EXERCISES[name], on_the_page()[name]
    for answer, verdict in zip(known(exercise) + odd(exercise), page["verdicts"], strict=True):
        ok, message = judging.judged(exercise, answer)
        assert verdict == {"ok": ok, "message": message}, answer
        assert message and "\0" not in message
    assert page["solution"] == judging.solution(exercise)


@pytest.mark.parametrize("name", EXERCISES)
def test_nonsense_is_told_and_wrong(name):
    exercise = EXERCISES[name]
    for answer in odd(exercise):
        ok, message = judging.judged(exercise, answer)
        if ok:  # `pi` is no nonsense where pi is asked for
            assert exercise["kind"] == "number" and answer in ("pi", "π", "e")
        assert "<script" not in message and "<img" not in message


@pytest.mark.parametrize("name", EXERCISES)
def test_the_right_answer_is_right_and_each_misconception_has_its_words(name):
    exercise = EXERCISES[name]
    if exercise["kind"] in ("bet", "choice", "task"):
        return
    key = "gaps" if exercise["kind"] == "fill-in" else "example"
    if exercise["kind"] == "expression":
        assert judging.judged(exercise, exercise["shown"])[0]
        return

    def written(value):
        if exercise["kind"] == "number":
            return repr(value)
        return f"{{{str(value)[1:-1]}}}" if exercise["kind"] == "set" else value

    right = exercise["gaps" if key == "gaps" else "right"]
    assert judging.judged(exercise, written(right)) == (True, "Right.")
    for hint in exercise["hints"]:
        ok, message = judging.judged(exercise, written(hint[key]))
        start = judging.PLACE.split(hint["said"])[0].replace("{{", "{")
        assert not ok and message.startswith(start)


@pytest.mark.parametrize("name", EXERCISES)
def test_a_definition_can_be_told_to_a_page(name):
    exercise = EXERCISES[name]
    assert json.loads(json.dumps(exercise, allow_nan=False)) == exercise
    assert exercise["name"] == name


@pytest.mark.parametrize("name", EXERCISES)
def test_a_solution_says_its_value(name):
    exercise = EXERCISES[name]
    if exercise["kind"] in ("number", "numbers", "set"):
        right = exercise["right"]
        for value in right if isinstance(right, list) else [right]:
            assert show(value) in judging.solution(exercise)
    elif exercise["kind"] == "fill-in":
        assert show(exercise["cases"][0]["right"]) in judging.solution(exercise)
        assert all(gap in judging.solution(exercise) for gap in exercise["gaps"])
