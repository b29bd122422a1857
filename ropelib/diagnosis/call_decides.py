"""Rules about what the call decides, where the position alone should: its length, its memory."""

import torch
from torch import Tensor

from ropelib.diagnosis.inputs import through
from ropelib.diagnosis.measured import Measured, speeds_of
from ropelib.diagnosis.probes import CallError, Rotate
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.round_sizes import FILLS_BLOCKS
from ropelib.diagnosis.tensors import SAME, gap, random, spread, wrap

_KEPT = 1e-6  # of an entry that passes as it is
_ODD = 23  # tokens: a number that nobody else asks for, with positions below 32 after a step on
_ANGLE_ERROR = 0.02  # rad, as at far positions
_CHUNK = range(5, 12)  # tokens of a chunk that is not the first


def kept_by_address(m: Measured) -> Finding | None:
    """The same tensor of positions, written anew between two calls, as engines do."""
    x = random(1, 3, 1, m.head_dim).expand(1, 3, _ODD, -1)
    step, seen, held = 9, [], []  # held: the fresh positions may not lie where these did

    def twice(rotate: Rotate) -> Rotate:
        def call(x: Tensor, position_ids: Tensor) -> Tensor:
            first = rotate(x.clone(), position_ids)
            seen.append(first.detach().cpu().clone())
            held.append(position_ids)
            position_ids += step
            return rotate(x, position_ids)

        return call

    try:
        again = through(m.probe, twice)(x, range(_ODD))
        fresh = m.probe(x, range(step, step + _ODD))
    except CallError:
        return None
    if gap(again, seen[0]) < SAME < gap(fresh, seen[0]):
        return wrong(
            "tables-of-an-earlier-call",
            "Where position_ids are written anew in the memory that they had, tokens are turned "
            "by what stood there before.",
            "tables kept by the address (data_ptr) or the identity (id) of position_ids, which "
            "other positions may have later",
            largest_difference=gap(again, fresh),
        )
    return None


def last_tokens_left(m: Measured) -> Finding | None:
    """One vector, many times at one position: the last ones must turn as the others do."""
    one_by_one = ("counts_itself", "runs_only")  # a call of its own for each of them
    if m.obeys != "all" or any(getattr(m.probe.rotate, name, False) for name in one_by_one):
        return None
    for count in (m.limit - 1, m.limit - 2):  # no whole number of blocks, whatever their size
        x = random(1, 1, 1, m.head_dim).expand(1, 1, count, -1)
        try:
            rotated = m.probe(x, torch.full((count,), m.limit - 1))[0, 0]
        except CallError:
            return None
        size = float(x.abs().max())
        for zeros, kept in ((False, x[0, 0]), (True, torch.zeros(m.head_dim))):
            turned = ((rotated - kept).abs().amax(-1) > _KEPT * size).nonzero().flatten()
            last = count - 1 - int(turned[-1]) if len(turned) else 0
            if last and len(turned) == count - last:
                return _not_turned(count, last, zeros)
    return None


def _not_turned(count: int, last: int, zeros: bool) -> Finding:
    one, many = ("as zeros",) * 2 if zeros else ("as it went in", "as they went in")
    what = f"one comes out {one}" if last == 1 else f"{last} come out {many}"
    return wrong(
        "last-tokens-not-turned",
        f"In a call of {count} tokens at one position the last {what}, and those before are "
        "turned.",
        "a grid of tokens // BLOCK blocks: the tokens that fill no block are nobody's",
        tokens=count,
        not_turned=last,
    )


def early_positions_still(m: Measured) -> Finding | None:
    """Positions from 0 on that are turned alike, before those that are not."""
    still = (m.far.matrices - m.far.matrices[:1]).abs().amax((1, 2)) < _KEPT
    first = int(still.int().argmin())  # 0 where all are
    if m.obeys != "all" or first < 2 or bool(still[first:].any()):
        return None
    if first == 2 and not _begins_late(m.far.matrices[:9]):
        return None
    low, high = (int(m.far.positions[i]) for i in (first - 1, first))
    x = random(1, 2, 1, m.head_dim)
    start = m.probe(x, [0])
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if gap(m.probe(x, [middle]), start) < SAME else (low, middle)
    if high + 2 > m.limit:
        return None
    line = m.probe(x.expand(-1, -1, high + 2, -1), range(high + 2))
    steps = (line[:, :, 1:] - line[:, :, :-1]).abs().amax((0, 1, 3)) > SAME
    if bool(steps[:low].any()) or not steps[low:].all():  # blocks of positions, it may be
        return None
    return wrong(
        "early-positions-not-turned",
        f"Positions 0 to {low} come out alike, and position {high} does not.",
        "rows of zeros before the others of a table, for class tokens or padding",
        since=0,
        first_position_that_differs=high,
    )


def _begins_late(matrices: Tensor) -> bool:
    """Whether position 0 is not turned, and from 1 on each step is alike, which blocks have not."""
    start = matrices[0]
    steps = matrices[2:] @ matrices[1:-1].mT
    unturned = float((start - torch.diag(start.diagonal())).abs().max()) < _KEPT
    return unturned and spread(steps, axis=0) < SAME


