"""The repository as a reader finds it: its rooms, its commands, its pins, nothing left undone."""

import re
import shutil
import subprocess
from itertools import pairwise

import pytest
import yaml
from toc import ROOT

FILES = [
    "README.md",
    "LICENSE",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "Makefile",
    "requirements.txt",
    "constraints.txt",
    "benchmarks/requirements.txt",
    "pyproject.toml",
    "setup.py",
    "_config.yml",
    "_toc.yml",
    ".ci/run",
    ".github/workflows/book.yml",
    "book/LICENSE",
    "book/index.md",
    "book/notation.md",
    "book/references.bib",
    "book/_static/static_host.js",
    "book/_static/book.css",
    "ropelib/__init__.py",
    "ropelib/reference.py",
    "ropebook/widgets/kit/mount.js",
]
ROOMS = {".ci", ".github", "benchmarks", "book", "docs", "examples", "ropebook", "ropelib", "tests"}
TEXT = {
    ".py",
    ".c",
    ".js",
    ".mjs",
    ".css",
    ".md",
    ".ipynb",
    ".yml",
    ".yaml",
    ".toml",
    ".txt",
    ".cff",
    "",
}
# Brackets keep these patterns from finding themselves.
UNFINISHED = re.compile(r"\b(?:TOD[O]|FIXM[E]|XX[X]|HAC[K]|WI[P]|TB[D])\b")
MERGING = re.compile(r"^(?:<{7}|>{7}) ")
HOSTS = re.compile(
    r"pypi[.]org|pythonhosted[.]org|npmjs[.](?:org|com)|anaconda[.]org|jsdelivr[.]net|unpkg[.]com"
    r"|cdnjs[.]cloudflare|esm[.]sh|skypack[.]dev|googleapis[.]com|download[.]pytorch"
    r"|--(?:extra-)?index[-]url|--find[-]links|--trusted[-]host"
)


def tracked():
    """Every file that is in git or would be after `git add`."""
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("not a git checkout: there is no list of tracked files")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def lines_matching(pattern, suffixes):
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:160]}"
        for path in tracked()
        if path.suffix in suffixes
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if pattern.search(line)
    ]


@pytest.mark.parametrize("name", FILES)
def test_file_of_the_layout_exists(name):
    assert (ROOT / name).is_file()


def test_there_is_no_room_beyond_the_layout():
    rooms = {path.relative_to(ROOT).parts[0] for path in tracked() if path.parent != ROOT}
    assert rooms <= ROOMS


def test_commands_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-zA-Z][\w-]*):", makefile, re.MULTILINE))
    prose = [path for path in tracked() if path.suffix in (".md", "") and path.name != "Makefile"]
    named = {
        (path.name, target)
        for path in prose
        for target in re.findall(r"\bmake ([a-z][\w-]*)\b", _commands(path.read_text("utf-8")))
    }
    assert ("README.md", "test") in named
    assert {target for _, target in named} <= targets, named


def _commands(text):
    """Inline code and code blocks: prose may make sense without being a command."""
    blocks = re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL)
    inline = re.findall(r"`[^`\n]+`", text)
    script = [text] if text.startswith("#!") else []
    return "\n".join(blocks + inline + script)


def test_the_rules_of_the_house_say_each_thing_once():
    lines = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    places = [line.split("|")[1].strip() for line in lines if line.startswith("| `")]
    assert len(places) > 40
    assert sorted(place for place in set(places) if places.count(place) > 1) == []
    steps = [int(line.split(".")[0]) for line in lines if re.match(r"\d+\. ", line)]
    for before, step in pairwise(steps):
        assert step in (1, before + 1), f"step {step} comes after step {before}"


def test_ci_runs_the_test_command_of_the_readme():
    script = ROOT / ".ci" / "run"
    assert "make test" in script.read_text("utf-8")
    assert script.stat().st_mode & 0o111, "not executable"


def test_the_workflow_publishes_what_was_tested_and_built():
    jobs = yaml.safe_load((ROOT / ".github/workflows/book.yml").read_text("utf-8"))["jobs"]
    commands = {
        name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()
    }
    assert commands["test"] == [".ci/run"] and commands["build"] == ["make book"]
    assert set(jobs["publish"]["needs"]) == {"test", "build"}
    (upload,) = (s for s in jobs["build"]["steps"] if "upload-pages-artifact" in s.get("uses", ""))
    built = re.search(r"Open (\S+)/index.html", (ROOT / "Makefile").read_text("utf-8"))[1]
    assert upload["with"]["path"] == built


def pins_of(lines):
    """(name, marker) -> version of requirements, each of which must be pinned to one version."""
    for line in lines:
        assert re.fullmatch(r"[A-Za-z0-9._-]+(\[[\w,-]+\])?==[\w.+!]+( *;.+)?", line), line
    # One package may have several pins, each with its own marker.
    split = [re.fullmatch(r"([^=\[]+)(?:\[.*\])?==([^ ;]+) *;? *(.*)", line) for line in lines]
    pins = {
        (part[1].lower().replace("_", "-"), part[3].replace('"', "'")): part[2] for part in split
    }
    assert len(pins) == len(lines), "a package is pinned twice"
    return pins


def content_lines(name):
    text = (ROOT / name).read_text("utf-8")
    return list(filter(None, (line.split("#")[0].strip() for line in text.splitlines())))


def test_every_requirement_is_pinned_and_the_last_lines_install_both_packages():
    *pins, library, book = content_lines("requirements.txt")
    assert {"jupyter-book", "torch", "pytest"} <= {name for name, _ in pins_of(pins)}
    assert (library, book) == ("--editable .", "--editable ./ropebook")


def test_every_constraint_is_pinned_and_agrees_with_the_requirements():
    constraints = pins_of(content_lines("constraints.txt"))
    versions = {}
    for (name, _), version in constraints.items():
        versions.setdefault(name, set()).add(version)
    for (name, _), version in pins_of(content_lines("requirements.txt")[:-2]).items():
        assert version in versions.get(name, {version}), name


def test_every_peer_that_is_measured_is_pinned_as_the_tests_have_it():
    peers = pins_of(content_lines("benchmarks/requirements.txt"))
    assert {"torchtune", "onnxruntime", "kernels"} <= {name for name, _ in peers}
    for others in (content_lines("requirements.txt")[:-2], content_lines("constraints.txt")):
        assert {name for name, _ in peers}.isdisjoint(name for name, _ in pins_of(others))


def test_no_file_names_a_registry_or_a_delivery_network():
    assert lines_matching(HOSTS, TEXT) == []


def test_nothing_is_left_unfinished():
    assert lines_matching(UNFINISHED, {".py", ".js", ".mjs", ".css"}) == []
    assert lines_matching(MERGING, TEXT) == []


def test_no_built_or_large_file_is_tracked():
    for path in tracked():
        assert path.stat().st_size < 1_000_000, path
        assert path.suffix not in (".pyc", ".whl", ".pt", ".safetensors"), path
        assert "_build" not in path.parts, path
