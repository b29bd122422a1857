"""How many axes positions have: as a configuration says it, and where nobody did."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch import Tensor

from ropelib.axes import axis_of_pairs
from ropelib.checks import shown
from ropelib.config.files import loaded
from ropelib.diagnosis.probes import Probe, turns
from ropelib.diagnosis.report import Finding, Report, note
from ropelib.diagnosis.several_axes import number_of_axes, text_of


def expected_axes(axes: object, expected: object) -> tuple[int, ...] | None:
    """Return the axis that is meant for each pair, where the number of them or `expected` says so.

    Raises:
        TypeError: if `axes` holds no integers.
        ValueError: if it names one axis alone, or a configuration has sections that cannot be.
    """
    if isinstance(axes, (Sequence, Tensor)):
        return tuple(int(axis) for axis in axes)
    if (of_pairs := getattr(expected, "axis_of_pairs", None)) is not None:
        return tuple(of_pairs)
    keys = _with_sections(expected)
    if keys is None or axes is None:  # then text alone is compared, and a note says so
        return None
    shares = keys["mrope_section"]
    if not isinstance(shares, Sequence) or len(shares) != number_of_axes(axes):
        raise ValueError(f"mrope_section must have {axes} numbers, got {shown(shares)}")
    order = "interleaved" if keys.get("mrope_interleaved") else "chunked"
    return tuple(axis_of_pairs(shares, order=order))


def axes_not_asked(axes: object, expected: object) -> int | None:
    """Return how many axes a configuration has sections for, where nobody said that there are any.

    Example:
        >>> axes_not_asked(None, {"rope_scaling": {"mrope_section": [16, 24, 24]}})
        3
    """
    keys = _with_sections(expected) if axes is None else None
    shares = keys and keys["mrope_section"]
    return len(shares) if isinstance(shares, Sequence) else None


def _with_sections(expected: object) -> Mapping | None:
    if not isinstance(expected, (str, os.PathLike, Mapping)) and not hasattr(expected, "to_dict"):
        return None
    return _within(loaded(expected), "mrope_section")


def axes_not_compared(count: int | None) -> Finding | None:
    """Say that the axes of what is expected were not compared, and how they are."""
    if count is None:
        return None
    return note(
        "axes-not-compared",
        f"What is expected has positions of {count} axes (mrope_section). It was compared as text "
        f"is rotated, by one position; --axes {count} (axes={count}) moves each axis and compares "
        "which pairs it turns.",
        axes=count,
    )


def _within(config: Mapping, key: str) -> Mapping | None:
    """Return the part of a configuration that has a key."""
    if key in config:
        return config
    parts = (_within(part, key) for part in config.values() if isinstance(part, Mapping))
    return next((part for part in parts if part is not None), None)


def or_by_axes(report: Report, probe: Probe) -> Report:
    """Say of what turns nothing, or raises, that it turns where positions have several axes."""
    if (count := _axes_that_rotate(probe)) is None:
        return report
    (found,) = report.findings
    hint = f"It turns where positions have {count} axes: --axes {count} (axes={count})."
    found = replace(found, sentence=f"{found.sentence.rstrip('.')}. {hint}")
    return replace(report, findings=(found,))


def _axes_that_rotate(probe: Probe) -> int | None:
    """Return how many axes positions may have for it to turn at all, where one is too few."""
    for count in (2, 3, 4):  # two first: three hold them
        if turns(probe, text_of(probe.rotate, count, probe.head_dim, probe.device)):
            return count
    return None
