"""The reader against transformers' configuration classes and rotations, and against bad files."""

import copy
import importlib
import importlib.util
import inspect
import json
import math
import os
import re
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.utils import logging

from ropelib import apply_rotary, cos_sin, frequencies, model_types, scaling
from ropelib.config import RopeConfig, keys, layer_types, report
from ropelib.gallery import GALLERY

torch.set_num_threads(1)
logging.set_verbosity_error()

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "max_position_embeddings": 131_072,
    "rope_theta": 500_000.0,
}
LLAMA3 = GALLERY["Llama 3.1 8B"].config["rope_scaling"]
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768}
GEMMA3 = GALLERY["Gemma 3 12B"].config
WITHOUT_PARAMETERS = ("RoFormer", "GPT-J 6B")  # their base is a literal in the code
CASES = [
    (name, layer_type)
    for name, model in GALLERY.items()
    for layer_type in (("full_attention", "sliding_attention") if "Gemma" in name else (None,))
]
KNOWN = sorted(model_types.INTERLEAVED | model_types.HALF)


def llama(**scaling_keys):
    return LLAMA | {"rope_scaling": scaling_keys}


def their_config(model_type, values):
    values = {k: v for k, v in copy.deepcopy(dict(values)).items() if k != "model_type"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CONFIG_MAPPING[model_type](**values)


def their_rotary_class(config):
    module = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
    for name, member in vars(module).items():
        if not name.endswith("RotaryEmbedding") or member.__module__ != module.__name__:
            continue
        if hasattr(member, "compute_default_rope_parameters") and "Vision" not in name:
            return member, module
    raise LookupError(module.__name__)


def their_tables(config, layer_type=None, seq_len=None):
    parameters = config.rope_parameters
    parameters = parameters[layer_type] if layer_type else parameters
    if parameters["rope_type"] == "default":
        compute = their_rotary_class(config)[0].compute_default_rope_parameters
    else:
        compute = ROPE_INIT_FUNCTIONS[parameters["rope_type"]]
    options = {"layer_type": layer_type} if layer_type else {}
    return compute(config, seq_len=seq_len, **options)


def assert_same(ours, seq_len, theirs):
    inv_freq = ours.inv_freq(seq_len)
    assert inv_freq.dtype == torch.float64
    torch.testing.assert_close(inv_freq, theirs[0].double(), rtol=1e-6, atol=0)
    assert ours.attention_factor(seq_len) == pytest.approx(theirs[1], abs=1e-7)


# The gallery


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


def test_which_layers_rotate():
    def read(name, layer_type=None):
        return RopeConfig.from_hf(GALLERY[name].config, layer_type).rotating_layers

    every_fourth = tuple(range(3, 36, 4))
    assert read("SmolLM3 3B") == tuple(i for i in range(36) if i not in every_fourth)
    assert read("EXAONE 4.0 32B") == tuple(i for i in range(64) if i % 4 != 3)
    assert read("Gemma 3 12B", "full_attention") == tuple(range(5, 48, 6))
    assert len(read("Gemma 3 12B", "sliding_attention")) == 40
    assert read("Llama 2 7B") == tuple(range(32))


@pytest.mark.parametrize("model_type", ["smollm3", "llama4_text", "cohere2", "exaone4"])
def test_which_layers_rotate_equals_transformers(model_type):
    for missing in (True, False):
        config = CONFIG_MAPPING[model_type]()
        values = config.to_dict()
        if missing:
            values.pop("no_rope_layers", None)
            values.pop("layer_types", None)
        ours = RopeConfig.from_hf(values).rotating_layers
        if model_type in ("smollm3", "llama4_text"):
            theirs = [i for i, rotates in enumerate(config.no_rope_layers) if rotates]
        else:
            kinds = config.layer_types
            theirs = [i for i, kind in enumerate(kinds) if kind == "sliding_attention"]
        assert ours == tuple(theirs)
        assert 0 < len(ours) < config.num_hidden_layers


def test_other_switches_of_layers():
    no_window = GALLERY["EXAONE 4.0 32B"].config | {"sliding_window": None}
    assert RopeConfig.from_hf(no_window).rotating_layers == tuple(range(64))
    without_types = {
        k: v for k, v in GALLERY["EXAONE 4.0 32B"].config.items() if k != "layer_types"
    }
    assert len(RopeConfig.from_hf(without_types).rotating_layers) == 48  # "LLLG"
    hybrid = LLAMA | {
        "model_type": "qwen3_next",
        "num_hidden_layers": 4,
        "layer_types": ["linear_attention"] * 3 + ["full_attention"],
    }
    assert RopeConfig.from_hf(hybrid).rotating_layers == (3,)
    by_base = {k: v for k, v in LLAMA.items() if k != "rope_theta"} | {
        "model_type": "granite_swa",
        "num_hidden_layers": 3,
        "layer_rope_theta": [5000.0, 0, 5000.0],
    }
    assert RopeConfig.from_hf(by_base).rotating_layers == (0, 2)
    assert RopeConfig.from_hf(by_base).base == 5000
    unknown = {k: v for k, v in LLAMA.items() if k != "num_hidden_layers"}
    assert RopeConfig.from_hf(unknown).rotating_layers is None


# Model types

SPECIAL = {
    "chatglm",  # not in transformers: remote code
    "codegen",
    "gptj",
    "roformer",  # no rope_parameters
    "deepseek_v2",
    "llama4_text",  # complex numbers, below
    "glm4_moe",
    "glm4v_moe_text",
    "qwen3_omni_moe_text",  # their default widths do not fit their default heads
    "glm4v_text",  # its default lacks the sections that its own code needs
}


@pytest.mark.parametrize("model_type", [m for m in KNOWN if m not in SPECIAL])
@pytest.mark.filterwarnings("ignore:.*not read")
def test_scores_equal_those_of_the_models_own_rotation(model_type):
    config = CONFIG_MAPPING[model_type]()
    rotary_class, module = their_rotary_class(config)
    rotary = rotary_class(config)
    nested = [k for k, v in config.rope_parameters.items() if isinstance(v, dict)]
    for layer_type in nested or [None]:
        ours = RopeConfig.from_hf(config.to_dict(), layer_type)
        generator = torch.Generator().manual_seed(0)
        q, k = (torch.randn(1, 2, 6, ours.head_dim, generator=generator) for _ in "qk")
        ids = torch.tensor([[0, 1, 2, 5, 40, 90]])
        is_mrope = "mrope" in inspect.getsource(rotary_class)
        options = {"layer_type": layer_type} if layer_type else {}
        cos, sin = rotary(q, ids.expand(3, 1, 6) if is_mrope else ids, **options)
        theirs = rotated_by(module, q, k, cos, sin, ours.rotary_dim)
        tables = cos_sin(ids, ours.inv_freq(), attention_factor=ours.attention_factor())
        q, k = (apply_rotary(x, *tables, layout=ours.layout) for x in (q, k))
        torch.testing.assert_close(q @ k.mT, theirs[0] @ theirs[1].mT, rtol=0, atol=1e-3)
        other = {"half": "interleaved", "interleaved": "half"}[ours.layout]
        q, k = (apply_rotary(x, *tables, layout=other) for x in (q, k))
        assert (q @ k.mT - theirs[0] @ theirs[1].mT).abs().max() > 0.1


def rotated_by(module, q, k, cos, sin, rotary_dim):
    interleave = getattr(module, "apply_rotary_pos_emb_interleave", None)
    if interleave is not None:
        return interleave(q, k, cos, sin)
    apply = module.apply_rotary_pos_emb
    if "q" not in inspect.signature(apply).parameters:
        return [apply(x, cos, sin) for x in (q, k)]
    try:
        return apply(q, k, cos, sin)
    except RuntimeError:  # the model itself cuts the head
        parts = apply(q[..., :rotary_dim], k[..., :rotary_dim], cos, sin)
        rest = q[..., rotary_dim:], k[..., rotary_dim:]
        return [torch.cat(pair, dim=-1) for pair in zip(parts, rest, strict=True)]


def test_models_that_rotate_complex_numbers_are_interleaved():
    from transformers.models.deepseek_v2 import modeling_deepseek_v2
    from transformers.models.llama4 import modeling_llama4

    for module, name in (
        (modeling_llama4, "Llama4TextRotaryEmbedding"),
        (modeling_deepseek_v2, "DeepseekV2RotaryEmbedding"),
    ):
        model_type = "llama4_text" if module is modeling_llama4 else "deepseek_v2"
        config = CONFIG_MAPPING[model_type]()
        ours = RopeConfig.from_hf(config.to_dict())
        q, k = torch.randn(2, 1, 6, 2, ours.head_dim)
        ids = torch.arange(6)[None]
        table = getattr(module, name)(config)(q, ids)
        swap = model_type == "deepseek_v2"  # (batch, heads, tokens) there
        given = [x.transpose(1, 2) if swap else x for x in (q, k)]
        theirs = module.apply_rotary_emb(*given, table)
        tables = cos_sin(ids, ours.inv_freq())
        for x, expected in zip((q, k), theirs, strict=True):
            rotated = apply_rotary(x.transpose(1, 2), *tables, layout="interleaved")
            expected = expected if swap else expected.transpose(1, 2)
            torch.testing.assert_close(rotated, expected, rtol=0, atol=1e-5)
        assert ours.layout == "interleaved"


@pytest.mark.parametrize("model_type", [m for m in KNOWN if m != "chatglm"])
def test_defaults_of_model_types_are_those_of_transformers(model_type):
    misfits = ("glm4_moe", "glm4v_moe_text", "qwen3_omni_moe_text")
    fitting = {"hidden_size": 4096, "num_attention_heads": 32} if model_type in misfits else {}
    config = their_config(model_type, fitting)
    if not getattr(config, "rope_parameters", None):
        assert model_type in WITHOUT_PARAMETERS or model_type in SPECIAL
        return
    sizes = {"model_type": model_type}
    for name in (
        "hidden_size",
        "num_attention_heads",
        "num_hidden_layers",
        "max_position_embeddings",
        "qk_rope_head_dim",
        "qk_nope_head_dim",
        "layer_types",
    ):
        if getattr(config, name, None) is not None:
            sizes[name] = getattr(config, name)
    parameters = config.rope_parameters
    nested = [k for k, v in parameters.items() if isinstance(v, dict)]
    if model_type in model_types.SCALED_BY_DEFAULT:
        with pytest.raises(ValueError, match="rope_scaling and rope_parameters are missing"):
            RopeConfig.from_hf(sizes, nested[0] if nested else None)
        return
    for layer_type in nested or [None]:
        ours = RopeConfig.from_hf(sizes, layer_type)
        assert_same(ours, None, their_tables(config, layer_type))


@pytest.mark.parametrize("flag", [True, False])
def test_a_flag_turns_deepseek_to_halves(flag):
    for model_type in model_types.HAS_INTERLEAVE_FLAG:
        config = GALLERY["DeepSeek-V3"].config | {"model_type": model_type}
        layout = RopeConfig.from_hf(config | {"rope_interleave": flag}).layout
        assert layout == ("interleaved" if flag else "half")
    for model_type in KNOWN:
        if model_type in model_types.HAS_INTERLEAVE_FLAG:
            assert "config.rope_interleave" in inspect.getsource(
                their_rotary_class(CONFIG_MAPPING[model_type]())[1]
            )


def test_where_the_softmax_scale_changes_is_where_transformers_changes_it():
    for model_type in KNOWN:
        if model_type in SPECIAL - {"deepseek_v2"}:
            continue
        source = inspect.getsource(their_rotary_class(CONFIG_MAPPING[model_type]())[1])
        changes = "self.scaling = yarn_apply_mscale" in source
        assert changes == (model_type in model_types.SCALES_SOFTMAX), model_type


def test_chatglm_rotates_half_a_head_with_a_ratio_for_the_base():
    config = {
        "model_type": "chatglm",
        "kv_channels": 128,
        "num_layers": 40,
        "original_rope": True,
        "seq_length": 131_072,
    }
    assert RopeConfig.from_hf(config).base == 10_000
    ours = RopeConfig.from_hf(config | {"rope_ratio": 500})
    assert (ours.head_dim, ours.rotary_dim, ours.base) == (128, 64, 5e6)
    assert (ours.layout, ours.max_seq_len, ours.num_layers) == ("interleaved", 131_072, 40)


def test_an_unknown_model_type_is_half_with_a_warning():
    with pytest.warns(UserWarning, match="model_type 'mine' is unknown: layout \"half\""):
        assert RopeConfig.from_hf(LLAMA | {"model_type": "mine"}).layout == "half"
    with pytest.warns(UserWarning, match="model_type None is unknown"):
        RopeConfig.from_hf({k: v for k, v in LLAMA.items() if k != "model_type"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RopeConfig.from_hf(LLAMA)
        own = LLAMA | {"model_type": "mine", "rope_interleave": True}
        assert RopeConfig.from_hf(own).layout == "interleaved"


# Styles


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from([64, 128]), st.floats(1e4, 1e7), st.integers(2048, 32_768))
def test_both_styles_equal_transformers(data, head_dim, base, original):
    factor = data.draw(st.floats(1, 64))
    numbers = st.lists(st.floats(1, 70), min_size=head_dim // 2, max_size=head_dim // 2)
    part = data.draw(
        st.sampled_from(["default", "linear", "dynamic", "yarn", "llama3", "longrope"])
    )
    keys = {"rope_type": part, "factor": factor, "original_max_position_embeddings": original}
    if part == "default":
        keys = {"rope_type": part}
    elif part in ("linear", "dynamic"):
        del keys["original_max_position_embeddings"]
    elif part == "yarn":
        keys |= data.draw(
            st.sampled_from([{}, {"truncate": False}, {"mscale": 0.7, "mscale_all_dim": 0.9}])
        )
    elif part == "llama3":
        keys |= {"low_freq_factor": 1.0, "high_freq_factor": data.draw(st.floats(2, 8))}
    elif part == "longrope":
        keys |= {"short_factor": data.draw(numbers), "long_factor": data.draw(numbers)}
    sizes = LLAMA | {"head_dim": head_dim, "max_position_embeddings": 2 * original}
    del sizes["rope_theta"]
    old = sizes | {"rope_theta": base, "rope_scaling": keys}
    new = sizes | {"rope_parameters": keys | {"rope_theta": base}}
    seq_len = data.draw(st.none() | st.integers(1, 3 * original))
    theirs = their_tables(their_config("llama", new), seq_len=seq_len)
    for values in (old, new, old | new):
        ours = RopeConfig.from_hf(values)
        # Their ramps are float32: between their ends they err by 1e-7 of the unscaled frequency.
        allowed = 1e-6 * ours.inv_freq(seq_len) + 3e-7 * frequencies.inv_freq(head_dim, base)
        assert ((ours.inv_freq(seq_len) - theirs[0].double()).abs() <= allowed).all()
        assert ours.attention_factor(seq_len) == pytest.approx(theirs[1], abs=1e-7)


def test_both_styles_that_disagree_are_refused():
    both = llama(**LLAMA3) | {"rope_parameters": LLAMA3 | {"rope_theta": 500_000.0}}
    assert RopeConfig.from_hf(both).rope_type == "llama3"
    other = both | {"rope_parameters": LLAMA3 | {"factor": 32.0}}
    with pytest.raises(ValueError, match=r"factor is given as 8\.0 and as 32\.0"):
        RopeConfig.from_hf(other)
    other = both | {"rope_parameters": {"rope_type": "default"}}
    with pytest.raises(ValueError, match="rope_type is given as 'llama3' and as 'default'"):
        RopeConfig.from_hf(other)
    other = LLAMA | {"rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0}}
    with pytest.raises(ValueError, match=r"base must be one number.*10000.0.*500000\.0"):
        RopeConfig.from_hf(other)


def test_old_spellings():
    su = RopeConfig.from_hf(GALLERY["Phi-3 128k"].config)
    assert su.rope_type == "longrope"
    with pytest.raises(KeyError, match="original_max_position_embeddings"):
        their_config("phi3", GALLERY["Phi-3 128k"].config)  # a published file
    typed = {k: v for k, v in LLAMA3.items() if k != "rope_type"} | {"type": "llama3"}
    assert torch.equal(
        RopeConfig.from_hf(llama(**typed)).inv_freq(),
        RopeConfig.from_hf(llama(**LLAMA3)).inv_freq(),
    )
    mrope = LLAMA | {"model_type": "qwen2_vl_text"}
    mrope["rope_scaling"] = {"type": "mrope", "rope_type": "default", "mrope_section": [16, 24, 24]}
    with pytest.warns(UserWarning, match=r"\['mrope_section'\] is not read: it is about images"):
        assert RopeConfig.from_hf(mrope).rope_type == "default"
    with pytest.raises(ValueError, match="one type, got rope_type 'linear' and type 'yarn'"):
        RopeConfig.from_hf(llama(rope_type="linear", type="yarn", factor=2.0))


def test_hunyuan_says_dynamic_and_means_ntk_alpha():
    keys = {"type": "dynamic", "alpha": 1000.0, "factor": 1.0}
    with pytest.warns(UserWarning, match=r"\['factor'\] has no effect with rope_type 'ntk_alpha'"):
        ours = RopeConfig.from_hf(llama(**keys) | {"model_type": "hunyuan_v1_dense"})
    assert ours.rope_type == "ntk_alpha"
    assert torch.equal(ours.inv_freq(), scaling.ntk_alpha(128, 500_000.0, alpha=1000.0)[0])


def test_parameters_nested_by_layer_type():
    nested = {k: v for k, v in LLAMA.items() if k != "rope_theta"} | {
        "layer_types": ["sliding_attention"] * 31 + ["full_attention"],
        "rope_parameters": {
            "full_attention": YARN | {"rope_theta": 1e6, "truncate": False},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10_000.0},
        },
    }
    full = RopeConfig.from_hf(nested, "full_attention")
    assert (full.base, full.rope_type, full.rotating_layers) == (1e6, "yarn", (31,))
    assert RopeConfig.from_hf(nested, "sliding_attention").base == 10_000
    with pytest.raises(ValueError, match=r"given: .*'full_attention', 'sliding_attention'"):
        RopeConfig.from_hf(nested)
    with pytest.raises(ValueError, match=r"one of .*'sliding_attention', got 'local'"):
        RopeConfig.from_hf(nested, "local")
    with pytest.raises(ValueError, match=r"rope_theta is 5.0 outside of rope_parameters"):
        RopeConfig.from_hf(nested | {"rope_theta": 5.0}, "full_attention")
    with pytest.raises(ValueError, match=r"factor is 9.0 outside of rope_parameters"):
        RopeConfig.from_hf(nested | {"rope_scaling": {"factor": 9.0}}, "full_attention")
    nested["rope_parameters"]["sliding_attention"] = None
    with pytest.raises(ValueError, match="layers of type 'sliding_attention' do not rotate"):
        RopeConfig.from_hf(nested, "sliding_attention")
    nested["rope_parameters"]["rope_theta"] = 1.0
    with pytest.raises(ValueError, match="flat or one mapping per layer type, got both"):
        RopeConfig.from_hf(nested, "full_attention")


def test_transformers_misses_a_nested_truncate_and_we_do_not():
    # It looks for the key one level too high, where a nested configuration never has it.
    part = {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096}
    part |= {"rope_theta": 150_000.0, "truncate": False, "beta_fast": 32.0, "beta_slow": 1.0}
    plain = {"rope_type": "default", "rope_theta": 150_000.0}
    values = {k: v for k, v in GALLERY["gpt-oss 20B"].config.items() if "rope" not in k} | {
        "layer_types": ["sliding_attention", "full_attention"] * 12,
        "rope_parameters": {"full_attention": part, "sliding_attention": plain},
    }
    theirs, _ = their_tables(their_config("gpt_oss", values), "full_attention")
    ours = RopeConfig.from_hf(values, "full_attention").inv_freq()
    options = dict(factor=32.0, original_max_seq_len=4096)
    truncated, _ = scaling.yarn(64, 150_000.0, **options)
    exact, _ = scaling.yarn(64, 150_000.0, **options, truncate=False)
    torch.testing.assert_close(theirs.double(), truncated, rtol=1e-6, atol=0)
    assert torch.equal(ours, exact)
    assert (ours / truncated - 1).abs().max() > 0.01
    # Flat, as gpt-oss is published, both read it.
    flat = their_config("gpt_oss", GALLERY["gpt-oss 20B"].config)
    torch.testing.assert_close(their_tables(flat)[0].double(), exact, rtol=1e-6, atol=0)


def test_two_bases():
    assert RopeConfig.from_hf(GEMMA3, "full_attention").scaling == {"factor": 8.0}
    with pytest.raises(ValueError, match="'full_attention', 'sliding_attention' differently"):
        RopeConfig.from_hf(GEMMA3)
    bert = {"hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 6}
    bert |= {"model_type": "modernbert", "global_rope_theta": 80_000, "local_rope_theta": 5_000}
    assert RopeConfig.from_hf(bert, "full_attention").base == 80_000
    assert RopeConfig.from_hf(bert, "full_attention").rotating_layers == (0, 3)
    assert RopeConfig.from_hf(bert, "sliding_attention").base == 5_000
    for name in ("global_rope_theta", "local_rope_theta"):
        del bert[name]
    theirs = their_config("modernbert", bert).rope_parameters
    for layer_type, base in (("full_attention", 160_000), ("sliding_attention", 10_000)):
        ours = RopeConfig.from_hf(bert, layer_type)
        assert ours.base == theirs[layer_type]["rope_theta"] == base
        assert any(s.startswith("rope_theta of full_attention 160000.0:") for s in ours.assumed)
    olmo = LLAMA | {"model_type": "olmo3", "rope_scaling": YARN}
    assert RopeConfig.from_hf(olmo, "full_attention").rope_type == "yarn"
    assert RopeConfig.from_hf(olmo, "sliding_attention").rope_type == "default"
    assert RopeConfig.from_hf(olmo, "sliding_attention").base == 500_000


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


def test_a_null_factor_of_yarn_is_the_ratio_of_lengths():
    ours = RopeConfig.from_hf(llama(**YARN | {"factor": None}))
    assert ours.scaling["factor"] == 4.0
    assert any("ratio" in sentence for sentence in ours.assumed)


def test_what_is_assumed_is_said():
    ours = RopeConfig.from_hf(GALLERY["Llama 2 7B"].config)
    assert ours.base == 10_000
    assert ours.assumed == ("rope_theta 10000.0: transformers' default for model_type 'llama'",)
    assert RopeConfig.from_hf(LLAMA).assumed == ()


def test_files_are_read(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    assert RopeConfig.from_hf(path) == RopeConfig.from_hf(str(path)) == RopeConfig.from_hf(LLAMA)


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


# Nothing is dropped in silence


def test_unknown_keys_of_the_rope_part_are_refused():
    with pytest.raises(ValueError, match=r"\['atention_factor'\] is unknown; .*'attention_factor'"):
        RopeConfig.from_hf(llama(**YARN | {"atention_factor": 2.0}))
    with pytest.raises(ValueError, match="has 'factor' but no rope_type"):
        RopeConfig.from_hf(llama(factor=8.0))
    with pytest.raises(ValueError, match=r"\['factor'\] is given, but rope_type is \"default\""):
        RopeConfig.from_hf(llama(rope_type="default", factor=8.0))


def test_keys_without_effect_are_a_warning():
    with pytest.warns(UserWarning, match=r"\['beta_fast'\] has no effect with rope_type 'linear'"):
        RopeConfig.from_hf(llama(rope_type="linear", factor=2.0, beta_fast=32))
    with pytest.warns(UserWarning, match=r"\['mscale(_all_dim)?'\] has no effect beside"):
        part = YARN | {"attention_factor": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0}
        assert RopeConfig.from_hf(llama(**part)).attention_factor() == 1
    with pytest.warns(UserWarning, match=r"\['finetuned'\] is not read"):
        RopeConfig.from_hf(llama(**YARN | {"finetuned": True}))
    for key, value in (
        ("use_dynamic_ntk", True),
        ("no_rope_layers", [1] * 32),
        ("rope_ratio", 2),
        ("rope_interleave", True),
        ("my_rope_scale", 3),
    ):
        with pytest.warns(UserWarning, match=f"^{key} .* is not read for model_type 'llama'"):
            RopeConfig.from_hf(LLAMA | {key: value})


def test_the_gallery_reads_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, layer_type in CASES:
            RopeConfig.from_hf(GALLERY[name].config, layer_type)


def test_a_text_config_must_not_be_contradicted():
    assert RopeConfig.from_hf({"model_type": "llava", "text_config": LLAMA}).base == 500_000
    with pytest.raises(ValueError, match=r"rope_theta is 1.0, but 500000.0 within text_config"):
        RopeConfig.from_hf({"text_config": LLAMA, "rope_theta": 1.0})
    with pytest.raises(TypeError, match="text_config must be a mapping, got 3"):
        RopeConfig.from_hf({"text_config": 3})


WITHOUT_SIZES = {"model_type": "llama", "rope_theta": 1e4}
BAD = [
    (llama(rope_type="linear"), ValueError, "lacks 'factor', which rope_type 'linear' needs"),
    (llama(rope_type="yarn", factor=2.0), ValueError, "lacks 'original_max_position_embeddings'"),
    (llama(**LLAMA3 | {"low_freq_factor": None}), ValueError, "lacks 'low_freq_factor'"),
    (llama(rope_type="linear", factor="8"), TypeError, r"\['factor'\] must be a real number"),
    (llama(rope_type="linear", factor=True), TypeError, r"\['factor'\] must be .*, got True"),
    (llama(rope_type="linear", factor=math.nan), ValueError, r"\['factor'\] must be finite"),
    (
        llama(rope_type="linear", factor=0.5),
        ValueError,
        r"\['factor'\] must be at least 1, got 0.5",
    ),
    (llama(rope_type="cubic"), ValueError, "one of 'default', .*, got 'cubic'"),
    (llama(rope_type="axial"), ValueError, 'rope_type "axial" is not supported'),
    (llama(rope_type=3), TypeError, r"\['rope_type'\] must be a string, got 3"),
    (llama(**YARN | {"truncate": 1}), TypeError, r"\['truncate'\] must be true or false, got 1"),
    (llama(**YARN | {"mscale": 1.0}), ValueError, "must be given together"),
    (
        llama(**YARN | {"original_max_position_embeddings": "4096"}),
        TypeError,
        r"\['original_max_position_embeddings'\] must be an integer, got '4096'",
    ),
    (
        llama(**YARN) | {"original_max_position_embeddings": 4096},
        ValueError,
        "original_max_position_embeddings is 32768 in the rope part and 4096 outside",
    ),
    (
        GALLERY["Phi-3 128k"].config
        | {"rope_scaling": GALLERY["Phi-3 128k"].config["rope_scaling"] | {"long_factor": [1.0]}},
        ValueError,
        "long_factor must have 48 numbers, one per pair, got 1",
    ),
    (LLAMA | {"rope_scaling": [8]}, TypeError, r"rope_scaling must be a mapping, got \[8\]"),
    (LLAMA | {"rope_parameters": "x"}, TypeError, "rope_parameters must be a mapping, got 'x'"),
    (LLAMA | {"rope_theta": -1.0}, ValueError, "rope_theta must be positive, got -1.0"),
    (LLAMA | {"rope_theta": "1e4"}, TypeError, "rope_theta must be a real number, got '1e4'"),
    (LLAMA | {"rope_theta": True}, TypeError, "rope_theta must be a real number, got True"),
    (LLAMA | {"rope_theta": math.inf}, ValueError, "rope_theta must be finite, got inf"),
    (LLAMA | {"rotary_emb_base": 7}, ValueError, "base must be one number, got .*rotary_emb_base"),
    (LLAMA | {"head_dim": "128"}, TypeError, "head_dim must be an integer, got '128'"),
    (LLAMA | {"head_dim": 127}, ValueError, "rotary_dim must be even, got 127"),
    (LLAMA | {"hidden_size": 4097}, ValueError, "hidden_size must be a multiple of"),
    (LLAMA | {"hidden_size": None}, ValueError, "hidden_size is missing, and head_dim too"),
    (LLAMA | {"num_attention_heads": 0}, ValueError, "num_attention_heads must be positive"),
    (LLAMA | {"n_head": 8}, ValueError, "num_attention_heads must be one number"),
    (LLAMA | {"num_hidden_layers": 2.5}, TypeError, "num_hidden_layers must be an integer"),
    (LLAMA | {"max_position_embeddings": -1}, ValueError, "max_position_embeddings must be pos"),
    (LLAMA | {"model_type": 5}, TypeError, "model_type must be a string, got 5"),
    (LLAMA | {"model_type": "nanochat"}, ValueError, "is not supported: it rotates clockwise"),
    (LLAMA | {"model_type": "falcon", "alibi": True}, ValueError, "alibi is true: the model does"),
    (LLAMA | {"position_embedding_type": "nope"}, ValueError, '"nope": the model does not rotate'),
    (LLAMA | {"rotary_dim": 2.5}, TypeError, "rotary_dim must be an integer, got 2.5"),
    (LLAMA | {"rotary_pct": "a"}, TypeError, "rotary_pct must be a real number, got 'a'"),
    (LLAMA | {"layer_types": "x"}, TypeError, "layer_types must be a list, got 'x'"),
    (LLAMA | {"layer_types": ["x"]}, ValueError, "layer_types must have num_hidden_layers = 32"),
    (
        GALLERY["SmolLM3 3B"].config | {"no_rope_layers": [1, 0]},
        ValueError,
        "no_rope_layers must have num_hidden_layers = 36 entries, got 2",
    ),
    (
        GALLERY["SmolLM3 3B"].config | {"no_rope_layers": [2] * 36},
        ValueError,
        r"no_rope_layers\[0\] must be at most 1, got 2",
    ),
    (
        GALLERY["EXAONE 4.0 32B"].config | {"layer_types": None, "sliding_window_pattern": "LX"},
        ValueError,
        "sliding_window_pattern must be of L and G, got 'LX'",
    ),
    (LLAMA | {"model_type": "afmoe"}, ValueError, "layer_types is missing"),
    (
        LLAMA | {"model_type": "deepseek_v3", "rope_interleave": 1},
        TypeError,
        "rope_interleave must be true or false, got 1",
    ),
    (
        LLAMA | {"model_type": "deepseek_v3", "qk_rope_head_dim": "64"},
        TypeError,
        "qk_rope_head_dim must be an integer, got '64'",
    ),
    (
        GALLERY["DeepSeek-V3"].config | {"qk_nope_head_dim": "128"},
        TypeError,
        "qk_nope_head_dim must be an integer, got '128'",
    ),
    (
        LLAMA | {"model_type": "granite_swa", "layer_rope_theta": [1.0, 2.0]},
        ValueError,
        r"layer_rope_theta must have one base besides 0 to be read, got \[1.0, 2.0\]",
    ),
    (
        {k: v for k, v in llama(rope_type="dynamic", factor=2.0).items() if k[:3] != "max"},
        ValueError,
        'rope_type "dynamic" needs max_position_embeddings',
    ),
]


@pytest.mark.parametrize(("config", "error", "message"), BAD)
def test_bad_configurations_are_refused_by_key_value_and_rule(config, error, message):
    with pytest.raises(error, match=message):
        RopeConfig.from_hf(config)


@pytest.mark.filterwarnings("ignore:.*unknown")
def test_a_model_that_says_nothing_of_rotation_is_refused():
    with pytest.raises(ValueError, match="rope_theta is missing, and the model_type is unknown"):
        RopeConfig.from_hf({"model_type": "mine", "hidden_size": 64, "num_attention_heads": 4})


def test_layer_type_where_there_is_one_rotation():
    with pytest.raises(ValueError, match="layer_type must be left out for this model, got 'x'"):
        RopeConfig.from_hf(LLAMA, "x")
    one = GALLERY["EXAONE 4.0 32B"].config
    assert len(RopeConfig.from_hf(one, "sliding_attention").rotating_layers) == 48


def test_bad_files_are_refused_by_path(tmp_path):
    missing, cut, listed = (tmp_path / name for name in ("none.json", "cut.json", "list.json"))
    cut.write_text('{"rope_theta": 1')
    listed.write_text("[1]")
    with pytest.raises(ValueError, match=r"can be read: .*none\.json"):
        RopeConfig.from_hf(missing)
    with pytest.raises(ValueError, match=r"can be read: .*"):
        RopeConfig.from_hf(tmp_path)
    with pytest.raises(ValueError, match=r"must be JSON: .*cut\.json"):
        RopeConfig.from_hf(cut)
    with pytest.raises(TypeError, match=r"must be a JSON object, got \[1\]: .*list\.json"):
        RopeConfig.from_hf(listed)
    with pytest.raises(
        TypeError, match=r"must be a mapping or the path of a config.json, .*got int"
    ):
        RopeConfig.from_hf(3)
    with pytest.raises(
        TypeError, match=r"have to_dict\(\) as transformers' configurations do, got type"
    ):
        RopeConfig.from_hf(CONFIG_MAPPING["llama"])


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


def test_kinds_of_layers_are_listed_as_from_hf_takes_them():
    gemma = GALLERY["Gemma 3 12B"].config
    kinds = layer_types(gemma)
    assert kinds == ["full_attention", "sliding_attention"]
    assert len({RopeConfig.from_hf(gemma, kind).base for kind in kinds}) == 2
    assert layer_types(GALLERY["Llama 2 7B"].config) == [None]
    with pytest.raises(TypeError, match="model_type must be a string, got 3"):
        layer_types({"model_type": 3})
    with pytest.raises(ValueError, match="is not supported"):
        layer_types({"model_type": next(iter(model_types.UNSUPPORTED))})


# Whoever gives it


def test_transformers_objects_are_read_as_they_are():
    config = CONFIG_MAPPING["llama"]()
    assert RopeConfig.from_hf(config) == RopeConfig.from_hf(config.to_dict())
    gemma = CONFIG_MAPPING["gemma3_text"]()
    assert layer_types(gemma) == layer_types(gemma.to_dict())


@pytest.mark.parametrize("key", ["head_dim", "num_hidden_layers", "max_position_embeddings"])
def test_whole_numbers_may_be_written_as_floats(key):
    whole = LLAMA | {"head_dim": 128}
    ours = RopeConfig.from_hf(whole | {key: float(whole[key])})
    assert ours == RopeConfig.from_hf(whole)
    assert isinstance(ours.head_dim, int) and isinstance(ours.max_seq_len, int)
    with pytest.raises(TypeError, match=f"{key} must be an integer, got {whole[key] + 0.5}"):
        RopeConfig.from_hf(whole | {key: whole[key] + 0.5})
    assert RopeConfig.from_hf(llama(**LLAMA3 | {"original_max_position_embeddings": 8192.0}))


def test_numbers_of_numpy_and_tuples_are_read_as_json_has_them():
    plain = RopeConfig.from_hf(LLAMA | {"layer_types": ["full_attention"] * 32})
    same = {"rope_theta": np.float32(500_000), "hidden_size": np.int64(4096)}
    kinds = {"layer_types": ("full_attention",) * 32}
    assert RopeConfig.from_hf(LLAMA | same | kinds) == plain
    assert RopeConfig.from_hf(LLAMA | {"rope_theta": Fraction(1_000_000, 2)}).base == 500_000


def test_a_configuration_can_be_a_key():
    first, second = (RopeConfig.from_hf(llama(**LLAMA3)) for _ in range(2))
    other = RopeConfig.from_hf(llama(**LLAMA3 | {"factor": 4.0}))
    assert hash(first) == hash(second) and len({first, second, other}) == 2


def test_a_copy_of_the_options_is_kept():
    options = {"factor": 2.0}
    ours = RopeConfig(64, 64, 1e4, "half", rope_type="linear", scaling=options)
    options["factor"] = 0.0
    assert ours.scaling == {"factor": 2.0}


def test_files_with_a_byte_order_mark_are_read(tmp_path):
    path = tmp_path / "config.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(LLAMA).encode())
    assert RopeConfig.from_hf(path) == RopeConfig.from_hf(LLAMA)


BAD_TEXTS = [
    ('{"rope_scaling": {"a": 1}, "rope_scaling": null}', "the key 'rope_scaling' stands twice"),
    ('{"other": {"a": 1, "a": 1}}', "the key 'a' stands twice"),
    ('{"rope_theta": NaN}', "NaN is no number of JSON"),
    ('{"rope_theta": 1' + "0" * 400 + "}", "rope_theta must be finite"),
    ('{"unread": ' + "9" * 5000 + ', "rope_theta": 0}', "rope_theta must be positive, got 0"),
    ('{"unread": ' + "[" * 100 + "]" * 100 + "}", "must be nested at most 100 deep"),
    ("[" * 100_000, "must be nested at most 100 deep"),
    ("", "must be JSON: Expecting value"),
]


@pytest.mark.parametrize(("text", "message"), BAD_TEXTS)
def test_bad_texts_are_refused_by_what_is_wrong(tmp_path, text, message):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        RopeConfig.from_hf(path)


def test_what_is_no_ordinary_file_is_refused_before_it_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(2**31)
    (tmp_path / "utf-16").write_bytes('{"a": 1}'.encode("utf-16"))
    for path, reason in (
        (tmp_path / "pipe", "it is no ordinary file"),
        ("/dev/zero", "it is no ordinary file"),
        (tmp_path, "it is no ordinary file"),
        (tmp_path / "sparse", "it has more than 1000000 bytes"),
        (tmp_path / "utf-16", "it is not UTF-8 at byte 0"),
        ("no\0thing", "ValueError"),
        ("x" * 5000, "File name too long"),
    ):
        with pytest.raises(ValueError, match=reason) as raised:
            RopeConfig.from_hf(path)
        assert "config must be a file that can be read: " in str(raised.value)
        assert len(str(raised.value)) < 400


def test_a_file_of_the_largest_size_is_read(tmp_path):
    path = tmp_path / "config.json"
    for length in (10**6, 10**6 + 1):
        path.write_text(json.dumps(LLAMA).ljust(length))
        if length == 10**6:
            assert RopeConfig.from_hf(path) == RopeConfig.from_hf(LLAMA)
    with pytest.raises(ValueError, match="it has more than 1000000 bytes"):
        RopeConfig.from_hf(path)


CAPS = [
    ({"head_dim": 4098}, "head_dim must be at most 4096, got 4098"),
    ({"hidden_size": 4098, "num_attention_heads": 1}, "head_dim must be at most 4096, got 4098"),
    ({"num_hidden_layers": 10_001}, "num_hidden_layers must be at most 10000, got 10001"),
    ({"max_position_embeddings": 10**16}, "must be at most 1000000000000000, got 1000000"),
    ({"rope_theta": 1e16}, r"rope_theta must be at most 1e\+15, got 1e\+16"),
    ({"rope_theta": 5e-324}, "rope_theta must be at least 1e-15, got 5e-324"),
    ({"rope_theta": 10**400}, "rope_theta must be finite, got an integer of about 401 digits"),
    ({"layer_types": ["a"] * 10_001}, "layer_types must have at most 10000 entries, got 10001"),
    ({"rope_parameters": {str(i): {} for i in range(17)}}, "at most 16 kinds of layers, got 17"),
]


@pytest.mark.parametrize(("change", "message"), CAPS)
def test_sizes_beyond_all_models_are_refused_before_they_cost(change, message):
    with pytest.raises(ValueError, match=message):
        RopeConfig.from_hf(LLAMA | change)


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
        ({"layout": None}, ValueError, "layout must be .*, got None"),
    ):
        with pytest.raises(error, match=message):
            RopeConfig(**good | change)
    assert RopeConfig(**good | {"head_dim": 4096, "rotary_dim": 4096, "num_layers": 10_000})


@pytest.mark.filterwarnings("ignore")
def test_no_model_type_of_transformers_is_beyond_the_caps():
    refused, read = {}, 0
    for model_type in CONFIG_MAPPING.keys():
        try:
            config = CONFIG_MAPPING[model_type]().to_dict()
        except Exception:  # a configuration that cannot stand without others
            continue
        try:
            for kind in layer_types(config):
                RopeConfig.from_hf(config, kind)
            read += 1
        except (TypeError, ValueError) as error:
            refused[model_type] = str(error)
    assert read > 100
    # A share of 4 breaks a rule; what a cap refuses is a size.
    beyond = r"at most (?!1,)|at least 1e-15|nested|that JSON has"
    capped = {name: said for name, said in refused.items() if re.search(beyond, said)}
    assert capped == {}


def test_models_that_do_not_rotate_are_refused_with_the_reason():
    from transformers import BertConfig, EsmConfig

    esm = EsmConfig(vocab_size=33, position_embedding_type="absolute")
    with pytest.raises(ValueError, match='type is "absolute": the model does not rotate'):
        RopeConfig.from_hf(esm.to_dict() | {"rope_theta": 1e4})
    with pytest.raises(ValueError, match='model_type is "bert": the model does not rotate'):
        RopeConfig.from_hf(BertConfig().to_dict() | {"rope_theta": 1e4})
    with pytest.warns(UserWarning, match="model_type 'esm' is unknown"):
        rotary = esm.to_dict() | {"position_embedding_type": "rotary", "rope_theta": 1e4}
        assert RopeConfig.from_hf(rotary).rotary_dim == 64
    with pytest.raises(TypeError, match="alibi must be true or false, got 'yes'"):
        RopeConfig.from_hf(LLAMA | {"alibi": "yes"})


@pytest.mark.parametrize("model_type", sorted(model_types.WITHOUT_ROTATION))
def test_what_is_said_not_to_rotate_has_no_rotation_in_transformers(model_type):
    folder = Path(inspect.getfile(CONFIG_MAPPING[model_type])).parent
    sources = [path.read_text() for path in folder.glob("modeling_*.py")]
    assert sources and not any("rotary" in text.lower() for text in sources)


SEEN = [
    ({"model_type": "\x1b[2Jx\u202e"}, r"'\\x1b\[2Jx\\u202e'"),
    ({"model_type": "\ud800"}, r"'\\ud800'"),
    ({"rope_theta": "x" * 10**6}, r"got 'x+\.\.\.x+'$"),
    ({"rope_theta": [[1] * 100] * 100}, r"got \[\[1, 1"),
    ({"rope_scaling": {"\x1b[2J": 1, "rope_type": "default"}}, r"\['\\x1b\[2J'\] is unknown"),
    ({"rope_parameters": {"\u202e": {"factor": 2}}}, r"rope part of \\u202e has 'factor'"),
]


@pytest.mark.parametrize(("change", "message"), SEEN)
def test_messages_are_short_and_safe_for_a_terminal(change, message):
    values = LLAMA | change
    with pytest.raises((TypeError, ValueError)) as raised, warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            for kind in layer_types(values):
                RopeConfig.from_hf(values, kind)
        except UserWarning as warning:
            raise ValueError(str(warning)) from warning
    said = str(raised.value)
    assert raised.match(message) and said.isprintable() and len(said) < 300
    said.encode("utf-8")


def test_a_report_of_hostile_names_is_safe_for_a_terminal():
    ours = RopeConfig(64, 64, 1e4, "half", model_type="\x1b[2J" * 100, layer_type="\ud800")
    first = report(ours).splitlines()[0]
    assert first.startswith(r"\x1b[2J") and r"\ud800 layers" in first and len(first) < 200
    with pytest.raises(TypeError, match=r"config must be a RopeConfig, got \{\}"):
        report({})


def test_wrong_kinds_of_keys_and_values_are_named():
    with pytest.raises(TypeError, match=r"the keys of rope_scaling must be strings, got 3"):
        RopeConfig.from_hf(LLAMA | {"rope_scaling": {3: 1}})
    with pytest.raises(TypeError, match=r"rope_theta must be a value that JSON has, got tensor"):
        RopeConfig.from_hf(LLAMA | {"rope_theta": torch.ones(2)})
    with pytest.raises(TypeError, match="layer_type must be a string, got 3"):
        RopeConfig.from_hf(LLAMA, 3)
    deep = {}
    for _ in range(200):
        deep = {"a": deep}
    with pytest.raises(ValueError, match="config must be nested at most 100 deep"):
        RopeConfig.from_hf(LLAMA | {"rope_scaling": deep})
    endless = dict(LLAMA)
    endless["text_config"] = endless
    assert RopeConfig.from_hf(endless) == RopeConfig.from_hf(LLAMA)
    assert RopeConfig.from_hf(LLAMA | {3: 1, "dtype": torch.float32}) == RopeConfig.from_hf(LLAMA)


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


def benchmark():
    path = Path(__file__).parents[2] / "benchmarks/hostile_configs.py"
    spec = importlib.util.spec_from_file_location("hostile_configs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_hostile_configurations_and_files_raise_what_is_promised(tmp_path):
    hostile = benchmark()
    for configs in (hostile.configurations(1000, seed=1), hostile.files(tmp_path)):
        outcomes, wrong, longest, memory, message = hostile.measure(configs)
        assert wrong == {}
        assert outcomes["TypeError"] and outcomes["ValueError"]
        # Hundredths of a second here, and before there were caps minutes.
        assert longest < 10 and memory < hostile.MOST_MEMORY and message < 600


def test_the_table_names_what_is_there():
    assert {rule for rule in keys.KEYS.values()} <= set(keys.RULES)
    for rope_type in keys.ROPE_TYPES:
        assert set(keys.rules_of(rope_type).values()) <= set(keys.RULES)
        options = inspect.signature(keys.METHODS[rope_type]).parameters
        read = {name for part in keys.ROPE_TYPES[rope_type].values() for name in part}
        assert read - {"original_max_position_embeddings"} <= set(options)
    for spellings in keys.SPELLINGS.values():
        assert set(spellings) <= set(keys.KEYS)
    assert set(keys.READ_BY) | set(keys.DEFAULTS) <= set(keys.KEYS)
    assert json.loads(json.dumps(keys.table())) == keys.table()
