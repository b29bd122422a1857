"""What is said of angles that are not the position times the frequency, and have no other name."""

import math

import torch
from torch import Tensor

from ropelib.diagnosis.report import Finding
from ropelib.diagnosis.tensors import wrap

ANGLE_ERROR = 0.02  # rad; float32 angles are below it up to 8191, a lost position is far above
_ALIKE = 1e-4  # rad
_FEWEST, _MOST_STEPS = 3, 4096  # pairs that agree; steps of a turn, fewer than angles have


def allowed_error(positions: Tensor, speeds: Tensor) -> Tensor:
    """Return what angles may be off by, in rad, by position (..., 1) and frequency in rad/token."""
    return ANGLE_ERROR + 3e-7 * positions * speeds.abs()


def drift(
    phases: Tensor, ids: Tensor, speeds: Tensor, when: str, evidence: dict[str, object]
) -> Finding:
    """Say from where on angles err, of which pairs, and whether their size tells it.

    Args:
        phases: `(num_positions, num_pairs)`, rad, in (-pi, pi].
        ids: their positions, 0 and 1 first.
        speeds: `(num_pairs,)`, rad/token, as all near positions tell them.
        when: of which vectors that holds.
        evidence: what is told beside.
    """
    if steps := steps_of_a_turn(phases):
        return Finding(
            "angles-drift",
            "wrong",
            f"Angles are rounded to multiples of 2 pi / {steps}{when}, {math.tau / steps:.3g} rad.",
            {},
            "coarse tables of cos and sin, read at the nearest angle or the one below it",
        )
    positions = ids.double()[:, None]
    guesses = (
        (each, _strays(phases, positions, each)) for each in (speeds, _held(phases, positions))
    )
    speeds, strays = max(guesses, key=lambda guess: int(guess[1].any(1).int().argmax()))
    since = int(ids[strays.any(1)][0])
    late, pairs = strays.any(1)[ids >= since], strays.any(0)
    wrongly = int(pairs.sum())
    of_pairs = "" if bool(pairs.all()) else f" of {wrongly} of {len(pairs)} pairs"
    places = "" if bool(late.all()) else f", at {int(late.sum())} of {len(late)} places tried"
    cause, sizes = "angles summed step by step in low precision, or a table that ends", ""
    if bound := _bound(strays, positions * speeds):
        sizes = f". Each is right as long as it is below about {bound:.2g} rad"
        cause = "angles taken modulo what is no whole turn, or that lose digits as they grow"
    if float(phases.abs().max()) < 1 + _ALIKE and bool((positions * speeds).abs().max() > 2):
        sizes = ", and none is larger than 1 rad"
        cause = "cos and sin taken of tables of sines: tables handed where angles are meant"
    evidence = {f"{name}, by the frequencies of near positions": v for name, v in evidence.items()}
    return Finding(
        "angles-drift",
        "wrong",
        f"From position {since} on angles{of_pairs} are not the position times the frequency{when}"
        f"{places}{sizes}.",
        evidence,
        cause,
        since,
    )


def _strays(phases: Tensor, positions: Tensor, speeds: Tensor) -> Tensor:
    return wrap(phases - positions * speeds).abs() >= allowed_error(positions, speeds)


def _held(phases: Tensor, positions: Tensor) -> Tensor:
    """Return frequencies as the first positions tell them, of each pair as long as they fit."""
    speeds, fits = phases[1] / positions[1], torch.ones_like(phases[1], dtype=torch.bool)
    for phase, position in zip(phases[2:], positions[2:], strict=True):
        left = wrap(phase - position * speeds)
        fits = fits & (left.abs() < allowed_error(position, speeds))
        speeds = speeds + (left / position).where(fits, 0)
    return speeds


def _bound(strays: Tensor, angles: Tensor) -> float | None:
    """Return about which size it is that an angle is right below, and not when it first passes."""
    pairs = strays.any(0)
    first = strays.int().argmax(0)[pairs]
    if len(first) < _FEWEST or int(first.min()) < 1:
        return None
    sizes = angles.abs()[:, pairs]
    last_right, first_wrong = (sizes.gather(0, (first - n)[None])[0] for n in (1, 0))
    low, high = float(last_right.max()), float(first_wrong.min())
    return (low + high) / 2 if low < high else None


def steps_of_a_turn(phases: Tensor) -> int:
    """Return n if all angles are multiples of 2 pi / n; 0 if there is no such n that is small."""
    turns = (phases / math.tau).flatten()
    apart = turns.sort().values.diff()
    number = round(1 / float(apart[apart > 1e-5].min())) if bool((apart > 1e-5).any()) else 0
    off = turns * number - (turns * number).round()
    return number if 1 < number <= _MOST_STEPS and float(off.abs().max()) < 0.01 else 0
