"""Rules about angles that are not the position times the frequency, and how they got so."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import torch
from torch import Tensor

from ropelib.diagnosis.adapters import neighbors
from ropelib.diagnosis.bent import bent
from ropelib.diagnosis.drift import ANGLE_ERROR, allowed_error, drift, steps_of_a_turn
from ropelib.diagnosis.fit import ROUND_BASES, Fit
from ropelib.diagnosis.measured import Measured, speeds_of
from ropelib.diagnosis.paths import at_near_positions, otherwise
from ropelib.diagnosis.probes import CallError, Curves, measure
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.several_axes import of_its_axis
from ropelib.diagnosis.slots import of_its_slot, tokens_exchanged
from ropelib.diagnosis.tensors import wrap

_SMALLEST, _LARGEST = 2.0**-14, 65504  # that float16 holds to 11 bits
_EXACT = 1e-5  # of a frequency: less than what 11 bits lose of some
ROUNDINGS = {  # from float64 to what is left of a number, and how many significant bits that is
    "bfloat16": (lambda t: t.bfloat16().double(), 8),
    "float16": (lambda t: t.half().double(), 11),
    "tf32": (lambda t: _round_to_bits(t, 11), 11),
}
_CASTS = {
    "bfloat16": "module.bfloat16() or .to(torch.bfloat16) takes the buffer inv_freq along",
    "float16": "module.half() or .to(torch.float16) takes the buffer inv_freq along",
    "tf32": "inv_freq that comes out of a matrix product in TF32",
}


def _round_to_bits(value: Tensor, bits: int) -> Tensor:
    mantissa, exponent = torch.frexp(value.double())
    return torch.ldexp((mantissa * 2**bits).round() / 2**bits, exponent)


def _in_halves(frequencies: Tensor, limit: int) -> bool:
    """Say whether positions of 11 bits are float16's: a product in TF32 rounds frequencies too."""
    apart = (_round_to_bits(frequencies, 11) / frequencies - 1).abs()
    return limit <= _LARGEST and float(apart.nan_to_num().max()) > _EXACT


def lost_precision(m: Measured) -> Finding | None:
    """Compare angles at far positions with what each way of losing precision would give."""
    if not m.obeys_ids:
        return None
    if m.depends_on_length and m.obeys == "all":
        return explain(m, m.far, m.far.at_most(len(m.near.positions)), "")
    finding = explain(m, m.far, m.near, "")
    for dtype in (torch.bfloat16, torch.float16):
        if finding is None and not places_matter(m):
            try:
                curves = m.curves(dtype)
            except (TypeError, CallError):
                continue
            finding = at_near_positions(m, curves.matrices, dtype)
            finding = finding or explain(m, curves, m.near, f" when x is {str(dtype)[6:]}")
    return finding


def places_matter(m: Measured) -> bool:
    """Say whether scores at one distance differ from place to place, at near positions already."""
    return m.relativity_error > (1e-2 + 4 * m.noise) * float(m.scale.mean()) ** 2


