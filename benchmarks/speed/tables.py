"""Making cos and sin for many positions: exact ones, and those of others."""

import math
from collections.abc import Callable
from importlib import import_module

import torch
from torch import Tensor

import ropelib
from ropelib import cos_sin, inv_freq
from speed import peers
from speed.timing import peak_bytes, seconds

LENGTH, ROTARY_DIM = 131_072, 128


def makers(length: int) -> dict[str, tuple[str, Callable[[], tuple[Tensor, Tensor]]]]:
    """Return who makes a table of cos and one of sin: whose code, and the call.

    Args:
        length: number of positions.
    """
    positions = torch.arange(length)
    frequencies = inv_freq(ROTARY_DIM)
    found = {"ropelib": (f"ropelib {ropelib.__version__}", lambda: cos_sin(positions, frequencies))}
    code = import_module("transformers.models.llama.modeling_llama")
    heads = 32
    config = code.LlamaConfig(hidden_size=heads * ROTARY_DIM, num_attention_heads=heads)
    module, x = code.LlamaRotaryEmbedding(config), torch.empty(0)
    # Its tables say everything twice, once for each half of a head.
    found["transformers"] = (peers.version("transformers"), lambda: module(x, positions[None]))

    def plain():
        angles = torch.outer(positions.float(), frequencies.float())
        return angles.cos(), angles.sin()

    found["float32 angles"] = ("the plainest code", plain)
    return found


def error(table: Tensor) -> float:
    """Return the largest error of a table of cosines at some positions, the last among them.

    Args:
        table: `(length, num_pairs or twice as many)`.
    """
    rows = sorted({0, 1, len(table) - 1, *range(0, len(table), max(1, len(table) // 64))})
    pairs = ROTARY_DIM // 2
    return max(
        abs(table[m, i].item() - math.cos(m * 10_000.0 ** (-i / pairs)))
        for m in rows
        for i in range(pairs)
    )


def measured(budget: float, length: int = LENGTH) -> dict:
    """Time all that make tables.

    Args:
        budget: seconds for the timing.
        length: number of positions.

    Returns:
        A run as it is recorded. The copy is that of a cos and a sin, into touched memory.
    """
    made = makers(length)
    tables = [torch.zeros(length, ROTARY_DIM // 2) for _ in range(4)]
    calls = {"copy": lambda: (tables[2].copy_(tables[0]), tables[3].copy_(tables[1]))}
    size = 2 * tables[0].nbytes
    rows = [{"candidate": "copy", "writes": "buffer"}]
    for name, (of, call) in made.items():
        off = error(call()[0].reshape(length, -1))
        memory = peak_bytes(call) / size
        rows.append({"candidate": name, "of": of, "writes": "new", "error": off, "memory": memory})
        calls[name] = call
    for row, times in zip(rows, seconds(calls, budget).values(), strict=True):
        row["seconds"] = times
    case = {"name": "tables", "length": length, "num_pairs": ROTARY_DIM // 2}
    return {"kind": "tables", "case": case, "rows": rows, "untimed": {}}
