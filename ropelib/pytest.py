"""For the tests of other projects: a rotation is right, or the test fails with the report.

It needs no pytest to be imported, and asks it for nothing: any runner shows the error.
"""

from typing import Any

from ropelib.diagnosis import Report, diagnose


def assert_rotates(rotation: object, **options: Any) -> Report:
    """Raise an `AssertionError` with the whole report unless `rotation` is right.

    Args:
        rotation: whatever `diagnose` takes.
        **options: those of `diagnose`, such as `expected`, `head_dim`, `decode` and `timeout`.

    Returns:
        The report, of which more can be asserted, such as its `layout`.

    Raises:
        AssertionError: if the rotation is wrong, or cannot be measured.
        TypeError: as `diagnose` does.
        ValueError: as `diagnose` does.

    Example:
        >>> from ropelib import RotaryEmbedding
        >>> assert_rotates(RotaryEmbedding(64, layout="half"), max_position=64).layout
        'half'
        >>> assert_rotates(lambda x, position_ids: x, max_position=64)
        Traceback (most recent call last):
        AssertionError: This rotation is wrong: does-not-rotate.
        ...
    """
    __tracebackhide__ = True  # pytest then points at the line of the test
    report = diagnose(rotation, **options)
    if not report.ok:
        raise AssertionError(str(report))
    return report
