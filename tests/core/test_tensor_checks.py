"""What tensors may be: every rule, and how its breach is told."""

import math
import re
import reprlib

import numpy as np
import pytest
import torch
from vectors import every_layout, randn, tables

from ropelib import RotaryEmbedding, apply_rotary, convert_layout, cos_sin, inv_freq


@pytest.mark.parametrize(
    ("position_ids", "error", "message"),
    [
        (torch.tensor([True, False]), TypeError, "must be integer or real, got torch.bool"),
        ([True, False], TypeError, "must be integer or real, got torch.bool"),
        (torch.tensor([1j]), TypeError, "must be integer or real, got torch.complex64"),
        (torch.arange(5).bfloat16(), TypeError, "got torch.bfloat16, .*897 distinct places"),
        (np.arange(5, dtype=np.float16), TypeError, "got torch.float16, .*cannot tell positions"),
        (torch.tensor([0.0, math.nan]), ValueError, "position_ids must be finite, got .*nan"),
        ([0.0, math.inf], ValueError, "position_ids must be finite, got .*inf"),
        (3, ValueError, r"must be \(seq_len,\) or \(batch, seq_len\), got shape \(\)"),
        (torch.zeros(1, 1, 1), ValueError, r"or \(batch, seq_len\), got shape \(1, 1, 1\)"),
        (None, TypeError, "must be integer or real, .*, got None"),
        ("abc", TypeError, "must be integer or real, .*, got 'abc'"),
        ([1, "a"], TypeError, r"must be integer or real, .*, got \[1, 'a'\]"),
        ({"a": 1}, TypeError, "must be integer or real, .*, got {'a': 1}"),
        ([2**64], TypeError, r"in at most 64 bits, got \[18446744073709551616\]"),
        ([[0, 1], [2]], ValueError, r"got rows of different lengths: \[\[0, 1\], \[2\]\]"),
        ([2**53], ValueError, r"must be less than 9.007e\+15 in size.*, got 9007199254740992"),
        ([0, -(2**53) - 1], ValueError, "in size, where float64 knows their angles"),
        ([-(2**63)], ValueError, "got 9223372036854775808"),
        ([2**63], ValueError, "got 9.22"),
        ([1e16], ValueError, r"in size, where float64 knows their angles, got 1e\+16"),
        (np.array([2**64 - 1], dtype=np.uint64), ValueError, "got 1.8"),
        (torch.tensor([2.0**24]), ValueError, r"float32 must be less than 2\*\*24.*got 16777216;"),
        (torch.tensor([[0.0], [-(2.0**25)]]), ValueError, "float32 skips whole numbers"),
        (np.array([2**24 + 1], dtype=np.float32), ValueError, "give integers or float64"),
    ],
)
def test_wrong_positions_are_refused(position_ids, error, message):
    with pytest.raises(error, match=message):
        cos_sin(position_ids, inv_freq(8))
    if position_ids is not None:  # what the module takes to mean "one after the other"
        with pytest.raises(error, match=message):
            RotaryEmbedding(8, layout="half")(randn(2, 8), randn(2, 8), position_ids)


def test_bfloat16_positions_are_as_few_as_the_error_says():
    assert len(torch.arange(8192).bfloat16().unique()) == 897


@pytest.mark.parametrize(
    ("frequencies", "error", "message"),
    [
        (
            inv_freq(8).bfloat16(),
            TypeError,
            "inv_freq must be float64 or float32, got torch.bfloat",
        ),
        (torch.arange(4), TypeError, "inv_freq must be float64 or float32, got torch.int64"),
        (inv_freq(8)[None], ValueError, r"must be \(num_pairs,\), got shape \(1, 4\)"),
        (inv_freq(8) * math.nan, ValueError, "inv_freq must be finite, got .*nan"),
        (inv_freq(8) * math.inf, ValueError, "inv_freq must be finite, got .*inf"),
        (inv_freq(8) * 1e300, ValueError, r"must be less than 2\*\*53 rad/token.*, got 1e\+300"),
        (-inv_freq(8) * 2**53, ValueError, r"must be less than 2\*\*53 rad/token"),
        ([1.0], TypeError, r"inv_freq must be a tensor, got \[1.0\]"),
        (None, TypeError, "inv_freq must be a tensor, got None"),
    ],
)
def test_wrong_frequencies_are_refused(frequencies, error, message):
    with pytest.raises(error, match=message):
        cos_sin([0], frequencies)


