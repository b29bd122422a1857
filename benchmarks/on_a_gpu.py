"""Measure rotations on a CUDA GPU, beside other people's, against the copying of as many bytes.

A rotation moves bytes and computes little: its floor is what it must read and write, at the rate of
a large `copy_` measured in the same run. Each candidate is captured into a CUDA graph that calls it
on one set of inputs after the other, more of them than the GPU's cache holds, so that neither the
launching nor the cache flatters it; `eager` is a call by itself, with what Python and the driver
take. Candidates run in random order, the median of all rounds counts. Each is compared with the
formula in float64 before it is timed, and how far off it is stands in the table.

    python benchmarks/on_a_gpu.py                     # a table, a few minutes
    python benchmarks/on_a_gpu.py --json found.json   # and all numbers, with the machine
    python benchmarks/on_a_gpu.py --case decode --rounds 50

Where there is no GPU there is nothing to measure.
"""

import argparse
import json
import math
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

import torch
from torch import Tensor

from ropelib import cos_sin, cuda, inv_freq
from ropelib.fused import rotate_qk
from ropelib.paged import rotate_into_cache
from ropelib.pairs import rotate_pairs

WORKING_SET = 2**29  # bytes that the inputs of one graph have together: ten caches of an H200
MOST_SETS = 256
BLOCK_SIZE = 16


class Case(NamedTuple):
    """What is rotated."""

    name: str
    q_heads: int
    k_heads: int
    seq_len: int
    head_dim: int
    rotary_dim: int
    dtype: torch.dtype = torch.bfloat16
    batch: int = 1
    order: str = "sequence first"  # in memory, as a projection leaves it; or "heads first"
    cache: bool = False

    @property
    def bytes(self) -> int:
        """The fewest bytes that a rotation moves, without its tables."""
        tokens, size = self.batch * self.seq_len, self.dtype.itemsize
        rotated = 2 * tokens * (self.q_heads + self.k_heads) * self.head_dim * size
        # Keys are written twice, values read and written.
        return rotated + 3 * tokens * self.k_heads * self.head_dim * size * self.cache


CASES = [
    Case("prefill", 32, 32, 4096, 128, 128, order="heads first"),
    Case("prefill strided", 32, 32, 4096, 128, 128),
    Case("prefill float32", 32, 32, 4096, 128, 128, torch.float32, order="heads first"),
    Case("grouped 32/8", 32, 8, 4096, 128, 128),
    Case("small", 8, 8, 128, 64, 64),
    Case("vision width 80", 16, 16, 4096, 80, 80),
    Case("partial 32 of 128", 32, 8, 4096, 128, 32),
    Case("decode", 32, 8, 1, 128, 128, batch=64),
    Case("decode with cache", 32, 8, 1, 128, 128, batch=64, cache=True),
    Case("prefill with cache", 32, 8, 4096, 128, 128, cache=True),
]


class Inputs:
    """One set of tensors of a case, on the GPU."""

    def __init__(self, case: Case):
        self.case = case
        self.q, self.k, self.v = (
            self._vectors(heads) for heads in (case.q_heads, case.k_heads, case.k_heads)
        )
        first = 0 if case.seq_len > 1 else 1000
        positions = torch.arange(first, first + case.seq_len, device="cuda")
        self.cos, self.sin = cos_sin(positions, inv_freq(case.rotary_dim))
        # As transformers has them: (1, seq_len, rotary_dim), both halves alike.
        self.wide = [torch.cat((t, t), -1)[None].to(case.dtype) for t in (self.cos, self.sin)]
        tokens = case.batch * case.seq_len
        if case.cache:
            blocks = math.ceil(tokens / BLOCK_SIZE)
            shape = (2, blocks, BLOCK_SIZE, case.k_heads, case.head_dim)
            self.caches = torch.zeros(shape, dtype=case.dtype, device="cuda")
            self.slots = torch.randperm(tokens, device="cuda")
            self.rows = positions.repeat(case.batch) - first
            self.tokens = [x.transpose(1, 2).flatten(0, 1) for x in (self.q, self.k, self.v)]

    def _vectors(self, heads: int) -> Tensor:
        case = self.case
        kind = {"dtype": case.dtype, "device": "cuda"}
        if case.order == "heads first":
            return torch.randn(case.batch, heads, case.seq_len, case.head_dim, **kind)
        shape = (case.batch, case.seq_len, heads, case.head_dim)
        return torch.randn(shape, **kind).transpose(1, 2)


Candidate = Callable[[Inputs], object]


