"""Every scaling method against the papers' formulas as loops, and at its limits."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from stretches import LLAMA3, YARN, bases, factors, lengths, ratio, theirs, widths
from transformers.utils import logging

from ropelib import apply_rotary, cos_sin, frequencies, scaling

torch.set_num_threads(1)
logging.set_verbosity_error()


def yarn_by_loop(rotary_dim, base, factor, original, fast=32.0, slow=1.0, truncate=True):
    def turns(i):  # equation 17, at any real index
        return original / (2 * math.pi * base ** (2 * i / rotary_dim))

    def where(wanted):  # by bisection instead of the logarithm
        low, high = -1000.0 * rotary_dim, 1000.0 * rotary_dim
        for _ in range(200):
            middle = (low + high) / 2
            try:
                many = turns(middle) > wanted
            except ArithmeticError:  # its power overflows, or is zero to divide by
                many = middle < 0
            low, high = (middle, high) if many else (low, middle)
        return low

    start, end = where(fast), where(slow)
    if truncate:
        start, end = math.floor(start), math.ceil(end)
    start, end = max(start, 0), min(end, rotary_dim - 1)
    result = []
    for i in range(rotary_dim // 2):
        trained = base ** (-2 * i / rotary_dim)
        if i <= start:
            result.append(trained)
        elif i >= end:
            result.append(trained / factor)
        else:
            kept = (end - i) / (end - start)  # equation 20, gamma
            result.append((1 - kept) * trained / factor + kept * trained)
    return result


@pytest.mark.parametrize("truncate", [True, False])
@pytest.mark.parametrize(
    ("rotary_dim", "base", "factor", "original"),
    [(128, 10_000.0, 16.0, 4096), (64, 10_000.0, 40.0, 4096), (64, 150_000.0, 32.0, 4096)],
)
def test_yarn_equals_the_paper_as_a_loop(rotary_dim, base, factor, original, truncate):
    expected = yarn_by_loop(rotary_dim, base, factor, original, truncate=truncate)
    ours, attention_factor = scaling.yarn(
        rotary_dim, base, factor=factor, original_max_seq_len=original, truncate=truncate
    )
    torch.testing.assert_close(ours.tolist(), expected, rtol=1e-12, atol=0)
    temperature = (0.1 * math.log(factor) + 1) ** -2  # equation 22
    assert attention_factor**2 == pytest.approx(1 / temperature, rel=1e-12)


def test_an_inverted_yarn_ramp_is_caught():
    # The blend with its ends exchanged, as one published library has it.
    kept = yarn_by_loop(128, 10_000.0, 10.0, 2048)
    ours, _ = scaling.yarn(128, factor=10.0, original_max_seq_len=2048)
    trained, _ = scaling.default(128)
    inverted = trained + trained / 10 - torch.tensor(kept, dtype=torch.float64)
    assert inverted[0].item() == pytest.approx(0.1)
    assert (ours / inverted - 1).abs().max() > 5


def test_ntk_by_parts_equals_the_paper_as_a_loop():
    expected = []
    for i in range(64):
        theta = 10_000.0 ** (-2 * i / 128)
        r = 4096 / (2 * math.pi / theta)  # equation 17
        if r < 1:  # equation 18
            gamma = 0.0
        elif r > 32:
            gamma = 1.0
        else:
            gamma = (r - 1) / (32 - 1)
        expected.append((1 - gamma) * theta / 8 + gamma * theta)  # equation 20
    ours, attention_factor = scaling.ntk_by_parts(128, **YARN)
    torch.testing.assert_close(ours.tolist(), expected, rtol=1e-12, atol=0)
    assert attention_factor == 1


def test_the_papers_ramp_and_the_shipped_ramp_differ_between_their_ends_only():
    paper, shipped = scaling.ntk_by_parts(128, **YARN)[0], scaling.yarn(128, **YARN)[0]
    turns = frequencies.turns(frequencies.inv_freq(128), 4096)
    ends = (turns > 40) | (turns < 0.8)
    assert torch.equal(paper[ends], shipped[ends])
    assert (paper / shipped - 1).abs().max() > 0.2


def test_llama3_equals_metas_formula_as_a_loop():
    expected = []
    for i in range(64):
        trained = 500_000.0 ** (-2 * i / 128)
        wavelength = 2 * math.pi / trained
        if wavelength < 8192 / 4:
            expected.append(trained)
        elif wavelength > 8192 / 1:
            expected.append(trained / 8)
        else:
            smooth = (8192 / wavelength - 1) / (4 - 1)
            expected.append((1 - smooth) * trained / 8 + smooth * trained)
    ours, _ = scaling.llama3(128, 500_000.0, **LLAMA3)
    torch.testing.assert_close(ours.tolist(), expected, rtol=1e-12, atol=0)


# Limits


@pytest.mark.parametrize(
    "scale",
    [
        lambda **f: scaling.linear(64, **f),
        lambda **f: scaling.ntk_aware(64, **f),
        lambda **f: scaling.ntk_fixed(64, **f),
        lambda factor: scaling.ntk_alpha(64, alpha=factor),
        lambda **f: scaling.dynamic_ntk(64, **f, seq_len=100, max_seq_len=100),
        lambda **f: scaling.ntk_by_parts(64, **f, original_max_seq_len=4096),
        lambda **f: scaling.yarn(64, **f, original_max_seq_len=4096),
        lambda **f: scaling.llama3(64, 10_000.0, **LLAMA3 | f),
        lambda **f: scaling.proportional(64, **f),
        lambda **f: scaling.longrope(
            64, **f, short_factor=[1] * 32, long_factor=[1] * 32, original_max_seq_len=4096
        ),
    ],
)
def test_factor_one_is_default(scale):
    inv_freq, attention_factor = scale(factor=1.0)
    torch.testing.assert_close(inv_freq, frequencies.inv_freq(64), rtol=1e-15, atol=0)
    assert attention_factor == 1
    changed, _ = scale(factor=2.0)
    is_listed = torch.equal(changed, inv_freq)  # dynamic within its length, and listed factors
    assert is_listed or (changed < inv_freq).any()


def test_linear_is_default_divided():
    assert torch.equal(scaling.linear(128, factor=8.0)[0] * 8, scaling.default(128)[0])


@pytest.mark.parametrize("factor", [1.0, 2.0, 8.0])
def test_dynamic_below_the_trained_length_is_default(factor):
    def scaled(seq_len):
        return scaling.dynamic_ntk(128, factor=factor, seq_len=seq_len, max_seq_len=4096)[0]

    for seq_len in (1, 4095, 4096):
        assert torch.equal(scaled(seq_len), scaling.default(128)[0])
    assert (scaled(4097)[1:] < scaling.default(128)[0][1:]).all()


def test_dynamic_with_factor_one_is_ntk_aware_by_the_ratio_of_lengths():
    ours, _ = scaling.dynamic_ntk(128, factor=1.0, seq_len=32_768, max_seq_len=4096)
    torch.testing.assert_close(ours, scaling.ntk_aware(128, factor=8.0)[0], rtol=1e-14, atol=0)


def test_the_two_ntk_formulas_agree_at_the_last_pair_only():
    aware = ratio(scaling.ntk_aware(128, factor=8.0), 128)
    fixed = ratio(scaling.ntk_fixed(128, factor=8.0), 128)
    assert aware[0].item() == 1 and round(fixed[0].item(), 4) == 0.9680
    assert aware[-1].item() == pytest.approx(0.125, rel=1e-12)
    assert fixed[-1].item() == pytest.approx(0.125, rel=1e-12)
    assert (fixed[:-1] < aware[:-1]).all()
    for i in range(64):
        assert aware[i].item() == pytest.approx(8 ** (-2 * i / 126), rel=1e-12)
        assert fixed[i].item() == pytest.approx(8 ** (-2 * (i + 1) / 128), rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(widths, bases, factors, lengths, st.booleans())
def test_yarn_stays_between_default_and_linear_and_meets_both(
    rotary_dim, base, factor, original, truncate
):
    ours, _ = scaling.yarn(
        rotary_dim, base, factor=factor, original_max_seq_len=original, truncate=truncate
    )
    trained = frequencies.inv_freq(rotary_dim, base)
    assert (ours <= trained * (1 + 1e-15)).all()
    assert (ours >= trained / factor * (1 - 1e-15)).all()
    turns = frequencies.turns(trained, original)
    assert ours[0] == trained[0]
    assert torch.equal(ours[turns >= 32], trained[turns >= 32]) or not truncate
    slow = turns < 1
    if truncate and rotary_dim > 4:
        end = min(rotary_dim - 1, math.ceil(_index(1, rotary_dim, base, original)))
        slow = torch.arange(len(trained)) >= end
    torch.testing.assert_close(ours[slow], trained[slow] / factor, rtol=1e-14, atol=0)


def _index(turns, rotary_dim, base, original):
    return rotary_dim * math.log(original / (2 * math.pi * turns)) / (2 * math.log(base))


def test_truncate_moves_the_ramp():
    cut = scaling.yarn(64, 150_000.0, factor=32.0, original_max_seq_len=4096)[0]
    exact = scaling.yarn(64, 150_000.0, factor=32.0, original_max_seq_len=4096, truncate=False)[0]
    assert (cut / exact - 1).abs().max() > 0.01


def test_where_the_ramp_leaves_the_head_transformers_slows_the_wrong_pairs():
    # Every pair turns often within so long a length, so none should be slowed; theirs all are.
    base, original = 10.0, 1_000_000
    assert frequencies.turns(frequencies.inv_freq(64, base), original).min() > 32
    reference, _ = theirs(
        64, base, rope_type="yarn", factor=4.0, original_max_position_embeddings=original
    )
    torch.testing.assert_close(
        reference.double() * 4, frequencies.inv_freq(64, base), rtol=1e-6, atol=0
    )
    with pytest.raises(ValueError, match=r"ramp from 32.0 to 1.0 turns must lie within the head"):
        scaling.yarn(64, base, factor=4.0, original_max_seq_len=original)


def test_yarn_attention_factors():
    def attention_factor(**options):
        return scaling.yarn(64, factor=40.0, original_max_seq_len=4096, **options)[1]

    assert attention_factor() == 0.1 * math.log(40) + 1
    assert attention_factor(attention_factor=1.25) == 1.25
    assert attention_factor(mscale=1.0, mscale_all_dim=1.0) == 1
    expected = (0.1 * 2 * math.log(40) + 1) / (0.1 * 0.5 * math.log(40) + 1)
    assert attention_factor(mscale=2.0, mscale_all_dim=0.5) == pytest.approx(expected, rel=1e-15)


def test_llama3_bands():
    ratios = ratio(scaling.llama3(128, 500_000.0, **LLAMA3), 128, 500_000.0)
    wavelengths = frequencies.wavelength(frequencies.inv_freq(128, 500_000.0))
    fast, slow = wavelengths < 8192 / 4, wavelengths > 8192
    assert (ratios[fast] == 1).all() and (ratios[slow] == 1 / 8).all()
    between = ratios[~fast & ~slow]
    assert len(between) and ((between > 1 / 8) & (between < 1)).all()
    assert (between.diff() < 0).all()


def test_llama3_is_ntk_by_parts_under_other_names():
    parts = scaling.ntk_by_parts(
        128, 500_000.0, factor=8.0, original_max_seq_len=8192, beta_fast=4.0, beta_slow=1.0
    )
    assert torch.equal(scaling.llama3(128, 500_000.0, **LLAMA3)[0], parts[0])


def test_longrope_chooses_its_list_by_length_and_keeps_its_attention_factor():
    options = dict(
        short_factor=[1.0, 1.5], long_factor=[2.0, 64.0], factor=32.0, original_max_seq_len=4096
    )
    trained = frequencies.inv_freq(4)
    for seq_len, slowdown in ((None, [1, 1.5]), (4096, [1, 1.5]), (4097, [2, 64])):
        inv_freq, attention_factor = scaling.longrope(4, **options, seq_len=seq_len)
        expected = trained / torch.tensor(slowdown, dtype=torch.float64)
        torch.testing.assert_close(inv_freq, expected, rtol=1e-15, atol=0)
        assert attention_factor == pytest.approx(math.sqrt(1 + 5 / 12), rel=1e-15)


def test_proportional_is_not_partial_rotation():
    proportional, _ = scaling.proportional(128, 1e6, partial_rotary_factor=0.25)
    partial, _ = scaling.default(32, 1e6)
    assert torch.equal(proportional[:16], frequencies.inv_freq(128, 1e6)[:16])
    assert (proportional[16:] == 0).all() and len(proportional) == 64
    assert (proportional[1:16] / partial[1:] > 1.9).all()

    # Of each dimension that moves, where its unit vector goes: to itself and to its partner.
    partners = {}
    for name, spectrum in (("proportional", proportional), ("partial", partial)):
        cos, sin = cos_sin([1], spectrum, dtype=torch.float64)
        moved = apply_rotary(torch.eye(128).double()[:, None], cos, sin, layout="half")[:, 0]
        beside = moved.masked_fill(torch.eye(128).bool(), 0).abs() > 1e-9
        assert (beside.sum(-1) <= 1).all()
        partners[name] = {i: beside[i].nonzero().item() for i in range(128) if beside[i].any()}
    ahead = {name: {i: j for i, j in found.items() if i < j} for name, found in partners.items()}
    assert ahead["proportional"] == {i: i + 64 for i in range(16)}
    assert ahead["partial"] == {i: i + 16 for i in range(16)}


def test_yarn_takes_a_ramp_of_no_width():
    # Both edges at the same number of turns: pairs before it are kept, those after it slowed.
    options = dict(factor=4.0, original_max_seq_len=4096, truncate=False)
    scaled, _ = scaling.yarn(64, **options, beta_fast=8.0, beta_slow=8.0)
    ratio = scaled / frequencies.inv_freq(64)
    turns = frequencies.turns(frequencies.inv_freq(64), 4096)
    assert torch.equal(ratio[turns > 8], torch.ones_like(ratio[turns > 8]))
    torch.testing.assert_close(ratio[turns < 8], torch.full_like(ratio[turns < 8], 0.25))


@pytest.mark.parametrize(
    ("original", "turns", "truncate", "last_kept"),
    [(4096, 8.0, False, 15), (4096, 30.0, False, 10), (6, 1.0, True, 0)],
)
def test_yarn_without_a_ramp_equals_the_paper_as_a_loop(original, turns, truncate, last_kept):
    # Of six tokens no pair turns once: the ramp ends where it starts, at the first pair.
    expected = yarn_by_loop(64, 10_000.0, 4.0, original, turns, turns, truncate)
    trained = frequencies.inv_freq(64).tolist()
    assert expected[last_kept] == trained[last_kept]
    assert expected[last_kept + 1] == pytest.approx(trained[last_kept + 1] / 4, rel=1e-12)
    ours, _ = scaling.yarn(
        64,
        factor=4.0,
        original_max_seq_len=original,
        beta_fast=turns,
        beta_slow=turns,
        truncate=truncate,
    )
    torch.testing.assert_close(ours.tolist(), expected, rtol=1e-12, atol=0)


def test_the_slowest_turns_there_are_end_the_ramp_at_the_last_pair():
    options = dict(factor=4.0, original_max_seq_len=512)
    slowest, _ = scaling.yarn(64, **options, beta_slow=5e-324)
    slow, _ = scaling.yarn(64, **options, beta_slow=1e-12)
    assert torch.equal(slowest, slow)
