"""Point it at anybody's rotation: it says what that rotation is, or which bug it has.

Three steps, each readable alone. Probes call the rotation and return plain measurements. From them
one description is made: which dimensions form pairs, by what angle each turns at each position.
Rules read the description, the most specific explanation first; the first that finds the rotation
wrong ends the list, so that one cause is reported and not the heap of its consequences.
"""

import html
import inspect
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import torch
from torch import Tensor

Rotate = Callable[[Tensor, Tensor], Tensor]

_ANGLE_ERROR = 0.02  # rad; float32 angles are below it up to 8191, a lost position is far above
_SAME = 2e-3  # two results of one rotation, entries of about 1
_LAYOUTS = {"interleaved": "pairs (2i, 2i + 1)", "half": "pairs (i, i + rotary_dim / 2)"}


# What comes out


@dataclass(frozen=True)
class Finding:
    """One thing worth saying about a rotation.

    `code` is stable and made for programs, `sentence` for people. `severity` is "wrong" for a bug
    and "note" for what is right but unusual. `evidence` holds measured numbers by name, `cause`
    what usually lies behind it, `since` the first position where it shows; `where` is "k" if it was
    found in the rotation of the keys alone.

    Example:
        >>> print(Finding("off-by-one", "wrong", "Position 0 is turned.", {"shift": 1.0}))
        wrong  off-by-one: Position 0 is turned.
               measured: shift 1
    """

    code: str
    severity: str
    sentence: str
    evidence: dict[str, object] = field(default_factory=dict)
    cause: str = ""
    since: int | None = None
    where: str = ""

    def __str__(self) -> str:
        where = f" (in {self.where})" if self.where else ""
        lines = [f"{self.severity:5}  {self.code}{where}: {self.sentence}"]
        lines += [f"       {name}: {text}" for name, text in self._details()]
        return "\n".join(lines)

    def _details(self) -> Iterator[tuple[str, str]]:
        if self.since is not None:
            yield "since position", str(self.since)
        if self.evidence:
            yield "measured", ", ".join(f"{k} {_number(v)}" for k, v in self.evidence.items())
        if self.cause:
            yield "usual cause", self.cause


@dataclass(frozen=True)
class Report:
    """What `diagnose` found; numbers first, words when printed.

    `layout`, `base`, `inv_freq`, `rotary_dim`, `direction` and `attention_factor` describe the
    rotation as measured and are None where that makes no sense. `inv_freq` is float64, rad/token,
    in the order of the pairs. `factor` is what geometric frequencies are divided by. `direction` is
    +1 for counterclockwise, -1 for clockwise. `positions` is how many positions, from 0 on, were
    probed. `ok` says that no finding is "wrong".

    Example:
        >>> Report(head_dim=4, findings=(Finding("not-linear", "wrong", "Twice x is new."),)).ok
        False
    """

    head_dim: int
    layout: str | None = None
    base: float | None = None
    factor: float | None = None
    inv_freq: Tensor | None = None
    rotary_dim: int | None = None
    direction: int | None = None
    attention_factor: float | None = None
    positions: int | None = None
    profile: str | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Say whether nothing is wrong; notes do not count."""
        return not any(finding.severity == "wrong" for finding in self.findings)

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the findings, in their order."""
        return tuple(finding.code for finding in self.findings)

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self._rows())
        lines = [self._verdict(), *(f"  {name:{width}}  {text}" for name, text in self._rows())]
        return "\n".join([*lines, *map(str, self.findings)])

    def _repr_html_(self) -> str:
        """Return the table for a notebook; colors are the book's, where the page defines them."""
        tone = "var(--rope-score, #00734F)" if self.ok else "var(--rope-k, #D55E00)"
        cell = "text-align: left; padding: 0.15rem 1rem 0.15rem 0; background: none; "
        line = f"{cell}border-top: 1px solid var(--rope-line, #8884); vertical-align: top;"
        rows = "".join(
            f'<tr><th scope="row" style="{line} font-weight: normal;">{_escape(name)}</th>'
            f'<td style="{line}">{_escape(text)}</td></tr>'
            for name, text in self._rows()
        )
        return (
            f'<div class="rope-report" style="border-left: 4px solid {tone}; padding: 0.5rem '
            f'0.75rem; color: inherit; background: var(--rope-panel, transparent);">'
            f"<strong>{_escape(self._verdict())}</strong>"
            f'<table style="border-collapse: collapse; margin: 0.5rem 0;"><tbody>{rows}</tbody>'
            f"</table>{''.join(map(_finding_html, self.findings))}</div>"
        )

    def _verdict(self) -> str:
        if not self.ok:
            return f"This rotation is wrong: {self.codes[0]}."
        return "This rotation is right" + (", with notes." if self.findings else ".")

    def _rows(self) -> list[tuple[str, str]]:
        turns = {1: "+1, counterclockwise", -1: "-1, clockwise"}
        rows = [
            ("layout", self.layout and f"{self.layout}, {_LAYOUTS[self.layout]}"),
            ("rotary_dim", self.rotary_dim and f"{self.rotary_dim} of {self.head_dim}"),
            ("inv_freq", self.profile),
            ("direction", turns.get(self.direction)),
            ("attention_factor", _number(self.attention_factor)),
            ("positions", self.positions and f"0 to {self.positions - 1} probed"),
        ]
        return [(name, text or "not measured") for name, text in rows]


def _finding_html(finding: Finding) -> str:
    tone = "--rope-k, #D55E00" if finding.severity == "wrong" else "--rope-line, #8888"
    where = f" in {finding.where}" if finding.where else ""
    details = "".join(
        f'<br><span style="color: var(--rope-neutral-text, inherit);">{_escape(name)}:</span> '
        f"{_escape(text)}"
        for name, text in finding._details()
    )
    return (
        f'<p style="border-left: 2px solid var({tone}); padding-left: 0.5rem; margin: 0.5rem 0;">'
        f"<strong>{_escape(finding.severity + where)}</strong> <code>{_escape(finding.code)}</code>"
        f"<br>{_escape(finding.sentence)}{details}</p>"
    )


def _escape(text: str) -> str:
    return html.escape(str(text))


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)


# What goes in


def from_tables(apply: Callable, tables: Callable) -> tuple[Rotate, Rotate]:
    """Make rotations of q and of k from `apply(q, k, cos, sin)` and `tables(x, position_ids)`.

    This is how the models of transformers are cut: `apply_rotary_pos_emb` and a rotary module.

    Args:
        apply: returns `(q, k)` rotated.
        tables: returns `(cos, sin)` for `position_ids` of shape `(batch, seq_len)`.

    Returns:
        The pair that `diagnose` takes.

    Example:
        >>> from ropelib import apply_rotary, cos_sin, inv_freq
        >>> def apply(q, k, cos, sin):
        ...     return (apply_rotary(x, cos, sin, layout="half") for x in (q, k))
        >>> rotate_q, rotate_k = from_tables(apply, lambda x, ids: cos_sin(ids, inv_freq(64)))
        >>> diagnose((rotate_q, rotate_k)).layout
        'half'
    """
    return from_module(lambda q, k, position_ids: apply(q, k, *tables(q, position_ids)))


def from_module(module: Callable) -> tuple[Rotate, Rotate]:
    """Make rotations of q and of k from `module(q, k, position_ids)`, which returns both.

    Args:
        module: is called with `position_ids` of shape `(batch, seq_len)`.

    Returns:
        The pair that `diagnose` takes.

    Example:
        >>> from ropelib import RotaryEmbedding
        >>> diagnose(from_module(RotaryEmbedding(64, layout="half"))).layout
        'half'
    """

    def rotate(index: int, x: Tensor, position_ids: Tensor) -> Tensor:
        if position_ids.dim() == 1:
            position_ids = position_ids.expand(len(x), -1)
        # The other of the two is noise, so that mixing them up cannot go unseen.
        inputs = [x, _random(*x.shape, like=x)]
        return tuple(module(*(inputs if index == 0 else inputs[::-1]), position_ids))[index]

    return (lambda x, ids: rotate(0, x, ids)), (lambda x, ids: rotate(1, x, ids))


