"""Checkers of the chapter Stretching RoPE."""

import math

import torch

from ropebook.exercises.base import NO_RETURN, close, exercise
from ropelib import inv_freq, scaling
from ropelib.frequencies import turns

_LLAMA_3 = {"original_max_seq_len": 4096, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
_SLOWED, _KEY, _QUERY = 8, 3000, 4097


@exercise("hands left alone")
def _hands_left_alone(answer):
    plain = inv_freq(128)
    slowed = plain / scaling.llama3(128, 10_000.0, factor=8.0, **_LLAMA_3)[0]
    alone, full = int((slowed == 1).sum()), int((slowed > 8 - 1e-9).sum())
    given = float(answer)
    if given == alone:
        return None
    if given == full:
        return "So many are slowed by all of 8. Asked are those that keep their speed."
    if given == 64 - full:
        return "Those are all that are slowed by less than 8. Some of them are slowed a little."
    if given == int((turns(plain, 4096) >= 32).sum()):
        return "32 turns is YaRN's line. Llama 3 draws it at 4."
    if given == 64 - alone:
        return "So many are slowed, some only a little. Asked is the rest."
    return "A hand keeps its speed from 4 turns within 4096 tokens on. How many does hand i make?"


@exercise("base of NTK-aware")
def _base_of_ntk_aware(answer):
    base, factor, width = 10_000.0, 16.0, 128
    given = float(answer)

    def near(value):
        return math.isclose(given, value, rel_tol=1e-3)

    if near(base * factor ** (width / (width - 2))):
        return None
    if near(base * factor):
        return (
            "Then the last hand, number 63, is slowed by 16 to the power of 126/128: "
            "a little less than 16."
        )
    if near(base * factor ** ((width - 2) / width)):
        return "The exponent is upside down: the base must grow by more than 16, not by less."
    if near(base * factor ** (width / 2)):
        return "That is 16 for each of 64 digits. All of them together are to gain 16."
    if given < base:
        return "A smaller base makes the hands faster."
    return "Wish: (new base / 10 000) to the power of 126/128 is 16. Why 126?"


@exercise("where the old key seems to stand")
def _where_the_old_key_seems_to_stand(answer):
    given = float(answer)
    if given == _SLOWED * _KEY - _QUERY:
        return None
    if given == _KEY - _QUERY:
        return "That is where it is, and what a hand says that was not slowed."
    if given == _QUERY - _SLOWED * _KEY:
        return "So far away, but ahead or behind? Count n - m: positive when the key is ahead."
    if given == _SLOWED * _KEY:
        return "That is the position. Asked is the distance from the query at 4097."
    if math.isclose(given, _KEY / _SLOWED - _QUERY):
        return (
            "The other way round: an angle made by a fast clock says more tokens to one who reads "
            "it by a slow clock."
        )
    return "Angle of the key: 3000 times the old speed. Which position has that angle at speed / 8?"


@exercise("how much sharper")
def _how_much_sharper(answer):
    term = scaling.yarn_mscale(16.0)
    given = float(answer)

    def near(value):
        return math.isclose(given, value, rel_tol=2e-3)

    if near(term**2):
        return None
    if near(term):
        return "That is the factor on cos and sin. It is on the query and on the key."
    if near(1 + 0.2 * math.log(16)):
        return "Square all of it: (1 + x) squared is not 1 + 2 x."
    if near(1 / term**2):
        return "That is the temperature t. The scores are divided by it."
    if near((0.1 * math.log10(16) + 1) ** 2) or near(0.1 * math.log10(16) + 1):
        return "The logarithm is the natural one."
    return "cos and sin get 0.1 ln 16 + 1. What does a product of two turned vectors get?"


@exercise("draw the line")
def _draw_the_line(answer):
    generator = torch.Generator().manual_seed(11)
    heads = [
        (inv_freq(64), 4096, 16_384),
        (inv_freq(128, 500_000.0), 8192, 131_072),
        (torch.rand(7, generator=generator, dtype=torch.float64) / 10, 100, 250),
    ]
    for plain, old, new in heads:
        wanted = torch.where(turns(plain, old) >= 1, plain, plain * old / new)
        given = answer(plain.clone(), old, new)
        if given is None:
            return NO_RETURN
        given = torch.as_tensor(given, dtype=torch.float64)
        if given.shape != plain.shape:
            return f"Return one speed per hand, {len(plain)} of them, got {tuple(given.shape)}."
        if close(given / wanted, torch.ones(len(plain))):
            continue
        if close(given / plain * new / old, torch.ones(len(plain))):
            return "That is PI: the hands that have come round are slowed too."
        if (given > plain * (1 + 1e-9)).any():
            return "A hand got faster. Dividing by old / new, which is below 1, speeds it up."
        round_ = turns(plain, old) >= 1
        if not close(given[round_] / plain[round_], torch.ones(int(round_.sum()))):
            return "A hand that comes round within the old length was slowed."
        at = int((given[~round_] / wanted[~round_] - 1).abs().argmax())
        reached = float(given[~round_][at] * new / (2 * math.pi))
        known = float(plain[~round_][at] * old / (2 * math.pi))
        return (
            f"A hand that knew {known:.3f} of a turn reaches {reached:.3f} at the new length. "
            "It should reach just what it knew."
        )
    return None


@exercise("name the method")
def _name_the_method(answer):
    options = {"original_max_seq_len": 4096}
    cases = [
        ("PI by 4", scaling.linear(128, factor=4.0), ("linear", 4)),
        ("NTK-aware by 4", scaling.ntk_aware(128, factor=4.0), ("ntk_aware", 4)),
        ("YaRN by 4", scaling.yarn(128, factor=4.0, **options), ("by_parts", 4)),
        ("YaRN by 32", scaling.yarn(128, factor=32.0, **options), ("by_parts", 32)),
        ("by parts, 8", scaling.ntk_by_parts(128, factor=8.0, **options), ("by_parts", 8)),
        ("PI by 1.5", scaling.linear(128, factor=1.5), ("linear", 1.5)),
        ("NTK-aware by 20", scaling.ntk_aware(128, factor=20.0), ("ntk_aware", 20)),
    ]
    for name, (slowed, _), (method, factor) in cases:
        given = answer(slowed.clone())
        if given is None:
            return NO_RETURN
        said, by = given
        if said not in ("linear", "ntk_aware", "by_parts"):
            return f'Begin with "linear", "ntk_aware" or "by_parts", got {said!r}.'
        if said != method:
            return (
                f"You call it {said} for {name}. How much is the first hand slowed, and how much "
                "a hand of middle speed?"
            )
        if not math.isclose(float(by), factor, rel_tol=1e-3):
            return f"For {name} you say {float(by):.4g}, and it is what the last hand is slowed by."
    return None
