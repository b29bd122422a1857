"""What every exercise's checker must do with right answers and with misconceptions."""

import math
import re

import pytest

from ropebook.exercises import check
from ropebook.exercises.definitions import DEFINITIONS


def filled(name):
    """Return the function of a fill-in with what belongs in its gaps, as Python runs it."""
    code = re.sub(r"<<(.*?)>>", r"(\1)", DEFINITIONS[name].code)
    names = dict(vars(math))
    exec(compile(code, name, "exec"), names)
    return names[re.match(r"def (\w+)", code)[1]]


def accepted(right):
    """Return a test that each right answer, `(exercise, answer)`, is accepted."""

    @pytest.mark.parametrize(("name", "answer"), right)
    def test(name, answer):
        verdict = check(name, answer)
        assert verdict.ok, verdict

    return test


def hinted(wrong):
    """Return a test that each wrong answer, `(exercise, answer, hint)`, is met with its hint."""

    @pytest.mark.parametrize(("name", "answer", "hint"), wrong)
    def test(name, answer, hint):
        verdict = check(name, answer)
        assert not verdict.ok
        assert hint in verdict.message, verdict

    return test
