"""What is said of a configuration in words."""

import pytest
import torch
from published import CASES, llama
from transformers.utils import logging

from ropelib.config import RopeConfig, report
from ropelib.config.gallery import GALLERY

LONGEST = "max_position_embeddings"

torch.set_num_threads(1)
logging.set_verbosity_error()


@pytest.mark.parametrize(("name", "layer_type"), CASES)
def test_reports_end_with_a_verdict(name, layer_type):
    config = RopeConfig.from_hf(GALLERY[name].config, layer_type)
    text = report(config)
    lines = text.splitlines()
    assert lines[0].startswith(config.model_type) and config.layout in text
    assert lines[-1].startswith("Verdict: ") and lines[-1].endswith(".")
    assert max(map(len, lines)) < 160
    for number in ("nan", "None", "{"):
        assert number not in text


def test_a_report_without_a_length_judges_none():
    config = RopeConfig(head_dim=64, rotary_dim=64, base=1e4, layout="half")
    assert report(config).endswith("Verdict: no length is stated, so none can be judged.")
    assert config.describe()["incomplete_pairs"] is None


def test_a_length_that_is_not_what_yarn_stretches_to_is_said_to_be_so():
    def stretched(longest, factor):
        scaling = {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": 8190}
        lines = report(RopeConfig.from_hf(llama(**scaling) | {LONGEST: longest})).splitlines()
        return [line.split(maxsplit=2)[2] for line in lines if line.startswith("  stretched to")]

    assert stretched(8190, 4.0) == [
        "factor times original_max_position_embeddings is 32760 tokens; "
        "max_position_embeddings says 8190"
    ]
    assert stretched(32760, 4.0) == stretched(131047, None) == []  # whose factor is rounded
    assert "stretched to" not in report(RopeConfig.from_hf(llama(rope_type="linear", factor=2.0)))


def test_pairs_that_stand_still_do_not_rotate():
    options = {"rope_type": "proportional", "scaling": {"partial_rotary_factor": 0.25}}
    config = RopeConfig(512, 512, 1e6, "half", max_seq_len=131072, **options)
    lines = report(config).splitlines()
    rotates = next(line for line in lines if line.startswith("  rotates"))
    assert rotates.split(maxsplit=1)[1] == (
        "128 of 512 dimensions, the first of each half (64 of 256 pairs)"
    )
    assert config.describe()["still_pairs"] == 192
    assert "192 of 256 pairs never complete a turn (192 of them stand still);" in lines[-1]
    neighbors = report(RopeConfig(512, 512, 1e6, "interleaved", **options))
    assert " 128 of 512 dimensions (64 of 256 pairs)\n" in neighbors
    assert " 512 of 512 dimensions, 256 pairs\n" in report(RopeConfig(512, 512, 1e6, "half"))


def test_a_report_of_hostile_names_is_safe_for_a_terminal():
    ours = RopeConfig(64, 64, 1e4, "half", model_type="\x1b[2J" * 100, layer_type="\ud800")
    first = report(ours).splitlines()[0]
    assert first.startswith(r"\x1b[2J") and r"\ud800 layers" in first and len(first) < 200
    with pytest.raises(TypeError, match=r"config must be a RopeConfig, got \{\}"):
        report({})


@pytest.mark.parametrize(
    ("layers", "said"),
    [
        ([1, 1, 1, 0] * 9, "27 of 36 rotate so: all but 3 to 35 in steps of 4, counted from 0"),
        ([0, 0, 0, 1] * 9, "9 of 36 rotate so: 3 to 35 in steps of 4, counted from 0"),
        ([1] * 18 + [0] * 18, "18 of 36 rotate so: 0 to 17, counted from 0"),
        ([0, 1, 1, 0, 1] + [0] * 31, "3 of 36 rotate so: 1, 2, 4, counted from 0"),
        ([1, 1, 0] * 6 + [0] * 18, "12 of 36 rotate so: 0, 1, 3, 4, 6, 7, 9, 10, 12, 13, 15, 16, "),
        ([0, 0] + [1, 0] * 16 + [1, 1], "28, 30, 32 and 2 more, counted from 0"),
        ([1] * 36, "36 of 36 rotate so\n"),
        ([0] * 36, "0 of 36 rotate so\n"),
    ],
)
def test_layers_that_rotate_are_listed(layers, said):
    config = GALLERY["SmolLM3 3B"].config | {"no_rope_layers": layers}
    assert said in report(RopeConfig.from_hf(config))
