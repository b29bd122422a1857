"""Positions with several axes: text is measured as ever, and then which axis turns which pair."""

import copy
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby, product

import torch
from torch import Tensor

from ropelib import checks
from ropelib.axes import axis_of_pairs
from ropelib.diagnosis.adapters import keep
from ropelib.diagnosis.probes import Curves, Probe, Rotate, measure, signature_of
from ropelib.diagnosis.report import Finding, note, wrong
from ropelib.diagnosis.tensors import SAME, gap, random, wrap

_MOST_AXES = 8
_ANGLE_ERROR = 0.02  # rad, as at far positions
_NO_SUM = 0.3  # rad: more than what far positions lose in float32
_STILL = 1e-7  # rad per step: what no axis turns


@dataclass(frozen=True)
class Axes:
    """What each axis turns.

    `speeds[axis, pair]` is by what a step along an axis turns a pair, rad; `error` the largest
    difference between the angle at a place and the sum of what each axis turns. `seconds` is the
    same as `speeds` for the second dimension of each pair; of a right rotation it is equal.
    `alone` is what was measured along each axis.
    """

    speeds: Tensor
    error: float
    seconds: Tensor
    alone: tuple[Curves, ...]

    @property
    def turning(self) -> Tensor:
        """Which axes turn which pair."""
        return self.speeds.abs() > _STILL + 1e-5 * self.speeds.abs().amax(0)

    @property
    def of_pairs(self) -> tuple[int, ...] | None:
        """The axis that turns each pair, None where one follows several."""
        turned = self.turning
        if bool((turned.sum(0) > 1).any()):
            return None
        return tuple(turned.int().argmax(0).tolist())

    @property
    def still(self) -> list[int]:
        """The axes that turn nothing."""
        return [axis for axis, row in enumerate(self.speeds) if float(row.abs().max()) < _STILL]


def _listed(axes: Sequence[int] | Tensor) -> list[int]:
    return axes.tolist() if isinstance(axes, Tensor) else list(axes)


def number_of_axes(axes: object) -> int:
    """Return how many axes are meant by the argument: their number, or the axis of each pair."""
    if isinstance(axes, (Sequence, Tensor)) and not isinstance(axes, str):
        each = [int(checks.integer("axes", axis, 0, _MOST_AXES - 1)) for axis in _listed(axes)]
        if not any(each):  # axis 1 alone may turn; of axis 0 alone nobody knows how many there are
            raise ValueError(
                "axes must name an axis for each pair, of two axes at least, or be their number, "
                f"with expected= where axis 0 alone turns, got {each}"
            )
        return max(each) + 1
    return checks.integer("axes", axes, 2, _MOST_AXES)


def text_of(rotate: Rotate, count: int, width: int, device: object) -> Rotate:
    """Return the rotation of text: one position on all axes. `along` it moves one axis alone.

    Args:
        rotate: takes x and positions `(axes, batch, seq_len)`, `(axes, seq_len)`, `(batch, seq_len,
            axes)`, `(seq_len, axes)` or one tensor for each axis: the first that works is taken.
        count: how many axes.
        width: of the vectors.
        device: where they lie.

    Returns:
        A rotation that takes `(x, position_ids)`. `at` makes one that takes places `(axes, batch or
        1, seq_len)` instead.

    Example:
        >>> from ropelib import apply_rotary
        >>> from ropelib.axes import axial_cos_sin, axial_inv_freq
        >>> def rotate(x, ids):
        ...     tables = axial_cos_sin(ids, axial_inv_freq(64, 2), sections=[16, 16])
        ...     return apply_rotary(x, *tables, layout="half")
        >>> x = torch.ones(1, 3, 5, 64)
        >>> text_of(rotate, 2, 64, "cpu")(x, torch.arange(5)).shape
        torch.Size([1, 3, 5, 64])
    """
    if not callable(rotate):
        return rotate
    call = _form_of(rotate, count, width, device)

    def text(x: Tensor, position_ids: Tensor, **options) -> Tensor:
        rows = position_ids.expand(len(x), -1)
        places = rows.repeat(count, 1, 1)  # memory that may be written into
        rotated = call(x, places, **options)
        if bool((places != rows).any()):  # the probe looks at what it handed over itself
            position_ids += 1
        return rotated

    def along(axis: int) -> Rotate:
        def moved(x: Tensor, position_ids: Tensor) -> Tensor:
            rows = position_ids.expand(len(x), -1)
            only = (torch.arange(count, device=rows.device) == axis).to(rows.dtype)
            return call(x, rows * only[:, None, None])

        return moved

    text.num_axes, text.along = count, along
    text.at = lambda places: (
        lambda x, _: call(x, places.to(x.device, copy=True).expand(-1, len(x), -1))
    )
    if "other_heads" in _names(rotate):
        text.__signature__ = inspect.signature(rotate)
    return keep(text, rotate)


