"""Check a rotation by what it makes of one vector, pasted into the page."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import traitlets

from ropebook.widgets.base import RopeWidget
from ropebook.widgets.pasted import read
from ropebook.widgets.traits import IntInRange
from ropebook.widgets.vector_check.bugs import (
    BASE,
    TOLERANCE,
    Found,
    X,
    angles_between,
    fits,
    judge,
    known,
    lengths,
    pairs_of,
    turned_right,
    vector,
)

if TYPE_CHECKING:
    from torch import Tensor

# Nearer to 0 the slowest pair turns by less than three digits show, and one early is no turn at 1.
LOWEST, HIGHEST = 3, 16
MOST = 2000  # characters
# What can be told, in the words of `ropelib.diagnosis`, beside "right", "coarse" and "none".
TOLD = (
    *("clockwise", "off-by-one", "exponents-not-as-expected", "exponents-from-one"),
    *("exponents-from-a-half", "angles-in-degrees", "last-pair-not-rotated"),
    *("half-angles-on-interleaved-pairs", "interleaved-angles-on-half-pairs"),
    *("minus-sign-missing", "sin-and-cos-swapped", "sine-is-zero", "pair-overwritten"),
    *("output-permuted", "width-not-as-expected", "does-not-rotate", "attention-factor"),
    *("norm-not-kept", "base-not-as-expected", "positions-shifted", "linearly-scaled"),
    *("frequencies-multiplied", "base-beyond-sense", "slow-pairs-stand-still"),
    *("trailing-dimensions", "slowest-pairs-first", "exponents-positive", "rest-not-kept"),
)


def _codes() -> dict[str, dict[str, str]]:
    from ropelib.diagnosis.codes import CODES, code_set_off

    return {
        code: {
            "severity": CODES[code].severity,
            **{part: code_set_off(getattr(CODES[code], part)) for part in ("sentence", "fix")},
        }
        for code in TOLD
    }


class VectorCheck(RopeWidget, folder="vector_check"):
    """Paste what a rotation made of one vector; it says right, or which bug it is.

    The text is the reader's own, so a mistake in it is no error here: the widget names it, and
    `numbers` raises.

    Args:
        position: where the vector was turned, an integer in [3, 16].
        pasted: what came back, as it was printed; unless given, what the example of the page
            "Check yours" makes of the vector at 3.

    Raises:
        traitlets.TraitError: `position` breaks its rule; the message names both.

    Example:
        >>> check = VectorCheck()
        >>> check.verdict, check.layout
        ('interleaved-angles-on-half-pairs', 'half')
        >>> check.pasted = "3 5 7 -1 -4 6 -2 9"
        >>> check.verdict
        'does-not-rotate'
    """

    position = IntInRange(3, low=LOWEST, high=HIGHEST)
    pasted = traitlets.Unicode().tag(sync=True)
    x = traitlets.List(traitlets.Int(), list(X), read_only=True).tag(sync=True)
    base = traitlets.Float(BASE, read_only=True).tag(sync=True)
    tolerance = traitlets.Float(TOLERANCE, read_only=True).tag(sync=True)
    lowest = traitlets.Int(LOWEST, read_only=True).tag(sync=True)
    highest = traitlets.Int(HIGHEST, read_only=True).tag(sync=True)
    names = traitlets.Dict(read_only=True).tag(sync=True)

    @traitlets.default("pasted")
    def _bug_of_the_page(self) -> str:
        shown = known(LOWEST)["interleaved-angles-on-half-pairs", "half", None]
        return ", ".join(f"{number:.4f}" for number in shown.tolist())

    @traitlets.default("names")
    def _names(self) -> dict[str, dict[str, str]]:
        return _codes()

    @property
    def numbers(self) -> list[float]:
        """The numbers in the text, one for each of x.

        Raises:
            ValueError: there are not 8 finite numbers and nothing else.
        """
        return read_numbers(self.pasted)

    @property
    def verdict(self) -> str:
        """A code of `ropelib.diagnosis`, "right", "coarse" or "none".

        "coarse" is right as far as half precision or two digits can tell; "none" is what no known
        bug makes.

        Raises:
            ValueError: see `numbers`.
        """
        return self._found().code

    @property
    def layout(self) -> str | None:
        """Of the pairs of the verdict, "half" or "interleaved"; None where none shows."""
        return self._found().layout

    @property
    def amount(self) -> float | None:
        """What was measured: a position, base, factor, error, how many numbers turn; else None.

        Beside "clockwise" it is the error of half precision.
        """
        return self._found().amount

    @property
    def alike(self) -> float | None:
        """Where only a part turns: a larger base that would make the same of x; else None."""
        code, layout, amount = self._found()[:3]
        if code != "width-not-as-expected" or amount == 2:  # nobody has a base of 1e16
            return None
        larger = BASE ** (len(X) / amount)
        same = fits(vector(self.numbers), turned_right(self.position, larger, layout))
        return larger if same else None

    @property
    def over(self) -> int | None:
        """What exponents divided by, in place of 8, would make the same of x; 1: by nothing."""
        return self._found().over

    @property
    def angles(self) -> list[float]:
        """By which angle each pair of the layout has turned, rad, from -pi to pi.

        Where only a part turns, its pairs and those of the rest stand in the order of their places.
        """
        return angles_between(self._paired(self.numbers), self._paired(X)).tolist()

    @property
    def lengths(self) -> list[float]:
        """How many times as long each pair is as it was."""
        return lengths(self._paired(self.numbers), self._paired(X)).tolist()

    def _paired(self, numbers: Sequence[float]) -> "Tensor":
        """The numbers as rows of two, those of each part by themselves."""
        import torch

        found = self._found()
        parts = torch.split(vector(numbers), found.widths)
        layout = found.layout or ("interleaved" if found.amount == 2 else "half")
        return torch.cat([pairs_of(part, layout) for part in parts])

    def _found(self) -> Found:
        numbers, open_by = zip(*read(self.pasted, len(X), MOST), strict=True)
        return judge(vector(numbers), self.position, vector(open_by))


def read_numbers(text: str) -> list[float]:
    """Return the numbers of a text that a program printed, with its brackets, commas and names.

    Raises:
        ValueError: there are not 8 finite numbers and nothing else.

    Example:
        >>> read_numbers("tensor([1.0, 2e0, 3, 4, 5, 6, 7, 8.], device='cuda:0')")[:2]
        [1.0, 2.0]
    """
    return [number for number, _ in read(text, len(X), MOST)]
