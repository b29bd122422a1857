"""The small language of answers means what Python means, and a page reads it as Python does."""

import ast
import functools
import json
import math
import warnings

import javascript
import pytest
from expressions import BOUNDS, BROKEN, NAMES, WELL_FORMED, by_python, leaves_the_bounds
from hypothesis import given, settings
from hypothesis import strategies as st

from ropebook.exercises.language import LanguageError, expression, free_names, one_number
from ropebook.exercises.meaning import near, rounded, show, value_of
from ropebook.exercises.program import function, result

MANY = settings(max_examples=1000, deadline=None)
FEW = settings(max_examples=15, deadline=None)

_ON_THE_PAGE = """
const { LanguageError, readExpression, freeNames } = await import("./kit/language.js");
const { fromJson, showValue, valueOfTree } = await import("./kit/meaning.js");
const names = Object.fromEntries(Object.entries(given.names).map(([n, v]) => [n, fromJson(v)]));
console.log(JSON.stringify(given.texts.map((text) => {
  try {
    const value = valueOfTree(readExpression(text), names);
    return ["value", showValue(value), freeNames(text)];
  } catch (error) {
    if (!(error instanceof LanguageError)) return ["crash", String(error.stack), []];
    return ["error", error.message, []];
  }
})));
"""


def said(text):
    """What Python's side says to a text: its value as it is shown, or why it has none."""
    try:
        return ["value", show(value_of(expression(text), NAMES)), free_names(text)]
    except LanguageError as error:
        return ["error", str(error), []]


def on_the_page(texts):
    return javascript.run(_ON_THE_PAGE, {"texts": texts, "names": NAMES})


@functools.cache
def on_one_page():
    """What the page says to all texts of this file, by text."""
    texts = [text for text, _ in (*MEANT, *NOT_READ)]
    return dict(zip(texts, on_the_page(texts), strict=True))


def has_the_value(found, wanted):
    if isinstance(wanted, str | bool):
        return type(found) is type(wanted) and found == wanted
    if isinstance(wanted, list | tuple):
        alike = map(has_the_value, found, wanted)
        return isinstance(found, list) and len(found) == len(wanted) and all(alike)
    return type(found) is type(wanted) and math.isclose(found, wanted, rel_tol=1e-14)


# A text of Python that the language knows, or knows to be without a value: the last is refused by
# its words for it. What Python computes on lists, texts and truths beyond that is no number.
REFUSED = (ZeroDivisionError, OverflowError, ValueError, TypeError, IndexError)
NARROWER = ("is needed where", "must be a whole number", "no real power", "takes ", "is a function")


@MANY
@given(WELL_FORMED)
def test_a_text_means_what_python_means_by_it(text):
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        with pytest.raises(LanguageError):
            expression(text)
        return
    try:
        found = value_of(expression(text), NAMES)
    except LanguageError as error:
        if any(bound in str(error) for bound in BOUNDS):
            assert reaches_a_bound(tree), error
        elif not any(rule in str(error) for rule in NARROWER):
            with warnings.catch_warnings(), pytest.raises((*REFUSED, NameError)):
                warnings.simplefilter("ignore", SyntaxWarning)
                by_python(tree)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        assert has_the_value(found, by_python(tree)), (text, found)


