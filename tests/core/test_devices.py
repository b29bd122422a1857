"""Devices that this machine does not have: what may be made there, what is copied there, and when.

Tensors on the "meta" device stand for tensors on another one. They have no numbers, so a copy back
from there is zeros; what goes there, and in which dtype, is what the device would see.
"""

import copy
from types import SimpleNamespace

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ropelib import RotaryEmbedding, apply_rotary, cos_sin, devices, inv_freq
from ropelib.axes import axial_cos_sin
from ropelib.encodings.sinusoidal import Sinusoidal

every_layout = pytest.mark.parametrize("layout", ["interleaved", "half"])
META = torch.device("meta")


class Device(TorchDispatchMode):
    """Watch the device: what is copied to it, and whether anything in float64 is ever on it."""

    def __init__(self, *, knows_float64):
        super().__init__()
        self.knows_float64, self.copies = knows_float64, 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        came_from = [x for x in given if x.is_meta]
        is_copy = operation is torch.ops.aten._to_copy.default
        if is_copy and came_from and kwargs.get("device") == torch.device("cpu"):
            return torch.zeros(came_from[0].shape, dtype=kwargs.get("dtype") or came_from[0].dtype)
        if operation is torch.ops.aten._local_scalar_dense.default and came_from:
            return 0  # such as `.item()`: the host waits for the device
        made = operation(*args, **kwargs)
        there = [x for x in tree_leaves(made) if isinstance(x, torch.Tensor) and x.is_meta]
        if not self.knows_float64:
            assert all(x.dtype != torch.float64 for x in came_from + there), operation
        if there and any(not x.is_meta and x.dim() and x.numel() for x in given):
            self.copies += 1
        return made


@pytest.fixture
def without_float64(monkeypatch):
    """A device like Apple's MPS."""
    monkeypatch.setattr(devices, "KNOW_FLOAT64", ("cpu",))
    with Device(knows_float64=False) as device:
        yield device


@pytest.fixture
def with_float64():
    """A device like a GPU of NVIDIA."""
    with Device(knows_float64=True) as device:
        yield device


def growing(trained=8):
    """A configuration whose frequencies depend on the length."""
    return SimpleNamespace(
        head_dim=8,
        layout="half",
        inv_freq=lambda seq_len=None: inv_freq(8) * trained / max(seq_len or 1, trained),
        attention_factor=lambda seq_len=None: 1.0,
    )


def test_apples_device_is_one_that_does_not_know_float64():
    assert devices.computes_for(torch.device("mps")) == torch.device("cpu")
    for name in ("cpu", "cuda", "cuda:1", "meta"):
        assert devices.computes_for(torch.device(name)) == torch.device(name)


def test_the_watcher_sees_float64_and_copies(without_float64):
    with pytest.raises(AssertionError):
        torch.zeros(3, device=META, dtype=torch.float64)
    with pytest.raises(AssertionError):
        torch.zeros(3).to(META, torch.float64)
    assert without_float64.copies == 0
    torch.zeros(3).to(META)
    torch.zeros(3, device=META).copy_(torch.zeros(3))
    assert without_float64.copies == 2


@every_layout
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_nothing_in_float64_reaches_a_device_without_it(without_float64, layout, dtype):
    rotary = RotaryEmbedding(8, rotary_dim=6, layout=layout).to(META)
    for q_len in (1, 5):
        q = torch.empty(2, 4, q_len, 8, dtype=dtype, device=META)
        k = q[:, :2]
        there = torch.arange(q_len, device=META)
        for ids in (None, there, there.float(), there.expand(2, -1), list(range(q_len))):
            for x in (q, k):
                rotated = rotary(q, k, ids)
                assert all(r.is_meta and r.dtype == x.dtype for r in rotated)
        for offset in (1, -3, 2**20):
            assert all(r.is_meta for r in rotary(q, k, offset=offset))
        rotary(q.transpose(1, 2), k.transpose(1, 2), seq_dim=1)


def test_nothing_in_float64_reaches_it_by_other_ways(without_float64):
    there = torch.arange(5, device=META)
    tables = cos_sin(there, inv_freq(8))
    assert all(table.is_meta and table.dtype == torch.float32 for table in tables)
    apply_rotary(torch.empty(5, 8, device=META), *tables, layout="half")
    coarse = inv_freq(8).float().to(META)
    assert all(table.is_meta for table in cos_sin([0, 1.5, 2], coarse))
    RotaryEmbedding(8, inv_freq=coarse, layout="half")
    assert axial_cos_sin(there.expand(2, 5), inv_freq(8), sections=[2, 2])[0].is_meta
    assert Sinusoidal(8).to(META).embed(torch.empty(5, 8, device=META), there).is_meta
    q = torch.empty(1, 2, 5, 8, device=META)
    rotary = RotaryEmbedding.from_config(growing())
    assert all(x.is_meta for x in rotary(q, q) + rotary(q, q, there) + rotary(q, q, offset=9))


