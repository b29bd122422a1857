"""Texts in the small language of answers, drawn at random, and Python's own word on each."""

import ast
import copy
import math
import re

from hypothesis import strategies as st

NAMES = {"x": 3, "y": -0.5, "n": -7, "q": [1, -2.5, 4], "rows": [[1, 2], [3, 4]], "on": True}


def _short(found):
    """A list, if it is one that a test can wait for."""
    if len(found) > 100_000:
        raise OverflowError
    return list(found)


def _power(base, exponent):
    if isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1 and exponent > 200:
        raise OverflowError
    return base**exponent


def _times(left, right):
    for items, count in ((left, right), (right, left)):
        if isinstance(items, list | str) and isinstance(count, int) and count > 100_000:
            raise OverflowError
    return left * right


class _Patient(ast.NodeTransformer):
    """Has powers and products of Python computed unless they would take for ever."""

    def visit_BinOp(self, node):
        self.generic_visit(node)
        slow = {ast.Pow: "_power", ast.Mult: "_times"}.get(type(node.op))
        if slow is None:
            return node
        name = ast.Name(slow, ast.Load())
        return ast.copy_location(ast.Call(name, [node.left, node.right], []), node)


FUNCTIONS = {
    **{name: getattr(math, name) for name in ("floor", "ceil", "sqrt", "hypot", "atan2", "log")},
    **{name: getattr(math, name) for name in ("cos", "sin", "exp", "radians", "acos")},
    **{"abs": abs, "round": round, "min": min, "max": max, "sum": sum, "len": len},
    **{"range": lambda *values: _short(range(*values)), "any": any, "all": all},
    "zip": lambda *lists: [list(row) for row in zip(*lists, strict=False)],
}
BOUNDS = ("too large", "too long", "nested too deep")

_NUMBERS = st.one_of(
    st.integers(0, 20).map(str),
    st.integers(-20, -1).map(lambda number: f"({number})"),
    st.sampled_from(["0.5", "1e-3", "2.75", "1e300", "9007199254740992", ".5", "3.", "12345678"]),
)
_ATOMS = st.one_of(
    _NUMBERS, _NUMBERS, _NUMBERS, st.sampled_from([*NAMES, "pi", "True", "[]", "'a'"])
)


_PATTERNS = [
    *5 * ["({}) {sign} ({})"],
    *("{} {sign} {}", "({}) {sign} ({})", "-{}", "({}) {compared} {}", "{} < {} <= {}"),
    *("{} and {}", "not {} or {}", "({} if {} else {})", "[{}, {}]", "{list}[{}]"),
    *("q[{at}:{at}:{at}]", "{name}({})", "{name}({}, {})", "[{} for x in {}]"),
    "[x + i for i, x in zip(range({}), q) if {}]",
]
_WORDS = {
    "sign": ["+", "-", "*", "/", "//", "%", "**"],
    "compared": ["<", ">", "<=", ">=", "==", "!=", "in", "not in"],
    "list": ["q", "rows", "rows[1]", "[5, 6]"],
    "at": ["", "0", "1", "-1", "2", "-2", "9"],
    "name": [*FUNCTIONS],
}


@st.composite
def well_formed(draw, depth=3):
    """An expression that Python can read too."""
    if not depth or draw(st.integers(0, 5)) == 0:
        return draw(_ATOMS)

    def part(match):
        if match[1]:
            return draw(st.sampled_from(_WORDS[match[1]]))
        return draw(well_formed(depth - 1))

    return re.sub(r"\{(\w*)\}", part, draw(st.sampled_from(_PATTERNS)))


_SIGNED = st.one_of(st.integers(-9, 9), st.sampled_from([-7.5, -0.5, 0.25, 2.5, 3.0]))
_SUM = st.tuples(_SIGNED, *2 * [st.sampled_from(_WORDS["sign"]), _SIGNED])
ARITHMETIC = _SUM.map(lambda parts: "({}) {} ({}) {} ({})".format(*parts))
WELL_FORMED = st.one_of(ARITHMETIC, well_formed())
_ODD = st.sampled_from([*"^@()[]<>=,:;.\"'#!$&{}π×−θ\n\t\\é😀_", "**", "if", "for", "in", "lambda"])


@st.composite
def _broken(draw):
    text = draw(WELL_FORMED)
    at = draw(st.integers(0, len(text)))
    return text[:at] + draw(_ODD) + text[at + draw(st.integers(0, 2)) :]


BROKEN = st.one_of(_broken(), st.text(max_size=30))


def by_python(tree):
    """The value of Python's own evaluation of an expression's tree."""
    tree = ast.fix_missing_locations(ast.Expression(_Patient().visit(copy.deepcopy(tree))))
    code = compile(tree, "text", "eval")
    known = {
        "_power": _power,
        "_times": _times,
        **FUNCTIONS,
        **NAMES,
        "pi": math.pi,
        "e": math.e,
        "__builtins__": {},
    }
    return eval(code, known)


def leaves_the_bounds(value):
    """Whether a value is one that the language ends before."""
    if isinstance(value, complex):
        return True
    if isinstance(value, int):
        return abs(value) > 2**53
    return isinstance(value, float) and not math.isfinite(value)
