"""Results that no frequency, factor or layout tells from those that are expected."""

import torch
from torch import Tensor

from ropelib.diagnosis.at_length import differs_from_another
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.miswritten import written_elsewhere
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import SAME

_ALIKE = 1e-4  # relative difference of frequencies that are one


def others_turn(m: Measured, inv_freq: Tensor | None, head_dim: int | None) -> Finding | None:
    """Ask for the leading dimensions of a head, which are those that a configuration means."""
    pairing = m.pairing
    first, count = pairing.offset, 2 * pairing.width
    if not first or head_dim != m.head_dim or inv_freq is None or 2 * len(inv_freq) != count:
        return None
    return wrong(
        "pairs-not-as-expected",
        f"As many dimensions turn as expected, and others: {first} to {first + count - 1}, "
        f"expected the first {count}.",
        "a head cut as (nope, rope), as DeepSeek's are, where weights have it as (rope, nope)",
        first_rotating_dimension=first,
    )


def parts_as_heads(m: Measured, inv_freq: Tensor | None) -> Finding | None:
    """Ask whether each part of a head is turned by the same angles, where others are meant."""
    count = alike_parts(m)
    if count < 2 or inv_freq is None or 2 * len(inv_freq) != m.head_dim:
        return None
    parts = inv_freq.unflatten(0, (count, -1))
    if bool(((parts - parts[0]).abs() < _ALIKE * parts[0].abs()).all()):
        return None
    return wrong(
        "width-not-as-expected",
        f"Each {m.head_dim // count} of the {m.head_dim} dimensions are turned as a head of their "
        "own, by the same angles.",
        f"head_dim taken to be {m.head_dim // count}, or a head that is cut over devices (tensor "
        "parallel), each of which makes frequencies of its part",
        width=m.head_dim // count,
        expected=m.head_dim,
    )


def alike_parts(m: Measured) -> int:
    """Return into how many parts a head is cut that are turned alike, each within itself."""
    speeds = dict(zip(m.dims, m.speeds.tolist(), strict=True))
    if len(speeds) < m.head_dim:
        return 1
    for count in (8, 4, 2):
        part = m.head_dim // count
        if m.head_dim % count or part < 4:
            continue
        firsts = [dim % part for dim in range(m.head_dim)]
        if all(
            m.partner[dim] - dim == m.partner[first] - first
            and m.partner[dim] // part == dim // part
            and abs(speeds[dim] / speeds[first] - 1) < _ALIKE
            for dim, first in enumerate(firsts)
        ):
            return count
    return 1


def results_differ(m: Measured, other: Measured | None) -> Finding | None:
    """Compare the matrices of the two, each with the order in which its dimensions come out."""
    if other is None:
        return None
    count = min(len(m.near.positions), len(other.near.positions))
    differs = (_as_they_come(m, count) - _as_they_come(other, count)).abs().amax(dim=(1, 2))
    allowed = SAME + 4 * (m.noise + other.noise)  # one of both may be taken in bfloat16 alone
    if differs.max() < allowed:
        return differs_from_another(m, other)
    largest = {"largest_difference": float(differs.max())}
    orders = [each.permutation or [*range(m.head_dim)] for each in (m, other)]
    moved = [dim for dim, places in enumerate(zip(*orders, strict=True)) if len(set(places)) > 1]
    if not moved:
        return wrong(
            "results-not-as-expected",
            "Frequencies, factor and layout are the expected ones, and results are not.",
            "other dimensions that turn, as of a head cut at its other end, the sign of sin, or an "
            "output in another order",
            int(m.near.positions[:count][differs >= allowed][0]),
            **largest,
        )
    dim = moved[0]
    found, meant = (order[dim] for order in orders)
    moves_alone = written_elsewhere(m.permutation) if other.permutation is None else ""
    return wrong(
        "results-not-as-expected",
        "Frequencies, factor and layout are the expected ones, and dimensions come out in another "
        f"order: dimension {dim} at {found}, expected at {meant}.",
        moves_alone
        or "numbers that are written where others were read, by one of the two alone: scores of q "
        "and k that both come out so are the same, and keys cached by the other code do not fit",
        0,
        **{f"dimension_{dim}_comes_out_at": found},
        **largest,
    )


def _as_they_come(m: Measured, count: int) -> Tensor:
    matrices = m.near.matrices[:count] / m.factors
    if m.permutation is None:
        return matrices
    order = torch.tensor(m.permutation)
    return torch.empty_like(matrices).index_copy_(1, order, matrices)
