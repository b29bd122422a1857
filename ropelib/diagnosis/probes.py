"""Probes: each calls the rotation and returns numbers."""

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ropelib.checks import shown
from ropelib.diagnosis.report import Finding
from ropelib.diagnosis.tensors import SAME, gap, random, spread

Rotate = Callable[[Tensor, Tensor], Tensor]


class Probe:
    """Calls a rotation, and complains in words if that fails."""

    def __init__(self, rotate: Rotate, name: str, head_dim: int, device):
        if not callable(rotate):
            raise TypeError(f"{name} must be callable, got {shown(rotate)}")
        self.rotate, self.name, self.head_dim, self.device = rotate, name, head_dim, device
        self.changes_input = self.wants_rows = False

    def __call__(self, x: Tensor, position_ids: Tensor | Sequence) -> Tensor:
        """Return what the rotation makes of a copy of `x`, on the CPU."""
        x = x.to(self.device, copy=True)
        ids = torch.as_tensor(position_ids, device=self.device)
        if self.wants_rows and ids.dim() == 1:
            ids = ids.expand(len(x), -1).contiguous()
        given = f"x {tuple(x.shape)} {x.dtype} and position_ids {tuple(ids.shape)}"
        before = x.clone()
        self._check_signature(x, ids)
        try:
            with torch.no_grad():
                rotated = self.rotate(x, ids)
        except KeyboardInterrupt:  # whoever sits before it wants to stop
            raise
        except BaseException as error:
            message = f"{self.name} raised {type(error).__name__} for {given}: {error}"
            raise (CallError if isinstance(error, Exception) else Exit)(message) from error
        if not isinstance(rotated, Tensor):
            hint = "; see from_tables and from_module" if isinstance(rotated, tuple) else ""
            kind = "None" if rotated is None else type(rotated).__name__
            raise TypeError(f"{self.name} must return a tensor, got {kind} for {given}{hint}")
        if rotated.shape != x.shape:
            raise CallError(
                f"{self.name} must keep the shape of x, got {tuple(rotated.shape)} for {given}"
            )
        if not rotated.abs().max().isfinite():  # isfinite of each takes eight times as long
            raise ValueError(f"{self.name} must return finite numbers, got others for {given}")
        self.changes_input |= not torch.equal(x, before)
        return rotated.cpu()

    def _check_signature(self, *args) -> None:
        try:
            signature_of(self.rotate).bind(*args)
        except TypeError as error:
            raise TypeError(
                f"{self.name} must take (x, position_ids): {error}; "
                "from_tables and from_module adapt other signatures"
            ) from error
        except ValueError:  # built-in functions tell no signature
            pass


class CallError(ValueError):
    """The rotation raised, or returned another shape."""


class Exit(Exception):
    """The rotation would end the program; no probe takes that for a refusal of its input."""


def signature_of(rotate: Callable) -> inspect.Signature:
    """Return what the rotation takes; torch's modules take anything, and hand it on.

    Raises:
        TypeError: if it is not callable.
        ValueError: if it tells no signature, as built-in functions do not.
        Exit: if asking would end the program.
    """
    try:
        return inspect.signature(rotate.forward if isinstance(rotate, torch.nn.Module) else rotate)
    except (KeyboardInterrupt, TypeError):
        raise
    except Exception as error:
        raise ValueError(f"no signature: {error}") from error
    except BaseException as error:
        raise Exit(f"reading the signature raised {type(error).__name__}: {error}") from error


def broken_call(probe: Probe) -> Finding | None:
    """Try an ordinary call; where it breaks, return the bug that the break names, or raise."""
    d = probe.head_dim
    x = random(1, 3, 5, d)
    try:
        probe(x, range(5))
        return None
    except CallError as error:
        first = error
    message = str(first.__cause__)
    if d > 2 and re.search(rf"\b{d}\b.*\b{d // 2}\b|\b{d // 2}\b.*\b{d}\b", message):
        return Finding(
            "tables-half-width",
            "wrong",
            f"Vectors of {d} dimensions meet cos and sin of {d // 2}: both dimensions of a pair "
            "need the cosine of their angle, so each entry must appear twice.",
            {"raised": message},
            "the formula with d/2 entries in the columns of cos and sin, taken literally; repeat "
            "each entry as the layout asks (neighbors for interleaved, tiled for half)",
        )
    try:
        square = probe(x[:, :1, :1].expand(1, 6, 6, d), range(6))
    except CallError:
        square = None
    if square is not None and spread(square, axis=1) > SAME > spread(square, axis=2):
        return by_head({"raised": str(first).partition("\n")[0]})
    probe.wants_rows = True  # positions with a batch axis are what some insist on
    try:
        probe(x, range(5))
        return None
    except CallError:
        raise first from first.__cause__


