"""Checkers of the chapter Why attention needs positions."""

import itertools
import math

import torch
from torch.nn import functional as F

from ropebook.exercises.base import NO_RETURN, close, exercise
from ropelib.attention import attend
from ropelib.encodings import NoPosition

# The three words of the chapter's worked example; the weight of a score s is 2 ** s there.
WORDS = {"我": (1.0, 0.0), "喜欢": (0.0, 1.0), "你": (1.0, 1.0)}


def _mix(x, **options):
    return attend(NoPosition(), x, x, x, **options)[0]


def _outputs(words, *, causal=False) -> torch.Tensor:
    x = torch.tensor([WORDS[word] for word in words], dtype=torch.float64)
    return _mix(x, causal=causal, scale=math.log(2))


def _rows_of(answer, rows: int) -> torch.Tensor:
    table = torch.as_tensor(answer, dtype=torch.float64)
    if table.shape != (rows, 2):
        raise ValueError(f"expected {rows} pairs of numbers, got shape {tuple(table.shape)}")
    return table


@exercise("outputs after a shuffle")
def _outputs_after_a_shuffle(answer):
    given, asked = _rows_of(answer, 3), ("喜欢", "你", "我")
    if close(given, _outputs(asked)):
        return None
    if close(given, _outputs(("我", "喜欢", "你"))):
        return "These are the outputs in the old order: each word takes its own output along."
    if close(given, _outputs(asked, causal=True)):
        return "There is no mask here: every word sees all three."
    if close(given, torch.tensor([WORDS[word] for word in asked])):
        return "These are the words themselves. An output is a mean of all three."
    for order in itertools.permutations(WORDS):
        if close(given, _outputs(order)):
            return "The right three pairs, but not in the order of the new sentence."
    return "Not these. Nothing has to be computed anew: which outputs did the three words have?"


@exercise("causal by hand")
def _causal_by_hand(answer):
    given, asked = _rows_of(answer, 3), ("喜欢", "你", "我")
    right = _outputs(asked, causal=True)
    if close(given, right):
        return None
    if close(given, _outputs(asked)):
        return "Here every word sees every other. The mask hides the words that come later."
    x = torch.tensor([WORDS[word] for word in asked], dtype=torch.float64)
    if close(given, _mix(x, scale=math.log(2), mask=~torch.ones(3, 3).tril(-1).bool())):
        return "You let each word see itself and what comes after it: it is the other way round."
    unscaled = (2 ** (x @ x.T) / (2 ** (x @ x.T)).sum(-1, keepdim=True)).tril() @ x
    if close(given, unscaled):
        return "Your weights do not sum to 1: divide by the sum over the words that are seen."
    place = next(i for i in range(3) if not close(given[i], right[i]))
    seen = ("itself", "itself and 喜欢", "all three")[place]
    return f"Look at {asked[place]} again: at position {place}, counted from 0, it sees {seen}."


@exercise("read the position")
def _read_the_position(answer):
    for position in (0, 1, 2, 3, 9, 48, 97, 106, 160, 500, 1000):
        output = torch.tensor(1 / (position + 1), dtype=torch.float32).item()
        given = answer(output)
        if given is None:
            return NO_RETURN
        given = float(given)
        if given == position:
            continue
        if math.isclose(given, position, abs_tol=0.01):
            return (
                f"From the output {output!r} you read {given!r}: close. Positions are whole "
                "numbers, and the output is rounded, so round too."
            )
        if math.isclose(given, position + 1, abs_tol=0.01):
            return "One too many: positions count from 0, and the word at 0 sees one word, itself."
        if given == position - 1:
            return (
                f"At position {position} you read {given:.0f}. The output is rounded: 1/output may "
                "come out a little below a whole number, and cutting off then loses one."
            )
        return f"From the output {output:.4f} you read {given:g}. How many words does it average?"
    return None


@exercise("how many answers")
def _how_many_answers(answer):
    given = tuple(int(count) for count in answer)
    if len(given) != 3:
        return f"Give three numbers, one per model, got {len(given)}."
    no_mask, one_layer, two_layers = given
    if no_mask != 1:
        return (
            "Without a mask and without positions: what can the question mark know beyond which "
            "words there are?"
        )
    if one_layer == 6:
        return "One causal layer: does the question mark see the three words in an order?"
    if one_layer != 1:
        return (
            "One causal layer: the question mark stands after all three words. Does what it "
            "sees depend on which of them came last?"
        )
    if two_layers == 1:
        return "Two layers: what the second layer sees is no longer the words as they came."
    if two_layers in (2, 3):
        return (
            "Two layers: every word of the three has seen a different part of the sentence, not "
            "only the first one or the last one."
        )
    return None if two_layers == 6 else "Two layers: there are only so many orders of three words."


