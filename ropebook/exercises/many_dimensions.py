"""Exercises of the chapter Many dimensions."""

import math
from collections.abc import Iterable

import torch

from ropebook.exercises.base import NO_RETURN, exercise
from ropebook.exercises.definitions import Answer, Bet, FillIn, Hint, Option, Task, define
from ropelib.frequencies import inv_freq as frequencies_of
from ropelib.frequencies import wavelength
from ropelib.reference import rotation_matrix


def _coming_round(head_dim: int, text: float) -> int:
    """Return how many hands of a head complete a turn within a text of so many tokens."""
    return int((wavelength(frequencies_of(head_dim)) <= text).sum())


define(
    Bet(
        "exactly seven back",
        question="In the plane, the score over distance is one cosine: a row of equal hills, one "
        "per full turn of the hand. Now take two hands, a fast one and a slower one, and add their "
        "cosines. <b>Can the sum have one hill, seven words back, and no other nearly as high "
        "within 32 words?</b> The picture shows the first hand; switch on the second when you have "
        "chosen.",
        options=(
            Option(
                "Yes: start both hands so that both cosines are at their top at distance −7.",
                said="Both can be at their top at −7, and the sum is 2 there. But it is nearly as "
                "high on another hill.",
            ),
            Option(
                "No: some other hill is nearly as high.",
                said="With these two hands, another hill reaches 87% of the one at −7.",
                right=True,
            ),
            Option(
                "No, and no number of hands could do it.",
                said="Two hands cannot, but more can, within reach: switch them on one by one. "
                "(Without a limit you would be right: very far out, any number of hands comes as "
                "close to agreeing again as you like.)",
            ),
        ),
    ),
    Task(
        "quiet everywhere else",
        widget="score_builder",
        text="Choose how many hands, so that the best other hill is lower than a quarter of the "
        "peak.",
        done="4 * max([sum([amplitudes[i] * cos(start_angles[i] + d * base ** (-2 * i / head_dim))"
        " for i in range(pairs)]) for d in range(-32, 33) if abs(d + 7) > 3])"
        " < sum([amplitudes[i] * cos(start_angles[i] - 7 * base ** (-2 * i / head_dim))"
        " for i in range(pairs)])",
        said="The hands veto each other's returns. At base 100 five of them do it, and with all "
        "eight the other hills have grown again.",
    ),
    Answer(
        "two hands by hand",
        kind="number",
        question="A head of two hands. The first makes half a turn per position, which takes "
        "(x, y) to (−x, −y); the second a quarter turn, which takes it to (−y, x). The query "
        "(2, 1 | 1, 0) stands at position 1, the key (1, 1 | 0, 2) at position 4; the bar "
        "separates the pairs. What is the score?",
        right=-1,
        hints=(
            Hint(-3, "That is the score of the first hand. The second has one, too: add it."),
            Hint(2, "That is the score of the second hand. The first has one, too: add it."),
            Hint(3, "That is the dot product before any turn."),
            Hint(-5, "The first hand is right. The second you turned clockwise."),
        ),
        otherwise="The first hand: the query makes one half turn, the key four. The second: one "
        "quarter turn and four. Two dot products, added.",
        solution="First hand: (−2, −1) and (1, 1), product −3. Second hand: (0, 1) and (0, 2), "
        "product 2. A distance of 3 is all that counts: query at 0 and key at 3 give the same.",
    ),
    Answer(
        "the middle hand",
        kind="number",
        question="A head of 64 dimensions, base 10000. How many tokens does hand 16 take for a "
        "full turn?",
        right="200*pi",
        unit="tokens",
        tolerance=0.002,
        hints=(
            Hint(100, "After 100 tokens it has turned by one radian. How much is a full turn?"),
            Hint(
                0.01,
                "That is how far it turns per token, in radians. The question is for the tokens.",
            ),
            Hint(
                "20*pi",
                "The exponent is 2i/d: with i = 16 and d = 64, a half and not a quarter.",
            ),
            Hint(
                36_000,
                "Frequencies are in radians per token: a full turn is 2 pi of them, not 360.",
            ),
        ),
        otherwise="The frequency of pair i is base ** (-2i/d); a full turn is 2 pi radians.",
        solution="2π · 10000^(32/64) = 2π · 100.",
    ),
    Task(
        "a longer text",
        widget="frequency_clocks",
        text="Make the text longer, until only 9 of these 32 hands never complete a turn.",
        done="rotary_dim == 64 and base == 10000 and len([i for i in range(32)"
        " if 2 * pi * base ** (2 * i / 64) > context]) == 9",
        said="Eight times the text, and more than a quarter of the hands still do not come round.",
    ),
    Answer(
        "hands that never come round",
        kind="number",
        question="A head of 128 dimensions with base 10000, and texts of 4096 tokens. How many of "
        "its 64 hands never complete a turn within a text? (With a calculator, or the picture "
        "above.)",
        right=64 - _coming_round(128, 4096),
        hints=(
            Hint(
                _coming_round(128, 4096),
                "That many do come round: their full turn takes 4096 tokens or fewer.",
            ),
            Hint(
                _coming_round(128, 4096) - 1,
                "Hand {a} is the last that does come round. Hands are counted from 0 to 63.",
            ),
            Hint(
                65 - _coming_round(128, 4096),
                "Nearly. Hands are counted from 0 to 63: which is the first that never comes "
                "round, and how many are there from it on?",
                when="a in [17, 19, 20]",
            ),
            Hint(
                64 - _coming_round(128, 2 * math.pi * 4096),
                "A hand that turns by 1/4096 rad per token needs 2 pi times 4096 tokens for a "
                "turn.",
            ),
            Hint(
                32 - _coming_round(64, 4096),
                "That is the answer for a head of 64 dimensions. This one has 128.",
            ),
        ),
        otherwise="A hand never comes round if its full turn, 2 pi / inv_freq, is longer than the "
        "text.",
        solution="2π · 10000^(2i/128) is more than 4096 for i > 64 ln(4096 / 2π) / ln 10000 = "
        "45.03: hands 46 to 63.",
    ),
    FillIn(
        "score from the clocks",
        question="The score of a head, from its clocks: <code>amplitudes</code>, "
        "<code>starts</code> (rad) and <code>inv_freq</code> (rad per token) are lists of equal "
        "length; <code>distance</code> is n − m.",
        code="""def score_of_clocks(amplitudes, starts, inv_freq, distance):
    score = 0
    for A, alpha, f in zip(amplitudes, starts, inv_freq):
        score = score + <<A>> * cos(<<alpha + distance * f>>)
    return score
""",
        cases=(
            ((0.5,), (0.9,), (1.0,), 0),
            ((0.3, 0.8), (0.4, 0.2), (1.0, 0.01), 3),
            ((0.9, 0.1, 0.6, 0.4), (0.7, 0.5, 0.1, 0.8), (1.0, 0.1, 0.01, 0.001), -5),
            ((1.0, 2.0, 0.5), (0.0, -1.0, 2.0), (1.0, 0.3, 0.02), 11),
        ),
        hints=(
            Hint(
                ("A / len(amplitudes)", "alpha + distance * f"),
                "That is the mean. A dot product adds up: the score is the sum.",
            ),
            Hint(
                ("A", "alpha - distance * f"),
                "The clocks run the wrong way: a larger n - m turns the key further on.",
            ),
            Hint(("A", "alpha"), "That is the score at distance 0: the clocks have to move."),
        ),
        otherwise="With {len(amplitudes)} clocks at distance {distance} your score is {a:.4f}, and "
        "it should be {right:.4f}.",
        solution="Each clock adds its amplitude times the cosine of where it stands at that "
        "distance.",
    ),
    Bet(
        "hands that aim best",
        question="The peak score is fixed, and the hands that are used share it equally, fastest "
        "first. <b>With how many of the 32 hands does the head look most sharply at the word "
        "before?</b>",
        options=(
            Option(
                "One: the fastest is the sharpest.",
                said="It is sharp next to its target. But it comes back every 6.28 words, and "
                "gives nearly as much there.",
            ),
            Option(
                "Three or four.",
                said="They are fast enough to tell neighbors apart, and enough of them to veto "
                "each other's returns.",
                right=True,
            ),
            Option(
                "All 32: the more, the better.",
                said="Each slow hand takes its share of the peak and gives nearly as much to the "
                "neighbors. With all 32 the weight on the word before is less than half of the "
                "best.",
            ),
        ),
    ),
    Answer(
        "three hands",
        kind="numbers",
        question="You have three hands, which all count the same and all start at 0. Choose their "
        "speeds (rad per token) so that at every whole distance from 1 to 999 the mean of the "
        "three cosines is at most 0.94: no two of a thousand places look alike. RoPE's base 10000 "
        "reaches 0.98 with three hands.",
        labels=("fast", "middle", "slow"),
        right=("2*pi/10", "2*pi/100", "2*pi/1000"),
        let={
            "alike": "[(cos(a[0]*d) + cos(a[1]*d) + cos(a[2]*d)) / 3 for d in range(1, 1000)]",
            "most": "max(alike)",
            "worst": "[d for d in range(1, 1000) if alike[d - 1] == most][0]",
        },
        accept="most <= 0.94",
        hints=(
            Hint(
                (0.1, 0.01, 0.001),
                "Neighbors are too much alike: {most:.3f}. Some hand must notice one step.",
                when="worst == 1",
            ),
        ),
        otherwise="At distance {worst} the mean is {most:.3f}: all three hands are nearly back. "
        "Which of them should be far from its start there?",
        solution="An odometer: full turns of 10, 100 and 1000 tokens. One step moves the first "
        "hand by 36 degrees, ten steps the second, a hundred the third.",
    ),
)