def explain(m: Measured, far: Curves, near: Curves, when: str) -> Finding | None:
    """Return None if angles of `far` are the position times the frequency that `near` shows."""
    start = m.start[: m.num_pairs]  # not zero where coordinates are centered
    phases, near_phases = (m.phases(curves)[:, : m.num_pairs] - start for curves in (far, near))
    positions = far.positions.double()[:, None]
    speeds = m.speeds[: m.num_pairs]
    if m.depends_on_length:
        speeds = _speeds_in_company(m, phases, far, near_phases, near)
    allowed = allowed_error(positions, speeds)

    def error(angles: Tensor) -> Tensor:
        return wrap(phases - angles).abs()

    exact = error(positions * speeds)
    strays = exact >= allowed
    if not strays.any():
        return None
    since = int(far.positions[strays.any(1)][0])
    evidence = {"largest angle error": float(exact.max())}
    at_one = wrap(near_phases[1] - near_phases[0])
    early = speeds_of(near_phases[:9], near.positions[:9])
    dtype = getattr(torch, when.split()[-1]) if when else torch.float32
    several = (at_one, speeds, lambda bits: _through_rounding(phases, positions, speeds, bits))
    in_halves = not when and m.noise < _EXACT and _in_halves(at_one, m.limit)
    guesses = [
        _guesses(positions, *several, m.limit, when, in_halves),
        _tables(m, far, early, dtype),
    ]
    if m.obeys == "start" or getattr(m.probe.rotate, "runs_only", False):
        guesses.insert(0, _rounded_starts(far.positions, speeds, m.limit, when))
    for guess in chain(*guesses):
        # Not all: a number that lies between two others may be rounded to either.
        explained = (error(guess.angles) < allowed).double()
        # And a third of what is off: a product in TF32 rounds frequencies as well.
        if float(explained.mean()) > 0.97 and float(explained[strays].mean()) > 1 / 3:
            since = guess.since or since
            return Finding(guess.code, "wrong", guess.sentence, evidence, guess.cause, since)
    if steps_of_a_turn(phases):
        return drift(phases, far.positions, speeds, when, evidence)
    later = _later_speeds(phases, far.positions, since)
    if later is not None and since > 0:  # position 0 has no frequency
        ratios = (later / speeds).tolist()
        changed = max(ratios, key=lambda ratio: abs(ratio - 1))
        if when and bool((error(positions * later) < allowed).all()):  # rounding hid it before
            return otherwise(
                when.split()[-1],
                f"frequencies up to {changed:.4g} times as high",
                float(exact.max()),
            )
        return Finding(
            "frequencies-change-midway",
            "wrong",
            f"From position {since} on angles are the position times another frequency{when}: up "
            f"to {changed:.6g} times that before.",
            {"largest ratio": changed, **evidence},
            "a table that was made longer with other frequencies: those without the scaling",
            since,
        )
    if mixed := tokens_exchanged(m, len(far.positions), dtype):
        return mixed
    late = strays.any(1)[far.positions >= since]
    if int(late.sum()) * 4 < len(late):
        if beside := of_its_slot(m, far, int(strays.any(1).nonzero()[0]), dtype):
            return beside
        return some_positions_wrong(far.positions[strays.any(1)], evidence, when)
    if not when and (otherwise_read := bent(m, phases, far.positions)):
        return of_its_slot(m, far, int(strays.any(1).nonzero()[0]), dtype) or otherwise_read
    if named := of_its_axis(m, lambda part: _of_a_part(part, far, near, when)):
        return named
    return drift(phases, far.positions, speeds, when, evidence)


def _of_a_part(m: Measured, far: Curves, near: Curves, when: str) -> Finding | None:
    found = explain(m, far, near, when)
    return found if found and found.code != "angles-drift" else None


def some_positions_wrong(positions: Tensor, evidence: dict[str, object], when: str) -> Finding:
    """Return the finding on few positions among others that are right."""
    which = ", ".join(map(str, positions[:3].tolist())) + (" .." if len(positions) > 3 else "")
    return Finding(
        "single-positions-wrong",
        "wrong",
        f"Angles are not the position times the frequency{when} at position {which}, and they are "
        "at places before and after.",
        evidence,
        "a table filled in blocks, of which a row is left out or written twice",
        int(positions[0]),
    )


def _speeds_in_company(
    m: Measured, phases: Tensor, far: Curves, near_phases: Tensor, near: Curves
) -> Tensor:
    """Return the frequencies of a call that holds far positions, where others have others."""
    if m.noise > 1e-5:  # coarse tables: a longer lever is more exact, if positions hold that far
        longer = speeds_of(phases, far.positions)
        turned = phases - phases[0] - far.positions.double()[:, None] * longer
        if wrap(turned).abs().max() < ANGLE_ERROR:
            return longer
    return speeds_of(near_phases, near.positions)


def _through_rounding(phases: Tensor, positions: Tensor, speeds: Tensor, bits: int) -> Tensor:
    """Return the frequencies that lie in the middle of angles which are rounded to `bits`."""
    speeds = speeds.clone()
    known = positions * speeds.abs() < 2.0**bits  # beyond it rounding may be a turn
    for last in range(2, len(positions) + 1):
        p = positions[:last].where(known[:last], 0)
        speeds += (p * wrap(phases[:last] - p * speeds)).sum(0) / (p * p).sum(0)
    return speeds


def _later_speeds(phases: Tensor, positions: Tensor, since: int) -> Tensor | None:
    """Return the frequencies from `since` on, if there they are frequencies."""
    late = (positions >= since).nonzero().flatten()
    near = [int(i) for i in late[:-1] if positions[i + 1] - positions[i] == 1]
    if not near or len(late) < 4:
        return None
    first = near[0]
    found = wrap(phases[first + 1] - phases[first])
    for i in late.tolist():  # each place tells it better than a step between two
        found = found + wrap(phases[i] - positions[i] * found) / positions[i]
    errors = wrap(phases[late] - positions[late].double()[:, None] * found).abs()
    if errors.max() > ANGLE_ERROR:
        return None
    return found


@dataclass
class _Guess:
    code: str
    angles: Tensor
    sentence: str
    cause: str
    since: int | None = None


