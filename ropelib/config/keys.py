"""What a config.json may say about rotation: every key with its rule, as data.

`reader.py` reads a configuration by this table, and so does `config_inspector/reader.js`,
which gets it as JSON. Neither knows a bound, a spelling or a model type by itself.
"""

import inspect
from typing import Any

from ropelib import scaling
from ropelib.config import model_types

# Beyond these a configuration is a mistake, and reading it would cost memory and time.
MOST = {
    "characters": 1_000_000,
    "nesting": 100,
    "kinds_of_layers": 16,
    "number": 1e15,
    "dimensions": 4096,
    "layers": 10_000,
}
SMALLEST = 1e-15

# What a value may be. "least" and "most" are allowed themselves, "above" is not.
RULES: dict[str, dict[str, Any]] = {
    "text": {"of": "text"},
    "boolean": {"of": "boolean"},
    "mapping": {"of": "mapping"},
    "any": {"of": "any"},
    "number": {"of": "number"},
    "positive": {"of": "number", "above": 0},
    "at_least_one": {"of": "number", "least": 1},
    "not_negative": {"of": "number", "least": 0},
    "share": {"of": "number", "above": 0, "most": 1},
    "count": {"of": "integer", "least": 1},
    "count_or_zero": {"of": "integer", "least": 0},
    "switch": {"of": "integer", "least": 0, "most": 1},
    "dimensions": {"of": "integer", "least": 1, "most": MOST["dimensions"]},
    "layers": {"of": "integer", "least": 1, "most": MOST["layers"]},
    "positives": {"of": "list", "each": "positive"},
    "bases": {"of": "list", "each": "not_negative"},
    "switches": {"of": "list", "each": "switch"},
    "indices": {"of": "list", "each": "count_or_zero"},
    "names": {"of": "list", "each": "text"},
    "pattern": {"of": "pattern", "shape": f"[LG]{{1,{MOST['layers']}}}"},  # or a count
}

# Every key that is read beside the rope part. All that are there are checked, in this order.
KEYS = {
    "model_type": "text",
    "alibi": "boolean",
    "position_embedding_type": "text",
    "position_embeddings_type": "text",
    "use_mem_rope": "boolean",
    "rope_scaling": "mapping",
    "rope_parameters": "mapping",
    "rope_theta": "positive",
    "rotary_emb_base": "positive",
    "rotary_embedding_base": "positive",
    "global_rope_theta": "positive",
    "rope_local_base_freq": "positive",
    "local_rope_theta": "positive",
    "rope_ratio": "positive",
    "layer_rope_theta": "bases",
    "head_dim": "dimensions",
    "kv_channels": "dimensions",
    "global_head_dim": "dimensions",
    "qk_rope_head_dim": "dimensions",
    "qk_nope_head_dim": "count_or_zero",
    "per_layer_config": "mapping",
    "hidden_size": "count",
    "n_embd": "count",
    "d_model": "count",
    "num_attention_heads": "count",
    "n_head": "count",
    "n_heads": "count",
    "encoder_num_attention_heads": "count",
    "decoder_num_attention_heads": "count",
    "rotary_dim": "dimensions",
    "partial_rotary_factor": "share",
    "rotary_pct": "share",
    "rope_pct": "share",
    "max_position_embeddings": "count",
    "n_positions": "count",
    "seq_length": "count",
    "original_max_position_embeddings": "count",
    "rope_interleave": "boolean",
    "num_hidden_layers": "layers",
    "n_layer": "layers",
    "n_layers": "layers",
    "num_layers": "layers",
    "layer_types": "names",
    "layers_block_type": "names",
    "block_types": "names",
    "attn_layer_indices": "indices",
    "no_rope_layers": "switches",
    "no_rope_layer_interval": "count",
    "cross_attention_layers": "indices",
    "global_attn_every_n_layers": "count",
    "sliding_window_pattern": "pattern",
    "_sliding_window_pattern": "pattern",
    "sliding_window": "any",
    "mlp_layer_types": "any",
    "first_k_dense_replace": "any",
    "prefix_dense_sliding_window_pattern": "any",
    "original_rope": "any",
}

# Of those that are "any" above: what `layers.py` asks where it reads them, for a few types alone.
DENSE = {
    "mlp_layer_types": "names",
    "first_k_dense_replace": "count_or_zero",
    "prefix_dense_sliding_window_pattern": "count",
}

