"""The smallest attention with a place for rotation."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

Rotate = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def attention_scores(
    q: Tensor, k: Tensor, *, rotate: Rotate | None = None, scale: float | None = None
) -> Tensor:
    """Return how well each query fits each key.

    `scores[..., m, n] = scale * q[..., m, :] . k[..., n, :]`, after `rotate`.

    Args:
        q: `(..., num_heads, q_len, head_dim)`, or `(q_len, head_dim)`.
        k: like `q`; its length may differ, and its number of heads may divide that of `q`: each key
            head then serves as many consecutive query heads.
        rotate: `(q, k) -> (q, k)`, such as a `RotaryEmbedding`; nothing unless given.
        scale: `1 / sqrt(head_dim)` unless given.

    Returns:
        `(..., num_heads, q_len, k_len)`.

    Raises:
        ValueError: if the shapes do not fit, or `rotate` changes them.

    Convention:
        With a `RotaryEmbedding` the score of positions m, n is `q^T R((n - m) * inv_freq) k`.

    Source:
        RoFormer (Su et al., arXiv:2104.09864), equation 16.

    Example:
        >>> attention_scores(torch.eye(2), torch.eye(2), scale=1.0)
        tensor([[1., 0.],
                [0., 1.]])
    """
    _check_shapes(q, k)
    if rotate is not None:
        shapes = q.shape, k.shape
        q, k = rotate(q, k)
        if (q.shape, k.shape) != shapes:
            raise ValueError(
                f"rotate must keep the shapes {tuple(map(tuple, shapes))}, "
                f"got {tuple(q.shape)} and {tuple(k.shape)}"
            )
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    return scale * (q @ _repeat_heads(k, q).transpose(-2, -1))


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    rotate: Rotate | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the mean of the values, weighted by how well each query fits each key.

    `weights = softmax(scores)` over the keys, `output = weights @ v`. Values are not rotated.

    Args:
        q: `(..., num_heads, q_len, head_dim)`, or `(q_len, head_dim)`.
        k: like `q`, with `k_len` keys and as many or fewer heads.
        v: like `k`; its width may differ.
        rotate: `(q, k) -> (q, k)`; nothing unless given.
        causal: whether a query sees no later key. The last query stands at the last key.
        scale: `1 / sqrt(head_dim)` unless given.

    Returns:
        `(output, weights)`: `(..., num_heads, q_len, width of v)` and
        `(..., num_heads, q_len, k_len)`.

    Raises:
        ValueError: if the shapes do not fit, `rotate` changes them, or `causal` leaves a query
            without keys.

    Source:
        RoFormer (Su et al., arXiv:2104.09864), equation 2.

    Example:
        >>> q, k, v = torch.zeros(2, 4), torch.zeros(2, 4), torch.tensor([[0.0], [1.0]])
        >>> attention(q, k, v, causal=True)[0]
        tensor([[0.0000],
                [0.5000]])
    """
    if v.shape[:-1] != k.shape[:-1]:
        raise ValueError(
            f"v must have a value for each key, got k {tuple(k.shape)} and v {tuple(v.shape)}"
        )
    scores = attention_scores(q, k, rotate=rotate, scale=scale)
    if causal:
        q_len, k_len = scores.shape[-2:]
        if q_len > k_len:
            raise ValueError(f"causal needs q_len <= k_len, got {q_len} queries and {k_len} keys")
        sees = torch.ones(q_len, k_len, dtype=torch.bool, device=q.device).tril(k_len - q_len)
        scores = scores.masked_fill(~sees, -math.inf)
    weights = scores.softmax(dim=-1)
    return weights @ _repeat_heads(v, q), weights


def _repeat_heads(x: Tensor, q: Tensor) -> Tensor:
    return x if x.dim() < 3 else x.repeat_interleave(q.shape[-3] // x.shape[-3], dim=-3)


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
