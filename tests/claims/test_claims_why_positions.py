"""What the source documents say about attention and order, decided by computation."""

import itertools
import math

import pytest
import torch
from claims import decides
from torch.nn import functional as F

from ropebook.experiments.transformer import Layer, Transformer
from ropelib.attention import attend
from ropelib.encodings import (
    Alibi,
    NoPosition,
    Rotary,
    Shaw,
    Sinusoidal,
    T5Bias,
)

LENGTH, WIDTH = 5, 16


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def words(length=LENGTH):
    return torch.randn(length, WIDTH, dtype=torch.float64)


def layer(encoding=None, *, causal=False):
    return Layer(WIDTH, 2, encoding or NoPosition(), causal=causal).double()


def same_bag(one, other):
    """Whether some order of the rows makes them equal.

    In float64 other orders of summation differ by 1e-15, other rows by more than 1e-3.
    """
    assert one.dtype == other.dtype == torch.float64
    orders = itertools.permutations(range(len(one)))
    return any(torch.allclose(one[list(order)], other, rtol=0, atol=1e-9) for order in orders)


def formula(q, k, v):
    """softmax(q k^T / sqrt(d)) v, one number at a time."""
    rows = []
    for query in q.tolist():
        powers = [
            math.exp(sum(a * b for a, b in zip(query, key, strict=True)) / math.sqrt(len(query)))
            for key in k.tolist()
        ]
        rows.append(
            [
                sum(p * value for p, value in zip(powers, column, strict=True)) / sum(powers)
                for column in v.T.tolist()
            ]
        )
    return torch.tensor(rows, dtype=torch.float64)


@decides("S000-3", "S001-2", "S004-1")
def test_without_a_mask_attention_cannot_tell_orders_apart_and_with_one_it_can():
    """Depends: "self-attention is unordered, ignores positions".

    True without a mask: the bag of outputs is the same for all orders. False with a causal mask.
    """
    x = words(4)
    free, causal = layer(), layer(causal=True)
    orders = [list(order) for order in itertools.permutations(range(4))]
    assert all(same_bag(free(x[order]), free(x)) for order in orders)
    assert sum(same_bag(causal(x[order]), causal(x)) for order in orders) == 1  # the order itself


@decides("S000-4", "S002-6")
def test_attention_is_the_formula_with_the_square_root_of_the_keys_width():
    """True: Attention = softmax(Q K^T / sqrt(d_k)) V, weights row by row."""
    q, k, v = torch.randn(3, LENGTH, 8, dtype=torch.float64).unbind()
    output, weights = attend(NoPosition(), q, k, v)
    torch.testing.assert_close(output, formula(q, k, v))
    torch.testing.assert_close(output, F.scaled_dot_product_attention(q, k, v))
    powers = (q @ k.T / math.sqrt(8)).exp()
    torch.testing.assert_close(weights, powers / powers.sum(dim=-1, keepdim=True))
    assert not torch.allclose(formula(2 * q, k, v), output)


@decides("S000-5")
def test_shuffled_words_change_the_list_of_outputs_and_not_its_mean():
    """False: "if the words are shuffled, the output does not change".

    The outputs are shuffled along: equivariant. Invariant is what forgets the order, as the mean.
    """
    x, shuffle = words(), torch.tensor([3, 0, 4, 1, 2])
    output, shuffled = layer_pair(x, shuffle)
    assert not torch.allclose(shuffled, output)
    torch.testing.assert_close(shuffled, output[shuffle])
    torch.testing.assert_close(shuffled.mean(0), output.mean(0))


def layer_pair(x, shuffle):
    one = layer()
    return one(x), one(x[shuffle])


@decides("S000-6")
@pytest.mark.parametrize(("causal", "same"), [(False, True), (True, False)])
def test_i_like_you_and_you_like_me(causal, same):
    """Depends: "我喜欢你 and 你喜欢我 cannot be told apart".

    True of the bag of outputs without a mask; a causal mask alone tells them apart.
    """
    model = Transformer(
        3, model_dim=WIDTH, num_heads=2, num_layers=1, encoding=NoPosition(), causal=causal
    ).double()
    i_like_you, you_like_me = torch.tensor([0, 1, 2]), torch.tensor([2, 1, 0])
    assert same_bag(model.states(i_like_you), model.states(you_like_me)) == same


