"""Probes: each calls the rotation and returns numbers."""

import contextlib
import copy
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from torch import Tensor

from ropelib.checks import shown
from ropelib.diagnosis.guards import LONGEST, Exit, Overdue, Unmeasured, within
from ropelib.diagnosis.report import Finding, note
from ropelib.diagnosis.tensors import SAME, gap, random, spread
from ropelib.diagnosis.threads import threads_for

Rotate = Callable[[Tensor, Tensor], Tensor]
Uncalled = list[tuple[object, dict[str, object]]]  # what holds state, and that state
_FRESH = 29  # a number of tokens that nobody else asks for
_HINTS = {  # what makes a tensor of what came back
    "tuple": "; of cos and sin, from_tables(apply_rotary_pos_emb, tables) makes rotations, "
    "and from_module of q and k",
    "ndarray": "; wrap it: lambda x, p: torch.from_numpy(yours(x.numpy(), p.numpy()))",
    "None": "; end it with return x, or wrap it: lambda x, p: (yours(x, p), x)[1]",
}
_TABLES = ("emb", "embed", "rope", "rotary_emb", "rotary_pos_emb", "pos_emb", "pos_embed")
_DTYPES = (torch.bfloat16, torch.float16, torch.float64)  # of kernels that refuse float32


class Probe:
    """Calls a rotation, and complains in words if that fails."""

    timeout = LONGEST  # seconds for one call
    dtype = None  # what it takes alone: x is cast to it, and what comes out back

    def __init__(self, rotate: Rotate, name: str, head_dim: int, device):
        if not callable(rotate):
            raise TypeError(f"{name} must be callable, got {shown(rotate)}")
        self.rotate, self.name, self.head_dim, self.device = rotate, name, head_dim, device
        self.changes_input = self.changes_positions = self.wants_rows = False
        self.last, self.same_buffer, self.taken = None, False, False
        self.refusals: list[str] = []  # what was raised, which probes made of this one share

    def __call__(self, x: Tensor, position_ids: Tensor | Sequence) -> Tensor:
        """Return what the rotation makes of a copy of `x`, on the CPU."""
        asked = x.dtype
        x = x.to(self.device, self.dtype or asked, copy=True)
        ids = torch.as_tensor(position_ids, device=self.device).clone()
        if self.wants_rows and ids.dim() == 1:
            ids = ids.expand(len(x), -1).contiguous()
        given = f"x {tuple(x.shape)} {x.dtype} and position_ids {tuple(ids.shape)}"
        before, ids_before = x.clone(), ids.clone()
        self._check_signature(x, ids)
        try:
            with torch.no_grad(), threads_for(x.numel()):
                rotated = within(self.timeout, self.rotate, x, ids)
        except Overdue as error:
            message = f"{self.name} took longer than {self.timeout:g} s for {given}"
            raise Exit(message, "call-hangs") from error
        except KeyboardInterrupt:  # whoever sits before it wants to stop
            raise
        except BaseException as error:
            if getattr(self.rotate, "way", None) == []:
                given += ", in all ways that the names of its arguments allow"
            said = f": {text}" if (text := str(error)) else ""
            message = f"{self.name} raised {type(error).__name__} for {given}{said}"
            message += self._of_a_table()
            self.refusals.append(message)
            raise (CallError if isinstance(error, Exception) else Exit)(message) from error
        if not isinstance(rotated, Tensor):
            kind = "None" if rotated is None else type(rotated).__name__
            hint = _HINTS.get(kind, "")
            raise TypeError(f"{self.name} must return a tensor, got {kind} for {given}{hint}")
        if rotated.shape != x.shape:
            got = tuple(rotated.shape)
            message = f"{self.name} must keep the shape of x, got {got} for {given}"
            self.refusals.append(message)
            raise CallError(message, "shape-not-kept")
        if rotated.device != x.device:
            raise Unmeasured(
                f"{self.name} must return on the device of x, {x.device}, got {rotated.device}",
                "device-not-kept",
            )
        if not rotated.abs().max().isfinite():  # isfinite of each takes eight times as long
            raise Unmeasured(
                f"{self.name} must return finite numbers, got others for {given}",
                "not-finite",
            )
        self.changes_input |= not torch.equal(x, before)
        self.changes_positions |= not torch.equal(ids, ids_before)
        last, self.last = self.last, rotated.detach()  # held, so that its memory is not used anew
        if last is not None:
            self.same_buffer |= _address(last) == _address(rotated)
        given_back = asked if rotated.dtype == self.dtype else rotated.dtype
        return rotated.to("cpu", given_back, copy=True)

    def _of_a_table(self) -> str:
        """What is to be done where the second argument has a name that tables have."""
        with contextlib.suppress(TypeError, ValueError):  # it tells none
            names = [*signature_of(self.rotate).parameters]
            if names[1:2] and names[1] in _TABLES:
                return (
                    f"; {names[1]} was handed positions: if it is a table, hand over "
                    f"lambda x, position_ids: yours(x, {names[1]}[position_ids])"
                )
        return ""

    def _check_signature(self, *args) -> None:
        try:
            signature_of(self.rotate).bind(*args)
        except TypeError as error:
            raise TypeError(
                f"{self.name} must take (x, position_ids): {error}; "
                "from_tables and from_module adapt other signatures, and "
                "diagnose(lambda x, position_ids: yours(...)) any other"
            ) from error
        except ValueError:  # built-in functions tell no signature
            pass


