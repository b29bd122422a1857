"""Exercises of the chapter Absolute encodings."""

import torch

from ropebook.exercises.base import NO_RETURN, close, exercise
from ropebook.exercises.definitions import Answer, Bet, FillIn, Hint, Option, Task, define
from ropelib.encodings import sinusoids

define(
    Bet(
        "seven to eight",
        question="Attention must be told where each word stands. The obvious plan: give every "
        "place a number, write it as a small vector, and add that to the word's own. Computers "
        "write numbers in binary, so with four digits place 0 is 0000, place 1 is 0001, and so "
        "on up to 1111. Places 7 and 8 are neighbors. <b>How many of the four digits differ "
        "between them?</b>",
        options=(
            Option(
                "One: it is one step.",
                said="That is so from 6 to 7. From 7 to 8 a carry runs through all the ones.",
            ),
            Option(
                "Two, at most.",
                said="Two differ from 1 to 2. From 7 to 8 the carry does not stop so soon.",
            ),
            Option(
                "All four.",
                said="7 is 0111 and 8 is 1000: the carry runs through all the ones.",
                right=True,
            ),
        ),
    ),
    Answer(
        "bits that flip",
        kind="numbers",
        question="Now the counter has five bits. How many change from 7 to 8, and how many from "
        "15 to 16?",
        labels=("7 to 8", "15 to 16"),
        right=(4, 5),
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
                when="a[0] == 4",
            ),
        ),
        otherwise="Write the numbers with five binary digits, one under the other, and compare.",
        solution="00111 → 01000 and 01111 → 10000: a carry runs through all the ones.",
    ),
    Answer(
        "code of place 1",
        kind="numbers",
        question="Compute the code of place 1 for d = 4 and base 100: four numbers, in the paper's "
        "order, to three decimals. You may write <code>sin(0.5)</code>; angles are in radians.",
        labels=("sine 0", "cosine 0", "sine 1", "cosine 1"),
        right=("sin(1)", "cos(1)", "sin(0.1)", "cos(0.1)"),
        tolerance=2e-3,
        hints=(
            Hint(
                ("sin(1)", "cos(0.1)", "sin(0.01)", "cos(0.001)"),
                "You count dimensions in the exponent. Both numbers of a pair share one frequency.",
            ),
            Hint(
                ("cos(1)", "sin(1)", "cos(0.1)", "sin(0.1)"),
                "Right hands, other order: in the paper the sine comes first.",
            ),
            Hint(
                ("sin(1)", "sin(0.1)", "cos(1)", "cos(0.1)"),
                "Right numbers, other seats: the paper puts sine and cosine of a pair side by "
                "side.",
            ),
            Hint(
                ("sin(pi/180)", "cos(pi/180)", "sin(pi/1800)", "cos(pi/1800)"),
                "Your calculator works in degrees; the hands turn in radians.",
            ),
            Hint(
                ("sin(1)", "cos(1)", "sin(10)", "cos(10)"),
                "Your second hand turns by 10 rad per token. The exponent is -2i/d.",
            ),
            Hint(
                ("sin(1)", "cos(1)", "sin(100**-0.25)", "cos(100**-0.25)"),
                "Your second hand turns by 0.316 rad per token. The exponent is -2i/d.",
            ),
            Hint(
                (1, 1, 0, 1),
                "Sine and cosine of one angle have squares that add up to 1; check each pair.",
                when="abs(a[0]**2 + a[1]**2 - 1) > 0.01 or abs(a[2]**2 + a[3]**2 - 1) > 0.01",
            ),
        ),
        otherwise="Each pair lies on the circle. By how much does each hand turn in one token?",
        solution="The hands turn by 100<sup>0</sup> = 1 and by 100<sup>−2/4</sup> = 0.1 rad per "
        "token.",
    ),
    Answer(
        "offset of two codes",
        kind="number",
        unit="tokens",
        question="With d = 4 and base 100 (the hands turn by 1 and by 0.1 rad per token), the code "
        "of the query at m is (−0.96, 0.28, 0.48, 0.88), that of the key at n (−0.13, 0.99, 0.60, "
        "−0.80), rounded, sine first in each pair. Find n − m, a whole number from 0 to 60. The "
        "slow hand tells roughly, the fast one exactly; <code>atan2(sine, cosine)</code> is the "
        "angle of a hand.",
        right=20,
        hints=(
            Hint(
                19.8,
                "Places are whole numbers, and so is their difference.",
                when="a != round(a)",
            ),
            Hint(-20, "That is m - n. Count from the query to the key."),
            Hint(64, "{a} is outside the range from 0 to 60.", when="a < 0 or a > 60"),
            Hint(
                26,
                "The fast hand may have gone round more often, or less. Over {a} tokens the slow "
                "hand turns by {0.1 * a:.1f} rad: did it?",
                when="any([abs(a - 20 - 2 * pi * t) < 0.5 for t in range(-4, 7)])",
            ),
        ),
        otherwise="Over {a} tokens the slow hand turns by {0.1 * a:.1f} rad, and the fast one by "
        "{a} rad. Compare both with the two codes.",
        solution="The slow hand turned by atan2(0.60, −0.80) − atan2(0.48, 0.88) = 2.0 rad: about "
        "20 tokens. The fast one by atan2(−0.13, 0.99) − atan2(−0.96, 0.28) = 1.16 rad and whole "
        "turns: 1.16, 7.44, 13.72, 20.01. The last agrees with 20.",
    ),
    FillIn(
        "one hand walks on",
        question="A hand that turns by <code>theta</code> radians per token reads <code>s</code> "
        "(its sine) and <code>c</code> (its cosine) at some place, and nobody tells you which. "
        "What does it read <code>offset</code> tokens further on?",
        code="""def walk_on(s, c, offset, theta):
    turn = offset * theta
    return [<<s * cos(turn) + c * sin(turn)>>, <<c * cos(turn) - s * sin(turn)>>]
""",
        cases=(
            (0, 1, 1, 0.5),
            (0.6, 0.8, 3, 0.4),
            (0.28, -0.96, -2.5, 1.0),
            (-0.8, 0.6, 40, 0.03),
        ),
        hints=(
            Hint(
                ("s * cos(turn) - c * sin(turn)", "c * cos(turn) + s * sin(turn)"),
                "You walk back. On (sin, cos) the block is [[cos, sin], [-sin, cos]].",
            ),
            Hint(
                ("sin(turn)", "cos(turn)"),
                "That is the reading at the offset itself: where did you start?",
            ),
            Hint(
                ("c * cos(turn) - s * sin(turn)", "s * cos(turn) + c * sin(turn)"),
                "Sine and cosine have changed places.",
            ),
        ),
        solution="sin(x + turn) and cos(x + turn), written with s = sin x and c = cos x: the "
        "addition theorems.",
    ),
    Answer(
        "once around in 4096",
        kind="number",
        question="You have 64 dimensions and texts of 4096 tokens. Choose the base so that the "
        "slowest hand turns exactly once in a text.",
        right="(4096/(2*pi))**(64/62)",
        tolerance=2e-3,
        hints=(
            Hint(-3, "A base is positive.", when="a <= 0"),
            Hint(
                "4096/(2*pi)",
                "You let the slowest hand turn by 1/base. The last of 32 pairs is i = 31.",
            ),
            Hint(
                "4096**(64/62)",
                "A full turn is 2 pi radians, and your hand makes 1 radian in 4096 tokens.",
            ),
        ),
        otherwise="With that base the slowest hand needs {2 * pi * a**(62/64):.0f} tokens for a "
        "turn.",
        solution="The slowest of 32 hands is i = 31. Its wavelength is 2π · base<sup>62/64</sup> = "
        "4096.",
    ),
    Answer(
        "hand in disguise",
        kind="number",
        unit="rad",
        question="A sequence goes on by x<sub>m+1</sub> = x<sub>m</sub> − x<sub>m−1</sub>, and the "
        "code of place m is (x<sub>m−1</sub>, x<sub>m</sub>). One matrix moves it on, and it "
        "begins with (0, 1). Is it bounded? Then it is a clock hand, seen in a skew basis. By how "
        "many radians does it turn per place? (Write down the first ten numbers.)",
        right="pi/3",
        accept="near(cos(a), 0.5, 0.004)",
        hints=(
            Hint(
                6,
                "Six places make a full turn. How many radians is that for one place?",
                when="abs(a) == 6",
            ),
            Hint(
                1.05,
                "Close: give more digits, or an expression such as 2*pi/3.",
                when="near(cos(a), 0.5, 0.01)",
            ),
            Hint(60, "Right, in degrees. The book counts in radians.", when="near(abs(a), 60)"),
            Hint(
                "1/6",
                "That is the share of a full turn, which has 2 pi radians.",
                when="near(abs(a), 1/6, 0.01)",
            ),
            Hint(
                0,
                "A hand that stands still has the same code everywhere; this one changes at each "
                "step.",
            ),
        ),
        otherwise="After how many places do the same two numbers stand side by side again?",
        solution="0, 1, 1, 0, −1, −1, 0, 1, …: six places for a turn. The matrix ((0, 1), (−1, 1)) "
        "has the eigenvalues exp(±iπ/3).",
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
