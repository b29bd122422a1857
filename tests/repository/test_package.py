"""The wheel as an engineer gets it: what is in it, what it says of itself, what it needs."""

import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from email import message_from_string
from importlib.metadata import requires, version

import pytest
import yaml
from test_docstrings import CORE
from toc import ROOT

import ropelib

SOURCES = ["ropelib", "pyproject.toml", "setup.py", "README.md", "LICENSE"]
BUILD = "import setuptools.build_meta as backend; backend.build_wheel('.')"
# Runs where torch and NumPy are and the book's packages are not, and prints what it finds as JSON.
CLIENT = """
import contextlib, io, json, runpy, shlex, sys

class Missing:
    names = {names!r}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
import torch
before = set(sys.modules)
import ropelib
loaded = {{name.partition(".")[0] for name in set(sys.modules) - before}}
found = {{"file": ropelib.__file__, "loaded": sorted(loaded - sys.stdlib_module_names)}}

namespace = {{}}
for block in {blocks!r}:
    exec(block, namespace)
found["shape"] = list(namespace["output"].shape)

from ropelib.__main__ import main
with contextlib.redirect_stdout(io.StringIO()) as said:
    found["exits"] = [main(shlex.split(line)) for line in {commands!r}]
found["said"] = said.getvalue()

print(json.dumps(found))
"""
CONFIG = {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "rope_theta": 1e4}
MY_MODEL = """
from ropelib import apply_rotary, cos_sin, inv_freq

def rotate(x, position_ids):
    return apply_rotary(x, *cos_sin(position_ids, inv_freq(x.shape[-1])), layout="half")
"""


def unpacked_wheel(folder, names, project="."):
    """Build a wheel of some files from a copy, as `pip wheel` builds it; return it unpacked."""
    for name in names:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    command = [sys.executable, "-c", BUILD]
    done = subprocess.run(command, cwd=folder / project, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = (folder / project).glob("*.whl")
    assert built.name.endswith("-py3-none-any.whl")
    zipfile.ZipFile(built).extractall(folder / "unpacked")
    return folder / "unpacked"


def files_of(wheel):
    held = {str(path.relative_to(wheel)) for path in wheel.rglob("*") if path.is_file()}
    return {name for name in held if ".dist-info/" not in name}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The folder of the library's wheel."""
    return unpacked_wheel(tmp_path_factory.mktemp("ropelib"), SOURCES)


@pytest.fixture(scope="module")
def metadata(wheel):
    (path,) = wheel.glob("*.dist-info/METADATA")
    return message_from_string(path.read_text("utf-8"))


@pytest.fixture(scope="module")
def without_the_book(wheel, metadata, tmp_path_factory):
    """What a Python finds that has the wheel, torch and NumPy, and none of the book's packages."""
    work = tmp_path_factory.mktemp("work")
    (work / "config.json").write_text(json.dumps(CONFIG), "utf-8")
    (work / "my_model.py").write_text(MY_MODEL, "utf-8")
    readme = metadata.get_payload()
    code = CLIENT.format(
        names=needed_by_the_book() | {"IPython", "docutils", "ropebook", "sphinx", "traitlets"},
        blocks=re.findall(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL),
        commands=re.findall(r"^\$ python -m ropelib (.*)$", readme, re.MULTILINE),
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=work,
        env={**os.environ, "PYTHONPATH": str(wheel)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def needed_by_the_book():
    """The packages that only the book needs, as they are imported."""
    needed = requires("ropebook")
    names = {re.match(r"[\w-]+", line)[0].replace("-", "_") for line in needed} - {"ropelib"}
    return {{"fonttools": "fontTools"}.get(name, name) for name in names}


def test_the_wheel_holds_every_file_of_the_library_and_nothing_else(wheel):
    suffixes = {".py", ".typed", ".cpp"}
    library = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "ropelib").rglob("*")
        if path.suffix in suffixes and path.is_file()
    }
    assert files_of(wheel) == library
    assert "ropelib/py.typed" in library, "type checkers read annotations of a typed package only"


def test_the_books_wheel_holds_every_folder_and_no_tests(tmp_path):
    suffixes = {".py", ".js", ".css"}
    book = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "ropebook").rglob("*")
        if path.suffix in suffixes and not path.name.startswith("test_")
    } - {"ropebook/setup.py"}
    wheel = unpacked_wheel(tmp_path, ["ropebook"], "ropebook")
    assert files_of(wheel) == book
    assert "ropebook/widgets/kit/kit.css" in book


def test_the_wheel_says_who_made_it_and_under_which_license(wheel, metadata):
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert metadata["Version"] == ropelib.__version__ == str(citation["version"])
    assert metadata["Author"] == citation["authors"][0]["name"]
    assert metadata["License-Expression"] == citation["license"] == "MIT"
    assert metadata.get_all("License-File") == ["LICENSE"]
    (text,) = wheel.glob("*.dist-info/licenses/LICENSE")
    assert text.read_text("utf-8").startswith("MIT License\n")
    assert "CC BY" not in text.read_text("utf-8"), "the book's text is not in the wheel"
    assert sorted(metadata["Keywords"].split(",")) == sorted(citation["keywords"])
    assert "Typing :: Typed" in metadata.get_all("Classifier")


def test_alone_it_needs_torch_and_numpy(metadata):
    assert metadata.get_all("Requires-Dist") == ["numpy>=1.25", "torch"]
    assert metadata.get_all("Provides-Extra") is None
    assert {"anywidget", "plotly", "sympy"} <= needed_by_the_book()


def test_the_description_needs_no_neighbor(metadata):
    """An index shows it without the repository's files: no picture, no link but a whole address."""
    description = metadata.get_payload()
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert description.startswith("# ropelib\n") and "RotaryEmbedding(" in description
    assert not re.findall(r"!\[|<img", description)
    assert not re.findall(r"\]\((?!https://)[^)]*\)", description)


def test_the_readme_runs_without_the_book(without_the_book, wheel):
    assert without_the_book["file"].startswith(str(wheel)), "another ropelib was imported"
    assert without_the_book["shape"] == [1, 8, 32, 64]
    assert without_the_book["exits"] == [0, 0]
    assert "Verdict: " in without_the_book["said"]


def test_importing_ropelib_loads_no_package_that_torch_does_not(without_the_book):
    assert without_the_book["loaded"] == ["ropelib"]


def test_public_names_are_importable():
    expected = {"inv_freq", "cos_sin", "apply_rotary", "convert_layout", "RotaryEmbedding"}
    assert expected <= set(ropelib.__all__)
    assert all(callable(getattr(ropelib, name)) for name in ropelib.__all__)


def test_version_is_the_installed_one():
    assert ropelib.__version__ == version("ropelib")


@pytest.mark.parametrize("name", CORE)
def test_every_public_function_is_annotated(name):
    for function in public_functions(importlib.import_module(name)):
        signature = inspect.signature(function)
        parts = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
        bare = [part.name for part in parts if part.annotation is part.empty]
        assert not bare, f"{function.__qualname__}: {bare}"
        if function.__name__ != "__init__":
            assert signature.return_annotation is not signature.empty, function.__qualname__


def public_functions(module):
    own = [
        item for item in vars(module).values() if getattr(item, "__module__", "") == module.__name__
    ]
    classes = [item for item in own if inspect.isclass(item) and item.__name__[0] != "_"]
    members = [getattr(item, "__func__", item) for kind in classes for item in vars(kind).values()]
    functions = [item for item in own + members if inspect.isfunction(item)]
    return [item for item in functions if item.__name__[0] != "_" or item.__name__ == "__init__"]
