"""What the source documents say about where RoPE sits in a layer, decided by computation."""

import inspect
import math

import pytest
import torch
from claims import decides

from ropebook.experiments.transformer import Transformer
from ropelib import RotaryEmbedding, apply_rotary, cos_sin, inv_freq, reference
from ropelib.attention import attend, attention_scores
from ropelib.encodings import NoPosition, PositionEncoding, Rotary, Sinusoidal

LENGTH, HEAD_DIM = 6, 8
AT = torch.arange(LENGTH)
FREQUENCIES = inv_freq(HEAD_DIM)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def vectors(count, length=LENGTH, width=HEAD_DIM):
    return torch.randn(count, length, width, dtype=torch.float64).unbind(0)


def turned(x, position_ids):
    cos, sin = cos_sin(position_ids, FREQUENCIES, dtype=torch.float64)
    return apply_rotary(x, cos, sin, layout="interleaved")


def matrices(position_ids):
    return [reference.rotation_matrix(p, FREQUENCIES, layout="interleaved") for p in position_ids]


def head(q, k, v, shift=0, *, values=False, back=False):
    q, k = turned(q, AT + shift), turned(k, AT + shift)
    output, _ = attend(NoPosition(), q, k, turned(v, AT + shift) if values else v)
    return turned(output, -(AT + shift)) if back else output


class Recorder(Rotary):
    """A rotary encoding that keeps what it is asked to turn."""

    def __init__(self, head_dim):
        super().__init__(head_dim)
        self.turned = []

    def rotate(self, q, k, position_ids, key_position_ids):
        self.turned.append((q.shape, k.shape))
        return super().rotate(q, k, position_ids, key_position_ids)


def two_layers(encoding, model_dim=16):
    return Transformer(
        7, model_dim=model_dim, num_heads=2, num_layers=2, encoding=encoding, causal=True
    ).double()


# ---- where it sits ----


@decides("S000-1", "S001-53", "S004-7", "S004-8", "S004-28")
def test_it_is_queries_and_keys_that_turn_in_every_layer_and_not_the_embedding():
    """Imprecise: 'embeddings are rotated'. True: queries and keys are, in every layer."""
    encoding = Recorder(8)
    x = torch.randn(5, 16)
    assert torch.equal(encoding.embed(x, torch.arange(5)), x)
    two_layers(encoding)(torch.tensor([0, 3, 1, 2, 2]))
    assert encoding.turned == [((2, 5, 8), (2, 5, 8))] * 2


@decides("S000-31")
def test_the_score_is_that_of_turned_vectors_over_the_root_of_the_width():
    """Both q and k are turned, and score = q . k / sqrt(d_k)."""
    q, k = vectors(2)
    by_matrix = [
        [
            (turn_q @ a) @ (turn_k @ b) / math.sqrt(HEAD_DIM)
            for b, turn_k in zip(k, matrices(AT), strict=True)
        ]
        for a, turn_q in zip(q, matrices(AT), strict=True)
    ]
    scores = attention_scores(turned(q, AT), turned(k, AT))
    torch.testing.assert_close(scores, torch.tensor(by_matrix).double())


@decides("S000-18", "S001-54", "S002-18", "S003-7", "S004-22")
def test_scores_depend_on_content_and_distance():
    """True; of a first layer, whose q and k know no position."""
    q, k = vectors(2)
    here = attention_scores(turned(q, AT), turned(k, AT))
    there = attention_scores(turned(q, AT + 1000), turned(k, AT + 1000))
    torch.testing.assert_close(here, there)
    by_distance = [
        [a @ turn @ b / math.sqrt(HEAD_DIM) for b, turn in zip(k, matrices(AT - m), strict=True)]
        for m, a in enumerate(q)
    ]
    torch.testing.assert_close(here, torch.tensor(by_distance).double())


