"""The rule on round sizes: rows, heads and tokens in multiples of 4 to 512, as most callers send.

`crowded.py` asks for odd sizes, where blocks end within; a path for sizes that fill blocks shows
here alone.
"""

from dataclasses import replace

import torch

from ropelib.diagnosis.crowded import Oracle, Way, oracle_of, tried
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.report import Finding, wrong

FILLS_BLOCKS = "a fast path for sizes that fill its blocks, multiples of 4, 16 or 256"
_MORE = ((4, 1, 128), (4, 12, 64), (1, 16, 256), (1, 1, 1024), (1, 64, 1))  # rows, heads, tokens
_SIZES = ((16, 8, 16), (8, 32, 1), (32, 16, 1), (2, 4, 512))  # in bfloat16 too


def round_sizes(m: Measured) -> Finding | None:
    """Random vectors in calls of round sizes, as they were one by one."""
    oracle = oracle_of(m)
    if oracle is None:
        return None
    for dtype, sizes in ((torch.float32, _SIZES + _MORE), (torch.bfloat16, _SIZES)):
        for number, size in enumerate(sizes):
            way = _way(m, oracle, *size, dtype, number % 2 == 0)
            outcome = way and tried(m, oracle, way)
            if outcome and outcome.is_wrong:
                return _named(m, oracle, outcome.way, outcome.error)
    return None


def _way(
    m: Measured, oracle: Oracle, rows: int, heads: int, tokens: int, dtype, transposed: bool
) -> Way | None:
    if tokens > m.limit or (oracle.by_runs and tokens > len(oracle.positions)):
        return None
    ids = oracle.positions[:tokens]
    if not oracle.by_runs:
        ids = oracle.some(rows, tokens) if rows > 1 else oracle.some(tokens)
    return Way(ids, rows, heads, dtype, transposed)


def _named(m: Measured, oracle: Oracle, way: Way, error: float) -> Finding:
    """Take one away from each size, to say which of them decides."""
    sizes = {"heads": way.heads, "rows": way.rows, "tokens": way.ids.shape[-1]}
    rows = way.ids[: max(1, way.rows - 1)] if way.ids.dim() == 2 else way.ids
    less = {
        "heads": replace(way, heads=max(1, way.heads - 1)),
        "rows": replace(way, rows=max(1, way.rows - 1), ids=rows),
        "tokens": replace(way, ids=way.ids[..., : max(1, sizes["tokens"] - 1)]),
    }
    call = f"A call of {_count(way.rows, 'row')}, {_count(way.heads, 'head')} and "
    call += f"{_count(sizes['tokens'], 'token')} of {str(way.dtype)[6:]}"
    for name, one_less in less.items():
        outcome = tried(m, oracle, one_less) if sizes[name] > 1 else None
        if outcome and not outcome.is_wrong:
            return wrong(
                "round-sizes-wrong",
                f"{call} is turned otherwise than one by one, and with "
                f"{_count(sizes[name] - 1, name[:-1])} it is not.",
                FILLS_BLOCKS,
                largest_difference=error,
                **sizes,
            )
    return wrong(
        "crowded-call-differs",
        f"{call} is turned otherwise than one by one, and no one of its sizes alone does that.",
        "a path that is taken by large calls, or by two conditions at once; compare its result "
        "with that of parts of the call",
        largest_difference=error,
        **sizes,
    )


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'s' * (number != 1)}"
