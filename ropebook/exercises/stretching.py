"""Exercises of the chapter Stretching RoPE."""

import math

import torch

from ropebook.exercises.base import NO_RETURN, close, exercise
from ropebook.exercises.definitions import Answer, Bet, FillIn, Hint, Option, define
from ropelib import inv_freq, scaling
from ropelib.frequencies import turns

_LLAMA_3 = {"original_max_seq_len": 4096, "low_freq_factor": 1.0, "high_freq_factor": 4.0}


_PLAIN = inv_freq(128)
_BY = _PLAIN / scaling.llama3(128, 10_000.0, factor=8.0, **_LLAMA_3)[0]
_ALONE, _FULL = int((_BY == 1).sum()), int((_BY > 8 - 1e-9).sum())
_TERM = "0.1 * log(16) + 1"

define(
    Bet(
        "whom to slow down",
        question="A model has read texts of 4096 tokens and no longer ones. Now it gets 16,384. "
        "You may slow its hands down, each by a factor of your choice, and you may not train. "
        "<b>Which hands do you slow down?</b>",
        options=(
            Option(
                "All of them, by 4. Then no hand goes further round than it ever did.",
                said="That is true, but for the last fraction of a step, and it is a method: PI. "
                "But a fast hand has been everywhere, and slowed by 4 its step to the next token "
                "is a quarter of what it was.",
            ),
            Option(
                "The fast ones: they turn most.",
                said="They turn most, and so they have been at every angle already. Nothing beyond "
                "the old length is new to them.",
            ),
            Option(
                "The slow ones: the fast ones have been everywhere.",
                said="A slow hand has seen an arc of its circle. Slowed down enough, it stays "
                "within that arc.",
                right=True,
            ),
        ),
    ),
    Answer(
        "hands left alone",
        kind="number",
        question="Llama 2's head (128 dimensions, base 10,000, 4096 tokens) is stretched by 8 with "
        "Llama 3's rule: 4 turns and more, left alone; 1 turn and less, slowed by 8. How many of "
        "its 64 hands keep exactly the speed they had?",
        right=_ALONE,
        unit="hands",
        hints=(
            Hint(_FULL, "So many are slowed by all of 8. Asked are those that keep their speed."),
            Hint(
                64 - _FULL,
                "Those are all that are slowed by less than 8. Some of them are slowed a little.",
            ),
            Hint(
                int((turns(_PLAIN, 4096) >= 32).sum()),
                "32 turns is YaRN's line. Llama 3 draws it at 4.",
            ),
            Hint(64 - _ALONE, "So many are slowed, some only a little. Asked is the rest."),
        ),
        otherwise="A hand keeps its speed from 4 turns within 4096 tokens on. How many does hand i "
        "make?",
        solution="So many hands make 4 turns or more within 4096 tokens.",
    ),
    FillIn(
        "between the two lines",
        question="Llama 3's rule for one hand: <code>speed</code> rad per token, <code>old</code> "
        "tokens, stretched by <code>factor</code>. With 4 turns and more it is left alone, with 1 "
        "turn and less it is slowed by all of the factor. Between the two lines both speeds are "
        "blended, evenly in the number of turns. <code>kept</code> is the share of the old speed.",
        code="""def stretched(speed, old, factor):
    turns = old * speed / (2 * pi)
    kept = max(0, min(1, <<(turns - 1) / 3>>))
    return <<kept * speed + (1 - kept) * speed / factor>>
""",
        cases=(
            *((0.02, 4096, 8), (0.004, 4096, 8), (0.0005, 4096, 8)),
            *((0.0025, 8192, 32), (0.001, 8192, 32), (0.5, 128, 4), (0.2, 128, 4)),
        ),
        hints=(
            Hint(
                ("(turns - 1) / 3", "(1 - kept) * speed + kept * speed / factor"),
                "The sides are swapped: a hand that makes ten turns is to keep its speed.",
            ),
            Hint(
                ("turns / 4", "kept * speed + (1 - kept) * speed / factor"),
                "At one turn nothing of the old speed is to be left.",
            ),
            Hint(
                ("(turns - 1) / 3", "speed / (kept + (1 - kept) * factor)"),
                "You blend what the hand is slowed by. The rule blends the speeds.",
            ),
        ),
        otherwise="A hand that makes {old * speed / (2 * pi):.2f} turns is slowed by "
        "{speed / a:.3f} instead of {speed / right:.3f}.",
        solution="The share runs from 0 at one turn to 1 at four.",
    ),
    Answer(
        "base of NTK-aware",
        kind="number",
        question="Llama 2's head (128 dimensions, base 10,000) is to be stretched by 16 with "
        "NTK-aware. Which base does it get?",
        right="10000 * 16 ** (128/126)",
        tolerance=1e-3,
        hints=(
            Hint(
                160_000,
                "Then the last hand, number 63, is slowed by 16 to the power of 126/128: a little "
                "less than 16.",
            ),
            Hint(
                "10000 * 16 ** (126/128)",
                "The exponent is upside down: the base must grow by more than 16, not by less.",
            ),
            Hint(
                "10000 * 16.0 ** 64",
                "That is 16 for each of 64 digits. All of them together are to gain 16.",
            ),
            Hint(625, "A smaller base makes the hands faster.", when="a < 10000"),
        ),
        otherwise="Wish: (new base / 10 000) to the power of 126/128 is 16. Why 126?",
        solution="The last hand, 63 of 64: (new / 10 000)<sup>126/128</sup> = 16.",
    ),
    Answer(
        "where the old key seems to stand",
        kind="number",
        question="A model with LongRoPE has just switched to its long list, which slows a slow "
        "hand by 8. The key at position 3000 lies in the cache as the short list turned it. By "
        "that hand, how far ahead of the query at 4097 does it seem to stand? (In tokens; negative "
        "if it seems to be behind.)",
        right="8 * 3000 - 4097",
        unit="tokens",
        hints=(
            Hint(
                "3000 - 4097",
                "That is where it is, and what a hand says that was not slowed.",
            ),
            Hint(
                "4097 - 8 * 3000",
                "So far away, but ahead or behind? Count n - m: positive when the key is ahead.",
            ),
            Hint(
                "8 * 3000",
                "That is the position. Asked is the distance from the query at 4097.",
            ),
            Hint(
                "3000 / 8 - 4097",
                "The other way round: an angle made by a fast clock says more tokens to one who "
                "reads it by a slow clock.",
            ),
        ),
        otherwise="Angle of the key: 3000 times the old speed. Which position has that angle at "
        "speed / 8?",
        solution="Its angle is 3000 times the old speed: position 24 000 by the new.",
    ),
    Answer(
        "how much sharper",
        kind="number",
        question="YaRN by 16, as it is in <code>transformers</code>: cos and sin are multiplied by "
        "the attention factor. By how much are the scores of turned vectors multiplied?",
        right=f"({_TERM}) ** 2",
        tolerance=2e-3,
        hints=(
            Hint(
                _TERM,
                "That is the factor on cos and sin. It is on the query and on the key.",
            ),
            Hint("1 + 0.2 * log(16)", "Square all of it: (1 + x) squared is not 1 + 2 x."),
            Hint(
                f"1 / ({_TERM}) ** 2",
                "That is the temperature t. The scores are divided by it.",
            ),
            Hint("(0.1 * log(16, 10) + 1) ** 2", "The logarithm is the natural one."),
            Hint("0.1 * log(16, 10) + 1", "The logarithm is the natural one."),
        ),
        otherwise="cos and sin get 0.1 ln 16 + 1. What does a product of two turned vectors get?",
        solution="Once by the query, once by the key.",
    ),
)


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
