"""Exercises of the chapter Your model's rotation."""

import math

import torch

from ropebook.exercises.base import exercise
from ropebook.exercises.definitions import Answer, Bet, Hint, Option, define
from ropelib import apply_rotary, cos_sin, diagnose, inv_freq


def mystery_rotation(x: torch.Tensor, position_ids: torch.Tensor) -> torch.Tensor:
    """Rotate heads of 64 dimensions, almost; the exercise is to find out by measuring."""
    positions = position_ids.float().view(torch.int32)
    positions = ((positions + 0x1000) & ~0x1FFF).view(torch.float32)
    return apply_rotary(x, *cos_sin(positions, inv_freq(64)), layout="half")


def off_by(rotate, dtype: torch.dtype, position: int) -> float:
    """Return by how much `rotate` misses the exact rotation of vectors of a dtype, base 10000."""
    x = torch.ones(1, 1, 1, 64, dtype=dtype)
    position_ids = torch.tensor([position])
    exact = cos_sin(position_ids, inv_freq(64), dtype=torch.float64)
    exact = apply_rotary(x.double(), *exact, layout="half")
    return (rotate(x, position_ids).double() - exact).abs().max().nan_to_num(math.inf).item()


@exercise("repair it")
def _repair_it(answer):
    report = diagnose(answer, head_dim=64, layout="half", inv_freq=inv_freq(64))
    if report.ok:
        return None
    return f"diagnose says {report.findings[0].code}: {report.findings[0].sentence}"


define(
    Bet(
        "a factor of eight",
        question="Llama 3.1 8B asks for rope type <code>llama3</code> with <code>factor</code> 8, "
        "trained at 8192 tokens and meant for 131,072. Each head has 64 hands. "
        "<b>How many of them does this slow down by 8?</b>",
        options=(
            Option(
                "All 64.",
                said="That is position interpolation, the simplest method. Here fast hands keep "
                "their speed: they came round often in training.",
            ),
            Option(
                "About half, the slow ones.",
                said="Those that made less than one turn within the 8192 tokens of training.",
                right=True,
            ),
            Option(
                "The fast ones only.",
                said="Fast hands have shown every angle in training already, so nothing is new to "
                "them in a longer text. The slow ones have not.",
            ),
        ),
    ),
    Answer(
        "as far as slowing goes",
        kind="number",
        unit="tokens",
        question="A model is trained at 4096 tokens, and its slow hands are then slowed by 16. Up "
        "to which length does no slowed hand leave the arc that training has shown? (Not counted: "
        "a fraction of the last step.)",
        right=65_536,
        accept="near(a, right) or near(a, 16 * 4095 + 1)",
        hints=(
            Hint(16 * 4095, "That is the largest distance. A text has one token more."),
            Hint(4096, "That is where an unslowed hand leaves its arc."),
            Hint(256, "Slowed hands take longer for their arc, not less long."),
            Hint(4096 * 16 * 16, "Multiply the trained length by the factor, once."),
            Hint(131_072, "That is what Llama 3.1 is asked for, from another length."),
        ),
        otherwise="A hand that turns 16 times slower reaches the same angle after 16 times as many "
        "tokens.",
        solution="16 · 4096: there each slowed hand has turned as far as it did at 4096 in "
        "training. Distances there end at 4095, so to the last step it is 16 · 4095 + 1 = 65,521 "
        "tokens, which is right too.",
    ),
    Answer(
        "hands that never turn",
        kind="number",
        unit="hands",
        question="A model has <code>head_dim</code> 128 and base 1,000,000. How many of its 64 "
        "hands never complete a turn within 32,768 tokens? (Hand i turns by 1000000<sup>−2i/128"
        "</sup> radians per token.)",
        right=24,
        hints=(
            Hint(15, "A full turn is 2 pi radians, not 1."),
            Hint(40, "Those are the hands that do complete a turn."),
        ),
        otherwise="A hand that never completes a turn has a wavelength above 32768 tokens.",
        solution="2π · 1000000<sup>2i/128</sup> &gt; 32768 asks for i &gt; 39.65: hands 40 to 63.",
    ),
    Answer(
        "first wrong position",
        kind="number",
        question="A rotation is probed at some positions. Right at: 100, 1023, 2047, 3000, 4094, "
        "4100, 8188. Wrong at: 3001, 4098, 5001, 8190. Which is the <b>first whole position</b> at "
        "which it is wrong? (In Python it is <code>mystery_rotation</code> of "
        "<code>ropebook.exercises.your_model</code>.)",
        right=2049,
        hints=(
            Hint(
                2048,
                "11 bits hold 2048: it is a power of two. Is the next whole number held as well?",
            ),
            Hint(
                11,
                "That may be the number of bits. Asked is the first position that they cannot "
                "hold.",
            ),
            Hint(
                257,
                "That would be bfloat16. Measure this one: compare it at many positions at once.",
            ),
            Hint(
                2048.5,
                "Give a whole position, 0 or above.",
                when="a < 0 or a != floor(a)",
            ),
            Hint(
                1000,
                "At position {a} it is right. Compare at many positions at once.",
                when="a <= 2048 or a <= 4096 and a % 2 == 0 or a <= 8192 and a % 4 == 0 "
                "or a <= 16384 and a % 8 == 0",
            ),
        ),
        otherwise="There is a smaller one. Between two neighbors, one right and one wrong, it "
        "begins.",
        solution="Beyond 2048 odd positions are wrong, beyond 4096 also every second even one: "
        "positions keep 11 significant bits, as TF32 does.",
    ),
)
