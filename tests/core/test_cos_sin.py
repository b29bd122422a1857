"""The tables: exact, whatever the positions are given as."""

import math

import mpmath
import numpy as np
import pytest
import torch
from torch.autograd import gradcheck
from vectors import both_ways, randn, tables

from ropelib import RotaryEmbedding, apply_rotary, cos_sin, inv_freq, rotation
from ropelib.rotation import LONG


def test_tables_are_exact_at_position_one_million():
    positions = [1_000_000, 999_999, -1_000_000, 131_071, 1, 0]
    for dtype, bound in ((torch.float32, 3e-7), (torch.float64, 1e-9)):
        cos, sin = tables(positions, rotary_dim=128, dtype=dtype)
        assert cos.dtype == sin.dtype == dtype and cos.shape == sin.shape == (6, 64)
        with mpmath.workdps(40):
            for s, position in enumerate(positions):
                for i in range(64):
                    angle = position * mpmath.mpf(10_000) ** (mpmath.mpf(-i) / 64)
                    assert abs(cos[s, i].item() - mpmath.cos(angle)) <= bound
                    assert abs(sin[s, i].item() - mpmath.sin(angle)) <= bound


def test_angles_in_float32_would_miss_that_bound():
    angles = torch.tensor([1e6]) * inv_freq(128).float()
    assert (angles.cos() - tables([1_000_000], 128)[0]).abs().max() > 1e-3


def test_float32_frequencies_err_in_proportion_to_the_position():
    def error(position):
        coarse, _ = cos_sin([position], inv_freq(128).float(), dtype=torch.float64)
        return (coarse - tables([position], 128)[0]).abs().max()

    assert error(1_000) < 1e-4
    assert error(100_000) > 1e-4


def test_every_form_of_positions_gives_the_same_tables():
    expected = torch.stack(tables(torch.tensor([3, 4, 5])))
    for ids in ([3, 4, 5], range(3, 6), (3.0, 4.0, 5.0), np.arange(3, 6), torch.arange(3.0, 6.0)):
        assert torch.equal(torch.stack(tables(ids)), expected)
    assert torch.equal(torch.stack(tables([[3, 4, 5]])), expected.unsqueeze(1))
    assert not torch.equal(torch.stack(tables([3, 4, 6])), expected)


def test_lists_of_floats_keep_their_float64_value():
    cos, _ = tables([100_000.1])
    assert cos[0, 0].item() == math.cos(100_000.1)


def test_attention_factor_multiplies_both_tables():
    plain, scaled = tables(dtype=torch.float64), tables(attention_factor=1.25)
    for a, b in zip(plain, scaled, strict=True):
        assert torch.equal(a * 1.25, b)


@both_ways
def test_no_positions_give_empty_tables():
    cos, sin = tables([])
    assert cos.shape == sin.shape == (0, 4)
    assert apply_rotary(randn(3, 0, 8), cos, sin, layout="interleaved").shape == (3, 0, 8)


def test_gradients_reach_positions_and_frequencies():
    ids, frequencies = randn(3).requires_grad_(), inv_freq(8).requires_grad_()
    assert gradcheck(lambda p, f: cos_sin(p, f, dtype=torch.float64), (ids, frequencies))


def test_positions_up_to_the_last_are_rotated():
    last = 2**53 - 1
    for ids in ([last], [-last], [float(last)], np.array([last], dtype=np.uint64)):
        exact = math.cos(float(last))
        assert tables(ids)[0][0, 0].item() == pytest.approx(exact, abs=1e-12)
    for ids in (torch.tensor([2.0**24 - 1]), torch.tensor([2**31 - 1], dtype=torch.int32)):
        assert tables(ids)[0][0, 0].item() == pytest.approx(math.cos(ids.item()), abs=1e-12)


