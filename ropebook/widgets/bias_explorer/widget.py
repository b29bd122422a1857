"""What a position encoding adds to the score matrix, and the attention row that follows."""

import math
from typing import TYPE_CHECKING

import traitlets

from ropebook.widgets.base import RopeWidget
from ropebook.widgets.traits import EvenInRange, IntInRange, OneOf

if TYPE_CHECKING:
    import torch

ENCODINGS = ("none", "absolute", "shaw", "t5", "alibi")
LENGTH = 24
MAX_SHIFT = 1000
MAX_CLIP = 12
NUM_HEADS = 8
MAX_BUCKETS = 32
MAX_DISTANCES = (9, 128)  # from 1 + MAX_BUCKETS // 4, so that every number of buckets fits

# Example values, of no trained model; simple formulas, rounded so that they can be read out.
# Shaw: q . a_c / sqrt(head_dim) for c = -12 .. 12, one query vector at every position.
SHAW_SCORES = [
    round(1.5 * math.cos(math.pi * (c + 2) / 8) - 0.13 * c, 2)
    for c in range(-MAX_CLIP, MAX_CLIP + 1)
]
# T5: one head's number for the j-th bucket of keys behind (j = 0 is the query's own place) and of
# keys ahead. The j-th bucket ahead has the number num_buckets / 2 + j; j = 0 is never used there.
T5_BEHIND = [0.1, *(2 - 0.5 * (j - 1) for j in range(1, MAX_BUCKETS // 2))]
T5_AHEAD = [0.0, *(0.75 - 0.5 * (j - 1) for j in range(1, MAX_BUCKETS // 2))]
# Absolute: W = diag(3, 0, 3, 0, ...) / sqrt(16) keeps the sines and drops the cosines, so that
# sin(m w) sin(n w) stays, half of which depends on n - m and half on n + m.
ABSOLUTE_WEIGHTS = [0.75, 0.0]
MODEL_DIM, BASE = 16, 10_000.0
# What the words alone would give every query: one score per key.
CONTENT_SCORES = [round(1.5 * math.cos(2.4 * n), 2) for n in range(LENGTH)]


def _fixed(values: list[float]) -> traitlets.List:
    return traitlets.List(traitlets.Float(), values, read_only=True).tag(sync=True)


class BiasExplorer(RopeWidget, folder="bias_explorer"):
    """See what a position encoding adds to 24 x 24 scores, and whether a diagonal has one color.

    Rows are queries, columns keys, distances n - m. `absolute` shows p_m^T W p_n, the part of the
    score that comes from the two positions alone. The tables are example values: `shaw_scores` for
    a clipped distance of -12 to 12, `t5_behind` and `t5_ahead` per bucket on either side,
    `absolute_weights` for W's sine and cosine entries, `content_scores` per key.

    Args:
        encoding: `"none"`, `"absolute"`, `"shaw"`, `"t5"` or `"alibi"` (default).
        query: row of the chosen query, an integer in [0, 23].
        key: column of the chosen key, an integer in [0, 23].
        shift: how far the text is pushed on, an integer in [0, 1000], tokens; row i is then the
            query at position shift + i.
        clip_distance: Shaw's largest distance of its own, an integer in [1, 12], tokens.
        num_buckets: T5's buckets, behind and ahead together, even, in [4, 32].
        max_distance: where T5's last bucket begins at the latest, in [9, 128] tokens.
        head: which of ALiBi's 8 heads, in [1, 8]; its slope is 2 ** -head.
        causal: whether keys ahead of the query are hidden.
        content: whether the example content scores are there; without, all are 0.

    Raises:
        traitlets.TraitError: a value breaks its rule; the message names both.

    Example:
        >>> explorer = BiasExplorer(encoding="shaw", clip_distance=4)
        >>> explorer.different_values, explorer.diagonal_spread
        (9, 0.0)
    """

    encoding = OneOf("alibi", ENCODINGS)
    query = IntInRange(14, low=0, high=LENGTH - 1)
    key = IntInRange(4, low=0, high=LENGTH - 1)
    shift = IntInRange(0, low=0, high=MAX_SHIFT)
    clip_distance = IntInRange(4, low=1, high=MAX_CLIP)
    num_buckets = EvenInRange(16, low=4, high=MAX_BUCKETS)
    max_distance = traitlets.Int(20).tag(sync=True)
    head = IntInRange(3, low=1, high=NUM_HEADS)
    causal = traitlets.Bool(False).tag(sync=True)
    content = traitlets.Bool(False).tag(sync=True)
    shaw_scores = _fixed(SHAW_SCORES)
    t5_behind = _fixed(T5_BEHIND)
    t5_ahead = _fixed(T5_AHEAD)
    absolute_weights = _fixed(ABSOLUTE_WEIGHTS)
    content_scores = _fixed(CONTENT_SCORES)
    model_dim = traitlets.Int(MODEL_DIM, read_only=True).tag(sync=True)
    base = traitlets.Float(BASE, read_only=True).tag(sync=True)

    @traitlets.validate("max_distance")
    def _beyond_every_bucket(self, proposal: dict) -> int:
        low, high = MAX_DISTANCES
        if not low <= proposal["value"] <= high:
            raise traitlets.TraitError(
                f"max_distance must lie in [{low}, {high}], more than num_buckets // 4 ever is,"
                f" got {proposal['value']}"
            )
        return proposal["value"]

    @property
    def bias(self) -> "torch.Tensor":
        """What the encoding adds to every score, hidden keys included, float64, (24, 24)."""
        import torch

        from ropelib.encodings import base

        position_ids = torch.arange(self.shift, self.shift + LENGTH)
        distance = base.signed_distance(position_ids, position_ids)
        if self.encoding == "absolute":
            from ropelib.encodings.sinusoidal import sinusoids

            table = sinusoids(position_ids, self.model_dim, base=self.base, dtype=torch.float64)
            weights = self._double(self.absolute_weights).repeat(self.model_dim // 2)
            return (weights * (table[:, None] * table[None, :])).sum(dim=-1)
        if self.encoding == "shaw":
            clipped = distance.clamp(-self.clip_distance, self.clip_distance)
            return self._double(self.shaw_scores)[clipped + MAX_CLIP]
        if self.encoding == "t5":
            half = self.num_buckets // 2
            table = [*self.t5_behind[:half], *self.t5_ahead[:half]]
            return self._double(table)[self._buckets(distance)]
        slope = self.slope if self.encoding == "alibi" else 0.0
        return 0.0 - slope * distance.abs().double()

    @property
    def weights(self) -> "torch.Tensor":
        """softmax(content + bias) of every query over the keys it sees, float64, (24, 24)."""
        scores = self.bias
        if self.content:
            scores = scores + self._double(self.content_scores)
        return scores.masked_fill(~self._seen, -math.inf).softmax(dim=-1)

    @property
    def row_bias(self) -> list[float]:
        """What is added in the chosen query's row, hidden keys included."""
        return self.bias[self.query].tolist()

    @property
    def row_weights(self) -> list[float]:
        """The chosen query's attention; 0 for hidden keys."""
        return self.weights[self.query].tolist()

    @property
    def slope(self) -> float | None:
        """ALiBi's slope, per token; None for the others."""
        if self.encoding != "alibi":
            return None
        from ropelib.encodings.alibi import alibi_slopes

        return float(alibi_slopes(NUM_HEADS)[self.head - 1])

    @property
    def bucket(self) -> int | None:
        """T5's bucket of the chosen key; None for the others."""
        if self.encoding != "t5":
            return None
        import torch

        return int(self._buckets(torch.tensor(self.key - self.query)))

    @property
    def diagonal_spread(self) -> float:
        """The largest difference within a diagonal of what is seen: 0 for a relative encoding."""
        bias, seen = self.bias, self._seen
        diagonals = (
            bias.diagonal(offset)[seen.diagonal(offset)] for offset in range(1 - LENGTH, LENGTH)
        )
        return max(float(line.max() - line.min()) for line in diagonals if len(line))

    @property
    def different_values(self) -> int:
        """How many different values the seen part of the matrix holds, to nine decimals."""
        return len(self.bias[self._seen].round(decimals=9).unique())

    @property
    def _seen(self) -> "torch.Tensor":
        import torch

        everywhere = torch.ones(LENGTH, LENGTH, dtype=torch.bool)
        return everywhere.tril() if self.causal else everywhere

    def _buckets(self, distance: "torch.Tensor") -> "torch.Tensor":
        from ropelib.encodings.t5 import t5_bucket

        return t5_bucket(distance, num_buckets=self.num_buckets, max_distance=self.max_distance)

    @staticmethod
    def _double(values: list[float]) -> "torch.Tensor":
        import torch

        return torch.tensor(values, dtype=torch.float64)
