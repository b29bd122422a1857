"""The one interface of all position encodings, by which `ropelib.attention.attend` runs them.

An encoding may act in four places, and a hook that it does not override does nothing:

    x   -> embed -> projections -> q, k, v        what it adds to the embeddings
    q, k -> rotate                                what it does to queries and keys
    scores + score_bias                           what it adds to the scores
    output + value_bias                           what it adds to the values

Scores are q_m . k_n times `scale(head_dim)`, plus the bias. A distance is signed, n - m: positive
when the key stands after the query; each encoding says how its paper counts.
"""

import math

import torch
from torch import Tensor, nn


class PositionEncoding(nn.Module):
    """An encoding that does nothing; the others override the places where they act.

    Example:
        >>> x = torch.ones(3, 8)
        >>> PositionEncoding().embed(x, torch.arange(3)) is x
        True
    """

    def embed(self, x: Tensor, position_ids: Tensor) -> Tensor:
        """Return the embeddings with what the encoding adds to them.

        Args:
            x: `(..., seq_len, model_dim)`.
            position_ids: `(seq_len,)` or `(batch, seq_len)`, tokens.
        """
        return x

    def rotate(
        self, q: Tensor, k: Tensor, position_ids: Tensor, key_position_ids: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return queries and keys as they enter the scores.

        Args:
            q: `(..., num_heads, q_len, head_dim)`.
            k: `(..., num_key_heads, k_len, head_dim)`.
            position_ids: positions of the queries, `(q_len,)` or `(batch, q_len)`, tokens.
            key_position_ids: positions of the keys, likewise.
        """
        return q, k

    def score_bias(
        self, q: Tensor, k: Tensor, position_ids: Tensor, key_position_ids: Tensor
    ) -> Tensor | None:
        """Return what is added to the scaled scores; None for nothing.

        Args:
            q: `(..., num_heads, q_len, head_dim)`, after `rotate`.
            k: `(..., num_key_heads, k_len, head_dim)`, after `rotate`.
            position_ids: positions of the queries, `(q_len,)` or `(batch, q_len)`, tokens.
            key_position_ids: positions of the keys, likewise.

        Returns:
            A tensor that broadcasts to `(..., num_heads, q_len, k_len)`, or None.
        """
        return None

    def value_bias(
        self, weights: Tensor, position_ids: Tensor, key_position_ids: Tensor
    ) -> Tensor | None:
        """Return what is added to the output `weights @ v`; None for nothing.

        Args:
            weights: `(..., num_heads, q_len, k_len)`, after the softmax.
            position_ids: positions of the queries, `(q_len,)` or `(batch, q_len)`, tokens.
            key_position_ids: positions of the keys, likewise.

        Returns:
            A tensor that broadcasts to `(..., num_heads, q_len, width of v)`, or None.
        """
        return None

    def scale(self, head_dim: int) -> float:
        """Return the factor of q . k: 1 / sqrt(head_dim), unless the paper has another."""
        return 1 / math.sqrt(head_dim)


class NoPosition(PositionEncoding):
    """No encoding at all (NoPE): what a model knows of order, its causal mask tells it.

    Source:
        Haviv et al. 2022, arXiv:2203.16634; Kazemnejad et al. 2023, arXiv:2305.19466.

    Example:
        >>> list(NoPosition().parameters())
        []
    """


def signed_distance(position_ids: Tensor, key_position_ids: Tensor) -> Tensor:
    """Return n - m for every query at m and key at n.

    Args:
        position_ids: positions of the queries, `(q_len,)` or `(batch, q_len)`, tokens.
        key_position_ids: positions of the keys, likewise.

    Returns:
        `(q_len, k_len)`, or `(batch, 1, q_len, k_len)`, whose 1 stands for the heads; tokens.

    Example:
        >>> signed_distance(torch.arange(2), torch.arange(3))
        tensor([[ 0,  1,  2],
                [-1,  0,  1]])
    """
    distance = key_position_ids[..., None, :] - position_ids[..., :, None]
    return distance if distance.dim() == 2 else distance.unsqueeze(-3)


def per_pair(per_entry: Tensor, entry: Tensor) -> Tensor:
    """Return, for every query and key, the query's number for the table entry that the pair uses.

    Numbers are computed once per query and table entry, and looked up once per query and key: that
    takes `num_entries` instead of `k_len` products, and no vector per pair.

    Args:
        per_entry: `(..., q_len, num_entries)`.
        entry: integers below `num_entries`, `(q_len, k_len)` or `(batch, 1, q_len, k_len)`.

    Returns:
        `(..., q_len, k_len)`.

    Example:
        >>> per_pair(torch.tensor([[10.0, 20.0], [30.0, 40.0]]), torch.tensor([[1], [0]]))
        tensor([[20.],
                [30.]])
    """
    leading = torch.broadcast_shapes(per_entry.shape[:-1], entry.shape[:-1])
    per_entry = per_entry.expand(*leading, per_entry.shape[-1])
    return per_entry.gather(-1, entry.expand(*leading, entry.shape[-1]))


def check_heads(q: Tensor, num_heads: int, head_dim: int) -> None:
    """Raise unless queries have the heads that an encoding has parameters for.

    Args:
        q: what should be `(..., num_heads, q_len, head_dim)`.
        num_heads: of the encoding.
        head_dim: of the encoding.

    Raises:
        ValueError: if they do not.

    Example:
        >>> check_heads(torch.zeros(2, 5, 4), num_heads=2, head_dim=4)
    """
    if q.dim() < 3 or q.shape[-3] != num_heads or q.shape[-1] != head_dim:
        raise ValueError(
            f"q must be (..., {num_heads}, q_len, {head_dim}), got shape {tuple(q.shape)}"
        )


def repeat_heads(x: Tensor, q: Tensor) -> Tensor:
    """Return keys or values with one head per query head, consecutive query heads sharing one.

    Args:
        x: `(..., num_key_heads, k_len, width)`, or `(k_len, width)`, which is returned as it is.
        q: `(..., num_heads, q_len, head_dim)`; `num_key_heads` divides `num_heads`.

    Example:
        >>> repeat_heads(torch.zeros(2, 5, 4), torch.zeros(6, 5, 4)).shape
        torch.Size([6, 5, 4])
    """
    return x if x.dim() < 3 else x.repeat_interleave(q.shape[-3] // x.shape[-3], dim=-3)
