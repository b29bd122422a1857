"""The exercises on attention without positions: right in any form, each misconception its hint."""

import math

import numpy as np
import pytest
import torch
from answers import accepted, hinted
from torch.nn import functional as F

from ropebook.exercises import check
from ropebook.experiments.transformer import Transformer
from ropelib.attention import attend
from ropelib.encodings import NoPosition

ZEROS, ONLY_LAST = torch.zeros(3, 1), torch.tensor([[0.0], [0.0], [1.0]])


def equivariant(layer, seq_len=16, width=4, trials=6, seed=0):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(trials):
        x = torch.randn(seq_len, width, generator=generator).double()
        order = torch.randperm(seq_len, generator=generator)
        if not torch.allclose(layer(x)[order], layer(x[order]), atol=1e-9):
            return False
    return True


RIGHT = [
    ("swap dog and cat", 2),
    ("output of sees", (0.6, 0.8)),
    ("output of sees", np.array([0.6, 0.8])),
    ("output of sees", torch.tensor([0.6, 0.8])),
    ("output of sees", ("3/5", "4/5")),
    ("outputs after a shuffle", (1, 2, 0)),
    ("outputs after a shuffle", ("(0.6, 0.8)", "(0.75, 0.75)", "(0.8, 0.6)")),
    ("different outputs", 3),
    ("what a bag cannot say", "Does the sentence begin with cat?"),
    ("causal by hand", (2 / 3, 1)),
    ("causal by hand", (0.67, 1)),
    ("which can say who", 2),
    ("tell the two the apart", {"positions": True, "causal": False}),
    ("tell the two the apart", {"positions": False, "causal": True}),
    ("read the position", lambda output: round(1 / output) - 1),
    ("read the position", lambda output: round(1 / output - 1)),
    ("read the position", lambda output: torch.tensor(1 / output).round() - 1),
    ("how many answers", (1, 1, 6)),
    ("how many answers", [1, 1, 6]),
    ("is it equivariant", equivariant),
    ("count a word", (ZEROS, ZEROS, ONLY_LAST)),
    ("count a word", ([[0], [0], [0]], [[1], [2], [3]], [[0], [0], [1]])),
    ("count a word", (torch.ones(3, 2), torch.ones(3, 2), ONLY_LAST)),
]
WRONG = [
    ("swap dog and cat", 0, "its second entry"),
    ("swap dog and cat", 1, "a sum does not care"),
    ("output of sees", (0.8, 0.6), "output of dog"),
    ("output of sees", (3, 4), "Divide by the sum"),
    ("output of sees", (1, 2), "values times scores"),
    ("output of sees", (0.5, 1), "take powers of 2"),
    ("output of sees", (0, 1), "the word itself"),
    (
        "output of sees",
        ((1 + math.e) / (1 + 2 * math.e), 2 * math.e / (1 + 2 * math.e)),
        "powers of 2",
    ),
    ("output of sees", (0.58, 0.85), "powers of 2"),
    ("output of sees", (2 / 3, 2 / 3), "all three alike"),
    ("output of sees", (0, 0), "dot products of (0, 1)"),
    ("outputs after a shuffle", (0, 1, 2), "old order"),
    ("outputs after a shuffle", (2, 0, 1), "Which was its output"),
    ("outputs after a shuffle", (2, 1, 0), "Not in the order"),
    ("different outputs", 5, "equal words"),
    ("different outputs", 4, "occur twice"),
    ("different outputs", 2, "a word of its own"),
    ("different outputs", 1, "different queries"),
    ("different outputs", 6, "Count the words"),
    ("what a bag cannot say", 0, "holds its words"),
    ("what a bag cannot say", 2, "does not depend on order"),
    ("what a bag cannot say", 3, "equal outputs"),
    ("causal by hand", (0.75, 0.75), "hides dog"),
    ("causal by hand", (1, 2 / 3), "other way round"),
    ("causal by hand", (1 / 2, 3 / 4), "sum to 1"),
    ("causal by hand", (1, 1), "what stands before it"),
    ("causal by hand", (0.5, 1), "weigh both alike"),
    ("causal by hand", (0, 0), "places 0 and 1"),
    ("which can say who", 0, "beyond 50%"),
    ("which can say who", 1, "causal layer is not enough"),
    ("which can say who", 3, "no positions"),
    ("tell the two the apart", {"positions": False, "causal": False}, "Not answered"),
    ("read the position", lambda output: 1 / output - 1, "round too"),
    ("read the position", lambda output: round(1 / output), "One too many"),
    ("read the position", lambda output: int(1 / output) - 1, "cutting off"),
    ("read the position", lambda output: 3, "How many words"),
    ("read the position", lambda output: None, "returned None"),
    ("how many answers", (6, 6, 6), "Without a mask"),
    ("how many answers", (3, 1, 6), "Without a mask"),
    ("how many answers", (1, 6, 6), "the three words in an order"),
    ("how many answers", (1, 3, 6), "came last"),
    ("how many answers", (1, 1, 1), "no longer the words"),
    ("how many answers", (1, 1, 3), "not only the first"),
    ("how many answers", (1, 1, 2), "not only the first"),
    ("how many answers", (1, 1, 9), "only so many orders"),
    ("how many answers", (1, 1), "expected three numbers"),
    ("is it equivariant", lambda layer: True, "You accept causal attention"),
    ("is it equivariant", lambda layer: False, "You refuse attention without positions"),
    ("is it equivariant", lambda layer: None, "returned None"),
    ("count a word", (ZEROS, ZEROS, torch.ones(3, 1)), "the share of cat is"),
    ("count a word", (torch.ones(3, 1), 50 * ONLY_LAST, ONLY_LAST), "not how often"),
    ("count a word", (ZEROS, ZEROS, torch.ones(3, 2)), "one column"),
    ("count a word", (torch.zeros(3, 2), ZEROS, ONLY_LAST), "equally wide"),
    ("count a word", (torch.zeros(2, 1), ZEROS, ONLY_LAST), "to_q must be"),
    ("count a word", (ZEROS, ZEROS, -ONLY_LAST), "your output is -1"),
]


