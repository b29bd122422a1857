"""One position at a time: what a step of decoding needs, made for some steps at once.

The numbers of one position are few, so that every operation and every question costs more than the
arithmetic. What can be asked once for all layers and for the steps to come is asked here.
"""

from torch import Tensor

from ropelib import kernels, native
from ropelib.devices import is_watched
from ropelib.memory import is_bare
from ropelib.pairs import compute_dtype

STEPS = 64  # positions that a table of steps begins at a multiple of, and holds


class Steps:
    """The rotation of one position, ready for all that look like `q` and `k`.

    Args:
        q: `(..., num_heads, 1, head_dim)`.
        k: likewise.
        cos: `(count, num_pairs)`, of positions that follow one another.
        sin: like `cos`.
        layout: "interleaved" or "half".
        first: the position of the first row.

    Example:
        >>> import torch
        >>> q = torch.ones(1, 1, 2)
        >>> steps = Steps(q, q, torch.zeros(1, 1), torch.ones(1, 1), "half", 7)
        >>> steps.serve(q, q, 7), steps.serve(q, q, 8), steps.rotate(q, q, 7)[0]
        (True, False, tensor([[[-1.,  1.]]]))
    """

    __slots__ = ("are_complex", "count", "factors", "first", "kernel", "kind", "tables")

    def __init__(self, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, layout: str, first: int):
        self.first, self.count, self.kind = first, len(cos), _kind(q, k)
        self.kernel = native.prepared(q, k, cos, sin, layout)
        self.tables, self.factors = (cos, sin, layout), None
        if self.kernel is None:
            factors = kernels.factors_of(q, cos, sin, layout)
            self.factors = list(zip(*(factor.split(1) for factor in factors), strict=True))
        # The numbers of a pair lie beside each other, and are computed with as they are.
        self.are_complex = (
            layout == "interleaved"
            and q.dtype == compute_dtype(q)
            and q.shape[-1] == k.shape[-1] == 2 * cos.shape[-1]
        )

    def serve(self, q: Tensor, k: Tensor, position: int) -> bool:
        """Say whether these rotate `q` and `k`, of which no derivative is wanted, at `position`."""
        return (
            0 <= position - self.first < self.count
            and type(q) is type(k) is Tensor
            and self.kind == _kind(q, k)
            and not (q.requires_grad or k.requires_grad)
        )

    def rotate(self, q: Tensor, k: Tensor, position: int) -> tuple[Tensor, Tensor]:
        """Return `q` and `k` rotated; `serve` has said that they can be."""
        row = position - self.first
        if self.kernel is not None and _lie_bare(q) and _lie_bare(k) and not is_watched():
            return self.kernel(q, k, row)
        if self.factors is None:  # there is a kernel, which does not take these
            cos, sin, layout = self.tables
            factors = kernels.factors_of(q, cos[row : row + 1], sin[row : row + 1], layout)
        else:
            factors = self.factors[row]
        if self.are_complex and kernels.are_neighbors(q) and kernels.are_neighbors(k):
            return kernels.rotate_neighbors(q, *factors), kernels.rotate_neighbors(k, *factors)
        return kernels.rotate_together(q, k, *factors)


def _lie_bare(x: Tensor) -> bool:
    """Say whether the numbers of `x` lie one after another at its address, and are all there is."""
    return x.is_contiguous() and is_bare(x)


def _kind(q: Tensor, k: Tensor) -> tuple:
    """Return what two steps must have in common for one to serve the other."""
    return q.shape, k.shape, q.dtype, k.dtype, q.device, k.device
