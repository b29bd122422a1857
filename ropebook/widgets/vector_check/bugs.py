"""What each known bug makes of a vector, and which of them made the numbers that came back."""

import functools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

# Chosen so that, whatever the position, no two bugs come near each other (a test has it), and that
# no number has two digits before its point when it is turned: three digits tell it to 0.005.
X = (3, 5, 7, -1, -4, 6, -2, 9)
BASE = 10_000.0
TOLERANCE = 0.00501  # of numbers under 10 that are rounded to three digits
# How far float32 may be off, and from which digit on that is asked of a right number.
EXACT, FINE = 1e-4, 6e-5
SAME = 2e-3  # a factor as near to 1 as this is none: rounding may leave as much
FEWEST_HEADS = 6  # whose width exponents may have: fewer may be parts or axes of one head
COARSE = 0.06  # how far bfloat16 or two digits move a right number under 10
LAYOUTS = ("half", "interleaved")


class Found(NamedTuple):
    """What made y of x; exponents that are divided by `over` would make the same."""

    code: str
    layout: str | None
    amount: float | None = None
    over: int | None = None

    @property
    def widths(self) -> list[int]:
        """How many numbers the parts of a vector have that pairs lie in."""
        if self.code == "trailing-dimensions":
            return [len(X) - int(self.amount), int(self.amount)]
        part = self.code in ("width-not-as-expected", "rest-not-kept") and self.layout
        return [int(self.amount), len(X) - int(self.amount)] if part else [len(X)]