def test_angles_that_float64_does_not_know_are_refused():
    fast = inv_freq(8) * 2**20
    rotary, q = RotaryEmbedding(8, inv_freq=fast, layout="half"), randn(1, 8)
    cos_sin([2**32], fast), rotary(q, q, [2**32]), rotary(q, q, offset=2**32)
    for call in (
        lambda: cos_sin([2**33], fast),
        lambda: rotary(q, q, [2**33]),
        lambda: rotary(q, q, offset=2**33),
    ):
        with pytest.raises(
            ValueError, match=r"8.59e\+09 in size, where float64 knows their angles"
        ):
            call()


def test_tables_of_low_precision_are_refused():
    for dtype in (torch.bfloat16, torch.float16, torch.int64):
        with pytest.raises(TypeError, match=f"dtype must be torch.float32 or .*, got {dtype}"):
            tables(dtype=dtype)
        with pytest.raises(TypeError, match=f"cos and sin must be float32 or float64, got {dtype}"):
            apply_rotary(randn(5, 8), *(t.to(dtype) for t in tables()), layout="half")


@pytest.mark.parametrize("factor", [0.0, -1.0, math.nan, math.inf])
def test_wrong_attention_factor_is_refused(factor):
    with pytest.raises(ValueError, match=f"must be positive and finite, got {factor}"):
        tables(attention_factor=factor)


@pytest.mark.parametrize("factor", [1e40, 1e-40])
def test_attention_factor_beyond_float32_is_refused(factor):
    message = f"attention_factor must be between .* and .*, .* got {re.escape(str(factor))}"
    with pytest.raises(ValueError, match=message):
        tables(attention_factor=factor)
    with pytest.raises(ValueError, match=message):
        RotaryEmbedding(8, attention_factor=factor, layout="half")


@pytest.mark.parametrize("factor", ["a", None, True, 1j, [1.0]])
def test_attention_factor_must_be_a_number(factor):
    message = f"attention_factor must be a real number, got {re.escape(repr(factor))}"
    with pytest.raises(TypeError, match=message):
        tables(attention_factor=factor)
    with pytest.raises(TypeError, match=message):
        RotaryEmbedding(8, attention_factor=factor, layout="half")


@pytest.mark.parametrize(
    "dtype", [torch.int64, torch.bool, torch.complex64, torch.float8_e4m3fn, torch.float8_e5m2]
)
def test_x_must_be_floating(dtype):
    rotary = RotaryEmbedding(8, layout="half")
    for seq_len in (1, 5):
        x = torch.ones(2, 3, seq_len, 8).to(dtype)
        with pytest.raises(TypeError, match=f"x must be bfloat16, .* or float64, got {dtype}"):
            apply_rotary(x, *tables(range(seq_len)), layout="half")
        for ids in (None, range(seq_len)):
            with pytest.raises(TypeError, match=f"x must be bfloat16, .*, got {dtype}"):
                rotary(x, x, ids)


@pytest.mark.parametrize("wrong", [None, [1.0, 2.0], 3, np.ones((5, 8))])
def test_tensors_must_be_tensors(wrong):
    x, (cos, sin), rotary = randn(5, 8), tables(), RotaryEmbedding(8, layout="half")
    got = f"must be a tensor, got {re.escape(reprlib.repr(wrong))}"
    for name, call in {
        "x": lambda: apply_rotary(wrong, cos, sin, layout="half"),
        "cos": lambda: apply_rotary(x, wrong, sin, layout="half"),
        "sin": lambda: apply_rotary(x, cos, wrong, layout="half"),
        "q": lambda: rotary(wrong, x),
        "k": lambda: rotary(x, wrong),
    }.items():
        with pytest.raises(TypeError, match=f"{name} {got}"):
            call()
    for seq_dim in (-2, 0):
        with pytest.raises(TypeError, match=f"x {got}"):
            apply_rotary(wrong, cos, sin, layout="half", seq_dim=seq_dim)
    with pytest.raises(TypeError, match=f"x {got}"):
        convert_layout(wrong, source="half", target="half")


