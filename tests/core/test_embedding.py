"""`RotaryEmbedding` in use: decoding, padding, packing, its table, compilers, scaling by length."""

import copy
import io
import math
import pickle
import re
import shutil
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch._inductor.config

from ropelib import RotaryEmbedding, cos_sin, inv_freq, reference
from ropelib import rotation as rotation_module
from ropelib.attention import attend
from ropelib.checks import shown
from ropelib.config import RopeConfig
from ropelib.encodings import NoPosition

LAYOUTS = ["interleaved", "half"]
every_layout = pytest.mark.parametrize("layout", LAYOUTS)


def randn(*shape, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def fresh(position_ids, rotary_dim=8, dtype=torch.float32, **kwargs):
    return cos_sin(position_ids, inv_freq(rotary_dim), dtype=dtype, **kwargs)


def tables_of(rotary, start, stop, dtype=torch.float32, device="cpu"):
    return rotary._rows(start, stop, stop, device=torch.device(device), dtype=dtype)


def assert_equal(ours, expected):
    for a, b in zip(ours, expected, strict=True):
        assert torch.equal(a, b)


def close(ours, expected, atol=1e-5):
    """Two paths of the rotation differ by last bits; positions in these tests are small."""
    torch.testing.assert_close(tuple(ours), tuple(expected), rtol=0, atol=atol)


# Positions


@every_layout
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("rotary_dim", [8, 6])
def test_a_step_of_decoding_equals_the_oracle(layout, dtype, rotary_dim):
    rotary = RotaryEmbedding(8, rotary_dim=rotary_dim, layout=layout)
    q, k = randn(2, 6, 1, 8, dtype=dtype), randn(2, 2, 1, 8, seed=1, dtype=dtype)
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
    q = randn(*shape)
    for rotated in RotaryEmbedding(8, layout=layout)(q, q, offset=7):
        exact = reference.rotate(q, [7], inv_freq(8), layout=layout)
        torch.testing.assert_close(rotated.double(), exact, rtol=0, atol=1e-6)


@pytest.mark.parametrize("shape", [(2, 2, 1, 5, 8), (2, 1, 5, 8), (1, 5, 8), (5, 1, 8)])
def test_a_sequence_is_not_taken_for_a_step(shape):
    rotary, q = RotaryEmbedding(8, layout="half"), randn(*shape)
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
    q, k = randn(2, 4, 40, 8), randn(2, 2, 40, 8, seed=1)
    whole = rotary(q, k)
    for s in range(40):
        step = rotary(q[:, :, s : s + 1], k[:, :, s : s + 1], offset=s)
        close(step, (x[:, :, s : s + 1] for x in whole))
    wrong = rotary(q[:, :, 39:], k[:, :, 39:])  # forgets how much is in the cache
    assert (wrong[0] - whole[0][:, :, 39:]).abs().max() > 0.1


def test_a_step_does_not_remember_the_step_before():
    rotary = RotaryEmbedding(8, layout="half")
    q = randn(1, 2, 1, 8)
    for position in (3, 4, 3, 5):
        rotated, _ = rotary(q, q, offset=position)
        exact = reference.rotate(q, [position], inv_freq(8), layout="half")
        torch.testing.assert_close(rotated.double(), exact, rtol=0, atol=1e-6)
    wide, _ = rotary(q.double(), q.double(), offset=5)
    exact = reference.rotate(q, [5], inv_freq(8), layout="half")
    torch.testing.assert_close(wide, exact, rtol=0, atol=1e-12)


def test_offset_and_position_ids_say_the_same():
    rotary = RotaryEmbedding(8, layout="half")
    q, k = randn(2, 4, 5, 8), randn(2, 2, 5, 8, seed=1)
    for offset in (0, 3, 1000, -7, rotation_module._MAX_ROWS - 2, 10**6, np.int64(9)):
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
    rotary, q, k = RotaryEmbedding(8, layout="half"), randn(2, 4, 8, 8), randn(2, 2, 8, 8, seed=1)
    q, k = q[:, :, :seq_len], k[:, :, :seq_len]
    expected = RotaryEmbedding(8, layout="half")(q, k, offset=int(offset))
    assert_equal(rotary(q, k, offset=offset), expected)
    assert_equal(rotary(q, k, offset=int(offset)), expected)


def test_other_integers_of_numpy_are_the_same_numbers():
    rotary, q = RotaryEmbedding.from_config(growing()), randn(2, 5, 4, 8)
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
        q = randn(*shape)
        assert_equal(rotary(q, q, ids), rotary(q, q, ids[0]))
        assert_equal(rotary(q, q, ids.tolist()), rotary(q, q, ids[0]))


def rotated(rotary, q, k, v, position_ids=None, **kwargs):
    return attend(NoPosition(), *rotary(q, k, position_ids), v, causal=True, **kwargs)[0]


@every_layout
def test_left_padding_changes_nothing_where_positions_skip_it(layout):
    rotary = RotaryEmbedding(8, layout=layout)
    lengths, longest = (3, 6), 6
    q, k, v = randn(2, 4, 6, 8), randn(2, 2, 6, 8, seed=1), randn(2, 2, 6, 8, seed=2)
    is_token = torch.tensor([[longest - n <= s for s in range(longest)] for n in lengths])
    ids = (is_token.long().cumsum(-1) - 1).clamp(min=0)
    # Causal attention sees no positions but relative ones, so keys that were written elsewhere
    # show the difference: the cache of each row holds one token at position 0.
    past_k, past_v = randn(2, 2, 1, 8, seed=3), randn(2, 2, 1, 8, seed=4)

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
        close(padded(ids + 1)[row : row + 1, :, -length:], expected)
        # As if padding were text: right for the row that has none, wrong for the other.
        difference = padded(torch.arange(1, 7))[row : row + 1, :, -length:] - expected
        assert (difference.abs().max() > 0.01) == (length != longest)


@every_layout
def test_packed_sequences_equal_separate_ones(layout):
    rotary = RotaryEmbedding(8, layout=layout)
    lengths = [3, 5, 1, 4]
    q, k, v = randn(1, 4, 13, 8), randn(1, 2, 13, 8, seed=1), randn(1, 2, 13, 8, seed=2)
    owner = torch.repeat_interleave(torch.arange(4), torch.tensor(lengths))
    ids = torch.cat([torch.arange(n) for n in lengths])
    same = owner[:, None] == owner
    packed = rotated(rotary, q, k, v, ids[None], mask=same)
    parts = zip(*(x.split(lengths, dim=2) for x in (q, k, v)), strict=True)
    separate = torch.cat([rotated(rotary, *part) for part in parts], dim=2)
    close(packed, separate)
    turned, expected = rotary(q, k, ids[None])[1], [rotary(x, x)[0] for x in k.split(lengths, 2)]
    close(turned, torch.cat(expected, dim=2))
    assert (turned - rotary(q, k)[1]).abs().max() > 0.1
    assert (rotated(rotary, q, k, v, ids[None]) - separate).abs().max() > 0.1  # all see all


# The table


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rotary_dim", [2, 10, 128])
def test_the_table_is_what_would_be_computed_bit_for_bit(dtype, rotary_dim):
    rotary = RotaryEmbedding(128, rotary_dim=rotary_dim, attention_factor=1.3, layout="half")
    spans = [(0, 5), (5, 6), (9, 12), (10, 11), (19, 20), (20, 21), (39, 43), (0, 1), (700, 1111)]
    for start, stop in spans:
        expected = fresh(range(start, stop), rotary_dim, dtype, attention_factor=1.3)
        assert_equal(tables_of(rotary, start, stop, dtype), expected)


def test_the_table_grows_seldom(monkeypatch):
    computed = []
    original = RotaryEmbedding._compute

    def counted(self, position_ids, *args, **kwargs):
        computed.append(len(position_ids))
        return original(self, position_ids, *args, **kwargs)

    monkeypatch.setattr(RotaryEmbedding, "_compute", counted)
    rotary = RotaryEmbedding(8, layout="half")
    q = randn(1, 2, 1, 8)
    for position in range(1000):
        rotary(q, q, offset=position)
    assert len(computed) <= 10 and sum(computed) < 4 * 1000
    for position in range(1000):
        rotary(q, q, offset=position)
    assert len(computed) <= 10


def test_the_table_stops_growing_where_its_limit_is(monkeypatch):
    monkeypatch.setattr(rotation_module, "_MAX_ROWS", 50)
    rotary = RotaryEmbedding(8, layout="half")
    for start in (20, 45, 49, 50, 51, 1000):
        assert_equal(tables_of(rotary, start, start + 1), fresh([start]))
        assert len(rotary._table[0]) <= 50


@pytest.mark.parametrize("cast", ["bfloat16", "half", "double"])
def test_casting_the_module_leaves_tables_exact(cast):
    rotary = RotaryEmbedding(8, layout="half")
    q = randn(1, 2, 5, 8)
    before = rotary(q, q), rotary(q[:, :, :1], q[:, :, :1], offset=4)
    getattr(rotary, cast)()
    assert_equal(rotary(q, q), before[0])
    assert_equal(rotary(q[:, :, :1], q[:, :, :1], offset=4), before[1])
    assert_equal(tables_of(rotary, 0, 5), fresh(range(5)))


def test_tables_are_in_no_state_dict():
    rotary = RotaryEmbedding(8, layout="half")
    rotary(randn(1, 2, 5, 8), randn(1, 2, 5, 8))
    rotary(randn(1, 2, 1, 8), randn(1, 2, 1, 8), offset=3)
    assert rotary._table is not None and rotary._last_step is not None
    assert not rotary.state_dict() and not list(rotary.buffers()) and not list(rotary.parameters())
    assert rotary.load_state_dict({}) == ([], [])


@pytest.mark.parametrize("device", ["meta", "cuda"])
def test_the_table_follows_the_device(device):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU")
    rotary = RotaryEmbedding(8, layout="half")
    q, step = randn(1, 2, 5, 8), randn(1, 2, 1, 8)
    expected = rotary(q, q), rotary(step, step, offset=4)
    there = rotary.to(device)
    for offset, x in ((0, q), (4, step)):
        rotated = there(x.to(device), x.to(device), offset=offset)
        assert all(r.device.type == device for r in rotated)
    assert_equal(there(q, q), expected[0])
    assert_equal(there(step, step, offset=4), expected[1])


@pytest.mark.parametrize("times", [1, 5])
def test_float64_and_float32_take_turns(times):
    rotary = RotaryEmbedding(8, layout="half")
    for _ in range(times):
        for dtype in (torch.float32, torch.float64):
            assert_equal(tables_of(rotary, 3, 10, dtype), fresh(range(3, 10), dtype=dtype))
    assert len(rotary._table[0]) == 20  # and do not make it grow


def copies(rotary):
    yield copy.deepcopy(rotary)
    yield copy.copy(rotary)
    yield pickle.loads(pickle.dumps(rotary))
    file = io.BytesIO()
    torch.save(rotary, file)
    file.seek(0)
    yield torch.load(file, weights_only=False)


def test_copies_rotate_alike_and_leave_the_table_behind():
    rotary = RotaryEmbedding(8, rotary_dim=6, attention_factor=1.5, layout="interleaved")
    q = randn(1, 2, 5, 8)
    expected = rotary(q, q, offset=10_000)
    assert len(pickle.dumps(rotary)) < 5_000
    for other in copies(rotary):
        assert other._table is None and repr(other) == repr(rotary)
        assert_equal(other(q, q, offset=10_000), expected)
    assert rotary._table is not None


@every_layout
def test_a_table_made_in_inference_mode_serves_training(layout):
    q = randn(1, 2, 5, 8)
    with torch.inference_mode():
        rotary = RotaryEmbedding(8, layout=layout)
        rotary(q, q), rotary(q[:, :, :1], q[:, :, :1], offset=4)
    x = q.clone().requires_grad_()
    sum(rotated.sum() for rotated in rotary(x, x)).backward()
    step = q[:, :, :1].clone().requires_grad_()
    rotary(step, step, offset=4)[0].sum().backward()
    assert x.grad.isfinite().all() and step.grad.isfinite().all()


@every_layout
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_a_table_made_inside_a_transform_serves_outside(layout):
    q, step = randn(2, 3, 5, 8), randn(2, 3, 1, 8)
    clean = RotaryEmbedding(8, layout=layout)
    transforms = {
        "grad": lambda f, x: torch.func.grad(lambda x: f(x).sum())(x),
        "vmap": lambda f, x: torch.vmap(f)(x),
        "jvp": lambda f, x: torch.func.jvp(f, (x,), (x,)),
    }
    for transform in transforms.values():
        rotary = RotaryEmbedding(8, layout=layout)
        transform(lambda x, rotary=rotary: rotary(x, x)[0], q)
        transform(lambda x, rotary=rotary: rotary(x, x, offset=4)[0], step)
        assert_equal(rotary(q, q), clean(q, q))
        assert_equal(rotary(step, step, offset=4), clean(step, step, offset=4))


@every_layout
def test_steps_have_the_right_derivatives(layout):
    rotary, x = RotaryEmbedding(8, rotary_dim=6, layout=layout), randn(1, 2, 1, 8).double()

    def step(x):
        return rotary(x, 2 * x, offset=9)

    leaf = x.clone().requires_grad_()
    assert torch.autograd.gradcheck(step, leaf, check_forward_ad=True)
    primal, tangent = torch.func.jvp(step, (x,), (x,))
    close(primal, tangent, atol=1e-12)  # a rotation is linear
    close(torch.vmap(step, in_dims=1, out_dims=1)(x), step(x), atol=1e-12)


# Frequencies of one's own


def test_given_frequencies_and_attention_factor_are_used_once():
    frequencies = inv_freq(6, 500.0) / 4
    rotary = RotaryEmbedding(8, inv_freq=frequencies, attention_factor=1.25, layout="half")
    assert rotary.rotary_dim == 6 and rotary.base is None
    said_twice = RotaryEmbedding(8, inv_freq=frequencies, rotary_dim=6, layout="half")
    assert said_twice.rotary_dim == 6 and torch.equal(said_twice.inv_freq, frequencies)
    q, k, ids = randn(2, 4, 5, 8), randn(2, 2, 5, 8, seed=1), torch.tensor([3, 1, 4, 1, 5])
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
    rotary, q = RotaryEmbedding(8, attention_factor=Fraction(3, 2), layout="half"), randn(2, 5, 8)
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
    rotary, x = RotaryEmbedding(8, layout="half"), randn(1, 2, 1, 8)
    before, step = getattr(rotary, name), rotary(x, x, offset=3)
    with pytest.raises(AttributeError, match=f"^{name} is read once: .* another RotaryEmbedding"):
        setattr(rotary, name, "interleaved")
    assert getattr(rotary, name) == before
    assert_equal(rotary(x, x, offset=3), step)
    assert getattr(copy.deepcopy(rotary), name) == before


def test_wrong_calls_are_refused():
    rotary = RotaryEmbedding(8, layout="half")
    q, k = randn(3, 4, 5, 8), randn(3, 2, 5, 8)
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
        rotary(randn(2, 4, 5, 8), k, torch.zeros(2, 5))
    with pytest.raises(ValueError, match=r"got \(3, 5\) for q of shape \(3, 5, 8\)"):
        rotary(randn(3, 5, 8), randn(3, 5, 8), torch.zeros(3, 5))
    with pytest.raises(ValueError, match="has seq_len 5, cos and sin 1"):
        rotary(q, k, torch.zeros(3, 1))
    with pytest.raises(ValueError, match="has seq_len 1, cos and sin 5"):
        rotary(q[:, :, :1], k[:, :, :1], torch.zeros(3, 5))
    with pytest.raises(ValueError, match=r"or \(batch, seq_len\), got shape \(1, 1, 5\)"):
        rotary(q, k, torch.zeros(1, 1, 5))


# Frequencies that depend on the length


def growing(trained=8):
    """Dynamic NTK and LongRoPE in one, as a caricature: both numbers change beyond `trained`."""

    def stretch(seq_len):
        return max(seq_len or 1, trained) / trained

    return SimpleNamespace(
        head_dim=8,
        layout="half",
        inv_freq=lambda seq_len=None: inv_freq(8, 10_000.0 * stretch(seq_len) ** 2),
        attention_factor=lambda seq_len=None: stretch(seq_len) ** 0.1,
    )


def rotate_exactly(x, position_ids, config, seq_len):
    exact = reference.rotate(x, position_ids, config.inv_freq(seq_len), layout=config.layout)
    return exact * config.attention_factor(seq_len)


def test_length_decides_the_frequencies_of_each_call():
    config = growing()
    rotary = RotaryEmbedding.from_config(config)
    assert rotary.config is config
    assert repr(rotary) == f"RotaryEmbedding(8, rotary_dim=8, config={config!r}, layout='half')"
    q = randn(1, 2, 4, 8)
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
    x = randn(1, 1, 16, 8)

    def written_one_by_one(rotary):
        steps = [rotary(x[:, :, s : s + 1], x[:, :, s : s + 1], offset=s)[1] for s in range(16)]
        return torch.cat(steps, dim=2)

    close(written_one_by_one(fixed), fixed(x, x)[1])
    stale, at_once = written_one_by_one(rotary), rotary(x, x)[1]
    assert (stale - at_once)[:, :, :15].abs().amax() > 0.1
    close(stale[:, :, 15:], at_once[:, :, 15:])  # only the last was written at this length
    close(stale[:, :, :8], rotary(x[:, :, :8], x[:, :, :8])[1])


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
    q = randn(1, 2, 4, 8)
    for start in (0, 13, 200):
        exact = rotate_exactly(q, range(start, start + 4), config, start + 4)
        rotated, _ = rotary(q, q, offset=start)
        torch.testing.assert_close(rotated.double(), exact, rtol=0, atol=1e-6)


def test_a_config_without_dependence_on_length_uses_the_table():
    config = growing(trained=2**50)
    rotary = RotaryEmbedding.from_config(config)
    assert rotary.config is None
    rotary(randn(1, 2, 4, 8), randn(1, 2, 4, 8))
    assert rotary._table is not None


def test_wrong_config_is_refused():
    with pytest.raises(ValueError, match="layout must be"):
        RotaryEmbedding.from_config(SimpleNamespace(**{**vars(growing()), "layout": "neox"}))
    with pytest.raises(TypeError, match="inv_freq must be a tensor"):
        RotaryEmbedding.from_config(
            SimpleNamespace(**{**vars(growing()), "inv_freq": lambda seq_len: [1.0]})
        )


# Compilers


@every_layout
def test_compiled_decoding_makes_few_graphs(layout):
    torch.compiler.reset()
    rotary = RotaryEmbedding(8, rotary_dim=6, layout=layout)
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph

    compiled = torch.compile(rotary, fullgraph=True, backend=backend)
    q, k = randn(1, 4, 1, 8), randn(1, 2, 1, 8, seed=1)
    for offset in range(12):
        close(compiled(q, k, offset=offset), rotary(q, k, offset=offset))
    assert len(graphs) <= 4
    before = len(graphs)
    for offset in range(12):
        ids = torch.tensor([[offset]])
        close(compiled(q, k, ids), rotary(q, k, ids))
    assert len(graphs) <= before + 1


@pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs a C++ compiler")
def test_inductor_rotates_alike(monkeypatch):
    # Compiling all headers first pays only after many kernels; here there are two.
    monkeypatch.setattr(torch._inductor.config, "cpp_cache_precompile_headers", False)
    if torch.backends.cpu.get_cpu_capability() == "DEFAULT":
        # There torch asks its compiler for vectors that its own headers do not have.
        monkeypatch.setattr(torch._inductor.config.cpp, "simdlen", 0)
    torch.compiler.reset()
    rotary = RotaryEmbedding(8, layout="half")
    compiled = torch.compile(rotary, fullgraph=True)
    q, k, ids = randn(2, 4, 5, 8), randn(2, 2, 5, 8, seed=1), torch.tensor([[7, 1, 100_000, 0, 3]])
    close(compiled(q, k, ids), rotary(q, k, ids))


@every_layout
def test_exported_module_rotates_any_length(layout):
    rotary = RotaryEmbedding(8, rotary_dim=6, layout=layout)
    length = torch.export.Dim("length", min=2, max=1000)
    q, k, ids = randn(2, 4, 5, 8), randn(2, 2, 5, 8, seed=1), torch.arange(5)[None] + 3
    shapes = {"q": {2: length}, "k": {2: length}, "position_ids": {1: length}}
    exported = torch.export.export(rotary, (q, k, ids), dynamic_shapes=shapes).module()
    for seq_len in (5, 9):
        q, k = randn(2, 4, seq_len, 8), randn(2, 2, seq_len, 8, seed=1)
        ids = torch.arange(seq_len)[None] + 100_000
        close(exported(q, k, ids), rotary(q, k, ids))


def test_meta_construction_then_use():
    with torch.device("meta"):
        rotary = RotaryEmbedding(8, inv_freq=inv_freq(8), layout="half")
        meta = torch.empty(1, 2, 5, 8)
        assert rotary(meta, meta)[0].is_meta
    q = randn(1, 2, 5, 8)
    assert_equal(rotary.to_empty(device="cpu")(q, q), RotaryEmbedding(8, layout="half")(q, q))