test_a_right_answer_is_accepted_in_any_form = accepted(RIGHT)
test_a_misconception_gets_its_own_hint = hinted(WRONG)


def by(orders, *, seq_len=16, exact=False, flattened=False, pooled=False):
    """An equivariance test that tries these orders only."""

    def test(layer):
        x = torch.randn(seq_len, 4, generator=torch.Generator().manual_seed(1)).double()
        for order in orders(seq_len):
            left, right = layer(x)[order], layer(x[order])
            if pooled:
                left, right = left.mean(0), right.mean(0)
            if flattened:
                left, right = left.flatten().sort().values, right.flatten().sort().values
            same = torch.equal(left, right) if exact else torch.allclose(left, right, atol=1e-9)
            if not same:
                return False
        return True

    return test


def reverse(length):
    return [torch.arange(length).flip(0)]


def rolls(length):
    return [torch.arange(length).roll(shift) for shift in range(length)]


def some(length):
    generator = torch.Generator().manual_seed(0)
    return [torch.randperm(length, generator=generator) for _ in range(4)]


@pytest.mark.parametrize(
    ("test", "fooled_by"),
    [
        (by(rolls), "a ring"),
        (by(reverse), "and its reverse"),
        (by(some, seq_len=4), "six places"),
        (by(some, flattened=True), "You accept"),
        (by(some, pooled=True), "You accept"),
    ],
)
def test_an_equivariance_test_that_looks_at_too_little_is_fooled(test, fooled_by):
    verdict = check("is it equivariant", test)
    assert not verdict
    assert fooled_by in verdict.message


def test_an_equivariance_test_that_asks_for_invariance_refuses_attention():
    def invariant(layer):
        x = torch.randn(16, 4, generator=torch.Generator().manual_seed(1)).double()
        return torch.allclose(layer(x), layer(x.flip(0)), atol=1e-9)

    assert "You refuse attention" in check("is it equivariant", invariant).message


def test_a_test_may_write_into_what_a_layer_returns():
    def writing(layer):
        x = torch.randn(16, 4, generator=torch.Generator().manual_seed(1)).double()
        order = some(16)[0]
        expected = layer(x)[order]
        layer(x).zero_()
        return torch.allclose(layer(x[order]), expected, atol=1e-9)

    assert check("is it equivariant", writing)


WORDS = {"dog": (1.0, 0.0), "sees": (0.0, 1.0), "cat": (1.0, 1.0)}


def outputs(*words, causal=False):
    x = torch.tensor([WORDS[word] for word in words], dtype=torch.float64)
    output, _ = attend(NoPosition(), x, x, x, causal=causal, scale=math.log(2))
    return output


def test_the_answers_by_hand_are_those_of_attention():
    assert check("output of sees", outputs("dog", "sees", "cat")[1])
    assert check("causal by hand", outputs("sees", "cat", "dog", causal=True)[1])
    old, new = outputs("dog", "sees", "cat"), outputs("sees", "cat", "dog")
    order = [next(i for i in range(3) if torch.allclose(row, old[i])) for row in new]
    assert check("outputs after a shuffle", order)


def test_the_answers_to_how_many_are_those_of_random_models():
    orders = torch.tensor([(a, b, 3 - a - b, 3) for a in range(3) for b in range(3) if a != b])
    counted = []
    for causal, num_layers in ((False, 2), (True, 1), (True, 2)):
        last = random_model(causal, num_layers).states(orders)[:, -1]
        counted.append(different(last))
    assert tuple(counted) == (1, 1, 6)
    the_dog_sees_the_dog = torch.tensor([0, 1, 2, 0, 1])
    states = random_model(False, 2).states(the_dog_sees_the_dog)
    assert check("different outputs", different(states))


def random_model(causal, num_layers):
    torch.manual_seed(0)
    model = Transformer(
        4, model_dim=16, num_heads=2, num_layers=num_layers, encoding=NoPosition(), causal=causal
    )
    return model.double()


def different(rows):
    return len({tuple(row) for row in rows.div(1e-9).round().long().tolist()})


def test_the_mean_of_the_outputs_holds_shares_and_nothing_of_the_order():
    # What the options of "what a bag cannot say" claim: the and cat are shares of a one-hot value.
    the, dog, sees, cat = range(4)
    mean = {}
    for words in ((the, dog, sees, the, cat), (cat, the, sees, the, dog)):
        value = F.one_hot(torch.tensor(words), 4).double()
        query = torch.zeros(5, 1, dtype=torch.float64)
        output, _ = attend(NoPosition(), query, query, value)
        mean[words] = output.mean(0)
    one, other = mean.values()
    torch.testing.assert_close(one, other)
    torch.testing.assert_close(one, torch.tensor([2, 1, 1, 1]).double() / 5)


def test_a_bag_of_one_hot_words_is_counted_in_every_order():
    # The exercise's own solution, against a count in plain Python, on longer sentences.
    sentence = torch.tensor([2, 0, 2, 1, 1, 2, 0])
    x = F.one_hot(sentence, 3).float()
    output, _ = attend(NoPosition(), x @ ZEROS, x @ ZEROS, x @ ONLY_LAST, causal=True)
    shares = [sentence[: m + 1].tolist().count(2) / (m + 1) for m in range(7)]
    torch.testing.assert_close(output[:, 0], torch.tensor(shares))
