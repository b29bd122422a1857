"""The rotation by programs of our own on CUDA: whether they can take some tensors.

Triton, which torch's builds for CUDA on Linux bring, compiles them. Where it is missing, or a
tensor is not simply there on such a GPU, `takes` says no, and what it asked for goes the way of any
other device.
"""

import os
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

from ropelib.memory import is_bare

# With TRITON_INTERPRET=1 Triton runs its programs in Python, on tensors of the CPU.
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
_TRITON = find_spec("triton") is not None
_OLDEST = (8, 0)  # compute capability of a GPU that computes with bfloat16


def takes(*vectors: Tensor | None, tables: tuple[Tensor | None, ...] = ()) -> bool:
    """Say whether the programs can rotate `vectors` by `tables`; None stands for what is not given.

    Args:
        vectors: what is read and what is written, of one dtype, with two to four axes.
        tables: cos and sin, and what says which of their rows; nothing where only the vectors are
            in question.

    Example:
        >>> takes(torch.ones(2, 4), tables=(torch.ones(2, 2), torch.zeros(2, 2)))
        False
    """
    first = vectors[0]
    if not (first.is_cuda or (INTERPRETED and first.is_cpu)) or not _TRITON:
        return False
    vectors, tables = ([x for x in given if x is not None] for given in (vectors, tables))
    return (
        (not first.is_cuda or _is_known(first.device))
        and all(2 <= x.dim() <= 4 and x.dtype == first.dtype for x in vectors)
        and (torch.compiler.is_compiling() or all(map(is_bare, (*vectors, *tables))))
        and not (torch.is_grad_enabled() and any(table.requires_grad for table in tables))
    )


@cache
def _is_known(device: torch.device) -> bool:
    return torch.version.hip is None and torch.cuda.get_device_capability(device) >= _OLDEST