def _form_of(rotate: Rotate, count: int, width: int, device: object) -> Callable:
    """Return how positions `(axes, batch, seq_len)` are handed to it: the first way that works."""

    def by_rows(one_row: Callable) -> Callable:
        def call(x: Tensor, places: Tensor, **options) -> Tensor:
            if bool((places == places[:, :1]).all()):
                return one_row(x, places[:, 0], **options)
            rows = [one_row(x[b : b + 1], places[:, b], **options) for b in range(len(x))]
            return torch.cat(rows)

        return call

    ways = [
        rotate,
        by_rows(rotate),
        lambda x, places, **options: rotate(x, places.permute(1, 2, 0), **options),
        by_rows(lambda x, places, **options: rotate(x, places.T, **options)),
        lambda x, places, **options: rotate(x, *places, **options),
        by_rows(lambda x, places, **options: rotate(x, *places, **options)),
    ]
    heads = 3 + (count == 3)  # axes that meet as many heads are no way
    for way, dtype in product(ways, (torch.float32, torch.bfloat16, torch.float16)):
        x = torch.ones(1, heads, 5, width, device=device, dtype=dtype)
        try:
            with torch.no_grad():
                result = way(x, torch.arange(5, device=device).expand(count, 1, -1))
        except Exception:  # whatever a rotation raises that is called otherwise
            continue
        if getattr(result, "shape", None) == x.shape:
            return way
    return rotate


def _names(rotate: Rotate) -> tuple[str, ...]:
    try:
        return tuple(signature_of(rotate).parameters)
    except ValueError:  # a built-in function
        return ()


def measured_axes(m, speeds_of: Callable) -> Axes | None:
    """Move one axis at a time, and then all of them; None where there is one axis."""
    rotate = m.probe.rotate
    if not hasattr(rotate, "along") or m.obeys != "all" or not m.partner:
        return None
    ids = m.near.positions

    def curves(rotation: Rotate) -> Curves:
        found = measure(_through(m.probe, rotation), ids, torch.float32)
        if m.permutation is not None:
            found.matrices = found.matrices[:, m.permutation]
        return found

    def phases(found: Curves) -> Tensor:
        return m.phases(found) - m.start

    alone = tuple(curves(rotate.along(axis)) for axis in range(rotate.num_axes))
    both = torch.stack([speeds_of(phases(each), ids) for each in alone])
    speeds, seconds = both.chunk(2, dim=1)
    steps = torch.arange(1, rotate.num_axes + 1)[:, None] * 14 + 3
    places = ids * steps % int(ids[-1])  # each axis in another order
    error = wrap(phases(curves(rotate.at(places[:, None]))) - places.T.double() @ both).abs()
    return Axes(speeds, float(error[:, : m.num_pairs].max()), seconds, alone)


def _through(probe: Probe, rotation: Rotate) -> Probe:
    other = copy.copy(probe)
    other.rotate = rotation
    return other


def of_its_axis(m, rule: Callable) -> Finding | None:
    """Return what a rule says of the pairs of one axis, seen without those of others."""
    axes = sorted(set(m.axes.of_pairs or ())) if m.axes else []
    found = {axis: rule(m.of_axis(axis)) for axis in axes} if len(axes) > 1 else {}
    told = next(filter(None, found.values()), None)
    if told is None:
        return None
    alike = [axis for axis, each in found.items() if each and each.sentence == told.sentence]
    return replace(told, sentence=f"Of pairs of {list_of(alike, ' and ')}: {told.sentence}")


