"""How many threads torch has while a rotation is diagnosed, and after it."""

import pytest
import torch

from ropelib import apply_rotary, cos_sin, diagnose, inv_freq
from ropelib.diagnosis.threads import LARGE

OURS = 3


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    torch.set_num_threads(OURS)
    yield
    torch.set_num_threads(before)


def rotate(x, position_ids):
    return apply_rotary(x, *cos_sin(position_ids, inv_freq(x.shape[-1])), layout="half")


def test_small_calls_have_one_thread_and_large_ones_those_of_whoever_asks():
    seen = []

    def watched(x, position_ids):
        seen.append((x.numel() >= LARGE, torch.get_num_threads()))
        return rotate(x, position_ids)

    assert diagnose(watched).ok
    assert set(seen) == {(False, 1), (True, OURS)}
    assert torch.get_num_threads() == OURS


def test_a_diagnosis_within_another_knows_the_threads_of_the_first():
    seen = []

    def watched(x, position_ids):
        seen.append((x.numel() >= LARGE, torch.get_num_threads()))
        return rotate(x, position_ids)

    def asks_too(x, position_ids):
        if not seen:
            seen.append(None)
            assert diagnose(watched).ok
            seen.remove(None)
        return rotate(x, position_ids)

    assert diagnose(asks_too).ok
    assert (True, OURS) in seen and (False, OURS) not in seen


def test_after_a_rotation_that_raises_all_is_as_before():
    def raises(x, position_ids):
        raise RuntimeError("no")

    assert not diagnose(raises).ok
    assert torch.get_num_threads() == OURS
