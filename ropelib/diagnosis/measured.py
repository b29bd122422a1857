"""The description: one rotation as the probes saw it, and what follows by arithmetic."""

import copy
import math
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from ropelib.diagnosis.fit import Fit, is_round, raised, whole_turns
from ropelib.diagnosis.probes import (
    CallError,
    Curves,
    Probe,
    Uncalled,
    early_rows,
    measure,
    measure_runs,
    obedience,
    probed_positions,
    with_width,
)
from ropelib.diagnosis.several_axes import Axes, measured_axes
from ropelib.diagnosis.tensors import SAME, gap, random, wrap

_UNEVEN = 0.02  # of a length
_BENT = 0.3  # rad: what angles in bfloat16 are off by below 129, and a half
FEWEST = 12  # positions that the probes cannot do without


class Measured:
    """One rotation as the probes saw it, and what follows from that by arithmetic."""

    def __init__(self, probe: Probe, max_position: int, decode: Probe | None = None):
        self.probe, self.decode, self.head_dim = probe, decode, probe.head_dim
        self.obeys = obedience(probe)
        self.uncalled: Uncalled = []  # what `filled.py` asks anew
        self.refused: dict[str, str] = {}  # what was asked for, and what the rotation raised
        self.crowd: dict[str, object] = {}  # what `crowded.py` found, called once
        self.limit, self.limit_error, self.permutation = max_position, "", None
        self.as_said = False  # whether somebody said which frequencies are meant
        self.fresh = self.short_call()
        self.fresh_again = self.fresh, self.short_call()
        while True:
            try:
                self.early = early_rows(probe, self.limit) if self.obeys == "all" else None
                self.far = self.curves(torch.float32)
                if self.limit < 32:  # one row that is left of a table may serve several tokens
                    probe(random(1, 1, 1, self.head_dim), [self.limit - 1])
                break
            except ValueError as error:
                # The end of a table, unless it breaks on small positions too.
                is_short = self.limit <= 32
                if is_short and (self.limit <= FEWEST or not isinstance(error, CallError)):
                    raise
                self.limit_error = str(error).partition("\n")[0]
                self.limit = self.limit - 1 if is_short else self.limit // 2
        self.permutation = _permutation(self.far.matrices[0])
        if self.permutation is not None:
            self.far = self.curves(torch.float32)
        self.near = self.curves(torch.float32, end=min(129, self.limit))

    def curves(self, dtype: torch.dtype, end: int | None = None) -> Curves:
        """Measure at few positions below `end`; see `probed_positions`."""
        end = end or self.limit
        if not self.obeys_ids:  # then only what stands in its slot can be seen
            end = min(end, 129)
        positions = probed_positions(end)
        ids = torch.tensor(positions) if self.obeys_ids else torch.arange(end)
        curves = (measure_runs if self.obeys == "start" else measure)(self.probe, ids, dtype)
        if self.permutation is not None:
            curves = replace(curves, matrices=curves.matrices[:, self.permutation])
        return curves if self.obeys_ids else curves.at(positions)

    def at_width(self, width: int, positions: Tensor) -> "Measured":
        """Return what vectors of another width show at few positions, 0 and 1 among them."""
        other = Measured.__new__(Measured)
        other.probe, other.decode, other.head_dim = with_width(self.probe, width), None, width
        other.obeys, other.limit, other.limit_error = self.obeys, self.limit, self.limit_error
        other.refused, other.crowd, other.permutation = {}, {}, None
        in_runs = self.obeys == "start"
        curves = (measure_runs if in_runs else measure)(other.probe, positions, torch.float32)
        other.permutation = _permutation(curves.matrices[0])
        if other.permutation is not None:
            curves = replace(curves, matrices=curves.matrices[:, other.permutation])
        other.far = other.near = curves
        return other

    def short_call(self) -> Tensor:
        """Return what becomes of one vector at the first positions."""
        return self.probe(random(1, 1, 1, self.head_dim).expand(1, 2, 9, -1), range(9))

    @property
    def one_vector(self) -> Tensor:
        """The vector that `full` is of, in its first head."""
        return random(1, 2, 1, self.head_dim)[0, 0]

    @cached_property
    def full(self) -> Tensor:
        """What becomes of one vector at every position, in one call."""
        return self.all_positions()

    def all_positions(self) -> Tensor:
        """Ask for `full` anew."""
        x = random(1, 2, 1, self.head_dim).expand(1, 2, self.limit, self.head_dim)
        return self.probe(x, range(self.limit))

    @property
    def known(self) -> Tensor:
        """Positions whose matrices hold in any call."""
        steady = self.obeys == "all" and not self.depends_on_length
        return (self.far if steady else self.near).positions

    def applied(self, x: Tensor, position_ids: Tensor) -> Tensor:
        """Return what the matrices make of x at positions of `known`, in rows or one for all."""
        curves = self.near if int(position_ids.max()) <= self.near.positions[-1] else self.far
        rotated = curves.applied(x, position_ids)
        if self.permutation is not None:
            rotated = torch.empty_like(rotated).index_copy_(
                -1, torch.tensor(self.permutation), rotated
            )
        return rotated

    def differs(self, rotated: Tensor, x: Tensor, position_ids: Tensor) -> Tensor:
        """Say which elements are not what the matrices make of x, by more than rounding."""
        allowed = SAME + 8 * self.far.curvature * float(x.float().norm(dim=-1).max())
        return (rotated - self.applied(x, position_ids)).abs() > allowed

    @property
    def obeys_ids(self) -> bool:
        """Whether any position can be asked for, if only at the start of a call."""
        return self.obeys in ("all", "start")

    # The description: per rotating dimension, then per pair

    @cached_property
    def entries(self) -> Tensor:
        """Largest size of each entry of the matrices, but the diagonal, over all positions."""
        return self.far.matrices.abs().amax(0).fill_diagonal_(0)

    def without_position_0(self) -> "Measured":
        """Return the same with position 0 unturned, where that one alone is turned wrongly."""
        other = self.undescribed()
        unturned = self.near.matrices[1].clone()
        unturned[self.dims] = 0
        unturned[self.dims, self.dims] = self.lengths(self.near)[1]
        for name in ("near", "far"):
            curves = getattr(self, name)
            matrices = torch.cat((unturned[None], curves.matrices[1:]))
            setattr(other, name, replace(curves, matrices=matrices))
        return other

    def of_axis(self, axis: int) -> "Measured":
        """Return what the pairs of one axis alone show; all need follow one."""
        other = self.undescribed()
        of_pairs, count = self.axes.of_pairs, self.num_pairs
        own = [pair for pair in range(count) if of_pairs[pair] == axis]
        both = [(self.dims[pair], self.dims[pair + count]) for pair in own]
        vars(other)["partner"] = {a: b for pair in both for a, b in (pair, pair[::-1])}
        vars(other)["axes"] = None
        return other

    def undescribed(self) -> "Measured":
        """Return the same, of which nothing is described yet."""
        other = copy.copy(self)
        for name in vars(type(self)):
            if isinstance(getattr(type(self), name), cached_property):
                vars(other).pop(name, None)
        return other

    @cached_property
    def partner(self) -> dict[int, int] | None:
        """From each rotating dimension to the one it is mixed with; None if there is no such."""
        largest = self.far.matrices.abs().amax((0, 2))  # of each row: xPos scales them apart
        present = self.entries > 1e-6 * largest[:, None]
        if present.sum(1).max() > 1:
            return None
        partner = {r: int(row.nonzero()) for r, row in enumerate(present) if row.any()}
        partner |= self._turned_by_pi(partner)
        return partner if all(partner.get(b) == a for a, b in partner.items()) else None

    def _turned_by_pi(self, partner: dict[int, int]) -> dict[int, int]:
        """Pair dimensions that change sign with each position, as a frequency of pi makes them.

        They never meet their partners, which lie where those of others do.
        """
        diagonal = self.far.matrices.diagonal(dim1=1, dim2=2)
        signs = 1 - 2 * (self.far.positions % 2).double()[:, None]
        turned = ((diagonal - signs * diagonal[0]).abs() < SAME * diagonal[0].abs()).all(0)
        dims = [r for r in turned.nonzero().flatten().tolist() if r not in partner]
        distances = {b - a for a, b in partner.items() if a < b}
        if len(distances) != 1 or not dims:
            return {}
        (distance,) = distances
        pairs = [(r, r + distance) for r in dims if r + distance in dims]
        pairs = pairs[:: 2 if distance == 1 and len(pairs) > 1 else 1]
        return {a: b for pair in pairs for a, b in (pair, pair[::-1])}

    @cached_property
    def dims(self) -> list[int]:
        """The rotating dimensions: the first of every pair, then in that order the second."""
        firsts = [a for a, b in sorted(self.partner.items()) if a < b]
        return firsts + [self.partner[a] for a in firsts]

    @property
    def num_pairs(self) -> int:
        """How many pairs rotate."""
        return len(self.dims) // 2

    def phases(self, curves: Curves) -> Tensor:
        """Angle of each rotating dimension at each position, in (-pi, pi]."""
        diagonal, off = self.rows(curves)
        return torch.atan2(off, diagonal)

    def lengths(self, curves: Curves) -> Tensor:
        """By what each rotating dimension is multiplied at each position."""
        return torch.hypot(*self.rows(curves))

    def rows(self, curves: Curves) -> tuple[Tensor, Tensor]:
        """Cosine and sine of each rotating dimension at each position, times its scale."""
        rows, columns = self.dims, [self.partner[a] for a in self.dims]
        sign = torch.ones(len(rows), dtype=torch.float64)
        sign[: self.num_pairs] = -1  # -sin stands in the row of the first
        return curves.matrices[:, rows, rows], curves.matrices[:, rows, columns] * sign

    @cached_property
    def start(self) -> Tensor:
        """Angle of each rotating dimension at position 0; 0 in a right rotation."""
        return self.phases(self.near)[0]

    @cached_property
    def speeds(self) -> Tensor:
        """Signed frequency of each rotating dimension, rad/token.

        Position 1 tells it up to a turn: those beyond pi are taken as the slower ones go on.
        """
        speeds, count = self._below_half_a_turn(), self.num_pairs
        first, second = speeds[:count], speeds[count:]
        if count < 3 or bool(((first - second).abs() > 1e-3).any()):  # a rule says so
            return speeds
        return speeds + whole_turns(first, self.pairing.slots, self.tolerance).repeat(2)

    def _below_half_a_turn(self) -> Tensor:
        speeds = speeds_of(self.phases(self.near), self.near.positions)
        half_turns = speeds.abs() > math.pi - 1e-6  # both ways at once: as most turn
        most = torch.where(half_turns, 0, speeds).sign().sum().sign()
        speeds = torch.where(half_turns, speeds.abs() * (-1 if most < 0 else 1), speeds)
        if self.noise > 1e-5 and not self.depends_on_length:
            # Coarse tables: a longer lever is more exact, if positions hold that far.
            longer = speeds_of(self.phases(self.far), self.far.positions)
            if self.residual(self.far, longer).max() < 0.05:
                return longer
        return speeds

    def residual(self, curves: Curves, speeds: Tensor) -> Tensor:
        """How far angles are from the position times `speeds`."""
        phases = self.phases(curves)
        return wrap(phases - phases[0] - curves.positions.double()[:, None] * speeds).abs()

    @cached_property
    def scale(self) -> Tensor:
        """By what each rotating dimension is multiplied, over all near positions."""
        return self.lengths(self.near).mean(0)

    @property
    def keeps_lengths(self) -> bool:
        """Whether one factor is that of all pairs at all near positions."""
        return (
            self.noise < _UNEVEN
            and float((self.scale / self.scale.mean() - 1).abs().max()) < _UNEVEN
        )

    @property
    def is_proportional(self) -> bool:
        """Whether angles of most near positions are these times `speeds`, which else are none."""
        off = self.residual(self.near, self.speeds).amax(1) > _BENT
        return float(off.double().mean()) < 0.25

    @property
    def factors(self) -> Tensor:
        """By what each row of the matrices is multiplied: the factor, 1 where nothing turns."""
        rows = torch.ones(self.head_dim, 1, dtype=torch.float64)
        rows[self.dims] = self.scale.mean()
        return rows

    @cached_property
    def noise(self) -> float:
        """How much lengths vary over near positions, relatively: what rounding tables does."""
        lengths = self.lengths(self.near)
        return float((lengths / self.scale - 1).abs().max())

    @cached_property
    def resting(self) -> list[int]:
        """The dimensions that do not rotate."""
        return [r for r in range(self.head_dim) if r not in self.partner]

    @property
    def still(self) -> set[int]:
        """The resting dimensions of pairs that have a frequency, of zero."""
        pairing = self.pairing
        if pairing.layout == "interleaved" and pairing.offset == 0 and self.base_over_the_head:
            return set(range(self.head_dim))  # slow pairs, which p-RoPE leaves still
        if pairing.layout is None or pairing.width == self.num_pairs:
            return set()
        return set(range(pairing.offset, pairing.offset + 2 * pairing.width))

    @cached_property
    def depends_on_length(self) -> bool:
        """Whether the same positions turn otherwise in the company of far ones."""
        near = self.near.matrices
        if self.obeys == "start":  # far ones were measured without company
            x = random(1, 1, 1, self.head_dim)
            full = self.probe(x.expand(1, 2, self.limit, -1), range(self.limit))[0, 0, :9].double()
            alone = self.probe(x.expand(1, 2, 9, -1), range(9))[0, 0].double()
            return gap(full, alone) > SAME
        return (
            self.obeys == "all"
            and float((self.far.matrices[: len(near)] - near).abs().max()) > SAME
        )

    @cached_property
    def pairing(self) -> "_Pairing":
        """Where the pairs lie."""
        return _Pairing.of(self.dims[: self.num_pairs], self.partner, self.head_dim)

    @cached_property
    def direction(self) -> int | None:
        """+1 counterclockwise, -1 clockwise, None for some of each."""
        signs = set(self.speeds[: self.num_pairs].sign().tolist()) - {0.0}
        return int(signs.pop()) if len(signs) == 1 else None

    @cached_property
    def inv_freq(self) -> Tensor:
        """Frequencies of the pairs in their order; those of pairs that stand still are zeros."""
        speeds = torch.zeros(self.pairing.width, dtype=torch.float64)
        speeds[list(self.pairing.slots)] = self.turning
        return speeds

    @cached_property
    def turning(self) -> Tensor:
        """Frequencies of the pairs that turn, in their order."""
        speeds = self.speeds[: self.num_pairs]
        return speeds * self.direction if self.direction else speeds

    @cached_property
    def fit(self) -> Fit:
        """The series that the frequencies follow, as exactly as the tables tell it."""
        return Fit.of(self.turning, self.pairing.width, self.tolerance, self.pairing.slots)

    @property
    def tolerance(self) -> float:
        """By how much logarithms of frequencies may miss those of a series."""
        return 5e-6 + 4 * self.noise

    @cached_property
    def base_over_the_head(self) -> float | None:
        """The base of frequencies that count all of head_dim, on pairs in a part of it."""
        rotary, fit = 2 * self.pairing.width, self.fit
        if not fit.is_geometric or rotary >= self.head_dim or self.num_pairs < 2:
            return None
        if fit.base > raised(1e3, rotary / 2):  # of a series that nobody chose
            return None
        over_head = raised(fit.base, self.head_dim / rotary)
        one_of_all = is_round(over_head) and (fit.base < 100.01 or not is_round(fit.base))
        return over_head if one_of_all else None

    @cached_property
    def axes(self) -> Axes | None:
        """Which axis turns which pair, where positions have several."""
        return measured_axes(self, speeds_of)

    @cached_property
    def relativity_error(self) -> float:
        """How much scores at one distance differ between neighboring places."""
        return relativity_error(self.near, self.near)


