"""Checkers of the chapter Complex numbers rotate."""

import cmath
import math

from ropebook.exercises.base import NO_RETURN, exercise, vector_of


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


@exercise("multiply by hand")
def _multiply_by_hand(answer):
    given, w, z = _number_of(answer), 1 + 2j, 3 - 1j
    misconceptions = {
        complex(w.real * z.real, w.imag * z.imag): "You multiplied coordinate by coordinate. "
        "Multiply out: each part of one number meets each part of the other.",
        complex(w.real * z.real + w.imag * z.imag, (w * z).imag): "The imaginary part is right. "
        "In the real part, what is i times i?",
        w * z.conjugate(): "You multiplied by 3 + i.",
        w.conjugate() * z: "You put a bar on the first number: that gives dot and cross product.",
        w + z: "That is the sum.",
    }
    if _near(given, w * z):
        return None
    for wrong, hint in misconceptions.items():
        if _near(given, wrong):
            return hint
    if math.isclose(abs(given), abs(w * z), rel_tol=1e-6):
        return "The length is right, the direction is not."
    return f"Lengths multiply: the square of yours is {abs(given) ** 2:.4g}, but 5 times 10 is 50."


@exercise("turn one onto the other")
def _turn_one_onto_the_other(answer):
    given, start, goal = _number_of(answer), 3 + 1j, 1 + 3j
    if _near(given, goal / start):
        return None
    if _near(given, start / goal):
        return "Yours takes (1, 3) to (3, 1): you divided the wrong way round."
    if _near(given, goal * start.conjugate()):
        return "The direction is right. Divide by the length squared of 3 + i."
    if _near(given, goal * start):
        return "You multiplied the two. Which number, times 3 + i, gives 1 + 3i?"
    if _near(given, 1j):
        return "A quarter turn takes (3, 1) to (-1, 3). If you divided, was it by 3 - i?"
    found = given * start
    return f"Yours takes (3, 1) to ({found.real:.4g}, {found.imag:.4g})."


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


@exercise("twelve directions")
def _twelve_directions(answer):
    given, twelfth = _number_of(answer), math.pi / 6
    if not math.isclose(abs(given), 1, abs_tol=1e-3):
        way = "out" if abs(given) > 1 else "in"
        return f"Your number has length {abs(given):.4g}: its powers spiral {way}ward."
    step = cmath.phase(given) / twelfth
    if not math.isclose(step, round(step), abs_tol=5e-3):
        return (
            f"Twelve of your steps are {12 * cmath.phase(given) / math.tau:.3f} turns: not whole."
        )
    step = round(step)
    if step < 0:
        return "You step clockwise."
    if step <= 3:
        return f"Your step is {30 * step}°: more than a quarter turn is asked for."
    if step == 6:
        return "Your step is half a turn: it only goes to and fro."
    visited = 12 // math.gcd(step, 12)
    if visited < 12:
        return f"Steps of {30 * step}° visit {visited} directions and start again."
    return None


@exercise("enough small steps")
def _enough_small_steps(answer):
    steps = float(answer)
    if steps != round(steps) or steps < 1:
        return "N is a whole number of steps."
    angle, allowed = math.pi / 2, 1.01
    smallest = next(N for N in range(1, 1000) if _length(angle, N) < allowed)
    if steps == smallest:
        return None
    if steps in (math.floor(angle**2 / 0.01), math.ceil(angle**2 / 0.01)):
        return "The error is half of that: look at the leading term again."
    length = _length(angle, steps)
    if steps < smallest:
        return f"With {steps:.0f} steps the length is {length:.5f}."
    return f"With {steps:.0f} steps the length is {length:.5f}; fewer will do."


def _length(angle: float, steps: float) -> float:
    """Return the length of (1 + i angle / steps) ** steps."""
    return (1 + (angle / steps) ** 2) ** (steps / 2)
