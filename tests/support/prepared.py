"""The book under test: each notebook run once, the site built from those copies, both kept.

What was run and built is kept under `.tested`: a notebook by its text and everything that it
stands on, so that a second run of the tests runs only the notebooks that changed. Processes that
need the same thing wait for one another, so the tests may run in several at once.
"""

import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

import yaml
from filelock import FileLock, Timeout
from toc import NOTEBOOKS, ROOT

CELL_SECONDS = 300  # a cell that takes longer hangs, on any machine
KEPT = ROOT / ".tested"
SITE = KEPT / "book"
# What changes the numbers that a notebook computes, beside its text and the library.
_SETTINGS = ("ATEN_CPU_CAPABILITY", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_LIBRARY = (".py", ".js", ".css", ".json")

# Chapters must run offline. Every Python that these tests start, kernels included, imports this.
_OFFLINE = """
import sys

# A grammar of addresses that takes seconds to build, for a rule of JSON that no chapter asks for.
sys.modules.setdefault("rfc3987_syntax", None)

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
class Run:
    """How one notebook went: the copy that holds its outputs, what it took, what went wrong.

    `seconds` are those that all processors together worked for it, the kernel's start included.
    """

    path: Path
    seconds: float
    problem: str


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


@cache
def environment() -> dict:
    """Return environment variables for a Python that can reach nothing but this machine."""
    guard = KEPT / "offline"
    guard.mkdir(parents=True, exist_ok=True)
    _write(guard / "sitecustomize.py", _OFFLINE)
    path = os.pathsep.join(filter(None, [str(guard), _STARTED_WITH.get("PYTHONPATH")]))
    # The outer run's options, and its place among several processes, are not the inner run's.
    kept = {k: v for k, v in _STARTED_WITH.items() if not k.startswith(("PYTEST_", "COV_"))}
    # Nor are the user's own start-up files and settings the chapters'.
    kept |= {"IPYTHONDIR": str(KEPT / "ipython"), "JUPYTER_CONFIG_DIR": str(KEPT / "jupyter")}
    kept["ROPELIB_RUN_SOLUTIONS"] = "1"
    # Threads of torch that wait for one another sleep, and do not work at waiting.
    kept["OMP_WAIT_POLICY"] = "passive"
    return {**kept, "PYTHONPATH": path, "NO_COLOR": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}


# ---- notebooks --------------------------------------------------------------------------------


def run(name: str, wait: bool = True) -> Run:
    """Run a notebook, or return how it went when nothing that it stands on was otherwise.

    Args:
        name: as in the table of contents, with its suffix.
        wait: for another process that runs it just now.

    Raises:
        filelock.Timeout: another process runs it, and `wait` is False.
    """
    folder = KEPT / "notebooks" / f"{Path(name).stem}-{_digest(name)}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    copy, facts = folder / Path(name).name, folder / "run.json"
    with FileLock(folder.with_suffix(".lock"), timeout=-1 if wait else 0):
        if not facts.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            _write_without_outputs(ROOT / name, copy)
            seconds, problem = _execute(copy)
            if problem:  # told, and tried again the next time
                return Run(copy, seconds, problem)
            _write(facts, json.dumps({"seconds": seconds}))
    return Run(copy, json.loads(facts.read_text("utf-8"))["seconds"], "")


def run_all(names=NOTEBOOKS) -> dict[str, Run]:
    """Run notebooks, those first that no other process is running."""
    runs, busy = {}, []
    for name in names:
        try:
            runs[name] = run(name, wait=False)
        except Timeout:
            busy.append(name)
    return runs | {name: run(name) for name in busy}


def _execute(copy: Path) -> tuple[float, str]:
    command = [sys.executable, "-m", "pytest", "--noconftest", "--nbmake", "--overwrite", copy.name]
    command += [f"--nbmake-timeout={CELL_SECONDS}", "-p", "no:cacheprovider"]
    command += ["--rootdir=.", "--junitxml=run.xml", "-o", "junit_family=xunit1"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _, log = run_logged(command, copy.parent, environment(), timeout=900)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    report = copy.parent / "run.xml"
    if not report.exists():
        return seconds, f"nbmake did not come to its end:\n{log}"
    (case,) = ET.parse(report).iter("testcase")
    told = [f"{part.get('message')}\n{part.text}" for part in case if part.tag != "properties"]
    return seconds, "\n".join([*told, log] if told else [])


@cache
def _digest(name: str) -> str:
    """Name everything that a notebook's outputs depend on."""
    text = (ROOT / name).read_text("utf-8")
    parts = [name, text, *_installed(), *_both_packages()]
    if "recorded" in text:  # what it shows was measured before
        parts += [path.read_text("utf-8") for path in sorted(ROOT.glob("book/results/*.json"))]
    parts += [f"{setting}={_STARTED_WITH.get(setting)}" for setting in _SETTINGS]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@cache
def _installed() -> tuple[str, ...]:
    found = {f"{one.name}=={one.version}" for one in metadata.distributions()}
    return (sys.version, *sorted(found))


# As the run was started: what a test does to its own process is nothing to the chapters.
_STARTED_WITH = dict(os.environ)
_installed()


@cache
def _both_packages() -> tuple[str, ...]:
    everything = [path for name in ("ropelib", "ropebook") for path in (ROOT / name).rglob("*")]
    paths = [p for p in sorted(everything) if p.suffix in _LIBRARY and p.name[:5] != "test_"]
    return tuple(f"{path.relative_to(ROOT)}\0{path.read_text('utf-8')}" for path in paths)


def _write_without_outputs(source: Path, copy: Path) -> None:
    import nbformat

    notebook = nbformat.read(source, as_version=nbformat.NO_CONVERT)
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, copy)


