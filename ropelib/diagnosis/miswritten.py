"""Rules about the two lines that turn a pair: one written as the other, or after it."""

from collections.abc import Sequence
from itertools import permutations

import torch
from torch import Tensor

from ropelib.diagnosis.lines import lines_of_pairs
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.report import PAIRS_OF, Finding, wrong
from ropelib.diagnosis.tensors import gap

_SAME = 1e-3  # entries, exact but for float32
_SOME = 0.1  # a sine that shows
_UNEVEN = 0.02  # of a length


def miswritten(m: Measured) -> Finding | None:
    """The first of these that explains both lines at every near position."""
    if not m.partner:
        return None
    cosines, sines = m.rows(m.near)
    if float(sines.abs().max()) < _SOME:
        return None
    (c, c2), (s, s2) = cosines.chunk(2, dim=1), sines.chunk(2, dim=1)
    for one, other in (("second", (c, s, c2, s2)), ("first", (c2, s2, c, s))):
        if finding := _overwritten(one, *other):
            return finding
    lines = c, s, c2, s2
    named = _negated(*lines) or _one_line_swapped(*lines) or _table_rearranged(m, *lines)
    return named or lines_of_pairs(m)


def _alike(a: Tensor, b: Tensor) -> bool:
    return bool(((a - b).abs() < _SAME).all())


def _overwritten(line: str, c: Tensor, s: Tensor, c2: Tensor, s2: Tensor) -> Finding | None:
    """One line reads what the other has written: x1 cos - x2 sin where x1 is meant."""
    if not (_alike(c2, c - s**2) and _alike(s2, s * c)):
        return None
    return wrong(
        "pair-overwritten",
        f"The {line} dimension of each pair is made of the other one as it was already turned, not "
        "as it was.",
        "x[..., a] = ... comes before the line that reads x[..., a]: in place, or into memory "
        "that input and output share",
        largest_entry=float(c2.abs().max()),
    )


def _negated(c: Tensor, s: Tensor, c2: Tensor, s2: Tensor) -> Finding | None:
    """One dimension's own part has a minus, and the part of its partner has the sign it needs."""
    if not (_alike(c2, -c) and _alike(s2, s)) or float(c[0].abs().min()) < _SOME:
        return None
    line = "second" if float(c2[0].max()) < 0 else "first"
    return wrong(
        "cosine-negated",
        f"In the line of the {line} dimension of each pair cosine has a minus: that is no "
        "rotation, lengths change, and position 0 is not left alone.",
        "x negated in place (neg_(), *= -1) on the way to the rotated copy, where a half of x is "
        "a view of x"
        + ("; or a sign on the wrong term, p * s - q * c for p * s + q * c" * (line == "second")),
        line=line,
    )


def _one_line_swapped(c: Tensor, s: Tensor, c2: Tensor, s2: Tensor) -> Finding | None:
    if not (_alike(s2, c) and _alike(c2, s)) or _alike(c, s):  # one table in both places
        return None
    line = "second" if _alike(c[0], torch.ones_like(c[0])) else "first"
    return wrong(
        "sin-and-cos-swapped",
        f"In the line of the {line} dimension of each pair cosine stands where sine belongs, and "
        "sine where cosine does: that is no rotation.",
        "x1 * cos + x2 * sin for x1 * sin + x2 * cos",
        line=line,
    )


def _table_rearranged(m: Measured, c: Tensor, s: Tensor, c2: Tensor, s2: Tensor) -> Finding | None:
    """Cosine and sine of a pair stand side by side in the table, and are read from its halves."""
    if m.num_pairs < 4 or m.noise < 0.02 or not (_alike(c, c2) and _alike(s, s2)):
        return None
    side_by_side = torch.stack((c, s), dim=-1).flatten(1).chunk(2, dim=1)
    halves = torch.cat((c, s), dim=1)
    read = {
        "halves, and is read as neighbors": side_by_side,
        "neighbors, and is read as halves": (halves[:, 0::2], halves[:, 1::2]),
    }
    for how, (cosine, sine) in read.items():
        one = torch.ones_like(cosine)
        if _alike(cosine[0], one[0]) and _alike(cosine**2 + sine**2, one):
            return wrong(
                "table-read-in-another-order",
                f"The table has cosines and sines as {how}: pairs are multiplied by entries of "
                "others, so lengths change.",
                "one table for both, [cos | sin] or [cos sin cos sin ..], and a kernel written for "
                "the other",
                largest_length=float(m.lengths(m.near).max()),
            )
    return None


