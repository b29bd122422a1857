"""Rules about heads: what makes them differ, and how such as differ on purpose are looked at."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from ropelib.diagnosis.adapters import keep, seq_first
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import (
    CallError,
    Probe,
    Rotate,
    by_head,
    heads_beside,
    obedience,
    takes_seq_first,
)
from ropelib.diagnosis.report import Finding, Report, note, wrong
from ropelib.diagnosis.tensors import SAME, gap, random, spread

_ONE_AT_A_TIME = (
    "If that is meant, as in RoPE-ViT (mixed), Mochi or LTX, hand over one head at a time, head 0 "
    "of 16: lambda x, p: torch.stack([rotate(v[:, None].repeat(1, 16, 1, 1), p)[:, 0] for v in "
    "x.unbind(1)], 1)."
)
_COMPARED = (0, 1, 3)  # heads, each in a call of as many as it needs
_SO = "(batch, seq_len, num_heads, head_dim), as seq_first(...) or --seq-first says it"


def heads_differ(m: Measured) -> Finding | None:
    """One vector in every head, as many heads as the matrices are measured with."""
    num_tokens = len(m.far.positions)
    num_heads = heads_beside(m.head_dim + 2, num_tokens)
    x = random(1, 1, 1, m.head_dim).expand(1, num_heads, num_tokens, -1)
    rotated = m.probe(x, m.far.positions if m.obeys == "all" else range(num_tokens))
    if spread(rotated, axis=1) <= SAME:
        return None
    evidence = {
        "largest difference": spread(rotated, axis=1),
        "heads unlike the first": int(
            ((rotated - rotated[:, :1]).abs().amax((0, 2, 3)) > SAME).sum()
        ),
        "of": num_heads,
    }
    if spread(rotated, axis=2) < SAME and spread(rotated.norm(dim=-1), axis=1) < SAME:
        return by_head(evidence, as_long_as_heads=True)
    left = ((rotated - x).abs().amax((0, 2, 3)) < SAME).nonzero().flatten()
    if 0 < len(left) == evidence["heads unlike the first"]:
        which = f"{len(left)} of {num_heads} heads, the first of them head {int(left[0])},"
        return Finding(
            "heads-differ",
            "wrong",
            f"{which} come out as they went in, and the others turn.",
            evidence,
            "a loop over blocks of heads that leaves out the last, incomplete one, or a slice that "
            "rotates only some heads",
        )
    return _viewed(m) or Finding(
        "heads-differ",
        "wrong",
        "Heads are turned differently: a vector comes out of one head otherwise than out of "
        f"another at the same position. {_ONE_AT_A_TIME}",
        evidence,
        "frequencies or tables with an axis of heads, or a slice that rotates only some heads",
    )


def _viewed(m: Measured) -> Finding | None:
    """Say so where vectors get the angles of their place in memory, read with the other axes."""
    heads, tokens = 3, 4
    x = random(1, 1, 1, m.head_dim).expand(1, heads, tokens, -1)
    in_memory = m.probe(x, range(tokens)).reshape(1, tokens, heads, -1)
    if spread(in_memory, axis=2) > SAME or spread(in_memory, axis=1) < SAME:
        return None
    return wrong(
        "heads-differ",
        f"Of {heads} heads and {tokens} tokens the first {heads} vectors in memory come out alike, "
        "and so do the next: memory of (batch, num_heads, seq_len, head_dim) is read as (batch, "
        "seq_len, num_heads, head_dim).",
        "view or reshape where transpose(1, 2) is meant",
        heads=heads,
        tokens=tokens,
    )


def called_seq_first(
    probes: list[Probe],
    decode: Probe | None,
    found: Finding,
    examine: Callable[[list[Probe], Probe | None], Report],
) -> Report | None:
    """Report on the other order of axes, where heads agree in it and in the usual one do not.

    Args:
        probes: of the rotation that heads differ in, and of k where that is of q.
        decode: what it is compared with, if anything.
        found: what it is told in the usual order.
        examine: makes a report of other probes.
    """
    if getattr(probes[0].rotate, "is_seq_first", False) or _heads_agree(probes[0]):
        return None
    try:
        swapped = list(map(_swapped, probes))
        if not _heads_agree(swapped[0]):
            return None
        report = examine(swapped, decode and _swapped(decode))
    except (TypeError, ValueError):
        return None
    if report.ok:
        found = takes_seq_first(found.evidence)
    elif obedience(swapped[0]) != "nothing" or getattr(swapped[0].rotate, "runs_only", False):
        told = note(
            "called-as",
            f"Heads agree for x of shape {_SO}, and not for (batch, num_heads, seq_len, "
            "head_dim): what stands above was measured so.",
        )
        return replace(report, findings=(*report.findings, told))
    elif report.codes[0] == "position-ids-ignored":  # of heads or of tokens: nothing tells
        also = f"For x of shape {_SO}, it is {report.codes[0]}."
        found = replace(found, sentence=f"{found.sentence} {also}")
    else:
        return None
    where = "k" if probes[0].name == "rotate of k" else ""
    return Report(probes[0].head_dim, findings=(replace(found, where=where),))


def _heads_agree(probe: Probe) -> bool:
    """Say whether one vector comes out of all heads alike, where tokens are not as many."""
    x = random(1, 1, 1, probe.head_dim).expand(1, 3, 5, probe.head_dim)
    try:
        return spread(probe(x, range(5)), axis=1) <= SAME
    except CallError:
        return False


def _swapped(probe: Probe) -> Probe:
    """Return a probe that hands over x as `(batch, seq_len, num_heads, head_dim)`."""
    other = Probe(seq_first(probe.rotate), probe.name, probe.head_dim, probe.device)
    other.timeout = probe.timeout
    return other


def heads_made_of_others(m: Measured) -> Finding | None:
    """What seems to add a vector, or not to turn: basis vectors lie beside each other in heads."""
    if m.far.added <= 1e-6 and spread(m.far.matrices, axis=0) >= 1e-6:
        return None
    x = random(1, 3, 4, m.head_dim)
    together = m.probe(x, range(4))
    alone = torch.cat([m.probe(head, range(4)) for head in x.split(1, 1)], dim=1)
    zero = m.probe(torch.zeros(1, 1, 4, m.head_dim), range(4))
    if gap(together, alone) < SAME or float(zero.abs().max()) > SAME:
        return None
    order = [[gap(one, other) < SAME for other in alone.unbind(1)] for one in together.unbind(1)]
    if all(sum(each) == 1 for each in (*order, *zip(*order, strict=True))):
        return wrong(
            "heads-mixed",
            "Heads come out in another order: what goes in as head "
            f"{order[0].index(True)} comes out as head 0.",
            "heads that are reversed, or regrouped, and not put back",
            of=3,
        )
    return wrong(
        "heads-mixed",
        "A head comes out otherwise beside others than alone"
        + (", as the first does." if gap(together[:, 1:], alone[:, :1]) < SAME else "."),
        "x[:, :1] that is rotated and expanded to all heads, or heads that are summed",
        largest_difference=gap(together, alone),
        of=3,
    )


def rows_as_tokens(m: Measured) -> Finding | None:
    """Where tokens of a call come out alike, rows of a batch may be what is counted."""
    if m.obeys != "all" or spread(m.fresh, axis=2) > SAME:
        return None
    x = random(1, 1, 1, m.head_dim).expand(7, 3, 1, -1)
    try:
        rotated = m.probe(x, [0])
    except CallError:
        return None
    if spread(rotated, axis=0) < SAME or spread(rotated, axis=1) > SAME:
        return None
    return wrong(
        "batch-taken-for-tokens",
        "All tokens of a row are turned alike, and rows of a batch are not: the row decides the "
        "angle where the token should.",
        "x is taken as (seq_len, batch, num_heads, head_dim): hand it over as x.permute(2, 0, 1, "
        "3), and turn what comes back by .permute(1, 2, 0, 3); --seq-first is for (batch, seq_len, "
        "num_heads, head_dim)",
        largest_difference=spread(rotated, axis=0),
    )


def one_head(rotate: Rotate, head: int) -> Rotate:
    """Return the rotation that turns every head as this one of `rotate` is turned.

    Example:
        >>> def rotate(x, position_ids):  # each head by another factor
        ...     return x * torch.arange(x.shape[1])[:, None, None]
        >>> one_head(rotate, 5)(torch.ones(1, 3, 1, 2), torch.arange(1)).flatten()
        tensor([5., 5., 5., 5., 5., 5.])
    """

    def rotate_one(x: Tensor, position_ids: Tensor) -> Tensor:
        alone = (one[:, None].repeat(1, max(head + 1, 2), 1, 1) for one in x.unbind(1))
        return torch.stack([rotate(each, position_ids)[:, head] for each in alone], dim=1)

    rotate_one.is_one_head = True
    return keep(rotate_one, rotate)


def head_by_head(judge: Callable[[Callable[[Rotate], Rotate]], Report]) -> Report:
    """Return the report on the first of some heads that is wrong, or on head 0.

    Args:
        judge: makes a report; it gets the function that makes of a rotation that of one head.
    """
    reports = []
    for head in _COMPARED:
        reports.append(judge(lambda rotate, head=head: one_head(rotate, head)))
        if not reports[-1].ok:
            where = f"head {head}"
            found = [
                replace(f, where=f"{f.where}, {where}".strip(", ")) for f in reports[-1].findings
            ]
            return replace(reports[-1], findings=tuple(found))
    told = note(
        "heads-of-their-own",
        "Heads turn otherwise than each other, and as those of what is expected: heads 0, 1 and 3 "
        "were compared, each by itself. What is reported is that of head 0.",
    )
    return replace(reports[0], findings=(told, *reports[0].findings))
