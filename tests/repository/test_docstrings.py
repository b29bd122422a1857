import doctest
import importlib
import inspect
import pkgutil

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
    *(f"ropelib.diagnosis{part}" for part in ("", ".adapters", ".report")),
    "ropelib.devices",
    "ropelib.distance",
    "ropelib.embedding",
    *(name for name in MODULES if name.startswith("ropelib.encodings.")),
    "ropelib.frequencies",
    "ropelib.memory",
    "ropelib.reference",
    "ropelib.rotation",
    *(name for name in MODULES if name.startswith("ropelib.scaling.")),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testmod(importlib.import_module(name), optionflags=options)
    assert result.failed == 0


@pytest.mark.parametrize("name", CORE)
def test_every_public_function_has_an_example(name):
    module = importlib.import_module(name)
    for member in vars(module).values():
        if inspect.isroutine(member) or inspect.isclass(member):
            if member.__module__ == name and not member.__name__.startswith("_"):
                assert ">>>" in member.__doc__, member.__name__
