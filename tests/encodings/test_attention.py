import math

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from ropelib import RotaryEmbedding, apply_rotary, cos_sin, inv_freq
from ropelib.attention import attend, attention_scores
from ropelib.encodings import NoPosition, PositionEncoding, Rotary
from ropelib.reference import rotation_matrix

LAYOUTS = ["interleaved", "half"]


class Bias(PositionEncoding):
    def __init__(self, bias):
        super().__init__()
        self.bias = bias

    def score_bias(self, q, k, position_ids, key_position_ids):
        return self.bias


class Narrow(PositionEncoding):
    def rotate(self, q, k, position_ids, key_position_ids):
        return q[..., :4], k[..., :4]


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def rotate_at(position_ids, layout="half"):
    rotary = RotaryEmbedding(8, layout=layout)
    return lambda q, k: rotary(q, k, position_ids)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scores_depend_only_on_relative_position(layout):
    q, k = randn(2, 3, 5, 8), randn(2, 3, 5, 8, seed=1)
    here = attention_scores(*rotate_at(torch.arange(5), layout)(q, k))
    there = attention_scores(*rotate_at(torch.arange(5) + 1000, layout)(q, k))
    torch.testing.assert_close(here, there, rtol=0, atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scores_depend_on_the_shift_when_only_q_rotates(layout):
    q, k = randn(2, 3, 5, 8), randn(2, 3, 5, 8, seed=1)

    def only_q(position_ids):
        rotate = rotate_at(position_ids, layout)
        return lambda q, k: (rotate(q, k)[0], k)

    here = attention_scores(*only_q(torch.arange(5))(q, k))
    there = attention_scores(*only_q(torch.arange(5) + 1000)(q, k))
    assert (here - there).abs().max() > 0.1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_score_is_the_key_rotated_by_how_far_it_is_ahead(layout):
    q, k, m, n = randn(1, 8), randn(1, 8, seed=1), 11, 4
    frequencies = inv_freq(8)

    def rotate(q, k):
        tables = [cos_sin([p], frequencies, dtype=torch.float64) for p in (m, n)]
        return tuple(
            apply_rotary(x, *t, layout=layout) for x, t in zip((q, k), tables, strict=True)
        )

    expected = q @ rotation_matrix(n - m, frequencies, layout=layout) @ k.T
    torch.testing.assert_close(attention_scores(*rotate(q, k), scale=1.0), expected)


def test_equal_positions_leave_the_scores_alone():
    q, k = randn(3, 5, 8), randn(3, 5, 8, seed=1)
    rotated = attention_scores(*rotate_at(torch.full((5,), 17))(q, k))
    torch.testing.assert_close(rotated, attention_scores(q, k))


@pytest.mark.parametrize("causal", [False, True])
def test_attention_equals_torch(causal):
    q, k, v = (randn(2, 4, 5, 8, seed=s) for s in range(3))
    output, weights = attend(NoPosition(), q, k, v, causal=causal)
    torch.testing.assert_close(output, scaled_dot_product_attention(q, k, v, is_causal=causal))
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 5, dtype=torch.float64))


def test_shared_key_heads_serve_consecutive_query_heads():
    q, k, v = randn(2, 6, 5, 8), randn(2, 2, 5, 8, seed=1), randn(2, 2, 5, 7, seed=2)
    output, _ = attend(Rotary(8, layout="half"), q, k, v)
    repeated = (x.repeat_interleave(3, dim=1) for x in (k, v))
    expected, _ = attend(Rotary(8, layout="half"), q, *repeated)
    torch.testing.assert_close(output, expected)
    expected = scaled_dot_product_attention(q, k, v, enable_gqa=True)
    torch.testing.assert_close(attend(NoPosition(), q, k, v)[0], expected)


def test_causal_weights_see_no_later_key():
    q, k, v = randn(3, 5, 8), randn(3, 5, 8, seed=1), randn(3, 5, 8, seed=2)
    _, weights = attend(NoPosition(), q, k, v, causal=True)
    later = torch.ones(5, 5, dtype=torch.bool).triu(1)
    assert not weights[:, later].any() and weights[:, ~later].all()


