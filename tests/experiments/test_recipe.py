"""Recipes, the encodings that they name, and a trained model under another encoding."""

import math
from dataclasses import replace

import pytest
import torch
from recipes import SMALL

from ropebook.experiments import data, engine, evaluate
from ropebook.experiments.encodings import MAKERS, build, per_layer, with_encodings, with_rotary
from ropebook.experiments.recipe import ENCODINGS, METHODS, Recipe
from ropelib import inv_freq, scaling
from ropelib.encodings import Alibi, NoPosition, Rotary

NUMBERS = {
    "default": {},
    "linear": {"factor": 4.0},
    "proportional": {"partial_rotary_factor": 0.5},
    "ntk_aware": {"factor": 4.0},
    "ntk_fixed": {"factor": 4.0},
    "ntk_alpha": {"alpha": 4.0},
    "dynamic_ntk": {"factor": 4.0, "seq_len": 512, "max_seq_len": 128},
    "ntk_by_parts": {"factor": 4.0, "original_max_seq_len": 128},
    "llama3": {
        "factor": 4.0,
        "original_max_seq_len": 128,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
    },
    "yarn": {"factor": 4.0, "original_max_seq_len": 128},
    "longrope": {
        "short_factor": [1.0] * 32,
        "long_factor": [float(i) for i in range(1, 33)],
        "factor": 4.0,
        "original_max_seq_len": 128,
        "seq_len": 512,
    },
}


def test_every_encoding_that_a_recipe_may_name_is_made():
    assert set(MAKERS) == set(ENCODINGS)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_trains(encoding, dtype):
    recipe = replace(SMALL, encoding=encoding, dtype=dtype)
    model = build(recipe, data.vocab_size(recipe))
    batch = data.draw(recipe, torch.Generator().manual_seed(0))
    loss = engine.loss_of(model, batch, dtype)
    loss.backward()
    assert abs(loss.item() - math.log(256)) < 1
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_no_token_knows_what_comes_after_it(encoding):
    torch.manual_seed(0)
    model = build(replace(SMALL, encoding=encoding), 256)
    tokens = torch.randint(256, (1, 17))
    changed = tokens.clone()
    changed[:, 9] += 1
    before, after = (evaluate.losses(model, x % 256) for x in (tokens, changed))
    assert before[:, :8].equal(after[:, :8])
    assert not before[:, 8:].equal(after[:, 8:])


def test_every_method_of_scaling_has_its_numbers_here():
    assert set(NUMBERS) == set(METHODS) == set(scaling.__all__) - {"yarn_mscale"}


@pytest.mark.parametrize("method", METHODS)
def test_a_recipes_scaling_is_that_of_the_library(method):
    recipe = Recipe(base=500.0, scaling={"method": method, **NUMBERS[method]})
    frequencies, attention_factor = recipe.frequencies()
    expected = getattr(scaling, method)(64, 500.0, **NUMBERS[method])
    assert frequencies.equal(expected[0]) and attention_factor == expected[1]
    for encoding in per_layer(recipe):
        assert encoding.inv_freq.equal(expected[0])
        assert encoding.rotary.attention_factor == expected[1]


def test_a_share_turns_the_leading_dimensions():
    encoding = per_layer(Recipe(rotary_dim=6))[0]
    assert encoding.rotary.rotary_dim == 6 and encoding.inv_freq.equal(inv_freq(6))


def test_layers_without():
    kinds = [type(e) for e in per_layer(Recipe(num_layers=5, nope_every=2))]
    assert kinds == [Rotary, NoPosition, Rotary, NoPosition, Rotary]


@pytest.mark.parametrize("encoding", ["shaw", "transformer_xl", "deberta", "content_bias"])
def test_tables_are_each_layers_own_or_shared(encoding):
    first, second = per_layer(Recipe(encoding=encoding))
    assert first is not second
    for shared in ("t5", "t5_quick"):
        first, second = per_layer(Recipe(encoding=shared))
        assert first is second


def test_deberta_shares_its_table_and_not_its_projections():
    first, second = (dict(e.named_parameters()) for e in per_layer(Recipe(encoding="deberta")))
    assert {name for name in first if first[name] is second[name]} == {"table"}
    assert len(first) > 1


