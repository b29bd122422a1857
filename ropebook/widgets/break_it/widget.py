"""A score over distance whose rotation can be broken, and how far off each test finds it."""

import math
import random
from typing import TYPE_CHECKING

import traitlets

from ropebook.widgets.base import RopeWidget
from ropebook.widgets.traits import OneOf

if TYPE_CHECKING:
    import torch

HEAD_DIM = 8
# Small, so that all four hands are seen to turn within the picture: 1, 0.32, 0.1, 0.03 rad.
BASE = 100.0
LAST, PUSH, FAR = 24, 7, 10_000
# What rounding in float64 does at position 10,000 is a thousand times smaller.
TOLERANCE = 1e-6
ROWS = ("idle", "sign", "seat", "base", "count", "rounded", "early")
BUGS = (*(f"{side}_{row}" for row in ROWS for side in "qk"), "restart", "reread")
LAMPS = ("length", "zero", "moves", "push", "far", "cache", "by_hand", "reference")
VECTORS = ("drawn", "same", "ones")


def _example() -> dict[str, list[float]]:
    draw = random.Random(5)

    def numbers(low: float, high: float) -> list[float]:
        return [round(draw.uniform(low, high), 1) + 0.0 for _ in range(HEAD_DIM)]

    return {"q": numbers(-1, 1), "k": numbers(-1, 1), "weights": numbers(0.5, 1.5)}


EXAMPLE = _example()


