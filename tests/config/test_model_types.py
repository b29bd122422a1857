"""What is known of model types against the transformers that is installed."""

import inspect
import re
import warnings

import pytest
import torch
from published import (
    KNOWN,
    LLAMA,
    WITHOUT_PARAMETERS,
    assert_same,
    their_config,
    their_rotary_class,
    their_tables,
)
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.utils import logging

from ropebook.census.survey import RUNS_WITH
from ropelib import apply_rotary, cos_sin
from ropelib.config import RopeConfig, layer_types, model_types
from ropelib.config.gallery import GALLERY

torch.set_num_threads(1)
logging.set_verbosity_error()

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
    "cohere_compass_text",  # its default lacks a base
    "esm",
    "dots3_note_audio_encoder",  # the functions beside it are those of other towers
    "neomme",  # takes two rows of positions
}
# Its table has the order of images, which the forward pass undoes.
ORDERED = {"ernie4_5_vl_moe_text"}


@pytest.mark.parametrize("model_type", [m for m in KNOWN if m not in SPECIAL])
@pytest.mark.filterwarnings("ignore:.*not read")
def test_scores_equal_those_of_the_models_own_rotation(model_type):
    config = CONFIG_MAPPING[model_type](**needed(model_type))
    rotary_class, module = their_rotary_class(config)
    rotary = rotary_class(config)
    nested = [k for k, v in config.rope_parameters.items() if isinstance(v, dict)]
    nested = [kind for kind in nested if hasattr(rotary, f"{kind}_inv_freq")]
    for layer_type in nested or [None]:
        ours = RopeConfig.from_hf(config.to_dict(), layer_type)
        generator = torch.Generator().manual_seed(0)
        q, k = (torch.randn(1, 2, 6, ours.head_dim, generator=generator) for _ in "qk")
        ids = torch.tensor([[0, 1, 2, 5, 40, 90]])
        is_mrope = "mrope" in inspect.getsource(rotary_class)
        axes = len(config.rope_parameters.get("mrope_section", "thw"))
        options = {"layer_type": layer_type} if layer_type else {}
        cos, sin = rotary(q, ids.expand(axes, 1, 6) if is_mrope else ids, **options)
        theirs = rotated_by(module, q, k, cos, sin, ours.rotary_dim)
        tables = cos_sin(ids, ours.inv_freq(), attention_factor=ours.attention_factor())
        q, k = (apply_rotary(x, *tables, layout=ours.layout) for x in (q, k))
        torch.testing.assert_close(q @ k.mT, theirs[0] @ theirs[1].mT, rtol=0, atol=1e-3)
        other = {"half": "interleaved", "interleaved": "half"}[ours.layout]
        q, k = (apply_rotary(x, *tables, layout=other) for x in (q, k))
        assert (q @ k.mT - theirs[0] @ theirs[1].mT).abs().max() > 0.1


def needed(model_type):
    """What a configuration must say so that the model rotates, and runs."""
    if model_type in RUNS_WITH:
        beside_it, in_part = RUNS_WITH[model_type]
        part = {"rope_type": "default", "rope_theta": 1e4}
        return beside_it | {"rope_parameters": part | in_part}
    return dict([model_types.NEEDS[model_type]]) if model_type in model_types.NEEDS else {}


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


@pytest.mark.parametrize("model_type", [m for m in KNOWN if m not in {"chatglm", *ORDERED}])
def test_defaults_of_model_types_are_those_of_transformers(model_type):
    misfits = ("glm4_moe", "glm4v_moe_text", "qwen3_omni_moe_text")
    fitting = {"hidden_size": 4096, "num_attention_heads": 32} if model_type in misfits else {}
    config = their_config(model_type, fitting | needed(model_type))
    if not getattr(config, "rope_parameters", None):
        assert model_type in WITHOUT_PARAMETERS or model_type in SPECIAL
        return
    sizes = {"model_type": model_type} | needed(model_type)
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


def test_of_an_unknown_model_type_the_layout_is_asked_for():
    mine = LLAMA | {"model_type": "mine"}
    nameless = {k: v for k, v in LLAMA.items() if k != "model_type"}
    for config, name in ((mine, "'mine'"), (nameless, "None")):
        with pytest.raises(ValueError, match=f"layout is not known for model_type {name}: give"):
            RopeConfig.from_hf(config)
        for layout in ("half", "interleaved"):
            assert RopeConfig.from_hf(config, layout=layout).layout == layout
        with pytest.warns(UserWarning, match=f"layout is not known for model_type {name}"):
            read = RopeConfig.as_read(config)
        assert (read.layout, read.rotary_dim, read.base) == (None, 128, 5e5)
    with pytest.raises(ValueError, match="layout must be"):
        RopeConfig.from_hf(mine, layout="neox")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert RopeConfig.from_hf(LLAMA, layout="half") == RopeConfig.as_read(LLAMA)
        own = LLAMA | {"model_type": "mine", "rope_interleave": True}
        assert RopeConfig.from_hf(own).layout == "interleaved"
    for config in (own, GALLERY["GPT-J 6B"].config):
        with pytest.raises(ValueError, match=r'layout is "interleaved" by .*, got .half.;'):
            RopeConfig.from_hf(config, layout="half")


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
    with pytest.raises(ValueError, match=r"'absolute': .* rotates only where it is 'rotary'"):
        RopeConfig.from_hf(esm.to_dict() | {"rope_theta": 1e4})
    with pytest.raises(ValueError, match='model_type is "bert": the model does not rotate'):
        RopeConfig.from_hf(BertConfig().to_dict() | {"rope_theta": 1e4})
    rotary = esm.to_dict() | {"position_embedding_type": "rotary"}
    assert RopeConfig.from_hf(rotary).rotary_dim == 64
    with pytest.raises(ValueError, match='type is "absolute": the model does not rotate'):
        RopeConfig.from_hf(LLAMA | {"position_embedding_type": "absolute"})
    with pytest.raises(TypeError, match="alibi must be true or false, got 'yes'"):
        RopeConfig.from_hf(LLAMA | {"alibi": "yes"})
