"""What an exhibit is: a bug that was shipped, in a few lines, and the line that mends it."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from ropelib import apply_rotary, cos_sin, diagnose, inv_freq
from ropelib.diagnosis import Report, from_module

Rotation = Callable[..., Tensor]

SPEEDS = inv_freq(64)
"""Of the plain rotation of a head of 64 dimensions, base 10,000."""


def turn(x: Tensor, position_ids: Tensor, speeds: Tensor, *, layout="half", factor=1.0) -> Tensor:
    """Rotate the first `2 * len(speeds)` dimensions of x, rightly.

    Example:
        >>> turn(torch.ones(1, 1, 1, 4), torch.tensor([0]), inv_freq(4))
        tensor([[[[1., 1., 1., 1.]]]])
    """
    cos, sin = cos_sin(position_ids, speeds, dtype=torch.float32)
    return apply_rotary(x, factor * cos, factor * sin, layout=layout)


def by_angles(x: Tensor, angles: Tensor, *, layout="half") -> Tensor:
    """Rotate x by angles `(seq_len, num_pairs)` or `(batch, seq_len, num_pairs)`, rightly.

    Example:
        >>> by_angles(torch.tensor([[[[1.0, 0.0]]]]), torch.tensor([[0.0]]))
        tensor([[[[1., 0.]]]])
    """
    return apply_rotary(x, angles.cos().float(), angles.sin().float(), layout=layout)


SHOWS = {
    "nonsense": "Nonsense, loops, or a loss as if untrained.",
    "fluent": "Fluent, and worse than it should be.",
    "compared": "Nothing to be seen, until numbers are compared.",
}
"""How a bug shows: what a reader sees."""


@dataclass(frozen=True)
class Meant:
    """What a rotation was meant to be, in the words of `diagnose(..., expected=)`.

    Attributes:
        inv_freq: frequencies, rad/token; zeros for pairs that rest.
        layout: how its pairs lie.
        attention_factor: what cos and sin are multiplied by.
        axis_of_pairs: which axis of a position turns each pair, where positions have several and
            are `(axes, batch, seq_len)`.
    """

    inv_freq: Tensor = field(default_factory=lambda: SPEEDS)
    layout: str = "half"
    attention_factor: float = 1.0
    axis_of_pairs: tuple[int, ...] | None = None

    def rotate(self, x: Tensor, position_ids: Tensor) -> Tensor:
        """Return x rotated so."""
        factor = self.attention_factor
        return turn(x, position_ids, self.inv_freq, layout=self.layout, factor=factor)


@dataclass(frozen=True)
class Exhibit:
    """A shipped bug.

    Attributes:
        name: unique; names its place on the page.
        hall: the symptom under which it hangs, a key of `HALLS`.
        shows: how it shows, a key of `SHOWS`.
        saw: what users saw, with the thread's figures.
        where: its thread on GitHub, `owner/repo/issues/1` or `owner/repo/pull/1`.
        broken: a rotation that has the bug, or, where it has a memory, what makes one.
        mend: a piece of its source, and what to write in its place.
        code: what `diagnose` calls it.
        also: further threads of the same bug.
        akin: threads of another bug with the same effect.
        meant: what the rotation was meant to be.
        part: "rotate", or "decode" where the bug sits in generation, or "both" where one function
            serves the whole text and the steps after it.
        makes: whether `broken` makes the rotation.
        options: further arguments of `diagnose`.
        price: what the mend costs, where it costs something; the name of an exhibit, or a thread,
            in brackets becomes a link.
        differs: what the lines do otherwise than the thread, or do not show.
    """

    name: str
    hall: str
    shows: str
    saw: str
    where: str
    broken: Callable
    mend: tuple[str, str]
    code: str
    also: tuple[str, ...] = ()
    akin: tuple[str, ...] = ()
    meant: Meant = Meant()
    part: str = "rotate"
    makes: bool = False
    options: dict = field(default_factory=dict)
    price: str = ""
    differs: str = ""

    @cached_property
    def source(self) -> str:
        """The lines of `broken`, as they stand in its file, but for the label above them."""
        text = inspect.getsource(self.broken)
        return text[text.index("def ") :].rstrip()

    @cached_property
    def mended_source(self) -> str:
        """The same with the mend."""
        return self.source.replace(*self.mend)

    def wrong(self) -> Rotation:
        """Return the rotation with the bug."""
        return self.broken() if self.makes else self.broken

    def mended(self) -> Rotation:
        """Return the rotation that the mended source says."""
        scope = dict(self.broken.__globals__)
        exec(compile(self.mended_source, f"<{self.name}, mended>", "exec"), scope)
        function = scope[self.broken.__name__]
        return function() if self.makes else function

    def sides(self, rotation: Rotation) -> list[Rotation]:
        """Return the rotations of q and of k, where one function makes both, or the one."""
        both = next(iter(inspect.signature(rotation).parameters)) == "q"
        return list(from_module(rotation)) if both else [rotation]

    def examined(self, rotation: Rotation) -> tuple[Report, bool]:
        """Have a rotation diagnosed, and say whether it had to be told what was meant.

        Args:
            rotation: `wrong()` or `mended()`.

        Returns:
            The report, and False if measuring the rotation alone was enough.
        """
        options = {"max_position": 512, **self.options}
        if self.part == "decode":
            rotation, options["decode"] = self.meant.rotate, rotation
        elif self.part == "both":
            options["decode"] = rotation
        if self.meant.axis_of_pairs:
            options["axes"] = max(self.meant.axis_of_pairs) + 1
        alone = diagnose(rotation, **options)
        if not alone.ok or self.code in alone.codes:
            return alone, False
        return diagnose(rotation, expected=self.meant, **options), True


class Hall:
    """A symptom, and the bugs that show it.

    Attributes:
        name: its key.
        when: when it goes wrong, in few words.
        asks: what a reader sees, as a sentence.
        exhibits: its bugs, in the order in which they were hung.
        aside: where else to look; the name of an exhibit in brackets becomes a link.
    """

    def __init__(self, name: str, when: str, asks: str, aside: str = ""):
        """Open an empty one.

        Args:
            name: its key.
            when: when it goes wrong, in few words.
            asks: what a reader sees, as a sentence.
            aside: where else to look.
        """
        self.name, self.when, self.asks, self.aside = name, when, asks, aside
        self.exhibits = []

    def shows(self, name: str, **label) -> Callable[[Callable], Callable]:
        """Hang the function below as an exhibit.

        Args:
            name: of the exhibit.
            **label: its further attributes.
        """

        def hang(function: Callable) -> Callable:
            self.exhibits.append(Exhibit(name=name, hall=self.name, broken=function, **label))
            return function

        return hang
