"""What scaling methods refuse, by name, value and rule."""

import math

import pytest
import torch
from stretches import LLAMA3, YARN
from transformers.utils import logging

from ropelib import scaling

torch.set_num_threads(1)
logging.set_verbosity_error()

LONGROPE = dict(short_factor=[1] * 2, long_factor=[1] * 2, factor=2.0, original_max_seq_len=64)


BAD = [
    (scaling.linear, {"factor": "2"}, TypeError, "factor must be a real number, got '2'"),
    (scaling.linear, {"factor": True}, TypeError, "factor must be a real number, got True"),
    (scaling.linear, {"factor": 0.5}, ValueError, "factor must be at least 1, got 0.5"),
    (scaling.linear, {"factor": math.nan}, ValueError, "factor must be finite, got nan"),
    (scaling.ntk_aware, {"factor": math.inf}, ValueError, "factor must be finite, got inf"),
    (scaling.ntk_aware, {"factor": [2]}, TypeError, "factor must be a real number"),
    (scaling.ntk_fixed, {"factor": -1}, ValueError, "factor must be at least 1, got -1"),
    (scaling.ntk_fixed, {"factor": None}, TypeError, "factor must be a real number, got None"),
    (scaling.ntk_alpha, {"alpha": 0}, ValueError, "alpha must be at least 1, got 0"),
    (scaling.ntk_alpha, {"alpha": "9"}, TypeError, "alpha must be a real number"),
    (
        scaling.dynamic_ntk,
        {"factor": 2.0, "seq_len": 1.5, "max_seq_len": 4},
        TypeError,
        "seq_len must be an integer, got 1.5",
    ),
    (
        scaling.dynamic_ntk,
        {"factor": 2.0, "seq_len": 4, "max_seq_len": 0},
        ValueError,
        "max_seq_len must be positive, got 0",
    ),
    (
        scaling.dynamic_ntk,
        {"factor": 0.0, "seq_len": 4, "max_seq_len": 4},
        ValueError,
        "factor must be at least 1, got 0",
    ),
    (scaling.ntk_by_parts, YARN | {"factor": 0}, ValueError, "factor must be at least 1"),
    (scaling.ntk_by_parts, YARN | {"beta_slow": "1"}, TypeError, "beta_slow must be a real"),
    (
        scaling.ntk_by_parts,
        YARN | {"beta_fast": 1, "beta_slow": 1},
        ValueError,
        "beta_slow must be below beta_fast",
    ),
    (scaling.yarn, YARN | {"beta_fast": 0}, ValueError, "beta_fast must be positive, got 0"),
    (
        scaling.yarn,
        YARN | {"beta_fast": 1, "beta_slow": 32},
        ValueError,
        "beta_slow must be at most beta_fast",
    ),
    (scaling.yarn, YARN | {"truncate": 0}, TypeError, "truncate must be True or False, got 0"),
    (
        scaling.yarn,
        YARN | {"original_max_seq_len": True},
        TypeError,
        "original_max_seq_len must be an integer, got True",
    ),
    (
        scaling.yarn,
        YARN | {"original_max_seq_len": -1},
        ValueError,
        "original_max_seq_len must be positive, got -1",
    ),
    (scaling.yarn, YARN | {"base": 1.0}, ValueError, "base must be above 1 for YaRN, got 1.0"),
    (scaling.yarn, YARN | {"mscale": 1.0}, ValueError, "mscale_all_dim must be given together"),
    (
        scaling.yarn,
        YARN | {"mscale": 1.0, "mscale_all_dim": 0.0},
        ValueError,
        "mscale_all_dim must be positive, got 0.0",
    ),
    (
        scaling.yarn,
        YARN | {"mscale": 1.0, "mscale_all_dim": 1.0, "attention_factor": 1.0},
        ValueError,
        "attention_factor and mscale must not both be given",
    ),
    (
        scaling.yarn,
        YARN | {"attention_factor": 0.0},
        ValueError,
        "attention_factor must be positive, got 0.0",
    ),
    (scaling.llama3, LLAMA3 | {"factor": math.nan}, ValueError, "factor must be finite"),
    (
        scaling.llama3,
        LLAMA3 | {"low_freq_factor": 4.5},
        ValueError,
        "low_freq_factor must not be above high_freq_factor",
    ),
    (
        scaling.llama3,
        LLAMA3 | {"high_freq_factor": "4"},
        TypeError,
        "high_freq_factor must be a real number, got '4'",
    ),
    (scaling.longrope, LONGROPE | {"factor": 0}, ValueError, "factor must be positive, got 0"),
    (
        scaling.longrope,
        LONGROPE | {"long_factor": [1] * 3},
        ValueError,
        "long_factor must have 2 numbers, one per pair, got 3",
    ),
    (
        scaling.longrope,
        LONGROPE | {"short_factor": [1, 0]},
        ValueError,
        r"short_factor\[1\] must be positive, got 0",
    ),
    (
        scaling.longrope,
        LONGROPE | {"short_factor": "11"},
        TypeError,
        "short_factor must be a list of numbers",
    ),
    (
        scaling.longrope,
        LONGROPE | {"original_max_seq_len": 1},
        ValueError,
        "original_max_seq_len must be above 1",
    ),
    (scaling.longrope, LONGROPE | {"seq_len": 0}, ValueError, "seq_len must be positive, got 0"),
    (
        scaling.proportional,
        {"partial_rotary_factor": 1.5},
        ValueError,
        "partial_rotary_factor must lie within 0 .. 1, got 1.5",
    ),
    (
        scaling.proportional,
        {"partial_rotary_factor": None},
        TypeError,
        "partial_rotary_factor must be a real number",
    ),
    (scaling.proportional, {"factor": 0.1}, ValueError, "factor must be at least 1, got 0.1"),
]


