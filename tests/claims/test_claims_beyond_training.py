"""What is said about texts beyond the trained length, decided on recorded runs and computed."""

import itertools
import json
import math

import pytest
import torch

from ropebook.experiments import recorded
from ropebook.experiments.studies import beyond
from ropelib import inv_freq
from ropelib.distance import cosine_mean
from ropelib.frequencies import turns, wavelength
from ropelib.scaling import proportional

INSIDE, AFTER, FAR = slice(0, 4), slice(4, 8), slice(16, 32)  # bins of 32 bytes
FASTEST, FEW, MOST, PART, SLOWEST = beyond.GROUPS


@pytest.fixture(scope="module")
def runs():
    return recorded.load("beyond")


@pytest.fixture(scope="module")
def above(runs):
    """Nats per byte of a case above those of a window, one number per seed."""

    def above(case, where):
        change = runs.numbers(case, "loss") - runs.numbers("window", "loss")
        return change[:, where].mean(1)

    return above


def test_the_runs_are_those_of_this_study(runs):
    assert runs.config == json.loads(json.dumps(beyond.CONFIG))
    assert all(len(runs.seeds(case)) >= 5 for case in beyond.CASES)


def test_the_loss_climbs_with_every_further_stretch(above):
    stretches = [above("as trained", slice(i, i + 4)) for i in range(0, 32, 4)]
    assert (stretches[0].abs() < 1e-6).all()
    for before, later in itertools.pairwise(stretches):
        assert later.mean() > before.mean() and (later > before - 0.1).all()
    assert (stretches[-1] > 2 * stretches[1]).all() and (stretches[1] > 0.05).all()


def test_most_of_it_is_due_to_what_the_hands_say_of_far_keys(above):
    as_trained = above("as trained", FAR)
    assert (as_trained > 0.5).all()
    assert (above("all folded", FAR) < 0.2 * as_trained).all()
    # What is left is partly the number of keys: sharper queries take some of it away.
    assert (above("all folded and sharpened", FAR) < above("all folded", FAR)).all()
    sharper = above("as trained", FAR) - above("sharpened", FAR)
    assert (sharper < 0.15 * as_trained).all()  # and little as it is


def test_old_angles_alone_do_not_cure(above):
    """The control: other old distances than those at which the heads expect far keys."""
    as_trained, folded = above("as trained", FAR), above("all folded", FAR)
    for where in ("near", "anywhere"):
        assert (above(f"all folded {where}", FAR) > as_trained + 0.1).all()
    # New angles do harm, and so do old ones at new distances, but less.
    new, old = (as_trained - above(f"{kind} angles folded", FAR) for kind in ("new", "old"))
    assert (new > old + 0.05).all() and (old > 0.05).all()
    assert (as_trained - folded > new).all()


def test_neither_the_fastest_nor_the_slowest_hands_do_harm(above):
    folded = above("all folded", FAR)
    harm = {name: above(f"free: {name}", FAR) - folded for name in beyond.GROUPS}
    relief = {
        name: above("as trained", FAR) - above(f"folded: {name}", FAR) for name in beyond.GROUPS
    }
    for name in (FASTEST, SLOWEST):
        assert (harm[name].abs() < 0.05).all() and (relief[name] < 0.1).all()
    for name in (FASTEST, FEW, PART, SLOWEST):
        assert (harm[MOST] > harm[name]).all() and (relief[MOST] > relief[name]).all()
    assert (harm[MOST] > 0.1).all()


def test_the_slower_the_more_harm_is_false(runs):
    harm = runs.numbers("each hand", "harm").mean(0)
    made = turns(beyond.INV_FREQ, beyond.TRAINED)
    assert (harm[made < 1 / 16] < 0.01).all() and (harm[made >= 4].abs() < 0.02).all()
    assert harm.argmax() in beyond.GROUPS[FEW] + beyond.GROUPS[MOST] + beyond.GROUPS[PART]


def test_within_the_trained_length_the_fastest_hands_count_most(runs):
    plain = runs.numbers("as trained", "loss")[:, INSIDE].mean(1)

    def cost(what, name):
        return runs.numbers(f"{what}: {name}", "loss")[:, INSIDE].mean(1) - plain

    costs = [cost("frozen", name) for name in beyond.GROUPS]
    assert all((costs[0] > cost).all() for cost in costs[1:])
    assert (costs[0] > 0.2).all() and (costs[-1].abs() < 0.01).all()
    for how in ("clipped", "folded"):
        assert all((cost(how, name).abs() < 1e-6).all() for name in beyond.GROUPS)


