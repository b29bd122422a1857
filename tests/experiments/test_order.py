"""The small experiments: what a model without positions can and cannot do, and that runs repeat."""

import dataclasses
import itertools

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ropebook.experiments import order
from ropebook.experiments.training import trained
from ropebook.experiments.transformer import Layer, Transformer
from ropelib import RopeConfig, RotaryEmbedding, encodings
from ropelib.config.keys import METHODS
from ropelib.encodings import Alibi, NoPosition, PositionEncoding, Rotary, Shaw, Sinusoidal, T5Bias

SMALL = order.Config(num_names=5, num_held_out=3, model_dim=8, num_steps=2, seeds=(0, 1))


def model(encoding=None, *, seed=0, num_layers=2, causal=False, vocab_size=7):
    torch.manual_seed(seed)
    return Transformer(
        vocab_size,
        model_dim=16,
        num_heads=2,
        num_layers=num_layers,
        encoding=encoding or NoPosition(),
        causal=causal,
    ).double()


# ---- transformer ------------------------------------------------------------------------------


@pytest.mark.parametrize("num_layers", [1, 3])
def test_without_positions_and_mask_shuffled_words_have_shuffled_outputs(num_layers):
    tokens, shuffle = torch.tensor([3, 1, 4, 1, 5]), torch.tensor([4, 0, 3, 1, 2])
    states = model(num_layers=num_layers).states(tokens)
    shuffled = model(num_layers=num_layers).states(tokens[shuffle])
    torch.testing.assert_close(shuffled, states[shuffle])
    assert not torch.allclose(shuffled, states)


@pytest.mark.parametrize(
    ("encoding", "causal"),
    [
        (lambda: NoPosition(), True),
        (lambda: Sinusoidal(16), False),
        (lambda: Rotary(8), False),
        (lambda: Shaw(8, 4), False),
        (lambda: Alibi(2), False),
    ],
)
def test_a_mask_or_an_encoding_ends_that(encoding, causal):
    tokens, shuffle = torch.tensor([3, 1, 4, 1, 5]), torch.tensor([4, 0, 3, 1, 2])
    net = model(encoding(), causal=causal)
    assert not torch.allclose(net.states(tokens[shuffle]), net.states(tokens)[shuffle], atol=1e-4)


def test_one_causal_layer_gives_the_last_word_a_bag_and_two_layers_an_order():
    one, other = torch.tensor([0, 1, 2, 3]), torch.tensor([2, 0, 1, 3])
    single, double = (model(num_layers=layers, causal=True) for layers in (1, 2))
    torch.testing.assert_close(single.states(one)[-1], single.states(other)[-1])
    assert not torch.allclose(double.states(one)[-1], double.states(other)[-1], atol=1e-4)


def test_a_causal_model_does_not_look_ahead():
    net, tokens = model(causal=True), torch.tensor([[0, 1, 2, 3]])
    torch.testing.assert_close(net(tokens)[:, :2], net(tokens[:, :2]))


def test_a_batch_is_its_sentences_one_by_one():
    net, tokens = model(Sinusoidal(16)), torch.tensor([[0, 1, 2], [3, 3, 4]])
    torch.testing.assert_close(net(tokens)[1], net(tokens[1]))


def test_position_ids_reach_the_encoding_and_relative_ones_ignore_a_shift():
    tokens, far = torch.tensor([3, 1, 4, 1, 5]), torch.arange(5) + 9
    absolute, relative = model(Sinusoidal(16)), model(Rotary(8))
    assert not torch.allclose(absolute(tokens), absolute(tokens, far), atol=1e-4)
    torch.testing.assert_close(relative(tokens), relative(tokens, far), atol=1e-6, rtol=1e-6)
    spread = torch.tensor([0, 1, 5, 6, 20])
    assert not torch.allclose(relative(tokens), relative(tokens, spread), atol=1e-4)


def test_layers_share_an_encoding_or_have_one_each():
    each, shared = model([T5Bias(2), T5Bias(2)]), model(T5Bias(2))
    assert each.layers[0].encoding is not each.layers[1].encoding
    assert shared.layers[0].encoding is shared.layers[1].encoding


def test_layers_without_positions_may_stand_among_the_others():
    tokens, apart = torch.tensor([3, 1, 4, 1, 5]), torch.tensor([0, 1, 5, 6, 20])
    mixed = model([NoPosition(), Rotary(8), NoPosition()], num_layers=3)
    x = mixed.embedding(tokens)
    first, second, third = mixed.layers
    assert torch.equal(first(x), first(x, apart)) and torch.equal(third(x), third(x, apart))
    assert not torch.allclose(second(x), second(x, apart), atol=1e-4)
    expected = third(second(first(x), apart))
    torch.testing.assert_close(mixed.states(tokens, apart), expected)


