"""Checkers of the chapter RoPE in two dimensions."""

import itertools
import math

import torch

from ropebook.exercises.base import NO_RETURN, close, exercise, turn
from ropebook.exercises.definitions import Answer, Bet, FillIn, Hint, Option, Task, define

define(
    Bet(
        "push both words on",
        question="The query of <i>dog</i> (position 1) and the key of <i>cat</i> (position 4) are "
        "two arrows. Each is turned by θ per position, 1θ and 4θ, and their score is the dot "
        "product. Eight words come in front: the same arrows turn by 9θ and 12θ. "
        "<b>What happens to the score?</b>",
        options=(
            Option(
                "It changes: both arrows did.",
                said="Both arrows changed, and they changed alike: each turned by 8θ more. The "
                "angle between them, and with it the score, stays exactly as it was.",
            ),
            Option(
                "It shrinks: the positions are larger.",
                said="A turn makes no arrow longer or shorter, however far it goes, and the angle "
                "between the two stays: so does the score.",
            ),
            Option(
                "It stays exactly as it was.",
                said="Both arrows turned by 8θ more, so the angle between them is the same.",
                right=True,
            ),
        ),
    ),
    Answer(
        "turn by hand",
        kind="numbers",
        question="Let θ = 90°. Where does (3, −1) point at position 5?",
        labels=("x", "y"),
        right=(1, 3),
        hints=(
            Hint(
                (-1, -3),
                "You turned clockwise. A quarter turn to the left takes (x, y) to (-y, x).",
            ),
            Hint(
                (1, -3),
                "One sign is wrong: a quarter turn takes (x, y) to (-y, x).",
                when="near(abs(a[0]), 1) and near(abs(a[1]), 3)",
            ),
            Hint(
                (3, -4),
                "A turn keeps the length: your vector is longer or shorter than (3, -1).",
                when="not near(hypot(a[0], a[1]), sqrt(10))",
            ),
        ),
        otherwise="The length is right, the direction is not. "
        "How often is a full circle completed?",
        solution="Four quarter turns are a full circle; the fifth takes (x, y) to (−y, x).",
    ),
    FillIn(
        "score from the distance",
        question="The score of <i>q</i>, that is (<code>q[0]</code>, <code>q[1]</code>), and "
        "<i>k</i> without turning any vector. "
        "<code>distance</code> is n − m and <code>inv_freq</code> is θ in radians per token; "
        "<code>hypot(x, y)</code> is the length of (x, y), and <code>atan2(y, x)</code> its angle.",
        code="""def score_at(q, k, distance, inv_freq):
    alpha = atan2(k[1], k[0]) - atan2(q[1], q[0])
    height = <<hypot(q[0], q[1]) * hypot(k[0], k[1])>>
    return height * cos(<<alpha + distance * inv_freq>>)
""",
        cases=(
            ((1.5, -0.5), (0.4, 2.0), 0, 0.7),
            ((-0.3, -2.2), (0.6, -1.1), 1, 0.3),
            ((0.6, -1.4), (0.4, 0.8), -3, 1.1),
            ((-0.7, -0.4), (-0.6, 0.2), 12, 2.0),
        ),
        tensors=True,
        hints=(
            Hint(
                ("hypot(q[0], q[1]) * hypot(k[0], k[1])", "alpha - distance * inv_freq"),
                "You turn by m - n instead of n - m: the plus is for a key that stands further on.",
            ),
            Hint(
                ("hypot(q[0], q[1]) * hypot(k[0], k[1]) * cos(alpha)", "distance * inv_freq"),
                "alpha belongs inside the cosine: it says where the wave starts.",
            ),
            Hint(
                ("hypot(q[0], q[1]) * hypot(k[0], k[1])", "distance * inv_freq"),
                "Where the wave starts is missing: alpha, the angle between the two unturned.",
            ),
            Hint(
                ("hypot(q[0], q[1]) + hypot(k[0], k[1])", "alpha + distance * inv_freq"),
                "A dot product multiplies the lengths; you add them.",
            ),
            Hint(
                ("hypot(q[0], q[1]) * hypot(k[0], k[1])", "alpha"),
                "That is the score without positions: use the distance.",
            ),
        ),
        otherwise="At distance {distance} and {inv_freq} rad per token your score is {a:.4f}, "
        "not that of the turned vectors.",
        solution="The lengths set the height of the wave, and alpha where it starts; a distance of "
        "n − m tokens runs along it by (n − m)θ.",
    ),
    Answer(
        "choose your own angles",
        kind="numbers",
        question="Let position m turn every arrow by an angle φ(m) of your choice. Position 0 "
        "turns nothing, φ(0) = 0°, and you have chosen φ(1) = 40°. Now the wish: positions 1 and "
        "2 are as far apart as 0 and 1, so the angle between two arrows must change by as much. "
        "What are φ(2) and φ(5), in degrees?",
        labels=("φ(2)", "φ(5)"),
        right=(80, 200),
        accept="near(cos(radians(a[0] - 80)), 1) and near(cos(radians(a[1] - 200)), 1)",
        hints=(
            Hint((40, 40), "Then nothing turns from position 1 to 2, and 40° from 0 to 1."),
            Hint(
                (80, 80),
                "φ(2) is right: a step of 40° again. How many steps lead to position 5?",
                when="near(cos(radians(a[0] - 80)), 1)",
            ),
        ),
        otherwise="From position 0 to 1 the turn grows by 40°, from 1 to 2 by {a[0] - 40:.0f}°: "
        "two pairs at distance 1 would have different scores.",
        solution="Each step must turn by as much as the first: φ(m) = 40° · m. Over the positions "
        "the angles lie on a straight line, and its slope is all that was ever free.",
    ),
    Answer(
        "find the distance",
        kind="set",
        question="Query and key are both (1, 0) before they are turned, θ = 0.5 rad per token, and "
        "the score is −0.8011. Which whole-number distances n − m between −12 and 12 are possible?",
        right=(5, -5),
        let={"wrong": "[d for d in a if d not in right][0]"},
        hints=(
            Hint(
                (5.9, -5.9),
                "Distances here are whole numbers.",
                when="any([d != round(d) for d in a])",
            ),
            Hint((), "Some distance in the range does fit."),
            Hint(
                (5,),
                "These fit, and there are more: can parallel q and k tell ahead from behind?",
                when="all([d in right for d in a])",
            ),
            Hint(
                (5, -5, 20),
                "{wrong} is outside the range from -12 to 12.",
                when="abs(wrong) > 12",
            ),
        ),
        otherwise="At distance {wrong} the score is {cos(0.5 * wrong):.4f}.",
        solution="α = 0, so the score is cos(0.5 d), and cos(2.5) = −0.8011. The cosine is "
        "even: parallel vectors cannot tell ahead from behind. The next candidate, "
        "2π − 2.5 = 3.78, is not a multiple of 0.5.",
    ),
    Answer(
        "look four back",
        kind="numbers",
        question="The query is always (1, 0) and θ = π/8. Choose a key of length 1, as (x, y) "
        "before it is turned, such that of all distances from −8 to 7 the score is largest at "
        "n − m = −4: each word then looks at the word four before it.",
        labels=("x", "y"),
        right=(0, 1),
        let={
            "scores": "[a[0]*cos(d*pi/8) - a[1]*sin(d*pi/8) for d in range(-8, 8)]",
            "best": "[d for d in range(-8, 8) if scores[d + 8] == max(scores)][0]",
        },
        accept="near(hypot(a[0], a[1]), 1) and best == -4",
        hints=(
            Hint((0, 3), "The key should have length 1.", when="not near(hypot(a[0], a[1]), 1)"),
            Hint(
                (0, -1),
                "This head looks four ahead: the key four back has n - m = -4.",
                when="best == 4",
            ),
        ),
        otherwise="The score is largest at n - m = {best}. Where must k point to be turned onto q?",
        solution="The score is cos(α + (n − m) π/8). At n − m = −4 the turn is −90 degrees, "
        "so start at +90.",
    ),
)


