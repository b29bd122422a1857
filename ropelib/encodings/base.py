"""The one interface of all position encodings, and the attention that runs them.

An encoding may act in four places, and a hook that it does not override does nothing:

    x   -> embed -> projections -> q, k, v        what it adds to the embeddings
    q, k -> rotate                                what it does to queries and keys
    scores + score_bias                           what it adds to the scores
    output + value_bias                           what it adds to the values

Scores are q_m . k_n times `scale(head_dim)`, plus the bias. A distance is signed, n - m: positive
when the key stands after the query; each encoding says how its paper counts.
"""

import math
from numbers import Integral

import torch
from torch import Tensor, nn

from ropelib.attention import attention
from ropelib.checks import shown

_MOST_HEADS = 2**20


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


def attend(
    encoding: PositionEncoding,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    position_ids: Tensor | None = None,
    key_position_ids: Tensor | None = None,
    causal: bool = False,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return attention's output and weights under a position encoding.

    `embed` belongs before the projections that make q, k and v, so it is the caller's to call.

    Args:
        encoding: the position encoding.
        q: `(..., num_heads, q_len, head_dim)`, or `(q_len, head_dim)`.
        k: like `q`; `k_len` keys, and as many heads or fewer.
        v: like `k`; its width may differ.
        position_ids: positions of the queries, `(q_len,)` or `(batch, q_len)`, tokens; unless
            given, those of the last `q_len` keys.
        key_position_ids: positions of the keys, likewise; 0 to `k_len - 1` unless given.
        causal: whether a query sees no later key, by place in the sequence.
        mask: bool, True where a query may see a key.

    Returns:
        `(output, weights)`: `(..., num_heads, q_len, width of v)` and
        `(..., num_heads, q_len, k_len)`.

    Raises:
        TypeError: if `mask` is not bool.
        ValueError: if the shapes do not fit, or the encoding refuses the positions.

    Example:
        >>> q = k = v = torch.eye(2)
        >>> attend(NoPosition(), q, k, v)[1].sum(dim=-1)
        tensor([1., 1.])
    """
    if key_position_ids is None:
        key_position_ids = torch.arange(k.shape[-2], device=k.device)
    if position_ids is None:
        if q.shape[-2] > key_position_ids.shape[-1]:
            raise ValueError(
                f"position_ids must be given for more queries than keys, got {q.shape[-2]} queries "
                f"and {key_position_ids.shape[-1]} keys"
            )
        position_ids = key_position_ids[..., key_position_ids.shape[-1] - q.shape[-2] :]
    for name, ids, x in (
        ("position_ids", position_ids, q),
        ("key_position_ids", key_position_ids, k),
    ):
        if ids.shape[-1:] != x.shape[-2:-1]:
            raise ValueError(f"{name} must hold {x.shape[-2]} positions, got {tuple(ids.shape)}")
    q, k = encoding.rotate(q, k, position_ids, key_position_ids)
    bias = encoding.score_bias(q, k, position_ids, key_position_ids)
    scale = encoding.scale(q.shape[-1])
    output, weights = attention(q, k, v, bias=bias, causal=causal, mask=mask, scale=scale)
    added = encoding.value_bias(weights, position_ids, key_position_ids)
    return output if added is None else output + added, weights


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


def check_whole(name: str, positions: Tensor) -> None:
    """Raise unless positions are integers: what looks into a table needs whole tokens.

    Args:
        name: how the error calls them.
        positions: any tensor.

    Raises:
        TypeError: if the dtype is not an integer one.

    Example:
        >>> check_whole("position_ids", torch.arange(3))
    """
    if positions.is_floating_point() or positions.is_complex() or positions.dtype == torch.bool:
        raise TypeError(f"{name} must be whole numbers of tokens, got {positions.dtype}")


def check_num_heads(num_heads: int) -> None:
    """Raise unless a number of heads is an integer from 1 to 2 ** 20, beyond any model.

    Args:
        num_heads: number of heads.

    Raises:
        TypeError: if it is not an integer.
        ValueError: if it is smaller or larger.

    Example:
        >>> check_num_heads(8)
    """
    check_size("num_heads", num_heads)
    if num_heads > _MOST_HEADS:
        raise ValueError(f"num_heads must be at most {_MOST_HEADS}, got {shown(num_heads)}")


def check_size(name: str, value: int, least: int = 1) -> None:
    """Raise unless a size is an integer of at least `least`.

    Args:
        name: how the error calls it.
        value: the size.
        least: the smallest that is allowed.

    Raises:
        TypeError: if it is not an integer.
        ValueError: if it is smaller than `least`.

    Example:
        >>> check_size("num_heads", 8)
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {shown(value)}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {shown(value)}")


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
