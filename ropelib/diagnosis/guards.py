"""How long a rotation may take, and what is said of one that cannot be measured."""

import contextlib
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import ropelib.checks
from ropelib.diagnosis.report import Finding

LONGEST = 120.0  # seconds for one call: some are compiled in the first
_AGAIN = 1.0  # seconds until code that swallows the first stop gets the next
_GRACE = 5.0  # seconds for code to stop, before it is taken for stuck

_on_stuck: list[Callable[[], None]] = []


class Overdue(BaseException):
    """The call took too long; no rotation catches it by `except Exception`."""


class Unmeasured(ValueError):
    """What the rotation returned, or raised, is nothing that can be measured."""

    def __init__(self, message: str, code: str = "call-raises"):
        super().__init__(message)
        self.code = code


class Exit(Exception):
    """The rotation would end the program, or does not end; no probe takes that for a refusal."""

    def __init__(self, message: str, code: str = "call-raises"):
        super().__init__(message)
        self.code = code


def _findings() -> list[Finding]:
    """What may be said of a rotation that cannot be measured, but for the sentence."""
    return [
        Finding(
            "call-raises",
            "wrong",
            "",
            cause="an argument of another kind or shape than it is written for; adapters make one "
            "form of another; a number of heads or tokens that is written into it, or a table of "
            "fewer than 12 positions, or as long as the call; a table or kernel of another device "
            "(device=); or nothing is returned",
        ),
        Finding(
            "call-hangs",
            "wrong",
            "",
            cause="a loop that never ends, a lock, another process that is waited for; or a limit "
            "too short for a slow one (timeout=)",
        ),
        Finding(
            "shape-not-kept",
            "wrong",
            "",
            cause="an axis that is moved, merged or broadcast on the way out",
        ),
        Finding(
            "not-finite",
            "wrong",
            "",
            cause="a division by zero, or memory that nobody has written",
        ),
        Finding(
            "device-not-kept",
            "wrong",
            "",
            cause="a table, or a copy, that is made on a device by name",
        ),
    ]


UNMEASURED = {finding.code: finding for finding in _findings()}


def finding_of(error: Unmeasured | Exit) -> Finding:
    """Return what is said of a rotation that could not be measured, in one sentence."""
    place = place_of(error.__cause__)
    verb = "stopped" if error.code == "call-hangs" else "raised"
    return replace(
        UNMEASURED[error.code],
        sentence=" ".join(str(error).split()),
        evidence={f"{verb} at": place} if place else {},
    )


def place_of(error: BaseException | None) -> str:
    """Return the last line of the rotation's own code that an error came through.

    Example:
        >>> place_of(KeyError("of no code"))
        ''
    """
    while error is not None and isinstance(error.__cause__, BaseException):
        error = error.__cause__
    frames = traceback.extract_tb(error and error.__traceback__)
    own = [frame for frame in frames if not _is_beneath(Path(frame.filename))]
    if not own:
        return ""
    line = f": {own[-1].line}" if own[-1].line else ""
    return f"{Path(own[-1].filename).name}, line {own[-1].lineno}{line}"


def _is_beneath(path: Path) -> bool:
    """Say whether a file is this package's, or that of what rotations stand on."""
    return {"site-packages", "dist-packages"} & set(path.parts) != set() or any(
        path.is_relative_to(Path(module.__file__).parent) for module in (torch, ropelib.checks)
    )


def within(seconds: float | None, call: Callable[..., Any], *args) -> Any:
    """Return `call(*args)`, or raise `Overdue` in the midst of it once it has taken too long.

    The alarm rings in the thread of the call itself, so that nothing of it goes on behind: what is
    stopped is Python code, a sleep, a lock that is waited for. Code outside of Python is stopped as
    it comes back, and not before: a kernel, or a library that waits for another process. Where
    there is no alarm to set (Windows, any thread but the main one), or somebody else's rings
    earlier, no limit is kept.
    """
    if seconds is None or not _can_set_alarm(seconds):
        return call(*args)
    running = True

    def ring(number, frame):
        if running:
            raise Overdue

    started = time.monotonic()
    before = signal.signal(signal.SIGALRM, ring)
    stuck = _watch(seconds + _GRACE)
    # It rings again and again: code may swallow what it raises, and so may a destructor.
    delay, interval = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        try:
            return call(*args)
        finally:
            running = False
    finally:
        running = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        stuck.cancel()
        if delay:  # an alarm of somebody else, who set it before
            left = delay - (time.monotonic() - started)
            signal.setitimer(signal.ITIMER_REAL, max(left, 1e-3), interval)


@contextlib.contextmanager
def giving_up(end: Callable[[], None]) -> Iterator[None]:
    """Within this, call `end` from another thread when code outside of Python does not come back.

    The thread waits for Python as all do: a library that keeps it to itself is waited for.
    """
    _on_stuck.append(end)
    try:
        yield
    finally:
        _on_stuck.remove(end)


def _can_set_alarm(seconds: float) -> bool:
    if not hasattr(signal, "setitimer"):
        return False
    if threading.current_thread() is not threading.main_thread():
        return False
    left = signal.getitimer(signal.ITIMER_REAL)[0]
    return left == 0 or left > seconds


def _watch(seconds: float) -> threading.Timer:
    timer = threading.Timer(seconds, lambda: [end() for end in tuple(_on_stuck)])
    timer.daemon = True
    if _on_stuck:
        timer.start()
    return timer
