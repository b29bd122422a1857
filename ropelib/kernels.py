"""The rotation of `pairs.rotate_pairs` by operations that cost less, and which of them when.

`tests/core/test_kernels.py` holds every function here to that formula.
"""

import itertools
import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch._C import _functorch, _is_any_autocast_enabled, _is_tracing
from torch._C._functorch import is_functorch_wrapped_tensor, is_legacy_batchedtensor
from torch.autograd import forward_ad

from ropelib import cuda, native
from ropelib.cuda import ops
from ropelib.memory import is_bare
from ropelib.pairs import compute_dtype, rotate_pairs
from ropelib.tensor_checks import FLOATS, LOW_PRECISION

BLOCK = 2**20  # bytes that are read again and again, so that the cache of a thread holds them
FEW = 2**18  # elements of a step of decoding up to which q and k are laid side by side
TINY = 2**14  # elements up to which operations are dear and memory is cheap


def rotate(x: Tensor, cos: Tensor, sin: Tensor, layout: str, out: Tensor | None) -> Tensor:
    """Rotate as `rotate_pairs` does, into `out` where it is given, in the way that costs least."""
    if _is_cast(x):
        with torch.autocast(x.device.type, enabled=False):
            return rotate(x, cos, sin, layout, out)
    # A compiler fuses plain operations better than it follows buffers.
    if torch.compiler.is_compiling():
        rotated = rotate_fused(x, cos, sin, layout)
    elif cuda.takes(x, out, tables=(cos, sin)):
        return ops.rotate_alone(x, cos, sin, layout, out)
    elif _is_tracing():
        rotated = rotate_pairs(x, cos, sin, layout)
    elif out is not None and all(map(is_bare, (out, x, cos, sin))):
        is_apart = out.data_ptr() != x.data_ptr()
        return rotate_into(out, x, cos, sin, layout, is_apart=is_apart)
    elif x.numel() <= TINY and not _wants_gradient(x):
        rotated = rotate_few(x, *factors_of(x, cos, sin, layout))
    elif _is_constant(x) and _is_constant(cos) and _is_constant(sin):
        rotated = rotate_into(torch.empty_like(x), x, cos, sin, layout, is_apart=True)
    elif _has_gradient(cos) or _has_gradient(sin):
        rotated = rotate_pairs(x, cos, sin, layout)
    else:
        rotated = rotate_with_gradient(x, cos, sin, layout)
    return rotated if out is None else out.copy_(rotated)


