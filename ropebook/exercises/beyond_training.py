"""Checkers of the chapter Beyond the training length."""

import math

import torch

from ropebook.exercises.base import NO_RETURN, exercise
from ropelib import inv_freq
from ropelib.distance import cosine_mean
from ropelib.frequencies import wavelength


@exercise("who comes round")
def _who_comes_round(answer):
    waves = wavelength(inv_freq(128, 500_000.0))
    short, late = int((waves > 8192).sum()), int((waves > 65_536).sum())
    given = float(answer)
    if given == short - late:
        return None
    if given == short:
        return "That many complete no turn in 8192 tokens, some of them none in 65 536 either."
    if given == late:
        return "Those complete no turn even in 65 536 tokens. Asked are those that come to it."
    if given == 64 - short:
        return "Those complete a turn within 8192 tokens: they have seen every angle already."
    if given == 64 - late:
        return "Of those, many complete a turn within 8192 tokens already."
    return "Count the wavelengths 2 pi b^(2i/d) that lie between 8192 and 65 536 tokens."


@exercise("the hand that turns against you")
def _the_hand_that_turns(answer):
    given = float(answer)
    if given == 18:
        return None
    if given == 20:
        return "Ten tokens have distances 0 to 9: half a turn is made in 9 steps, not in 10."
    if given == 9:
        return "There it points the opposite way: its lowest score. When is it back home?"
    if given == 10:
        return "That is the first distance beyond the edge: it has only begun to come up again."
    if given == 36:
        return "That is two full turns. When is it home for the first time?"
    return "It makes half a turn in 9 steps. How many steps does it take for a whole one?"


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


@exercise("blame")
def _blame(answer):
    given = float(answer)
    if abs(given - 0.9) < 0.005:
        return None
    if abs(given - 90) < 0.5:
        return "Give a share: a number from 0 to 1."
    if abs(given - 0.1) < 0.005:
        return "That share is what folding leaves: more keys, and older ones."
    if abs(given - 0.54) < 0.005:
        return "That many nats. Which share of the whole loss is it?"
    return "How much of the 0.60 does folding take away?"


@exercise("how far is the order safe")
def _how_far_is_the_order_safe(answer):
    def first(head_dim, base, level):
        likeness = cosine_mean(inv_freq(head_dim, base), torch.arange(2000))
        return int((likeness < level).nonzero()[0])

    level = math.sin(math.pi / 4)
    right, given = first(128, 5e5, level), float(answer)
    if given == right:
        return None
    if given == right - 1:
        return "There it is still 3/4 or more. Asked is the first distance where it is less."
    if given == first(64, 5e5, level):
        return "64 dimensions? This head has 128, that is 64 hands."
    if given == first(128, 1e4, level):
        return "That is base 10 000."
    if given == first(128, 5e5, 0.5):
        return "There C(r) falls below 1/2. The order is kept with 1/2 + arcsin(C)/pi: solve for C."
    if given < 0 or given != int(given):
        return "Give a whole distance, in tokens."
    kept = 0.5 + math.asin(cosine_mean(inv_freq(128, 5e5), torch.tensor(given)).item()) / math.pi
    return f"At distance {given:g} the order is kept with a probability of {kept:.3f}."
