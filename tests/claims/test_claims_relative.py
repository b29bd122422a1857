"""What is said about relative encodings, decided claim by claim.

Notation: rows x_i, projections on their right, q_i k_j^T.
"""

import inspect
import math
import re
from pathlib import Path

import pytest
import torch
import transformers
from claims import decides
from schemes import HEAD_DIM, HEADS, RELATIVE, TURNING
from torch.nn.functional import elu, scaled_dot_product_attention
from torch.utils.flop_counter import FlopCounterMode
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

from ropelib.attention import attend
from ropelib.encodings import (
    Alibi,
    Deberta,
    LearnedAbsolute,
    NoPosition,
    Rotary,
    Shaw,
    Sinusoidal,
    T5Bias,
    TransformerXL,
    alibi_slopes,
    signed_distance,
    sinusoids,
    t5_bucket,
)

LENGTH = 10
DIM = HEADS * HEAD_DIM
IDS = torch.arange(LENGTH)


@pytest.fixture
def world():
    """Words and projections, `(x, to_q, to_k, to_v)`, float64."""
    generator = torch.Generator().manual_seed(0)
    shapes = [(LENGTH, DIM)] + 3 * [(DIM, DIM)]
    return [torch.randn(s, generator=generator, dtype=torch.float64) / 4 for s in shapes]


def codes(ids=IDS):
    return sinusoids(ids, DIM, dtype=torch.float64)


def split(x):
    return x.unflatten(-1, (HEADS, HEAD_DIM)).transpose(0, 1)


def seen_after_a_push(encoding, world, push):
    x, *projections = world
    ids = IDS + push
    placed = encoding.double().embed(x, ids)
    q, k, v = (split(placed @ to) for to in projections)
    return attend(encoding, q, k, v, position_ids=ids, key_position_ids=ids)


def change_by_a_push(encoding, world, push=1000):
    pairs = zip(
        seen_after_a_push(encoding, world, 0), seen_after_a_push(encoding, world, push), strict=True
    )
    return max(float((before - after).abs().max().detach()) for before, after in pairs)


@decides("S001-38")
@pytest.mark.parametrize("name", RELATIVE)
def test_relative_encodings_know_distances_and_no_places(name, world):
    """True: relative encodings consider distances inside attention, not places."""
    torch.manual_seed(0)
    encoding = RELATIVE[name]()
    assert change_by_a_push(encoding, world) < 1e-6
    assert encoding.embed(world[0], IDS) is world[0], "nothing is added to the words"
    x, *projections = world
    q, k, v = (split(x @ to) for to in projections)
    plain, _ = attend(NoPosition(), q, k, v)
    output, _ = attend(encoding.double(), q, k, v)
    assert not torch.allclose(output, plain, atol=1e-4), "and yet it does something"


def test_sinusoidal_codes_are_relative_until_they_are_projected(world):
    """Imprecise: 'sinusoids can hardly reflect relative position'. Bare, they do."""
    here, there = codes(), codes(IDS + 1000)
    assert torch.allclose(here @ here.T, there @ there.T)
    a = world[1] @ world[2].T
    assert (here @ a @ here.T - there @ a @ there.T).abs().max() > 0.1
    assert change_by_a_push(Sinusoidal(DIM), world) > 1e-3


@decides("S004-3")
def test_of_absolute_codes_the_learned_ones_have_no_relative_structure():
    """Depends: 'hardly express relative distance'. Nothing ties a table's rows; they may be."""
    torch.manual_seed(0)
    learned = LearnedAbsolute(2 * LENGTH, DIM).table.detach()
    products = learned @ learned.T
    assert not torch.allclose(products[1:, 1:], products[:-1, :-1], atol=1e-3)
    waves = codes(torch.arange(2 * LENGTH))
    assert torch.allclose((waves @ waves.T)[1:, 1:], (waves @ waves.T)[:-1, :-1])
    table = LearnedAbsolute(2 * LENGTH, DIM).double()
    with torch.no_grad():
        table.table.copy_(waves)
    x = torch.zeros(2 * LENGTH, DIM, dtype=torch.float64)
    assert torch.allclose(table.embed(x, torch.arange(2 * LENGTH)), waves), "one of its tables"


