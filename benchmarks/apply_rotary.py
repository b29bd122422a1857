"""Measure how long rotating q and k takes, beside other people's code, in units of memcpy.

One unit is the time of `copy_` of q and k into memory that is already there, in the same round;
the candidates of a round run in random order. Absolute times do not carry over to another machine,
ratios inside one run do, roughly. On a machine that does other work too, trust the best times.

The stock allocator gives large tensors back to the system and pays for page faults with each new
one, more than for the arithmetic. So everything runs twice, in two processes: with the allocator as
it is, and *warm*, where memory is kept (MALLOC_MMAP_MAX_=0, MALLOC_TRIM_THRESHOLD_=17179869184).

    python benchmarks/apply_rotary.py             # both allocators, a minute or two
    python benchmarks/apply_rotary.py --decode    # only one position at a time: a few seconds

`tables` means that cos and sin were there before; `module` includes making or finding them.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import time
from importlib import import_module

import torch

from ropelib import RotaryEmbedding, apply_rotary, cos_sin, inv_freq

WARM = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "17179869184"}
PREFILL, DECODE = (1, 32, 4096, 128), (1, 32, 1, 128)
CACHED = 4095  # tokens before the one that is decoded


def ours(q, k, start):
    """Candidates of this library: name to function of nothing."""
    seq_len = q.shape[-2]
    positions = torch.arange(start, start + seq_len)
    tables = cos_sin(positions, inv_freq(q.shape[-1]))
    out = torch.empty_like(q), torch.empty_like(k)
    for layout in ("half", "interleaved"):
        module = RotaryEmbedding(q.shape[-1], layout=layout)

        def apply(layout=layout):
            return [apply_rotary(x, *tables, layout=layout) for x in (q, k)]

        def apply_out(layout=layout):
            pairs = zip((q, k), out, strict=True)
            return [apply_rotary(x, *tables, layout=layout, out=o) for x, o in pairs]

        yield f"ropelib {layout}, tables", apply
        yield f"ropelib {layout}, tables, out=", apply_out
        yield f"ropelib {layout}, module, offset", lambda m=module: m(q, k, offset=start)
        yield f"ropelib {layout}, module, position_ids", lambda m=module: m(q, k, positions)


def transformers(q, k, start):
    """Llama's rotation (half) of the transformers that is installed."""
    llama = import_module("transformers.models.llama.modeling_llama")
    heads, head_dim = q.shape[1], q.shape[-1]
    config = llama.LlamaConfig(hidden_size=heads * head_dim, num_attention_heads=heads)
    module = llama.LlamaRotaryEmbedding(config)
    positions = torch.arange(start, start + q.shape[-2])[None]
    tables = module(q, positions)
    apply = llama.apply_rotary_pos_emb
    yield "transformers half, tables", lambda: apply(q, k, *tables)
    yield "transformers half, module", lambda: apply(q, k, *module(q, positions))


def complex_product(q, k, start):
    """The complex product of Meta's Llama code (interleaved), as it stands in many repositories."""
    cos, sin = cos_sin(range(start, start + q.shape[-2]), inv_freq(q.shape[-1]))
    cis = torch.complex(cos, sin)

    def apply():
        for x in (q, k):
            pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
            torch.view_as_real(pairs * cis).flatten(3).type_as(x)

    yield "complex product interleaved, tables", apply


def torchtune(q, k, start):
    """Interleaved; wants the sequence before the heads."""
    module = import_module("torchtune.modules").RotaryPositionalEmbeddings(q.shape[-1], 8192)
    positions = torch.arange(start, start + q.shape[-2])[None]
    q, k = (x.transpose(1, 2).contiguous() for x in (q, k))
    yield "torchtune interleaved, module", lambda: [module(x, input_pos=positions) for x in (q, k)]


def lucidrains(q, k, start):
    """Interleaved."""
    module = import_module("rotary_embedding_torch").RotaryEmbedding(q.shape[-1])
    yield (
        "rotary-embedding-torch interleaved, module",
        lambda: [module.rotate_queries_or_keys(x, offset=start) for x in (q, k)],
    )


def measure(shape, dtype, rounds: int, repeats: int) -> None:
    """Print a table of one shape and dtype."""
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(shape, generator=generator).to(dtype) for _ in range(2))
    out = torch.empty_like(q), torch.empty_like(k)
    start = CACHED if shape[-2] == 1 else 0
    candidates = {"memcpy": lambda: (out[0].copy_(q), out[1].copy_(k))}
    candidates["clone"] = lambda: (q.clone(), k.clone())
    for family in (ours, transformers, complex_product, torchtune, lucidrains):
        try:
            candidates |= family(q, k, start)
        except ImportError as error:
            print(f"  without {family.__name__}: {error}")
    times = {name: [] for name in candidates}
    with torch.no_grad():
        for turn in range(rounds + 1):
            for name in random.sample(list(candidates), len(candidates)):
                begin = time.perf_counter()
                for _ in range(repeats):
                    candidates[name]()
                if turn:  # the first round warms up
                    times[name].append((time.perf_counter() - begin) / repeats)
    unit = times["memcpy"]
    for name, seconds in times.items():
        ratios = [s / u for s, u in zip(seconds, unit, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        best = min(seconds) / min(unit)
        spread = f"[{low:.2f} .. {high:.2f}]"
        print(f"  {name:44} {1e6 * min(seconds):10.1f} us {best:7.2f} x {middle:8.2f} x   {spread}")


def main() -> None:
    """Measure with each allocator in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--decode", action="store_true", help="one position only")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of a prefill")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.one:
        print(
            f"torch {torch.__version__}, {torch.get_num_threads()} threads, {os.cpu_count()} CPUs"
        )
        print("best time, its ratio to the best memcpy, median ratio within a round [quartiles]")
        for name, environment in (("stock", {}), ("warm", WARM)):
            command = [sys.executable, __file__, *sys.argv[1:], "--one", name]
            subprocess.run(command, env={**os.environ, **environment}, check=False)
        return
    cases = [("decode", DECODE, 8 * arguments.rounds, 50)]
    if not arguments.decode:
        cases.append(("prefill", PREFILL, arguments.rounds, 1))
    for case, shape, rounds, repeats in cases:
        for dtype in (torch.float32, torch.bfloat16):
            print(f"{case} {shape} {str(dtype)[6:]}, {arguments.one} allocator", flush=True)
            measure(shape, dtype, rounds, repeats)


if __name__ == "__main__":
    main()