def _windowed(x):
    places = torch.arange(len(x))
    return _mix(x, mask=(places[:, None] - places).abs() <= 6)


_STEP = torch.tensor([0.5, -0.25, 0.125, 1.0], dtype=torch.float64)
_EQUIVARIANT = {
    "attention without positions": _mix,
    "a layer that works on each word alone": lambda x: F.gelu(x) + x**2,
    "a layer that gives every word the mean of all words": lambda x: x.mean(0).expand_as(x),
    "a layer that returns zeros": torch.zeros_like,
    "a layer that does nothing": lambda x: x,
    "the maximum over the words, added to each": lambda x: x + x.max(0).values,
}
_NOT_EQUIVARIANT = {
    "causal attention": lambda x: _mix(x, causal=True),
    "attention with positions added": lambda x: _mix(
        x + torch.arange(len(x), dtype=x.dtype)[:, None] * _STEP
    ),
    "a layer that adds the first word to every word": lambda x: x + x[0],
    "a layer that gives every word the last word": lambda x: x[-1].expand_as(x),
    "a layer that mixes neighbors in a ring": lambda x: x + x.roll(1, 0) / 2,
    "a layer that treats a sentence and its reverse alike": lambda x: (
        _mix(x, causal=True) + _mix(x.flip(0), causal=True).flip(0)
    ),
    "a layer that sorts the words": lambda x: x[x[:, 0].argsort()],
    "a layer that always answers the same, first word 0, second word 1, ...": lambda x: (
        torch.arange(len(x), dtype=x.dtype)[:, None].expand_as(x)
    ),
    "attention in which a word sees at most six places far": _windowed,
    "a layer that treats even and odd places differently": lambda x: torch.where(
        torch.arange(len(x))[:, None] % 2 == 0, x, 2 * x
    ),
    "a layer that changes the twelfth word only": lambda x: torch.cat((x[:11], -x[11:12], x[12:])),
}


@exercise("is it equivariant")
def _is_it_equivariant(answer):
    for name, layer in (_EQUIVARIANT | _NOT_EQUIVARIANT).items():
        verdict = answer(lambda x, layer=layer: layer(x.clone()).clone())
        if verdict is None:
            return NO_RETURN
        if verdict and name in _NOT_EQUIVARIANT:
            return (
                f"You accept {name}. Shuffle many ways, sentences of sixteen words, and compare "
                "the outputs word by word."
            )
        if not verdict and name in _EQUIVARIANT:
            return (
                f"You refuse {name}, which is equivariant: shuffled words give shuffled outputs. "
                "(Sums are rounded: compare with a tolerance.)"
            )
    return None


@exercise("count a word")
def _count_a_word(answer):
    to_q, to_k, to_v = (torch.as_tensor(matrix, dtype=torch.float64) for matrix in answer)
    for name, matrix in (("to_q", to_q), ("to_k", to_k), ("to_v", to_v)):
        if matrix.dim() != 2 or len(matrix) != 3:
            return f"{name} must be a matrix with three rows, one per word, got {_shape(matrix)}."
    if to_q.shape != to_k.shape:
        return f"Queries and keys must be equally wide, got {_shape(to_q)} and {_shape(to_k)}."
    if to_v.shape[1] != 1:
        return f"The output is one number, so to_v has one column, got {_shape(to_v)}."
    names = list(WORDS)
    for length in (1, 2, 3, 4):
        for sentence in itertools.product(range(3), repeat=length):
            x = F.one_hot(torch.tensor(sentence), 3).double()
            output, weights = attend(NoPosition(), x @ to_q, x @ to_k, x @ to_v, causal=True)
            last, share = output[-1].item(), sentence.count(2) / length
            if math.isclose(last, share, abs_tol=1e-3):
                continue
            words = " ".join(names[word] for word in sentence)
            if not close(weights[-1], torch.full((length,), 1 / length)):
                return (
                    f"After {words} the last word's weights are not equal. Who attends more to 你 "
                    "finds out whether it occurs, not how often."
                )
            if math.isclose(last, share * length, abs_tol=1e-3):
                return "That is how often 你 occurs, not its share of the words seen."
            return f"After {words} your output is {last:.3f}; the share of 你 is {share:.3f}."
    return None


def _shape(matrix) -> str:
    return f"shape {tuple(matrix.shape)}"
