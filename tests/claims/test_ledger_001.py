"""What document 001 claims, where no chapter's own tests decide it."""

import math

import pytest
import torch
from claims import decides
from schemes import HEAD_DIM, HEADS, RELATIVE, TURNING
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import (
    ConditionalDetrConfig,
    ConditionalDetrModel,
    DeformableDetrConfig,
    DeformableDetrModel,
    DetrConfig,
    DetrModel,
    ResNetConfig,
)

from ropelib import inv_freq, reference
from ropelib.attention import attend
from ropelib.encodings import (
    LearnedAbsolute,
    NoPosition,
    Sinusoidal,
    sinusoids,
)

LENGTH = 12
DIM = HEADS * HEAD_DIM
IDS = torch.arange(LENGTH)


def vectors(*shape):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def heads(*counts):
    return vectors(*counts, HEADS, LENGTH, HEAD_DIM)


def with_random_tables(name):
    torch.manual_seed(0)
    encoding = RELATIVE[name]().double()
    with torch.no_grad():
        for parameter in encoding.parameters():
            parameter.normal_()
    return encoding


# ---- codes ----


@decides("S001-7")
def test_words_at_two_places_with_one_code_may_be_exchanged():
    """True where codes alone tell places apart, that is without a mask."""
    words, own = vectors(2, 5, DIM)
    shared, exchange = own.clone(), torch.tensor([0, 3, 2, 1, 4])
    shared[3] = shared[1]
    for codes, alike in ((shared, True), (own, False)):
        x, y = words + codes, words[exchange] + codes
        here, there = (attend(NoPosition(), one, one, one)[0] for one in (x, y))
        assert torch.allclose(there, here[exchange]) == alike


@decides("S001-5")
def test_a_place_as_a_share_of_the_length_is_another_number_in_each_text():
    at_place_5 = {float(torch.linspace(0, 1, length)[5]) for length in range(6, 106)}
    assert len(at_place_5) == 100
    anywhere = {tuple(sinusoids(torch.arange(n), DIM)[5].tolist()) for n in range(6, 106)}
    assert len(anywhere) == 1


@decides("S001-6")
def test_whole_numbers_grow_until_all_late_words_look_the_same():
    """True; how alike two different words look, late in a text of 512."""
    words, direction = vectors(512, DIM), torch.ones(DIM) / DIM**0.5
    places = torch.arange(512).double()
    alike = {}
    for name, codes in (
        ("whole numbers", places[:, None] * direction),
        ("sinusoids", sinusoids(places, DIM, dtype=torch.float64)),
    ):
        late = (words + codes)[256:]
        cosines = torch.cosine_similarity(late[:-1], late[1:], dim=-1)
        alike[name] = cosines.mean()
        assert (codes.norm(dim=-1).max() > 500) == (name == "whole numbers")
    assert alike["whole numbers"] > 0.999 and alike["sinusoids"] < 0.6


def detr(config, model):
    """A small model of the family, with the defaults of its positions."""
    backbone = ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8] * 4,
        depths=[1] * 4,
        out_features=["stage2", "stage3", "stage4"] if config is DeformableDetrConfig else None,
    )
    small = {f"{part}_layers": 1 for part in ("encoder", "decoder")}
    small |= {f"{part}_attention_heads": 2 for part in ("encoder", "decoder")}
    no_download = {"use_timm_backbone": False, "backbone": None, "use_pretrained_backbone": False}
    levels = {"num_feature_levels": 3} if config is DeformableDetrConfig else {}
    return model(
        config(
            backbone_config=backbone, d_model=32, num_queries=5, **small, **no_download, **levels
        )
    )


@decides("S001-35")
@pytest.mark.parametrize(
    ("config", "model"),
    [
        (DetrConfig, DetrModel),
        (ConditionalDetrConfig, ConditionalDetrModel),
        (DeformableDetrConfig, DeformableDetrModel),
    ],
    ids=["DETR", "Conditional DETR", "Deformable DETR"],
)
def test_detr_and_its_successors_learn_their_queries_and_not_the_places_of_the_picture(
    config, model
):
    made = detr(config, model)
    assert [*made.position_embedding.parameters()] == []
    assert isinstance(made.query_position_embeddings, torch.nn.Embedding)
    assert made.query_position_embeddings.weight.requires_grad
    # And one vector per scale of the picture, added to the sines.
    assert hasattr(made, "level_embed") == (model is DeformableDetrModel)


