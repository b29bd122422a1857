"""The programs that run on the GPU, in Triton: a rotation of q and k, and one that fills a cache.

They walk over *rows*. A row is one chunk of one token: `CHUNK` pairs, whose cosines and sines serve
all heads. A chunk is a power of two that divides the number of pairs, so that heads of 80 or 96
dimensions leave no lane idle, as a tile as wide as the next power of two would. What follows the
pairs in a head is chunks, too, which pass. A program takes `ROWS` rows of `HEADS` heads: each
thread one row, of each head one vector of 16 bytes (two in layout "half", where pairs lie apart).
All loads of a program come before its first store, so that they wait together; and since no other
program touches its elements, `out` may be `x`. Offsets have 64 bits. Strides come divided by
`UNIT`, so that the compiler knows a divisor of each offset and loads whole vectors.

Nothing here checks anything: `ropelib.fused` and `ropelib.paged` do.
"""

import triton
import triton.language as tl

GIVEN, INDEXED, PACKED = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)  # whence a table's row
_UNSPECIALIZED = [
    *("tokens", "seq_len", "num_rows", "num_sequences", "steps", "q_heads", "k_heads"),
    *("num_slots", "block_size"),
]


@triton.jit
def _rows(
    block, tokens, seq_len, ROWS: tl.constexpr, CHUNKS: tl.constexpr, WIDE: tl.constexpr
):  # fmt: skip
    """Return token, batch, place and chunk of each row, and whether there is such a token.

    Divided in 32 bits unless the rows are too many: in 64 it is a subroutine.
    """
    if WIDE:
        block = block.to(tl.int64)
    index = block * ROWS + tl.arange(0, ROWS)
    token = index // CHUNKS
    chunk = (index % CHUNKS).to(tl.int32)
    batch = token // seq_len
    place = token - batch * seq_len
    return token.to(tl.int64), batch.to(tl.int64), place.to(tl.int64), chunk, token < tokens


@triton.jit
def _start_of_sequence(starts, place, num_sequences, steps):
    """Return where the packed sequence of each token starts: the last of `starts` up to it."""
    low = tl.zeros_like(place)
    high = low + num_sequences
    for _ in range(steps):
        middle = (low + high + 1) // 2
        before = tl.load(starts + middle).to(tl.int64) <= place
        low = tl.where(before, middle, low)
        high = tl.where(before, high, middle - 1)
    return tl.load(starts + low).to(tl.int64)


@triton.jit
def _load_tables(
    cos, sin, where, batch, place, inside, chunk,
    table_strides, where_strides, num_rows, num_sequences, steps,
    FROM: tl.constexpr, CHUNK: tl.constexpr, COMPUTE: tl.constexpr, INVERSE: tl.constexpr,
    TABLE_UNIT: tl.constexpr,
):  # fmt: skip
    """Return cos and sin of each row, `(rows, CHUNK)`: no numbers where the tables have no row."""
    if FROM == GIVEN:
        at = batch * table_strides[0] + place * table_strides[1]
        known = inside
    else:
        if FROM == INDEXED:
            spot = where + batch * where_strides[0] + place * where_strides[1]
            row = tl.load(spot, mask=inside, other=0).to(tl.int64)
        else:
            row = place - _start_of_sequence(where, place, num_sequences, steps)
        at = row * table_strides[1]
        known = inside & (row >= 0) & (row < num_rows)
    at = at * TABLE_UNIT + chunk * CHUNK * table_strides[2]
    c = _load_chunk(cos, at, table_strides[2], known, CHUNK).to(COMPUTE)
    s = _load_chunk(sin, at, table_strides[2], known, CHUNK).to(COMPUTE)
    if INVERSE:
        s = -s
    return c, s


@triton.jit
def _load_chunk(table, at, step, known, CHUNK: tl.constexpr):
    """Load `CHUNK` neighbors of each row by vectors of 16 bytes, all in the thread of the row.

    More than one vector at once would be dealt out to several threads, and then have to change
    hands by way of shared memory.
    """
    VECTOR: tl.constexpr = 128 // table.dtype.element_ty.primitive_bitwidth
    mask = known[:, None]
    if CHUNK <= VECTOR:
        spot = table + at[:, None] + tl.arange(0, CHUNK)[None, :] * step
        chunk = tl.load(spot, mask=mask, other=float("nan"))
    else:
        PART: tl.constexpr = CHUNK // 2
        low = _load_chunk(table, at, step, known, PART)
        high = _load_chunk(table, at + PART * step, step, known, PART)
        ROWS: tl.constexpr = low.shape[0]
        chunk = tl.join(low, high).permute(0, 2, 1).reshape(ROWS, CHUNK)
    return chunk


