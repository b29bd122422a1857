"""The rope part in all its styles and spellings, against transformers."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from published import GEMMA3, LLAMA, LLAMA3, YARN, llama, their_config, their_tables
from transformers.utils import logging

from ropelib import frequencies, scaling
from ropelib.config import RopeConfig
from ropelib.config.gallery import GALLERY

torch.set_num_threads(1)
logging.set_verbosity_error()


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


def test_a_null_factor_of_yarn_is_the_ratio_of_lengths():
    ours = RopeConfig.from_hf(llama(**YARN | {"factor": None}))
    assert ours.scaling["factor"] == 4.0
    assert any("ratio" in sentence for sentence in ours.assumed)
