"""Checkers of the chapter Absolute encodings."""

import torch

from ropebook.exercises.base import NO_RETURN, close, exercise
from ropebook.exercises.definitions import Answer, Hint, Task, define, within
from ropelib.encodings import sinusoids

_HANDS = ("sin(1)", "cos(1)", "sin(0.1)", "cos(0.1)")

define(
    Answer(
        "bits that flip",
        kind="numbers",
        question="Now the counter has five bits. How many change from 7 to 8, and how many from 15 "
        "to 16?",
        labels=("from 7 to 8", "from 15 to 16"),
        right=((7 ^ 8).bit_count(), (15 ^ 16).bit_count()),
        hints=(
            Hint(
                (5, 4),
                "Both numbers occur, in the other order: first from 7 to 8, then from 15 to 16.",
            ),
            Hint(
                (1, 1),
                "The value changes by one. Write both numbers in binary, one under the other.",
            ),
            Hint(
                (4, 4),
                "From 7 to 8 is right. From 15 to 16 a fifth digit joins in.",
                when="a[0] == right[0]",
            ),
        ),
        otherwise="Write the numbers with five binary digits, one under the other, and compare.",
        solution="00111 becomes 01000 and 01111 becomes 10000: a carry runs through all the ones.",
    ),
    Answer(
        "code of place 1",
        kind="numbers",
        question="Compute the code of place 1 for <i>d</i> = 4 and base 100: four numbers, in the "
        "paper's order, to three decimals. (<code>sin(1)</code> may be written as it is.)",
        labels=("number 0", "number 1", "number 2", "number 3"),
        right=_HANDS,
        accept=within(2e-3, *_HANDS),
        hints=(
            Hint(
                ("sin(1)", "cos(0.1)", "sin(0.01)", "cos(0.001)"),
                "You count dimensions in the exponent. Both numbers of a pair share one frequency.",
                when=within(2e-3, "sin(1)", "cos(0.1)", "sin(0.01)", "cos(0.001)"),
            ),
            Hint(
                ("cos(1)", "sin(1)", "cos(0.1)", "sin(0.1)"),
                "Right hands, other order: in the paper the sine comes first.",
                when=within(2e-3, "cos(1)", "sin(1)", "cos(0.1)", "sin(0.1)"),
            ),
            Hint(
                ("sin(1)", "sin(0.1)", "cos(1)", "cos(0.1)"),
                "Right numbers, other seats: "
                "the paper puts sine and cosine of a pair side by side.",
                when=within(2e-3, "sin(1)", "sin(0.1)", "cos(1)", "cos(0.1)"),
            ),
            Hint(
                ("sin(pi/180)", "cos(pi/180)", "sin(pi/1800)", "cos(pi/1800)"),
                "Your calculator works in degrees; the hands turn in radians.",
                when=within(2e-3, "sin(pi/180)", "cos(pi/180)", "sin(pi/1800)", "cos(pi/1800)"),
            ),
            *(
                Hint(
                    ("sin(1)", "cos(1)", f"sin({wrong})", f"cos({wrong})"),
                    f"Your second hand turns by {wrong:.3f} rad per token. The exponent is -2i/d.",
                    when=within(2e-3, "sin(1)", "cos(1)", f"sin({wrong})", f"cos({wrong})"),
                )
                for wrong in (100**0.5, 100**-0.25)
            ),
            Hint(
                (1, 1, 0, 1),
                "Sine and cosine of one angle have squares that add up to 1; check each pair.",
                when="max(abs(a[0]**2 + a[1]**2 - 1), abs(a[2]**2 + a[3]**2 - 1)) > 0.01",
            ),
        ),
        otherwise="Each pair lies on the circle. By how much does each hand turn in one token?",
        solution="The hands turn by 100<sup>0</sup> = 1 and by 100<sup>−2/4</sup> = 0.1 rad per "
        "token; their sines and cosines are the code.",
    ),
    Answer(
        "offset of two codes",
        kind="number",
        question="With the same <i>d</i> = 4 and base 100, two words have these codes, rounded to "
        "two decimals: the query, at m, (−0.96, 0.28, 0.48, 0.88); the key, at n, "
        "(−0.13, 0.99, 0.60, −0.80). Each pair is (sine, cosine), the fast hand first. Find n − m, "
        "a whole number from 0 to 60. (The slow hand tells roughly, the fast one exactly.)",
        right=20,
        unit="tokens",
        hints=(
            Hint(
                19.8,
                "Places are whole numbers, and so is their difference.",
                when="a != round(a)",
            ),
            Hint(-20, "That is m - n. Count from the query to the key."),
            Hint(64, "{a} is outside the range from 0 to 60.", when="not 0 <= a <= 60"),
            Hint(
                26,
                "The fast hand may have gone round more often, or less. Over {a} tokens the slow "
                "hand turns by {0.1 * a:.1f} rad: did it?",
                when="min([abs(a - 20 - 2 * pi * turns) for turns in range(-4, 7)]) < 0.5",
            ),
        ),
        otherwise="Over {a} tokens the slow hand turns by {0.1 * a:.1f} rad, and the fast one by "
        "{a} rad. Compare both with the table.",
        solution="The angle of a hand is atan2(sine, cosine). The slow hand turned by 2.0 rad: "
        "about 20 tokens. The fast one turned by 1.16 rad and whole turns: 1.16, 7.44, 13.72, "
        "20.01. The last agrees.",
    ),
)