@decides("S000-37", "S004-14")
def test_deeper_layers_know_how_far_the_text_has_come():
    """Imprecise: q and k of a second layer carry a place that the mask has told."""
    model = two_layers(Rotary(8))
    first_then_same = torch.tensor([0] + [1] * 8)
    with torch.no_grad():
        for index, spread in ((0, False), (1, True)):
            x = model.embedding(first_then_same)
            for layer in model.layers[:index]:
                x = layer(x)
            layer = model.layers[index]
            q, k, _ = layer.to_qkv(layer.norm_attention(x)).unflatten(-1, (3, 2, 8)).unbind(-3)
            at = torch.arange(9)
            scores = attention_scores(
                *layer.encoding.rotate(q.transpose(0, 1), k.transpose(0, 1), at, at)
            )
            neighbors = scores.diagonal(-1, -2, -1)[:, 1:]
            assert ((neighbors.amax(-1) - neighbors.amin(-1)).max() > 1e-3) == spread
        # And yet nothing depends on where counting begins.
        torch.testing.assert_close(
            model(first_then_same), model(first_then_same, torch.arange(9) + 500)
        )


@decides("S004-21")
def test_before_the_projections_only_complex_numbers_keep_the_distance():
    """True: turned as embeddings, projections destroy the relative property."""
    x, y = vectors(2, length=1)
    random = torch.randn(HEAD_DIM, HEAD_DIM, dtype=torch.float64)
    blocks = [torch.tensor([[a, -b], [b, a]]) for a, b in torch.randn(HEAD_DIM // 2, 2).double()]
    complex_numbers = torch.block_diag(*blocks)

    def score(middle, m, n):
        turn_m, turn_n = matrices([m, n])
        return ((turn_m @ x[0]) @ middle @ (turn_n @ y[0])).item()

    for shift in (1, 30, 1000):
        moved = score(random, 4 + shift, 1 + shift) - score(random, 4, 1)
        kept = score(complex_numbers, 4 + shift, 1 + shift) - score(complex_numbers, 4, 1)
        assert abs(kept) < 1e-10 < 1e-3 < abs(moved)


def test_matrices_that_commute_with_the_turns_have_one_complex_number_per_pair():
    """Counted: of d^2 numbers of W_q^T W_k, d are free."""
    (step,) = matrices([1])
    one = torch.eye(HEAD_DIM).double()
    commutes = torch.kron(one, step.T.contiguous()) - torch.kron(step, one)
    assert HEAD_DIM**2 - torch.linalg.matrix_rank(commutes) == HEAD_DIM


@decides("S000-56")
def test_a_layer_takes_it_without_other_changes():
    """True: the same layer with and without it, and no parameter more."""
    plain, rotary = two_layers(NoPosition()), two_layers(Rotary(8))
    assert {name: p.shape for name, p in plain.named_parameters()} == {
        name: p.shape for name, p in rotary.named_parameters()
    }
    rotary.load_state_dict(plain.state_dict())
    words = torch.tensor([1, 2, 3, 4])
    assert not torch.allclose(plain(words), rotary(words))


@decides("S003-3")
def test_a_bias_of_the_scores_is_another_way_to_distances():
    """Imprecise: q and k need not be changed first."""
    q, k, v = vectors(3)

    class Bias(PositionEncoding):
        def score_bias(self, q, k, position_ids, key_position_ids):
            return -0.1 * (position_ids[:, None] - key_position_ids).abs().double()

    here, _ = attend(Bias(), q, k, v)
    there, _ = attend(Bias(), q, k, v, key_position_ids=AT + 50)
    torch.testing.assert_close(here, there)
    assert not torch.allclose(here, attend(NoPosition(), q, k, v)[0])


@decides("S004-31")
def test_some_layers_of_some_models_do_not_turn():
    """Imprecise: hybrids leave some layers without."""
    config = pytest.importorskip("transformers").SmolLM3Config()
    assert 0 < sum(config.no_rope_layers) < config.num_hidden_layers
    assert [i for i, turns in enumerate(config.no_rope_layers) if not turns][:2] == [3, 7]


@decides("S000-60", "S004-20", "S004-39")
@pytest.mark.parametrize("family", ["llama", "stablelm", "phi3"])
def test_known_models_turn_queries_and_keys_only(family):
    """True: LLaMA, StableLM and Phi-3 do not turn values."""
    pytest.importorskip("transformers")
    modeling = __import__(f"transformers.models.{family}.modeling_{family}", fromlist=["_"])
    source = inspect.getsource(modeling)
    calls = [line for line in source.splitlines() if " = apply_rotary_pos_emb(" in line]
    assert calls and all("value" not in line for line in calls)


# ---- a compressed cache ----


def weights(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def compressed():
    """Words, and for three heads what makes latents of them, keys of latents, and queries."""
    return weights(LENGTH, 20), weights(5, 20), weights(3, 8, 5), weights(3, 8, 20)


def test_without_turns_the_queries_can_be_compared_with_the_latent_itself():
    """(W_q x)^T (W_up c) = (W_up^T W_q x)^T c, in every head."""
    words, down, up, query = compressed()
    latents = words @ down.T
    by_keys = (words @ query.mT) @ (latents @ up.mT).mT
    torch.testing.assert_close((words @ query.mT @ up) @ latents.T, by_keys)


def test_no_matrix_serves_the_turns_of_all_distances():
    """Fitted to all pairs by least squares, the best is far off; without turns it is exact."""
    words, latents, up, query = weights(60, 9), weights(60, 5), weights(8, 5), weights(8, 9)
    pairs = torch.einsum("md,nc->mndc", words, latents).flatten(2).flatten(0, 1)  # of one matrix
    for at, exact in ((torch.zeros(60, dtype=torch.long), True), (torch.arange(60), False)):
        scores = (turned(words @ query.T, at) @ turned(latents @ up.T, at).T).flatten()[:, None]
        best = torch.linalg.lstsq(pairs, scores, driver="gelsd").solution
        missed = (pairs @ best - scores).norm() / scores.norm()
        assert (missed < 1e-10) == exact
        assert exact or missed > 0.3


def test_where_all_pairs_turn_only_zero_stands_still():
    """So W_q^T R W_up = W_q^T W_up asks for W_up = 0 if W_q has full rank."""
    for turn in matrices(torch.tensor([1, 2, 9, 1000])):
        assert torch.linalg.matrix_rank(turn - torch.eye(HEAD_DIM)) == HEAD_DIM


def test_a_decoupled_key_is_a_head_with_a_part_that_does_not_turn():
    """Latents and one turned key per word give the scores of the whole heads, and are relative."""
    words, down, up, query = compressed()
    short_query, short_key = weights(3, 8, 20), weights(8, 20)
    latents = words @ down.T

    def from_cache(shift):
        short = turned(words @ short_query.mT, AT + shift)
        key = turned(words @ short_key.T, AT + shift)
        return (words @ query.mT @ up) @ latents.T + short @ key.T, short, key

    scores, short, key = from_cache(0)
    q = torch.cat([words @ query.mT, short], dim=-1)
    k = torch.cat([latents @ up.mT, key.expand(3, -1, -1)], dim=-1)
    torch.testing.assert_close(scores, q @ k.mT)
    torch.testing.assert_close(from_cache(1000)[0], scores)


def test_what_deepseek_caches_per_word_and_layer():
    """512 + 64 numbers for 128 heads, with keys and values of 128 dimensions each."""
    config = pytest.importorskip("transformers").DeepseekV3Config()  # V2's numbers, too
    assert (config.kv_lora_rank, config.qk_rope_head_dim) == (512, 64)
    assert (config.num_attention_heads, config.v_head_dim, config.qk_nope_head_dim) == (128,) * 3
    assert 2 * 128 * 128 == 32_768 and round(32_768 / (512 + 64)) == 57


def test_any_fused_attention_takes_turned_queries_and_keys():
    """scaled_dot_product_attention of turned vectors is plain attention with RoPE."""
    q, k, v = weights(1, 4, LENGTH, 8), *weights(2, 1, 2, LENGTH, 8)
    rotary = RotaryEmbedding(8, layout="half")
    plain, _ = attend(Rotary.from_module(rotary), q, k, v, causal=True)
    for turned_first, same in ((rotary(q, k), True), ((q, k), False)):
        fused = torch.nn.functional.scaled_dot_product_attention(
            *turned_first, v, is_causal=True, enable_gqa=True
        )
        assert torch.allclose(fused, plain) == same


# ---- values ----


@decides("S004-29")
def test_turned_values_change_the_output_and_give_it_the_absolute_position():
    """Depends: turned values change the output; of what use that is, no identity says."""
    q, k, v = vectors(3)
    assert (head(q, k, v, values=True) - head(q, k, v)).abs().max() > 0.1
    torch.testing.assert_close(head(q, k, v, 7), head(q, k, v))
    there = head(q, k, v, 7, values=True)
    assert (there - head(q, k, v, values=True)).abs().max() > 0.1
    # exactly: the whole output turns by the shift
    seven = torch.full((LENGTH,), 7)
    torch.testing.assert_close(there, turned(head(q, k, v, values=True), seven))


def test_turned_back_each_value_arrives_turned_by_its_distance():
    """Depends: turned and turned back, values add relative information."""
    q, k, v = vectors(3)
    output = head(q, k, v, values=True, back=True)
    torch.testing.assert_close(head(q, k, v, 1000, values=True, back=True), output)
    _, weights = attend(NoPosition(), turned(q, AT), turned(k, AT), v)
    for m in range(LENGTH):
        arrived = torch.stack([turn @ x for turn, x in zip(matrices(AT - m), v, strict=True)])
        torch.testing.assert_close(output[m], weights[m] @ arrived)
    assert (output - head(q, k, v)).abs().max() > 0.1


# ---- positions, masks ----


@decides("S004-37")
def test_decoding_needs_an_offset():
    """Imprecise: positions that always start at 0 are wrong with a cache."""
    q, k, v = vectors(3)
    rotary = RotaryEmbedding(HEAD_DIM, layout="interleaved")
    at_once, _ = attend(Rotary.from_module(rotary), q, k, v, causal=True)
    _, keys = rotary(q[:-1], k[:-1])
    for offset, right in ((LENGTH - 1, True), (0, False)):
        q_new, k_new = rotary(q[-1:], k[-1:], offset=offset)
        output, _ = attend(NoPosition(), q_new, torch.cat([keys, k_new]), v)
        assert torch.allclose(output, at_once[-1:]) == right


def test_what_source_002_calls_the_attention_of_llama_sees_later_words():
    """Imprecise: without a mask, a word's output changes with the words after it."""
    q, k, v = vectors(3)
    changed = k.clone()
    changed[-1] += 1
    for causal in (False, True):
        outputs = [
            attend(NoPosition(), turned(q, AT), turned(keys, AT), v, causal=causal)[0]
            for keys in (k, changed)
        ]
        assert torch.equal(*[output[0] for output in outputs]) == causal


def test_padding_on_the_left_needs_a_mask_and_under_rope_no_more():
    """A constant shift of a row's positions does nothing under RoPE, and much under sinusoids."""
    text, padding = torch.randn(5, 8).double(), torch.randn(3, 8).double()
    padded, real = torch.cat([padding, text]), torch.tensor([[False] * 3 + [True] * 5])

    def layer(encoding, x, ids, mask=None):
        x = encoding.embed(x, ids)
        return attend(encoding, x, x, x, key_position_ids=ids, causal=True, mask=mask)[0]

    for encoding, relative in ((Rotary(8), True), (Sinusoidal(8), False)):
        alone = layer(encoding, text, torch.arange(5))
        places = layer(encoding, padded, torch.arange(8), real)[3:]
        counted = layer(encoding, padded, (real[0].cumsum(0) - 1).clamp(min=0), real)[3:]
        torch.testing.assert_close(counted, alone)
        assert torch.allclose(places, alone) == relative
        assert not torch.allclose(layer(encoding, padded, torch.arange(8))[3:], alone)


# ---- cost ----


@decides("S004-23")
def test_turning_is_cheap_and_not_free():
    """False: 3 d operations per vector, counted one by one."""
    counted = 0

    class Counted(float):
        def __mul__(self, other):
            nonlocal counted
            counted += 1
            return Counted(float(self) * float(other))

        def __add__(self, other):
            nonlocal counted
            counted += 1
            return Counted(float(self) + float(other))

        def __sub__(self, other):
            nonlocal counted
            counted += 1
            return Counted(float(self) - float(other))

    vector = [Counted(number) for number in torch.randn(HEAD_DIM).tolist()]
    cos, sin = (table[0].tolist() for table in cos_sin([5], FREQUENCIES, dtype=torch.float64))
    by_hand = []
    for x, y, c, s in zip(vector[::2], vector[1::2], cos, sin, strict=True):
        by_hand += [x * c - y * s, x * s + y * c]
    assert counted == 3 * HEAD_DIM
    right = turned(torch.tensor([[float(x) for x in vector]]).double(), torch.tensor([5]))
    torch.testing.assert_close(torch.tensor([[float(x) for x in by_hand]]).double(), right)


def test_turning_grows_with_the_length_and_dot_products_with_its_square():
    """False: another order than that of the dot products, and on top of them."""

    def operations(length, d=HEAD_DIM):
        return 2 * length * 3 * d, length * length * 2 * d

    (turn_1, dots_1), (turn_2, dots_2) = operations(100), operations(200)
    assert turn_2 == 2 * turn_1 and dots_2 == 4 * dots_1


@decides("S004-25", "S004-26", "S004-40")
def test_a_table_has_a_row_for_each_position_and_is_made_once():
    """Imprecise: no learned table. True: computed once and used again."""
    rotary = RotaryEmbedding(HEAD_DIM, layout="half")
    assert list(rotary.parameters()) == []
    cos, sin = cos_sin(torch.arange(1000), FREQUENCIES)
    assert cos.nbytes + sin.nbytes == 1000 * HEAD_DIM * 4
    q, k = vectors(2)
    first = rotary(q, k)
    table = rotary._table
    assert all(torch.equal(a, b) for a, b in zip(first, rotary(q, k), strict=True))
    assert table is not None and rotary._table is table


def test_it_moves_more_memory_than_adding_codes_once():
    """False: q and k in every layer, against the embedding once."""
    adding = 3  # read x, read the code, write the sum: per number of a token's vector
    turning = 4  # read and write q and k
    for num_layers in (1, 2, 32):
        assert turning * num_layers > adding


# ---- what is said of formulas ----


@decides("S001-68", "S001-70")
def test_sinusoids_are_relative_by_way_of_a_matrix_and_rope_directly():
    """True: shifted sinusoids change scores, shifted turns do not."""
    x, y = vectors(2)
    for encoding, relative in ((Sinusoidal(HEAD_DIM), False), (Rotary(HEAD_DIM), True)):
        scores = []
        for at in (AT, AT + 9):
            q, k = encoding.rotate(encoding.embed(x, at), encoding.embed(y, at), at, at)
            scores.append(attention_scores(q, k))
        assert torch.allclose(*scores) == relative


def test_sinusoids_are_added_before_the_projection():
    """Imprecise: W (x + p_m), which is not W x + p_m."""
    x, w = torch.randn(LENGTH, HEAD_DIM), torch.randn(HEAD_DIM, HEAD_DIM)
    encoding = Sinusoidal(HEAD_DIM)
    added_first = encoding.embed(x, AT) @ w
    assert not torch.allclose(added_first, encoding.embed(x @ w, AT))


@decides("S001-72", "S002-19", "S003-4", "S003-5")
@pytest.mark.parametrize(("m", "n"), [(0, 1), (3, 7), (9, 2)])
def test_the_complex_forms(m, n):
    """True of products with a conjugate; false without one."""
    angle = torch.tensor([0.7], dtype=torch.float64)
    weights_q, weights_k = torch.randn(2, 2, 2, dtype=torch.float64)
    x, y = torch.randn(2, 2, dtype=torch.float64)
    q, k = weights_q @ x, weights_k @ y
    turn_m, turn_n, ahead, behind = (
        reference.rotation_matrix(p, angle, layout="interleaved") for p in (m, n, n - m, m - n)
    )

    def number(vector):
        return complex(*vector.tolist())

    def phase(position):
        return complex(math.cos(0.7 * position), math.sin(0.7 * position))

    score = ((turn_m @ q) @ (turn_n @ k)).item()
    assert number(turn_m @ q) == pytest.approx(number(q) * phase(m))
    barred = number(q) * phase(m) * (number(k) * phase(n)).conjugate()
    assert barred.real == pytest.approx(score)
    shifted = number(q) * number(k).conjugate() * phase(m - n)
    assert barred == pytest.approx(shifted)
    # Without the bar the phase is that of the sum:
    unbarred = number(q) * phase(m) * number(k) * phase(n)
    assert unbarred == pytest.approx(number(q) * number(k) * phase(m + n))
    assert unbarred.real != pytest.approx(score)
    # Between the real vectors stands the turn by n - m:
    assert (q @ ahead @ k).item() == pytest.approx(score)
    assert (q @ behind @ k).item() != pytest.approx(score)


@decides("S003-1")
def test_the_number_of_tokens_and_the_width_of_one_are_two_numbers():
    """Imprecise: n is the dimension there and a position later."""
    length, width = 6, 8
    x = torch.randn(length, width)
    q, k = x @ torch.randn(width, 4), x @ torch.randn(width, 4)
    assert attention_scores(q, k).shape == (length, length)
