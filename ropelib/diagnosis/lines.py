"""A rule that reads the two lines of a pair as they are written, where they are no rotation."""

import math
from collections.abc import Callable
from itertools import product

import torch
from torch import Tensor

from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import gap

_FITS = 0.02  # of an entry: more than tables in bfloat16 err
_WHOLE = 0.05  # how far a term may be from 1 or 0 times cos, sin or x
_STEPS = 3001  # frequencies tried from 0 to pi, before each is made exact

_ITSELF = (0, 0, 1)
Line = tuple[tuple[int, int, int], tuple[int, int, int]]  # of a, of b: times cos, sin and 1
_TURNS = {  # counterclockwise and clockwise
    sign: (((1, 0, 0), (0, -sign, 0)), ((0, sign, 0), (1, 0, 0))) for sign in (1, -1)
}


def lines_without_partner(m: Measured) -> Finding | None:
    """The same where a line reads one dimension alone, or is missing."""
    return None if m.partner else lines_of_pairs(m)


def lines_of_pairs(m: Measured) -> Finding | None:
    """Both lines are sums of a and b times cos and sin of the pair's own angle, and no rotation."""
    for firsts, seconds in _pairs(m):
        rows = [m.near.matrices[:, r, c] for r, c in product((firsts, seconds), repeat=2)]
        entries, positions = torch.stack(rows, dim=-1), m.near.positions.double()
        if found := _read(entries, positions):
            lines, scale = found
            angles = _angles(entries / scale, positions, lines)
            if angles is not None and (finding := _told(lines, entries / scale, angles)):
                return finding
    return None


def _pairs(m: Measured) -> list[tuple[list[int], list[int]]]:
    """Return the dimensions that may be partners, by what comes out of which."""
    present = m.entries > 1e-6 * float(m.far.matrices.abs().max())
    present = present | present.T
    if present.sum(1).max() > 1:
        return []
    partner = {r: int(row.nonzero()) for r, row in enumerate(present) if row.any()}
    if partner:
        firsts = [a for a, b in partner.items() if a < b]
        return [(firsts, [partner[a] for a in firsts])]
    every, half = [*range(m.head_dim)], m.head_dim // 2
    return [(every[:half], every[half : 2 * half]), (every[: 2 * half : 2], every[1::2])]


def _basis(angles: Tensor) -> Tensor:
    return torch.stack((angles.cos(), angles.sin(), torch.ones_like(angles)), dim=-1)


def _read(entries: Tensor, positions: Tensor) -> tuple[tuple[Line, Line], float] | None:
    """Read the lines off the pair that turns most at position 1, and what they are scaled by."""
    one = entries[:, int((entries[1] - entries[0]).abs().amax(1).argmax())]

    def errors(frequencies: Tensor) -> Tensor:
        basis = _basis(frequencies[:, None] * positions)
        return (basis @ (torch.linalg.pinv(basis) @ one) - one).square().sum((1, 2))

    frequency = _nearest(errors)
    if frequency < 0.05:  # too slow to tell what is cosine from what is x
        return None
    basis = _basis(frequency * positions)
    terms = torch.linalg.pinv(basis) @ one
    scale = float(terms.abs().max())
    whole = (terms / scale).round()
    if gap(basis @ terms, one) > _FITS * scale or gap(terms / scale, whole) > _WHOLE:
        return None
    a, b, a2, b2 = (tuple(map(int, column)) for column in whole.T.tolist())
    return ((a, b), (a2, b2)), scale


def _nearest(errors: Callable[[Tensor], Tensor]) -> float:
    """Return the frequency of least error, by a grid and two finer ones around its best."""
    even = torch.linspace(0, math.pi, _STEPS, dtype=torch.float64)
    slow = torch.logspace(-6, -1, 400, dtype=torch.float64)  # which turn by less than a step
    tried = torch.cat((even, slow)).sort().values
    for _ in range(3):
        i = int(errors(tried).argmin())
        best, step = float(tried[i]), float(tried[max(i - 1, 0) : i + 2].diff().max())
        tried = best + torch.linspace(-step, step, 41, dtype=torch.float64)
    return best


