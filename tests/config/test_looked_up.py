"""Every model type of the installed transformers, looked up in its code and measured."""

import inspect

import pytest
import torch
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.utils import logging

from ropebook.census.modeling import measured_layout, model_of, modules_of, rotations_in
from ropelib.config import RopeConfig, layer_types, model_types

torch.set_num_threads(1)
logging.set_verbosity_error()

KNOWN = model_types.INTERLEAVED | model_types.HALF
TYPES = sorted(CONFIG_MAPPING.keys())
# Turn queries and keys of another kind than a text's.
OTHERS = ("vision", "2d", "time", "multidimensional", "self_attn", "cross_attn")
# Whose layers do not take tables for a function to measure; what they turn is measured elsewhere.
BY_HAND = {
    "roformer": "test_gallery.py",
    # Of MLA two functions stand in the file; the main one is that of the flag's default.
    **dict.fromkeys(model_types.HAS_INTERLEAVE_FLAG, "test_model_types.py"),
    "deepseek_v32": "test_model_types.py",
    "axk2": "test_model_types.py",
}
# Without rope_parameters of its own, but with a rotation that the table must know of.
WITHOUT_PARAMETERS = {"codegen", "gptj", "esm", "cohere_compass_text"}


def functions_of(model_type):
    """What rotates a model's queries by one position: its own, or those of its whole file."""
    config_class = CONFIG_MAPPING[model_type]
    own, all_of_them = {}, {}
    for module in modules_of(model_of(config_class)):
        for name, found in rotations_in(module).items():
            one = {n: f for n, f in found.functions.items() if not any(w in n for w in OTHERS)}
            all_of_them |= one
            if name == config_class.__name__:
                own |= one
    return own or all_of_them


def default_of(model_type):
    try:
        return CONFIG_MAPPING[model_type]()
    except Exception:  # a configuration that cannot stand without others
        return None


@pytest.mark.parametrize("model_type", sorted(KNOWN & set(TYPES) - set(BY_HAND)))
def test_the_layout_of_the_table_is_the_one_measured(model_type):
    layouts = {measured_layout(function) for function in functions_of(model_type).values()}
    assert layouts == {"interleaved" if model_type in model_types.INTERLEAVED else "half"}


@pytest.mark.parametrize("model_type", TYPES)
def test_every_model_type_is_in_one_group_of_the_table(model_type):
    config = default_of(model_type)
    name = CONFIG_MAPPING[model_type].model_type
    groups = [KNOWN, model_types.WITHOUT_ROTATION, model_types.UNSUPPORTED]
    of = [name in group for group in groups]
    assert sum(of) <= 1
    if not sum(of):
        # Then it is made of parts, none of which is it: who reads it is told of them.
        assert getattr(CONFIG_MAPPING[model_type], "sub_configs", None), model_type
        assert not getattr(config, "rope_parameters", None)
    parameters = getattr(config, "rope_parameters", None) or {}
    if parameters.get("rope_type") == "axial":
        assert name in model_types.AXIAL
    elif parameters or model_type in WITHOUT_PARAMETERS:
        assert name in KNOWN or name in model_types.UNSUPPORTED


@pytest.mark.parametrize("model_type", sorted(model_types.WITHOUT_ROTATION & set(TYPES)))
def test_what_is_said_not_to_rotate_has_no_rotation_of_its_own(model_type):
    config_class = CONFIG_MAPPING[model_type]
    assert not getattr(default_of(model_type), "rope_parameters", None)
    for module in modules_of(model_of(config_class)):
        found = rotations_in(module)
        assert not found.get(config_class.__name__)
        # What has no annotation is another's, who rotates.
        beside = {t for t in TYPES if CONFIG_MAPPING[t].__module__ == config_class.__module__}
        assert not found.get("") or beside & (KNOWN | set(model_types.UNSUPPORTED))


def test_functions_that_rotate_otherwise_have_no_layout():
    """The measurement says no where it must: NanoChat turns the other way."""
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb
    from transformers.models.nanochat import modeling_nanochat

    assert measured_layout(apply_rotary_pos_emb) == "half"
    assert measured_layout(modeling_nanochat.apply_rotary_pos_emb) is None
    assert measured_layout(lambda q, k, cos, sin: (q * cos, k * cos)) is None
    assert measured_layout(lambda x, cos, sin: x) is None


