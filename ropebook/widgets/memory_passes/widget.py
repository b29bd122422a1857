"""What a rotation reads and writes, one line of code after another."""

import math
from typing import Any, NamedTuple

import traitlets

from ropebook.widgets.base import RopeWidget
from ropebook.widgets.traits import IntInRange, OneOf


class Step(NamedTuple):
    """A line of code that goes through memory.

    Attributes:
        code: the line.
        reads: what it reads, by the names in `SIZES`.
        writes: what it writes, by its name there; new memory unless it is read from as well.
    """

    code: str
    reads: tuple[str, ...]
    writes: str


SIZES = {"x": 1.0, "x1": 0.5, "x2": 0.5, "a": 1.0, "n": 0.5, "r": 1.0, "b": 1.0, "y": 1.0}
"""How many times as many bytes as x each tensor has; x1 and x2 are the halves of x."""

WAYS = {
    "steps": (
        Step("a = x * cos", ("x",), "a"),
        Step("n = -x2", ("x2",), "n"),
        Step("r = cat(n, x1)", ("n", "x1"), "r"),
        Step("b = r * sin", ("r",), "b"),
        Step("y = a + b", ("a", "b"), "y"),
    ),
    "compiled": (
        Step("r = cat(-x2, x1)", ("x",), "r"),
        Step("y = x*cos + r*sin", ("x", "r"), "y"),
    ),
    "fused": (Step("y = turn(x)", ("x",), "y"),),
    "in_place": (Step("turn(x, out=x)", ("x",), "x"),),
}
"""`x * cos + rotate_half(x) * sin` line by line; as torch.compile leaves it on a CPU, with a, n and
b kept in the processor and r written; and as one kernel, `turn`, that keeps a pair there from its
reading to its writing: to new memory, or over x."""


CLOCKS = {
    "clone": [1.0, 6.1],
    "steps": [5.7, 27.6],
    "compiled": [2.8, 12.8],
    "fused": [1.02, 6.4],
    "in_place": [0.79, 0.78],
}
"""About what `make bench` recorded; a chapter gives the record's own numbers."""


def passes_of(steps: tuple[Step, ...]) -> float:
    """Return the passes of some steps: bytes read and written, over those of x.

    Args:
        steps: the steps.

    Example:
        >>> passes_of(WAYS["fused"])
        2.0
    """
    return sum((SIZES[name] for step in steps for name in (*step.reads, step.writes)), 0.0)


def new_memory_of(steps: tuple[Step, ...]) -> float:
    """Return the bytes of new memory that some steps write, over those of x.

    Args:
        steps: the steps.

    Example:
        >>> new_memory_of(WAYS["fused"]), new_memory_of(WAYS["in_place"])
        (1.0, 0.0)
    """
    return sum((SIZES[step.writes] for step in steps if step.writes not in step.reads), 0.0)


def _told() -> dict[str, Any]:
    return {way: [step._asdict() for step in steps] for way, steps in WAYS.items()}


def expected_of(steps: tuple[Step, ...], page_price: float = 0.0) -> float:
    """Return the time that some steps are expected to take, in copies of x: half their passes.

    Args:
        steps: the steps.
        page_price: what one x of new memory costs beside, in copies; 0 where memory is kept.

    Example:
        >>> expected_of(WAYS["fused"]), expected_of(WAYS["fused"], page_price=2.5)
        (1.0, 3.5)
    """
    return passes_of(steps) / 2 + page_price * new_memory_of(steps)


class Clocks(traitlets.Dict):
    """Recorded times, in copies: for a clone and for each way, with memory kept and with fresh.

    Raises:
        traitlets.TraitError: a time is missing, or no positive number.
    """

    def validate(self, obj: traitlets.HasTraits, value: Any) -> dict[str, Any]:
        """Return the times if they keep the rule."""
        times = super().validate(obj, value)
        for name in ("clone", *WAYS):
            pair = times.get(name)
            fits = isinstance(pair, (list, tuple)) and len(pair) == 2
            if not fits or not all(isinstance(t, float | int) and 0 < t < math.inf for t in pair):
                raise traitlets.TraitError(
                    f"{self.name} must give two positive numbers for {name}, got {pair!r}"
                )
        return times


class MemoryPasses(RopeWidget, folder="memory_passes"):
    """Carry out a rotation line by line, and count what goes through memory.

    Args:
        way: "steps" (default), a line at a time; "compiled", what a compiler makes of it; "fused",
            one kernel; "in_place", one kernel that writes over x.
        step: how many lines are done, an integer in [0, 5]; a way with fewer lines stops at its
            last.
        fresh: whether new memory comes fresh from the system; False (default): memory is kept.
        clocks: recorded times, in copies, `[memory kept, fresh memory]` for "clone" and for each
            way; by default about those of the book. What a clone takes longer in fresh memory is
            the price of new memory.

    Raises:
        traitlets.TraitError: a value breaks its rule; the message names both.

    Example:
        >>> memory = MemoryPasses(way="fused", step=1)
        >>> memory.passes, memory.new_memory
        (2.0, 1.0)
        >>> memory.way = "in_place"
        >>> memory.passes, memory.new_memory
        (2.0, 0.0)
        >>> memory.fresh = True
        >>> memory.counted["in_place"]
        1.0
        >>> memory.counted["fused"] == 1.0 + memory.page_price
        True
    """

    way = OneOf("steps", tuple(WAYS))
    step = IntInRange(1, low=0, high=max(map(len, WAYS.values())))
    fresh = traitlets.Bool(False).tag(sync=True)
    clocks = Clocks(CLOCKS).tag(sync=True)
    ways = traitlets.Dict(_told(), read_only=True).tag(sync=True)
    sizes = traitlets.Dict(SIZES, read_only=True).tag(sync=True)
    # The box that asks for all passes: until it is answered, the picture does not tell them.
    asked = traitlets.Unicode("passes over memory", read_only=True).tag(sync=True)

    @property
    def passes(self) -> float:
        """How often as many bytes as x has have been read or written so far."""
        return passes_of(WAYS[self.way][: self.step])

    @property
    def new_memory(self) -> float:
        """How much new memory has been written so far, in sizes of x."""
        return new_memory_of(WAYS[self.way][: self.step])

    @property
    def page_price(self) -> float:
        """What one x of new memory costs, in copies: 0 where memory is kept."""
        kept, fresh = self.clocks["clone"]
        return max(0.0, fresh - kept) if self.fresh else 0.0

    @property
    def counted(self) -> dict[str, float]:
        """The expected time of each way after as many lines, in copies."""
        return {
            way: expected_of(steps[: self.step], self.page_price) for way, steps in WAYS.items()
        }

    @property
    def recorded(self) -> dict[str, float]:
        """The recorded time of each way that is done, in copies; nan of one that is not."""
        return {
            way: self.clocks[way][self.fresh] if self.step >= len(steps) else math.nan
            for way, steps in WAYS.items()
        }
