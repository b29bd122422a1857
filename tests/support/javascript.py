"""The widgets' JavaScript under Node: no page, no browser."""

import json
import os
import shutil
import subprocess
from typing import Any

import pytest
from toc import ROOT

WIDGETS = ROOT / "ropebook/widgets"
_READ = """
let text = "";
for await (const part of process.stdin) text += part;
const given = JSON.parse(text);
"""


def node() -> str:
    """Return the path of Node; skips loudly where there is none, and fails there in CI."""
    path = shutil.which("node")
    if path is None:
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing("node is not installed: the widgets' JavaScript was NOT tested")
    return path


def started(*arguments: str | os.PathLike, given: str = "", timeout: float = 300) -> str:
    """Run Node in the folder of the widgets until it ends well; return what it wrote."""
    done = subprocess.run(
        [node(), *arguments],
        cwd=WIDGETS,
        input=given,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def run(program: str, given: Any, timeout: float = 300) -> Any:
    """Run an ES module that finds `given` under that name; return what it writes, read as JSON.

    Its imports are relative to the folder of the widgets: `import("./kit/kit.js")`.
    """
    module = ("--input-type=module", "-e", _READ + program)
    return json.loads(started(*module, given=json.dumps(given), timeout=timeout))
