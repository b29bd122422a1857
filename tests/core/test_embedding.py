"""`RotaryEmbedding`: against the oracle, its settings, its refusals."""

import copy
import math
import re
from fractions import Fraction

import pytest
import torch
import torch._inductor.config
from vectors import POSITIONS, assert_equal, both_ways, every_layout, growing, randn, randn32

from ropelib import RotaryEmbedding, convert_layout, cos_sin, inv_freq, reference
from ropelib.checks import shown


def test_given_frequencies_and_attention_factor_are_used_once():
    frequencies = inv_freq(6, 500.0) / 4
    rotary = RotaryEmbedding(8, inv_freq=frequencies, attention_factor=1.25, layout="half")
    assert rotary.rotary_dim == 6 and rotary.base is None
    said_twice = RotaryEmbedding(8, inv_freq=frequencies, rotary_dim=6, layout="half")
    assert said_twice.rotary_dim == 6 and torch.equal(said_twice.inv_freq, frequencies)
    q, k, ids = randn32(2, 4, 5, 8), randn32(2, 2, 5, 8, seed=1), torch.tensor([3, 1, 4, 1, 5])
    for x, rotated in zip((q, k), rotary(q, k, ids), strict=True):
        exact = reference.rotate(x, ids, frequencies, layout="half")
        exact[..., :6] *= 1.25
        torch.testing.assert_close(rotated.double(), exact, rtol=0, atol=1e-6)
    step = q[:, :, :1]
    exact = reference.rotate(step, [3], frequencies, layout="half")
    exact[..., :6] *= 1.25
    torch.testing.assert_close(rotary(step, step, offset=3)[0].double(), exact, rtol=0, atol=1e-6)
    assert repr(rotary) == (
        "RotaryEmbedding(8, rotary_dim=6, inv_freq=0.25..0.003969, attention_factor=1.25, "
        "layout='half')"
    )


def test_frequencies_cannot_be_changed_behind_the_table():
    frequencies = inv_freq(8)
    rotary = RotaryEmbedding(8, inv_freq=frequencies, layout="half")
    frequencies.zero_()
    rotary.inv_freq.zero_()
    assert torch.equal(rotary.inv_freq, inv_freq(8))
    with pytest.raises(AttributeError):
        rotary.inv_freq = frequencies


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"inv_freq": [1.0]}, TypeError, r"inv_freq must be a tensor, got \[1.0\]"),
        ({"inv_freq": inv_freq(8).half()}, TypeError, "must be float64 or float32, got .*float16"),
        ({"inv_freq": inv_freq(8)[None]}, ValueError, r"must be \(num_pairs,\), got shape \(1, 4"),
        ({"inv_freq": inv_freq(8) * math.nan}, ValueError, "inv_freq must be finite, got"),
        ({"inv_freq": inv_freq(8)[:0]}, ValueError, "rotary_dim must be positive, got 0"),
        ({"inv_freq": inv_freq(10)}, ValueError, "rotary_dim must be at most head_dim, got 10"),
        ({"inv_freq": inv_freq(8), "base": 5.0}, ValueError, "base or inv_freq, not both, .* 5.0"),
        ({"inv_freq": inv_freq(8), "base": 10_000.0}, ValueError, "not both, got base 10000.0"),
        ({"inv_freq": inv_freq(8), "rotary_dim": 6}, ValueError, "got 6 and 4 frequencies"),
        ({"attention_factor": 0.0}, ValueError, "must be positive and finite, got 0.0"),
        ({"attention_factor": math.inf}, ValueError, "must be positive and finite, got inf"),
        ({"attention_factor": 10**400}, ValueError, "float32 are, got an integer of about 401 dig"),
        ({"base": 10**400, "inv_freq": inv_freq(8)}, ValueError, "got base an integer of about"),
        ({"base": True}, TypeError, "base must be a real number, got True"),
        ({"rotary_dim": True}, TypeError, "rotary_dim must be an integer, got True"),
        ({"layout": "neox"}, ValueError, "layout must be .*, got 'neox'"),
    ],
)
def test_wrong_settings_are_refused(kwargs, error, message):
    with pytest.raises(error, match=message):
        RotaryEmbedding(8, **{"layout": "half", **kwargs})


