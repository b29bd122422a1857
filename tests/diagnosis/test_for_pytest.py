"""`ropelib.pytest`: a right rotation passes, a wrong one fails with its report."""

import os
import subprocess
import sys

import pytest
from exhibits import plain

from ropelib.pytest import assert_rotates


def test_a_right_rotation_passes_and_its_report_comes_back():
    assert assert_rotates(plain, layout="half", max_position=64).rotary_dim == 64


def test_a_wrong_rotation_fails_with_the_whole_report():
    with pytest.raises(AssertionError) as raised:
        assert_rotates(lambda x, ids: plain(x, ids + 1), max_position=64)
    said = str(raised.value)
    assert said.startswith("This rotation is wrong: off-by-one.") and "usual cause" in said


def test_what_cannot_be_measured_fails_too():
    with pytest.raises(AssertionError, match="rotate raised ZeroDivisionError for x"):
        assert_rotates(lambda x, ids: 1 / 0)
    with pytest.raises(TypeError, match="rotate must be callable, got 3"):
        assert_rotates(3)


SUITE = """
from ropelib.pytest import assert_rotates

def test_mine():
    assert_rotates(lambda x, position_ids: x, max_position=64)
"""


def test_pytest_points_at_the_line_of_the_test(tmp_path):
    (tmp_path / "test_mine.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null"]
    command += ["--color=no", "test_mine.py"]
    # How this run shows failures, such as PYTEST_ADDOPTS=--tb=short, is not how that one does.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert (
        ">       assert_rotates(lambda" in done.stdout and "def assert_rotates" not in done.stdout
    )
    assert "This rotation is wrong: does-not-rotate." in done.stdout


def test_it_imports_without_pytest():
    code = (
        "import sys; sys.modules['pytest'] = sys.modules['_pytest'] = None; import ropelib.pytest"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