def seq_first(rotate: Rotate) -> Rotate:
    """Make a rotation from one that takes x as `(batch, seq_len, num_heads, head_dim)`.

    Args:
        rotate: `rotate(x, position_ids)` in that order of axes, as torchtune and Meta have it.

    Returns:
        The same for `(batch, num_heads, seq_len, head_dim)`.

    Example:
        >>> x = torch.zeros(1, 3, 5, 64)  # 3 heads, 5 tokens
        >>> seq_first(lambda x, position_ids: print(x.shape) or x)(x, torch.arange(5)).shape
        torch.Size([1, 5, 3, 64])
        torch.Size([1, 3, 5, 64])
    """

    def rotate_transposed(x: Tensor, position_ids: Tensor) -> Tensor:
        rotated = rotate(x.transpose(1, 2), position_ids)
        return rotated.transpose(1, 2) if isinstance(rotated, Tensor) else rotated

    return rotate_transposed


def diagnose(
    rotate: Rotate | tuple[Rotate, Rotate],
    *,
    head_dim: int = 64,
    decode: Rotate | None = None,
    expected: object = None,
    inv_freq: Tensor | Sequence[float] | None = None,
    attention_factor: float | None = None,
    layout: str | None = None,
    max_position: int = 8192,
    device: str | torch.device = "cpu",
) -> Report:
    """Say what a rotation is, or which bug it has, by measuring what it does to vectors.

    Args:
        rotate: `rotate(x, position_ids)` returns x rotated; x is `(batch, num_heads, seq_len,
            head_dim)`, `position_ids` int64 `(seq_len,)` or `(batch, seq_len)`. Or a pair of such
            functions, for q and for k, or what `from_module` makes a pair of: a module or function
            whose first arguments are named q and k. `from_tables` and `seq_first` adapt others.
        head_dim: width of the vectors that it is given.
        decode: the same for generation, if that is another function: it is called with
            successive chunks of one sequence (eight tokens, eight times one token, the rest) and
            returns each chunk as the cache keeps it. It must equal the full pass (of k, where
            `rotate` is a pair).
        expected: what the rotation is meant to be: an object with `inv_freq`, `attention_factor`
            and `layout`, each a value or a method, as `RopeConfig` has them.
        inv_freq: expected frequencies `(num_pairs,)`, rad/token; takes the place of
            `expected.inv_freq`, as the next two do.
        attention_factor: expected factor.
        layout: expected layout.
        max_position: positions 0 .. max_position - 1 are probed, or as many of them as the rotation
            takes; bfloat16 loses positions from 257 on, TF32 from 2049 on.
        device: where the vectors lie.

    Returns:
        `Report`. A rotation that breaks on ordinary input is diagnosed where the break names the
        bug, and refused otherwise.

    Raises:
        TypeError: if `rotate` or `decode` is not callable, cannot be called with `(x,
            position_ids)`, or returns no tensor.
        ValueError: if it raises, or would end the program, or returns a tensor of another shape or
            no finite numbers; `head_dim` is below 2 or `max_position` below 32; `layout` is
            unknown.

    Convention:
        Right means: the score of a rotated q and k depends on their distance alone, position 0 is
        left alone up to a constant factor, and every way to call the rotation agrees.

    Example:
        >>> from ropelib import apply_rotary, cos_sin, inv_freq
        >>> def rotate(x, position_ids):
        ...     return apply_rotary(x, *cos_sin(position_ids, inv_freq(64)), layout="half")
        >>> print(diagnose(rotate))
        This rotation is right.
          layout            half, pairs (i, i + rotary_dim / 2)
          rotary_dim        64 of 64
          inv_freq          geometric with base 10000
          direction         +1, counterclockwise
          attention_factor  1
          positions         0 to 8191 probed
        >>> diagnose(lambda x, position_ids: rotate(x, position_ids.bfloat16().float())).codes
        ('positions-in-bfloat16',)
    """
    rotations = tuple(rotate) if isinstance(rotate, (tuple, list)) else _adapted(rotate)
    if len(rotations) not in (1, 2):
        raise TypeError(f"rotate must be a function or a pair of them, got {len(rotations)}")
    if head_dim < 2:
        raise ValueError(f"head_dim must be at least 2, got {head_dim}")
    if max_position < 32:
        raise ValueError(f"max_position must be at least 32, got {max_position}")
    expectation = _Expectation.of(expected, inv_freq, attention_factor, layout)
    probes = [
        _Probe(each, name, head_dim, device)
        for each, name in zip(rotations, ("rotate", "rotate of k"), strict=False)
    ]
    if decode is not None:
        decode = _Probe(_adapted(decode)[-1], "decode", head_dim, device)
    try:
        return _examine(probes, decode, max_position, expectation)
    except _Exit as error:
        raise ValueError(str(error)) from error.__cause__


def _adapted(rotate: Callable) -> tuple[Rotate, ...]:
    """Return `rotate` alone, or, if its arguments are q, k and positions, what it does to both."""
    try:
        signature = _signature(rotate)
        signature.bind("q", "k", "position_ids")
    except (TypeError, ValueError):  # not callable, another number of arguments, or a built-in
        return (rotate,)
    takes_both = tuple(signature.parameters)[:2] in (("q", "k"), ("query", "key"))
    return from_module(rotate) if takes_both else (rotate,)


def _signature(rotate: Callable) -> inspect.Signature:
    # torch's modules are called with anything, and hand it on.
    return inspect.signature(rotate.forward if isinstance(rotate, torch.nn.Module) else rotate)


def _examine(
    probes: list["_Probe"],
    decode: "_Probe | None",
    max_position: int,
    expectation: "_Expectation",
) -> Report:
    reports, measured = [], []
    for probe in probes:
        finding = _broken_call(probe)
        if finding is not None:
            return Report(probe.head_dim, findings=(_in_k(finding, probe),))
        measured.append(_Measured(probe, max_position, decode if probe is probes[-1] else None))
        reports.append(_report(measured[-1], expectation))
    if len(reports) == 1:
        return reports[0]
    return _joint_report(reports, measured)


# Probes: each calls the rotation and returns numbers


class _Probe:
    """Calls a rotation, and complains in words if that fails."""

    def __init__(self, rotate: Rotate, name: str, head_dim: int, device):
        if not callable(rotate):
            raise TypeError(f"{name} must be callable, got {rotate!r}")
        self.rotate, self.name, self.head_dim, self.device = rotate, name, head_dim, device
        self.changes_input = self.wants_rows = False

    def __call__(self, x: Tensor, position_ids: Tensor | Sequence) -> Tensor:
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
            raise (_CallError if isinstance(error, Exception) else _Exit)(message) from error
        if not isinstance(rotated, Tensor):
            hint = "; see from_tables and from_module" if isinstance(rotated, tuple) else ""
            kind = "None" if rotated is None else type(rotated).__name__
            raise TypeError(f"{self.name} must return a tensor, got {kind} for {given}{hint}")
        if rotated.shape != x.shape:
            raise _CallError(
                f"{self.name} must keep the shape of x, got {tuple(rotated.shape)} for {given}"
            )
        if not rotated.abs().max().isfinite():  # isfinite of each takes eight times as long
            raise ValueError(f"{self.name} must return finite numbers, got others for {given}")
        self.changes_input |= not torch.equal(x, before)
        return rotated.cpu()

    def _check_signature(self, *args) -> None:
        try:
            _signature(self.rotate).bind(*args)
        except TypeError as error:
            raise TypeError(
                f"{self.name} must take (x, position_ids): {error}; "
                "from_tables and from_module adapt other signatures"
            ) from error
        except ValueError:  # built-in functions tell no signature
            pass


class _CallError(ValueError):
    """The rotation raised, or returned another shape."""


class _Exit(Exception):
    """The rotation would end the program; no probe takes that for a refusal of its input."""


def _broken_call(probe: _Probe) -> Finding | None:
    """Try an ordinary call; where it breaks, return the bug that the break names, or raise."""
    d = probe.head_dim
    x = _random(1, 3, 5, d)
    try:
        probe(x, range(5))
        return None
    except _CallError as error:
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
    except _CallError:
        square = None
    if square is not None and _spread(square, axis=1) > _SAME > _spread(square, axis=2):
        return _by_head({"raised": str(first).partition("\n")[0]})
    probe.wants_rows = True  # positions with a batch axis are what some insist on
    try:
        probe(x, range(5))
        return None
    except _CallError:
        raise first from first.__cause__


def _by_head(evidence: dict[str, object]) -> Finding:
    return Finding(
        "rotates-by-head",
        "wrong",
        "The head decides the angle where the token should: the axis that the tables broadcast "
        "along is that of the heads, which fits only while there are as many heads as tokens.",
        evidence,
        "x is (batch, seq_len, num_heads, head_dim) and the tables (seq_len, num_pairs) lack an "
        "axis for the heads",
    )


