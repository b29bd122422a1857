"""Which dimensions of a head dance together, per layout, and what a mix does to a score."""

import math
from typing import TYPE_CHECKING

import traitlets

from ropebook.widgets.base import RopeWidget
from ropebook.widgets.traits import IntInRange

if TYPE_CHECKING:
    import torch

HEAD_DIM = 8
# Small, so that all four pairs are seen to move on a short ruler: 1, 0.32, 0.1, 0.03 rad per token.
BASE = 100.0
MAX_POSITION = 24
MAX_DISTANCE = 8
_LAYOUTS = ("interleaved", "half")


class LayoutPairs(RopeWidget, folder="layout_pairs"):
    """Choose the layout of q and of k apart and watch their score against the right one.

    The vectors are those of a model that was trained with pairs (0, 1), (2, 3), ... The right
    score is that of both rotated so. `convert` moves the numbers of each vector to where the
    chosen layout looks for their pairs, as `ropelib.convert_layout` does.

    Args:
        q_layout: how the query's pairs sit, "interleaved" (default) or "half".
        k_layout: how the key's pairs sit; default "half".
        convert: whether the vectors are converted from "interleaved" to their layout before they
            are rotated.
        n: position of the key, an integer in [0, 24], tokens.
        distance: n - m, an integer in [-8, 0], tokens: the query stands after the key.
        q: the query before it is rotated, 8 numbers of size at most 2.
        k: the key, likewise.

    Raises:
        traitlets.TraitError: a value breaks its rule; the message names both.

    Example:
        >>> pairs = LayoutPairs(q_layout="half", k_layout="half")
        >>> abs(pairs.error) > 1, pairs.drift < 1e-12
        (True, True)
        >>> pairs.convert = True
        >>> abs(pairs.error) < 1e-12
        True
    """

    q_layout = traitlets.Unicode("interleaved").tag(sync=True)
    k_layout = traitlets.Unicode("half").tag(sync=True)
    convert = traitlets.Bool(False).tag(sync=True)
    n = IntInRange(6, low=0, high=MAX_POSITION, unit="tokens")
    distance = IntInRange(-4, low=-MAX_DISTANCE, high=0, unit="tokens")
    q = traitlets.List(traitlets.Float(), [0.3, 1.4, -0.6, -1.0, -0.6, -0.3, 1.3, 0.3]).tag(
        sync=True
    )
    k = traitlets.List(traitlets.Float(), [1.1, 0.4, 1.4, -1.1, -0.5, -1.4, 0.3, 0.7]).tag(
        sync=True
    )
    base = traitlets.Float(BASE, read_only=True).tag(sync=True)
    max_position = traitlets.Int(MAX_POSITION, read_only=True).tag(sync=True)
    max_distance = traitlets.Int(MAX_DISTANCE, read_only=True).tag(sync=True)

    @traitlets.validate("q_layout", "k_layout")
    def _known_layout(self, proposal: dict) -> str:
        layout, name = proposal["value"], proposal["trait"].name
        if layout not in _LAYOUTS:
            raise traitlets.TraitError(f'{name} must be "interleaved" or "half", got {layout!r}')
        return layout

    @traitlets.validate("q", "k")
    def _eight_numbers(self, proposal: dict) -> list[float]:
        vector, name = proposal["value"], proposal["trait"].name
        if len(vector) != HEAD_DIM:
            raise traitlets.TraitError(f"{name} must have {HEAD_DIM} numbers, got {len(vector)}")
        for number in vector:
            if not math.fabs(number) <= 2:  # NaN has to fail as well
                raise traitlets.TraitError(
                    f"numbers of {name} must have size at most 2, got {number}"
                )
        return vector

    @property
    def m(self) -> int:
        """Position of the query, tokens."""
        return self.n - self.distance

    @property
    def score(self) -> float:
        """Dot product of q and k as they are rotated here (unscaled)."""
        return self._score_at(self.n)

    @property
    def reference(self) -> float:
        """The right score: both as the model was trained, interleaved."""
        return self._score_of(self.n, "interleaved", "interleaved", False)

    @property
    def error(self) -> float:
        """How far the score is from the right one."""
        return self.score - self.reference

    @property
    def drift(self) -> float:
        """Largest less smallest score while both move along the ruler together."""
        scores = [self._score_at(n) for n in range(MAX_POSITION + 1)]
        return max(scores) - min(scores)

    @property
    def q_rotated(self) -> list[float]:
        """The query as it sits after its rotation."""
        return self._rotated(self.q, self.m, self.q_layout, self.convert).tolist()

    @property
    def k_rotated(self) -> list[float]:
        """The key as it sits after its rotation."""
        return self._rotated(self.k, self.n, self.k_layout, self.convert).tolist()

    def _score_at(self, n: int) -> float:
        return self._score_of(n, self.q_layout, self.k_layout, self.convert)

    def _score_of(self, n: int, q_layout: str, k_layout: str, convert: bool) -> float:
        q = self._rotated(self.q, n - self.distance, q_layout, convert)
        return (q @ self._rotated(self.k, n, k_layout, convert)).item()

    def _rotated(
        self, vector: list[float], position: int, layout: str, convert: bool
    ) -> "torch.Tensor":
        import torch

        from ropelib import apply_rotary, convert_layout, cos_sin, inv_freq

        x = torch.tensor([vector], dtype=torch.float64)
        if convert:
            x = convert_layout(x, source="interleaved", target=layout)
        tables = cos_sin([position], inv_freq(HEAD_DIM, self.base), dtype=torch.float64)
        return apply_rotary(x, *tables, layout=layout)[0]
