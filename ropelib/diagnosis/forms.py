"""The forms in which others write a rotation, each made one that takes `(x, position_ids)`."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor

from ropelib.diagnosis.adapters import (
    BOTH,
    POSITIONS,
    SEQ_FIRST,
    from_counting,
    from_module,
    keep,
    names_of,
    neighbors,
    seq_first,
    takes_both,
    takes_v,
)
from ropelib.diagnosis.codes import grouped
from ropelib.diagnosis.handed import Meant, has_tables_made_here, made_with_tables, row_by_row
from ropelib.diagnosis.models import from_transformers, is_of_transformers
from ropelib.diagnosis.probes import Rotate, signature_of
from ropelib.diagnosis.report import Finding, Report, note, wrong
from ropelib.diagnosis.tensors import gap, random
from ropelib.diagnosis.ways import Way, the_right_one
from ropelib.frequencies import inverse_frequencies

THETA = 20_000.0  # of the course form: one that nobody writes into the code
EXACT = ("output-permuted", "trailing-dimensions", "middle-dimensions")
EXACT += ("contiguous-positions-only", "rising-positions-only", "table-ends")
OFFSETS = ("offset", "start_pos", "start_index", "seq_len_offset", "seqlen_offset")
OFFSETS += ("seqlen_offsets", "past_key_values_length", "past_length", "past_len")


def from_offset(rotate: Callable) -> Rotate:
    """Make a rotation from `rotate(x, offset)`, which counts positions on from an offset.

    It is called with one run of neighboring positions after the other, and with one row of a batch
    after the other where rows stand at different positions. Where there are several runs a short
    one is called among more neighbors, for it is no step of decoding.

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
        if len(ends) == 2:
            return rotate(x, int(ids[0]))
        return torch.cat([run(x[..., a:b, :], int(ids[a])) for a, b in pairwise(ends)], dim=-2)

    def run(x: Tensor, start: int) -> Tensor:
        before, more = neighbors(start, x.shape[-2])
        first, last = x[..., :1, :], x[..., -1:, :]
        x = torch.cat((*[first] * before, x, *[last] * (more - before)), dim=-2)
        end = x.shape[-2] - (more - before)
        return rotate(x, start - before)[..., before:end, :]

    turned = keep(row_by_row(one_row), rotate)
    turned.runs_only = True
    setattr(turned, SEQ_FIRST, lambda: from_offset(seq_first(rotate)))
    return turned


