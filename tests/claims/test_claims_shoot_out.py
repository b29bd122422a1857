"""What The shoot-out says of recorded runs and why, decided apart from the chapter's own cells."""

from dataclasses import replace

import pytest
import torch

from ropebook.experiments import engine, recorded
from ropebook.experiments.corpus import corpus
from ropebook.experiments.encodings import per_layer
from ropebook.experiments.recipe import Recipe
from ropebook.experiments.studies import language, stretching, tasks
from ropebook.experiments.tasks import draw as drawn
from ropelib.encodings import ContentBias, Rotary, alibi_slopes
from ropelib.frequencies import wavelength

SEEDS = [0, 1, 2, 3, 4]


@pytest.fixture(scope="module")
def texts():
    return recorded.load("language")


@pytest.fixture(scope="module")
def games():
    return recorded.load("tasks")


@pytest.mark.parametrize("study", [language, tasks])
def test_every_case_is_recorded_with_five_seeds_by_the_settings_of_today(study):
    found = recorded.load(study.__name__.rpartition(".")[2])
    assert found.config == study.CONFIG
    assert set(found.cases) == set(study.CASES)
    assert all(found.seeds(case) == SEEDS for case in found.cases)


def in_every_seed(texts, one, other, bins):
    """Whether one has the lower loss in these bins, seed by seed."""
    lower, higher = (texts.numbers(case, "loss")[:, bins].mean(1) for case in (one, other))
    return bool((lower < higher).all())


WITHIN, FAR = slice(3, 4), slice(24, 32)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("t5_quick", "content_bias"),
        ("t5_quick", "transformer_xl"),
        ("deberta", "rope"),
        ("content_bias", "rope"),
        ("transformer_xl", "rope"),
        ("rope", "shaw"),
        ("shaw", "alibi"),
        ("alibi", "none"),
        ("rope", "rope 6 of 64"),
        ("rope 6 of 64", "rope 2 of 64"),
        ("rope", "rope layer 2 without"),
    ],
)
def test_the_order_within_the_window_is_that_of_every_seed(texts, one, other):
    assert in_every_seed(texts, one, other, WITHIN)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("t5_quick", "deberta"),
        ("transformer_xl", "alibi"),
        ("deberta", "alibi"),
        ("alibi", "rope"),
        ("rope", "sinusoidal"),
    ],
)
def test_the_order_far_beyond_the_window_is_that_of_every_seed(texts, one, other):
    assert in_every_seed(texts, one, other, FAR)


def test_the_order_within_says_nothing_of_the_order_beyond(texts):
    """The negative control of both: RoPE and the model without encoding change places."""
    assert in_every_seed(texts, "rope", "none", WITHIN)
    assert not in_every_seed(texts, "rope", "none", FAR)


def test_a_number_of_t5s_table_moves_by_hardly_more_than_all_rates_together():
    recipe = Recipe("t5", seq_len=16, model_dim=16, num_heads=2, num_steps=30, warmup=3)
    still = replace(recipe, num_steps=1, warmup=1000)  # the first step's rate is next to nothing
    start, end = (engine.train(r, seed=0).model.layers[0].encoding.table for r in (still, recipe))
    path = sum(engine.learning_rate(recipe, step) for step in range(recipe.num_steps))
    # With Adam's betas of 0.9 and 0.95 one step is at most 1.17 times the rate.
    assert 0.3 * path < (end - start).abs().max() < 1.17 * path
    assert path < 0.06 < start.std(), "far from where a bias would decide"


@pytest.mark.parametrize("far", [128, 129, 1000])
def test_t5_says_the_same_of_all_that_is_far(far):
    """Nothing new comes with length: 127 tokens back and any further share the last number."""
    bias = per_layer(language.RECIPES["t5_quick"])[0]
    torch.nn.init.normal_(bias.table)
    q, k = torch.randn(1, 64), torch.randn(2, 64)
    added = bias.score_bias(q, k, torch.tensor([far]), torch.tensor([far - 127, 0]))
    assert (added[..., 0] == added[..., 1]).all()
    near = bias.score_bias(q, k, torch.tensor([far]), torch.tensor([far - 127, far - 1]))
    assert (near[..., 0] != near[..., 1]).all()