def relativity_error(q: Curves, k: Curves) -> float:
    """How much the score of a q and a k differs from that of the same two one position on."""
    products = torch.einsum("mrc,nre->mnce", q.matrices[:9], k.matrices[:9])
    return gap(products[1:, 1:], products[:-1, :-1])


def _permutation(matrix: Tensor) -> list[int] | None:
    """Return the rows in the order that makes `matrix` diagonal, if it only moves dimensions."""
    if matrix.diagonal().abs().min() > 1e-3 * matrix.abs().max():
        return None
    large = matrix > 0.5 * matrix.amax()
    others = matrix.masked_fill(large, 0).abs().max()
    if (
        others > 1e-4 * matrix.amax()
        or not (large.sum(0) == 1).all()
        or not (large.sum(1) == 1).all()
    ):
        return None
    return large.int().argmax(0).tolist()


def speeds_of(phases: Tensor, positions: Tensor) -> Tensor:
    """Frequencies from angles known up to whole turns: each position tells the turns of the next.

    Position 1 tells the frequency where it is below pi; at twice the position the same error in
    angle is half the error in frequency.
    """
    turned = wrap(phases - phases[0])
    speeds = turned[1] / float(positions[1])
    for p in range(2, len(positions)):
        m = float(positions[p])
        speeds = speeds + wrap(turned[p] - m * speeds) / m
    return speeds


