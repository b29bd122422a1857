"""What tests of the rotation share: shapes, positions, vectors, tables, when two are equal."""

from functools import partial
from types import SimpleNamespace

import pytest
import torch

from ropelib import cos_sin, inv_freq

LAYOUTS = ["interleaved", "half"]
OTHER = {"interleaved": "half", "half": "interleaved"}
WIDTHS = [(2, 2), (8, 8), (8, 6), (9, 4), (64, 64), (96, 24)]  # (head_dim, rotary_dim)
POSITIONS = {
    "from zero": torch.arange(5),
    "int32": torch.tensor([7, 0, 7, 100_000, 3], dtype=torch.int32),
    "negative": torch.tensor([-1, -5, 0, 2, -1_000_000]),
    "real": torch.tensor([0.5, -2.25, 1e-3, 1000.125, 3.0]),
    "per batch": torch.tensor([[0, 1, 2, 3, 4], [-3, 2.5, 0, 100, 4]]),
}
every_layout = pytest.mark.parametrize("layout", LAYOUTS)
every_width = pytest.mark.parametrize(("head_dim", "rotary_dim"), WIDTHS)
both_ways = pytest.mark.usefixtures("way")


def randn(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


randn32 = partial(randn, dtype=torch.float32)


def tables(position_ids=tuple(range(5)), rotary_dim=8, dtype=torch.float64, **kwargs):
    return cos_sin(position_ids, inv_freq(rotary_dim), dtype=dtype, **kwargs)


tables32 = partial(tables, dtype=torch.float32)


def growing(trained=8):
    """Dynamic NTK and LongRoPE in one, as a caricature: both numbers change beyond `trained`."""

    def stretch(seq_len):
        return max(seq_len or 1, trained) / trained

    return SimpleNamespace(
        head_dim=8,
        layout="half",
        inv_freq=lambda seq_len=None: inv_freq(8, 10_000.0 * stretch(seq_len) ** 2),
        attention_factor=lambda seq_len=None: stretch(seq_len) ** 0.1,
    )


def assert_equal(ours, expected):
    for a, b in zip(ours, expected, strict=True):
        assert torch.equal(a, b)


def assert_close(ours, expected, atol=1e-5):
    """Two paths of the rotation differ by last bits; positions in these tests are small."""
    torch.testing.assert_close(tuple(ours), tuple(expected), rtol=0, atol=atol)


def assert_equal_but_for_the_last_bit(a, b):
    """Other strides mean other vector instructions, with or without fused multiply-add."""
    torch.testing.assert_close(a, b, rtol=torch.finfo(a.dtype).eps, atol=2e-7)