def test_what_an_encoding_adds_to_the_embeddings_is_added_once():
    net = model([Sinusoidal(16), Alibi(2)])
    tokens = torch.tensor([3, 1, 4])
    x = Sinusoidal(16).embed(net.embedding(tokens), torch.arange(3))
    for layer in net.layers:
        x = layer(x)
    torch.testing.assert_close(net.states(tokens), x)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"num_heads": 3}, "model_dim must be a multiple of num_heads, got 16 and 3"),
        ({"num_heads": 0}, "num_heads must be positive, got 0"),
        ({"num_layers": 0}, "num_layers must be positive, got 0"),
        ({"vocab_size": 0}, "vocab_size must be positive, got 0"),
    ],
)
def test_an_impossible_size_is_named(changed, message):
    sizes = {"vocab_size": 5, "model_dim": 16, "num_heads": 2, "num_layers": 1} | changed
    with pytest.raises(ValueError, match=message):
        Transformer(sizes.pop("vocab_size"), encoding=NoPosition(), **sizes)


@pytest.mark.parametrize("name", ["vocab_size", "model_dim", "num_heads", "num_layers"])
def test_true_is_no_size(name):
    sizes = {"vocab_size": 5, "model_dim": 16, "num_heads": 2, "num_layers": 1} | {name: True}
    with pytest.raises(TypeError, match=f"{name} must be an integer, got True"):
        Transformer(sizes.pop("vocab_size"), encoding=NoPosition(), **sizes)


def test_a_layer_of_impossible_width_is_refused():
    with pytest.raises(ValueError, match="multiple of num_heads, got 7 and 2"):
        Layer(7, 2, NoPosition())


def test_something_else_than_an_encoding_is_refused():
    for wrong in ("rope", ["rope", "rope"], [NoPosition(), "rope"]):
        with pytest.raises(TypeError, match=r"encoding must be .* list of one per layer.*'rope'"):
            model(wrong)
    with pytest.raises(TypeError, match=r"encoding must be .*function"):
        model(lambda: NoPosition())


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_list_has_one_encoding_per_layer(count):
    with pytest.raises(ValueError, match=f"one per layer, got {count} for 2 layers"):
        Transformer(
            7,
            model_dim=16,
            num_heads=2,
            num_layers=2,
            encoding=[NoPosition() for _ in range(count)],
        )


def test_an_encoding_whose_addition_would_be_lost_is_refused():
    message = r"encoding\[1\], Sinusoidal, must not add to the embeddings: only .* first layer"
    for first in (NoPosition(), Sinusoidal(16)):
        with pytest.raises(ValueError, match=message):
            model([first, Sinusoidal(16)])
    shared = Sinusoidal(16)
    model([shared, shared])


def test_token_ids_that_are_no_whole_numbers_are_refused():
    with pytest.raises(TypeError, match=r"token_ids must be whole numbers, got torch\.float32"):
        model()(torch.tensor([1.0, 2.0]))
    with pytest.raises(TypeError, match=r"token_ids must be whole numbers, got torch\.bool"):
        model()(torch.tensor([True, False]))


# ---- every encoding ---------------------------------------------------------------------------

SCALINGS = {
    "default": {},
    "linear": {"factor": 4.0},
    "dynamic": {"factor": 4.0},
    "yarn": {"factor": 4.0},
    "llama3": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "longrope": {
        "short_factor": [1.0, 1.5, 2.0, 3.0],
        "long_factor": [1.0, 2.0, 4.0, 8.0],
        "factor": 2.0,
    },
    "proportional": {"partial_rotary_factor": 0.5},
    "ntk_alpha": {"alpha": 50.0},
}


def rotation(rope_type):
    return RopeConfig(
        head_dim=8,
        rotary_dim=8,
        base=100.0,
        layout="half",
        rope_type=rope_type,
        scaling=SCALINGS[rope_type],
        max_seq_len=4,
        original_max_seq_len=4,
    )


def scaled(rope_type):
    return Rotary.from_config(rotation(rope_type))


