"""Exercises of the chapter Complex numbers rotate."""

import cmath
import math

from ropebook.exercises.base import NO_RETURN, exercise, vector_of
from ropebook.exercises.definitions import Answer, Bet, FillIn, Hint, Option, Task, define


def _number_of(answer) -> complex:
    """Return an answer, a complex number or its two coordinates, as a Python complex number."""
    if isinstance(answer, str):
        raise ValueError(f"give a number such as 1 - 2j, not the text {answer!r}")
    try:
        return complex(answer)
    except (TypeError, ValueError, RuntimeError):  # a pair, in whatever form
        return complex(*vector_of(answer).tolist())


def _near(left: complex, right: complex) -> bool:
    return cmath.isclose(left, right, rel_tol=1e-6, abs_tol=1e-6)


@exercise("back from a matrix")
def _back_from_a_matrix(answer):
    for number in (2 + 1j, -3 + 0.5j, 4 + 0j, -1j, 0j):
        a, b = number.real, number.imag
        given = answer([[a, -b], [b, a]])
        if given is None:
            return NO_RETURN
        given = _number_of(given)
        if _near(given, number):
            continue
        if _near(given, number.conjugate()):
            return "You return the conjugate: b stands in the lower left corner."
        return f"From the matrix of {number} you return {given}."
    outside = {
        "a mirror": [[1, 0], [0, -1]],
        "the other mirror": [[0, 1], [1, 0]],
        "a matrix that stretches one axis": [[2, 0], [0, 1]],
        "a shear": [[1, 1], [0, 1]],
        "a matrix whose diagonal does not agree": [[1, -2], [2, 3]],
    }
    for name, matrix in outside.items():
        try:
            given = answer(matrix)
        except ValueError:
            continue
        return f"You accept {name}, {matrix}, and return {given}: which number does that?"
    return None


@exercise("angle in every quadrant")
def _angle_in_every_quadrant(answer):
    for a, b in (
        *((2.0, 1.0), (-2.0, 1.0), (-1.0, -2.0), (1.0, -2.0)),
        *((0.0, 3.0), (0.0, -0.5), (5.0, 0.0), (-4.0, 0.0)),
    ):
        try:
            given = answer(a, b)
        except ZeroDivisionError:
            return f"At ({a:g}, {b:g}) you divide by zero: that arrow has an angle, but no slope."
        if given is None:
            return NO_RETURN
        given, right = float(given), math.atan2(b, a)
        if math.isclose(given, right, abs_tol=1e-6):
            continue
        where = f"At ({a:g}, {b:g}) you return {given:.4f} rad"
        if math.isclose(given, math.degrees(right), rel_tol=1e-6, abs_tol=1e-6):
            return f"{where}: that is in degrees."
        turns = (given - right) / (2 * math.pi)
        if math.isclose(turns, round(turns), abs_tol=1e-6):
            return f"{where}: the right direction, but outside the range above -pi and up to pi."
        if math.isclose(2 * turns, round(2 * turns), abs_tol=1e-6):
            return f"{where}: that is the opposite arrow, which has the same slope."
        if math.isclose(given, -right, abs_tol=1e-6):
            return f"{where}: is that arrow above the horizontal axis or below?"
        return f"{where}, which is not its angle."
    small = 1e-8
    for a, right in ((1.0, small), (-1.0, math.pi)):
        if not math.isclose(answer(a, small), right, rel_tol=1e-6):
            return (
                f"At ({a:g}, {small:g}) you return {float(answer(a, small)):g}. Near 0 the cosine "
                "hardly changes, so acos cannot see a small angle. The slope can."
            )
    return None


