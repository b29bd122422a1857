"""Which layers rotate, and which differently."""

import pytest
import torch
from published import LLAMA
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.utils import logging

from ropelib.config import RopeConfig, keys, layer_types, model_types, report
from ropelib.config.gallery import GALLERY

torch.set_num_threads(1)
logging.set_verbosity_error()


def test_which_layers_rotate():
    def read(name, layer_type=None):
        return RopeConfig.from_hf(GALLERY[name].config, layer_type).rotating_layers

    every_fourth = tuple(range(3, 36, 4))
    assert read("SmolLM3 3B") == tuple(i for i in range(36) if i not in every_fourth)
    assert read("EXAONE 4.0 32B") == tuple(i for i in range(64) if i % 4 != 3)
    assert read("Gemma 3 12B", "full_attention") == tuple(range(5, 48, 6))
    assert len(read("Gemma 3 12B", "sliding_attention")) == 40
    assert read("Llama 2 7B") == tuple(range(32))


def test_layers_that_look_at_an_image_do_not_rotate():
    values = CONFIG_MAPPING["mllama_text_model"]().to_dict()
    crossing = values["cross_attention_layers"]
    theirs = tuple(i for i in range(40) if i not in crossing)
    assert RopeConfig.from_hf(values).rotating_layers == theirs
    assert RopeConfig.from_hf(values | {"cross_attention_layers": None}).rotating_layers == theirs
    other = RopeConfig.from_hf(values | {"cross_attention_layers": [0]})
    assert other.rotating_layers == tuple(range(1, 40))


@pytest.mark.parametrize("model_type", ["smollm3", "llama4_text", "cohere2", "exaone4", "flint"])
def test_which_layers_rotate_equals_transformers(model_type):
    for missing in (True, False):
        config = CONFIG_MAPPING[model_type]()
        values = config.to_dict()
        if missing:
            values.pop("no_rope_layers", None)
            if model_type != "flint":  # which has no pattern: its file lists them
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


DENSE = [
    {},
    {"first_k_dense_replace": 1},
    {"first_k_dense_replace": 3},
    {"first_k_dense_replace": 3, "sliding_window_pattern": 3},
    {"first_k_dense_replace": 3, "prefix_dense_sliding_window_pattern": 2},
    {"mlp_layer_types": ["sparse", "dense", "sparse", "dense", *["sparse"] * 6]},
]


@pytest.mark.parametrize("said", DENSE)
@pytest.mark.parametrize("written_by_transformers", [True, False])
def test_layers_without_experts_rotate_as_in_the_code_of_cohere(
    said, written_by_transformers, monkeypatch
):
    from transformers.models.cohere2_moe import modeling_cohere2_moe as cohere

    sizes = {"hidden_size": 16, "num_attention_heads": 2, "head_dim": 8, "num_hidden_layers": 10}
    theirs, config = [], CONFIG_MAPPING["cohere2_moe"](**sizes, **said)
    x, table = torch.randn(1, 3, 16), torch.ones(1, 3, 8)
    for i in range(10):
        seen = []
        monkeypatch.setattr(
            cohere, "apply_rotary_pos_emb", lambda q, k, *rest, seen=seen: seen.append(1) or (q, k)
        )
        cohere.Cohere2MoeAttention(config, i)(x, (table, table), None)
        theirs += [i] * len(seen)
    file = config.to_dict() if written_by_transformers else sizes | said
    ours = RopeConfig.from_hf(file | {"model_type": "cohere2_moe", "rope_theta": 1e4})
    assert ours.rotating_layers == tuple(theirs)
    assert 0 < len(theirs) < 10


def test_what_says_which_layers_have_experts_is_checked_where_it_is_read():
    file = LLAMA | {"model_type": "cohere2_moe"}
    for key, value, said in (
        ("mlp_layer_types", ["dense"], "must have num_hidden_layers = 32 entries, got 1"),
        ("mlp_layer_types", "dense", "must be a list, got 'dense'"),
        ("first_k_dense_replace", -1, "must be at least 0, got -1"),
        ("prefix_dense_sliding_window_pattern", 0, "must be positive, got 0"),
    ):
        with pytest.raises((TypeError, ValueError), match=f"{key} {said}"):
            RopeConfig.from_hf(file | {key: value})
        assert RopeConfig.from_hf(LLAMA | {key: value}).rotating_layers == tuple(range(32))


def test_layer_type_where_there_is_one_rotation():
    with pytest.raises(ValueError, match="layer_type must be left out for this model, got 'x'"):
        RopeConfig.from_hf(LLAMA, "x")
    one = GALLERY["EXAONE 4.0 32B"].config
    assert len(RopeConfig.from_hf(one, "sliding_attention").rotating_layers) == 48


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


def layers_without_attention(model_type):
    """Kinds of layers of a type's own default that have no attention."""
    config = CONFIG_MAPPING[model_type]()
    lists = (getattr(config, name, None) for name in ("layer_types", "layers_block_type"))
    return {kind for kinds in lists for kind in kinds or []} & set(keys.WITHOUT_ATTENTION)


def test_hybrids_are_those_whose_default_has_layers_without_attention():
    known = (model_types.HALF | model_types.INTERLEAVED) & set(CONFIG_MAPPING.keys())
    found = {model_type for model_type in known if layers_without_attention(model_type)}
    # LFM2's are told by their files; the default has attention everywhere.
    assert found | {"lfm2", "lfm2_moe"} == model_types.HYBRIDS | model_types.NAMES_ATTENTION


@pytest.mark.parametrize("model_type", sorted(model_types.HYBRIDS))
def test_which_layers_of_a_hybrid_rotate_is_not_told_where_its_file_lists_none(model_type):
    config = LLAMA | {"model_type": model_type, "rope_parameters": {"rope_type": "default"}}
    if model_type in model_types.NEEDS:
        config |= dict([model_types.NEEDS[model_type]])
    ours = RopeConfig.from_hf(config)
    assert (ours.num_layers, ours.rotating_layers) == (32, None)
    assert "the file does not tell which of 32 rotate" in report(ours)
    listed = config | {"layer_types": ["linear_attention", "full_attention"] * 16}
    assert RopeConfig.from_hf(listed).rotating_layers == tuple(range(1, 32, 2))


def test_layers_of_bamba_rotate_only_where_its_file_names_them():
    config = CONFIG_MAPPING["bamba"]()
    assert set(config.layers_block_type) == {"linear_attention"}
    ours = RopeConfig.from_hf(config.to_dict())
    assert (ours.num_layers, ours.rotating_layers) == (32, ())
    assert any(said.startswith("attn_layer_indices none: ") for said in ours.assumed)
    named = RopeConfig.from_hf(CONFIG_MAPPING["bamba"](attn_layer_indices=[9, 18, 27]).to_dict())
    assert named.rotating_layers == (9, 18, 27)
