"""Answers to the cases, by the float64 oracle: the same bytes on any processor.

Frequencies come from decimal arithmetic (`formulas.py`) and are float64 numbers that no machine
computes otherwise; their products with positions are IEEE arithmetic. What is left to a machine,
cosine, sine and the sum of two products, is right within `_MARGIN` of the size of these products.
All that comes of it is rounded to 9 digits, and a number that lies so near to the edge of two
roundings that this could matter is refused.
"""

from collections.abc import Iterator
from typing import Any
from zlib import crc32

import torch
from torch import Tensor

from ropelib import reference
from ropelib.conformance.cases import Case, all_cases
from ropelib.conformance.formulas import frequencies, rotary_dim

DIGITS = 9
_MARGIN = 2.0**-50  # 8 roundings: of cosine or sine (two), its factor, a product, a sum; and three


def answers() -> list[dict[str, Any]]:
    """Return every case with its answers, as the files have them.

    Returns:
        Of dict, list, str, int, float.

    Raises:
        ValueError: as `answer`.

    Example:
        >>> answers()[0]["inv_freq"][:3]
        [1.0, 0.31622776601683794, 0.1]
    """
    return [answer(case) for case in all_cases()]


def answer(case: Case) -> dict[str, Any]:
    """Return one case with its answers.

    Args:
        case: what is asked.

    Returns:
        The configuration, frequencies, cosines and sines, q and k before and after.

    Raises:
        ValueError: if a number lies at the edge of two roundings, where processors could differ.

    Example:
        >>> first = answer(next(all_cases()))
        >>> first["position_ids"], first["cos"][0][0]
        ([[[0, 1, 17], [32767, 4095, 2]]], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    """
    head_dim = case.config.get("qk_rope_head_dim", case.config.get("head_dim"))
    seq_len = 1 + max(m for axis in case.position_ids for row in axis for m in row)
    inv_freq, factor = frequencies(case.config, seq_len)
    axes = case.axis_of_pair or (0,) * len(inv_freq)
    if not len(axes) == len(inv_freq) == rotary_dim(case.config) // 2:
        raise ValueError(f"{case.name}: {len(axes)} axes of pairs for {len(inv_freq)} frequencies")
    rows, tokens = len(case.position_ids[0]), len(case.position_ids[0][0])
    angles = [
        [
            [float(case.position_ids[a][b][s]) * f for a, f in zip(axes, inv_freq, strict=True)]
            for s in range(tokens)
        ]
        for b in range(rows)
    ]
    ones = torch.ones(rows, tokens, len(inv_freq))  # each pair's first dimension, to begin with
    start = torch.cat((ones, 0 * ones), dim=-1).unsqueeze(1).double()
    cos, sin = _rotated(start, angles, factor, "half", case.name)[:, 0].chunk(2, dim=-1)
    numbers = iter(integers(crc32(case.name.encode())))
    shapes = [(rows, heads, tokens, head_dim) for heads in case.num_heads]
    q, k = (_drawn(numbers, *shape) for shape in shapes)
    return {
        "name": case.name,
        "config": case.config,
        "layout": case.layout,
        "head_dim": head_dim,
        "seq_len": seq_len,
        "inv_freq": inv_freq,
        "attention_factor": factor,
        "axis_of_pair": list(axes),
        "position_ids": [[list(row) for row in axis] for axis in case.position_ids],
        "cos": cos.tolist(),
        "sin": sin.tolist(),
        "q": q.tolist(),
        "k": k.tolist(),
        "q_rotated": _rotated(q, angles, factor, case.layout, case.name).tolist(),
        "k_rotated": _rotated(k, angles, factor, case.layout, case.name).tolist(),
    }


def integers(seed: int) -> Iterator[int]:
    """Yield integers from -128 to 128, from a generator that any language has in two lines.

    `state = (1103515245 * state + 12345) mod 2^31`, and then `(state >> 16) mod 257 - 128`.

    Args:
        seed: the first state.

    Yields:
        Integers, without end.

    Example:
        >>> numbers = integers(1)
        >>> [next(numbers) for _ in range(4)]
        [5, -24, -38, -89]
    """
    state = seed
    while True:
        state = (1103515245 * state + 12345) % 2**31
        yield (state >> 16) % 257 - 128


def _drawn(numbers: Iterator[int], *shape: int) -> Tensor:
    """Integers over 32: multiples that float32, float16 and bfloat16 hold exactly."""
    count = torch.Size(shape).numel()
    return torch.tensor([next(numbers) / 32 for _ in range(count)], dtype=torch.float64).view(shape)


def _rotated(x: Tensor, angles: list, factor: float, layout: str, name: str) -> Tensor:
    """`x` of shape (rows, heads, tokens, head_dim) turned by the oracle, each number rounded."""
    result = torch.empty_like(x)
    for b, row in enumerate(angles):
        for s, of_pairs in enumerate(row):
            # At position 1, frequencies are angles: so each pair may have its own axis.
            matrix = reference.rotation_matrix(1.0, of_pairs, layout=layout, head_dim=x.shape[-1])
            matrix[: 2 * len(of_pairs)] *= factor
            columns = x[b, :, s].T
            margin = _MARGIN * (matrix.abs() @ columns.abs())
            is_exact = (matrix != 0).sum(dim=1) == 1  # an angle of zero, or no pair at all
            margin[is_exact] = 0.0
            result[b, :, s] = _rounded(matrix @ columns, margin, name).T
    return result


def seats(num_pairs: int, layout: str) -> tuple[list[int], list[int]]:
    """Return where the first and the second dimension of each pair lie.

    Args:
        num_pairs: that rotate.
        layout: "half" or "interleaved".

    Returns:
        Two lists of `num_pairs` indices.

    Example:
        >>> seats(2, "half"), seats(2, "interleaved")
        (([0, 1], [2, 3]), ([0, 2], [1, 3]))
    """
    every = range(num_pairs)
    if layout == "half":
        return list(every), [i + num_pairs for i in every]
    return [2 * i for i in every], [2 * i + 1 for i in every]


def _rounded(values: Tensor, margin: Tensor, name: str) -> Tensor:
    """Nine digits of each number, if it is the same nine within the margin."""
    found = []
    for value, by in zip(values.flatten().tolist(), margin.flatten().tolist(), strict=True):
        digits = {f"{number:.{DIGITS}g}" for number in (value - by, value + by)}
        if len(digits) > 1:
            raise ValueError(f"{name}: {value!r} lies at the edge of two roundings")
        found.append(float(digits.pop()) + 0.0)  # no negative zero
    return torch.tensor(found, dtype=torch.float64).view(values.shape)
