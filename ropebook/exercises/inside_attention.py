"""Checkers of the chapter Inside attention."""

import math

import torch

from ropebook.exercises.base import NO_RETURN, close, exercise, vector_of
from ropebook.exercises.definitions import Task, define
from ropelib.attention import attend
from ropelib.embedding import RotaryEmbedding
from ropelib.encodings import Rotary


@exercise("turn the output back")
def _turn_the_output_back(answer):
    answer = vector_of(answer)
    if close(answer, torch.tensor([-2.0, 1.0])):
        return None
    if close(answer, torch.tensor([2.0, 1.0])):
        return "That is the output of values left alone."
    if close(answer, torch.tensor([2.0, -1.0])):
        return "The values are turned, but the output is not turned back by the query's position."
    if close(answer, torch.tensor([-4.0, 2.0])):
        return "Each value counts half."
    if close(answer, torch.tensor([2.0, 0.0])) or close(answer, torch.tensor([-2.0, -1.0])):
        return "One of the two values is turned by the wrong distance."
    return "How far is each value from the query, n - m? By that it arrives turned."


@exercise("partly turned")
def _partly_turned(answer):
    whole, fixed = vector_of(answer).tolist()
    if math.isclose(whole, 6) and math.isclose(fixed, 3):
        return None
    if math.isclose(whole, 7):
        return "That is the score without any turn: the first pair turns by the distance."
    if math.isclose(whole, 0, abs_tol=1e-9):
        return "You turned the pair clockwise: the key stands ahead, n - m is +1."
    if math.isclose(whole, 3):
        return "That is one of the two parts: the score is the sum over all four dimensions."
    if math.isclose(whole, 6):
        return "The score is right. Which dimensions does no distance reach?"
    return "The score is a sum over four dimensions: a turned pair, and two that do not turn."


@exercise("which projections")
def _which_projections(answer):
    given = {str(letter).strip().upper() for letter in answer}
    if given == {"A", "C", "E"}:
        return None
    unknown = given - set("ABCDE")
    if unknown:
        return f"The letters are A to E, got {', '.join(sorted(unknown))}."
    if "D" in given:
        return "D is a mirror. Mirror first and then turn, or turn first: is it the same?"
    if "B" in given:
        return "B stretches one axis. Let it act on (1, 0) before and after a quarter turn."
    return "Each of yours is right, and there is another one whose order with a turn is no matter."


@exercise("padded positions")
def _padded_positions(answer):
    rows = ["111111", "000111", "111000", "001110", "000001", "010110"]
    mask = torch.tensor([[letter == "1" for letter in row] for row in rows])
    given = answer(mask.clone())
    if given is None:
        return NO_RETURN
    given = torch.as_tensor(given)
    if given.shape != mask.shape:
        return f"The shape is that of the mask, {tuple(mask.shape)}, not {tuple(given.shape)}."
    if given.is_floating_point() or given.dtype == torch.bool:
        return f"Positions are whole numbers, got {given.dtype}."
    for row, real, ids in zip(rows, mask, given, strict=True):
        counted = torch.arange(int(real.sum()))
        if torch.equal(ids[real], counted + 1):
            return f"In {row} the first real word is at position 1: count from 0."
        if not torch.equal(ids[real], counted):
            return (
                f"In {row} the real words must be at {counted.tolist()}, not {ids[real].tolist()}."
            )
        if ids.min() < 0:
            return f"In {row} padding has a negative position: a table has no such row."
    return None


@exercise("one new word")
def _one_new_word(answer):
    rotary = RotaryEmbedding(head_dim=8, layout="half")
    q, k, v = torch.randn(3, 2, 6, 8, generator=torch.Generator().manual_seed(0)).double()
    right, _ = attend(Rotary.from_module(rotary), q, k, v, causal=True)
    _, turned = rotary(q, k)
    given = answer(q[:, 5:], k[:, 5:], v[:, 5:], turned[:, :5].clone(), v[:, :5].clone(), rotary)
    if given is None:
        return NO_RETURN
    if not isinstance(given, tuple | list) or len(given) != 3:
        return "Return three things: the output, the new keys, the new values."
    output, keys, values = given
    if keys.shape != k.shape or values.shape != v.shape:
        return "The cache must grow by one word: its own key and value belong to it."
    if not close(values, v):
        return "The values in the cache are not what they were: nobody turns them."
    if close(keys[:, 5], k[:, 5]):
        return "The new key is in the cache without its turn."
    if close(keys[:, 5:], rotary(q[:, 5:], k[:, 5:], offset=4)[1]):
        return "The new word is one place too early: how many words are in the cache?"
    if not close(keys[:, :5], turned[:, :5]):
        return "The keys that were in the cache have changed: each key is turned once."
    if not close(keys, turned):
        return "The new key is turned to another position than its own."
    if not close(output, right[:, 5:]):
        return (
            "The cache is right, the output is not: is the query turned, and sees it its own key?"
        )
    return None


@exercise("packed mask")
def _packed_mask(answer):
    for owners in ([0, 0, 0], [0, 0, 1, 1, 1], [3, 3, 1, 1, 0], [0, 1, 2, 2]):
        owner = torch.tensor(owners)
        given = answer(owner.clone())
        if given is None:
            return NO_RETURN
        given = torch.as_tensor(given)
        size = len(owners)
        if given.shape != (size, size):
            return f"The mask of {owners} must be {size} by {size}, got {tuple(given.shape)}."
        if given.dtype != torch.bool:
            return f"The mask must be bool, got {given.dtype}."
        same = owner[:, None] == owner[None, :]
        past = torch.ones(size, size, dtype=torch.bool).tril()
        if torch.equal(given, same & past):
            continue
        if torch.equal(given, same):
            return "A word may not see later words of its own text."
        if torch.equal(given, past):
            return "A word still sees the texts before its own."
        if torch.equal(given, (same & past).T):
            return "Rows are queries and columns are keys: yours is the other way round."
        if torch.equal(given, ~(same & past)):
            return "True is where a query may see a key."
        return f"For {owners} a query sees a key that it must not, or misses one that it may."
    return None


@exercise("count the operations")
def _count_the_operations(answer):
    hints = {
        1000 * 40 * 32 * 6: None,
        1000 * 40 * 64 * 6: "All 128 dimensions? Only 64 of each head turn, in pairs.",
        1000 * 64 * 32 * 6: "The key heads are 8, not 32: shared keys are turned once.",
        1000 * 32 * 32 * 6: "Keys are turned as well.",
        1000 * 40 * 32 * 4: "A pair also takes two additions.",
        1000 * 48 * 32 * 6: "Values are not turned.",
        40 * 32 * 6: "That is one token.",
    }
    fallback = "Vectors per token, pairs in each, operations per pair: multiply."
    return hints.get(round(float(answer)), fallback)


# ---- tasks of the widgets ---------------------------------------------------------------------

define(
    Task(
        "full circle",
        widget="value_rotation",
        text="Let the values be turned, and push the text on until the output is where it began.",
        done="values == 'turned' and theta > 0 and shift > 0 and change < 0.01",
        said="Whole turns: from such an output nobody can tell how far the text was pushed.",
    ),
)
