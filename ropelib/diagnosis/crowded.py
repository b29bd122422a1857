"""Calls of random vectors with many conditions at once, compared with what was measured one by one.

Other probes send one vector to few rows, heads and tokens, so that nothing can be said of a path
that is taken by many, by far ones or by half precision. Here many conditions share a call. Only
where it differs from what the measured matrices make of the same vectors, `isolated.py` tries each
condition alone, to name the one at fault.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import CallError, measure
from ropelib.diagnosis.refusals import refused, takes
from ropelib.diagnosis.tensors import gap, random

_LONG, _SOME, _FEW = 300, 37, 17  # tokens: of no block of 4, 16 or 64, even and odd
_LONGEST = 2100  # more than a block of 2048, which none of the others fills
_ROUNDED = {  # of the largest entry: far float32 angles; tables, products and sums in bfloat16
    torch.float32: 0.01,
    torch.bfloat16: 2.0**-5,
    torch.float16: 2.0**-5,
}
_FACTOR = 2.0**-7  # of a factor, over many entries
TWO = torch.tensor([[6], [3]])  # near positions, which are always measured
AGAIN = torch.tensor([[2, 8, 5, 3], [6, 1, 4, 7]])  # of the shape of the first rows that were sent
_MOST_NUMBERS = 2**24  # of a call; wide heads are sent to fewer rows


@dataclass(frozen=True)
class Way:
    """One way to call: random vectors at positions of `ids`, and what is unusual of them."""

    ids: Tensor  # (seq_len,), (1, seq_len) or (rows, seq_len)
    rows: int = 1
    heads: int = 2
    dtype: torch.dtype = torch.float32
    transposed: bool = False  # x lies in memory as (batch, seq_len, num_heads, head_dim)
    scattered: bool = False  # position_ids lie in memory as (seq_len, batch)
    narrow: bool = False  # position_ids are int32
    alike: bool = False  # all tokens have one vector

    def simpler(self, with_rows: bool = True) -> Iterator["Way"]:
        """The same, and after it what is left where something of it is refused."""
        bases = [self] if with_rows or self.ids.dim() == 1 else []
        if bases and self.ids.dim() == 2 and len(self.ids) == 1:
            bases.append(replace(self, rows=1))
        if self.ids.dim() == 2:
            bases.append(replace(self, ids=self.ids[-1]))
        for transposed in sorted({self.transposed, False}, reverse=True):
            for scattered in sorted({self.scattered, False}, reverse=True):
                for base in bases:
                    yield replace(base, transposed=transposed, scattered=scattered)


def vectors(m: Measured, way: Way) -> Tensor:
    """Return what is sent: random numbers, in the order of memory that is asked for."""
    rows, heads, tokens = way.rows, way.heads, way.ids.shape[-1]
    x = random(rows, heads, tokens, m.head_dim).to(way.dtype)
    x = x[:, :, :1].expand_as(x) if way.alike else x
    return x.transpose(1, 2).contiguous().transpose(1, 2) if way.transposed else x


def positions(way: Way) -> Tensor:
    """Return the position_ids that are sent; a copy, since a rotation may write into them."""
    ids = way.ids.int() if way.narrow else way.ids.clone()
    return ids.T.contiguous().T if way.scattered and ids.dim() == 2 else ids


class Oracle:
    """What vectors become, by the matrices that were measured at their positions."""

    def __init__(self, m: Measured):
        # Tables without an axis of rows may fit them by chance, where two lengths are equal.
        self.takes_rows = m.early is not None
        self.by_runs = m.obeys == "start" or any(
            getattr(m.probe.rotate, name, False) for name in ("counts_itself", "runs_only")
        )
        if self.by_runs:  # what comes in another order costs it a call for each token
            self.curves = measure(m.probe, torch.arange(min(300, m.limit)), torch.float32)
        else:
            self.curves = m.far
            if m.permutation is not None:
                order = torch.tensor(m.permutation).argsort()
                self.curves = replace(m.far, matrices=m.far.matrices[:, order])
        self.positions = self.curves.positions

    def some(self, *shape: int, below: int | None = None) -> Tensor:
        """Return measured positions in no order, some of them twice."""
        count = int((self.positions < below).sum()) if below else len(self.positions)
        chosen = torch.randint(count, shape, generator=torch.Generator().manual_seed(1))
        return self.positions[chosen]


@dataclass
class Outcome:
    """What became of one way to call."""

    way: Way  # what was taken of it
    error: float  # largest difference from what was measured
    largest: float  # entry of what was expected
    factor: float  # by which it is longer than expected

    @property
    def is_wrong(self) -> bool:
        """Whether rounding does not explain it."""
        rounded = self.error < _ROUNDED[self.way.dtype] * self.largest
        low = self.way.dtype != torch.float32
        return not rounded or (low and abs(self.factor - 1) > _FACTOR)


def compared(result: Tensor, expected: Tensor, way: Way, coarse: bool = False) -> Outcome:
    """Return how far a result is from what is expected."""
    result = result.double()
    if coarse and way.dtype == torch.float32:  # x is rounded on the way, or its tables are
        way = replace(way, dtype=torch.bfloat16)
    factor = float((result * expected).sum() / (expected**2).sum())
    return Outcome(way, gap(result, expected), float(expected.abs().max()), factor)


def tried(m: Measured, oracle: Oracle, way: Way) -> Outcome | None:
    """Call in this way, or as near to it as is taken; None if all of it is refused."""
    last = None
    for each in way.simpler(oracle.takes_rows):
        if each.rows * each.heads * each.ids.shape[-1] * m.head_dim > _MOST_NUMBERS:
            continue
        x = vectors(m, each)
        try:
            result = m.probe(x, positions(each))
        except CallError as error:
            last = error
            if each.ids.dim() == 2 and len(each.ids) < each.rows:
                m.probe.refusals.pop()  # one row of positions for many is not asked of everybody
            continue
        return compared(result, oracle.curves.applied(x, each.ids), each, m.noise > 1e-5)
    if last and takes(m, way.dtype):
        refused(m, _words(way), last)
    return None


def _words(way: Way) -> str:
    dtype, tokens = str(way.dtype)[6:], way.ids.shape[-1]
    return f"{way.rows} rows of {way.heads} heads and {tokens} tokens of {dtype}"


def ways(m: Measured, oracle: Oracle) -> dict[str, Way]:
    """Return the crowded calls in float32 by name."""
    if oracle.by_runs:
        return {"many": Way(oracle.positions, heads=9, transposed=True)}
    some, limit = min(_FEW, m.limit), oracle.positions[-1:]
    crowd = oracle.some(11, some)
    crowd[0] = oracle.some(some, below=16)  # what looks at the first row alone sees no far one
    crowd[-1, -1] = 3  # nor does what looks at the last token
    powers = oracle.positions[(oracle.positions & (oracle.positions - 1)) == 0]
    pairs = m.num_pairs
    return {
        "crowd": Way(crowd, 11, 9, transposed=True, scattered=True),
        "singles": Way(oracle.positions[:, None], len(oracle.positions), 5),
        "int32": Way(crowd, 11, 3, narrow=True),
        "square": Way(oracle.some(6, 6), 6, 6),
        "single": Way(powers[-1:] if len(powers) else limit),
        "two": Way(oracle.positions[-2:]),
        "rows of two": Way(oracle.some(3, 2), 3),
        "rows of three": Way(oracle.some(2, 3), 2),
        "two rows": Way(TWO, 2, 3),
        "rows again": Way(AGAIN, 2, 3),
        "long": Way(oracle.some(1, min(_LONG, m.limit)), 2, 1),
        "longest": Way(oracle.some(min(_LONGEST, m.limit)), heads=1),
        "as many tokens as pairs": Way(oracle.some(min(pairs, m.limit))),
        "rows of as many tokens as pairs": Way(oracle.some(2, min(pairs, m.limit)), 2),
        "as many tokens as dimensions": Way(oracle.some(min(m.head_dim, m.limit))),
    }


def in_half(m: Measured, oracle: Oracle) -> dict[str, Way]:
    """Return the crowded calls in bfloat16 by name."""
    low = torch.bfloat16
    if oracle.by_runs:
        return {"many": Way(oracle.positions[:_SOME], heads=9, dtype=low, transposed=True)}
    crowd = oracle.some(3, min(_FEW, m.limit))
    return {
        "crowd": Way(crowd, 3, 9, low, transposed=True),
        "singles": Way(oracle.positions[:, None], len(oracle.positions), 2, low),
        "int32 singles": Way(oracle.positions[:, None], len(oracle.positions), 3, low, narrow=True),
        "single": Way(oracle.positions[-1:], 1, 2, low),
        "two": Way(oracle.positions[-2:], 1, 2, low),
        "long": Way(oracle.some(min(_LONG, m.limit)), 1, 1, low),
        "many heads": Way(oracle.some(5), 1, 71, low),
    }


def oracle_of(m: Measured) -> Oracle | None:
    """Return what results are compared with; None where a result depends on the whole call."""
    if "oracle" not in m.crowd:
        m.crowd["oracle"] = None if m.depends_on_length else Oracle(m)
    return m.crowd["oracle"]


def outcomes(m: Measured, kind: str = "float32") -> dict[str, Outcome | None]:
    """Return what became of each crowded call, made once."""
    oracle = oracle_of(m)
    if oracle is None:
        return {}
    if kind not in m.crowd:
        asked = (ways if kind == "float32" else in_half)(m, oracle)
        m.crowd[kind] = {name: tried(m, oracle, way) for name, way in asked.items()}
    return m.crowd[kind]


def half_is_well(m: Measured) -> bool:
    """Say whether the crowded calls in bfloat16 were taken as they were, and agree."""
    oracle = oracle_of(m)
    if oracle is None or oracle.by_runs:
        return False
    found = outcomes(m, "bfloat16")
    return all(
        found[name] is not None
        and not found[name].is_wrong
        and found[name].way.ids.shape == way.ids.shape  # else rows are refused
        for name, way in in_half(m, oracle).items()
    )