EVERY = {
    "NoPosition": NoPosition,
    "Sinusoidal": lambda: Sinusoidal(16),
    "LearnedAbsolute": lambda: encodings.LearnedAbsolute(64, 16),
    "Shaw": lambda: Shaw(8, 4),
    "TransformerXL": lambda: encodings.TransformerXL(2, 8),
    "T5Bias": lambda: T5Bias(2),
    "Deberta": lambda: encodings.Deberta(2, 8, 4),
    "Alibi": lambda: Alibi(2),
    "ContentBias": lambda: encodings.ContentBias(2, 8),
    "LearnedRotary": lambda: encodings.LearnedRotary(2, 8),
    "Rotary": lambda: Rotary(8),
    "Rotary, partial": lambda: Rotary(8, rotary_dim=4),
    **{f"Rotary, {kind}": lambda kind=kind: scaled(kind) for kind in SCALINGS},
}


def test_every_encoding_and_every_scaling_is_tried():
    kinds = {name for name, x in vars(encodings).items() if isinstance(x, type)}
    assert kinds - {"PositionEncoding"} == {name.split(",")[0] for name in EVERY}
    assert set(SCALINGS) == set(METHODS)


def kind_of(name):
    """An encoding for each layer, or one for all where it adds to the embeddings."""
    one, other = EVERY[name](), EVERY[name]()
    return one if type(one).embed is not PositionEncoding.embed else [one, other]


@pytest.mark.parametrize("name", EVERY)
def test_the_model_learns_with_every_encoding(name):
    """A text by heart, half of which lies beyond the trained length of the scalings."""
    text = torch.tensor([3, 1, 4, 1, 5, 2, 6, 0])

    def loss(net):
        return F.cross_entropy(net(text[:-1]), text[1:])

    untrained = loss(model(kind_of(name), causal=True)).item()
    made = trained(
        lambda: model(kind_of(name), causal=True), loss, seed=0, num_steps=30, learning_rate=1e-2
    )
    assert untrained > 1 and loss(made).item() < 0.1 * untrained


@pytest.mark.parametrize("kind", SCALINGS)
def test_every_scaling_reaches_the_attention_of_every_layer(kind):
    tokens = torch.tensor([3, 1, 4, 1, 5, 2, 6, 0])
    net, plain = (model(scaled(k), causal=True) for k in (kind, "default"))
    module = RotaryEmbedding.from_config(rotation(kind))
    x = net.embedding(tokens)
    for layer in net.layers:
        q, k, v = layer.project(layer.norm_attention(x))
        mixed = F.scaled_dot_product_attention(*module(q, k), v, is_causal=True)
        x = x + layer.to_out(mixed.transpose(-3, -2).flatten(-2))
        x = x + layer.mlp(layer.norm_mlp(x))
    torch.testing.assert_close(net.states(tokens), x)
    assert torch.allclose(plain.states(tokens), x, atol=1e-3) == (kind == "default")


# ---- training ---------------------------------------------------------------------------------


def by_heart(**changed):
    settings = {"seed": 0, "num_steps": 3, "learning_rate": 0.1} | changed
    return trained(lambda: nn.Linear(2, 1), lambda net: net(torch.rand(2)).sum() ** 2, **settings)


def test_a_seed_decides_everything_and_nothing_outside_changes():
    before = torch.get_num_threads()
    torch.manual_seed(5)
    state = torch.get_rng_state()
    one, again, other = by_heart(), by_heart(), by_heart(seed=1)
    assert torch.equal(torch.get_rng_state(), state) and torch.get_num_threads() == before
    assert torch.equal(one.weight, again.weight) and not torch.equal(one.weight, other.weight)


@pytest.mark.parametrize("one_cycle", [False, True])
def test_the_learning_rate_stays_or_rises_and_falls(one_cycle):
    """Where a gradient is always the same, Adam's steps are as large as the learning rate says."""
    seen = []

    def loss(net):
        seen.append(net.bias.item())
        return net.bias.sum()

    net = trained(
        lambda: nn.Linear(1, 1).double(),
        loss,
        seed=0,
        num_steps=20,
        learning_rate=0.5,
        one_cycle=one_cycle,
    )
    seen.append(net.bias.item())
    steps = [a - b for a, b in itertools.pairwise(seen)]
    assert len(steps) == 20
    if not one_cycle:
        # Adam divides by |gradient| + 1e-8.
        assert steps == pytest.approx([0.5] * 20, rel=1e-6)
        return
    top = steps.index(max(steps))
    # A cycle begins at 1 / 25 of the highest and ends at nothing; beta1 moves with it.
    assert 0 < top < 19 and steps[0] < 0.2 * steps[top] and steps[-1] < 0.01 * steps[top]
    assert steps[:top] == sorted(steps[:top]) and steps[top:] == sorted(steps[top:], reverse=True)