class BreakIt(RopeWidget, folder="break_it"):
    """Break the rotation of a query and its keys, and see what each test measures.

    One query looks back on the 24 keys before it and on its own. Query and keys are normed to a
    mean square of 1, multiplied by the norm's weights, and turned, in layout "interleaved" with
    base 100. A bug may be in the query's way, in the keys' way, or in both.

    Args:
        q_idle: queries are not turned; `k_idle` so for keys, as all that follow.
        q_sign: they turn clockwise.
        q_seat: pairs are looked for as in layout "half".
        q_base: frequencies are base ** (-i / d), not base ** (-2i / d): those of base 10.
        q_count: positions are counted from 1.
        q_rounded: positions are rounded to bfloat16.
        q_early: they are turned before the norm and its weights, not after them.
        restart: after a cached prompt the next token is at position 0.
        reread: keys are turned a second time, by the number of their row, when the cache is read.
        vectors: what the tests are run on: "drawn", two random vectors; "same", one of them for
            query and key; "ones", ones, also as the norm's weights.
        shown: the test whose two sides the picture shows, one of `LAMPS`.

    Raises:
        traitlets.TraitError: a value breaks its rule; the message names both.

    Example:
        >>> BreakIt.with_bugs("q_sign", "k_sign").lit
        ['by_hand', 'reference']
        >>> BreakIt.with_bugs("q_sign", "k_sign", vectors="same").lit
        ['by_hand']
    """

    q_idle = traitlets.Bool(False).tag(sync=True)
    k_idle = traitlets.Bool(False).tag(sync=True)
    q_sign = traitlets.Bool(True).tag(sync=True)
    k_sign = traitlets.Bool(False).tag(sync=True)
    q_seat = traitlets.Bool(False).tag(sync=True)
    k_seat = traitlets.Bool(False).tag(sync=True)
    q_base = traitlets.Bool(False).tag(sync=True)
    k_base = traitlets.Bool(False).tag(sync=True)
    q_count = traitlets.Bool(False).tag(sync=True)
    k_count = traitlets.Bool(False).tag(sync=True)
    q_rounded = traitlets.Bool(False).tag(sync=True)
    k_rounded = traitlets.Bool(False).tag(sync=True)
    q_early = traitlets.Bool(False).tag(sync=True)
    k_early = traitlets.Bool(False).tag(sync=True)
    restart = traitlets.Bool(False).tag(sync=True)
    reread = traitlets.Bool(False).tag(sync=True)
    vectors = OneOf("drawn", VECTORS)
    shown = OneOf("reference", LAMPS)
    base = traitlets.Float(BASE, read_only=True).tag(sync=True)
    tolerance = traitlets.Float(TOLERANCE, read_only=True).tag(sync=True)
    example = traitlets.Dict(default_value=EXAMPLE, read_only=True).tag(sync=True)

    @classmethod
    def with_bugs(cls, *bugs: str, vectors: str = "drawn") -> "BreakIt":
        """The rotation with these bugs and no other.

        Args:
            *bugs: names out of `BUGS`; none for a rotation that is right.
            vectors: what the tests are run on.

        Raises:
            ValueError: a name is none of them.

        Example:
            >>> BreakIt.with_bugs("q_count", "k_count").lit
            ['zero']
        """
        for bug in bugs:
            if bug not in BUGS:
                raise ValueError(f"a bug must be one of {', '.join(BUGS)}, got {bug!r}")
        return cls(vectors=vectors, **{bug: bug in bugs for bug in BUGS})

    @property
    def bugs(self) -> int:
        """How many bugs are in."""
        return sum(getattr(self, bug) for bug in BUGS)

    @property
    def errors(self) -> dict[str, float]:
        """What each test measures: the largest gap between its two sides.

        For "moves" that is by how much a score differs from the one at distance 0, and should not
        be 0; for all others 0, up to rounding, is right.
        """
        here = self._row(0)
        right = BreakIt.with_bugs(vectors=self.vectors)._row(0)
        one, two = _eye(2)
        # The query stands at LAST, so the first of these angles is that of distance 0.
        by_hand = self._turned(two, _back(0), "k") @ self._turned(one, [LAST], "q")[0]
        lengths = {side: self._made(side, _back(0)).norm(dim=-1) for side in "qk"}
        found = {
            "length": [lengths[side] - self._plain(side).norm() for side in "qk"],
            "zero": [self._made(side, [0]) - self._plain(side) for side in "qk"],
            "moves": [here - here[0]],
            "push": [self._row(PUSH) - here],
            "far": [self._row(FAR) - here],
            "cache": [self._cached() - here],
            "by_hand": [by_hand - _distances().sin()],
            "reference": [here - right],
        }
        return {name: max(off.abs().max().item() for off in found[name]) for name in LAMPS}

    @property
    def lit(self) -> list[str]:
        """The tests that notice."""
        return [
            name for name, error in self.errors.items() if (error > TOLERANCE) != (name == "moves")
        ]

    @property
    def alarms(self) -> int:
        """How many tests notice."""
        return len(self.lit)

    def _input(self, name: str) -> "torch.Tensor":
        import torch

        if self.vectors == "ones":
            return torch.ones(HEAD_DIM, dtype=torch.float64)
        name = "q" if name == "k" and self.vectors == "same" else name
        return torch.tensor(self.example[name], dtype=torch.float64)

    def _normed(self, x: "torch.Tensor") -> "torch.Tensor":
        return x / x.square().mean(-1, keepdim=True).sqrt() * self._input("weights")

    def _plain(self, side: str) -> "torch.Tensor":
        return self._normed(self._input(side))

    def _made(self, side: str, positions: list[int]) -> "torch.Tensor":
        """Query or keys as they enter the score, one row per position."""
        if getattr(self, f"{side}_early"):
            return self._normed(self._turned(self._input(side), positions, side))
        return self._turned(self._plain(side), positions, side)

    def _turned(self, x: "torch.Tensor", positions: list[int], side: str) -> "torch.Tensor":
        """The rotation with its bugs, float64; `x` is one vector, or one per position."""
        import torch

        from ropelib import apply_rotary, cos_sin, inv_freq

        has = {row: getattr(self, f"{side}_{row}") for row in ROWS}
        at = torch.tensor(positions, dtype=torch.float64) + has["count"]
        x = x.expand(len(positions), -1)
        if has["idle"]:
            return x
        at = at.bfloat16().double() if has["rounded"] else at
        at = -at if has["sign"] else at
        base = math.sqrt(self.base) if has["base"] else self.base
        cos, sin = cos_sin(at, inv_freq(x.shape[-1], base), dtype=torch.float64)
        return apply_rotary(x, cos, sin, layout="half" if has["seat"] else "interleaved")

    def _row(self, start: int) -> "torch.Tensor":
        """Scores of a query with the keys 0, 1, ... before it, in a text that begins at `start`."""
        return self._made("k", _back(start)) @ self._made("q", [start + LAST])[0]

    def _cached(self) -> "torch.Tensor":
        """The same, of the last token alone, after the others were read."""
        now = 0 if self.restart else LAST
        keys = self._made("k", [now, *_back(0)[1:]])
        if self.reread:
            keys = self._turned(keys, _back(0), "k")
        return keys @ self._made("q", [now])[0]


def _back(start: int) -> list[int]:
    return [start + LAST - distance for distance in range(LAST + 1)]


def _distances() -> "torch.Tensor":
    import torch

    return torch.arange(LAST + 1, dtype=torch.float64)


def _eye(width: int) -> "torch.Tensor":
    import torch

    return torch.eye(width, dtype=torch.float64)
