"""The rule on a table that is read on where it ends, into whatever lies there."""

import torch
from torch import Tensor

from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.report import Finding, wrong

_OFF = 0.02  # of a length, beyond what tables are rounded to
_ASTRAY = 0.1  # rad


def read_past_its_end(m: Measured, off: Tensor) -> Finding | None:
    """From one position on pairs have neither their length nor their angle; `off` are lengths."""
    first = int(off.int().argmax())
    lengths = m.lengths(m.far)[first:] / m.scale
    astray = m.residual(m.far, m.speeds)[first:] > _ASTRAY
    if len(lengths) < 2 or not off[first:].all() or astray.double().mean() < 0.5:
        return None
    uneven = lengths.amax(1) - lengths.amin(1) > _OFF  # a temperature scales all pairs alike
    if not (uneven | (lengths.amax(1) < _OFF)).all():
        return None
    since = _first_of_all(m, int(m.far.positions[first]))
    return wrong(
        "table-read-past-its-end",
        f"From position {since} on pairs have lengths and angles that no rotation has, and before "
        "it all is right.",
        "a table that ends there and is read on, as kernels do that check no index",
        since,
        smallest_length=float(m.lengths(m.far)[first:].min()),
        largest_length=float(m.lengths(m.far)[first:].max()),
    )


def _first_of_all(m: Measured, probed: int) -> int:
    """Return the first position at which one vector has other lengths, of all, up to `probed`."""
    if m.permutation is not None:
        return probed
    a, b = m.dims[: m.num_pairs], m.dims[m.num_pairs :]
    x, turned = m.one_vector[0].double(), m.full[0, 0].double()
    lengths = torch.hypot(turned[:, a], turned[:, b]) / torch.hypot(x[a], x[b])
    off = (lengths / m.scale[: m.num_pairs] - 1).abs().amax(1) > _OFF + 2 * m.noise
    return min(int(off.int().argmax()), probed) if off.any() else probed