def _address(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


class CallError(Unmeasured):
    """The rotation raised, or returned another shape."""


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
    if probe.taken:
        return None
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
            f"Vectors have {d} dimensions, and somewhere {d} numbers meet {d // 2}: x, its rotated "
            "copy, cos and sin must be equally wide.",
            {"raised": message},
            "the formula with d/2 entries in the columns of cos and sin, taken literally: repeat "
            "each entry as the layout asks (neighbors for interleaved, tiled for half); or half of "
            "x, x1 * cos for x * cos",
        )
    if f"got (1, 5, 3, {d})" in str(first):
        return Finding(
            "shape-not-kept",
            "wrong",
            "Of x (batch, num_heads, seq_len, head_dim) the result is (batch, seq_len, num_heads, "
            "head_dim): heads and tokens come back exchanged.",
            {},
            "a transpose(1, 2) on the way out that belongs to what comes after",
        )
    try:
        square = probe(x[:, :1, :1].expand(1, 6, 6, d), range(6))
    except CallError:
        square = None
    if square is not None and spread(square, axis=1) > SAME > spread(square, axis=2):
        said = str(first).partition("\n")[0].removeprefix(f"{probe.name} ")
        raised = said.startswith("raised ")
        return by_head({"raised" if raised else "an ordinary call": said.removeprefix("raised ")})
    for probe.wants_rows in (True, False):  # positions with a batch axis are what some insist on
        for probe.dtype in (None, *_DTYPES):
            try:
                probe(x, range(5))
                return None
            except CallError:
                continue
    raise first from first.__cause__


def turns(probe: Probe, rotate: Rotate) -> bool:
    """Say whether `rotate`, in place of the probe's own, turns tokens apart and heads alike."""
    other = copy.copy(probe)
    other.rotate, other.dtype = rotate, None
    x = random(1, 1, 1, probe.head_dim).expand(1, 3, 7, probe.head_dim)
    for other.wants_rows in (False, True):
        try:
            turned = other(x, range(7))
        except (TypeError, ValueError):
            continue
        return spread(turned, axis=2) > SAME > spread(turned, axis=1)
    return False


def narrower_widths(probe: Probe) -> list[int]:
    """Return the widths that an error over an ordinary call names, and that are taken."""
    try:
        probe(random(1, 3, 5, probe.head_dim), range(5))
        probe.taken = True
        return []
    except CallError as error:
        named = {int(number) for number in re.findall(r"\b\d{1,4}\b", str(error.__cause__))}
    taken = []
    for width in sorted(n for n in named if 2 < n < probe.head_dim and n % 2 == 0):
        try:
            with_width(probe, width)(random(1, 3, 7, width), range(7))
            taken.append(width)
        except (TypeError, ValueError):
            continue
    return taken


def with_width(probe: Probe, width: int) -> Probe:
    """Return the same probe for vectors of another width."""
    other = copy.copy(probe)
    other.head_dim, other.refusals = width, []
    return other


def takes_the_part(width: int, probe: Probe) -> Finding:
    """Return the note that vectors of another width were sent."""
    return note(
        "takes-the-rotated-part",
        f"Vectors of {probe.head_dim} dimensions are refused, and those of {width} are rotated: it "
        "is made for the part of a head that turns, which its caller cuts off (Phi, Persimmon, "
        f"StableLM). It was measured with head_dim={width}.",
        head_dim=width,
    )