class _Measured:
    """One rotation as the probes saw it, and what follows from that by arithmetic."""

    def __init__(self, probe: _Probe, max_position: int, decode: _Probe | None = None):
        self.probe, self.decode, self.head_dim = probe, decode, probe.head_dim
        self.obeys = _obedience(probe)
        self.limit, self.limit_error, self.permutation = max_position, "", None
        while True:
            try:
                self.far = self.curves(torch.float32)
                break
            except ValueError as error:
                # The end of a table, unless it breaks on small positions too.
                if self.limit <= 32:
                    raise
                self.limit, self.limit_error = self.limit // 2, str(error).partition("\n")[0]
        self.permutation = _permutation(self.far.matrices[0])
        if self.permutation is not None:
            self.far = self.curves(torch.float32)
        self.near = self.curves(torch.float32, end=min(129, self.limit))

    def curves(self, dtype: torch.dtype, end: int | None = None) -> "_Curves":
        """Measure at few positions below `end`; see `_positions`."""
        end = end or self.limit
        if self.obeys != "all":  # then only what stands in its slot can be seen
            end = min(end, 129)
        positions = _positions(end)
        ids = torch.arange(end) if self.obeys != "all" else torch.tensor(positions)
        curves = _measure(self.probe, ids, dtype)
        if self.permutation is not None:
            curves = replace(curves, matrices=curves.matrices[:, self.permutation])
        return curves if self.obeys == "all" else curves.at(positions)

    # The description: per rotating dimension, then per pair

    @cached_property
    def entries(self) -> Tensor:
        """Largest size of each entry of the matrices, but the diagonal, over all positions."""
        return self.far.matrices.abs().amax(0).fill_diagonal_(0)

    @cached_property
    def partner(self) -> dict[int, int] | None:
        """From each rotating dimension to the one it is mixed with; None if there is no such."""
        present = self.entries > 1e-7 * float(self.far.matrices.abs().max())
        if present.sum(1).max() > 1:
            return None
        partner = {r: int(row.nonzero()) for r, row in enumerate(present) if row.any()}
        return partner if all(partner.get(b) == a for a, b in partner.items()) else None

    @cached_property
    def dims(self) -> list[int]:
        """The rotating dimensions: the first of every pair, then in that order the second."""
        firsts = [a for a, b in sorted(self.partner.items()) if a < b]
        return firsts + [self.partner[a] for a in firsts]

    @property
    def num_pairs(self) -> int:
        return len(self.dims) // 2

    def phases(self, curves: "_Curves") -> Tensor:
        """Angle of each rotating dimension at each position, in (-pi, pi]."""
        diagonal, off = self._rows(curves)
        return torch.atan2(off, diagonal)

    def lengths(self, curves: "_Curves") -> Tensor:
        return torch.hypot(*self._rows(curves))

    def _rows(self, curves: "_Curves") -> tuple[Tensor, Tensor]:
        rows, columns = self.dims, [self.partner[a] for a in self.dims]
        sign = torch.ones(len(rows), dtype=torch.float64)
        sign[: self.num_pairs] = -1  # -sin stands in the row of the first
        return curves.matrices[:, rows, rows], curves.matrices[:, rows, columns] * sign

    @cached_property
    def start(self) -> Tensor:
        """Angle of each rotating dimension at position 0; 0 in a right rotation."""
        return self.phases(self.near)[0]

    @cached_property
    def speeds(self) -> Tensor:
        """Signed frequency of each rotating dimension, rad/token."""
        speeds = _speeds(self.phases(self.near), self.near.positions)
        if self.noise > 1e-5 and not self.depends_on_length:
            # Coarse tables: a longer lever is more exact, if positions hold that far.
            longer = _speeds(self.phases(self.far), self.far.positions)
            if self.residual(self.far, longer).max() < 0.05:
                return longer
        return speeds

    def residual(self, curves: "_Curves", speeds: Tensor) -> Tensor:
        phases = self.phases(curves)
        return _wrap(phases - phases[0] - curves.positions.double()[:, None] * speeds).abs()

    @cached_property
    def scale(self) -> Tensor:
        """By what each rotating dimension is multiplied, over all near positions."""
        return self.lengths(self.near).mean(0)

    @cached_property
    def noise(self) -> float:
        lengths = self.lengths(self.near)
        return float((lengths / self.scale - 1).abs().max())

    @cached_property
    def resting(self) -> list[int]:
        return [r for r in range(self.head_dim) if r not in self.partner]

    @cached_property
    def depends_on_length(self) -> bool:
        """Whether the same positions turn otherwise in the company of far ones."""
        near = self.near.matrices
        return (
            self.obeys == "all"
            and float((self.far.matrices[: len(near)] - near).abs().max()) > _SAME
        )

    @cached_property
    def pairing(self) -> "_Pairing":
        return _Pairing.of(self.dims[: self.num_pairs], self.partner, self.head_dim)

    @cached_property
    def direction(self) -> int | None:
        signs = set(self.speeds[: self.num_pairs].sign().tolist()) - {0.0}
        return int(signs.pop()) if len(signs) == 1 else None

    @cached_property
    def inv_freq(self) -> Tensor:
        """Frequencies of the pairs in their order; pairs that stand still are zeros at the end."""
        speeds = self.speeds[: self.num_pairs]
        speeds = speeds * self.direction if self.direction else speeds
        return torch.nn.functional.pad(speeds, (0, self.pairing.width - self.num_pairs))

    @cached_property
    def fit(self) -> "_Fit":
        tolerance = 5e-6 + 4 * self.noise
        return _Fit.of(self.inv_freq[: self.num_pairs], self.pairing.width, tolerance)

    @cached_property
    def relativity_error(self) -> float:
        """How much scores at one distance differ, from near positions 0 .. 8."""
        m = self.near.matrices[:9]
        products = torch.einsum("mrc,nre->mnce", m, m)
        return max(
            float(
                (products[t:, t:].diagonal(k) - products[: 9 - t, : 9 - t].diagonal(k)).abs().max()
            )
            for t in (1, 4)
            for k in (0, 1, 3)
        )


@dataclass
class _Curves:
    """`matrices[p]` is what the rotation does at `positions[p]`."""

    positions: Tensor
    matrices: Tensor  # (num_positions, head_dim, head_dim), float64
    added: float  # largest entry of what zero becomes
    curvature: float  # departure from linearity
    dtype: torch.dtype  # of the result

    def at(self, positions: Sequence[int]) -> "_Curves":
        ids = torch.tensor(positions)
        return replace(self, positions=ids, matrices=self.matrices[ids])

    def at_most(self, count: int) -> "_Curves":
        return replace(self, positions=self.positions[:count], matrices=self.matrices[:count])


