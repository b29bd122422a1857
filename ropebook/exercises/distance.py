"""Checkers of the chapter Distance: decay, bounds and the base."""

import math

import torch

from ropebook.exercises.base import NO_RETURN, exercise
from ropebook.exercises.definitions import Answer, Bet, Hint, Option, define
from ropelib import apply_rotary, cos_sin, inv_freq
from ropelib.distance import cosine_mean, first_negative_distance, smallest_base

_REACH = 20


def _rises() -> int:
    turns = torch.tensor([math.pi / 2, math.pi], dtype=torch.float64)
    mean = cosine_mean(turns, torch.arange(9)).round(decimals=9)
    return int((mean.diff() > 0).sum())


_FIRST = {width: first_negative_distance(inv_freq(width), 2048) for width in (32, 64, 128)}
_BASES, _CONTEXT = range(1000, 60_001, 1000), 2000
_FAILS = [first_negative_distance(inv_freq(128, base), _CONTEXT) or 0 for base in _BASES]
_COME_ROUND = int((inv_freq(128, 1e6) * 32_768 >= 2 * math.pi).sum())

define(
    Bet(
        "a random key walks away",
        question="Draw a query at random and a key at random. Turn each by its position, and take "
        "their score. Then move the key away: ten tokens, a hundred, a thousand. <b>What happens "
        "to the score, on average over many draws?</b>",
        options=(
            Option(
                "It shrinks with distance.",
                said='That is what people mean by "RoPE decays". A turned random key is a random '
                "key: nothing shrinks.",
            ),
            Option(
                "It stays what it is at distance 0.",
                said="It is 0 on average there, and 0 at every other distance.",
                right=True,
            ),
            Option(
                "It shrinks up to a certain distance and then swings around.",
                said="That is roughly the trend for a key that <i>equals</i> its query, with rises "
                "all along. For random ones each swing has its opposite, and the mean is 0.",
            ),
        ),
    ),
    Answer(
        "count the rises",
        kind="number",
        question="Two hands turn by 90° and by 180° per token, and the curve is the mean of their "
        "cosines. In how many of the 8 steps from distance 0 to distance 8 does it rise?",
        right=_rises(),
        hints=(
            Hint(2, "The curve comes back to 1 twice, but it also rises on its way there."),
            Hint(
                8,
                "There are 8 steps in all. In how many of them is the later value the larger one?",
            ),
            Hint(
                3,
                "Count steps, not peaks: write down the nine values and look at each neighboring "
                "pair.",
                when="a in [3, 5]",
            ),
        ),
        otherwise="Write down cos(90° r) and cos(180° r) for r = 0 to 8, and half their sum.",
        solution="1, −1/2, 0, −1/2, 1, −1/2, 0, −1/2, 1: it rises to 0, to 1, to 0, to 1.",
    ),
    Answer(
        "first zero crossing",
        kind="number",
        question="A head of 64 dimensions with base 10 000. At which whole distance is the mean of "
        "its cosines negative for the first time? (Read it off the widget: RoFormer's head, a "
        "longer context.)",
        right=_FIRST[64],
        unit="tokens",
        let={"mean": "sum([cos(a * 10000 ** (-i / 32)) for i in range(32)]) / 32"},
        hints=(
            Hint(
                _FIRST[64] - 1,
                "That is the last distance up to which the base holds. Asked is the first negative "
                "one.",
            ),
            Hint(_FIRST[128], "That is the head of 128 dimensions."),
            Hint(
                _FIRST[32], "32 dimensions have 16 hands. This head has 64 dimensions and 32 hands."
            ),
            Hint(
                2048,
                "It is negative there, but not for the first time.",
                when="mean < 0",
            ),
        ),
        otherwise="At distance {a} the mean is {mean:.4f}.",
        solution="At every smaller distance the mean of the 32 cosines is 0 or more.",
    ),
    Answer(
        "smallest base for a context",
        kind="number",
        question="Of the bases 1000, 2000, 3000, ..., 60 000, which is the smallest that keeps the "
        "sum at 0 or above for a head of 128 dimensions at every distance from 1 to 2000?",
        right=smallest_base(128, _CONTEXT, _BASES),
        let={"fails": f"{_FAILS}[floor(a / 1000) - 1]".replace(" ", "")},
        hints=(
            Hint(
                11_591,
                "Give one of the bases 1000, 2000, ..., 60 000.",
                when="a % 1000 != 0 or not 1000 <= a <= 60000",
            ),
            Hint(
                17_000,
                "With base {a} the sum is negative at distance {fails}.",
                when="fails > 0",
            ),
        ),
        otherwise="That base holds, and a smaller one does too. Did you halve an interval? "
        "A smaller base may hold where a larger one fails: try them all, from below.",
        solution="All of them from below: at 17 000 it fails again, so halving an interval may end "
        "at 18 000.",
    ),
    Answer(
        "stop the hands that never come round",
        kind="number",
        question="A model has heads of 128 dimensions, base 1 000 000 and a context of 32 768 "
        "tokens. You want p-RoPE that lets exactly those hands stand still which complete no turn "
        "within the context. Which share <i>p</i> of the hands goes on turning? (The first "
        "⌊<i>p</i> · 64⌋ of them turn.)",
        right=_COME_ROUND / 64,
        accept=f"0 <= a <= 1 and floor(a * 128 / 2) == {_COME_ROUND}",
        let={"turning": "floor(a * 128 / 2)"},
        hints=(
            Hint(40, "Give a share, a number from 0 to 1.", when="not 0 <= a <= 1"),
            Hint(
                1 - _COME_ROUND / 64,
                "That is the share that stands still. Asked is the share that goes on turning.",
                when=f"turning == {64 - _COME_ROUND} or near(a, {1 - _COME_ROUND / 64})",
            ),
            Hint(
                0.75,
                "With {turning} hands turning, the slowest of them does not come round within "
                "32768.",
                when=f"turning > {_COME_ROUND}",
            ),
        ),
        otherwise="With {turning} hands turning you stop hands that do come round.",
        solution="2π 10<sup>6i/64</sup> ≤ 32768 for i ≤ 64 log<sub>10</sub>(32768 / 2π) / 6 = "
        "39.65: pairs 0 to 39 come round.",
    ),
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
