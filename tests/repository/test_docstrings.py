import doctest
import importlib
import inspect
import pkgutil
import re

import pytest

import ropebook
import ropelib


def modules_of(package):
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    names = [module.name for module in found if not module.name.rpartition(".")[2] == "setup"]
    return [package.__name__, *(name for name in names if ".test_" not in name)]


MODULES = [*modules_of(ropelib), *modules_of(ropebook)]
CORE = [
    "ropelib.attention",
    "ropelib.axes",
    "ropelib.config",
    *(f"ropelib.conformance{part}" for part in ("", ".build", ".cases", ".checker", ".files")),
    "ropelib.conformance.formulas",
    "ropelib.cuda",
    *(f"ropelib.diagnosis{part}" for part in ("", ".adapters", ".forms", ".models", ".report")),
    "ropelib.decoding",
    "ropelib.devices",
    "ropelib.distance",
    "ropelib.embedding",
    *(name for name in MODULES if name.startswith("ropelib.encodings.")),
    "ropelib.frequencies",
    "ropelib.fused",
    "ropelib.memory",
    "ropelib.native",
    "ropelib.paged",
    "ropelib.pytest",
    "ropelib.reference",
    "ropelib.rotation",
    *(name for name in MODULES if name.startswith("ropelib.scaling.")),
    "ropelib.table_rows",
]
FOR_A_GPU = {"ropelib.cuda.launch", "ropelib.cuda.programs"}


def loaded(name):
    if name in FOR_A_GPU:
        pytest.importorskip("triton")
    return importlib.import_module(name)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testmod(loaded(name), optionflags=options)
    assert result.failed == 0


@pytest.mark.parametrize("name", CORE)
def test_every_public_function_has_an_example(name):
    module = importlib.import_module(name)
    for member in vars(module).values():
        if inspect.isroutine(member) or inspect.isclass(member):
            if member.__module__ == name and not member.__name__.startswith("_"):
                assert ">>>" in member.__doc__, member.__name__


def first_line_of_returns(docstring):
    found = re.search(r"^Returns:\n\s+(.*)$", inspect.cleandoc(docstring or ""), re.MULTILINE)
    return found[1] if found else ""


@pytest.mark.parametrize("name", MODULES)
def test_no_returns_line_is_taken_for_a_type(name):
    """Napoleon sets what stands before a colon in the first line as the type, in italics."""
    members = [m for m in vars(loaded(name)).values() if inspect.isclass(m)]
    members += [f for m in members for f in vars(m).values() if inspect.isroutine(f)]
    members += filter(inspect.isroutine, vars(loaded(name)).values())
    for member in members:
        bare = re.sub(r"`[^`]*`", "", first_line_of_returns(member.__doc__))
        assert ":" not in bare, f"{member.__qualname__}: {bare}"
