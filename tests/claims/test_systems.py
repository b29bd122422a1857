"""Systems that the documents name and the library has no part of its own for, run here.

What is not installed is written down from its published formula; the rest is transformers' code.
"""

import math

import pytest
import torch
from claims import decides
from torch.nn import functional as F

from ropelib import apply_rotary, cos_sin, inv_freq, reference
from ropelib.attention import attend
from ropelib.diagnosis import diagnose
from ropelib.encodings import LearnedAbsolute, NoPosition, Rotary, sinusoids
from ropelib.scaling import linear, ntk_aware

HEAD_DIM = 16


def random(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


# ---- DETR: sines of the row, then sines of the column ----


@pytest.mark.parametrize("size", [(3, 5), (7, 2)], ids=str)
def test_detr_has_a_sinusoidal_code_for_each_axis(size):
    from transformers.models.detr.modeling_detr import DetrSinePositionEmbedding

    rows, columns = size
    theirs = DetrSinePositionEmbedding(HEAD_DIM)
    assert [*theirs.parameters()] == []
    grid = theirs((1, 3, *size), "cpu", torch.float64)[0].permute(1, 2, 0)
    of_rows, of_columns = (
        sinusoids(torch.arange(1, count + 1), HEAD_DIM, dtype=torch.float64) for count in size
    )
    ours = torch.cat(
        [of_rows[:, None].expand(-1, columns, -1), of_columns[None].expand(rows, -1, -1)], dim=-1
    )
    torch.testing.assert_close(grid, ours)
    # So the product of two patches' codes knows how far apart they are, row by row and across.
    products = torch.einsum("abd,xyd->abxy", grid, grid)
    torch.testing.assert_close(products[1:, 1:, 1:, 1:], products[:-1, :-1, :-1, :-1])


def test_detr_scales_each_axis_to_one_turn():
    from transformers.models.detr.modeling_detr import DetrSinePositionEmbedding

    normalized = DetrSinePositionEmbedding(HEAD_DIM, normalize=True)
    for rows in (4, 40):
        grid = normalized((1, 3, rows, 1), "cpu", torch.float64)[0, :, :, 0].T
        places = torch.arange(1, rows + 1).double() / (rows + 1e-6) * 2 * math.pi
        torch.testing.assert_close(
            grid[:, :HEAD_DIM], sinusoids(places, HEAD_DIM, dtype=torch.float64)
        )


# ---- RoBERTa: a learned table, whose first rows belong to nobody ----


@pytest.fixture
def roberta():
    from transformers import RobertaConfig, RobertaModel

    torch.manual_seed(0)
    config = RobertaConfig(
        vocab_size=11,
        hidden_size=HEAD_DIM,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=12,
        attn_implementation="eager",
    )
    return RobertaModel(config, add_pooling_layer=False).double().eval()


def test_roberta_adds_rows_of_a_learned_table_that_starts_after_the_padding(roberta):
    embeddings, words = roberta.embeddings, torch.tensor([[5, 7, 7, 2]])
    table = LearnedAbsolute(12, HEAD_DIM).double()
    with torch.no_grad():
        table.table.copy_(embeddings.position_embeddings.weight)
    first = embeddings.padding_idx + 1
    assert first == 2, "as fairseq numbers them"
    bare = embeddings.word_embeddings(words) + embeddings.token_type_embeddings.weight[0]
    ours = embeddings.LayerNorm(table.embed(bare, torch.arange(first, first + 4)))
    torch.testing.assert_close(embeddings(words), ours)
    with pytest.raises((IndexError, RuntimeError), match="out of"):
        roberta(torch.full((1, 11), 5))  # 12 rows, of which two are not for words


@decides("S000-62")
def test_roberta_turns_nothing_inside_attention(roberta):
    """Without its table it knows no order at all; a rotation in its layers would be heard."""
    with torch.no_grad():
        roberta.embeddings.position_embeddings.weight.zero_()
        words, order = torch.tensor([[5, 7, 3, 2]]), torch.tensor([2, 0, 3, 1])
        here = roberta(words).last_hidden_state[:, order]
        torch.testing.assert_close(roberta(words[:, order]).last_hidden_state, here)


# ---- PaLM: RoPE, one key and one value head for all, attention beside the feedforward ----


class Palm(torch.nn.Module):
    """One layer: y = x + MLP(LN(x)) + Attention(LN(x)), no biases (Chowdhery et al., section 2)."""

    def __init__(self, num_heads=4, width=32, inner=24):
        super().__init__()
        self.num_heads = num_heads
        self.norm = torch.nn.LayerNorm(width, bias=False)
        self.to_q = torch.nn.Linear(width, num_heads * HEAD_DIM, bias=False)
        self.to_kv = torch.nn.Linear(width, 2 * HEAD_DIM, bias=False)
        self.from_heads = torch.nn.Linear(num_heads * HEAD_DIM, width, bias=False)
        self.gate, self.up = (torch.nn.Linear(width, inner, bias=False) for _ in "ab")
        self.down = torch.nn.Linear(inner, width, bias=False)

    def forward(self, x, encoding, position_ids):
        y = self.norm(x)
        q = self.to_q(y).unflatten(-1, (self.num_heads, HEAD_DIM)).transpose(0, 1)
        k, v = self.to_kv(y)[None].chunk(2, dim=-1)
        heads, _ = attend(encoding, q, k, v, key_position_ids=position_ids, causal=True)
        attention = self.from_heads(heads.transpose(0, 1).flatten(1))
        return x + self.down(F.silu(self.gate(y)) * self.up(y)) + attention


def test_palm_turns_each_heads_query_and_the_one_key_that_all_share():
    torch.manual_seed(0)
    layer, x, at = Palm().double(), random(6, 32), torch.arange(6)
    with torch.no_grad():
        here = layer(x, Rotary(HEAD_DIM), at)
        torch.testing.assert_close(layer(x, Rotary(HEAD_DIM), at + 1000), here)
        assert (layer(x, NoPosition(), at) - here).abs().max() > 1e-2
        # Head by head, query by query, with the matrices of the oracle.
        y = layer.norm(x)
        k, v = layer.to_kv(y).chunk(2, dim=-1)
        frequencies = inv_freq(HEAD_DIM)
        turns = [reference.rotation_matrix(p, frequencies, layout="interleaved") for p in at]
        heads = torch.zeros(6, 4, HEAD_DIM, dtype=torch.float64)
        for m in range(6):
            for h, q in enumerate(layer.to_q(y[m]).unflatten(0, (4, HEAD_DIM))):
                scores = [(turns[m] @ q) @ (turns[n] @ k[n]) / 4 for n in range(m + 1)]
                heads[m, h] = torch.stack(scores).softmax(0) @ v[: m + 1]
        feedforward = layer.down(F.silu(layer.gate(y)) * layer.up(y))
        torch.testing.assert_close(here, x + feedforward + layer.from_heads(heads.flatten(1)))
        # Fewer numbers to keep while decoding: one key and value for all heads.
        assert layer.to_kv.out_features == 2 * HEAD_DIM < 2 * layer.to_q.out_features


# ---- lucidrains/rotary-embedding-torch, as a witness ----


def lucidrains(x, position_ids, *, interpolate_factor=1.0, theta_rescale_factor=1.0):
    """What its `rotate_queries_or_keys` computes, in float32 as it does (at commit 02a5d07).

    The base is rescaled by the power d / (d - 2), positions are divided, each angle stands twice,
    and the partner of a pair is (-second, first).
    """
    width = x.shape[-1]
    base = 10_000 * theta_rescale_factor ** (width / (width - 2))
    frequencies = 1.0 / base ** (torch.arange(0, width, 2).float() / width)
    places = torch.as_tensor(position_ids).float() / interpolate_factor
    angles = (places[..., None] * frequencies).repeat_interleave(2, dim=-1)
    first, second = x.unflatten(-1, (-1, 2)).unbind(-1)
    partners = torch.stack((-second, first), dim=-1).flatten(-2)
    return x * angles.cos() + partners * angles.sin()


@pytest.mark.parametrize(
    ("options", "frequencies"),
    [
        ({}, inv_freq(HEAD_DIM)),
        ({"interpolate_factor": 4.0}, linear(HEAD_DIM, factor=4.0)[0]),
        ({"theta_rescale_factor": 8.0}, ntk_aware(HEAD_DIM, factor=8.0)[0]),
    ],
    ids=["plain", "position interpolation", "NTK-aware"],
)
def test_the_witness_turns_as_this_library_does(options, frequencies):
    x, at = random(2, 300, HEAD_DIM).float(), torch.arange(300)
    cos, sin = cos_sin(at, frequencies)
    ours = apply_rotary(x, cos, sin, layout="interleaved")
    # It rounds angles to float32: 300 radians to 3e-5.
    torch.testing.assert_close(lucidrains(x, at, **options), ours, rtol=0, atol=2e-4)
    half = apply_rotary(x, cos, sin, layout="half")
    assert (half - ours).abs().max() > 1, "the other layout is another rotation"


def test_the_diagnosis_finds_nothing_wrong_with_the_witness():
    report = diagnose(lucidrains, max_position=512)
    assert (report.ok, report.layout) == (True, "interleaved")
