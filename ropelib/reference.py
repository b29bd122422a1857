"""The slow oracle: rotation as the matrix that the paper prints, entry by entry in float64.

Every fast path of the library is tested against this file, which shares no code with them. It is
written to be checked by eye, not to be run on more than a few vectors.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor


def rotation_matrix(
    position: float,
    inv_freq: Tensor | Sequence[float],
    *,
    layout: str,
    head_dim: int | None = None,
) -> Tensor:
    """Return the matrix that rotates a head vector at `position`.

    Each pair of dimensions has its block `[[cos, -sin], [sin, cos]]` of the angle
    `position * inv_freq[i]`; all other dimensions have the identity.

    Args:
        position: where the token stands, tokens.
        inv_freq: `(num_pairs,)`, rad/token.
        layout: "interleaved" pairs dimensions (2i, 2i + 1), "half" pairs (i, i + num_pairs).
        head_dim: width of the head; `2 * num_pairs` unless given.

    Returns:
        float64 tensor `(head_dim, head_dim)`.

    Raises:
        ValueError: if `layout` is unknown or the head is narrower than its pairs.

    Convention:
        Counterclockwise: the first of a pair turns toward the second.

    Source:
        RoFormer (Su et al., arXiv:2104.09864), equation 15.

    Example:
        >>> rotation_matrix(1.0, [math.pi / 2], layout="half").round()
        tensor([[ 0., -1.],
                [ 1.,  0.]], dtype=torch.float64)
    """
    num_pairs = len(inv_freq)
    head_dim = 2 * num_pairs if head_dim is None else head_dim
    if head_dim < 2 * num_pairs:
        raise ValueError(f"{num_pairs} pairs need head_dim >= {2 * num_pairs}, got {head_dim}")
    matrix = torch.eye(head_dim, dtype=torch.float64)
    for i in range(num_pairs):
        if layout == "interleaved":
            first, second = 2 * i, 2 * i + 1
        elif layout == "half":
            first, second = i, i + num_pairs
        else:
            raise ValueError(f'layout must be "interleaved" or "half", got {layout!r}')
        angle = float(position) * float(inv_freq[i])
        matrix[first, first] = math.cos(angle)
        matrix[first, second] = -math.sin(angle)
        matrix[second, first] = math.sin(angle)
        matrix[second, second] = math.cos(angle)
    return matrix


def rotate(
    x: Tensor,
    position_ids: Tensor | Sequence,
    inv_freq: Tensor | Sequence[float],
    *,
    layout: str,
) -> Tensor:
    """Rotate every vector of `x` by the matrix of its position, one product after the other.

    `result[..., s, :] = R(position_ids[s]) @ x[..., s, :]`

    Args:
        x: `(..., seq_len, head_dim)`; gradients flow to it.
        position_ids: `(seq_len,)`, or `(batch, seq_len)` for an `x` whose first axis is the batch;
            tokens.
        inv_freq: `(num_pairs,)`, rad/token.
        layout: "interleaved" or "half", as in `rotation_matrix`.

    Returns:
        float64 tensor of the shape of `x`.

    Raises:
        ValueError: if there is not one position for each vector, or `layout` is unknown.

    Source:
        RoFormer (Su et al., arXiv:2104.09864), equations 14 and 15.

    Example:
        >>> rotate(torch.tensor([[1.0, 0.0]]), [1], [math.pi / 2], layout="half").round()
        tensor([[0., 1.]], dtype=torch.float64)
    """
    positions = torch.as_tensor(position_ids, dtype=torch.float64)
    if positions.dim() == 2:
        if len(positions) != len(x):
            raise ValueError(f"{len(positions)} rows of positions for a batch of {len(x)}")
        rows = [rotate(x[b], positions[b], inv_freq, layout=layout) for b in range(len(x))]
        return torch.stack(rows)
    if len(positions) != x.shape[-2]:
        raise ValueError(f"{len(positions)} positions for {x.shape[-2]} vectors")
    columns = x.to(torch.float64).unsqueeze(-1)  # (..., seq_len, head_dim, 1)
    rotated = []
    for s in range(len(positions)):
        matrix = rotation_matrix(positions[s], inv_freq, layout=layout, head_dim=x.shape[-1])
        rotated.append(matrix @ columns[..., s, :, :])
    return torch.stack(rotated, dim=-3).squeeze(-1)
