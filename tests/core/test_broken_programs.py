"""What went wrong in programs that others shipped, done to ours: the checks must notice.

Only where programs run: under the interpreter, which `test_interpreter.py` sees to, or on a GPU.
None of these breaks leaves the memory of its tensors.
"""

import importlib.util

import pytest
import torch
from programs import DEVICE, RUN_PROGRAMS, assert_rounded_once, oracle
from vectors import randn, tables

from ropelib.fused import rotate_qk
from ropelib.paged import rotate_into_cache

if not RUN_PROGRAMS:
    pytest.skip("no program runs here", allow_module_level=True)

from ropelib.cuda import launch, programs


def check_strides():
    """Two key heads beside three, each in its own order, in the middle of something wider."""
    x = randn(2, 5, 8, 10, dtype=torch.float32).to(DEVICE)  # sequence first
    before = x.clone()
    ids = torch.tensor([[0, 3, 3, 9, 1], [7, 0, 2, 5, 8]])
    cos_and_sin = [t.to(DEVICE) for t in tables(range(10), 6, torch.float32)]
    q, k = x[:, :, :3].transpose(1, 2), x.transpose(1, 2).contiguous()[:, 4:6]
    room = torch.full((2, 5, 5, 10), 7.0, device=DEVICE)
    out = torch.empty_like(q), room[:, 1:3]
    rotate_qk(q, k, *cos_and_sin, layout="half", position_ids=ids.to(DEVICE), out=out)
    for result, given in zip(out, (q, k), strict=True):
        assert_rounded_once(result, oracle(given, ids, 6, "half"), 6, "half")
    assert torch.equal(x, before) and (room[:, 0] == 7).all() and (room[:, 3:] == 7).all()


def check_gradient():
    q, k = (randn(h, 5, 8, dtype=torch.float32).to(DEVICE).requires_grad_() for h in (3, 2))
    cos_and_sin = [t.to(DEVICE) for t in tables(range(5), 6, torch.float32)]
    packed = torch.tensor([0, 2, 5])
    turned, _ = rotate_qk(q, k, *cos_and_sin, layout="half", cu_seqlens=packed.to(DEVICE))
    turned.sum().backward()
    y = q.detach().cpu().double().requires_grad_()
    oracle(y, [0, 1, 0, 1, 2], 6, "half").sum().backward()
    assert_rounded_once(q.grad, y.grad, 6, "half")


def check_cache():
    q, k, v = (randn(4, h, 8, dtype=torch.float32).to(DEVICE) for h in (3, 2, 2))
    room = torch.full((2, 4, 3, 2, 8), 7.0, device=DEVICE)  # blocks before the caches and after
    k_cache, v_cache = room[0, 1:3], room[1].view(4, 2, 3, 8)[1:3].transpose(1, 2)
    slots = torch.tensor([4, -1, 0, -1])
    cos_and_sin = [t.to(DEVICE) for t in tables(range(4), 8, torch.float32)]
    out = rotate_into_cache(
        q, k, v, *cos_and_sin, k_cache, v_cache, slots.to(DEVICE), layout="half"
    )
    for cache, x in ((k_cache, out[1]), (v_cache, v)):
        assert torch.equal(cache[1, 1], x[0]) and torch.equal(cache[0, 0], x[2])
        assert (cache == 7).sum() == 4 * 16
    assert (room[:, 0] == 7).all() and (room[:, 3] == 7).all()


CHECKS = [check_strides, check_gradient, check_cache]
BREAKS = {  # what it is: (in the programs, in its place, how often there, who notices)
    "strides of k taken for those of q": ("q_strides, batch", "k_strides, batch", 2, check_strides),
    "as many heads of k as of q": (
        "first, k_heads, inside",
        "first, q_heads, inside",
        2,
        check_strides,
    ),
    "a gradient that turns forward": (
        "if INVERSE:",
        "if INVERSE and CHUNK > 99:",
        1,
        check_gradient,
    ),
    "right where pairs are a power of two": (
        "dim_b = dim_a + PAIRS\n",
        "dim_b = dim_a + (4 if PAIRS == 3 else PAIRS)\n",
        1,
        check_strides,
    ),
    "packed sequences that do not start again": (
        "row = place - ",
        "row = place - 0 * ",
        1,
        check_gradient,
    ),
    "one row of positions for the whole batch": (
        "where + batch * where_strides[0]",
        "where",
        1,
        check_strides,
    ),
    "half a rotation": (
        "wide_a * sin + wide_b * cos",
        "wide_a * sin - wide_b * cos",
        1,
        check_strides,
    ),
    "the rest of a head forgotten": (
        "tl.where(turns[None, :, None], new_b, b)",
        "new_b",
        1,
        check_strides,
    ),
    "a token without a slot kept": ("inside & (slot >= 0) & (", "inside & (", 1, check_cache),
    "keys by the order of values": (
        "(first, k_cache_strides",
        "(first, v_cache_strides",
        1,
        check_cache,
    ),
}


@pytest.fixture(autouse=True)
def four_heads_at_once(monkeypatch):
    """As in large work: two heads leave half of a program without one."""
    monkeypatch.setattr(launch, "_heads_at_once", lambda *_: 4)


@pytest.mark.parametrize("check", CHECKS)
def test_our_own_programs_pass(check):
    check()


@pytest.mark.parametrize("what", BREAKS)
def test_a_broken_program_is_noticed(what, tmp_path, monkeypatch):
    whole, broken, count, check = BREAKS[what]
    with open(programs.__file__, encoding="utf-8") as file:
        source = file.read()
    assert source.count(whole) == count, source.count(whole)
    path = tmp_path / "broken.py"
    path.write_text(source.replace(whole, broken), "utf-8")
    spec = importlib.util.spec_from_file_location("broken", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(launch, "programs", module)

    with pytest.raises(AssertionError):
        check()