def later_chunks(m: Measured) -> Finding | None:
    """Tokens of a chunk that is not the first, against the same tokens in one call from 0."""
    if not getattr(m.probe.rotate, "runs_only", False) or not m.obeys_ids:
        return None
    x = random(1, 2, 1, m.head_dim)
    length = len(_CHUNK)
    chunk = m.probe(x.expand(-1, -1, length, -1), _CHUNK)
    first = m.probe(x.expand(-1, -1, _CHUNK.stop, -1), range(_CHUNK.stop))[:, :, _CHUNK.start :]
    alone = torch.cat([m.probe(x, [position]) for position in _CHUNK], dim=2)
    if gap(alone, first) > SAME or gap(chunk, first) < SAME:
        return None
    return later_chunks_differ(length, _CHUNK.start, gap(chunk, first), _one_for_all(chunk, alone))


def _one_for_all(chunk: Tensor, alone: Tensor) -> str:
    for name, token in {"first": alone[:, :, :1], "last": alone[:, :, -1:]}.items():
        if gap(chunk, token.expand_as(chunk)) < SAME:
            return f": all by the position of the {name}"
    return ""


def later_chunks_differ(tokens: int, start: int, difference: float, how: str = "") -> Finding:
    """Return the finding on chunks after the first; single tokens are right."""
    return wrong(
        "later-chunks-differ",
        f"A chunk of {tokens} tokens that begins at position {start} is turned otherwise than the "
        f"same tokens in one pass{how}. Tokens that come alone are right.",
        "one position for all tokens of a chunk, where the first chunk has one for each, or its "
        "first token put where its last belongs, as by past_len + x.shape[-2] - 1",
        largest_difference=difference,
        tokens=tokens,
        begins_at=start,
    )


def of_the_long_call(m: Measured, together: Tensor, ends: list[int]) -> Finding | None:
    """What is said where long calls, and no short ones, differ from what was measured.

    Args:
        m: one rotation, whose `full` is one call of all positions.
        together: what becomes of the same tokens in chunks.
        ends: where the chunks begin.
    """
    known = m.known
    x = random(1, 2, 1, m.head_dim).expand(1, 2, len(known), m.head_dim)  # that `full` is of

    def wrongly(whole: Tensor) -> Tensor:
        return m.differs(whole[:, :, known], x, known).any(-1).any(1)[0]

    of_chunk = torch.bucketize(known, torch.tensor(ends[1:]), right=True)
    sizes = torch.tensor([*ends, m.limit]).diff()[of_chunk]
    in_chunks = wrongly(together)
    few = max(sizes[~in_chunks].tolist(), default=0)
    if not wrongly(m.full).any() or bool((sizes[in_chunks] <= few).any()):
        return None
    difference = gap(m.full, together)
    if _right_with_one_less(m):
        return wrong(
            "round-sizes-wrong",
            f"{m.limit} tokens in one call are turned otherwise than one by one, and "
            f"{m.limit - 1} are not.",
            FILLS_BLOCKS,
            largest_difference=difference,
            tokens=m.limit,
        )
    if _turned_by_others(m):
        return scaled_in_the_prefill(difference, m.limit - 1)
    if _wrong_in_a_slot(m, few):
        return wrong(
            "long-call-differs",
            f"{m.limit} tokens in one call are turned otherwise than the same tokens in several.",
            "a path, or a number, that the number of tokens in the call decides",
            largest_difference=difference,
            tokens=m.limit,
        )
    return wrong(
        "long-call-differs",
        f"{m.limit} tokens in one call are turned otherwise than the same tokens in calls of {few} "
        "at most.",
        "a path, or a number, that the number of tokens in the call decides",
        largest_difference=difference,
        tokens=m.limit,
        right_up_to=few,
    )


def _right_with_one_less(m: Measured) -> bool:
    """Say whether one token less, which fills no block, is turned as it was alone."""
    known = m.known[m.known < m.limit - 1]
    x = random(1, 2, 1, m.head_dim).expand(1, 2, m.limit - 1, m.head_dim)
    turned = m.probe(x, range(m.limit - 1))[:, :, known]
    return not m.differs(turned, x[:, :, : len(known)], known).any()


def _wrong_in_a_slot(m: Measured, count: int) -> bool:
    """Whether a call of `count` tokens turns one otherwise than the same call one token later."""
    if not m.obeys_ids:
        return False
    x = random(1, 2, 1, m.head_dim).expand(1, 2, count, -1)
    now, later = m.probe(x, range(count)), m.probe(x, range(1, count + 1))
    return gap(now[:, :, 1:], later[:, :, :-1]) > SAME


def scaled_in_the_prefill(difference: float, position: int) -> Finding:
    """Return the finding on frequencies of a long pass that its steps do not have."""
    return wrong(
        "scaled-in-the-prefill-alone",
        "Frequencies change with the length, and a step of one token does not follow: the "
        "last token is turned by others than in one pass, and its keys by those of the pass.",
        "the length taken from the tokens of the call (x.shape[-2]), or scaling that is asked "
        "for in the prefill alone; take it from the position, position_ids.max() + 1",
        largest_difference=difference,
        position=position,
    )


def _turned_by_others(m: Measured) -> bool:
    """Whether the long pass turns each pair by its position times a frequency."""
    if not m.partner or m.permutation is not None:
        return False
    a, b = m.dims[: m.num_pairs], m.dims[m.num_pairs :]
    known, x = m.far.positions, m.one_vector[0].double()
    turned = m.full[0, 0, known].double()
    phases = torch.atan2(turned[:, b], turned[:, a]) - torch.atan2(x[b], x[a])
    angles = known.double()[:, None] * speeds_of(phases, known)
    return bool((wrap(phases - angles).abs() < _ANGLE_ERROR).all())
