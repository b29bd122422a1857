"""What goes in: rotations made from functions of other shapes."""

from collections.abc import Callable

from torch import Tensor

from ropelib.diagnosis.probes import Rotate, signature_of
from ropelib.diagnosis.tensors import random


def from_tables(apply: Callable, tables: Callable) -> tuple[Rotate, Rotate]:
    """Make rotations of q and of k from `apply(q, k, cos, sin)` and `tables(x, position_ids)`.

    This is how the models of transformers are cut: `apply_rotary_pos_emb` and a rotary module.

    Args:
        apply: returns `(q, k)` rotated.
        tables: returns `(cos, sin)` for `position_ids` of shape `(batch, seq_len)`.

    Returns:
        The pair that `diagnose` takes.

    Example:
        >>> from ropelib import apply_rotary, cos_sin, diagnose, inv_freq
        >>> def apply(q, k, cos, sin):
        ...     return (apply_rotary(x, cos, sin, layout="half") for x in (q, k))
        >>> rotate_q, rotate_k = from_tables(apply, lambda x, ids: cos_sin(ids, inv_freq(64)))
        >>> diagnose((rotate_q, rotate_k)).layout
        'half'
    """
    return from_module(lambda q, k, position_ids: apply(q, k, *tables(q, position_ids)))


def from_module(module: Callable) -> tuple[Rotate, Rotate]:
    """Make rotations of q and of k from `module(q, k, position_ids)`, which returns both.

    Args:
        module: is called with `position_ids` of shape `(batch, seq_len)`.

    Returns:
        The pair that `diagnose` takes.

    Example:
        >>> from ropelib import RotaryEmbedding, diagnose
        >>> diagnose(from_module(RotaryEmbedding(64, layout="half"))).layout
        'half'
    """

    def rotate(index: int, x: Tensor, position_ids: Tensor) -> Tensor:
        if position_ids.dim() == 1:
            position_ids = position_ids.expand(len(x), -1)
        # The other of the two is noise, so that mixing them up cannot go unseen.
        inputs = [x, random(*x.shape, like=x)]
        return tuple(module(*(inputs if index == 0 else inputs[::-1]), position_ids))[index]

    return (lambda x, ids: rotate(0, x, ids)), (lambda x, ids: rotate(1, x, ids))


def seq_first(rotate: Rotate) -> Rotate:
    """Make a rotation from one that takes x as `(batch, seq_len, num_heads, head_dim)`.

    Args:
        rotate: `rotate(x, position_ids)` in that order of axes, as torchtune and Meta have it.

    Returns:
        The same for `(batch, num_heads, seq_len, head_dim)`.

    Example:
        >>> import torch
        >>> x = torch.zeros(1, 3, 5, 64)  # 3 heads, 5 tokens
        >>> seq_first(lambda x, position_ids: print(x.shape) or x)(x, torch.arange(5)).shape
        torch.Size([1, 5, 3, 64])
        torch.Size([1, 3, 5, 64])
    """

    def rotate_transposed(x: Tensor, position_ids: Tensor) -> Tensor:
        rotated = rotate(x.transpose(1, 2), position_ids)
        return rotated.transpose(1, 2) if isinstance(rotated, Tensor) else rotated

    rotate_transposed.is_seq_first = True
    return rotate_transposed


def adapted(rotate: Callable) -> tuple[Rotate, ...]:
    """Return `rotate` alone, or, if its arguments are q, k and positions, what it does to both.

    Example:
        >>> len(adapted(lambda x, position_ids: x))
        1
        >>> len(adapted(lambda q, k, position_ids: (q, k)))
        2
    """
    try:
        signature = signature_of(rotate)
        signature.bind("q", "k", "position_ids")
    except (TypeError, ValueError):  # not callable, another number of arguments, or a built-in
        return (rotate,)
    takes_both = tuple(signature.parameters)[:2] in (("q", "k"), ("query", "key"))
    return from_module(rotate) if takes_both else (rotate,)
