"""Exercises of the chapter Why attention needs positions."""

import itertools
import math

import torch
from torch.nn import functional as F

from ropebook.exercises.base import NO_RETURN, close, exercise
from ropebook.exercises.definitions import Answer, Bet, Hint, Option, Task, define
from ropelib.attention import attend
from ropelib.encodings import NoPosition

# The words of the chapter's worked example.
WORDS = ("dog", "sees", "cat")


def _mix(x, **options):
    return attend(NoPosition(), x, x, x, **options)[0]


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
    for length in (1, 2, 3, 4):
        for sentence in itertools.product(range(3), repeat=length):
            x = F.one_hot(torch.tensor(sentence), 3).double()
            output, weights = attend(NoPosition(), x @ to_q, x @ to_k, x @ to_v, causal=True)
            last, share = output[-1].item(), sentence.count(2) / length
            if math.isclose(last, share, abs_tol=1e-3):
                continue
            words = " ".join(WORDS[word] for word in sentence)
            if not close(weights[-1], torch.full((length,), 1 / length)):
                return (
                    f"After {words} the last word's weights are not equal. Who attends more to cat "
                    "finds out whether it occurs, not how often."
                )
            if math.isclose(last, share * length, abs_tol=1e-3):
                return "That is how often cat occurs, not its share of the words seen."
            return f"After {words} your output is {last:.3f}; the share of cat is {share:.3f}."
    return None


def _shape(matrix) -> str:
    return f"shape {tuple(matrix.shape)}"