# Where neither a file nor its model type says.
DEFAULTS = {
    "rope_theta": 10_000.0,
    "rope_ratio": 1,
    "no_rope_layer_interval": 4,
    "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38],
    "global_attn_every_n_layers": 3,
    "first_k_dense_replace": 0,
    "prefix_dense_sliding_window_pattern": 1,
}

SHARE = "partial_rotary_factor"

# One size under several names, which must agree where more than one stands.
SPELLINGS = {
    "hidden_size": ["hidden_size", "n_embd", "d_model"],
    "num_attention_heads": [
        *("num_attention_heads", "n_head", "n_heads"),
        *("encoder_num_attention_heads", "decoder_num_attention_heads"),
    ],
    "num_hidden_layers": ["num_hidden_layers", "n_layer", "n_layers", "num_layers"],
    "max_position_embeddings": ["max_position_embeddings", "n_positions", "seq_length"],
    "head_dim": ["head_dim", "kv_channels"],
    "share": ["partial_rotary_factor", "rotary_pct", "rope_pct"],
    "base": ["rope_theta", "rotary_emb_base", "rotary_embedding_base"],
    "layer_types": ["layer_types", "layers_block_type"],
    "sliding_window_pattern": ["sliding_window_pattern", "_sliding_window_pattern"],
}

# Keys that are about rotation but read for some model types only; elsewhere they get a warning.
READ_BY = {
    "no_rope_layers": sorted(model_types.HAS_NO_ROPE_LAYERS),
    "rope_interleave": sorted(model_types.HAS_INTERLEAVE_FLAG),
    "rope_ratio": ["chatglm"],
    "use_mem_rope": ["zamba2"],
}

# A key with such a word in its name says something about rotation; if nobody reads it, that is
# said. Outside a text part these keys must repeat what stands within.
ABOUT_ROTATION = "rope|rotary|yarn|ntk|alibi"

TEXT_PARTS = ["text_config", "language_config", "llm_config"]
PARTS_OF_THE_TEXT = ["attn_config"]  # what it says of rotation counts as if it stood outside
NOT_ROTATING = ["position_embedding_type", "position_embeddings_type"]  # unless one of these
ROTATING_EMBEDDINGS = ["rotary", "rope"]
WITHOUT_ATTENTION = ["linear_attention", "conv", "mamba", "recurrent"]  # of layer_types

# The rope part: what computes each type, what it must and may have besides COMMON, and the rule of
# each key.
METHODS = {
    "default": scaling.default,
    "linear": scaling.linear,
    "dynamic": scaling.dynamic_ntk,
    "yarn": scaling.yarn,
    "longrope": scaling.longrope,
    "llama3": scaling.llama3,
    "proportional": scaling.proportional,
    "ntk_alpha": scaling.ntk_alpha,
}
COMMON = {"rope_type": "text", "rope_theta": "positive", "partial_rotary_factor": "share"}
_STRETCH = {"factor": "at_least_one"}
_LENGTH = {"original_max_position_embeddings": "count"}
ROPE_TYPES: dict[str, dict[str, dict[str, str]]] = {
    "default": {"required": {}, "optional": {}},
    "linear": {"required": _STRETCH, "optional": {}},
    "dynamic": {"required": _STRETCH, "optional": {}},
    "yarn": {
        "required": _STRETCH | _LENGTH,
        "optional": {
            "attention_factor": "positive",
            "beta_fast": "positive",
            "beta_slow": "positive",
            "mscale": "positive",
            "mscale_all_dim": "positive",
            "truncate": "boolean",
        },
    },
    "longrope": {
        "required": {"short_factor": "positives", "long_factor": "positives"} | _LENGTH,
        "optional": {"factor": "positive", "attention_factor": "positive"},
    },
    "llama3": {
        "required": _STRETCH
        | {"low_freq_factor": "positive", "high_freq_factor": "positive"}
        | _LENGTH,
        "optional": {},
    },
    "proportional": {"required": {}, "optional": _STRETCH},
    "ntk_alpha": {"required": {"alpha": "at_least_one"}, "optional": {}},
}
ALIASES = {"su": "longrope", "mrope": "default"}
UNSUPPORTED_TYPES = {"axial": "it rotates by two coordinates"}
RATIO_OF_LENGTHS = ["yarn", "longrope"]  # where a missing factor is the ratio of the lengths
NOT_OF_THE_TABLES = {
    "finetuned": "says how the model was trained",
    "llama_4_scaling_beta": "scales queries by position, beside the rotation",
    "max_position_embeddings": "repeats what stands outside",
    "mrope_interleaved": "is about images; text rotates as without it",
    "mrope_section": "is about images; text rotates as without it",
}

