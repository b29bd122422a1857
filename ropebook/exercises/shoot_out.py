"""Exercises of the chapter The shoot-out: differences over seeds, what encodings hold and reach."""

import math
from collections.abc import Sequence

import torch

from ropebook.exercises.base import NO_RETURN, exercise
from ropebook.exercises.definitions import Answer, Bet, FillIn, Hint, Option, define

_ONE = (1.82, 1.79, 1.85, 1.80, 1.84)
_OTHER = (1.80, 1.78, 1.82, 1.79, 1.81)


@exercise("a difference over seeds")
def _a_difference_over_seeds(answer):
    generator = torch.Generator().manual_seed(0)
    drawn = 1.8 + 0.02 * torch.randn(2, 7, generator=generator, dtype=torch.float64)
    for one, other in ((_ONE, _OTHER), drawn.tolist()):
        given = answer(list(one), list(other))
        if given is None:
            return NO_RETURN
        if not isinstance(given, Sequence | torch.Tensor) or len(given) != 2:
            return "Return two numbers: the mean difference and its standard error."
        mean, error = (float(number) for number in given)
        x, y = (torch.tensor(values, dtype=torch.float64) for values in (one, other))
        count, gap = len(x), x - y
        right = (gap.std() / count**0.5).item()
        if not math.isclose(mean, gap.mean(), abs_tol=1e-9):
            if math.isclose(mean, -gap.mean(), abs_tol=1e-9):
                return "That is the other minus the one. Asked is the one minus the other."
            return "The first number is the mean of the one minus the mean of the other."
        if math.isclose(error, right, abs_tol=1e-9):
            continue
        if math.isclose(error, ((x.var() + y.var()) / count) ** 0.5, abs_tol=1e-9):
            return (
                "That is the error for runs that have nothing in common. Here each seed gives both "
                "models the same texts: what is easy for one is easy for the other. Take the "
                "differences first."
            )
        if math.isclose(error, gap.std(), abs_tol=1e-9):
            return "That is how far single differences lie apart. How far may their mean be off?"
        if math.isclose(error, gap.std(correction=0) / count**0.5, abs_tol=1e-9):
            return f"Divide the squares by {count - 1}, not {count}: their mean was fitted too."
        return (
            "Take the difference of each seed; then their standard deviation, over the root of n."
        )
    return None


@exercise("a bias that listens")
def _a_bias_that_listens(answer):
    generator = torch.Generator().manual_seed(0)
    q, to_relative, bank = (
        torch.randn(shape, generator=generator, dtype=torch.float64)
        for shape in ((6,), (6, 3), (3, 5))
    )
    asked = q @ to_relative
    for m, n in ((4, 4), (7, 5), (9, 5), (9, 4), (50, 2), (3, 4), (3, 6)):
        given = answer(q.clone(), to_relative.clone(), bank.clone(), m, n)
        if given is None:
            return NO_RETURN
        given, back = float(given), m - n
        right = float(asked @ bank[:, back]) if 0 <= back < 5 else 0.0
        if math.isclose(given, right, abs_tol=1e-9):
            continue
        place = f"At m = {m}, n = {n} and an extent of 5"
        if math.isclose(given, right / 6**0.5, abs_tol=1e-9):
            return "This bias is added to scores that are scaled already: no square root here."
        if back < 0:
            return f"{place}: that key stands after the query, and nothing is added."
        if back >= 5:
            if math.isclose(given, float(asked @ bank[:, -1]), abs_tol=1e-9):
                return "You clip, as Shaw does. Here what lies beyond the extent gets nothing."
            return f"{place}: that key is {back} back, beyond the bank, and gets nothing."
        return f"{place} the bias is the relative query times column {back} of the bank."
    return None


_WIDTH, _HEADS, _NARROW, _EXTENT = 6144, 64, 16, 1024
_LENGTH = 131
_MARK = round(0.25 * (_LENGTH - 3))
_BACK = _LENGTH - 2 - _MARK

