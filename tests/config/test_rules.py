"""What a configuration may not be, and how its breach is told."""

import inspect
import json
import math
import warnings

import pytest
import torch
from published import LLAMA, LLAMA3, YARN, llama
from transformers.utils import logging

from ropelib.config import RopeConfig, keys, layer_types, rules
from ropelib.config.gallery import GALLERY

torch.set_num_threads(1)
logging.set_verbosity_error()


def test_unknown_keys_of_the_rope_part_are_refused():
    with pytest.raises(ValueError, match=r"\['atention_factor'\] is unknown; .*'attention_factor'"):
        RopeConfig.from_hf(llama(**YARN | {"atention_factor": 2.0}))
    with pytest.raises(ValueError, match="has 'factor' but no rope_type"):
        RopeConfig.from_hf(llama(factor=8.0))
    with pytest.raises(ValueError, match=r"\['factor'\] is given, but rope_type is \"default\""):
        RopeConfig.from_hf(llama(rope_type="default", factor=8.0))


def test_a_blend_may_have_no_width():
    """As that of Llama 4 Scout, both of whose ends are at one turn."""
    ends = {"low_freq_factor": 1.0, "high_freq_factor": 1.0}
    rope = RopeConfig.from_hf(llama(**LLAMA3 | ends))
    said = rope.describe()["in_words"]
    assert said.endswith("up to 1 turn in 8192 tokens, and not at all from 1 turn on")


def test_a_key_that_another_engine_reads_is_told_with_what_to_write():
    rope = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768}
    config = {"model_type": "qwen3", "head_dim": 128, "rope_theta": 1e6}
    with pytest.raises(ValueError, match=r"'attn_factor'\] is unknown; .*; vLLM multiplies"):
        RopeConfig.from_hf(config | {"rope_scaling": rope | {"attn_factor": 0.878}})


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


def test_a_text_config_must_not_be_contradicted():
    assert RopeConfig.from_hf({"model_type": "llava", "text_config": LLAMA}).base == 500_000
    with pytest.raises(ValueError, match=r"rope_theta is 1.0, but 500000.0 within text_config"):
        RopeConfig.from_hf({"text_config": LLAMA, "rope_theta": 1.0})
    with pytest.raises(TypeError, match="text_config must be a mapping, got 3"):
        RopeConfig.from_hf({"text_config": 3})