def reaches_a_bound(tree):
    """Whether Python, somewhere in a text, leaves the numbers that the language has."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ListComp | ast.Call | ast.BinOp | ast.Constant):
            try:
                value = by_python(node)
            except (OverflowError, MemoryError, NameError):  # NameError: a loop's own name
                return True
            except (TypeError, ValueError, ZeroDivisionError, IndexError, AttributeError):
                continue
            if leaves_the_bounds(value) or (isinstance(value, list) and len(value) > 10_000):
                return True
    return False


@FEW
@given(st.lists(st.one_of(WELL_FORMED, BROKEN), min_size=30, max_size=40))
def test_a_page_says_what_python_says(texts):
    for text, found in zip(texts, on_the_page(texts), strict=True):
        assert found == said(text), text


MEANT = [
    ("2*π/3", "2.0944"),
    ("−1 × 2", "-2"),
    ("-2 ** 2", "-4"),
    ("2 ** 3 ** 2", "512"),
    ("-7 // 2", "-4"),
    ("-7 % 3", "2"),
    ("7 % -3", "-2"),
    ("-7.5 // 2", "-4"),
    ("7.5 % -2", "-0.5"),
    ("1 < 2 < 3 != 4", "True"),
    ("math.sqrt(9)", "3"),
    ("[i * j for i in range(3) for j in range(i)]", "[0, 0, 2]"),
    ("near(1, 1 + 1e-8) and not near(1, 1.001)", "True"),
    ("round(2.5) + round(-0.5)", "2"),
    ("θ + λ if False else 1", "1"),
    ("0.1 + 0.2", "0.3"),
    ("1e15 + 0.0", "1e15"),
    ("2.5e-7", "2.5e-7"),
    ("123456.7", "123457"),
    ("sin(pi)", "0"),
    ("-1e-11", "-1e-11"),
]


@pytest.mark.parametrize(("text", "value"), MEANT)
def test_what_a_text_means(text, value):
    assert said(text)[1] == value
    assert on_one_page()[text][1] == value


NOT_READ = [
    ("", "Something is missing at the end."),
    ("word", "“word” is not known here."),
    ("nan", "“nan” is not known here."),
    ("1e999", "“1e999” is too large."),
    ("(1", "“(” is never closed."),
    ("1)", "“)” closes no bracket."),
    ("2^3", "write ** for a power"),
    ("√2", "write sqrt(2) for a root"),
    ("90°", "an angle in radians"),
    ("2pi", "missing between a number and “pi”"),
    ("1 2", "missing between a number and a number"),
    ("65,536", "where a comma is between numbers: write “65536”."),
    ("7 680\u2009000 + 1", "where a comma is between numbers: write “7680000 + 1”."),
    ("[1 000, 2]", "write “[1000, 2]”."),
    ("1,000 2,000", "decimals take a point"),
    ("0,125", "decimals take a point, as in 0.5."),
    ("62.5%", "a share is written 0.9 or 90/100."),
    ("2(3)", "missing before “(”"),
    ("cos", "write cos( ) with a value"),
    ("cos(1, 2)", "takes 1 values, got 2"),
    ("1/0", "divides by zero"),
    ("0 ** -1", "divides by zero"),
    ("(-8) ** (1/3)", "no real power"),
    ("sqrt(-1)", "sqrt(-1) is no real number"),
    ("9**9**9", "too large"),
    ("exp(1000)", "too large"),
    ("[1, 2][2]", "There is no index 2 in a list of 2."),
    ("[1, 2][0.5]", "must be a whole number, got 0.5"),
    ("[1] + 1", "A number is needed where a list stands."),
    ("__import__('os')", "no function that is known"),
    ("(1).real", "“.real” cannot be read."),
    ("[].append(1)", "cannot be read"),
    ("lambda: 1", "“lambda” is not expected here."),
    ("x = 1", "“=” is not expected here."),
    ("<b>1</b>", "“‹” is not expected here."),
    ("[0] * 10001", "too long"),
    ("range(20000)", "too long"),
    ("[i for i in range(300) for j in range(300) for k in range(9)]", "too long"),
    ("sum([sum(range(9999)) for i in range(9999)])", "takes too long"),
    ("[[0] * 9999] * 9999", "too long"),
    ("[q == q for i in range(9999) for q in [range(999)]]", "takes too long"),
    ("-" * 100 + "1", "nested too deep"),
    ("(" * 50 + ")" * 50, "nested too deep"),
    ("not " * 60 + "1", "nested too deep"),
    ("2" + "**2" * 60, "nested too deep"),
    ("1" * 401, "too long: at most 400"),
]


@pytest.mark.parametrize(("text", "message"), NOT_READ)
def test_what_cannot_be_read_is_named(text, message):
    found = said(text)
    assert on_one_page()[text] == found
    assert found[0] == "error" and message in found[1]


ONE_NUMBER = [
    *[("7,680,000", "7680000"), ("7 680 000", "7680000"), ("65\u2009536", "65536")],
    *[("-1\u202f024.5e3 * 2", "-1024.5e3 * 2"), ("16 * (4,096 - 1)", "16 * (4096 - 1)")],
    *[("62.5%", "62.5/100"), (" −1,000 % ", "-1000/100"), ("7 % 3", "7 % 3")],
    # No groups of three, or a comma that stands between values: as it is.
    *[(text, text) for text in ("12,34", "1234,567", "1,2345", "0,125", "000,000", "1,000 000")],
    *[(text, text) for text in ("1.000,5", "7,  680", "1e+5 000", "a 000", "1 000a", "1,000,00")],
    *[(text, text) for text in ("max(1,024)", "sum([1,024])", "max((1,024), 2)", ")1,24")],
]


def test_thousands_may_stand_apart_where_one_number_is_asked_for():
    texts = [text for text, _ in ONE_NUMBER]
    page = """const { oneNumber } = await import("./kit/language.js");
        console.log(JSON.stringify(given.map(oneNumber)));"""
    assert list(map(one_number, texts)) == [read for _, read in ONE_NUMBER]
    assert javascript.run(page, texts) == [read for _, read in ONE_NUMBER]


def test_long_work_ends_with_a_message():
    text = "sum([1 for i in range(9999) for j in range(9999) if False])"
    assert said(text) == ["error", "This takes too long to compute.", []] == on_the_page([text])[0]


def test_a_loop_gives_its_names_back():
    assert said("[x for x in range(3)] + [x]")[1] == "[0, 1, 2, 3]"


def test_rounding_is_that_of_school():
    assert [rounded(0.125, 2), rounded(-2.5, 0), rounded(-0.001, 2), rounded(12, 1)] == [
        *("0.13", "-3", "0.00", "12.0")
    ]


def test_near_is_by_part_of_the_second():
    assert near(1e6, 1e6 + 0.5) and not near(1e6, 1e6 + 5) and not near(0, 1e-6)


# ---- functions ---------------------------------------------------------------------------------

PROGRAMS = [
    "def f(n):\n    return n * 2\n",
    """def f(n):
    a, b = n, 1  # two
    a += b
    a -= 2
    a *= 3
    a /= 2
    return a