def by_head(evidence: dict[str, object], as_long_as_heads: bool = False) -> Finding:
    """Return the finding that heads are taken for tokens."""
    fits = "and are as long as it" if as_long_as_heads else "and fit only where tokens are as many"
    return Finding(
        "rotates-by-head",
        "wrong",
        "The head decides the angle where the token should: the tables lie along the axis of the "
        f"heads, {fits}.",
        evidence,
        "x is (batch, seq_len, num_heads, head_dim) and the tables (seq_len, num_pairs) lack an "
        "axis for the heads, or are made as long as an axis that is not the tokens'",
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
    """Say what of `position_ids` the rotation follows: "all", "start", "differences", "nothing".

    "start" is the first of them, or the last: the others are counted from there.
    """
    x = random(1, 3, 1, probe.head_dim).expand(1, 3, 7, probe.head_dim)
    counted = probe(x, range(7))
    if spread(counted, axis=2) < SAME:  # nothing turns in its slot: ids may still count
        return "all"
    if (moved := gap(counted, probe(x, range(5, 12)))) > SAME:
        try:
            if gap(counted, probe(x, [0, 3, 1, 4, 2, 5, 6])) > min(SAME, moved / 10):
                return "all"
        except CallError:  # what counts from an offset may say so
            return "start"
        # What sorts positions follows gaps that rise alone; tables kept by an end, any new ones.
        return "all" if rising_gaps(probe) and not follows_gaps(probe) else "start"
    return "differences" if gap(counted, probe(x, [0, 6, 1, 4, 2, 5, 3])) > SAME else "nothing"


def rising_gaps(probe: Probe, tokens: int = 7) -> bool:
    """Say whether gaps are followed in a call whose positions rise."""
    x = random(1, 3, 1, probe.head_dim).expand(1, 3, tokens, probe.head_dim)
    try:
        run, gaps = probe(x, range(tokens)), probe(x, [3 * p // 2 for p in range(tokens)])
    except CallError:  # what counts from an offset may say so
        return False
    return gap(*(_scores(each) for each in (run, gaps))) > SAME


def _scores(rotated: Tensor) -> Tensor:
    """Return the scores of a vector with itself, which do not tell where a call begins."""
    x = rotated[0, 0]
    return x @ x.T / (x[0] ** 2).sum()


def keeps_by_length(probe: Probe, in_runs: bool) -> bool:
    """Say whether the first call of a length is turned by its positions, which are no slots.

    Later calls are turned otherwise than they ask for, or this would not be asked.
    """
    x = random(1, 3, 1, probe.head_dim).expand(1, 3, _FRESH, probe.head_dim)
    try:
        if not in_runs:
            return spread(probe(x, [3] * _FRESH), axis=2) < SAME
        slots, later = probe(x[:, :, :7], range(7)), probe(x, range(3, 3 + _FRESH))
        return gap(slots[:, :, 0], later[:, :, 0]) > SAME
    except CallError:
        return False


def follows_gaps(probe: Probe) -> bool:
    """Say whether a call with gaps is followed where it is the first with its last position.

    Asked of what seemed to count on from the first of a call: it may keep tables by an end.
    """
    x = random(1, 3, 1, probe.head_dim).expand(1, 3, 7, probe.head_dim)
    try:
        runs = [probe(x, range(7)), probe(x, range(24, 31))]
        gaps = probe(x, [20, 23, 21, 24, 22, 25, 26])
    except CallError:
        return False
    scores = [_scores(each) for each in (*runs, gaps)]
    return gap(scores[0], scores[1]) < SAME < 10 * SAME < gap(scores[0], scores[2])


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

    def applied(self, x: Tensor, position_ids: Tensor, back: bool = False) -> Tensor:
        """Return what the matrices, or the transposed ones, make of x at measured positions."""
        x = x.double().transpose(1, 2)
        rows, rotated = position_ids.expand(len(x), -1), torch.zeros_like(x)
        for position in rows.unique():
            matrix = self.matrices[torch.searchsorted(self.positions, position)]
            at = rows == position
            rotated[at] = x[at] @ (matrix if back else matrix.T)
        return rotated.transpose(1, 2)


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


def measure_runs(probe: Probe, ids: Tensor, dtype: torch.dtype) -> Curves:
    """Do as `measure`, and call once for each run of positions that follow each other."""
    ends = [0, *((ids.diff() != 1).nonzero().flatten() + 1).tolist(), len(ids)]
    runs = [measure(probe, ids[a:b], dtype) for a, b in pairwise(ends)]
    return Curves(
        ids,
        torch.cat([run.matrices for run in runs]),
        max(run.added for run in runs),
        max(run.curvature for run in runs),
        runs[0].dtype,
    )


def early_rows(probe: Probe, limit: int) -> tuple[Tensor, Tensor, Tensor] | None:
    """Call with far positions neither in the first row nor at the end, before any table grows."""
    # Between earlier positions and those of most tables, half as long or a power of two.
    ends = [
        p for p in probed_positions(limit) if 11 < p < limit // 4 and p & (p + 1) and p & (p - 1)
    ]
    ids = torch.tensor([[0, 1, 2, 3], [limit - 1, 7, 5, ends[-1] if ends else 4]])
    x = random(2, 3, 4, probe.head_dim)  # tables without an axis of rows fit as many heads as rows
    try:
        return x, ids, probe(x, ids.clone())
    except CallError:  # rows or far positions are refused; a note says so
        return None


def heads_beside(num_heads: int, num_tokens: int) -> int:
    """As many heads as are wanted, or one more: they must not be mistaken for tokens."""
    return num_heads + (num_heads == num_tokens)


def probed_positions(end: int) -> list[int]:
    """Few positions below `end`, dense at first, later around powers of two and odd between them.

    Rounding shows there first, and each is at most twice the one before, as `speeds_of` needs it.
    """
    powers = [2**k for k in range(3, end.bit_length())]
    around = [m for p in powers for m in (p - 1, p, p + 1, p + p // 2 + 1)]
    around += [p + int(p * part) | 1 for p in powers if p >= 64 for part in (0.236, 0.809)]
    return sorted({*range(min(end, 9)), *(m for m in around if m < end), end - 1})
