"""What is expected, read: a configuration, and what a rotation is made with to meet it."""

import contextlib
import os
import warnings
from collections.abc import Callable, Mapping, Sequence

from ropelib.checks import shown
from ropelib.config import RopeConfig
from ropelib.config.gallery import GALLERY, named, slug
from ropelib.diagnosis.measured import Measured
from ropelib.diagnosis.probes import Probe, Rotate, Unmeasured
from ropelib.diagnosis.tensors import random


def described(expected: object) -> object:
    """Read what is a configuration; what is none is handed on."""
    if isinstance(expected, (str, os.PathLike, Mapping)) or hasattr(expected, "to_dict"):
        return RopeConfig.as_read(of_the_gallery(expected))
    return expected


def of_the_gallery(expected: object) -> object:
    """Return the configuration of that name; what is no name of a model is handed on."""
    if not isinstance(expected, str) or os.path.exists(expected):
        return expected
    found = named(expected)
    if found is None and not expected.endswith(".json") and os.sep not in expected:
        raise ValueError(
            f"config must be a file that can be read, or one of {', '.join(map(slug, GALLERY))}, "
            f"got {shown(expected)}"
        )
    return found or expected


def _configuration(expected: object) -> RopeConfig | None:
    with warnings.catch_warnings(action="ignore"):  # it is read again, and then they are heard
        meant = described(expected)
    return meant if isinstance(meant, RopeConfig) else None


def width_meant(
    expected: object, probe: Probe, of_width: Callable[[int], Sequence[Probe]]
) -> int | None:
    """Return `head_dim` of a configuration, unless a rotation has its own or refuses it."""
    meant = _configuration(expected)
    if meant is None:
        return None
    widths = (meant.head_dim, probe.head_dim)
    own = getattr(probe.rotate, "head_dim", None) == probe.head_dim
    if hasattr(probe.rotate, "of_width"):  # its tables are made here, and can be as wide
        return widths[0]
    for width in widths[::-1] if own else widths:
        with contextlib.suppress(TypeError, Unmeasured):
            of_width(width)[0](random(1, 3, 5, width), range(5))
            return width if width != probe.head_dim else None
    return None


def made_again(rotate: Rotate, expected: object, other: Measured | None) -> tuple[Rotate, ...]:
    """Return what takes its base from whoever makes it, made with the one that is expected.

    Args:
        rotate: as it was adapted.
        expected: as `diagnose` takes it.
        other: what was measured of it, if it is another implementation.

    Returns:
        It alone, or nothing where it has a base of its own or none is expected.

    Example:
        >>> made_again(lambda x, position_ids: x, "llama-2-7b", None)
        ()
    """
    make = getattr(rotate, "of_theta", None)
    if make is None:
        return ()
    if other is not None:
        base = other.fit.base if other.is_proportional and other.fit.is_geometric else None
    else:
        meant = _configuration(expected)
        base = meant and meant.base
    return () if base is None else (make(base),)
