"""`RotaryEmbedding.from_config`: frequencies that depend on the length of the sequence."""

from types import SimpleNamespace

import pytest
import torch
import torch._inductor.config
from vectors import assert_close, growing, randn32

from ropelib import RotaryEmbedding, reference
from ropelib.config import RopeConfig


def rotate_exactly(x, position_ids, config, seq_len):
    exact = reference.rotate(x, position_ids, config.inv_freq(seq_len), layout=config.layout)
    return exact * config.attention_factor(seq_len)


def test_length_decides_the_frequencies_of_each_call():
    config = growing()
    rotary = RotaryEmbedding.from_config(config)
    assert rotary.config is config
    assert repr(rotary) == f"RotaryEmbedding(8, rotary_dim=8, config={config!r}, layout='half')"
    q = randn32(1, 2, 4, 8)
    for start in (0, 20, 3, 4, 5, 0):
        exact = rotate_exactly(q, range(start, start + 4), config, start + 4)
        ids = torch.arange(start, start + 4)
        for rotated in (rotary(q, q, offset=start), rotary(q, q, ids), rotary(q, q, ids[None])):
            torch.testing.assert_close(rotated[0].double(), exact, rtol=0, atol=1e-6)
        step = q[:, :, :1]
        exact = rotate_exactly(step, [start], config, start + 1)
        torch.testing.assert_close(
            rotary(step, step, offset=start)[0].double(), exact, rtol=0, atol=1e-6
        )
    exact = rotate_exactly(q, range(4), config, 100)
    for ids in ({}, {"position_ids": range(4)}):
        torch.testing.assert_close(
            rotary(q, q, seq_len=100, **ids)[0].double(), exact, rtol=0, atol=1e-6
        )
    exact = rotate_exactly(step, [3], config, 100)
    assert (rotary(step, step, offset=3)[0] - exact).abs().max() > 0.01
    rotated, _ = rotary(step, step, offset=3, seq_len=100)
    torch.testing.assert_close(rotated.double(), exact, rtol=0, atol=1e-6)
    assert rotary(q[:, :, :0], q[:, :, :0], [])[0].shape == (1, 2, 0, 8)


def test_cached_keys_keep_the_rotation_of_their_length():
    rotary = RotaryEmbedding.from_config(growing(trained=8))
    fixed = RotaryEmbedding(8, layout="half")
    x = randn32(1, 1, 16, 8)

    def written_one_by_one(rotary):
        steps = [rotary(x[:, :, s : s + 1], x[:, :, s : s + 1], offset=s)[1] for s in range(16)]
        return torch.cat(steps, dim=2)

    assert_close(written_one_by_one(fixed), fixed(x, x)[1])
    stale, at_once = written_one_by_one(rotary), rotary(x, x)[1]
    assert (stale - at_once)[:, :, :15].abs().amax() > 0.1
    assert_close(stale[:, :, 15:], at_once[:, :, 15:])  # only the last was written at this length
    assert_close(stale[:, :, :8], rotary(x[:, :, :8], x[:, :, :8])[1])


@pytest.mark.parametrize(
    "settings",
    [
        {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
         "original_max_position_embeddings": 64},
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64},
        {"rope_type": "dynamic", "factor": 2.0},
        {"rope_type": "longrope", "short_factor": [1.0, 1.5, 2.0, 3.0], "factor": 4.0,
         "long_factor": [2.0, 3.0, 4.0, 8.0], "original_max_position_embeddings": 16},
    ],
    ids=lambda settings: settings["rope_type"],
)  # fmt: skip
def test_module_from_a_model_config_follows_it(settings):
    config = RopeConfig.from_hf(
        {
            "model_type": "llama",
            "hidden_size": 32,
            "num_attention_heads": 4,
            "max_position_embeddings": 64,
            "rope_parameters": {"rope_theta": 10_000.0, **settings},
        }
    )
    rotary = RotaryEmbedding.from_config(config)
    assert (rotary.config is not None) == (settings["rope_type"] in ("dynamic", "longrope"))
    assert config.attention_factor(10) != 1 or settings["rope_type"] in ("llama3", "dynamic")
    q = randn32(1, 2, 4, 8)
    for start in (0, 13, 200):
        exact = rotate_exactly(q, range(start, start + 4), config, start + 4)
        rotated, _ = rotary(q, q, offset=start)
        torch.testing.assert_close(rotated.double(), exact, rtol=0, atol=1e-6)


def test_a_config_without_dependence_on_length_uses_the_table():
    config = growing(trained=2**50)
    rotary = RotaryEmbedding.from_config(config)
    assert rotary.config is None
    rotary(randn32(1, 2, 4, 8), randn32(1, 2, 4, 8))
    assert rotary._table is not None


def test_wrong_config_is_refused():
    with pytest.raises(ValueError, match="layout must be"):
        RotaryEmbedding.from_config(SimpleNamespace(**{**vars(growing()), "layout": "neox"}))
    with pytest.raises(TypeError, match="inv_freq must be a tensor"):
        RotaryEmbedding.from_config(
            SimpleNamespace(**{**vars(growing()), "inv_freq": lambda seq_len: [1.0]})
        )
