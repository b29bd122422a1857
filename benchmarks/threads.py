"""Count wrong rotations where threads share one `RotaryEmbedding` and each decodes on its own.

Every thread walks through positions of its own, one at a time, as servers of text do, and every
result is compared with the oracle in float64. Threads are made to change places as often as Python
can: every microsecond.

    python benchmarks/threads.py                          # 8 threads, 50000 steps each, two layouts
    python benchmarks/threads.py --threads 2 --steps 1000
"""

import argparse
import sys
import threading
import time

import torch

from ropelib import RotaryEmbedding, inv_freq, reference

HEAD_DIM, CHUNK = 64, 500
APART = 101  # tokens from where one thread starts to where the next does


def decode(rotary, q, first: int, steps: int, wrong: list[int]) -> None:
    """Rotate `q` at each position from `first` on, and note the positions that came out wrong."""
    for start in range(first, first + steps, CHUNK):
        positions = range(start, min(start + CHUNK, first + steps))
        rotated = torch.cat([torch.cat(rotary(q, q, offset=p)) for p in positions], dim=-2)
        expected = reference.rotate(
            q.expand(*q.shape[:-2], len(positions), HEAD_DIM),
            positions,
            inv_freq(HEAD_DIM),
            layout=rotary.layout,
        )
        # Right ones differ from the oracle by the rounding of float32, some 1e-6.
        off = (rotated - expected).abs().amax((0, 1, 3)) > 1e-4
        wrong += [positions[i] for i in off.nonzero().flatten()]


def measure(layout: str, threads: int, steps: int) -> list[int]:
    """Return the positions at which one of the threads got a wrong rotation."""
    rotary, wrong = RotaryEmbedding(HEAD_DIM, layout=layout), []
    q = torch.randn(threads, 1, 2, 1, HEAD_DIM, generator=torch.Generator().manual_seed(0))
    workers = [
        threading.Thread(target=decode, args=(rotary, q[t], APART * t, steps, wrong))
        for t in range(threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return wrong


def main() -> None:
    """Print how many rotations were wrong, for each layout."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--steps", type=int, default=50_000, help="positions for each thread")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    sys.setswitchinterval(1e-6)
    for layout in ("half", "interleaved"):
        begin = time.perf_counter()
        wrong = measure(layout, arguments.threads, arguments.steps)
        seconds = time.perf_counter() - begin
        total = arguments.threads * arguments.steps
        print(f"{layout}: {len(wrong)} wrong of {total} steps, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
