"""Every scaling method against the installed transformers."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from stretches import bases, factors, lengths, theirs, widths
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.hunyuan_v1_dense.configuration_hunyuan_v1_dense import HunYuanDenseV1Config
from transformers.models.hunyuan_v1_dense.modeling_hunyuan_v1_dense import (
    HunYuanDenseV1RotaryEmbedding,
)
from transformers.utils import logging

from ropelib import frequencies, scaling

torch.set_num_threads(1)
logging.set_verbosity_error()


def assert_same(ours, theirs):
    assert ours[0].dtype == torch.float64
    torch.testing.assert_close(ours[0], theirs[0].double(), rtol=1e-6, atol=0)
    assert ours[1] == pytest.approx(theirs[1], abs=1e-7)


def assert_same_but_for_their_ramp(ours, theirs, rotary_dim, base):
    # Their ramp is float32: between its ends it errs by 1e-7 of the unscaled frequency.
    allowed = 1e-6 * ours[0] + 3e-7 * frequencies.inv_freq(rotary_dim, base)
    assert ((ours[0] - theirs[0].double()).abs() <= allowed).all()
    assert ours[1] == pytest.approx(theirs[1], abs=1e-7)


# transformers


def test_all_types_that_transformers_ships_are_here():
    ours = {"linear", "dynamic", "yarn", "longrope", "llama3", "proportional"}
    assert set(ROPE_INIT_FUNCTIONS) == ours


@settings(max_examples=25, deadline=None)
@given(widths, bases)
def test_default_equals_transformers(rotary_dim, base):
    assert_same(scaling.default(rotary_dim, base), theirs(rotary_dim, base, rope_type="default"))


@settings(max_examples=25, deadline=None)
@given(widths, bases, factors)
def test_linear_equals_transformers(rotary_dim, base, factor):
    ours = scaling.linear(rotary_dim, base, factor=factor)
    assert_same(ours, theirs(rotary_dim, base, rope_type="linear", factor=factor))


@settings(max_examples=25, deadline=None)
@given(widths, st.floats(1e3, 1e6), factors, lengths, st.none() | lengths)
def test_dynamic_equals_transformers(rotary_dim, base, factor, max_seq_len, seq_len):
    ours = scaling.dynamic_ntk(
        rotary_dim, base, factor=factor, seq_len=seq_len or max_seq_len, max_seq_len=max_seq_len
    )
    reference = theirs(rotary_dim, base, max_seq_len, seq_len, rope_type="dynamic", factor=factor)
    assert_same(ours, reference)


@settings(max_examples=60, deadline=None)
@given(
    widths,
    bases,
    factors,
    lengths,
    st.floats(8, 64),
    st.floats(0.25, 4),
    st.booleans(),
    st.none() | st.floats(0.5, 2),
    st.none() | st.tuples(st.floats(0.1, 2), st.floats(0.1, 2)),
)
def test_yarn_equals_transformers(
    rotary_dim, base, factor, original, fast, slow, truncate, attention_factor, mscales
):
    if attention_factor is not None:
        mscales = None
    mscale, mscale_all_dim = mscales or (None, None)
    options = dict(
        factor=factor,
        beta_fast=fast,
        beta_slow=slow,
        truncate=truncate,
        attention_factor=attention_factor,
        mscale=mscale,
        mscale_all_dim=mscale_all_dim,
    )
    ours = scaling.yarn(rotary_dim, base, original_max_seq_len=original, **options)
    reference = theirs(
        rotary_dim,
        base,
        rope_type="yarn",
        original_max_position_embeddings=original,
        **{name: value for name, value in options.items() if value is not None},
    )
    assert_same_but_for_their_ramp(ours, reference, rotary_dim, base)


@settings(max_examples=25, deadline=None)
@given(widths, bases, factors, lengths, st.floats(0.1, 2), st.floats(2.5, 16))
def test_llama3_equals_transformers(rotary_dim, base, factor, original, low, high):
    ours = scaling.llama3(
        rotary_dim,
        base,
        factor=factor,
        original_max_seq_len=original,
        low_freq_factor=low,
        high_freq_factor=high,
    )
    reference = theirs(
        rotary_dim,
        base,
        rope_type="llama3",
        factor=factor,
        original_max_position_embeddings=original,
        low_freq_factor=low,
        high_freq_factor=high,
    )
    assert_same_but_for_their_ramp(ours, reference, rotary_dim, base)


def test_llama3_without_a_blend_equals_transformers():
    """As Llama 4 Scout has it: factor 16, and both ends of the blend at one turn in 8192."""
    ends = {"low_freq_factor": 1.0, "high_freq_factor": 1.0}
    ours, _ = scaling.llama3(128, 5e5, factor=16.0, original_max_seq_len=8192, **ends)
    length = {"original_max_position_embeddings": 8192}
    reference, _ = theirs(128, 5e5, rope_type="llama3", factor=16.0, **length, **ends)
    torch.testing.assert_close(ours, reference.double(), rtol=2**-20, atol=0)
    slowed = frequencies.inverse_frequencies(128, 5e5) / ours
    assert {round(by, 9) for by in slowed.tolist()} == {1.0, 16.0}


@settings(max_examples=25, deadline=None)
@given(st.data(), widths, bases, factors, lengths, st.booleans(), st.none() | st.floats(0.5, 2))
def test_longrope_equals_transformers(
    data, rotary_dim, base, factor, original, is_long, attention_factor
):
    numbers = st.lists(st.floats(1, 70), min_size=rotary_dim // 2, max_size=rotary_dim // 2)
    options = dict(short_factor=data.draw(numbers), long_factor=data.draw(numbers), factor=factor)
    if attention_factor is not None:
        options["attention_factor"] = attention_factor
    seq_len = original + is_long
    ours = scaling.longrope(
        rotary_dim, base, original_max_seq_len=original, seq_len=seq_len, **options
    )
    reference = theirs(
        rotary_dim,
        base,
        seq_len=seq_len,
        rope_type="longrope",
        original_max_position_embeddings=original,
        **options,
    )
    assert_same(ours, reference)


@settings(max_examples=25, deadline=None)
@given(widths, bases, st.floats(0, 1), factors)
def test_proportional_equals_transformers(head_dim, base, share, factor):
    ours = scaling.proportional(head_dim, base, partial_rotary_factor=share, factor=factor)
    reference = theirs(
        head_dim,
        base,
        rope_type="proportional",
        partial_rotary_factor=share,
        factor=factor,
    )
    assert_same(ours, reference)


@settings(max_examples=25, deadline=None)
@given(widths, st.floats(1, 1000))
def test_ntk_alpha_equals_transformers(rotary_dim, alpha):
    config = HunYuanDenseV1Config(
        head_dim=rotary_dim, rope_parameters={"rope_theta": 10_000.0, "rope_type": "default"}
    )
    config.rope_parameters["alpha"] = alpha
    reference = HunYuanDenseV1RotaryEmbedding.compute_ntk_alpha_rope_parameters(config)
    assert_same(scaling.ntk_alpha(rotary_dim, alpha=alpha), reference)


def test_theirs_is_float32_and_drifts_where_ours_does_not():
    # The slow pairs of Llama 3.1 at position 131071, against 50 digits.
    import mpmath

    ours, _ = scaling.default(128, 500_000.0)
    reference, _ = theirs(128, 500_000.0, rope_type="default")
    with mpmath.workdps(50):
        exact = [131_071 * mpmath.mpf(500_000) ** (mpmath.mpf(-i) / 64) for i in range(64)]
        our_errors = [
            abs(131_071 * mpmath.mpf(f) - e) for f, e in zip(ours.tolist(), exact, strict=True)
        ]
        their_errors = [
            abs(131_071 * mpmath.mpf(f) - e) for f, e in zip(reference.tolist(), exact, strict=True)
        ]
    assert max(our_errors) < 1e-10
    assert max(their_errors) > 1e-3
