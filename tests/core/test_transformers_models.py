"""Whole models of the installed transformers: one attention layer, recomputed with ropelib.

A small model with random weights runs; what its second attention layer reads and writes is kept.
The same weights with `RotaryEmbedding` and `attend` must write the same, for a text at once and
token by token with a cache. `RopeConfig` reads the rotation from the model's config.
"""

import dataclasses

import pytest
import torch

from ropelib import RotaryEmbedding
from ropelib.attention import attend
from ropelib.config import RopeConfig
from ropelib.encodings import NoPosition

pytest.importorskip("transformers")

BATCH, LENGTH = 2, 12
# Outputs are of size 1. transformers rounds angles to float32: 3e-5 rad at position 300.
ATOL = 1e-4
OTHER = {"interleaved": "half", "half": "interleaved"}

COMMON = {
    "vocab_size": 50,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 512,
    "initializer_range": 0.2,  # with the usual 0.02 all scores are nearly 0, rotated or not
}
GROUPED = {**COMMON, "intermediate_size": 64, "num_key_value_heads": 2, "pad_token_id": 0}

# name: (settings, rotary_dim, layout)
MODELS = {
    "llama": (GROUPED, 16, "half"),
    "gpt_neox": ({**COMMON, "intermediate_size": 64, "rotary_pct": 0.25}, 4, "half"),
    "gptj": (
        {
            "vocab_size": 50, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 512,
            "rotary_dim": 8, "initializer_range": 0.2,
        },
        8,
        "interleaved",
    ),
    "qwen2": (GROUPED, 16, "half"),
    "phi3": (
        {**GROUPED, "rope_parameters": {
            "rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.5,
        }},
        8,
        "half",
    ),
    "gemma": ({**GROUPED, "head_dim": 32}, 32, "half"),
    "llama with llama3": (
        {**GROUPED, "rope_parameters": {
            "rope_type": "llama3", "rope_theta": 10_000.0, "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 64,
        }},
        16,
        "half",
    ),
    "llama with yarn": (
        {**GROUPED, "rope_parameters": {
            "rope_type": "yarn", "rope_theta": 10_000.0, "factor": 4.0,
            "original_max_position_embeddings": 128,
        }},
        16,
        "half",
    ),
    # Beyond its trained length every step has frequencies of its own, and cached keys keep theirs.
    "llama with dynamic": (
        {**GROUPED, "max_position_embeddings": 6, "rope_parameters": {
            "rope_type": "dynamic", "rope_theta": 10_000.0, "factor": 4.0,
        }},
        16,
        "half",
    ),
}  # fmt: skip
BIASED = ("qwen2", "gpt_neox")
PARTIAL = ("gpt_neox", "gptj", "phi3")
every_model = pytest.mark.parametrize("name", MODELS)


class Layer:
    """An attention layer with the weights of theirs and the rotation of ours."""

    def __init__(self, theirs, rotary, num_heads):
        self.theirs, self.rotary, self.num_heads = theirs, rotary, num_heads
        self.keys = self.values = None

    def project(self, x):
        """Queries, keys and values, `(batch, num_heads, seq_len, head_dim)`."""
        theirs, head_dim = self.theirs, self.rotary.head_dim
        if hasattr(theirs, "q_proj"):
            parts = [theirs.q_proj(x), theirs.k_proj(x), theirs.v_proj(x)]
        elif hasattr(theirs, "qkv_proj"):  # Phi-3: queries, then keys, then values
            packed = theirs.qkv_proj(x)
            queries = self.num_heads * head_dim
            rest = (packed.shape[-1] - queries) // 2
            parts = packed.split((queries, rest, rest), dim=-1)
        else:  # GPT-NeoX: the three of each head side by side
            packed = theirs.query_key_value(x).unflatten(-1, (self.num_heads, 3, head_dim))
            return [part.transpose(1, 2) for part in packed.unbind(-2)]
        return [part.unflatten(-1, (-1, head_dim)).transpose(1, 2) for part in parts]

    def __call__(self, x, mask=None, **where):
        q, k, v = self.project(x)
        q, k = self.rotary(q, k, **where)
        if self.keys is not None:
            k, v = torch.cat((self.keys, k), dim=-2), torch.cat((self.values, v), dim=-2)
        self.keys, self.values = k, v
        output, _ = attend(NoPosition(), q, k, v, causal=True, mask=mask)
        output = output.transpose(1, 2).flatten(-2)
        for name in ("o_proj", "dense", "out_proj"):
            if hasattr(self.theirs, name):
                return getattr(self.theirs, name)(output)


