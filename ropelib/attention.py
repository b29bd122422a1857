"""The smallest attention that runs every position encoding."""

import math

import torch
from torch import Tensor

from ropelib.encodings.base import PositionEncoding, repeat_heads


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
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the mean of the values, weighted by how well each query fits each key.

    `weights = softmax(scores)` over the keys, `output = weights @ v`, and the encoding acts in its
    places. Attention alone is `attend(NoPosition(), q, k, v)`.

    `embed` belongs before the projections that make q, k and v, so it is the caller's to call. To
    decode with a cache, rotate the new queries and keys first, append the new keys and values to
    those in the cache, and attend with `NoPosition`: each key is rotated once.

    Args:
        encoding: the position encoding.
        q: `(..., num_heads, q_len, head_dim)`, or `(q_len, head_dim)`.
        k: like `q`; `k_len` keys, and as many heads or fewer: each key head then serves as many
            consecutive query heads.
        v: like `k`; its width may differ.
        position_ids: positions of the queries, `(q_len,)` or `(batch, q_len)`, tokens; unless
            given, those of the last `q_len` keys.
        key_position_ids: positions of the keys, likewise; 0 to `k_len - 1` unless given.
        causal: whether a query sees no later key, by place in the sequence. The last query stands
            at the last key.
        mask: bool, of a shape that broadcasts to the weights, True where a query may see a key; for
            padding `(batch, 1, 1, k_len)`. The weights of a query that sees no key are all zero.
        scale: factor of q . k; that of the encoding unless given.

    Returns:
        `(output, weights)`, of shapes `(..., num_heads, q_len, width of v)` and
        `(..., num_heads, q_len, k_len)`.

    Raises:
        TypeError: if `mask` is not bool.
        ValueError: if the shapes do not fit, those of `mask` and of the encoding's bias included,
            the encoding refuses the positions or changes the shape of q or k, there are more
            queries than keys and no `position_ids`, or attention is causal then.

    Source:
        RoFormer (Su et al., arXiv:2104.09864), equation 2.

    Example:
        >>> from ropelib.encodings import NoPosition
        >>> q, k, v = torch.zeros(2, 4), torch.zeros(2, 4), torch.tensor([[0.0], [1.0]])
        >>> attend(NoPosition(), q, k, v, causal=True)[0]
        tensor([[0.0000],
                [0.5000]])
    """
    _check_shapes(q, k)
    if v.shape[:-1] != k.shape[:-1]:
        raise ValueError(
            f"v must have a value for each key, got k {tuple(k.shape)} and v {tuple(v.shape)}"
        )
    positions = _positions(q, k, position_ids, key_position_ids)
    shapes = [tuple(q.shape), tuple(k.shape)]
    q, k = encoding.rotate(q, k, *positions)
    if [tuple(q.shape), tuple(k.shape)] != shapes:
        raise ValueError(
            f"rotate of {type(encoding).__name__} must keep the shapes {shapes[0]} and "
            f"{shapes[1]}, got {tuple(q.shape)} and {tuple(k.shape)}"
        )
    bias = encoding.score_bias(q, k, *positions)
    scale = encoding.scale(q.shape[-1]) if scale is None else scale
    weights = _weights(attention_scores(q, k, bias=bias, scale=scale), causal, mask)
    output = weights @ repeat_heads(v, q)
    added = encoding.value_bias(weights, *positions)
    return output if added is None else output + added, weights


def attention_scores(
    q: Tensor, k: Tensor, *, bias: Tensor | None = None, scale: float | None = None
) -> Tensor:
    """Return how well each query fits each key: all of attention before its softmax.

    `scores[..., m, n] = scale * q[..., m, :] . k[..., n, :] + bias[..., m, n]`

    Args:
        q: `(..., num_heads, q_len, head_dim)`, or `(q_len, head_dim)`; rotated, where it rotates.
        k: like `q`; its length may differ, and its number of heads may divide that of `q`.
        bias: added to the scaled scores, of a shape that broadcasts to them.
        scale: `1 / sqrt(head_dim)` unless given.

    Returns:
        `(..., num_heads, q_len, k_len)`.

    Raises:
        ValueError: if the shapes do not fit, that of `bias` included.

    Convention:
        After a `RotaryEmbedding` the score of positions m, n is `q^T R((n - m) * inv_freq) k`.

    Source:
        RoFormer (Su et al., arXiv:2104.09864), equation 16.

    Example:
        >>> attention_scores(torch.eye(2), torch.eye(2), scale=1.0)
        tensor([[1., 0.],
                [0., 1.]])
    """
    _check_shapes(q, k)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = scale * (q @ repeat_heads(k, q).transpose(-2, -1))
    if bias is None:
        return scores
    _check_broadcasts("bias", bias, scores)
    return scores + bias


def _positions(
    q: Tensor, k: Tensor, position_ids: Tensor | None, key_position_ids: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return the positions of queries and keys, one object where nothing tells them apart."""
    q_len, k_len = q.shape[-2], k.shape[-2]
    if key_position_ids is None:
        key_position_ids = torch.arange(k_len, device=k.device)
    if position_ids is None:
        if q_len > k_len:
            raise ValueError(
                f"position_ids must be given for more queries than keys, got {q_len} queries "
                f"and {k_len} keys"
            )
        last = key_position_ids[..., k_len - q_len :]
        position_ids = key_position_ids if q_len == k_len else last
    for name, ids, length in (
        ("position_ids", position_ids, q_len),
        ("key_position_ids", key_position_ids, k_len),
    ):
        if ids.shape[-1:] != (length,):
            raise ValueError(f"{name} must hold {length} positions, got {tuple(ids.shape)}")
    return position_ids, key_position_ids


def _weights(scores: Tensor, causal: bool, mask: Tensor | None) -> Tensor:
    q_len, k_len = scores.shape[-2:]
    sees = torch.ones(q_len, k_len, dtype=torch.bool, device=scores.device)
    if causal:
        if q_len > k_len:
            raise ValueError(f"causal needs q_len <= k_len, got {q_len} queries and {k_len} keys")
        sees = sees.tril(k_len - q_len)
    if mask is not None:
        sees = sees & _checked_mask(mask, scores)
    # Softmax makes nan of a query that sees no key; what follows makes it zero, gradients too.
    return scores.masked_fill(~sees, -math.inf).softmax(dim=-1).masked_fill(~sees, 0)


def _checked_mask(mask: Tensor, scores: Tensor) -> Tensor:
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must be bool, True where a query may see a key, got {mask.dtype}")
    _check_broadcasts("mask", mask, scores)
    return mask


def _check_broadcasts(name: str, x: Tensor, scores: Tensor) -> None:
    sizes = zip(reversed(x.shape), reversed(scores.shape), strict=False)
    if x.dim() > scores.dim() or any(size not in (1, wanted) for size, wanted in sizes):
        raise ValueError(
            f"{name} must broadcast to {tuple(scores.shape)}, got shape {tuple(x.shape)}"
        )


def _check_shapes(q: Tensor, k: Tensor) -> None:
    shapes = f"got q {tuple(q.shape)} and k {tuple(k.shape)}"
    if q.dim() < 2 or q.dim() != k.dim():
        raise ValueError(f"q and k must be (..., num_heads, seq_len, head_dim), {shapes}")
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q and k must have the same head_dim, {shapes}")
    if q.shape[:-3] != k.shape[:-3]:
        raise ValueError(f"q and k must have the same leading axes, {shapes}")
    if q.dim() > 2 and (k.shape[-3] == 0 or q.shape[-3] % k.shape[-3]):
        raise ValueError(f"the heads of k must divide those of q, {shapes}")
