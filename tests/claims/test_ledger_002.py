"""What document 002 claims, where no chapter's own tests decide it: its proof, and its code.

The code is rebuilt from its formulas, faults included; no line of the document stands here.
"""

import cmath
import math
import types
import typing

import pytest
import sympy as sp
import torch
from claims import decides

from ropebook.experiments.transformer import Layer
from ropebook.symbolic import Derivation, WrongStep, assert_equal, k, m, n, product, q, rotation
from ropebook.symbolic import theta as angle
from ropelib import apply_rotary, convert_layout, cos_sin, inv_freq, reference
from ropelib.encodings import Rotary, Sinusoidal

HEAD_DIM, LENGTH = 8, 5
IDS = torch.arange(LENGTH)
FREQUENCIES = inv_freq(HEAD_DIM)


def random(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


# ---- what goes into attention ----


@decides("S002-5", "S002-17")
@pytest.mark.parametrize("kind", [Rotary, Sinusoidal])
def test_query_key_and_value_come_from_one_word_each_and_its_place(kind):
    """Another word at 2 changes no other row; a score has the words of its row and its column."""
    encoding = kind(HEAD_DIM).double()
    to_qkv = random(3, HEAD_DIM, HEAD_DIM)

    def rows(x, ids):
        queries, keys, values = (encoding.embed(x, ids) @ w for w in to_qkv)
        queries, keys = encoding.rotate(queries, keys, ids, ids)
        return queries, keys, values, queries @ keys.T

    x, ids = random(LENGTH, HEAD_DIM, seed=1), IDS.clone()
    before = rows(x, ids)
    other, moved = x.clone(), ids.clone()
    other[2] += 1
    moved[2] = 9
    is_2 = IDS == 2
    for now, parts in ((rows(other, ids), 3), (rows(x, moved), 2)):
        for one, old in zip(now[:parts], before, strict=False):
            assert torch.equal(~torch.isclose(one, old).all(-1), is_2)
    scores_changed = ~torch.isclose(rows(other, ids)[3], before[3])
    assert torch.equal(scores_changed, is_2[:, None] | is_2)


@decides("S002-10", "S002-47")
def test_one_matrix_for_all_words_and_places_follows_the_sum():
    """Read off some words, it predicts the others; what RoPE does changes with the place."""
    width = 16
    layer = Layer(width, 2, Sinusoidal(width)).double()
    x, places = random(60, width), torch.arange(60)
    sums = layer.encoding.embed(x, places)
    with torch.no_grad():
        parts = layer.to_qkv(sums).unflatten(-1, (3, width)).unbind(-2)
        turned, _ = Rotary(width).double().rotate(parts[0], parts[1], places, places)
    for vectors, is_one_matrix in zip((*parts, turned), (True, True, True, False), strict=True):
        matrix = torch.linalg.lstsq(sums[:40], vectors[:40], driver="gelsd").solution
        assert matrix.shape == (width, width)
        assert torch.allclose(sums[40:] @ matrix, vectors[40:]) == is_one_matrix


# ---- the proof in the plane ----

CLOSED = q.dot(k) * sp.cos((m - n) * angle) - (q[1] * k[0] - q[0] * k[1]) * sp.sin((m - n) * angle)


@decides("S002-21")
def test_the_real_part_in_closed_form():
    by_numbers = (q[0] + sp.I * q[1]) * (k[0] - sp.I * k[1]) * sp.exp(sp.I * (m - n) * angle)
    assert_equal(sp.re(by_numbers), CLOSED)
    with pytest.raises(WrongStep):
        assert_equal(sp.re(by_numbers), CLOSED.subs({m: n, n: m}, simultaneous=True))


@decides("S002-23", "S002-24", "S002-25")
def test_the_proof_has_one_wrong_line_and_ends_right():
    """With the turn by n - m in its third line each line equals the one before."""
    turn_m, turn_n = rotation(m * angle), rotation(n * angle)
    transposed = sp.Matrix(
        [[sp.cos(m * angle), sp.sin(m * angle)], [-sp.sin(m * angle), sp.cos(m * angle)]]
    )

    def proof(between):
        return Derivation(
            (turn_m * q).dot(turn_n * k),
            [
                (product(q.T, transposed, turn_n, k), "the first matrix transposed"),
                (product(q.T, between, k), "the two turns in one"),
                (CLOSED, "multiplied out"),
            ],
        )

    printed = rotation((m - n) * angle)
    with pytest.raises(WrongStep, match="line 2"):
        proof(printed)
    with pytest.raises(WrongStep):
        assert_equal(product(q.T, printed, k), CLOSED)
    assert proof(rotation((n - m) * angle)).end == CLOSED


# ---- the proof in many dimensions ----


@decides("S002-27")
@pytest.mark.parametrize("d", [2, 8, 64])
def test_the_matrix_has_a_block_for_each_pair_of_neighbors(d):
    """Numbered from 1, as printed; read off the library's fast path by turning the axes."""
    speeds = [10_000 ** (-2 * (i - 1) / d) for i in range(1, d // 2 + 1)]
    for place in (1, 7):
        blocks = [
            [
                [math.cos(place * s), -math.sin(place * s)],
                [math.sin(place * s), math.cos(place * s)],
            ]
            for s in speeds
        ]
        printed = torch.block_diag(*torch.tensor(blocks, dtype=torch.float64))
        assert printed.shape == (d, d)
        cos, sin = cos_sin([place], inv_freq(d), dtype=torch.float64)
        axes = torch.eye(d).double()[:, None]
        turned = apply_rotary(axes, cos, sin, layout="interleaved")[:, 0]
        torch.testing.assert_close(turned.T, printed)


@decides("S002-29", "S002-30", "S002-31")
@pytest.mark.parametrize(("at", "to"), [(3, 1), (2, 9)])
def test_the_second_line_is_right_and_its_neighbors_are_not(at, to):
    """The first compares the query with itself, the third turns the wrong way."""
    w_q, w_k = random(2, HEAD_DIM, HEAD_DIM)
    x_m, x_n = random(2, HEAD_DIM, seed=1)
    turn_m, turn_n, ahead, behind = (
        reference.rotation_matrix(p, FREQUENCIES, layout="interleaved")
        for p in (at, to, to - at, at - to)
    )
    score = (turn_m @ w_q @ x_m) @ (turn_n @ w_k @ x_n)
    with_itself = (turn_m @ w_q @ x_m) @ (turn_m @ w_q @ x_m)
    assert torch.isclose(with_itself, (w_q @ x_m).square().sum())  # no position, no key
    assert not torch.isclose(with_itself, score)
    torch.testing.assert_close(x_m @ w_q.T @ turn_m.T @ turn_n @ w_k @ x_n, score)
    torch.testing.assert_close(turn_m.T @ turn_n, ahead)
    torch.testing.assert_close(x_m @ w_q.T @ ahead @ w_k @ x_n, score)
    assert not torch.allclose(turn_m.T @ turn_n, behind)
    assert not torch.isclose(x_m @ w_q.T @ behind @ w_k @ x_n, score)


@decides("S002-34")
def test_each_cosine_stands_twice_or_the_columns_do_not_fit():
    """In the plane the short column is right, for a column of one number is repeated."""
    for d, fits in ((2, True), (HEAD_DIM, False)):
        x, (cos, sin) = random(d), (t[0] for t in cos_sin([3], inv_freq(d), dtype=torch.float64))
        partners = torch.stack((-x[1::2], x[0::2]), dim=-1).flatten()
        right = reference.rotation_matrix(3, inv_freq(d), layout="interleaved") @ x
        twice = (t.repeat_interleave(2) for t in (cos, sin))
        torch.testing.assert_close(x * next(twice) + partners * next(twice), right)
        if fits:
            torch.testing.assert_close(x * cos + partners * sin, right)
        else:
            with pytest.raises(RuntimeError, match="must match"):
                x * cos + partners * sin


# ---- the code ----


def table(dim, length, base=10_000.0):
    """A complex number per place and pair, as the document's first function makes them."""
    speeds = base ** -(torch.arange(0, dim, 2) / dim)
    angles = torch.outer(torch.arange(length), speeds)
    return torch.polar(torch.ones_like(angles), angles)


def turned(x, numbers, merged_from=2):
    """As its second function turns queries and keys; all axes from `merged_from` become one."""
    pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * numbers).flatten(merged_from).type_as(x)


def head(x, weights, numbers, mask=None):
    """As its class means to: project, turn queries and keys, compare, average the values."""
    queries, keys, values = (x @ w.T for w in weights)
    scores = turned(queries, numbers, -2) @ turned(keys, numbers, -2).mT
    scores = scores / math.sqrt(queries.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask, -math.inf)
    return scores.softmax(-1) @ values


# Its tables and products are float32, whatever the input is: sums of tens of products that are
# rounded by 6e-8 each.
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def oracle(x, layout="interleaved"):
    return reference.rotate(x, range(x.shape[-2]), FREQUENCIES, layout=layout)


@decides("S002-36", "S002-38")
def test_the_table_holds_turns_and_is_half_as_wide_as_its_docstring_says():
    numbers = table(HEAD_DIM, LENGTH)
    assert (numbers.shape, numbers.dtype) == ((LENGTH, HEAD_DIM // 2), torch.complex64)
    for place in range(LENGTH):
        for i in range(HEAD_DIM // 2):
            turn = cmath.exp(1j * place * 10_000 ** (-2 * i / HEAD_DIM))
            assert abs(numbers[place, i].item() - turn) < 1e-6


@decides("S002-39")
@pytest.mark.parametrize("base", [100.0, 10_000.0])
def test_angles_are_powers_of_the_base_and_no_multiples(base):
    angles = table(HEAD_DIM, 2, base)[1].angle().double()
    powers = [base ** (-2 * i / HEAD_DIM) for i in range(HEAD_DIM // 2)]
    torch.testing.assert_close(angles, torch.tensor(powers).double(), rtol=1e-5, atol=0)
    in_bases = angles / base
    assert not torch.isclose(in_bases, in_bases.round(), rtol=0, atol=1e-9).any()


@decides("S002-37")
def test_the_table_is_as_wide_as_a_head_which_is_the_model_if_it_is_the_only_one():
    model_dim = 2 * HEAD_DIM
    one_head = random(1, LENGTH, model_dim)
    of_model, of_head = table(model_dim, LENGTH), table(HEAD_DIM, LENGTH)
    by_model = reference.rotate(one_head, IDS, inv_freq(model_dim), layout="interleaved")
    torch.testing.assert_close(turned(one_head, of_model), by_model, **CLOSE)
    for x in one_head.split(HEAD_DIM, dim=-1):  # two heads
        with pytest.raises(RuntimeError, match="must match"):
            turned(x, of_model)
        torch.testing.assert_close(turned(x, of_head), oracle(x), **CLOSE)


@decides("S002-40", "S002-41")
@pytest.mark.parametrize("before", [(), (2,), (2, 3)], ids=str)
def test_shapes_are_kept_for_one_batch_axis_and_no_other(before):
    x, numbers = random(*before, LENGTH, HEAD_DIM), table(HEAD_DIM, LENGTH)
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        out = turned(x.to(dtype), numbers)
        assert (out.shape == x.shape) == (len(before) == 1)
        assert out.dtype == dtype
    torch.testing.assert_close(turned(x, numbers, -2), oracle(x), **CLOSE)
    if len(before) == 1:
        torch.testing.assert_close(turned(x, numbers), oracle(x), **CLOSE)


def names_missing_in(code, names, right):
    """Run code, giving it each name that it asks for in vain; return these, in their order."""
    missing = []
    while True:
        try:
            exec(code, names)
            return missing
        except NameError as error:
            missing.append(error.name)
            names[error.name] = right[error.name]


@decides("S002-42")
def test_two_names_are_missing_above_the_functions():
    """The last line asks for the annotations, which Python 3.14 would not look up by itself."""
    functions = """
def turn(x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    return x, x
get_type_hints(turn)
"""
    imports = "import torch\nfrom typing import Tuple\n"
    right = {"torch": torch, "Tuple": tuple}
    for code, missing in ((functions, [*right]), (imports + functions, [])):
        names = {"get_type_hints": typing.get_type_hints}
        assert names_missing_in(code, names, right) == missing


@decides("S002-44")
def test_five_names_of_the_class_are_assigned_nowhere():
    attention = """
class Attention:
    def __init__(self, args):
        self.numbers = table({dim}, {longest} * 2)
        self.dim = {dim}
    def forward(self, x):
        bsz, seqlen, _ = x.shape
        return turned(x.view({batch}, {length}, self.dim), {numbers})
result = Attention(args)
result = result.forward(x)
"""
    x, numbers = random(2, LENGTH, HEAD_DIM), table(HEAD_DIM, LENGTH)
    args = types.SimpleNamespace(dim=HEAD_DIM, n_heads=1, max_seq_len=LENGTH)
    printed = dict(
        dim="dim",
        longest="max_seq_len",
        batch="batch_size",
        length="seq_len",
        numbers="freqs_cis",
    )
    mended = dict(
        dim="args.dim // args.n_heads",
        longest="args.max_seq_len",
        batch="bsz",
        length="seqlen",
        numbers="self.numbers[:seqlen]",
    )
    values = (HEAD_DIM, LENGTH, 2, LENGTH, numbers)
    right = dict(zip(printed.values(), values, strict=True))
    for words, missing in ((printed, [*right]), (mended, [])):
        names = {"table": table, "turned": turned, "args": args, "x": x}
        assert names_missing_in(attention.format(**words), names, right) == missing
        torch.testing.assert_close(names["result"], oracle(x), **CLOSE)


@decides("S002-46")
def test_the_class_turns_what_was_projected_and_no_values():
    """The scores have R(n - m) between query and key; the values are as projected."""
    x, weights = random(LENGTH, HEAD_DIM), random(3, HEAD_DIM, HEAD_DIM, seed=1)
    queries, keys, values = (x @ w.T for w in weights)
    by_hand = []
    for place, query in enumerate(queries):
        turns = [
            reference.rotation_matrix(p, FREQUENCIES, layout="interleaved")
            for p in range(-place, LENGTH - place)
        ]
        scores = [query @ turn @ key for turn, key in zip(turns, keys, strict=True)]
        by_hand.append((torch.stack(scores) / math.sqrt(HEAD_DIM)).softmax(-1) @ values)
    torch.testing.assert_close(
        head(x, weights, table(HEAD_DIM, LENGTH)), torch.stack(by_hand), **CLOSE
    )


# ---- LLaMA itself, as transformers has it ----


@pytest.fixture
def llama():
    from transformers import LlamaConfig, LlamaModel

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=11,
        hidden_size=2 * HEAD_DIM,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        initializer_range=0.5,  # so that the words of a sentence attend to each other unevenly
    )
    return LlamaModel(config).double().eval()


def seen_in(llama, places):
    """What enters and leaves some parts of LLaMA's one layer, for words at these places."""
    attention, seen = llama.layers[0].self_attn, {}
    parts = {
        "embedding": llama.embed_tokens,
        "layer": llama.layers[0].input_layernorm,
        "q": attention.q_proj,
        "k": attention.k_proj,
        "v": attention.v_proj,
        "out": attention.o_proj,
    }

    def keep(name):
        def hook(module, arguments, output):
            seen[name] = (arguments[0], output)

        return hook

    handles = [part.register_forward_hook(keep(name)) for name, part in parts.items()]
    with torch.no_grad():
        llama(torch.tensor([[3, 1, 4, 1, 5]]), position_ids=places[None])
    for handle in handles:
        handle.remove()
    return seen


@decides("S002-35")
def test_llama_keeps_places_out_of_its_embeddings_and_projections(llama):
    """They enter between the projections and the scores; moved words change nothing before."""
    near, far = seen_in(llama, IDS), seen_in(llama, 3 * IDS)
    assert torch.equal(near["layer"][0], near["embedding"][1])
    for part in ("layer", "q", "k", "v"):
        assert torch.equal(near[part][1], far[part][1])
    assert (near["out"][0] - far["out"][0]).abs().max() > 0.01


@decides("S002-45")
def test_llama_has_a_mask_heads_and_an_output_matrix_too(llama):
    """With all three the class gives what LLaMA gives, and without any one of them it does not."""
    seen, attention = seen_in(llama, IDS), llama.layers[0].self_attn
    x, output = seen["q"][0][0], seen["out"][1][0]
    # transformers keeps LLaMA's pairs as halves of a head; the class has them side by side.
    q, k, v, out = (getattr(attention, f"{name}_proj").weight.detach() for name in "qkvo")

    def by_class(heads, mask, last):
        parts = []
        for w_q, w_k, w_v in zip(*(w.split(len(w) // heads) for w in (q, k, v)), strict=True):
            w_q, w_k = (
                convert_layout(w.T, source="half", target="interleaved").T for w in (w_q, w_k)
            )
            parts.append(head(x, (w_q, w_k, w_v), table(len(w_q), LENGTH), mask))
        return torch.cat(parts, dim=-1) @ last.T

    later = IDS > IDS[:, None]
    torch.testing.assert_close(by_class(2, later, out), output, **CLOSE)
    for heads, mask, last in ((1, later, out), (2, None, out), (2, later, torch.eye(len(out)))):
        without = by_class(heads, mask, last.double())
        assert (without - output).abs().max() > 0.01
