"""Keys and values written into a cache of pages, the keys rotated on the way."""

import torch
from torch import Tensor

from ropelib import checks, cuda
from ropelib.cuda import ops
from ropelib.devices import has_values, is_watched
from ropelib.fused import check_outs, check_together, rotate_qk
from ropelib.memory import overlaps, overlaps_itself
from ropelib.tensor_checks import check_tensor

_SLOTS = (torch.int64, torch.int32)


def rotate_into_cache(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cos: Tensor,
    sin: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    slot_mapping: Tensor,
    *,
    layout: str,
    position_ids: Tensor | None = None,
    cu_seqlens: Tensor | None = None,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Rotate `q` and `k`, and write keys and values into the slots of a cache: on a GPU, at once.

    `k_cache[slot // block_size, slot % block_size]` becomes the rotated key of its token, and
    `v_cache` there its value, bit for bit. All tokens stand one after the other, whichever
    sequence they are of.

    Args:
        q: `(num_tokens, q_heads, head_dim)`, any strides.
        k: `(num_tokens, k_heads, head_dim)`, like `q`.
        v: `(num_tokens, k_heads, v_dim)`, like `k`.
        cos: `(num_tokens, num_pairs)`, or the table that positions index, as in `rotate_qk`.
        sin: like `cos`.
        k_cache: `(num_blocks, block_size, k_heads, head_dim)`, the dtype of `k`, any strides. One
            that has its heads before the places of a block is given as a view, `transpose(1, 2)`.
        v_cache: `(num_blocks, block_size, k_heads, v_dim)`, likewise.
        slot_mapping: `(num_tokens,)`, int64 or int32; -1 for a token that is not kept. No slot may
            come twice.
        layout: "interleaved" or "half".
        position_ids: `(num_tokens,)`, as in `rotate_qk`.
        cu_seqlens: as in `rotate_qk`.
        out: where to write rotated `q` and `k`; may be `(q, k)`.

    Returns:
        `(q, k)`, rotated, or `out`.

    Raises:
        TypeError: as `rotate_qk`, or if `v`, a cache or `slot_mapping` is no tensor, or slots are
            neither int64 nor int32.
        ValueError: as `rotate_qk`, or if shapes, dtypes or devices do not fit, a cache shares
            memory with what is read or with `out`, or `out` with `v`, a slot is beyond the cache,
            or a gradient is wanted, which does not flow through a cache. On a GPU, which would have
            to be waited for, slots are not looked at: one beyond the cache is not written.

    Example:
        >>> from ropelib import cos_sin, inv_freq
        >>> q, k, v = torch.randn(3, 8, 64), torch.randn(3, 2, 64), torch.randn(3, 2, 64)
        >>> k_cache, v_cache = torch.zeros(2, 10, 4, 2, 64)  # ten blocks of four tokens
        >>> tables, slots = cos_sin([5, 6, 7], inv_freq(64)), torch.tensor([13, 14, -1])
        >>> q, k = rotate_into_cache(q, k, v, *tables, k_cache, v_cache, slots, layout="half")
        >>> torch.equal(k_cache[3, 1], k[0]), v_cache.count_nonzero().item()
        (True, 256)
    """
    checks.layout("layout", layout)
    for name, x in (("q", q), ("k", k)):
        check_tensor(name, x)
        if x.dim() != 3:
            raise ValueError(
                f"{name} must be (num_tokens, num_heads, head_dim), got shape {tuple(x.shape)}"
            )
    turned = q.transpose(0, 1), k.transpose(0, 1)
    position_ids = check_together(*turned, cos, sin, position_ids, cu_seqlens)
    if out is not None:
        check_outs(out, q, k, cos, sin)
    check_cache(q, k, v, k_cache, v_cache, slot_mapping, tables=(cos, sin))
    if out is not None:
        _check_apart(out, q, k, v, k_cache, v_cache)
    rows = {"position_ids": position_ids, "cu_seqlens": cu_seqlens}
    vectors = (q, k, v, k_cache, v_cache, *(() if out is None else out))
    if cuda.takes(*vectors, tables=(cos, sin, slot_mapping, *rows.values())):
        where = (slot_mapping, *rows.values(), layout)
        compiles = torch.compiler.is_compiling()
        if (out is None and compiles) or (not compiles and is_watched()):
            turned = ops.rotate_into_cache(q, k, v, cos, sin, k_cache, v_cache, *where)
            return turned if out is None else ops.write(out, turned)
        out = (torch.empty_like(q), torch.empty_like(k)) if out is None else out
        ops.into_cache((q, k), v, cos, sin, (k_cache, v_cache), *where, out)
        return out
    q, k = rotate_qk(q, k, cos, sin, layout=layout, **rows, seq_dim=0, out=out)
    block_size = k_cache.shape[1]
    kept = ((slot_mapping >= 0) & (slot_mapping < len(k_cache) * block_size)).nonzero()[:, 0]
    slots = slot_mapping[kept].long()
    for cache, x in ((k_cache, k), (v_cache, v)):
        cache[slots // block_size, slots % block_size] = x[kept]
    return q, k


def check_cache(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    slot_mapping: Tensor,
    tables: tuple[Tensor, ...] = (),
) -> None:
    """Raise unless `k` and `v` may be written into these caches.

    Args:
        q: as in `rotate_into_cache`, as the others are.
        k: likewise.
        v: likewise.
        k_cache: likewise.
        v_cache: likewise.
        slot_mapping: likewise.
        tables: cos and sin, where they are at hand.

    Example:
        >>> x, cache = torch.ones(3, 1, 4), torch.zeros(2, 8, 1, 4)
        >>> check_cache(x, x, x, cache, cache.clone(), torch.tensor([0, 1, 16]))
        Traceback (most recent call last):
        ...
        ValueError: slot_mapping must be less than 16, the slots of the cache, got 16
    """
    tensors = {"v": v, "k_cache": k_cache, "v_cache": v_cache, "slot_mapping": slot_mapping}
    for name, x in tensors.items():
        check_tensor(name, x)
        if x.device != k.device:
            raise ValueError(f"{name} must be on {k.device}, as k, got {x.device}")
        if name != "slot_mapping" and x.dtype != k.dtype:
            raise ValueError(f"{name} must be {k.dtype}, as k, got {x.dtype}")
    num_tokens, num_heads, head_dim = k.shape
    if v.dim() != 3 or v.shape[:2] != k.shape[:2]:
        raise ValueError(
            f"v must be ({num_tokens}, {num_heads}, v_dim), as k, got shape {tuple(v.shape)}"
        )
    for name, cache, width in (("k_cache", k_cache, head_dim), ("v_cache", v_cache, v.shape[-1])):
        if cache.dim() != 4 or cache.shape[2:] != (num_heads, width):
            raise ValueError(
                f"{name} must be (num_blocks, block_size, {num_heads}, {width}), "
                f"got shape {tuple(cache.shape)}"
            )
    if k_cache.shape[:2] != v_cache.shape[:2]:
        raise ValueError(
            "k_cache and v_cache must have the same blocks, "
            f"got shapes {tuple(k_cache.shape)} and {tuple(v_cache.shape)}"
        )
    if slot_mapping.dtype not in _SLOTS:
        raise TypeError(f"slot_mapping must be int64 or int32, got {slot_mapping.dtype}")
    if slot_mapping.shape != (num_tokens,):
        raise ValueError(
            f"slot_mapping must be ({num_tokens},), got shape {tuple(slot_mapping.shape)}"
        )
    if torch.is_grad_enabled() and any(
        x.requires_grad for x in (q, k, v, k_cache, v_cache, *tables)
    ):
        raise ValueError("a cache carries no gradient: use torch.no_grad()")
    if not (has_values(k) and has_values(k_cache)):
        return
    for name, cache in (("k_cache", k_cache), ("v_cache", v_cache)):
        if overlaps_itself(cache) or any(overlaps(cache, x) for x in (q, k, v)):
            raise ValueError(f"{name} must have memory of its own, apart from q, k and v")
    if overlaps(k_cache, v_cache):
        raise ValueError("k_cache and v_cache must not share memory")
    if slot_mapping.is_cpu and num_tokens:
        last = slot_mapping.max().item()
        if last >= k_cache.shape[0] * k_cache.shape[1]:
            raise ValueError(
                "slot_mapping must be less than "
                f"{k_cache.shape[0] * k_cache.shape[1]}, the slots of the cache, got {last}"
            )


def _check_apart(
    out: tuple[Tensor, Tensor], q: Tensor, k: Tensor, v: Tensor, k_cache: Tensor, v_cache: Tensor
) -> None:
    """Raise where `out` lies on what is read or written after it."""
    if not (has_values(k) and has_values(k_cache)):
        return
    for name, target, x in (("q", out[0], q), ("k", out[1], k)):
        if overlaps(target, v):
            raise ValueError(f"out of {name} must not share memory with v")
        # That the caches lie apart from q and k is known.
        if target is not x and (overlaps(target, k_cache) or overlaps(target, v_cache)):
            raise ValueError(f"out of {name} must not share memory with a cache")
