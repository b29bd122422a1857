"""`RopeConfig`: what is assumed, its fields, its facts."""

import copy
import math

import pytest
import torch
from published import CASES, LLAMA, LLAMA3, llama
from transformers.utils import logging

from ropelib import frequencies
from ropelib.config import RopeConfig, report
from ropelib.config.gallery import GALLERY

torch.set_num_threads(1)
logging.set_verbosity_error()


def test_what_is_assumed_is_said():
    ours = RopeConfig.from_hf(GALLERY["Llama 2 7B"].config)
    assert ours.base == 10_000
    assert ours.assumed == ("rope_theta 10000.0: transformers' default for model_type 'llama'",)
    assert RopeConfig.from_hf(LLAMA).assumed == ()


def test_reading_changes_nothing():
    for name, layer_type in CASES:
        before = copy.deepcopy(GALLERY[name].config)
        RopeConfig.from_hf(GALLERY[name].config, layer_type)
        assert GALLERY[name].config == before


def test_lengths_matter_where_they_should():
    dynamic = RopeConfig.from_hf(llama(rope_type="dynamic", factor=2.0))
    assert torch.equal(dynamic.inv_freq(), dynamic.inv_freq(131_072))
    assert not torch.equal(dynamic.inv_freq(), dynamic.inv_freq(131_073))
    phi = RopeConfig.from_hf(GALLERY["Phi-3 128k"].config)
    assert torch.equal(phi.inv_freq(), phi.inv_freq(4096))
    assert not torch.equal(phi.inv_freq(), phi.inv_freq(4097))
    assert phi.attention_factor(1) == phi.attention_factor(100_000) == pytest.approx(1.190238)
    for read in (phi.inv_freq, phi.attention_factor):
        with pytest.raises(ValueError, match="seq_len must be positive, got 0"):
            read(0)
        with pytest.raises(TypeError, match=r"seq_len must be an integer, got 1.5"):
            read(1.5)


def test_fields_are_checked_without_a_file():
    good = dict(head_dim=64, rotary_dim=64, base=1e4, layout="half")
    RopeConfig(**good)
    for change, error, message in (
        ({"layout": "rows"}, ValueError, 'layout must be "interleaved" or "half", got \'rows\''),
        ({"rope_type": "x"}, ValueError, "rope_type must be one of"),
        ({"rotary_dim": 66}, ValueError, "rotary_dim must be at most head_dim"),
        ({"rotary_dim": 6.0}, TypeError, "rotary_dim must be an integer"),
        ({"base": 0}, ValueError, "base must be positive"),
        ({"rope_type": "linear", "scaling": {"factor": 0}}, ValueError, "factor must be at least"),
    ):
        with pytest.raises(error, match=message):
            RopeConfig(**good | change)


# Facts


def test_facts_of_llama_2():
    facts = RopeConfig.from_hf(GALLERY["Llama 2 7B"].config).describe()
    assert facts["shortest_wavelength"] == pytest.approx(2 * math.pi)
    assert facts["longest_wavelength"] == pytest.approx(2 * math.pi * 10_000 ** (126 / 128))
    # 2 pi b^(2i/128) > 4096 from i = 46 on
    assert facts["incomplete_pairs"] == 64 - 46
    assert facts["first_negative_distance"] == 1707
    assert torch.tensor([255.0, 256.0, 257.0]).bfloat16().tolist() == [255, 256, 256]
    assert facts["bfloat16_positions"] == 256


@pytest.mark.parametrize(("base", "length"), [(10_000.0, 4096), (500_000.0, 131_072)])
def test_first_negative_distance_is_the_first(base, length):
    config = RopeConfig(head_dim=128, rotary_dim=128, base=base, layout="half", max_seq_len=length)
    first = config.describe()["first_negative_distance"]
    inv_freq = frequencies.inv_freq(128, base)

    def total(distance):
        return sum(math.cos(distance * f) for f in inv_freq.tolist())

    assert total(first) < 0
    assert all(total(distance) >= 0 for distance in range(1, first, 1 + first // 3000))
    assert total(first - 1) >= 0


def test_the_bound_is_by_the_unscaled_base():
    scaled = RopeConfig.from_hf(llama(**LLAMA3)).describe()["first_negative_distance"]
    assert scaled == RopeConfig.from_hf(LLAMA).describe()["first_negative_distance"] == 18_438


def test_a_configuration_can_be_a_key():
    first, second = (RopeConfig.from_hf(llama(**LLAMA3)) for _ in range(2))
    other = RopeConfig.from_hf(llama(**LLAMA3 | {"factor": 4.0}))
    assert hash(first) == hash(second) and len({first, second, other}) == 2


def test_a_copy_of_the_options_is_kept():
    options = {"factor": 2.0}
    ours = RopeConfig(64, 64, 1e4, "half", rope_type="linear", scaling=options)
    options["factor"] = 0.0
    assert ours.scaling == {"factor": 2.0}


def test_fields_beyond_all_models_are_refused_without_a_file_too():
    good = dict(head_dim=64, rotary_dim=64, base=1e4, layout="half")
    for change, error, message in (
        ({"head_dim": 10**12, "rotary_dim": 10**12}, ValueError, "head_dim must be at most 4096"),
        ({"num_layers": 10**8}, ValueError, "num_layers must be at most 10000"),
        ({"head_dim": True}, TypeError, "head_dim must be an integer, got True"),
        ({"max_seq_len": "a"}, TypeError, "max_seq_len must be an integer, got 'a'"),
        ({"original_max_seq_len": 0}, ValueError, "original_max_seq_len must be positive"),
        ({"base": 10**400}, ValueError, "base must be positive and finite, got an integer"),
        ({"scaling": 3}, TypeError, "scaling must be a mapping, got 3"),
        ({"rope_type": ["x"]}, ValueError, r"rope_type must be one of .*, got \['x'\]"),
        ({"layout": "neox"}, ValueError, "layout must be .*, got 'neox'"),
    ):
        with pytest.raises(error, match=message):
            RopeConfig(**good | change)
    assert RopeConfig(**good | {"head_dim": 4096, "rotary_dim": 4096, "num_layers": 10_000})


def test_a_default_device_without_numbers_changes_nothing():
    ours = RopeConfig.from_hf(GALLERY["Llama 3.1 8B"].config)
    expected = report(ours)
    with torch.device("meta"):
        assert report(RopeConfig.from_hf(GALLERY["Llama 3.1 8B"].config)) == expected
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(), pytest.raises(ValueError, match="hold numbers, got FakeTensor"):
        report(RopeConfig.from_hf(GALLERY["Llama 3.1 8B"].config))


def test_a_length_too_long_to_search_is_searched_as_far_as_a_moment_reaches():
    good = dict(head_dim=128, rotary_dim=128, layout="half", max_seq_len=10**9)
    facts = RopeConfig(**good, base=1e30).describe()
    assert (facts["first_negative_distance"], facts["distances_searched"]) == (None, 2**20)
    text = report(RopeConfig(**good, base=1e30))
    assert "not negative up to 1048576, before scaling" in text
    assert text.endswith("carries at least 1048576 of the 1000000000 tokens.")
    text = report(RopeConfig(**good | {"max_seq_len": 2**20}, base=1e30))
    assert text.endswith("carries all 1048576 tokens.")
    # One that is found stands, however long the rest.
    assert RopeConfig(**good, base=1e4).describe()["first_negative_distance"] == 1707
