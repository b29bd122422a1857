"""What is said of a configuration in words."""

import pytest
import torch
from published import CASES
from transformers.utils import logging

from ropelib.config import RopeConfig, report
from ropelib.config.gallery import GALLERY

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