@decides("S001-44")
def test_the_score_expands_into_four_terms(world):
    """True: equation 4, the expansion of q_i k_j^T."""
    x, to_q, to_k, _ = world
    p = codes()
    whole = ((x + p) @ to_q) @ ((x + p) @ to_k).T
    terms = [(a @ to_q) @ (b @ to_k).T for a in (x, p) for b in (x, p)]
    assert torch.allclose(whole, sum(terms))


@decides("S001-43")
def test_the_form_called_general_is_that_of_absolute_codes(world):
    """Imprecise: equation 3 is attention with absolute codes, without 1 / sqrt(d)."""
    assert change_by_a_push(Sinusoidal(DIM), world) > 1e-3
    q = torch.full((1, 1, 4), 3.0)
    k = torch.stack((q[0, 0], 0 * q[0, 0]))[None]
    written = (q @ k.transpose(-2, -1)).softmax(-1)
    _, scaled = attend(NoPosition(), q, k, k, position_ids=torch.tensor([0]))
    assert not torch.allclose(written, scaled)


def test_without_position_vectors_the_content_term_is_left(world):
    """Imprecise: x_i W_Q W_K^T x_j^T is the score without position *vectors*."""
    x, to_q, to_k, _ = world
    p = 0 * codes()
    assert torch.allclose(((x + p) @ to_q) @ ((x + p) @ to_k).T, x @ to_q @ to_k.T @ x.T)


@decides("S001-46")
def test_shaws_scores_drop_the_query_position_and_replace_that_of_the_key(world):
    """True: x_i W_Q (x_j W_K + R^K_ij)^T, where R depends on the distance, clipped."""
    torch.manual_seed(0)
    shaw = Shaw(HEAD_DIM, 4).double()
    x, to_q, to_k, to_v = world
    q, k, v = (split(x @ to) for to in (to_q, to_k, to_v))
    scores = torch.zeros(HEADS, LENGTH, LENGTH, dtype=torch.float64)
    for i in range(LENGTH):
        for j in range(LENGTH):
            r = shaw.key_table[max(-4, min(4, j - i)) + 4]
            scores[:, i, j] = (q[:, i] * (k[:, j] + r)).sum(-1) / HEAD_DIM**0.5
    _, weights = attend(shaw, q, k, v)
    assert torch.allclose(weights, scores.softmax(-1))


@decides("S001-47")
def test_shaws_output_replaces_the_position_of_the_value(world):
    """True: o_i = sum_j a_ij (x_j W_V + R^V_ij)."""
    torch.manual_seed(0)
    shaw = Shaw(HEAD_DIM, 4).double()
    q, k, v = (split(world[0] @ to) for to in world[1:])
    output, weights = attend(shaw, q, k, v)
    rows = shaw.value_table[signed_distance(IDS, IDS).clamp(-4, 4) + 4]
    assert torch.allclose(output, torch.einsum("hij,hijd->hid", weights, v[:, None] + rows))


@decides("S001-48")
def test_weighting_the_querys_own_value_gives_it_back():
    """Imprecise: 'the weighted sum with v_i' needs v_j."""
    torch.manual_seed(0)
    weights, v = torch.randn(5, 5).softmax(-1), torch.randn(5, 3)
    assert torch.allclose(torch.einsum("ij,id->id", weights, v), v, atol=1e-6)
    assert not torch.allclose(weights @ v, v, atol=0.1)


@decides("S001-49")
def test_a_table_read_with_the_other_sign_is_read_backwards():
    """True as a definition: clip(i - j). Shaw's paper has j - i."""
    torch.manual_seed(0)
    ours, flipped = Shaw(HEAD_DIM, 4), Shaw(HEAD_DIM, 4)
    with torch.no_grad():
        flipped.key_table.copy_(ours.key_table.flip(0))
    q = torch.randn(LENGTH, HEAD_DIM)
    bias, backwards = (e.score_bias(q, q, IDS, IDS) for e in (ours, flipped))
    read = (q @ ours.key_table.T).gather(-1, (-signed_distance(IDS, IDS)).clamp(-4, 4) + 4)
    assert torch.allclose(backwards, read / HEAD_DIM**0.5)
    assert not torch.allclose(bias, backwards, atol=0.01)


@decides("S001-50")
@pytest.mark.parametrize("length", [1, 3, 200])
def test_clipped_tables_and_sinusoids_of_distances_take_any_length(length):
    """True: p_K and p_V may be learned or sinusoidal, for texts of any length."""
    q = torch.randn(HEADS, length, HEAD_DIM)
    ids = torch.arange(length)
    for encoding in (Shaw(HEAD_DIM, 4), TransformerXL(HEADS, HEAD_DIM)):
        assert encoding.score_bias(q, q, ids, ids).isfinite().all()
        output, _ = attend(encoding, q, q, q)
        assert output.isfinite().all()


