"""Checkers of the chapter Distance: decay, bounds and the base."""

import math

import torch

from ropebook.exercises.base import NO_RETURN, exercise
from ropelib import apply_rotary, cos_sin, inv_freq
from ropelib.distance import cosine_mean, first_negative_distance, smallest_base

_REACH = 20


@exercise("count the rises")
def _count_the_rises(answer):
    turns = torch.tensor([math.pi / 2, math.pi], dtype=torch.float64)
    mean = cosine_mean(turns, torch.arange(9)).round(decimals=9)
    rises = int((mean.diff() > 0).sum())
    given = float(answer)
    if given == rises:
        return None
    if given == 2:
        return "The curve comes back to 1 twice, but it also rises on its way there."
    if given == 8:
        return "There are 8 steps in all. In how many of them is the later value the larger one?"
    if given in (3, 5):
        return (
            "Count steps, not peaks: write down the nine values and look at each neighboring pair."
        )
    return "Write down cos(90° r) and cos(180° r) for r = 0 to 8, and half their sum."


@exercise("first zero crossing")
def _first_zero_crossing(answer):
    right = first_negative_distance(inv_freq(64), 2048)
    given = float(answer)
    if given == right:
        return None
    if given == right - 1:
        return (
            "That is the last distance up to which the base holds. Asked is the first negative one."
        )
    if given == first_negative_distance(inv_freq(128), 2048):
        return "That is the head of 128 dimensions."
    if given == first_negative_distance(inv_freq(32), 2048):
        return "32 dimensions have 16 hands. This head has 64 dimensions and 32 hands."
    mean = cosine_mean(inv_freq(64), torch.tensor(given)).item()
    if mean < 0:
        return "It is negative there, but not for the first time."
    return f"At distance {given:g} the mean is {mean:.4f}."


@exercise("smallest base for a context")
def _smallest_base_for_a_context(answer):
    bases, length = range(1000, 60_001, 1000), 2000
    right = smallest_base(128, length, bases)
    given = float(answer)
    if given == right:
        return None
    if given % 1000 or not 1000 <= given <= 60_000:
        return "Give one of the bases 1000, 2000, ..., 60 000."
    first = first_negative_distance(inv_freq(128, given), length)
    if first is not None:
        return f"With base {given:g} the sum is negative at distance {first}."
    if smallest_base(128, length - 1000, bases) <= given < right:
        return "That base holds, but not so far."
    return (
        "That base holds, and a smaller one does too. Did you halve an interval? "
        "A smaller base may hold where a larger one fails: try them all, from below."
    )


@exercise("a score that grows")
def _a_score_that_grows(answer):
    q, k = (torch.as_tensor(x, dtype=torch.float64) for x in answer)
    if q.shape != (8,) or k.shape != (8,):
        return f"Give two vectors of 8 numbers each, got {tuple(q.shape)} and {tuple(k.shape)}."
    if min(q.norm(), k.norm()) < 1e-3:
        return "A vector of length 0 has only scores of 0."
    back = torch.arange(_REACH + 1)
    tables = cos_sin(_REACH - back, inv_freq(8), dtype=torch.float64)
    here = cos_sin(torch.tensor([_REACH]), inv_freq(8), dtype=torch.float64)
    keys = apply_rotary(k.expand(_REACH + 1, 8), *tables, layout="interleaved")
    scores = keys @ apply_rotary(q[None], *here, layout="interleaved")[0]
    steps = scores.diff()
    if (steps > 1e-9 * scores.abs().max()).all():
        return None
    if (steps < 0).all():
        return "This score falls at every step. Which hand turns away, and where must it start?"
    at = int((steps <= 1e-9 * scores.abs().max()).nonzero()[0])
    return (
        f"From {at} back to {at + 1} back the score goes from {scores[at]:.4f} to "
        f"{scores[at + 1]:.4f}. A fast hand comes round within 20 tokens: which one does not?"
    )


@exercise("stop the hands that never come round")
def _stop_the_hands(answer):
    turns, length = inv_freq(128, 1e6), 32_768
    round_trip = int((turns * length >= 2 * math.pi).sum())
    kept = float(answer)
    if not 0 <= kept <= 1:
        return "Give a share, a number from 0 to 1."
    found = int(kept * 128 // 2)
    if found == round_trip:
        return None
    if found == 64 - round_trip or math.isclose(kept, 1 - round_trip / 64):
        return "That is the share that stands still. Asked is the share that goes on turning."
    if found > round_trip:
        return f"With {found} hands turning, the slowest of them does not come round within 32768."
    return f"With {found} hands turning you stop hands that do come round."


@exercise("random or aligned")
def _random_or_aligned(answer):
    generator = torch.Generator().manual_seed(5)
    distances = torch.arange(65)
    waves = torch.polar(torch.ones(65, 32).double(), distances[:, None] * inv_freq(64))

    def draw(count):
        return torch.randn(count, 32, dtype=torch.complex128, generator=generator)

    def scores(q, k, scale=1.0):
        return scale * ((q.conj() * k)[:, None] * waves).real.sum(dim=-1)

    q, k = draw(400), draw(400)
    one = draw(1)
    cases = [
        ("q and k drawn apart", scores(q, k), "random"),
        ("the same, a hundred times smaller", scores(q, k, 0.01), "random"),
        ("one key for all queries", scores(q, one.expand(400, -1)), "random"),
        ("k equal to q", scores(q, q), "aligned"),
        ("k equal to q, a hundred times smaller", scores(q, q, 0.01), "aligned"),
        ("k a noisy copy of q", scores(q, q + 5 * k), "aligned"),
    ]
    for name, given, right in cases:
        verdict = answer(given.clone())
        if verdict is None:
            return NO_RETURN
        if verdict not in ("random", "aligned"):
            return f'Return "random" or "aligned", got {verdict!r}.'
        if verdict != right:
            return (
                f"You call it {verdict} for {name}. Average over the pairs at each distance first: "
                "how large is that mean, against its error?"
            )
    return None
