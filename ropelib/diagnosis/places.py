"""Rules about places whose axes differ, as those of an image do, where text was found right.

Each call is compared with the sum of what the axes turn, which was measured one axis at a time.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ropelib.diagnosis.crowded import Outcome, Way, compared
from ropelib.diagnosis.inputs import gradient_of, through
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.paths import otherwise
from ropelib.diagnosis.precision import ROUNDINGS
from ropelib.diagnosis.probes import CallError
from ropelib.diagnosis.refusals import refused, takes
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import random

_END = 8192  # places below it: float32 angles of the sum of all axes are exact to 0.01 rad
_FEW = 11  # tokens of a row
_SHORTEST = 16  # rows of a table that ends
_OFF = 0.1  # of vectors of entries of about 1: more than rounding, less than half a step
_HALVES = (torch.bfloat16, torch.float16)


@dataclass(frozen=True)
class _Guess:
    """One way to call, `places` being `(axes, rows, seq_len)`, and what is said if it is wrong."""

    code: str
    places: Tensor
    sentence: str
    cause: str
    heads: int = 2
    dtype: torch.dtype = torch.float32


class _Turn:
    """What rotation by angles makes of vectors, and of the gradient by its result."""

    def __init__(self, m: Measured, places: Tensor):
        angles = torch.einsum("abs,ap->bsp", places.double(), _speeds(m)).repeat(1, 1, 2) + m.start
        diagonal = m.near.matrices[0].diagonal()
        self.order = torch.arange(m.head_dim) if m.permutation is None else m.permutation
        self.partner = torch.arange(m.head_dim)
        self.partner[m.dims] = torch.tensor([m.partner[r] for r in m.dims])
        self.cos = diagonal.expand(*places.shape[1:], -1).clone()
        self.cos[..., m.dims] = m.scale * angles.cos()
        sign = torch.ones(len(m.dims)).double()
        sign[: m.num_pairs] = -1  # -sin stands in the row of the first
        self.sin = torch.zeros_like(self.cos)
        self.sin[..., m.dims] = sign * m.scale * angles.sin()

    def __call__(self, x: Tensor) -> Tensor:
        x, rotated = x.double(), torch.empty(x.shape, dtype=torch.float64)
        rotated[..., self.order] = self.cos[:, None] * x + self.sin[:, None] * x[..., self.partner]
        return rotated

    def back(self, upstream: Tensor) -> Tensor:
        upstream = upstream.double()[..., self.order]
        return self.cos[:, None] * upstream + (self.sin[:, None] * upstream)[..., self.partner]


def _speeds(m: Measured) -> Tensor:
    """What each axis turns; by the longer lever of text, where a pair follows one axis."""
    of_pairs = m.axes.of_pairs
    if of_pairs is None:
        return m.axes.speeds
    own = torch.arange(len(m.axes.speeds))[:, None] == torch.tensor(of_pairs)
    return own * m.speeds[: m.num_pairs]


def differs_at_places(m: Measured) -> Finding | None:
    """Far places, rows, single tokens, grids, half precision, memory and the way back."""
    if m.axes is None or m.depends_on_length:
        return None
    for guess in _guesses(m):
        result = _called(m, guess)
        if result is not None and _compared(m, guess, result).is_wrong:
            return _explained(m, guess, result)
    return _under_autocast(m) or _way_back(m)


def _vectors(m: Measured, guess: _Guess) -> Tensor:
    _, rows, tokens = guess.places.shape
    return random(rows, guess.heads, tokens, m.head_dim).to(guess.dtype)


def _called(m: Measured, guess: _Guess) -> Tensor | None:
    """Return what becomes of the vectors; None where this is refused."""
    if guess.places.shape[1] > 1 and m.early is None:  # rows are refused, as a note says
        return None
    try:
        probe = through(m.probe, lambda rotate: rotate.at(guess.places))
        return probe(_vectors(m, guess), range(guess.places.shape[-1]))
    except CallError as error:
        if int(guess.places.max()) < m.limit and takes(m, guess.dtype):
            _, rows, tokens = guess.places.shape
            what = f"{rows} rows of {tokens} tokens of {str(guess.dtype)[6:]} whose axes differ"
            refused(m, what, error)
        return None


def _compared(m: Measured, guess: _Guess, result: Tensor, places: Tensor | None = None) -> Outcome:
    """Compare with what is right at these places, or with what other places would give."""
    expected = _Turn(m, guess.places if places is None else places)(_vectors(m, guess))
    way = Way(torch.arange(1), dtype=guess.dtype)
    return compared(result, expected, way, m.noise > 1e-5)


def _some(m: Measured, rows: int, tokens: int, end: int = 9) -> Tensor:
    """Return places of images, each axis in an order of its own."""
    positions = m.far.positions[m.far.positions < end]
    generator = torch.Generator().manual_seed(3)
    shape = len(m.axes.speeds), rows, tokens
    return positions[torch.randint(len(positions), shape, generator=generator)]


def _all(m: Measured) -> Tensor:
    """Return every position that was measured on every axis, far ones among them, in one row."""
    exact = m.noise <= 1e-5 or m.axes.of_pairs is not None
    positions = m.far.positions[m.far.positions < (_END if exact else 129)]
    orders = (
        torch.randperm(len(positions), generator=torch.Generator().manual_seed(axis))
        for axis in range(len(m.axes.speeds))
    )
    return torch.stack([positions[order] for order in orders])[:, None]


def _grid(m: Measured, height: int, width: int) -> Tensor:
    """Return the places of an image in the order of its rows; earlier axes have one place."""
    places = torch.full((len(m.axes.speeds), 1, height * width), 3)
    places[-2:, 0] = torch.cartesian_prod(torch.arange(height), torch.arange(width)).T
    return places


def _with_text(places: Tensor, row: int) -> Tensor:
    """Let one row be text: one position on all axes."""
    places = places.clone()
    places[:, row] = torch.arange(places.shape[-1]) % 9
    return places


def _guesses(m: Measured) -> Iterator[_Guess]:
    far, count = _all(m), len(m.axes.speeds)
    rows = 4 + (count == 4)  # as many as axes are tried apart
    yield _Guess(
        "image-places-wrong",
        far,
        "At far places, where axes differ, tokens are turned otherwise than by the sum of what "
        "each axis turns; text is right there.",
        "a path for images with tables or positions of its own",
    )
    for images in (_some(m, rows, _FEW), _with_text(_some(m, rows, _FEW), 0)):
        yield _Guess(
            "batch-rows-mixed",
            images,
            "A row of a batch whose axes differ is turned otherwise than alone.",
            "a path chosen by the first row of the batch, or a grid that rows share",
        )
    yield _Guess(
        "decode-differs",
        far[..., :1],
        "A single token whose axes differ is turned otherwise than beside others.",
        "a step that takes one axis for all, where the token's own position on each is due",
    )
    yield _Guess(
        "one-token-rows-wrong",
        _some(m, rows, 1),
        "In a batch of single tokens whose axes differ some are turned otherwise than alone.",
        "a fast path for one token that forgets the batch, or takes one axis for all",
    )
    for height, width in ((30, 10), (16, 16)):
        yield _Guess(
            "image-places-wrong",
            _grid(m, height, width),
            f"In an image of {height} rows of {width} tokens some are turned otherwise than by the "
            "sum of what each axis turns.",
            "a path for images with a size, or an order of tokens, that is written into it",
        )
    for batch, tokens in ((count, _FEW), (rows, count), (1, count)):
        yield _Guess(
            "axes-told-by-lengths",
            _some(m, batch, tokens),
            f"With {batch} rows of {tokens} tokens places are misread: positions have {count} "
            "axes, and another side of their tensor is as long.",
            "the side of the axes found by its length; say by its place which it is",
            heads=count + 1,
        )
    yield _Guess(
        "strided-ids-misread",
        _some(m, 2, _FEW).permute(2, 1, 0).contiguous().permute(2, 1, 0),
        "Positions that lie in memory as (seq_len, batch, axes), and are handed over as (axes, "
        "batch, seq_len), are misread.",
        "a kernel that counts addresses itself; hand it the strides, or call contiguous()",
    )
    for dtype in _HALVES:
        ways = {
            "far places of an image": far,
            "rows of images and of text": _with_text(_some(m, rows, _FEW), 1),
            "a single token whose axes differ": far[..., :1],
        }
        for where, places in ways.items():
            yield _Guess("half-precision-differs", places, where, "", dtype=dtype)


# What lies behind it


def _explained(m: Measured, guess: _Guess, result: Tensor) -> Finding:
    """Name the cause whose places would give this result, if one would."""
    error = _compared(m, guess, result).error
    fit = (c for c in _causes(m, guess) if not _compared(m, guess, result, c.places).is_wrong)
    cause = next(fit, None)
    if cause is None and guess.dtype in _HALVES:
        return otherwise(str(guess.dtype)[6:], guess.sentence, error)
    guess = cause or guess
    return wrong(guess.code, guess.sentence, guess.cause, largest_difference=error)


def _causes(m: Measured, guess: _Guess) -> Iterator[_Guess]:
    """Return the places by which tokens would be turned under each bug."""
    places = guess.places
    when = "" if guess.dtype == torch.float32 else f" when x is {str(guess.dtype)[6:]}"
    if places.shape[1] > 1 and not when:
        yield _Guess(
            "batch-rows-share-positions",
            places[:, :1].expand_as(places),
            "Where axes differ, every row of the batch is turned by the places of the first.",
            "position_ids[:, 0], or one grid for all images of a batch",
        )
    height, width = places[-2:].amax((1, 2)).tolist()
    if places.shape[-1] == (height + 1) * (width + 1) and height == width:
        swapped = torch.cat((places[:-2], places[-2:].flip(0)))
        yield _Guess(
            "grid-transposed",
            swapped,
            f"In a square image of {height + 1} rows of {width + 1} tokens rows are taken for "
            "columns, and they are not in one of other sides.",
            "the order of tokens, or of sides, told by lengths that are equal here",
        )
    if int(places.max()) < 256:
        return
    for name in ("bfloat16", "float16", "tf32"):
        to_low, bits = ROUNDINGS[name]
        yield _Guess(
            f"positions-in-{name}",
            to_low(places.double()),
            f"Where axes differ{when}, positions are rounded to {bits} significant bits: from "
            f"{2**bits} on not all neighbors can be told apart.",
            f"a path for images that casts positions to {name}, often by .to(x.dtype)",
        )
    for lengths in _lengths(m, guess):
        ends = torch.tensor(lengths)[:, None, None]
        which = [str(axis) for axis, end in enumerate(lengths) if end < _END]
        which = ("axis " if len(which) == 1 else "axes ") + " and ".join(which)
        first = min(lengths)
        yield _Guess(
            "positions-clamped",
            places.minimum(ends - 1),
            f"Where axes differ{when}, positions of {which} from {first} on are turned like "
            f"position {first - 1}.",
            "a table for the sides of an image that ends there, indexed with a clamp",
        )
        yield _Guess(
            "positions-wrap-around",
            places.remainder(ends),
            f"Where axes differ{when}, position {first} of {which} is turned like position 0, "
            "and so on.",
            "positions taken modulo the length of a table for the sides of an image",
        )


def _lengths(m: Measured, guess: _Guess) -> Iterator[list[int]]:
    """Return where the table of each axis may end: what one axis alone tells, and round numbers."""
    end = min(m.limit, _END)
    first = []
    for axis in range(len(guess.places)):
        places = torch.zeros(len(guess.places), 1, end, dtype=torch.long)
        places[axis] = torch.arange(end)
        alone = replace(guess, places=places, heads=1)
        result = _called(m, alone)
        expected = _Turn(m, places)(_vectors(m, alone))
        off = None if result is None else (result.double() - expected).abs().amax((0, 1, 3))
        seen = [] if off is None else (off > _OFF).nonzero()
        first.append(int(seen[0]) if len(seen) else _END)
    if _SHORTEST <= min(first) < _END:
        yield first
    yield from ([2**k] * len(first) for k in range(4, end.bit_length()))


# What surrounds a call, and the way back


def _under_autocast(m: Measured) -> Finding | None:
    guess = _Guess("wrong-under-autocast", _all(m), "", "")
    try:
        with torch.autocast(torch.device(m.probe.device).type, dtype=torch.bfloat16):
            result = _called(m, guess)
    except RuntimeError:  # a device that has none
        return None
    if result is None:
        return None
    outcome = _compared(m, replace(guess, dtype=torch.bfloat16), result)
    if outcome.is_wrong:
        return wrong(
            "wrong-under-autocast",
            "Under torch.autocast tokens whose axes differ are turned otherwise than without, by "
            "more than rounding.",
            "angles made by a product of matrices (@, or an einsum that sums) on the path of "
            "images alone",
            largest_difference=outcome.error,
        )
    return None


def _way_back(m: Measured) -> Finding | None:
    """The gradient is turned back by the angle of the place."""
    rows = 1 if m.early is None else 4
    guess = _Guess("gradient-wrong", _some(m, rows, _FEW, end=_END), "", "")
    x, turn = _vectors(m, guess), _Turn(m, guess.places)
    upstream = x.flip(-1)
    try:
        back = through(m.probe, lambda r: gradient_of(r.at(guess.places), upstream, lambda g: g))
        found = back(x, range(_FEW))
    except CallError:
        return None  # a note says so
    way = Way(torch.arange(1))
    outcome = compared(found, turn.back(upstream), way, coarse=True)
    if not outcome.is_wrong:
        return None
    if not compared(found, turn(upstream), way, coarse=True).is_wrong:
        return wrong(
            "gradient-rotates-forward",
            "The gradient of tokens whose axes differ is turned forward once more, by the angle of "
            "the place, where it must be turned back by it.",
            "a backward that calls the forward with the same sine; it needs -sin",
            largest_difference=outcome.error,
        )
    return wrong(
        "gradient-wrong",
        "The gradient of tokens whose axes differ is not that of the rotation, and that of text "
        "is.",
        "a backward that takes one axis for all, or the sections in another order",
        largest_difference=outcome.error,
    )