# Rules


def axis_ignored(m) -> Finding | None:
    """An axis that turns nothing: tokens that differ in it alone cannot be told apart."""
    if m.axes is None or not m.axes.still:
        return None
    turning = [axis for axis in range(len(m.axes.speeds)) if axis not in m.axes.still]
    rest = f"All pairs follow axis {turning[0]}" if len(turning) == 1 else "Other axes turn all"
    as_ever = "" if m.resting else f" {rest}, so that text, whose axes agree, is rotated as ever."
    return wrong(
        "axis-ignored",
        f"A step along {list_of(m.axes.still)} turns nothing: places that differ in nothing else "
        f"cannot be told apart.{as_ever}",
        "position_ids[0], or positions of a text where those of the image belong",
        axes_that_turn_nothing=", ".join(map(str, m.axes.still)),
    )


def axes_disagree(m) -> Finding | None:
    """The angle at a place must be the sum of what its axes turn; text is such a place."""
    if m.axes is None:
        return None
    speeds = m.speeds[: m.num_pairs]
    if bool(((m.axes.speeds.sum(0) - speeds).abs() > 1e-3 * speeds.abs().max()).any()):
        return _ordered_by_size(m) or wrong(
            "text-turned-otherwise",
            "Where all axes have one position, as text has, a token is turned otherwise than its "
            "axes turn it one by one: text and image do not fit in one sequence.",
            "a path of its own for text, with other frequencies, or sections that overlap",
            largest_difference=float((m.axes.speeds.sum(0) - speeds).abs().max()),
        )
    if m.axes.error > _ANGLE_ERROR + 8 * m.noise:
        return wrong(
            "not-relative",
            "The angle at a place is not the sum of what each of its axes turns, so that scores "
            "depend on where two places lie, not only on how far apart along each axis.",
            "axes that are multiplied, or one that is chosen by the other",
            largest_angle_error=m.axes.error,
        )
    return None


def _ordered_by_size(m) -> Finding | None:
    """Places of which one axis spans more than another, and the same with both exchanged."""
    count = len(m.axes.speeds)
    x = random(1, 2, 6, m.head_dim)
    for one, other in combinations(range(count), 2):
        places = torch.full((count, 1, 6), 3)
        places[one, 0], places[other, 0] = torch.arange(6), torch.arange(6) % 2
        exchanged = places.clone()
        exchanged[[one, other]] = places[[other, one]]
        both = [
            _through(m.probe, m.probe.rotate.at(each))(x, range(6)) for each in (places, exchanged)
        ]
        if gap(*both) < SAME:
            return wrong(
                "axes-ordered-by-size",
                f"Places come out alike where {list_of([one, other], ' and ')} "
                "are exchanged: a tall image is turned as a wide one.",
                "height and width sorted by size, or exchanged where an image is taller than wide",
                largest_difference=gap(*both),
            )
    return None


def still_in_text(m) -> Finding | None:
    """Dimensions that stand still where axes agree, and turn where they differ."""
    if m.axes is None:
        return None
    rest = torch.stack([each.matrices[:, m.resting] for each in m.axes.alone])
    along = (rest - rest[:, :1]).abs().amax((1, 3)) > SAME  # (axes, dimensions)
    turning, axes = int(along.any(0).sum()), along.any(1).nonzero().flatten().tolist()
    if not turning:
        return None
    what = f"{turning} of {m.head_dim} dimensions stand still where axes agree, as in text, and "
    if bool((along.sum(0) == 1).any()):
        return wrong(
            "text-turned-otherwise",
            f"{what}turn along {list_of(axes, ' and ')}: text and image do not fit in one "
            "sequence.",
            "a path of its own for text, whose position is handed to some of the axes",
            dimensions=turning,
        )
    return wrong(
        "axes-summed",
        f"{what}turn where they differ: they follow a difference of axes. What is reported is "
        "what turns in text.",
        "height - width, as in a frame that is turned by 45 degrees, or a sign on one axis",
        dimensions=turning,
    )