def _angles(entries: Tensor, positions: Tensor, lines: tuple[Line, Line]) -> Tensor | None:
    """Return the angle of each pair at each position, if these are the lines of all pairs."""
    terms = torch.tensor(lines, dtype=torch.float64).flatten(0, 1).T
    angles = []
    for pair in entries.unbind(1):

        def errors(frequencies: Tensor, pair: Tensor = pair) -> Tensor:
            made = _basis(frequencies[:, None] * positions) @ terms
            return (made - pair).square().sum((1, 2))

        angles.append(_nearest(errors) * positions)
        if gap(_basis(angles[-1]) @ terms, pair) > _FITS:
            return None
    return torch.stack(angles, dim=1)


def _told(lines: tuple[Line, Line], entries: Tensor, angles: Tensor) -> Finding | None:
    """Say what is written and what is meant: that direction of which more is there."""

    def right(sign: int) -> tuple[int, int]:
        pairs = [*zip(lines, _TURNS[sign], strict=True)]
        terms = [zip(one, other, strict=True) for one, other in pairs]
        return sum(a == b for a, b in pairs), sum(a == b for two in terms for a, b in two)

    meant = _TURNS[max((1, -1), key=right)]
    off = [i for i in (0, 1) if lines[i] != meant[i]]
    if not off or _has_a_name(lines):
        return None
    written, asked = ([_words(these[i]) for i in off] for these in (lines, meant))
    which = f"the line of {'ab'[off[0]]} is" if len(off) == 1 else "the lines are"
    terms = torch.tensor(meant, dtype=torch.float64).flatten(0, 1).T
    return wrong(
        "lines-miswritten",
        f"Of a pair (a, b) {which} {' and '.join(written)}, where {' and '.join(asked)} "
        f"{'is' if len(off) == 1 else 'are'} meant: that is no rotation.",
        _cause(lines, off),
        largest_difference=gap(entries, _basis(angles) @ terms),
    )


def _has_a_name(lines: tuple[Line, Line]) -> bool:
    """Say whether other rules name it: sine is zero, a minus is missing, sin and cos swapped."""
    (a, b), (a2, b2) = lines
    cosine, nothing = (1, 0, 0), (0, 0, 0)
    lengths = [a[i] * a[j] + b[i] * b[j] for i, j in ((0, 0), (1, 1), (0, 1))]
    if a == b2 and a2 == tuple(-n for n in b) and lengths[0] == lengths[1] and not lengths[2]:
        return True  # it turns, from another angle on
    return a == b2 == cosine and b == a2 and b in (nothing, (0, 1, 0), (0, -1, 0))


def _words(line: Line) -> str:
    text = ""
    for i, by in enumerate((" cos", " sin", "")):
        for name, terms in zip("ab", line, strict=True):
            if terms[i]:
                sign = "-" if terms[i] < 0 else "+"
                text += f" {sign} {name}{by}" if text else f"{sign.strip('+')}{name}{by}"
    return text or "0"


def _cause(lines: tuple[Line, Line], off: list[int]) -> str:
    (a, b), (a2, b2) = lines
    used = [any(terms[i] for line in lines for terms in line) for i in range(3)]
    if lines[0] == lines[1]:
        return "a line copied and not changed"
    if any(not any(n for terms in lines[i] for n in terms[:2]) for i in off):
        return (
            "a line that is missing, so that its dimensions are zeros or come out as they went in"
        )
    if not any(b) and not any(a2):
        return "a rotated copy of x that is x itself, or rotated twice"
    if used == [False, True, True] and a == b2 == _ITSELF:
        return "x for x * cos: the table of cos is lost"
    if used == [True, False, True] and b[2] and a2[2]:
        return "the rotated copy for the rotated copy * sin: the table of sin is lost"
    if used[0] != used[1]:
        return "one table handed over as both, (cos, cos), or both terms multiplied by one of them"
    return "a letter, a sign, cos or sin left as it was in a copied line, or a term that is lost"