@pytest.mark.parametrize("encoding", ["t5", "t5_quick"])
def test_t5s_scores_are_as_large_as_others(encoding):
    assert per_layer(Recipe(encoding=encoding))[0].scale(64) == 1 / 8


def test_a_recipe_has_its_own_key():
    recipes = [Recipe(), Recipe(base=1e6), Recipe(encoding="none"), Recipe(num_steps=401)]
    assert len({recipe.key for recipe in recipes}) == 4
    assert Recipe().key == Recipe(base=10_000.0).key


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"encoding": "rotary"}, ValueError, "encoding must be one of .*, got 'rotary'"),
        ({"seq_len": 0}, ValueError, "seq_len must be positive, got 0"),
        ({"num_steps": 2.5}, TypeError, "num_steps must be an integer, got 2.5"),
        ({"warmup": -1}, ValueError, "warmup must be at least 0, got -1"),
        ({"learning_rate": 0.0}, ValueError, "learning_rate must be positive"),
        ({"weight_decay": -0.1}, ValueError, "weight_decay must be at least 0, got -0.1"),
        ({"dtype": "float16"}, ValueError, "dtype must be one of .*, got 'float16'"),
        ({"model_dim": 10, "num_heads": 3}, ValueError, "multiple of num_heads, got 10 and 3"),
        ({"rotary_dim": 7}, ValueError, "rotary_dim must be even, got 7"),
        ({"rotary_dim": 8, "encoding": "t5"}, ValueError, "rotary_dim is RoPE's, got 8"),
        ({"scaling": {"method": "ntk"}}, ValueError, "scaling must name a method"),
        ({"scaling": {"factor": 2.0}}, ValueError, "scaling must name a method .*, got None"),
        ({"scaling": {"method": "linear", "factor": 0.5}}, ValueError, "factor must be"),
        ({"scaling": {"method": "default"}, "encoding": "none"}, ValueError, "scaling is RoPE's"),
        ({"nope_every": 2, "encoding": "learned"}, ValueError, "nope_every must be 0"),
        ({"data": "cpoy"}, ValueError, "task must be one of .*, got 'cpoy'"),
    ],
)
def test_what_is_no_recipe_is_refused(wrong, error, message):
    with pytest.raises(error, match=message):
        Recipe(**wrong)


def test_another_speed_is_all_that_changes():
    recipe = replace(SMALL, nope_every=2)
    torch.manual_seed(0)
    model, tokens = build(recipe, 256), torch.randint(256, (2, 16))
    same = with_rotary(model, recipe.frequencies()[0])
    assert evaluate.losses(same, tokens).equal(evaluate.losses(model, tokens))
    slow = with_rotary(model, recipe.frequencies()[0] / 4)
    assert not evaluate.losses(slow, tokens).equal(evaluate.losses(model, tokens))
    assert isinstance(slow.layers[1].encoding, NoPosition)
    assert model.layers[0].encoding.inv_freq.equal(recipe.frequencies()[0])
    # Four times the distance at a quarter of the speed is the same turn.
    apart = torch.arange(0, 64, 4)
    torch.testing.assert_close(slow(tokens, apart), model(tokens), atol=1e-5, rtol=1e-5)


def test_what_cannot_turn_or_does_not_fit_is_refused():
    still = build(replace(SMALL, encoding="alibi"), 256)
    with pytest.raises(ValueError, match="model must have a layer that rotates"):
        with_rotary(still, inv_freq(8))
    with pytest.raises(ValueError, match="encodings must be one per layer, got 1 for 2 layers"):
        with_encodings(still, [Alibi(2)])


def test_the_quick_t5_starts_at_nothing_and_moves_further_in_a_step():
    places, moved = torch.arange(5), {}
    for encoding in ("t5", "t5_quick"):
        torch.manual_seed(0)
        bias = per_layer(replace(SMALL, encoding=encoding))[0]
        before = bias.score_bias(None, None, places, places)
        optimizer = torch.optim.Adam(bias.parameters(), lr=0.01)
        before.square().sum().backward() if before.any() else before.sum().backward()
        optimizer.step()
        after = bias.score_bias(None, None, places, places)
        moved[encoding] = (after - before).abs().max().item()
    assert not before.any(), "of the quick one"
    assert moved == pytest.approx({"t5": 0.01, "t5_quick": 0.3}, rel=1e-3)