define(
    Bet(
        "who wins",
        question="Small language models learn to write Python, byte by byte, from windows of "
        "<b>128 bytes</b>. They differ in nothing but their position encoding (and one of them in "
        "how fast it learns it). Then they read texts of 1024 bytes. <b>Which one has the lowest "
        "loss at the end of the 128 bytes? Which one at the end of the 1024?</b>",
        options=(
            Option(
                "RoPE both times: that is why everybody uses it.",
                said="Others are in front both times. That large models use RoPE has other "
                "reasons: it has nothing to learn, and every kernel knows it.",
            ),
            Option(
                "RoPE within, something else beyond.",
                said="Beyond the window, yes. But here it does not lead within either.",
            ),
            Option(
                "Another one both times.",
                said="In so short a training, T5's learned bias is in front, once it may move "
                "fast.",
                right=True,
            ),
        ),
    ),
    Answer(
        "the error of a difference",
        kind="numbers",
        labels=("mean difference", "standard error"),
        question="Four seeds; one model has losses 1.50, 1.60, 1.54, 1.56, the other, with the "
        "same seeds, 1.46, 1.58, 1.52, 1.52. What is the mean difference (the one minus the other) "
        "and its standard error, to four digits after the point?",
        right=("0.03", "0.02 / sqrt(12)"),
        tolerance=5e-3,
        hints=(
            Hint((-0.03, "0.02 / sqrt(12)"), "That is the other minus the one.", when="a[0] < 0"),
            Hint(
                (0.03, "0.02 / sqrt(3)"),
                "That is how far single differences lie apart. How far may their mean be off?",
            ),
            Hint(
                (0.03, 0.005),
                "Divide the squares by 3, not 4: their mean was fitted too.",
            ),
            Hint(
                (0.03, "sqrt((0.0052 + 0.0072) / 12)"),
                "That is the error for runs that have nothing in common. Take the difference of "
                "each seed first.",
                when="near(a[0], 0.03) and a[1] > 0.02",
            ),
        ),
        otherwise="Take the difference of each seed; then their mean, and their standard "
        "deviation over the root of 4.",
        solution="The differences are 0.04, 0.02, 0.02, 0.04: mean 0.03, standard deviation "
        "0.0115, over the root of 4.",
    ),
    FillIn(
        "how far the mean may be off",
        question="The same in code: the losses of two models, each list in the order of the seeds. "
        "It returns the mean of the differences and its standard error.",
        code="""def difference(one, other):
    gaps = [x - y for x, y in zip(one, other)]
    mean = sum(gaps) / len(gaps)
    squares = sum([(gap - mean) ** 2 for gap in gaps])
    variance = squares / <<(len(gaps) - 1)>>
    return [mean, sqrt(<<variance / len(gaps)>>)]
""",
        cases=(
            ((1.50, 1.60, 1.54, 1.56), (1.46, 1.58, 1.52, 1.52)),
            (_ONE, _OTHER),
            ((2.0, 1.0), (1.0, 1.5)),
        ),
        hints=(
            Hint(
                ("len(gaps)", "variance / len(gaps)"),
                "The mean was fitted to the same runs: of n differences, one less is free.",
            ),
            Hint(
                ("(len(gaps) - 1)", "variance"),
                "That is how far single differences lie apart. How far may their mean be off?",
            ),
        ),
        otherwise="From {one} and {other} your function makes {a}, and it should be {right}.",
        solution="The variance of one difference, and a mean of n of them has an n-th of it.",
    ),
    Answer(
        "what a bank holds",
        kind="number",
        question="In a layer of Inkling that sees everything <b>h</b> has 6144 numbers; 64 heads "
        "each have their own narrow query of 16 numbers; the bank reaches 1024 tokens back. How "
        "many numbers does the layer learn for its position bias?",
        right=f"{_WIDTH} * {_HEADS} * {_NARROW} + {_NARROW} * {_EXTENT}",
        hints=(
            Hint(
                _WIDTH * _HEADS * _NARROW,
                "Those are the projections. The bank has to be learned too.",
            ),
            Hint(
                _NARROW * _EXTENT,
                "That is the bank. Every head has a projection of its own as well.",
            ),
            Hint(
                _WIDTH * _NARROW + _NARROW * _EXTENT,
                "One projection for all heads: each of the 64 has its own.",
            ),
            Hint(
                _HEADS * (_WIDTH * _NARROW + _NARROW * _EXTENT),
                "A bank for each head: there is one, and all heads share it.",
            ),
            Hint(
                128 * _HEADS * _NARROW + _NARROW * _EXTENT,
                "128 is what this book's version reads, the head's query. Inkling reads the whole "
                "h.",
            ),
        ),
        otherwise="How large is the matrix from h to a head's 16 numbers, how many heads, how "
        "large P?",
        solution="A projection for each head, and one bank for all.",
    ),
    Answer(
        "hands of a small share",
        kind="number",
        question="A head of 64 dimensions rotates the first 6, with base 10 000, as partial "
        "rotation does it. How many of its three hands come full circle within 128 tokens?",
        right=sum(2 * math.pi * 10_000 ** (2 * i / 6) <= 128 for i in range(3)),
        unit="of three",
        hints=(
            Hint(
                3,
                "All three, if they were the three fastest of RoPE's 32. Partial rotation spreads "
                "its hands from 1 down to the base anew: the exponent is 2i / 6.",
            ),
            Hint(
                2,
                "Nearly: the second hand needs {2 * pi * 10000 ** (2/6):.0f} tokens for a turn.",
            ),
            Hint(0, "The first hand turns by 1 rad per token: 6.28 tokens a turn."),
        ),
        otherwise="There are three hands, at 10000^(-2i/6) rad per token for i = 0, 1, 2.",
        solution="6.28, 135 and 2916 tokens for a turn.",
    ),
    Answer(
        "how far to the key",
        kind="number",
        question="A passkey text has 131 tokens; the question stands at the last place. The mark "
        "may stand anywhere from place 0 to place 128, and stands a quarter of the way in "
        "(rounded). How many tokens back from the question is the symbol that is asked for?",
        right=_BACK,
        unit="tokens",
        hints=(
            Hint(_BACK + 1, "That is the distance to the mark. The answer is the symbol after it."),
            Hint(
                _MARK,
                "That is where it stands, counted from the beginning. How far is it from the end?",
                when=f"a in [{_MARK}, {_MARK + 1}]",
            ),
            Hint(
                _BACK + 2,
                "Tokens are counted from 0: the question stands at 130.",
            ),
        ),
        otherwise="Where does the mark stand, if 0 is the first place and 128 the last one "
        "possible?",
        solution="The mark stands at 32, the symbol at 33, the question at 130.",
    ),
)
