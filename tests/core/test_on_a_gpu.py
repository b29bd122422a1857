"""What only a GPU can show; `test_fused.py` and `test_paged.py` run there, too."""

import pytest
import torch
from programs import RUN_PROGRAMS, assert_rounded_once, oracle
from vectors import every_layout, randn, tables

from ropelib import RotaryEmbedding, cuda
from ropelib.fused import rotate_qk
from ropelib.paged import rotate_into_cache
from ropelib.pairs import rotate_pairs

if not torch.cuda.is_available() or cuda.INTERPRETED or not RUN_PROGRAMS:
    pytest.skip("no GPU that the programs run on", allow_module_level=True)


def on_gpu(*tensors):
    return [x.to("cuda") for x in tensors]


def replayed(step):
    """Capture a step of which the programs are compiled, and replay it."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = step()
    return graph, out


@every_layout
def test_a_graph_captures_a_rotation_and_reads_new_positions_when_replayed(layout):
    q, k = on_gpu(*(randn(2, h, 1, 80, seed=h, dtype=torch.bfloat16) for h in (8, 2)))
    cos, sin = on_gpu(*tables(range(64), 80, torch.float32))
    ids = torch.zeros(2, 1, dtype=torch.int64, device="cuda")

    def step():
        return rotate_qk(q, k, cos, sin, layout=layout, position_ids=ids)

    graph, out = replayed(step)
    for positions in ([[3], [60]], [[0], [7]], [[64], [5]]):  # 64: no row
        ids.copy_(torch.tensor(positions))
        graph.replay()
        torch.cuda.synchronize()
        for x, result in zip((q, k), out, strict=True):
            for row, (position,) in enumerate(positions):
                if position == 64:
                    assert result[row].isnan().all()
                else:
                    exact = oracle(x[row], [position], 80, layout)
                    assert_rounded_once(result[row], exact, 80, layout)


def test_a_graph_captures_what_fills_a_cache():
    q, k, v = on_gpu(*(randn(3, h, 128, seed=h, dtype=torch.bfloat16) for h in (8, 2, 2)))
    cos, sin = on_gpu(*tables(range(64), 128, torch.float32))
    ids, slots = (torch.zeros(3, dtype=torch.int64, device="cuda") for _ in range(2))
    k_cache, v_cache = torch.zeros(2, 4, 16, 2, 128, dtype=torch.bfloat16, device="cuda")

    def step():
        where = (k_cache, v_cache, slots)
        return rotate_into_cache(q, k, v, cos, sin, *where, layout="half", position_ids=ids)

    slots.copy_(torch.tensor([0, 1, 2]))
    graph, (_, turned) = replayed(step)
    ids.copy_(torch.tensor([5, 9, 63]))
    slots.copy_(torch.tensor([63, -1, 17]))
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(k_cache[3, 15], turned[0]) and torch.equal(k_cache[1, 1], turned[2])
    assert torch.equal(v_cache[3, 15], v[0]) and torch.equal(v_cache[1, 1], v[2])
    exact = oracle(k.transpose(0, 1), [5, 9, 63], 128, "half")
    assert_rounded_once(turned.transpose(0, 1), exact, 128, "half")


def test_nothing_waits_for_the_gpu():
    q, k, v = on_gpu(*(randn(5, h, 64, seed=h, dtype=torch.bfloat16) for h in (8, 2, 2)))
    cos, sin = on_gpu(*tables(range(64), 64, torch.float32))
    packed, slots = on_gpu(torch.tensor([0, 2, 5]), torch.arange(5))
    k_cache, v_cache = torch.zeros(2, 4, 16, 2, 64, dtype=torch.bfloat16, device="cuda")
    torch.cuda.set_sync_debug_mode("error")
    try:
        rows = {"layout": "half", "cu_seqlens": packed}
        rotate_qk(q, k, cos, sin, seq_dim=0, **rows)
        rotate_into_cache(q, k, v, cos, sin, k_cache, v_cache, slots, out=(q, k), **rows)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@every_layout
@pytest.mark.parametrize("head_dim", [64, 80, 128])
def test_programs_and_plain_operations_agree_on_something_large(layout, head_dim):
    """Enough work for four heads at once and all processors."""
    q, k = (
        torch.randn(2, 2048, h, head_dim, dtype=torch.bfloat16, device="cuda").transpose(1, 2)
        for h in (32, 8)
    )
    cos, sin = on_gpu(*tables(range(2048), head_dim, torch.float32))
    for x, turned in zip((q, k), rotate_qk(q, k, cos, sin, layout=layout), strict=True):
        plainly = rotate_pairs(x.double(), cos.double(), sin.double(), layout)
        error = (turned.double() - plainly).abs()
        allowed = 2.0**-8 * plainly.abs() + 2.0**-19  # half a step of bfloat16, and float32
        assert (error <= allowed).all()


def test_a_compiled_module_and_a_compiled_call_of_both_give_the_same():
    torch.compiler.reset()
    q, k = on_gpu(*(randn(1, h, 33, 64, seed=h, dtype=torch.float32) for h in (4, 2)))
    module = RotaryEmbedding(64, layout="half").to("cuda")
    cos, sin = on_gpu(*tables(range(33), 64, torch.float32))
    eager = rotate_qk(q, k, cos, sin, layout="half")
    compiled = torch.compile(rotate_qk, fullgraph=True)(q, k, cos, sin, layout="half")
    module_compiled = torch.compile(module, fullgraph=True)(q, k)
    for expected, *others in zip(eager, compiled, module_compiled, module(q, k), strict=True):
        for other in others:
            torch.testing.assert_close(other, expected, rtol=0, atol=2e-6)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU")
def test_a_tensor_on_another_gpu_is_rotated_there():
    q = randn(2, 5, 8, dtype=torch.float32)
    cos, sin = tables(range(5), 8, torch.float32)
    there = [x.to("cuda:1") for x in (q, q, cos, sin)]
    turned, _ = rotate_qk(*there, layout="half")
    assert_rounded_once(turned, oracle(q, range(5), 8, "half"), 8, "half")