def _positions(end: int) -> list[int]:
    """Few positions below `end`, dense at first, later around powers of two and odd between them.

    Rounding shows there first, and each is at most twice the one before, as `_speeds` needs it.
    """
    powers = [2**k for k in range(3, end.bit_length())]
    around = (m for p in powers for m in (p - 1, p, p + 1, p + p // 2 + 1))
    return sorted({*range(min(end, 9)), *(m for m in around if m < end), end - 1})


def _measure(probe: _Probe, ids: Tensor, dtype: torch.dtype) -> _Curves:
    """Rotate every basis vector, zero and one random vector at each position; one call."""
    d = probe.head_dim
    vectors = torch.cat((torch.eye(d), torch.zeros(1, d), 10 * _random(1, d)))
    vectors = torch.cat((vectors, vectors[-1:]))[: _num_heads(d + 2, len(ids))].to(dtype)
    x = vectors[None, :, None, :].expand(1, -1, len(ids), -1)
    rotated = probe(x, ids)
    images = rotated[0].double().transpose(0, 1)  # (num_positions, vectors, head_dim)
    zero = images[:, d : d + 1]
    matrices = (images[:, :d] - zero).transpose(1, 2)
    guess = torch.einsum("prc,c->pr", matrices, vectors[d + 1].double())
    length = float(guess.norm(dim=-1).max()) or 1.0
    curvature = float((images[:, d + 1] - zero[:, 0] - guess).abs().max()) / length
    return _Curves(ids, matrices, float(zero.abs().max()), curvature, rotated.dtype)


def _num_heads(num_heads: int, num_tokens: int) -> int:
    """As many heads as are wanted, or one more: they must not be mistaken for tokens."""
    return num_heads + (num_heads == num_tokens)


def _obedience(probe: _Probe) -> str:
    """Say what of `position_ids` the rotation follows: "all", "differences" or "nothing"."""
    x = _random(1, 3, 1, probe.head_dim).expand(1, 3, 7, probe.head_dim)
    counted = probe(x, range(7))
    if _spread(counted, axis=2) < _SAME:  # nothing turns in its slot: ids may still count
        return "all"
    if _far(counted, probe(x, range(5, 12))) > _SAME:
        return "all"
    return "differences" if _far(counted, probe(x, [0, 6, 1, 4, 2, 5, 3])) > _SAME else "nothing"


def _permutation(matrix: Tensor) -> list[int] | None:
    """Return the rows in the order that makes `matrix` diagonal, if it only moves dimensions."""
    if matrix.diagonal().abs().min() > 1e-3 * matrix.abs().max():
        return None
    large = matrix > 0.5 * matrix.amax()
    others = matrix.masked_fill(large, 0).abs().max()
    if (
        others > 1e-4 * matrix.amax()
        or not (large.sum(0) == 1).all()
        or not (large.sum(1) == 1).all()
    ):
        return None
    return large.int().argmax(0).tolist()


def _speeds(phases: Tensor, positions: Tensor) -> Tensor:
    """Frequencies from angles known up to whole turns: each position tells the turns of the next.

    Position 1 tells the frequency where it is below pi; at twice the position the same error in
    angle is half the error in frequency.
    """
    turned = _wrap(phases - phases[0])
    speeds = turned[1] / float(positions[1])
    for p in range(2, len(positions)):
        m = float(positions[p])
        speeds = speeds + _wrap(turned[p] - m * speeds) / m
    return speeds


@dataclass(frozen=True)
class _Pairing:
    """Where the pairs lie: which layout, of how many pairs, from which dimension on."""

    layout: str | None
    width: int  # pairs that the layout has room for, at least those that rotate
    offset: int

    @classmethod
    def of(cls, firsts: list[int], partner: dict[int, int], head_dim: int) -> "_Pairing":
        offset, count = firsts[0], len(firsts)
        gaps = {partner[a] - a for a in firsts}
        if len(gaps) == 1:
            gap = gaps.pop()
            if gap == 1 and firsts == [offset + 2 * i for i in range(count)]:
                return cls("interleaved", count, offset)
            if gap >= count and firsts == [offset + i for i in range(count)]:
                return cls("half", gap, offset)
        return cls(None, count, offset)


@dataclass(frozen=True)
class _Fit:
    """The geometric series nearest to frequencies, if there is one."""

    base: float | None = None
    factor: float | None = None
    jump: float | None = None  # by what the slow end is divided, if both ends are geometric alike
    split: tuple[int, int] = (0, 0)  # pairs at the fast end and at the slow end

    @classmethod
    def of(cls, speeds: Tensor, width: int, tolerance: float) -> "_Fit":
        if len(speeds) < 2 or (speeds <= 0).any():
            return cls()
        logs = speeds.log()
        steps = torch.arange(len(speeds), dtype=torch.float64)
        exact = abs(float(logs[0])) < tolerance
        if exact:  # starts at 1, as it should: one unknown less
            slope = float((logs * steps).sum() / (steps * steps).sum())
            start = 0.0
        else:
            centered = steps - steps.mean()
            slope = float((logs * centered).sum() / (centered * centered).sum())
            start = float(logs.mean() - slope * steps.mean())
        if (logs - start - slope * steps).abs().max() < tolerance:
            return cls(math.exp(-slope * width), math.exp(-start))
        return cls._two_ends(logs, width, tolerance)

    @classmethod
    def _two_ends(cls, logs: Tensor, width: int, tolerance: float) -> "_Fit":
        """Look for one slope at both ends, with a step between: YaRN, Llama 3."""
        slopes = logs.diff()
        same = [(slopes - slopes[end]).abs() < 4 * tolerance for end in (0, -1)]
        fast = int((~same[0]).int().argmax()) if (~same[0]).any() else len(slopes)
        slow = int((~same[1]).flip(0).int().argmax()) if (~same[1]).any() else len(slopes)
        if fast < 2 or slow < 2 or abs(float(slopes[0] - slopes[-1])) > 4 * tolerance:
            return cls()
        slope = float(slopes[:fast].mean())
        jump = float(logs[0] - logs[-1] + slope * (len(logs) - 1))
        if jump < 0 and logs[0] > -tolerance:  # slow pairs faster than unscaled: another series
            return cls()
        return cls(
            math.exp(-slope * width),
            math.exp(-float(logs[0])),
            math.exp(jump),
            (fast + 1, slow + 1),
        )

    @property
    def is_geometric(self) -> bool:
        return self.base is not None and self.jump is None


def _random(*shape: int, like: Tensor | None = None) -> Tensor:
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(0))
    return x if like is None else x.to(like.device, like.dtype)


def _wrap(angle: Tensor) -> Tensor:
    return torch.remainder(angle + math.pi, 2 * math.pi) - math.pi


def _far(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).abs().max())


def _spread(x: Tensor, axis: int) -> float:
    return _far(x, x.narrow(axis, 0, 1))


# Rules: each reads the measurements and may explain them; the most specific come first


def _report(m: _Measured, expectation: "_Expectation") -> Report:
    finding = next(filter(None, (rule(m) for rule in _CAUSES)), None)
    described = finding is None or finding.code not in _SHAPELESS
    wrong = [finding] if finding else []
    if described and not wrong:
        wrong += filter(None, [expectation.mismatch(m)])
    if finding is None:
        wrong += filter(None, [rule(m) for rule in _CALLS])
    notes = list(filter(None, (rule(m) for rule in _NOTES))) if described and not wrong else []
    findings = tuple(_in_k(f, m.probe) for f in (*wrong, *notes))
    if not described or not m.partner:
        return Report(m.head_dim, positions=m.limit, findings=findings)
    return Report(
        head_dim=m.head_dim,
        layout=m.pairing.layout,
        base=m.fit.base,
        factor=m.fit.factor,
        inv_freq=m.inv_freq,
        rotary_dim=2 * m.pairing.width,
        direction=m.direction,
        attention_factor=_snap(float(m.scale.mean())),
        positions=int(m.far.positions[-1]) + 1,
        profile=_profile(m),
        findings=findings,
    )


def _in_k(finding: Finding, probe: _Probe) -> Finding:
    return replace(finding, where="k") if probe.name == "rotate of k" else finding


def _snap(value: float) -> float:
    return 1.0 if abs(value - 1) < 1e-6 else value


def _profile(m: _Measured) -> str:
    fit, speeds = m.fit, m.inv_freq[: m.num_pairs]
    if fit.is_geometric:
        factor = "" if abs(fit.factor - 1) < 1e-5 else f", divided by {fit.factor:.6g}"
        return f"geometric with base {fit.base:.6g}{factor}"
    if fit.jump is not None:
        slow = fit.factor * fit.jump
        return (
            f"not geometric: base {fit.base:.6g} at both ends, the fastest {fit.split[0]} pairs "
            f"divided by {fit.factor:.6g}, the slowest {fit.split[1]} by {slow:.6g}"
        )
    if m.num_pairs == 1:
        return f"one pair, {float(speeds[0]):.6g} rad/token"
    return f"not geometric: {float(speeds[0]):.6g} to {float(speeds[-1]):.6g} rad/token"


def _wrong(code: str, sentence: str, cause: str, since: int | None = None, **evidence) -> Finding:
    named = {name.replace("_", " "): value for name, value in evidence.items()}
    return Finding(code, "wrong", sentence, named, cause, since)


def _note(code: str, sentence: str, **evidence) -> Finding:
    named = {name.replace("_", " "): value for name, value in evidence.items()}
    return Finding(code, "note", sentence, named)


def _not_deterministic(m: _Measured) -> Finding | None:
    again = m.curves(torch.float32).matrices
    change = _far(again, m.far.matrices)
    if change > 1e-6:
        return _wrong(
            "not-deterministic",
            "The same call gives different results.",
            "dropout, noise, or a state that earlier calls have changed",
            largest_change=change,
        )


def _heads_differ(m: _Measured) -> Finding | None:
    """One vector in every head, as many heads as the matrices are measured with."""
    num_tokens = len(m.far.positions)
    num_heads = _num_heads(m.head_dim + 2, num_tokens)
    x = _random(1, 1, 1, m.head_dim).expand(1, num_heads, num_tokens, -1)
    rotated = m.probe(x, m.far.positions)
    if _spread(rotated, axis=1) > _SAME:
        heads = (rotated - rotated[:, :1]).abs().amax((0, 2, 3)) > _SAME
        return _wrong(
            "heads-differ",
            "Heads are turned differently: a vector comes out of one head otherwise than out of "
            "another at the same position. If that is meant, look at one head at a time.",
            "frequencies or tables with an axis of heads, or a slice that rotates only some heads",
            largest_difference=_spread(rotated, axis=1),
            heads_unlike_the_first=int(heads.sum()),
            of=num_heads,
        )


