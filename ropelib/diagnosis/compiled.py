"""Functions that torch compiles: each kind of call must run what was compiled for it."""

import contextlib
import sys
from collections.abc import Iterator

_KINDS = 1000  # of calls; fewer than a hundred come


@contextlib.contextmanager
def compiled_for_every_call() -> Iterator[None]:
    """Within this, torch compiles for as many kinds of calls as come.

    After eight it would run a function as it was written, so that its compiled code is not seen,
    or refuse the call (`fullgraph=True`).
    """
    dynamo = sys.modules.get("torch._dynamo")  # there as soon as something is compiled
    if dynamo is None:
        yield
        return
    with dynamo.config.patch(recompile_limit=_KINDS, accumulated_recompile_limit=_KINDS):
        yield