def test_the_texts_of_stretching_are_the_first_ones_of_these():
    length = 8 * 128 + 1
    few = corpus().windows("valid", stretching.TEXTS, length)
    assert torch.equal(few, corpus().windows("valid", language.TEXTS, length)[: stretching.TEXTS])


def test_training_copies_at_most_15_words_and_48_tokens_hold_23():
    asked = {n: drawn("copy", 500, n, torch.Generator().manual_seed(0)).asked for n in (32, 48)}
    assert {n: int(places.sum(1).max()) for n, places in asked.items()} == {32: 15, 48: 23}


def test_beyond_its_extent_the_content_bias_says_nothing_and_near_it_does():
    torch.manual_seed(0)
    bias = ContentBias(2, 8, rel_dim=4, extent=6)
    q, places = torch.randn(2, 40, 8), torch.arange(40)
    added = bias.score_bias(q, q, places, places)
    back = places[:, None] - places
    assert (added[:, (back >= 6) | (back < 0)] == 0).all()
    assert (added[:, (back >= 0) & (back < 6)] != 0).all()


def test_six_dimensions_have_one_hand_that_comes_round_and_all_have_eleven():
    turning = {d: wavelength(Rotary(64, rotary_dim=d).inv_freq) for d in (64, 6)}
    assert [int((w <= 128).sum()) for w in turning.values()] == [11, 1]
    assert [round(w) for w in turning[6].tolist()] == [6, 135, 2916]


def test_two_heads_of_alibi_cannot_look_at_the_token_before_alone():
    """The steepest of two slopes leaves the token before hardly more than the one before it."""
    steepest = alibi_slopes(2).max()
    weights = (-steepest * torch.arange(32)).softmax(0)
    assert weights[1] < 0.08 and weights[1] / weights[2] < 1.07
    weights = (-alibi_slopes(8).max() * torch.arange(32)).softmax(0)
    assert weights[1] / weights[2] > 1.6


@pytest.mark.parametrize("name", ["content_bias", "t5_quick"])
def test_far_keys_are_found_by_a_bias_and_not_by_rope(games, name):
    found = (games.numbers(f"passkey {who}", "accuracy")[:, -1] for who in (name, "rope"))
    assert (next(found) > next(found) + 0.3).all(), "in every seed"
    near = games.numbers("passkey rope", "accuracy")[:, 0]
    assert (near > 0.9).all(), "though within the window it finds them"


def test_stretched_by_eight_it_costs_a_tenth_of_a_nat_within():
    runs = recorded.load("stretching")
    inside = [runs.numbers(case, "zero 8")[:, :4] for case in ("llama3", "none")]
    last = [x[:, 3].mean().item() for x in inside]
    assert round(last[0] - last[1], 1) == 0.1


def test_a_level_loss_and_what_is_lost_of_copies_and_inductions(games):
    inductions, copies = (
        games.numbers(f"{task} t5_quick", "accuracy").mean(0) for task in ("induction", "copy")
    )
    assert (inductions[0] > 0.995) and round(inductions[-1].item(), 2) == 0.48
    assert round(copies[0].item(), 2) == 0.98 and round(copies[-1].item(), 2) == 0.35


def test_many_tokens_cost_the_table_and_the_bias_little_where_the_key_is_next(games):
    for case in ("t5_quick", "content_bias"):
        first, *_, last = games.numbers(f"passkey {case}", "by_depth").mean(0)[:, -1].tolist()
        assert first - last < 0.03
    first, *_, last = games.numbers("passkey rope", "by_depth").mean(0)[:, -1].tolist()
    assert (round(first, 2), round(last, 2)) == (0.98, 0.56)