TOO_LARGE = "must be at most 1048576, got "


@pytest.mark.parametrize("given", [{}, {"rotary_dim": 8}, {"inv_freq": inv_freq(8)}])
@pytest.mark.parametrize(
    ("head_dim", "error", "message"),
    [
        ("64", TypeError, "must be an integer, got '64'"),
        (None, TypeError, "must be an integer, got None"),
        ([64], TypeError, r"must be an integer, got \[64\]"),
        (64.0, TypeError, "must be an integer, got 64.0"),
        (True, TypeError, "must be an integer, got True"),
        (0, ValueError, "must be positive, got 0"),
        (-8, ValueError, "must be positive, got -8"),
        (10**12, ValueError, TOO_LARGE + "1000000000000"),
        (10**400, ValueError, TOO_LARGE + "an integer of about 401 digits"),
    ],
    ids=shown,
)
def test_wrong_head_dim_is_refused_by_its_name(head_dim, given, error, message):
    with pytest.raises(error, match=f"^head_dim {message}"):
        RotaryEmbedding(head_dim, **given, layout="half")


def test_a_fraction_is_an_attention_factor():
    rotary, q = RotaryEmbedding(8, attention_factor=Fraction(3, 2), layout="half"), randn32(2, 5, 8)
    expected = RotaryEmbedding(8, attention_factor=1.5, layout="half")
    assert repr(rotary) == repr(expected)
    for x in (q, q[:, :1]):
        assert_equal(rotary(x, x), expected(x, x))
    ids, frequencies = range(5), inv_freq(8)
    assert_equal(
        cos_sin(ids, frequencies, attention_factor=Fraction(3, 2)),
        cos_sin(ids, frequencies, attention_factor=1.5),
    )
    config = growing()
    config.attention_factor = lambda seq_len=None: Fraction(max(seq_len, 8), 8)
    rotary = RotaryEmbedding.from_config(config)
    config = growing()
    config.attention_factor = lambda seq_len=None: max(seq_len, 8) / 8
    assert_equal(rotary(q, q, offset=7), RotaryEmbedding.from_config(config)(q, q, offset=7))


@pytest.mark.parametrize("name", ["head_dim", "rotary_dim", "base", "attention_factor", "layout"])
def test_settings_cannot_be_changed_behind_the_cache(name):
    rotary, x = RotaryEmbedding(8, layout="half"), randn32(1, 2, 1, 8)
    before, step = getattr(rotary, name), rotary(x, x, offset=3)
    with pytest.raises(AttributeError, match=f"^{name} is read once: .* another RotaryEmbedding"):
        setattr(rotary, name, "interleaved")
    assert getattr(rotary, name) == before
    assert_equal(rotary(x, x, offset=3), step)
    assert getattr(copy.deepcopy(rotary), name) == before


