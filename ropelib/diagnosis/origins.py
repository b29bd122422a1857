"""Where positions are counted from, told by how position 0 is turned."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from ropelib.diagnosis.drift import steps_of_a_turn
from ropelib.diagnosis.measured import Measured, speeds_of
from ropelib.diagnosis.probes import CallError, follows_gaps, keeps_by_length, rising_gaps
from ropelib.diagnosis.report import Finding, note, wrong
from ropelib.diagnosis.tensors import SAME, gap, random

_OFF, _FAR = 1e-2, 1e-5  # rad that no shift explains: of any, of each position of a far one
_MOST_OFF = 0.3  # rad, of the farthest one: with more any angles fit
_ALIKE = 1e-4  # rad: angles of pairs that are one number
_EXACT = 1e-3  # positions
_UNEVEN = [0, 1, 3, 8, 4]  # positions in an order that is no other one counted back
_LONG = 24  # tokens of a call that may take another path than one of 7
_SHORT = 9  # tokens of the short call, see `Measured.short_call`


def _within(angle: Tensor, turn: float) -> Tensor:
    return torch.remainder(angle + turn / 2, turn) - turn / 2


def shift_of(start: Tensor, speeds: Tensor, turn: float = 2 * math.pi) -> float | None:
    """Return by how many positions all pairs are ahead at position 0, if one number explains it.

    The slowest pair tells it up to whole turns, each faster one more exactly.

    Example:
        >>> speeds = torch.tensor([1, 0.1])
        >>> round(shift_of(3 * speeds, speeds), 4), shift_of(torch.tensor([0.0, 3]), speeds)
        (3.0, None)
    """
    order = [pair for pair in speeds.abs().argsort().tolist() if float(speeds[pair])]
    for turns in (0, -1, 1, -2, 2):  # coordinates from -1 to 1 begin at -pi, which is pi as well
        shift = turns * turn / float(speeds[order[0]])
        for pair in order:
            left = _within(start[pair] - shift * speeds[pair], turn)
            shift += float(left) / float(speeds[pair])
        allowed = min(_OFF + abs(shift) * _FAR, _MOST_OFF)  # frequencies are measured in float32
        if float(_within(start - shift * speeds, turn).abs().max()) <= allowed:
            return shift
    return None


def _is_half(shift: float) -> bool:
    """Say whether it lies in the middle between two whole numbers."""
    return abs(abs(shift) % 1 - 0.5) < _EXACT


def _shifts(m, origins: bool = False) -> dict[int | None, float] | None:
    """Return the shift of each axis that turns a pair, of all pairs where they follow one.

    For origins pairs may be half a turn off: one that makes more than half a turn in a step seems
    to be slower by a whole one, and half way between two positions half of that is missing.
    """
    start, speeds = m.start[: m.num_pairs], m.speeds[: m.num_pairs]
    of_pairs = torch.full((m.num_pairs,), -1)
    if m.axes is not None and m.axes.of_pairs is not None:
        of_pairs = torch.tensor(m.axes.of_pairs)
    shifts = {}
    for axis in of_pairs.unique().tolist():
        own = of_pairs == axis
        shift = shift_of(start[own], speeds[own])
        if shift is None and origins and int(own.sum()) > 2:
            half = shift_of(start[own], speeds[own], math.pi)
            shift = half if half is not None and _is_half(half) else None
        if shift is None:
            return None
        shifts[None if axis < 0 else axis] = shift
    return shifts


def origin(m) -> list[float] | None:
    """Return where each axis has its origin, if that is how coordinates from -1 to 1 begin.

    Position 0 is turned as one before the origin. Where not all axes have one beyond the first
    place, or there is one axis alone, it must lie in the middle of all places.
    """
    shifts = _shifts(m, origins=True)
    if shifts is None:
        return None
    if _from_1_on_all_axes(shifts):
        return [-1.0] * len(shifts)
    moved = [shift for shift in shifts.values() if abs(shift) > _EXACT]
    if not moved or max(moved) > -1.5:
        return None
    all_axes = None not in shifts and len(moved) == len(shifts)
    if not all_axes and not all(_in_the_middle(m, shift) for shift in moved):
        return None
    return [-shift for shift in shifts.values()]


def _from_1_on_all_axes(shifts: dict[int | None, float]) -> bool:
    """Say whether places of an image are counted from 1, as Llama 4's vision counts them."""
    return len(shifts) > 1 and all(abs(shift - 1) < _EXACT for shift in shifts.values())


