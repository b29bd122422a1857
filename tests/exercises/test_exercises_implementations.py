"""The exercises of Implementations: right in any form, each misconception by its name."""

import re

import numpy as np
import pytest
import torch
from answers import accepted, hinted

from ropebook.exercises import check


def by_halves(x, cos, sin, order=("first", "second")):
    first, second = x.chunk(2, dim=-1)
    turned = {"first": first * cos - second * sin, "second": first * sin + second * cos}
    return torch.cat([turned[name] for name in order], dim=-1)


def by_neighbors(x, cos, sin):
    first, second = x[..., 0::2], x[..., 1::2]
    turned = (first * cos - second * sin, first * sin + second * cos)
    return torch.stack(turned, dim=-1).flatten(-2)


def elementwise(x, cos, sin, double, sign):
    cos, sin = double(cos), double(sin)
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((sign * second, first), dim=-1) * sin


def tiled(t):
    return torch.cat((t, t), dim=-1)


def repeated(t):
    return t.repeat_interleave(2, dim=-1)


def convert(weight, bias, heads, weight_too=True, bias_too=True):
    def reseat(rows):
        return rows.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2)

    return reseat(weight) if weight_too else weight, reseat(bias) if bias_too else bias


def convert_the_other_way(weight, bias, heads):
    def reseat(rows):
        return rows.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)

    return reseat(weight), reseat(bias)