def axes_summed(m) -> Finding | None:
    """All pairs follow one sum of the axes."""
    if m.axes is None or m.axes.of_pairs is not None or m.num_pairs < 4:
        return None
    slowest, speeds = m.axes.speeds[:, -1], m.axes.speeds
    in_text = wrap(speeds.sum(0) - m.speeds[: m.num_pairs]).abs()
    if not bool(slowest.all()) or max(m.axes.error, float(in_text.max())) > _NO_SUM:
        return None
    least = int(slowest.abs().argmin())
    ratios = slowest / slowest[least]  # fast pairs may make more than half a turn in one step
    if bool(wrap(speeds - ratios[:, None] * speeds[least]).abs().max() > _ANGLE_ERROR):
        return None
    weights = " + ".join(f"{float(w):.4g} * axis {axis}" for axis, w in enumerate(ratios))
    return wrong(
        "axes-summed",
        f"All pairs follow one sum of the axes, {weights}: places of one sum cannot be told apart.",
        "the number of a patch, row * width + column, in place of its row and its column",
    )


def sections(m) -> Finding | None:
    """Say which pairs follow which axis."""
    if m.axes is None:
        return None
    if m.axes.of_pairs is None:
        return note(
            "axes-mixed",
            "Pairs follow several axes at once, as mixed frequencies do (RoPE-ViT).",
        )
    scaled = scaled_axes(m)
    return note(
        "several-axes",
        f"Each pair follows one axis: {in_words(m.axes.of_pairs, len(m.axes.speeds))}."
        + (
            f" Frequencies of {list_of(scaled, ' and ')} are {m.fit.jump:.6g} times those that "
            "the series of the others goes on to, as where a coordinate is scaled."
            if scaled
            else ""
        ),
    )


def scaled_axes(m) -> list[int]:
    """The axes of the fast pairs, where a series of all jumps just where their pairs end."""
    if m.axes is None or m.axes.of_pairs is None or m.fit.jump is None:
        return []
    (fast, slow), of_pairs = m.fit.split, m.axes.of_pairs
    apart = set(of_pairs[:fast]).isdisjoint(of_pairs[fast:])
    return sorted(set(of_pairs[:fast])) if apart and fast + slow == len(of_pairs) else []


def in_words(of_pairs: Sequence[int], count: int) -> str:
    """Return in which order the axes have their pairs.

    Example:
        >>> in_words([0, 0, 1, 1, 1], 2)
        'in blocks of 2 (axis 0), 3 (axis 1)'
        >>> in_words([0, 1, 2, 0, 1, 2, 0], 3)
        'in turn, 3, 2, 2 pairs'
    """
    runs = [(axis, len(list(group))) for axis, group in groupby(of_pairs)]
    if len(runs) == len({axis for axis, _ in runs}):
        return "in blocks of " + ", ".join(f"{size} (axis {axis})" for axis, size in runs)
    shares = [list(of_pairs).count(axis) for axis in range(count)]
    if takes_turns(of_pairs, count):
        return f"in turn, {', '.join(map(str, shares))} pairs"
    return " ".join(map(str, of_pairs))


def takes_turns(of_pairs: Sequence[int], count: int) -> bool:
    """All axes come once before one comes again, as long as each has pairs left."""
    shares = [list(of_pairs).count(axis) for axis in range(count)]
    try:
        return axis_of_pairs(shares, order="interleaved") == list(of_pairs)
    except ValueError:
        first = list(of_pairs[:count])
        turns = len(of_pairs) // count
        return sorted(first) == list(range(count)) and list(of_pairs[: turns * count]) == (
            first * turns
        )


def list_of(axes: Sequence[int], word: str = " or ") -> str:
    """Return the numbers of axes in words: axes 1 or 2."""
    return ("axis " if len(axes) == 1 else "axes ") + word.join(map(str, axes))
