"""The mean of cosines, its bound and the base bound, against loops and the paper's table."""

import cmath
import math

import pytest
import torch

from ropelib import inv_freq
from ropelib.distance import cosine_mean, first_negative_distance, partial_sum_bound, smallest_base

DISTANCES = torch.tensor([0, 1, 2, 7, 100, 511, 4096])


@pytest.mark.parametrize(("rotary_dim", "base"), [(2, 1e4), (64, 1e4), (128, 5e5)])
def test_mean_and_bound_are_their_formulas_as_loops(rotary_dim, base):
    turns = inv_freq(rotary_dim, base).tolist()
    means, bounds = [], []
    for r in DISTANCES.tolist():
        means.append(sum(math.cos(r * f) for f in turns) / len(turns))
        partial = [sum(cmath.exp(1j * r * f) for f in turns[:j]) for j in range(1, len(turns) + 1)]
        bounds.append(sum(map(abs, partial)) / len(turns))
    assert cosine_mean(inv_freq(rotary_dim, base), DISTANCES).tolist() == pytest.approx(means)
    assert partial_sum_bound(inv_freq(rotary_dim, base), DISTANCES).tolist() == pytest.approx(
        bounds
    )


def test_distances_of_any_shape_and_sign():
    grid = DISTANCES[:6].reshape(2, 3)
    for measure in (cosine_mean, partial_sum_bound):
        flat = measure(inv_freq(8), DISTANCES[:6])
        assert torch.equal(measure(inv_freq(8), grid), flat.reshape(2, 3))
        torch.testing.assert_close(measure(inv_freq(8), -grid), flat.reshape(2, 3))


def test_far_distances_are_not_rounded():
    # float32 has no 2 ** 24 + 1; one token is a radian of the first pair.
    far = 2**24 + 1
    for value in (cosine_mean(inv_freq(2), torch.tensor([far])), cosine_mean(inv_freq(2), [far])):
        assert float(value) == pytest.approx(math.cos(far), abs=1e-12)


def test_a_default_device_without_numbers_changes_nothing():
    with torch.device("meta"):
        assert first_negative_distance(inv_freq(128), 5000) == 1707
        assert smallest_base(128, 1000, [4200.0, 4300.0]) == 4300.0


@pytest.mark.parametrize("rotary_dim", [2, 128, 2**20])
def test_the_memory_of_a_search_does_not_grow_with_the_width(rotary_dim):
    turns = inv_freq(rotary_dim) if rotary_dim < 2**20 else torch.full((2**19,), 1.0).double()
    first = 2 if rotary_dim != 128 else 1707
    assert first_negative_distance(turns, 5000) == first


def test_no_score_exceeds_the_bound():
    generator = torch.Generator().manual_seed(0)
    turns = inv_freq(64)
    r = torch.arange(300)
    bound = partial_sum_bound(turns, r)
    waves = torch.polar(torch.ones(300, 32).double(), r[:, None] * turns)
    for _ in range(20):
        h = torch.randn(32, dtype=torch.complex128, generator=generator)
        step = torch.cat((h, torch.zeros(1))).diff().abs().max()
        assert ((waves * h).real.sum(-1).abs() <= 32 * bound * step + 1e-9).all()


@pytest.mark.parametrize("max_distance", [1, 1706, 1707, 5000])
def test_the_first_negative_distance_is_where_a_loop_finds_it(max_distance):
    negative = (cosine_mean(inv_freq(128), torch.arange(max_distance + 1)) < 0).nonzero()
    expected = int(negative[0]) if len(negative) else None
    assert first_negative_distance(inv_freq(128), max_distance) == expected


@pytest.mark.parametrize("max_distance", [300, 4096, 5000])
def test_the_smallest_base_is_the_first_of_those_that_hold(max_distance):
    bases = [float(f"{10 ** (2.5 + i / 20):.3g}") for i in range(60)]
    holds = [first_negative_distance(inv_freq(128, b), max_distance) is None for b in bases]
    assert not holds[0] and any(holds)
    assert smallest_base(128, max_distance, reversed(bases)) == bases[holds.index(True)]
    assert smallest_base(128, max_distance, bases[: holds.index(True)]) is None


def test_pairs_that_stand_still_lift_the_sum():
    assert smallest_base(64, 512, [100.0, 5620.0]) == 5620.0
    assert smallest_base(64, 512, [100.0, 5620.0], partial_rotary_factor=0.5) == 100.0


# Table 2 of arXiv:2405.14591, head_dim 128: 1k, 4k and 8k.
@pytest.mark.parametrize(("length", "published"), [(1000, 4.3e3), (4000, 2.7e4), (8000, 8.4e4)])
def test_the_papers_base_is_found_to_its_two_digits(length, published):
    # From just below half of it, in steps of half a unit of its second digit.
    unit = 10 ** math.floor(math.log10(published)) / 20
    bases = [published / 2 + i * unit for i in range(int(published / unit))]
    found = smallest_base(128, length, bases)
    assert found == pytest.approx(published, rel=0.05)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"max_distance": 0}, ValueError, "max_distance must be positive, got 0"),
        ({"max_distance": 1.5}, TypeError, "max_distance must be an integer, got 1.5"),
        ({"rotary_dim": 7}, ValueError, "rotary_dim must be even, got 7"),
        ({"rotary_dim": 8.0}, TypeError, "rotary_dim must be an integer, got 8.0"),
        ({"bases": [0]}, ValueError, "base must be positive and finite, got 0"),
        ({"bases": ["a"]}, TypeError, "base must be a real number, got 'a'"),
        ({"partial_rotary_factor": 2}, ValueError, r"must lie within 0 \.\. 1, got 2"),
    ],
)
def test_it_refuses(change, error, message):
    given = {"rotary_dim": 8, "max_distance": 10, "bases": [100.0]} | change
    with pytest.raises(error, match=message):
        smallest_base(given.pop("rotary_dim"), given.pop("max_distance"), **given)
    if "max_distance" in change:
        with pytest.raises(error, match=message):
            first_negative_distance(inv_freq(8), change["max_distance"])
