"""Two complex numbers and their product: lengths multiply, angles add."""

import math
from typing import TYPE_CHECKING

import traitlets

from ropebook.widgets.base import RopeWidget
from ropebook.widgets.traits import InDisc

if TYPE_CHECKING:
    import torch

MAX_LENGTH = 1.6
PARTS = "a real and an imaginary part"
# How far |w| may lie from 1 and still count as 1: what rounding does, and no more.
_ROUNDING = 1e-9


class ComplexProduct(RopeWidget, folder="complex_product"):
    """Drag z and w and watch z * w: w turns the plane by its angle and scales it by its length.

    (a + bi)(x + yi) = (ax - by) + (bx + ay)i, which is the matrix [[a, -b], [b, a]] times (x, y).

    Args:
        z: the number that is multiplied, [real part, imaginary part], of length at most 1.6.
        w: the number that z and the whole plane are multiplied by, [a, b], of length at most 1.6.
        unit: whether w stays on the unit circle, where it only turns. Switching it on divides w
            by its length (and takes 1 where w is 0).

    Raises:
        traitlets.TraitError: a value breaks its rule; the message names both.

    Example:
        >>> explorer = ComplexProduct(z=[1.2, 0.5], w=[0.0, 1.0])
        >>> explorer.product
        (-0.5+1.2j)
        >>> explorer.lengths
        (1.3, 1.0, 1.3)
    """

    z = InDisc([1.2, 0.5], radius=MAX_LENGTH, parts=PARTS)
    w = InDisc([-0.9, 1.2], radius=MAX_LENGTH, parts=PARTS)
    unit = traitlets.Bool(False).tag(sync=True)
    max_length = traitlets.Float(MAX_LENGTH, read_only=True).tag(sync=True)

    @traitlets.validate("w")
    def _on_unit_circle(self, proposal: dict) -> list[float]:
        w = proposal["value"]
        if self.unit and abs(math.hypot(*w) - 1) > _ROUNDING:
            raise traitlets.TraitError(f"w must have length 1 while unit is on, got {w}")
        return w

    @traitlets.observe("unit")
    def _to_unit_circle(self, change: dict) -> None:
        length = math.hypot(*self.w)
        if change["new"] and abs(length - 1) > _ROUNDING:
            self.w = [part / length for part in self.w] if length else [1.0, 0.0]

    @property
    def product(self) -> complex:
        """The product z * w."""
        return complex(*self.z) * complex(*self.w)

    @property
    def lengths(self) -> tuple[float, float, float]:
        """Lengths of z, w and z * w."""
        return abs(complex(*self.z)), abs(complex(*self.w)), abs(self.product)

    @property
    def angles(self) -> tuple[float, float, float]:
        """Angles of z, w and z * w in (-pi, pi], rad; NaN for zero, which has none."""
        return tuple(map(_angle, (complex(*self.z), complex(*self.w), self.product)))

    @property
    def matrix(self) -> "torch.Tensor":
        """What multiplying by w does to a vector: [[a, -b], [b, a]], float64, (2, 2)."""
        import torch

        a, b = self.w
        return torch.tensor([[a, -b], [b, a]], dtype=torch.float64)

    @property
    def determinant(self) -> float:
        """Determinant of the matrix of w, |w| ** 2: how many times larger areas become."""
        import torch

        return torch.linalg.det(self.matrix).item()


def _angle(number: complex) -> float:
    if number == 0:
        return math.nan
    # Adding 0.0 turns -0.0 into 0.0, or the angle of -1 could be -pi.
    return math.atan2(number.imag + 0.0, number.real)
