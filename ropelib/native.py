"""The rotation as a compiled kernel, which reads once and writes once, for whoever asks.

`build()` compiles `rotate.cpp`; nothing needs that, and nothing else does it. The kernel computes
what plain operations compute: halves to the bit, neighbors to one ulp of the length of the pair.
"""

import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.autograd.graph import increment_version

from ropelib.devices import is_watched
from ropelib.memory import is_bare

SOURCE = Path(__file__).with_name("rotate.cpp")
_LONGEST_ROW = 2**14  # bytes; ROW of rotate.cpp
_PAST_CACHE = 2**22  # bytes of a result from which on it is written past the cache
# What torch compiles its own kernels with for the instructions that it finds at run time.
_INSTRUCTIONS = {
    "AVX512": (
        "-mavx512f",
        "-mavx512dq",
        "-mavx512vl",
        "-mavx512bw",
        "-mfma",
        "-mprefer-vector-width=512",
    ),
    "AVX2": ("-mavx2", "-mfma"),
}
_DTYPES = (torch.float32, torch.bfloat16, torch.float16)  # in the order of rotate.cpp


def path() -> Path:
    """Return where the kernel of this version, for this processor, lies once it is built.

    Example:
        >>> path().name.startswith("rotate-")
        True
    """
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    made_for = " ".join((*_flags(), platform.machine()))
    recipe = hashlib.sha256(SOURCE.read_bytes() + made_for.encode()).hexdigest()
    return Path(cache) / "ropelib" / f"rotate-{recipe[:16]}.so"


