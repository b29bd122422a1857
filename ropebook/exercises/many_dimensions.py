"""Checkers of the chapter Many dimensions."""

import math
from collections.abc import Iterable

import torch

from ropebook.exercises.base import NO_RETURN, exercise
from ropelib.frequencies import inv_freq as frequencies_of
from ropelib.frequencies import wavelength
from ropelib.reference import rotation_matrix


def _numbers(answer, count: int) -> torch.Tensor:
    numbers = torch.as_tensor(answer, dtype=torch.float64)
    if numbers.shape != (count,):
        raise ValueError(f"expected {count} numbers, got shape {tuple(numbers.shape)}")
    return numbers


@exercise("the middle hand")
def _the_middle_hand(answer):
    answer, right = float(answer), 200 * math.pi
    if math.isclose(answer, right, rel_tol=0.002):
        return None
    if math.isclose(answer, 100, rel_tol=0.002):
        return "After 100 tokens it has turned by one radian. How much is a full turn?"
    if math.isclose(answer, 0.01, rel_tol=0.002):
        return "That is how far it turns per token, in radians. The question is for the tokens."
    if math.isclose(answer, 2 * math.pi * 10, rel_tol=0.002):
        return "The exponent is 2i/d: with i = 16 and d = 64, a half and not a quarter."
    if math.isclose(answer, 36_000, rel_tol=0.002):
        return "Frequencies are in radians per token: a full turn is 2 pi of them, not 360."
    return "The frequency of pair i is base ** (-2i/d); a full turn is 2 pi radians."


@exercise("score from the clocks")
def _score_from_the_clocks(answer):
    generator = torch.Generator().manual_seed(0)
    for count, distance in ((1, 0), (2, 3), (4, -5), (32, 11)):
        amplitudes, starts = torch.rand(2, count, generator=generator, dtype=torch.float64)
        inv_freq = frequencies_of(2 * count)

        def score(distance, a=amplitudes, alpha=starts, f=inv_freq):
            return float((a * (alpha + distance * f).cos()).sum())

        given = answer(amplitudes.tolist(), starts.tolist(), inv_freq.tolist(), distance)
        if given is None:
            return NO_RETURN
        given = float(given)
        if math.isclose(given, score(distance), abs_tol=1e-6):
            continue
        if math.isclose(given, score(distance) / count, abs_tol=1e-6):
            return "That is the mean. A dot product adds up: the score is the sum."
        if math.isclose(given, score(-distance), abs_tol=1e-6):
            return "The clocks run the wrong way: a larger n - m turns the key further on."
        if math.isclose(given, score(0), abs_tol=1e-6):
            return "That is the score at distance 0: the clocks have to move."
        return (
            f"With {count} clocks at distance {distance} your score is {given:.4f}, "
            f"and it should be {score(distance):.4f}."
        )
    return None


@exercise("hands that never come round")
def _hands_that_never_come_round(answer):
    lengths = wavelength(frequencies_of(128))
    right = int((lengths > 4096).sum())
    answer = float(answer)
    if answer == right:
        return None
    if answer == 64 - right:
        return "That many do come round: their full turn takes 4096 tokens or fewer."
    if answer == int((lengths / (2 * math.pi) > 4096).sum()):
        return "A hand that turns by 1/4096 rad per token needs 2 pi times 4096 tokens for a turn."
    if answer == int((wavelength(frequencies_of(64)) > 4096).sum()):
        return "That is the answer for a head of 64 dimensions. This one has 128."
    return "A hand never comes round if its full turn, 2 pi / inv_freq, is longer than the text."


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


@exercise("three hands")
def _three_hands(answer):
    speeds = _numbers(answer, 3)
    distance = torch.arange(1, 1000)
    alike = (distance[:, None] * speeds).cos().mean(-1)
    worst = int(distance[alike.argmax()])
    if alike.max() <= 0.94:
        return None
    if worst == 1:
        return f"Neighbors are too much alike: {alike.max():.3f}. Some hand must notice one step."
    return (
        f"At distance {worst} the mean is {alike.max():.3f}: all three hands are nearly back. "
        + ("Which of them should be far from its start there?")
    )
