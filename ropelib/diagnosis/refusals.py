"""What is said of calls that raise, or return another shape."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from ropelib.diagnosis.adapters import seq_first
from ropelib.diagnosis.forms import adapted
from ropelib.diagnosis.guards import Exit
from ropelib.diagnosis.measured import FEWEST, Measured
from ropelib.diagnosis.probes import CallError, Probe, turns
from ropelib.diagnosis.report import Finding, Report, note
from ropelib.diagnosis.tensors import random

_LONG = 23  # tokens of a call that a table of too few rows does not hold
ALONE, CROWDED = "refused alone", "refused in a crowd"

# How one may be handed over that is refused as it is.
_OTHERWISE = (
    "lambda x, p: yours(p, x)",
    "seq_first(yours)",
    "lambda x, p: yours(x, p[..., None])",
    "lambda x, p: yours(x, p.expand(len(x), -1)[:, None, :, None])",
    "seq_first(lambda x, p: yours(x, p.expand(len(x), -1)[:, :, None, None]))",
)


def or_otherwise(report: Report, probe: Probe, rotate: object) -> Report:
    """Say of what cannot be called that it turns if it is handed over in another way."""
    (found,) = report.findings
    for said in _OTHERWISE:
        way = eval(said, {"yours": rotate, "seq_first": seq_first})  # so that the words hold
        try:
            turning = turns(probe, adapted(way, probe.head_dim)[0])
        except (TypeError, ValueError):  # no form that it has
            continue
        if turning:
            hint = f"It turns if it is handed over as {said}."
            if said == "seq_first(yours)" and getattr(rotate, "is_seq_first", False):
                hint = "It turns if it is handed over without seq_first."
            found = replace(found, sentence=f"{found.sentence.rstrip('.')}. {hint}")
            return replace(report, findings=(found,))
    return report


def or_too_few_rows(report: Report, probe: Probe) -> Report:
    """Say of what raises that it takes positions up to a number, its own or that of the tokens."""

    def taken(ids: Sequence[int]) -> bool:
        try:  # more heads than rows, which may be as many as heads
            probe(random(1, FEWEST, len(ids), probe.head_dim), ids)
        except (TypeError, ValueError, Exit):
            return False
        return True

    (found,) = report.findings
    rows = next((n for n in range(FEWEST) if not taken([n])), 0)
    if all(taken(range(n)) and not taken(range(1, n + 1)) for n in (1, 5, _LONG)):
        hint = (
            "It takes position_ids 0 to 4 in a call of 5 tokens and not 1 to 5, and so at other "
            "lengths, as a table does that is made as long as the call: a step of decoding, whose "
            "one token is not at 0, is refused."
        )
        cause = "a table of x.shape[-2] rows, where position_ids.max() + 1 are needed"
    elif rows > 1 and taken(range(_LONG)) and taken([_LONG - 1]) and not taken([_LONG]):
        hint = (
            f"After calls of {rows} tokens at most it takes positions 0 to {rows - 1} and not "
            f"{rows}, and after one of {_LONG} tokens 0 to {_LONG - 1} and not {_LONG}, as a table "
            "does that is as long as the longest call so far."
        )
        cause = (
            "a table of x.shape[-2] rows, kept until a call has more tokens: position_ids.max() + "
            "1 are needed"
        )
    elif rows > 1 and taken([rows - 1] * _LONG):
        hint = (
            f"It takes positions 0 to {rows - 1} and not {rows}, however many tokens a call has, "
            f"as a table of {rows} rows does: {FEWEST} are needed here."
        )
        cause = f"a table of fewer than {FEWEST} positions, or a check of their range"
    else:
        return report
    found = replace(found, sentence=f"{found.sentence.rstrip('.')}. {hint}", cause=cause)
    return replace(report, findings=(found,))


def refused(m: Measured, what: str, error: CallError, kind: str = CROWDED) -> None:
    """Keep for the note that a call was refused; of crowds it is said where nothing else is."""
    m.crowd.setdefault(kind, {})[what] = raised_by(error)


def raised_by(error: CallError) -> str:
    """Return what the code that was called said, in one line."""
    message = str(error) if error.__cause__ is None else repr(error.__cause__)
    return message.partition("\n")[0]


def refused_calls(m: Measured) -> Finding | None:
    """Say which calls are refused: conditions alone, asked for where any call was refused."""
    if not m.probe.refusals:
        return None
    rows_are_taken = _one_by_one(m)
    found = m.crowd.get(ALONE) or (rows_are_taken and m.crowd.get(CROWDED))
    if not found:
        return None
    first = next(iter(found))
    return note(
        "calls-refused",
        f"Some calls raise or return another shape where calls like them are taken: "
        f"{', '.join(found)}. Of {first}: {found[first]}",
    )


def _one_by_one(m: Measured) -> bool:
    """Try each condition beside a call of 3 heads and 5 tokens, and return whether rows are taken.

    Where they are not, and where bfloat16 is not, other notes say so.
    """
    ids = torch.arange(5)
    _taken(m, "position_ids of int32", (1, 3, 5), ids.int())
    in_half = takes(m, torch.bfloat16)
    in_rows = _is_taken(m, (3, 2, 5), ids.expand(3, -1))
    if in_half:
        _taken(m, "x of float16", (1, 3, 5), ids, torch.float16)
        _taken(m, "a single token of bfloat16", (1, 3, 1), ids[3:4], torch.bfloat16)
    if in_rows:
        _taken(m, "position_ids of shape (1, seq_len)", (1, 3, 5), ids[None])
        _taken(m, "a batch of single tokens", (3, 2, 1), ids[:3, None])
        for rows in (11, 62):
            if not _taken(m, f"a batch of {rows} rows", (rows, 2, 5), ids.expand(rows, -1)):
                break
    if in_rows and in_half:
        _taken(m, "rows of bfloat16", (3, 2, 5), ids.expand(3, -1), torch.bfloat16)
    return in_rows


def takes(m: Measured, dtype: torch.dtype) -> bool:
    """Say whether a plain call in it is taken; where not, a note says that and no more."""
    if dtype == torch.float32:
        return True
    if dtype not in m.crowd:
        m.crowd[dtype] = _is_taken(m, (1, 3, 5), torch.arange(5), dtype)
    return m.crowd[dtype]


def _taken(m: Measured, what: str, sizes: tuple, ids: Tensor, dtype=torch.float32) -> bool:
    try:
        m.probe(random(*sizes, m.head_dim).to(dtype), ids)
    except CallError as error:
        refused(m, what, error, ALONE)
        return False
    return True


def _is_taken(m: Measured, sizes: tuple, ids: Tensor, dtype=torch.float32) -> bool:
    try:
        m.probe(random(*sizes, m.head_dim).to(dtype), ids)
    except (TypeError, CallError):
        return False
    return True
