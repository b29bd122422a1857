"""Frequencies that are meant to change with the length of a call."""

import pytest
import torch
from transformers import AutoConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.phi3.modeling_phi3 import Phi3RotaryEmbedding

from ropelib import apply_rotary, cos_sin
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