def ours(case: Case) -> dict[str, Candidate]:
    """Candidates of this library."""

    def both(x, layout, out=None):
        return rotate_qk(x.q, x.k, x.cos, x.sin, layout=layout, out=out)

    def fused(x, layout):
        where = (*x.caches, x.slots)
        rows = {"layout": layout, "position_ids": x.rows}
        return rotate_into_cache(*x.tokens, x.cos, x.sin, *where, **rows)

    def apart(x, layout):
        q, k, v = x.tokens
        rows = {"layout": layout, "position_ids": x.rows, "seq_dim": 0}
        q, k = rotate_qk(q, k, x.cos, x.sin, **rows)
        for cache, values in zip(x.caches, (k, v), strict=True):
            cache[x.slots // BLOCK_SIZE, x.slots % BLOCK_SIZE] = values
        return q, k

    formula = torch.compile(
        lambda q, k, cos, sin, layout: tuple(rotate_pairs(x, cos, sin, layout) for x in (q, k)),
        dynamic=False,
    )
    found = {}
    for layout in ("half", "interleaved"):
        if case.cache:
            found[f"ropelib {layout}, fused"] = lambda x, layout=layout: fused(x, layout)
            found[f"ropelib {layout}, then written"] = lambda x, layout=layout: apart(x, layout)
            continue
        found[f"ropelib {layout}"] = lambda x, layout=layout: both(x, layout)
        found[f"ropelib {layout}, in place"] = lambda x, layout=layout: both(x, layout, (x.q, x.k))
        found[f"torch.compile {layout}"] = lambda x, layout=layout: formula(
            x.q, x.k, x.cos, x.sin, layout
        )
    return found


def transformers(case: Case) -> dict[str, Candidate]:
    """Llama's, of the transformers that is installed: half, its tables in the dtype of q."""
    if case.cache or case.rotary_dim != case.head_dim:
        return {}
    apply = import_module("transformers.models.llama.modeling_llama").apply_rotary_pos_emb
    compiled = torch.compile(apply, dynamic=False)
    return {
        "transformers half": lambda x: apply(x.q, x.k, *x.wide),
        "transformers half, compiled": lambda x: compiled(x.q, x.k, *x.wide),
    }


def liger(case: Case) -> dict[str, Candidate]:
    """Liger-Kernel's: half, all of a head, in place where memory has the sequence first."""
    if case.cache or case.rotary_dim != case.head_dim:
        return {}
    apply = import_module("liger_kernel.transformers.rope").liger_rotary_pos_emb
    return {"Liger-Kernel half, in place": lambda x: apply(x.q, x.k, *x.wide)}


def flash_attention(case: Case) -> dict[str, Candidate]:
    """The Triton kernel of flash-attn, once for q and once for k."""
    if case.cache:
        return {}
    apply = import_module("flash_attn.layers.rotary").apply_rotary_emb

    def both(x, interleaved):
        tables = (x.cos.to(case.dtype), x.sin.to(case.dtype))
        vectors = (v.transpose(1, 2) for v in (x.q, x.k))
        return [apply(v, *tables, interleaved=interleaved).transpose(1, 2) for v in vectors]

    return {
        "flash-attn half": lambda x: both(x, False),
        "flash-attn interleaved": lambda x: both(x, True),
    }


FAMILIES = [ours, transformers, liger, flash_attention]


def worst_error(case: Case, candidate: Candidate, layout: str) -> float:
    """Return the largest difference from the formula in float64."""
    x = Inputs(case)
    cos, sin = (t.double() for t in (x.cos, x.sin))
    if case.cache:
        cos, sin = cos[x.rows], sin[x.rows]
        exact = [rotate_pairs(v.transpose(0, 1).double(), cos, sin, layout) for v in x.tokens[:2]]
        result = [v.transpose(0, 1) for v in candidate(x)]
        block, place = x.slots // BLOCK_SIZE, x.slots % BLOCK_SIZE
        for cache, values in zip(x.caches, (result[1].transpose(0, 1), x.tokens[2]), strict=True):
            if not torch.equal(cache[block, place], values):
                return math.inf
    else:
        exact = [rotate_pairs(v.double(), cos, sin, layout) for v in (x.q, x.k)]
        result = candidate(x)
    return max((a - b).abs().max().item() for a, b in zip(result, exact, strict=True))


def captured(candidate: Candidate, sets: list[Inputs]) -> tuple[torch.cuda.CUDAGraph, list]:
    """Return a graph that calls a candidate on each of the sets, and all results.

    They are kept so that each has memory of its own, which the cache does not hold for the next.
    """
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            candidate(sets[0])
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = [candidate(x) for x in sets]
    return graph, results


def seconds(work: Callable[[], object]) -> float:
    """Return the time of some work on the GPU."""
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    work()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) / 1e3


def copy_rate(rounds: int) -> float:
    """Return bytes per second, read and written, of a large copy."""
    source = torch.randn(2**28, device="cuda")
    target = torch.empty_like(source)
    times = [seconds(lambda: target.copy_(source)) for _ in range(rounds + 3)][3:]
    return 2 * source.nbytes / statistics.median(times)


