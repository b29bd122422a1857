"""RoPE with every scaling in `attend`: the installed transformers, the oracle, the module."""

import dataclasses
import importlib

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from ropelib import RopeConfig, RotaryEmbedding, frequencies, reference
from ropelib.attention import attend
from ropelib.config.keys import METHODS
from ropelib.encodings import Rotary

HEADS, KEY_HEADS, HEAD_DIM, SEQ_LEN = 4, 2, 16, 12
TRAINED = 6  # tokens: half of a text lies beyond
# HunYuan's files must have a factor, which nothing reads.
pytestmark = pytest.mark.filterwarnings("ignore:the rope part.'factor'. has no effect")
every_layout = pytest.mark.parametrize("layout", ["interleaved", "half"])


def parameters(rope_type, **others):
    return {"rope_parameters": {"rope_type": rope_type, "rope_theta": 10_000.0, **others}}


LONG = {
    "short_factor": [1.0, 1.0, 1.1, 1.3, 1.6, 2.0, 2.5, 3.0],
    "long_factor": [1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 9.0],
    "original_max_position_embeddings": TRAINED,
}
# name: what transformers builds its rotation from; a name begins with the rope type
MODELS = {
    "default": ("llama", parameters("default")),
    "default, partial": ("phi3", parameters("default", partial_rotary_factor=0.5)),
    "linear": ("llama", parameters("linear", factor=4.0)),
    "dynamic": ("llama", parameters("dynamic", factor=4.0)),
    "yarn": (
        "llama",
        parameters("yarn", factor=4.0, original_max_position_embeddings=TRAINED),
    ),
    "llama3": (
        "llama",
        parameters(
            "llama3",
            factor=8.0,
            low_freq_factor=1.0,
            high_freq_factor=4.0,
            original_max_position_embeddings=TRAINED,
        ),
    ),
    "longrope": (
        "phi3",
        {**parameters("longrope", **LONG), "original_max_position_embeddings": TRAINED},
    ),
    "proportional": ("llama", parameters("proportional", partial_rotary_factor=0.5)),
    "ntk_alpha": ("hunyuan_v1_dense", parameters("dynamic", factor=1.0, alpha=50.0)),
}
every_model = pytest.mark.parametrize("name", MODELS)


