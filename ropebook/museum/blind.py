"""Tests that a bug passes, shipped or warned of in its thread, and one that sees."""

import unittest
from collections.abc import Callable
from dataclasses import dataclass

import torch

from ropebook.museum.first_token import over_the_whole_head
from ropebook.museum.kit import Exhibit, Meant, Rotation
from ropelib.diagnosis import diagnose


def _vectors() -> torch.Tensor:
    return torch.randn(2, 3, 12, 64, generator=torch.Generator().manual_seed(12))


@unittest.skip("cuda error")
def skipped(rotate, meant):
    """It would see. It is marked as not to be run."""
    sees(rotate, meant)


def unasserted(rotate, meant):
    """It compares, and nobody asks for the answer."""
    x, ids = _vectors(), torch.arange(7, 19)
    torch.allclose(rotate(x, ids), meant.rotate(x, ids))


def positions_never_changed(rotate, meant):
    """Every token is at its own slot, where it would be anyway."""
    x, ids = _vectors(), torch.arange(12)
    torch.testing.assert_close(rotate(x, ids), meant.rotate(x, ids))


def values_without_pairs(rotate, meant):
    """Frequencies are right, whomever they turn."""
    found = diagnose(rotate, max_position=64).inv_freq
    found, expected = found[found != 0], meant.inv_freq[meant.inv_freq != 0]
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=0)


def copied_from_the_code(rotate, meant):
    """What is expected comes from the same wrong formula."""
    x, ids = _vectors(), torch.arange(7, 19)
    torch.testing.assert_close(rotate(x, ids), over_the_whole_head(x, ids))


def sees(rotate, meant):
    """Other positions in each row, numbers from elsewhere, and asserted."""
    x = _vectors()
    ids = torch.arange(12) + torch.tensor([[7], [300]])
    close = dict(rtol=0, atol=1e-3)  # angles of float32 are off by some 1e-5
    torch.testing.assert_close(rotate(x, ids), meant.rotate(x, ids), **close)


@dataclass(frozen=True)
class Blind:
    """A blind test.

    Attributes:
        test: takes a rotation and what it was meant to be.
        bug: the exhibit that passes it.
        where: its thread.
        shipped: whether it was; otherwise the thread warns of its kind.
    """

    test: Callable[[Rotation, Meant], None]
    bug: str
    where: str
    shipped: bool = True


BLIND = [
    Blind(skipped, "half of a query made of the key", "hpcaitech/ColossalAI/pull/6444"),
    Blind(unasserted, "half of a query made of the key", "hpcaitech/ColossalAI/pull/6444"),
    Blind(
        positions_never_changed,
        "positions that are asked for their number only",
        "stanford-cs336/assignment1-basics/issues/28",
    ),
    Blind(
        values_without_pairs,
        "right frequencies, wrong partners",
        "NVIDIA-NeMo/Megatron-Bridge/issues/4195",
        shipped=False,
    ),
    Blind(copied_from_the_code, "the whole head for its part", "pie-project/pie/pull/603"),
]


def verdict(test: Callable[[Rotation, Meant], None], exhibit: Exhibit, *, mended=False) -> str:
    """Run a test on a bug, as a test runner does.

    Args:
        test: takes a rotation and what it was meant to be.
        exhibit: what it is run on.
        mended: whether on its mended form instead.

    Returns:
        "passes", "fails" or "skipped".
    """
    rotation = exhibit.mended() if mended else exhibit.wrong()
    try:
        for side in exhibit.sides(rotation):
            test(side, exhibit.meant)
    except unittest.SkipTest:
        return "skipped"
    except AssertionError:
        return "fails"
    return "passes"