define(
    Bet(
        "multiply two arrows",
        question="Two arrows start at one point: <i>z</i> is 1.5 long and points 30° above the "
        "horizontal, <i>w</i> is 1.2 long and points 60° above it. There is a way to "
        "<b>multiply</b> arrows, with all the rules of school arithmetic. How long is their "
        "product, and where does it point?",
        options=(
            Option(
                "It is 1.8 long and points to 45°, between the two.",
                said="Between the two lies their sum. Of a product, the angles add.",
            ),
            Option(
                "It is 2.7 long and points to 90°: 1.5 + 1.2.",
                said="The direction is right, and lengths multiply: 1.5 times 1.2.",
            ),
            Option(
                "It is 1.8 long and points to 90°: 1.5 times 1.2.",
                said="So it is: lengths multiply, and angles add.",
                right=True,
            ),
        ),
    ),
    Answer(
        "quarter turn",
        kind="numbers",
        question="Where does the arrow (2, −5) point after a quarter turn, counterclockwise?",
        labels=("x", "y"),
        right=(5, 2),
        hints=(
            Hint((-5, -2), "You turned clockwise. Counterclockwise takes (1, 0) to (0, 1)."),
            Hint((-5, 2), "Swapped, but not turned: y is −5 here, so what is −y?"),
            Hint((5, -2), "Look at the second number: x goes there with its own sign."),
            Hint((-2, 5), "That is half a turn: you did it twice."),
            Hint((2, -5), "That is where it points before the turn."),
            Hint(
                (1, 2),
                "A turn keeps the length, and yours is another.",
                when="not near(hypot(a[0], a[1]), sqrt(29))",
            ),
        ),
        otherwise="The length is right, the direction is not: (x, y) goes to (−y, x).",
        solution="(x, y) goes to (−y, x), and −(−5) is 5.",
    ),
    Task(
        "half of a quarter turn",
        widget="complex_product",
        text="Find the number that turns by half of a quarter turn and stretches nothing.",
        # Its square is i; the other root of i turns by five eighths of a circle.
        done="hypot(w[0] - sqrt(0.5), w[1] - sqrt(0.5)) < 0.04",
        said="Multiplied by itself, it is i.",
    ),
    Answer(
        "multiply by hand",
        kind="numbers",
        question="What is (1 + 2i)(3 − i)?",
        labels=("real part", "imaginary part"),
        right=(5, 5),
        hints=(
            Hint(
                (3, -2),
                "You multiplied coordinate by coordinate. Multiply out: each part of one number "
                "meets each part of the other.",
            ),
            Hint((1, 5), "The imaginary part is right. In the real part, what is i times i?"),
            Hint((1, 7), "You multiplied by 3 + i."),
            Hint(
                (1, -7),
                "You took 1 − 2i for 1 + 2i.",
            ),
            Hint((4, 1), "That is the sum."),
            Hint(
                (-5, 5),
                "The length is right, the direction is not.",
                when="near(hypot(a[0], a[1]), sqrt(50))",
            ),
        ),
        otherwise="Lengths multiply: the square of yours is {a[0]**2 + a[1]**2}, but 5 times 10 "
        "is 50.",
        solution="3 − i + 6i − 2i², and i² = −1. The lengths agree: 5 times 10 is 50 = 25 + 25.",
    ),
    FillIn(
        "turn an arrow",
        question="Fill in the turn of (x, y) by an angle, counterclockwise:",
        code="""def turned(x, y, angle):
    new_x = x * cos(angle) - <<y * sin(angle)>>
    new_y = <<x * sin(angle)>> + y * cos(angle)
    return [new_x, new_y]""",
        cases=((1, 0, math.pi / 2), (3, 1, math.pi / 2), (2, -1, 0.7), (-1, 4, -2.5)),
        hints=(
            Hint(
                ("x * sin(angle)", "y * sin(angle)"),
                "Each number goes along with its own cosine and across with its sine: across "
                "means into the other one.",
            ),
            Hint(
                ("-y * sin(angle)", "-x * sin(angle)"),
                "You turn clockwise: at 90°, (1, 0) shall come to (0, 1).",
            ),
            Hint(
                ("y * sin(angle)", "-x * sin(angle)"),
                "At 90°, (1, 0) shall come to (0, 1); yours goes to (0, −1).",
            ),
            Hint(
                ("-y * sin(angle)", "x * sin(angle)"),
                "There is a minus before the first gap already.",
            ),
        ),
        solution="cos(angle) times (x, y), plus sin(angle) times the quarter turn (−y, x).",
    ),
    Answer(
        "turn one onto the other",
        kind="numbers",
        question="Turn it around: which number w takes the arrow (3, 1) to (1, 3)? That is, "
        "w · (3 + i) = 1 + 3i.",
        labels=("real part", "imaginary part"),
        right=(0.6, 0.8),
        hints=(
            Hint((0.6, -0.8), "Yours takes (1, 3) to (3, 1): you divided the wrong way round."),
            Hint((6, 8), "The direction is right. Divide by the length squared of 3 + i."),
            Hint((0, 10), "You multiplied the two. Which number, times 3 + i, gives 1 + 3i?"),
            Hint((0, 1), "A quarter turn takes (3, 1) to (−1, 3), which is too far."),
        ),
        otherwise="Yours takes (3, 1) to ({3*a[0] - a[1]:.2f}, {a[0] + 3*a[1]:.2f}). Multiply out "
        "(a + bi)(3 + i), and compare its two parts with those of 1 + 3i.",
        solution="With w = a + bi the product is (3a − b) + (a + 3b)i: so 3a − b = 1 and a + 3b = "
        "3. Both arrows have one length, so w has length 1: 0.36 + 0.64 = 1. It only turns.",
        tolerance=2e-3,
    ),
    Answer(
        "pushed on together",
        kind="number",
        question="With 30° per place: <i>dog</i> stands at place 2 and <i>cat</i> at place 6. Now "
        "1000 words are put in front of the sentence. What is the angle from the hand of "
        "<i>dog</i> to the hand of <i>cat</i>?",
        right=120,
        unit="degrees",
        hints=(
            Hint(-120, "That is the angle from cat to dog. Cat is further on."),
            Hint(30180, "That is how far the hand of cat has turned. From dog to cat it is less."),
            Hint(180, "That is where the hand of cat pointed before."),
            Hint(30120, "1000 places were put in front of both."),
            Hint(4, "That is the distance in places. What is it in degrees?"),
            Hint(90, "That was the example, with dog and cat three places apart."),
            Hint("2*pi/3", "The direction is right, in radians: degrees are asked for."),
        ),
        otherwise="How many places apart are they, before and after?",
        solution="They stand four places apart, wherever the sentence stands: 4 times 30°.",
    ),
    Answer(
        "twelve directions",
        kind="numbers",
        question="Design a clock hand: a number w whose powers w, w<sup>2</sup>, w<sup>3</sup>, … "
        "visit all twelve directions of a clock face (the multiples of 30°, at length one) before "
        "they come back to 1. But it must not creep: each step is <b>more than a quarter turn</b> "
        "and less than half a turn, counterclockwise.",
        labels=("real part", "imaginary part"),
        right=("-sqrt(3)/2", 0.5),
        accept="abs(length - 1) < 1e-3 and abs(step - 5) < 5e-3",
        let={"length": "hypot(a[0], a[1])", "step": "atan2(a[1], a[0]) / (pi / 6)"},
        hints=(
            Hint(
                (-0.78, 0.45),
                "Your number has length {length:.4f}: its powers spiral inward.",
                when="length <= 1 - 1e-3",
            ),
            Hint(
                (-0.95, 0.55),
                "Your number has length {length:.4f}: its powers spiral outward.",
                when="length >= 1 + 1e-3",
            ),
            Hint(
                ("cos(2.5)", "sin(2.5)"),
                "Twelve of your steps are {step:.3f} turns: not whole.",
                when="abs(step - round(step)) > 5e-3",
            ),
            Hint((0.5, "-sqrt(3)/2"), "You step clockwise.", when="round(step) < 0"),
            Hint(
                ("sqrt(3)/2", 0.5),
                "Your step is {30 * round(step)}°: more than a quarter turn is asked for.",
                when="round(step) <= 3",
            ),
            Hint((-0.5, "sqrt(3)/2"), "Steps of 120° visit 3 directions and start again."),
            Hint((-1, 0), "Your step is half a turn: it only goes to and fro."),
        ),
        solution="Steps of 150°, 5 twelfths of a turn. After n steps the hand stands at 5n "
        "twelfths, and since 5 and 12 share no factor, that is a whole number of turns first at "
        "n = 12.",
    ),
    Answer(
        "enough small steps",
        kind="number",
        question="You turn by a quarter turn, φ = π/2, in N small steps 1 + iφ/N. What is the "
        "smallest N for which the arrow comes out less than 1% too long?",
        right=124,
        let={"length": "(1 + (pi / 2 / a) ** 2) ** (a / 2)"},
        hints=(
            Hint(123.4, "N is a whole number of steps.", when="a != round(a) or a < 1"),
            Hint(
                247,
                "The error is half of that: look at the leading term again.",
                when="a == 246 or a == 247",
            ),
            Hint(100, "With {a} steps the length is {length:.5f}.", when="a < 124"),
        ),
        otherwise="With {a} steps the length is {length:.5f}; fewer will do.",
        solution="(π/2)² / (2N) < 0.01 gives N > 123.4. The exact lengths agree: 1.01008 for 123 "
        "steps and below 1.01 for 124.",
    ),
)