def randn(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def qkv(dtype=torch.float64, q_len=SEQ_LEN):
    return (
        randn(2, HEADS, SEQ_LEN, HEAD_DIM, dtype=dtype)[..., SEQ_LEN - q_len :, :],
        randn(2, KEY_HEADS, SEQ_LEN, HEAD_DIM, seed=1, dtype=dtype),
        randn(2, KEY_HEADS, SEQ_LEN, HEAD_DIM, seed=2, dtype=dtype),
    )


def settings(name):
    transformers = pytest.importorskip("transformers")
    model_type, given = MODELS[name]
    return transformers.AutoConfig.for_model(
        model_type,
        hidden_size=HEADS * HEAD_DIM,
        head_dim=HEAD_DIM,
        num_attention_heads=HEADS,
        num_key_value_heads=KEY_HEADS,
        max_position_embeddings=TRAINED if "dynamic" in str(given) else 2 * SEQ_LEN,
        pad_token_id=0,
        **given,
    )


def config_of(name):
    return RopeConfig.from_hf(settings(name).to_dict())


def theirs(name, q, k, v, position_ids):
    """Rotate and attend with the installed transformers."""
    config = settings(name)
    model_type = config.model_type
    module = importlib.import_module(f"transformers.models.{model_type}.modeling_{model_type}")
    kind = next(x for x in dir(module) if x.endswith("RotaryEmbedding"))
    cos, sin = getattr(module, kind)(config)(v, position_ids[None])
    q, k = module.apply_rotary_pos_emb(q, k, cos, sin)
    mask = torch.full((SEQ_LEN, SEQ_LEN), -torch.inf).triu(1)
    layer = torch.nn.Module()
    layer.num_key_value_groups, layer.training = HEADS // KEY_HEADS, False
    output, weights = module.eager_attention_forward(
        layer, q, k, v, mask[None, None], scaling=HEAD_DIM**-0.5
    )
    return output.transpose(1, 2), weights


def by_the_oracle(config, q, k, v, q_ids, k_ids):
    """Rotate by matrices, entry by entry, with the frequencies of the length; torch attends."""
    seq_len = int(max(q_ids.max(), k_ids.max())) + 1
    inv_freq, factor = config.inv_freq(seq_len), config.attention_factor(seq_len)
    turned = []
    for x, ids in ((q, q_ids), (k, k_ids)):
        y = reference.rotate(x, ids, inv_freq, layout=config.layout)
        y[..., : config.rotary_dim] *= factor
        turned.append(y)
    scale = config.softmax_factor / config.head_dim**0.5
    return scaled_dot_product_attention(*turned, v, enable_gqa=True, scale=scale)


def test_every_method_of_the_library_is_among_the_models():
    assert {config_of(name).rope_type for name in MODELS} == set(METHODS)


@every_model
@pytest.mark.parametrize("start", [0, 300])
def test_scores_and_outputs_are_those_of_transformers(name, start):
    q, k, v = qkv(torch.float32)
    position_ids = torch.arange(start, start + SEQ_LEN)
    expected = theirs(name, q, k, v, position_ids)
    encoding = Rotary.from_config(config_of(name))
    got = attend(encoding, q, k, v, key_position_ids=position_ids, causal=True)
    for a, b in zip(got, expected, strict=True):
        # transformers rounds angles to float32: 3e-5 rad at position 300.
        torch.testing.assert_close(a, b, rtol=0, atol=1e-4)
    if config_of(name).rope_type != "default":
        plain = Rotary(HEAD_DIM, layout="half")
        other, _ = attend(plain, q, k, v, key_position_ids=position_ids, causal=True)
        assert (other - expected[0]).abs().max() > 1e-2


@every_model
@every_layout
def test_outputs_are_those_of_the_oracle(name, layout):
    config, (q, k, v) = dataclasses.replace(config_of(name), layout=layout), qkv()
    ids = torch.arange(SEQ_LEN) + 3
    expected = by_the_oracle(config, q, k, v, ids, ids)
    output, _ = attend(Rotary.from_config(config), q, k, v, key_position_ids=ids)
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-10)


@every_model
def test_queries_and_keys_have_the_frequencies_of_one_length(name):
    """One new query, or queries and keys that reach differently far, as across two texts."""
    config = config_of(name)
    encoding, (_, k, v) = Rotary.from_config(config), qkv()
    for q_ids, k_ids in (
        (torch.tensor([SEQ_LEN - 1]), torch.arange(SEQ_LEN)),
        (torch.tensor([2]), torch.arange(SEQ_LEN)),
        (torch.tensor([40]), torch.arange(SEQ_LEN) - 9),
    ):
        q = qkv(q_len=1)[0]
        expected = by_the_oracle(config, q, k, v, q_ids, k_ids)
        output, _ = attend(encoding, q, k, v, position_ids=q_ids, key_position_ids=k_ids)
        torch.testing.assert_close(output, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["dynamic", "longrope"])
def test_a_longer_text_has_other_frequencies(name):
    config, (q, k, v) = config_of(name), qkv()
    short = [x[..., :TRAINED, :] for x in (q, k, v)]
    at_once = attend(Rotary.from_config(config), q, k, v, causal=True)[0]
    within = attend(Rotary.from_config(config), *short, causal=True)[0]
    assert (at_once[..., :TRAINED, :] - within).abs().max() > 1e-3
    ids = torch.arange(TRAINED)
    causal = torch.ones(TRAINED, TRAINED, dtype=torch.bool).tril()
    turned = RotaryEmbedding.from_config(config)(*short[:2], ids)
    expected = scaled_dot_product_attention(*turned, short[2], attn_mask=causal, enable_gqa=True)
    torch.testing.assert_close(within, expected)


