"""Every encoding against its paper's formula as loops, the installed transformers, and a shift."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from ropelib.attention import attend
from ropelib.encodings import (
    Alibi,
    ContentBias,
    Deberta,
    LearnedAbsolute,
    LearnedRotary,
    NoPosition,
    PositionEncoding,
    Rotary,
    Shaw,
    Sinusoidal,
    T5Bias,
    TransformerXL,
    alibi_slopes,
    extend_hierarchically,
    shift_matrix,
    signed_distance,
    sinusoids,
    t5_bucket,
)

HEADS, HEAD_DIM, SEQ_LEN = 2, 8, 7
MODEL_DIM = HEADS * HEAD_DIM


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def qkv(batch=3, q_len=SEQ_LEN, k_len=SEQ_LEN):
    return (
        randn(batch, HEADS, q_len, HEAD_DIM),
        randn(batch, HEADS, k_len, HEAD_DIM, seed=1),
        randn(batch, HEADS, k_len, HEAD_DIM, seed=2),
    )


def make(kind):
    torch.manual_seed(3)
    encoding = {
        "none": lambda: NoPosition(),
        "sinusoidal": lambda: Sinusoidal(MODEL_DIM),
        "learned": lambda: LearnedAbsolute(2048, MODEL_DIM),
        "shaw": lambda: Shaw(HEAD_DIM, 3),
        "shaw, keys only": lambda: Shaw(HEAD_DIM, 3, values=False),
        "content bias": lambda: ContentBias(HEADS, HEAD_DIM, rel_dim=3, extent=4),
        "transformer-xl": lambda: TransformerXL(HEADS, HEAD_DIM),
        "t5": lambda: T5Bias(HEADS, num_buckets=8, max_distance=6),
        "t5, backward": lambda: T5Bias(HEADS, num_buckets=4, max_distance=5, bidirectional=False),
        "deberta": lambda: Deberta(HEADS, HEAD_DIM, 4),
        "deberta, released": lambda: Deberta(HEADS, HEAD_DIM, 4, as_released=True),
        "alibi": lambda: Alibi(HEADS),
        "rope": lambda: Rotary(HEAD_DIM),
        "rope, learned": lambda: LearnedRotary(HEADS, HEAD_DIM),
    }[kind]().double()
    for parameter in encoding.parameters():  # large enough that nothing hides behind rounding
        torch.nn.init.normal_(parameter)
    return encoding


ABSOLUTE = ["sinusoidal", "learned"]
RELATIVE = [
    "none",
    "shaw",
    "shaw, keys only",
    "content bias",
    "transformer-xl",
    "t5",
    "t5, backward",
    "deberta",
    "deberta, released",
    "alibi",
    "rope",
    "rope, learned",
]


def self_attention(encoding, position_ids, *, causal=False):
    """One layer from embeddings on, so that encodings that act on embeddings are seen too."""
    x = randn(3, SEQ_LEN, MODEL_DIM, seed=5)
    x = encoding.embed(x, position_ids)
    q, k, v = (
        (x @ randn(MODEL_DIM, MODEL_DIM, seed=seed) / MODEL_DIM**0.5)
        .unflatten(-1, (HEADS, HEAD_DIM))
        .transpose(1, 2)
        for seed in (6, 7, 8)
    )
    return attend(
        encoding, q, k, v, position_ids=position_ids, key_position_ids=position_ids, causal=causal
    )


# ---- a shift ----------------------------------------------------------------------------------


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", RELATIVE)
def test_a_relative_encoding_does_not_notice_a_shift(kind, causal):
    encoding = make(kind)
    here = self_attention(encoding, torch.arange(SEQ_LEN), causal=causal)
    there = self_attention(encoding, torch.arange(SEQ_LEN) + 1000, causal=causal)
    for before, after in zip(here, there, strict=True):
        torch.testing.assert_close(before, after, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ABSOLUTE)
def test_an_absolute_encoding_notices_a_shift(kind):
    encoding = make(kind)
    here = self_attention(encoding, torch.arange(SEQ_LEN))[0]
    there = self_attention(encoding, torch.arange(SEQ_LEN) + 1000)[0]
    assert (here - there).abs().max() > 0.1


@pytest.mark.parametrize("kind", [kind for kind in RELATIVE + ABSOLUTE if kind != "none"])
def test_every_encoding_notices_an_exchange_of_two_positions(kind):
    encoding = make(kind)
    swapped = torch.arange(SEQ_LEN)
    swapped[[0, 3]] = swapped[[3, 0]]
    here = self_attention(encoding, torch.arange(SEQ_LEN))[0]
    there = self_attention(encoding, swapped)[0]
    assert (here - there).abs().max() > 1e-3


@pytest.mark.parametrize("kind", RELATIVE + ABSOLUTE)
def test_words_and_their_positions_together_may_stand_in_any_order(kind):
    """Positions travel with the words: the order in memory is not the order in the text."""
    encoding = make(kind)
    q, k, v = qkv()
    order = torch.tensor([4, 0, 6, 2, 1, 5, 3])
    positions = torch.arange(SEQ_LEN)
    output, weights = attend(encoding, q, k, v, position_ids=positions)
    shuffled = attend(
        encoding,
        *(x[..., order, :] for x in (q, k, v)),
        position_ids=positions[order],
        key_position_ids=positions[order],
    )
    torch.testing.assert_close(shuffled[0], output[..., order, :])
    torch.testing.assert_close(shuffled[1], weights[..., order, :][..., order])


@pytest.mark.parametrize("kind", RELATIVE)
def test_positions_may_differ_within_a_batch(kind):
    encoding = make(kind)
    q, k, v = qkv()
    rows = torch.stack(
        [torch.arange(SEQ_LEN), torch.arange(SEQ_LEN) * 2, torch.arange(SEQ_LEN) + 9]
    )
    together = attend(encoding, q, k, v, position_ids=rows, key_position_ids=rows)
    for i, row in enumerate(rows):
        alone = attend(
            encoding,
            q[i : i + 1],
            k[i : i + 1],
            v[i : i + 1],
            position_ids=row,
            key_position_ids=row,
        )
        torch.testing.assert_close(together[0][i : i + 1], alone[0])
        torch.testing.assert_close(together[1][i : i + 1], alone[1])


@pytest.mark.parametrize("kind", RELATIVE)
def test_the_last_query_alone_is_the_last_row_of_all(kind):
    encoding = make(kind)
    q, k, v = qkv()
    everything = attend(encoding, q, k, v, causal=True)
    last = attend(encoding, q[..., -1:, :], k, v, causal=True)
    torch.testing.assert_close(last[0], everything[0][..., -1:, :])
    torch.testing.assert_close(last[1], everything[1][..., -1:, :])


@pytest.mark.parametrize(
    "kind", ["shaw", "content bias", "transformer-xl", "t5", "deberta", "alibi", "rope"]
)
def test_query_heads_may_share_a_key_head(kind):
    encoding = make(kind)
    q, k, v = qkv()
    shared = attend(encoding, q, k[:, :1], v[:, :1])
    repeated = attend(encoding, q, k[:, :1].expand_as(k), v[:, :1].expand_as(v))
    torch.testing.assert_close(shared[0], repeated[0])


@pytest.mark.parametrize(
    "kind",
    [
        *("learned", "shaw", "shaw, keys only", "content bias", "transformer-xl", "t5", "deberta"),
        "rope, learned",
    ],
)
def test_gradients_reach_every_parameter(kind):
    encoding = make(kind)
    self_attention(encoding, torch.arange(SEQ_LEN))[0].square().sum().backward()
    for name, parameter in encoding.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


# ---- each paper's formula, as loops -----------------------------------------------------------


def scores_by_loop(score, batch=3):
    return torch.stack(
        [
            torch.stack(
                [
                    torch.tensor(
                        [[score(b, h, m, n) for n in range(SEQ_LEN)] for m in range(SEQ_LEN)]
                    ).double()
                    for h in range(HEADS)
                ]
            )
            for b in range(batch)
        ]
    )


def test_no_position_is_plain_attention():
    q, k, v = qkv()
    for causal in (False, True):
        output, _ = attend(NoPosition(), q, k, v, causal=causal)
        expected = scaled_dot_product_attention(q, k, v, is_causal=causal)
        torch.testing.assert_close(output, expected)


def test_sinusoids_are_the_papers_formula():
    positions, model_dim = [0, 1, 2, 77, 5000], 12
    expected = torch.zeros(len(positions), model_dim, dtype=torch.float64)
    for row, position in enumerate(positions):
        for i in range(model_dim // 2):
            angle = position / 10000 ** (2 * i / model_dim)
            expected[row, 2 * i] = math.sin(angle)
            expected[row, 2 * i + 1] = math.cos(angle)
    got = sinusoids(torch.tensor(positions), model_dim, dtype=torch.float64)
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-12)


def test_the_half_layout_holds_the_same_numbers_sines_first():
    positions = torch.arange(50)
    paired = sinusoids(positions, 16)
    halves = sinusoids(positions, 16, layout="half")
    rows = sinusoids(torch.stack((positions, positions + 1)), 16, layout="half")
    assert torch.equal(rows[0], halves) and rows.shape == (2, *halves.shape)
    torch.testing.assert_close(halves, torch.cat([paired[:, 0::2], paired[:, 1::2]], dim=-1))


def test_sinusoidal_adds_its_code():
    x, positions = randn(2, 5, 12), torch.tensor([3, 1, 4, 1, 5])
    added = Sinusoidal(12, base=100.0, layout="half").embed(x, positions) - x
    expected = sinusoids(positions, 12, base=100.0, layout="half").double().expand_as(x)
    torch.testing.assert_close(added, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("layout", ["interleaved", "half"])
@settings(max_examples=40, deadline=None)
@given(
    position=st.integers(-1000, 1000),
    offset=st.floats(-1000, 1000),
    pairs=st.integers(1, 16),
    base=st.floats(1.5, 1e6),
)
def test_the_shift_matrix_moves_any_position(layout, position, offset, pairs, base):
    options = {"base": base, "layout": layout}
    codes = sinusoids(
        torch.tensor([position, position + offset], dtype=torch.float64),
        2 * pairs,
        dtype=torch.float64,
        **options,
    )
    matrix = shift_matrix(offset, 2 * pairs, **options)
    torch.testing.assert_close(matrix @ codes[0], codes[1], rtol=0, atol=1e-9)
    torch.testing.assert_close(matrix.T @ matrix, torch.eye(2 * pairs).double())


def test_learned_adds_its_row():
    encoding, x = make("learned"), randn(2, 3, MODEL_DIM)
    positions = torch.tensor([[0, 2047, 5], [9, 9, 1]])
    added = encoding.embed(x, positions)
    for b in range(2):
        for s in range(3):
            expected = x[b, s] + encoding.table[positions[b, s]]
            torch.testing.assert_close(added[b, s], expected)


def test_learned_tables_begin_as_large_as_their_papers_say():
    # Of n numbers the standard deviation is known to 1 / sqrt(2 n): a fifth of the bounds or less.
    torch.manual_seed(0)
    table = LearnedAbsolute(1000, 64).table
    assert table.std().item() == pytest.approx(0.02, rel=0.02)
    shaw = Shaw(64, 500)
    for table in (shaw.key_table, shaw.value_table):
        assert table.std().item() == pytest.approx(64**-0.5, rel=0.02)


def test_a_learned_table_extends_and_keeps_its_beginning():
    table, alpha, n = randn(6, 4), 0.4, 6
    extended = extend_hierarchically(table, alpha)
    torch.testing.assert_close(extended[:n], table)
    units = [(table[i] - alpha * table[0]) / (1 - alpha) for i in range(n)]
    for i in range(n):
        for j in range(n):
            expected = alpha * units[i] + (1 - alpha) * units[j]
            torch.testing.assert_close(extended[n * i + j], expected)
    gaps = torch.cdist(extended, extended) + torch.eye(n * n).double()
    assert gaps.min() > 1e-3  # n * n different places
    almost_half = extend_hierarchically(table, 0.5 + 1e-9)
    torch.testing.assert_close(almost_half[n * 2 + 5], almost_half[n * 5 + 2], rtol=0, atol=1e-6)


def test_shaw_is_the_papers_formula():
    encoding = make("shaw")
    q, k, v = qkv()
    output, weights = attend(encoding, q, k, v)

    def clip(m, n):
        return max(-3, min(3, n - m)) + 3

    def score(b, h, m, n):
        key = k[b, h, n] + encoding.key_table[clip(m, n)]
        return float(q[b, h, m] @ key.detach()) / math.sqrt(HEAD_DIM)

    expected = scores_by_loop(score).softmax(-1)
    torch.testing.assert_close(weights.detach(), expected)
    for b, h, m in [(0, 0, 0), (1, 1, 3), (2, 0, 6)]:
        total = sum(
            expected[b, h, m, n] * (v[b, h, n] + encoding.value_table[clip(m, n)])
            for n in range(SEQ_LEN)
        )
        torch.testing.assert_close(output[b, h, m], total)


def test_content_bias_is_the_formula():
    encoding = make("content bias")
    q, k, v = qkv()
    weights = attend(encoding, q, k, v)[1].detach()
    projections, bank = encoding.to_relative.detach(), encoding.bank.detach()

    def score(b, h, m, n):
        content = float(q[b, h, m] @ k[b, h, n]) / math.sqrt(HEAD_DIM)
        if not 0 <= m - n < 4:
            return content
        return content + float((projections[h].T @ q[b, h, m]) @ bank[:, m - n])

    torch.testing.assert_close(weights, scores_by_loop(score).softmax(-1))


def test_content_bias_is_shaws_score_with_vectors_of_low_rank():
    """Each head has Shaw's table of its own, whose vectors ahead and beyond are zero."""
    encoding = make("content bias")
    q, k, _ = qkv()
    positions = torch.arange(SEQ_LEN)
    bias = encoding.score_bias(q, k, positions, positions)
    for head in range(HEADS):
        shaw = Shaw(HEAD_DIM, 4, values=False).double()
        with torch.no_grad():
            shaw.key_table.zero_()
            vectors = HEAD_DIM**0.5 * (encoding.to_relative[head] @ encoding.bank).T
            shaw.key_table[1:5] = vectors.flip(0)  # n - m = -3 .. 0
        assert torch.linalg.matrix_rank(shaw.key_table) == 3
        expected = shaw.score_bias(q[:, head], k[:, head], positions, positions)
        torch.testing.assert_close(bias[:, head], expected)


