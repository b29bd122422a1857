"""Published configurations against transformers' own reading of them."""

import json
import math
import warnings

import pytest
import torch
from published import CASES, WITHOUT_PARAMETERS, assert_same, their_config, their_tables
from transformers.utils import logging

from ropelib import cos_sin
from ropelib.config import RopeConfig
from ropelib.config.gallery import GALLERY

torch.set_num_threads(1)
logging.set_verbosity_error()


def test_the_gallery_is_large_and_sourced():
    assert len(GALLERY) >= 15
    for model in GALLERY.values():
        assert "/" in model.repository and model.source
        json.dumps(model.config)


@pytest.mark.parametrize(("name", "layer_type"), CASES)
@pytest.mark.parametrize("seq_len", [None, 4096, 4097, 200_000])
def test_gallery_equals_transformers(name, layer_type, seq_len):
    if name in WITHOUT_PARAMETERS:
        pytest.skip("see test_fixed_tables_equal_transformers")
    values = GALLERY[name].config
    values = values.get("text_config", values)
    if name == "Phi-3 128k":  # they no longer read "su", see below
        values = values | {"rope_scaling": values["rope_scaling"] | {"type": "longrope"}}
    config = their_config(values["model_type"], values)
    ours = RopeConfig.from_hf(GALLERY[name].config, layer_type)
    assert_same(ours, seq_len, their_tables(config, layer_type, seq_len))


def test_fixed_tables_equal_transformers():
    from transformers.models.gptj.modeling_gptj import create_sinusoidal_positions
    from transformers.models.roformer.modeling_roformer import (
        RoFormerSinusoidalPositionalEmbedding,
    )

    ours = RopeConfig.from_hf(GALLERY["GPT-J 6B"].config)
    assert (ours.head_dim, ours.rotary_dim, ours.layout) == (256, 64, "interleaved")
    sin, cos = create_sinusoidal_positions(2048, 64).chunk(2, dim=-1)
    for table, expected in zip(cos_sin(range(2048), ours.inv_freq()), (cos, sin), strict=True):
        torch.testing.assert_close(table, expected, rtol=0, atol=5e-4)

    ours = RopeConfig.from_hf(GALLERY["RoFormer"].config)
    assert (ours.head_dim, ours.rotary_dim, ours.layout) == (64, 64, "interleaved")
    table = RoFormerSinusoidalPositionalEmbedding(1536, 64).create_weight()
    embedding = RoFormerSinusoidalPositionalEmbedding(1536, 64)
    table = embedding.weight if table is None else table
    sin, cos = table.chunk(2, dim=-1)
    for ours_, expected in zip(cos_sin(range(1536), ours.inv_freq()), (cos, sin), strict=True):
        torch.testing.assert_close(ours_, expected, rtol=0, atol=1e-6)


def test_gallery_facts():
    def read(name, layer_type=None):
        return RopeConfig.from_hf(GALLERY[name].config, layer_type)

    facts = {
        name: (c.layout, c.head_dim, c.rotary_dim, c.base, c.rope_type)
        for name, c in (
            (name, read(name, layer_type)) for name, layer_type in CASES if layer_type is None
        )
    }
    assert facts["GPT-NeoX 20B"] == ("half", 96, 24, 10_000, "default")
    assert facts["StableLM 3B"] == ("half", 80, 20, 10_000, "default")
    assert facts["Llama 2 7B"] == ("half", 128, 128, 10_000, "default")
    assert facts["GLM-4 9B"] == ("interleaved", 128, 64, 10_000, "default")
    assert facts["Command R"] == ("interleaved", 128, 128, 8e6, "default")
    assert facts["DeepSeek-V3"] == ("interleaved", 64, 64, 10_000, "yarn")
    assert facts["Phi-3 128k"] == ("half", 96, 96, 10_000, "longrope")
    assert facts["gpt-oss 20B"] == ("half", 64, 64, 150_000, "yarn")
    assert read("gpt-oss 20B").scaling["truncate"] is False
    assert read("Gemma 3 12B", "full_attention").base == 1e6
    assert read("Gemma 3 12B", "sliding_attention").base == 10_000
    assert read("Gemma 3 12B", "sliding_attention").rope_type == "default"
    assert read("Phi-3 128k").original_max_seq_len == 4096
    assert read("DeepSeek-V3").softmax_factor == pytest.approx((0.1 * math.log(40) + 1) ** 2)
    assert read("gpt-oss 20B").softmax_factor == 1


def test_the_gallery_reads_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, layer_type in CASES:
            RopeConfig.from_hf(GALLERY[name].config, layer_type)


def test_notebooks_find_the_gallery_where_it_stood():
    from ropelib.gallery import GALLERY as found

    assert found is GALLERY
