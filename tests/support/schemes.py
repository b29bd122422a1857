"""Every relative encoding of the library, in one small size."""

from ropelib.encodings import (
    Alibi,
    ContentBias,
    Deberta,
    LearnedRotary,
    Rotary,
    Shaw,
    T5Bias,
    TransformerXL,
)

HEADS, HEAD_DIM = 2, 8
RELATIVE = {
    "shaw": lambda: Shaw(HEAD_DIM, 4),
    "content_bias": lambda: ContentBias(HEADS, HEAD_DIM, rel_dim=3, extent=4),
    "transformer_xl": lambda: TransformerXL(HEADS, HEAD_DIM),
    "t5": lambda: T5Bias(HEADS),
    "deberta": lambda: Deberta(HEADS, HEAD_DIM, 4),
    "alibi": lambda: Alibi(HEADS),
    "rotary": lambda: Rotary(HEAD_DIM),
    "learned_rotary": lambda: LearnedRotary(HEADS, HEAD_DIM),
}
TURNING = ("rotary", "learned_rotary")  # the others add to scores
