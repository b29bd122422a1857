"""Rules about a q that grows where k shrinks: xPos, whose lengths follow the position."""

from dataclasses import replace

import torch

from ropelib.diagnosis.calls import heads_rows_and_tokens
from ropelib.diagnosis.grouped import grouped
from ropelib.diagnosis.inputs import gradient, strides, unnamed
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import CallError
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import random

_APART = 1e-2  # relative, of lengths
_LOST = 1e-6


def wrong_with_decay(measured: list[Measured]) -> Finding | None:
    """What else is wrong with a pair that is right for one call of both."""
    rules = (_centered, heads_rows_and_tokens, _alone, strides, grouped, gradient, unnamed)
    for m in measured:
        if getattr(m.probe.rotate, "counts_itself", False):
            continue  # whole texts alone: it may count the decay from their middle
        finding = next(filter(None, (rule(m) for rule in rules)), None)
        if finding:
            return replace(finding, where="k") if m is measured[1] else finding
    return None


def decay_within_pairs(measured: list[Measured]) -> Finding | None:
    """Both dimensions of a pair must be scaled alike; far apart, scores tell if they are not."""
    for m in measured:
        lengths = m.lengths(m.far)
        kept = ((lengths > _LOST) & (lengths < 1 / _LOST)).all(-1)  # not lost in rounding
        first, second = lengths[kept].chunk(2, dim=-1)
        apart = float((first / second - 1).abs().max())
        if apart > 2 * _APART:
            return wrong(
                "decay-differs-within-pairs",
                "The two dimensions of a pair are scaled differently, so that a score depends on "
                "where two tokens stand, the more the farther apart they are.",
                "xPos whose scales are tiled (0 1 2 .. 0 1 2 ..) beside pairs of neighbors, or "
                "repeated beside halves",
                largest_relative_difference=apart,
            )
    return None


def _centered(m: Measured) -> Finding | None:
    """The same position must be scaled alike in the company of others."""
    near = m.lengths(m.near)
    far = m.lengths(m.far.at_most(len(near)))
    apart = float((far / near - 1).abs().max())
    if m.obeys == "all" and apart > _APART:
        return wrong(
            "decay-centered-per-call",
            "The decay of xPos is counted from the middle, or an end, of each call: a query that "
            "comes alone, and keys that were cached with its prompt, are scaled from two places.",
            "(position - seq_len // 2) / scale_base; count from one place in all calls, 0 or half "
            "of the longest context",
            largest_relative_change_of_a_length=apart,
        )


def _alone(m: Measured) -> Finding | None:
    """A token that comes alone, early and late."""
    for position in (m.known[5], m.known[8], m.known[-1]):
        x, ids = random(1, 2, 1, m.head_dim), position[None]
        try:
            found = m.probe(x, ids)
        except CallError:
            return None
        expected = m.applied(x, ids)
        if float((found - expected).abs().max()) > _APART * float(expected.abs().max()):
            return wrong(
                "decode-differs",
                f"A single token at position {int(position)} is turned, or scaled, otherwise than "
                "beside others.",
                "positions or a decay of a step that are not those of the full pass",
                largest_relative_difference=float(
                    torch.linalg.vector_norm(found - expected) / torch.linalg.vector_norm(expected)
                ),
            )
    return None
