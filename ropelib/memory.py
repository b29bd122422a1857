"""Where tensors lie in memory: whether two share any of it, whether one meets itself."""

from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor, is_legacy_batchedtensor
from torch.autograd import forward_ad


def overlaps(a: Tensor, b: Tensor) -> bool:
    """Say whether any byte belongs to both tensors.

    Exact: every other column of a buffer does not overlap the columns between. Where that cannot be
    settled in a million steps, which takes strange strides, the answer is yes.

    Args:
        a: any strided tensor that has memory: not on the "meta" device, not inside `torch.vmap`.
        b: likewise.

    Example:
        >>> columns = torch.zeros(3, 4)
        >>> overlaps(columns[:, 0::2], columns[:, 1::2]), overlaps(columns[:2], columns[1:])
        (False, True)
    """
    if not (a.numel() and b.numel()) or a.device != b.device:
        return False
    (a_start, a_stop), (b_start, b_stop) = _bounds(a), _bounds(b)
    if a_stop <= b_start or b_stop <= a_start:
        return False
    try:
        return np.shares_memory(_addresses(a), _addresses(b), max_work=10**6)
    except np.exceptions.TooHardError:
        return True


def overlaps_itself(x: Tensor) -> bool:
    """Say whether two elements of a tensor lie at one address, as in an expanded tensor.

    Args:
        x: any strided tensor.

    Example:
        >>> overlaps_itself(torch.zeros(3).expand(2, 3)), overlaps_itself(torch.zeros(2, 3).T)
        (True, False)
    """
    if x.is_contiguous():
        return False
    axes = sorted(
        (stride, size) for stride, size in zip(x.stride(), x.shape, strict=True) if size > 1
    )
    reach = 0
    for stride, size in axes:
        if stride <= reach:
            break
        reach += stride * (size - 1)
    else:  # each stride steps over all that the smaller ones reach
        return False
    last = sum(stride * (size - 1) for stride, size in axes)
    if axes[0][0] == 0 or x.numel() > last + 1:  # an expanded axis, or too few places for all
        return True
    places = torch.zeros((), dtype=torch.int64, device="cpu")
    for stride, size in axes:
        places = places[..., None] + stride * torch.arange(size, device="cpu")
    return len(places.unique()) < places.numel()


def is_bare(x: Tensor) -> bool:
    """Say whether a tensor is the numbers at its address and nothing else.

    A subclass, a tensor of `torch.vmap` or of a derivative, or one whose sign is still to be turned
    says more than its memory does; one on "meta", or a zero that torch did not write, has none.

    Args:
        x: any strided tensor.

    Example:
        >>> is_bare(torch.zeros(3)), is_bare(torch._neg_view(torch.zeros(3)))
        (True, False)
    """
    return (
        type(x) in (Tensor, torch.nn.Parameter)
        and not (x.is_meta or x.is_neg() or x._is_zerotensor())
        and not is_functorch_wrapped_tensor(x)
        and not is_legacy_batchedtensor(x)
        # To ask is the dearest of these, and nothing has a tangent outside of a level.
        and (forward_ad._current_level < 0 or forward_ad.unpack_dual(x).tangent is None)
    )


def _bounds(x: Tensor) -> tuple[int, int]:
    """Return the first address of a tensor that is not empty, and the first after it."""
    if x.is_contiguous():
        return x.data_ptr(), x.data_ptr() + x.nbytes
    last = sum(stride * (size - 1) for stride, size in zip(x.stride(), x.shape, strict=True))
    return x.data_ptr(), x.data_ptr() + (last + 1) * x.element_size()


def _addresses(x: Tensor) -> np.ndarray:
    """Return an array that lies where the tensor lies, on any device: it must not be read."""
    interface = {
        "version": 3,
        "typestr": f"|V{x.element_size()}",
        "shape": tuple(x.shape),
        "strides": tuple(stride * x.element_size() for stride in x.stride()),
        "data": (x.data_ptr(), False),
    }
    return np.asarray(SimpleNamespace(__array_interface__=interface))