@exercise("walk on")
def _walk_on(answer):
    generator = torch.Generator().manual_seed(0)
    cases = ((0.0, 5, 0), (3.0, 4, 1), (17.25, 3, -2.5), (900.0, 8, 40), (2.0, 1, 7))
    for position, pairs, offset in cases:
        frequencies = 0.05 + torch.rand(pairs, generator=generator, dtype=torch.float64)

        def code_at(place, frequencies=frequencies):
            angles = place * frequencies
            return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten()

        here, wanted = code_at(position), code_at(position + offset)
        found = answer(here.clone(), offset, frequencies.clone())
        if found is None:
            return NO_RETURN
        found = torch.as_tensor(found).double()
        if found.shape != wanted.shape:
            return (
                f"A code of {2 * pairs} numbers goes in, {tuple(found.shape)} came out: "
                "return one flat vector of the same length."
            )
        if close(found, wanted):
            continue
        if close(found, code_at(position - offset)):
            return "You walk back. On (sin, cos) the block is [[cos, sin], [-sin, cos]]."
        if close(found, code_at(offset)):
            return "That is the code of the offset itself: where did you start?"
        if close(found, wanted.unflatten(0, (-1, 2)).flip(-1).flatten()):
            return "Sine and cosine have changed places in each pair."
        if close(found, wanted.unflatten(0, (-1, 2)).T.flatten()):
            return "All sines, then all cosines: keep each pair side by side."
        return f"With an offset of {offset} the hands do not arrive where they should."
    return None


define(
    Answer(
        "once around in 4096",
        kind="number",
        question="You have 64 dimensions and texts of 4096 tokens. Choose the base so that the "
        "slowest hand turns exactly once in a text.",
        right="(4096 / (2*pi)) ** (64/62)",
        accept="near(2 * pi * a ** (62/64), 4096, 0.002)",
        hints=(
            Hint(-3, "A base is positive.", when="a <= 0"),
            Hint(
                "4096 / (2*pi)",
                "You let the slowest hand turn by 1/base. The last of 32 pairs is i = 31.",
                when="near(a, 4096 / (2*pi), 0.002)",
            ),
            Hint(
                "4096 ** (64/62)",
                "A full turn is 2 pi radians, and your hand makes 1 radian in 4096 tokens.",
                when="near(a ** (62/64), 4096, 0.002)",
            ),
        ),
        otherwise="With that base the slowest hand needs {2 * pi * a ** (62/64):,.0f} tokens for a "
        "turn.",
        solution="The slowest of 32 hands is i = 31. Its wavelength is 2π base<sup>62/64</sup>.",
    ),
    Answer(
        "hand in disguise",
        kind="number",
        question="A sequence goes on by x<sub>m+1</sub> = x<sub>m</sub> − x<sub>m−1</sub>, and the "
        "code of place m is (x<sub>m−1</sub>, x<sub>m</sub>). One matrix moves it on, and it "
        "begins with (0, 1). Is it bounded? Then it is a clock hand, seen in a skew basis. By how "
        "many radians does it turn per place? (Write down the first ten numbers.)",
        right="pi/3",
        accept="abs(cos(a) - 0.5) <= 0.002",
        hints=(
            Hint(
                6,
                "Six places make a full turn. How many radians is that for one place?",
                when="abs(a) == 6",
            ),
            Hint(60, "Right, in degrees. The book counts in radians.", when="near(abs(a), 60)"),
            Hint(
                "1/6",
                "That is the share of a full turn, which has 2 pi radians.",
                when="near(abs(a), 1/6)",
            ),
            Hint(
                0,
                "A hand that stands still has the same code everywhere; this one changes at each "
                "step.",
            ),
        ),
        otherwise="After how many places do the same two numbers stand side by side again?",
        solution="0, 1, 1, 0, −1, −1, 0, 1, ...: six places for a turn.",
    ),
)


@exercise("two places ahead")
def _two_places_ahead(answer):
    matrix = torch.as_tensor(answer).double()
    if matrix.shape != (8, 8):
        raise ValueError(f"expected an 8 x 8 matrix, got shape {tuple(matrix.shape)}")
    codes = sinusoids(torch.arange(-40, 41), 8, dtype=torch.float64)
    best = (codes @ matrix @ codes.T).argmax(-1)
    ahead = (best - torch.arange(81))[20:61].unique().tolist()  # away from the ends
    if ahead == [2]:
        return None
    if ahead == [-2]:
        return "This head looks two places back: W_K has to bring the key's code to the query's."
    if ahead == [0]:
        return "Every query finds itself: this W_K compares the codes as they are."
    if len(ahead) == 1:
        return f"From every place the best key is at n - m = {ahead[0]}."
    return "Where this head looks depends on the place. Which matrix moves all codes alike?"


# ---- tasks of the widgets ---------------------------------------------------------------------

define(
    Task(
        "further away and more alike",
        widget="sinusoid_explorer",
        text="In the Transformer's code, find an offset beyond 16 whose dot product is larger than "
        "the one at 16.",
        done="code == 'transformer' and abs(offset) > 16 and "
        "sum([cos(offset * base ** (-2 * i / model_dim)) for i in range(model_dim // 2)]) > "
        "sum([cos(16 * base ** (-2 * i / model_dim)) for i in range(model_dim // 2)])",
        said="It falls in waves: further away may well be more alike.",
    ),
)
