"""What `RotaryEmbedding` keeps between calls: the table, the last step, and copies without them."""

import copy
import io
import pickle

import pytest
import torch
import torch._inductor.config
from torch.autograd import forward_ad
from vectors import assert_close, assert_equal, every_layout, randn32, tables, tables32

from ropelib import RotaryEmbedding, embedding


def tables_of(rotary, start, stop, dtype=torch.float32, device="cpu"):
    return rotary._rows(start, stop, stop, device=torch.device(device), dtype=dtype)


# The table


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rotary_dim", [2, 10, 128])
def test_the_table_is_what_would_be_computed_bit_for_bit(dtype, rotary_dim):
    rotary = RotaryEmbedding(128, rotary_dim=rotary_dim, attention_factor=1.3, layout="half")
    spans = [(0, 5), (5, 6), (9, 12), (10, 11), (19, 20), (20, 21), (39, 43), (0, 1), (700, 1111)]
    for start, stop in spans:
        expected = tables(range(start, stop), rotary_dim, dtype, attention_factor=1.3)
        assert_equal(tables_of(rotary, start, stop, dtype), expected)


def test_the_table_grows_seldom(monkeypatch):
    computed = []
    original = RotaryEmbedding._compute

    def counted(self, position_ids, *args, **kwargs):
        computed.append(len(position_ids))
        return original(self, position_ids, *args, **kwargs)

    monkeypatch.setattr(RotaryEmbedding, "_compute", counted)
    rotary = RotaryEmbedding(8, layout="half")
    q = randn32(1, 2, 1, 8)
    for position in range(1000):
        rotary(q, q, offset=position)
    assert len(computed) <= 10 and sum(computed) < 4 * 1000
    for position in range(1000):
        rotary(q, q, offset=position)
    assert len(computed) <= 10


def test_the_table_stops_growing_where_its_limit_is(monkeypatch):
    monkeypatch.setattr(embedding, "MAX_ROWS", 50)
    rotary = RotaryEmbedding(8, layout="half")
    for start in (20, 45, 49, 50, 51, 1000):
        assert_equal(tables_of(rotary, start, start + 1), tables32([start]))
        assert len(rotary._table[0]) <= 50


@pytest.mark.parametrize("cast", ["bfloat16", "half", "double"])
def test_casting_the_module_leaves_tables_exact(cast):
    rotary = RotaryEmbedding(8, layout="half")
    q = randn32(1, 2, 5, 8)
    before = rotary(q, q), rotary(q[:, :, :1], q[:, :, :1], offset=4)
    getattr(rotary, cast)()
    assert_equal(rotary(q, q), before[0])
    assert_equal(rotary(q[:, :, :1], q[:, :, :1], offset=4), before[1])
    assert_equal(tables_of(rotary, 0, 5), tables32(range(5)))


def test_tables_are_in_no_state_dict():
    rotary = RotaryEmbedding(8, layout="half")
    rotary(randn32(1, 2, 5, 8), randn32(1, 2, 5, 8))
    rotary(randn32(1, 2, 1, 8), randn32(1, 2, 1, 8), offset=3)
    assert rotary._table is not None and rotary._last_step is not None
    assert not rotary.state_dict() and not list(rotary.buffers()) and not list(rotary.parameters())
    assert rotary.load_state_dict({}) == ([], [])


@pytest.mark.parametrize("device", ["meta", "cuda"])
def test_the_table_follows_the_device(device):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU")
    rotary = RotaryEmbedding(8, layout="half")
    q, step = randn32(1, 2, 5, 8), randn32(1, 2, 1, 8)
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
            assert_equal(tables_of(rotary, 3, 10, dtype), tables32(range(3, 10), dtype=dtype))
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
    q = randn32(1, 2, 5, 8)
    expected = rotary(q, q, offset=10_000)
    assert len(pickle.dumps(rotary)) < 5_000
    for other in copies(rotary):
        assert other._table is None and repr(other) == repr(rotary)
        assert_equal(other(q, q, offset=10_000), expected)
    assert rotary._table is not None


@every_layout
def test_a_table_made_in_inference_mode_serves_training(layout):
    q = randn32(1, 2, 5, 8)
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
    q, step = randn32(2, 3, 5, 8), randn32(2, 3, 1, 8)
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


# A step of decoding, remembered


AWAY = {
    "odd": lambda x: torch.cat((x[..., :1], x), dim=-1)[..., 1:],
    "apart": lambda x: torch.stack((x, x), dim=-1)[..., 0],
    "negative": lambda x: torch._neg_view(-x),
}


@every_layout
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
@pytest.mark.parametrize("lies", AWAY)
def test_a_step_that_is_remembered_serves_what_lies_elsewhere(layout, lies):
    rotary = RotaryEmbedding(8, layout=layout)
    q, k = randn32(1, 4, 1, 8), randn32(1, 2, 1, 8, seed=1)
    expected = rotary(q, k, offset=7)
    for query, key in ((AWAY[lies](q), k), (q, AWAY[lies](k))):
        assert_close(rotary(query, key, offset=7), expected)
    with forward_ad.dual_level():
        query, key = (forward_ad.make_dual(x, x) for x in (q, k))
        for turned, x in zip(rotary(query, key, offset=7), expected, strict=True):
            assert_close([forward_ad.unpack_dual(turned).tangent], [x])
