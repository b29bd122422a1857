"""What the chapter on your model's rotation says of configurations, decided claim by claim."""

import math

import pytest
import torch

from ropelib import RopeConfig, inv_freq
from ropelib.config.gallery import GALLERY


def config_of(name, **changes):
    return RopeConfig.from_hf({**GALLERY[name].config, **changes})


def test_llama_slows_by_8_the_hands_that_never_came_round():
    plain, slowed = inv_freq(128, 500_000), config_of("Llama 3.1 8B").inv_freq()
    by_8 = plain / slowed > 7.999
    assert torch.equal(by_8, 8192 * plain < 2 * math.pi) and by_8.sum() == 29


@pytest.mark.parametrize(
    ("length", "leaves"), [(65_536, False), (65_537, True), (100_000, True), (131_072, True)]
)
def test_scaling_by_8_covers_eight_times_the_length_and_no_more(length, leaves):
    plain, slowed = inv_freq(128, 500_000), config_of("Llama 3.1 8B").inv_freq()
    never_round = 8192 * plain < 2 * math.pi
    beyond = length * slowed[never_round] > 8192 * plain[never_round] * (1 + 1e-9)
    assert beyond.all() if leaves else not beyond.any()


@pytest.mark.parametrize(
    ("name", "squared"),
    [("Qwen2.5 7B with YaRN", 1.30), ("Phi-3 128k", 1.42), ("gpt-oss 20B", 1.81)],
)
def test_the_attention_factor_enters_a_score_squared(name, squared):
    assert config_of(name).attention_factor() ** 2 == pytest.approx(squared, abs=0.005)


def test_a_configuration_of_the_deepseek_family_may_say_its_layout():
    assert config_of("DeepSeek-V3").layout == "interleaved"
    assert config_of("DeepSeek-V3", rope_interleave=False).layout == "half"