def build(name):
    """Model, its config, its second attention layer, and what that layer reads and writes."""
    from transformers import AutoConfig, AutoModel

    settings, rotary_dim, layout = MODELS[name]
    config = AutoConfig.for_model(name.split()[0], **settings)
    config._attn_implementation = "eager"
    torch.manual_seed(0)
    model = AutoModel.from_config(config).eval()
    if name in BIASED:  # biases are zero at first, and then it would not matter to forget them
        for parameter in model.parameters():
            if parameter.dim() == 1:
                torch.nn.init.normal_(parameter, 1.0, 0.2)
    layers = model.h if hasattr(model, "h") else model.layers
    layer = next(m for n, m in layers[1].named_children() if "attn" in n or n == "attention")
    seen = []

    def keep(module, args, kwargs, output):
        seen.append((kwargs["hidden_states"] if "hidden_states" in kwargs else args[0], output[0]))

    layer.register_forward_hook(keep, with_kwargs=True)
    rope = RopeConfig.from_hf(config.to_dict())
    assert (rope.rotary_dim, rope.layout) == (rotary_dim, layout)
    return model, config, layer, rope, seen


def ours(layer, rope, config, layout=None):
    rope = dataclasses.replace(rope, layout=layout or rope.layout)
    return Layer(layer, RotaryEmbedding.from_config(rope), config.num_attention_heads)


def tokens(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(1, 50, (BATCH, LENGTH), generator=generator)


def assert_close(a, b):
    assert b.abs().max() > 0.5
    torch.testing.assert_close(a, b, rtol=0, atol=ATOL)


@every_model
@pytest.mark.parametrize("start", [0, 300])
@torch.no_grad()
def test_a_layer_reads_a_text_as_theirs_does(name, start):
    model, config, layer, rope, seen = build(name)
    ids = torch.arange(start, start + LENGTH)[None]  # one row for the batch
    model(tokens(), position_ids=ids, use_cache=False)
    [(x, expected)] = seen
    assert_close(ours(layer, rope, config)(x, position_ids=ids), expected)
    assert_close(ours(layer, rope, config)(x, offset=start), expected)
    wrong = ours(layer, rope, config, layout=OTHER[rope.layout])(x, position_ids=ids)
    assert (wrong - expected).abs().max() > 100 * ATOL


@every_model
@pytest.mark.parametrize("start", [0, 300])
@torch.no_grad()
def test_a_layer_decodes_with_a_cache_as_theirs_does(name, start):
    model, config, layer, rope, seen = build(name)
    text, mine, forgetful = tokens(), ours(layer, rope, config), ours(layer, rope, config)
    cache, done, difference = None, 0, 0.0
    for count in (4, *[1] * (LENGTH - 4)):
        ids = torch.arange(start + done, start + done + count)[None]
        step = text[:, done : done + count]
        cache = model(step, position_ids=ids, past_key_values=cache, use_cache=True).past_key_values
        x, expected = seen[-1]
        if done % 2:
            assert_close(mine(x, position_ids=ids.expand(BATCH, count)), expected)
        else:
            assert_close(mine(x, offset=start + done), expected)
        difference = max(difference, (forgetful(x) - expected).abs().max())
        done += count
    assert mine.keys.shape[-2] == LENGTH
    assert difference > 100 * ATOL  # positions that begin anew with every step


@pytest.mark.parametrize("name", ["llama", "gptj", "gpt_neox"])
@torch.no_grad()
def test_a_layer_skips_left_padding_as_theirs_does(name):
    model, config, layer, rope, seen = build(name)
    is_token = torch.ones(BATCH, LENGTH, dtype=torch.long)
    is_token[0, :5] = 0
    ids = (is_token.cumsum(-1) - 1).clamp(min=0)
    model(tokens(), attention_mask=is_token, position_ids=ids, use_cache=False)
    x, expected = seen[-1]
    written = ours(layer, rope, config)(x, mask=is_token.bool()[:, None, None], position_ids=ids)
    assert_close(written[is_token.bool()], expected[is_token.bool()])


@pytest.mark.parametrize("name", PARTIAL)
def test_a_part_of_each_head_rotates(name):
    *_, rope, _ = build(name)
    assert rope.rotary_dim < rope.head_dim