def _in_the_middle(m, shift: float) -> bool:
    if _is_half(shift):  # of an even number of places, between two of them
        return True
    places = 1 - 2 * round(shift)
    if abs(shift - round(shift)) > _EXACT:
        return False
    if not m.limit_error:
        return m.limit in (places, places - 1)
    return any(_taken(m, end - 1) and not _taken(m, end) for end in (places, places - 1))


def _taken(m, position: int) -> bool:
    try:
        m.probe(random(1, 1, 1, m.head_dim), [position])
    except CallError:
        return False
    return True


def centered(m) -> Finding | None:
    """Say where places are counted from."""
    if float(m.start.abs().max()) < 1e-4 or (origins := origin(m)) is None:
        return None
    where = ", ".join(f"{each + 0:.6g}" for each in origins)
    said = f"Positions are counted from the middle, which lies at {where}."
    if m.axes is not None and m.axes.of_pairs is not None:
        said = (
            "Places are counted from the middle of an image, or from another origin: along its "
            f"axes it lies at {where}."
        )
        if all(each == -1 for each in origins):
            said = "Places are counted from 1 along all axes, as in Llama 4's vision."
    said += " Scores of q and k that are both turned so depend on distances alone."
    return note("centered", said)


def shifted(m) -> Finding:
    """Say by how much positions are shifted, where position 0 is turned as another should be."""
    if finding := _within_the_call(m) or _by_length(m):
        return finding
    shifts = _shifts(m)
    if shifts is None or _alike(m):
        return _turned(m)
    first = next(iter(shifts.values()))
    if any(abs(shift - first) > _EXACT for shift in shifts.values()):
        return _of_axes({axis: shift for axis, shift in shifts.items() if abs(shift) > _EXACT})
    if finding := reversed_order(m):
        return finding
    code = "off-by-one" if _are_ones([first]) else "positions-shifted"
    return wrong(
        code,
        f"Position 0 is turned as position {first:.6g} should be, and so on: every position is "
        f"shifted by {first:+.6g}. {_FITS_NOT}",
        "positions counted from 1, or the length after the new token taken as its position"
        if code == "off-by-one"
        else "an offset added twice, or one of another sequence",
        since=0,
        shift=first,
    )


def _alike(m) -> bool:
    """Say whether all pairs are turned by one number at position 0, and by several after it."""
    apart = m.start[: m.num_pairs].diff().abs()
    return len(apart) > 1 and float(apart.max()) < _ALIKE < float(m.turning.diff().abs().max())


def _turned(m) -> Finding:
    """Return the finding on angles at position 0 that no shift explains."""
    start = m.start[: m.num_pairs]
    said, cause = "no shift of positions explains it", "an offset added to the angles"
    if _are_cosines(m):
        said = "angles are cosines of the position times the frequency, 1 rad there"
        cause = "cos and sin taken of tables of cosines: tables handed where angles are meant"
    elif float((m.start[: m.num_pairs] - m.start[m.num_pairs :]).abs().max()) > _OFF:
        said = "the two of a pair are turned by different angles there"
        cause = "tables of half the width read at the full width, or of which one is shifted"
    elif _alike(m):
        said = f"all pairs are turned by {float(start.mean()):.4g} rad there"
        if steps := steps_of_a_turn(m.phases(m.far)[:, : m.num_pairs] - start):
            said += f", and else by multiples of 2 pi / {steps} more"
            cause = "coarse tables of cos and sin, filled in the middle of each step"
    return wrong(
        "turned-at-position-0",
        f"Position 0 is not left alone: {said}.",
        cause,
        largest_angle_at_position_0=float(m.start.abs().max()),
    )