@triton.jit
def _turn(
    x, at, x_step, out, out_at, out_step, cache, cache_at, cache_step,
    here, kept, turns, chunk, cos, sin,
    PAIRS: tl.constexpr, HEAD_DIM: tl.constexpr, CHUNK: tl.constexpr, COMPUTE: tl.constexpr,
    HALF: tl.constexpr, TAIL: tl.constexpr, CACHED: tl.constexpr,
):  # fmt: skip
    """Rotate one tile, `(heads, rows, dimensions of a chunk)`, into `out` and perhaps a cache."""
    PASSING: tl.constexpr = HEAD_DIM - 2 * PAIRS if TAIL else 0
    RAGGED: tl.constexpr = PASSING % (2 * CHUNK) != 0
    cos, sin = cos[None, :, :], sin[None, :, :]
    mask = here[:, :, None]
    x += at[:, :, None]
    out += out_at[:, :, None]
    if HALF:
        # What passes is cut in two, as what rotates is: a row takes a chunk of each half.
        dim_a = (chunk * CHUNK)[:, None] + tl.arange(0, CHUNK)[None, :]
        dim_b = dim_a + PAIRS
        if TAIL:
            FAR: tl.constexpr = (PASSING + 2 * CHUNK - 1) // (2 * CHUNK) * CHUNK
            dim_a = tl.where(turns[:, None], dim_a, dim_a + PAIRS)
            dim_b = tl.where(turns[:, None], dim_b, dim_a + FAR)
        dim_a, dim_b = dim_a[None, :, :], dim_b[None, :, :]
        mask_a, mask_b = mask, mask
        if RAGGED:
            mask_a, mask_b = mask & (dim_a < HEAD_DIM), mask & (dim_b < HEAD_DIM)
        a = tl.load(x + dim_a * x_step, mask=mask_a)
        b = tl.load(x + dim_b * x_step, mask=mask_b)
        wide_a, wide_b = a.to(COMPUTE), b.to(COMPUTE)
        new_a = (wide_a * cos - wide_b * sin).to(a.dtype)
        new_b = (wide_a * sin + wide_b * cos).to(b.dtype)
        if TAIL:
            new_a = tl.where(turns[None, :, None], new_a, a)
            new_b = tl.where(turns[None, :, None], new_b, b)
        tl.store(out + dim_a * out_step, new_a, mask=mask_a)
        tl.store(out + dim_b * out_step, new_b, mask=mask_b)
        if CACHED:
            cache += cache_at[:, :, None]
            kept = kept[None, :, None]
            tl.store(cache + dim_a * cache_step, new_a, mask=mask_a & kept)
            tl.store(cache + dim_b * cache_step, new_b, mask=mask_b & kept)
    else:
        dim = (chunk * (2 * CHUNK))[:, None] + tl.arange(0, 2 * CHUNK)[None, :]
        dim = dim[None, :, :]
        if RAGGED:
            mask = mask & (dim < HEAD_DIM)
        pairs = tl.load(x + dim * x_step, mask=mask)
        HEADS: tl.constexpr = pairs.shape[0]
        ROWS: tl.constexpr = pairs.shape[1]
        a, b = tl.split(pairs.to(COMPUTE).reshape(HEADS, ROWS, CHUNK, 2))
        new = tl.join(a * cos - b * sin, a * sin + b * cos)
        new = new.reshape(HEADS, ROWS, 2 * CHUNK).to(pairs.dtype)
        if TAIL:
            new = tl.where(turns[None, :, None], new, pairs)
        tl.store(out + dim * out_step, new, mask=mask)
        if CACHED:
            cache += cache_at[:, :, None]
            tl.store(cache + dim * cache_step, new, mask=mask & kept[None, :, None])


