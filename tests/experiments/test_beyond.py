"""The study of where RoPE breaks: its groups, its statistics, and one quick run."""

import math

import pytest
import torch

from ropebook.experiments.studies import beyond
from ropebook.experiments.workshop import Workshop
from ropelib.distance import cosine_mean
from ropelib.frequencies import turns


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    return Workshop(tmp_path_factory.mktemp("models"), steps=2)


@pytest.fixture(autouse=True)
def few_texts(monkeypatch):
    for name, few in {"TEXTS": 2, "SMALL_TEXTS": 1, "PAIRS": 80}.items():
        monkeypatch.setattr(beyond, name, few)


def test_every_hand_is_in_one_group_by_its_turns():
    made = turns(beyond.INV_FREQ, beyond.TRAINED)
    assert sorted(i for pairs in beyond.GROUPS.values() for i in pairs) == beyond.ALL
    ends = [math.inf, 4, 1, 1 / 4, 1 / 16, 0]
    for pairs, high, low in zip(beyond.GROUPS.values(), ends, ends[1:], strict=False):
        assert (made[pairs] < high).all() and (made[pairs] >= low).all()


def test_a_loss_is_that_of_the_trained_length_until_the_edge(workshop):
    as_trained = beyond.run("as trained", 0, workshop)["loss"]
    inside = beyond.TRAINED // beyond.BIN
    for case in ("window", "all folded", "free: 1/4 to 1 turn"):
        loss = beyond.run(case, 0, workshop)["loss"]
        torch.testing.assert_close(loss[:inside], as_trained[:inside])
        assert (loss[inside:] != as_trained[inside:]).any()
    assert not torch.equal(beyond.run("frozen: 4 turns or more", 0, workshop)["loss"], as_trained)


def test_what_is_read_off_the_heads_is_consistent(workshop):
    found = {name: torch.tensor(x) for name, x in beyond.run("heads", 0, workshop).items()}
    inside = beyond.TRAINED // beyond.BIN
    assert (found["beyond"][:, :inside] == 0).all() and (found["beyond"][:, inside:] > 0).all()
    # Rows of an attention map sum to 1, and no query looks ahead.
    torch.testing.assert_close(found["map"].sum(-1), torch.ones(4, 16), atol=1e-3, rtol=0)
    assert (found["map"].triu(1) == 0).all()
    keys = torch.arange(1, 1025).log().unflatten(-1, (-1, 32)).mean(-1)
    assert (found["entropy"] <= keys + 1e-3).all()


def test_random_keys_keep_their_order_as_the_closed_form_says():
    generator = torch.Generator().manual_seed(0)
    inv_freq, lengths = beyond.INV_FREQ, (2, 64, 4096)
    phases = torch.rand(20_000, 32, generator=generator, dtype=torch.float64) * math.tau
    query = torch.polar(torch.ones_like(phases), phases)
    first, second = torch.randn(2, 20_000, 32, generator=generator, dtype=torch.complex128)
    found = beyond.ranking(query.conj() * first, query.conj() * second, inv_freq, lengths)
    for length, kept, nearer in zip(lengths, found["kept"], found["nearer"], strict=True):
        likeness = cosine_mean(inv_freq, torch.arange(length // 2, length))
        expected = (0.5 + likeness.asin() / math.pi).mean()
        # Four standard deviations of a share of 20000; random keys prefer neither near nor far.
        assert kept.item() == pytest.approx(expected.item(), abs=4 * 0.5 / 20_000**0.5)
        assert nearer.item() == pytest.approx(0.5, abs=4 * 0.5 / 20_000**0.5)


def test_a_key_like_its_query_scores_higher_where_it_is_nearer():
    inv_freq = torch.tensor([1e-3], dtype=torch.float64)  # one hand, not yet half round
    same = torch.ones(50, 1, dtype=torch.complex128)
    found = beyond.ranking(same, 0.5 * same, inv_freq, (64, 1024))
    assert torch.equal(found["nearer"], torch.ones(2).double())
    assert torch.equal(found["kept"], torch.ones(2).double())


def test_equal_keys_have_no_order_to_keep():
    inv_freq = torch.tensor([1e-3], dtype=torch.float64)
    same = torch.ones(50, 1, dtype=torch.complex128)
    other = torch.where(torch.arange(50)[:, None] < 25, same, 0.5 * same)
    assert beyond.ranking(same, other, inv_freq, (64,))["kept"].item() == 1


def test_a_hand_that_hardly_moves_does_no_harm(workshop):
    harm = torch.tensor(beyond.run("each hand", 0, workshop)["harm"])
    assert harm.shape == (32,) and harm[-1].abs() < harm.abs().max()
