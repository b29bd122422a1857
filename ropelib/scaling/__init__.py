"""Ways to stretch a trained model's frequencies to longer sequences, one function each.

Every function returns `(inv_freq, attention_factor)`: float64 frequencies in rad/token for
`cos_sin`, and the number that multiplies both of its tables. They differ in which pairs they slow
down: all alike (`linear`), slow pairs more than fast ones (`ntk_aware`), or slow pairs only
(`ntk_by_parts`, `yarn`, `llama3`).
"""

from ropelib.scaling.by_base import dynamic_ntk, ntk_alpha, ntk_aware, ntk_fixed
from ropelib.scaling.by_list import longrope
from ropelib.scaling.by_turns import llama3, ntk_by_parts, yarn, yarn_mscale
from ropelib.scaling.uniform import default, linear, proportional

__all__ = [  # noqa: RUF022  (in the order of the page that shows them)
    "default",
    "linear",
    "proportional",
    "ntk_aware",
    "ntk_fixed",
    "ntk_alpha",
    "dynamic_ntk",
    "ntk_by_parts",
    "llama3",
    "yarn",
    "yarn_mscale",
    "longrope",
]
