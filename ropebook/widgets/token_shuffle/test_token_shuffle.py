"""The token shuffle's Python side: what it reports against a head written out as loops."""

import itertools
import math
import re
from pathlib import Path

import pytest
import torch
import traitlets

pytest.importorskip("anywidget")

from ropebook.widgets import TokenShuffle, base, bundle
from ropebook.widgets.token_shuffle.widget import (
    KEY_MATRIX,
    QUERY_MATRIX,
    SENTENCES,
    VALUE_MATRIX,
    swapped,
)

SWITCHES = list(itertools.product([False, True], repeat=2))


def by_hand(sentence, order, positions, causal):
    """Outputs and weights of the head, one word at a time, with nothing of ropelib."""
    points = []
    for place, word in enumerate(order):
        x, y = SENTENCES[sentence]["embeddings"][word]
        points.append((x + positions * math.sin(place), y + positions * math.cos(place)))
    q, k, v = (
        [(a * x + b * y, c * x + d * y) for x, y in points]
        for ((a, b), (c, d)) in (QUERY_MATRIX, KEY_MATRIX, VALUE_MATRIX)
    )
    outputs, weights = [], []
    for m, (qx, qy) in enumerate(q):
        seen = range(m + 1 if causal else len(q))
        powers = [math.exp((qx * k[n][0] + qy * k[n][1]) / math.sqrt(2)) for n in seen]
        row = [power / sum(powers) for power in powers]
        outputs.append([sum(w * v[n][axis] for n, w in enumerate(row)) for axis in (0, 1)])
        weights.append(row + [0.0] * (len(q) - len(row)))
    return torch.tensor(outputs, dtype=torch.float64), torch.tensor(weights, dtype=torch.float64)


@pytest.mark.parametrize(("positions", "causal"), SWITCHES)
@pytest.mark.parametrize("sentence", SENTENCES)
def test_reports_what_a_head_in_loops_gives(sentence, positions, causal):
    count = len(SENTENCES[sentence]["words"])
    original = by_hand(sentence, range(count), positions, causal)[0]
    for order in SENTENCES[sentence]["shuffles"]:
        shuffle = TokenShuffle(sentence=sentence, order=order, positions=positions, causal=causal)
        outputs, weights = by_hand(sentence, order, positions, causal)
        torch.testing.assert_close(shuffle.outputs, outputs)
        torch.testing.assert_close(shuffle.weights, weights)
        torch.testing.assert_close(shuffle.original_outputs, original[order])
        torch.testing.assert_close(shuffle.pooled, outputs.mean(dim=0))
        change = (outputs - original[order]).abs().max().item()
        assert shuffle.change == pytest.approx(change, abs=1e-12)
        pooled_change = (outputs.mean(dim=0) - original.mean(dim=0)).abs().max().item()
        assert shuffle.pooled_change == pytest.approx(pooled_change, abs=1e-12)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_order_leaves_each_word_its_output_and_the_mean(sentence):
    shuffle = TokenShuffle(sentence=sentence)
    for order in itertools.permutations(range(len(shuffle.words))):
        shuffle.order = list(order)
        assert shuffle.change < 1e-12 and shuffle.pooled_change < 1e-12


@pytest.mark.parametrize(("positions", "causal"), SWITCHES[1:])
@pytest.mark.parametrize("sentence", SENTENCES)
def test_positions_or_a_mask_move_outputs_by_more_than_half_a_unit(sentence, positions, causal):
    shuffle = TokenShuffle(sentence=sentence, positions=positions, causal=causal)
    assert shuffle.change > 1 and shuffle.pooled_change > 0.2
    moves = (shuffle.outputs - shuffle.original_outputs).norm(dim=-1)
    assert all(moves[place] > 0.5 for place in SENTENCES[sentence]["swap"])
    shuffle.order = sorted(shuffle.order)
    assert shuffle.change == shuffle.pooled_change == 0


def test_both_the_say_the_same_until_positions_are_added():
    shuffle = TokenShuffle(sentence="english")
    assert [i for i, word in enumerate(shuffle.words) if word == "the"] == [0, 3]
    torch.testing.assert_close(shuffle.outputs[0], shuffle.outputs[3], rtol=0, atol=1e-12)
    shuffle.positions = True
    assert (shuffle.outputs[0] - shuffle.outputs[3]).abs().max() > 0.3