def sines_shifted(m: Measured) -> Finding | None:
    """Each pair has its own cosine, and the sine of a neighbor."""
    cosines, sines = (rows[:, : m.num_pairs] for rows in m.rows(m.near))
    scale = float(cosines[0].abs().mean())
    if m.num_pairs < 4 or m.pairing.layout is None or scale < 1e-3:
        return None
    found = (sines / scale).abs()
    if gap(found, _sines_to(cosines / scale)) < 0.1:  # they fit as they are
        return None
    # Pairs whose sine is zero seem to rest, and still have their cosine.
    step, offset = 1 + (m.pairing.layout == "interleaved"), m.pairing.offset
    end = m.head_dim if step == 2 else offset + m.pairing.width
    diagonal = m.near.matrices.diagonal(dim1=1, dim2=2)[:, offset:end:step]
    fitting = _sines_to(diagonal / scale)
    for shift in sorted(range(-m.num_pairs + 4, fitting.shape[1] - 3), key=abs):
        first = max(0, -shift)
        last = min(m.num_pairs, fitting.shape[1] - shift)
        if last - first < max(4, m.num_pairs // 2):
            continue
        if gap(found[:, first:last], fitting[:, first + shift : last + shift]) < 1e-2:
            turning, pairs = last - first, fitting.shape[1]
            without = pairs - m.num_pairs  # those have no partner, and are not among what turns
            others = f", {without} have no sine" if without else ""
            return wrong(
                "sines-of-other-pairs",
                f"{turning} of {pairs} pairs have their own cosine and the sine of the pair "
                f"{shift:+d} from them{others}, so that lengths change with the position.",
                "sine begins at another column of the table than it is read from: a width that is "
                "padded, or one of the whole head where that of the rotated part belongs",
                shift=shift,
                pairs=turning,
                of=pairs,
            )
    return None


def _sines_to(cosines: Tensor) -> Tensor:
    return (1 - cosines**2).clamp(min=0).sqrt()


def distinct_columns(speeds: Tensor, head_dim: int, tolerance: Tensor) -> tuple[str, str] | None:
    """Say of frequencies of dimensions, which fall from each to the next, whose columns these are.

    Example:
        >>> falling = torch.tensor([1, 0.1, 0.01, 0.001])
        >>> distinct_columns(falling, 8, torch.tensor(1e-4))[0]
        'The 4 dimensions that turn have 4 frequencies, each lower than the one before.'
    """
    turning, half = len(speeds), head_dim // 2
    own, again = speeds[:half], speeds[half:]
    if turning == head_dim:
        own, again = speeds, speeds[:0]
    if len(own) < 4 or not (own.abs().diff() < 0).all():
        return None
    if not ((again - own[: len(again)]).abs() <= tolerance).all():
        return None
    each = "arange(dim) in the exponents where arange(0, dim, 2) belongs"
    cut = f"a table over all {head_dim} dimensions, cat(freqs, freqs), of which {turning} "
    cut += "columns are taken: make freqs for the part that turns, then cat(freqs, freqs)"
    return (
        f"The {turning} dimensions that turn have {len(own)} frequencies, each lower than the one "
        f"before{', and then again from the first on' if len(again) else ''}.",
        each if turning == head_dim else cut if len(again) else f"{cut}; or {each}",
    )


def tables_arranged_apart(m: Measured) -> Finding | None:
    """One of cos and sin is arranged for halves and the other for neighbors."""
    count, order = m.num_pairs, sorted(range(2 * m.num_pairs), key=m.dims.__getitem__)
    if count < 4 or m.pairing.layout is None or m.noise < _UNEVEN:
        return None
    cosines, sines = (rows[:, order] / m.lengths(m.near)[0, order] for rows in m.rows(m.near))
    arranged = {
        "halves (0 1 2 .. 0 1 2 ..)": lambda table: table.chunk(2, dim=1),
        "neighbors (0 0 1 1 ..)": lambda table: (table[:, 0::2], table[:, 1::2]),
    }
    for of_cos, of_sin in permutations(arranged):
        (c, c2), (s, s2) = arranged[of_cos](cosines), arranged[of_sin](sines)
        if _alike(c, c2) and _alike(s, s2) and _alike(c**2 + s**2, torch.ones_like(c)):
            return wrong(
                "angles-differ-within-pairs",
                f"Cosines are arranged for {of_cos}, sines for {of_sin}, and pairs are "
                f"{PAIRS_OF[m.pairing.layout]}: most dimensions have the cosine of one angle and "
                "the sine of another, so lengths change.",
                "torch.cat((angles, angles), -1) for one of the two tables, repeat_interleave(2) "
                "for the other",
                change_of_scores_at_one_distance=m.relativity_error,
            )
    return None


def pairs_of_two_axes(m: Measured) -> Finding | None:
    """The two dimensions of a pair must follow one axis; where axes agree, it is not seen."""
    if m.axes is None:
        return None
    allowed = 1e-4 * float(m.axes.speeds.abs().amax()) + 2 * m.noise / 128
    apart = ((m.axes.speeds - m.axes.seconds).abs() > allowed).any(0).nonzero().flatten()
    if not len(apart):
        return None
    pair, count = int(apart[0]), m.num_pairs
    follow = " and ".join(
        f"dimension {dim} follows {_axes_of(speeds[:, pair].abs() > allowed)}"
        for dim, speeds in ((m.dims[pair], m.axes.speeds), (m.dims[pair + count], m.axes.seconds))
    )
    return wrong(
        "angles-differ-within-pairs",
        f"In at least {len(apart)} of {count} pairs a step along one axis turns the two dimensions "
        f"by different angles: {follow}. Text, whose axes agree, is rotated as ever.",
        "angles as (h, h, w, w) beside a rotated copy over the whole head, or sections that count "
        "pairs where dimensions are split",
        pairs=len(apart),
    )


def cosine_of_another_axis(m: Measured) -> Finding | None:
    """Cosine and sine must belong to one place; where axes agree, they do."""
    if m.axes is None:
        return None
    lengths = torch.cat([m.lengths(each) for each in m.axes.alone]) / m.scale
    if float((lengths - 1).abs().max()) < _UNEVEN + 2 * m.noise:
        return None
    rows = [torch.stack(m.rows(each)) for each in m.axes.alone]
    moved = torch.stack(
        [(each - each[:, :1]).abs().amax((1, 2)) > _SAME + m.noise for each in rows]
    )
    cosine, sine = (_axes_of(column) for column in moved.T)
    follow = f": cosines follow {cosine}, and sines {sine}" if cosine != sine else ""
    return wrong(
        "norm-not-kept",
        f"Lengths change where axes differ{follow}. Text, whose axes agree, is rotated as ever.",
        "cos and sin looked up by different positions, or sections applied to one of the two",
        smallest_length=float(lengths.min()),
        largest_length=float(lengths.max()),
    )


def _axes_of(turning: Tensor) -> str:
    axes = turning.nonzero().flatten().tolist()
    return " and ".join(f"axis {axis}" for axis in axes) or "none"


def written_elsewhere(permutation: Sequence[int] | None) -> str:
    """Say how numbers came to be written where others were read; nothing where no rule tells.

    Args:
        permutation: where each dimension comes out.

    Example:
        >>> written_elsewhere([0, 2, 1, 3])[:44]
        'neighbors are read and halves are put side b'
    """
    if permutation is None:
        return ""
    stacked, beside = "torch.stack((a, b), -1).flatten(-2)", "torch.cat((a, b), -1)"
    for width in range(4, len(permutation) + 1, 2):
        rest = range(width, len(permutation))
        halves = [i // 2 + width // 2 * (i % 2) for i in range(width)]
        if [*permutation] == [*halves, *rest]:
            return (
                f"neighbors are read and halves are put side by side, {beside} for {stacked}: "
                "write each number where it was read"
            )
        if [permutation[i] for i in halves] == [*range(width)] and [*permutation[width:]] == [
            *rest
        ]:
            return (
                f"halves are read and written as neighbors, {stacked} for {beside}: write each "
                "number where it was read"
            )
    return ""
