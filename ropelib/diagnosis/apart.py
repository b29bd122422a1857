"""The command line in a process of its own: one that is ended still leaves a word."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

_TOLD = "ROPELIB_TOLD"  # names the file that a process of its own leaves its status in
_WHY = {
    "SIGSEGV": "touched memory that is not its own",
    "SIGBUS": "touched memory that is not there",
    "SIGABRT": "gave up (abort)",
    "SIGFPE": "divided an integer by zero",
    "SIGILL": "has instructions that this processor lacks",
}

_told: Path | None = None


def begin(keep_output: bool) -> bool:
    """Say whether this process is the one that was started for the command, and prepare it.

    Args:
        keep_output: whether what code outside of Python prints goes to standard error, so that
            standard output holds nothing but what is printed by this package.
    """
    global _told
    name = os.environ.pop(_TOLD, None)  # not for the processes that this one starts
    if name is None:
        return False
    _told = Path(name)
    if keep_output:
        own = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding)
        os.dup2(2, 1)
        sys.stdout = sys.__stdout__ = own
    return True


def hand_in(status: int) -> int:
    """Return the status, and leave word of it: all is said, whatever ends this process now."""
    sys.stdout.flush()
    sys.stderr.flush()
    if _told is not None:
        _told.write_text(str(status), "utf-8")
    return status


def again() -> tuple[int | None, str]:
    """Run this very command line once more in another process, and wait for it.

    Returns:
        Its exit status and nothing; or, where it was ended before it had one, None and a sentence
        that says how.
    """
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "status"
        child = subprocess.Popen(
            [sys.executable, *sys.orig_argv[1:]], env={**os.environ, _TOLD: str(told)}
        )
        # Who ends this process ends that one, and hears of it.
        before = signal.signal(signal.SIGTERM, lambda *_: child.terminate())
        try:
            code = child.wait()
        except KeyboardInterrupt:  # both hear of Control-C
            child.wait()
            return 128 + signal.SIGINT, ""
        finally:
            signal.signal(signal.SIGTERM, before)
        if told.exists():
            return int(told.read_text("utf-8")), ""
    return None, how_it_ended(code)


def how_it_ended(code: int) -> str:
    """Return how a process ended that left no word.

    Args:
        code: what `subprocess` returns for it, the negative number of a signal, or a status.

    Example:
        >>> how_it_ended(0)
        'the process ended itself with status 0 before there was a report'
    """
    if 0 <= code < 256:
        return f"the process ended itself with status {code} before there was a report"
    if code > 0:  # as Windows says it
        return f"the process crashed with status {code:#x}: code outside of Python failed"
    name = signal.Signals(-code).name
    if name in _WHY:
        return (
            f"the process crashed with {name}: code outside of Python {_WHY[name]}; "
            "python -X faulthandler -m ropelib says in which line"
        )
    lacking = ", as it is where memory runs out" if name == "SIGKILL" else ""
    return f"the process was ended from outside with {name}{lacking}"