@triton.jit
def _head_offsets(first, strides, batch, place, UNIT: tl.constexpr, HEADS: tl.constexpr):
    """Return the offsets of `HEADS` heads from `first` on at the place of each row."""
    head = (first + tl.arange(0, HEADS)).to(tl.int64) * strides[1]
    return (head[:, None] + (batch * strides[0] + place * strides[2])[None, :]) * UNIT


@triton.jit
def _heads_here(first, num_heads, inside, HEADS: tl.constexpr):
    return ((first + tl.arange(0, HEADS)) < num_heads)[:, None] & inside[None, :]


@triton.jit(do_not_specialize=_UNSPECIALIZED)
def rotate(
    q, q_out, k, k_out, cos, sin, where,
    q_strides, q_out_strides, k_strides, k_out_strides, table_strides, where_strides,
    tokens, seq_len, num_rows, num_sequences, steps, q_heads, k_heads,
    PAIRS: tl.constexpr, HEAD_DIM: tl.constexpr, HALF: tl.constexpr, INVERSE: tl.constexpr,
    FROM: tl.constexpr, Q_TAIL: tl.constexpr, K_TAIL: tl.constexpr, COMPUTE: tl.constexpr,
    CHUNK: tl.constexpr, CHUNKS: tl.constexpr, UNIT: tl.constexpr, TABLE_UNIT: tl.constexpr,
    ROWS: tl.constexpr, HEADS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Rotate `ROWS` rows of `HEADS` heads of q or of k.

    The grid is flat. The heads of a place are taken by programs beside one another, which so find
    its cosines and sines where the first has left them.
    """
    q_blocks = tl.cdiv(q_heads, HEADS)
    blocks = q_blocks + tl.cdiv(k_heads, HEADS)
    block = tl.program_id(0) % blocks
    rows = tl.program_id(0) // blocks
    _, batch, place, chunk, inside = _rows(rows, tokens, seq_len, ROWS, CHUNKS, WIDE)
    turns = chunk < PAIRS // CHUNK
    c, s = _load_tables(
        cos, sin, where, batch, place, inside & turns, chunk,
        table_strides, where_strides, num_rows, num_sequences, steps,
        FROM, CHUNK, COMPUTE, INVERSE, TABLE_UNIT,
    )  # fmt: skip
    if block < q_blocks:
        first = block * HEADS
        _turn(
            q, _head_offsets(first, q_strides, batch, place, UNIT, HEADS), q_strides[3],
            q_out, _head_offsets(first, q_out_strides, batch, place, UNIT, HEADS), q_out_strides[3],
            q, 0, 1, _heads_here(first, q_heads, inside & (turns | Q_TAIL), HEADS), 0,
            turns, chunk, c, s, PAIRS, HEAD_DIM, CHUNK, COMPUTE, HALF, Q_TAIL, False,
        )  # fmt: skip
    else:
        first = (block - q_blocks) * HEADS
        _turn(
            k, _head_offsets(first, k_strides, batch, place, UNIT, HEADS), k_strides[3],
            k_out, _head_offsets(first, k_out_strides, batch, place, UNIT, HEADS), k_out_strides[3],
            k, 0, 1, _heads_here(first, k_heads, inside & (turns | K_TAIL), HEADS), 0,
            turns, chunk, c, s, PAIRS, HEAD_DIM, CHUNK, COMPUTE, HALF, K_TAIL, False,
        )  # fmt: skip


@triton.jit
def _copy(
    x, at, x_step, cache, cache_at, cache_step, here, chunk,
    CHUNK: tl.constexpr,
):  # fmt: skip
    """Copy one tile of values, `(heads, rows, CHUNK)`, into the cache."""
    dim = ((chunk * CHUNK)[:, None] + tl.arange(0, CHUNK)[None, :])[None, :, :]
    mask = here[:, :, None]
    values = tl.load(x + at[:, :, None] + dim * x_step, mask=mask)
    tl.store(cache + cache_at[:, :, None] + dim * cache_step, values, mask=mask)


@triton.jit
def _slots(
    slot_mapping, slot_stride, token, inside, num_slots, block_size, WIDE: tl.constexpr
):  # fmt: skip
    """Return the block of the cache and the place in it of each token, and whether it has one."""
    slot = tl.load(slot_mapping + token * slot_stride, mask=inside, other=-1).to(tl.int64)
    kept = inside & (slot >= 0) & (slot < num_slots)
    if not WIDE:
        slot = slot.to(tl.int32)
    page = slot // block_size
    return page.to(tl.int64), (slot - page * block_size).to(tl.int64), kept


@triton.jit(do_not_specialize=_UNSPECIALIZED)
def rotate_into_cache(
    q, q_out, k, k_out, v, k_cache, v_cache, cos, sin, where, slot_mapping,
    q_strides, q_out_strides, k_strides, k_out_strides, v_strides, k_cache_strides,
    v_cache_strides, table_strides, where_strides, slot_stride,
    tokens, seq_len, num_rows, num_sequences, steps, q_heads, k_heads, num_slots, block_size,
    PAIRS: tl.constexpr, HEAD_DIM: tl.constexpr, HALF: tl.constexpr,
    FROM: tl.constexpr, Q_TAIL: tl.constexpr, COMPUTE: tl.constexpr,
    CHUNK: tl.constexpr, CHUNKS: tl.constexpr, V_CHUNK: tl.constexpr, V_CHUNKS: tl.constexpr,
    UNIT: tl.constexpr, TABLE_UNIT: tl.constexpr, ROWS: tl.constexpr, HEADS: tl.constexpr,
    WIDE: tl.constexpr,
):  # fmt: skip
    """Rotate q and k as `rotate` does, and write k and v where `slot_mapping` says.

    The blocks of heads are those of q, then of k, then of v.
    """
    q_blocks, k_blocks = tl.cdiv(q_heads, HEADS), tl.cdiv(k_heads, HEADS)
    blocks = q_blocks + 2 * k_blocks
    block = tl.program_id(0) % blocks
    rows = tl.program_id(0) // blocks
    if block < q_blocks + k_blocks:
        token, batch, place, chunk, inside = _rows(rows, tokens, seq_len, ROWS, CHUNKS, WIDE)
        turns = chunk < PAIRS // CHUNK
        c, s = _load_tables(
            cos, sin, where, batch, place, inside & turns, chunk,
            table_strides, where_strides, num_rows, num_sequences, steps,
            FROM, CHUNK, COMPUTE, False, TABLE_UNIT,
        )  # fmt: skip
        if block < q_blocks:
            first = block * HEADS
            at = _head_offsets(first, q_strides, batch, place, UNIT, HEADS)
            out_at = _head_offsets(first, q_out_strides, batch, place, UNIT, HEADS)
            here = _heads_here(first, q_heads, inside & (turns | Q_TAIL), HEADS)
            _turn(
                q, at, q_strides[3], q_out, out_at, q_out_strides[3], q, at, 1,
                here, inside, turns, chunk, c, s,
                PAIRS, HEAD_DIM, CHUNK, COMPUTE, HALF, Q_TAIL, False,
            )  # fmt: skip
        else:
            # Keys pass whole, even in place: what does not turn belongs into the cache as well.
            first = (block - q_blocks) * HEADS
            at = _head_offsets(first, k_strides, batch, place, UNIT, HEADS)
            out_at = _head_offsets(first, k_out_strides, batch, place, UNIT, HEADS)
            page, spot, kept = _slots(
                slot_mapping, slot_stride, token, inside, num_slots, block_size, WIDE
            )
            cache_at = _head_offsets(first, k_cache_strides, page, spot, UNIT, HEADS)
            here = _heads_here(first, k_heads, inside, HEADS)
            _turn(
                k, at, k_strides[3], k_out, out_at, k_out_strides[3],
                k_cache, cache_at, k_cache_strides[3], here, kept, turns, chunk, c, s,
                PAIRS, HEAD_DIM, CHUNK, COMPUTE, HALF, 2 * PAIRS < HEAD_DIM, True,
            )  # fmt: skip
    else:
        token, batch, place, chunk, inside = _rows(rows, tokens, seq_len, ROWS, V_CHUNKS, WIDE)
        page, spot, kept = _slots(
            slot_mapping, slot_stride, token, inside, num_slots, block_size, WIDE
        )
        first = (block - q_blocks - k_blocks) * HEADS
        _copy(
            v, _head_offsets(first, v_strides, batch, place, UNIT, HEADS), v_strides[3],
            v_cache, _head_offsets(first, v_cache_strides, page, spot, UNIT, HEADS),
            v_cache_strides[3], _heads_here(first, k_heads, kept, HEADS), chunk, V_CHUNK,
        )  # fmt: skip