def test_causal_aligns_the_last_query_with_the_last_key():
    q, k, v = randn(3, 5, 8), randn(3, 5, 8, seed=1), randn(3, 5, 8, seed=2)
    output, _ = attend(NoPosition(), q, k, v, causal=True)
    last_two, _ = attend(NoPosition(), q[:, 3:], k, v, causal=True)
    torch.testing.assert_close(last_two, output[:, 3:])


def test_scale_is_one_over_the_root_of_head_dim():
    q, k = randn(3, 8), randn(4, 8, seed=1)
    torch.testing.assert_close(attention_scores(q, k), q @ k.T / math.sqrt(8))
    torch.testing.assert_close(attention_scores(q, k, scale=3.0), 3 * q @ k.T)


def test_a_scale_that_is_given_takes_the_place_of_the_encodings():
    q, k, v = randn(3, 5, 8), randn(3, 5, 8, seed=1), randn(3, 5, 8, seed=2)
    for encoding in (NoPosition(), Rotary(8)):
        output, _ = attend(encoding, q, k, v, scale=0.3)
        rotated = encoding.rotate(q, k, torch.arange(5), torch.arange(5))
        torch.testing.assert_close(output, scaled_dot_product_attention(*rotated, v, scale=0.3))
        assert (output - attend(encoding, q, k, v)[0]).abs().max() > 1e-3


def test_mask_hides_keys_as_in_torch():
    q, k, v = randn(2, 4, 5, 8), randn(2, 2, 5, 8, seed=1), randn(2, 2, 5, 8, seed=2)
    real = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]], dtype=torch.bool)[:, None, None]
    for causal in (False, True):
        sees = real & torch.ones(5, 5, dtype=torch.bool).tril() if causal else real
        output, weights = attend(NoPosition(), q, k, v, mask=real, causal=causal)
        expected = scaled_dot_product_attention(q, k, v, attn_mask=sees, enable_gqa=True)
        sighted = sees.any(-1).expand(2, 1, 5)[:, 0]
        for row in range(2):
            torch.testing.assert_close(output[row][:, sighted[row]], expected[row][:, sighted[row]])
        assert not weights[~sees.expand(weights.shape)].any()
    full = torch.ones(5, 5, dtype=torch.bool)
    assert torch.equal(
        attend(NoPosition(), q, k, v, mask=full)[0], attend(NoPosition(), q, k, v)[0]
    )


def test_query_that_sees_nothing_gets_zeros_and_finite_gradients():
    q, k, v = (randn(3, 5, 8, seed=s).requires_grad_() for s in range(3))
    mask = torch.ones(5, 5, dtype=torch.bool)
    mask[2] = False
    output, weights = attend(NoPosition(), q, k, v, mask=mask)
    assert not output[:, 2].any() and not weights[:, 2].any() and weights[:, 3].all()
    output.sum().backward()
    assert all(x.grad.isfinite().all() for x in (q, k, v))
    assert not q.grad[:, 2].any()


def test_decoding_with_a_cache_equals_the_text_at_once():
    rotary = RotaryEmbedding(8, layout="half")
    q, k, v = randn(2, 4, 9, 8), randn(2, 2, 9, 8, seed=1), randn(2, 2, 9, 8, seed=2)
    expected, _ = attend(Rotary.from_module(rotary), q, k, v, causal=True)
    keys, values = k[:, :, :0], v[:, :, :0]
    for s in range(9):
        here = slice(s, s + 1)
        new_q, new_k = rotary(q[:, :, here], k[:, :, here], offset=s)
        keys, values = torch.cat((keys, new_k), -2), torch.cat((values, v[:, :, here]), -2)
        output, _ = attend(NoPosition(), new_q, keys, values, causal=True)
        torch.testing.assert_close(output, expected[:, :, here])


