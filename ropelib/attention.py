"""The smallest attention that has a place for every position encoding."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

Rotate = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def attention_scores(
    q: Tensor,
    k: Tensor,
    *,
    rotate: Rotate | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Return how well each query fits each key.

    `scores[..., m, n] = scale * q[..., m, :] . k[..., n, :] + bias[..., m, n]`, after `rotate`.

    Args:
        q: `(..., num_heads, q_len, head_dim)`, or `(q_len, head_dim)`.
        k: like `q`; its length may differ, and its number of heads may divide that of `q`: each key
            head then serves as many consecutive query heads.
        rotate: `(q, k) -> (q, k)`, such as a `RotaryEmbedding`; nothing unless given.
        bias: added to the scaled scores, of a shape that broadcasts to them.
        scale: `1 / sqrt(head_dim)` unless given.

    Returns:
        `(..., num_heads, q_len, k_len)`.

    Raises:
        ValueError: if the shapes do not fit, that of `bias` included, or `rotate` changes them.

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
    scores = scale * (q @ repeat_heads(k, q).transpose(-2, -1))
    if bias is None:
        return scores
    _check_broadcasts("bias", bias, scores)
    return scores + bias


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    rotate: Rotate | None = None,
    bias: Tensor | None = None,
    causal: bool = False,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the mean of the values, weighted by how well each query fits each key.

    `weights = softmax(scores)` over the keys, `output = weights @ v`. Values are not rotated.

    To decode with a cache, rotate the new queries and keys first, append the new keys and values to
    those in the cache, and leave `rotate` out: each key is rotated once.

    Args:
        q: `(..., num_heads, q_len, head_dim)`, or `(q_len, head_dim)`.
        k: like `q`, with `k_len` keys and as many or fewer heads.
        v: like `k`; its width may differ.
        rotate: `(q, k) -> (q, k)`; nothing unless given.
        bias: added to the scaled scores, of a shape that broadcasts to them.
        causal: whether a query sees no later key. The last query stands at the last key.
        mask: bool, of a shape that broadcasts to the weights, True where a query may see a key; for
            padding `(batch, 1, 1, k_len)`. The weights of a query that sees no key are all zero.
        scale: `1 / sqrt(head_dim)` unless given.

    Returns:
        `(output, weights)`: `(..., num_heads, q_len, width of v)` and
        `(..., num_heads, q_len, k_len)`.

    Raises:
        TypeError: if `mask` is not bool.
        ValueError: if the shapes do not fit, those of `bias` and `mask` included, `rotate` changes
            them, or there are more queries than keys where attention is causal.

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
    scores = attention_scores(q, k, rotate=rotate, bias=bias, scale=scale)
    q_len, k_len = scores.shape[-2:]
    sees = torch.ones(q_len, k_len, dtype=torch.bool, device=q.device)
    if causal:
        if q_len > k_len:
            raise ValueError(f"causal needs q_len <= k_len, got {q_len} queries and {k_len} keys")
        sees = sees.tril(k_len - q_len)
    if mask is not None:
        sees = sees & _checked_mask(mask, scores)
    # Softmax makes nan of a query that sees no key; what follows makes it zero, gradients too.
    weights = scores.masked_fill(~sees, -math.inf).softmax(dim=-1).masked_fill(~sees, 0)
    return weights @ repeat_heads(v, q), weights


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
