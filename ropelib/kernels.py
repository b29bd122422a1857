"""The rotation of `pairs.rotate_pairs` by operations that cost less, and which of them when.

`tests/core/test_kernels.py` holds every function here to that formula.
"""

import math

import torch
from torch import Tensor
from torch._C._functorch import is_legacy_batchedtensor
from torch.autograd.forward_ad import unpack_dual

from ropelib.pairs import compute_dtype, rotate_pairs
from ropelib.tensor_checks import FLOATS

BLOCK = 2**19  # elements that one core's cache holds
FEW = 2**18  # elements up to which operations are dear and memory is cheap


def rotate(x: Tensor, cos: Tensor, sin: Tensor, layout: str, out: Tensor | None) -> Tensor:
    """Rotate as `rotate_pairs` does, into `out` where it is given, in the way that costs least."""
    # A compiler fuses plain operations better than it follows buffers.
    if torch.compiler.is_compiling():
        rotated = rotate_pairs(x, cos, sin, layout)
    elif x.numel() <= FEW and not x.requires_grad:
        rotated = rotate_few(x, *factors_of(x, cos, sin, layout))
    elif _has_gradient(cos) or _has_gradient(sin):
        rotated = rotate_pairs(x, cos, sin, layout)
    elif out is None:
        rotated = rotate_with_gradient(x, cos, sin, layout)
    else:
        return rotate_into(out, x, cos, sin, layout)
    return rotated if out is None else out.copy_(rotated)