def _adds_a_vector(m: _Measured) -> Finding | None:
    if m.far.added > 1e-6:
        return _wrong(
            "adds-a-vector",
            "A vector of zeros does not stay zero: positions are added, not turned into angles.",
            "an additive (sinusoidal or learned) encoding, or a bias after the rotation",
            largest_entry=m.far.added,
        )


def _not_linear(m: _Measured) -> Finding | None:
    if m.far.curvature > 0.02:  # bfloat16 inside stays far below
        return _wrong(
            "not-linear",
            "The result for a sum of vectors is not the sum of the results.",
            "a normalization inside the rotation; it belongs before it",
            relative_error=m.far.curvature,
        )


def _does_not_rotate(m: _Measured) -> Finding | None:
    matrices = m.far.matrices
    if _spread(matrices, axis=0) < 1e-6:
        return _wrong(
            "does-not-rotate",
            "Every position gives the same result.",
            "the rotated tensor is computed and then dropped, or sin is all zero",
            largest_change=_spread(matrices, axis=0),
        )


def _position_ids_ignored(m: _Measured) -> Finding | None:
    if m.obeys == "nothing":
        return _wrong(
            "position-ids-ignored",
            "Tokens are turned by their slot in the tensor, whatever position_ids say; with a "
            "cache every step starts again at 0, and left padding shifts all positions.",
            "positions made inside by arange(seq_len)",
        )
    if m.obeys == "differences":
        return _wrong(
            "positions-restart",
            "Positions are counted from the first of each call, so that a later chunk is turned "
            "as if it were the first.",
            "position_ids - position_ids[0], or an offset that is not handed on",
        )


def _sin_and_cos_swapped(m: _Measured) -> Finding | None:
    if m.partner and float((m.start.abs() - math.pi / 2).abs().max()) < 1e-3:
        return _wrong(
            "sin-and-cos-swapped",
            "At position 0 each pair is turned by a quarter turn, and turns back from there: "
            "cosine stands where sine belongs.",
            "tables handed over as (sin, cos), or unpacked in the wrong order",
            angle_at_position_0=float(m.start[0]),
        )


def _pairs_disagree(m: _Measured) -> Finding | None:
    """The two dimensions of a pair must turn by one angle."""
    if not m.partner:
        return None
    first, second = m.speeds.chunk(2)
    tolerance = 1e-4 * m.speeds.abs().amax() + 2 * m.noise / 128
    if bool(((first - second).abs() < tolerance).all()):
        return None
    if bool(((first + second).abs() < tolerance).all()):
        return _wrong(
            "minus-sign-missing",
            "Both dimensions of a pair take the other one with the same sign: that is no rotation, "
            "and lengths change.",
            "a rotated copy (b, a) where (-b, a) is needed",
            largest_stretch_at_position_1=float(torch.linalg.matrix_norm(m.near.matrices[1], 2)),
        )
    by_dim = dict(zip(m.dims, m.speeds.tolist(), strict=True))
    speeds = torch.tensor([by_dim[r] for r in sorted(by_dim)], dtype=torch.float64)
    count = len(speeds) // 2
    evidence = {
        "frequency of dimension 0": float(speeds[0]),
        "of its partner": by_dim[m.partner[min(by_dim)]],
        "change of scores at one distance": m.relativity_error,
    }
    arranged = {
        "half": bool(((speeds[:count] - speeds[count:]).abs() < tolerance).all()),
        "interleaved": bool(((speeds[0::2] - speeds[1::2]).abs() < tolerance).all()),
    }
    for angles, pairs in (("half", "interleaved"), ("interleaved", "half")):
        if arranged[angles] and m.pairing.layout == pairs:
            how = {"half": "tiled (0 1 2 .. 0 1 2 ..)", "interleaved": "repeated (0 0 1 1 ..)"}
            return Finding(
                f"{angles}-angles-on-{pairs}-pairs",
                "wrong",
                f"Pairs are {_LAYOUTS[pairs][6:]}, but their angles are {how[angles]}: the two "
                "dimensions of a pair turn by different angles, so lengths change and scores "
                "depend on more than the distance.",
                evidence,
                f"cos and sin in the order of the {angles} layout beside a rotated copy in the "
                f"{pairs} one",
            )
    return Finding(
        "angles-differ-within-pairs",
        "wrong",
        "The two dimensions of a pair turn by different angles.",
        evidence,
        "cos and sin are arranged in another order than the pairs",
    )


def _not_pairwise(m: _Measured) -> Finding | None:
    if not m.partner:
        return _wrong(
            "not-pairwise",
            "Dimensions do not turn in pairs: what comes out of one depends on none or on more "
            "than one other.",
            "another encoding, or two layouts mixed in one rotation",
            dimensions_mixed=int((m.entries > 1e-7).sum(1).max()) + 1,
            change_of_scores_at_one_distance=m.relativity_error,
        )


def _shifted(m: _Measured) -> Finding | None:
    # The slowest pairs tell a shift without ambiguity, the fastest exactly.
    start, speeds = m.start[: m.num_pairs], m.speeds[: m.num_pairs]
    if start.abs().max() < 1e-4:
        return None
    weights = speeds.abs()
    slow = weights <= weights.amax() / 2 if m.num_pairs > 1 else weights > 0
    shift = float((start * speeds * slow).sum() / (speeds**2 * slow).sum())
    if _wrap(start - shift * speeds).abs().max() > 1e-2:
        return _wrong(
            "turned-at-position-0",
            "Position 0 is not left alone, and no shift of positions explains it.",
            "an offset added to the angles",
            largest_angle_at_position_0=float(start.abs().max()),
        )
    code = "off-by-one" if abs(abs(shift) - 1) < 1e-3 else "positions-shifted"
    return _wrong(
        code,
        f"Position 0 is turned as position {shift:.6g} should be, and so on: every position is "
        f"shifted by {shift:+.6g}. Keys cached by any other code, and a k or a decode step that is "
        "not shifted, do not fit.",
        "positions counted from 1, or the length after the new token taken as its position",
        since=0,
        shift=shift,
    )


def _scaled(m: _Measured) -> Finding | None:
    lengths = m.lengths(m.near)
    scale = float(m.scale.mean())
    if float((lengths / m.scale - 1).abs().max()) > 0.02:
        return _wrong(
            "norm-not-kept",
            "Lengths change with the position.",
            "cos and sin of different angles in one pair, tables that are interpolated, or a decay "
            "as in xPos, which is right only if q grows as k shrinks",
            smallest_length=float(lengths.min()),
            largest_length=float(lengths.max()),
        )
    if float((m.scale / scale - 1).abs().max()) > 0.02:
        return _wrong(
            "norm-not-kept",
            "Pairs are scaled differently.",
            "a weight on the tables",
            smallest_scale=float(m.scale.min()),
            largest_scale=float(m.scale.max()),
        )
    roots = {f"1 / sqrt({n})": n**-0.5 for n in (2, m.head_dim, 2 * m.num_pairs)}
    roots |= {f"{n} ** -0.25": n**-0.25 for n in (m.head_dim,)}
    for name, root in roots.items():
        if abs(scale / root - 1) < 1e-4 + m.noise:
            return _wrong(
                "norm-not-kept",
                f"Every vector is shortened to {name} of its length, which no attention factor is.",
                "the 1 / sqrt(head_dim) of the scores, or a normalization, moved into the rotation",
                scale=scale,
            )
    rest = [float(m.near.matrices[0, r, r]) for r in m.resting]
    if rest and abs(scale - 1) > 1e-3 and abs(max(rest) / scale - 1) < 1e-3:
        return _wrong(
            "norm-not-kept",
            "Dimensions that are not rotated are scaled as well, so this is no attention factor.",
            "x is scaled before or after the rotation",
            scale=scale,
        )


def _last_pair(m: _Measured) -> Finding | None:
    n, speeds = m.num_pairs, m.inv_freq[: m.num_pairs]
    missing = m.pairing.layout == "half" and m.pairing.width == n + 1
    if not missing and 2 * (n + 1) == m.head_dim and m.pairing.offset == 0 and m.fit.is_geometric:
        # Two dimensions are left over. A round base over all of head_dim means that they belong.
        over_rotary, over_head = m.fit.base, m.fit.base ** ((n + 1) / n)
        missing = not _is_round(over_rotary) and _is_round(over_head)
    if missing:
        return _wrong(
            "last-pair-not-rotated",
            "The slowest pair stands still while all others turn.",
            "a loop or a slice that ends one pair early",
            pairs=n,
            slowest_frequency=float(speeds[-1]),
        )


