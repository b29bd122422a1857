"""The study of stretching: the frequencies of each case, its bins, and the window beside them."""

import pytest
import torch

from ropebook.experiments.encodings import build
from ropebook.experiments.evaluate import losses
from ropebook.experiments.studies import stretching
from ropebook.experiments.workshop import Workshop
from ropelib import inv_freq, scaling
from ropelib.frequencies import turns


@pytest.fixture(scope="module")
def model():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        return build(stretching.BASE, vocab_size=256).eval()


@pytest.fixture
def few(monkeypatch):
    """Two texts, up to four times the length: as much as shows whether bins are where they are."""
    monkeypatch.setattr(stretching, "TEXTS", 2)
    monkeypatch.setattr(stretching, "FACTORS", [2, 4])


def slowdown(method, factor=4):
    return inv_freq(64) / stretching.frequencies(method, factor)[0]


def test_each_method_slows_the_hands_that_its_name_says():
    assert (slowdown("none") == 1).all()
    torch.testing.assert_close(slowdown("linear"), torch.full((32,), 4.0).double())
    torch.testing.assert_close(slowdown("ntk_aware twice"), slowdown("ntk_aware", 8))
    round_ = turns(inv_freq(64), 128)
    for method, most in (("llama3", 4), ("yarn 4 turns", 4.5)):
        assert (slowdown(method)[round_ >= most] < 1 + 1e-9).all()
        assert (slowdown(method)[round_ < 0.9] > 4 - 1e-9).all()
    assert (slowdown("ntk_by_parts") > 1).all()  # no hand turns 32 times in 128 bytes
    assert torch.isinf(slowdown("proportional")).sum() == 16


def test_only_yarn_sharpens_and_plain_yarn_does_not():
    factors = {method: stretching.frequencies(method, 4)[1] for method in stretching.METHODS}
    sharpened = {method for method, factor in factors.items() if factor != 1}
    assert sharpened == {"yarn", "yarn 4 turns"}
    assert factors["yarn"] == scaling.yarn_mscale(4.0)


def test_texts_of_all_factors_are_the_first_bytes_of_the_same():
    longest = stretching._texts(1024)
    assert longest.shape == (stretching.TEXTS, 1025)
    assert torch.equal(stretching._texts(256), longest[:, :257])


def test_a_window_foretells_each_byte_from_the_last_96_to_127(model, few):
    by_window = stretching._through_window(model)
    assert by_window.shape == (16,)
    texts = stretching._texts(512)
    first = losses(model, texts[:, :129]).mean(dim=0)
    torch.testing.assert_close(by_window[:4], first.unflatten(0, (4, 32)).mean(dim=1))
    # Bin 4, bytes 129 to 160, through the window that begins at byte 32.
    second = losses(model, texts[:, 32:161])[:, -32:].mean()
    torch.testing.assert_close(by_window[4], second)


@pytest.mark.parametrize(
    ("weights", "wanted"),
    [([-1.0] * 32, 1.0), ([1.0] * 32, 4.0), ([1.0] * 16 + [-1.0] * 16, None)],
)
def test_a_search_goes_where_the_loss_is_lower_and_no_further(few, monkeypatch, weights, wanted):
    """Told to like fast hands, slow ones, or slow ones before fast ones: it stays in its bounds."""
    speeds, weights = inv_freq(64), torch.tensor(weights)
    monkeypatch.setattr(stretching, "with_rotary", lambda model, inv_freq: inv_freq)
    monkeypatch.setattr(stretching, "losses", lambda slowed, _: (weights * slowed / speeds).mean())
    monkeypatch.setattr(stretching, "SEARCH", {"texts": 1, "tries": 400, "spread": 0.5})
    found = torch.tensor(stretching._searched(None, seed=0))
    assert (found.diff() >= 0).all() and found.min() >= 1 and found.max() <= 4
    assert wanted is None or (found - wanted).abs().mean() < 0.1
    torch.testing.assert_close(stretching._by_list(found.tolist()) * found, speeds)


def test_a_case_of_a_method_gives_bins_for_all_that_its_configuration_says(few):
    numbers = stretching.run("proportional", 0, Workshop(steps=1))
    lengths = {name: len(values) for name, values in numbers.items()}
    assert lengths == {"zero 2": 8, "zero 4": 16, "tuned 4": 16}
