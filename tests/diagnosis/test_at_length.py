"""Frequencies that are meant to change with the length of a call."""

import pytest
import torch
from transformers import AutoConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.phi3.modeling_phi3 import Phi3RotaryEmbedding

from ropelib import apply_rotary, cos_sin, inv_freq
from ropelib.config import RopeConfig
from ropelib.diagnosis import diagnose

WHERE = 1024  # tokens after which frequencies change
SHAPE = {"hidden_size": 256, "num_attention_heads": 4, "max_position_embeddings": 8192}
LISTS = {
    "short_factor": [1.0 + 0.01 * i for i in range(32)],
    "long_factor": [1.0 + 0.5 * i for i in range(32)],
}
LONGROPE = SHAPE | {
    "model_type": "phi3",
    "original_max_position_embeddings": WHERE,
    "rope_parameters": {"rope_type": "longrope", "rope_theta": 10_000.0, **LISTS},
}
DYNAMIC = SHAPE | {
    "model_type": "llama",
    "max_position_embeddings": WHERE,
    "rope_parameters": {"rope_type": "dynamic", "rope_theta": 10_000.0, "factor": 4.0},
}
every_kind = pytest.mark.parametrize("config", [LONGROPE, DYNAMIC], ids=["longrope", "dynamic"])


def turning(config, length_of):
    """A rotation as the configuration has it, for the length that `length_of` makes of a call's."""
    meant = RopeConfig.from_hf(config)

    def rotate(x, ids):
        length = length_of(int(ids.max()) + 1)
        factor = meant.attention_factor(length)
        tables = cos_sin(ids, meant.inv_freq(length), attention_factor=factor)
        return apply_rotary(x, *tables, layout="half")

    return rotate


@every_kind
def test_what_follows_the_configuration_is_right(config):
    right = turning(config, lambda length: length)
    for expected in (config, right):
        report = diagnose(right, expected=expected)
        assert report.ok and "frequencies-depend-on-length" in report.codes
        assert "long-calls-not-tried" not in report.codes


@pytest.mark.parametrize(
    ("module", "config"), [(Phi3RotaryEmbedding, LONGROPE), (LlamaRotaryEmbedding, DYNAMIC)]
)
def test_the_modules_of_transformers_are_right(module, config):
    given = AutoConfig.for_model(**config)
    assert diagnose(module(given), expected=given, head_dim=64).ok


@every_kind
def test_what_stays_as_in_a_short_call_is_not_what_is_meant(config):
    fixed, right = (turning(config, f) for f in (lambda length: WHERE, lambda length: length))
    for expected in (config, right):
        (finding,) = diagnose(fixed, expected=expected).findings
        assert finding.code == "long-calls-not-as-expected"
        assert "in a call of 8192 tokens" in finding.sentence.lower()
        assert "as in a short call" in finding.sentence


@every_kind
def test_another_kind_of_long_call_is_not_what_is_meant(config):
    other = dict(config["rope_parameters"])
    if "long_factor" in other:
        other["long_factor"] = other["long_factor"][::-1]
    else:
        other["factor"] = 2.0
    unlike = turning(config | {"rope_parameters": other}, lambda length: length)
    for expected in (config, turning(config, lambda length: length)):
        (finding,) = diagnose(unlike, expected=expected).findings
        assert finding.code == "long-calls-not-as-expected"
        assert "as in a short call" not in finding.sentence


POWER = 64 / 62
GROWN = {  # bases of long calls, and what is said of them
    "n / 1024": (
        lambda n: (n / WHERE) ** POWER,
        "it is 10000 * (n / 1024) ** (d / (d - 2)) for n tokens.",
        "the factor of rope_scaling left out",
    ),
    "no - (factor - 1)": (
        lambda n: (4 * n / WHERE) ** POWER,
        "it is 10000 * (4 * n / 1024) ** (d / (d - 2)) for n tokens.",
        "- (factor - 1) left out",
    ),
    "the factor alone": (
        lambda n: 4**POWER,
        "it is 10000 * 4 ** (d / (d - 2)).",
        "NTK-aware scaling in place of dynamic",
    ),
    "no exponent": (
        lambda n: 4 * n / WHERE - 3,
        "it is 10000 * (4 * n / 1024 - 3) for n tokens.",
        "the exponent d / (d - 2) left out",
    ),
    "no trained length": (
        lambda n: (4 * n - 3) ** POWER,
        "it is 10000 * (4 * n - 3) ** (d / (d - 2)) for n tokens.",
        "n for n / max_position_embeddings",
    ),
    "another factor": (
        lambda n: (2.5 * n / WHERE - 1.5) ** POWER,
        "it is 10000 * (2.5 * n / 1024 - 1.5) ** (d / (d - 2)) for n tokens.",
        "another factor than that of the configuration, 4",
    ),
    "another length": (
        lambda n: (4 * n / 640 - 3) ** POWER,
        "it is 10000 * (4 * n / 640 - 3) ** (d / (d - 2)) for n tokens.",
        "another length than max_position_embeddings, 1024",
    ),
}


