"""`RotaryEmbedding` in use: decoding, padding, packing."""

import numpy as np
import pytest
import torch
import torch._inductor.config
from vectors import assert_close, assert_equal, every_layout, growing, randn32

from ropelib import RotaryEmbedding, embedding, inv_freq, reference
from ropelib.attention import attend
from ropelib.encodings import NoPosition


@every_layout
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("rotary_dim", [8, 6])
def test_a_step_of_decoding_equals_the_oracle(layout, dtype, rotary_dim):
    rotary = RotaryEmbedding(8, rotary_dim=rotary_dim, layout=layout)
    q, k = randn32(2, 6, 1, 8, dtype=dtype), randn32(2, 2, 1, 8, seed=1, dtype=dtype)
    atol = {torch.float64: 1e-12, torch.float32: 1e-6, torch.bfloat16: 2e-2}[dtype]
    for position in (0, 1, 5, 4, 300, 100_000):
        each_row = {"position_ids": [[position], [position]]}
        for ids in ({"offset": position}, {"position_ids": [position]}, each_row):
            rotated = rotary(q, k, **ids)
            for x, ours in zip((q, k), rotated, strict=True):
                exact = reference.rotate(x, [position], inv_freq(rotary_dim), layout=layout)
                assert ours.shape == x.shape and ours.dtype == dtype
                torch.testing.assert_close(ours.double(), exact, rtol=0, atol=atol)


@every_layout
@pytest.mark.parametrize("shape", [(1, 8), (3, 1, 8), (2, 3, 1, 8), (2, 2, 3, 1, 8)])
def test_a_step_of_any_rank_equals_the_oracle(layout, shape):
    q = randn32(*shape)
    for rotated in RotaryEmbedding(8, layout=layout)(q, q, offset=7):
        exact = reference.rotate(q, [7], inv_freq(8), layout=layout)
        torch.testing.assert_close(rotated.double(), exact, rtol=0, atol=1e-6)


@pytest.mark.parametrize("shape", [(2, 2, 1, 5, 8), (2, 1, 5, 8), (1, 5, 8), (5, 1, 8)])
def test_a_sequence_is_not_taken_for_a_step(shape):
    rotary, q = RotaryEmbedding(8, layout="half"), randn32(*shape)
    positions = range(7, 7 + shape[-2])
    for ids in ({"offset": 7}, {"position_ids": positions}):
        for rotated in rotary(q, q, **ids):
            exact = reference.rotate(q, positions, inv_freq(8), layout="half")
            torch.testing.assert_close(rotated.double(), exact, rtol=0, atol=1e-6)
    shorter = q[..., :1, :]
    if shape[-2] > 1:
        for both in ((q, shorter), (shorter, q)):
            with pytest.raises(ValueError, match="has seq_len 1, cos and sin 5"):
                rotary(*both, range(5))
            with pytest.raises(ValueError, match="has seq_len 5, cos and sin 1"):
                rotary(*both, [7])


@every_layout
def test_tokens_one_by_one_equal_the_sequence_at_once(layout):
    rotary = RotaryEmbedding(8, layout=layout)
    q, k = randn32(2, 4, 40, 8), randn32(2, 2, 40, 8, seed=1)
    whole = rotary(q, k)
    for s in range(40):
        step = rotary(q[:, :, s : s + 1], k[:, :, s : s + 1], offset=s)
        assert_close(step, (x[:, :, s : s + 1] for x in whole))
    wrong = rotary(q[:, :, 39:], k[:, :, 39:])  # forgets how much is in the cache
    assert (wrong[0] - whole[0][:, :, 39:]).abs().max() > 0.1


def test_a_step_does_not_remember_the_step_before():
    rotary = RotaryEmbedding(8, layout="half")
    q = randn32(1, 2, 1, 8)
    for position in (3, 4, 3, 5):
        rotated, _ = rotary(q, q, offset=position)
        exact = reference.rotate(q, [position], inv_freq(8), layout="half")
        torch.testing.assert_close(rotated.double(), exact, rtol=0, atol=1e-6)
    wide, _ = rotary(q.double(), q.double(), offset=5)
    exact = reference.rotate(q, [5], inv_freq(8), layout="half")
    torch.testing.assert_close(wide, exact, rtol=0, atol=1e-12)


def test_offset_and_position_ids_say_the_same():
    rotary = RotaryEmbedding(8, layout="half")
    q, k = randn32(2, 4, 5, 8), randn32(2, 2, 5, 8, seed=1)
    for offset in (0, 3, 1000, -7, embedding.MAX_ROWS - 2, 10**6, np.int64(9)):
        ids = torch.arange(int(offset), int(offset) + 5)
        assert_equal(rotary(q, k, offset=offset), rotary(q, k, ids))
        assert_equal(rotary(q, k, ids), rotary(q, k, ids.expand(2, 5)))


NUMPY_OFFSETS = [  # each so large that a sum with it, or twice it, wraps around in its own type
    np.uint8(130),
    np.uint8(254),
    np.int8(70),
    np.int8(126),
    np.int16(20_000),
    np.uint16(40_000),
    np.int32(2**31 - 1),
    np.int64(-3),
    np.uint64(7),
]


