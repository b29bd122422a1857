import math
import sys

import mpmath
import numpy as np
import pytest
import torch

import ropelib
from ropelib.frequencies import (
    check_rotary_dim,
    inv_freq,
    inverse_frequencies,
    rotary_dim_of,
    turns,
    wavelength,
)


@pytest.mark.parametrize("rotary_dim", [2, 6, 64, 96, 128, 256])
@pytest.mark.parametrize("base", [2.5, 10_000, 500_000.0, 1e7])
def test_frequencies_are_exact_to_the_last_bits(rotary_dim, base):
    frequencies = inv_freq(rotary_dim, base)
    assert frequencies.shape == (rotary_dim // 2,)
    assert frequencies.dtype == torch.float64
    with mpmath.workdps(40):
        for i, frequency in enumerate(frequencies.tolist()):
            exact = mpmath.mpf(base) ** (mpmath.mpf(-2 * i) / rotary_dim)
            # The exponent is rounded once: half an ulp of it is up to log(base) / 2 of the power.
            assert abs(frequency - exact) <= (1 + math.log(base) / 2) * 2**-52 * exact


def test_first_pair_turns_one_radian_per_token():
    assert inv_freq(128)[0] == 1.0


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint64])
def test_a_rotary_dim_of_numpy_is_the_same_number(kind):
    assert torch.equal(inv_freq(kind(64)), inv_freq(64))


def test_base_is_ten_thousand_unless_given():
    assert torch.equal(inv_freq(8), inv_freq(8, 10_000.0))


def test_frequencies_survive_a_meta_default_device():
    with torch.device("meta"):
        assert inv_freq(4).tolist() == pytest.approx([1.0, 0.01])


def test_wavelength_is_one_turn():
    frequencies = inv_freq(64)
    assert torch.allclose(wavelength(frequencies) * frequencies, torch.tensor(2 * math.pi).double())
    assert wavelength(torch.zeros(1, dtype=torch.float64)).item() == math.inf


def test_turns_count_wavelengths():
    frequencies = inv_freq(64)
    torch.testing.assert_close(
        turns(frequencies, 4096) * wavelength(frequencies) / 4096, frequencies**0
    )
    assert turns(frequencies, 0).eq(0).all()


@pytest.mark.parametrize(
    ("rotary_dim", "message"),
    [
        (7, "rotary_dim must be even, got 7"),
        (1, "rotary_dim must be even, got 1"),
        (0, "rotary_dim must be positive, got 0"),
        (-2, "rotary_dim must be positive, got -2"),
        (10**12, "rotary_dim must be at most 1048576, got 1000000000000"),
    ],
)
def test_wrong_rotary_dim_is_refused(rotary_dim, message):
    with pytest.raises(ValueError, match=message):
        inv_freq(rotary_dim)


@pytest.mark.parametrize("rotary_dim", [4.0, "4", None, True, False])
def test_rotary_dim_must_be_an_integer(rotary_dim):
    with pytest.raises(TypeError, match=r"rotary_dim must be an integer, got"):
        inv_freq(rotary_dim)


def test_rotary_dim_above_head_dim_is_refused():
    check_rotary_dim(8, head_dim=8)
    with pytest.raises(
        ValueError, match="rotary_dim must be at most head_dim, got 10 with head_dim 8"
    ):
        check_rotary_dim(10, head_dim=8)


@pytest.mark.parametrize("base", [0, -1.0, math.nan, math.inf])
def test_base_must_be_positive_and_finite(base):
    with pytest.raises(ValueError, match=f"base must be positive and finite, got {base}"):
        inv_freq(4, base)


def test_bases_at_the_ends_of_a_float_have_finite_frequencies_or_are_refused():
    for base in (sys.float_info.max, sys.float_info.min):
        assert inv_freq(4096, base).isfinite().all()
    with pytest.raises(ValueError, match=r"base must be at least 2\.2250.*e-308, got 5e-324"):
        inv_freq(4, 5e-324)
    with pytest.raises(ValueError, match="positive and finite, got an integer of about 401 digits"):
        inv_freq(4, 10**400)


@pytest.mark.parametrize("base", ["10000", True, None])
def test_base_must_be_a_number(base):
    with pytest.raises(TypeError, match=f"base must be a real number, got {base!r}"):
        inv_freq(4, base)


def test_the_frequencies_have_the_name_that_readers_know():
    assert ropelib.inv_freq is inv_freq is inverse_frequencies


def test_all_of_a_head_rotates_unless_it_is_said():
    assert rotary_dim_of(8) == 8 and rotary_dim_of(9, 4) == 4
    with pytest.raises(ValueError, match="head_dim must be even where all of it rotates, got 9"):
        rotary_dim_of(9)
    with pytest.raises(ValueError, match="rotary_dim must be at most head_dim, got 10"):
        rotary_dim_of(9, 10)
    with pytest.raises(TypeError, match="rotary_dim must be an integer, got True"):
        rotary_dim_of(8, True)