@pytest.mark.parametrize(("scale", "options", "error", "message"), BAD)
def test_bad_numbers_are_refused_by_name_value_and_rule(scale, options, error, message):
    with pytest.raises(error, match=message):
        scale(4, **options)


@pytest.mark.parametrize(
    "scale",
    [
        lambda d, b: scaling.default(d, b),
        lambda d, b: scaling.linear(d, b, factor=2.0),
        lambda d, b: scaling.ntk_aware(d, b, factor=2.0),
        lambda d, b: scaling.ntk_fixed(d, b, factor=2.0),
        lambda d, b: scaling.yarn(d, b, **YARN),
        lambda d, b: scaling.llama3(d, b, **LLAMA3),
        lambda d, b: scaling.proportional(d, b),
    ],
)
def test_widths_and_bases_are_checked_everywhere(scale):
    with pytest.raises(ValueError, match="rotary_dim must be even, got 7"):
        scale(7, 10_000.0)
    with pytest.raises(ValueError, match="rotary_dim must be positive, got 0"):
        scale(0, 10_000.0)
    with pytest.raises(TypeError, match="rotary_dim must be an integer"):
        scale(8.0, 10_000.0)
    with pytest.raises(ValueError, match="base must be positive and finite, got -"):
        scale(8, -10_000.0)


@pytest.mark.parametrize(
    "scale",
    [
        lambda: scaling.ntk_aware(2, factor=2.0),
        lambda: scaling.ntk_alpha(2, alpha=2.0),
        lambda: scaling.dynamic_ntk(2, factor=2.0, seq_len=4, max_seq_len=2),
    ],
)
def test_a_single_pair_cannot_stretch_its_base(scale):
    with pytest.raises(ValueError, match="rotary_dim must be above 2"):
        scale()


def test_yarn_mscale_checks_its_numbers():
    with pytest.raises(ValueError, match="factor must be at least 1, got 0"):
        scaling.yarn_mscale(0)
    with pytest.raises(TypeError, match="mscale must be a real number"):
        scaling.yarn_mscale(2.0, "1")


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        (scaling.ntk_alpha, {"alpha": 1e308}, r"the stretched base must be finite, got base 10000"),
        (scaling.ntk_aware, {"factor": 1e200}, "the stretched base must be finite"),
        (scaling.ntk_fixed, {"factor": 1e308}, "base must be positive and finite, got inf"),
        (scaling.linear, {"factor": 10**400}, "factor must be finite, got an integer of about 401"),
        (scaling.linear, {"factor": 2.0, "base": 10**400}, "base must be positive and finite, got"),
        (
            scaling.linear,
            {"factor": 2.0, "base": 5e-324},
            "base must be at least 2.2",
        ),
        (scaling.ntk_aware, {"factor": 2.0, "base": 10**400}, "base must be positive and finite"),
        (scaling.ntk_fixed, {"factor": 2.0, "base": 10**400}, "base must be positive and finite"),
        (
            scaling.yarn,
            {"factor": 2.0, "original_max_seq_len": 2**63},
            "original_max_seq_len must be at most 9223372036854775807",
        ),
        (
            scaling.yarn,
            {"factor": 2.0, "original_max_seq_len": 512, "beta_fast": 1e308, "beta_slow": 1e308},
            "the ramp from .* turns must lie within the head",
        ),
    ],
)
def test_numbers_that_leave_the_range_of_a_float_are_refused_in_words(method, options, message):
    with pytest.raises(ValueError, match=message):
        method(4, **options)