def _are_cosines(m) -> bool:
    angles = m.phases(m.near)[:, : m.num_pairs]
    if (
        float((angles.abs() - 1).max()) > _ALIKE
        or float((angles[0].abs() - 1).abs().max()) > _ALIKE
    ):
        return False
    angles = (angles * angles[0].sign()).clamp(-1, 1)
    twice = 2 * angles[1] ** 2 - 1  # as near positions begin with 0, 1, 2
    return float((twice - angles[2]).abs().max()) < 1e-3


def reversed_order(m, of_the_call: bool = False) -> Finding | None:
    """Say from where positions are counted back, where each is turned as that place less itself."""
    shift = next(iter((_shifts(m) or {}).values()), 0.0)
    if m.direction != -1 or shift > -1.5:
        return None
    return _back_from("position_ids[-1]" if of_the_call else f"{-shift:.6g}")


def _within_the_call(m) -> Finding | None:
    """Tokens of a call that are turned as alone, in the opposite order."""
    if m.obeys != "all":
        return None
    ids = torch.tensor(_UNEVEN)
    x = random(1, 1, 1, m.head_dim).expand(1, 1, len(ids), -1)
    try:
        together = m.probe(x, ids)
        alone = torch.cat([m.probe(x[:, :, :1], each) for each in ids.split(1)], dim=2)
    except CallError:
        return None
    if gap(together, alone.flip(2)) > SAME or gap(together, alone) < SAME:
        return None
    return wrong(
        "positions-reversed",
        "Tokens of a call are turned by its positions in the opposite order: the first by that of "
        "the last, and so on. A token that comes alone does not fit to them.",
        "a table or sequence that is flipped: positions or keys that are written from the end on",
        since=0,
        largest_difference=gap(together, alone),
    )


def _back_from(end: str) -> Finding:
    return wrong(
        "positions-reversed",
        f"Positions are counted back from the end: p is turned as {end} - p should be. A token one "
        "back scores as one ahead should, and cached keys do not fit once the end moves.",
        "seq_len - 1 - position, or a table or sequence that is flipped",
        since=0,
    )


_FITS_NOT = (
    "Scores of this rotation with itself are right; keys cached by any other code, and a k or a "
    "decode step that is not shifted, do not fit."
)


def _are_ones(shifts: Iterable[float]) -> bool:
    return all(abs(abs(shift) - 1) < _EXACT for shift in shifts)


def _of_axes(shifts: dict[int, float]) -> Finding:
    by = ", ".join(f"by {shift:+.6g} along axis {axis}" for axis, shift in shifts.items())
    code = "off-by-one" if _are_ones(shifts.values()) else "positions-shifted"
    return wrong(
        code,
        f"Every position is shifted {by}. {_FITS_NOT}",
        "rows or columns counted from 1, or the offset of one axis added to another",
        since=0,
        **{f"shift_of_axis_{axis}": shift for axis, shift in shifts.items()},
    )


