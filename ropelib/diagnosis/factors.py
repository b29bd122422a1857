"""Rules about cosine beside sine: one factor and one position for both, in both lines."""

from dataclasses import replace
from itertools import product

import torch

from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.report import Finding, wrong
from ropelib.diagnosis.tensors import gap

_SEEN = 0.02  # of the square of a length, which both of them must have
_ENOUGH = 8  # entries
_ADDED = 0.02  # times x
_TURNS = 0.3  # rad/token: a row more or less is seen
_SINGLE = 1e-5  # of an entry: values that are one
_FEWER, _AS_MANY = 0.7, 0.9  # of the values that exact ones have
_FITS = 0.01  # of an entry: more than tables in bfloat16 err


def factors_apart(m: Measured) -> Finding | None:
    """Rounding moves entries one by one, and the mean of many of them hardly."""
    if not m.partner:
        return None
    first, second = (float(half.mean()) for half in m.scale.chunk(2))
    cosines, sines = (rows.flatten() for rows in m.rows(m.near))
    squares = torch.stack((cosines**2, sines**2), dim=1)
    # Where either is nearly whole it is rounded alike in many entries.
    squares = squares[squares.amin(1) > _SEEN * squares.sum(1)]
    if len(squares) < _ENOUGH:
        return None
    # Of the squares of both, each over that of its factor, the sum is 1.
    found = torch.linalg.lstsq(squares, torch.ones(len(squares), 1).double()).solution
    left = gap(squares @ found, torch.ones(1)) / 2
    allowed = 1e-4 + left * max(0.2, 4 * (len(squares) / 2) ** -0.5)
    if float(found.min()) > 0:
        cosine, sine = (found.flatten() ** -0.5).tolist()
        if abs(sine / cosine - 1) > allowed and left < abs(sine / cosine - 1):
            return wrong(
                "norm-not-kept",
                f"Sine is multiplied by {sine:.5g} and cosine by {cosine:.5g}: lengths change with "
                "the angle.",
                "a factor, as the attention factor, on the table of one of the two alone",
                factor_of_cosine=cosine,
                factor_of_sine=sine,
            )
    apart = m.scale[: m.num_pairs] / m.scale[m.num_pairs :] - first / second
    if abs(first / second - 1) > 1e-4 + m.noise / 10 and float(apart.abs().max()) < 1e-3 + m.noise:
        return wrong(
            "norm-not-kept",
            f"The first dimension of each pair is multiplied by {first:.5g} and the second by "
            f"{second:.5g}: lengths change with the position.",
            "a factor in one of the two lines of a pair alone",
            factor_of_the_first=first,
            factor_of_the_second=second,
        )
    return None


def x_added(m: Measured) -> Finding | None:
    """Cosine and sine of each pair lie on one circle, whose middle is not zero."""
    if not m.partner:
        return None
    cosines, sines = (rows.flatten() for rows in m.rows(m.near))
    squares = (cosines**2 + sines**2)[:, None]
    # Of (cosine - a)^2 + sine^2 = b^2: what is known of a and b from each.
    known = torch.stack((2 * cosines, torch.ones_like(cosines)), dim=1)
    found = torch.linalg.lstsq(known, squares).solution
    added, rest = found.flatten().tolist()
    if rest + added**2 < _SEEN or abs(added) < _ADDED or float(sines.abs().max()) < _TURNS:
        return None
    turned = (rest + added**2) ** 0.5
    if gap(known @ found, squares) > _FITS * turned**2:
        return None
    whole = max(abs(turned - 1), abs(added - 1)) < _FITS
    times = "" if whole else f", {added:.5g} times beside {turned:.5g} times"
    return wrong(
        "norm-not-kept",
        f"x itself is added to what is rotated{times}: lengths change with the angle.",
        "a residual, x + rotated, inside the rotation",
        x_itself=added,
        what_is_rotated=turned,
    )


def without(m: Measured, finding: Finding) -> Measured:
    """Return what is measured of the rotation alone, where a finding of these tells what is not."""
    told = finding.evidence
    if "x itself" in told:
        return _of_the_rotation(m, told["x itself"], *[told["what is rotated"]] * 2)
    if "factor of cosine" in told:
        return _of_the_rotation(m, 0, told["factor of cosine"], told["factor of sine"])
    return m