RIGHT = [
    ("name the layout", ("half", "interleaved", "neither")),
    ("name the layout", ["half", "Interleaved ", "neither"]),
    ("the permutation", lambda d: [*range(0, d, 2), *range(1, d, 2)]),
    ("the permutation", lambda d: torch.arange(d).view(-1, 2).T.flatten()),
    ("the permutation", lambda d: np.arange(d).reshape(-1, 2).T.ravel()),
    ("repair the rotation", by_halves),
    ("repair the rotation", lambda x, cos, sin: elementwise(x, cos, sin, tiled, -1)),
    ("convert back", convert),
    ("which offset", (14, 15)),
    ("which offset", [14.0, 15.0]),
    ("which offset", torch.tensor([14, 15])),
    ("the way back", lambda grad, cos, sin: by_halves(grad, cos, -sin)),
    ("another seating", 2),
    ("the partner's seat", (4, 69)),
    ("a turn in halves", ("x[i + half] * sin[i]", "cos[i] * x[half + i]")),
    ("the rows of a head", (0, 2, 4, 1, 3, 5)),
    ("name the mistake", 2),
]
WRONG = [
    ("name the layout", ("half", "interleaved"), "you gave 2"),
    ("name the layout", ("half", "interleaved", "neox"), 'got "neox"'),
    ("name the layout", ("interleaved", "half", "neither"), "A: which two dimensions"),
    ("name the layout", ("half", "neither", "neither"), "a slow pair turns too"),
    ("name the layout", ("half", "half", "neither"), "its partner in halves would be 5"),
    ("name the layout", ("half", "interleaved", "interleaved"), "how long is the result"),
    ("the permutation", lambda d: None, "every path end in a return"),
    ("the permutation", lambda d: list(range(d)), "nobody has moved"),
    ("the permutation", lambda d: [0] * d, "must occur once"),
    (
        "the permutation",
        lambda d: [i // 2 + (i % 2) * d // 2 for i in range(d)],
        "halves to neighbors",
    ),
    ("the permutation", lambda d: [*range(1, d, 2), *range(0, d, 2)], "Who are the firsts"),
    ("repair the rotation", lambda x, cos, sin: None, "every path end in a return"),
    (
        "repair the rotation",
        lambda x, cos, sin: elementwise(x, cos, sin, repeated, -1),
        "interleaved-angles-on-half-pairs",
    ),
    (
        "repair the rotation",
        lambda x, cos, sin: elementwise(x, cos, sin, tiled, 1),
        "minus-sign-missing",
    ),
    ("repair the rotation", by_neighbors, "in the other layout"),
    (
        "repair the rotation",
        lambda x, cos, sin: by_halves(x, cos, -sin),
        "turns clockwise",
    ),
    (
        "repair the rotation",
        lambda x, cos, sin: by_halves(x, cos, sin, ("second", "first")),
        "diagnose says",
    ),
    ("repair the rotation", lambda x, cos, sin: x * cos, "RuntimeError"),
    ("convert back", lambda w, b, h: None, "every path end in a return"),
    ("convert back", lambda w, b, h: w, "Return two tensors"),
    ("convert back", lambda w, b, h: (w, b), "the weight is unchanged"),
    ("convert back", lambda w, b, h: convert(w, b, h, bias_too=False), "the bias is unchanged"),
    ("convert back", lambda w, b, h: convert(w, b, 1), "within each head"),
    ("convert back", convert_the_other_way, "from interleaved to half"),
    ("convert back", lambda w, b, h: (w.flip(0), b), "not where neighbors are looked for"),
    ("convert back", lambda w, b, h: (w.T, b), "must keep its shape"),
    ("which offset", 14, "two numbers, got 1"),
    ("which offset", (14, 15, 16), "two numbers, got 3"),
    ("which offset", (15, 16), "positions begin at 0"),
    ("which offset", (2, 3), "The prompt comes before them"),
    ("which offset", (12, 13), "how many tokens came before"),
    ("which offset", (14, 8), "the number of rows"),
    ("which offset", (14, 16), "does not move the tokens"),
    ("the way back", lambda grad, cos, sin: None, "every path end in a return"),
    ("the way back", by_halves, "forward pass once more"),
    ("the way back", lambda grad, cos, sin: by_neighbors(grad, cos, -sin), "other layout"),
    ("the way back", lambda grad, cos, sin: grad, "has yet to pass the rotation"),
    ("the way back", lambda grad, cos, sin: grad.sum(-1), "has the shape of x"),
    ("the way back", lambda grad, cos, sin: 2 * grad, "not the gradient"),
    ("another seating", 0, "which numbers turned"),
    ("another seating", 1, "when q and k sit differently"),
    ("the partner's seat", (6, 69), "a first or a second"),
    ("the partner's seat", (4, 70), "How long is half a head"),
    ("the partner's seat", (69, 4), "in the other order"),
    ("the partner's seat", (3, 8), "i goes with i + d/2"),
    ("a turn in halves", ("x[i + 1] * sin[i]", "x[i + 1] * cos[i]"), "takes the neighbor"),
    ("a turn in halves", ("x[i + half] * cos[i]", "x[i + half] * sin[i]"), "which of cosine"),
    ("a turn in halves", ("0", "0"), "and it should give"),
    ("the rows of a head", (0, 1, 2, 3, 4, 5), "Nobody has moved"),
    ("the rows of a head", (0, 3, 1, 4, 2, 5), "the way back"),
    ("the rows of a head", (1, 3, 5, 0, 2, 4), "each second now leads"),
    ("the rows of a head", (2, 0, 4, 3, 1, 5), "the fastest pair comes first"),
    ("the rows of a head", (0, 2, 5, 1, 3, 4), "the even row"),
    ("the rows of a head", (5, 4, 3, 2, 1, 0), "Who were pairs in training"),
    ("name the mistake", 0, "would move the scores"),
    ("name the mistake", 1, "even at distance 0"),
]
NAMES = {name for name, *_ in RIGHT}


test_right_answers_are_recognized = accepted(RIGHT)
test_wrong_answers_get_a_hint_that_fits = hinted(WRONG)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_an_open_answer_is_open(name):
    assert check(name, ...).message == "Not answered yet."


def test_hints_never_give_the_answer():
    said = [check(name, answer).message for name, answer, _ in WRONG]
    for message in said:
        assert not re.search(r"\b(?:14|69)\b|\[0, 2, 4|\[4, 69", message), message
