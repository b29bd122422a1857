"""Checkers of the chapter Your model's rotation."""

import math

import torch

from ropebook.exercises.base import exercise
from ropelib import apply_rotary, cos_sin, diagnose, inv_freq
from ropelib.frequencies import turns


def mystery_rotation(x: torch.Tensor, position_ids: torch.Tensor) -> torch.Tensor:
    """Rotate heads of 64 dimensions, almost; the exercise is to find out by measuring."""
    positions = position_ids.float().view(torch.int32)
    positions = ((positions + 0x1000) & ~0x1FFF).view(torch.float32)
    return apply_rotary(x, *cos_sin(positions, inv_freq(64)), layout="half")


@exercise("hands that never turn")
def _hands_that_never_turn(answer):
    frequencies = inv_freq(128, 1_000_000)
    right = int((turns(frequencies, 32_768) < 1).sum())
    answer = float(answer)
    if answer == right:
        return None
    if answer == int((frequencies * 32_768 < 1).sum()):
        return "A full turn is 2 pi radians, not 1."
    if answer == 64 - right:
        return "Those are the hands that do complete a turn."
    return "A hand that never completes a turn has a wavelength above 32768 tokens."


@exercise("first wrong position")
def _first_wrong_position(answer):
    given, right = float(answer), 2**11 + 1
    if given == right:
        return None
    if given == right - 1:
        return "11 bits hold 2048: it is a power of two. Is the next whole number held as well?"
    if given == 11:
        return "That may be the number of bits. Asked is the first position that they cannot hold."
    if given == 2**8 + 1:
        return "That would be bfloat16. Measure this one: compare it at many positions at once."
    if off_by(mystery_rotation, torch.float32, int(given)) < 1e-6:
        return f"At position {given:g} it is right. Compare at many positions at once."
    return f"It is wrong at {given:g}, but not for the first time."


def off_by(rotate, dtype: torch.dtype, position: int) -> float:
    """Return by how much `rotate` misses the exact rotation of vectors of a dtype, base 10000."""
    x = torch.ones(1, 1, 1, 64, dtype=dtype)
    position_ids = torch.tensor([position])
    exact = cos_sin(position_ids, inv_freq(64), dtype=torch.float64)
    exact = apply_rotary(x.double(), *exact, layout="half")
    return (rotate(x, position_ids).double() - exact).abs().max().nan_to_num(math.inf).item()


@exercise("repair it")
def _repair_it(answer):
    report = diagnose(answer, head_dim=64, layout="half", inv_freq=inv_freq(64))
    if report.ok:
        return None
    return f"diagnose says {report.findings[0].code}: {report.findings[0].sentence}"
