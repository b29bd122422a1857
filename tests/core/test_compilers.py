"""The rotation under torch.compile, torch.export and inductor."""

import shutil

import pytest
import torch
import torch._inductor.config
from vectors import POSITIONS, assert_close, every_layout, randn, randn32, tables

from ropelib import RotaryEmbedding, apply_rotary


@every_layout
def test_compiled_decoding_makes_few_graphs(layout):
    torch.compiler.reset()
    rotary = RotaryEmbedding(8, rotary_dim=6, layout=layout)
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph

    compiled = torch.compile(rotary, fullgraph=True, backend=backend)
    q, k = randn32(1, 4, 1, 8), randn32(1, 2, 1, 8, seed=1)
    for offset in range(12):
        assert_close(compiled(q, k, offset=offset), rotary(q, k, offset=offset))
    assert len(graphs) <= 4
    before = len(graphs)
    for offset in range(12):
        ids = torch.tensor([[offset]])
        assert_close(compiled(q, k, ids), rotary(q, k, ids))
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
    q, k, ids = (
        randn32(2, 4, 5, 8),
        randn32(2, 2, 5, 8, seed=1),
        torch.tensor([[7, 1, 100_000, 0, 3]]),
    )
    assert_close(compiled(q, k, ids), rotary(q, k, ids))


@every_layout
def test_exported_module_rotates_any_length(layout):
    rotary = RotaryEmbedding(8, rotary_dim=6, layout=layout)
    length = torch.export.Dim("length", min=2, max=1000)
    q, k, ids = randn32(2, 4, 5, 8), randn32(2, 2, 5, 8, seed=1), torch.arange(5)[None] + 3
    shapes = {"q": {2: length}, "k": {2: length}, "position_ids": {1: length}}
    exported = torch.export.export(rotary, (q, k, ids), dynamic_shapes=shapes).module()
    for seq_len in (5, 9):
        q, k = randn32(2, 4, seq_len, 8), randn32(2, 2, seq_len, 8, seed=1)
        ids = torch.arange(seq_len)[None] + 100_000
        assert_close(exported(q, k, ids), rotary(q, k, ids))


@every_layout
def test_compiles_into_one_graph(layout):
    torch.compiler.reset()
    backend = "aot_eager"  # what "eager" captures, and then the backward pass
    rotary = RotaryEmbedding(8, rotary_dim=6, layout=layout)
    compiled = torch.compile(rotary, fullgraph=True, backend=backend)
    for dtype in (torch.float32, torch.bfloat16):
        q, k = randn(2, 4, 5, 8, dtype=dtype), randn(2, 2, 5, 8, seed=1, dtype=dtype)
        for ids in (None, POSITIONS["real"], POSITIONS["per batch"]):
            torch.testing.assert_close(compiled(q, k, ids), rotary(q, k, ids))

    x, cos_and_sin = randn(5, 8).requires_grad_(), tables(rotary_dim=6)

    def rotate(x, out=None):
        return apply_rotary(x, *cos_and_sin, layout=layout, out=out)

    compiled = torch.compile(rotate, fullgraph=True, backend=backend)
    torch.testing.assert_close(
        torch.autograd.grad(compiled(x).pow(2).sum(), x),
        torch.autograd.grad(rotate(x).pow(2).sum(), x),
    )
    in_place = x.detach().clone()
    compiled(in_place, in_place)
    torch.testing.assert_close(in_place, rotate(x.detach()))


@every_layout
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_one_graph_serves_every_length(layout, dtype):
    torch.compiler.reset()
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph

    def rotate(q, k, cos, sin):
        return tuple(apply_rotary(x, cos, sin, layout=layout) for x in (q, k))

    compiled = torch.compile(rotate, fullgraph=True, backend=backend)
    for length in (4096, 4095, 513, 17):
        q, k = randn(1, 2, length, 8, dtype=dtype), randn(1, 1, length, 8, seed=1, dtype=dtype)
        cos_and_sin = tables(range(length), 6, torch.float32)
        for x, axis in ((q, 2), (k, 2), *((t, 0) for t in cos_and_sin)):
            torch._dynamo.mark_dynamic(x, axis)
        expected = rotate(q, k, *cos_and_sin)
        eps = torch.finfo(dtype).eps
        torch.testing.assert_close(compiled(q, k, *cos_and_sin), expected, rtol=eps, atol=1e-6)
    assert len(graphs) == 1


@every_layout
def test_compiled_backward_keeps_only_the_tables(layout):
    torch.compiler.reset()
    kept, x, cos_and_sin = [], randn(2, 3, 50, 8).requires_grad_(), tables(range(50))
    compiled = torch.compile(
        lambda x, cos, sin: apply_rotary(x, cos, sin, layout=layout),
        fullgraph=True,
        backend="aot_eager_decomp_partition",
    )
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        compiled(x, *cos_and_sin)
    assert kept and sum(t.numel() for t in kept) <= 4 * sum(t.numel() for t in cos_and_sin)
    assert x.numel() > 4 * sum(t.numel() for t in cos_and_sin) / 2
    assert all(t.numel() < x.numel() for t in kept)