def eager_seconds(candidate: Candidate, x: Inputs, calls: int = 50) -> float:
    """Return the time of one call of many, launched by Python one after the other."""
    for _ in range(3):
        candidate(x)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(calls):
        candidate(x)
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / calls


def training_seconds(case: Case, candidate: Candidate, rounds: int) -> float:
    """Return the time of a call and its gradient, eager."""
    x = Inputs(case)
    x.q, x.k = (v.detach().requires_grad_() for v in (x.q, x.k))
    grads = [torch.randn_like(v) for v in (x.q, x.k)]

    def step():
        torch.autograd.grad(candidate(x), (x.q, x.k), grads)

    return statistics.median([seconds(step) for _ in range(rounds + 3)][3:])


def measure(case: Case, rate: float, rounds: int) -> list[dict]:
    """Measure all candidates of a case; say why where one is left out."""
    candidates = {}
    for family in FAMILIES:
        try:
            candidates |= family(case)
        except ImportError as error:
            print(f"  without {family.__name__}: {error}")
    sets = [Inputs(case) for _ in range(min(MOST_SETS, math.ceil(WORKING_SET / case.bytes)))]
    found, graphs = {}, {}
    for name, candidate in candidates.items():
        layout = "interleaved" if "interleaved" in name else "half"
        try:
            with torch.no_grad():
                error = worst_error(case, candidate, layout)
                graphs[name] = captured(candidate, sets)
                eager = eager_seconds(candidate, sets[0])
            found[name] = {"worst_error": error, "eager_us": eager * 1e6}
            if case.name.startswith("prefill") and not (case.cache or "place" in name):
                train = training_seconds(case, candidate, rounds)
                found[name]["with_gradient_us"] = train * 1e6
        except Exception as error:  # somebody else's code: said, and the others go on
            if "ropelib" in name:
                raise
            graphs.pop(name, None)
            print(f"  {name} broke: {type(error).__name__}: {str(error).splitlines()[0]}")
    times = {name: [] for name in graphs}
    for turn in range(rounds + 1):
        for name in random.sample(list(graphs), len(graphs)):
            took = seconds(graphs[name][0].replay) / len(sets)
            if turn:  # the first round warms up
                times[name].append(took)
    floor = case.bytes / rate
    for name, measured in times.items():
        median = statistics.median(measured)
        found[name] |= {
            "us": median * 1e6,
            "us_fastest": min(measured) * 1e6,
            "us_slowest": max(measured) * 1e6,
            "of_copy_rate": floor / median,
        }
    rows = [{"candidate": name, **found[name]} for name in times]
    return sorted(rows, key=lambda row: row["us"])


def show(case: Case, rows: list[dict], rate: float) -> None:
    """Print one table."""
    print(f"{'':36}{'us':>9}{'of copy':>9}{'eager us':>10}{'+ grad us':>11}{'error':>10}")
    print(f"{'copying as many bytes':36}{case.bytes / rate * 1e6:9.2f}{1:9.2f}")
    for row in rows:
        gradient = f"{row['with_gradient_us']:11.1f}" if "with_gradient_us" in row else 11 * " "
        print(
            f"{row['candidate']:36}{row['us']:9.2f}{row['of_copy_rate']:9.2f}"
            f"{row['eager_us']:10.1f}{gradient}{row['worst_error']:10.1e}"
        )


def machine() -> dict:
    """Return what the numbers belong to."""
    properties = torch.cuda.get_device_properties(0)
    packages = {}
    for name in ("torch", "triton", "transformers", "liger-kernel", "flash-attn"):
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = None
    return {
        "gpu": properties.name,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "processors": properties.multi_processor_count,
        "memory_bytes": properties.total_memory,
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
        "packages": packages,
    }


def main() -> int:
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--case", help="only cases whose name begins so")
    parser.add_argument("--json", help="file for all numbers")
    arguments = parser.parse_args()
    cases = [case for case in CASES if case.name.startswith(arguments.case or "")]
    if not cases:
        parser.error(f"no case begins with {arguments.case!r}: {[case.name for case in CASES]}")
    if not torch.cuda.is_available():
        print("no CUDA GPU here: nothing to measure")
        return 0
    torch.manual_seed(0)
    if not cuda.takes(torch.ones(1, 2, device="cuda")):
        print("our programs do not run here (no Triton, or an old GPU): plain operations do")
    rate = copy_rate(arguments.rounds)
    found = {"machine": machine(), "copy_bytes_per_second": rate, "cases": []}
    print(json.dumps(found["machine"]))
    print(f"copy: {rate / 1e12:.3f} TB/s, read and written")
    for case in cases:
        told = (f"{n}={v}" for n, v in case._asdict().items() if n != "name")
        print(f"\n{case.name}: {', '.join(told)}")
        rows = measure(case, rate, arguments.rounds)
        show(case, rows, rate)
        about = case._asdict() | {"dtype": str(case.dtype), "bytes": case.bytes}
        found["cases"].append({"case": about, "rows": rows})
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