def test_wrong_calls_are_refused():
    rotary = RotaryEmbedding(8, layout="half")
    q, k = randn32(3, 4, 5, 8), randn32(3, 2, 5, 8)
    for ids in ({}, {"offset": 3}, {"position_ids": [3]}):
        with pytest.raises(TypeError, match=r"x must be bfloat16, .* got torch.int64"):
            rotary(q[:, :, :1].long(), k[:, :, :1].long(), **ids)
    for wrong in (1.5, "1", torch.tensor(1), True, False, None):
        with pytest.raises(
            TypeError, match=f"offset must be an integer, got {re.escape(repr(wrong))}"
        ):
            rotary(q, k, offset=wrong)
    for wrong in (1.5, "a", True, torch.tensor(1)):
        for ids in ({}, {"position_ids": range(5)}):
            with pytest.raises(TypeError, match="seq_len must be an integer, got"):
                rotary(q, k, seq_len=wrong, **ids)
    for wrong in (0, -1):
        for ids in ({}, {"position_ids": range(5)}):
            with pytest.raises(ValueError, match=f"seq_len must be positive, got {wrong}"):
                rotary(q, k, seq_len=wrong, **ids)
    for wrong in (2**63, 2**53 - 4, -(2**53), 10**400):
        for x, y in ((q, k), (q[:, :, :1], k[:, :, :1])):
            if wrong != 2**53 - 4 or x is q:
                with pytest.raises(ValueError, match=f"offset must lead .*, got {shown(wrong)}"):
                    rotary(x, y, offset=wrong)
    rotary(q, k, offset=2**53 - 5), rotary(q, k, offset=-(2**53) + 1)  # the last and the first
    with pytest.raises(ValueError, match="position_ids or offset, not both, got offset 2"):
        rotary(q, k, torch.arange(5), offset=2)
    with pytest.raises(ValueError, match=r"\(1, seq_len\) or, .* got \(2, 5\) for q of shape \(3,"):
        rotary(q, k, torch.zeros(2, 5))
    with pytest.raises(ValueError, match=r"got \(2, 5\) for k of shape \(3, 2, 5, 8\)"):
        rotary(randn32(2, 4, 5, 8), k, torch.zeros(2, 5))
    with pytest.raises(ValueError, match=r"got \(3, 5\) for q of shape \(3, 5, 8\)"):
        rotary(randn32(3, 5, 8), randn32(3, 5, 8), torch.zeros(3, 5))
    with pytest.raises(ValueError, match="has seq_len 5, cos and sin 1"):
        rotary(q, k, torch.zeros(3, 1))
    with pytest.raises(ValueError, match="has seq_len 1, cos and sin 5"):
        rotary(q[:, :, :1], k[:, :, :1], torch.zeros(3, 5))
    with pytest.raises(ValueError, match=r"or \(batch, seq_len\), got shape \(1, 1, 5\)"):
        rotary(q, k, torch.zeros(1, 1, 5))


def test_meta_construction_then_use():
    with torch.device("meta"):
        rotary = RotaryEmbedding(8, inv_freq=inv_freq(8), layout="half")
        meta = torch.empty(1, 2, 5, 8)
        assert rotary(meta, meta)[0].is_meta
    q = randn32(1, 2, 5, 8)
    assert_equal(rotary.to_empty(device="cpu")(q, q), RotaryEmbedding(8, layout="half")(q, q))


@every_layout
def test_the_module_takes_the_sequence_at_any_axis(layout):
    rotary = RotaryEmbedding(8, layout=layout)
    for q_len in (1, 5):  # 5 is the number of heads of q
        q, k = randn(2, q_len, 5, 8), randn(2, q_len, 2, 8, seed=1)
        for ids in ({"offset": 7}, {"position_ids": torch.arange(2 * q_len).reshape(2, -1)}):
            expected = rotary(q.transpose(1, 2), k.transpose(1, 2), **ids)
            for seq_dim in (1, -3):
                rotated = rotary(q, k, seq_dim=seq_dim, **ids)
                for ours, x in zip(rotated, expected, strict=True):
                    torch.testing.assert_close(ours, x.transpose(1, 2), rtol=0, atol=1e-12)


# The module


@both_ways
@every_layout
@pytest.mark.parametrize("form", [None, *POSITIONS])
def test_module_rotates_queries_and_keys_as_the_oracle_does(layout, form):
    q, k = randn(2, 6, 5, 10), randn(2, 2, 5, 10, seed=1)
    rotary = RotaryEmbedding(10, rotary_dim=8, base=500.0, layout=layout)
    ids = None if form is None else POSITIONS[form]
    for x, rotated in zip((q, k), rotary(q, k, ids), strict=True):
        positions = range(5) if ids is None else ids
        exact = reference.rotate(x, positions, inv_freq(8, 500.0), layout=layout)
        torch.testing.assert_close(rotated, exact, rtol=0, atol=1e-9)