def _guesses(
    positions: Tensor,
    at_one: Tensor,
    speeds: Tensor,
    through: Callable[[int], Tensor],
    limit: int,
    when: str,
    in_halves: bool,
) -> Iterator[_Guess]:
    """What the angles would be under each bug, the simplest first."""
    for name in ("bfloat16", "float16" if when else "tf32"):
        to_low, bits = ROUNDINGS[name]
        places = len(to_low(torch.arange(limit)).unique())
        dtype = "float16" if in_halves and name == "tf32" else name
        yield _Guess(
            f"positions-in-{dtype}",
            to_low(positions) * speeds,
            f"Positions are rounded to {bits} significant bits{when}: 0 .. {limit - 1} are only "
            f"{places} places, and from {2**bits} on not all neighbors can be told apart.",
            "a matrix product in TF32, which rounds frequencies as well, or positions in float16; "
            "multiply elementwise in float32"
            if dtype == "tf32"
            else f"arange or position_ids in {dtype}, often by .to(x.dtype) or type_as",
        )
        for coarse in (positions, to_low(positions)):
            yield _Guess(
                f"frequencies-in-{name}",
                coarse * to_low(speeds),
                *_words_on_frequencies(name, when, to_low(speeds) / speeds - 1, speeds),
            )
        # A product in float16 has factors in float16, which holds no small number as exactly.
        held = bool(((at_one.half() - at_one).abs() < 1e-6 * at_one.abs()).all())
        of_halves = name.replace("tf32", "float16" if held else "tf32")
        for angles, code in (
            (to_low(positions) * at_one, of_halves),
            (positions * at_one, of_halves),
            (positions * through(bits), name),
            # Where cos and sin are rounded as well, the frequencies lie next to those measured.
            (to_low(positions) * to_low(through(bits)), name.replace("tf32", "float16")),
        ):
            yield _Guess(
                f"angles-in-{code}",
                to_low(angles),
                f"Angles are rounded to {bits} significant bits{when}: beyond {2**bits} rad they "
                "are known to even radians at best.",
                "angles that go through a matrix product in TF32, or are cast to float16"
                if code == "tf32"
                else f"the product of position_ids and inv_freq in {code}, the dtype of a model",
            )


def _rounded_starts(ids: Tensor, speeds: Tensor, limit: int, when: str) -> Iterator[_Guess]:
    """What the angles would be if the first of each run of positions is rounded, others counted."""
    begins = torch.cat((torch.tensor([True]), ids.diff() != 1))
    runs = begins.cumsum(0) - 1
    starts, tokens = ids[begins].tolist(), runs.bincount().tolist()
    if len(starts) > 1:
        starts = [a - neighbors(a, n)[0] for a, n in zip(starts, tokens, strict=True)]
    starts = torch.tensor(starts)[runs]
    for dtype, name in (("bfloat16", "bfloat16"), ("float16", "tf32")):  # as float16 up to 65504
        to_low, bits = ROUNDINGS[name]
        first = 2**bits + 1
        if first < limit:
            yield _Guess(
                f"positions-in-{dtype}",
                (to_low(starts) + (ids - starts))[:, None] * speeds,
                f"The first position of a call is rounded to {bits} significant bits{when}, and "
                f"the others are counted from there: a call at {first} begins at {first - 1}.",
                f"the offset in {dtype}, as by .to(x.dtype)",
                first,
            )


def _tables(m: Measured, far: Curves, early: Tensor, dtype: torch.dtype) -> Iterator[_Guess]:
    """What a table that ends would make of far positions; its rows are counted by halving.

    `early` are the speeds of the first positions alone, which even a short table holds.
    """
    positions = far.positions.double()[:, None]
    lengths = [2**k for k in range(4, (m.limit - 1).bit_length())]  # an end that was seen
    for length in filter(None, dict.fromkeys((_rows_of_table(m, far, early, dtype), *lengths))):
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
            "position_ids cast to uint8, which counts to 255; or " * (length == 256)
            + "position_ids cast to uint16, which counts to 65535; or " * (length == 65_536)
            + "positions taken modulo the length of the table",
            length,
        )


