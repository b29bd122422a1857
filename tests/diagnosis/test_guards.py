"""A rotation that does not come back is stopped, and reported."""

import ctypes
import json
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch
from exhibits import plain

from ropelib.diagnosis import diagnose
from ropelib.diagnosis.apart import how_it_ended
from ropelib.diagnosis.guards import Overdue, giving_up, within

needs_alarm = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no alarm on Windows")
SHORT = 0.2  # seconds; what is stopped lasts until it is


def forever():
    while True:
        pass


@needs_alarm
@pytest.mark.parametrize("loop", [forever, threading.Event().wait], ids=["a loop", "a wait"])
@pytest.mark.parametrize("at", ["first", "far"])
def test_what_does_not_end_is_stopped_and_reported_in_a_sentence(loop, at):
    def rotate(x, ids):
        if at == "first" or ids.max() > 200:
            loop()
        return plain(x, ids)

    # Calls that do end may be slow on a busy machine: only the first may take as short as this.
    timeout = SHORT if at == "first" else 5
    report = diagnose(rotate, max_position=256, timeout=timeout)
    assert report.codes == ("call-hangs",) and not report.ok
    shape = {"first": (1, 3, 5, 64), "far": (2, 3, 4, 64)}[at]
    assert f"rotate took longer than {timeout:g} s for x {shape}" in report.findings[0].sentence


@needs_alarm
def test_code_that_swallows_the_first_stop_gets_the_next():
    swallowed = []

    def stubborn():
        try:
            forever()
        except BaseException as error:
            swallowed.append(type(error))
        forever()

    with pytest.raises(Overdue):
        within(SHORT, stubborn)
    assert swallowed == [Overdue]


@needs_alarm
def test_afterwards_all_is_as_before():
    def other(number, frame):
        raise AssertionError("rang")

    before = signal.signal(signal.SIGALRM, other)
    try:
        assert within(100, lambda: 3) == 3
        with pytest.raises(KeyError):
            within(100, {}.__getitem__, "absent")
        assert signal.getsignal(signal.SIGALRM) is other
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
        signal.setitimer(signal.ITIMER_REAL, 1000)
        within(100, lambda: None)
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 1000
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@needs_alarm
def test_an_earlier_alarm_of_somebody_else_is_left_alone():
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(True))
    try:
        signal.setitimer(signal.ITIMER_REAL, SHORT)

        def wait():
            while not rung:
                time.sleep(0.01)
            return "came back"

        assert within(100, wait) == "came back"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_no_limit_is_kept_in_another_thread_and_the_report_comes():
    reports = []
    thread = threading.Thread(target=lambda: reports.append(diagnose(plain, max_position=64)))
    thread.start()
    thread.join()
    assert reports[0].ok
    assert diagnose(plain, max_position=64, timeout=None).ok


STUCK = """
import ctypes

def rotate(x, position_ids):
    # A lock of C's library, taken twice: nothing of Python runs until it is given back.
    mutex = ctypes.create_string_buffer(256)
    library = ctypes.CDLL(None)
    library.pthread_mutex_lock(mutex)
    library.pthread_mutex_lock(mutex)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="zeros are a lock of glibc")
@pytest.mark.parametrize("as_json", [False, True])
def test_the_command_ends_even_where_code_outside_of_python_is_stuck(tmp_path, as_json):
    assert hasattr(ctypes.CDLL(None), "pthread_mutex_lock")
    (tmp_path / "stuck.py").write_text(STUCK)
    command = [sys.executable, "-m", "ropelib", "diagnose", "stuck:rotate", "--timeout", "5"]
    command += ["--json"] * as_json
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    said = "rotate did not come back for longer than 5 s"
    if as_json:
        told = json.loads(done.stdout)
        assert (told["status"], told["error"], told["report"]) == ("could-not-run", said, None)
    else:
        told = "This rotation could not be checked.\n  rotation  stuck:rotate\n  why       "
        assert done.stderr == f"{told}{said}\n" and done.stdout == ""


def test_nobody_gives_up_on_what_comes_back():
    ended = []
    with giving_up(lambda: ended.append(True)):
        assert within(100, lambda: 3) == 3
    assert ended == []


ENDS = """
import ctypes, os, signal, sys, time
from pathlib import Path

from ropelib import apply_rotary, cos_sin, inv_freq

def crashes(x, position_ids):
    ctypes.string_at(0)

def leaves(x, position_ids):
    os._exit(0)

def is_killed(x, position_ids):
    os.kill(os.getpid(), signal.SIGKILL)

def waits(x, position_ids):
    Path("waiting").touch()
    time.sleep(1000)

def speaks(x, position_ids):
    os.system("echo from another process")
    return apply_rotary(x, *cos_sin(position_ids, inv_freq(64)), layout="half")
"""
needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="processes there end otherwise")


@pytest.fixture
def command(tmp_path):
    """Start the command line for a function of `ENDS`."""
    (tmp_path / "ends.py").write_text(ENDS)

    def start(name, *options):
        return subprocess.Popen(
            [sys.executable, "-m", "ropelib", "diagnose", f"ends:{name}", *options],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@needs_signals
@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("crashes", "the process crashed with SIGSEGV: code outside of Python touched memory"),
        ("leaves", "the process ended itself with status 0 before there was a report"),
    ],
)
def test_a_rotation_that_ends_the_process_leaves_one_object(command, name, how):
    done = command(name, "--json")
    told = json.loads(done.communicate()[0])
    assert (done.returncode, told["status"], told["report"]) == (2, "could-not-run", None)
    assert told["rotation"] == f"ends:{name}" and told["error"].startswith(how)


@needs_signals
def test_a_rotation_that_is_killed_is_reported_in_words(command):
    done = command("is_killed")
    out, said = done.communicate()
    assert (done.returncode, out) == (2, "")
    assert said == (
        "This rotation could not be checked.\n  rotation  ends:is_killed\n  why       the process "
        "was ended from outside with SIGKILL, as it is where memory runs out\n"
    )


@needs_signals
def test_who_ends_the_command_ends_the_rotation_too(command, tmp_path):
    done = command("waits", "--json")
    while not (tmp_path / "waiting").exists():
        assert done.poll() is None
        time.sleep(0.05)
    done.send_signal(signal.SIGTERM)
    told = json.loads(done.communicate()[0])  # both have closed their ends of it
    assert done.returncode == 2 and told["error"].endswith("ended from outside with SIGTERM")


def test_what_other_processes_print_does_not_stand_before_the_object(command):
    done = command("speaks", "--json", "--max-position", "64")
    out, said = done.communicate()
    assert (done.returncode, json.loads(out)["status"]) == (0, "right")
    assert "from another process" in said


def test_how_a_process_ended_is_said_in_words():
    assert how_it_ended(3) == "the process ended itself with status 3 before there was a report"
    assert "status 0xc0000005: code outside" in how_it_ended(0xC0000005)
    for number in (signal.SIGABRT, signal.SIGFPE, signal.SIGILL):
        assert f"crashed with {number.name}: code" in how_it_ended(-number)
    assert how_it_ended(-signal.SIGTERM) == "the process was ended from outside with SIGTERM"


def test_the_line_that_is_told_is_of_the_rotation_and_not_of_what_it_stands_on():
    layer = torch.nn.Linear(3, 3)

    def rotate(x, ids):
        return layer(x)  # torch raises, some calls below

    (finding,) = diagnose(rotate).findings
    place = finding.evidence["raised at"]
    assert place.startswith("test_guards.py, line ") and "return layer(x)" in place
    assert diagnose(lambda x, ids: x[..., :8]).findings[0].evidence == {}
