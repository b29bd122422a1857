"""The score builder: its Python side against explicit matrices, its source."""

import math

import pytest
import torch
import traitlets

pytest.importorskip("anywidget")

from oracles import Oracle
from refusals import assert_refused

from ropebook.widgets import ScoreBuilder
from ropelib import inv_freq, reference

DISTANCES = range(-32, 33)


def drawn(seed, **values):
    generator = torch.Generator().manual_seed(seed)
    builder = ScoreBuilder(**values)
    builder.amplitudes = torch.rand(8, generator=generator).double().tolist()
    angles = torch.rand(8, generator=generator).double() * 2 - 1
    builder.start_angles = (angles * math.pi).tolist()
    return builder


def test_it_starts_with_eight_cosines_that_agree_at_minus_seven():
    builder = ScoreBuilder()
    assert (builder.peak, builder.distance, builder.num_pairs) == (-7, -7, 8)
    assert math.isclose(builder.score, 8) and math.isclose(builder.total, 8)
    assert builder.rival_score < 4 and builder.beside < 7.4


@pytest.mark.parametrize("head_dim", [2, 4, 10, 16])
@pytest.mark.parametrize("size", [10.0, 1e4])
def test_the_score_is_that_of_a_query_and_a_key_turned_by_matrices(head_dim, size):
    builder = drawn(1, head_dim=head_dim, base=size)
    frequencies = inv_freq(head_dim, size)
    by_matrix = []
    for distance in DISTANCES:
        turn = reference.rotation_matrix(distance, frequencies, layout="interleaved")
        by_matrix.append((builder.q @ turn @ builder.k).item())
    torch.testing.assert_close(builder.scores, torch.tensor(by_matrix).double())
    builder.distance = 5
    assert math.isclose(builder.score, by_matrix[37], abs_tol=1e-12)


def test_the_score_is_the_sum_of_the_cosines():
    builder = drawn(2, pairs=5)
    for distance in (-32, -1, 0, 9):
        builder.distance = distance
        cosines = [
            a * math.cos(alpha + distance * frequency)
            for a, alpha, frequency in zip(
                builder.amplitudes, builder.start_angles, builder.inv_freq.tolist(), strict=True
            )
        ]
        assert builder.contributions == pytest.approx(cosines[:5])
        assert math.isclose(builder.score, sum(cosines[:5]), abs_tol=1e-12)
    assert builder.k[10:].abs().max() == 0


@pytest.mark.parametrize("distance", [-32, -7, 0, 31])
def test_aimed_clocks_agree_there(distance):
    builder = drawn(3, base=500.0)
    builder.amplitudes = [1.0] * 8
    builder.aim(distance)
    assert builder.peak == distance
    assert math.isclose(builder.peak_score, builder.total)


def test_pairs_that_are_off_add_nothing():
    builder = ScoreBuilder(pairs=3)
    assert len(builder.contributions) == 3 and math.isclose(builder.score, 3)
    assert builder.total == 3


def test_slow_clocks_make_one_hill_and_have_no_rival():
    builder = ScoreBuilder(amplitudes=[0.0] * 4 + [1.0] * 4)
    assert builder.peak == -7 and builder.rival is None and math.isnan(builder.rival_score)
    assert builder.beside > 3.98


def test_equal_scores_the_nearest_wins_behind_first():
    still = ScoreBuilder(amplitudes=[0.0] * 8)
    assert (still.peak, still.score, still.rival) == (0, 0, None)
    # One clock of period 8, aimed at -4: as high at 4.
    builder = ScoreBuilder(head_dim=4, base=(4 / math.pi) ** 2, amplitudes=[0.0] + [1.0] * 7)
    builder.aim(-4)
    assert (builder.peak, builder.rival) == (-4, 4)


def test_a_smaller_head_takes_the_sliders_down_with_it():
    builder = ScoreBuilder(pair=7)
    builder.head_dim = 4
    assert (builder.pairs, builder.pair, len(builder.contributions)) == (2, 1, 2)
    assert ScoreBuilder(head_dim=6).pairs == 3


def test_a_page_may_change_width_and_pairs_in_one_message():
    builder = ScoreBuilder()
    builder.set_state({"pairs": 1, "head_dim": 2, "pair": 0})
    assert (builder.head_dim, builder.pairs) == (2, 1)
    builder.set_state({"pairs": 8, "pair": 7, "head_dim": 16})
    assert (builder.head_dim, builder.pairs, builder.pair) == (16, 8, 7)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("head_dim", 7, r"head_dim must be even and lie in \[2, 16\], got 7"),
        ("head_dim", 18, r"head_dim must be even and lie in \[2, 16\], got 18"),
        ("base", 0.0, "base must be finite and greater than 0, got 0"),
        ("base", math.inf, "base must be finite and greater than 0, got inf"),
        ("pairs", 9, r"pairs must lie in \[1, 8\] for head_dim 16, got 9"),
        ("pairs", 0, r"pairs must lie in \[1, 8\] for head_dim 16, got 0"),
        ("pair", 8, r"pair must lie in \[0, 7\] for head_dim 16, got 8"),
        ("distance", -33, r"distance must lie in \[-32, 32\], got -33"),
        ("amplitudes", [1.0] * 7, "amplitudes must have 8 numbers, one for each pair, got 7"),
        ("amplitudes", [1.5] * 8, r"amplitudes must lie in \[0, 1\], got 1.5"),
        ("amplitudes", [math.nan] * 8, r"amplitudes must lie in \[0, 1\], got nan"),
        ("start_angles", [4.0] * 8, r"start_angles must lie in \[-pi, pi\], got 4"),
    ],
)
def test_it_refuses(name, value, message):
    assert_refused(ScoreBuilder, name, value, message)


def test_more_pairs_than_the_head_has_are_refused_at_once():
    with pytest.raises(traitlets.TraitError, match=r"pairs must lie in \[1, 2\] for head_dim 4"):
        ScoreBuilder(head_dim=4, pairs=8)


def test_it_takes_the_edges():
    builder = ScoreBuilder(head_dim=2, pairs=1, distance=32, pair=0)
    builder.start_angles = [math.pi, -math.pi] * 4
    assert builder.num_pairs == 1


# ---- what it must report ----


def answers(inputs):
    shape = {name: int(inputs[name]) for name in ("head_dim", "pairs", "pair", "distance")}
    content = {"amplitudes": inputs["pair_amplitude"], "start_angles": inputs["pair_start"]}
    builder = ScoreBuilder(base=inputs["base"], **shape, **content)
    parts = builder.contributions
    off = [0.0] * (builder.num_pairs - builder.pairs)
    return {
        "score": builder.score,
        "total": builder.total,
        "peak": builder.peak,
        "peak_score": builder.peak_score,
        "beside": builder.beside,
        "rival": math.nan if builder.rival is None else builder.rival,
        "rival_score": builder.rival_score,
        "wavelength": builder.wavelengths[builder.pair].item(),
        "contribution": parts + off,
        "pair_contribution": (parts + off)[builder.pair],
        # What the sliders last set is what the pair has.
        "amplitude": builder.amplitudes[builder.pair],
        "start_angle": builder.start_angles[builder.pair],
        "pair_amplitude": builder.amplitudes,
        "pair_start": builder.start_angles,
    }


ORACLE = Oracle(
    answers,
    chosen=("pair",),
    kept=("pair_amplitude", "pair_start"),
    scales={"start_angle": math.radians, "base": lambda power: 10**power},
    nearest={"base": 0.013},
    wide_ranging="wavelength|^base$",
    untold=("pair",),
)
