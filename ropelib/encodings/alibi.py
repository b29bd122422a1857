"""ALiBi: each head takes away a fixed amount per token of distance."""

import math

import torch
from torch import Tensor

from ropelib import checks
from ropelib.encodings.base import PositionEncoding, signed_distance


def alibi_slopes(num_heads: int) -> Tensor:
    """Return the slope of each head.

    For a power of two they are `2 ** (-8 h / num_heads)`, h = 1 .. num_heads. For other counts the
    authors take the slopes of the power of two below, then every other slope of the power above.

    Args:
        num_heads: number of query heads, at least 1.

    Returns:
        float64 `(num_heads,)`, per token.

    Raises:
        TypeError: if `num_heads` is not an integer.
        ValueError: if it is less than 1 or above 2 ** 20.

    Source:
        Press et al. 2021, arXiv:2108.12409, section 3; the rule for other counts is that of the
        authors' code, ofirpress/attention_with_linear_biases, fairseq/models/transformer.py.

    Example:
        >>> alibi_slopes(6)
        tensor([0.2500, 0.0625, 0.0156, 0.0039, 0.5000, 0.1250], dtype=torch.float64)
    """
    checks.num_heads(num_heads)
    below = 2 ** math.floor(math.log2(num_heads))
    slopes = _geometric(below) + _geometric(2 * below)[0::2][: num_heads - below]
    return torch.tensor(slopes, dtype=torch.float64)


class Alibi(PositionEncoding):
    """Take `slope * |n - m|` from each score, a slope per head; nothing is learned.

    Args:
        num_heads: number of query heads, at least 1.

    Raises:
        TypeError: if `num_heads` is not an integer.
        ValueError: if it is less than 1 or above 2 ** 20.

    Convention:
        The paper's attention is causal, where the distance is m - n. The absolute value of n - m is
        the same there and looks both ways elsewhere. Some libraries add `slope * n` instead: under
        a softmax and a causal mask that is the same.

    Source:
        Press et al. 2021, arXiv:2108.12409, section 3.

    Example:
        >>> Alibi(1).score_bias(None, None, torch.tensor([2]), torch.arange(3)) * 256
        tensor([[[-2., -1.,  0.]]])
    """

    def __init__(self, num_heads: int):
        super().__init__()
        self.register_buffer("slopes", alibi_slopes(num_heads).float())

    def score_bias(
        self, q: Tensor, k: Tensor, position_ids: Tensor, key_position_ids: Tensor
    ) -> Tensor:
        """Return `-slope * |n - m|` per head, `(num_heads, q_len, k_len)`, batch before it."""
        distance = signed_distance(position_ids, key_position_ids).abs()
        return self.slopes[:, None, None] * -distance


def _geometric(num_heads: int) -> list[float]:
    return [2 ** (-8 * head / num_heads) for head in range(1, num_heads + 1)]