def build() -> Path:
    """Compile the kernel, unless one is there that loads, and use it from now on.

    Returns:
        Where it lies; processes that start after that file was deleted do without it.

    Raises:
        RuntimeError: if this is not Linux, there is no C++ compiler (`$CXX`, or else `c++`, `g++`
            or `clang++`) or no folder to write to, the compiler refuses, or what it made does not
            load.

    Example:
        >>> build().exists()  # doctest: +SKIP
        True
    """
    kernel.cache_clear()
    if kernel() is not None:
        return path()
    if not sys.platform.startswith("linux"):
        raise RuntimeError(f"the kernel is built on Linux only, got {sys.platform}")
    if compiler() is None:
        tried = os.environ.get("CXX") or "c++, g++ and clang++"
        raise RuntimeError(f"no C++ compiler found: tried {tried}")
    try:
        target = path()
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(dir=target.parent)
    except (OSError, RuntimeError) as error:
        raise RuntimeError(f"no folder for the kernel, set XDG_CACHE_HOME: {error}") from error
    with scratch as folder:
        made = Path(folder) / target.name
        command = [*compiler(), *_flags(), str(SOURCE), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{shlex.join(command)} failed: {done.stderr}")
        try:
            _loaded(made)
        except (OSError, AttributeError) as error:
            raise RuntimeError(f"what {shlex.join(command)} made does not load: {error}") from error
        made.replace(target)  # at once: another process may look for it now
    kernel.cache_clear()
    return target


def compiler() -> list[str] | None:
    """Return the command of the machine's C++ compiler, `$CXX` alone where that is set, or None.

    Example:
        >>> compiler() is None or Path(shutil.which(compiler()[0])).exists()
        True
    """
    asked = shlex.split(os.environ.get("CXX", ""))
    commands = [asked] if asked else [["c++"], ["g++"], ["clang++"]]
    return next((command for command in commands if shutil.which(command[0])), None)


@functools.cache
def kernel() -> ctypes.CDLL | None:
    """Return the compiled functions, or None where they are not, or not to be had; looked for once.

    Example:
        >>> kernel() is None or callable(kernel().rotate)
        True
    """
    try:
        built = path()
        return _loaded(built) if built.exists() else None
    # No home, none that may be read, no such library or none for this machine: `build` says which.
    except (OSError, RuntimeError, AttributeError):
        return None


def _loaded(built: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(built))
    library.rotate.argtypes = [*4 * [ctypes.c_void_p], ctypes.c_int64 * 15, *4 * [ctypes.c_int]]
    library.rotate_both.argtypes = [*4 * [ctypes.c_void_p], ctypes.c_int64, ctypes.c_int64 * 10]
    library.rotate.restype = library.rotate_both.restype = None
    return library


def takes(out: Tensor, x: Tensor, cos: Tensor, sin: Tensor) -> bool:
    """Say whether there is a kernel and these fit it; where not, the other ways take them.

    Args:
        out: where to write.
        x: what to rotate.
        cos: of the dtype that `x` is rotated in.
        sin: like `cos`.

    Example:
        >>> takes(*4 * [torch.zeros(2, 2, dtype=torch.float64)])
        False
    """
    return (
        kernel() is not None
        and not is_watched()
        and x.is_cpu
        and x.dtype in _DTYPES
        and 2 <= x.dim() <= 4
        and x.shape[-1] * x.element_size() <= _LONGEST_ROW
        and x.stride(-1) == out.stride(-1) == cos.stride(-1) == sin.stride(-1) == 1
        and x.numel() > 0
        and all(map(is_bare, (out, x, cos, sin)))
    )


def rotate(out: Tensor, x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> Tensor:
    """Rotate into `out`, which may be `x`, by the kernel; `takes` has said that it can.

    Args:
        out: where to write, of the shape of `x`.
        x: `(..., seq_len, head_dim)`.
        cos: `(seq_len, num_pairs)` or `(batch, 1, seq_len, num_pairs)`, float32.
        sin: like `cos`.
        layout: "interleaved" or "half".

    Returns:
        `out`.

    Example:
        >>> x = torch.tensor([[1.0, 0.0]])
        >>> cos, sin = torch.zeros(1, 1), torch.ones(1, 1)
        >>> rotate(x, x, cos, sin, "half") if takes(x, x, cos, sin) else torch.tensor([[0.0, 1.0]])
        tensor([[0., 1.]])
    """
    in_place = out.data_ptr() == x.data_ptr()
    kernel().rotate(
        *(t.data_ptr() for t in (out, x, cos, sin)),
        _numbers(out, x, cos, sin),
        _DTYPES.index(x.dtype),
        layout == "interleaved",
        out.nbytes >= _PAST_CACHE and not in_place,
        torch.get_num_threads(),
    )
    if not out.is_inference():
        increment_version(out)  # as every operation does that writes into a tensor
    return out


def prepared(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, layout: str) -> Callable | None:
    """Return a function that rotates what is like `q` and `k`, or None where the kernel cannot.

    Args:
        q: one position, `(..., num_heads, 1, head_dim)`.
        k: likewise.
        cos: `(count, num_pairs)`, float32.
        sin: like `cos`.
        layout: "interleaved" or "half".

    Returns:
        A function of contiguous `q`, `k` and the row of the tables that returns both rotated.

    Example:
        >>> x = torch.zeros(1, 1, 2, dtype=torch.float64)
        >>> prepared(x, x, torch.zeros(1, 1), torch.zeros(1, 1), "half") is None
        True
    """
    alike = [torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k)]
    if cos.dtype != torch.float32 or not all(takes(x, x, cos, sin) for x in alike):
        return None
    call, empty_like = kernel().rotate_both, torch.empty_like
    numbers = (ctypes.c_int64 * 10)(
        *(x.numel() // x.shape[-1] for x in (q, k)),
        *(q.shape[-1], cos.shape[-1], _DTYPES.index(q.dtype), layout == "interleaved"),
        *(f(t) for f in (Tensor.data_ptr, lambda t: t.stride(0)) for t in (cos, sin)),
    )

    def rotate_row(q: Tensor, k: Tensor, row: int, tables=(cos, sin)) -> tuple[Tensor, Tensor]:
        # The tables are named here so that they live as long as this does.
        new_q, new_k = empty_like(q), empty_like(k)
        call(new_q.data_ptr(), q.data_ptr(), new_k.data_ptr(), k.data_ptr(), row, numbers)
        return new_q, new_k

    return rotate_row


def _numbers(out: Tensor, x: Tensor, cos: Tensor, sin: Tensor) -> ctypes.Array:
    """Return sizes and strides as `rotate.cpp` reads them."""
    missing = 4 - x.dim()
    steps = [(*missing * (0,), *t.stride()[:-1]) for t in (out, x)]
    per_batch = [(t.stride(0) if t.dim() == 4 else 0, t.stride(-2)) for t in (cos, sin)]
    numbers = (*missing * (1,), *x.shape, cos.shape[-1], *steps[0], *steps[1])
    return (ctypes.c_int64 * 15)(*numbers, *per_batch[0], *per_batch[1])


def _flags() -> tuple[str, ...]:
    instructions = _INSTRUCTIONS.get(torch.backends.cpu.get_cpu_capability(), ())
    # No sum may be fused that the source does not fuse.
    return ("-O3", "-std=c++17", "-ffp-contract=off", "-fPIC", "-shared", "-fopenmp", *instructions)