@pytest.mark.parametrize("device", ["with_float64", "without_float64"])
def test_a_step_at_the_next_position_copies_nothing(device, request):
    rotary, device = RotaryEmbedding(8, layout="half").to(META), request.getfixturevalue(device)
    q = torch.empty(1, 2, 1, 8, device=META)
    rotary(q, q, offset=99)  # makes a table
    before = device.copies
    for position in range(100):
        rotary(q, q, offset=position)
    assert device.copies == before


def test_frequencies_are_copied_to_a_device_once(with_float64):
    rotary = RotaryEmbedding(8, layout="half")
    q, there = torch.empty(1, 2, 5, 8, device=META), torch.arange(5, device=META)
    for _ in range(5):
        rotary(q, q, there)
        rotary(q, q, offset=2**20)
    assert with_float64.copies == 1
    moved = RotaryEmbedding(8, layout="half").to(META)
    assert with_float64.copies == 2
    for _ in range(5):
        moved(q, q, there)
    assert with_float64.copies == 2
    again = copy.deepcopy(moved)
    again(q, q, there)
    assert with_float64.copies == 3  # a copy has its own, and not those of the first


def test_compiled_it_copies_nothing_either():
    torch.compiler.reset()
    given = []

    def backend(graph, inputs):
        given.append([x.device for x in inputs] + [x.device for x in graph.buffers()])
        return graph

    rotary = RotaryEmbedding(8, layout="half").to(META)
    compiled = torch.compile(rotary, fullgraph=True, backend=backend)
    q, there = torch.empty(1, 2, 5, 8, device=META), torch.arange(5, device=META)
    for _ in range(2):
        compiled(q, q, there)
    # One graph, into which q, positions and frequencies go, all of them on the device.
    assert len(given) == 1 and len(given[0]) >= 3 and set(given[0]) == {META}


@every_layout
def test_what_a_cuda_graph_captures_is_not_kept(monkeypatch, layout):
    # While a stream is captured nothing is computed, and what is allocated belongs to the graph.
    monkeypatch.setattr(devices, "is_traced", lambda device: True)
    rotary = RotaryEmbedding(8, layout=layout)
    q = torch.ones(1, 2, 5, 8)
    captured = rotary(q, q, offset=3), rotary(q[:, :, :1], q[:, :, :1], offset=3)
    assert rotary._table is None and rotary._last_step is None and not rotary._inv_freq_on
    monkeypatch.undo()
    computed = rotary(q, q, offset=3), rotary(q[:, :, :1], q[:, :, :1], offset=3)
    assert rotary._table is not None and rotary._last_step is not None
    for a, b in zip(captured, computed, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)


def test_capturing_is_asked_of_cuda(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    assert devices.is_traced(torch.device("cuda", 0))
    assert not devices.is_traced(torch.device("cpu"))
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    assert not devices.is_traced(torch.device("cuda", 0))


@every_layout
def test_tensors_without_numbers_leave_nothing_behind(layout):
    rotary, q = RotaryEmbedding(8, layout=layout), torch.ones(1, 2, 5, 8)
    with FakeTensorMode(allow_non_fake_inputs=True):
        fake = torch.empty(1, 2, 5, 8)
        for ids in ({}, {"position_ids": torch.arange(5)}, {"position_ids": torch.ones(5)}):
            assert rotary(fake, fake, **ids)[0].shape == fake.shape
        rotary(fake[:, :, :1], fake[:, :, :1], offset=3)
        apply_rotary(fake, *cos_sin(range(5), inv_freq(8)), layout=layout, out=fake)
    assert rotary._table is None and rotary._last_step is None
    clean = RotaryEmbedding(8, layout=layout)
    for x, offset in ((q, 0), (q[:, :, :1], 3)):
        for a, b in zip(rotary(x, x, offset=offset), clean(x, x, offset=offset), strict=True):
            assert torch.equal(a, b)


def test_a_module_made_without_numbers_works_without_them():
    with FakeTensorMode():
        rotary = RotaryEmbedding(8, layout="half")
        q = torch.empty(1, 2, 5, 8)
        assert rotary(q, q)[0].shape == rotary(q, q, torch.arange(5))[1].shape == q.shape
