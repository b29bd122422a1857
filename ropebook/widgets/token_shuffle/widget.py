"""A sentence whose words the reader moves, and what one attention head makes of each word."""

from typing import TYPE_CHECKING

import traitlets

from ropebook.widgets.base import RopeWidget
from ropebook.widgets.traits import OneOf

if TYPE_CHECKING:
    from torch import Tensor

# `swap`: the words that change places when who and whom do. `shuffles`: where the button goes on.
# The embeddings and matrices were searched for on a grid of halves, so that the weights are far
# from equal, the outputs lie apart, and positions or a mask move them by more than half a unit.
SENTENCES = {
    "chinese": {
        "words": ["我", "喜欢", "你"],
        "language": "zh",
        "embeddings": [[1.0, -1.5], [-1.0, -1.5], [-2.0, 0.5]],
        "swap": [0, 2],
        "shuffles": [[1, 2, 0], [2, 0, 1], [0, 2, 1], [1, 0, 2]],
    },
    "english": {
        "words": ["the", "dog", "sees", "the", "cat"],
        "language": "en",
        "embeddings": [[2.0, 0.5], [0.0, -1.5], [-0.5, 2.0], [2.0, 0.5], [1.5, -2.0]],
        "swap": [1, 4],
        "shuffles": [[4, 2, 0, 1, 3], [2, 0, 3, 4, 1], [1, 4, 3, 0, 2], [3, 2, 4, 1, 0]],
    },
}
QUERY_MATRIX = [[0.5, -0.5], [0.5, 0.0]]
KEY_MATRIX = [[0.0, 1.0], [-1.0, -1.5]]
VALUE_MATRIX = [[1.0, 0.0], [0.0, 1.0]]


def swapped(sentence: str) -> list[int]:
    """Return the order in which who and whom have changed places.

    Args:
        sentence: a name in `SENTENCES`.

    Example:
        >>> [SENTENCES["english"]["words"][word] for word in swapped("english")]
        ['the', 'cat', 'sees', 'the', 'dog']
    """
    order = list(range(len(SENTENCES[sentence]["words"])))
    first, second = SENTENCES[sentence]["swap"]
    order[first], order[second] = second, first
    return order


class TokenShuffle(RopeWidget, folder="token_shuffle"):
    """Move the words of a sentence: without positions or a mask each keeps its own output.

    One head of self-attention over embeddings x of two numbers: q = Q x, k = K x, v = V x, weights
    softmax(q . k / sqrt(2)) over the words. With positions, x is the embedding plus the sinusoidal
    code (sin m, cos m) of its place m = 0, 1, 2, ...

    Args:
        sentence: `"chinese"` (default: 我 喜欢 你) or `"english"` (the dog sees the cat).
        order: the word at each place, by its index in the original sentence: a permutation of
            0 ... number of words - 1. Starts with who and whom swapped, and again whenever
            `sentence` changes.
        positions: whether a position code is added to each embedding.
        causal: whether a word sees only itself and the words before it.

    Raises:
        traitlets.TraitError: a value breaks its rule; the message names both.

    Example:
        >>> shuffle = TokenShuffle()
        >>> shuffle.words
        ['你', '喜欢', '我']
        >>> shuffle.change < 1e-12
        True
        >>> shuffle.positions = True
        >>> round(shuffle.change, 2)
        1.55
    """

    sentence = OneOf("chinese", tuple(SENTENCES))
    order = traitlets.List(traitlets.Int(), swapped("chinese")).tag(sync=True)
    positions = traitlets.Bool(False).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)
    sentences = traitlets.Dict(SENTENCES, read_only=True).tag(sync=True)
    query_matrix = traitlets.List(QUERY_MATRIX, read_only=True).tag(sync=True)
    key_matrix = traitlets.List(KEY_MATRIX, read_only=True).tag(sync=True)
    value_matrix = traitlets.List(VALUE_MATRIX, read_only=True).tag(sync=True)

    def __init__(self, **traits: object):
        super().__init__(**traits)
        # A card asks what becomes of the outputs: its words have not been moved yet.
        if self.card and "order" not in traits:
            self.order = sorted(self.order)

    @traitlets.validate("order")
    def _each_word_once(self, proposal: dict) -> list[int]:
        order, count = proposal["value"], len(SENTENCES[self.sentence]["words"])
        if sorted(order) != list(range(count)):
            raise traitlets.TraitError(
                f"order must hold each of 0 ... {count - 1} once, got {order}"
            )
        return order

    @traitlets.observe("sentence")
    def _start_anew(self, change: dict) -> None:
        # An order that came together with the sentence stays.
        if len(self.order) != len(SENTENCES[self.sentence]["words"]):
            self.order = swapped(self.sentence)

    @property
    def words(self) -> list[str]:
        """The words in the order in which they stand."""
        return [SENTENCES[self.sentence]["words"][word] for word in self.order]

    @property
    def outputs(self) -> "Tensor":
        """What attention gives at each place, float64, (places, 2)."""
        return self._attend(self.order)[0]

    @property
    def weights(self) -> "Tensor":
        """How much each place (row) looks at each (column), float64, (places, places)."""
        return self._attend(self.order)[1]

    @property
    def original_outputs(self) -> "Tensor":
        """What the word at each place gave in the original order, float64, (places, 2)."""
        return self._attend(sorted(self.order))[0][self.order]

    @property
    def pooled(self) -> "Tensor":
        """The mean of all outputs, float64, (2,)."""
        return self.outputs.mean(dim=0)

    @property
    def change(self) -> float:
        """Largest change of a coordinate of a word's own output against the original order."""
        return (self.outputs - self.original_outputs).abs().max().item()

    @property
    def pooled_change(self) -> float:
        """Largest change of a coordinate of the mean against the original order."""
        return (self.pooled - self.original_outputs.mean(dim=0)).abs().max().item()

    def _attend(self, order: list[int]) -> tuple["Tensor", "Tensor"]:
        import torch

        from ropelib.attention import attend
        from ropelib.encodings import NoPosition, sinusoids

        x = torch.tensor(SENTENCES[self.sentence]["embeddings"], dtype=torch.float64)[order]
        if self.positions:
            x = x + sinusoids(torch.arange(len(order)), 2, dtype=torch.float64)
        q, k, v = (
            x @ torch.tensor(matrix, dtype=torch.float64).T
            for matrix in (self.query_matrix, self.key_matrix, self.value_matrix)
        )
        return attend(NoPosition(), q, k, v, causal=self.causal)
