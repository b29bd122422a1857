"""What is known of a device: where its tables are computed, whether tensors there hold numbers."""

import torch
from torch import Tensor
from torch._C._functorch import is_batchedtensor
from torch._subclasses import FakeTensor

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