def test_the_hand_that_made_the_trend_turns_it_around(runs):
    parts = runs.numbers("heads", "parts")[:, 2:].mean(1)  # layer 2: (seeds, groups, distances)
    most = parts[:, list(beyond.GROUPS).index(MOST)]
    down, up = most[:, 1:4].mean(1), most[:, 4:8].mean(1)  # bytes 32 to 127, 128 to 255
    assert (up - down > 0.7).all()
    for i in (0, 3, 4):
        others = parts[:, i, 4:8].mean(1) - parts[:, i, 1:4].mean(1)
        assert (others < up - down).all()


def test_right_after_the_edge_the_preference_is_turned_over_and_then_forgotten(runs):
    lengths = runs.config["lengths"]
    nearer = runs.numbers("heads", "nearer")[:, 2:].mean(1)  # layer 2: (seeds, lengths)
    inside, after, never = (nearer[:, lengths.index(x)] for x in (32, 256, 2**20))
    assert (inside > 0.7).all() and (after < 0.4).all() and ((never - 0.5).abs() < 0.03).all()


def test_in_the_end_the_order_of_keys_is_chance_in_both_layers(runs):
    kept = runs.numbers("heads", "kept").unflatten(1, (2, 2)).mean(2)  # (seeds, layers, lengths)
    assert ((kept[..., -4:].mean(2) - 0.5).abs() < 0.03).all()
    assert (kept[..., 0] > 0.6).all()


def test_attention_moves_to_keys_of_new_distances(runs):
    at_end = {
        key: runs.numbers("heads", key)[:, 2:, -4:].mean((1, 2))
        for key in ("beyond", "folded_beyond", "entropy", "folded_entropy")
    }
    assert (at_end["beyond"] > 0.5).all()
    assert (at_end["beyond"] > 1.5 * at_end["folded_beyond"]).all()
    assert (at_end["entropy"] > at_end["folded_entropy"]).all()


# ---- the theorem ------------------------------------------------------------------------------


def scores_of(products, frequencies, distances):
    angles = -distances[:, None] * frequencies
    return (products * torch.polar(torch.ones_like(angles), angles)).real.sum(-1)


def share_nearer(products, frequencies, length):
    """How often a distance of the first half scores higher than one of the second, all pairs."""
    scores = scores_of(products, frequencies, torch.arange(length).double())
    near, far = scores.view(2, -1)
    return torch.searchsorted(far.sort().values, near).double().mean().item() / len(far)


@pytest.mark.parametrize("seed", range(3))
def test_in_the_end_the_nearer_key_wins_half_of_the_time_whatever_the_vectors(seed):
    generator = torch.Generator().manual_seed(seed)
    frequencies = inv_freq(8, 100.0)  # the slowest comes round in 199 tokens
    products = torch.randn(4, generator=generator, dtype=torch.complex128)
    products = products + 2  # a lean: near is preferred at first
    assert share_nearer(products, frequencies, 16) > 0.6
    assert share_nearer(products, frequencies, 2**18) == pytest.approx(0.5, abs=2e-3)


def test_in_the_end_one_hand_is_enough_and_none_is_not():
    one = torch.tensor([1.0 + 0j], dtype=torch.complex128)
    moving, still = (torch.tensor([f], dtype=torch.float64) for f in (0.01, 0.0))
    assert share_nearer(one, moving, 256) == 1
    assert share_nearer(one, moving, 2**20) == pytest.approx(0.5, abs=2e-3)
    assert share_nearer(one, still, 2**10) == 0  # all ties


def test_the_order_of_random_keys_is_kept_as_the_wedge_says():
    generator = torch.Generator().manual_seed(0)
    for rho in (-0.5, 0.0, 0.3, 0.9):
        x, y = torch.randn(2, 200_000, generator=generator, dtype=torch.float64)
        same = (x * (rho * x + math.sqrt(1 - rho**2) * y) > 0).double().mean()
        # Four standard deviations of a share of 200000.
        assert same.item() == pytest.approx(0.5 + math.asin(rho) / math.pi, abs=0.0045)


