"""What tests of scaling share: numbers in use, and what transformers computes of any."""

import warnings

import torch
from hypothesis import strategies as st
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.utils import logging

from ropelib import frequencies

torch.set_num_threads(1)
logging.set_verbosity_error()

YARN = {"factor": 8.0, "original_max_seq_len": 4096}


LLAMA3 = {
    "factor": 8.0,
    "original_max_seq_len": 8192,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}


widths = st.sampled_from([4, 20, 64, 128, 256])


bases = st.floats(1e3, 1e8)


factors = st.floats(1, 64)


lengths = st.integers(1024, 262_144)


def theirs(rotary_dim, base, max_seq_len=1_000_000, seq_len=None, **parameters):
    """`inv_freq` and attention factor of the installed transformers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = LlamaConfig(
            head_dim=rotary_dim,
            max_position_embeddings=max_seq_len,
            rope_parameters={"rope_theta": base, **parameters},
        )
        rope_type = parameters["rope_type"]
        if rope_type == "default":
            return LlamaRotaryEmbedding.compute_default_rope_parameters(config)
        return ROPE_INIT_FUNCTIONS[rope_type](config, seq_len=seq_len)


def ratio(scaled, rotary_dim, base=10_000.0):
    return scaled[0] / frequencies.inv_freq(rotary_dim, base)
