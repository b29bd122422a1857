"""The rule on positions that are read by what else the call holds: its length, its largest one."""

from collections.abc import Iterator
from itertools import product

import torch
from torch import Tensor

from ropelib.diagnosis.measured import Measured, speeds_of
from ropelib.diagnosis.origins import shift_of
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.several_axes import of_its_axis
from ropelib.diagnosis.tensors import random, wrap

_OFF = 0.02  # rad, as at far positions
_APART = 1e-3  # rad, by which angles of a short call are told from those of a longer one
_TURNED = 0.3  # rad, by which two lengths are told apart
_LONG = 128  # tokens of a call that is not short
_ALIKE = 0.02  # of a position: what float32 leaves of far ones
_STARTS = (5, 12)  # of calls: with a table of 32 rows, twice as far is within it
_TOKENS = (3, 7)  # of them


def read_in_company(m: Measured) -> Finding | None:
    """The same position in a short call and in a long one, where all pairs agree on the change."""
    if m.obeys not in ("all", "start") or not m.partner or m.noise > 1e-4:
        return None
    if m.obeys == "start":
        return _divided(m) or _offset_counted(m)
    rules = (_divided, _offset_counted, _held_to_the_end)
    found = next(filter(None, (rule(m) for rule in rules)), None)
    return found or of_its_axis(m, read_in_company)


def _divided(m: Measured) -> Finding | None:
    """Angles of three calls, which one number of each call divides; they may begin anywhere."""
    ids, count = [torch.arange(len(m.fresh[0, 0]))], m.num_pairs
    if m.obeys == "all" and not getattr(m.probe.rotate, "runs_only", False):
        ids += [m.near.positions, m.far.positions]
        later = [m.phases(each)[:, :count] for each in (m.near, m.far)]
    else:  # what counts on from an offset: as many tokens that begin later, and a longer call
        ids += [ids[0] + min(len(ids[0]), m.limit - len(ids[0])), torch.arange(m.limit)[:_LONG]]
        x = random(1, 1, 1, m.head_dim).expand(1, 2, _LONG, -1)
        later = [_angles(m, m.probe(x[:, :, : len(each)], each)) for each in ids[1:]]
    measured = [phases - phases[0] for phases in (_of_the_short_call(m), *later)]
    speeds = speeds_of(measured[-1], ids[-1])  # no step of a long call is half a turn
    undivided = wrap(measured[0] - ids[0].double()[:, None] * speeds).abs()
    if float(undivided.max()) < _TURNED:
        return None
    for what, call, sizes in _numbers(m, ids):
        expected = [
            (positions - positions[0]).double()[:, None] * speeds * sizes[-1] / size
            for positions, size in zip(ids, sizes, strict=True)
        ]
        off = [float(wrap(a - b).abs().max()) for a, b in zip(measured, expected, strict=True)]
        if max(off) < _OFF:
            one, other = (call.format(int(ids[i][-1]), len(ids[i])) for i in (0, -1))
            return wrong(
                "positions-bent",
                f"Positions are divided by {what} of the call: one step turns by "
                f"{sizes[-1] / sizes[0]:.4g} times as much in a call {one} as in one {other}, and "
                "cached keys do not fit a longer text.",
                "positions made to run from 0 to 1, as coordinates of an image of one size do",
            )
    return None


def _numbers(m: Measured, ids: list[Tensor]) -> Iterator[tuple[str, str, list[int]]]:
    """What may divide positions, the words for such a call, and what it is in each of these."""
    ends = [int(positions[-1]) for positions in ids]
    lengths, up_to = [end + 1 for end in ends], "up to position {0}"
    if getattr(m.probe.rotate, "counts_itself", False):  # each has all tokens before its last
        yield "the number of tokens", up_to, lengths
    else:
        yield "the number of tokens", "of {1} tokens", [len(positions) for positions in ids]
        yield "the largest position plus one", up_to, lengths
    yield "the largest position", up_to, ends


def _offset_counted(m: Measured) -> Finding | None:
    """Tokens of a later call that stand further on by its offset, or by a number that 0 lacks."""
    if m.obeys == "all" and not getattr(m.probe.rotate, "runs_only", False):
        return None
    speeds = speeds_of(short := _of_the_short_call(m), torch.arange(len(short)))
    x, read = random(1, 1, 1, m.head_dim), {}
    for start, tokens in product(_STARTS, _TOKENS) if speeds.any() else ():
        ids = torch.arange(tokens)
        rotated = m.probe(x.expand(-1, -1, tokens, -1), ids + start)
        each = [shift_of(angles, speeds) for angles in _angles(m, rotated)]
        if None in each or not _alike(torch.tensor(each) - each[0], ids):
            return None
        read[start, tokens] = each[0]
    times = {round(first / start, 2) for (start, _), first in read.items()}
    if len(times) == 1 and max(times) > 1:
        start, first = _STARTS[-1], read[_STARTS[-1], _TOKENS[0]]
        return wrong(
            "positions-shifted",
            f"In a call that begins at position {start} the first token is turned as position "
            f"{first:.6g} should be, and so on: the offset counts {times.pop():g} times.",
            "an offset added to positions that have it already",
        )
    return _offset_moved(read) if float(m.start.abs().max()) < _APART else None


