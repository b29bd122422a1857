"""Heads of another width, where those of 64, for which nobody asked, do not fit."""

import contextlib
import functools
from collections.abc import Callable
from dataclasses import replace

from ropelib.diagnosis.report import Finding, Report, note

_WIDTHS = (128, 80, 96, 192, 256, 32)
_DO_NOT_FIT = (("call-raises",), ("tables-half-width",))


def or_of_another_width(diagnose: Callable[..., Report]) -> Callable[..., Report]:
    """Have a diagnosis say that a rotation is right with heads of another width than 64.

    Args:
        diagnose: what is asked with `head_dim` in turn, where none was given and none is expected.
    """

    @functools.wraps(diagnose)
    def told(rotate: object, **options: object) -> Report:
        report = diagnose(rotate, **options)
        known = any(options.get(name) is not None for name in ("head_dim", "expected", "inv_freq"))
        if known or hasattr(rotate, "head_dim") or report.codes[:1] not in _DO_NOT_FIT:
            return report
        for width in _WIDTHS:
            with contextlib.suppress(TypeError, ValueError):
                other = diagnose(rotate, **options | {"head_dim": width})
                if other.ok and other.layout:
                    # What these calls have left behind may fit 64 as well: then no width is told.
                    if diagnose(rotate, **options).codes[:1] != report.codes[:1]:
                        break
                    return replace(other, findings=(_fits(report, width), *other.findings))
        return report

    return told


def _fits(report: Report, width: int) -> Finding:
    return note(
        "called-as",
        f"Vectors of {report.head_dim} dimensions do not fit it ({report.codes[0]}), and those of "
        f"{width} do: it was measured with head_dim={width}.",
        head_dim=width,
    )
