"""Forms that are handed their tables: cos and sin, or what stands for both."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import torch
from torch import Tensor

from ropelib.diagnosis.adapters import POSITIONS, from_module, keep, names_of, takes_both
from ropelib.diagnosis.probes import Rotate, signature_of
from ropelib.diagnosis.tensors import gap, random
from ropelib.diagnosis.ways import Way, the_right_one
from ropelib.frequencies import inverse_frequencies
from ropelib.rotation import cos_sin

BASE = 10_000.0
# Names of a table that stands for cos and sin; the last of them is a pair.
FOR_BOTH = ("freqs_cis", "rope_cache", "freqs", "sincos")
_COS_SIN = (("cos", "sin"), ("cos_cache", "sin_cache"))
_SEQUENCE_FIRST = "x (batch, seq_len, num_heads, head_dim)"
_HEADS_FIRST = "x (batch, num_heads, seq_len, head_dim)"


@dataclass(frozen=True)
class Meant:
    """What a rotation is meant to be, where its form says so: `expected` unless that is given.

    Example:
        >>> Meant(inverse_frequencies(4), "half").attention_factor
        1.0
    """

    inv_freq: Tensor
    layout: str | None = None
    attention_factor: float = 1.0
    either_direction: bool = False
    made_here: bool = False  # its tables: then frequencies and factor are none of the rotation's


def has_tables_made_here(rotate: object) -> bool:
    """Say whether it is handed tables that no code of its own makes.

    Example:
        >>> has_tables_made_here(from_operator(lambda x, cos, sin: x))
        True
    """
    return getattr(getattr(rotate, "meant", None), "made_here", False)


def refuse_beside_made_tables(rotate: object, decode: object, **said: object) -> None:
    """Raise ValueError where what is said of frequencies would be passed over.

    Args:
        rotate: as it was adapted.
        decode: likewise, or None.
        said: `inv_freq` and `attention_factor` as they were given, None where they were not.

    Example:
        >>> refuse_beside_made_tables(lambda x, position_ids: x, None, inv_freq=[1.0])
    """
    mend = "give from_tables(apply, module), or a function of (x, position_ids) that makes them"
    if has_tables_made_here(rotate):
        for name, value in said.items():
            if value is not None:
                raise ValueError(
                    f"{name} must be left out for code that is handed its cos and sin, which are "
                    f"made here by base {BASE:g}; to have its own judged, {mend}"
                )
    elif has_tables_made_here(decode):
        raise ValueError(
            f"decode must not be handed its cos and sin, unless rotate is: they would be made here "
            f"by base {BASE:g}, and differ from its; {mend}"
        )


def takes_cos_sin(rotate: Callable) -> bool:
    """Say whether it is handed cos and sin after x, or q and k, or after x and positions.

    Example:
        >>> takes_cos_sin(lambda input, position_ids, cos_cache, sin_cache: input)
        True
    """
    names = names_of(rotate)[1 + takes_both(rotate) :]
    return (names[1:3] if names[:1] == ("position_ids",) else names[:2]) in _COS_SIN


def made_with_tables(
    rotate: Callable, max_position: int
) -> Callable[[int], tuple[Rotate, ...]] | None:
    """Return what makes rotations of a width from code that is handed its tables; None of other.

    Example:
        >>> made_with_tables(lambda x, position_ids: x, max_position=512) is None
        True
        >>> [rotation] = made_with_tables(lambda x, cos, sin: x, max_position=512)(128)
        >>> rotation.head_dim
        128
    """
    if _takes_one_table(rotate):
        return partial(from_freqs_cis, rotate)
    if not takes_cos_sin(rotate):
        return None
    form = from_packed if names_of(rotate)[0] == "qkv" else from_operator

    def make(head_dim: int) -> tuple[Rotate, ...]:
        made = form(rotate, head_dim=head_dim, max_position=max_position)
        return made if isinstance(made, tuple) else (made,)

    return make


def _takes_one_table(rotate: Callable) -> bool:
    """Say whether what comes after x, or after q and k, stands for cos and sin."""
    names = names_of(rotate)
    after = names[2:3] if takes_both(rotate) else names[1:2]
    if "freqs_cis" in names[1:3]:
        return True
    return bool({*after} & {*FOR_BOTH}) and not {*names} & {*POSITIONS}


def from_operator(
    operator: Callable,
    *,
    interleaved: bool = False,
    head_dim: int = 64,
    rotary_dim: int | None = None,
    max_position: int = 8192,
) -> Rotate | tuple[Rotate, Rotate]:
    """Make a rotation from an operator that is handed its tables: `(x, cos, sin, position_ids)`.

    This is the form of ONNX (`X, cos_cache, sin_cache, position_ids`), of ONNX Runtime, which has
    the positions second, of the function proposed for PyTorch, and, without positions, of
    flash-attn's, LitGPT's and many models'; with q and k in place of x it is that of transformers,
    `apply_rotary_pos_emb(q, k, cos, sin)`. Tables of shape `(max_position, rotary_dim / 2)` are
    made here, with base 10000, so that what is judged is the operator alone. Without positions it
    is called in the first way that is right: heads or the sequence first, each entry of the tables
    once or twice, with axes of length 1 for the batch and the heads or without. What takes q and k
    is called so too, and where it takes positions, first with whole tables.

    Args:
        operator: is called by position, and with `interleaved` by name where it takes it.
        interleaved: which of its two layouts.
        head_dim: width of the vectors.
        rotary_dim: how much of it rotates, all unless given. An operator that takes
            `rotary_embedding_dim` is told so.
        max_position: length of the tables.

    Returns:
        What `diagnose` takes, one rotation or that of q and that of k, compared with the tables it
        was given, and where it takes `interleaved` with that layout and the usual direction.

    Example:
        >>> from ropelib import apply_rotary, diagnose
        >>> def rotary_embedding(x, cos, sin, position_ids, *, interleaved=False):
        ...     layout = "interleaved" if interleaved else "half"
        ...     return apply_rotary(x, cos[position_ids], sin[position_ids], layout=layout)
        >>> diagnose(from_operator(rotary_embedding, interleaved=True)).layout
        'interleaved'
    """
    names = names_of(operator)
    speeds = inverse_frequencies(rotary_dim or head_dim, BASE)
    cos, sin = cos_sin(torch.arange(max_position), speeds)
    options = {"interleaved": interleaved} if "interleaved" in names else {}
    if rotary_dim is not None and "rotary_embedding_dim" in names:
        options["rotary_embedding_dim"] = rotary_dim
    both = takes_both(operator)
    if "position_ids" in names and not both:

        def rotate(x: Tensor, position_ids: Tensor) -> Tensor:
            tables = [table.to(x.device, x.dtype) for table in (cos, sin)]
            rows = position_ids.expand(len(x), -1)
            if names[1] == "position_ids":
                return operator(x, rows, *tables, **options)
            return operator(x, *tables, rows, **options)

        rotate.holds = max_position
    else:

        def call(*given: object) -> object:
            *tensors, ids, arrange = given
            tables = (arrange(table[ids.cpu()]).to(tensors[0]) for table in (cos, sin))
            return operator(*tensors, *tables, **options)

        # flash-attn's kernel has the sequence first; its reference is told by a call
        first = (True,) if "seqlen_offsets" in names else (False, True)
        by_row = _both_by_row if both else row_by_row
        ways = list(_ways_of_cos_sin(call, first, not options, by_row))
        if both:  # as transformers has it, whose tables fit either order
            ways.sort(key=lambda way: way.words.startswith(_SEQUENCE_FIRST))
        if both and "position_ids" in names:
            ways = [*_ways_of_whole_tables(operator, cos, sin), *ways]
        rotate = the_right_one(ways)
    rotations = from_module(rotate) if both else (rotate,)
    layout = "interleaved" if interleaved else "half" if options else None
    for rotate in rotations:
        rotate.head_dim = head_dim
        rotate.meant = Meant(speeds, layout, either_direction=not options, made_here=True)
    return rotations if both else rotate


def from_packed(operator: Callable, **sizes: int) -> tuple[Rotate, Rotate]:
    """Make rotations of q and of k from `operator(qkv, cos, sin)`, as flash-attn has it.

    Args:
        operator: its `qkv` is `(batch, seq_len, 3, num_heads, head_dim)`; it returns that, or
            nothing where it writes into it.
        sizes: `head_dim` and `max_position`, as `from_operator` takes them.

    Returns:
        The pair that `diagnose` takes; v must come back as it was.

    Example:
        >>> def apply(qkv, cos, sin):
        ...     qkv[:, :, :2] *= 2
        >>> q, k = from_packed(apply, head_dim=4, max_position=8)
        >>> k(torch.ones(1, 2, 1, 4), torch.arange(1)).flatten().tolist()
        [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    """
    changes: list[float] = []

    def apply(q: Tensor, k: Tensor, *tables: Tensor, **options) -> Sequence[Tensor]:
        if q.shape != k.shape:
            raise ValueError("qkv has as many heads of q as of k")
        v = random(*k.shape, like=k).roll(1, -1)
        qkv = torch.stack((q, k, v), dim=2)
        turned = operator(qkv, *tables, **options)
        turned_q, turned_k, turned_v = (qkv if turned is None else turned).unbind(2)
        changes.append(gap(turned_v.detach().nan_to_num(torch.inf), v))
        return turned_q, turned_k

    qkv, *rest = signature_of(operator).parameters.values()
    apply.__signature__ = inspect.Signature([qkv.replace(name="q"), qkv.replace(name="k"), *rest])
    rotations = from_operator(apply, **sizes)
    for rotate in rotations:
        rotate.v_changes = changes
    return rotations


_WIDTHS = {
    "": lambda table: table,
    "each entry twice, as (a, b, a, b)": lambda table: torch.cat((table, table), dim=-1),
    "each entry twice, as (a, a, b, b)": lambda table: table.repeat_interleave(2, dim=-1),
}
_SHAPES = {
    "": lambda table: table,
    "(1, seq_len, width)": lambda table: table[None],
    "(1, 1, seq_len, width)": lambda table: table[None, None],
    "(1, seq_len, 1, width)": lambda table: table[None, :, None],
}


def _ways_of_whole_tables(apply: Callable, *tables: Tensor) -> Iterator[Way]:
    """Return how tables of all positions are handed over, of which it takes rows itself."""
    for twice, widen in _WIDTHS.items():

        def looked_up(q: Tensor, k: Tensor, ids: Tensor, widen: Callable = widen) -> object:
            whole = (widen(table).to(q) for table in tables)
            return apply(q, k, *whole, position_ids=ids.expand(len(q), -1))

        said = "cos and sin (max_position, width)"
        yield Way(looked_up, f"{said} with {twice}" if twice else said)


def _ways_of_cos_sin(
    call: Callable, orders: Sequence[bool], may_differ: bool, by_row: Callable
) -> Iterator[Way]:
    """Return how `call(x, ids, arrange)`, or `(q, k, ids, arrange)`, may be handed its tables."""
    for twice, shape in product(_WIDTHS, _SHAPES):
        if (twice or shape) and not may_differ:
            continue

        def arrange(table: Tensor, twice: str = twice, shape: str = shape) -> Tensor:
            return _SHAPES[shape](_WIDTHS[twice](table))

        for sequence_first in orders:
            said = [_SEQUENCE_FIRST] if sequence_first and len(orders) > 1 else []
            said += [f"cos and sin {shape}".strip()] if shape else []
            said += [f"cos and sin with {twice}"] if twice else []
            one_row = _in_order(
                lambda *given, arrange=arrange: call(*given, arrange), sequence_first
            )
            yield Way(by_row(one_row), ", ".join(said))


def from_freqs_cis(apply: Callable, head_dim: int = 64) -> tuple[Rotate, ...]:
    """Make rotations from Meta's form: `apply_rotary_emb(xq, xk, freqs_cis)`.

    Vectors go in as `(batch, seq_len, num_heads, head_dim)`; `freqs_cis` is a complex table
    `(seq_len, head_dim / 2)`, made here with base 10000. Others use the name otherwise. The first
    way that is right is taken: heads first; a real table `(seq_len, head_dim / 2, 2)`, as gpt-fast
    has it; a pair of cos and sin, with each entry twice in diffusers, and of sin and cos where it
    is named `sincos`, as GPT-J has it; angles `(seq_len, 1, 1, head_dim)` with the sequence before
    the batch, as in Megatron. One row of a batch goes in after
    the other where rows stand at different positions, since the table has no axis for them.

    Args:
        apply: takes q and k, or one of them, before the table.
        head_dim: width of the vectors.

    Returns:
        What `diagnose` takes, one rotation or that of q and that of k. Either layout is
        right, and a note says where it is not Meta's.

    Example:
        >>> from ropelib import diagnose
        >>> def apply_rotary_emb(xq, xk, freqs_cis):
        ...     pairs = (torch.view_as_complex(x.unflatten(-1, (-1, 2))) for x in (xq, xk))
        ...     turned = (torch.view_as_real(x * freqs_cis[:, None]) for x in pairs)
        ...     return tuple(x.flatten(-2) for x in turned)
        >>> diagnose(from_freqs_cis(apply_rotary_emb)).layout
        'interleaved'
    """
    speeds = inverse_frequencies(head_dim, BASE)
    both = names_of(apply)[1] not in FOR_BOTH
    ways = _ways_of_one_table(apply, speeds)
    if both:
        rotations = from_module(the_right_one([Way(_both_by_row(w.call), w.words) for w in ways]))
    else:
        rotations = (the_right_one([Way(row_by_row(way.call), way.words) for way in ways]),)
    for rotate in rotations:
        rotate.head_dim, rotate.meant = head_dim, Meant(speeds, made_here=True)
        if "sincos" not in names_of(apply):  # which is not Meta's name
            rotate.usual_layout = "interleaved"
    return rotations


def _ways_of_one_table(apply: Callable, speeds: Tensor) -> list[Way]:
    """Return how q and k, or one of them, may be handed with positions `(seq_len,)`."""

    def angles(ids: Tensor) -> Tensor:
        return ids.double().cpu()[:, None] * speeds

    def complex_table(ids: Tensor) -> Tensor:
        return torch.polar(torch.ones_like(angles(ids)), angles(ids)).to(ids.device).cfloat()

    def real_table(ids: Tensor) -> Tensor:
        return torch.view_as_real(complex_table(ids))

    def tables(name: str) -> Callable:
        return lambda ids: tuple(_WIDTHS[name](t) for t in real_table(ids).unbind(-1))[::step]

    pair, step = ("(sin, cos)", -1) if "sincos" in names_of(apply) else ("(cos, sin)", 1)
    made = {"": complex_table, "a real table (seq_len, head_dim / 2, 2)": real_table}
    made |= {f"{pair} with {twice}" if twice else pair: tables(twice) for twice in _WIDTHS}
    ways = []
    for said, table in made.items():
        for order in (True, False):

            def one(*given: Tensor, table: Callable = table) -> object:
                *tensors, ids = given
                return apply(*tensors, table(ids))

            words = (said, "" if order else _HEADS_FIRST)
            ways.append(Way(_in_order(one, order), ", ".join(filter(None, words))))
    for twice in filter(None, _WIDTHS):

        def megatron(*given: Tensor, twice: str = twice) -> object:
            *tensors, ids = given
            handed = _WIDTHS[twice](angles(ids))[:, None, None].to(ids.device).float()
            turned = apply(*(x.permute(2, 0, 1, 3) for x in tensors), handed)
            if isinstance(turned, Tensor):
                return turned.permute(1, 2, 0, 3)
            return tuple(x.permute(1, 2, 0, 3) for x in turned)

        said = f"x (seq_len, batch, num_heads, head_dim), angles with {twice}"
        ways.append(Way(megatron, said))
    return ways


def _in_order(call: Callable, sequence_first: bool) -> Callable:
    """Transpose what is handed over before the positions, and what comes back."""
    if not sequence_first:
        return call

    def transposed(*given: Tensor) -> object:
        *tensors, ids = given
        turned = call(*(x.transpose(1, 2) for x in tensors), ids)
        if isinstance(turned, Tensor):
            return turned.transpose(1, 2) if turned.dim() > 2 else turned
        return tuple(x.transpose(1, 2) for x in turned)

    return transposed


def row_by_row(one_row: Callable[[Tensor, Tensor], Tensor]) -> Rotate:
    """Call with positions `(seq_len,)`: the whole batch at once where its rows agree.

    Example:
        >>> row_by_row(lambda x, ids: x + ids[:, None])(
        ...     torch.zeros(2, 1, 1, 1), torch.tensor([[3], [5]])
        ... ).flatten().tolist()
        [3.0, 5.0]
    """

    def rotate(x: Tensor, position_ids: Tensor) -> Tensor:
        if position_ids.dim() == 1 or _rows_agree(position_ids):
            return one_row(x, position_ids.reshape(-1, position_ids.shape[-1])[0])
        rows = enumerate(position_ids)
        return torch.cat([one_row(x[b : b + 1], ids) for b, ids in rows])

    return keep(rotate, one_row)


def _both_by_row(both: Callable) -> Callable:
    def rotate(q: Tensor, k: Tensor, position_ids: Tensor) -> Sequence[Tensor]:
        if position_ids.dim() == 1 or _rows_agree(position_ids):
            return both(q, k, position_ids.reshape(-1, position_ids.shape[-1])[0])
        rows = [both(q[b : b + 1], k[b : b + 1], ids) for b, ids in enumerate(position_ids)]
        return tuple(torch.cat(parts) for parts in zip(*rows, strict=True))

    return rotate


def _rows_agree(position_ids: Tensor) -> bool:
    return bool((position_ids == position_ids[:1]).all())
