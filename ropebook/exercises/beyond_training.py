"""Exercises of the chapter Beyond the training length."""

import math

import torch

from ropebook.exercises.base import NO_RETURN, exercise
from ropebook.exercises.definitions import Answer, Bet, FillIn, Hint, Option, define, within
from ropelib import inv_freq
from ropelib.distance import cosine_mean
from ropelib.frequencies import wavelength

_WAVES = wavelength(inv_freq(128, 500_000.0))
_SHORT, _LATE = int((_WAVES > 8192).sum()), int((_WAVES > 65_536).sum())


def _first_below(head_dim: int, base: float, level: float) -> int:
    likeness = cosine_mean(inv_freq(head_dim, base), torch.arange(2000))
    return int((likeness < level).nonzero()[0])


_SAFE = _first_below(128, 5e5, math.sin(math.pi / 4))

define(
    Bet(
        "whose fault it is",
        question="A score of RoPE knows only the distance of two tokens, and no formula ends at "
        "128. Our models were trained on texts of 128 bytes, distances 0 to 127, and now read "
        "texts of 1024. <b>Whose fault is it, if it goes wrong?</b>",
        options=(
            Option(
                "The <b>fastest</b> hands': they make a hundred turns and more, and then their "
                "angle means nothing any longer.",
                said="They have shown every angle in training, many times, and do next to no harm.",
            ),
            Option(
                "The <b>slowest</b> hands': they move into angles that training never showed.",
                said="They do move into new angles, and change the score too little to do harm.",
            ),
            Option(
                "Hands <b>in between</b>, which make about half a turn in training.",
                said="On these the heads have built their preference for what is near.",
                right=True,
            ),
            Option(
                "Nobody's: it does not go wrong, since only distances count.",
                said="Distances beyond 127 are new as well: the loss climbs on, the longer the "
                "text.",
            ),
        ),
    ),
    Answer(
        "who comes round",
        kind="number",
        question="Llama 3: heads of 128 dimensions, base 500 000, trained on 8192 tokens. How many "
        "of its 64 hands complete no turn in 8192 tokens, but do in 65 536?",
        right=_SHORT - _LATE,
        unit="hands",
        hints=(
            Hint(
                _SHORT,
                "That many complete no turn in 8192 tokens, some of them none in 65 536 either.",
            ),
            Hint(
                _LATE,
                "Those complete no turn even in 65 536 tokens. Asked are those that come to it.",
            ),
            Hint(
                64 - _SHORT,
                "Those complete a turn within 8192 tokens: they have seen every angle already.",
            ),
            Hint(64 - _LATE, "Of those, many complete a turn within 8192 tokens already."),
        ),
        otherwise="Count the wavelengths 2 pi b^(2i/d) that lie between 8192 and 65 536 tokens.",
        solution="So many wavelengths, 2π b<sup>2i/d</sup>, lie between 8192 and 65 536 tokens.",
    ),
    Answer(
        "the hand that turns against you",
        kind="number",
        question="Training texts have 10 tokens, distances 0 to 9. A head uses one hand to prefer "
        "what is near: its cosine falls at every step of training, as far down as possible, so "
        "that it points exactly the opposite way at distance 9. At which distance beyond the edge "
        "does it give its highest score again?",
        right=18,
        unit="tokens",
        hints=(
            Hint(
                20,
                "Ten tokens have distances 0 to 9: half a turn is made in 9 steps, not in 10.",
            ),
            Hint(9, "There it points the opposite way: its lowest score. When is it back home?"),
            Hint(
                10,
                "That is the first distance beyond the edge: it has only begun to come up again.",
            ),
            Hint(36, "That is two full turns. When is it home for the first time?"),
        ),
        otherwise="It makes half a turn in 9 steps. How many steps does it take for a whole one?",
        solution="180 degrees at distance 9, so 20 degrees a token: full circle at 18.",
    ),
    Answer(
        "blame",
        kind="number",
        question="A model loses 0.60 nats per byte far beyond its edge, compared with a window of "
        "its trained length. With all hands folded it loses 0.06. Which share of the loss hangs on "
        "what the hands say of far keys?",
        right="(0.60 - 0.06) / 0.60",
        accept=within(0.005, "0.9"),
        hints=(
            Hint(90, "Give a share: a number from 0 to 1.", when=within(0.5, "90")),
            Hint(
                0.1,
                "That share is what folding leaves: more keys, and older ones.",
                when=within(0.005, "0.1"),
            ),
            Hint(
                0.54,
                "That many nats. Which share of the whole loss is it?",
                when=within(0.005, "0.54"),
            ),
        ),
        otherwise="How much of the 0.60 does folding take away?",
        solution="Folding changes the angles, distances and preference of far keys together: the "
        "share is that of all three, not of new angles alone.",
    ),
    FillIn(
        "fold a far key",
        question="All hands are folded: at which distance does a query at <code>m</code> see a key "
        "at <code>n</code>? A key at a trained distance, below <code>trained</code>, stays where "
        "it is. One farther away is shown in the last half of the trained distances, and its "
        "position <code>n</code> decides where.",
        code="""def folded(m, n, trained):
    half = trained // 2
    if m - n < <<trained>>:
        return m - n
    return <<half + n % half>>
""",
        cases=(
            *((130, 100, 128), (127, 0, 128), (100, 20, 128), (128, 0, 128)),
            *((300, 72, 128), (1000, 200, 128), (20, 3, 8), (21, 6, 8)),
        ),
        hints=(
            Hint(
                ("trained", "n % half"),
                "That brings a far key near. It is to stand in the other half.",
            ),
            Hint(
                ("trained", "half + (m - n) % half"),
                "That folds the distance: a key moves whenever the query does. Here the key's "
                "position decides.",
            ),
            Hint(
                ("trained - 1", "half + n % half"),
                "Training showed the distance trained - 1 too: leave it alone.",
            ),
            Hint(
                ("half", "half + n % half"),
                "Training showed the distances from half on too: leave them alone.",
            ),
        ),
        otherwise="Trained on {trained} tokens, a query at {m} sees a key at {n} at distance {a}.",
        solution="The remainder lies between 0 and half; half more, and it stands where the heads "
        "expect far keys.",
    ),
    Answer(
        "how far is the order safe",
        kind="number",
        question="Random keys, a head of 128 dimensions, base 500 000, all pairs of the query "
        "equally long. What is the smallest whole distance at which the order of two keys is kept "
        "with a probability of less than 3/4?",
        right=_SAFE,
        unit="tokens",
        let={"likeness": "sum([cos(a * 500000 ** (-i / 64)) for i in range(64)]) / 64"},
        hints=(
            Hint(
                _SAFE - 1,
                "There it is still 3/4 or more. Asked is the first distance where it is less.",
            ),
            Hint(
                _first_below(64, 5e5, math.sin(math.pi / 4)),
                "64 dimensions? This head has 128, that is 64 hands.",
            ),
            Hint(_first_below(128, 1e4, math.sin(math.pi / 4)), "That is base 10 000."),
            Hint(
                _first_below(128, 5e5, 0.5),
                "There C(r) falls below 1/2. The order is kept with 1/2 + arcsin(C)/pi: solve for "
                "C.",
            ),
            Hint(7.5, "Give a whole distance, in tokens.", when="a < 0 or a != round(a)"),
        ),
        otherwise="At distance {a} the order is kept with a probability of "
        "{0.5 + asin(likeness) / pi:.3f}.",
        solution="1/2 + arcsin(C)/π < 3/4 where C < sin(π/4).",
    ),
)


@exercise("show it at an old distance")
def _show_it_at_an_old_distance(answer):
    for trained in (2, 8, 128):
        places = {
            (m, n) for m in range(0, 5 * trained, 3) for n in range(0, m + 1, 1 + trained // 8)
        }
        for m, n in sorted(places | {(m, 0) for m in range(3 * trained)}):
            given, back = answer(m, n, trained), m - n
            if given is None:
                return NO_RETURN
            where = f"a query at {m} sees a key at {n} at distance {given}"
            if float(given) != int(given):
                return f"Trained on {trained} tokens, {where}: training showed whole distances."
            if back < trained and given != back:
                return f"Trained on {trained} tokens, {where}: it knows {back}, so leave it alone."
            if given >= trained:
                return (
                    f"Trained on {trained} tokens, {where}: the largest that it knows is "
                    f"{trained - 1}, for distances begin at 0."
                )
            if given < trained / 2 and back >= trained:
                return (
                    f"Trained on {trained} tokens, {where}: a far key is brought near. "
                    "A remainder begins at 0 again; what do you take it of?"
                )
    return None