def _is_round(value: float) -> bool:
    return abs(float(f"{value:.1e}") / value - 1) < 2e-5


_ROUNDINGS = {  # from float64 to what is left of a number, and how many significant bits that is
    "bfloat16": (lambda t: t.bfloat16().double(), 8),
    "float16": (lambda t: t.half().double(), 11),
    "tf32": (lambda t: _round_to_bits(t, 11), 11),
}


def _round_to_bits(value: Tensor, bits: int) -> Tensor:
    mantissa, exponent = torch.frexp(value.double())
    return torch.ldexp((mantissa * 2**bits).round() / 2**bits, exponent)


def _lost_precision(m: _Measured) -> Finding | None:
    """Compare angles at far positions with what each way of losing precision would give."""
    if m.obeys != "all":
        return None
    if m.depends_on_length:
        return _explain(m, m.far, m.far.at_most(len(m.near.positions)), "")
    finding = _explain(m, m.far, m.near, "")
    for dtype in (torch.bfloat16, torch.float16):
        if finding is None:
            try:
                curves = m.curves(dtype)
            except (TypeError, ValueError):
                continue
            finding = _explain(m, curves, m.near, f" when x is {str(dtype)[6:]}")
    return finding


def _explain(m: _Measured, far: "_Curves", near: "_Curves", when: str) -> Finding | None:
    """Return None if angles of `far` are the position times the frequency that `near` shows."""
    phases, near_phases = (m.phases(curves)[:, : m.num_pairs] for curves in (far, near))
    positions = far.positions.double()[:, None]
    speeds = m.speeds[: m.num_pairs]
    if m.depends_on_length:
        speeds = _speeds(near_phases, near.positions)
    allowed = _ANGLE_ERROR + 3e-7 * positions * speeds.abs()

    def error(angles: Tensor) -> Tensor:
        return _wrap(phases - angles - phases[0]).abs()

    exact = error(positions * speeds)
    if bool((exact < allowed).all()):
        return None
    since = int(far.positions[(exact > allowed).any(1)][0])
    evidence = {"largest angle error": float(exact.max())}
    at_one = _wrap(near_phases[1] - near_phases[0])
    early = _speeds(near_phases[:9], near.positions[:9])
    for guess in _guesses(positions, speeds, at_one, early, m.limit, when):
        # Not all: a number that lies between two others may be rounded to either.
        if float((error(guess.angles) < allowed).double().mean()) > 0.97:
            since = guess.since or since
            return Finding(guess.code, "wrong", guess.sentence, evidence, guess.cause, since)
    return Finding(
        "angles-drift",
        "wrong",
        f"From position {since} on angles are not the position times the frequency{when}.",
        evidence,
        "angles summed step by step in low precision, or a table that ends",
        since,
    )


@dataclass
class _Guess:
    code: str
    angles: Tensor
    sentence: str
    cause: str
    since: int | None = None


def _guesses(
    positions: Tensor, speeds: Tensor, at_one: Tensor, early: Tensor, limit: int, when: str
) -> Iterator[_Guess]:
    """What the angles would be under each bug, the simplest first.

    `early` are the speeds of the first positions alone, which even a short table holds.
    """
    for name in ("bfloat16", "float16" if when else "tf32"):
        to_low, bits = _ROUNDINGS[name]
        places = len(to_low(torch.arange(limit)).unique())
        yield _Guess(
            f"positions-in-{name}",
            to_low(positions) * speeds,
            f"Positions are rounded to {bits} significant bits{when}: 0 .. {limit - 1} are only "
            f"{places} places, and neighbors from {2**bits} on cannot be told apart.",
            "a matrix product in TF32, or positions in float16; multiply elementwise in float32"
            if name == "tf32"
            else f"arange or position_ids in {name}, often by .to(x.dtype) or type_as",
        )
        for coarse in (positions, to_low(positions)):
            yield _Guess(
                f"frequencies-in-{name}",
                coarse * to_low(speeds),
                *_words_on_frequencies(bits, when),
            )
        for angles in (
            to_low(positions) * at_one,
            positions * at_one,
            to_low(positions) * to_low(speeds),
        ):
            yield _Guess(
                f"angles-in-{name}",
                to_low(angles),
                f"Angles are rounded to {bits} significant bits{when}: beyond {2**bits} rad they "
                "are known to whole radians at best.",
                "position_ids, inv_freq and their product share the low precision of a model",
            )
    for length in (2**k for k in range(4, limit.bit_length())):
        yield _Guess(
            "positions-clamped",
            positions.clamp(max=length - 1) * early,
            f"All positions from {length} on are turned like position {length - 1}.",
            "a table that ends there, indexed with a clamp",
            length,
        )
        yield _Guess(
            "positions-wrap-around",
            positions.remainder(length) * early,
            f"Position {length} is turned like position 0, and so on.",
            "positions taken modulo the length of the table",
            length,
        )


def _words_on_frequencies(bits: int, when: str) -> tuple[str, str]:
    return (
        f"Frequencies are rounded to {bits} significant bits{when}: angles are off by up to "
        f"{2.0**-bits:.1%} of themselves, which is whole turns at far positions.",
        "module.bfloat16(), .half() or .to(dtype) takes the buffer inv_freq along",
    )


def _coarse_frequencies(m: _Measured) -> Finding | None:
    """Frequencies that low precision can hold exactly, and no geometric series passes through."""
    if m.fit.is_geometric or m.num_pairs < 3:
        return None
    speeds = m.inv_freq[: m.num_pairs]
    for name, (to_low, bits) in _ROUNDINGS.items():
        if (to_low(speeds) / speeds - 1).abs().max() < 2e-6 + 1e-3 * m.noise:
            fit = _Fit.of(speeds, m.pairing.width, 2.0 ** (1 - bits))
            evidence = {"base, about": fit.base} if fit.is_geometric else {}
            sentence, cause = _words_on_frequencies(bits, "")
            return Finding(f"frequencies-in-{name}", "wrong", sentence, evidence, cause)
    return None


def _inverted_ramp(m: _Measured) -> Finding | None:
    if m.fit.jump is not None and m.fit.jump < 1 - 1e-3 and m.fit.factor > 1 + 1e-3:
        return _inverted(1 / m.fit.jump, m.fit.split)


def _inverted(factor: float, split: tuple[int, int] | None = None) -> Finding:
    pairs = f"the fastest {split[0]} pairs are" if split else "fast pairs are"
    return _wrong(
        "inverted-ramp",
        f"The blend of YaRN is upside down: {pairs} divided by {factor:.6g} and slow "
        "ones are left alone, where fast ones should stay and slow ones be divided.",
        "the ramp where 1 - ramp is meant, or the two frequencies swapped in the blend",
        factor=factor,
    )


def _not_relative(m: _Measured) -> Finding | None:
    if m.relativity_error > 1e-2 * float(m.scale.mean()) ** 2:
        return _wrong(
            "not-relative",
            "The score of two rotated vectors depends on where they stand, not only on how far "
            "apart.",
            "angles that are not proportional to the position",
            change_of_scores_at_one_distance=m.relativity_error,
        )


_CAUSES = [
    _not_deterministic,
    _heads_differ,
    _adds_a_vector,
    _not_linear,
    _does_not_rotate,
    _not_pairwise,
    _sin_and_cos_swapped,
    _pairs_disagree,
    _position_ids_ignored,
    _shifted,
    _scaled,
    _last_pair,
    _lost_precision,
    _coarse_frequencies,
    _inverted_ramp,
    _not_relative,
]
_SHAPELESS = {  # there is no description of such a thing
    "not-deterministic",
    "heads-differ",
    "adds-a-vector",
    "not-linear",
    "does-not-rotate",
    "not-pairwise",
    "minus-sign-missing",
    "half-angles-on-interleaved-pairs",
    "interleaved-angles-on-half-pairs",
    "angles-differ-within-pairs",
}


# Rules about ways to call: they compare calls with each other, whatever the rotation is


def _heads_equal_tokens(m: _Measured) -> Finding | None:
    """Six heads and six tokens of one vector must give what one head and six tokens give."""
    x = _random(1, 1, 1, m.head_dim).expand(1, 6, 6, m.head_dim)
    square, line = m.probe(x, range(6)), m.probe(x[:, :2], range(6))
    if _far(square, line[:, :1]) > _SAME:
        return _by_head({"largest difference, square against not": _far(square, line[:, :1])})


