"""One attention head in the plane whose values may be turned as well, and be turned back."""

import math
from typing import TYPE_CHECKING

import traitlets

from ropebook.widgets.base import RopeWidget
from ropebook.widgets.traits import FloatInRange, IntInRange, OneOf

if TYPE_CHECKING:
    from torch import Tensor

WAYS = ("alone", "turned", "turned_back")
MAX_SHIFT = 48
# Searched for on a grid of halves, so that at 15 degrees per token no weight is near 1 or all are
# alike, no output is short, and turning the values (and back) moves every output by 0.4 or more.
WORDS = ["we", "saw", "the", "old", "sea"]
QUERIES = [[-0.5, 1.0], [-0.5, -1.5], [1.5, -1.5], [1.5, 0.0], [-1.0, -1.5]]
KEYS = [[0.5, 1.5], [1.0, 1.5], [-1.5, 0.5], [-1.0, 1.0], [1.0, -0.5]]
VALUES = [[-1.5, 0.5], [-1.0, 1.5], [0.5, 1.5], [-0.5, 1.5], [1.0, 1.5]]


class ValueRotation(RopeWidget, folder="value_rotation"):
    """Push a text on and watch one output: still, or spinning, or still again.

    Word i stands at position `shift` + i. Queries and keys are turned by their positions, and the
    weights of a query are softmax(q . k / sqrt(2)) over all words. What is done to the values is a
    choice: nothing, o = sum of a v; a turn by their position, o = sum of a R(n theta) v; or that
    turn, and the output turned back by the query's, o = sum of a R((n - m) theta) v.

    Args:
        values: what happens to the values: "alone", "turned" (default) or "turned_back".
        shift: tokens in front of the text, an integer in [0, 48].
        query: index of the word whose output is shown, an integer in [0, 4].
        theta: turn per token, in [0, pi / 2] rad/token; default pi / 12.

    Raises:
        traitlets.TraitError: a value breaks its rule; the message names both.

    Example:
        >>> head = ValueRotation(values="turned", shift=12)  # half a turn on
        >>> round(head.change / head.output_length, 6)
        2.0
        >>> head.values = "turned_back"
        >>> head.change < 1e-12, head.gap > 0.4
        (True, True)
    """

    values = OneOf("turned", WAYS)
    shift = IntInRange(6, low=0, high=MAX_SHIFT)
    query = IntInRange(3, low=0, high=len(WORDS) - 1)
    theta = FloatInRange(
        math.pi / 12, low=0, high=math.pi / 2, said="[0, pi / 2]", unit="rad per token"
    )
    max_shift = traitlets.Int(MAX_SHIFT, read_only=True).tag(sync=True)
    words = traitlets.List(WORDS, read_only=True).tag(sync=True)
    queries = traitlets.List(QUERIES, read_only=True).tag(sync=True)
    keys_before = traitlets.List(KEYS, read_only=True).tag(sync=True)
    values_before = traitlets.List(VALUES, read_only=True).tag(sync=True)

    @property
    def weights(self) -> "Tensor":
        """How much the query looks at each word, float64, (5,)."""
        return self._attend("alone", self.shift)[1]

    @property
    def output(self) -> "Tensor":
        """What the head gives for the query, float64, (2,)."""
        return self._attend(self.values, self.shift)[0]

    @property
    def output_length(self) -> float:
        """Length of the output."""
        return self.output.norm().item()

    @property
    def output_angle(self) -> float:
        """Direction of the output, in (-pi, pi], rad, counterclockwise from the x axis."""
        x, y = self.output.tolist()
        return math.atan2(y, x)

    @property
    def change(self) -> float:
        """How far the tip of the output stands from where it is at shift 0."""
        return (self.output - self._attend(self.values, 0)[0]).norm().item()

    @property
    def gap(self) -> float:
        """How far the tip of the output stands from that of values left alone."""
        return (self.output - self._attend("alone", self.shift)[0]).norm().item()

    def _attend(self, way: str, shift: int) -> tuple["Tensor", "Tensor"]:
        import torch

        from ropelib import apply_rotary, cos_sin
        from ropelib.attention import attend
        from ropelib.encodings import NoPosition

        inv_freq = torch.tensor([self.theta], dtype=torch.float64)
        position_ids = torch.arange(len(WORDS)) + shift
        cos, sin = cos_sin(position_ids, inv_freq, dtype=torch.float64)

        def turned(x: "Tensor") -> "Tensor":
            return apply_rotary(x, cos, sin, layout="interleaved")

        q, k, v = (torch.tensor(x, dtype=torch.float64) for x in (QUERIES, KEYS, VALUES))
        carried = v if way == "alone" else turned(v)
        output, weights = attend(NoPosition(), turned(q), turned(k), carried)
        if way == "turned_back":
            output = apply_rotary(output, cos, -sin, layout="interleaved")
        return output[self.query], weights[self.query]