@exercise("aim a head")
def _aim_a_head(answer):
    generator = torch.Generator().manual_seed(0)
    for head_dim, back in ((2, 1), (4, 7), (16, 0), (64, 3)):
        q = torch.randn(head_dim, generator=generator, dtype=torch.float64)
        inv_freq = frequencies_of(head_dim)
        key = answer(q.clone(), inv_freq.clone(), back)
        if key is None:
            return NO_RETURN
        key = torch.as_tensor(key).double()
        if key.shape != q.shape:
            return f"The key must have {head_dim} numbers, as q has, got {tuple(key.shape)}."
        if not torch.allclose(key.view(-1, 2).norm(dim=-1), torch.ones(head_dim // 2).double()):
            return "Every pair of the key should have length 1."
        best = q.view(-1, 2).norm(dim=-1).sum()

        def score(distance, q=q, key=key, f=inv_freq):
            return q @ rotation_matrix(distance, f, layout="interleaved") @ key

        if math.isclose(score(-back), best, abs_tol=1e-6):
            continue
        if math.isclose(score(back), best, abs_tol=1e-6):
            return f"This head looks {back} ahead: the key {back} back has n - m = -{back}."
        if math.isclose(score(0), best, abs_tol=1e-6):
            return "This key is parallel to the query before the turn: it looks at distance 0."
        return (
            f"At n - m = -{back} the score is {score(-back):.3f} of {best:.3f}. Where must each "
            + ("pair of the key start, to be turned onto that of q?")
        )
    return None


@exercise("speeds of a generator")
def _speeds_of_a_generator(answer):
    generator = torch.Generator().manual_seed(0)
    for speeds in ([0.3], [1.0, 0.1], [0.5, 0.5], [0.7, 0.0], [1.3, 0.4, 0.02, 0.9]):
        plain = [torch.tensor([[0.0, -s], [s, 0.0]]).double() for s in speeds]
        size = 2 * len(speeds)
        mixing = torch.randn(size, size, generator=generator, dtype=torch.float64)
        basis = torch.linalg.qr(mixing).Q
        G = basis @ torch.block_diag(*plain) @ basis.T
        given = answer((G - G.T) / 2)
        if given is None:
            return NO_RETURN
        given = torch.as_tensor([float(s) for s in given]).double()
        right = torch.tensor(sorted(speeds)).double()
        if len(given) == size and torch.allclose(
            given.sort().values, right.repeat_interleave(2), atol=1e-5
        ):
            return "Every plane has two eigenvectors: each speed occurs twice in your answer."
        if len(given) != len(speeds):
            return f"A {size} x {size} generator has {len(speeds)} speeds, you give {len(given)}."
        if bool((given < -1e-6).any()):
            return "Give no negative speeds: a plane can be looked at from either side."
        given = given.sort().values
        if torch.allclose(given, right, atol=1e-5):
            continue
        if torch.allclose(given, right**2, atol=1e-6):
            return "These are the squares of the speeds."
        return f"For a generator with the speeds {speeds} you find {given.tolist()}."
    return None


@exercise("axes that get along")
def _axes_that_get_along(answer):
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        return 'Give a set of two-letter words, such as {"ab", "cd"}.'
    found = {"".join(sorted(str(pair))) for pair in answer}
    J, zero = torch.tensor([[0.0, -1.0], [1.0, 0.0]]), torch.zeros(2, 2)
    one = torch.eye(2)
    generators = {
        "a": torch.block_diag(J, 2 * J),
        "b": torch.block_diag(zero, -3 * J),
        "c": torch.cat((torch.cat((zero, -one), 1), torch.cat((one, zero), 1))),
        "d": torch.block_diag(J, J),
    }
    pairs = {a + b for a in generators for b in generators if a < b}
    unknown = found - pairs
    if unknown:
        return f"{min(unknown)!r} is not a pair of two of the letters a, b, c, d."

    def commute(pair):
        left, right = (generators[letter] for letter in pair)
        return torch.equal(left @ right, right @ left)

    right = set(filter(commute, pairs))
    wrong = found - right
    if wrong:
        return f"{min(wrong)}: multiply in both orders. The two products differ."
    missing = right - found
    if "cd" in missing:
        return "c mixes the two planes. Multiply it with each of the others, in both orders."
    if missing:
        return f"{len(missing)} more: generators that turn the same planes commute at any speeds."
    return None
