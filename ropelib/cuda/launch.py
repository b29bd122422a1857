"""Where the programs of `programs.py` start: shapes, strides, and how the work is cut, in numbers.

Nothing here reads a tensor's values or waits for the GPU, so that a CUDA graph can capture it (once
a first call has compiled the program). Imported by its first user: `triton` takes a second.
"""

import math
from typing import NamedTuple

import torch
import triton.language as tl
from torch import Tensor

from ropelib.cuda import programs

ROWS = 128  # threads of a program, each one row: 4 warps
VECTOR = 16  # bytes that a thread loads at once
MOST_HEADS = 4  # of a program: as many vectors wait in each thread, or twice as many
PLENTY = 1024  # programs that fill a GPU: about eight for each processor of an H200, which has 132
MANY = 2**31  # rows, or slots, that 32 bits no longer count
_COMPUTE = {torch.float64: tl.float64}


class Rows(NamedTuple):
    """Which row of the tables turns a token: its own place unless one of these is given."""

    position_ids: Tensor | None = None  # `(seq_len,)` or `(batch, seq_len)`
    cu_seqlens: Tensor | None = None  # `(num_sequences + 1,)`, from 0 on


AS_THEY_STAND = Rows()


class Cache(NamedTuple):
    """Where keys and values are kept, and which slot each token gets."""

    v: Tensor  # like k, of any width
    k_cache: Tensor  # `(num_blocks, block_size, num_heads, head_dim)`
    v_cache: Tensor
    slot_mapping: Tensor  # `(num_tokens,)`


def rotate(
    q: Tensor,
    k: Tensor,
    cos: Tensor,
    sin: Tensor,
    q_out: Tensor,
    k_out: Tensor,
    *,
    layout: str,
    rows: Rows = AS_THEY_STAND,
    inverse: bool = False,
) -> None:
    """Rotate `q` and `k` into `q_out` and `k_out`, which may be `q` and `k`, in one launch.

    Args:
        q: `(batch, q_heads, seq_len, head_dim)`, any strides.
        k: `(batch, k_heads, seq_len, head_dim)`, any strides; of no heads where only q rotates.
        cos: `(seq_len, num_pairs)`, `(batch, seq_len, num_pairs)`, or a table for `rows`.
        sin: like `cos`.
        q_out: like `q`, any strides.
        k_out: like `k`, any strides.
        layout: "interleaved" or "half".
        rows: of the tables.
        inverse: by the negative angle, as a gradient is.
    """
    q_tail, k_tail = (_passes(*pair, cos) for pair in ((q, q_out), (k, k_out)))
    tensors = {"q": q, "q_out": q_out, "k": k, "k_out": k_out}
    shared, grid = _shared(tensors, cos, sin, rows, layout, tail=q_tail or k_tail)
    if grid:
        with _device_of(q):
            programs.rotate[(grid,)](**shared, Q_TAIL=q_tail, K_TAIL=k_tail, INVERSE=inverse)