LEARNED = {"mistral_large4_text"}
LACKS_A_BASE = {"cohere_compass_text"}  # by default: no tables can be made


@pytest.mark.parametrize("model_type", sorted(LEARNED | KNOWN & set(TYPES) - LACKS_A_BASE))
def test_no_frequencies_that_are_read_are_those_of_the_weights(model_type):
    """What of a type's tables is in its weights; ESM's `inv_freq` is the one that the file says."""
    learned = set()
    config = default_of(model_type)
    for module in modules_of(model_of(CONFIG_MAPPING[model_type])):
        for name, found in rotations_in(module).items():
            for rotary in found.rotaries if name in ("", type(config).__name__) else ():
                if hasattr(rotary, "compute_default_rope_parameters"):
                    learned |= rotary(config).state_dict().keys() - {"inv_freq"}
    assert learned == ({"alpha"} if model_type in LEARNED else set())


def test_a_file_whose_model_learned_its_frequencies_is_refused():
    for model_type in ("mistral_large4_text", "mistral_large4"):
        config = CONFIG_MAPPING[model_type]()
        with pytest.raises(ValueError, match=r"multiplied by exp\(alpha\), which is learned"):
            RopeConfig.from_hf(config.to_dict())


@pytest.mark.parametrize("name", ["wav2vec2-bert", "wav2vec2-conformer"])
def test_models_of_speech_that_rotate_before_the_projection_are_refused(name):
    """Queries and keys are not turned: scores do not follow the distance."""
    small = dict(hidden_size=16, num_attention_heads=1, position_embeddings_type="rotary")
    config = CONFIG_MAPPING[name](**small)
    stem = name.replace("-", "_")
    module = __import__(f"transformers.models.{stem}.modeling_{stem}", fromlist=["x"])
    attention = next(
        cls(config)
        for cls in vars(module).values()
        if inspect.isclass(cls) and hasattr(cls, "_apply_rotary_embedding")
    )
    projected = []
    attention.linear_q.register_forward_pre_hook(lambda _, given: projected.append(given[0]))
    x, angles = torch.randn(1, 5, 16), torch.rand(5, 8)
    cos, sin = (torch.cat([f(angles)] * 2, -1) for f in (torch.cos, torch.sin))
    attention(x, relative_position_embeddings=torch.stack([cos, sin])[:, :, None, None, :])
    half = x * cos + torch.cat([-x[..., 8:], x[..., :8]], -1) * sin
    torch.testing.assert_close(projected[0], half)
    with pytest.raises(ValueError, match="the input of W_q and W_k, not queries and keys"):
        RopeConfig.from_hf(config.to_dict())


@pytest.mark.filterwarnings("ignore")
def test_no_default_configuration_is_refused_without_a_reason():
    """What from_hf says of every type's default: it is read, or the reason is one of these."""
    reasons = (
        "does not rotate",
        "does not seem to rotate",
        "may rotate: read one of them",
        "is not supported: ",
        "rotates only where it is",
        "rope_scaling and rope_parameters are missing",
        "must be a multiple of num_attention_heads",  # defaults that fit no model
    )
    read, others = 0, {}
    for model_type in TYPES:
        if (config := default_of(model_type)) is None:
            continue
        try:
            for kind in layer_types(config.to_dict()):
                RopeConfig.from_hf(config.to_dict(), kind)
            read += 1
        except (TypeError, ValueError) as error:
            if not any(reason in str(error) for reason in reasons):
                others[model_type] = str(error)
    assert others == {} and read > 250


@pytest.mark.parametrize("model_type", ["timm_backbone", "timm_wrapper"])
def test_of_a_model_of_timm_nothing_is_said(model_type):
    """One of them is PerceptionLM's, which rotates."""
    with pytest.raises(ValueError, match="it wraps a model of timm, whose own code decides"):
        RopeConfig.from_hf({"model_type": model_type, "architecture": "vit_pe_core_large_patch14"})
    from transformers import PerceptionLMConfig

    tower = PerceptionLMConfig.sub_configs_defaults["vision_config"]
    assert tower.model_type == "timm_wrapper"