def _batch_rows(m: _Measured) -> Finding | None:
    """Rows with their own positions, one of them padded on the left."""
    rows = torch.tensor([[0, 1, 2, 3, 4], [0, 0, 0, 1, 2], [7, 8, 9, 10, 11]])
    x = _random(3, 2, 5, m.head_dim)
    try:
        together = m.probe(x, rows)
    except _CallError:
        return None  # a note says so
    apart = torch.cat([m.probe(x[b : b + 1], rows[b]) for b in range(3)])
    if _far(together, apart) < _SAME:
        return None
    shared = torch.cat([m.probe(x[b : b + 1], rows[0]) for b in range(3)])
    if _far(together, shared) < _SAME:
        return _wrong(
            "batch-rows-share-positions",
            "Every row of the batch is turned by the positions of the first, so that a row with "
            "left padding stands at the wrong places.",
            "position_ids[0], or tables without a batch axis",
            largest_difference=_far(together, apart),
        )
    return _wrong(
        "batch-rows-mixed",
        "A row of a batch is turned otherwise than the same row alone.",
        "an axis of the tables that broadcasts against heads or batch",
        largest_difference=_far(together, apart),
    )


def _cached(m: _Measured) -> Finding | None:
    """One sequence in chunks must equal one full pass."""
    step = m.decode or m.probe
    length = m.limit
    x = _random(1, 2, 1, m.head_dim).expand(1, 2, length, m.head_dim)
    full = m.probe(x, range(length))
    # A prompt, single steps, and the rest at once, for what depends on the length.
    ends = [0, 8, *range(9, 17), length - 1, length]
    chunks = [step(x[:, :, a:b], torch.arange(a, b)) for a, b in pairwise(ends) if a < b]
    cached = torch.cat(chunks, dim=2)
    differs = (cached - full).abs().amax(dim=(0, 1, 3)) > _SAME
    if not differs.any():
        return None
    if m.depends_on_length:
        if m.decode is None:
            return None  # a note says so
        return _wrong(
            "cached-keys-keep-old-frequencies",
            "Frequencies change with the length of the sequence, and what was cached before keeps "
            "the old ones: its scores are those of another distance.",
            "dynamic NTK or LongRoPE with keys cached after the rotation; cache them before it, or "
            "fix the length",
            since=0,
            largest_difference=_far(cached, full),
        )
    since = int(differs.nonzero()[0])
    steps = cached[0, 0, 8:16]
    line = m.probe(x[:, :, :32], range(32))[0, 0]
    evidence = {"largest difference": _far(cached, full)}
    if _far(steps, line[:1]) < _SAME:
        return Finding(
            "decode-restarts-at-zero",
            "wrong",
            "A token that comes alone is turned as if it stood at position 0.",
            evidence,
            "positions made by arange over the tokens of the step, without the length of the cache",
            since,
        )
    for shift in (-8, -1, 1):
        if _far(steps, line[8 + shift : 16 + shift]) < _SAME:
            code = "decode-off-by-one" if abs(shift) == 1 else "decode-forgets-the-prompt"
            return Finding(
                code,
                "wrong",
                f"A token that comes alone is turned as if it stood {shift:+d} from where it does.",
                {"shift": shift, **evidence},
                "the length of the cache taken before, or after, the token is in it",
                since,
            )
    return Finding(
        "decode-differs",
        "wrong",
        "A sequence in chunks is turned otherwise than in one pass.",
        evidence,
        "positions or tables of a step that are not those of the full pass",
        since,
    )


_CALLS = [_heads_equal_tokens, _batch_rows, _cached]


# Rules about what is right and unusual


def _clockwise(m: _Measured) -> Finding | None:
    if m.direction == -1:
        return _note(
            "clockwise",
            "Pairs turn clockwise, the transpose of the usual matrix: scores are the same, keys "
            "cached or weights trained for the other direction do not fit.",
        )
    if m.direction is None:
        return _note("mixed-directions", "Some pairs turn clockwise, some counterclockwise.")


def _permuted(m: _Measured) -> Finding | None:
    if m.permutation is not None:
        return _note(
            "output-permuted",
            "Dimensions come out in another order than they went in (at position 0 they only "
            "move). Scores are right if q and k both do so.",
            dimension_1_comes_out_at=m.permutation[1],
        )


def _width(m: _Measured) -> Finding | None:
    pairing, d = m.pairing, m.head_dim
    if pairing.layout is None:
        pairs = ", ".join(f"({a}, {m.partner[a]})" for a in m.dims[:3])
        return _note("unusual-pairs", f"Pairs follow neither layout: {pairs}, ...")
    if pairing.width > m.num_pairs:
        return _note(
            "slow-pairs-stand-still",
            "The slowest pairs do not turn, as in p-RoPE.",
            pairs_that_turn=m.num_pairs,
            of=pairing.width,
        )
    if pairing.offset and pairing.offset + 2 * pairing.width == d:
        return _note(
            "trailing-dimensions",
            f"The last {2 * pairing.width} of {d} dimensions rotate, not the first.",
            first_rotating_dimension=pairing.offset,
        )
    if pairing.offset:
        return _note("middle-dimensions", f"Rotation begins at dimension {pairing.offset}.")
    if 2 * pairing.width < d:
        return _note("partial", f"The first {2 * pairing.width} of {d} dimensions rotate.")


def _frequencies(m: _Measured) -> Finding | None:
    fit = m.fit
    if fit.is_geometric and abs(fit.factor - 1) > 1e-4:
        return _note(
            "linearly-scaled", "All frequencies are divided by one factor.", factor=fit.factor
        )
    if fit.jump is not None:
        return _note(
            "not-geometric",
            "Fast pairs keep their frequencies and slow ones are divided by a factor, with a blend "
            "between, as in YaRN and Llama 3.",
            base=fit.base,
            factor=fit.factor * fit.jump,
        )
    if not fit.is_geometric and m.num_pairs > 1:
        return _note(
            "not-geometric",
            "Frequencies are no geometric series; compare them with the configuration: "
            "diagnose(..., expected=...).",
        )


def _factor(m: _Measured) -> Finding | None:
    scale = float(m.scale.mean())
    if abs(scale - 1) > 1e-5 + m.noise:
        return _note(
            "attention-factor",
            f"cos and sin are multiplied by {scale:.6g}, as YaRN does: scores by {scale**2:.6g}.",
            attention_factor=scale,
        )


def _length(m: _Measured) -> Finding | None:
    if m.depends_on_length:
        near = float(_speeds(m.phases(m.near), m.near.positions)[m.num_pairs - 1])
        curves = m.far.at_most(len(m.near.positions))
        far = float(_speeds(m.phases(curves), curves.positions)[m.num_pairs - 1])
        return _note(
            "frequencies-depend-on-length",
            "Frequencies change with the longest position of the call (dynamic NTK, LongRoPE): "
            "keys cached before must be rotated again. What is reported holds for short calls.",
            slowest_in_a_short_call=abs(near),
            slowest_in_a_long_call=abs(far),
        )


def _table_ends(m: _Measured) -> Finding | None:
    if m.limit_error:
        return _note(
            "table-ends", f"Not every position is taken: {m.limit_error}", probed_up_to=m.limit - 1
        )


def _coarse_tables(m: _Measured) -> Finding | None:
    if m.noise > 1e-4:
        return _note(
            "tables-in-low-precision",
            "cos and sin are rounded coarsely even for float32 vectors; lengths err alike at all "
            "positions.",
            largest_error_of_a_length=m.noise,
        )


def _dtype_changed(m: _Measured) -> Finding | None:
    for dtype in (torch.bfloat16, torch.float32):
        try:
            result = m.curves(dtype, end=8).dtype
        except (TypeError, ValueError):
            return _note("bfloat16-refused", f"x of {str(dtype)[6:]} is refused.")
        if result != dtype:
            return _note("dtype-changed", f"x of {str(dtype)[6:]} comes back as {str(result)[6:]}.")


def _input_changed(m: _Measured) -> Finding | None:
    if m.probe.changes_input:
        return _note("changes-its-input", "x itself is overwritten.")


def _refused_rows(m: _Measured) -> Finding | None:
    try:
        m.probe(_random(3, 2, 5, m.head_dim), torch.arange(5).expand(3, 5))
    except _CallError:
        return _note(
            "rows-refused",
            "position_ids of shape (batch, seq_len) are refused, so rows of a batch cannot stand "
            "at different positions.",
        )


