"""An exercise of each kind, defined for tests alone: the book need not have all of them."""

from ropebook.exercises.definitions import Answer, Bet, FillIn, Hint, Option

SOLUTION = "A hand of period <i>p</i> makes <code>n / p</code> turns in <i>n</i> tokens."

SAMPLES = (
    Bet(
        "sample bet",
        "Both words move on by eight. <b>What happens to the score?</b>",
        (
            Option("It changes: both arrows did.", "Both turned by the <i>same</i> angle."),
            Option("It stays as it was.", "It sees the angle between them.", right=True),
            Option("It shrinks.", "A turn keeps the length of <code>q</code>."),
        ),
    ),
    Answer(
        *("sample number", "number", "How often does a hand of period 40 turn in 100 tokens?"),
        right="100/40",
        unit="turns",
        hints=(Hint(0.4, "That is tokens over turns."),),
        otherwise="Not {a}: divide the tokens by the period.",
        solution=SOLUTION,
    ),
    Answer(
        *("sample numbers", "numbers", "Where does (3, −1) point after a quarter turn?"),
        right=(1, 3),
        labels=("x", "y"),
        hints=(Hint((-1, -3), "You turned clockwise."),),
        solution="It takes (x, y) to (−y, x).",
    ),
    Answer(
        *("sample set", "set", "At which distances is the cosine of a quarter turn zero?"),
        right=(1, 3),
        hints=(Hint((1,), "There is one more."),),
        solution="At odd ones.",
    ),
    Answer(
        *("sample expression", "expression", "What is the score of two arrows of length 1?"),
        right="cos((n - m) * theta)",
        variables=("m", "n", "theta"),
        hints=(Hint("cos(n - m)", "Where is the frequency?"),),
        solution="The angle between them.",
    ),
    Answer(
        *("sample choice", "choice", "Which pair turns fastest?"),
        options=(
            Option("the first", "Its frequency is 1.", right=True),
            Option("the last", "That one is the slowest."),
            Option("all alike", "Their frequencies fall."),
        ),
        solution="Frequencies fall from pair to pair.",
    ),
    Answer(
        *("sample order", "order", "Put the steps of attention into their order."),
        right=(2, 1, 0, 3),
        items=("softmax", "dot product", "turn", "sum of <b>values</b>"),
        hints=(Hint((1, 2, 0, 3), "Turn before you compare."),),
        solution="What is compared was turned.",
    ),
    FillIn(
        "sample fill-in",
        "Write the score from the distance.",
        code="def score(distance, theta):\n    angle = <<distance * theta>>\n"
        "    return <<cos(angle)>>",
        cases=((2, 0.5), (-3, 0.25)),
        hints=(Hint(("distance", "cos(angle)"), "Where is the frequency?"),),
        solution="The angle between them, and its cosine.",
    ),
)