def test_the_first_word_under_a_mask_says_its_own_embedding():
    shuffle = TokenShuffle(order=[0, 1, 2], causal=True)
    assert shuffle.outputs[0].tolist() == SENTENCES["chinese"]["embeddings"][0]
    assert shuffle.weights[0].tolist() == [1, 0, 0]


def test_starts_with_who_and_whom_swapped():
    shuffle = TokenShuffle()
    assert (shuffle.positions, shuffle.causal) == (False, False)
    assert shuffle.words == ["你", "喜欢", "我"]
    assert TokenShuffle(sentence="english").words == ["the", "cat", "sees", "the", "dog"]


def test_another_sentence_starts_anew_unless_it_comes_with_its_order():
    shuffle = TokenShuffle(order=[1, 2, 0])
    shuffle.sentence = "english"
    assert shuffle.order == swapped("english")
    with shuffle.hold_trait_notifications():  # as a message from the browser is taken
        shuffle.sentence, shuffle.order = "chinese", [0, 2, 1]
    assert shuffle.order == [0, 2, 1]
    assert TokenShuffle(sentence="english", order=[4, 3, 2, 1, 0]).order == [4, 3, 2, 1, 0]


def test_no_shuffle_is_the_original_order():
    for sentence in SENTENCES.values():
        original = list(range(len(sentence["words"])))
        for order in sentence["shuffles"]:
            assert sorted(order) == original != order


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("sentence", "latin", "sentence must be one of chinese, english, got 'latin'"),
        ("order", [0, 1], r"order must hold each of 0 ... 2 once, got \[0, 1\]"),
        ("order", [0, 1, 1], r"order must hold each of 0 ... 2 once, got \[0, 1, 1\]"),
        ("order", [1, 2, 3], r"order must hold each of 0 ... 2 once, got \[1, 2, 3\]"),
    ],
)
def test_refuses(name, value, message):
    with pytest.raises(traitlets.TraitError, match=message):
        TokenShuffle(**{name: value})
    shuffle = TokenShuffle()
    before = getattr(shuffle, name)
    with pytest.raises(traitlets.TraitError, match=message):
        setattr(shuffle, name, value)
    assert getattr(shuffle, name) == before


@pytest.mark.parametrize("name", ["sentences", "query_matrix", "key_matrix", "value_matrix"])
def test_the_numbers_cannot_be_changed(name):
    with pytest.raises(traitlets.TraitError, match="read-only"):
        setattr(TokenShuffle(), name, {})


# Other machines have other fonts: letters set wider stand for those of wide ones.
@pytest.mark.parametrize(
    ("width", "spacing"),
    [(1280, "0"), (720, "0.1em"), (390, "0"), (390, "0.1em"), (340, "0"), (340, "0.1em")],
)
def test_nothing_jumps_in_height_whatever_the_font(on_scratch, width, spacing):
    page = on_scratch("token_shuffle", (width, 844), reduced_motion="reduce").page
    page.evaluate("(spacing) => { document.body.style.letterSpacing = spacing }", spacing)
    heights = {}
    for positions, causal in SWITCHES:
        for name, sentence in SENTENCES.items():
            orders = [list(range(len(sentence["words"]))), swapped(name), *sentence["shuffles"]]
            for order in orders:
                state = {"sentence": name, "order": order}
                state |= {"positions": positions, "causal": causal}
                height = page.evaluate(
                    """async (state) => {
                      for (const name in state) model.set(name, state[name]);
                      await new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
                      return document.querySelector(".rope-frame").offsetHeight;
                    }""",
                    state,
                )
                heights.setdefault(height, state)
    assert len(heights) == 1, heights


def test_words_stand_in_the_table_only():
    source = Path(__file__).with_name("widget.js").read_text("utf-8")
    table, code = re.fullmatch(r"(.*?^};\n)(.*)", source, re.DOTALL | re.MULTILINE).groups()
    used = {"title", *re.findall(r"(?<![\w.])words\.(\w+)", code)}  # the frame reads the title
    assert used == set(re.findall(r"^    (\w+):", table, re.MULTILINE))


def test_the_picture_reads_every_synced_trait_and_is_one_small_module():
    source = bundle.bundle("token_shuffle")
    for trait in set(TokenShuffle().keys) - set(base.RopeWidget().keys):
        assert f'"{trait}"' in source, trait
    assert re.findall(r"https?://[^\"'\s]+", source) == ["http://www.w3.org/2000/svg"]
    assert "fetch(" not in source and len(source.encode()) < 45_000
