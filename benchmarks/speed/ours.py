"""Candidates of this library, by its public names alone."""

import os
from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import torch

import ropelib
from ropelib import RotaryEmbedding, apply_rotary
from speed.candidates import Candidate, Inputs, Untimed

try:
    from ropelib import native
except ImportError:  # a version without a kernel of its own
    native = None

LAYOUTS = ("half", "interleaved")
# Where the kernel is built for this: a user's own is neither used nor made.
BUILT = Path(__file__).parents[2] / ".runs" / "speed"


def candidates(inputs: Inputs, *, compiled: bool = True) -> Iterator[Candidate | Untimed]:
    """Yield every way to call this library that a case allows.

    Args:
        inputs: of the case.
        compiled: whether to compile, which takes seconds each.

    Yields:
        Candidates: with tables that are there already, as a module, and with the kernel.
    """
    for layout in LAYOUTS:
        yield from _with_tables(inputs, layout, compiled)
        yield from _modules(inputs, layout)
    if missing := _missing_kernel():
        yield Untimed("ropelib native", missing)
        return
    for layout in LAYOUTS:
        yield from _with_tables(inputs, layout, False, " native", _with_kernel)
        if inputs.case.shape[2] == 1:
            yield from _modules(inputs, layout, " native", _with_kernel)


def _without_kernel() -> None:
    """Make the library do without a kernel from now on, whoever has built one."""
    if native is not None:
        os.environ["XDG_CACHE_HOME"] = str(BUILT / "none")
        native.kernel.cache_clear()
        native.kernel()


def _with_kernel() -> None:
    """Make the library use its kernel from now on; fails where it cannot be built."""
    os.environ["XDG_CACHE_HOME"] = str(BUILT)
    native.build()
    native.kernel()


@cache
def _missing_kernel() -> str:
    """Return why there is no kernel, or nothing."""
    if native is None:
        return f"ropelib {ropelib.__version__} has none"
    try:
        _with_kernel()
    except RuntimeError as error:
        return f"NOT BUILT: {str(error).splitlines()[0]}"
    return ""


def _candidate(name: str, layout: str, run, before=_without_kernel, **what: Any) -> Candidate:
    of, exact = f"ropelib {ropelib.__version__}", {"exact": True, "once": True}
    return Candidate(f"ropelib{name}", layout, run, of, before=before, **exact, **what)


def _with_tables(
    inputs: Inputs, layout: str, compiled: bool, name: str = "", before=_without_kernel
) -> Iterator[Candidate]:
    cos, sin = inputs.tables

    def fresh(q, k):
        q = apply_rotary(q, cos, sin, layout=layout)
        return q, apply_rotary(k, cos, sin, layout=layout)

    yield _candidate(name, layout, fresh, before)
    if compiled:
        run = torch.compile(fresh, dynamic=False, fullgraph=True)
        yield _candidate(" compiled", layout, run)
    if inputs.case.backward:  # a gradient needs what it was computed from
        return
    out = inputs.buffers

    def into(q, k):
        apply_rotary(q, cos, sin, layout=layout, out=out[0])
        apply_rotary(k, cos, sin, layout=layout, out=out[1])
        return out

    def in_place(q, k):
        apply_rotary(q, cos, sin, layout=layout, out=q)
        apply_rotary(k, cos, sin, layout=layout, out=k)
        return q, k

    yield _candidate(f"{name} out=", layout, into, before, writes="buffer")
    yield _candidate(f"{name} in place", layout, in_place, before, writes="inputs")


def _modules(
    inputs: Inputs, layout: str, name: str = "", before=_without_kernel
) -> Iterator[Candidate]:
    """The module finds its tables by itself: for a step of decoding, once for all layers."""
    case = inputs.case
    settings = {"rotary_dim": case.rotary_dim, "layout": layout}
    rotary = RotaryEmbedding(case.shape[3], **settings)

    def layer(q, k):
        return rotary(q, k, offset=case.start)

    if case.shape[2] > 1:
        yield _candidate(f"{name} module", layout, layer, before)
        return
    first = RotaryEmbedding(case.shape[3], **settings)
    # Each time the next position, as in decoding; the first of all is the one that is checked.
    offsets = count(case.start)

    def first_layer(q, k):
        return first(q, k, offset=next(offsets))

    yield _candidate(f"{name} module, first layer", layout, first_layer, before)
    yield _candidate(f"{name} module, further layers", layout, layer, before)
