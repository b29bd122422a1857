"""The programs for CUDA under Triton's interpreter, which runs them in Python on any machine.

It is chosen before Triton is loaded; so the tests of q and k together and of the cache run once
more, in a process of their own, with `test_broken_programs.py`, which needs programs that run.
"""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
from toc import ROOT

from ropelib import cuda

FILES = ["test_fused.py", "test_paged.py", "test_broken_programs.py"]


@pytest.fixture
def interpreted():
    """Return a function that runs tests under the interpreter and says how they went."""
    if find_spec("triton") is None:
        missing = pytest.fail if os.environ.get("CI") and sys.platform == "linux" else pytest.skip
        missing("NO PROGRAM FOR CUDA WAS TESTED: triton is not installed")
    if cuda.INTERPRETED:
        pytest.skip("this is the interpreter")

    def interpreted(name):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:nbmake"]
        return subprocess.run(
            [*command, "-p", "no:cacheprovider", "--tb=short", str(ROOT / "tests/core" / name)],
            cwd=ROOT,
            env={**os.environ, "TRITON_INTERPRET": "1"},
            capture_output=True,
            text=True,
        )

    return interpreted


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_the_programs_do_what_plain_operations_do(interpreted, name):
    done = interpreted(name)
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout and " passed" in done.stdout
