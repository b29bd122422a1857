"""Learned absolute positions: one vector per place, and no place after the last."""

import torch
from torch import Tensor, nn

from ropelib import checks
from ropelib.encodings.base import PositionEncoding


class LearnedAbsolute(PositionEncoding):
    """Add the learned vector of its position to each embedding.

    Args:
        max_seq_len: number of positions, 0 to `max_seq_len - 1`.
        model_dim: width of the embeddings.

    Raises:
        TypeError: if a size is not an integer.
        ValueError: if a size is not positive.

    Source:
        Gehring et al. 2017, arXiv:1705.03122, section 3.1; BERT (Devlin et al. 2018,
        arXiv:1810.04805) has such a table of 512 positions.

    Example:
        >>> encoding = LearnedAbsolute(max_seq_len=4, model_dim=8)
        >>> encoding.embed(torch.zeros(2, 8), torch.arange(2)).shape
        torch.Size([2, 8])
    """

    def __init__(self, max_seq_len: int, model_dim: int):
        super().__init__()
        checks.integer("max_seq_len", max_seq_len, 1)
        checks.integer("model_dim", model_dim, 1)
        self.table = nn.Parameter(0.02 * torch.randn(max_seq_len, model_dim))

    def embed(self, x: Tensor, position_ids: Tensor) -> Tensor:
        """Return `x` plus the table's row for its position.

        Args:
            x: `(..., seq_len, model_dim)`.
            position_ids: integers, `(seq_len,)` or `(batch, seq_len)`, tokens.

        Raises:
            TypeError: if a position is not whole.
            ValueError: if a position is negative or beyond the table, or `x` has another width.
        """
        checks.whole_numbers("position_ids", position_ids)
        places, model_dim = self.table.shape
        if x.shape[-1] != model_dim:
            raise ValueError(f"x must have width model_dim {model_dim}, got {x.shape[-1]}")
        outside = position_ids[(position_ids < 0) | (position_ids >= places)]
        if outside.numel():
            raise ValueError(
                f"position {int(outside.flatten()[0])} has no row in a learned table of {places} "
                f"positions (0 to {places - 1})"
            )
        return x + self.table[position_ids]


def extend_hierarchically(table: Tensor, alpha: float = 0.4) -> Tensor:
    """Return n * n position vectors made of n, of which the first n are unchanged.

    Position `n * i + j` gets `alpha * u_i + (1 - alpha) * u_j`, where
    `u_i = (p_i - alpha * p_0) / (1 - alpha)`, so that i = 0 gives back `p_j`. At alpha = 1/2 the
    positions (i, j) and (j, i) would share one vector.

    Args:
        table: the learned vectors p, `(n, model_dim)`.
        alpha: share of the coarse part, greater than 0, less than 1 and not 1/2.

    Returns:
        `(n * n, model_dim)`.

    Raises:
        ValueError: if `table` is no matrix, or alpha breaks its rule.

    Source:
        Su Jianlin's hierarchical decomposition, kexue.fm/archives/7947, as bert4keras has it
        (`PositionEmbedding(hierarchical=True)`, where alpha is 0.4).

    Example:
        >>> table = torch.tensor([[0.0], [1.0]])
        >>> extend_hierarchically(table, alpha=0.25).flatten()
        tensor([0.0000, 1.0000, 0.3333, 1.3333])
    """
    if table.dim() != 2:
        raise ValueError(f"table must be (n, model_dim), got shape {tuple(table.shape)}")
    if not 0 < alpha < 1 or alpha == 0.5:
        raise ValueError(f"alpha must lie between 0 and 1 and not be 1/2, got {alpha}")
    units = (table - alpha * table[:1]) / (1 - alpha)
    return (alpha * units[:, None] + (1 - alpha) * units[None, :]).flatten(0, 1)