def conversations(encoding):
    """Which of the three terms with positions the added bias holds."""
    with torch.no_grad():
        for parameter in encoding.parameters():
            parameter.normal_()
    q, k = torch.randn(2, HEADS, LENGTH, HEAD_DIM)
    nobody = encoding.score_bias(0 * q, 0 * k, IDS, IDS)
    return (
        not torch.allclose(encoding.score_bias(q, 0 * k, IDS, IDS), nobody),
        not torch.allclose(encoding.score_bias(0 * q, k, IDS, IDS), nobody),
        bool(nobody.abs().max() > 0),
    )


@decides("S001-51")
def test_xlnet_t5_and_deberta_are_variations_on_the_four_terms():
    """True: each keeps some of the terms (XLNet those of Transformer-XL)."""
    kept = {name: conversations(RELATIVE[name]()) for name in RELATIVE if name not in TURNING}
    assert kept == {
        "shaw": (True, False, False),
        "content_bias": (True, False, False),
        "transformer_xl": (True, True, True),
        "t5": (False, False, True),
        "deberta": (True, True, False),
        "alibi": (False, False, True),
    }


@decides("S001-40")
def test_the_added_work_is_of_the_order_of_attention_with_very_different_factors():
    """Depends: order n^2, from nothing to more than attention itself."""
    dim = 64
    encodings = (NoPosition(), Alibi(HEADS), T5Bias(HEADS), Rotary(dim))
    for encoding in encodings:
        assert products(encoding, 512) == products(NoPosition(), 512)
    plain, shaw, xl = (
        [products(encoding, length) for length in (128, 256, 512)]
        for encoding in (NoPosition(), Shaw(dim, 16), TransformerXL(HEADS, dim))
    )
    assert plain[2] == 4 * plain[1] == 16 * plain[0]
    assert shaw[2] - plain[2] < 0.1 * plain[2] and xl[2] - plain[2] > plain[2]
    # Twice the text, twice the work: that part, for a vector per distance, is taken off. What is
    # left is of order n^2, but for a last vector of the 2n - 1.
    short, middle, long = (one - other for one, other in zip(xl, plain, strict=True))
    assert (long - 2 * middle) / (middle - 2 * short) == pytest.approx(4, rel=0.01)


def products(encoding, length, dim=64):
    """The operations of all matrix products in attention with an encoding."""
    q = torch.randn(HEADS, length, dim)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        attend(encoding, q, q, q)
    return counter.get_total_flops()


@decides("S004-4")
def test_some_relative_encodings_are_simple():
    """Depends: 'complex to implement and slow'. ALiBi's bias is two lines and no product."""
    plain = products(NoPosition(), 512)
    assert products(Alibi(HEADS), 512) == plain
    assert products(TransformerXL(HEADS, 64), 512) > 2 * plain
    lines = inspect.getsource(Alibi.score_bias).split('"""')[-1].strip().splitlines()
    assert len(lines) == 2


@pytest.mark.parametrize("name", ["alibi", "t5"])
def test_a_bias_fits_fused_attention(name):
    """Imprecise: 'later optimizations cannot be applied'. Fused kernels can."""
    torch.manual_seed(0)
    encoding = RELATIVE[name]()
    q, k, v = torch.randn(3, 1, HEADS, LENGTH, HEAD_DIM)
    bias = encoding.score_bias(q, k, IDS, IDS)
    assert bias.shape == (HEADS, LENGTH, LENGTH), "known before any word is read"
    fused = scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=encoding.scale(HEAD_DIM))
    assert torch.allclose(fused, attend(encoding, q, k, v)[0], atol=1e-5)


def test_of_the_factors_of_linear_attention_a_decay_and_a_turn_come_apart():
    ids = torch.arange(64)
    distance = signed_distance(ids, ids).double()
    rank = torch.linalg.matrix_rank
    t5 = T5Bias(1).score_bias(None, None, ids, ids)[0].detach().double()
    assert rank(t5.exp()) == 64
    assert rank((-distance.abs() / 8).exp()) == 64
    assert rank((distance / 8).exp()) == 1, "ALiBi looking back is a decay"
    assert rank((0.3 * distance).cos()) == 2
    q, k, v = torch.randn(3, 64, HEAD_DIM, dtype=torch.float64)
    q, k = Rotary(HEAD_DIM).rotate(elu(q) + 1, elu(k) + 1, ids, ids)
    assert torch.allclose((q @ k.T) @ v, q @ (k.T @ v))