# ---- the site ---------------------------------------------------------------------------------


def build(names=NOTEBOOKS) -> Path:
    """Build the book from notebooks that have run, every warning an error.

    Args:
        names: the notebooks that must have run; others are shown without outputs.

    Returns:
        The folder of the HTML.

    Raises:
        RuntimeError: a notebook fails, or the build warns; the message is the log.
    """
    runs = run_all(names)
    failed = {name: one.problem for name, one in runs.items() if one.problem}
    if failed:
        raise RuntimeError(f"not built, because notebooks failed: {failed}")
    KEPT.mkdir(parents=True, exist_ok=True)
    with FileLock(KEPT / "book.lock"):
        done, wanted = SITE / "built", _everything_in_the_site(runs)
        if not done.exists() or done.read_text("utf-8") != wanted:
            # From nothing: of pages that did not change, Sphinx would not check the links again.
            shutil.rmtree(SITE, ignore_errors=True)
            _lay_out(runs)
            command = [Path(sys.executable).parent / "jupyter-book", "build", "-W", "-n"]
            command += ["--keep-going", "."]
            code, log = run_logged(command, SITE, environment(), timeout=900)
            if code:
                raise RuntimeError(f"the book does not build without warnings:\n{log}")
            _write(done, wanted)
    return SITE / "_build" / "html"


def _sources(runs: dict[str, Run]) -> dict[Path, Path]:
    """Return where each file of the book goes, and where it comes from."""
    sources = {SITE / name: one.path for name, one in runs.items()}
    for path in sorted(p for room in ("book", "examples") for p in (ROOT / room).rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(ROOT).parts)
        if path.is_file() and not hidden:
            sources.setdefault(SITE / path.relative_to(ROOT), path)
    return sources | {
        SITE / "_toc.yml": ROOT / "_toc.yml",
        SITE / "_config.yml": ROOT / "_config.yml",
    }


def _everything_in_the_site(runs: dict[str, Run]) -> str:
    """Name everything that the built book depends on."""
    digest = hashlib.sha256("\0".join([*_installed(), *_both_packages()]).encode())
    for target, source in sorted(_sources(runs).items()):
        digest.update(str(target).encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()


def _lay_out(runs: dict[str, Run]) -> None:
    for target, source in _sources(runs).items():
        _write(target, source.read_bytes())
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    # Notebooks have run already; the text notebooks (index.md) run here.
    config["execute"] = {
        "execute_notebooks": "force",
        "timeout": CELL_SECONDS,
        "exclude_patterns": ["*.ipynb", "**/*.ipynb"],
    }
    _write(SITE / "_config.yml", yaml.safe_dump(config, allow_unicode=True))


def _write(path: Path, content: str | bytes) -> bool:
    """Write a file unless it already says so; return whether it had to be written."""
    content = content.encode() if isinstance(content, str) else content
    if path.exists() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    # Another process sees the old file or the new one, never half of it.
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_bytes(content)
    fresh.replace(path)
    return True


if __name__ == "__main__":
    chosen = [name for name in NOTEBOOKS if Path(name).stem in sys.argv[1:]] or NOTEBOOKS
    print(build(chosen))