# Keys that some engines read and others pass over.
READ_ELSEWHERE = {
    "attn_factor": "vLLM multiplies YaRN's own factor by it, and transformers does not read it: "
    "write the product, or that factor alone, as 'attention_factor'",
}

# What a text leaves to its model type.
MODEL_TYPES = {
    "interleaved": sorted(model_types.INTERLEAVED),
    "half": sorted(model_types.HALF),
    "unsupported": model_types.UNSUPPORTED,
    "without_rotation": sorted(model_types.WITHOUT_ROTATION),
    "text_types": model_types.TEXT_TYPES,
    "needs": {name: list(need) for name, need in model_types.NEEDS.items()},
    "scaled_by_default": sorted(model_types.SCALED_BY_DEFAULT),
    "bases": model_types.BASES,
    "two_bases": {name: list(bases) for name, bases in model_types.TWO_BASES.items()},
    "shares": model_types.PARTIAL_ROTARY_FACTORS,
    "rotary_dims": model_types.ROTARY_DIMS,
    "ignores_rotary_dim": sorted(model_types.IGNORES_ROTARY_DIM),
    "head_dims": model_types.HEAD_DIMS,
    "global_head_dims": model_types.GLOBAL_HEAD_DIMS,
    "hybrids": sorted(model_types.HYBRIDS),
    "names_attention": sorted(model_types.NAMES_ATTENTION),
    "sliding_only": sorted(model_types.ROTATES_SLIDING_ONLY),
    "sliding_only_always": ["cohere2", "cohere2_moe", "flint"],  # of those, window or not
    "dense_first": sorted(model_types.ROTATES_DENSE),
    "crossing": ["mllama_text_model"],  # some of its layers look at an image, and do not rotate
    "counted_back": sorted(model_types.COUNTED_BACK),
    "patterns": model_types.SLIDING_WINDOW_PATTERNS,
    "softmax": sorted(model_types.SCALES_SOFTMAX),
    "one_base_scaled": ["olmo3"],  # only its global layers are
    "half_a_head": ["chatglm"],
    "double_heads": ["zamba2"],  # its attention reads two streams beside each other
    "alternating": ["modernbert", "modernbert-decoder"],  # a global layer first, then every n-th
}


def rules_of(rope_type: str) -> dict[str, str]:
    """Return the rule of every key that a rope type reads.

    Args:
        rope_type: a key of `ROPE_TYPES`.

    Returns:
        Rules by key.
    """
    return COMMON | ROPE_TYPES[rope_type]["required"] | ROPE_TYPES[rope_type]["optional"]


def table() -> dict[str, Any]:
    """Return the whole table as JSON has it, for a reader in another language.

    It has one thing more: what an option is where a file does not give it, which Python finds in
    the functions of `ropelib.scaling`.

    Returns:
        Of dict, list, str, number, bool and None.
    """
    defaults = {
        name: {
            option: parameter.default
            for option, parameter in inspect.signature(method).parameters.items()
            if option in rules_of(name) and parameter.default is not parameter.empty
        }
        for name, method in METHODS.items()
    }
    return {
        "most": MOST,
        "smallest": SMALLEST,
        "rules": RULES,
        "keys": KEYS,
        "dense": DENSE,
        "defaults": DEFAULTS,
        "spellings": SPELLINGS,
        "read_by": READ_BY,
        "about_rotation": ABOUT_ROTATION,
        "text_parts": TEXT_PARTS,
        "parts_of_the_text": PARTS_OF_THE_TEXT,
        "not_rotating": NOT_ROTATING,
        "rotating_embeddings": ROTATING_EMBEDDINGS,
        "without_attention": WITHOUT_ATTENTION,
        "common": COMMON,
        "rope_types": {
            name: {**part, "defaults": defaults[name]} for name, part in ROPE_TYPES.items()
        },
        "aliases": ALIASES,
        "unsupported_types": UNSUPPORTED_TYPES,
        "ratio_of_lengths": RATIO_OF_LENGTHS,
        "not_of_the_tables": NOT_OF_THE_TABLES,
        "read_elsewhere": READ_ELSEWHERE,
        "model_types": MODEL_TYPES,
    }
