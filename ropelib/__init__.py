"""Rotary position embedding (RoPE), exact and small enough to read.

Frequencies lead to tables, tables to rotated vectors; each step is usable alone. The score of two
rotated vectors depends on how far apart they stand, and not on where:

    >>> import torch
    >>> from ropelib import apply_rotary, cos_sin, inv_freq
    >>> q, k = torch.randn(2, 1, 64)  # a query and a key, head_dim 64
    >>> def score(m, n):
    ...     tables = [cos_sin([position], inv_freq(64)) for position in (m, n)]
    ...     q_m, k_n = (apply_rotary(x, *t, layout="half") for x, t in zip((q, k), tables))
    ...     return q_m @ k_n.T
    >>> torch.allclose(score(3, 8), score(1003, 1008), atol=1e-4)
    True

`RotaryEmbedding` is the same as a module, `RopeConfig` reads a model's config.json, and `diagnose`
names the bug in anybody's rotation. Positions count tokens, angles are radians, and position
m rotates counterclockwise by `m * inv_freq`.
"""

import sys

from ropelib import diagnosis, rotation
from ropelib.config import RopeConfig
from ropelib.diagnosis import diagnose
from ropelib.embedding import RotaryEmbedding, rerotate
from ropelib.frequencies import inv_freq
from ropelib.rotation import apply_rotary, convert_layout, convert_rows, cos_sin

__all__ = [
    "RopeConfig",
    "RotaryEmbedding",
    "apply_rotary",
    "convert_layout",
    "convert_rows",
    "cos_sin",
    "diagnose",
    "inv_freq",
    "rerotate",
]
__version__ = "0.1.0"

# What has moved is found where it stood, too. Modules that were saved ask there for their class;
# the package `diagnosis` was a module `diagnose`, which its function hid.
rotation.RotaryEmbedding = RotaryEmbedding
sys.modules["ropelib.diagnose"] = diagnosis
vars(diagnose).update({name: getattr(diagnosis, name) for name in diagnosis.__all__})