@dataclass(frozen=True)
class _Pairing:
    """Where the pairs lie: which layout, of how many pairs, from which dimension on."""

    layout: str | None
    width: int  # pairs that the layout has room for, at least those that rotate
    offset: int  # dimensions before the part that the layout is of
    slots: tuple[int, ...]  # the number, among all of that part, of each pair that turns

    @property
    def first(self) -> int:
        """The first pair of that part that turns."""
        return self.slots[0]

    @property
    def has_gaps(self) -> bool:
        """Whether pairs between others stand still."""
        return self.slots[-1] - self.slots[0] >= len(self.slots)

    @classmethod
    def of(cls, firsts: list[int], partner: dict[int, int], head_dim: int) -> "_Pairing":
        offset, count, end = firsts[0], len(firsts), firsts[-1] + 1
        distances = {partner[a] - a for a in firsts}
        distance = distances.pop() if len(distances) == 1 else 0
        if distance == 1 and all((a - offset) % 2 == 0 for a in firsts):
            if end - offset == 2 * count - 1:
                return cls("interleaved", count, offset, tuple(range(count)))
            odd = offset % 2  # others stand still between them: all that there is room for
            slots = tuple(a // 2 for a in firsts)
            return cls("interleaved", (head_dim - odd) // 2, odd, slots)
        if 1 < distance >= end - offset:
            # Up to the middle, or with no room behind: the pairs before them stand still.
            whole = end <= distance if end - offset > count else end == distance
            if whole or offset + 2 * distance > head_dim:
                return cls("half", distance, 0, tuple(firsts))
            return cls("half", distance, offset, tuple(a - offset for a in firsts))
        return cls(None, count, offset, tuple(range(count)))
