"""Checkers of the chapter Your model's rotation."""

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


@exercise("name the bug")
def _name_the_bug(answer):
    if not isinstance(answer, str):
        return f"The code is a string, got {type(answer).__name__}."
    found = diagnose(mystery_rotation).findings[0].code
    if answer == found:
        return None
    if answer in diagnose(lambda x, p: mystery_rotation(x, p.bfloat16().float())).codes:
        return "Close: positions are rounded, but to how many bits? Let diagnose measure it."
    return "Pass mystery_rotation to diagnose and read the code of its first finding."


@exercise("repair it")
def _repair_it(answer):
    report = diagnose(answer, head_dim=64, layout="half", inv_freq=inv_freq(64))
    if report.ok:
        return None
    return f"diagnose says {report.findings[0].code}: {report.findings[0].sentence}"
