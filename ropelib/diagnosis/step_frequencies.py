"""What frequencies steps of decoding have, where they are not those of the full pass."""

from collections.abc import Iterator

import torch
from torch import Tensor

from ropelib.diagnosis.fit import ROUND_BASES, raised
from ropelib.diagnosis.measured import Measured, speeds_of
from ropelib.diagnosis.tensors import SAME, gap
from ropelib.frequencies import inverse_frequencies
from ropelib.rotation import apply_rotary, cos_sin

_DEFAULT_BASE = 10_000.0


def of_other_frequencies(m: Measured, x: Tensor, steps: Tensor, first: int) -> tuple[str, str]:
    """Say by which frequencies tokens that come alone turn, and how that comes about.

    Args:
        m: one rotation, as the full pass shows it.
        x: the vector that was handed to each step, `(head_dim,)`.
        steps: what came out, `(tokens, head_dim)`.
        first: position of the first of them.

    Returns:
        Two texts, which are empty where no row of frequencies explains the steps.
    """
    if m.permutation is not None or m.pairing.layout is None or m.axes or len(steps) < 3:
        return "", ""
    ids = torch.arange(first, first + len(steps))
    found = [
        (round(gap(steps, _turned(m, x, ids, row)), 4), said, cause)
        for row, said, cause in _rows(m, x, steps)
    ]
    least, said, cause = min(found, key=lambda each: each[0], default=(SAME, "", ""))
    return (said, cause) if least < SAME else ("", "")


def _turned(m: Measured, x: Tensor, ids: Tensor, row: Tensor) -> Tensor:
    """Turn one vector by a row of frequencies, where the pairs of the full pass begin."""
    x = x.double().expand(len(ids), -1)
    still, moving = x[:, : m.pairing.offset], x[:, m.pairing.offset :]
    cos, sin = (float(m.scale.mean()) * table for table in cos_sin(ids, row, dtype=torch.float64))
    moved = apply_rotary(moving, cos, sin * (m.direction or 1), layout=m.pairing.layout)
    return torch.cat((still, moved), dim=-1)


def _rows(m: Measured, x: Tensor, steps: Tensor) -> Iterator[tuple[Tensor, str, str]]:
    """Yield rows that steps may have, what is said of each, and how it comes about."""
    rotary, base = 2 * m.pairing.width, m.fit.base
    scaled = base is None or not m.fit.is_geometric or abs(m.fit.factor - 1) > 1e-3
    if scaled and base is not None:
        yield (
            inverse_frequencies(rotary, base),
            f"by the unscaled frequencies of base {base:.6g}, and in one pass by scaled ones",
            "rope_scaling left out where steps are turned",
        )
    a, b = m.dims[: m.num_pairs], m.dims[m.num_pairs :]
    phases = torch.atan2(steps[:, b], steps[:, a]) - torch.atan2(x[b], x[a])
    ratio = float(speeds_of(phases.double(), torch.arange(len(steps)))[0] / m.speeds[0])
    if abs(ratio - 1) > 1e-3:
        yield (
            m.inv_freq * ratio,
            f"by frequencies {ratio:.4g} times those of one pass",
            "linear scaling left out, or applied twice, where steps are turned",
        )
    for width, how in {m.head_dim: "of the whole head, ", rotary // 2: ""}.items():
        if base is not None and not scaled and width > 1:
            yield (
                inverse_frequencies(rotary, raised(base, rotary / width)),
                f"by exponents {rotary / width:.4g} times those of one pass",
                f"2i / {width}, {how}in place of 2i / {rotary}, where steps are turned",
            )
    yield from _of_bases(m, None if scaled else base)


def _of_bases(m: Measured, base: float | None) -> Iterator[tuple[Tensor, str, str]]:
    """Yield rows of round bases, for as many dimensions as turn in one pass, and for others."""
    rotary, room = 2 * m.pairing.width, m.head_dim - m.pairing.offset
    widths = {rotary, *(m.head_dim // part for part in (1, 2, 4))}
    for width in sorted(width for width in widths if width % 2 == 0 < width <= room):
        for other in sorted({base or _DEFAULT_BASE, *ROUND_BASES.tolist()}):
            where = (f"in {width} dimensions", f"in {rotary}") if width != rotary else ("", "")
            by = ("", "")
            if other != base:
                of_pass = "by others" if base is None else f"by those of base {base:.6g}"
                by = (f"by frequencies of base {other:.6g}", of_pass)
            here, there = (" ".join(filter(None, words)) for words in zip(where, by, strict=True))
            cause = "rope_theta (base)" if other != base else ""
            cause += " and " * bool(cause and width != rotary)
            cause += "partial_rotary_factor (rotary_dim)" if width != rotary else ""
            yield (
                inverse_frequencies(width, other),
                f"{here}, and in one pass {there}",
                f"{cause} not handed on to where steps are turned",
            )