def test_the_temperature_multiplies_every_score_by_the_logarithm_of_the_place():
    plain, warm = make("content bias"), make("content bias")
    warm.log_floor, warm.log_strength = 4, 0.3
    q, k, v = qkv()
    scores = attend(plain, q, k, v)[1].log()  # up to a constant per row
    for rows in (torch.arange(SEQ_LEN), torch.stack([torch.arange(SEQ_LEN)] * 3)):
        weights = attend(warm, q, k, v, position_ids=rows, key_position_ids=rows)[1]
        for m in range(SEQ_LEN):
            factor = 1 + 0.3 * math.log(max(1, (m + 1) / 4))
            expected = (factor * scores[..., m, :]).softmax(-1)
            torch.testing.assert_close(weights[..., m, :], expected)


def test_content_bias_starts_small_and_its_queries_as_large_as_the_heads():
    torch.manual_seed(0)
    encoding = ContentBias(8, 64)
    # Of 8192 draws the deviation is known to 0.8 percent.
    assert encoding.bank.std().item() == pytest.approx(0.02, rel=0.05)
    relative = torch.randn(64, 8, 1, 64) @ encoding.to_relative
    assert relative.std().item() == pytest.approx(1, rel=0.05)


def test_learned_frequencies_start_as_rope_and_then_differ_by_head():
    q, k, _ = qkv()
    for layout in ("interleaved", "half"):
        for rotary_dim in (HEAD_DIM, 4):
            options = {"rotary_dim": rotary_dim, "base": 100.0, "layout": layout}
            encoding = LearnedRotary(HEADS, HEAD_DIM, **options)
            plain = Rotary(HEAD_DIM, **options)
            places = torch.tensor([0, 5, 1, 90_000, 7, 2, 11])
            turned = encoding.rotate(q, k, places, places + 3)
            for got, expected in zip(turned, plain.rotate(q, k, places, places + 3), strict=True):
                torch.testing.assert_close(got.detach(), expected, rtol=0, atol=1e-12)
            torch.nn.init.normal_(encoding.log_stretch)
            turned = encoding.rotate(q, k, places, places)
            for head in range(HEADS):
                own = Rotary(HEAD_DIM, inv_freq=encoding.inv_freq[head].detach(), layout=layout)
                alone = own.rotate(q[:, head], k[:, head], places, places)
                torch.testing.assert_close(turned[0][:, head].detach(), alone[0])
                torch.testing.assert_close(turned[1][:, head].detach(), alone[1])


