"""The programs as operations of torch: with a gradient, and for a compiler a box it does not open.

The gradient of a rotation is the rotation by the negative angle: all that it keeps are the tables.
"""

import torch
from torch import Tensor
from torch._C._functorch import is_legacy_batchedtensor

from ropelib.devices import is_watched
from ropelib.pairs import rotate_pairs
from ropelib.table_rows import looked_up


def rotate(
    q: Tensor,
    k: Tensor | None,
    cos: Tensor,
    sin: Tensor,
    layout: str,
    *,
    position_ids: Tensor | None = None,
    cu_seqlens: Tensor | None = None,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Rotate what `cuda.takes` in one launch, with a gradient where one is wanted.

    Args:
        q: `(..., num_heads, seq_len, head_dim)`, two to four axes.
        k: likewise, with other heads; None rotates `q` alone.
        cos: `(seq_len, num_pairs)`, `(batch, seq_len, num_pairs)`, or a table to look up in.
        sin: like `cos`.
        layout: "interleaved" or "half".
        position_ids: rows of the tables, `(seq_len,)` or `(batch, seq_len)`.
        cu_seqlens: where packed sequences start and the last ends, `(num_sequences + 1,)`.
        out: where to write, like `q` and `k`; no gradient flows through it.

    Returns:
        `(q, k)`, rotated; of no heads where `k` is None.
    """
    vectors = (q,) if k is None else (q, k)
    wide = [_four(x) for x in vectors]
    if k is None:
        wide.append(wide[0][:, :0])
    where = position_ids, cu_seqlens
    compiles = torch.compiler.is_compiling()
    watched = not compiles and is_watched()  # by what must see an operation
    if out is not None and not watched:
        wide_out = [_four(x) for x in out if x is not None]
        _launch(*wide, cos, sin, *where, layout, False, *wide_out, *wide[len(wide_out) :])
        return out
    wanted = torch.is_grad_enabled() and any(x.requires_grad for x in vectors)
    if compiles or watched or wanted:
        turned = rotate_qk(*wide, cos, sin, *where, layout, False)
    else:
        turned = _rotate_qk(*wide, cos, sin, *where, layout, False)
    shapes = (q.shape, wide[1].shape if k is None else k.shape)
    turned = tuple(x.view(shape) for x, shape in zip(turned, shapes, strict=True))
    return turned if out is None else write(out, turned)


def write(out: tuple[Tensor, Tensor | None], turned: tuple[Tensor, Tensor]) -> tuple:
    """Copy what was rotated to where it was asked for, and return that."""
    for target, x in zip(out, turned, strict=True):
        if target is not None:
            target.copy_(x)
    return out


def rotate_alone(x: Tensor, cos: Tensor, sin: Tensor, layout: str, out: Tensor | None) -> Tensor:
    """Rotate one tensor, as `kernels.rotate` is asked to."""
    if cos.dim() == 4:  # (batch, 1, seq_len, num_pairs)
        cos, sin = cos.squeeze(1), sin.squeeze(1)
    return rotate(x, None, cos, sin, layout, out=None if out is None else (out, None))[0]


def _four(x: Tensor) -> Tensor:
    """Return a view `(batch, num_heads, seq_len, head_dim)`."""
    return x if x.dim() == 4 else x[(None,) * (4 - x.dim())]


def _launch(q, k, cos, sin, position_ids, cu_seqlens, layout, inverse, q_out, k_out):
    from ropelib.cuda import launch  # Triton takes a second to load, and many never need it

    rows = launch.Rows(position_ids, cu_seqlens)
    launch.rotate(q, k, cos, sin, q_out, k_out, layout=layout, rows=rows, inverse=inverse)


def _rotate_qk(
    q: Tensor,
    k: Tensor,
    cos: Tensor,
    sin: Tensor,
    position_ids: Tensor | None,
    cu_seqlens: Tensor | None,
    layout: str,
    inverse: bool,
) -> tuple[Tensor, Tensor]:
    """Rotate into new memory, which lies as `q` and `k` do."""
    q_out, k_out = torch.empty_like(q), torch.empty_like(k)
    _launch(q, k, cos, sin, position_ids, cu_seqlens, layout, inverse, q_out, k_out)
    return q_out, k_out


rotate_qk = torch.library.custom_op("ropelib::rotate_qk", _rotate_qk, mutates_args=())


@rotate_qk.register_fake
def _(q, k, cos, sin, position_ids, cu_seqlens, layout, inverse):
    return torch.empty_like(q), torch.empty_like(k)


def _keep(ctx, inputs, output):
    _, _, *tables, ctx.layout, ctx.inverse = inputs
    ctx.save_for_backward(*tables)
    ctx.set_materialize_grads(False)
    ctx.no_q, ctx.no_k = ((*x.shape[:1], 0, *x.shape[2:]) for x in inputs[:2])


def _turn_back(ctx, q_grad, k_grad):
    if q_grad is None and k_grad is None:
        return 8 * (None,)
    # What has no gradient is of no heads, and gets none.
    given = k_grad if q_grad is None else q_grad
    q = given.new_empty(ctx.no_q) if q_grad is None else q_grad
    k = given.new_empty(ctx.no_k) if k_grad is None else k_grad
    batched = not torch.compiler.is_compiling() and is_legacy_batchedtensor(given)
    turn = _plainly if batched else rotate_qk
    turned = turn(q, k, *ctx.saved_tensors, ctx.layout, not ctx.inverse)
    backs = zip((q_grad, k_grad), turned, strict=True)
    return *(None if grad is None else back for grad, back in backs), *6 * (None,)


rotate_qk.register_autograd(_turn_back, setup_context=_keep)


@rotate_qk.register_vmap
def _(info, in_dims, *args):
    return torch.vmap(_plainly, in_dims)(*args), (0, 0)


def _plainly(q, k, cos, sin, position_ids, cu_seqlens, layout, inverse):
    """Do as `rotate_qk` by operations that torch can batch."""
    cos, sin = looked_up(cos, sin, position_ids, cu_seqlens, seq_len=q.shape[-2])
    cos, sin = (t.unsqueeze(1) if t.dim() == 3 else t for t in (cos, sin))
    return tuple(rotate_pairs(x, cos, -sin if inverse else sin, layout) for x in (q, k))


@torch.library.custom_op("ropelib::rotate_into_cache", mutates_args=("k_cache", "v_cache"))
def rotate_into_cache(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cos: Tensor,
    sin: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    slot_mapping: Tensor,
    position_ids: Tensor | None,
    cu_seqlens: Tensor | None,
    layout: str,
) -> tuple[Tensor, Tensor]:
    """Rotate into new memory, and write keys and values into their slots."""
    out = torch.empty_like(q), torch.empty_like(k)
    into_cache(
        (q, k), v, cos, sin, (k_cache, v_cache), slot_mapping, position_ids, cu_seqlens, layout, out
    )
    return out


@rotate_into_cache.register_fake
def _(q, k, v, cos, sin, k_cache, v_cache, slot_mapping, position_ids, cu_seqlens, layout):
    return torch.empty_like(q), torch.empty_like(k)


def into_cache(
    vectors, v, cos, sin, caches, slot_mapping, position_ids, cu_seqlens, layout, out
) -> None:
    """Do as `launch.rotate_into_cache`, of tensors `(num_tokens, num_heads, head_dim)`."""
    from ropelib.cuda import launch

    q, k, v, q_out, k_out = (x.transpose(0, 1)[None] for x in (*vectors, v, *out))
    launch.rotate_into_cache(
        *(q, k, cos, sin, q_out, k_out),
        launch.Cache(v, *caches, slot_mapping),
        layout=layout,
        rows=launch.Rows(position_ids, cu_seqlens),
    )