def _offset_moved(read: dict[tuple[int, int], float]) -> Finding | None:
    """Later calls that begin a number of positions from where they should.

    Args:
        read: as which position the first token is turned, by the one asked for and the number of
            tokens.
    """
    more = {key: first - key[0] for key, first in read.items()}
    start, (few, many) = _STARTS[0], _TOKENS
    for counted in (0, 1):
        left = [shift - counted * tokens for (_, tokens), shift in more.items()]
        shift = round(left[0])
        if max(abs(each - shift) for each in left) > _ALIKE or not (shift or counted):
            continue
        first = start + shift + counted * few
        if not counted:
            cause = "a number added to an offset above 0, as in past_len + 1"
            if shift < 0:
                cause = (
                    "a number taken from an offset above 0, as in start_pos - 1, or a table that "
                    "is read from the row before"
                )
            return wrong(
                "positions-shifted",
                f"In a call that begins at position {start} the first token is turned as position "
                f"{first} should be, and so on; a call that begins at 0 is right.",
                cause,
                shift=shift,
            )
        return wrong(
            "positions-shifted",
            f"In a call of {few} tokens that begins at position {start} the first is turned as "
            f"position {first} should be, and so on, in one of {many} tokens as position "
            f"{start + shift + many}; a call that begins at 0 is right.",
            "an offset that counts the new tokens too: the length of the cache, read after they "
            "are in it",
            **{f"shift_with_{tokens}_tokens": shift + tokens for tokens in _TOKENS},
        )
    return None


def _of_the_short_call(m: Measured) -> Tensor:
    """Return the angle of each pair at each position of `fresh`."""
    return _angles(m, m.fresh)


def turns_otherwise_when_short(m: Measured) -> bool:
    """Say whether a short call has frequencies of its own, which are not those measured."""
    short = _of_the_short_call(m)
    first, near = torch.arange(len(short)), m.phases(m.near)[: len(short), : m.num_pairs]
    short, near = short - short[0], near - near[0]
    evenly = wrap(short - first[:, None] * speeds_of(short, first)).abs().max() < _OFF
    return bool(evenly) and float(wrap(short - near).abs().max()) > _APART + 4 * m.noise


def _angles(m: Measured, rotated: Tensor) -> Tensor:
    """Return by what each pair of the first row and head is turned, of one vector at each token."""
    x, rotated = random(1, 1, 1, m.head_dim)[0, 0].double(), rotated[0, 0].double()
    if m.permutation is not None:
        rotated = rotated[:, m.permutation]
    one, other = m.dims[: m.num_pairs], m.dims[m.num_pairs :]
    before = torch.atan2(x[:, other], x[:, one])
    return wrap(torch.atan2(rotated[:, other], rotated[:, one]) - before)


def _held_to_the_end(m: Measured) -> Finding | None:
    """Early positions of a long call that are read as others, by the frequencies of a short one."""
    short, ids = _of_the_short_call(m), m.far.positions.double()
    first = torch.arange(len(short))
    speeds = speeds_of(short, first)
    if not speeds.any():  # nothing turns in a short call
        return None
    read = [shift_of(each, speeds) for each in m.phases(m.far)[:, : m.num_pairs]]
    if float(wrap(short - first[:, None] * speeds).abs().max()) > _OFF or None in read:
        return None
    read = torch.tensor(read, dtype=torch.float64)
    low, behind = round(float(read[0])), round(float(ids[-1] - read[-1]))
    call = f"In a call up to position {int(ids[-1])}, and not in one up to {int(first[-1])},"
    if low > 0 and _alike(read, ids.clamp(min=low)):
        return wrong(
            "positions-clamped",
            f"{call} all positions below {low} are turned like position {low}.",
            "a clamp from below by the largest position of the call: a window that slides",
            since=0,
        )
    if behind > 0 and _alike(read, (ids - behind).clamp(min=0)):
        return wrong(
            "positions-bent",
            f"{call} positions are counted from {behind}, and those before it are not turned.",
            "positions counted from where a window that slides begins",
            since=1,
        )
    return None


def _alike(one: Tensor, other: Tensor) -> bool:
    return bool(((one - other).abs() <= _ALIKE * (1 + one.abs() / 10)).all())
