"""How many threads torch has in a call: several cost more than they bring where it is small."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

import torch

LARGE = 2**20  # numbers of x from which a call has the threads of whoever asks for the diagnosis
_theirs: ContextVar[int | None] = ContextVar("theirs", default=None)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Within this, torch has one thread; after it, as many as before.

    On a busy machine several wait for each other at every small step, longer than it takes.
    """
    before = torch.get_num_threads()
    token = _theirs.set(_theirs.get() or before)
    try:
        with _threads(1):
            yield
    finally:
        _theirs.reset(token)


@contextlib.contextmanager
def threads_for(numbers: int) -> Iterator[None]:
    """Within this, and within `one_thread`, torch has the threads that were there if x is large.

    A kernel that goes wrong where its threads meet is seen so.

    Args:
        numbers: of x.
    """
    theirs = _theirs.get()
    if theirs is None or numbers < LARGE:
        yield
        return
    with _threads(theirs):
        yield


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