def _by_length(m) -> Finding | None:
    """A shift that another number of tokens changes."""
    tokens, speeds = len(m.near.positions), m.speeds[: m.num_pairs]
    if m.obeys == "start" or getattr(m.probe.rotate, "runs_only", False):
        tokens = 1 + int((m.near.positions.diff() == 1).int().cumprod(0).sum())  # of the first run
        first = m.near.at_most(tokens)
        speeds = speeds_of(m.phases(first)[:, : m.num_pairs], first.positions)
    x, rotated = random(1, 1, 1, m.head_dim)[0, 0, 0].double(), m.fresh[0, 0, 0].double()
    if m.permutation is not None:
        rotated = rotated[m.permutation]
    one, other = m.dims[: m.num_pairs], m.dims[m.num_pairs :]
    turned = torch.atan2(rotated[other], rotated[one]) - torch.atan2(x[other], x[one])
    start = m.start[: m.num_pairs]
    if float(_within(turned - start, 2 * math.pi).abs().max()) < _OFF:
        return None
    short, shift = (shift_of(angles, speeds) for angles in (turned, start))
    if short is None or shift is None:
        return None
    if m.direction == -1 and abs(short + _SHORT - shift - tokens) < _EXACT:
        more = -shift - tokens
        return _back_from("seq_len" + (f" {more:+.6g}".replace("-", "- ") if more else ""))
    more = shift - tokens
    by = "another number in calls of another length"
    if abs(short - _SHORT - more) < _EXACT:
        by = "the number of tokens of the call"
        if abs(more) > _EXACT:
            by += f" and {more:.6g} more" if more > 0 else f" less {-more:.6g}"
    return wrong(
        "positions-shifted",
        f"Every position is shifted by {by}: by {short:+.6g} in one of {_SHORT} tokens, by "
        f"{shift:+.6g} in one of {tokens}. Scores within one call are right; those of calls of "
        "other lengths, and of a k that is not shifted so, are not.",
        "the offset read after the new tokens were counted",
        since=0,
        **{f"shift_with_{_SHORT}_tokens": short, f"shift_with_{tokens}_tokens": shift},
    )


def position_ids_ignored(m: Measured) -> Finding | None:
    """Positions that are not looked up: slots, or what is counted from one of them, are taken."""
    in_runs = getattr(m.probe.rotate, "runs_only", False)
    suspect = m.obeys == "nothing" or (m.obeys == "differences" and in_runs)
    if m.obeys == "nothing" and not in_runs and rising_gaps(m.probe, _LONG):
        return wrong(
            "short-steps-wrong",
            "The tokens of a call of 7 are counted from 0, whatever position_ids say; those of a "
            f"call of {_LONG} follow position_ids.",
            "a path for short calls, or for some lengths, that makes its own positions",
        )
    if suspect and keeps_by_length(m.probe, in_runs):
        return wrong(
            "tables-of-an-earlier-call",
            "Tokens are turned by the positions of an earlier call that had as many.",
            "tables kept by the length of a call, or by the shape of position_ids",
        )
    if m.obeys == "start" and not in_runs and follows_gaps(m.probe):
        return wrong(
            "tables-of-an-earlier-call",
            "Tokens are turned by the positions of an earlier call that had as many, and the same "
            "first or last.",
            "tables kept by the shape and an end, or the largest, of position_ids",
        )
    if m.obeys == "start" and not in_runs and not rising_gaps(m.probe):
        if rising_gaps(m.probe, _LONG):
            return wrong(
                "short-steps-wrong",
                "The tokens of a call of 7 are counted on from its first position, whatever "
                f"position_ids say; those of a call of {_LONG} follow position_ids.",
                "a path for short calls, or for some lengths, that is handed a first position",
            )
    if m.obeys == "nothing":
        return wrong(
            "position-ids-ignored",
            "Tokens are turned by their slot in the tensor, whatever position_ids say; with a "
            "cache every step starts again at 0, and left padding shifts all positions.",
            "positions made inside by arange(seq_len)",
        )
    if m.obeys == "differences":
        if reverse := reversed_order(m, of_the_call=True):
            return reverse
        x = random(1, 1, 1, m.head_dim).expand(1, 2, 4, -1)
        first, last = (m.probe(x, range(5, 9))[:, :, end] for end in (0, -1))
        if gap(last, x[:, :, -1]) < SAME < gap(first, x[:, :, 0]):
            return wrong(
                "positions-restart",
                "Positions are counted from the last of each call: that token is turned as if it "
                "stood at 0, in a prompt and in every step.",
                "position_ids - position_ids[-1], or - position_ids.max()",
            )
        return wrong(
            "positions-restart",
            "Positions are counted from the first of each call, so that a later chunk is turned "
            "as if it were the first.",
            "position_ids - position_ids[0], or an offset that is not handed on",
        )
