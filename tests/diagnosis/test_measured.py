"""What is measured follows from the rotation, and from nothing else."""

import pytest
import torch
from exhibits import PLAIN, plain, turn
from hypothesis import given, settings
from hypothesis import strategies as st

from ropelib import inv_freq
from ropelib.checks import LAYOUTS
from ropelib.diagnosis import diagnose


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    base=st.floats(2, 8).map(lambda digits: 10**digits),
    num_pairs=st.integers(2, 40),
    still=st.sampled_from([0, 2, 6, 16]),
    leading=st.booleans(),
    layout=st.sampled_from(LAYOUTS),
    direction=st.sampled_from([1, -1]),
    factor=st.sampled_from([1.0, 1.2079]),
    divisor=st.sampled_from([1.0, 4.0]),
    in_float32=st.booleans(),
)
def test_any_geometric_rotation_is_recovered(
    base, num_pairs, still, leading, layout, direction, factor, divisor, in_float32
):
    frequencies = inv_freq(2 * num_pairs, base) / divisor

    def rotate(x, ids):
        parts = x.split([2 * num_pairs, still] if leading else [still, 2 * num_pairs], dim=-1)
        moving, resting = parts if leading else reversed(parts)
        angles = ids[..., None] * direction * frequencies
        if in_float32:
            angles = ids[..., None].float() * direction * frequencies.float()
        moving = turn(moving, angles, layout, factor)
        return torch.cat((moving, resting) if leading else (resting, moving), dim=-1)

    report = diagnose(rotate, head_dim=2 * num_pairs + still)
    assert report.ok, report
    assert report.layout == layout
    assert report.base == pytest.approx(base, rel=1e-6)
    assert report.factor == pytest.approx(divisor, rel=1e-6)
    assert report.rotary_dim == 2 * num_pairs
    assert report.direction == direction
    assert report.attention_factor == pytest.approx(factor, rel=1e-6)
    torch.testing.assert_close(report.inv_freq, frequencies, rtol=1e-6, atol=0)
    assert ("clockwise" in report.codes) == (direction == -1)
    assert ("partial" in report.codes) == (still > 0 and leading)
    assert ("trailing-dimensions" in report.codes) == (still > 0 and not leading)
    assert ("linearly-scaled" in report.codes) == (divisor > 1)
    assert ("attention-factor" in report.codes) == (factor > 1)


def test_three_frequencies_show_that_they_are_rounded_and_two_are_a_series_anyhow():
    def diagnosed(num_pairs):
        rounded = inv_freq(2 * num_pairs).bfloat16()
        return diagnose(lambda x, ids: plain(x, ids, rounded), head_dim=2 * num_pairs)

    assert diagnosed(3).codes == ("frequencies-in-bfloat16",)
    assert diagnosed(2).ok


def test_positions_are_dense_at_first_and_around_powers_of_two():
    far = set()

    def watched(x, ids):
        if x.shape[1] > 60:  # as many heads as matrices take
            far.update(ids.flatten().tolist())
        return plain(x, ids)

    report = diagnose(watched, max_position=1000)
    assert report.positions == 1000 and max(far) == 999
    assert set(range(9)) <= far
    for power in (16, 32, 64, 128, 256, 512):
        assert {power - 1, power, power + 1} <= far
        between = {m for m in far if power + 1 < m < 2 * power - 1}
        assert len(between - {999}) == (3 if power >= 64 else 1)
        assert all(m % 2 for m in between)


def test_a_rotation_so_slow_that_a_few_tokens_do_not_show_it_is_right():
    report = diagnose(lambda x, ids: plain(x, ids, PLAIN / 50_000))
    assert report.ok and report.factor == pytest.approx(50_000, rel=1e-4)


def test_low_precision_vectors_with_exact_tables_are_right():
    assert diagnose(lambda x, ids: plain(x.bfloat16(), ids).to(x.dtype)).ok