def linear_attention_by_pairs(q, k, v, factors):
    weights = (q @ k.T) * factors
    return weights / weights.sum(-1, keepdim=True) @ v


@pytest.fixture
def features():
    """Features of queries and keys, values, and what each key brings to a sum, float64."""
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 64, HEAD_DIM, dtype=torch.float64)
    q, k = elu(q) + 1, elu(k) + 1
    return q, k, v, torch.einsum("nd,ne->nde", k, torch.cat((v, torch.ones_like(v[:, :1])), -1))


def test_alibi_looking_both_ways_takes_two_running_sums(features):
    q, k, v, brought = features
    left, right = brought.clone(), brought.clone()
    for i in range(1, 64):
        left[i] += math.exp(-1 / 8) * left[i - 1]
        right[63 - i] += math.exp(-1 / 8) * right[64 - i]
    sums = torch.einsum("nd,nde->ne", q, left + right - brought)
    distance = signed_distance(torch.arange(64), torch.arange(64))
    wanted = linear_attention_by_pairs(q, k, v, (-distance.abs() / 8).exp())
    assert torch.allclose(sums[:, :-1] / sums[:, -1:], wanted)


def test_t5_takes_a_difference_of_running_totals_for_each_of_31_buckets(features):
    q, k, v, brought = features
    t5, ids, reach = T5Bias(1).double(), torch.arange(64), torch.arange(-999, 1000)
    before = torch.cat((0 * brought[:1], brought.cumsum(0)))  # of the keys below n
    sums, buckets = 0, t5_bucket(reach).unique()
    assert len(buckets) == 31
    for bucket in buckets:
        interval = reach[t5_bucket(reach) == bucket]
        assert torch.equal(interval, torch.arange(interval[0], interval[-1] + 1))
        first, end = ((ids + edge).clamp(0, 64) for edge in (interval[0], interval[-1] + 1))
        sums = sums + t5.table[bucket, 0].detach().exp() * (before[end] - before[first])
    sums = torch.einsum("nd,nde->ne", q, sums)
    factors = t5.score_bias(None, None, ids, ids)[0].detach().exp()
    wanted = linear_attention_by_pairs(q, k, v, factors)
    assert torch.allclose(sums[:, :-1] / sums[:, -1:], wanted)


def random_table(encoding):
    with torch.no_grad():
        for parameter in encoding.double().parameters():
            parameter.normal_()
    return encoding


@pytest.mark.parametrize(
    ("encoding", "reach"),
    [
        (T5Bias(1), 91),
        (T5Bias(1, bidirectional=False), 113),
        (Shaw(HEAD_DIM, 16), 16),
        (Deberta(1, HEAD_DIM, 16), 16),
    ],
)
def test_a_table_that_ends_holds_a_triangle_and_needs_a_column_per_word(encoding, reach):
    """The proof of the chapter, on its matrix: no term of a fixed width has such a block."""
    torch.manual_seed(0)
    n, ids = 200, torch.arange(200)
    q, k = torch.randn(2, 1, n, HEAD_DIM, dtype=torch.float64)
    random_table(encoding)
    term = encoding.score_bias(q, k, ids, ids)[0].detach()
    far = encoding.score_bias(q, k, ids + 1000, ids)[0].detach()  # what the far keys would get
    block = (term - far)[reach - 1 :, : n - reach + 1]
    assert block.tril(-1).abs().max() < 1e-12
    assert block.diagonal().abs().min() > 1e-6
    columns_of_far = torch.linalg.matrix_rank(far)
    assert columns_of_far == (2 if isinstance(encoding, Deberta) else 1)
    assert torch.linalg.matrix_rank(term) >= len(block) - columns_of_far


def test_beyond_its_end_a_table_comes_apart():
    torch.manual_seed(0)
    deberta, ids = random_table(Deberta(1, HEAD_DIM, 16)), torch.arange(100)
    q, k = torch.randn(2, 1, 100, HEAD_DIM, dtype=torch.float64)
    term = deberta.score_bias(q, k, ids, ids)[0]
    assert torch.linalg.matrix_rank(term) == 100
    assert torch.linalg.matrix_rank(term[60:, :44]) == 2, "all of them 17 or more behind"


