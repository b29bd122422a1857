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


def test_a_report_of_hostile_names_is_safe_for_a_terminal():
    ours = RopeConfig(64, 64, 1e4, "half", model_type="\x1b[2J" * 100, layer_type="\ud800")
    first = report(ours).splitlines()[0]
    assert first.startswith(r"\x1b[2J") and r"\ud800 layers" in first and len(first) < 200
    with pytest.raises(TypeError, match=r"config must be a RopeConfig, got \{\}"):
        report({})