@decides("S001-8")
def test_a_text_keeps_its_codes_as_it_grows_and_a_picture_of_detr_does_not():
    """Depends: a wish for texts; DETR divides by the height, on purpose."""
    short, long = (sinusoids(torch.arange(n), DIM) for n in (10, 20))
    assert torch.equal(short, long[:10])
    codes = detr(DetrConfig, DetrModel).position_embedding
    low, high = (codes((1, 3, rows, 1), "cpu", torch.float32)[0, :, :, 0].T for rows in (10, 20))
    assert not torch.allclose(low, high[:10], atol=0.1)
    # What it keeps instead is the share of the height: row 5 of 10 is row 10 of 20.
    torch.testing.assert_close(low[4], high[9])


@decides("S001-9")
def test_the_printed_rows_are_the_numbers_0_to_15_in_binary():
    left = "0000 0001 0010 0011 0100 0101 0110 0111"
    right = "1000 1001 1010 1011 1100 1101 1110 1111"
    assert [int(row, base=2) for row in f"{left} {right}".split()] == list(range(16))


# ---- adding ----


@decides("S001-15")
def test_each_of_the_four_terms_hears_two_vectors_and_one_matrix_serves_all():
    """Which of the terms change when one of the two words or of the two places does."""
    x, y, e, f = names = ("word x", "word y", "place e", "place f")
    first, other = (
        dict(zip(names, vectors(8, DIM)[half], strict=True)) for half in (slice(4), slice(4, 8))
    )
    joint, pairs = vectors(DIM, DIM), [(x, y), (x, f), (e, y), (e, f)]

    def terms(given, matrix):
        return torch.stack([given[a] @ matrix @ given[b] for a, b in pairs])

    before = terms(first, joint)
    both = torch.stack([first[x] + first[e], first[y] + first[f]])
    torch.testing.assert_close(before.sum(), both[0] @ joint @ both[1])
    for name in names:
        changed = terms(first | {name: other[name]}, joint) != before
        assert changed.tolist() == [name in pair for pair in pairs]
    assert (terms(first, joint + torch.eye(DIM)) != before).all()


@decides("S001-45")
def test_what_position_vectors_add_to_a_score_is_no_bias_and_not_relative():
    """What is left without them is x W_Q W_K^T x^T; T5's bias is the control."""
    x, others = vectors(2, LENGTH, DIM)
    to_q, to_k = vectors(2, DIM, DIM)

    def score(words, ids, amount):
        placed = words + amount * sinusoids(ids, DIM, dtype=torch.float64)
        return (placed @ to_q) @ (placed @ to_k).T

    def by_vectors(words, ids):
        return score(words, ids, 1) - score(words, ids, 0)

    def by_bias(words, ids):
        return with_random_tables("t5").score_bias(words, words, ids, ids)

    torch.testing.assert_close(score(x, IDS, 0), x @ to_q @ to_k.T @ x.T)
    for added, is_bias in ((by_vectors, False), (by_bias, True)):
        here = added(x, IDS)
        assert torch.allclose(here, added(others, IDS), atol=0.1) == is_bias
        assert torch.allclose(here, added(x, IDS + 5), atol=0.1) == is_bias


# ---- moving on ----