@pytest.mark.parametrize("seq_len", [1, 5])
@pytest.mark.parametrize("offset", NUMPY_OFFSETS, ids=repr)
def test_an_offset_of_numpy_is_the_same_number(offset, seq_len):
    rotary, q, k = (
        RotaryEmbedding(8, layout="half"),
        randn32(2, 4, 8, 8),
        randn32(2, 2, 8, 8, seed=1),
    )
    q, k = q[:, :, :seq_len], k[:, :, :seq_len]
    expected = RotaryEmbedding(8, layout="half")(q, k, offset=int(offset))
    assert_equal(rotary(q, k, offset=offset), expected)
    assert_equal(rotary(q, k, offset=int(offset)), expected)


def test_other_integers_of_numpy_are_the_same_numbers():
    rotary, q = RotaryEmbedding.from_config(growing()), randn32(2, 5, 4, 8)
    asked = rotary(q, q, offset=3, seq_len=np.uint8(200), seq_dim=np.uint8(1))
    assert_equal(asked, rotary(q, q, offset=3, seq_len=200, seq_dim=1))
    small = RotaryEmbedding(np.uint8(200), rotary_dim=np.int8(100), layout="half")
    assert torch.equal(small.inv_freq, inv_freq(100))
    assert repr(small) == repr(RotaryEmbedding(200, rotary_dim=100, layout="half"))


@every_layout
def test_one_row_of_positions_serves_any_batch(layout):
    rotary = RotaryEmbedding(8, layout=layout)
    ids = torch.tensor([[4, 9, 2, 2, 0]])
    for shape in ((5, 8), (3, 5, 8), (2, 3, 5, 8), (2, 2, 3, 5, 8)):
        q = randn32(*shape)
        assert_equal(rotary(q, q, ids), rotary(q, q, ids[0]))
        assert_equal(rotary(q, q, ids.tolist()), rotary(q, q, ids[0]))


def rotated(rotary, q, k, v, position_ids=None, **kwargs):
    return attend(NoPosition(), *rotary(q, k, position_ids), v, causal=True, **kwargs)[0]


@every_layout
def test_left_padding_changes_nothing_where_positions_skip_it(layout):
    rotary = RotaryEmbedding(8, layout=layout)
    lengths, longest = (3, 6), 6
    q, k, v = randn32(2, 4, 6, 8), randn32(2, 2, 6, 8, seed=1), randn32(2, 2, 6, 8, seed=2)
    is_token = torch.tensor([[longest - n <= s for s in range(longest)] for n in lengths])
    ids = (is_token.long().cumsum(-1) - 1).clamp(min=0)
    # Causal attention sees no positions but relative ones, so keys that were written elsewhere
    # show the difference: the cache of each row holds one token at position 0.
    past_k, past_v = randn32(2, 2, 1, 8, seed=3), randn32(2, 2, 1, 8, seed=4)

    def padded(position_ids):
        turned_q, turned_k = rotary(q, k, position_ids)
        keys, values = torch.cat((past_k, turned_k), 2), torch.cat((past_v, v), 2)
        sees = torch.cat((torch.ones(2, 1, dtype=torch.bool), is_token), 1)[:, None, None]
        return attend(NoPosition(), turned_q, keys, values, causal=True, mask=sees)[0]

    for row, length in enumerate(lengths):
        alone = [x[row : row + 1, :, -length:] for x in (q, k, v)]
        turned_q, turned_k = rotary(*alone[:2], offset=1)
        keys = torch.cat((past_k[row : row + 1], turned_k), 2)
        values = torch.cat((past_v[row : row + 1], alone[2]), 2)
        expected, _ = attend(NoPosition(), turned_q, keys, values, causal=True)
        assert_close(padded(ids + 1)[row : row + 1, :, -length:], expected)
        # As if padding were text: right for the row that has none, wrong for the other.
        difference = padded(torch.arange(1, 7))[row : row + 1, :, -length:] - expected
        assert (difference.abs().max() > 0.01) == (length != longest)


@every_layout
def test_packed_sequences_equal_separate_ones(layout):
    rotary = RotaryEmbedding(8, layout=layout)
    lengths = [3, 5, 1, 4]
    q, k, v = randn32(1, 4, 13, 8), randn32(1, 2, 13, 8, seed=1), randn32(1, 2, 13, 8, seed=2)
    owner = torch.repeat_interleave(torch.arange(4), torch.tensor(lengths))
    ids = torch.cat([torch.arange(n) for n in lengths])
    same = owner[:, None] == owner
    packed = rotated(rotary, q, k, v, ids[None], mask=same)
    parts = zip(*(x.split(lengths, dim=2) for x in (q, k, v)), strict=True)
    separate = torch.cat([rotated(rotary, *part) for part in parts], dim=2)
    assert_close(packed, separate)
    turned, expected = rotary(q, k, ids[None])[1], [rotary(x, x)[0] for x in k.split(lengths, 2)]
    assert_close(turned, torch.cat(expected, dim=2))
    assert (turned - rotary(q, k)[1]).abs().max() > 0.1
    assert (rotated(rotary, q, k, v, ids[None]) - separate).abs().max() > 0.1  # all see all


@every_layout
def test_steps_have_the_right_derivatives(layout):
    rotary, x = RotaryEmbedding(8, rotary_dim=6, layout=layout), randn32(1, 2, 1, 8).double()

    def step(x):
        return rotary(x, 2 * x, offset=9)

    leaf = x.clone().requires_grad_()
    assert torch.autograd.gradcheck(step, leaf, check_forward_ad=True)
    primal, tangent = torch.func.jvp(step, (x,), (x,))
    assert_close(primal, tangent, atol=1e-12)  # a rotation is linear
    assert_close(torch.vmap(step, in_dims=1, out_dims=1)(x), step(x), atol=1e-12)
