"""The axes that are meant: how many, as a configuration says it, and which pairs they turn."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby, permutations

from torch import Tensor

from ropelib.axes import axis_of_pairs
from ropelib.checks import shown
from ropelib.config.files import loaded
from ropelib.diagnosis.probes import Probe, turns
from ropelib.diagnosis.report import Finding, Report, note, wrong
from ropelib.diagnosis.several_axes import (
    Axes,
    in_words,
    list_of,
    number_of_axes,
    takes_turns,
    text_of,
)


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


# Against what is expected


def axes_mismatch(m, meant: tuple[int, ...] | None, other: Axes | None) -> Finding | None:
    """Compare which axis turns which pair with what is meant, or with another implementation."""
    if m.axes is None:
        return None
    measured, count = m.axes.of_pairs, len(m.axes.speeds)
    meant = other.of_pairs if meant is None and other is not None else meant
    if meant is None or measured is None:
        return _speeds_mismatch(m.axes, other)
    if measured == meant:
        return None
    evidence = {"measured": in_words(measured, count), "expected": in_words(meant, count)}
    what = f"Axes have their pairs {in_words(measured, count)}, expected "
    what += f"{in_words(meant, count)}"
    for order in permutations(range(count)):
        if tuple(order[axis] for axis in meant) == measured:
            exchanged = [axis for axis in range(count) if order[axis] != axis and axis in meant]
            return wrong(
                "axes-exchanged",
                f"{list_of(exchanged, ' and ').capitalize()} are exchanged: each "
                "turns the pairs that are meant for the other. Tokens are turned rightly where "
                "these axes agree, as in text and on the diagonal of an image, and nowhere else.",
                "(x, y) handed over where (height, width) is read",
                **evidence,
            )
    turns = takes_turns(measured, count)
    if turns != takes_turns(meant, count) and _in_blocks(meant if turns else measured, count):
        return wrong(
            "axes-in-turn" if turns else "axes-in-blocks",
            f"{what}: text, whose axes agree, is rotated as ever, and images are not.",
            "mrope_interleaved not read (Qwen3-VL has axes in turn, Qwen2-VL in blocks), or taken "
            "for the layout of pairs",
            **evidence,
        )
    return wrong(
        "sections-not-as-expected",
        f"{what}.",
        "mrope_section in another order, or one that counts dimensions where it should count pairs",
        **evidence,
    )


def axes_mixed(m, meant: tuple[int, ...] | None) -> Finding | None:
    """Say so where pairs follow several axes at once, and each is meant to follow one."""
    if m.axes is None or meant is None or m.axes.of_pairs is not None:
        return None
    several = m.axes.turning.sum(0) > 1
    first = int(several.nonzero()[0])
    axes = m.axes.turning[:, first].nonzero().flatten().tolist()
    speeds = m.axes.speeds[:, first].tolist()
    shares = ", ".join(f"{speeds[axis]:.4g} along axis {axis}" for axis in axes)
    return wrong(
        "sections-not-as-expected",
        f"{int(several.sum())} pairs follow several axes at once, and each is expected to follow "
        f"one: a step turns pair {first} by {shares} rad.",
        "a sum or a mean of coordinates, as row + column or row * width + column, for each of them",
        pairs=int(several.sum()),
        first_pair=first,
    )


def _in_blocks(of_pairs: Sequence[int], count: int) -> bool:
    return len(list(groupby(of_pairs))) <= count


def _speeds_mismatch(axes: Axes, other: Axes | None) -> Finding | None:
    if other is None or axes.speeds.shape != other.speeds.shape:
        return None
    error = float((axes.speeds - other.speeds).abs().max())
    if error > 1e-4 * float(other.speeds.abs().max()):
        return wrong(
            "sections-not-as-expected",
            "An axis turns pairs by other frequencies than expected.",
            "axes exchanged, or frequencies of one axis taken for another",
            largest_difference=error,
        )
    return None