def test_hands_that_stand_still_keep_the_order():
    generator = torch.Generator().manual_seed(0)
    far = torch.randint(10**6, 10**8, (40_000,), generator=generator)
    kept = {}
    for share in (1.0, 0.75, 0.5):
        frequencies, _ = proportional(64, partial_rotary_factor=share)
        kept[share] = (0.5 + cosine_mean(frequencies, far).asin() / math.pi).mean().item()
        assert kept[share] == pytest.approx(0.5 + math.asin(1 - share) / math.pi, abs=0.01)
    assert kept[0.5] > kept[0.75] > kept[1.0]


def test_opposite_hands_are_not_all_reached_where_one_is_ten_times_slower():
    """Base 10000, 64 dimensions: half a turn of hand i + 8 is ten, so none, of hand i."""
    frequencies = inv_freq(64)
    torch.testing.assert_close(frequencies[:-8], 10 * frequencies[8:])


def test_the_base_trades_the_order_of_keys_for_the_nearer_one():
    r_1, r_2 = torch.tensor([60, 100, 150]), torch.tensor([300, 350, 400])
    bases = [cosine_mean(inv_freq(1024, base), torch.stack((r_1, r_2))) for base in (1e4, 1e6, 1e8)]
    for small, large in itertools.pairwise(bases):
        assert (large > small).all(), "the order is kept longer"
        assert (large[0] - large[1] < small[0] - small[1]).all(), "the preference is weaker"


def test_in_long_texts_the_larger_base_has_the_stronger_preference():
    """How often the nearer of two noisy copies of the query wins, as the formula has it."""
    generator = torch.Generator().manual_seed(0)

    def wins(base, length):
        near, far = torch.randint(length // 2, (2, 20_000), generator=generator)
        far = far + length // 2
        near, far, apart = (cosine_mean(inv_freq(64, base), r) for r in (near, far, far - near))
        return torch.special.ndtr(2**0.5 * (near - far) / (1 - apart).sqrt()).mean().item()

    assert wins(1e2, 8) > wins(1e4, 8) + 0.02 and wins(1e4, 8) > wins(1e6, 8) + 0.02
    assert wins(1e4, 1024) > wins(1e2, 1024) + 0.05
    assert wins(1e6, 2**16) > wins(1e4, 2**16) + 0.05


def test_what_the_text_says_of_single_lines_and_layers(runs):
    """Numbers beside the figures: the content bias, attention, the thick line, bars and groups."""
    loss = recorded.load("language").numbers("content_bias", "loss")
    steady = recorded.load("language").numbers("transformer_xl", "loss")
    slipped = (loss - steady)[:, FAR].mean() - (loss - steady)[:, INSIDE].mean()
    assert round(slipped.item(), 1) == 0.2
    last = slice(-2, None)
    beyond_, folded = (runs.numbers("heads", name) for name in ("beyond", "folded_beyond"))
    shares = [
        x[:, layer][..., last].mean().item()
        for layer in (slice(2, 4), slice(0, 2))
        for x in (beyond_, folded)
    ]
    assert shares[0] > 0.75 and 0.2 < shares[1] < 0.3 and 0.6 < shares[3] < 0.72
    line = runs.numbers("heads", "parts")[:, 2:, 2].mean(dim=(0, 1))
    assert round(line[2].item(), 1) == -2.5 and round(line[3].item(), 1) == -1.3
    assert line.argmin() == 2
    bars = runs.numbers("each hand", "harm")[:, beyond.GROUPS[MOST]].sum(1).mean()
    group = runs.numbers(f"free: {MOST}", "loss") - runs.numbers("all folded", "loss")
    assert round(bars.item(), 2) == 0.13 and round(group[:, 4:].mean().item(), 2) == 0.31


def test_the_nearer_key_and_the_order_end_at_chance_at_different_lengths(runs):
    nearer = runs.numbers("heads", "nearer")[:, 2:].mean(dim=(0, 1))
    at = dict(zip(beyond.LENGTHS, nearer.tolist(), strict=True))
    assert at[16_384] < 0.475 and abs(at[32_768] - 0.5) < 0.025 and abs(at[65_536] - 0.5) < 0.025
    assert wavelength(inv_freq(64))[-1] == pytest.approx(47_117, rel=1e-3)
