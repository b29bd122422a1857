"""What the compiler makes of the programs, which needs no GPU: how they load, and what they keep.

A thread must load whole vectors of 16 bytes, and do nothing that is slow and not needed.
"""

import re

import pytest
import torch

from ropelib import cos_sin, cuda, inv_freq

pytest.importorskip("triton", reason="NO PROGRAM FOR CUDA WAS COMPILED: triton is not installed")
if cuda.INTERPRETED:
    pytest.skip("the interpreter compiles nothing", allow_module_level=True)

from triton.backends.compiler import GPUTarget
from triton.runtime import driver

from ropelib.cuda import launch, programs

# Shared and spilled memory, waiting for other threads, division in 64 bits, which is a subroutine.
SLOW = r"\.shared|\.local|bar\.sync|(div|rem)\.[su]64"


class NoGpu:
    """A driver that names a GPU and has none."""

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 99  # programs are kept by device: no other may find these

    def get_current_stream(self, device):
        return 0


@pytest.fixture
def compiled(monkeypatch, tmp_path):
    """The machine code of what would have been launched."""
    made = []

    class Compiled:
        def __init__(self, program):
            self.program = program

        def __getitem__(self, grid):
            return lambda **told: made.append(self.program.run(grid=grid, warmup=True, **told))

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    before = driver._active
    driver.set_active(NoGpu())
    for name in ("rotate", "rotate_into_cache"):
        monkeypatch.setattr(programs, name, Compiled(getattr(programs, name)))
    yield made
    driver._active = before


def of_a_model(dtype, head_dim, order, seq_len=256):
    """q and k of 32 and 8 heads as models have them."""
    for heads in (32, 8):
        if order == "heads first":
            yield torch.empty(1, heads, seq_len, head_dim, dtype=dtype)
        else:
            yield torch.empty(1, seq_len, heads, head_dim, dtype=dtype).transpose(1, 2)


def widths(ptx, what):
    """The bytes of each instruction of that name, on the GPU's memory."""
    found = re.findall(rf"\b{what}\.global[\w.:]*?(?:\.v(\d))?\.b(\d+)", ptx)
    return {int(count or 1) * int(bits) // 8 for count, bits in found}


@pytest.mark.parametrize(
    ("layout", "dtype", "head_dim", "rotary_dim", "order"),
    [
        ("half", torch.bfloat16, 128, 128, "heads first"),
        ("half", torch.bfloat16, 80, 80, "sequence first"),
        ("half", torch.float32, 128, 32, "heads first"),
        ("interleaved", torch.bfloat16, 128, 32, "sequence first"),
        ("interleaved", torch.bfloat16, 72, 72, "heads first"),
    ],
)
def test_threads_load_and_store_whole_vectors(compiled, layout, dtype, head_dim, rotary_dim, order):
    vectors = list(of_a_model(dtype, head_dim, order))
    tables = cos_sin(range(256), inv_freq(rotary_dim))
    launch.rotate(*vectors, *tables, *map(torch.empty_like, vectors), layout=layout)
    (program,) = compiled
    ptx = program.asm["ptx"]
    assert widths(ptx, "ld") == widths(ptx, "st") == {16}
    assert not re.search(SLOW, ptx) and program.metadata.shared == 0
    # One rounding, to the nearest.
    assert ("cvt.rn.bf16" in ptx) == (dtype == torch.bfloat16)


def test_what_fills_a_cache_loads_whole_vectors_too(compiled):
    vectors = [x[0].transpose(0, 1) for x in of_a_model(torch.bfloat16, 128, "sequence first")]
    caches = torch.empty(2, 64, 16, 8, 128, dtype=torch.bfloat16)
    q, k = (x.transpose(0, 1)[None] for x in vectors)
    launch.rotate_into_cache(
        *(q, k, *cos_sin(range(512), inv_freq(128)), q, k),
        launch.Cache(torch.empty_like(k), *caches, torch.arange(256)),
        layout="half",
        rows=launch.Rows(torch.arange(256)),
    )
    (program,) = compiled
    ptx = program.asm["ptx"]
    assert widths(ptx, "ld") == {8, 16} and widths(ptx, "st") == {16}  # 8: positions and slots
    assert not re.search(SLOW, ptx)


def test_other_strides_and_lengths_need_no_other_program(compiled):
    """What differs from call to call of one model is told, and not compiled in."""
    keys = set()
    for seq_len in (1, 17, 256, 1000):
        vectors = list(of_a_model(torch.bfloat16, 128, "sequence first", seq_len))
        tables = cos_sin(range(seq_len), inv_freq(128))
        launch.rotate(*vectors, *tables, *map(torch.empty_like, vectors), layout="half")
        keys.add(compiled[-1].hash)
    assert len(keys) <= 3, len(keys)