@pytest.mark.parametrize("name", ["dynamic", "longrope"])
def test_a_text_before_position_0_and_an_empty_one_have_the_shortest_length(name):
    config, (q, k, v) = config_of(name), qkv()
    encoding = Rotary.from_config(config)
    before = torch.arange(SEQ_LEN) - 2 * SEQ_LEN
    turned = RotaryEmbedding.from_config(config)(q, k, before, seq_len=1)
    expected = scaled_dot_product_attention(*turned, v, enable_gqa=True)
    output, _ = attend(encoding, q, k, v, key_position_ids=before)
    torch.testing.assert_close(output, expected)
    empty = [x[..., :0, :] for x in (q, k, v)]
    assert attend(encoding, *empty)[0].shape == (2, HEADS, 0, HEAD_DIM)


def test_deepseeks_softmax_factor_is_on_the_scale():
    transformers = pytest.importorskip("transformers")
    from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek

    given = parameters(
        "yarn",
        factor=40.0,
        original_max_position_embeddings=TRAINED,
        mscale=1.0,
        mscale_all_dim=1.0,
    )
    config = transformers.DeepseekV3Config(qk_rope_head_dim=HEAD_DIM, **given)
    encoding = Rotary.from_config(RopeConfig.from_hf(config.to_dict()))
    layer = deepseek.DeepseekV3Attention(config, 0)
    assert encoding.scale(layer.qk_head_dim) == pytest.approx(layer.scaling)
    assert encoding.scale(layer.qk_head_dim) > 1.5 * Rotary(HEAD_DIM).scale(layer.qk_head_dim)

    q, k, v = (x[:, :KEY_HEADS] for x in qkv(torch.float32))
    ids = torch.arange(SEQ_LEN)[None]
    cos, sin = deepseek.DeepseekV3RotaryEmbedding(config)(v, ids)
    turned = deepseek.apply_rotary_pos_emb_interleave(q, k, cos, sin)
    scale = layer.scaling * (layer.qk_head_dim / HEAD_DIM) ** 0.5  # of this part of a head alone
    expected = scaled_dot_product_attention(*turned, v, scale=scale)
    torch.testing.assert_close(attend(encoding, q, k, v)[0], expected, rtol=0, atol=1e-4)


@every_layout
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"base": 500.0},
        {"rotary_dim": 4},
        {"rotary_dim": 4, "base": 500.0},
        {"inv_freq": torch.tensor([0.5, 0.1, 0.0]).double()},
        {"attention_factor": 1.3},
    ],
)
def test_it_takes_what_the_module_takes_and_turns_as_it_does(options, layout):
    encoding = Rotary(HEAD_DIM, layout=layout, **options)
    module = RotaryEmbedding(HEAD_DIM, layout=layout, **options)
    q, k, v = qkv()
    for where in ({}, {"key_position_ids": torch.arange(SEQ_LEN) * 7 - 5}):
        turned = module(q, k, where.get("key_position_ids", torch.arange(SEQ_LEN)))
        expected = scaled_dot_product_attention(*turned, v, enable_gqa=True)
        torch.testing.assert_close(attend(encoding, q, k, v, **where)[0], expected)
    if options:
        plain, _ = attend(Rotary(HEAD_DIM, layout=layout), q, k, v)
        assert (attend(encoding, q, k, v)[0] - plain).abs().max() > 1e-2


def test_a_ready_module_is_shared():
    module = RotaryEmbedding(HEAD_DIM, rotary_dim=6, base=70.0, layout="half")
    encoding, (q, k, v) = Rotary.from_module(module), qkv()
    assert encoding.rotary is module
    expected = scaled_dot_product_attention(*module(q, k), v, enable_gqa=True)
    torch.testing.assert_close(attend(encoding, q, k, v)[0], expected)