def _rows_of_table(m: Measured, far: Curves, early: Tensor, dtype: torch.dtype) -> int:
    """Return the first position that is not turned by `early`; 0 where none was seen."""

    def wrongly(curves: Curves) -> Tensor:
        angles = curves.positions.double()[:, None] * early
        return (wrap(m.phases(curves)[:, : m.num_pairs] - angles).abs() > ANGLE_ERROR).any(1)

    seen = wrongly(far)
    if seen[0] or not seen.any():
        return 0
    first = int(seen.nonzero()[0])
    right, wrong = (int(far.positions[i]) for i in (first - 1, first))
    while wrong - right > 1:
        middle = (right + wrong) // 2
        curves = measure(m.probe, torch.tensor([middle]), dtype)
        if m.permutation is not None:
            curves.matrices = curves.matrices[:, m.permutation]
        right, wrong = (right, middle) if wrongly(curves)[0] else (middle, wrong)
    return wrong


def _words_on_frequencies(
    name: str, when: str, errors: Tensor | None, speeds: Tensor
) -> tuple[str, str]:
    """Say how coarse they are, by the relative errors of each where those are known."""
    bits = ROUNDINGS[name][1]
    small = int((speeds.abs() < _SMALLEST).sum()) if name == "float16" else 0
    fewer = f", {small} of {len(speeds)} to fewer, as they are below 6.1e-05" if small else ""
    largest = 2.0**-bits if errors is None else float(errors.abs().max())
    if errors is None and small:  # steps are as wide there as at the smallest normal number
        largest *= max(1.0, _SMALLEST / float(speeds.abs().min()))
    by = "by up to" if errors is None else "by"
    turns = f", a whole turn after {1 / largest:.0f} turns" if largest else ""
    return (
        f"Frequencies are rounded to {bits} significant bits{when}{fewer}: angles are off {by} "
        f"{100 * largest:.2g}% of themselves{' at most' if errors is not None else ''}{turns}.",
        f"inv_freq cast to the dtype of x, {name}" if when else _CASTS[name],
    )


def coarse_frequencies(m: Measured) -> Finding | None:
    """Frequencies that low precision can hold exactly, and no geometric series passes through."""
    if m.fit.is_geometric or m.num_pairs < 3:
        return None
    speeds = m.turning
    for name, (to_low, bits) in ROUNDINGS.items():
        if (to_low(speeds) / speeds - 1).abs().max() < 2e-6 + 1e-3 * m.noise:
            if (_round_to_bits(speeds, bits - 2) / speeds - 1).abs().max() < 2e-6:
                return None  # multiples of 1/32, say: shorter than what rounding leaves
            base, errors = _before_rounding(m, name)
            sentence, cause = _words_on_frequencies(name, "", errors, speeds)
            evidence = {"base, about": base} if base else {}
            return Finding(f"frequencies-in-{name}", "wrong", sentence, evidence, cause)
    if finding := _rounded_exponents(m):
        return finding
    found = of_its_axis(m, coarse_frequencies)
    return found and replace(found, evidence={})  # a base over pairs of one axis is that of no head


def _rounded_exponents(m: Measured) -> Finding | None:
    """Powers of a round base whose exponents, 2i / d, are those of low precision."""
    exponents = torch.tensor(m.pairing.slots, dtype=torch.float64) / m.pairing.width
    for name in ("bfloat16", "float16"):
        to_low, bits = ROUNDINGS[name]
        if torch.equal(to_low(exponents), exponents):  # as where the width is a power of two
            continue
        powers = ROUND_BASES[:, None] ** -to_low(exponents)
        off = (powers / m.turning.abs() - 1).abs().amax(1)
        best = int(off.argmin())
        if float(off[best]) < 1e-5 + 8 * m.noise:
            base = float(ROUND_BASES[best])
            errors = base ** (exponents - to_low(exponents)) - 1
            return wrong(
                f"frequencies-in-{name}",
                f"Exponents are rounded to {bits} significant bits, and frequencies of base "
                f"{base:.6g} are off by up to {100 * float(errors.abs().max()):.2g}%.",
                f"2i / d computed in {name}, and the power of it in float32",
                base=base,
            )
    return None


def _before_rounding(m: Measured, name: str) -> tuple[float | None, Tensor | None]:
    """Return the base of the series that was rounded, if it was one, and each relative error."""
    (to_low, bits), speeds = ROUNDINGS[name], m.turning
    slots = torch.tensor(m.pairing.slots, dtype=torch.float64)
    held = speeds.abs() >= (_SMALLEST if name == "float16" else 0)  # to all bits
    fit = Fit.of(speeds[held], m.pairing.width, 2.0 ** (1 - bits), slots[held].tolist())
    if not fit.is_geometric:
        return None, None
    for base in (float(f"{fit.base:.1e}"), fit.base):  # as people choose it, if that fits
        series = base ** (-slots / m.pairing.width) / fit.factor
        if (to_low(series) / speeds - 1).abs().max() < 2e-6:
            break
    return base, speeds / series - 1
