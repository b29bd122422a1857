"""Measure how long rotating q and k takes, beside other people's code, in units of a copy.

One unit is the time of `copy_` of the same bytes (q and k, and with backward their gradients) into
memory that is already there, in the same round; the candidates of a round run in random order, and
a ratio is that of one round. Absolute times do not carry over to another machine, ratios inside one
run do, roughly, where the machine does nothing else.

The stock allocator gives large tensors back to the system and pays for page faults with each new
one, more than for the arithmetic. So everything runs twice, in two processes: with the allocator as
it is, and *warm*, where memory is kept (glibc; elsewhere both are the same).

A candidate is timed only where its results are the float64 oracle's, within what its arithmetic
allows; `error` is the largest, in ulp of its pair's length (of tables: the largest of a cosine).
`memory` is the most that a call held at a time, its results included, as torch's profiler sees it,
in units of q and k (of tables: of a cos and a sin).

    python benchmarks/speed                      # all of it: an hour on two cores
    python benchmarks/speed --fast               # what the chapter on speed shows: ten minutes
    python benchmarks/speed --only decode tables
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import torch

from ropebook.experiments import recorded
from ropebook.experiments.speed import IDLE, Run, Speed, save
from speed import imports, peers, report
from speed.cases import ALL, FAST, Case

ROOT = Path(__file__).parents[2]
WARM = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "17179869184"}
ALLOCATORS = {"stock": {}, "warm": WARM}
# One process compiles: others that wait for work would run beside what is timed.
QUIET = {
    "KINETO_LOG_LEVEL": "99",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "TRANSFORMERS_VERBOSITY": "error",
}
QUIET |= {"TORCHINDUCTOR_COMPILE_THREADS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
NAMES = (*ALL, "tables", "imports")
SHOWN = (*FAST, "curve", "tables", "imports")
PACKAGES = ("transformers", "torchtune", "rotary-embedding-torch", "onnxruntime", "kernels")
MEANING = {
    "unit": "seconds of one call, a list over rounds, null where a candidate sat a round out; "
    "the copy is that of the same bytes into touched memory",
    "memory": "peak of torch's allocations in one call, by torch's profiler, over bytes of q and k",
    "error": "largest distance to the float64 oracle at 26 positions or more, in ulp of a pair's "
    "length; of tables, the largest error of a cosine",
}


def place() -> dict:
    """Return the machine, and the versions of all that was measured."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = peers.version(package).partition(" ")[2]
        except ImportError:
            versions[package] = "not installed"
    cores = {
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "huge_pages": huge_pages(),
    }
    return {**recorded.machine(), **cores, **versions, "load": round(os.getloadavg()[0], 2)}


def huge_pages() -> str:
    """Return when the system hands out memory in pages of 2 MiB: fresh memory costs less then."""
    try:
        told = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text("utf-8")
    except OSError:  # no Linux, or one without them
        return "unknown"
    return told.partition("[")[2].partition("]")[0]


def measured(name: str, allocator: str, fast: bool) -> list[dict]:
    """Measure the cases of a name in a process of their own.

    Args:
        name: of the cases.
        allocator: "stock" or "warm".
        fast: whether to measure the few of them.

    Raises:
        RuntimeError: if the process fails.
    """
    command = [sys.executable, "-m", "speed.worker", name]
    if fast:
        command.append("--fast")
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith("MALLOC_")
    } | {**QUIET, **ALLOCATORS[allocator]}
    paths = [str(ROOT / "benchmarks"), os.environ.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"measuring {name}, {allocator}, failed with {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def title(run: dict) -> str:
    """Return what a run was, in a line."""
    case, allocator = run["case"], run["allocator"]
    if run["kind"] == "imports":
        return "imports: whole processes; the copy is `import torch`"
    settings = " ".join(f"{key}={value}" for key, value in ALLOCATORS[allocator].items())
    told = f"{allocator} allocator{f' ({settings})' if settings else ''}"
    if run["kind"] == "tables":
        shape = f"{case['length']} positions x {case['num_pairs']} pairs"
        return f"tables: cos and sin, {shape}, {told}"
    shapes = {key: tuple(v) if isinstance(v, list) else v for key, v in case.items()}
    return f"{Case(**shapes).told()}, {told}"


def main() -> int:
    """Measure, print, and write what was found; return how the process is to end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fast", action="store_true", help="what the chapter shows: ten minutes")
    parser.add_argument("--only", nargs="+", choices=NAMES, help="some of it")
    parser.add_argument("--out", type=Path, default=ROOT / ".runs" / "speed_cpu.json")
    arguments = parser.parse_args()
    names = arguments.only or (SHOWN if arguments.fast else NAMES)
    if arguments.out.resolve().parent == recorded.RESULTS.resolve() and arguments.only:
        parser.error("what is recorded is all that the chapter shows: leave out --only")
    here, begin = place(), time.perf_counter()
    print(", ".join(f"{key} {value}" for key, value in here.items()))
    if here["load"] > IDLE:
        print(f"THE MACHINE IS BUSY (load {here['load']}): no number below is to be trusted")
    runs, failed = [], []
    for name in names:
        for allocator in ("none",) if name == "imports" else ALLOCATORS:
            try:
                if name == "imports":
                    found = [imports.measured()]
                else:
                    fast = arguments.fast and name in FAST
                    found = measured(name, allocator, fast)
            except (RuntimeError, subprocess.CalledProcessError) as error:
                failed.append(str(error))
                continue
            date = time.strftime("%Y-%m-%d")
            for run in found:
                run = {**run, "allocator": allocator, "date": date, "place": 0}
                runs.append(Run(run))
                print("\n" + report.told(runs[-1], title(run)), end="", flush=True)
    config = {"names": list(names), "fast": arguments.fast, "allocators": ALLOCATORS, **MEANING}
    print(f"\n{len(runs)} runs in {time.perf_counter() - begin:.0f} s")
    for said in failed:
        print(f"FAILED: {said}")
    if failed:
        return 1
    save(Speed(config, [here], runs), arguments.out)
    print(f"written to {arguments.out}")
    return 0
