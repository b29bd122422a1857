"""What is known of a device: where its tables are computed, whether tensors there hold numbers."""

import torch
from torch import Tensor
from torch._C import _is_tracing, _len_torch_dispatch_stack
from torch._C._functorch import get_dynamic_layer_stack_depth, is_batchedtensor
from torch._subclasses import FakeTensor
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

KNOW_FLOAT64 = ("cpu", "cuda", "meta")  # for any other device the CPU computes, as for Apple's MPS


def computes_for(device: torch.device) -> torch.device:
    """Return where the tables for `device` are computed, in float64.

    Args:
        device: where the tables are used.

    Example:
        >>> computes_for(torch.device("mps")), computes_for(torch.device("cuda", 1))
        (device(type='cpu'), device(type='cuda', index=1))
    """
    return device if device.type in KNOW_FLOAT64 else torch.device("cpu")


def is_traced(device: torch.device) -> bool:
    """Say whether operations are recorded, so that what they make is not there to be kept.

    Args:
        device: where they would run.

    Example:
        >>> is_traced(torch.device("cpu"))
        False
    """
    return torch.compiler.is_compiling() or (
        device.type == "cuda" and torch.cuda.is_current_stream_capturing()
    )


def is_watched() -> bool:
    """Say whether something looks on that knows operations alone: a trace, a mode, a transform.

    What is written by address passes it by, and what torch makes meanwhile may have no address.

    Example:
        >>> from torch.utils.flop_counter import FlopCounterMode
        >>> with FlopCounterMode(display=False):
        ...     print(is_watched())
        True
    """
    return (
        _is_tracing()  # torch.jit.trace
        or _len_torch_dispatch_stack() > 0
        or is_in_torch_dispatch_mode()  # also before dispatch, as make_fx(pre_dispatch=True) is
        or get_dynamic_layer_stack_depth() > 0  # torch.func
    )


def has_values(tensor: Tensor) -> bool:
    """Say whether the numbers in a tensor can be looked at.

    Args:
        tensor: anywhere, also inside `torch.vmap` or a compiler.

    Example:
        >>> has_values(torch.ones(2)), has_values(torch.ones(2, device="meta"))
        (True, False)
    """
    return not (
        is_traced(tensor.device)
        or tensor.is_meta
        or isinstance(tensor, FakeTensor)
        or is_batchedtensor(tensor)
    )


def may_be_kept(tensor: Tensor) -> bool:
    """Say whether a tensor has numbers, and not only for as long as some mode or graph lasts.

    Args:
        tensor: made for use now, and perhaps later.

    Example:
        >>> may_be_kept(torch.ones(2)), may_be_kept(torch.nn.Parameter(torch.ones(2)))
        (True, False)
    """
    return type(tensor) is Tensor and not is_traced(tensor.device)
