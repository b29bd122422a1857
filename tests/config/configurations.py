"""Configurations right and wrong, as texts: what both readers of them are compared on."""

import json
import random
from itertools import combinations, cycle, product

from ropelib.config import keys, model_types
from ropelib.config.gallery import GALLERY

MODEL_TYPES = [
    *sorted(model_types.INTERLEAVED | model_types.HALF),
    *sorted(set(model_types.UNSUPPORTED) - model_types.AXIAL),
    *("pixtral", "qwen2_vl", "t5gemma", "bert", "mine", None),
]
# One of all that are in the same groups of the table: readers tell the others apart by numbers.
OF_A_KIND = list(
    {
        tuple(group for group, of in keys.MODEL_TYPES.items() if name in of): name
        for name in MODEL_TYPES
    }.values()
)
LONG = 10**400
VALUES = [
    *[None, True, False, 0, 1, -1, 2, 3, 7, 64, 64.0, 127, 0.25, 0.5, 1.0, 1.5, -0.0, 500.0, 4096],
    *[1e4, 5e5, 1e15, 1.1e15, 10**18, 1e300, 1e308, 5e-324, 1e-15, LONG, -LONG, 2**53 + 1],
    *[float("nan"), float("inf"), float("-inf")],
    *[
        "",
        "64",
        "L",
        "LLLG",
        "LX",
        "linear",
        "constructor",
        "__proto__",
        "\ud800",
        "\u202e\x1b[31m",
    ],
    *["rope", "rotary", "absolute", "alibi", "nope", "x" * 5000],
    *[[], [0], [1], [1, 0, 1, 1], [1.0, 0.0, 1, 1], [2, 2, 2, 2], ["full_attention"] * 4, [None]],
    *[["sliding_attention", "full_attention"] * 2, ["conv"] * 4, [5e3, 0, 5e3, 5e3], [1.5] * 32],
    *[
        {},
        {"a": 1},
        {"0": {"head_dim": 32}},
        {"1": {"head_dim": 64}, "03": {}},
        {"x": 3},
        [[]],
        {"": {}},
    ],
]
# Values that keep a rule; what a key does is seen with these.
GOOD = {
    "text": ["rotary", "rope"],
    "boolean": [True, False],
    "mapping": [{}, {"0": {"head_dim": 32}, "02": {"head_dim": 32}}, {"1": {"head_dim": 64}}],
    "any": [None, 512, False],
    "positive": [2, 500.0, 5e5],
    "at_least_one": [1, 2.5, 1000],
    "share": [0.25, 0.5, 1, 1.0],
    "dimensions": [64, 32, 128.0, 16],
    "count": [2, 3, 64, 512.0],
    "count_or_zero": [0, 128],
    "layers": [4, 4.0, 8],
    "bases": [[1e4, 0, 1e4, 1e4], [5e3, 5e3, 0.0, 5e3]],
    "indices": [[1, 3], [0.0], []],
    "switches": [[1, 0, 1, 1], [0, 1, 1.0, 0], []],
    "names": [["sliding_attention", "full_attention"] * 2, ["full_attention", "conv"] * 2],
    "positives": [[1.5] * 32, [1 + i for i in range(32)]],
    "pattern": [2, 3.0, "L", "LG", "LLLG"],
}
LIST = [1.0 + i / 50 for i in range(32)]
PARTS = {
    "none": None,
    "empty": {},
    "default": {"rope_type": "default"},
    "linear": {"type": "linear", "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "factor": 2},
    "yarn": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 512},
    "yarn of the ratio": {"type": "yarn", "factor": None, "original_max_position_embeddings": 512},
    "yarn of DeepSeek": {
        **{"type": "yarn", "factor": 40, "original_max_position_embeddings": 512},
        **{"mscale": 0.7, "mscale_all_dim": 1.0, "beta_fast": 32, "beta_slow": 1},
    },
    "yarn with attention": {
        **{"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 512},
        **{"attention_factor": 1.2, "mscale": 1.0, "truncate": False},
    },
    "llama3": {
        **{"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 512},
        **{"low_freq_factor": 1.0, "high_freq_factor": 4.0},
    },
    "longrope": {
        **{"type": "su", "short_factor": LIST, "long_factor": [3 * f for f in LIST]},
        **{"original_max_position_embeddings": 512},
    },
    "proportional": {"rope_type": "proportional", "partial_rotary_factor": 0.25},
    "ntk_alpha": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0, "mscale": 1.0},
    "mrope": {"type": "mrope", "mrope_section": [8, 12, 12]},
    "axial": {"rope_type": "axial"},
    "unknown": {"rope_type": "cubic", "factor": 2.0},
}
INSIDE = [
    *sorted({k for t in keys.ROPE_TYPES for k in keys.rules_of(t)}),
    "type",
    "magic",
    "finetuned",
]


def plain(model_type, part="none", style="old", **changes):
    """A configuration that most models can be read from."""
    config = {
        **{"model_type": model_type, "hidden_size": 512, "num_attention_heads": 8, "head_dim": 64},
        **{"num_hidden_layers": 4, "max_position_embeddings": 4096, "rope_theta": 10_000.0},
    }
    values = PARTS[part]
    kinds = ["sliding_attention", "full_attention"] * 2
    if style == "old":
        config["rope_scaling"] = values
    elif style == "new":
        config["rope_parameters"] = {"rope_theta": config.pop("rope_theta"), **(values or {})}
    elif style == "both":
        config["rope_parameters"] = config["rope_scaling"] = values
    elif style == "nested":
        inner = {"full_attention": values, "sliding_attention": {"rope_theta": 5000.0}}
        config |= {"rope_parameters": inner, "layer_types": kinds}
    elif style == "within":
        config = {"text_config": config | {"rope_scaling": values, "layer_types": kinds}}
    elif style == "bare":  # as much as possible is left to the model type
        for key in ("rope_theta", "head_dim", "max_position_embeddings"):
            del config[key]
        config["rope_scaling"] = values
    elif style == "latent":
        config |= {"rope_scaling": values, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128}
    return config | changes


STYLES = ["old", "new", "both", "nested", "within", "bare", "latent"]


def every_pair():
    """Every model type with every key, and every rope type with every key and value."""
    values, styles, parts = cycle(VALUES), cycle(STYLES), cycle(PARTS)
    for model_type in MODEL_TYPES:
        for part in PARTS:
            yield plain(model_type, part, next(styles))
        yield plain(model_type, style="bare")
    for model_type in OF_A_KIND:
        for key in keys.KEYS:
            for value in (next(values), *GOOD[keys.KEYS[key]]):
                config = plain(model_type, next(parts), next(styles))
                (config.get("text_config", config))[key] = value
                yield config
            without = plain(model_type, next(parts), next(styles))
            without.pop(key, None)
            yield without
    for part, values_ in PARTS.items():
        for key in INSIDE:
            rules = keys.rules_of("default" if part not in keys.ROPE_TYPES else part)
            for value in [*VALUES, *GOOD[rules.get(key, "positive")]]:
                style = "new" if key == "rope_theta" else "old"
                config = plain("llama", part, style)
                name = "rope_parameters" if style == "new" else "rope_scaling"
                config[name] = {**(values_ or {}), **(config[name] or {}), key: value}
                yield config


OWN_WAYS = """bamba chatglm codegen cohere2 dbrx deepseek_v3 esm exaone4 gemma3_text gemma4_text
gpt_oss gptj granite_swa minimax_m3_vl modernbert muse_spark_text olmo3 qwen2_vl
qwen3_next recurrent_gemma smollm3 zamba2 mine""".split()
KEYS_OF_A_FEW = """attn_layer_indices block_types layers_block_type position_embeddings_type
use_mem_rope global_head_dim kv_channels layer_rope_theta local_rope_theta no_rope_layers
per_layer_config rope_interleave rope_ratio rotary_dim sliding_window""".split()


def ways_of_a_few():
    """Model types that read a key as no other does, with such keys, in every style."""
    parts = cycle(["none", "linear", "none", "yarn", "none", "longrope"])
    for model_type in OWN_WAYS:
        for style in STYLES:
            for key in KEYS_OF_A_FEW:
                for value in GOOD[keys.KEYS[key]]:
                    config = plain(model_type, next(parts), style)
                    (config.get("text_config", config))[key] = value
                    yield config


def layers_without_experts():
    """Which layers of Cohere's mixture rotate, by keys that no other type's reader asks."""
    values = {
        "mlp_layer_types": [["dense"], ["dense", "sparse"] * 2, [3] * 4, {}, None],
        "first_k_dense_replace": [0, 1, 2.0, 9, -1, 0.5, True, None],
        "prefix_dense_sliding_window_pattern": [1, 2, 3.0, 0, "1", None],
        "sliding_window_pattern": [2, "LG", None],
        "layer_types": [["sliding_attention", "full_attention"] * 2, None],
        "sliding_window": [None, 512],
    }
    for model_type in ("cohere2_moe", "cohere2", "llama"):
        for (key, some), (other, more) in combinations(values.items(), 2):
            for value, another in product(some, more):
                yield plain(model_type, **{key: value, other: another})


def several_changes(count, seed=20261122):
    """Configurations with several keys changed at once."""
    chance = random.Random(seed)
    for _ in range(count):
        config = plain(chance.choice(MODEL_TYPES), chance.choice([*PARTS]), chance.choice(STYLES))
        text = config.get("text_config", config)
        for _ in range(chance.randint(1, 4)):
            key = chance.choice([*keys.KEYS, *keys.TEXT_PARTS, "rope_magic"])
            where = chance.choice([config, text, text])
            part = text.get("rope_scaling") or text.get("rope_parameters")
            if isinstance(part, dict) and part and chance.random() < 0.4:
                key = chance.choice(INSIDE)
                part = dict(part)
                name = "rope_scaling" if text.get("rope_scaling") else "rope_parameters"
                where = text[name] = part
            if chance.random() < 0.15:
                where.pop(key, None)
            else:
                good = GOOD[keys.KEYS.get(key, "positive")]
                where[key] = chance.choice(good if chance.random() < 0.6 else VALUES)
        yield config


def parts_within():
    """Configurations whose rotation stands in a part of some name, or of the attention."""
    llama = plain("llama", "yarn")
    del llama["rope_scaling"]["original_max_position_embeddings"]
    yield llama
    yield llama | {"max_position_embeddings": None}
    yield llama | {"rope_theta": [1e4, 5e6]}
    for outer in ("mine", "t5gemma", "musicflamingo", "clip_vision_model", None):
        for part in (llama, {"model_type": "qwen2_vl"}, {"model_type": "bert", "rope_theta": 1}):
            for name in ("thinker_config", "text_config", "decoder"):
                yield {"model_type": outer, name: part}
                yield {"model_type": outer, "deep": {"a": {"b": {name: part}}}}
    for model_type in ("dbrx", "llama", "mine", "mpt"):
        for inner in ({"rope_theta": 5e5}, {"alibi": True}, {"rope": 1, "clip": 2}, {}, [], None):
            yield plain(model_type) | {"attn_config": inner, "rope_theta": None}
            yield plain(model_type) | {"attn_config": inner}


def json_and_not():
    """Texts that are no plain JSON object, and some that are but look otherwise."""
    llama = json.dumps(plain("llama"))
    yield from ("", " ", "\ufeff", "{", "}", "[]", "1", "null", '"x"', llama[:-1], llama + "x")
    yield "\ufeff" + llama
    yield "\ufeff\ufeff" + llama
    yield llama[:-1] + ', "rope_theta": 10000.0}'
    yield llama[:-1] + ', "unread": {"a": 1, "a": 1}}'
    yield llama[:-1] + ', "unread": NaN}'
    yield llama[:-1] + ', "unread": ' + "9" * 5000 + "}"
    yield llama[:-1] + ', "rope_ratio": ' + "9" * 5000 + "}"
    yield llama[:-1] + ', "unread": 1e999}'
    yield llama[:-1] + ', "unread": "\ud800"}'
    yield llama[:-1] + ', "unread": "\t"}'
    yield llama[:-1] + ", 'unread': 1}"
    yield llama[:-1] + ', "unread": 01}'
    yield llama[:-1] + ",}"
    for depth in (98, 99, 100, 101, 5000):
        yield llama[:-1] + f', "unread": {"[" * depth}{"]" * depth}}}'
    yield llama[:-1] + ', "unread": "' + "x" * 10**6 + '"}'
    yield llama[:-1] + ', "layer_types": [' + ", ".join(['"a"'] * 10_001) + "]}"
    yield json.dumps(plain("llama") | {"rope_parameters": {str(i): {} for i in range(17)}})


def texts_that_matter():
    """Few enough to be compared every time."""
    for model in GALLERY.values():
        yield json.dumps(model.config)
    for config in ways_of_a_few():
        yield json.dumps(config)
    for config in layers_without_experts():
        yield json.dumps(config)
    for config in parts_within():
        yield json.dumps(config)
    yield from json_and_not()


def other_texts():
    """So many that a part of them must do, unless there is time."""
    for config in every_pair():
        yield json.dumps(config)
    for config in several_changes(6000):
        yield json.dumps(config)
