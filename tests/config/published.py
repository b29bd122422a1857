"""What tests of configurations share: published ones, and what transformers makes of one."""

import copy
import warnings

import pytest
import torch
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.utils import logging

from ropebook.census.modeling import model_of, modules_of, rotations_in
from ropelib.config import model_types
from ropelib.config.gallery import GALLERY

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
    """The class that makes the tables of a configuration, and the module that it stands in."""
    others = []
    for module in modules_of(model_of(type(config))):
        for name, found in rotations_in(module).items():
            for member in found.rotaries:
                if not hasattr(member, "compute_default_rope_parameters"):
                    continue
                if name == type(config).__name__:
                    return member, module
                if "Vision" not in member.__name__:
                    others.append((member, module))
    if not others:
        raise LookupError(type(config).__name__)
    return others[0]


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