def rotate_few(x: Tensor, *factors: Tensor) -> Tensor:
    """Rotate by as few operations as can be: for a step of decoding their number is the cost."""
    rotary_dim = factors[0].shape[-1] * (3 - len(factors))
    turns = x if rotary_dim == x.shape[-1] else x[..., :rotary_dim]
    wide = _cast(turns, compute_dtype(x))
    if len(factors) == 1:
        pairs = torch.complex(wide[..., 0::2], wide[..., 1::2])
        turned = torch.view_as_real(pairs * factors[0]).flatten(-2)
    else:
        cos, sin = factors
        turned = torch.addcmul(wide * cos, wide.roll(rotary_dim // 2, -1), sin)
    turned = _cast(turned, x.dtype)
    return turned if turns is x else torch.cat((turned, x[..., rotary_dim:]), dim=-1)


def rotate_together(q: Tensor, k: Tensor, *factors: Tensor) -> tuple[Tensor, Tensor]:
    """Rotate both at once by `rotate_few`, each of whose operations costs more than it computes."""
    both = rotate_few(torch.cat((q, k), dim=-3), *factors)
    return both.split_with_sizes((q.shape[-3], k.shape[-3]), dim=-3)


def fit_together(q: Tensor, k: Tensor) -> bool:
    """Say whether `q` and `k` are one position each, small, and may be laid side by side."""
    return (
        q.dim() == k.dim() > 2
        and q.shape[-2] == k.shape[-2] == 1
        and q.shape[:-3] == k.shape[:-3]
        and (q.dtype, q.device) == (k.dtype, k.device)
        and q.dtype in FLOATS
        and q.numel() <= FEW
        and not (q.requires_grad or k.requires_grad or torch.compiler.is_compiling())
    )


def factors_of(x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> tuple[Tensor, ...]:
    """Return what `rotate_few` multiplies `x` by."""
    dtype = compute_dtype(x)
    cos, sin = _cast(cos, dtype), _cast(sin, dtype)
    if layout == "interleaved":
        return (torch.complex(cos, sin),)
    return torch.cat((cos, cos), dim=-1), torch.cat((-sin, sin), dim=-1)


def rotate_into(out: Tensor, x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> Tensor:
    """Rotate fast, into `out`, which may be `x`."""
    num_pairs = cos.shape[-1]
    dtype = compute_dtype(x)
    cos, sin = cos.to(dtype), sin.to(dtype)
    # One complex table turns neighbors; cos and sin turn dimensions that lie apart.
    tables = (torch.complex(cos, sin),) if layout == "interleaved" else (cos, sin)
    tables = [table.expand(*x.shape[:-1], num_pairs) for table in tables]
    _rotate_blocks(out[..., : 2 * num_pairs], x[..., : 2 * num_pairs], *tables)
    out[..., 2 * num_pairs :].copy_(x[..., 2 * num_pairs :])
    return out


def _rotate_blocks(out: Tensor, x: Tensor, *tables: Tensor) -> None:
    """Rotate all dimensions of `x` into `out`, block by block where `x` overflows the cache."""
    if x.is_cpu and x.dim() > 1 and x.numel() > BLOCK:
        count = math.ceil(x.numel() / BLOCK)
        tensors = (out, x, *tables)
        parts = [t.unbind() if count >= len(x) else t.chunk(count) for t in tensors]
        for block in zip(*parts, strict=True):
            _rotate_blocks(*block)
    elif x.dtype != compute_dtype(x) or (len(tables) == 1 and not _are_complex(x, out)):
        scratch = x.to(compute_dtype(x), copy=True, memory_format=torch.contiguous_format)
        _rotate_blocks(scratch, scratch, *tables)
        out.copy_(scratch)
    elif len(tables) == 1:
        torch.mul(_as_complex(x), tables[0], out=_as_complex(out))
    else:
        cos, sin = tables
        (first, second), (out_first, out_second) = x.chunk(2, dim=-1), out.chunk(2, dim=-1)
        # Where out is x, the old first half is still needed while the new one is computed.
        new_first = torch.mul(first, cos).addcmul_(second, sin, value=-1)
        torch.mul(second, cos, out=out_second).addcmul_(first, sin)
        out_first.copy_(new_first)


def _as_complex(x: Tensor) -> Tensor:
    return torch.view_as_complex(x.unflatten(-1, (-1, 2)))


def _are_complex(*tensors: Tensor) -> bool:
    """Say whether neighbors lie in memory as complex numbers do."""
    return all(
        x.stride(-1) == 1 and all(n % 2 == 0 for n in (*x.stride()[:-1], x.storage_offset()))
        for x in tensors
    )


def rotate_with_gradient(x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> Tensor:
    """Rotate fast, into new memory, and keep no more for the way back than the tables."""
    # Gradients in batches (`is_grads_batched`, `jacobian(vectorize=True)`) pass by the vmap below.
    way = rotate_pairs if is_legacy_batchedtensor(x) else _Rotation.apply
    return way(x, cos, sin, layout)


class _Rotation(torch.autograd.Function):
    """The rotation, whose derivative is a rotation: all that backward needs are the tables."""

    @staticmethod
    def forward(x, cos, sin, layout):
        return rotate_into(torch.empty_like(x), x, cos, sin, layout)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, cos, sin, ctx.layout = inputs
        ctx.save_for_backward(cos, sin)
        ctx.save_for_forward(cos, sin)

    @staticmethod
    def backward(ctx, grad):
        cos, sin = ctx.saved_tensors
        turned_back = rotate_with_gradient(grad, cos, -sin, ctx.layout)  # R^T = R(-angle)
        return turned_back, None, None, None

    @staticmethod
    def jvp(ctx, tangent, *_):
        return rotate_with_gradient(tangent, *ctx.saved_tensors, ctx.layout)

    @staticmethod
    def vmap(info, in_dims, x, cos, sin, layout):
        return torch.vmap(rotate_pairs, in_dims)(x, cos, sin, layout), 0


def _has_gradient(table: Tensor) -> bool:
    """Say whether a derivative with respect to `table` is wanted, backward or forward."""
    return table.requires_grad or unpack_dual(table).tangent is not None


def _cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Do as `to` does, which takes a microsecond to find that there is nothing to do."""
    return x if x.dtype == dtype else x.to(dtype)
