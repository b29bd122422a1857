"""What the exercises of practice/your_model accept, and what they answer to a misconception."""

import pytest
import torch

import ropelib
from ropebook.exercises import check
from ropebook.exercises.your_model import mystery_rotation, off_by


def right_rotation(x, position_ids):
    return ropelib.apply_rotary(
        x, *ropelib.cos_sin(position_ids, ropelib.inv_freq(64)), layout="half"
    )


def in_double(x, position_ids):
    angles = position_ids[..., None].double() * ropelib.inv_freq(64)
    cos, sin = angles.cos().float(), angles.sin().float()
    return ropelib.apply_rotary(x, cos, sin, layout="half")


def as_shipped(x, position_ids):
    angles = position_ids[..., None].to(x.dtype) * ropelib.inv_freq(64).to(x.dtype)
    cos, sin = angles.cos().float(), angles.sin().float()
    return ropelib.apply_rotary(x, cos, sin, layout="half")


def right_in_float32_alone(x, position_ids):
    return (right_rotation if x.dtype == torch.float32 else as_shipped)(x, position_ids)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("as far as slowing goes", "65,536"),
        ("as far as slowing goes", "16 * (4 096 - 1) + 1"),  # to the last step
        ("hands that never turn", 24),
        ("first wrong position", 2049),
        ("repair it", right_rotation),
        ("repair it", in_double),
    ],
)
def test_a_right_answer_about_a_model_is_accepted(name, answer):
    assert check(name, answer)


@pytest.mark.parametrize(
    ("name", "answer", "hint"),
    [
        ("hands that never turn", 40, "that do complete"),
        ("hands that never turn", 15, "2 pi radians"),
        ("hands that never turn", 3, "wavelength above"),
        ("first wrong position", 2048, "next whole number"),
        ("first wrong position", 11, "cannot hold"),
        ("first wrong position", 257, "bfloat16"),
        ("first wrong position", 1000, "At position 1000 it is right"),
        ("first wrong position", 10_000, "At position 10000 it is right"),
        ("first wrong position", 2048.5, "whole position"),
        ("first wrong position", -3, "whole position"),
        ("first wrong position", 4097, "a smaller one"),
        ("first wrong position", 100_001, "a smaller one"),
        ("as far as slowing goes", 4096 * 16 * 16, "once"),
        ("as far as slowing goes", 131_072, "Llama 3.1"),
        ("as far as slowing goes", 65_520, "largest distance"),
        ("as far as slowing goes", 65_522, "16 times as many"),
        ("as far as slowing goes", "65,53", "decimals take a point"),
        ("repair it", lambda x, p: right_rotation(x, p + 1), "off-by-one"),
        ("repair it", mystery_rotation, "positions-in-float16"),
        ("repair it", as_shipped, "angles-in-bfloat16"),
        ("repair it", right_in_float32_alone, "when x is bfloat16"),
    ],
)
def test_a_misconception_about_a_model_gets_its_own_hint(name, answer, hint):
    verdict = check(name, answer)
    assert not verdict
    assert hint in verdict.message


@pytest.mark.parametrize(
    ("dtype", "right_up_to", "wrong_at"),
    [
        (torch.bfloat16, 10, 200),
        (torch.float16, 10, 2049),
        (torch.float32, 10, 100_003),
        (torch.float64, 1_000_003, None),
    ],
)
def test_the_shipped_rotation_is_right_for_float64_alone(dtype, right_up_to, wrong_at):
    rounding = max(torch.finfo(dtype).eps, torch.finfo(torch.float32).eps)
    assert off_by(as_shipped, dtype, right_up_to) < 10 * rounding
    assert wrong_at is None or off_by(as_shipped, dtype, wrong_at) > 10 * rounding
