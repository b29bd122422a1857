"""The forms in which others write a rotation, each made one that takes `(x, position_ids)`."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from torch import Tensor

from ropelib.diagnosis.adapters import from_counting, from_module, keep, seq_first
from ropelib.diagnosis.models import from_transformers, is_of_transformers
from ropelib.diagnosis.probes import Rotate, signature_of
from ropelib.diagnosis.report import Finding, Report, wrong
from ropelib.frequencies import inverse_frequencies
from ropelib.rotation import cos_sin

BASE = 10_000.0
THETA = 20_000.0  # of the course form: one that nobody writes into the code
EXACT = ("output-permuted", "trailing-dimensions", "middle-dimensions")
EXACT += ("contiguous-positions-only", "table-ends")
OFFSETS = ("offset", "start_pos", "start_index", "seq_len_offset", "seqlen_offset")
OFFSETS += ("seqlen_offsets",)


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


def from_offset(rotate: Callable) -> Rotate:
    """Make a rotation from `rotate(x, offset)`, which counts positions on from an offset.

    It is called with one run of neighboring positions after the other, and with one row of a batch
    after the other where rows stand at different positions.

    Args:
        rotate: its second argument is the position of the first token, an integer. Whatever takes
            it by another name becomes one by `lambda x, offset: ...`.

    Returns:
        The rotation that `diagnose` takes.

    Example:
        >>> from ropelib import RotaryEmbedding, diagnose
        >>> rope = RotaryEmbedding(64, layout="half")
        >>> diagnose(from_offset(lambda x, offset: rope(x, x, offset=offset)[0])).layout
        'half'
    """

    def one_row(x: Tensor, ids: Tensor) -> Tensor:
        ends = [0, *((ids.diff() != 1).nonzero().flatten() + 1).tolist(), len(ids)]
        parts = [rotate(x[..., a:b, :], int(ids[a])) for a, b in pairwise(ends)]
        return torch.cat(parts, dim=-2) if len(parts) > 1 else parts[0]

    turned = _row_by_row(one_row)
    turned.runs_only = True
    return turned


def from_course(make: Callable, d_k: int = 64, max_seq_len: int = 8192) -> Rotate:
    """Make a rotation from the course form: a class `(theta, d_k, max_seq_len)`, or `run_rope`.

    This is how CS336 and its followers ask for it: x is `(..., seq_len, d_k)`, and
    `token_positions` `(..., seq_len)`; neighbors are pairs and the base is theta, here 20000, which
    is what the rotation is compared with. Heads are called as rows of the batch. All
    `max_seq_len` positions must be taken, in any order, and dimensions come out where they were.

    Args:
        make: a class or function that takes `theta`, `d_k`, `max_seq_len` and returns a function
            `(x, token_positions)`; or a function `(d_k, theta, max_seq_len, in_query_or_key,
            token_positions)`, as the adapters of the exercise have it.
        d_k: width of the vectors.
        max_seq_len: how many positions it is made for.

    Returns:
        The rotation that `diagnose` takes.

    Example:
        >>> from ropelib import apply_rotary, cos_sin, diagnose, inv_freq
        >>> class RotaryPositionalEmbedding:
        ...     def __init__(self, theta, d_k, max_seq_len, device=None):
        ...         tables = cos_sin(torch.arange(max_seq_len), inv_freq(d_k, theta))
        ...         self.cos, self.sin = tables
        ...     def __call__(self, x, token_positions):
        ...         cos, sin = self.cos[token_positions], self.sin[token_positions]
        ...         return apply_rotary(x[:, None], cos, sin, layout="interleaved")[:, 0]
        >>> diagnose(from_course(RotaryPositionalEmbedding)).ok
        True
    """
    sizes = {"theta": THETA, "d_k": d_k, "max_seq_len": max_seq_len}
    if "in_query_or_key" in _names(make):

        def call(x, token_positions):
            return make(**sizes, in_query_or_key=x, token_positions=token_positions)

        rotate = _as_rows_of_the_batch(call)
    else:
        rotate = _as_rows_of_the_batch(make(**sizes))
    rotate.head_dim = d_k
    rotate.meant = Meant(inverse_frequencies(d_k, THETA), "interleaved")
    rotate.holds = max_seq_len
    return rotate


def from_operator(
    operator: Callable,
    *,
    interleaved: bool = False,
    head_dim: int = 64,
    rotary_dim: int | None = None,
    max_position: int = 8192,
) -> Rotate:
    """Make a rotation from an operator that is handed its tables: `(x, cos, sin, position_ids)`.

    This is the form of ONNX (`X, cos_cache, sin_cache, position_ids`), of the function proposed for
    PyTorch, and, without positions, of flash-attn's, which has the sequence before the heads and is
    called so where the other order raises. Tables of shape `(max_position,
    rotary_dim / 2)` are made here, with base 10000, so that what is judged is the operator alone.

    Args:
        operator: is called by position, and with `interleaved` by name where it takes it.
        interleaved: which of its two layouts.
        head_dim: width of the vectors.
        rotary_dim: how much of it rotates, all unless given. An operator that takes
            `rotary_embedding_dim` is told so.
        max_position: length of the tables.

    Returns:
        The rotation that `diagnose` takes, compared with the layout and the tables it was given.

    Example:
        >>> from ropelib import apply_rotary, diagnose
        >>> def rotary_embedding(x, cos, sin, position_ids, *, interleaved=False):
        ...     layout = "interleaved" if interleaved else "half"
        ...     return apply_rotary(x, cos[position_ids], sin[position_ids], layout=layout)
        >>> diagnose(from_operator(rotary_embedding, interleaved=True)).layout
        'interleaved'
    """
    names = _names(operator)
    speeds = inverse_frequencies(rotary_dim or head_dim, BASE)
    cos, sin = cos_sin(torch.arange(max_position), speeds)
    options = {"interleaved": interleaved} if "interleaved" in names else {}
    if rotary_dim is not None and "rotary_embedding_dim" in names:
        options["rotary_embedding_dim"] = rotary_dim
    if "position_ids" in names:

        def rotate(x: Tensor, position_ids: Tensor) -> Tensor:
            tables = (table.to(x.device, x.dtype) for table in (cos, sin))
            rows = position_ids.expand(len(x), -1)
            return operator(x, *tables, rows, **options)

        rotate.holds = max_position
    else:

        def one_row(x: Tensor, ids: Tensor) -> Tensor:
            tables = (table[ids.cpu()].to(x.device, x.dtype) for table in (cos, sin))
            return operator(x, *tables, **options)

        heads_first = _row_by_row(one_row)
        rotate = seq_first(heads_first)
        if "seqlen_offsets" not in names:  # flash-attn's kernel; its reference is told by a call
            rotate = _first_that_works(heads_first, rotate)
    rotate.head_dim = head_dim
    rotate.meant = Meant(speeds, "interleaved" if interleaved else "half" if options else None)
    return rotate


def from_freqs_cis(apply: Callable, head_dim: int = 64) -> tuple[Rotate, ...]:
    """Make rotations from Meta's form: `apply_rotary_emb(xq, xk, freqs_cis)`.

    Vectors go in as `(batch, seq_len, num_heads, head_dim)`; `freqs_cis` is a complex table
    `(seq_len, head_dim / 2)`, made here with base 10000. One row of a batch goes in after the other
    where rows stand at different positions, since the table has no axis for them.

    Args:
        apply: takes q and k, or one of them, before the table.
        head_dim: width of the vectors.

    Returns:
        What `diagnose` takes, one rotation or that of q and that of k.

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

    def table(ids: Tensor) -> Tensor:
        angles = ids.double().cpu()[:, None] * speeds
        return torch.polar(torch.ones_like(angles), angles).to(ids.device, torch.complex64)

    if list(_names(apply)).index("freqs_cis") == 1:
        rotations = (seq_first(_row_by_row(lambda x, ids: apply(x, table(ids)))),)
    else:

        def both(q: Tensor, k: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
            q, k = (x.transpose(1, 2) for x in (q, k))
            return tuple(x.transpose(1, 2) for x in apply(q, k, table(ids)))

        rotations = from_module(_both_row_by_row(both))
    for rotate in rotations:
        rotate.head_dim, rotate.meant = head_dim, Meant(speeds, "interleaved")
        rotate.is_seq_first = True
    return rotations


def adapted(
    rotate: object, head_dim: int | None = None, max_position: int = 8192
) -> tuple[Rotate, ...]:
    """Return `rotate` as what `diagnose` measures, by the form that it has: one rotation, or two.

    Example:
        >>> len(adapted(lambda x, position_ids: x))
        1
        >>> len(adapted(lambda q, k, position_ids: (q, k)))
        2
    """
    if isinstance(rotate, (tuple, list)):
        return tuple(rotate)
    if is_of_transformers(rotate):
        return from_transformers(rotate)
    if callable(getattr(rotate, "rotate_queries_or_keys", None)):  # rotary-embedding-torch
        return (from_offset(lambda x, offset: rotate.rotate_queries_or_keys(x, offset=offset)),)
    names = _names(rotate)
    width = head_dim or 64
    if inspect.isclass(rotate):
        if not {"d_k", "max_seq_len"} <= set(names):
            raise TypeError(
                f"rotate must be a function or a module, got the class {rotate.__name__}: make one"
            )
        return (from_course(rotate, width, max_position),)
    if "in_query_or_key" in names:
        return (from_course(rotate, width, max_position),)
    if "token_positions" in names:
        return (_as_rows_of_the_batch(rotate),)
    if "input_pos" in names:  # torchtune
        turned = seq_first(lambda x, position_ids: rotate(x, input_pos=position_ids))
        if isinstance(dim := getattr(rotate, "dim", None), int):
            turned.head_dim = dim
        return (turned,)
    if "freqs_cis" in names[1:3]:
        return from_freqs_cis(rotate, width)
    if names[1:3] in (("cos", "sin"), ("cos_cache", "sin_cache")):
        return (from_operator(rotate, head_dim=width, max_position=max_position),)
    takes_both = names[:2] in (("q", "k"), ("query", "key"), ("xq", "xk"))
    offset = next((name for name in OFFSETS if name in names), None)
    if offset and "position_ids" not in names:
        return _by_offset(rotate, offset, takes_both)
    if takes_both and _binds(rotate, "q", "k", "position_ids"):
        return from_module(rotate)
    if takes_both and _binds(rotate, "q", "k", position_ids=0):
        return from_module(lambda q, k, ids: rotate(q, k, position_ids=ids))
    if _binds(rotate, "x", position_ids=0) and not _binds(rotate, "x", "position_ids"):
        return (keep(lambda x, position_ids: rotate(x, position_ids=position_ids), rotate),)
    if takes_both and _binds(rotate, "q", "k"):
        return from_module(from_counting(rotate))
    if names and _binds(rotate, "x") and not _binds(rotate, "x", "position_ids"):
        return (from_counting(rotate),)
    return (rotate,)


def as_its_form_asks(report: Report, rotate: Rotate) -> Report:
    """Return the report with what is a note elsewhere and no choice in this form as wrong.

    Example:
        >>> as_its_form_asks(Report(head_dim=4), lambda x, position_ids: x).ok
        True
    """
    holds = getattr(rotate, "holds", None)
    if holds is None or not report.ok:
        return report
    permitted = {"table-ends"} if (report.positions or holds) >= holds else set()

    def judged(finding: Finding) -> Finding:
        if finding.code not in EXACT or finding.code in permitted:
            return finding
        asked = f"{finding.sentence} The form of its arguments asks for the usual."
        cause = "another order of dimensions or positions, or a table that is too short"
        return replace(wrong("results-not-as-expected", asked, cause), evidence=finding.evidence)

    findings = sorted(map(judged, report.findings), key=lambda f: f.severity != "wrong")
    return replace(report, findings=tuple(findings))


def _first_that_works(*ways: Rotate) -> Rotate:
    """Call in the way that took the first call, whose heads are not as many as its tokens."""
    chosen = []

    def rotate(x: Tensor, position_ids: Tensor, **options) -> Tensor:
        if chosen or x.shape[1] == x.shape[2]:
            return (chosen or ways)[0](x, position_ids, **options)
        errors = []
        for way in ways:
            try:
                result = way(x, position_ids, **options)
            except Exception as error:  # whatever it raises that is called otherwise
                errors.append(error)
                continue
            chosen.append(way)
            return result
        raise errors[0]

    return rotate


def _by_offset(rotate: Callable, name: str, takes_both: bool) -> tuple[Rotate, ...]:
    if not takes_both:
        return (from_offset(lambda x, offset: rotate(x, **{name: offset})),)

    def of(index: int) -> Rotate:
        def one(x: Tensor, position_ids: Tensor, other_times: float = 1) -> Tensor:
            def run(x: Tensor, offset: int) -> Tensor:
                ids = torch.arange(x.shape[-2], device=x.device)
                module = from_module(lambda q, k, _: rotate(q, k, **{name: offset}))
                return module[index](x, ids, other_times=other_times)

            return from_offset(run)(x, position_ids)

        one.runs_only = True
        return one

    return of(0), of(1)


def _names(rotate: object) -> tuple[str, ...]:
    """Return the names of the arguments, none where they cannot be told."""
    try:
        return tuple(signature_of(rotate).parameters)
    except (TypeError, ValueError):
        return ()


def _binds(rotate: Callable, *arguments: str, **named: object) -> bool:
    try:
        signature_of(rotate).bind(*arguments, **named)
    except (TypeError, ValueError):
        return False
    return True


def _as_rows_of_the_batch(rotate: Callable) -> Rotate:
    """Call with x `(batch * num_heads, seq_len, d_k)` and a row of positions for each."""

    def rotate_rows(x: Tensor, position_ids: Tensor) -> Tensor:
        rows = position_ids.expand(len(x), -1).repeat_interleave(x.shape[1], dim=0)
        rotated = rotate(x.flatten(0, 1), rows)
        return rotated.reshape(x.shape) if rotated.numel() == x.numel() else rotated

    theta, width = (getattr(rotate, name, None) for name in ("theta", "d_k"))
    if isinstance(width, int):
        rotate_rows.head_dim = width
        if isinstance(theta, (int, float)) and theta > 0:
            rotate_rows.meant = Meant(inverse_frequencies(width, float(theta)), "interleaved")
    return rotate_rows


def _row_by_row(one_row: Callable[[Tensor, Tensor], Tensor]) -> Rotate:
    """Call with positions `(seq_len,)`: the whole batch at once where its rows agree."""

    def rotate(x: Tensor, position_ids: Tensor) -> Tensor:
        if position_ids.dim() == 1 or _rows_agree(position_ids):
            return one_row(x, position_ids.reshape(-1, position_ids.shape[-1])[0])
        rows = enumerate(position_ids)
        return torch.cat([one_row(x[b : b + 1], ids) for b, ids in rows])

    return keep(rotate, one_row)


def _both_row_by_row(both: Callable) -> Callable:
    def rotate(q: Tensor, k: Tensor, position_ids: Tensor) -> Sequence[Tensor]:
        if _rows_agree(position_ids):
            return both(q, k, position_ids[0])
        rows = [both(q[b : b + 1], k[b : b + 1], ids) for b, ids in enumerate(position_ids)]
        return tuple(torch.cat(parts) for parts in zip(*rows, strict=True))

    return rotate


def _rows_agree(position_ids: Tensor) -> bool:
    return bool((position_ids == position_ids[:1]).all())