@pytest.mark.parametrize("name", GROWN)
def test_a_base_that_grows_otherwise_is_told_by_its_formula(name):
    growth, said, cause = GROWN[name]

    def rotate(x, ids):
        length = int(ids.max()) + 1
        base = 1e4 * (growth(length) if length > WHERE else 1)
        return apply_rotary(x, *cos_sin(ids, inv_freq(64, base)), layout="half")

    (finding,) = diagnose(rotate, expected=DYNAMIC, max_position=2 * WHERE).findings
    assert finding.code == "long-calls-not-as-expected" and finding.sentence.endswith(said)
    assert f"the base is {1e4 * growth(2 * WHERE):.6g}, expected " in finding.sentence
    assert cause in finding.cause and finding.since is not None


@pytest.mark.parametrize(("divisor", "said"), [(lambda n: 4, "4."), (lambda n: n / WHERE, "n / ")])
def test_long_calls_that_are_scaled_as_linear_are_told(divisor, said):
    def rotate(x, ids):
        length = int(ids.max()) + 1
        row = inv_freq(64) / (divisor(length) if length > WHERE else 1)
        return apply_rotary(x, *cos_sin(ids, row), layout="half")

    (finding,) = diagnose(rotate, expected=DYNAMIC, max_position=2 * WHERE + 200).findings
    assert f": all frequencies are divided by {said}" in finding.sentence


SHORT = [  # what the base is multiplied by in a call of n tokens, however short
    (lambda n: 4**POWER, "it is 10000 * 4 ** (d / (d - 2)).", "of calls of any length"),
    (lambda n: (n / WHERE) ** POWER, "(n / 1024) **", "max_position_embeddings) and the factor"),
    (lambda n: (4 * n / WHERE) ** POWER, "(4 * n / 1024) **", "and - (factor - 1) left out"),
]


@pytest.mark.parametrize(("growth", "said", "cause"), SHORT)
def test_short_calls_that_are_scaled_as_well_are_told(growth, said, cause):
    def rotate(x, ids):
        row = inv_freq(64, 1e4 * growth(int(ids.max()) + 1))
        return apply_rotary(x, *cos_sin(ids, row), layout="half")

    (finding,) = diagnose(rotate, expected=DYNAMIC, max_position=2 * WHERE).findings
    assert finding.code == "base-not-as-expected" and said in finding.sentence
    assert "expected 10000 in calls of up to 1024" in finding.sentence and cause in finding.cause


def test_dynamic_scaling_that_is_read_as_linear_is_told():
    def rotate(x, ids):
        return apply_rotary(x, *cos_sin(ids, inv_freq(64) / 4), layout="half")

    (finding,) = diagnose(rotate, expected=DYNAMIC, max_position=2 * WHERE).findings
    assert finding.code == "factor-not-as-expected" and "read as linear" in finding.cause


def test_what_stays_has_its_own_cause_where_a_base_is_meant_to_grow():
    fixed = [turning(config, lambda length: WHERE) for config in (DYNAMIC, LONGROPE)]
    for rotate, config, cause in zip(
        fixed, (DYNAMIC, LONGROPE), ("of the first call kept", "long_factor never"), strict=True
    ):
        (finding,) = diagnose(rotate, expected=config, max_position=2 * WHERE).findings
        assert cause in finding.cause


@pytest.mark.parametrize(("late", "tokens"), [(4096, WHERE + 1), (WHERE - 1, WHERE)])
def test_where_long_begins_is_found(late, tokens):
    moved = turning(LONGROPE, lambda length: 8192 if length > late else 1)
    (finding,) = diagnose(moved, expected=LONGROPE).findings
    assert finding.code == "long-calls-not-as-expected" and finding.evidence["tokens"] == tokens


@every_kind
def test_a_length_that_is_not_tried_is_named(config):
    right = turning(config, lambda length: length)
    report = diagnose(right, expected=config, max_position=512)
    assert report.ok and "long-calls-not-tried" in report.codes
    assert "512 tokens" in report.findings[report.codes.index("long-calls-not-tried")].sentence


def test_rounding_is_no_other_length():
    def coarse(x, ids):
        angles = (
            ids[..., None].float()
            * RopeConfig.from_hf(LONGROPE).inv_freq(int(ids.max()) + 1).float()
        )
        factor = RopeConfig.from_hf(LONGROPE).attention_factor()
        tables = (factor * angles.cos(), factor * angles.sin())
        return apply_rotary(x, *(t.to(torch.float32) for t in tables), layout="half")

    assert diagnose(coarse, expected=LONGROPE, max_position=2**14).ok
