"""The rules for numbers, and how a value is shown."""

import functools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from ropelib import checks

at_least_1, at_least_2 = (functools.partial(checks.integer, least=least) for least in (1, 2))
at_most_9 = functools.partial(checks.integer, most=9)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("yarn", "'yarn'"),
        (None, "None"),
        (True, "True"),
        (1e300, "1e+300"),
        (10**39, "1" + "0" * 39),
        (10**400, "an integer of about 401 digits"),
        (-(10**4000), "an integer of about 4001 digits"),
        ("\x1b[2J\u202e\ud800\n", r"'\x1b[2J\u202e\ud800\n'"),
        ([[[[1]]]], "[[[[...]]]]"),
        ({"a": 1}, "{'a': 1}"),
    ],
)
def test_a_value_is_shown_as_what_it_is(value, text):
    assert checks.shown(value) == text


@pytest.mark.parametrize(
    "value", ["x" * 10**6, ["x" * 10**6] * 100, {str(i): "\x1b" * 99 for i in range(99)}, range(9)]
)
def test_a_value_is_shown_short_on_one_line(value):
    assert len(checks.shown(value)) <= 80 and checks.shown(value).isprintable()


def test_integers_too_long_for_python_to_write_are_shown():
    assert checks.shown(10**5000) == "an integer of about 5001 digits"


def test_a_text_is_printable_without_its_quotes():
    assert checks.printable("llama") == "llama"
    assert checks.printable("\x1b[2J") == r"\x1b[2J"


@pytest.mark.parametrize(
    ("rule", "value", "error", "message"),
    [
        (checks.number, "1", TypeError, "x must be a real number, got '1'"),
        (checks.number, True, TypeError, "x must be a real number, got True"),
        (checks.number, 1j, TypeError, "x must be a real number, got 1j"),
        (checks.number, math.nan, ValueError, "x must be finite, got nan"),
        (checks.number, 10**400, ValueError, "x must be finite, got an integer of about 401"),
        (checks.number, Fraction(10**400), ValueError, "x must be finite, got Fraction"),
        (checks.positive, 0, ValueError, "x must be positive, got 0"),
        (checks.positive, math.inf, ValueError, "x must be finite, got inf"),
        (checks.factor, 0.999, ValueError, "x must be at least 1, got 0.999"),
        (checks.share, 1.001, ValueError, r"x must lie within 0 \.\. 1, got 1.001"),
        (checks.share, -0.001, ValueError, r"x must lie within 0 \.\. 1, got -0.001"),
        (checks.layout, "neox", ValueError, 'x must be "interleaved" or "half", got \'neox\''),
        (checks.length, 1.0, TypeError, "x must be an integer, got 1.0"),
        (checks.length, False, TypeError, "x must be an integer, got False"),
        (checks.length, 0, ValueError, "x must be positive, got 0"),
        (checks.integer, True, TypeError, "x must be an integer, got True"),
        (checks.integer, "8", TypeError, "x must be an integer, got '8'"),
        (at_least_1, 0, ValueError, "x must be positive, got 0"),
        (at_least_2, 1, ValueError, "x must be at least 2, got 1"),
        (at_most_9, 10, ValueError, "x must be at most 9, got 10"),
        (checks.length, 2**63, ValueError, "x must be at most 9223372036854775807, got 92233"),
    ],
)
def test_what_breaks_a_rule_is_refused_by_name_value_and_rule(rule, value, error, message):
    with pytest.raises(error, match=message):
        rule("x", value)


@pytest.mark.parametrize(
    ("rule", "values"),
    [
        (checks.number, [0, -1.5, np.float32(2), Fraction(1, 3)]),
        (checks.positive, [5e-324, 1, np.int64(3)]),
        (checks.factor, [1, 1.0]),
        (checks.share, [0, 1, 0.5]),
        (checks.layout, ["interleaved", "half"]),
        (checks.length, [1, 2**63 - 1, np.int32(7)]),
        (checks.integer, [-1, 10**30, np.int32(7)]),
        (at_least_1, [1]),
        (at_least_2, [2]),
        (at_most_9, [1, 9]),
    ],
)
def test_the_edges_of_a_rule_keep_it(rule, values):
    for value in values:
        rule("x", value)


def test_integers_lie_between_their_bounds_and_are_pythons():
    for value in (-2, 0, 5, np.int8(5), np.uint64(0)):
        assert type(checks.integer("x", value, -2, 5)) is int
    for value in (-3, np.int8(-3)):
        with pytest.raises(ValueError, match="x must be at least -2, got -3"):
            checks.integer("x", value, -2, 5)
    with pytest.raises(ValueError, match="x must be positive, got 0"):
        checks.integer("x", 0, 1)
    with pytest.raises(ValueError, match="x must be at most 5, got 6"):
        checks.integer("x", 6, -2, 5)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("1", TypeError, "attention_factor must be a real number, got '1'"),
        (True, TypeError, "attention_factor must be a real number, got True"),
        (0, ValueError, "attention_factor must be positive and finite, got 0"),
        (math.nan, ValueError, "attention_factor must be positive and finite, got nan"),
        (10**400, ValueError, "must be between .*, got an integer of about 401 digits"),
        (1e-40, ValueError, "must be between 1.18e-38 and 3.4e.38, .* got 1e-40"),
    ],
)
def test_wrong_attention_factors_are_refused(value, error, message):
    with pytest.raises(error, match=message):
        checks.attention_factor(value)


def test_an_attention_factor_is_a_float():
    assert checks.attention_factor(Fraction(3, 2)) == 1.5
    assert type(checks.attention_factor(np.float32(2))) is float


def test_a_number_of_heads_is_a_size_within_reason():
    checks.num_heads(2**20)
    with pytest.raises(ValueError, match="num_heads must be at most 1048576, got 1048577"):
        checks.num_heads(2**20 + 1)
    with pytest.raises(TypeError, match="num_heads must be an integer, got True"):
        checks.num_heads(True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64, torch.bool])
def test_tensors_that_look_things_up_hold_whole_numbers(dtype):
    checks.whole_numbers("x", torch.zeros(2, dtype=torch.uint8))
    with pytest.raises(TypeError, match=f"x must be whole numbers, got {dtype}"):
        checks.whole_numbers("x", torch.zeros(2, dtype=dtype))


def test_lists_have_one_positive_number_for_each_pair():
    checks.positive_list("x", [1, 2.5], 2)
    checks.positive_list("x", (1,), 1)
    for numbers, error, message in (
        ("12", TypeError, "x must be a list of numbers, got '12'"),
        (3, TypeError, "x must be a list of numbers, got 3"),
        ([1], ValueError, "x must have 2 numbers, one per pair, got 1"),
        ([1, 0], ValueError, r"x\[1\] must be positive, got 0"),
        ([1, "a"], TypeError, r"x\[1\] must be a real number, got 'a'"),
    ):
        with pytest.raises(error, match=message):
            checks.positive_list("x", numbers, 2)
