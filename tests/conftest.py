"""One run of the notebooks, one build of the book, one browser: what the end-to-end tests share."""

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CELL_SECONDS = 60

# Chapters must run offline. Every Python that these tests start, kernels included, imports this.
_OFFLINE = """
import sys

def _refuse(event, args):
    if event == "socket.getaddrinfo":
        host = args[0]
    elif event == "socket.connect" and isinstance(args[1], tuple):
        host = args[1][0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host and not host.startswith("127.") and host not in ("localhost", "::1", "0.0.0.0", "::"):
        raise OSError(f"a chapter reached for the network: {host}")

sys.addaudithook(_refuse)
"""


@dataclass(frozen=True)
class ExecutedBook:
    """A copy of the book whose notebooks hold their outputs, and how each run went."""

    root: Path
    seconds: dict[str, float]
    problems: dict[str, str]
    log: str


def run_logged(command: list, cwd: Path, env: dict, timeout: float) -> tuple[int, str]:
    """Run a command to its end; return its exit code and everything it said."""
    try:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env=env,
            timeout=timeout,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired as error:
        said = error.stdout or ""
        said = said.decode(errors="replace") if isinstance(said, bytes) else said
        return 124, f"{said}\nstopped after {timeout:.0f} s"
    return done.returncode, done.stdout


@pytest.fixture(scope="session")
def offline_environment(tmp_path_factory):
    """Environment variables for a Python that can reach nothing but this machine."""
    guard = tmp_path_factory.mktemp("offline")
    (guard / "sitecustomize.py").write_text(_OFFLINE, encoding="utf-8")
    path = os.pathsep.join(filter(None, [str(guard), os.environ.get("PYTHONPATH")]))
    # The outer run's options are not the inner run's.
    kept = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    return {**kept, "PYTHONPATH": path, "NO_COLOR": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}


@pytest.fixture(scope="session")
def executed_book(tmp_path_factory, offline_environment):
    """Run every notebook once, in a copy that keeps the outputs and the widgets' state."""
    import nbformat

    root = tmp_path_factory.mktemp("book")
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy(ROOT / name, root / name)
    ignored = shutil.ignore_patterns("_build", ".*")
    shutil.copytree(ROOT / "book", root / "book", ignore=ignored)
    for path in root.rglob("*.ipynb"):
        notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
        notebook.metadata.pop("widgets", None)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        nbformat.write(notebook, path)

    command = [sys.executable, "-m", "pytest", "--nbmake", "--overwrite", "book"]
    command += [f"--nbmake-timeout={CELL_SECONDS}", "-p", "no:cacheprovider"]
    command += ["--rootdir=.", "--junitxml=run.xml", "-o", "junit_family=xunit1"]
    _, log = run_logged(command, root, offline_environment, timeout=900)
    if not (root / "run.xml").exists():
        pytest.fail(f"nbmake did not come to its end:\n{log}", pytrace=False)
    seconds, problems = {}, {}
    for case in ET.parse(root / "run.xml").iter("testcase"):
        seconds[case.get("file")] = float(case.get("time"))
        told = [f"{part.get('message')}\n{part.text}" for part in case if part.tag != "properties"]
        if told:
            problems[case.get("file")] = "\n".join(told)
    return ExecutedBook(root, seconds, problems, log)


@pytest.fixture(scope="session")
def built_book(executed_book, offline_environment):
    """Build the executed copy, every warning an error; return the folder of its HTML."""
    import yaml

    if executed_book.problems:
        broken = ", ".join(executed_book.problems)
        pytest.fail(f"not built, because {broken} failed:\n{executed_book.log}", pytrace=False)
    root = executed_book.root
    config = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
    # Notebooks have run already; the text notebooks (index.md) run here.
    config["execute"] = {
        "execute_notebooks": "force",
        "timeout": CELL_SECONDS,
        "exclude_patterns": ["*.ipynb", "**/*.ipynb"],
    }
    (root / "_config.yml").write_text(yaml.safe_dump(config, allow_unicode=True), "utf-8")
    command = [Path(sys.executable).parent / "jupyter-book", "build", "-W", "-n", "--keep-going"]
    code, log = run_logged([*command, "."], root, offline_environment, timeout=600)
    if code:
        pytest.fail(f"the book does not build without warnings:\n{log}", pytrace=False)
    return root / "_build" / "html"


@pytest.fixture(scope="session")
def chromium():
    """A Chromium without a window; skips loudly where there is none, and fails there in CI."""
    missing = pytest.fail if os.environ.get("CI") else pytest.skip
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        missing("NOTHING WAS TESTED IN A BROWSER: playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    options += ["--disable-component-update", "--disable-sync", "--no-first-run"]
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path, args=options)
        except Error as error:
            missing(f"NOTHING WAS TESTED IN A BROWSER: Chromium does not start: {error.message}")
        yield browser
        browser.close()
