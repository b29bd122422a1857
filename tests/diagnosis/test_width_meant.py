"""Heads are as wide as in the configuration that is expected, in whatever form either comes.

And pairs are those that are said beside it, and what takes its base from its maker has that of it.
"""

import warnings

import pytest
import torch

from ropelib import RopeConfig, apply_rotary, cos_sin, inv_freq
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


COURSE = """
import torch
from ropelib import apply_rotary, cos_sin, inv_freq

class Rotary:
    def __init__(self, theta, d_k, max_seq_len, device=None):
        self.tables = cos_sin(torch.arange(max_seq_len), inv_freq(d_k, theta))

    def __call__(self, x, token_positions):
        cos, sin = (table[token_positions] for table in self.tables)
        return apply_rotary(x[:, None], cos, sin, layout="interleaved")[:, 0]

class Fixed(Rotary):
    def __init__(self, theta, d_k, max_seq_len):
        super().__init__(10_000.0, d_k, max_seq_len)

def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return Rotary(theta, d_k, max_seq_len)(in_query_or_key, token_positions)
"""


def of_the_course(name):
    exec(COURSE, found := {"__name__": "course"})
    return found[name]


@pytest.mark.parametrize("name", ["Rotary", "run_rope"])
def test_a_class_of_a_course_is_made_as_the_model_that_is_expected_wants_it(name):
    course = of_the_course(name)
    short = {"max_position": 600, "layout": "interleaved"}
    report = diagnose(course, expected="llama-3-8b", **short)
    assert report.ok and report.head_dim == 128
    assert report.base == pytest.approx(500_000, rel=1e-5)
    assert "theta=500000 was handed over by this check" in str(report)
    assert diagnose(course, expected="llama-3-8b").codes[0] == "layout-not-as-expected"
    assert diagnose(course, expected="llama-3.1-8b", **short).codes[0] == "scaling-missing"
    fixed = diagnose(of_the_course("Fixed"), expected="llama-3-8b", **short)
    assert fixed.codes[0] == "base-not-as-expected" and "is not used" in fixed.findings[0].cause

    def other(x, position_ids):
        speeds = inv_freq(x.shape[-1], 7e4)
        return apply_rotary(x, *cos_sin(position_ids, speeds), layout="interleaved")

    assert diagnose(course, expected=other, max_position=600).ok


def test_a_class_of_a_course_meets_a_model_from_the_shell(tmp_path, capsys):
    (tmp_path / "course.py").write_text(COURSE)
    call = ["diagnose", f"{tmp_path}/course.py:Rotary", "--expected", "llama-2-7b"]
    assert main([*call, "--max-position", "600"]) == 1
    assert "wrong: layout-not-as-expected" in capsys.readouterr().out
    assert main([*call, "--layout", "interleaved", "--max-position", "600"]) == 0
    assert "128 of 128" in capsys.readouterr().out


def test_what_a_configuration_says_in_vain_is_told_once():
    linear = {"rope_type": "linear", "factor": 2.0, "beta_fast": 32.0}
    file = {"model_type": "llama", "head_dim": 64, "rope_theta": 1e4, "rope_scaling": linear}
    for expected, key, times in ((file, "beta_fast", 1), (QWEN_VL, "mrope_section", 0)):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            diagnose(of_the_course("Rotary"), expected=expected, max_position=64)
        assert sum(key in str(one.message) for one in heard) == times
