"""The small experiments: what a model without positions can and cannot do, and that runs repeat."""

import dataclasses

import pytest
import torch

from ropebook.experiments import order
from ropebook.experiments.transformer import Layer, Transformer
from ropelib.encodings import Alibi, NoPosition, Rotary, Shaw, Sinusoidal, T5Bias

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
    net = model(encoding, causal=causal)
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


def test_a_factory_makes_one_encoding_per_layer_and_an_instance_is_shared():
    made, shared = model(lambda: T5Bias(2)), model(T5Bias(2))
    assert made.layers[0].encoding is not made.layers[1].encoding
    assert shared.layers[0].encoding is shared.layers[1].encoding


def test_what_an_encoding_adds_to_the_embeddings_is_added_once():
    net = model(lambda: Sinusoidal(16))
    tokens = torch.tensor([3, 1, 4])
    x = Sinusoidal(16).embed(net.embedding(tokens), torch.arange(3))
    for layer in net.layers:
        x = layer(x)
    torch.testing.assert_close(net.states(tokens), x)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"num_heads": 3}, "model_dim must be a multiple of num_heads, got 16 and 3"),
        ({"num_heads": 0}, "model_dim must be a multiple of num_heads, got 16 and 0"),
        ({"num_layers": 0}, "num_layers must be at least 1, got 0"),
        ({"vocab_size": 0}, "vocab_size must be at least 1, got 0"),
    ],
)
def test_an_impossible_size_is_named(changed, message):
    sizes = {"vocab_size": 5, "model_dim": 16, "num_heads": 2, "num_layers": 1} | changed
    with pytest.raises(ValueError, match=message):
        Transformer(sizes.pop("vocab_size"), encoding=NoPosition(), **sizes)


def test_a_layer_of_impossible_width_is_refused():
    with pytest.raises(ValueError, match="multiple of num_heads, got 7 and 2"):
        Layer(7, 2, NoPosition())


def test_something_else_than_an_encoding_is_refused():
    for wrong in ("rope", lambda: "rope"):
        with pytest.raises(TypeError, match=r"encoding must .*'rope'"):
            model(wrong)


def test_token_ids_that_are_no_whole_numbers_are_refused():
    with pytest.raises(TypeError, match=r"token_ids must be whole numbers, got torch\.float32"):
        model()(torch.tensor([1.0, 2.0]))


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
        ({"num_steps": 0}, "num_steps must be at least 1, got 0"),
        ({"seeds": ()}, "seeds must name at least one"),
        ({"conditions": order.CONDITIONS[:1] * 2}, "conditions must have different names"),
    ],
)
def test_a_bad_configuration_is_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SMALL, **changed)


def test_a_bad_condition_is_refused():
    with pytest.raises(ValueError, match=r"encoding must be one of .*, got 'rope'"):
        order.Condition("x", "rope", True, 1)
    with pytest.raises(ValueError, match="num_layers must be at least 1, got 0"):
        order.Condition("x", "none", True, 0)
