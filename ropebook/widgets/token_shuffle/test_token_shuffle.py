"""The token shuffle's Python side: what it reports against a head written out as loops."""

import itertools
import math

import pytest
import torch
import traitlets

pytest.importorskip("anywidget")

from browser import FRAMES, PHONE, open_page
from hands import drag
from oracles import Oracle, wrong_readouts
from refusals import assert_refused
from scratch import page_of

from ropebook.widgets import TokenShuffle
from ropebook.widgets.token_shuffle.widget import (
    KEY_MATRIX,
    QUERY_MATRIX,
    SENTENCES,
    VALUE_MATRIX,
    swapped,
)
from ropelib.attention import attend
from ropelib.encodings import NoPosition, sinusoids

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
    assert_refused(TokenShuffle, name, value, message)


@pytest.mark.parametrize("name", ["sentences", "query_matrix", "key_matrix", "value_matrix"])
def test_the_numbers_cannot_be_changed(name):
    with pytest.raises(traitlets.TraitError, match="read-only"):
        setattr(TokenShuffle(), name, {})


# ---- what it must report ----


def answers(inputs):
    order = inputs["order"]
    embeddings = SENTENCES[inputs["sentence"]]["embeddings"]
    matrices = QUERY_MATRIX, KEY_MATRIX, VALUE_MATRIX

    def read(words):
        x = torch.tensor(embeddings, dtype=torch.float64)[words]
        x = x + inputs["positions"] * sinusoids(torch.arange(len(words)), 2, dtype=torch.float64)
        q, k, v = (x @ torch.tensor(matrix, dtype=torch.float64).T for matrix in matrices)
        return attend(NoPosition(), q, k, v, causal=inputs["causal"])

    outputs, weights = read(order)
    original, _ = read(sorted(order))
    pooled = outputs.mean(dim=0)
    return {
        "output_x": outputs[:, 0].tolist(),
        "output_y": outputs[:, 1].tolist(),
        "weight": weights.flatten().tolist(),
        "change": (outputs - original[order]).abs().max().item(),
        "pooled_x": pooled[0].item(),
        "pooled_y": pooled[1].item(),
        "pooled_change": (pooled - original.mean(dim=0)).abs().max().item(),
    }


ORACLE = Oracle(answers, held=("sentence", "order", "positions", "causal"))


# ---- what it does when it is moved ----


def words_of(shuffle):
    """The words as they stand on the screen, from left to right."""
    return shuffle.host.evaluate(
        """(host) => [...host.querySelectorAll("[role=slider]")]
          .sort((a, b) => a.getBoundingClientRect().x - b.getBoundingClientRect().x)
          .map((tile) => tile.querySelector("text").textContent)"""
    )


def test_stops_and_switches_of_the_shuffle_report_what_ropelib_gives(on_scratch):
    shuffle = on_scratch("token_shuffle")
    for name, sentence in SENTENCES.items():
        choice = shuffle.control("sentence").get_by_role("radio", name=" ".join(sentence["words"]))
        choice.click()
        for switch in ("positions", "causal", "positions", "causal"):
            shuffle.control("original").click()
            orders = [("swap", swapped(name)), *(("shuffle", o) for o in sentence["shuffles"])]
            orders.append(("original", sorted(swapped(name))))
            for button, order in orders:
                shuffle.control(button).click()
                shuffle.frames()
                inputs = {"sentence": name, "order": order}
                inputs |= {s: shuffle.control(s).is_checked() for s in ("positions", "causal")}
                assert wrong_readouts(shuffle, inputs) == [], button
                shuffle.still()
                assert words_of(shuffle) == [sentence["words"][word] for word in order]
                moved = button != "original" and (inputs["positions"] or inputs["causal"])
                statuses = shuffle.host.locator(".rope-tokens-status").all_text_contents()
                assert ("new" in statuses) == moved
            shuffle.control(switch).click()


