"""Rotations, right and wrong, a few lines each, and what `diagnose` must say about them.

`cd tests/diagnosis && python -m exhibits` prints the table. Where another project's form is shown,
it is written anew from its formula; what transformers ships is imported.
"""

from exhibits import (
    broken,
    by_rows,
    circumstances,
    crowded,
    expectations,
    frequencies,
    half,
    kernels,
    layouts,
    lengths,
    lines,
    lookalikes,
    misnamed,
    other_models,
    places,
    positions,
    precision,
    q_and_k,
    right,
    right_forms,
    scaled,
    several_axes,
    shapes,
    shipped,
    short_calls,
    steps,
    told_apart,
    usual,
)
from exhibits.kit import EXHIBITS, PLAIN, YARN_FACTOR, plain, turn, yarn

__all__ = ["EXHIBITS", "PLAIN", "YARN_FACTOR", "plain", "turn", "yarn"]
__all__ += [
    "broken",
    "by_rows",
    "circumstances",
    "crowded",
    "expectations",
    "frequencies",
    "half",
    "kernels",
    "layouts",
    "lengths",
    "lines",
    "lookalikes",
    "misnamed",
    "other_models",
    "places",
    "positions",
    "precision",
]
__all__ += ["q_and_k", "right", "right_forms", "scaled", "several_axes"]
__all__ += ["shapes", "shipped", "short_calls", "steps", "told_apart", "usual"]  # enter theirs
