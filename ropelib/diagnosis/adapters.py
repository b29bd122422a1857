"""What goes in: rotations made from functions of other shapes."""

import contextlib
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ropelib.diagnosis.probes import Rotate, signature_of
from ropelib.diagnosis.tensors import random

_MOST_NUMBERS = 2**22  # of a call that is made longer than it need be: larger ones are slow
BOTH = (("q", "k"), ("query", "key"), ("xq", "xk"), ("queries", "keys"))
POSITIONS = ("position_ids", "positions", "input_positions", "pos_ids", "cache_position", "pos")
POSITIONS += ("position",)
SEQ_FIRST = "of_sequence_first"  # how what an adapter has made is made anew of the other order


def from_tables(apply: Callable, tables: Callable) -> tuple[Rotate, Rotate]:
    """Make rotations of q and of k from `apply(q, k, cos, sin)` and `tables(x, position_ids)`.

    This is how the models of transformers are cut: `apply_rotary_pos_emb` and a rotary module.

    Args:
        apply: returns `(q, k)` rotated.
        tables: returns `(cos, sin)` for `position_ids` of shape `(batch, seq_len)`; or it takes
            `(x, seq_len)` and returns those of positions 0 to `seq_len` - 1, of which rows are
            then handed on, `(batch, 1, seq_len, width)`, or all, where `apply` takes
            `position_ids`.

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
    if "position_ids" not in names_of(tables) and "seq_len" in names_of(tables)[1:]:
        return from_module(_by_length(apply, tables))
    return from_module(lambda q, k, position_ids: apply(q, k, *tables(q, position_ids)))


def _by_length(apply: Callable, tables: Callable) -> Callable:
    """Call as GPT-NeoX and the first Llama do: tables of a length, and rows of them looked up."""

    def both(q: Tensor, k: Tensor, position_ids: Tensor) -> Sequence[Tensor]:
        made = tables(q, seq_len=int(position_ids.max()) + 1)
        if "position_ids" in names_of(apply):
            return apply(q, k, *made, position_ids=position_ids)
        # (seq_len, width), or with axes of length 1 before it: one for the heads remains
        rows = (table.reshape(table.shape[-2:])[position_ids] for table in made)
        return apply(q, k, *(row[:, None] for row in rows))

    return both


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

    def rotate(
        index: int, x: Tensor, position_ids: Tensor, other_heads: int | None, other_times: float
    ) -> Tensor:
        if position_ids.dim() == 1:
            position_ids = position_ids.expand(len(x), -1)
        # The other of the two is noise, and not that which x is made of, so that mixing them up
        # cannot go unseen.
        other = random(len(x), other_heads or x.shape[1], *x.shape[2:], like=x).flip(-1)
        inputs = [x, other_times * other]
        return tuple(module(*(inputs if index == 0 else inputs[::-1]), position_ids))[index]

    rotations = tuple(
        keep(
            lambda x, position_ids, other_heads=None, other_times=1, i=index: rotate(
                i, x, position_ids, other_heads, other_times
            ),
            module,
        )
        for index in (0, 1)
    )
    other = getattr(module, SEQ_FIRST, lambda: _transposed(module, 2))
    for i, rotation in enumerate(rotations):
        rotation.hands_rows = True  # positions (seq_len,) are never what the module sees
        setattr(rotation, SEQ_FIRST, lambda i=i: from_module(other())[i])
    return rotations


def from_counting(rotate: Callable) -> Callable:
    """Make a rotation from one that numbers its tokens itself, from 0.

    Each token is put where its position is, among zeros, and taken from there again.

    Args:
        rotate: of `x`, or of `q` and `k`, and of nothing else, `(batch, num_heads, seq_len,
            head_dim)`.

    Returns:
        The same with `position_ids` as one argument more, 0 or above.

    Example:
        >>> import torch
        >>> from ropelib import RotaryEmbedding, diagnose
        >>> rope = RotaryEmbedding(64, layout="half")
        >>> diagnose(from_counting(lambda x: rope(x, x)[0])).codes
        ('counts-itself',)
    """

    def at(tensors: Sequence[Tensor], ids: Tensor) -> Tensor | tuple[Tensor, ...]:
        if ids.numel() and ids.min() < 0:
            raise ValueError(f"it numbers its tokens from 0, got position {int(ids.min())}")
        length = int(ids.max()) + 1 if ids.numel() else 0
        if len(ids.unique()) < len(ids):  # two at one position: one after the other
            return _joined(
                [at([x[..., [i], :] for x in tensors], ids[[i]]) for i in range(len(ids))], -2
            )
        for dim in (0, 1):  # rows, then heads
            count, numbers = tensors[0].shape[dim], length * tensors[0].numel() // max(len(ids), 1)
            most = max(1, _MOST_NUMBERS * count // max(numbers, 1))
            if most < count and all(x.shape[dim] == count for x in tensors):
                parts = zip(*(x.split(most, dim) for x in tensors), strict=True)
                return _joined([at(part, ids) for part in parts], dim)
        placed = (x.new_zeros(*x.shape[:-2], length, x.shape[-1]) for x in tensors)
        turned = rotate(*(y.index_copy_(-2, ids, x) for y, x in zip(placed, tensors, strict=True)))
        if isinstance(turned, Tensor):
            return turned.index_select(-2, ids)
        return tuple(x.index_select(-2, ids) for x in turned)

    def rotate_at(*given: Tensor) -> Tensor | tuple[Tensor, ...]:
        *tensors, ids = given
        ids = ids.long()  # of which rows are looked up here
        if ids.dim() == 1 or bool((ids == ids[:1]).all()):
            return at(tensors, ids.reshape(-1, ids.shape[-1])[0])
        rows = enumerate(ids)
        return _joined([at([x[b : b + 1] for x in tensors], row) for b, row in rows], 0)

    rotate_at.counts_itself = True
    setattr(rotate_at, SEQ_FIRST, lambda: from_counting(seq_first(rotate)))
    return keep(rotate_at, rotate)


def _joined(parts: Sequence, dim: int) -> Tensor | tuple[Tensor, ...]:
    if isinstance(parts[0], Tensor):
        return torch.cat(parts, dim)
    return tuple(torch.cat(part, dim) for part in zip(*parts, strict=True))


def seq_first(rotate: Callable | Sequence[Callable]) -> Callable | tuple[Callable, ...]:
    """Make a rotation from one that takes x as `(batch, seq_len, num_heads, head_dim)`.

    It takes what the other took: `(x, position_ids)`, `(q, k, position_ids)`, `(x, start_pos)`, x
    alone, or what an adapter of this module has made, a pair of rotations too. A function of
    `(qkv, cos, sin)` is returned as it is: tokens come before heads in what flash-attn packs.

    Args:
        rotate: in that order of axes, as torchtune and Meta have it.

    Returns:
        The same for `(batch, num_heads, seq_len, head_dim)`.

    Example:
        >>> import torch
        >>> x = torch.zeros(1, 3, 5, 64)  # 3 heads, 5 tokens
        >>> seq_first(lambda x, position_ids: print(x.shape) or x)(x, torch.arange(5)).shape
        torch.Size([1, 5, 3, 64])
        torch.Size([1, 3, 5, 64])
    """
    if isinstance(rotate, (tuple, list)):
        return tuple(map(seq_first, rotate))
    if (other := getattr(rotate, SEQ_FIRST, None)) is not None:
        return other()
    if names_of(rotate)[:3] == ("qkv", "cos", "sin"):
        return rotate
    return _transposed(rotate, 1 + takes_both(rotate) + takes_v(rotate))


def _transposed(rotate: Callable, count: int) -> Callable:
    """Transpose the first `count` arguments, and what comes back."""

    def rotate_transposed(*given: object, **options) -> object:
        vectors, rest = given[:count], given[count:]
        across = [x.transpose(1, 2) for x in vectors]
        try:
            rotated = rotate(*across, *rest, **options)
        except Exception:  # whatever it raises that wants x contiguous
            if not all(x.is_contiguous() for x in vectors):
                raise  # that order of memory is not ours
            rotated = rotate(*(x.contiguous() for x in across), *rest, **options)
        if isinstance(rotated, (tuple, list)):
            return tuple(map(_across, rotated))
        return _across(rotated)

    with contextlib.suppress(TypeError, ValueError):  # it tells none
        rotate_transposed.__signature__ = signature_of(rotate)
    rotate_transposed.is_seq_first = True
    return keep(rotate_transposed, rotate)


def _across(rotated: object) -> object:
    return rotated.transpose(1, 2) if isinstance(rotated, Tensor) and rotated.dim() > 2 else rotated


def neighbors(start: int, tokens: int) -> tuple[int, int]:
    """Return how many neighbors a run is called among: those before it, and all.

    It has nine tokens then, as no step of decoding has.

    Example:
        >>> neighbors(2, 5), neighbors(100, 5), neighbors(100, 9)
        ((2, 4), (4, 4), (0, 0))
    """
    more = max(0, 9 - tokens)
    return min(more, start), more


def takes_both(rotate: Callable) -> bool:
    """Say whether the first two arguments are named as q and k are.

    Example:
        >>> takes_both(lambda xq, xk, freqs_cis: (xq, xk))
        True
    """
    return names_of(rotate)[:2] in BOTH


def takes_v(rotate: Callable) -> bool:
    """Say whether the third argument is named as v is, after q and k.

    Example:
        >>> takes_v(lambda q, k, v, position_ids: (q, k, v))
        True
    """
    return takes_both(rotate) and names_of(rotate)[2:3] in (("v",), ("value",), ("xv",))


def names_of(rotate: object) -> tuple[str, ...]:
    """Return the names of the arguments, none where they cannot be told.

    Example:
        >>> names_of(lambda x, position_ids: x)
        ('x', 'position_ids')
    """
    try:
        return tuple(signature_of(rotate).parameters)
    except (TypeError, ValueError):
        return ()


def keep(rotation: Rotate, made_from: object) -> Rotate:
    """Let a rotation say what that which it is made from says of itself, and return it.

    Example:
        >>> from ropelib import RotaryEmbedding
        >>> keep(lambda x, position_ids: x, RotaryEmbedding(128, layout="half")).head_dim
        128
    """
    for name in (
        "head_dim",
        "meant",
        "counts_itself",
        "runs_only",
        "is_seq_first",
        "way",
        "dim",
        "v_changes",
    ):
        if (value := getattr(made_from, name, None)) is not None:
            setattr(rotation, name, value)
    return rotation