def _float32_angles(m: _Measured) -> Finding | None:
    if m.depends_on_length or m.noise > 1e-5:
        return None
    base = m.fit.base if m.fit.is_geometric else None
    if base and _is_round(base) and abs(m.fit.factor - 1) < 1e-6:
        # Not the measured frequencies, which would take part of the error along.
        base = float(f"{base:.1e}")
        speeds = base ** (-torch.arange(m.num_pairs, dtype=torch.float64) / m.pairing.width)
        error = float(m.residual(m.far, m.direction * speeds.repeat(2)).max())
        if m.direction and error > 5e-5:
            return _note(
                "angles-in-float32",
                "Angles are products in float32, whose error grows with the position; that is "
                "usual, and harmless in this range.",
                largest_angle_error=error,
                at_positions_below=m.limit,
            )


_NOTES = [
    _clockwise,
    _permuted,
    _width,
    _frequencies,
    _factor,
    _length,
    _table_ends,
    _coarse_tables,
    _dtype_changed,
    _input_changed,
    _refused_rows,
    _float32_angles,
]


# What only an expectation, or the other of q and k, can show


@dataclass(frozen=True)
class _Expectation:
    inv_freq: Tensor | None = None
    attention_factor: float | None = None
    layout: str | None = None

    @classmethod
    def of(cls, expected, inv_freq, attention_factor, layout) -> "_Expectation":
        values = {"inv_freq": inv_freq, "attention_factor": attention_factor, "layout": layout}
        for name, value in values.items():
            if value is None and expected is not None:
                attribute = getattr(expected, name, None)
                values[name] = attribute() if callable(attribute) else attribute
        if values["layout"] not in (None, *_LAYOUTS):
            raise ValueError(f'layout must be "interleaved" or "half", got {values["layout"]!r}')
        if values["inv_freq"] is not None:
            values["inv_freq"] = torch.as_tensor(values["inv_freq"], dtype=torch.float64).cpu()
        if values["attention_factor"] is not None:
            values["attention_factor"] = float(values["attention_factor"])
        return cls(**values)

    def mismatch(self, m: _Measured) -> Finding | None:
        return self._of_layout(m) or self._of_frequencies(m) or self._of_factor(m)

    def _of_layout(self, m: _Measured) -> Finding | None:
        if self.layout not in (None, m.pairing.layout) and m.num_pairs > 1:
            return _wrong(
                "layout-not-as-expected",
                f"The layout is {m.pairing.layout or 'unknown'}, expected {self.layout}.",
                "weights permuted for one layout and code written for the other",
            )

    def _of_frequencies(self, m: _Measured) -> Finding | None:
        if self.inv_freq is None:
            return None
        expected, measured = self.inv_freq, m.inv_freq
        longest = max(len(expected), len(measured))
        if (
            len(expected) != len(measured)
            and (expected[len(measured) :] != 0).any() | (measured[len(expected) :] != 0).any()
        ):
            return _wrong(
                "width-not-as-expected",
                f"{len(measured)} pairs rotate, expected {len(expected)}.",
                "partial_rotary_factor, or rotary_dim, not as in the configuration",
                rotary_dim=2 * len(measured),
                expected=2 * len(expected),
            )
        expected, measured = (
            torch.nn.functional.pad(t, (0, longest - len(t))) for t in (expected, measured)
        )
        error = (measured - expected).abs() / expected.abs().clamp(min=1e-30)
        error = error.where(expected != 0, (measured != 0).double())
        if error.max() < 1e-5 + 4 * m.noise:
            return None
        worst = int(error.argmax())
        evidence = {
            "pair": worst,
            "measured": float(measured[worst]),
            "expected": float(expected[worst]),
        }
        plain = expected[0] * (expected[1] / expected[0]) ** torch.arange(longest).double()
        both = (measured + expected) / plain
        ratio = measured / expected
        if longest > 2 and expected.min() > 0:
            factor = float(plain[-1] / expected[-1])
            if factor > 1 and (both - 1 - 1 / factor).abs().max() < 1e-3:
                return _inverted(factor)
            if (ratio / ratio[0] - 1).abs().max() < 1e-4:
                return _wrong(
                    "factor-not-as-expected",
                    f"All frequencies are {float(ratio[0]):.6g} times what is expected.",
                    "linear scaling left out, applied twice, or multiplied instead of divided",
                    ratio=float(ratio[0]),
                )
            if (measured / plain - 1).abs().max() < 1e-4 and ratio[-1] > 1.01:
                return Finding(
                    "scaling-missing",
                    "wrong",
                    "Frequencies are the unscaled ones: the scaling that is expected is missing.",
                    evidence,
                    "rope_parameters (rope_scaling) not read, or set after the tables were built",
                )
            fit = _Fit.of(expected, longest, 5e-6)
            if m.fit.is_geometric and fit.is_geometric and abs(m.fit.base / fit.base - 1) > 1e-4:
                return _wrong(
                    "base-not-as-expected",
                    f"The base is {m.fit.base:.6g}, expected {fit.base:.6g}.",
                    "rope_theta lost on the way from the configuration, so that a default is used",
                    base=m.fit.base,
                    expected=fit.base,
                )
        return Finding(
            "frequencies-not-as-expected",
            "wrong",
            "Frequencies are not the expected ones.",
            evidence,
            "another scaling method, or other parameters of it",
        )

    def _of_factor(self, m: _Measured) -> Finding | None:
        if self.attention_factor is None:
            return None
        scale = float(m.scale.mean())
        if abs(scale / self.attention_factor - 1) < 1e-5 + m.noise:
            return None
        missing = abs(scale - 1) < 1e-5 + m.noise
        return _wrong(
            "attention-factor-missing" if missing else "attention-factor-not-as-expected",
            f"cos and sin are multiplied by {scale:.6g}, expected {self.attention_factor:.6g}: "
            f"scores are {(scale / self.attention_factor) ** 2:.6g} times what they should be.",
            "only the frequencies of YaRN taken over, without its factor",
            attention_factor=scale,
            expected=self.attention_factor,
        )


def _joint_report(reports: list[Report], measured: list[_Measured]) -> Report:
    """Join the reports of q and of k, and compare the two."""
    q, k = reports
    codes = [set(report.codes) for report in reports]
    for still, other, name in ((k, q, "k"), (q, k, "q")):
        if "does-not-rotate" in still.codes and "does-not-rotate" not in other.codes:
            finding = _wrong(
                f"{name}-not-rotated",
                f"Only one of q and k turns: {name} stays, and scores follow one position instead "
                "of the distance.",
                "the rotated tensor of the two is not the one that goes on",
            )
            return replace(other, findings=(finding, *other.findings))
    if codes[0] == codes[1] == {"norm-not-kept"} and _cross_relativity(measured) < 1e-3:
        note = _note("xpos", "q grows with the position as k shrinks: xPos, right as a pair.")
        return replace(q, findings=(note,))
    findings = list(q.findings) + [f for f in k.findings if f.code not in q.codes]
    if q.ok and k.ok:
        findings = [*filter(None, [_difference(q, k)]), *findings]
    return replace(q, findings=tuple(sorted(findings, key=lambda f: f.severity != "wrong")))


def _difference(q: Report, k: Report) -> Finding | None:
    if ("output-permuted" in q.codes) != ("output-permuted" in k.codes) or q.layout != k.layout:
        return _wrong(
            "q-and-k-layouts-differ",
            f"q is turned in the layout {q.layout}, k in {k.layout}.",
            "two implementations, or weights of one of the two permuted",
        )
    if q.rotary_dim != k.rotary_dim:
        return _wrong(
            "q-and-k-widths-differ",
            f"{q.rotary_dim} dimensions of q rotate and {k.rotary_dim} of k.",
            "rotary_dim handed on for one of the two",
        )
    if q.direction != k.direction:
        return _wrong(
            "q-and-k-directions-differ",
            "q turns one way and k the other: scores depend on the sum of the positions.",
            "-sin, the inverse rotation, taken for one of the two",
        )
    error = float((q.inv_freq / k.inv_freq.clamp(min=1e-30) - 1).abs().max())
    if error > 1e-4:
        return _wrong(
            "q-and-k-frequencies-differ",
            "q and k turn at different speeds.",
            "tables of two layers, or of two lengths",
            largest_relative_difference=error,
        )


def _cross_relativity(measured: list[_Measured]) -> float:
    q, k = (m.near.matrices[:9] for m in measured)
    products = torch.einsum("mrc,nre->mnce", q, k)
    return float((products[1:, 1:] - products[:-1, :-1]).abs().max())
