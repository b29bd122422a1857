"""Texts in the small language of answers, drawn at random, and Python's own word on each."""

import ast
import math
import re

from hypothesis import strategies as st

NAMES = {"x": 3, "y": -0.5, "n": 7, "q": [1, -2.5, 4], "rows": [[1, 2], [3, 4]], "on": True}
FUNCTIONS = {
    **{name: getattr(math, name) for name in ("floor", "ceil", "sqrt", "hypot", "atan2", "log")},
    **{name: getattr(math, name) for name in ("cos", "sin", "exp", "radians", "acos")},
    **{"abs": abs, "round": round, "min": min, "max": max, "sum": sum, "len": len},
    **{"range": lambda *values: list(range(*values)), "any": any, "all": all},
    "zip": lambda *lists: [list(row) for row in zip(*lists, strict=False)],
}
BOUNDS = ("too large", "too long", "nested too deep")

_NUMBERS = st.one_of(
    st.integers(0, 20).map(str),
    st.sampled_from(["0.5", "1e-3", "2.75", "1e300", "9007199254740992", ".5", "3.", "12345678"]),
)
_ATOMS = st.one_of(_NUMBERS, st.sampled_from([*NAMES, "pi", "True", "[]", "'a'"]))


_PATTERNS = [
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
    if not depth or draw(st.integers(0, 3)) == 0:
        return draw(_ATOMS)

    def part(match):
        if match[1]:
            return draw(st.sampled_from(_WORDS[match[1]]))
        return draw(well_formed(depth - 1))

    return re.sub(r"\{(\w*)\}", part, draw(st.sampled_from(_PATTERNS)))


WELL_FORMED = well_formed()
_ODD = st.sampled_from([*"^@()[]<>=,:;.\"'#!$&{}π×−θ\n\t\\é😀_", "**", "if", "for", "in", "lambda"])


@st.composite
def _broken(draw):
    text = draw(WELL_FORMED)
    at = draw(st.integers(0, len(text)))
    return text[:at] + draw(_ODD) + text[at + draw(st.integers(0, 2)) :]


BROKEN = st.one_of(_broken(), st.text(max_size=30))


def by_python(tree):
    """The value of Python's own evaluation of an expression's tree."""
    code = compile(ast.Expression(tree), "text", "eval")
    known = {**FUNCTIONS, **NAMES, "pi": math.pi, "e": math.e, "__builtins__": {}}
    return eval(code, known)


def leaves_the_bounds(value):
    """Whether a value is one that the language ends before."""
    if isinstance(value, complex):
        return True
    if isinstance(value, int):
        return abs(value) > 2**53
    return isinstance(value, float) and not math.isfinite(value)