def _of_the_rotation(m: Measured, added: float, cosine: float, sine: float) -> Measured:
    other, rows, columns = m.undescribed(), m.dims, [m.partner[dim] for dim in m.dims]
    for name in ("near", "far"):
        curves = getattr(m, name)
        matrices = curves.matrices.clone()
        matrices[:, rows, rows] = (matrices[:, rows, rows] - added) / cosine
        matrices[:, rows, columns] /= sine
        setattr(other, name, replace(curves, matrices=matrices))
    return other


def rows_apart(m: Measured) -> Finding | None:
    """One of cosine and sine is that of a neighboring position."""
    if not m.partner or m.num_pairs < 2:
        return None
    cosines, sines = (rows[:5] for rows in m.rows(m.near))
    positions = torch.arange(5).double()[:, None]
    for shift, direction in product((1, -1), repeat=2):
        # Where sine is shifted its first row tells the frequency, where cosine is, its second.
        of_sine = torch.atan2(shift * direction * sines[0] / cosines[0], cosines[1] / cosines[0])
        of_cosine = torch.atan2(direction * sines[1], cosines[0])
        for name, other, speeds, scale, late in (
            ("Sine", "cosine", of_sine, cosines[0].mean(), (0, shift)),
            ("Cosine", "sine", of_cosine, 1.0, (shift, 0)),
        ):
            if float(speeds.abs().max()) < _TURNS:
                continue
            meant = (positions + late[0]) * speeds, (positions + late[1]) * speeds
            if gap(cosines, scale * meant[0].cos()) > _FITS:
                continue
            if gap(sines, direction * scale * meant[1].sin()) < _FITS:
                return wrong(
                    "norm-not-kept",
                    f"{name} is that of the position {'after' if shift > 0 else 'before'} the one "
                    f"that {other} is of: lengths change with the angle.",
                    "a table of one of the two that begins a row early or late, or an index of its "
                    "own",
                    rows_apart=shift,
                )
    return None


def steps_of_tables(m: Measured) -> int:
    """Return n if all cosines and sines are multiples of 1 / n, at most 4096; 0 else."""
    entries = torch.cat(m.rows(m.far)).abs().flatten() / m.scale.mean()
    entries = (entries / entries.max()).unique()
    apart = entries.diff()
    number = round(1 / float(apart[apart > 1e-5].min()))
    off = entries * number - (entries * number).round()
    return number if number <= 4096 and float(off.abs().max()) < 0.01 else 0


def one_is_coarse(m: Measured) -> str:
    """Say which of sine and cosine has few values where the other has many; "" for neither."""
    angles = m.far.positions.double()[:, None] * m.speeds
    values = [
        [len((each.abs() / _SINGLE).round().unique()) for each in of]
        for of in (m.rows(m.far), (m.scale.mean() * angles.cos(), m.scale.mean() * angles.sin()))
    ]
    names = ("Cosine", "Sine")
    for (few, many), (of_few, of_many), (coarse, exact) in zip(
        *((each, each[::-1]) for each in (*values, names)), strict=True
    ):
        if few < _FEWER * of_few and many > of_many * _AS_MANY:
            return (
                f"{coarse} has {few} values in all, but for its sign, where {exact.lower()} has "
                f"{many}"
            )
    return ""


def coarse_steps(m: Measured) -> Finding | None:
    """Steps that are wider than those of any dtype of tables."""
    if not m.partner or m.noise < 0.02:
        return None
    if coarse := one_is_coarse(m):
        return wrong(
            "norm-not-kept",
            f"{coarse}: lengths change with the angle.",
            "a coarse table of one of the two, read at the nearest angle, beside an exact one",
            smallest_length=float(m.lengths(m.near).min()),
            largest_length=float(m.lengths(m.near).max()),
        )
    if not (steps := steps_of_tables(m)):
        return None
    error = float((m.lengths(m.near) / m.scale - 1).abs().max())
    if error > 2 / steps:
        return None
    return wrong(
        "norm-not-kept",
        f"Cosines and sines are multiples of 1/{steps}, so that lengths change by up to "
        f"{100 * error:.2g}%.",
        "tables that are quantized to a few bits",
        steps=steps,
    )