""",
    """def f(n):
    total = 0
    for i in range(n):
        if i % 2:
            total += i
        elif i == 4:
            return -1
        else:
            total += 0.5
    return total
""",
    '''def f(n):
    """Says what it does."""
    rows = [
        [i, i + 1]
        for i in range(n)
    ]
    return [a * b for a, b in rows]
''',
    """def f(n):
    if n > 2:
        if n > 3:
            return 1
    else:
        return 2
    return 3
""",
    """def f(n):
    for i, x in zip(range(n), [5, 6, 7, 8]):
        last = i, x
    return last
""",
]
NUMBERS = [0, 1, 3, 4, 6]


@pytest.mark.parametrize("code", PROGRAMS)
@pytest.mark.parametrize("n", NUMBERS)
def test_a_function_does_what_it_does_in_python(code, n):
    space = {}
    exec(code, space)
    try:
        wanted = space["f"](n)
    except UnboundLocalError:
        with pytest.raises(LanguageError, match="“last” is not known here"):
            result(function(code), [n])
        return
    wanted = json.loads(json.dumps(wanted))
    assert result(function(code), [n]) == wanted
    assert run_on_one_page()[code, n] == show(wanted)


_PROGRAM = """
const { LanguageError } = await import("./kit/language.js");
const { fromJson, showValue } = await import("./kit/meaning.js");
const { readFunction, resultOf } = await import("./kit/program.js");
console.log(JSON.stringify(given.map(([code, values]) => {
  try {
    return showValue(resultOf(readFunction(code), fromJson(values)));
  } catch (error) {
    if (!(error instanceof LanguageError)) throw error;
    return error.message;
  }
})));
"""


@functools.cache
def run_on_one_page():
    """What the page says to all functions of this file, by code and argument."""
    calls = [(code, n) for code in PROGRAMS for n in NUMBERS]
    calls += [(code, 1) for code, _ in NO_FUNCTIONS]
    found = javascript.run(_PROGRAM, [(code, [n]) for code, n in calls])
    return dict(zip(calls, found, strict=True))


NO_FUNCTIONS = [
    ("", "A function begins with “def”."),
    ("x = 1", "“def” is missing at the start before “x”."),
    ("def (n):\n    return 1", "The name of the function is missing."),
    ("def f:\n    return 1", "“(” is missing behind f."),
    ("def f(n):\nreturn 1", "The lines of f must be indented."),
    ("def f(n):\n    a = 1\n      b = 2\n    return 1", "“b = 2” is indented by 6, not by 4."),
    ("def f(n):\n    if n:\n    return 1", "The lines under “if n:” must be indented."),
    ("def f(n):\n    else:\n        return 1", "A name is missing before “else”."),
    ("def f(n):\n    n = 2", "Your function returned None: does every path end in a return?"),
    ("def f(n):\n    a, b = n\n    return 1", "A list is needed where 1 stands."),
    ("def f(n):\n    a, b = [1, 2, 3]\n    return 1", "2 names cannot hold 3 values."),
    ("def f(n):\n    return (1", "“(” is never closed."),
    (
        "def f(n):\n" + "    n += 1\n" * 400,
        "This is too long: at most 4000 characters are read.",
    ),
    (
        "def f(n):\n    for i in range(9999):\n        for j in range(99):\n            n += 1",
        "This takes too long to compute.",
    ),
]


@pytest.mark.parametrize(("code", "message"), NO_FUNCTIONS)
def test_what_is_no_function_is_told(code, message):
    with pytest.raises(LanguageError) as refused:
        result(function(code), [1])
    assert str(refused.value) == message
    assert run_on_one_page()[code, 1] == message
