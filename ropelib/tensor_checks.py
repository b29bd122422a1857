"""What tensors may be: positions, frequencies, tables, what is rotated and where it goes."""

import math
import reprlib
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor
from torch._subclasses import FakeTensor

from ropelib import checks
from ropelib.checks import shown
from ropelib.devices import has_values
from ropelib.memory import overlaps, overlaps_itself

FULL_PRECISION = (torch.float32, torch.float64)
LOW_PRECISION = (torch.bfloat16, torch.float16)
FLOATS = (*LOW_PRECISION, *FULL_PRECISION)
_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
_FLOAT64_END = 2**53  # from here on float64 skips whole numbers, and float32 from 2**24 on
_FLOAT32_END = 2**24


def check_tensor(name: str, x: Tensor) -> None:
    """Raise unless a value is a tensor."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a tensor, got {reprlib.repr(x)}")


def check_inv_freq(inv_freq: Tensor) -> float:
    """Refuse what are no frequencies; return the first position whose angles float64 loses."""
    check_tensor("inv_freq", inv_freq)
    if inv_freq.dtype not in FULL_PRECISION:
        raise TypeError(f"inv_freq must be float64 or float32, got {inv_freq.dtype}")
    if inv_freq.dim() != 1:
        raise ValueError(f"inv_freq must be (num_pairs,), got shape {tuple(inv_freq.shape)}")
    if not (len(inv_freq) and has_values(inv_freq)):
        return _FLOAT64_END
    largest = inv_freq.abs().max().item()
    if not math.isfinite(largest):
        raise ValueError(f"inv_freq must be finite, got {inv_freq}")
    if largest >= _FLOAT64_END:
        raise ValueError(
            f"inv_freq must be less than 2**53 rad/token, from where on float64 knows no angle, "
            f"got {largest}"
        )
    return _FLOAT64_END / max(largest, 1)


def checked_positions(
    position_ids: Tensor | np.ndarray | Sequence, end: float, name: str = "position_ids"
) -> Tensor:
    """Return positions as a tensor, on the CPU where they were none, or refuse them."""
    if not isinstance(position_ids, Tensor):
        position_ids = torch.as_tensor(array_of_positions(position_ids, name), device="cpu")
    if position_ids.dtype in LOW_PRECISION:
        raise TypeError(
            f"{name} must be integers, float32 or float64, got {position_ids.dtype}, which "
            "cannot tell positions apart: 0..8191 in bfloat16 are only 897 distinct places"
        )
    if position_ids.dtype not in _INTEGERS + FULL_PRECISION:
        raise TypeError(f"{name} must be integer or real, got {position_ids.dtype}")
    if position_ids.dim() not in (1, 2):
        raise ValueError(
            f"{name} must be (seq_len,) or (batch, seq_len), got shape {tuple(position_ids.shape)}"
        )
    _check_size_of_positions(position_ids, end, name)
    return position_ids


def array_of_positions(
    position_ids: np.ndarray | Sequence, name: str = "position_ids"
) -> np.ndarray:
    """Return positions as an array that torch can read, on its own memory.

    By way of NumPy, because torch would read a list of floats in float32.
    """
    try:
        array = np.array(position_ids)
    except ValueError as error:
        raise ValueError(
            f"{name} must be (seq_len,) or (batch, seq_len), got rows of different lengths: "
            f"{reprlib.repr(position_ids)}"
        ) from error
    if array.dtype.kind not in "biufc":
        raise TypeError(
            f"{name} must be integer or real, in at most 64 bits, got {reprlib.repr(position_ids)}"
        )
    if array.dtype in (np.uint64, np.longdouble):
        return array.astype(np.float64)  # exact for every position that is not refused
    if array.dtype.kind == "u":
        return array.astype(np.int64)
    return array.astype(array.dtype.newbyteorder("="))


def _check_size_of_positions(position_ids: Tensor, end: float, name: str) -> None:
    if not position_ids.numel() or not has_values(position_ids):
        return
    if position_ids.is_floating_point():
        size = position_ids.abs().max().item()
    elif position_ids.is_cpu:
        low, high = position_ids.aminmax()
        size = max(-low.item(), high.item())
    else:  # the GPU would have to be waited for
        return
    if not math.isfinite(size):
        raise ValueError(f"{name} must be finite, got {position_ids}")
    if position_ids.dtype == torch.float32 and size >= _FLOAT32_END:
        raise ValueError(
            f"{name} in float32 must be less than 2**24 in size, from where on float32 skips "
            f"whole numbers, got {size:.0f}; give integers or float64"
        )
    if size >= end:
        raise ValueError(
            f"{name} must be less than {end:.4g} in size, where float64 knows their angles, "
            f"got {size}"
        )


def sequence_before_last(name: str, x: Tensor, seq_dim: int) -> Tensor:
    """Return `x` with its sequence as axis -2, where it always is from there on."""
    check_tensor(name, x)
    seq_dim = checks.integer("seq_dim", seq_dim)
    if not -x.dim() <= seq_dim < x.dim() - 1 or seq_dim == -1:
        raise ValueError(
            f"seq_dim must be an axis of {name} before its last, got {shown(seq_dim)} for shape "
            f"{tuple(x.shape)}"
        )
    return x.movedim(seq_dim, -2)


def shared_row(position_ids: Tensor, q: Tensor, k: Tensor) -> Tensor:
    """Return positions `(1, seq_len)` as `(seq_len,)`, and refuse rows that are not the batch."""
    if position_ids.dim() != 2:
        return position_ids
    if len(position_ids) == 1:
        return position_ids[0]
    for name, x in (("q", q), ("k", k)):
        if x.dim() != 4 or len(x) != len(position_ids):
            raise ValueError(
                f"position_ids must be (seq_len,), (1, seq_len) or, where {name} is (batch, "
                f"num_heads, seq_len, head_dim), (batch, seq_len), got "
                f"{tuple(position_ids.shape)} for {name} of shape {tuple(x.shape)}"
            )
    return position_ids


def check_batch(q: Tensor, k: Tensor) -> None:
    """Raise unless `q` and `k` have the same axes before their heads."""
    if q.dim() != k.dim() or q.shape[:-3] != k.shape[:-3]:
        raise ValueError(
            "q and k must have the same axes before their heads, "
            f"got {tuple(q.shape)} and {tuple(k.shape)}"
        )


def check_tables(x: Tensor, cos: Tensor, sin: Tensor) -> None:
    """Raise unless `cos` and `sin` are tables for `x`, without broadcasting."""
    for name, tensor in (("x", x), ("cos", cos), ("sin", sin)):
        check_tensor(name, tensor)
    if x.dtype not in FLOATS:
        raise TypeError(f"x must be bfloat16, float16, float32 or float64, got {x.dtype}")
    if cos.shape != sin.shape or cos.dtype != sin.dtype:
        raise ValueError(
            "cos and sin must have the same shape and dtype, "
            f"got {tuple(cos.shape)} {cos.dtype} and {tuple(sin.shape)} {sin.dtype}"
        )
    if cos.dtype not in FULL_PRECISION:
        raise TypeError(f"cos and sin must be float32 or float64, got {cos.dtype}")
    if not x.device == cos.device == sin.device:
        raise ValueError(
            f"x, cos and sin must be on one device, got {x.device}, {cos.device}, {sin.device}"
        )
    if x.dim() < 2:
        raise ValueError(f"x must be (..., seq_len, head_dim), got shape {tuple(x.shape)}")
    if cos.dim() not in (2, 3):
        raise ValueError(
            "cos and sin must be (seq_len, num_pairs) or (batch, seq_len, num_pairs), "
            f"got shape {tuple(cos.shape)}"
        )
    if cos.dim() == 3 and (x.dim() != 4 or len(x) != len(cos)):
        raise ValueError(
            "cos and sin per batch need x of shape (batch, num_heads, seq_len, head_dim) with the "
            f"same batch, got cos {tuple(cos.shape)} and x {tuple(x.shape)}"
        )
    seq_len, num_pairs = cos.shape[-2:]
    if x.shape[-2] != seq_len:
        message = f"x of shape {tuple(x.shape)} has seq_len {x.shape[-2]}, cos and sin {seq_len}"
        if x.dim() > 2 and x.shape[-3] == seq_len:
            message += "; is x (batch, seq_len, num_heads, head_dim)? Then pass seq_dim=-3"
        raise ValueError(message)
    if not 0 < 2 * num_pairs <= x.shape[-1]:
        raise ValueError(
            f"rotary_dim must be positive and at most head_dim, got {2 * num_pairs} from cos and "
            f"sin with head_dim {x.shape[-1]}"
        )


def check_out(out: Tensor, x: Tensor, cos: Tensor, sin: Tensor) -> None:
    """Raise unless the rotated `x` may be written into `out`."""
    check_tensor("out", out)
    for name in ("shape", "dtype", "device"):
        if getattr(out, name) != getattr(x, name):
            raise ValueError(
                f"out must have the {name} of x, got {getattr(out, name)} for {getattr(x, name)}"
            )
    if torch.is_grad_enabled() and any(t.requires_grad for t in (out, x, cos, sin)):
        raise ValueError(
            "out was given while out, x, cos or sin requires grad: "
            "no gradient flows through out; leave it out or use torch.no_grad()"
        )
    if torch.compiler.is_compiling() or out.is_meta or isinstance(out, FakeTensor):
        return
    if any(map(is_functorch_wrapped_tensor, (out, x, cos, sin))):
        raise ValueError(
            "out was given inside torch.vmap or another transform of torch.func, "
            "which does not say where it lies"
        )
    _check_overlap(out, x, cos, sin)


def _check_overlap(out: Tensor, x: Tensor, cos: Tensor, sin: Tensor) -> None:
    if overlaps_itself(out):
        raise ValueError(
            "out must have memory of its own for each element, got an expanded or overlapping view "
            f"of shape {tuple(out.shape)} and strides {out.stride()}"
        )
    steps = zip(out.stride(), x.stride(), x.shape, strict=True)
    is_x = out.data_ptr() == x.data_ptr() and all(a == b for a, b, size in steps if size > 1)
    if not is_x and overlaps(out, x):
        raise ValueError("out must be x itself or lie in other memory, got another view of it")
    for name, table in (("cos", cos), ("sin", sin)):
        if overlaps(out, table):
            raise ValueError(f"out must not share memory with {name}, which is still to be read")
