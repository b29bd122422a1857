"""Checkers of the chapter RoPE in two dimensions."""

import itertools
import math
from collections.abc import Iterable

import torch

from ropebook.exercises.base import NO_RETURN, close, exercise, turn, vector_of


@exercise("turn by hand")
def _turn_by_hand(answer):
    vector, answer = torch.tensor([3.0, -1.0]).double(), vector_of(answer)
    if close(answer, turn(5, math.pi / 2) @ vector):
        return None
    if close(answer, turn(-5, math.pi / 2) @ vector):
        return "You turned clockwise. A quarter turn to the left takes (x, y) to (-y, x)."
    if not math.isclose(answer.norm(), vector.norm(), rel_tol=1e-6):
        return "A turn keeps the length: your vector is longer or shorter than (3, -1)."
    return "The length is right, the direction is not. How often is a full circle completed?"


@exercise("score from the distance")
def _score_from_the_distance(answer):
    generator = torch.Generator().manual_seed(0)
    for distance, frequency in ((0, 0.7), (1, 0.3), (-3, 1.1), (12, 2.0)):
        q, k = torch.randn(2, 2, generator=generator, dtype=torch.float64)
        given = answer(q.clone(), k.clone(), distance, frequency)
        if given is None:
            return NO_RETURN
        given = float(given)
        if math.isclose(given, q @ turn(distance, frequency) @ k, abs_tol=1e-6):
            continue
        if math.isclose(given, q @ turn(-distance, frequency) @ k, abs_tol=1e-6):
            return "You turn by m - n instead of n - m, or your cross product is k x q."
        if math.isclose(given, q @ k * math.cos(distance * frequency), abs_tol=1e-6):
            return "You left out the part that vanishes when q and k are parallel: q x k."
        if math.isclose(given, q @ k, abs_tol=1e-6):
            return "That is the score without positions: use the distance."
        return (
            f"At distance {distance} and {frequency} rad per token your score is {given:.4f}, "
            + ("not that of the turned vectors.")
        )
    return None


@exercise("find the distance")
def _find_the_distance(answer):
    if not isinstance(answer, Iterable):
        return "Give a set, such as {1, 2}: there may be more than one."
    numbers = [float(distance) for distance in answer]
    if any(number != round(number) for number in numbers):
        return "Distances here are whole numbers."
    found = {round(number) for number in numbers}
    right = {d for d in range(-12, 13) if math.isclose(math.cos(0.5 * d), math.cos(2.5))}
    if found == right:
        return None
    if not found:
        return "Some distance in the range does fit."
    if found < right:
        return "These fit, and there are more: can parallel q and k tell ahead from behind?"
    wrong = min(found - right)
    if abs(wrong) > 12:
        return f"{wrong} is outside the range from -12 to 12."
    return f"At distance {wrong} the score is {math.cos(0.5 * wrong):.4f}."


@exercise("look four back")
def _look_four_back(answer):
    q, k, angle = torch.tensor([1.0, 0.0]).double(), vector_of(answer), math.pi / 8
    if not math.isclose(k.norm(), 1, rel_tol=1e-6):
        return "The key should have length 1."
    best = max(range(-8, 8), key=lambda distance: float(q @ turn(distance, angle) @ k))
    if best == -4:
        return None
    if best == 4:
        return "This head looks four ahead: the key four back has n - m = -4."
    return f"The score is largest at n - m = {best}. Where must k point to be turned onto q?"


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