def test_keys_and_pointer_move_a_word_and_the_focus_goes_with_it(on_scratch):
    shuffle = on_scratch("token_shuffle")
    state = {"sentence": "chinese", "order": [0, 1, 2], "positions": True, "causal": False}
    shuffle.control("original").click()
    shuffle.control("positions").click()
    shuffle.control("tile_0").focus()
    for key, order, place in [
        ("ArrowRight", [1, 0, 2], 1),
        ("ArrowRight", [1, 2, 0], 2),
        ("ArrowRight", [1, 2, 0], 2),
        ("ArrowLeft", [1, 0, 2], 1),
        ("Home", [0, 1, 2], 0),
        ("End", [1, 2, 0], 2),
    ]:
        shuffle.page.keyboard.press(key)
        shuffle.frames()
        assert wrong_readouts(shuffle, state | {"order": order}) == [], key
        focused = shuffle.page.evaluate("document.activeElement.dataset.control")
        assert focused == f"tile_{place}"
    shuffle.reveal("tile_0")
    start, end = shuffle.center("tile_0"), shuffle.center("tile_2")
    drag(shuffle.page, start, [end[0] + 20, end[1] + 40])
    shuffle.still()
    assert words_of(shuffle) == ["你", "我", "喜欢"]
    assert wrong_readouts(shuffle, state | {"order": [2, 0, 1]}) == []


def test_a_finger_drags_a_word_and_scrolls_beside_it(on_scratch):
    touch = {"size": PHONE, "has_touch": True, "is_mobile": True}
    shuffle = on_scratch("token_shuffle", **touch)
    shuffle.control("original").tap()
    shuffle.reveal("tile_0")
    start, end = shuffle.center("tile_0"), shuffle.center("tile_2")
    drag(shuffle.page, start, [end[0], end[1] + 150], touch=True)
    shuffle.still()
    assert words_of(shuffle) == ["喜欢", "你", "我"]
    before = shuffle.page.evaluate("scrollY")
    drag(shuffle.page, [start[0], start[1] + 90], [start[0], start[1] - 60], touch=True)
    shuffle.page.wait_for_function("(least) => scrollY > least", arg=before + 50)
    assert words_of(shuffle) == ["喜欢", "你", "我"]


def test_another_sentence_chosen_while_words_travel_begins_at_rest(chromium, tmp_path):
    address = tmp_path / "index.html"
    address.write_text(page_of(TokenShuffle()), encoding="utf-8")
    context = chromium.new_context(reduced_motion="no-preference", offline=True)
    page = context.new_page()
    page.goto(address.as_uri())
    page.wait_for_selector(".rope-widget")
    # Each frame's transforms, until well after the first motion would have come to its end.
    seen = page.evaluate(
        """async () => {
          const frame = () => new Promise((done) => requestAnimationFrame(done));
          const look = () => [...document.querySelectorAll(".rope-tokens [transform]")]
            .map((node) => node.getAttribute("transform"));
          document.querySelector("[data-control=swap]").click();
          const before = look();
          while (String(look()) === String(before)) await frame();
          document.querySelector("[role=radio][aria-checked=false]").click();
          await frame();
          await frame();
          const seen = [look()];
          for (const end = performance.now() + 600; performance.now() < end; await frame()) {
            seen.push(look());
          }
          return seen;
        }"""
    )
    context.close()
    assert "NaN" not in str(seen)
    assert all(look == seen[0] for look in seen), "the new sentence moves by itself"


def test_a_word_in_the_hand_is_put_down_when_the_sentence_changes(chromium, tmp_path):
    address = tmp_path / "index.html"
    address.write_text(page_of(TokenShuffle()), encoding="utf-8")
    context = chromium.new_context(viewport={"width": 800, "height": 1200}, offline=True)
    page, _ = open_page(context, address.as_uri())
    page.evaluate(
        """() => {
          model.set("sentence", "english");
          model.set("order", [0, 1, 2, 3, 4]);
        }"""
    )
    page.locator("[data-control=tile_4]").wait_for()
    page.evaluate(FRAMES)
    box = page.locator("[data-control=tile_0]").bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 40, box["y"] + 20)
    page.evaluate(
        """() => {
          model.set("sentence", "chinese");
          model.set("order", [0, 1, 2]);
        }"""
    )
    page.mouse.move(box["x"] + 600, box["y"] + 20)
    page.mouse.up()
    assert page.evaluate("model.get('order')") == [0, 1, 2]
    context.close()


def test_a_card_asks_before_it_answers(on_scratch):
    card = {"says": "Move a word.", "title": "A chapter", "to": "chapter.html"}
    assert TokenShuffle(card=card).order == [0, 1, 2]
    assert TokenShuffle(card=card, order=[1, 0, 2]).order == [1, 0, 2]
    assert TokenShuffle().order == swapped("chinese")
    widget = on_scratch("token_shuffle", traits={"card": card})
    said = widget.host.locator(".rope-tokens-status")
    assert said.all_text_contents() == ["", "", ""]
    widget.control("tile_0").press("ArrowRight")
    widget.still()
    assert said.all_text_contents() == ["same output"] * 3