def test_wrong_mask_is_refused():
    q, k = randn(2, 3, 4, 8), randn(2, 3, 5, 8, seed=1)
    with pytest.raises(TypeError, match=r"mask must be bool, .* got torch.float64"):
        attend(NoPosition(), q, k, k, mask=torch.zeros(4, 5, dtype=torch.float64))
    for shape in ((5, 4), (2, 4, 5), (1, 2, 3, 4, 5)):
        with pytest.raises(ValueError, match=r"mask must broadcast to \(2, 3, 4, 5\), got shape"):
            attend(NoPosition(), q, k, k, mask=torch.ones(shape, dtype=torch.bool))


@pytest.mark.parametrize(
    ("q_shape", "k_shape", "message"),
    [
        ((8,), (8,), "must be .*num_heads, seq_len, head_dim"),
        ((2, 5, 8), (5, 8), "must be .*num_heads, seq_len, head_dim"),
        ((5, 8), (5, 6), "must have the same head_dim"),
        ((2, 3, 5, 8), (1, 3, 5, 8), "must have the same leading axes"),
        ((6, 5, 8), (4, 5, 8), "heads of k must divide those of q"),
        ((2, 5, 8), (4, 5, 8), "heads of k must divide those of q"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(q_shape, k_shape, message):
    with pytest.raises(ValueError, match=message):
        attention_scores(randn(*q_shape), randn(*k_shape))
    with pytest.raises(ValueError, match=message):
        attend(NoPosition(), randn(*q_shape), randn(*k_shape), randn(*k_shape))


def test_errors_name_value_and_rule():
    q, k = randn(3, 5, 8), randn(3, 4, 8, seed=1)
    with pytest.raises(ValueError, match="v must have a value for each key"):
        attend(NoPosition(), q, k, randn(3, 5, 8))
    with pytest.raises(ValueError, match="causal needs q_len <= k_len, got 5 queries and 4 keys"):
        attend(NoPosition(), q, k, k, causal=True, position_ids=torch.arange(5))
    message = r"rotate of Narrow must keep .*\(3, 4, 8\), got \(3, 5, 4\) and \(3, 4, 4\)"
    with pytest.raises(ValueError, match=message):
        attend(Narrow(), q, k, k, position_ids=torch.arange(5))


def test_a_bias_is_added_to_the_scaled_scores():
    q, k = randn(2, 3, 5, 8), randn(2, 3, 7, 8, seed=1)
    for shape in [(5, 7), (3, 5, 7), (3, 1, 1), (1,), (2, 1, 5, 7)]:
        bias = randn(*shape, seed=2)
        biased = attention_scores(q, k, bias=bias)
        torch.testing.assert_close(biased, attention_scores(q, k) + bias)
        assert (biased - attention_scores(q, k)).abs().max() > 0.1


def test_attention_with_a_bias_equals_torch():
    q, k, v = randn(2, 3, 5, 8), randn(2, 3, 5, 8, seed=1), randn(2, 3, 5, 4, seed=2)
    bias = randn(3, 5, 5, seed=3)
    output, _ = attend(Bias(bias), q, k, v)
    torch.testing.assert_close(output, scaled_dot_product_attention(q, k, v, attn_mask=bias))
    unseen = torch.full((5, 5), -math.inf).triu(1).double()
    output, _ = attend(Bias(bias), q, k, v, causal=True)
    expected = scaled_dot_product_attention(q, k, v, attn_mask=bias + unseen)
    torch.testing.assert_close(output, expected)


@pytest.mark.parametrize("shape", [(5, 6), (2, 2, 3, 5, 5), (4, 5, 5)])
def test_a_bias_that_does_not_fit_is_refused(shape):
    q = k = v = randn(2, 3, 5, 8)
    message = r"bias must broadcast to \(2, 3, 5, 5\), got shape"
    with pytest.raises(ValueError, match=message):
        attention_scores(q, k, bias=randn(*shape))
    with pytest.raises(ValueError, match=message):
        attend(Bias(randn(*shape)), q, k, v)
