"""Checkers of the chapter Absolute encodings."""

import math
from collections.abc import Iterable

import torch

from ropebook.exercises.base import NO_RETURN, close, exercise
from ropebook.exercises.definitions import Task, define
from ropelib.encodings import sinusoids


def _numbers(answer, count: int) -> list[float]:
    """Return an answer of `count` numbers, in whatever form they came, as a list of floats."""
    numbers = [float(number) for number in answer] if isinstance(answer, Iterable) else [answer]
    if len(numbers) != count:
        raise ValueError(f"expected {count} numbers, got {len(numbers)}")
    return numbers


@exercise("bits that flip")
def _bits_that_flip(answer):
    found = _numbers(answer, 2)
    right = [(7 ^ 8).bit_count(), (15 ^ 16).bit_count()]
    if found == right:
        return None
    if found == right[::-1]:
        return "Both numbers occur, in the other order: first from 7 to 8, then from 15 to 16."
    if found == [1, 1]:
        return "The value changes by one. Write both numbers in binary, one under the other."
    if found[0] == right[0]:
        return "From 7 to 8 is right. From 15 to 16 a fifth digit joins in."
    return "Write the numbers with five binary digits, one under the other, and compare."


@exercise("code of place 1")
def _code_of_place_1(answer):
    found = torch.tensor(_numbers(answer, 4)).double()

    def is_near(*expected):
        return bool(torch.allclose(found, torch.tensor(expected).double(), rtol=0, atol=2e-3))

    fast, slow = 1.0, 0.1
    if is_near(math.sin(fast), math.cos(fast), math.sin(slow), math.cos(slow)):
        return None
    if is_near(math.sin(fast), math.cos(slow), math.sin(0.01), math.cos(0.001)):
        return "You count dimensions in the exponent. Both numbers of a pair share one frequency."
    if is_near(math.cos(fast), math.sin(fast), math.cos(slow), math.sin(slow)):
        return "Right hands, other order: in the paper the sine comes first."
    if is_near(math.sin(fast), math.sin(slow), math.cos(fast), math.cos(slow)):
        return "Right numbers, other seats: the paper puts sine and cosine of a pair side by side."
    degrees = [f(math.radians(angle)) for angle in (fast, slow) for f in (math.sin, math.cos)]
    if is_near(*degrees):
        return "Your calculator works in degrees; the hands turn in radians."
    for wrong in (100**0.5, 100**-0.25):
        if is_near(math.sin(fast), math.cos(fast), math.sin(wrong), math.cos(wrong)):
            return f"Your second hand turns by {wrong:.3f} rad per token. The exponent is -2i/d."
    squares = found.reshape(2, 2).square().sum(-1)
    if (squares - 1).abs().max() > 0.01:
        return "Sine and cosine of one angle have squares that add up to 1; check each pair."
    return "Each pair lies on the circle. By how much does each hand turn in one token?"


@exercise("offset of two codes")
def _offset_of_two_codes(answer):
    offset = float(answer)
    if offset != round(offset):
        return "Places are whole numbers, and so is their difference."
    if offset == 20:
        return None
    if offset == -20:
        return "That is m - n. Count from the query to the key."
    if not 0 <= offset <= 60:
        return f"{offset:.0f} is outside the range from 0 to 60."
    slow = f"Over {offset:.0f} tokens the slow hand turns by {0.1 * offset:.1f} rad"
    if min(abs(offset - 20 - 2 * math.pi * turns) for turns in range(-4, 7)) < 0.5:
        return f"The fast hand may have gone round more often, or less. {slow}: did it?"
    return f"{slow}, and the fast one by {offset:.0f} rad. Compare both with the table."


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


@exercise("once around in 4096")
def _once_around_in_4096(answer):
    base = float(answer)
    if base <= 0:
        return "A base is positive."
    wavelength = 2 * math.pi * base ** (62 / 64)
    if math.isclose(wavelength, 4096, rel_tol=2e-3):
        return None
    if math.isclose(base, 4096 / (2 * math.pi), rel_tol=2e-3):
        return "You let the slowest hand turn by 1/base. The last of 32 pairs is i = 31."
    if math.isclose(base ** (62 / 64), 4096, rel_tol=2e-3):
        return "A full turn is 2 pi radians, and your hand makes 1 radian in 4096 tokens."
    return f"With that base the slowest hand needs {wavelength:,.0f} tokens for a turn."


@exercise("hand in disguise")
def _hand_in_disguise(answer):
    turn = abs(float(answer))
    if math.isclose(math.cos(turn), 0.5, abs_tol=2e-3):
        return None
    if turn == 6:
        return "Six places make a full turn. How many radians is that for one place?"
    if math.isclose(turn, 60):
        return "Right, in degrees. The book counts in radians."
    if math.isclose(turn, 1 / 6):
        return "That is the share of a full turn, which has 2 pi radians."
    if turn == 0:
        return (
            "A hand that stands still has the same code everywhere; this one changes at each step."
        )
    return "After how many places do the same two numbers stand side by side again?"


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