def test_lines_and_waves_of_the_difference_come_apart_and_a_corner_does_not():
    """True: powers times exponentials times waves need a fixed number of columns."""
    away = signed_distance(torch.arange(60), torch.arange(60)).double()
    rank = torch.linalg.matrix_rank
    assert rank(away) == 2 and rank(away.abs()) == 60
    wave = (0.4 * away).cos()
    assert rank(wave) == 2 and rank((away / 60) * wave) == 4
    assert rank((away / 60).exp() * wave) == 2


def performer(x, directions):
    """Random features whose product is exp(q . k) on average (Choromanski et al., lemma 1)."""
    return (x @ directions.T - (x**2).sum(-1, keepdim=True) / 2).exp() / len(directions) ** 0.5


def test_widened_vectors_are_relative_through_features_that_stand_for_the_exponential():
    """A feature map that works number by number notices a push, the Performer's does not."""
    torch.manual_seed(0)
    words = torch.randn(2, 6, 4, dtype=torch.float64) / 4

    def widened(push):  # a wave behind query and key: f . g = cos(m - n) / 4
        turned = codes(torch.arange(6) + push)[:, :2] / 2
        return [torch.cat((part, turned), -1) for part in words]

    directions = torch.randn(400_000, 6, dtype=torch.float64)
    here, there = widened(0), widened(1000)
    assert torch.allclose(here[0] @ here[1].T, there[0] @ there[1].T)
    for q, k in (here, there):
        product = performer(q, directions) @ performer(k, directions).T
        assert torch.allclose(product, (q @ k.T).exp(), rtol=0.02)
    before, after = ((elu(q) + 1) @ (elu(k) + 1).T for q, k in (here, there))
    assert (after / before - 1).abs().max() > 0.1
    for drawn in directions[:1280].split(64):
        before, after = (performer(q, drawn) @ performer(k, drawn).T for q, k in (here, there))
        assert (after / before - 1).abs().max() > 0.1, "a single draw notices the push"


