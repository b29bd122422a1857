"""Decoding with frequencies that change: what is the same as reading at once, and what is not."""

import pytest
import torch

from ropebook.experiments.decoding import Decoding
from ropebook.experiments.encodings import build, with_rotary
from ropebook.experiments.evaluate import losses
from ropebook.experiments.recipe import Recipe
from ropelib import inv_freq, scaling

LENGTH, PREFILL = 24, 8
TEXTS = torch.randint(8, (3, LENGTH), generator=torch.Generator().manual_seed(4))
SPEEDS = inv_freq(8)
POSITIONS = list(range(PREFILL, LENGTH))


def model(num_layers=2):
    """An untrained model in float64 whose words look at each other: its weights are enlarged."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        made = build(Recipe(model_dim=16, num_layers=num_layers), vocab_size=8).double().eval()
    for layer in made.layers:
        layer.to_qkv.weight.data *= 6
    return made


def growing(seq_len):
    options = {"factor": 2.0, "seq_len": seq_len, "max_seq_len": PREFILL}
    return scaling.dynamic_ntk(8, 10_000.0, **options)[0]


def switched(seq_len):
    return SPEEDS / (4.0 if seq_len > PREFILL else 1.0)


def decoding(frequencies_at, num_layers=2):
    return Decoding(model(num_layers), TEXTS, frequencies_at, prefill=PREFILL)


def close(one, other):
    torch.testing.assert_close(one, other, atol=1e-5, rtol=0)  # tables are in float32


def test_frequencies_that_stay_make_all_ways_the_same():
    at_once = losses(model(), TEXTS)[:, PREFILL - 1 :]
    decode = decoding(lambda seq_len: SPEEDS)
    for loss in (
        decode.with_cache(turn_anew=False),
        decode.with_cache(turn_anew=True),
        decode.without_cache(POSITIONS),
    ):
        close(loss, at_once)


@pytest.mark.parametrize("frequencies_at", [growing, switched])
def test_keys_turned_anew_are_all_that_one_layer_needs_and_two_layers_need_more(frequencies_at):
    for num_layers, same in ((1, True), (2, False)):
        decode = decoding(frequencies_at, num_layers)
        gap = decode.with_cache(turn_anew=True) - decode.without_cache(POSITIONS)
        assert (gap[:, 0].abs() < 1e-5).all()  # foretold before anything changed
        assert (gap.abs().max() < 1e-5) == same, gap.abs().max()


@pytest.mark.parametrize("frequencies_at", [growing, switched])
def test_old_keys_give_another_answer_in_the_first_layer_already(frequencies_at):
    decode = decoding(frequencies_at, num_layers=1)
    gap = decode.with_cache(turn_anew=False) - decode.without_cache(POSITIONS)
    assert (gap[:, 0].abs() < 1e-5).all()
    assert gap[:, 1:].abs().max() > 1e-3


def test_old_keys_are_turned_by_the_frequencies_of_their_time():
    """A key of the switch stands where the short frequencies put it; by hand, in one layer."""
    decode = decoding(switched, num_layers=1)
    own = decode.model.layers[0].encoding
    turned = []

    class ByTime(type(own)):
        def rotate(self, q, k, position_ids, key_position_ids):
            old = with_rotary(decode.model, SPEEDS).layers[0].encoding
            new = with_rotary(decode.model, SPEEDS / 4).layers[0].encoding
            parts = [x.rotate(q, k, position_ids, key_position_ids) for x in (old, new)]
            is_old = (position_ids < PREFILL)[:, None]
            turned.append(True)
            return tuple(torch.where(is_old, a, b) for a, b in zip(*parts, strict=True))

    by_time = with_rotary(decode.model, SPEEDS)
    by_time.layers[0].encoding = ByTime(8)
    close(decode.with_cache(turn_anew=False), losses(by_time, TEXTS)[:, PREFILL - 1 :])
    assert turned


@pytest.mark.parametrize("prefill", [0, LENGTH])
def test_a_prefill_of_nothing_or_everything_is_refused(prefill):
    with pytest.raises(ValueError, match=f"prefill must be 1 to {LENGTH - 1} tokens, got"):
        Decoding(model(), TEXTS, growing, prefill=prefill)
