"""The check of one implementation against the vectors, each case graded by how exact it is."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ropelib.checks import printable
from ropelib.conformance.build import seats
from ropelib.conformance.files import read

GRADES = ("exact", "float32 angles", "rounded between", "wrong", "not supported")
_ARITHMETIC = 2.0**-22  # of a pair's length: float32 tables, two products and a sum
_ANGLE = 2.0**-19  # of an angle: a frequency as a power, or a running product, in float32
_MOST = 2.0**-4  # rad; an angle that is off by more is wrong in any arithmetic
_BETWEEN = 2.0  # units of a 16-bit dtype at a pair's length: tables and products rounded, too
_FREQUENCY = 2.0**-24  # of a frequency: one rounding to float32
_MOST_NAMED = 12


@dataclass(frozen=True)
class Verdict:
    """What one case came to.

    `error` is the largest error of a number, in units of what is allowed to the grade "exact";
    `note` says where it is, or why the case did not run.

    Example:
        >>> print(Verdict("default-half", "exact", 0.5))
        exact            default-half: 0.5 of what exact allows
    """

    name: str
    grade: str
    error: float | None = None
    note: str = ""

    def __str__(self) -> str:
        size = "" if self.error is None else f"{self.error:.3g} of what exact allows"
        return f"{self.grade:15}  {self.name}: {', '.join(filter(None, (size, self.note)))}"


@dataclass(frozen=True)
class Report:
    """What an implementation came to, case by case.

    `ok` says that no case is wrong and that one at least was supported, `exact` that all of these
    have the best grade. What lies between is right but less exact than float32 can be.

    Example:
        >>> Report("1ef0", "float32", (Verdict("default-half", "wrong", 9e6),)).ok
        False
    """

    sha256: str
    dtype: str
    verdicts: tuple[Verdict, ...]

    @property
    def ok(self) -> bool:
        """Say whether nothing is wrong, and something was checked."""
        grades = {verdict.grade for verdict in self.verdicts}
        return "wrong" not in grades and grades != {"not supported"} and bool(grades)

    @property
    def exact(self) -> bool:
        """Say whether all that is supported is exact."""
        return self.ok and all(v.grade in ("exact", "not supported") for v in self.verdicts)

    def of(self, grade: str) -> tuple[str, ...]:
        """Return the names of the cases of one grade, in their order."""
        return tuple(verdict.name for verdict in self.verdicts if verdict.grade == grade)

    def __str__(self) -> str:
        counts = ", ".join(f"{len(self.of(g))} {g}" for g in GRADES if self.of(g))
        head = f"{len(self.verdicts)} cases in {self.dtype}, vectors {self.sha256[:12]}: {counts}"
        told = [v for g in ("wrong", *GRADES[1:3]) for v in self.verdicts if v.grade == g]
        rest = [f"  and {len(told) - _MOST_NAMED} more"] if len(told) > _MOST_NAMED else []
        return "\n".join([head, *(f"  {verdict}" for verdict in told[:_MOST_NAMED]), *rest])


def check(
    vectors: Mapping[str, Any] | str | os.PathLike,
    rotate: Callable[[Tensor, Tensor, Mapping[str, Any]], Any],
    *,
    frequencies: Callable[[Mapping[str, Any]], tuple[Any, float]] | None = None,
    dtype: torch.dtype = torch.float32,
) -> Report:
    """Compare a rotation with the vectors.

    A number is "exact" if it is off by at most half a unit in its last place, in the dtype that
    comes out, and `2^-22` of the length of its pair, for float32 between. It has "float32 angles"
    if it is, besides, off by what an error of `2^-19` of the angle explains, up to 1/16 rad, and is
    "rounded between" if, in bfloat16 or float16, it is off besides by two epsilons of that dtype
    times the length of its pair, as where tables and products have that dtype, too. Dimensions that
    do not rotate must be what they were.

    Args:
        vectors: what `suite`, `write` or `read` returns, or the path of a vectors.json.
        rotate: takes x `(rows, heads, tokens, head_dim)`, positions `(rows, tokens)`, or
            `(axes, rows, tokens)` where there are several axes, and the case; returns x rotated. It
            raises NotImplementedError for what it does not support.
        frequencies: takes the case, of which it reads `config` and `seq_len`, and returns
            `(inv_freq, attention_factor)`; not checked unless given.
        dtype: of x; q and k of the vectors are exact in float64, float32, bfloat16 and float16.

    Returns:
        A grade for each case, the worse of q's, k's and the frequencies'.

    Raises:
        OSError: if there is no such file.
        ValueError: as `read`.

    Example:
        >>> from ropelib import apply_rotary, cos_sin
        >>> from ropelib.conformance import suite
        >>> def rotate(x, position_ids, case):
        ...     if position_ids.dim() == 3:
        ...         raise NotImplementedError
        ...     tables = cos_sin(position_ids, torch.tensor(case["inv_freq"], dtype=torch.float64),
        ...                      attention_factor=case["attention_factor"])
        ...     return apply_rotary(x, *tables, layout=case["layout"])
        >>> report = check(suite(), rotate)
        >>> report.exact, report.of("not supported")[:2]
        (True, ('mrope-chunked', 'mrope-chunked-interleaved-layout'))
    """
    if isinstance(vectors, str | os.PathLike):
        vectors = read(vectors)
    verdicts = tuple(_verdict(case, rotate, frequencies, dtype) for case in vectors["cases"])
    return Report(vectors["sha256"], str(dtype).removeprefix("torch."), verdicts)


def _verdict(
    case: Mapping[str, Any], rotate: Callable, frequencies: Callable | None, dtype: torch.dtype
) -> Verdict:
    try:
        found = [_of_rotation(case, name, rotate, dtype) for name in ("q", "k")]
        if frequencies is not None:
            found.append(_of_frequencies(case, frequencies))
    except NotImplementedError as error:
        return Verdict(case["name"], "not supported", note=printable(str(error)))
    except Exception as error:  # of somebody's code: that it fails is what is reported
        note = f"it raised {type(error).__name__}: {printable(str(error))}"
        return Verdict(case["name"], "wrong", note=note)
    return max(found, key=lambda verdict: (GRADES.index(verdict.grade), verdict.error or 0))


def _of_rotation(
    case: Mapping[str, Any], name: str, rotate: Callable, dtype: torch.dtype
) -> Verdict:
    x, expected = (
        torch.tensor(case[key], dtype=torch.float64) for key in (name, f"{name}_rotated")
    )
    ids = torch.tensor(case["position_ids"])
    got = torch.as_tensor(rotate(x.to(dtype), ids if len(ids) > 1 else ids[0], case))
    for what, found, rule in (("shape", got.shape, x.shape), ("dtype", got.dtype, dtype)):
        if found != rule:
            rule, found = (tuple(v) if what == "shape" else v for v in (rule, found))
            return Verdict(
                case["name"], "wrong", note=f"{what} of {name} must be {rule}, got {found}"
            )
    error = (got.detach().cpu().to(torch.float64) - expected).abs()
    return _graded(case, name, error, *_allowed(case, expected, ids, dtype))


def _allowed(
    case: Mapping[str, Any], expected: Tensor, ids: Tensor, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """What each number may be off by in each of the three grades."""
    inv_freq = torch.tensor(case["inv_freq"], dtype=torch.float64)
    angles = torch.stack([ids[axis] for axis in case["axis_of_pair"]], dim=-1) * inv_freq
    first, second = seats(len(inv_freq), case["layout"])
    length = expected[..., first].hypot(expected[..., second])
    kind, size = torch.finfo(dtype), expected.abs()
    # Half a unit in the last place: what rounds a number to the dtype that comes out.
    unit = torch.exp2(size.clamp_min(kind.smallest_normal).log2().floor()) * kind.eps
    exact, angle, between = (torch.zeros_like(expected) for _ in range(3))
    off = (angles.abs() * _ANGLE).clamp_max(_MOST).unsqueeze(1)
    for seat in (first, second):
        exact[..., seat] = unit[..., seat] / 2 + _ARITHMETIC * length
        angle[..., seat] = off * length
        between[..., seat] = _BETWEEN * kind.eps * length if kind.bits == 16 else 0
    return exact, exact + angle, exact + angle + between


def _of_frequencies(case: Mapping[str, Any], frequencies: Callable) -> Verdict:
    inv_freq, factor = frequencies(case)
    expected = torch.tensor([*case["inv_freq"], case["attention_factor"]], dtype=torch.float64)
    got = torch.as_tensor(inv_freq).detach().cpu().to(torch.float64)
    if got.shape != (len(expected) - 1,):
        note = f"inv_freq must have shape ({len(expected) - 1},), got {tuple(got.shape)}"
        return Verdict(case["name"], "wrong", note=note)
    got = torch.cat((got, torch.tensor([float(factor)], dtype=torch.float64)))
    rounded = _ANGLE * expected
    error = (got - expected).abs()
    return _graded(case, "inv_freq", error, _FREQUENCY * expected, rounded, rounded)


def _graded(case: Mapping[str, Any], name: str, error: Tensor, *allowed: Tensor) -> Verdict:
    """The best grade that allows every error; what is no number is allowed in none."""
    error = error.nan_to_num(nan=torch.inf, posinf=torch.inf)
    passed = [grade for grade, most in zip(GRADES, allowed, strict=False) if (error <= most).all()]
    grade = passed[0] if passed else "wrong"
    units = (error / allowed[0]).where(error > 0, torch.zeros_like(error))
    worst = units.argmax()
    place = [int(i) for i in torch.unravel_index(worst, error.shape)]
    if name == "inv_freq" and place == [len(error) - 1]:
        name, place = "attention_factor", []
    where = "" if grade == "exact" else f"worst in {name}{''.join(f'[{i}]' for i in place)}"
    return Verdict(case["name"], grade, float(units.flatten()[worst]), where)
