"""How wide a head is, and how much of it rotates, in all the ways to say it."""

import inspect
import warnings

import pytest
import torch
from published import LLAMA
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.utils import logging

from ropebook.census.modeling import model_of, modules_of
from ropelib import frequencies
from ropelib.config import RopeConfig, model_types
from ropelib.config.gallery import GALLERY

torch.set_num_threads(1)
logging.set_verbosity_error()


def test_partial_rotation_in_all_its_spellings():
    for key, value in (
        ("partial_rotary_factor", 0.25),
        ("rotary_pct", 0.25),
        ("rope_pct", 0.25),
        ("rotary_dim", 32),
    ):
        ours = RopeConfig.from_hf(LLAMA | {key: value})
        assert (ours.head_dim, ours.rotary_dim) == (128, 32)
        assert torch.equal(ours.inv_freq(), frequencies.inv_freq(32, 500_000.0))
    new = LLAMA | {"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.25}}
    assert RopeConfig.from_hf(new).rotary_dim == 32
    with pytest.raises(ValueError, match=r"rotary_dim must be one number, got 32 by .* 64 by"):
        RopeConfig.from_hf(LLAMA | {"rotary_pct": 0.25, "rotary_dim": 64})
    with pytest.raises(ValueError, match=r"partial_rotary_factor must be at most 1, got 1\.5"):
        RopeConfig.from_hf(LLAMA | {"partial_rotary_factor": 1.5})
    with pytest.raises(ValueError, match="rotary_dim must be even, got 115"):
        RopeConfig.from_hf(LLAMA | {"partial_rotary_factor": 0.9})
    with pytest.raises(ValueError, match="rotary_dim must be at most head_dim"):
        RopeConfig.from_hf(LLAMA | {"rotary_dim": 256})
    with pytest.raises(ValueError, match="rotary_dim must be an integer, got None"):
        RopeConfig.from_hf(GALLERY["GPT-J 6B"].config | {"rotary_dim": None})


def test_proportional_keeps_the_whole_head():
    part = {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}
    values = {k: v for k, v in LLAMA.items() if k != "rope_theta"} | {"rope_parameters": part}
    ours = RopeConfig.from_hf(values)
    assert (ours.rotary_dim, int((ours.inv_freq() > 0).sum())) == (128, 16)


def test_latent_attention_rotates_its_rope_part():
    ours = RopeConfig.from_hf(GALLERY["DeepSeek-V3"].config)
    assert (ours.head_dim, ours.rotary_dim) == (64, 64)
    share = GALLERY["DeepSeek-V3"].config | {"partial_rotary_factor": 64 / 192}
    assert RopeConfig.from_hf(share).rotary_dim == 64
    with pytest.raises(ValueError, match="rotary_dim must be one number"):
        RopeConfig.from_hf(share | {"partial_rotary_factor": 0.5})


def test_widths_that_differ_by_layer():
    values = CONFIG_MAPPING["gemma4_text"]().to_dict()
    assert RopeConfig.from_hf(values, "full_attention").head_dim == 512
    assert RopeConfig.from_hf(values, "sliding_attention").head_dim == 256
    older = {k: v for k, v in values.items() if k != "per_layer_config"}
    older["global_head_dim"] = 384
    assert RopeConfig.from_hf(older, "full_attention").head_dim == 384
    values["per_layer_config"]["05"]["head_dim"] = 128
    with pytest.raises(ValueError, match=r"head_dim must be one number .* got \[128, 512\]"):
        RopeConfig.from_hf(values, "full_attention")
    with pytest.raises(ValueError, match="map the index of a layer to a mapping, got 'a': 1"):
        RopeConfig.from_hf(values | {"per_layer_config": {"a": 1}}, "full_attention")
    with pytest.raises(TypeError, match="per_layer_config must be a mapping, got 3"):
        RopeConfig.from_hf(values | {"per_layer_config": 3}, "full_attention")


def test_a_width_that_the_code_does_not_read_is_said_and_not_taken():
    """MiniMax-M3's default says 64, and its rotary module turns all 128."""
    from transformers.models.minimax_m3_vl import modeling_minimax_m3_vl as modeling

    config = CONFIG_MAPPING["minimax_m3_vl_text"]()
    theirs = modeling.MiniMaxM3VLRotaryEmbedding(config).inv_freq
    values = config.to_dict()
    assert (values["rotary_dim"], len(theirs)) == (64, 64)
    said = r"rotary_dim \(64\) is not read for .* whose code turns 128 of 128 dimensions"
    with pytest.warns(UserWarning, match=said):
        ours = RopeConfig.from_hf(values)
    torch.testing.assert_close(ours.inv_freq().float(), theirs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert RopeConfig.from_hf(values | {"partial_rotary_factor": 0.5}).rotary_dim == 64
        del values["rotary_dim"]
        assert RopeConfig.from_hf(values).rotary_dim == 128


def test_whose_default_has_a_width_that_its_code_does_not_read():
    found = set()
    for model_type in (model_types.HALF | model_types.INTERLEAVED) & set(CONFIG_MAPPING.keys()):
        config_class = CONFIG_MAPPING[model_type]
        if getattr(config_class(), "rotary_dim", None) is not None:
            code = "".join(map(inspect.getsource, modules_of(model_of(config_class))))
            if "config.rotary_dim" not in code:
                found.add(model_type)
    assert found == model_types.IGNORES_ROTARY_DIM
