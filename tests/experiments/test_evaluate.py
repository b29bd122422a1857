"""What a trained model can do: losses by position, answers, what it keeps in memory."""

import math

import pytest
import torch
from recipes import SMALL
from torch.nn import functional as F

from ropebook.experiments import data, evaluate
from ropebook.experiments.encodings import build

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return build(SMALL, 256)


def test_losses_are_those_of_each_next_token(model):
    tokens = torch.randint(256, (3, 12), generator=torch.Generator().manual_seed(0))
    found = evaluate.losses(model, tokens, batch_size=2)
    assert found.shape == (3, 11) and found.dtype == torch.float64
    for text in range(3):
        for m in range(11):
            scores = model(tokens[text, : m + 1])[-1]
            expected = -F.log_softmax(scores, dim=-1)[tokens[text, m + 1]]
            torch.testing.assert_close(found[text, m].float(), expected, atol=1e-4, rtol=0)


def test_a_model_that_knows_nothing_loses_log_of_the_vocabulary(model):
    with torch.no_grad():
        still = build(SMALL, 256)
        still.to_scores.weight.zero_()
    found = evaluate.losses(still, torch.zeros(1, 5, dtype=torch.long))
    torch.testing.assert_close(found, torch.full((1, 4), math.log(256)).double())


@pytest.mark.parametrize("shape", [(5,), (2, 1), (1, 2, 3)])
def test_what_are_no_texts_is_refused(model, shape):
    with pytest.raises(ValueError, match=r"must be \(num_texts, length\) .* got shape"):
        evaluate.losses(model, torch.zeros(shape, dtype=torch.long))


def test_bins_are_means_over_texts_and_neighbors():
    losses = torch.arange(12.0).reshape(2, 6)
    assert evaluate.in_bins(losses, 3).tolist() == [4.0, 7.0]
    with pytest.raises(ValueError, match="width must divide 6 positions, got 4"):
        evaluate.in_bins(losses, 4)
    with pytest.raises(TypeError, match=r"width must be an integer, got 2\.0"):
        evaluate.in_bins(losses, 2.0)


def test_accuracy_counts_what_is_asked(model):
    tokens = torch.randint(256, (4, 10), generator=torch.Generator().manual_seed(1))
    said = model(tokens).argmax(dim=-1)
    targets, asked = said.clone(), torch.zeros_like(tokens, dtype=torch.bool)
    asked[:, 3] = True
    assert evaluate.accuracy(model, data.Batch(tokens, targets, asked)) == 1
    targets[0, 3] += 1
    targets[:, 5] += 1  # nobody asked
    assert evaluate.accuracy(model, data.Batch(tokens, targets, asked)) == 0.75


def test_what_a_layer_keeps_grows_with_the_length_and_holds_no_parameters(model):
    tokens = torch.zeros(1, 32, dtype=torch.long)
    short, long = (evaluate.saved_bytes(model, tokens[:, :n]) for n in (16, 32))
    assert 1.9 * short < long < 4 * short
    # What the first feed-forward map keeps of its input is among it.
    assert short > 16 * 16 * 4 * len(model.layers)
    wide = build(SMALL, 100_000)  # a table of 6 MB
    assert evaluate.saved_bytes(wide, tokens[:, :1]) < 100_000 * 16 * 4