BAD = [
    (llama(rope_type="linear"), ValueError, "lacks 'factor', which rope_type 'linear' needs"),
    (
        {**llama(rope_type="yarn", factor=2.0), "max_position_embeddings": None},
        ValueError,
        "lacks 'original_max_position_embeddings'",
    ),
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


def test_a_model_that_says_nothing_of_rotation_is_refused():
    silent = {"model_type": "mine", "hidden_size": 64, "num_attention_heads": 4}
    for config in (silent, silent | {"rope_scaling": None, "use_rope": False}):
        with pytest.raises(ValueError, match=r"no key here is about rotation: .* not seem to rot"):
            RopeConfig.from_hf(config, layout="half")
    with pytest.raises(ValueError, match=r"rope_theta is missing, and no default .* 'mine'"):
        RopeConfig.from_hf(silent | {"partial_rotary_factor": 0.5}, layout="half")


def test_where_the_text_is_within_a_part_of_another_name_it_is_named():
    parts = {"thinker_config": {"text_config": LLAMA}, "talker": {"rope_theta": 1e4}, "x": {}}
    config = {
        "model_type": "mine",
        "vision": {"model_type": "clip_vision_model", "rope_theta": 1},
    } | parts
    with pytest.raises(ValueError, match="no text_config, but 'talker', 'thinker_config' may rot"):
        RopeConfig.from_hf(config)
    deep = here = {}
    for _ in range(300):
        here["a"] = here = {}
    here["rope_theta"] = 1e4
    with pytest.raises(ValueError, match="does not seem to rotate"):
        RopeConfig.from_hf({"model_type": "mine", "part": deep})


def test_a_base_for_each_layer_is_refused_with_the_way_out():
    with pytest.raises(ValueError, match="rope_theta must be one number, got a list of one for"):
        RopeConfig.from_hf(LLAMA | {"rope_theta": [1e4, 5e6]})


def test_what_dbrx_says_within_its_attention_counts():
    dbrx = {"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40}
    ours = RopeConfig.from_hf(dbrx | {"attn_config": {"rope_theta": 500_000, "clip_qkv": 8}})
    assert (ours.head_dim, ours.base, ours.num_layers) == (128, 5e5, 40)
    with pytest.raises(ValueError, match=r"rope_theta is 10000.0, but 500000 within attn_config"):
        RopeConfig.from_hf(dbrx | {"attn_config": {"rope_theta": 500_000}, "rope_theta": 1e4})


@pytest.mark.parametrize("part", ["yarn", "longrope"])
def test_a_missing_original_length_is_the_longest_one(part):
    lists = {"short_factor": [1.0] * 64, "long_factor": [2.0] * 64}
    config = llama(rope_type=part, **({"factor": 4.0} if part == "yarn" else lists))
    ours = RopeConfig.from_hf(config)
    assert ours.original_max_seq_len == LLAMA["max_position_embeddings"]
    assert any("max_position_embeddings stands in for it" in said for said in ours.assumed)
    longest = {"original_max_position_embeddings": LLAMA["max_position_embeddings"]}
    said = RopeConfig.from_hf(LLAMA | {"rope_scaling": config["rope_scaling"] | longest})
    assert torch.equal(ours.inv_freq(), said.inv_freq())


def test_layers_are_those_of_the_blocks():
    """What hybrids list: the kinds, a pattern that repeats, or indices of attention."""
    nested = {"head_dim": 64, "num_hidden_layers": 6, "rope_theta": 1e4}
    for kind, key, value, expected in (
        ("recurrent_gemma", "block_types", ["recurrent", "recurrent", "attention"], (2, 5)),
        ("bamba", "attn_layer_indices", [1, 4], (1, 4)),
        ("falcon_h1", "layers_block_type", ["mamba", "attention"] * 3, (1, 3, 5)),
    ):
        config = nested | {"model_type": kind, key: value}
        assert RopeConfig.from_hf(config).rotating_layers == expected, kind
    muse = RopeConfig.from_hf(nested | {"model_type": "muse_spark_text"})
    assert muse.rotating_layers == (0, 2, 3, 4)


@pytest.mark.parametrize("key", ["head_dim", "num_hidden_layers", "max_position_embeddings"])
def test_whole_numbers_may_be_written_as_floats(key):
    whole = LLAMA | {"head_dim": 128}
    ours = RopeConfig.from_hf(whole | {key: float(whole[key])})
    assert ours == RopeConfig.from_hf(whole)
    assert isinstance(ours.head_dim, int) and isinstance(ours.max_seq_len, int)
    with pytest.raises(TypeError, match=f"{key} must be an integer, got {whole[key] + 0.5}"):
        RopeConfig.from_hf(whole | {key: whole[key] + 0.5})
    assert RopeConfig.from_hf(llama(**LLAMA3 | {"original_max_position_embeddings": 8192.0}))


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


def test_of_keys_that_are_not_read_the_first_are_named_and_the_rest_counted():
    def told(count):
        unread = {f"rope_unknown_{i:05}": 1 for i in range(count)}
        with pytest.warns(UserWarning) as caught:
            RopeConfig.from_hf(LLAMA | unread)
        return [str(warning.message) for warning in caught]

    named = [f"rope_unknown_{i:05} (1) is not read for model_type 'llama'" for i in range(20)]
    assert told(1) == named[:1] and told(20) == named
    assert told(21) == [*named, "1 more keys that seem to be about rotation are not read"]
    assert told(30_000)[20:] == ["29980 more keys that seem to be about rotation are not read"]


@pytest.mark.parametrize("letters", [keys.MOST["layers"], keys.MOST["layers"] + 1])
def test_a_pattern_has_a_letter_for_each_layer_at_most(letters):
    config = LLAMA | {"model_type": "cohere2", "sliding_window_pattern": "L" * letters}
    if letters <= keys.MOST["layers"]:
        assert RopeConfig.from_hf(config).rotating_layers == tuple(range(32))
    else:
        with pytest.raises(ValueError, match="sliding_window_pattern must be of L and G, got 'LLL"):
            RopeConfig.from_hf(config)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1.0], [1.0, 2.0]),
        ([1.0, 2.0], [1.0]),
        ({"a": 1}, {"a": 1, "b": 2}),
        (True, 1),
        ([True], [1]),
    ],
)
def test_lists_and_mappings_are_the_same_only_as_a_whole(first, second):
    assert rules.same(first, first) and rules.same(second, second)
    assert not rules.same(first, second) and not rules.same(second, first)
