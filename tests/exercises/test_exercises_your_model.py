"""What the exercises of practice/your_model accept, and what they answer to a misconception."""

import pytest

import ropelib
from ropebook.exercises import check
from ropebook.exercises.your_model import mystery_rotation


def right_rotation(x, position_ids):
    return ropelib.apply_rotary(
        x, *ropelib.cos_sin(position_ids, ropelib.inv_freq(64)), layout="half"
    )


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("hands that never turn", 24),
        ("name the bug", "positions-in-tf32"),
        ("repair it", right_rotation),
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
        ("name the bug", "positions-in-bfloat16", "how many bits"),
        ("name the bug", "off-by-one", "Pass mystery_rotation"),
        ("name the bug", 7, "a string"),
        ("repair it", lambda x, p: right_rotation(x, p + 1), "off-by-one"),
        ("repair it", mystery_rotation, "positions-in-tf32"),
    ],
)
def test_a_misconception_about_a_model_gets_its_own_hint(name, answer, hint):
    verdict = check(name, answer)
    assert not verdict
    assert hint in verdict.message