def by_head(evidence: dict[str, object]) -> Finding:
    """Return the finding that heads are taken for tokens."""
    return Finding(
        "rotates-by-head",
        "wrong",
        "The head decides the angle where the token should: the axis that the tables broadcast "
        "along is that of the heads, which fits only while there are as many heads as tokens.",
        evidence,
        "x is (batch, seq_len, num_heads, head_dim) and the tables (seq_len, num_pairs) lack an "
        "axis for the heads",
    )


def takes_seq_first(evidence: dict[str, object]) -> Finding:
    """Return the finding that x is taken in another order of axes, and rotated rightly so."""
    return Finding(
        "takes-sequence-first",
        "wrong",
        "It is right for x of shape (batch, seq_len, num_heads, head_dim), and called with (batch, "
        "num_heads, seq_len, head_dim) it takes heads for tokens.",
        evidence,
        "a function for the other order of axes: wrap it in seq_first (--seq-first on the command "
        "line) to have it judged; if it is meant for this order, its tables lack an axis for the "
        "heads",
    )


def obedience(probe: Probe) -> str:
    """Say what of `position_ids` the rotation follows: "all", "differences" or "nothing"."""
    x = random(1, 3, 1, probe.head_dim).expand(1, 3, 7, probe.head_dim)
    counted = probe(x, range(7))
    if spread(counted, axis=2) < SAME:  # nothing turns in its slot: ids may still count
        return "all"
    if gap(counted, probe(x, range(5, 12))) > SAME:
        return "all"
    return "differences" if gap(counted, probe(x, [0, 6, 1, 4, 2, 5, 3])) > SAME else "nothing"


@dataclass
class Curves:
    """`matrices[p]` is what the rotation does at `positions[p]`."""

    positions: Tensor
    matrices: Tensor  # (num_positions, head_dim, head_dim), float64
    added: float  # largest entry of what zero becomes
    curvature: float  # departure from linearity
    dtype: torch.dtype  # of the result

    def at(self, positions: Sequence[int]) -> "Curves":
        """Keep some positions, of all from 0 on."""
        ids = torch.tensor(positions)
        return replace(self, positions=ids, matrices=self.matrices[ids])

    def at_most(self, count: int) -> "Curves":
        """Keep the first positions."""
        return replace(self, positions=self.positions[:count], matrices=self.matrices[:count])


def measure(probe: Probe, ids: Tensor, dtype: torch.dtype) -> Curves:
    """Rotate every basis vector, zero and one random vector at each position; one call."""
    d = probe.head_dim
    vectors = torch.cat((torch.eye(d), torch.zeros(1, d), 10 * random(1, d)))
    vectors = torch.cat((vectors, vectors[-1:]))[: heads_beside(d + 2, len(ids))].to(dtype)
    x = vectors[None, :, None, :].expand(1, -1, len(ids), -1)
    rotated = probe(x, ids)
    images = rotated[0].double().transpose(0, 1)  # (num_positions, vectors, head_dim)
    zero = images[:, d : d + 1]
    matrices = (images[:, :d] - zero).transpose(1, 2)
    guess = torch.einsum("prc,c->pr", matrices, vectors[d + 1].double())
    length = float(guess.norm(dim=-1).max()) or 1.0
    curvature = float((images[:, d + 1] - zero[:, 0] - guess).abs().max()) / length
    return Curves(ids, matrices, float(zero.abs().max()), curvature, rotated.dtype)


def heads_beside(num_heads: int, num_tokens: int) -> int:
    """As many heads as are wanted, or one more: they must not be mistaken for tokens."""
    return num_heads + (num_heads == num_tokens)


def probed_positions(end: int) -> list[int]:
    """Few positions below `end`, dense at first, later around powers of two and odd between them.

    Rounding shows there first, and each is at most twice the one before, as `speeds_of` needs it.
    """
    powers = [2**k for k in range(3, end.bit_length())]
    around = (m for p in powers for m in (p - 1, p, p + 1, p + p // 2 + 1))
    return sorted({*range(min(end, 9)), *(m for m in around if m < end), end - 1})