def test_learned_frequencies_are_not_rounded_with_the_model():
    encoding = LearnedRotary(HEADS, HEAD_DIM).to(torch.bfloat16)
    assert torch.equal(encoding.inv_freq[1], Rotary(HEAD_DIM).inv_freq)
    q, k, _ = (x.bfloat16() for x in qkv())
    places = torch.arange(SEQ_LEN) + 90_000
    turned = encoding.rotate(q, k, places, places)
    for got, expected in zip(turned, Rotary(HEAD_DIM).rotate(q, k, places, places), strict=True):
        # Products may be rounded in another order, which may move the last place of bfloat16.
        torch.testing.assert_close(got, expected, rtol=2**-7, atol=1e-5)
    assert encoding.inv_freq.requires_grad


def test_query_heads_that_share_a_key_turn_by_its_frequencies():
    encoding = LearnedRotary(2, HEAD_DIM).double()
    torch.nn.init.normal_(encoding.log_stretch)
    q, k = randn(3, 4, SEQ_LEN, HEAD_DIM), randn(3, 2, SEQ_LEN, HEAD_DIM, seed=1)
    places = torch.arange(SEQ_LEN)
    turned, _ = encoding.rotate(q, k, places, places)
    for head in range(4):
        shared = encoding.rotate(q[:, [head, head]], k, places, places)[0]
        torch.testing.assert_close(turned[:, head], shared[:, head // 2])
        assert (turned[:, head] - shared[:, 1 - head // 2]).abs().max() > 0.1


def test_gradients_of_learned_frequencies_are_those_of_finite_differences():
    encoding = LearnedRotary(HEADS, HEAD_DIM, layout="half").double()
    torch.nn.init.normal_(encoding.log_stretch, std=0.1)
    q, k, _ = qkv(batch=1)
    places = torch.arange(SEQ_LEN)
    # It reads the parameter, which gradcheck moves in place.
    inputs = (encoding.log_stretch,)
    assert torch.autograd.gradcheck(lambda _: encoding.rotate(q, k, places, places + 1), inputs)


def test_transformer_xl_starts_with_small_biases():
    encoding = TransformerXL(64, 64)
    for bias in (encoding.content_bias, encoding.position_bias):
        # Of 4096 draws the deviation is known to 1.1 percent: nine times that never happens.
        assert bias.std().item() == pytest.approx(0.02, rel=0.1)


def test_transformer_xl_is_the_papers_formula():
    encoding = make("transformer-xl")
    q, k, v = qkv()
    weights = attend(encoding, q, k, v)[1].detach()
    u, w = encoding.content_bias.detach(), encoding.position_bias.detach()
    projection = encoding.project.weight.detach()

    def r(distance):
        angles = [distance / 10000 ** (2 * i / MODEL_DIM) for i in range(MODEL_DIM // 2)]
        code = torch.tensor([*map(math.sin, angles), *map(math.cos, angles)]).double()
        return (projection @ code).view(HEADS, HEAD_DIM)

    def score(b, h, m, n):
        four = (
            q[b, h, m] @ k[b, h, n]
            + q[b, h, m] @ r(m - n)[h]
            + u[h] @ k[b, h, n]
            + w[h] @ r(m - n)[h]
        )
        return float(four) / math.sqrt(HEAD_DIM)

    torch.testing.assert_close(weights, scores_by_loop(score).softmax(-1), rtol=0, atol=1e-6)


def test_t5_adds_a_number_per_bucket_and_does_not_scale():
    encoding = make("t5")
    q, k, v = qkv()
    weights = attend(encoding, q, k, v)[1].detach()

    def score(b, h, m, n):
        bucket = int(t5_bucket(torch.tensor([n - m]), num_buckets=8, max_distance=6))
        return float(q[b, h, m] @ k[b, h, n] + encoding.table[bucket, h].detach())

    torch.testing.assert_close(weights, scores_by_loop(score).softmax(-1))


@pytest.mark.parametrize("kind", ["deberta", "deberta, released"])
def test_deberta_is_the_papers_formula(kind):
    encoding = make(kind)
    q, k, v = qkv()
    weights = attend(encoding, q, k, v)[1].detach()
    keys = encoding.to_keys(encoding.table).detach().view(-1, HEADS, HEAD_DIM)
    queries = encoding.to_queries(encoding.table).detach().view(-1, HEADS, HEAD_DIM)

    def delta(i, j):
        return 0 if i - j <= -4 else 7 if i - j >= 4 else i - j + 4

    def score(b, h, m, n):
        third = delta(m, n) if encoding.as_released else delta(n, m)
        three = q[b, h, m] @ k[b, h, n] + q[b, h, m] @ keys[delta(m, n), h]
        return float(three + k[b, h, n] @ queries[third, h]) / math.sqrt(3 * HEAD_DIM)

    torch.testing.assert_close(weights, scores_by_loop(score).softmax(-1))


def test_alibi_is_the_papers_formula():
    q, k, v = qkv()
    weights = attend(make("alibi"), q, k, v, causal=True)[1]
    slopes = [2**-4, 2**-8]

    def score(b, h, m, n):
        if n > m:
            return -math.inf
        return float(q[b, h, m] @ k[b, h, n]) / math.sqrt(HEAD_DIM) - slopes[h] * (m - n)

    torch.testing.assert_close(weights, scores_by_loop(score).softmax(-1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", RELATIVE)
def test_the_dtype_of_the_model_is_kept(kind, dtype):
    q, k, v = (x.to(dtype) for x in qkv())
    output, _ = attend(make(kind).to(dtype), q, k, v)
    assert output.dtype == dtype


# ---- witnesses: the installed transformers ----------------------------------------------------


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(
    ("num_buckets", "max_distance"), [(32, 128), (64, 512), (8, 6), (4, 20), (32, 20), (256, 1000)]
)
def test_t5_buckets_equal_transformers(bidirectional, num_buckets, max_distance):
    from transformers.models.t5.modeling_t5 import T5Attention

    if max_distance <= num_buckets // (4 if bidirectional else 2):
        pytest.skip("not a bucketing")
    distance = torch.arange(-3000, 3001)
    options = {
        "bidirectional": bidirectional,
        "num_buckets": num_buckets,
        "max_distance": max_distance,
    }
    expected = T5Attention._relative_position_bucket(distance, **options)
    assert torch.equal(t5_bucket(distance, **options), expected)


def test_t5_bias_equals_transformers():
    from transformers import T5Config
    from transformers.models.t5.modeling_t5 import T5Attention

    config = T5Config(d_model=MODEL_DIM, d_kv=HEAD_DIM, num_heads=HEADS)
    theirs = T5Attention(config, has_relative_attention_bias=True)
    ours = T5Bias(HEADS)
    with torch.no_grad():
        ours.table.copy_(theirs.relative_attention_bias.weight)
    positions = torch.arange(300)
    got = ours.score_bias(None, None, positions, positions)
    torch.testing.assert_close(got[None], theirs.compute_bias(300, 300))


@pytest.mark.parametrize("num_heads", [1, 2, 3, 6, 8, 12, 16, 20, 40, 71, 112])
def test_alibi_slopes_equal_transformers(num_heads):
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    bloom = build_alibi_tensor(torch.ones(1, 2), num_heads, torch.float32)[:, 0, 1]
    mpt = -build_mpt_alibi_tensor(num_heads, 2)[:, 0, 0]
    got = alibi_slopes(num_heads).float()
    torch.testing.assert_close(got, bloom, rtol=1e-6, atol=0)
    torch.testing.assert_close(got, mpt, rtol=1e-6, atol=0)


def test_alibi_attention_equals_blooms_other_form():
    """BLOOM adds slope * n; a softmax over the keys and a causal mask make it the same."""
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    q, k, v = qkv(batch=1)
    bias = build_alibi_tensor(torch.ones(1, SEQ_LEN), HEADS, torch.float64)
    mask = torch.full((SEQ_LEN, SEQ_LEN), -math.inf).triu(1)
    expected = scaled_dot_product_attention(q, k, v, attn_mask=bias[None] + mask)
    output, _ = attend(make("alibi"), q, k, v, causal=True)
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-8)


def test_content_bias_equals_transformers():
    from transformers.models.inkling.modeling_inkling import InklingRelativeLogits

    extent = 40
    theirs = InklingRelativeLogits(5, extent)
    ours = ContentBias(HEADS, HEAD_DIM, rel_dim=5, extent=extent)
    torch.nn.init.normal_(theirs.proj)
    with torch.no_grad():
        ours.bank.copy_(theirs.proj)
    q = randn(3, HEADS, 60, HEAD_DIM).float()
    places = torch.arange(100)
    relative = (q @ ours.to_relative).transpose(1, 2)  # (batch, q_len, num_heads, rel_dim)
    expected = theirs(relative, places[40:], places)
    torch.testing.assert_close(ours.score_bias(q, None, places[40:], places), expected)


@pytest.mark.parametrize("log_floor", [None, 3])
def test_content_bias_in_attention_equals_transformers_where_h_is_what_the_head_asks(log_floor):
    """Theirs reads the layer's vectors, ours the query: the same where W_q changes nothing."""
    from transformers.models.inkling.modeling_inkling import InklingAttention, InklingTextConfig

    config = InklingTextConfig(
        hidden_size=MODEL_DIM,
        num_hidden_layers=1,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        head_dim=HEAD_DIM,
        d_rel=3,
        rel_extent=4,
        layer_types=["hybrid"],
        log_scaling_n_floor=log_floor,
    )
    config._attn_implementation = "eager"
    theirs = InklingAttention(config, 0).eval()
    ours = ContentBias(HEADS, HEAD_DIM, rel_dim=3, extent=4, log_floor=log_floor)
    for parameter in [*theirs.parameters(), ours.bank]:
        torch.nn.init.normal_(parameter)
    with torch.no_grad():
        for norm in (theirs.q_norm, theirs.k_norm):
            norm.weight.fill_(1)
        for convolution in (theirs.k_sconv, theirs.v_sconv):
            convolution.conv1d.weight.zero_()  # what is left is the residual
        for matrix in (theirs.q_proj, theirs.o_proj):
            matrix.weight.copy_(torch.eye(MODEL_DIM))
        theirs.r_proj.weight.copy_(torch.block_diag(*ours.to_relative.mT))
        theirs.rel_logits_proj.proj.copy_(ours.bank)
        x = randn(3, SEQ_LEN, MODEL_DIM, seed=9).float()
        by_head = x.unflatten(-1, (HEADS, HEAD_DIM))
        x = theirs.q_norm(by_head).flatten(-2)  # so that normalizing it again changes nothing
        mask = torch.full((SEQ_LEN, SEQ_LEN), -math.inf).triu(1)
        expected, weights = theirs(x, mask, None)
        q, k, v = (
            m.unflatten(-1, (HEADS, HEAD_DIM)).transpose(1, 2)
            for m in (
                x,
                theirs.k_norm(theirs.k_proj(x).unflatten(-1, (HEADS, HEAD_DIM))).flatten(-2),
                theirs.v_proj(x),
            )
        )
        output, got = attend(ours, q, k, v, causal=True, scale=1 / HEAD_DIM)
    torch.testing.assert_close(got, weights, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(output.transpose(1, 2).flatten(-2), expected, rtol=1e-4, atol=1e-5)


def test_sinusoids_equal_transformers():
    from transformers.models.fsmt.modeling_fsmt import SinusoidalPositionalEmbedding
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    marian = MarianSinusoidalPositionalEmbedding(600, 32).create_weight()
    torch.testing.assert_close(sinusoids(torch.arange(600), 32, layout="half"), marian)
    # tensor2tensor's frequencies end exactly at 1 / base, the paper's just before.
    other = SinusoidalPositionalEmbedding.get_embedding(600, 32, None)
    assert (sinusoids(torch.arange(600), 32, layout="half") - other).abs().max() > 0.1


def test_xlnet_attention_is_transformer_xls():
    from transformers import XLNetConfig
    from transformers.models.xlnet.modeling_xlnet import XLNetModel, XLNetRelativeAttention

    config = XLNetConfig(d_model=MODEL_DIM, n_head=HEADS, n_layer=1, d_inner=8, vocab_size=5)
    theirs = XLNetRelativeAttention(config).eval()
    encoding = TransformerXL(HEADS, HEAD_DIM)
    for parameter in [*theirs.parameters(), *encoding.parameters()]:
        torch.nn.init.normal_(parameter, std=0.5)
    with torch.no_grad():
        encoding.content_bias.copy_(theirs.r_w_bias)
        encoding.position_bias.copy_(theirs.r_r_bias)
        encoding.project.weight.copy_(theirs.r.reshape(MODEL_DIM, MODEL_DIM).T)
    q, k, v = (x.float() for x in qkv())
    to_theirs = (2, 0, 1, 3)  # (seq_len, batch, num_heads, head_dim)
    code = XLNetModel(config).relative_positional_encoding(SEQ_LEN, SEQ_LEN, bsz=3)
    expected = theirs.rel_attn_core(
        *(x.permute(*to_theirs) for x in (q, k, v)),
        torch.einsum("ibh,hnd->ibnd", code, theirs.r),
    )
    output, _ = attend(encoding, q, k, v)
    torch.testing.assert_close(output.permute(*to_theirs), expected, rtol=1e-4, atol=1e-5)


def test_deberta_attention_equals_transformers_and_not_the_printed_formula():
    from transformers import DebertaConfig
    from transformers.models.deberta.modeling_deberta import (
        DisentangledSelfAttention,
        build_relative_position,
    )

    config = DebertaConfig(
        hidden_size=MODEL_DIM,
        num_attention_heads=HEADS,
        relative_attention=True,
        max_relative_positions=4,
        pos_att_type=["c2p", "p2c"],
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    theirs = DisentangledSelfAttention(config)
    released = Deberta(HEADS, HEAD_DIM, span=4, as_released=True)
    for parameter in [*theirs.parameters(), *released.parameters()]:
        torch.nn.init.normal_(parameter, std=0.5)
    printed = Deberta(HEADS, HEAD_DIM, span=4)
    with torch.no_grad():
        released.to_keys.weight.copy_(theirs.pos_proj.weight)
        released.to_queries.weight.copy_(theirs.pos_q_proj.weight)
        released.to_queries.bias.copy_(theirs.pos_q_proj.bias)
    printed.load_state_dict(released.state_dict())

    x = randn(2, SEQ_LEN, MODEL_DIM, seed=9).float()
    q, k, v = theirs.transpose_for_scores(theirs.in_proj(x)).chunk(3, dim=-1)
    q = q + theirs.transpose_for_scores(theirs.q_bias[None, None])
    v = v + theirs.transpose_for_scores(theirs.v_bias[None, None])
    everything = torch.ones(2, 1, SEQ_LEN, SEQ_LEN)
    expected, weights = theirs(
        x,
        everything,
        output_attentions=True,
        relative_pos=build_relative_position(q, k),
        rel_embeddings=released.table,
    )
    output, ours = attend(released, q, k, v)
    torch.testing.assert_close(ours, weights, rtol=1e-4, atol=1e-6)
    merged = output.transpose(1, 2).flatten(-2)
    torch.testing.assert_close(merged, expected, rtol=1e-4, atol=1e-5)
    assert (attend(printed, q, k, v)[1] - weights).abs().max() > 0.01


# ---- laws of the tables -----------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 64), st.integers(0, 500), st.booleans())
def test_t5_buckets_grow_with_distance_and_use_every_bucket(half, more, bidirectional):
    num_buckets = 2 * half
    max_distance = half + 1 + more
    options = {
        "num_buckets": num_buckets,
        "max_distance": max_distance,
        "bidirectional": bidirectional,
    }
    back = t5_bucket(-torch.arange(4 * max_distance), **options)
    assert back[0] == 0 and (back.diff() >= 0).all()
    per_direction = half if bidirectional else num_buckets
    assert back.max() == per_direction - 1
    assert (back[max_distance:] == per_direction - 1).all()
    ahead = t5_bucket(torch.arange(1, 99), **options)
    assert (ahead >= half).all() if bidirectional else (ahead == 0).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 200))
def test_alibi_has_a_slope_of_its_own_for_every_head(num_heads):
    slopes = alibi_slopes(num_heads)
    assert len(slopes.unique()) == num_heads
    assert (slopes > 0).all() and (slopes < 1).all()
    if num_heads & (num_heads - 1) == 0:
        ratios = slopes[1:] / slopes[:-1]
        np.testing.assert_allclose(ratios, 2 ** (-8 / num_heads))


def test_signed_distance_is_positive_when_the_key_is_ahead():
    distance = signed_distance(torch.tensor([5]), torch.tensor([3, 5, 8]))
    assert distance.tolist() == [[-2, 0, 3]]
    batched = signed_distance(torch.zeros(2, 4), torch.ones(2, 6))
    assert batched.shape == (2, 1, 4, 6)


# ---- bad input --------------------------------------------------------------------------------

HALVES = torch.tensor([0.0, 0.5])
REFUSED = [
    (lambda: sinusoids(torch.arange(3), 7), ValueError, "must be even, got 7"),
    (lambda: sinusoids(torch.arange(3), 8, layout="sin"), ValueError, "got 'sin'"),
    (lambda: sinusoids(torch.tensor([math.nan]), 8), ValueError, "finite"),
    (lambda: shift_matrix(math.inf, 8), ValueError, "finite"),
    (lambda: shift_matrix(1, 8, layout="x"), ValueError, "got 'x'"),
    (lambda: Sinusoidal(8, base=-1.0), ValueError, "got -1"),
    (lambda: Sinusoidal(8, layout="x"), ValueError, "got 'x'"),
    (lambda: Sinusoidal(8.0), TypeError, "integer"),
    (lambda: Sinusoidal(8).embed(torch.zeros(2, 6), torch.arange(2)), ValueError, "got 6"),
    (lambda: LearnedAbsolute(0, 8), ValueError, "max_seq_len must be positive, got 0"),
    (lambda: LearnedAbsolute(8, 2.5), TypeError, "model_dim must be an integer, got 2.5"),
    (
        lambda: LearnedAbsolute(4, 8).embed(torch.zeros(5, 8), torch.arange(5)),
        ValueError,
        r"position 4 has no row in a learned table of 4 positions \(0 to 3\)",
    ),
    (
        lambda: LearnedAbsolute(4, 8).embed(torch.zeros(1, 8), torch.tensor([-1])),
        ValueError,
        "position -1 has no row",
    ),
    (
        lambda: LearnedAbsolute(4, 8).embed(torch.zeros(2, 8), HALVES),
        TypeError,
        "whole numbers",
    ),
    (lambda: LearnedAbsolute(4, 8).embed(torch.zeros(1, 6), torch.arange(1)), ValueError, "got 6"),
    (lambda: extend_hierarchically(torch.zeros(3, 2), 0.5), ValueError, "got 0.5"),
    (lambda: extend_hierarchically(torch.zeros(3, 2), 1.0), ValueError, "got 1.0"),
    (lambda: extend_hierarchically(torch.zeros(3)), ValueError, r"got shape \(3,\)"),
    (lambda: Shaw(8, 0), ValueError, "max_distance must be positive, got 0"),
    (lambda: Shaw("8", 3), TypeError, "head_dim must be an integer"),
    (
        lambda: attend(Shaw(4, 3), *(torch.zeros(2, 8),) * 3),
        ValueError,
        "q must have head_dim 4, got 8",
    ),
    (
        lambda: attend(Shaw(8, 3), *(torch.zeros(2, 8),) * 3, key_position_ids=HALVES),
        TypeError,
        "position_ids must be whole",
    ),
    (lambda: ContentBias(0, 8), ValueError, "num_heads must be positive, got 0"),
    (lambda: ContentBias(2, 8.0), TypeError, "head_dim must be an integer, got 8.0"),
    (lambda: ContentBias(2, 8, rel_dim=0), ValueError, "rel_dim must be positive, got 0"),
    (lambda: ContentBias(2, 8, extent=0), ValueError, "extent must be positive, got 0"),
    (lambda: ContentBias(2, 8, log_floor=0), ValueError, "log_floor must be positive, got 0"),
    (lambda: ContentBias(2, 8, log_strength=-1), ValueError, "log_strength must be pos.*got -1"),
    (lambda: ContentBias(2, 8, log_strength="1"), TypeError, "log_strength must be .*got '1'"),
    (
        lambda: attend(ContentBias(2, 4), *(torch.zeros(3, 5, 4),) * 3),
        ValueError,
        r"q must be \(..., 2, q_len, 4\), got shape \(3, 5, 4\)",
    ),
    (
        lambda: attend(ContentBias(1, 8), *(torch.zeros(1, 2, 8),) * 3, key_position_ids=HALVES),
        TypeError,
        "position_ids must be whole",
    ),
    (lambda: LearnedRotary(0, 8), ValueError, "num_heads must be positive, got 0"),
    (lambda: LearnedRotary(2, 7), ValueError, "head_dim must be even .*, got 7"),
    (lambda: LearnedRotary(2, 8.0), TypeError, "head_dim must be an integer, got 8.0"),
    (lambda: LearnedRotary(2, 8, rotary_dim=10), ValueError, "got 10 with head_dim 8"),
    (lambda: LearnedRotary(2, 8, base="1"), TypeError, "base must be a real number, got '1'"),
    (lambda: LearnedRotary(2, 8, base=0), ValueError, "base must be positive and finite, got 0"),
    (lambda: LearnedRotary(2, 8, layout="x"), ValueError, "got 'x'"),
    (
        lambda: attend(LearnedRotary(2, 4), *(torch.zeros(3, 5, 4),) * 3),
        ValueError,
        r"q must be \(..., a multiple of 2, seq_len, 4\), got shape \(3, 5, 4\)",
    ),
    (
        lambda: attend(LearnedRotary(1, 4), *(torch.zeros(2, 5, 4),) * 3),
        ValueError,
        r"k must be \(..., 1, seq_len, 4\), got shape \(2, 5, 4\)",
    ),
    (
        lambda: attend(LearnedRotary(1, 4), *(torch.zeros(5, 4),) * 3),
        ValueError,
        r"q must be .*, got shape \(5, 4\)",
    ),
    (
        lambda: attend(
            LearnedRotary(1, 8), *(torch.zeros(1, 2, 8),) * 3, key_position_ids=HALVES.bfloat16()
        ),
        TypeError,
        "position_ids must be integers, float32 or float64, got torch.bfloat16",
    ),
    (
        lambda: attend(
            LearnedRotary(1, 8), *(torch.zeros(1, 2, 8),) * 3, key_position_ids=HALVES / 0
        ),
        ValueError,
        "position_ids must be finite",
    ),
    (lambda: TransformerXL(3, 3), ValueError, "must be even, got 9"),
    (lambda: TransformerXL(0, 3), ValueError, "num_heads must be positive, got 0"),
    (lambda: TransformerXL(2, 4, base=0), ValueError, "got 0"),
    (
        lambda: attend(TransformerXL(2, 4), *(torch.zeros(3, 5, 4),) * 3),
        ValueError,
        r"q must be \(..., 2, q_len, 4\), got shape \(3, 5, 4\)",
    ),
    (lambda: t5_bucket(torch.tensor([0.5])), TypeError, "distance must be whole"),
    (lambda: t5_bucket(torch.tensor([1]), num_buckets=2), ValueError, "at least 4, got 2"),
    (lambda: t5_bucket(torch.tensor([1]), num_buckets=9), ValueError, "must be even.*got 9"),
    (
        lambda: t5_bucket(torch.tensor([1]), max_distance=8),
        ValueError,
        "more than the 8 single distances of 32 buckets, got 8",
    ),
    (
        lambda: t5_bucket(torch.tensor([1]), max_distance=16, bidirectional=False),
        ValueError,
        "more than the 16 single distances",
    ),
    (lambda: T5Bias(0), ValueError, "num_heads must be positive, got 0"),
    (lambda: T5Bias(4, num_buckets=7), ValueError, "got 7"),
    (
        lambda: T5Bias(4).score_bias(None, None, HALVES, HALVES),
        TypeError,
        "whole numbers",
    ),
    (lambda: Deberta(2, 4, 0), ValueError, "span must be positive, got 0"),
    (lambda: Deberta(2.0, 4, 1), TypeError, "num_heads must be an integer"),
    (
        lambda: attend(Deberta(2, 4, 3), *(torch.zeros(3, 5, 4),) * 3),
        ValueError,
        r"q must be \(..., 2, q_len, 4\), got shape \(3, 5, 4\)",
    ),
    (
        lambda: attend(Deberta(1, 8, 3), *(torch.zeros(1, 2, 8),) * 3, key_position_ids=HALVES),
        TypeError,
        "position_ids must be whole",
    ),
    (lambda: alibi_slopes(0), ValueError, "num_heads must be positive, got 0"),
    (lambda: alibi_slopes(2**20 + 1), ValueError, "num_heads must be at most 1048576, got 1048577"),
    (lambda: T5Bias(10**400), ValueError, "num_heads must be at most 1048576, got an integer of"),
    (lambda: TransformerXL(10**15, 2), ValueError, "num_heads must be at most 1048576, got 10000"),
    (lambda: Deberta(10**15, 2, 1), ValueError, "num_heads must be at most 1048576, got 10000"),
    (lambda: Alibi(2.5), TypeError, "num_heads must be an integer, got 2.5"),
    (
        lambda: attend(NoPosition(), torch.zeros(3, 8), *(torch.zeros(2, 8),) * 2),
        ValueError,
        "position_ids must be given for more queries than keys",
    ),
    (
        lambda: attend(NoPosition(), *(torch.zeros(2, 8),) * 3, position_ids=torch.arange(3)),
        ValueError,
        r"position_ids must hold 2 positions, got \(3,\)",
    ),
    (
        lambda: attend(NoPosition(), *(torch.zeros(2, 8),) * 3, key_position_ids=torch.arange(1)),
        ValueError,
        "position_ids must",
    ),
]


@pytest.mark.parametrize(("call", "error", "match"), REFUSED)
def test_bad_input_is_refused_by_name_and_rule(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_the_interface_does_nothing_by_itself():
    encoding, (q, k, _) = PositionEncoding(), qkv()
    positions = torch.arange(SEQ_LEN)
    x = randn(SEQ_LEN, MODEL_DIM)
    assert encoding.embed(x, positions) is x
    assert encoding.rotate(q, k, positions, positions) == (q, k)
    assert encoding.score_bias(q, k, positions, positions) is None
    assert encoding.value_bias(q @ k.mT, positions, positions) is None
    assert encoding.scale(16) == 0.25


def test_no_encoding_lays_out_a_vector_per_pair():
    """A score takes n * n numbers per head; a vector per pair would take head_dim as many."""
    n, largest = 512, 0

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nonlocal largest
            out = func(*args, **(kwargs or {}))
            for tensor in out if isinstance(out, tuple | list) else [out]:
                if isinstance(tensor, torch.Tensor):
                    largest = max(largest, tensor.untyped_storage().nbytes() // tensor.itemsize)
            return out

    q, k, v = qkv(batch=1, q_len=n, k_len=n)
    for kind in RELATIVE:
        largest = 0
        with torch.no_grad(), Watch():
            attend(make(kind), q, k, v)
        assert largest <= 2 * HEADS * n * n, kind
