"""What the exercises of The museum of shipped bugs accept, and that what they claim is so."""

import re

import pytest
import torch
from answers import accepted, hinted

from ropebook.exercises import check
from ropelib import apply_rotary, diagnose

RIGHT = [
    ("told or not", 1),
    ("good up to 8192", 1),
    ("the longest is right", 0),
    ("sines too late", 32),
    ("what half an exponent is", 500),
]
WRONG = [
    ("told or not", 0, "turns as evenly"),
    ("told or not", 2, "word by word"),
    ("good up to 8192", 0, "within tens of tokens"),
    ("good up to 8192", 2, "no cache is read"),
    ("good up to 8192", 3, "from 257 on"),
    ("the longest is right", 1, "too late for all four"),
    ("the longest is right", 2, "one text alone"),
    ("the longest is right", 3, "by its place"),
    ("sines too late", 64, "how much wider"),
    ("sines too late", 128, "Where do the sines begin"),
    ("sines too late", 96, "Where does the kernel begin"),
    ("sines too late", 0, "a power of two pads to itself"),
    ("sines too late", 16, "for a head of 96"),
    ("sines too late", 7, "is 256"),
    ("what half an exponent is", 250_000, "Then pair i"),
    ("what half an exponent is", 125_000, "not the base"),
    ("what half an exponent is", 10_000, "nothing to do"),
    ("what half an exponent is", 250_000**2, "smaller"),
    ("what half an exponent is", 7, "Which base b"),
]

test_right_answers_are_recognized = accepted(RIGHT)
test_wrong_answers_get_a_hint_that_fits = hinted(WRONG)


def test_hints_never_give_the_answer():
    for name, answer, _ in WRONG:
        message = check(name, answer).message
        assert not re.search(r"\b32\b|\b500\b", message), message


@pytest.mark.parametrize(("width", "late"), [(192, 32), (96, 16), (128, 0)])
def test_a_padded_width_is_read_too_late(width, late):
    padded = 1 << (width - 1).bit_length()
    assert padded // 2 - width // 2 == late


def test_half_of_the_exponent_is_the_root_of_the_base():
    speeds = 250_000.0 ** (-torch.arange(32).double() / 64)

    def rotate(x, position_ids):
        angles = position_ids[..., None] * speeds
        return apply_rotary(x, angles.cos().float(), angles.sin().float(), layout="half")

    assert diagnose(rotate, max_position=512).base == pytest.approx(500, rel=1e-6)