def test_module_keeps_the_dtype_of_each_input():
    rotary = RotaryEmbedding(8, layout="half")
    q, k = rotary(randn(5, 8, dtype=torch.bfloat16), randn(5, 8))
    assert (q.dtype, k.dtype) == (torch.bfloat16, torch.float64)


@pytest.mark.parametrize("cast", ["bfloat16", "half", "double", "float"])
def test_casting_the_module_does_not_touch_its_frequencies(cast):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), RotaryEmbedding(8, layout="half"))
    rotary = getattr(copy.deepcopy(model), cast)()[1]
    assert rotary.inv_freq.dtype == torch.float64
    assert torch.equal(rotary.inv_freq, inv_freq(8))
    assert not rotary.state_dict() and not list(rotary.buffers())


def test_module_survives_construction_on_the_meta_device():
    with torch.device("meta"):
        rotary = RotaryEmbedding(8, layout="half")
    q = randn(5, 8)
    rotated, _ = rotary.to_empty(device="cpu")(q, q)
    exact = reference.rotate(q, range(5), inv_freq(8), layout="half")
    torch.testing.assert_close(rotated, exact)


def test_module_shows_its_settings():
    assert repr(RotaryEmbedding(8, rotary_dim=4, layout="half")) == (
        "RotaryEmbedding(8, rotary_dim=4, base=10000.0, layout='half')"
    )


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"head_dim": 7}, ValueError, "head_dim must be even where all of it rotates, got 7"),
        ({"head_dim": 8, "rotary_dim": 5}, ValueError, "rotary_dim must be even, got 5"),
        ({"head_dim": 8, "rotary_dim": 0}, ValueError, "rotary_dim must be positive, got 0"),
        ({"head_dim": 8, "rotary_dim": 10}, ValueError, "at most head_dim, got 10 with head_dim 8"),
        ({"head_dim": 8, "rotary_dim": 4.0}, TypeError, "rotary_dim must be an integer, got 4.0"),
        ({"head_dim": 8, "base": 0}, ValueError, "base must be positive and finite, got 0"),
        ({"head_dim": 8, "base": "10000"}, TypeError, "base must be a real number, got '10000'"),
    ],
)
def test_wrong_module_settings_are_refused(kwargs, error, message):
    with pytest.raises(error, match=message):
        RotaryEmbedding(**kwargs, layout="half")


def test_module_refuses_inputs_that_do_not_fit():
    rotary = RotaryEmbedding(8, layout="half")
    with pytest.raises(ValueError, match=r"q must have head_dim 8, got shape \(5, 6\)"):
        rotary(randn(5, 6), randn(5, 8))
    with pytest.raises(ValueError, match=r"k must have head_dim 8, got shape \(5, 10\)"):
        rotary(randn(5, 8), randn(5, 10))
    with pytest.raises(
        ValueError, match="same seq_len where no position_ids are given, got 5 and 4"
    ):
        rotary(randn(5, 8), randn(4, 8))
    with pytest.raises(ValueError, match="has seq_len 5, cos and sin 4"):
        rotary(randn(5, 8), randn(5, 8), range(4))
    with pytest.raises(ValueError, match="has seq_len 4, cos and sin 5"):
        rotary(randn(5, 8), randn(4, 8), range(5))
    for shape in ((8,), ()):
        with pytest.raises(ValueError, match=r"q must have head_dim 8, got shape"):
            rotary(torch.zeros(shape), torch.zeros(shape))
    for ids in (None, range(5)):
        for other in ((3, 2, 5, 8), (2, 5, 8), (1, 2, 2, 5, 8)):
            with pytest.raises(ValueError, match=r"same axes before their heads, got .* and"):
                rotary(randn(2, 4, 5, 8), randn(*other), ids)
        rotary(randn(2, 4, 5, 8), randn(2, 1, 5, 8), ids)
    with pytest.raises(ValueError, match=r"x must be \(..., head_dim\), got shape \(\)"):
        convert_layout(torch.tensor(1.0), source="half", target="half")