@functools.cache
def known(position: float) -> dict[tuple[str, str | None, float | None], "Tensor"]:
    """Return what "right" and each known bug make of x at a position, float64.

    Returns:
        (code, layout, amount) -> the eight numbers.
    """
    import torch

    from ropelib import inv_freq

    x, width = vector(X), len(X)
    pairs = torch.arange(width // 2, dtype=torch.float64)
    plain = inv_freq(width, BASE)
    # Of two numbers, either layout makes the same pair.
    two = _turned(x[:2], position, plain[:1], "half")
    found = {
        ("does-not-rotate", None, None): x,
        ("width-not-as-expected", None, 2): torch.cat((two, x[2:])),
        ("rest-not-kept", None, 2): torch.cat((two, 0 * x[2:])),
    }
    for layout, other in (LAYOUTS, LAYOUTS[::-1]):
        right = _turned(x, position, plain, layout)
        speeds = {
            "clockwise": -plain,
            "exponents-from-one": BASE ** (-2 * (pairs + 1) / width),
            "exponents-from-a-half": BASE ** (-(2 * pairs + 1) / width),
            "exponents-positive": 1 / plain,
            "angles-in-degrees": torch.deg2rad(plain),
            "slowest-pairs-first": plain.flip(0),
        }
        found["right", layout, None] = right
        for code, speed in speeds.items():
            found[code, layout, None] = _turned(x, position, speed, layout)
        for shifted in (position + 1, position - 1):
            found["off-by-one", layout, shifted] = _turned(x, shifted, plain, layout)
        halved = BASE ** (-pairs / width)  # as a base of its root has them
        found["exponents-not-as-expected", layout, BASE**0.5] = _turned(x, position, halved, layout)
        for count in (4, 6):
            part = inv_freq(count, BASE)
            turned = _turned(x[:count], position, part, layout)
            found["width-not-as-expected", layout, count] = torch.cat((turned, x[count:]))
            found["rest-not-kept", layout, count] = torch.cat((turned, 0 * x[count:]))
            turned = _turned(x[-count:], position, part, layout)
            found["trailing-dimensions", layout, count] = torch.cat((x[:-count], turned))
        # Slow pairs that rest are p-RoPE in halves; in neighbors, the end of a vector.
        resting = {("last-pair-not-rotated", layout, None): 3}
        if layout == "half":
            resting = {("slow-pairs-stand-still", layout, turning): turning for turning in (2, 3)}
            resting["base-beyond-sense", layout, BASE**width] = 1
        for told, turning in resting.items():
            found[told] = _turned(x, position, plain * (pairs < turning), layout)
        found["output-permuted", layout, None] = _converted(right, layout, other)
        cos, sin = (_wide(f(position * plain), layout) for f in (torch.cos, torch.sin))
        strange = [_wide(f(position * plain), other) for f in (torch.cos, torch.sin)]
        minus, plus = _partners(x, layout)
        mixed = f"{other}-angles-on-{layout}-pairs"
        found[mixed, layout, None] = x * strange[0] + minus * strange[1]
        found["minus-sign-missing", layout, None] = x * cos + plus * sin
        found["sin-and-cos-swapped", layout, None] = x * sin + minus * cos
        found["sine-is-zero", layout, None] = x * cos
        # The line of the second reads what that of the first has written.
        late = torch.where(_sided(True, False, layout), right, x)
        found["pair-overwritten", layout, None] = x * cos + _partners(late, layout)[0] * sin
    return found


@functools.cache
def otherwise(position: float) -> list[tuple[Found, "Tensor"]]:
    """Return what the same bugs make of x where they are written in another way."""
    import torch

    from ropelib import inv_freq

    made = []
    for layout in LAYOUTS:
        a, b = pairs_of(vector(X), layout).T
        angles = position * inv_freq(len(X), BASE)
        c, s = angles.cos(), angles.sin()
        second = b * c + a * s
        for code, pairs in (
            ("minus-sign-missing", (a * c - b * s, b * c - a * s)),
            ("sin-and-cos-swapped", (a * s - b * c, second)),
            ("sin-and-cos-swapped", (a * c - b * s, b * s + a * c)),
            ("pair-overwritten", (a * c - second * s, second)),
        ):
            flat = torch.stack(pairs, dim=1).flatten()
            made.append((Found(code, layout), _converted(flat, "interleaved", layout)))
    # The slower half of neighbors rests: numbers behind those that turn, by exponents over 8.
    width = len(X)
    turning = inv_freq(width, BASE) * (torch.arange(width // 2) < width // 4)
    rests = Found("width-not-as-expected", "interleaved", width // 2, width)
    return [*made, (rests, _turned(vector(X), position, turning, "interleaved"))]


def judge(y: "Tensor", position: int, open_by: "Tensor") -> Found:
    """Return what made y of x at a position.

    Args:
        y: the numbers that came back.
        position: where x was turned.
        open_by: by how much the last digit of each leaves it open.
    """
    for (code, layout, amount), values in known(position).items():
        if fits(y, values):
            off = (y - values).abs()
            if code == "right" and bool(((off > EXACT) & (open_by < FINE)).any()):
                return Found("coarse", layout, float(off.max()))
            # Of base ** -2i the first pair alone turns: of neighbors, these two numbers.
            bare = code == "base-beyond-sense" or (code == "width-not-as-expected" and not layout)
            return Found(code, layout, amount, 1 if bare else None)
    for found, values in otherwise(position):
        if fits(y, values):
            return found
    for find in (_factor, _other_base, _other_position):
        for layout in LAYOUTS:
            for code, amount, *over in find(y, position, layout):
                return Found(code, layout, amount, *over)
    for layout in LAYOUTS:
        for code, at in (("coarse", position), ("clockwise", -position)):
            amount = float((y - turned_right(at, BASE, layout)).abs().max())
            if amount <= COARSE:
                return Found(code, layout, amount)
    both = [[pairs_of(one, layout) for one in (y, vector(X))] for layout in LAYOUTS]
    unkept = [float((lengths(*pairs) - 1).abs().sum()) for pairs in both]
    return Found("none", LAYOUTS[unkept[1] < unkept[0] * (1 - 1e-9)])


def _factor(y: "Tensor", position: int, layout: str) -> Iterator[tuple[str, float]]:
    amount = float(y.norm() / vector(X).norm())
    if (
        0.25 <= amount <= 1000
        and abs(amount - 1) >= SAME
        and fits(y, amount * turned_right(position, BASE, layout))
    ):
        of_scores = any(abs(amount - len(X) ** -power) < 1e-3 for power in (0.25, 0.5))
        yield "norm-not-kept" if of_scores else "attention-factor", amount


def _other_base(y: "Tensor", position: int, layout: str) -> Iterator[tuple[str, float, int | None]]:
    """The roundest base that fits: the second pair tells it, which may have turned full turns."""
    angle = float(angles_between(pairs_of(y, layout), pairs_of(vector(X), layout))[1])
    # All pairs at one frequency are base 1, and rounded angles may be a little beyond.
    while angle < position + 1e-3:
        if angle > 0:
            base = (position / angle) ** (len(X) // 2)
            for digits in (1, 2, 3, 6):
                rounded = float(f"{base:.{digits}g}")
                chosen = digits < 6 or abs(rounded / BASE - 1) > 5e-3  # else it is rounding
                if chosen and fits(y, turned_right(position, rounded, layout)):
                    over = _over(y, position, layout, rounded)
                    yield _code_of_base(rounded, over), rounded, over
        angle += math.tau


def _over(y: "Tensor", position: int, layout: str, base: float) -> int | None:
    """The even number by which BASE's exponents are divided, where that makes the same of x."""
    ratio = math.log(BASE) / math.log(base) if base > 1.1 else 0
    over = 2 * math.floor(len(X) * ratio / 2 + 0.5)
    if not 0 < over <= 512 or over == len(X):
        return None
    return over if fits(y, turned_right(position, BASE ** (len(X) / over), layout)) else None


def _code_of_base(base: float, over: int | None) -> str:
    # Of exponents too small, as over the width of some heads together, or too large.
    of_heads = over is not None and over % len(X) == 0 and over >= FEWEST_HEADS * len(X)
    if of_heads or base < 1.5 or base > 1e15:
        return "base-beyond-sense"
    return "exponents-not-as-expected" if base < 3 else "base-not-as-expected"


def _other_position(y: "Tensor", position: int, layout: str) -> Iterator[tuple[str, float]]:
    """The slowest pair tells a position without ambiguity, each faster one more exactly."""
    from ropelib import inv_freq

    at = 0.0
    speeds = inv_freq(len(X), BASE).tolist()
    angles = angles_between(pairs_of(y, layout), pairs_of(vector(X), layout)).tolist()
    for speed, angle in reversed(list(zip(speeds, angles, strict=True))):
        at += math.remainder(angle - at * speed, math.tau) / speed
    near = round(at)
    whole = abs(at - near) < 0.01 and fits(y, turned_right(near, BASE, layout))
    at = near if whole else at
    if at > 0 and abs(at / position - 1) >= SAME and fits(y, turned_right(at, BASE, layout)):
        if whole:
            yield "positions-shifted", at
        elif at > position:
            yield "frequencies-multiplied", at / position
        else:
            yield "linearly-scaled", position / at


# ---- vectors ----


def vector(numbers: list[float] | tuple[int, ...]) -> "Tensor":
    """Return the numbers as a vector, float64."""
    import torch

    return torch.tensor(numbers, dtype=torch.float64)


def fits(y: "Tensor", values: "Tensor") -> bool:
    """Say whether no number is off by more than rounding to three digits leaves."""
    return float((y - values).abs().max()) <= TOLERANCE


def _turned(x: "Tensor", position: float, speeds: "Tensor", layout: str) -> "Tensor":
    from ropelib import apply_rotary, cos_sin

    tables = cos_sin([float(position)], speeds, dtype=x.dtype)
    return apply_rotary(x[None], *tables, layout=layout)[0]


def turned_right(position: float, base: float, layout: str) -> "Tensor":
    """Return x at a position, right in a layout."""
    from ropelib import inv_freq

    return _turned(vector(X), position, inv_freq(len(X), base), layout)


def _converted(x: "Tensor", source: str, target: str) -> "Tensor":
    from ropelib import convert_layout

    return convert_layout(x[None], source=source, target=target)[0]


def pairs_of(x: "Tensor", layout: str) -> "Tensor":
    """Return the pairs as rows of two."""
    return _converted(x, layout, "interleaved").reshape(-1, 2)


def _wide(of_pairs: "Tensor", layout: str) -> "Tensor":
    """What belongs to each pair, at the places of both its numbers."""
    import torch

    if layout == "half":
        return torch.cat((of_pairs, of_pairs))
    return of_pairs.repeat_interleave(2)


def _sided(first: float, second: float, layout: str) -> "Tensor":
    """One thing at the first places of all pairs, another at the second."""
    import torch

    both = torch.tensor([[first, second]]).expand(len(X) // 2, 2)
    return both.T.flatten() if layout == "half" else both.flatten()


def _partners(x: "Tensor", layout: str) -> tuple["Tensor", "Tensor"]:
    """The other number of each pair, with a minus at the first places, and without."""
    plus = _converted(pairs_of(x, layout).flip(1).reshape(-1), "interleaved", layout)
    return plus * _sided(-1.0, 1.0, layout), plus


def angles_between(after: "Tensor", before: "Tensor") -> "Tensor":
    """Return by which angle each pair has turned, rad, from -pi to pi."""
    import torch

    (a, b), (c, d) = before.T, after.T
    return torch.atan2(a * d - b * c, a * c + b * d)


def lengths(after: "Tensor", before: "Tensor") -> "Tensor":
    """Return how many times as long each pair is as it was."""
    import torch

    return torch.hypot(*after.T) / torch.hypot(*before.T)