@decides("S001-21", "S001-22", "S001-23", "S001-24")
@pytest.mark.parametrize("delta", [-3, 1, 7])
def test_the_one_matrix_that_moves_codes_on_is_of_turns_along_the_diagonal(delta):
    """Found by least squares, so no other does it; from whichever places it is found."""
    base, d = 100.0, 8  # With slower hands 64 places would not show their law in float64.
    expected = torch.zeros(d, d, dtype=torch.float64)
    for i in range(d // 2):
        angle = delta * base ** (-2 * i / d)
        cos, sin = math.cos(angle), math.sin(angle)
        block = torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64)
        expected[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = block
    for start in (0, 500):
        places = torch.arange(start, start + 64)
        here, there = (
            sinusoids(p, d, base=base, dtype=torch.float64) for p in (places, places + delta)
        )
        assert torch.linalg.matrix_rank(here) == d
        found = torch.linalg.lstsq(here, there, driver="gelsd").solution.T
        # The slowest hand moves by 2 rad: a condition number of about 100, on 1e-13.
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


@decides("S001-88")
def test_one_sine_cannot_be_moved_on_and_a_sine_with_its_cosine_can():
    """True: the pair is the least that a step treats alike wherever one stands."""
    places, frequency = torch.arange(64).double(), 2 * math.pi / 8
    hand = torch.stack([(places * frequency).sin(), (places * frequency).cos()], dim=-1)

    def miss(codes):
        step = torch.linalg.lstsq(codes[:-1], codes[1:], driver="gelsd").solution
        return (codes[:-1] @ step - codes[1:]).abs().max()

    assert miss(hand[:, :1]) > 0.5 and miss(hand[:, 1:]) > 0.5
    assert miss(hand) < 1e-12  # 64 sums of a few float64
    # And the pair's vector is one that RoPE's matrix turns: (cos, sin) from (1, 0).
    turned = reference.rotate(
        torch.tensor([1.0, 0.0]).expand(64, 2), places, [frequency], layout="interleaved"
    )
    torch.testing.assert_close(turned.flip(-1), hand)


# ---- costs ----


class Written(TorchDispatchMode):
    """Counts the numbers that operations write; a view writes none."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and not result._is_view():
            self.numbers += result.numel()
        return result


def written(function, *args):
    with torch.no_grad(), Written() as counted:
        function(*args)
    return counted.numbers


@decides("S001-29")
@pytest.mark.parametrize("name", RELATIVE)
def test_adding_codes_once_writes_less_than_a_relative_encoding_does_in_one_layer(name):
    """Depends: one layer already writes more, by RoPE of the same order, by a bias of another."""
    q, k, v = heads(3)
    words = vectors(LENGTH, DIM)
    plain = written(attend, NoPosition(), q, k, v)
    relative = written(attend, with_random_tables(name), q, k, v) - plain
    codes = sinusoids(IDS, DIM, dtype=torch.float64)
    assert written(torch.add, words, codes) == LENGTH * DIM < relative
    for encoding in (Sinusoidal(DIM), LearnedAbsolute(LENGTH, DIM).double()):
        assert written(attend, encoding, q, k, v) == plain, "attention itself stays as it is"
    added = []
    for length in (256, 512):
        q, k, v = vectors(3, HEADS, length, HEAD_DIM)
        plain = written(attend, NoPosition(), q, k, v)
        added.append(written(attend, with_random_tables(name), q, k, v) - plain)
    if name in TURNING:
        # As for codes, twice the text is twice the work; learned frequencies are made once.
        once = 0.01 if name == "learned_rotary" else 0
        assert added[1] == pytest.approx(2 * added[0], rel=once, abs=0)
    else:
        assert added[1] > 3 * added[0]


@decides("S001-41")
@pytest.mark.parametrize("name", RELATIVE)
def test_fused_attention_takes_relative_encodings(name):
    """False that none fits: what is added goes in as a mask, and what is turned just goes in."""
    encoding = with_random_tables(name)
    q, k, v = heads(3)[:, None]
    if name == "shaw":  # what is added to values fits no mask
        wanted = attend(encoding, q, k, v)[0]
        encoding.value_table = None
        assert (wanted - attend(encoding, q, k, v)[0]).abs().max() > 0.1
    added = encoding.score_bias(q, k, IDS, IDS)
    turned = encoding.rotate(q, k, IDS, IDS)
    fused = scaled_dot_product_attention(
        *turned, v, attn_mask=added, scale=encoding.scale(HEAD_DIM)
    )
    torch.testing.assert_close(fused, attend(encoding, q, k, v)[0], rtol=0, atol=1e-6)
    plain = scaled_dot_product_attention(q, k, v, scale=encoding.scale(HEAD_DIM))
    assert (added is None) == (name in TURNING)
    assert not torch.allclose(fused, plain, atol=1e-3)


# ---- the lines of RoFormer's code ----


@decides("S001-77")
def test_repeated_entries_and_partners_make_a_turned_query_of_a_table_of_sinusoids():
    """From the table to the query, in the axes that are printed: batch, tokens, heads, width."""
    q = vectors(3, LENGTH, HEADS, HEAD_DIM)
    table = sinusoids(IDS, HEAD_DIM, dtype=torch.float64)[None, :, None]
    sin, cos = (table[..., start::2].repeat_interleave(2, dim=-1) for start in (0, 1))
    first, second = q[..., 0::2], q[..., 1::2]
    partners = torch.stack([-second, first], dim=4).reshape(q.shape)
    right = reference.rotate(
        q.transpose(1, 2), IDS, inv_freq(HEAD_DIM), layout="interleaved"
    ).transpose(1, 2)
    torch.testing.assert_close(q * cos + partners * sin, right)