@decides("S001-1")
@pytest.mark.parametrize(
    "encoding",
    [
        pytest.param(lambda: Sinusoidal(WIDTH), id="absolute: sinusoids"),
        pytest.param(lambda: Shaw(WIDTH // 2, 3), id="relative: Shaw"),
        pytest.param(lambda: T5Bias(2), id="relative: T5"),
        pytest.param(lambda: Alibi(2), id="relative: ALiBi"),
        pytest.param(lambda: Rotary(WIDTH // 2), id="relative: RoPE"),
    ],
)
def test_both_families_of_encodings_tell_equal_words_apart_and_nothing_does_not(encoding):
    """True: positions need information, and the main families give it.

    Equal words, everything else the same: only an encoding makes their outputs differ.
    """
    tokens = torch.tensor([0, 1, 2, 0, 3])  # the dog sees the cat
    for made, apart in ((NoPosition(), False), (encoding(), True)):
        model = Transformer(4, model_dim=WIDTH, num_heads=2, num_layers=1, encoding=made)
        states = model.states(tokens)
        assert torch.allclose(states[0], states[3], atol=1e-5) != apart


@decides("S002-2", "S002-3")
def test_tokens_are_whole_numbers_and_only_their_embeddings_are_vectors():
    """Imprecise: "the sequence of tokens lies in R^(N x d)"; the embeddings do."""
    model = Transformer(9, model_dim=WIDTH, num_heads=2, num_layers=1, encoding=NoPosition())
    tokens = torch.tensor([3, 1, 4, 1, 5])
    assert not tokens.is_floating_point() and tokens.shape == (LENGTH,)
    assert model.embedding(tokens).shape == (LENGTH, WIDTH)
    with pytest.raises(TypeError, match="whole numbers"):
        model(model.embedding(tokens))


@decides("S002-4")
def test_some_encodings_leave_q_k_and_v_alone():
    """Imprecise: "all position encodings construct a function f(q, k, v)"."""
    x, ids = words(), torch.arange(LENGTH)
    q, k, v = torch.randn(3, 2, LENGTH, 8, dtype=torch.float64).unbind()
    for encoding in (Alibi(2), T5Bias(2)):
        assert encoding.embed(x, ids) is x
        assert all(a is b for a, b in zip(encoding.rotate(q, k, ids, ids), (q, k), strict=True))
        assert encoding.value_bias(torch.ones(LENGTH, LENGTH), ids, ids) is None
        assert encoding.score_bias(q, k, ids, ids) is not None
        plain, _ = attend(NoPosition(), q, k, v)
        assert not torch.allclose(attend(encoding, q, k, v)[0], plain)


def test_a_query_is_made_from_its_own_word_and_position():
    """True: q_m = f_q(x_m, m), k_n = f_k(x_n, n), v_n = f_v(x_n, n).

    It holds of encodings that act on vectors: another word elsewhere changes nothing in q_m;
    another word or another position at m does.
    """
    projection, ids = torch.randn(WIDTH, WIDTH, dtype=torch.float64), torch.arange(LENGTH)

    def queries(x, ids):
        q = Sinusoidal(WIDTH).embed(x, ids) @ projection
        return Rotary(WIDTH).rotate(q, q, ids, ids)[0]

    x = words()
    others, moved = x.clone(), ids.clone()
    others[[0, 1, 3, 4]] += 1
    moved[2] = 7
    torch.testing.assert_close(queries(others, ids)[2], queries(x, ids)[2])
    assert not torch.allclose(queries(x, moved)[2], queries(x, ids)[2])
    assert not torch.allclose(queries(x + 1, ids)[2], queries(x, ids)[2])


@decides("S002-7")
def test_the_sum_over_n_leaves_one_output_per_query():
    """Imprecise: "o_(m,n) = sum_n a_(m,n) v_n"; after the sum there is no n."""
    q, k = torch.randn(2, LENGTH, 8, dtype=torch.float64).unbind()
    v = torch.randn(LENGTH, 3, dtype=torch.float64)
    output, weights = attend(NoPosition(), q, k, v)
    terms = weights[:, :, None] * v
    assert terms.shape == (LENGTH, LENGTH, 3) and output.shape == (LENGTH, 3)
    torch.testing.assert_close(terms.sum(dim=1), output)


@decides("S002-16")
def test_a_score_knows_no_position_unless_it_is_given_one():
    """Imprecise: "the Transformer captures position information through self-attention".

    The weight of a pair moves with the pair; with an encoding it depends on the places.
    """
    x, shuffle = words(), torch.tensor([3, 0, 4, 1, 2])
    _, weights = attend(NoPosition(), x, x, x)
    _, shuffled = attend(NoPosition(), x[shuffle], x[shuffle], x[shuffle])
    torch.testing.assert_close(shuffled, weights[shuffle][:, shuffle])
    _, weights = attend(Rotary(WIDTH), x, x, x)
    _, shuffled = attend(Rotary(WIDTH), x[shuffle], x[shuffle], x[shuffle])
    assert not torch.allclose(shuffled, weights[shuffle][:, shuffle], atol=1e-2)