@exercise("is it relative")
def _is_it_relative(answer):
    def turned_by(angle_at):
        return lambda x, position: turn(angle_at(position), 0.3) @ x

    right = {
        "the rotation": turned_by(lambda p: p),
        "the rotation the other way": turned_by(lambda p: -p),
        "doing nothing": lambda x, position: x,
        "the mirror at odd positions": lambda x, p: x * torch.tensor([1.0, (-1.0) ** p]),
    }
    wrong = {
        "adding a vector to x": lambda x, position: x + torch.tensor([0.1, 0.2]) * position,
        "an angle that grows with the square of the position": turned_by(lambda p: p * p / 10),
        "a rotation that stops at position 64": turned_by(lambda p: min(p, 64)),
        "a rotation that starts anew every 100 positions": turned_by(lambda p: p % 100),
        "a rotation at odd positions only": turned_by(lambda p: p % 2),
        "a rotation that also shrinks": lambda x, p: 0.99**p * (turn(p, 0.3) @ x),
    }
    for name, rotate in (right | wrong).items():
        verdict = answer(rotate)
        if verdict is None:
            return NO_RETURN
        if verdict and name in wrong:
            return f"You accept {name}. Shift both positions, by little and by much, and compare."
        if not verdict and name in right:
            return (
                f"You refuse {name}, whose scores do depend on n - m only. "
                "(Scores are rounded: compare with a tolerance.)"
            )
    return None


@exercise("not a turn")
def _not_a_turn(answer):
    def matrix(position):
        found = answer(position)
        if found is None:
            raise ValueError(NO_RETURN)
        found = found.tolist() if hasattr(found, "tolist") else found  # SymPy, NumPy, torch
        found = torch.tensor([[float(entry) for entry in row] for row in found]).double()
        if found.shape != (2, 2):
            raise ValueError(f"F({position}) must be a 2 x 2 matrix, got {tuple(found.shape)}")
        return found

    if not close(matrix(0), torch.eye(2)):
        return "Position 0 must leave every vector as it is: F(0) = I."
    places = (-20, -3, -2, -1, 0, 1, 2, 3, 50, 101)
    for m, n in itertools.product(places, places):
        if not close(matrix(m).T @ matrix(n), matrix(n - m)):
            return f"The wish fails at m = {m}, n = {n}: F(m)ᵀF(n) is not F(n - m)."
    if math.isclose(torch.linalg.det(matrix(1)), 1, rel_tol=1e-6):
        return "It grants the wish, but F(1) has determinant 1: it is a turn, if only by nothing."
    return None


# ---- tasks of the widgets ---------------------------------------------------------------------

define(
    Task(
        "arrows together",
        widget="rotation_explorer",
        text="Move only the key, until both turned arrows point almost the same way.",
        done="abs(angle_between) < 0.1",
        said="Now the score is at its height.",
    ),
)
