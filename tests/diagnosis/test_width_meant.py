"""Heads are as wide as in the configuration that is expected, in whatever form either comes.

And pairs are those that are said beside it.
"""

import pytest
import torch

from ropelib import RopeConfig, apply_rotary, inv_freq
from ropelib.__main__ import main
from ropelib.config.gallery import named
from ropelib.diagnosis import diagnose

QWEN_VL = {
    "model_type": "qwen2_5_vl_text",
    "head_dim": 128,
    "rope_theta": 1e6,
    "rope_scaling": {"rope_type": "default", "mrope_section": [16, 24, 24]},
}
GEMMA = """
from ropelib import apply_rotary, cos_sin, inv_freq

def rotate(x, position_ids):
    speeds = inv_freq(x.shape[-1], 1e6) / 8
    return apply_rotary(x, *cos_sin(position_ids, speeds), layout="half")
"""
NEIGHBORS = GEMMA.replace("1e6) / 8", "1e4)").replace("half", "interleaved")
SECTIONS = torch.tensor([0] * 16 + [1] * 24 + [2] * 24)


def axes_last(x, position_ids):
    angles = position_ids[..., SECTIONS].double() * inv_freq(128, 1e6)  # of 128, and no other
    tables = [table.unsqueeze(-3) for table in (angles.cos(), angles.sin())]
    return apply_rotary(x, *tables, layout="half")


def axes_apart(x, t, h, w):
    return axes_last(x, torch.stack((t, h, w), dim=-1))


def test_of_one_kind_of_layers(tmp_path, capsys):
    expected = RopeConfig.from_hf(named("gemma-3-12b"), layer_type="full_attention")
    code = {}
    exec(GEMMA, code)
    report = diagnose(code["rotate"], expected=expected, max_position=512)
    assert report.ok and report.head_dim == 256, report
    (tmp_path / "gemma.py").write_text(GEMMA)
    asked = ["--expected", "gemma-3-12b", "--layer-type", "full_attention"]
    assert main(["diagnose", f"{tmp_path}/gemma.py:rotate", *asked, "--max-position", "512"]) == 0
    assert "256 of 256" in capsys.readouterr().out


def test_pairs_may_be_others_than_those_of_a_published_file(tmp_path, capsys):
    (tmp_path / "neighbors.py").write_text(NEIGHBORS)
    command = ["diagnose", f"{tmp_path}/neighbors.py:rotate", "--expected", "llama-2-7b"]
    command += ["--max-position", "512"]
    assert main(command) == 1 and "layout-not-as-expected" in capsys.readouterr().out
    assert main([*command, "--layout", "interleaved"]) == 0
    assert "128 of 128" in capsys.readouterr().out


@pytest.mark.parametrize("form", [axes_last, axes_apart])
def test_of_code_whose_positions_have_axes(form):
    report = diagnose(form, expected=QWEN_VL, axes=3, max_position=512)
    assert report.ok and report.head_dim == 128, report