@pytest.mark.parametrize(
    "position_ids",
    [
        np.arange(5)[::-1],
        np.arange(1)[::-1],
        np.arange(5, dtype=">i8"),
        np.arange(5, dtype=">f8"),
        np.arange(5, dtype=np.uint16),
        np.arange(5, dtype=np.uint32),
        np.arange(5, dtype=np.uint64),
        np.arange(5, dtype=np.longdouble),
        np.arange(10).reshape(5, 2).T,
        np.broadcast_to(np.arange(3), (2, 3)),
    ],
    ids=lambda ids: f"{ids.dtype.str} {ids.shape} {ids.strides}",
)
def test_arrays_of_any_kind_are_read_as_they_are(position_ids):
    for ours, expected in zip(tables(position_ids), tables(position_ids.tolist()), strict=True):
        assert torch.equal(ours, expected)


def test_positions_are_looked_at_in_vmap_no_more_than_they_can_be():
    rows = torch.tensor([[0, 1, 2], [5, 6, 9]])
    for ids in (rows, rows.double()):
        ours = torch.vmap(lambda ids: torch.stack(tables(ids)))(ids)
        assert torch.equal(ours, torch.stack([torch.stack(tables(row)) for row in ids]))


@pytest.mark.parametrize("start", [0, 5, 100_000, -5_000, -(2**20) - 3, 2**30])
def test_a_long_range_is_exact_to_half_a_step_of_float32(start):
    length, factor, frequencies = rotation.LONG + 700, 1.25, inv_freq(20, base=5e5)
    ids = torch.arange(start, start + length)
    exact = ids.numpy().astype(np.longdouble)[:, None] * frequencies.numpy().astype(np.longdouble)
    expected = np.cos(exact), np.sin(exact)
    # Half a step of float32 below 2, and an angle of float64 that is rounded twice.
    within = 2.0**-24 * factor + (abs(exact) + 8) * 2.0**-51
    for given in (ids, range(start, start + length), ids.to(torch.int32)):
        ours = cos_sin(given, frequencies, attention_factor=factor)
        for table, right in zip(ours, expected, strict=True):
            assert table.dtype == torch.float32 and table.shape == (length, 10)
            assert (abs(table.numpy() - factor * right) <= within).all()
    if start in (0, -5_000):
        assert ours[0][-start].eq(factor).all() and ours[1][-start].eq(0).all()


def test_only_positions_that_follow_one_another_are_a_range():
    ids = torch.arange(rotation.LONG + 100)
    for swapped in (ids.flip(0), ids * 2, ids.where(ids != 77, 5), ids.where(ids != 0, 1)):
        expected = tables(swapped, 10)
        for table, right in zip(tables(swapped, 10, torch.float32), expected, strict=True):
            assert torch.equal(table, right.float())


def test_a_long_range_keeps_derivatives_of_the_frequencies():
    frequencies, ids = inv_freq(4).requires_grad_(), torch.arange(rotation.LONG)
    cos, sin = cos_sin(ids, frequencies)
    (ours,) = torch.autograd.grad(cos.sum() + sin.sum(), frequencies)
    angles = ids.unsqueeze(-1) * frequencies.detach()
    expected = (ids.unsqueeze(-1) * (angles.cos() - angles.sin())).sum(0)
    torch.testing.assert_close(ours, expected, rtol=1e-6, atol=1e-2)
    _, slope = torch.func.jvp(lambda f: cos_sin(ids, f)[1].sum(), (inv_freq(4),), (inv_freq(4),))
    assert slope != 0


@pytest.mark.parametrize("default", [torch.bfloat16, torch.float64])
def test_the_default_dtype_is_not_asked(default):
    before = torch.get_default_dtype()
    ids, q = range(-3, LONG), torch.randn(1, 1, 1, 8)
    expected = cos_sin(ids, inv_freq(8))
    rotary = RotaryEmbedding(8, layout="half")
    turned = apply_rotary(q, *cos_sin([LONG - 1], inv_freq(8)), layout="half")
    try:
        torch.set_default_dtype(default)
        for ours, exact in zip(cos_sin(ids, inv_freq(8)), expected, strict=True):
            assert ours.dtype == torch.float32 and torch.equal(ours, exact)
        torch.testing.assert_close(rotary(q, q, offset=LONG - 1)[0], turned)
        table = rotary._table
        rotary(q, q, offset=0)
        assert rotary._table is table
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize("length", [5, LONG])
def test_no_frequencies_have_empty_tables(length):
    for table in cos_sin(range(length), torch.empty(0)):
        assert table.shape == (length, 0)