def test_too_few_steps_are_refused():
    with pytest.raises(ValueError, match="num_steps must be positive, got 0"):
        by_heart(num_steps=0)
    with pytest.raises(ValueError, match="num_steps must be at least 2, got 1"):
        by_heart(num_steps=1, one_cycle=True)
    with pytest.raises(TypeError, match="num_steps must be an integer, got True"):
        by_heart(num_steps=True)


# ---- order ------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_result():
    assert order.run(SMALL) == order.run(SMALL)
    tasks = [order.make_task(SMALL, 0) for _ in range(2)]
    weights = [order.train(order.CONDITIONS[2], SMALL, task, 0).state_dict() for task in tasks]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_another_seed_gives_other_weights_and_another_task():
    one, other = (order.make_task(SMALL, seed) for seed in (0, 1))
    assert not torch.equal(one.test, other.test)
    condition = order.CONDITIONS[0]
    weights = [order.train(condition, SMALL, one, seed).embedding.weight for seed in (0, 1)]
    assert not torch.equal(*weights)


def test_a_run_leaves_the_random_state_and_the_threads_alone():
    before = torch.get_num_threads()
    torch.manual_seed(5)
    torch.set_num_threads(2)
    try:
        state = torch.get_rng_state()
        order.run(dataclasses.replace(SMALL, seeds=(0,)))
        assert torch.equal(torch.get_rng_state(), state)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_held_out_pairs_are_in_both_orders_and_never_in_training():
    task = order.make_task(SMALL, 0)
    trained, tested = (
        {frozenset(sentence[[0, 2]].tolist()) for sentence in sentences}
        for sentences in (task.train, task.test)
    )
    assert not trained & tested
    assert len(tested) == SMALL.num_held_out and len(task.test) == 2 * SMALL.num_held_out
    assert len(trained | tested) == 10
    assert torch.equal(task.test_answers, task.test[:, 0])
    everything = torch.cat([task.train, task.test])
    assert torch.equal(everything[:, 1], torch.full((20,), 5))
    assert torch.equal(everything[:, 3], torch.full((20,), 6))


def test_a_bag_of_words_can_answer_half_of_the_questions():
    task = order.make_task(SMALL, 0)
    assert order.best_bag_accuracy(task.test, task.test_answers) == 0.5
    # Where one answer is more frequent, a bag can do better than half; where orders differ, not 1.
    sentences = torch.tensor([[0, 1, 2], [0, 2, 1], [1, 0, 2], [3, 4, 5]])
    assert order.best_bag_accuracy(sentences, torch.tensor([0, 0, 1, 3])) == 0.75


def test_a_model_without_order_never_beats_the_bag_and_one_with_order_does():
    config = order.Config(num_names=8, num_held_out=6, num_steps=80, seeds=(0,))
    chosen = dataclasses.replace(config, conditions=order.CONDITIONS[:3])
    result = order.run(chosen)
    no_mask, one_layer, two_layers = (share for (share,) in result.accuracy.values())
    assert result.bag_limit == 0.5
    assert max(no_mask, one_layer) <= 0.5
    assert two_layers >= 0.9


def test_progress_is_told_once_per_condition():
    lines = []
    order.run(dataclasses.replace(SMALL, conditions=order.CONDITIONS[:2]), lines.append)
    assert [line[:5] for line in lines] == ["no ma", "causa"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"num_held_out": 0}, "num_held_out must be from 1 to 9, for 5 names make 10 pairs, got 0"),
        ({"num_held_out": 10}, "num_held_out must be from 1 to 9"),
        ({"num_steps": 0}, "num_steps must be positive, got 0"),
        ({"seeds": ()}, "seeds must name at least one"),
        ({"seeds": (3, 3)}, r"seeds must be different, got \(3, 3\)"),
        ({"conditions": order.CONDITIONS[:1] * 2}, "conditions must have different names"),
    ],
)
def test_a_bad_configuration_is_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SMALL, **changed)


def test_a_bad_condition_is_refused():
    with pytest.raises(ValueError, match=r"encoding must be one of .*, got 'rope'"):
        order.Condition("x", "rope", True, 1)
    with pytest.raises(ValueError, match="num_layers must be positive, got 0"):
        order.Condition("x", "none", True, 0)