def test_half_precision_counts_to_256_and_two_columns_hold_a_place():
    places = torch.arange(65_536)
    first_lost = int((places.bfloat16().long() != places).nonzero()[0])
    assert first_lost == 257
    parts = torch.stack((places // 256, places % 256), -1).bfloat16()
    assert torch.equal(parts.float() @ torch.tensor([256.0, 1.0]), places.float())


def test_alibi_in_half_precision_takes_four_columns_and_two_under_the_softmax():
    slope, places = 1 / 8, torch.tensor([0, 1, 255, 257, 300, 5001, 60_001])
    parts = torch.stack((places // 256, places % 256), -1)
    weights = torch.tensor([256, 1]) * slope
    ones = torch.ones(len(places), 2)
    f, g = torch.cat((-weights * parts, ones * weights), -1), torch.cat((ones, parts), -1)
    f, g = f.bfloat16().double(), g.bfloat16().double()  # as the kernel gets them
    term = slope * signed_distance(places, places)
    assert torch.equal(f @ g.T, term.double())
    by_key = f[:, 2:] @ g[:, 2:].T
    assert torch.allclose(by_key.softmax(-1), term.double().softmax(-1))
    one_column = (slope * places).bfloat16().double()
    assert (one_column - slope * places).abs().max() > 1, "what one column would lose"


def test_funnel_transformers_factorized_attention_is_its_relative_one():
    """True: the term of Transformer-XL comes apart; transformers computes it so."""
    sizes = {"vocab_size": 50, "d_model": 16, "n_head": 2, "d_head": 8, "d_inner": 32}
    outputs = []
    for kind in ("relative_shift", "factorized"):
        config = transformers.FunnelConfig(
            **sizes, block_sizes=[1], num_decoder_layers=1, attention_type=kind
        )
        torch.manual_seed(0)
        model = transformers.FunnelBaseModel(config).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(std=0.3)
            outputs.append(model(torch.arange(12)[None]).last_hidden_state)
    assert torch.allclose(*outputs, atol=1e-4)


@pytest.mark.parametrize("num_heads", [1, 2, 6, 8, 12, 20, 64])
def test_bloom_and_mpt_have_the_slopes_of_the_authors(num_heads):
    ours = alibi_slopes(num_heads).float()
    bloom = build_alibi_tensor(torch.ones(1, 5), num_heads, torch.float32)
    mpt = build_mpt_alibi_tensor(num_heads, 5)
    assert torch.allclose(bloom[:, 0, 1], ours)
    assert torch.allclose(-mpt[:, 0, -2], ours)


@pytest.mark.parametrize("as_released", [False, True])
def test_debertas_paper_and_code_read_the_third_term_the_two_ways_round(as_released):
    torch.manual_seed(0)
    deberta = random_table(Deberta(1, HEAD_DIM, 3, as_released=as_released))
    q, k = torch.randn(2, 6, HEAD_DIM, dtype=torch.float64)
    keys, queries = deberta.to_keys(deberta.table), deberta.to_queries(deberta.table)

    def delta(i, j):
        return min(max(i - j + 3, 0), 5)

    for i in range(6):
        for j in range(6):
            third = queries[delta(i, j) if as_released else delta(j, i)]
            term = (q[i] @ keys[delta(i, j)] + k[j] @ third) / (3 * HEAD_DIM) ** 0.5
            bias = deberta.score_bias(q[None], k[None], torch.arange(6), torch.arange(6))
            assert torch.allclose(bias[0, i, j], term)


@decides("S000-21", "S001-52", "S004-5")
def test_rope_is_applied_place_by_place_and_heard_as_distance(world):
    """True: absolute in form, relative in effect, no parameters.

    The angle between positions i and j depends on i - j only.
    """
    rope = Rotary(HEAD_DIM)
    assert list(rope.parameters()) == []
    q = torch.randn(1, HEAD_DIM, dtype=torch.float64)
    turned = [rope.rotate(q, q, torch.tensor([m]), torch.tensor([m]))[0] for m in (0, 3, 8, 11)]
    assert not torch.allclose(turned[0], turned[1])
    assert torch.allclose(turned[0] @ turned[1].T, turned[2] @ turned[3].T)
    angles = torch.arange(100.0).double()[:, None] * rope.inv_freq
    assert torch.allclose(angles[7] - angles[3], angles[57] - angles[53])


@decides("S001-42", "S002-1")
def test_most_decoders_of_the_installed_library_rotate():
    """Depends: of the decoders whose code is public most do; the others cannot be counted."""
    folder = Path(transformers.__file__).parent / "models"
    sources = [path.read_text("utf-8") for path in folder.glob("*/modeling_*.py")]
    models = [text for text in sources if re.search(r"class \w+ForCausalLM\(", text)]
    rotate = [text for text in models if re.search("rotary", text, re.IGNORECASE)]
    alibi = [text for text in models if "build_alibi" in text or "alibi_slopes" in text]
    assert len(models) > 50
    assert len(rotate) > 0.5 * len(models)
    assert len(alibi) < 0.1 * len(models)


@decides("S001-69")
def test_the_code_is_added_before_the_projection(world):
    """Imprecise: not q + p_m but W (x + p_m)."""
    x, to_q, to_k, _ = world

    def position_to_position(push, projected):
        p = codes(IDS + push)
        return (p @ to_q) @ (p @ to_k).T if projected else p @ p.T

    after, before = position_to_position(1000, False), position_to_position(0, False)
    assert torch.allclose(after, before), "added after the projection it would be relative"
    after, before = position_to_position(1000, True), position_to_position(0, True)
    assert (after - before).abs().max() > 0.1
    placed = Sinusoidal(DIM).double().embed(x, IDS)
    assert torch.allclose(placed @ to_q, x @ to_q + codes() @ to_q, atol=1e-6)


@pytest.mark.parametrize("name", ["t5", "alibi"])
def test_relative_position_can_enter_without_touching_q_or_k(name):
    """Imprecise: encodings need not be functions f(q, k, v) or change q and k."""
    torch.manual_seed(0)
    encoding = RELATIVE[name]()
    q, k = torch.randn(2, HEADS, LENGTH, HEAD_DIM)
    rotated = encoding.rotate(q, k, IDS, IDS)
    assert rotated[0] is q and rotated[1] is k
    bias = encoding.score_bias(q, k, IDS, IDS)
    assert torch.equal(bias, encoding.score_bias(2 * q, -k, IDS, IDS))
    _, weights = attend(encoding, q, k, k)
    _, plain = attend(NoPosition(), q * encoding.scale(HEAD_DIM) * HEAD_DIM**0.5, k, k)
    assert not torch.allclose(weights, plain, atol=1e-3)