def rotate_fused(x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> Tensor:
    """Rotate by operations that a compiler makes one loop of, forward and backward.

    Inductor makes vectors of neither an addition after `cat` in 16 bits nor of slices with steps.
    """
    num_pairs, dtype = cos.shape[-1], compute_dtype(x)
    cos, sin = cos.to(dtype), sin.to(dtype)
    turns, rest = x.split((2 * num_pairs, x.shape[-1] - 2 * num_pairs), dim=-1)
    if layout == "interleaved":
        a, b = turns.unflatten(-1, (num_pairs, 2)).to(dtype).unbind(-1)
        turned = (a * cos - b * sin).to(x.dtype), (a * sin + b * cos).to(x.dtype)
        turned = torch.stack(turned, dim=-1)
    else:
        wide = turns.unflatten(-1, (2, num_pairs)).to(dtype)
        sign = torch.arange(-1, 2, 2, device=x.device).unsqueeze(-1)  # of the first, of the second
        cos, sin = cos.unsqueeze(-2), sin.unsqueeze(-2) * sign
        turned = torch.addcmul(wide * cos, wide.flip(-2), sin).to(x.dtype)
    return torch.cat((turned.flatten(-2), rest), dim=-1)


def rotate_few(x: Tensor, *factors: Tensor) -> Tensor:
    """Rotate by as few operations as can be: for a step of decoding their number is the cost."""
    rotary_dim = factors[0].shape[-1] * (3 - len(factors))
    turns = x if rotary_dim == x.shape[-1] else x[..., :rotary_dim]
    wide = _cast(turns, compute_dtype(x))
    if len(factors) == 1 and are_neighbors(wide) and _is_constant(factors[0]):
        turned = rotate_neighbors(wide, *factors)
    elif len(factors) == 1:
        pairs = torch.complex(wide[..., 0::2], wide[..., 1::2])
        turned = torch.view_as_real(pairs * factors[0]).flatten(-2)
    else:
        cos, sin = factors
        turned = torch.addcmul(wide * cos, wide.roll(rotary_dim // 2, -1), sin)
    turned = _cast(turned, x.dtype)
    return turned if turns is x else torch.cat((turned, x[..., rotary_dim:]), dim=-1)


def rotate_neighbors(x: Tensor, cis: Tensor) -> Tensor:
    """Rotate all dimensions, `are_neighbors` has said of which, by a constant complex table."""
    return (x.view(cis.dtype) * cis).view(x.dtype)


def rotate_together(q: Tensor, k: Tensor, *factors: Tensor) -> tuple[Tensor, Tensor]:
    """Rotate both at once by `rotate_few`, each of whose operations costs more than it computes."""
    if len(factors) == 1 and q.dtype == compute_dtype(q):  # views, and one operation each
        return rotate_few(q, *factors), rotate_few(k, *factors)
    if _is_cast(q):
        with torch.autocast(q.device.type, enabled=False):
            return rotate_together(q, k, *factors)
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
        and not cuda.takes(q, k)
    )


def factors_of(x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> tuple[Tensor, ...]:
    """Return what `rotate_few` multiplies `x` by."""
    dtype = compute_dtype(x)
    cos, sin = _cast(cos, dtype), _cast(sin, dtype)
    if layout == "interleaved":
        return (torch.complex(cos, sin),)
    return torch.cat((cos, cos), dim=-1), torch.cat((-sin, sin), dim=-1)


def rotate_into(
    out: Tensor, x: Tensor, cos: Tensor, sin: Tensor, layout: str, *, is_apart: bool = False
) -> Tensor:
    """Rotate fast, into `out`, which may be `x` unless it `is_apart`."""
    num_pairs, dtype = cos.shape[-1], compute_dtype(x)
    cos, sin = _cast(cos, dtype), _cast(sin, dtype)
    if native.takes(out, x, cos, sin):
        return native.rotate(out, x, cos, sin, layout)
    # One complex table turns neighbors; cos and sin turn dimensions that lie apart.
    tables = (torch.complex(cos, sin),) if layout == "interleaved" else (cos, sin)
    if 2 * num_pairs == x.shape[-1]:
        _rotate_blocks(out, x, tables, is_apart)
    else:
        out[..., 2 * num_pairs :].copy_(x[..., 2 * num_pairs :])
        _rotate_blocks(out[..., : 2 * num_pairs], x[..., : 2 * num_pairs], tables, is_apart)
    return out


def _rotate_blocks(out: Tensor, x: Tensor, tables: Sequence[Tensor], is_apart: bool) -> None:
    """Rotate all dimensions of `x` into `out`, some positions of every head at a time."""
    dtype = compute_dtype(x)
    passes_once = len(tables) == 1 and x.dtype == dtype and _are_complex(x) and _are_complex(out)
    # One pass reads its table again for each head; several passes read x again, all threads theirs.
    again = tables[0].nbytes if passes_once else x.numel() * dtype.itemsize
    count = math.ceil(again / (BLOCK if passes_once else BLOCK * torch.get_num_threads()))
    if count > 1 and x.is_cpu and any(size > 1 for size in x.shape[:-1]):
        dim = next(dim for dim in range(-2, -x.dim() - 1, -1) if x.shape[dim] > 1)
        for block in zip(*(_blocks_of(t, count, dim) for t in (out, x, *tables)), strict=False):
            _rotate_blocks(*block[:2], block[2:], is_apart)
    elif passes_once:
        cis = tables[0]
        torch.mul(x.view(cis.dtype), cis, out=out.view(cis.dtype))
    elif x.dtype != dtype or len(tables) == 1:
        scratch = x.to(dtype, copy=True, memory_format=torch.contiguous_format)
        _rotate_blocks(scratch, scratch, tables, False)
        out.copy_(scratch)
    else:
        cos, sin = tables
        halves = 2 * cos.shape[-1:]  # and not chunk, which takes half as long again
        first, second = x.split_with_sizes(halves, -1)
        out_first, out_second = out.split_with_sizes(halves, -1)
        if is_apart:
            # An operation on whole heads runs on over them; one on halves begins anew for each.
            torch.mul(x, torch.cat((cos, cos), dim=-1), out=out)
            out_first.addcmul_(second, sin, value=-1)
            out_second.addcmul_(first, sin)
        else:  # the old first half is still needed while the new one is computed
            new_first = torch.mul(first, cos).addcmul_(second, sin, value=-1)
            torch.mul(second, cos, out=out_second).addcmul_(first, sin)
            out_first.copy_(new_first)


def _blocks_of(x: Tensor, count: int, dim: int) -> Iterable[Tensor]:
    """Return parts of `x`; of a table that all positions along `dim` share, all of it each time."""
    return x.chunk(count, dim) if x.dim() >= -dim and x.shape[dim] > 1 else itertools.repeat(x)


def are_neighbors(x: Tensor) -> bool:
    """Say whether `x` may be read as complex numbers where it lies, which is not differentiated."""
    # A trace knows no view of another dtype.
    return x.numel() > 0 and _are_complex(x) and _is_constant(x) and not _is_tracing()


def _is_constant(x: Tensor) -> bool:
    return is_bare(x) and not _wants_gradient(x)


def _wants_gradient(x: Tensor) -> bool:
    return x.requires_grad and torch.is_grad_enabled()


def _are_complex(x: Tensor) -> bool:
    """Say whether neighbors lie in memory as complex numbers do."""
    *strides, last = x.stride()
    return last == 1 and math.gcd(2, x.storage_offset(), *strides) == 2 and not x.is_neg()


def rotate_with_gradient(x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> Tensor:
    """Rotate fast, into new memory, and keep no more for the way back than the tables."""
    # Gradients in batches (`is_grads_batched`, `jacobian(vectorize=True)`) pass by the vmap below,
    # and torch.func.functionalize knows no function of our own.
    plain = is_legacy_batchedtensor(x) or _is_functionalized()
    return (rotate_pairs if plain else _Rotation.apply)(x, cos, sin, layout)


def _is_functionalized() -> bool:
    kinds = [level.key() for level in _functorch.get_interpreter_stack() or ()]
    return _functorch.TransformType.Functionalize in kinds


class _Rotation(torch.autograd.Function):
    """The rotation, whose derivative is a rotation: all that backward needs are the tables."""

    @staticmethod
    def forward(x, cos, sin, layout):
        return rotate_into(torch.empty_like(x), x, cos, sin, layout, is_apart=True)

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
    """Say whether a derivative with respect to `table` may be wanted, backward or forward.

    Each transform of `torch.func` wraps what an outer one, or none, differentiates.
    """
    while is_functorch_wrapped_tensor(table):
        # Inside a wrapper no tangent can be asked for.
        if table.requires_grad or forward_ad._current_level >= 0:
            return True
        table = _functorch.get_unwrapped(table)
    if _wants_gradient(table):
        return True
    return forward_ad._current_level >= 0 and forward_ad.unpack_dual(table).tangent is not None


def _is_cast(x: Tensor) -> bool:
    """Say whether torch would refuse to put parts of `x` beside each other.

    Autocast knows one dtype of 16 bits, and takes exception to the other in `cat` and `stack`.
    """
    if x.dtype not in LOW_PRECISION or not _is_any_autocast_enabled():
        return False
    kind = x.device.type
    return (
        torch.amp.is_autocast_available(kind)
        and torch.is_autocast_enabled(kind)
        and torch.get_autocast_dtype(kind) != x.dtype
    )


def _cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Do as `to` does, which takes a microsecond to find that there is nothing to do."""
    return x if x.dtype == dtype else x.to(dtype)