def test_since_says_where_positions_begin_to_fail():
    rounded = {"bfloat16": 257, "float32": None}
    for dtype, since in rounded.items():
        report = diagnose(lambda x, ids, d=dtype: plain(x, ids.to(getattr(torch, d))))
        assert (report.findings[0].since if report.findings else None) == since


def test_behind_coarse_tables_the_rest_is_still_told():
    def rotate(x, ids):
        return plain(x.bfloat16(), ids).to(x.dtype)

    assert diagnose(rotate, attention_factor=1.2).codes == ("attention-factor-missing",)
    clamped = diagnose(lambda x, ids: rotate(x, ids.clamp(max=2047)))
    assert clamped.codes == ("angles-drift",)
    assert clamped.base == pytest.approx(10_000, rel=0.01)


def test_vectors_that_are_rounded_blur_the_base_and_no_more():
    def rotate(x, ids):
        return plain(x.bfloat16(), ids).to(x.dtype)

    report = diagnose(rotate)
    assert report.base == pytest.approx(10_000, rel=0.01)
    assert report.codes == ("vectors-in-low-precision",)


def test_two_series_side_by_side_are_not_called_scaled():
    axes = torch.cat((inv_freq(32), inv_freq(32)))
    report = diagnose(lambda x, ids: plain(x, ids, axes))
    assert report.ok and report.base is None and report.codes == ("not-geometric",)
    torch.testing.assert_close(report.inv_freq, axes, rtol=1e-6, atol=0)


def test_decoding_that_equals_the_full_pass_is_right():
    assert diagnose(plain, decode=lambda x, ids: plain(x, ids)).ok


def test_decoding_is_compared_with_the_rotation_of_k():
    turned_back = (plain, lambda x, ids: plain(x, -ids))
    assert "decode-differs" not in diagnose(turned_back, decode=turned_back[1]).codes
    assert "decode-differs" in diagnose((plain, plain), decode=turned_back[1]).codes


@pytest.mark.parametrize("bug", ["positions-clamped", "positions-wrap-around"])
@pytest.mark.parametrize("length", [16, 128, 4096])
def test_a_table_that_ends_is_found_at_any_length(bug, length):
    def rotate(x, ids):
        return plain(x, ids.clamp(max=length - 1) if bug == "positions-clamped" else ids % length)

    finding = diagnose(rotate).findings[0]
    assert (finding.code, finding.since) == (bug, length)
    assert str(length) in finding.sentence


def test_the_smallest_of_each_is_taken():
    report = diagnose(lambda x, ids: plain(x, ids, PLAIN[:1]), head_dim=2, max_position=32)
    assert report.ok and report.positions == 32 and report.profile == "one pair, 1 rad/token"


@pytest.mark.parametrize("shift", [2, -7, 10, 100.25, 4096])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_shift_is_found_however_far(shift, layout):
    report = diagnose(lambda x, ids: plain(x, ids.double() + shift, layout=layout))
    assert report.codes == ("positions-shifted",)
    assert report.findings[0].evidence == {"shift": pytest.approx(shift, rel=1e-6)}


def test_pairs_that_are_turned_once_for_all_are_no_shift():
    turning = PLAIN.where(torch.arange(32) < 8, 0)
    report = diagnose(lambda x, ids: turn(x, ids[..., None] * turning + 0.5, "half"))
    assert report.codes == ("turned-at-position-0",)


def test_one_pair_that_is_late_is_found():
    report = diagnose(lambda x, ids: plain(x, ids + 2, PLAIN[:1]), head_dim=2)
    assert report.codes == ("positions-shifted",)
    assert report.findings[0].evidence == {"shift": pytest.approx(2, rel=1e-6)}


def test_a_diagnosis_asks_little():
    asked = []

    def watched(x, ids):
        asked.append(x.numel())
        return plain(x, ids)

    assert diagnose(watched).ok
    assert len(asked) <= 163 and sum(asked) <= 8 * 2**20
