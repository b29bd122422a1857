"""Position encodings, one file each, behind one interface; `ropelib.attention.attend` runs them."""

from ropelib.encodings.alibi import Alibi, alibi_slopes
from ropelib.encodings.base import NoPosition, PositionEncoding, repeat_heads, signed_distance
from ropelib.encodings.content_bias import ContentBias
from ropelib.encodings.deberta import Deberta
from ropelib.encodings.learned import LearnedAbsolute, extend_hierarchically
from ropelib.encodings.learned_rotary import LearnedRotary
from ropelib.encodings.rotary import Rotary
from ropelib.encodings.shaw import Shaw
from ropelib.encodings.sinusoidal import Sinusoidal, shift_matrix, sinusoids
from ropelib.encodings.t5 import T5Bias, t5_bucket
from ropelib.encodings.transformer_xl import TransformerXL

__all__ = [
    "Alibi",
    "ContentBias",
    "Deberta",
    "LearnedAbsolute",
    "LearnedRotary",
    "NoPosition",
    "PositionEncoding",
    "Rotary",
    "Shaw",
    "Sinusoidal",
    "T5Bias",
    "TransformerXL",
    "alibi_slopes",
    "extend_hierarchically",
    "repeat_heads",
    "shift_matrix",
    "signed_distance",
    "sinusoids",
    "t5_bucket",
]
