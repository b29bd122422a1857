"""What the chapter on your model's rotation says of configurations, decided claim by claim."""

import math

import pytest
import torch

from ropelib import RopeConfig, apply_rotary, cos_sin, diagnose, inv_freq
from ropelib.config.gallery import GALLERY


def config_of(name, **changes):
    return RopeConfig.from_hf({**GALLERY[name].config, **changes})


def test_llama_slows_by_8_the_hands_that_never_came_round():
    plain, slowed = inv_freq(128, 500_000), config_of("Llama 3.1 8B").inv_freq()
    by_8 = plain / slowed > 7.999
    assert torch.equal(by_8, 8192 * plain < 2 * math.pi) and by_8.sum() == 29
    assert (131_072 * slowed < 2 * math.pi).sum() == 25  # what the report counts


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


@pytest.mark.parametrize("key", ["rope_scalling", "rope_tetha", "rope_ratio"])
def test_an_unknown_key_is_an_error_inside_the_rope_part_and_a_warning_outside(key):
    with pytest.warns(UserWarning, match=f"{key} .* is not read"):
        config_of("Llama 3.1 8B", **{key: 8.0})
    inside = {**GALLERY["Llama 3.1 8B"].config["rope_scaling"], key: 8.0}
    with pytest.raises(ValueError, match=key):
        config_of("Llama 3.1 8B", rope_scaling=inside)


@pytest.mark.parametrize(
    ("name", "changes", "slowest"),
    [
        ("Llama 2 7B", {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, [1, 3, 7, 15]),
        ("Phi-3 128k", {}, [3.05, 64.81, 64.81, 64.81]),
        ("Llama 3.1 8B", {}, [8, 8, 8, 8]),
        ("Qwen2.5 7B with YaRN", {}, [4, 4, 4, 4]),
        ("gpt-oss 20B", {}, [32, 32, 32, 32]),
    ],
)
def test_a_method_is_one_curve_at_a_given_length(name, changes, slowest):
    config = config_of(name, **changes)
    plain = inv_freq(config.rotary_dim, config.base)
    lengths = (4096, 8192, 16_384, 32_768)
    curves = torch.stack([plain / config.inv_freq(seq_len=length) for length in lengths])
    torch.testing.assert_close(curves[:, -1], torch.tensor(slowest).double(), rtol=1e-4, atol=0)
    if len(set(slowest)) == 1:
        torch.testing.assert_close(curves, curves[:1].expand_as(curves))


def test_a_shift_of_all_positions_matters_where_only_one_side_has_it():
    q, k = torch.randn(2, 50, 64, generator=torch.Generator().manual_seed(0)).double()

    def turned(x, shift):
        tables = cos_sin(torch.arange(50) + shift, inv_freq(64), dtype=torch.float64)
        return apply_rotary(x, *tables, layout="half")

    right = turned(q, 0) @ turned(k, 0).T
    torch.testing.assert_close(turned(q, 1) @ turned(k, 1).T, right)
    assert (turned(q, 1) @ turned(k, 0).T - right).abs().max() > 1


def test_what_is_expected_makes_a_deviation_a_fault_and_leaves_the_note():
    llama, other = config_of("Llama 3.1 8B"), config_of("Llama 3.1 8B", rope_scaling=None)

    def rotate(x, positions):
        return apply_rotary(x, *cos_sin(positions, llama.inv_freq()), layout="half")

    reports = [
        diagnose(rotate, head_dim=128, max_position=2048, expected=expected)
        for expected in (None, llama, other)
    ]
    assert [report.ok for report in reports] == [True, True, False]
    for report in reports[:2]:
        assert [finding.code for finding in report.findings] == ["not-geometric"]


@pytest.mark.parametrize(
    ("dtype", "off", "earlier", "within"),
    [
        (torch.bfloat16, 0.1, 50, 60),
        (torch.float16, 0.1, 200, 250),
        (torch.float32, 0.001, 21_000, 22_000),
    ],
)
def test_an_angle_in_the_precision_of_x_goes_wrong_early(dtype, off, earlier, within):
    places = torch.arange(within + 1)
    angles = places[:, None].to(dtype) * inv_freq(64).to(dtype)
    wrong = (angles.double() - places[:, None] * inv_freq(64)).abs().amax(dim=-1) >= off
    assert earlier < wrong.nonzero()[0] <= within


@pytest.mark.parametrize(("dtype", "last"), [(torch.bfloat16, 256), (torch.float16, 2048)])
def test_whole_positions_are_lost_above_a_power_of_two(dtype, last):
    places = torch.arange(5000)
    kept = places.to(dtype).long() == places
    assert kept[: last + 1].all() and not kept[last + 1]
    assert torch.finfo(torch.float16).max == 65_504
