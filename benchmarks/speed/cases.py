"""What is measured: shapes, types and directions, and the memory that they need."""

from dataclasses import dataclass, replace

import torch

PREFILL, DECODE = (1, 32, 4096, 128), (1, 32, 1, 128)
CACHED = 4095  # tokens before the one that is decoded
LENGTHS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 131072)
# Tensors as large as q that a case may hold at a time: inputs, buffers, what candidates allocate.
AT_ONCE = 20
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class Case:
    """One table of the output: everything that runs in the same rounds.

    Args:
        name: "prefill", or "curve" for one point of the curve over lengths.
        shape: of q, `(batch, num_heads, seq_len, head_dim)`.
        key_heads: of k.
        rotary_dim: leading dimensions that rotate.
        dtype: "float32" or "bfloat16".
        backward: whether gradients are computed too.
        start: the first position.
    """

    name: str
    shape: tuple[int, int, int, int] = PREFILL
    key_heads: int = 32
    rotary_dim: int = 128
    dtype: str = "float32"
    backward: bool = False
    start: int = 0

    @property
    def direction(self) -> str:
        """What a call does."""
        return "forward+backward" if self.backward else "forward"

    @property
    def key_shape(self) -> tuple[int, int, int, int]:
        """Shape of k."""
        return (self.shape[0], self.key_heads, *self.shape[2:])

    @property
    def bytes(self) -> int:
        """Bytes of q and k."""
        batch, heads, seq_len, head_dim = self.shape
        numbers = batch * (heads + self.key_heads) * seq_len * head_dim
        return numbers * DTYPES[self.dtype].itemsize

    def told(self) -> str:
        """Say in a line what it is."""
        partial = f", {self.rotary_dim} of them turn" if self.rotary_dim < self.shape[3] else ""
        return f"{self.name}: q {self.shape}, k {self.key_shape}{partial}, {self.dtype}, " + (
            f"{self.direction}"
        )


def _kinds(case: Case, directions: tuple[bool, ...] = (False,)) -> list[Case]:
    """Return a case in each type and direction."""
    return [
        replace(case, dtype=dtype, backward=backward) for backward in directions for dtype in DTYPES
    ]


ALL = {
    "prefill": _kinds(Case("prefill"), (False, True)),
    "grouped": _kinds(Case("grouped", key_heads=8)),
    "small": _kinds(Case("small", (4, 16, 1024, 64), 16, 64), (False, True)),
    "vision": _kinds(Case("vision", (1, 16, 4096, 80), 16, 80)),
    "partial": _kinds(Case("partial", rotary_dim=32)),
    "decode": _kinds(Case("decode", DECODE, start=CACHED)),
    "curve": [Case("curve", (1, 2, length, 128), 2) for length in LENGTHS],
}
FAST = {"prefill": [Case("prefill")], "decode": ALL["decode"]}


def fitted(case: Case, free_bytes: int) -> Case:
    """Return a case with as few heads as fit into memory, all of them where they do.

    Args:
        case: as it is wanted.
        free_bytes: of memory.

    Raises:
        ValueError: if not even one head fits.
    """
    while case.bytes * AT_ONCE // 2 > free_bytes:
        heads, key_heads = case.shape[1] // 2, max(1, case.key_heads // 2)
        if not heads:
            raise ValueError(f"{case.told()} must fit into memory, got {free_bytes} free bytes")
        shape = (case.shape[0], heads, *case.shape[2:])
        case = replace(case, shape=shape, key_heads=min(heads, key_heads))
    return case
