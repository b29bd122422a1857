"""Rules on a table that ends: one is read on there, another is as long as the call."""

import torch
from torch import Tensor

from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import CallError, Probe, with_width
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import SAME, gap, random, spread

_OFF = 0.02  # of a length, beyond what tables are rounded to
_ASTRAY = 0.1  # rad


def read_past_its_end(m: Measured, off: Tensor) -> Finding | None:
    """From one position on pairs have neither their length nor their angle; `off` are lengths."""
    first = int(off.int().argmax())
    lengths = m.lengths(m.far)[first:] / m.scale
    astray = m.residual(m.far, m.speeds)[first:] > _ASTRAY
    if len(lengths) < 2 or not off[first:].all() or astray.double().mean() < 0.5:
        return None
    uneven = lengths.amax(1) - lengths.amin(1) > _OFF  # a temperature scales all pairs alike
    if not (uneven | (lengths.amax(1) < _OFF)).all():
        return None
    since = _first_of_all(m, int(m.far.positions[first]))
    return wrong(
        "table-read-past-its-end",
        f"From position {since} on pairs have lengths and angles that no rotation has, and before "
        "it all is right.",
        "a table that ends there and is read on, as kernels do that check no index",
        since,
        smallest_length=float(m.lengths(m.far)[first:].min()),
        largest_length=float(m.lengths(m.far)[first:].max()),
    )


def _first_of_all(m: Measured, probed: int) -> int:
    """Return the first position at which one vector has other lengths, of all, up to `probed`."""
    if m.permutation is not None:
        return probed
    a, b = m.dims[: m.num_pairs], m.dims[m.num_pairs :]
    x, turned = m.one_vector[0].double(), m.full[0, 0].double()
    lengths = torch.hypot(turned[:, a], turned[:, b]) / torch.hypot(x[a], x[b])
    off = (lengths / m.scale[: m.num_pairs] - 1).abs().amax(1) > _OFF + 2 * m.noise
    return min(int(off.int().argmax()), probed) if off.any() else probed


def wraps_at_the_call(m: Measured) -> Finding | None:
    """Positions are taken modulo the number of tokens."""
    tokens = len(ids := m.far.positions)
    by_runs = getattr(m.probe.rotate, "runs_only", False) or m.obeys != "all"
    if by_runs or 2 * tokens > m.limit or not (m.residual(m.far, m.speeds) > _ASTRAY).any():
        return None
    x = random(1, 1, 1, m.head_dim).expand(1, 2, 2 * tokens, -1)
    try:
        far, wrapped = (m.probe(x[:, :, :tokens], each) for each in (ids, ids % tokens))
        longer = m.probe(x, range(2 * tokens))
    except CallError:
        return None
    if gap(far, wrapped) > SAME or gap(longer[:, :, :tokens], longer[:, :, tokens:]) < SAME:
        return None
    return wrong(
        "positions-wrap-around",
        f"In a call of {tokens} tokens position {tokens} is turned like position 0, and so on; in "
        f"one of {2 * tokens} tokens it is not, as by a table that is as long as the call.",
        "positions modulo x.shape[-2], which is fewer than position_ids.max() + 1",
    )


def clamped_to_the_call(m: Measured) -> Finding | None:
    """Positions beyond the number of tokens are as the last within it, and in longer calls not."""
    tokens = len(m.far.positions)
    beyond = m.far.matrices[m.far.positions >= tokens]
    by_runs = getattr(m.probe.rotate, "runs_only", False) or m.obeys != "all"
    if by_runs or 2 * tokens > m.limit or spread(beyond, axis=0) > SAME:
        return None
    x = random(1, 1, 1, m.head_dim).expand(1, 2, 2 * tokens, -1)
    try:
        longer = m.probe(x, range(2 * tokens))[0, 0]
        again = m.probe(x[:, :, :tokens], m.far.positions)[0, 0]
    except CallError:
        return None
    end = m.far.at_most(tokens).applied(x[:, :, :1], m.far.positions[-1:])[0, 0]
    if m.permutation is not None:
        end = torch.empty_like(end).index_copy_(-1, torch.tensor(m.permutation), end)
    if gap(longer[tokens - 1 :][:1], end) > SAME or gap(longer[tokens:][:1], end) < SAME:
        return None
    like = f"positions from {tokens} on {{}} turned like position {tokens - 1}"
    if gap(again[m.far.positions >= tokens], end.expand(len(beyond), -1)) < SAME:
        return wrong(
            "positions-clamped",
            f"In a call of {tokens} tokens {like.format('are')}, and in one of {2 * tokens} tokens "
            "they are not, as by a table that is as long as the call.",
            "a table of x.shape[-2] rows, indexed with a clamp: position_ids.max() + 1 are needed",
        )
    return wrong(
        "positions-clamped",
        f"In the first call of {tokens} tokens {like.format('were')}, and after longer calls they "
        "are not, as by a table that is as long as the longest call so far.",
        "a table of x.shape[-2] rows, kept until a call has more tokens and indexed with a clamp: "
        "position_ids.max() + 1 are needed",
    )


def grown_by_tokens(m: Measured) -> Finding | None:
    """Where a table seems to end, a call of more tokens than it has rows may let it grow."""
    if not m.limit_error or m.obeys != "all":
        return None
    tokens, asked = 2 * m.limit, with_width(m.probe, m.head_dim)  # what it refuses is not noted
    x = random(1, 1, 1, m.head_dim).expand(1, 2, tokens, -1)
    if not _ends_before(asked, x, tokens - 1):
        return None
    try:
        asked(x, range(tokens))
    except CallError:  # it ends there for all
        return None
    if not _ends_before(asked, x, tokens):  # made longer than the call that asked
        return None
    return wrong(
        "late-steps-wrong",
        f"A token that comes alone at position {tokens - 1} is refused, and a call of {tokens} "
        f"tokens is taken; the token after it, alone at position {tokens}, is refused again: a "
        "table that grows by the tokens of a call, not by their positions.",
        "a table made longer where x.shape[-2] is beyond its rows; position_ids.max() + 1 are "
        "needed",
        tokens=tokens,
        raised=m.limit_error,
    )


def _ends_before(asked: Probe, x: Tensor, position: int) -> bool:
    """Say whether one token at a position is refused as beyond the end of a table."""
    try:
        asked(x[:, :, :1], [position])
    except CallError as error:
        return isinstance(error.__cause__, IndexError)
    return False