def rotate_into_cache(
    q: Tensor,
    k: Tensor,
    cos: Tensor,
    sin: Tensor,
    q_out: Tensor,
    k_out: Tensor,
    cache: Cache,
    *,
    layout: str,
    rows: Rows = AS_THEY_STAND,
) -> None:
    """Do as `rotate`, and write rotated keys and values into their slots, in the same launch.

    Args:
        q: as in `rotate`.
        k: likewise.
        cos: likewise.
        sin: likewise.
        q_out: likewise.
        k_out: likewise.
        cache: its values are `(batch, k_heads, seq_len, v_dim)`.
        layout: likewise.
        rows: likewise.
    """
    num_blocks, block_size, _, v_dim = cache.v_cache.shape
    tensors = {"q": q, "q_out": q_out, "k": k, "k_out": k_out, "v": cache.v}
    # Block and place in it are to a cache what batch and place are to the others.
    tensors |= {"k_cache": cache.k_cache.transpose(1, 2), "v_cache": cache.v_cache.transpose(1, 2)}
    v_chunk = min(_power_of_two(v_dim), VECTOR // q.element_size())
    v_chunks = v_dim // v_chunk
    shared, grid = _shared(
        tensors, cos, sin, rows, layout, tail=q.shape[-1] > 2 * cos.shape[-1], v_chunks=v_chunks
    )
    shared["WIDE"] |= num_blocks * block_size >= MANY
    if grid:
        with _device_of(q):
            programs.rotate_into_cache[(grid,)](
                **shared,
                slot_mapping=cache.slot_mapping,
                slot_stride=cache.slot_mapping.stride(0),
                num_slots=num_blocks * block_size,
                block_size=block_size,
                Q_TAIL=_passes(q, q_out, cos),
                V_CHUNK=v_chunk,
                V_CHUNKS=v_chunks,
            )


def _shared(
    tensors: dict[str, Tensor], cos, sin, rows: Rows, layout: str, *, tail: bool, v_chunks: int = 0
) -> tuple[dict, int]:
    """Return what both programs are told, and how many of them it takes."""
    q, k = tensors["q"], tensors["k"]
    batch, q_heads, seq_len, head_dim = q.shape
    pairs = cos.shape[-1]
    chunk = _chunk(pairs, q, layout)
    chunks = pairs // chunk
    if tail:
        chunks += math.ceil((head_dim - 2 * pairs) / (2 * chunk))
    tokens, k_heads = batch * seq_len, k.shape[1]
    blocks_of_rows = math.ceil(tokens * max(chunks, v_chunks) / ROWS)
    heads = _heads_at_once(blocks_of_rows, q_heads, k_heads)
    of_values = k_heads if v_chunks else 0
    blocks_of_heads = sum(math.ceil(n / heads) for n in (q_heads, k_heads, of_values))
    strides = {name: _strides(x) for name, x in tensors.items()}
    unit = math.gcd(VECTOR, *(n for s in strides.values() for n in s[:3]))
    if sin.stride() != cos.stride():
        cos, sin = cos.contiguous(), sin.contiguous()
    table_strides = (0, *cos.stride()) if cos.dim() == 2 else cos.stride()
    table_unit = math.gcd(VECTOR, *table_strides[:2])
    how, where, where_strides, sequences = programs.GIVEN.value, q, (0, 0), 0
    if rows.position_ids is not None:
        where, how = rows.position_ids, programs.INDEXED.value
        where_strides = (0, *where.stride()) if where.dim() == 1 else where.stride()
    elif rows.cu_seqlens is not None:
        where, how = rows.cu_seqlens.contiguous(), programs.PACKED.value
        sequences = len(where) - 1
    told = tensors | {
        f"{name}_strides": (*(n // unit for n in s[:3]), s[3]) for name, s in strides.items()
    }
    told |= {
        "cos": cos,
        "sin": sin,
        "where": where,
        "table_strides": (*(n // table_unit for n in table_strides[:2]), table_strides[2]),
        "where_strides": where_strides,
        "tokens": tokens,
        "seq_len": seq_len,
        "num_rows": cos.shape[-2],
        "num_sequences": sequences,
        "steps": sequences.bit_length(),
        "q_heads": q_heads,
        "k_heads": k_heads,
        "PAIRS": pairs,
        "HEAD_DIM": head_dim,
        "HALF": layout == "half",
        "FROM": how,
        "COMPUTE": _COMPUTE.get(q.dtype, tl.float32),
        "CHUNK": chunk,
        "CHUNKS": chunks,
        "UNIT": unit,
        "TABLE_UNIT": table_unit,
        "ROWS": ROWS,
        "HEADS": heads,
        "WIDE": blocks_of_rows * ROWS >= MANY,
        "num_warps": ROWS // 32,
    }
    return told, blocks_of_rows * blocks_of_heads


def _passes(x: Tensor, out: Tensor, cos: Tensor) -> bool:
    """Say whether dimensions after the pairs have to be copied: not onto themselves."""
    return x.shape[-1] > 2 * cos.shape[-1] and out.data_ptr() != x.data_ptr()


def _chunk(pairs: int, x: Tensor, layout: str) -> int:
    """Return the pairs of a row: a power of two that divides all, at most one vector of a thread.

    A vector is `VECTOR` bytes of neighbors, in "half" of as many pairs, in "interleaved" of half.
    """
    most = VECTOR // x.element_size() // (1 if layout == "half" else 2)
    return min(_power_of_two(pairs), most)


def _heads_at_once(blocks_of_rows: int, *num_heads: int) -> int:
    """Return the heads of a program: several share its tables, unless processors would idle."""
    heads = MOST_HEADS
    while heads > 1 and blocks_of_rows * sum(math.ceil(n / heads) for n in num_heads) < PLENTY:
        heads //= 2
    return heads


def _power_of_two(n: int) -> int:
    """Return the largest power of two that divides `n`."""
    return n & -n


def _strides(x: Tensor) -> tuple[int, ...]:
    """Return the strides, 0 for that of an axis of one element, which may be any number."""
    outer = zip(x.stride()[:3], x.shape[:3], strict=True)
    return *(stride if size > 1 else 0 for stride, size in outer), x.stride(3)


def _device_of(x: Tensor):
    """Return what makes the device of `x` the current one, where the programs start."""
    return torch.cuda.device_of(x)