def test_a_mapping_is_read_as_its_configuration():
    mapping = settings("yarn").to_dict()
    read, given = (Rotary.from_config(c) for c in (mapping, RopeConfig.from_hf(mapping)))
    assert torch.equal(read.rotary.inv_freq, given.rotary.inv_freq)
    assert read.rotary.attention_factor == given.rotary.attention_factor > 1


@pytest.mark.parametrize("shape", [(SEQ_LEN,), (HEADS, SEQ_LEN), (2, HEADS, SEQ_LEN)])
def test_heads_and_batch_may_be_missing_where_keys_stand_elsewhere(shape):
    q = randn(*shape, HEAD_DIM)
    k, ids = randn(*shape, HEAD_DIM, seed=1), torch.arange(SEQ_LEN)
    encoding, module = Rotary(HEAD_DIM), RotaryEmbedding(HEAD_DIM, layout="interleaved")
    turned = encoding.rotate(q, k, ids + 4, ids)
    torch.testing.assert_close(turned[0], module(q, q, ids + 4)[0])
    torch.testing.assert_close(turned[1], module(k, k, ids)[1])


def test_each_row_of_a_batch_may_stand_elsewhere():
    q, k, _ = qkv()
    rows = torch.stack((torch.arange(SEQ_LEN), 3 * torch.arange(SEQ_LEN) - 5))
    encoding, module = Rotary(HEAD_DIM), RotaryEmbedding(HEAD_DIM, layout="interleaved")
    turned = encoding.rotate(q, k, rows + 4, rows)
    torch.testing.assert_close(turned[0], module(q, q, rows + 4)[0])
    torch.testing.assert_close(turned[1], module(k, k, rows)[1])


@pytest.mark.parametrize("other", [0, 1])
def test_gradients_flow_to_queries_and_keys(other):
    q, k, v = (x.requires_grad_() for x in qkv())
    config = config_of("longrope")
    ids = torch.arange(SEQ_LEN)
    where = {"position_ids": ids + other, "key_position_ids": ids}

    def output(q, k):
        return attend(Rotary.from_config(config), q, k, v[:1], **where)[0]

    assert torch.autograd.gradcheck(output, (q[:1], k[:1]), fast_mode=True)


def test_frequencies_have_one_home_and_no_state():
    encoding = Rotary(HEAD_DIM, base=500.0)
    expected = frequencies.inv_freq(HEAD_DIM, 500.0)
    assert torch.equal(encoding.inv_freq, expected)
    assert torch.equal(encoding.to(torch.bfloat16).rotary.inv_freq, expected)
    assert not encoding.state_dict()


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: Rotary(7), ValueError, "must be even.*got 7"),
        (lambda: Rotary(8.0), TypeError, "head_dim must be an integer, got 8.0"),
        (lambda: Rotary(True), TypeError, "head_dim must be an integer, got True"),
        (lambda: Rotary(8, layout="x"), ValueError, "got 'x'"),
        (lambda: Rotary(8, rotary_dim=10), ValueError, "at most head_dim, got 10"),
        (lambda: Rotary(8, base=-1.0), ValueError, "base must be positive.*got -1"),
        (
            lambda: Rotary(8, base=7.0, inv_freq=torch.ones(4)),
            ValueError,
            "base or inv_freq, not both",
        ),
        (
            lambda: Rotary.from_module(torch.nn.Identity()),
            TypeError,
            "rotary must be a RotaryEmbedding, got Identity",
        ),
        (
            lambda: Rotary.from_config("config.json"),
            TypeError,
            "config must be a RopeConfig or a mapping, got 'config.json'",
        ),
        (lambda: Rotary.from_config({"model_type": "llama"}), ValueError, "head_dim"),
        (
            lambda: attend(Rotary(8), *(torch.zeros(2, 6),) * 3),
            ValueError,
            "q must have head_dim 8, got shape",
        ),
    ],
)
def test_bad_input_is_refused_by_name_and_rule(call, error, match):
    with pytest.raises(error, match=match):
        call()
