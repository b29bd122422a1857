"""The head whose values may turn: its Python side against explicit matrices, its source."""

import math

import pytest
import torch

pytest.importorskip("anywidget")

from browser import watched
from oracles import Oracle, wrong_readouts
from refusals import assert_refused

from ropebook.widgets import ValueRotation
from ropebook.widgets.value_rotation.widget import KEYS, QUERIES, VALUES, WAYS
from ropelib import apply_rotary, cos_sin, reference
from ropelib.attention import attend
from ropelib.encodings import NoPosition


def by_matrices(head):
    """Weights and output from the oracle's rotation matrices, one word at a time."""

    def turn(position):
        angle = torch.tensor([head.theta], dtype=torch.float64)
        return reference.rotation_matrix(position, angle, layout="interleaved")

    q, k, v = (torch.tensor(x).double() for x in (QUERIES, KEYS, VALUES))
    m = head.shift + head.query
    positions = range(head.shift, head.shift + 5)
    scores = [
        (turn(m) @ q[head.query]) @ (turn(n) @ k[i]) / math.sqrt(2) for i, n in enumerate(positions)
    ]
    weights = torch.stack(scores).softmax(-1)
    by = {"alone": lambda n: 0, "turned": lambda n: n, "turned_back": lambda n: n - m}[head.values]
    arrived = torch.stack([turn(by(n)) @ v[i] for i, n in enumerate(positions)])
    return weights, weights @ arrived


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("theta", "shift", "query"), [(0.3, 0, 0), (1.1, 7, 4), (1.57, 48, 2)])
def test_output_and_weights_are_those_of_matrices(way, theta, shift, query):
    head = ValueRotation(values=way, theta=theta, shift=shift, query=query)
    weights, output = by_matrices(head)
    torch.testing.assert_close(head.weights, weights)
    torch.testing.assert_close(head.output, output)
    assert math.isclose(head.output_length, output.norm())
    assert math.isclose(head.output_angle, math.atan2(output[1], output[0]))


@pytest.mark.parametrize("query", range(5))
def test_only_turned_values_carry_the_place_of_the_text(query):
    for way in WAYS:
        head = ValueRotation(values=way, query=query, shift=5)
        weights = head.weights
        assert (head.change > 1) == (way == "turned")
        head.shift = 0
        torch.testing.assert_close(head.weights, weights)
        assert head.change == 0


@pytest.mark.parametrize("query", range(5))
def test_turned_values_spin_at_theta_per_token_and_keep_their_length(query):
    head = ValueRotation(query=query, shift=0)
    angle, length = head.output_angle, head.output_length
    head.shift = 5
    assert abs(math.remainder(head.output_angle - angle - 5 * head.theta, math.tau)) < 1e-12
    assert math.isclose(head.output_length, length)


@pytest.mark.parametrize("query", range(5))
def test_turning_back_is_not_the_plain_output(query):
    assert ValueRotation(values="turned_back", query=query).gap > 0.4
    assert ValueRotation(values="alone", query=query).gap == 0


def test_without_a_turn_the_three_ways_are_one():
    outputs = [ValueRotation(values=way, theta=0.0, shift=20).output for way in WAYS]
    torch.testing.assert_close(outputs[1], outputs[0])
    torch.testing.assert_close(outputs[2], outputs[0])


def test_no_word_takes_all_and_no_output_is_short_at_the_start():
    for query in range(5):
        for way in WAYS:
            head = ValueRotation(values=way, query=query)
            assert head.weights.max() < 0.6 and head.output_length > 1.2


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("values", "twice", "values must be one of alone, turned, turned_back, got 'twice'"),
        ("shift", 49, r"shift must lie in \[0, 48\], got 49"),
        ("shift", -1, r"shift must lie in \[0, 48\], got -1"),
        ("query", 5, r"query must lie in \[0, 4\], got 5"),
        ("theta", 1.6, r"theta must lie in \[0, pi / 2\] rad per token, got 1.6"),
        ("theta", math.nan, r"theta must lie in \[0, pi / 2\] rad per token, got nan"),
    ],
)
def test_it_refuses(name, value, message):
    assert_refused(ValueRotation, name, value, message)


def test_it_takes_the_edges():
    head = ValueRotation(shift=48, query=4, theta=math.pi / 2)
    assert head.weights.shape == (5,)


# ---- what it must report ----


def answers(inputs):
    turn = torch.tensor([inputs["theta"]], dtype=torch.float64)
    q, k, v = (torch.tensor(x, dtype=torch.float64) for x in (QUERIES, KEYS, VALUES))

    def head_output(way, shift):
        cos, sin = cos_sin(torch.arange(5) + shift, turn, dtype=torch.float64)
        q_, k_, v_ = (apply_rotary(x, cos, sin, layout="interleaved") for x in (q, k, v))
        output, weights = attend(NoPosition(), q_, k_, v if way == "alone" else v_)
        if way == "turned_back":
            output = apply_rotary(output, cos, -sin, layout="interleaved")
        return output[int(inputs["query"])], weights[int(inputs["query"])]

    shift = int(inputs["shift"])
    output, weights = head_output(inputs["values"], shift)
    return {
        "weight": weights.tolist(),
        "output_x": output[0].item(),
        "output_y": output[1].item(),
        "output_angle": math.atan2(output[1].item(), output[0].item()),
        "output_length": output.norm().item(),
        "change": (output - head_output(inputs["values"], 0)[0]).norm().item(),
        "gap": (output - head_output("alone", shift)[0]).norm().item(),
    }


ORACLE = Oracle(answers, held=("values",), scales={"theta": math.radians})


# ---- what it does when it is moved ----


@pytest.mark.parametrize(
    ("way", "spins"), [("alone", False), ("turned", True), ("turned_back", False)]
)
def test_only_turned_values_make_the_output_spin(on_scratch, way, spins):
    head = on_scratch("value_rotation")
    ways = head.control("values").locator("[role=radio]")
    ways.nth(["alone", "turned", "turned_back"].index(way)).click()
    head.frames()
    assert wrong_readouts(head, {"values": way}) == []
    frames = watched(head, "push_on", ["shift", "change"], seconds=1.5)
    assert len({shift for shift, _ in frames}) > 10, "nothing moved"
    changes = [change for _, change in frames]
    assert (max(changes) - min(changes) > 0.5) == spins
    assert spins or max(changes) < 1e-9


def test_sliders_of_one_row_stand_at_one_height(on_scratch):
    widget = on_scratch("value_rotation")  # two labels of its row take two lines in wide letters
    widget.page.evaluate("() => { document.body.style.letterSpacing = '0.1em' }")
    widget.frames()
    tops = {round(widget.control(name).bounding_box()["y"]) for name in widget.sliders()}
    assert len(tops) == 1 and len(widget.sliders()) == 3
