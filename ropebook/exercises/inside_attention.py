"""Exercises of the chapter Inside attention."""

import torch

from ropebook.exercises.base import NO_RETURN, close, exercise
from ropebook.exercises.definitions import Answer, Bet, Hint, Option, Task, define
from ropelib.attention import attend
from ropelib.embedding import RotaryEmbedding
from ropelib.encodings import Rotary


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


define(
    Bet(
        "turn the values too",
        question="Attention <i>compares</i> queries with keys: that gives the weights. Then it "
        "<i>carries</i> values: the output of a word is the mean of all values, by these weights. "
        "RoPE turns queries and keys, each by its own position. Suppose that somebody turns the "
        "values too, each by its position. <b>What does that do?</b>",
        options=(
            Option(
                "Nothing but waste: values take no part in the comparison.",
                said="They take no part in it, but they make up the output, and turned values make "
                "another output.",
            ),
            Option(
                "It does no harm: the output changes, but still depends on distances only.",
                said="That would be so if something undid the query's own turn. Scores do that, a "
                "sum of values does not.",
            ),
            Option(
                "It does harm: the output now depends on where in the text the words stand.",
                said="Push the text on, and the output turns along.",
                right=True,
            ),
        ),
    ),
    Answer(
        "turn the output back",
        kind="numbers",
        labels=("x", "y"),
        question="θ = 90°. Words stand at positions 4 and 6, with values (4, 0) and (0, 2), "
        "<i>before</i> any turn. The query stands at 6 and gives both the weight 1/2. Values are "
        "turned by their positions, and the output is turned back by the query's. What is it?",
        right=(-2, 1),
        hints=(
            Hint((2, 1), "That is the output of values left alone."),
            Hint(
                (2, -1),
                "The values are turned, but the output is not turned back by the query's position.",
            ),
            Hint((-4, 2), "Each value counts half."),
            Hint(
                (0, 3),
                "One of the two values is turned by the wrong distance.",
                when="near(a[0], 0) and near(abs(a[1] - 1), 2) "
                "or near(a[1], 0) and near(abs(a[0] + 2), 1) "
                "or near(a[0], -2) and near(a[1], -1)",
            ),
        ),
        otherwise="How far is each value from the query, n - m? By that it arrives turned.",
        solution="Each value arrives turned by its distance n − m: the first by two quarter turns "
        "back, (−4, 0), the second not at all, (0, 2). Half of each.",
    ),
    Answer(
        "partly turned",
        kind="numbers",
        labels=("score", "part that is always there"),
        question="A head has four dimensions. The first two are a pair and turn by 90° per token; "
        "the other two do not turn. q = (1, 2, 3, 0) stands at position 7, k = (2, 1, 1, 5) at "
        "position 8. What is their score (the plain sum, not divided by anything)? And which part "
        "of it is there at every distance?",
        right=(6, 3),
        hints=(
            Hint(
                (7, 3),
                "That is the score without any turn: the first pair turns by the distance.",
                when="near(a[0], 7)",
            ),
            Hint(
                (0, 3),
                "You turned the pair clockwise: the key stands ahead, n - m is +1.",
                when="near(a[0], 0)",
            ),
            Hint(
                (3, 3),
                "That is one of the two parts: the score is the sum over all four dimensions.",
                when="near(a[0], 3)",
            ),
            Hint(
                (6, 6),
                "The score is right. Which dimensions does no distance reach?",
                when="near(a[0], 6)",
            ),
        ),
        otherwise="The score is a sum over four dimensions: a turned pair, and two that do not "
        "turn.",
        solution="Turn the key's pair by the distance 1: (2, 1) becomes (−1, 2), and with (1, 2) "
        "that is 3. The rest, 3 · 1 + 0 · 5 = 3, knows no distance.",
    ),
    Answer(
        "count the operations",
        kind="number",
        unit="operations",
        question="A pair of numbers is turned by 4 multiplications and 2 additions. A layer has 32 "
        "query heads and 8 key heads of 128 dimensions, of which 64 turn. How many additions and "
        "multiplications does turning take for a text of 1000 tokens?",
        right="1000 * 40 * 32 * 6",
        hints=(
            Hint("1000 * 40 * 64 * 6", "All 128 dimensions? Only 64 of each head turn, in pairs."),
            Hint("1000 * 64 * 32 * 6", "The key heads are 8, not 32: shared keys are turned once."),
            Hint("1000 * 32 * 32 * 6", "Keys are turned as well."),
            Hint("1000 * 40 * 32 * 4", "A pair also takes two additions."),
            Hint("1000 * 48 * 32 * 6", "Values are not turned."),
            Hint("40 * 32 * 6", "That is one token."),
        ),
        otherwise="Vectors per token, pairs in each, operations per pair: multiply.",
        solution="1000 tokens, 40 vectors each, 32 pairs in each, 6 operations per pair.",
    ),
)


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