@pytest.mark.parametrize(
    ("x_shape", "table_shape", "message"),
    [
        ((8,), (5, 4), r"x must be \(..., seq_len, head_dim\), got shape \(8,\)"),
        ((5, 8), (4,), r"or \(batch, seq_len, num_pairs\), got shape \(4,\)"),
        ((5, 8), (1, 1, 5, 4), r"or \(batch, seq_len, num_pairs\), got shape \(1, 1, 5, 4\)"),
        ((5, 6), (5, 4), "at most head_dim, got 8 from cos and sin with head_dim 6"),
        ((5, 6), (5, 0), "rotary_dim must be positive .*, got 0"),
        ((3, 4, 8), (5, 4), r"x of shape \(3, 4, 8\) has seq_len 4, cos and sin 5$"),
        ((5, 8), (1, 4), "has seq_len 5, cos and sin 1$"),
        ((1, 8), (5, 4), "has seq_len 1, cos and sin 5$"),
        (
            (2, 5, 3, 8),
            (5, 4),
            r"is x \(batch, seq_len, num_heads, head_dim\)\? Then pass seq_dim=-3",
        ),
        ((2, 5, 3, 8), (2, 5, 4), r"is x \(batch, seq_len, num_heads, head_dim\)\?"),
        ((2, 3, 5, 8), (1, 5, 4), r"with the same batch, got cos \(1, 5, 4\) and x \(2, 3, 5, 8\)"),
        ((1, 3, 5, 8), (2, 5, 4), "with the same batch"),
        (
            (2, 5, 8),
            (2, 5, 4),
            r"per batch need x of shape \(batch, num_heads, seq_len, head_dim\)",
        ),
        ((1, 2, 3, 5, 8), (1, 5, 4), "per batch need x of shape"),
    ],
)
def test_nothing_broadcasts_silently(x_shape, table_shape, message):
    for out in (None, torch.zeros(x_shape)):
        with pytest.raises(ValueError, match=message):
            args = torch.zeros(x_shape), torch.zeros(table_shape), torch.zeros(table_shape)
            apply_rotary(*args, layout="half", out=out)


def test_cos_and_sin_must_be_alike():
    cos, sin = tables()
    with pytest.raises(ValueError, match=r"same shape and dtype, got \(5, 4\) .* and \(5, 3\)"):
        apply_rotary(randn(5, 8), cos, sin[:, :3], layout="half")
    with pytest.raises(ValueError, match=r"same shape and dtype, got .*float64 and .*float32"):
        apply_rotary(randn(5, 8), cos, sin.float(), layout="half")


def test_devices_must_agree():
    with pytest.raises(ValueError, match="must be on one device, got meta, cpu, cpu"):
        apply_rotary(torch.empty(5, 8, device="meta"), *tables(), layout="half")


def test_unknown_layouts_are_refused():
    for layout in ("neox", "HALF", None):
        message = f'must be "interleaved" or "half", got {layout!r}'
        with pytest.raises(ValueError, match=f"layout {message}"):
            apply_rotary(randn(5, 8), *tables(), layout=layout)
        with pytest.raises(ValueError, match=f"layout {message}"):
            RotaryEmbedding(8, layout=layout)
        with pytest.raises(ValueError, match=f"source {message}"):
            convert_layout(randn(8), source=layout, target="half")
        with pytest.raises(ValueError, match=f"target {message}"):
            convert_layout(randn(8), source="half", target=layout)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (torch.zeros(5, 6), r"out must have the shape of x, got .*\[5, 6\].* for .*\[5, 8\]"),
        (torch.zeros(1, 5, 8), "out must have the shape of x"),
        (torch.zeros(5, 8).double(), "out must have the dtype of x, got .*float64 for .*float32"),
        (torch.zeros(5, 8, device="meta"), "out must have the device of x, got meta for cpu"),
        (torch.zeros(5, 8, requires_grad=True), "no gradient flows through out"),
    ],
)
@every_layout
def test_wrong_out_is_refused(out, message, layout):
    with pytest.raises(ValueError, match=message):
        apply_rotary(randn(5, 8).float(), *tables(), layout=layout, out=out)


@every_layout
def test_out_is_refused_where_a_gradient_would_be_lost(layout):
    x, (cos, sin) = randn(5, 8), tables()
    for wants in (x, cos, sin):
        wants.requires_grad_()
        with pytest.raises(ValueError, match=r"no gradient flows through out; .* torch.no_grad"):
            apply_rotary(x, cos, sin, layout=layout, out=torch.empty(5, 8).double())
        with torch.no_grad():
            apply_rotary(x, cos, sin, layout=layout, out=torch.empty(5, 8).double())
        wants.requires_grad_(False)


@every_layout
def test_out_that_overlaps_x_is_refused(layout):
    memory = randn(6, 8)
    with pytest.raises(ValueError, match="out must be x itself or lie in other memory"):
        apply_rotary(memory[:5], *tables(), layout=layout, out=memory[1:])


@pytest.mark.parametrize(
    ("head_dim", "rotary_dim", "error", "message"),
    [
        (7, None, ValueError, "head_dim must be even where all of it rotates, got 7"),
        (8, 5, ValueError, "rotary_dim must be even, got 5"),
        (8, -2, ValueError, "rotary_dim must be positive, got -2"),
        (8, 10, ValueError, "rotary_dim must be at most head_dim, got 10 with head_dim 8"),
        (8, 4.0, TypeError, "rotary_dim must be an integer, got 4.0"),
    ],
)
def test_wrong_conversion_is_refused(head_dim, rotary_dim, error, message):
    with pytest.raises(error, match=message):
        convert_layout(randn(head_dim), source="half", target="half", rotary_dim=rotary_dim)