def from_course(
    make: Callable, d_k: int = 64, max_seq_len: int = 8192, theta: float = THETA
) -> Rotate:
    """Make a rotation from the course form: a class `(theta, d_k, max_seq_len)`, or `run_rope`.

    This is how CS336 and its followers ask for it: x is `(..., seq_len, d_k)`, and
    `token_positions` `(..., seq_len)`; neighbors are pairs and the base is theta, which is what the
    rotation is compared with. Where `diagnose` is told what is expected, it is made again with the
    base of that. Heads are called as rows of the batch. All `max_seq_len` positions must be taken,
    in any order, and dimensions come out where they were.

    Args:
        make: a class or function that takes `theta`, `d_k`, `max_seq_len` and returns a function
            `(x, token_positions)`; or a function `(d_k, theta, max_seq_len, in_query_or_key,
            token_positions)`, as the adapters of the exercise have it.
        d_k: width of the vectors.
        max_seq_len: how many positions it is made for.
        theta: the base that is handed over.

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
    sizes = {"theta": theta, "d_k": d_k, "max_seq_len": max_seq_len}
    if "in_query_or_key" in names_of(make):

        def call(x, token_positions):
            return make(**sizes, in_query_or_key=x, token_positions=token_positions)

        rotate = _as_rows_of_the_batch(call)
    else:
        rotate = _as_rows_of_the_batch(make(**sizes))
    rotate.head_dim = d_k
    rotate.meant = Meant(inverse_frequencies(d_k, theta), "interleaved")
    rotate.holds, rotate.theta = max_seq_len, theta
    rotate.of_theta = partial(from_course, make, d_k, max_seq_len)
    return rotate


def adapted(
    rotate: object,
    head_dim: int | None = None,
    max_position: int = 8192,
    sequence_first: bool = False,
) -> tuple[Rotate, ...]:
    """Return `rotate` as what `diagnose` measures, by the form that it has: one rotation, or two.

    Example:
        >>> len(adapted(lambda x, position_ids: x))
        1
        >>> len(adapted(lambda q, k, position_ids: (q, k)))
        2
    """
    if sequence_first:
        of_its_own = inspect.isclass(rotate) or is_of_transformers(rotate) or not callable(rotate)
        if of_its_own or hasattr(rotate, "rotate_queries_or_keys"):
            return seq_first(adapted(rotate, head_dim, max_position))
        return adapted(seq_first(rotate), head_dim, max_position)
    if isinstance(rotate, (tuple, list)):
        again = getattr(rotate[0], "of_width", None) if head_dim and rotate else None
        return again(head_dim) if again else tuple(rotate)
    if is_of_transformers(rotate):
        return from_transformers(rotate)
    if callable(getattr(rotate, "rotate_queries_or_keys", None)):  # rotary-embedding-torch
        return (from_offset(lambda x, offset: rotate.rotate_queries_or_keys(x, offset=offset)),)
    names = names_of(rotate)
    make = None
    if inspect.isclass(rotate) and not {"d_k", "max_seq_len"} <= set(names):
        raise TypeError(
            f"rotate must be a function or a module, got the class {rotate.__name__}: make one"
        )
    if inspect.isclass(rotate) or "in_query_or_key" in names:
        make = partial(_course, rotate, max_position)
    elif "token_positions" in names:
        return (_as_rows_of_the_batch(rotate),)
    elif "input_pos" in names:  # as torchtune has it
        return (_by_input_pos(rotate),)
    if make := make or made_with_tables(rotate, max_position):
        rotations = make(head_dim or 64)
        if head_dim is None:  # then it can be made as wide as what is expected
            rotations[0].of_width = make
        return rotations
    return _by_positions(rotate, names)


def _course(make: Callable, max_position: int, head_dim: int) -> tuple[Rotate, ...]:
    return (from_course(make, head_dim, max_position),)


def _by_positions(rotate: Callable, names: tuple[str, ...]) -> tuple[Rotate, ...]:
    """Return what is told by how positions are named, and where they stand."""
    both = takes_both(rotate)
    offset = next((name for name in OFFSETS if name in names), None)
    if offset and "position_ids" not in names and not {"cos", "sin"} <= {*names}:
        return _by_offset(rotate, offset, both)
    if names[:1] and names[0] in POSITIONS:
        return _positions_before(rotate)
    if _is_a_setting(rotate, names[1 + both :]):
        return from_module(from_counting(rotate)) if both else (from_counting(rotate),)
    if both and _binds(rotate, "q", "k", "position_ids"):
        return from_module(rotate)
    name = next((name for name in POSITIONS if name in names), "position_ids")
    if both and _binds(rotate, "q", "k", **{name: 0}):
        return from_module(keep(lambda q, k, ids: rotate(q, k, **{name: ids}), rotate))
    if takes_v(rotate) and _binds(rotate, "q", "k", "v", "position_ids"):
        return from_module(_beside_v(rotate))
    if _binds(rotate, "x", **{name: 0}) and not _binds(rotate, "x", "position_ids"):
        return (keep(lambda x, position_ids: rotate(x, **{name: position_ids}), rotate),)
    if names[1:] == ("seq_len",):  # which it counts to
        return (from_counting(keep(lambda x: rotate(x, x.shape[-2]), rotate)),)
    if both and _binds(rotate, "q", "k"):
        return from_module(from_counting(rotate))
    if names and _binds(rotate, "x") and not _binds(rotate, "x", "position_ids"):
        return (from_counting(rotate),)
    return (rotate,)


def _is_a_setting(rotate: Callable, names: tuple[str, ...]) -> bool:
    """Say whether what stands where positions do is a base, a scale, an axis or a switch.

    Its default tells: no positions are a word, a switch, a fraction or a number other than 0.
    """
    if not names or {*names} & {*POSITIONS, *OFFSETS}:
        return False
    default = signature_of(rotate).parameters[names[0]].default
    return (default != 0 and isinstance(default, (bool, float, int, str))) or default is False


def _beside_v(rotate: Callable) -> Callable:
    """Hand over a v of its own numbers, and keep in `v_changes` how far it comes back from them."""
    changes: list[float] = []

    def call(q: Tensor, k: Tensor, position_ids: Tensor) -> Sequence[Tensor]:
        v = random(*k.shape, like=k).roll(1, -1)
        given = v.clone()
        turned_q, turned_k, *rest = rotate(q, k, v, position_ids)
        back = [each for each in (v, *rest[:1]) if getattr(each, "shape", None) == given.shape]
        changes.extend(gap(each.nan_to_num(torch.inf), given) for each in back)
        return turned_q, turned_k

    call.v_changes = changes
    return keep(call, rotate)


def as_a_step(decode: object) -> object:
    """Return what decodes, or, where it takes vectors alone, the same called with positions.

    It counts its steps itself, so that it is called as a model calls it, one step after the other.

    Example:
        >>> as_a_step(lambda x: x)(torch.ones(1), torch.arange(1))
        tensor([1.])
    """
    if not callable(decode) or inspect.isclass(decode) or is_of_transformers(decode):
        return decode
    if hasattr(decode, "counts_itself") or not names_of(decode):
        return decode
    if takes_both(decode) and _binds(decode, "q", "k") and not _binds(decode, "q", "k", "ids"):
        return from_module(keep(lambda q, k, _: decode(q, k), decode))
    if _binds(decode, "x") and len(names_of(decode)) == 1:
        return keep(lambda x, position_ids: decode(x), decode)
    return decode


def as_its_form_asks(report: Report, rotate: Rotate, guessed: bool = False) -> Report:
    """Return the report with what is a note elsewhere and no choice in this form as wrong.

    Args:
        report: of the rotation.
        rotate: as it was adapted.
        guessed: whether what is expected is what its form means, and nobody has said it.

    Example:
        >>> as_its_form_asks(Report(head_dim=4), lambda x, position_ids: x).ok
        True
    """
    if guessed:
        findings = [*map(_as_guessed, report.findings), *_unlike_its_form(report, rotate)]
        report = replace(report, findings=tuple(findings))
    report = replace(report, tables_made=has_tables_made_here(rotate))
    if (theta := getattr(rotate, "theta", None)) is not None:
        report = _by_the_theta_of_the_check(report, theta)
    holds = getattr(rotate, "holds", None)
    if holds is None or not report.ok:
        return report
    permitted = {"table-ends"} if (report.positions or holds) >= holds else set()

    def judged(finding: Finding) -> Finding:
        if finding.code not in EXACT or finding.code in permitted:
            return finding
        said = finding.sentence.rstrip(".")
        asked = f"{said}. The form of its arguments asks for all positions, in the usual order."
        usual = "another order of dimensions or positions, or a table that is too short"
        said = wrong("results-not-as-expected", asked, finding.cause or usual)
        return replace(said, evidence=finding.evidence)

    findings = sorted(map(judged, report.findings), key=lambda f: f.severity != "wrong")
    return replace(report, findings=tuple(findings))


def _unlike_its_form(report: Report, rotate: Rotate) -> list[Finding]:
    usual = getattr(rotate, "usual_layout", report.layout)
    if not report.ok or report.layout == usual:
        return []
    return [
        note(
            "layout-unlike-the-form",
            f"Pairs are {report.layout}, and Meta's code, which has a table of this name, pairs "
            f"{usual} ones. Gemma's does as this: layout= or expected= says what the weights want.",
        )
    ]


def _as_guessed(finding: Finding) -> Finding:
    if finding.code not in grouped()["Right, and not what was expected"]:
        return finding
    said = "What is expected is read off the form of its arguments, and of what they are handed."
    return replace(finding, sentence=f"{finding.sentence} {said}")


def _by_the_theta_of_the_check(report: Report, theta: float) -> Report:
    """Say where its base is from, or ought to be: the check made it with a theta of its own."""
    handed = f"theta={theta:g} was handed over by this check"

    def is_its_base(base: float | None) -> bool:
        return base is not None and abs(base / theta - 1) < 1e-4

    def said(finding: Finding) -> Finding:
        if finding.code != "base-not-as-expected":
            return finding
        if is_its_base(finding.evidence.get("base")):
            cause = f"{handed}: hand over an instance that is made with the theta that is meant"
        else:
            cause = f"{handed}, and is not used: a base that is written into the code"
        return replace(finding, cause=cause)

    if is_its_base(report.base) and report.profile:
        report = replace(report, profile=f"{report.profile}: {handed}")
    return replace(report, findings=tuple(map(said, report.findings)))


def _by_offset(rotate: Callable, name: str, both: bool) -> tuple[Rotate, ...]:
    if not both:
        return (from_offset(keep(lambda x, offset: rotate(x, **{name: offset}), rotate)),)

    def of(index: int) -> Rotate:
        def one(x: Tensor, position_ids: Tensor, other_times: float = 1) -> Tensor:
            def run(x: Tensor, offset: int) -> Tensor:
                ids = torch.arange(x.shape[-2], device=x.device)
                module = from_module(lambda q, k, _: rotate(q, k, **{name: offset}))
                return module[index](x, ids, other_times=other_times)

            return from_offset(run)(x, position_ids)

        one.runs_only = True
        setattr(one, SEQ_FIRST, lambda: _by_offset(seq_first(rotate), name, both)[index])
        return keep(one, rotate)

    return of(0), of(1)


def _by_input_pos(rotate: Callable) -> Rotate:
    """Call as torchtune does, the sequence first, or with the heads first."""

    def heads_first(x: Tensor, position_ids: Tensor) -> Tensor:
        return rotate(x, input_pos=position_ids)

    words = "x (batch, num_heads, seq_len, head_dim)"
    turned = the_right_one([Way(seq_first(heads_first)), Way(heads_first, words)])
    if isinstance(dim := getattr(rotate, "dim", None), int):
        turned.head_dim = dim
    return turned


def _positions_before(rotate: Callable) -> tuple[Rotate, ...]:
    """Call as vLLM does, `(positions, query, key)`, or with x alone; flat, if that is right.

    What is flat may be turned where it lies, and nothing come back.
    """

    def flat(*given: Tensor) -> object:
        *tensors, ids = given
        batch, _, tokens, width = tensors[0].shape
        ids = _of_rows(ids, batch).flatten(-2)
        given = [x.transpose(1, 2).flatten(2).flatten(0, 1).clone() for x in tensors]
        turned = rotate(ids, *given)
        if turned is None:  # as vLLM's own operator, which writes into q and k
            turned = given if len(given) > 1 else given[0]

        def back(x: Tensor) -> Tensor:
            return x.reshape(batch, tokens, -1, width).transpose(1, 2)

        return back(turned) if isinstance(turned, Tensor) else tuple(map(back, turned))

    ways = [
        Way(lambda *given: rotate(given[-1], *given[:-1])),
        Way(flat, "x (batch * seq_len, num_heads * head_dim), positions (batch * seq_len,)"),
    ]
    turned = the_right_one(ways)
    width = getattr(rotate, "head_size", None)
    if isinstance(width, int):
        turned.head_dim = width
    return from_module(turned) if names_of(rotate)[1:3] in BOTH else (turned,)


def _binds(rotate: Callable, *arguments: str, **named: object) -> bool:
    try:
        signature_of(rotate).bind(*arguments, **named)
    except (TypeError, ValueError):
        return False
    return True


def _of_rows(position_ids: Tensor, rows: int) -> Tensor:
    """Return positions of each row, `(batch, seq_len)`, behind their axes where they have some."""
    return position_ids.expand(*position_ids.shape[:-2], rows, -1)


def _as_rows_of_the_batch(rotate: Callable) -> Rotate:
    """Call with x `(batch * num_heads, seq_len, d_k)` and a row of positions for each, or whole."""

    def rows(x: Tensor, position_ids: Tensor) -> Tensor:
        ids = _of_rows(position_ids, len(x)).repeat_interleave(x.shape[1], dim=-2)
        rotated = rotate(x.flatten(0, 1), ids)
        return rotated.reshape(x.shape) if rotated.numel() == x.numel() else rotated

    def whole(x: Tensor, position_ids: Tensor) -> Tensor:
        return rotate(x, _of_rows(position_ids, len(x)))

    said = "x (batch, num_heads, seq_len, d_k), token_positions "
    ways = [
        Way(rows),
        Way(whole, f"{said}(batch, seq_len)"),
        Way(
            lambda x, ids: rotate(x, _of_rows(ids, len(x)).unsqueeze(-2)),
            f"{said}(batch, 1, seq_len)",
        ),
        Way(row_by_row(rotate), f"{said}(seq_len,)"),
    ]
    turned = the_right_one(ways)
    theta, width = (getattr(rotate, name, None) for name in ("theta", "d_k"))
    if isinstance(width, int):
        turned.head_dim = width
        if isinstance(theta, (int, float)) and theta > 0:
            turned.meant = Meant(inverse_frequencies(width, float(theta)), "interleaved")
    return turned
