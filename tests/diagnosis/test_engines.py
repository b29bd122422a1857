"""What the page of questions says to those who write engines and kernels."""

import math

import pytest
import torch

from ropelib import apply_rotary, cos_sin, inv_freq
from ropelib.diagnosis import diagnose


def turned(x, positions, speeds, layout="half"):
    return apply_rotary(x, *cos_sin(positions, speeds), layout=layout)


@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
def test_turns_counted_in_float32_lose_the_first_pair_whose_product_is_exact(base):
    speeds = inv_freq(64, base)

    def fast(x, ids):
        angles = ids[..., None].float() * speeds.float()
        turns = angles * torch.tensor(1 / math.tau, dtype=torch.float32)
        left = (turns - turns.round()).double() * math.tau
        return apply_rotary(x, left.cos().float(), left.sin().float(), layout="half")

    assert diagnose(fast).codes == ("sines-of-large-angles",)
    positions = torch.arange(8192).float()
    assert torch.equal(positions * speeds.float()[0], positions)

    def reduced(x, ids):
        left = (ids[..., None].double() * speeds) % math.tau
        return apply_rotary(x, left.cos().float(), left.sin().float(), layout="half")

    assert diagnose(reduced).codes == ()


def test_a_wide_table_read_at_half_its_width_gives_half_the_position():
    angles = torch.arange(20_000)[:, None] * inv_freq(64)
    rows = torch.cat((angles, angles), dim=-1).reshape(-1, 32)
    torch.testing.assert_close(rows[::2], angles)
    (finding,) = diagnose(
        lambda x, ids: apply_rotary(
            x, rows[ids].cos().float(), rows[ids].sin().float(), layout="half"
        )
    ).findings
    assert finding.code == "positions-bent" and "p // 2" in finding.sentence
    assert "a table as wide as the head" in finding.cause


def test_a_head_is_cut_between_neighbors_by_the_frequencies_of_the_whole():
    x, positions, speeds = torch.randn(7, 64, dtype=torch.float64), range(7), inv_freq(64)
    parts = x.chunk(2, dim=-1)
    whole = turned(x, positions, speeds, "interleaved")
    by_its_part, by_its_own = (
        [turned(part, positions, of, "interleaved") for part, of in zip(parts, each, strict=True)]
        for each in (speeds.chunk(2), [inv_freq(32)] * 2)
    )
    torch.testing.assert_close(torch.cat(by_its_part, dim=-1), whole)
    assert (torch.cat(by_its_own, dim=-1) - whole).abs().max() > 0.1
    moved = torch.cat((parts[0], parts[1] + 1), dim=-1)  # in halves the other part is needed
    first = [turned(each, positions, speeds)[:, :32] for each in (x, moved)]
    assert (first[0] - first[1]).abs().max() > 0.1


def test_a_draft_one_place_late_is_named():
    speeds = inv_freq(64)

    def rotate(x, ids):
        return turned(x, ids, speeds)

    def step(x, ids):
        return rotate(x, ids + 1 if x.shape[2] == 1 else ids)

    assert diagnose(rotate, decode=step).codes == ("decode-off-by-one",)
    assert diagnose(rotate, decode=rotate).codes == ()