define(
    Bet(
        "swap dog and cat",
        question="Attention gives every word a new vector, its <b>output</b>, mixed from all the "
        "words. Swap <i>dog</i> and <i>cat</i> before attention sees the sentence. What happens to "
        "the five outputs?",
        options=(
            Option(
                "Nothing: the list of outputs stays as it was.",
                said="The list does change: its second entry was the output of dog and is now "
                "that of cat. What stays is each word’s own output.",
            ),
            Option(
                "Everything: each word has other neighbors now.",
                said="The neighbors are others, but attention adds up what it takes from all the "
                "words, and a sum does not care in which order. Each word keeps its own output.",
            ),
            Option(
                "Every word keeps its own output. Only the order of the outputs changes.",
                said="So it is. Swap them below and look at the rings.",
                right=True,
            ),
        ),
    ),
    Answer(
        "output of sees",
        kind="numbers",
        question="Now you: what is the output of <i>sees</i> in <i>dog sees cat</i>?",
        labels=("first number", "second number"),
        right=(0.6, 0.8),
        hints=(
            Hint((0.8, 0.6), "That is the output of dog. The scores of sees are others."),
            Hint((3, 4), "These are the sums of the powers times the values. Divide by the sum."),
            Hint((1, 2), "You added values times scores: make weights of the scores first."),
            Hint((0.5, 1), "You divided the scores by their sum: take powers of 2 before that."),
            Hint((0, 1), "That is the word itself. Its output is a mean of all three."),
            Hint(
                (0.578, 0.845),
                "These are powers of e. Here we take powers of 2.",
                when="abs(a[0] - 0.578) < 0.012 and abs(a[1] - 0.845) < 0.012",
            ),
            Hint((2 / 3, 2 / 3), "You weigh all three alike. What are the scores of sees?"),
        ),
        otherwise="The scores of sees with dog, sees and cat are dot products of (0, 1). Go "
        "through the rows of the table with them.",
        solution="Scores 0, 1, 1; powers of 2: 1, 2, 2, with the sum 5; weights 1/5, 2/5, 2/5. "
        "So 1/5 (1, 0) + 2/5 (0, 1) + 2/5 (1, 1).",
        tolerance=2e-3,
    ),
    Answer(
        "outputs after a shuffle",
        kind="order",
        question="The words stand as <i>sees cat dog</i>. In which order are their outputs? (In "
        "<i>dog sees cat</i> they were the three below, from left to right.) Nothing needs to be "
        "computed.",
        items=("(0.8, 0.6)", "(0.6, 0.8)", "(0.75, 0.75)"),
        right=(1, 2, 0),
        hints=(
            Hint((0, 1, 2), "This is the old order: each word takes its own output along."),
            Hint((2, 0, 1), "Turn it around: the first word is now sees. Which was its output?"),
        ),
        otherwise="Not in the order of the new sentence: which output did each word have?",
        solution="Each word takes along the output that it had: sees, then cat, then dog.",
    ),
    Answer(
        "different outputs",
        kind="number",
        question="<i>The dog sees the dog.</i> No mask, no positions. How many <b>different</b> "
        "outputs do these five words have?",
        right=3,
        hints=(
            Hint(5, "That would be one for each place. But equal words have equal outputs."),
            Hint(4, "Two words occur twice here: the and dog."),
            Hint(2, "Who sees, who is seen: that is lost. But sees is a word of its own."),
            Hint(1, "Different words bring different queries. Which words are equal?"),
        ),
        otherwise="Count the words that differ.",
        solution="One for the, one for dog, one for sees: neither who sees and who is seen, nor "
        "the two the, can be told apart. (Two different words could agree by chance only.)",
    ),
    Answer(
        "what a bag cannot say",
        kind="choice",
        question="A model without mask and positions, of any depth, answers from the mean of all "
        "its outputs. Which of these questions can it <b>not</b> answer, whatever its parameters?",
        options=(
            Option(
                "Is there a <i>cat</i> in the sentence?",
                said="A bag still holds its words. Let the value be 1 for cat and 0 for every "
                "other word: the mean is above 0 exactly if there is one.",
            ),
            Option(
                "Does the sentence begin with <i>cat</i>?",
                said="Right. The same words in another order begin with another word, and the "
                "model must give both orders one answer.",
                right=True,
            ),
            Option(
                "Is more than a third of the words <i>the</i>?",
                said="A share does not depend on order. Let the value be 1 for the and 0 for "
                "every other word: the mean is the share.",
            ),
            Option(
                "Are all its words alike?",
                said="Equal words have equal outputs, in any order: this is a question about the "
                "words alone, and no order changes the answer.",
            ),
        ),
    ),
    Task(
        "tell the two the apart",
        widget="token_shuffle",
        text="Make the two <i>the</i> say different things.",
        done="positions or causal",
        said="Without such a switch, no order of the words does it.",
    ),
    Answer(
        "causal by hand",
        kind="numbers",
        question="<i>Sees cat dog</i>, now under a causal mask, with powers of 2 as before. What "
        "is the output of <i>cat</i>, at place 1?",
        labels=("first number", "second number"),
        right=("2/3", 1),
        hints=(
            Hint((0.75, 0.75), "Here cat sees every word. The mask hides dog, which comes later."),
            Hint((1, 2 / 3), "You let cat see itself and what comes after: the other way round."),
            Hint((0.5, 0.75), "Your weights do not sum to 1: divide by the sum over what is seen."),
            Hint((1, 1), "A word sees itself and what stands before it: sees."),
            Hint((0.5, 1), "You weigh both alike. Cat has score 1 with sees and 2 with itself."),
        ),
        otherwise="At place 1, cat sees the words at places 0 and 1: sees, and itself.",
        solution="Scores with sees and cat: 1 and 2; powers 2 and 4; weights 1/3 and 2/3. So "
        "1/3 (0, 1) + 2/3 (1, 1).",
        tolerance=6e-3,
    ),
    Answer(
        "how many answers",
        kind="numbers",
        question="<i>Dog</i>, <i>sees</i> and <i>cat</i> stand in some order, then comes a "
        "question mark. There are six orders. How many <b>different</b> outputs can the question "
        "mark have, over all six, if no two agree by chance?",
        labels=("no mask, any depth", "causal, one layer", "causal, two layers"),
        right=(1, 1, 6),
        hints=(
            Hint(
                (6, 1, 6),
                "Without a mask and without positions: what can the question mark know beyond "
                "which words there are?",
                when="a[0] != 1",
            ),
            Hint(
                (1, 6, 6),
                "One causal layer: does the question mark see the three words in an order?",
                when="a[1] == 6",
            ),
            Hint(
                (1, 3, 6),
                "One causal layer: the question mark stands after all three words. Does what it "
                "sees depend on which of them came last?",
                when="a[1] != 1",
            ),
            Hint(
                (1, 1, 1),
                "Two layers: what the second layer sees is no longer the words as they came.",
            ),
            Hint(
                (1, 1, 3),
                "Two layers: every word of the three has seen a different part of the sentence, "
                "not only the first one or the last one.",
                when="a[2] == 2 or a[2] == 3",
            ),
        ),
        otherwise="Two layers: there are only so many orders of three words.",
        solution="One: a bag. One: the last word sees the three others as a bag. Six: after the "
        "first layer the first of the three has seen itself, the second two words, the third all "
        "three. That fixes the order.",
    ),
    Bet(
        "which can say who",
        question="Which of the five can learn to say who likes, for names that never met in "
        "training?",
        options=(
            Option(
                "All five: they are trained for it.",
                said="Two see a bag at the question mark, and no training helps a bag beyond 50%.",
            ),
            Option(
                "All but the first: the others have a mask or positions.",
                said="One causal layer is not enough: it shows the last word, which sees "
                "everything, a bag.",
            ),
            Option(
                "The last three: two causal layers, or positions.",
                said="So it is: two causal layers order what one only counts, and with positions "
                "one layer will do.",
                right=True,
            ),
            Option(
                "The last two: there is no order without positions.",
                said="Two causal layers have no positions and do it all the same: after the "
                "first, a word can hold what stood before it.",
            ),
        ),
    ),
)
