"""The house keeps its own rules: who imports whom, what stands where, how long a file is."""

import ast
import re
from graphlib import CycleError, TopologicalSorter

import pytest
from toc import FILES, ROOT

# From the ground up: a module imports from its own floor and from those below. A name stands for
# all that is inside it and is not named itself; `__init__` is a package's own door.
FLOORS = [
    ["ropelib.checks", "ropelib.devices", "ropelib.frequencies", "ropelib.memory"],
    ["ropelib"],  # rotation and what it is made of, scaling, distance, axes, reference
    ["ropelib.config", "ropelib.encodings", "ropelib.attention"],
    ["ropelib.diagnosis", "ropelib.conformance"],
    ["ropelib.__init__", "ropelib.__main__", "ropelib.gallery", "ropelib.pytest"],
    ["ropebook.__init__", "ropebook.palette", "ropebook.symbolic"],
    ["ropebook"],  # figures, fonts
    ["ropebook.widgets", "ropebook.exercises", "ropebook.experiments", "ropebook.census"],
    ["ropebook.site", "ropebook.reading"],
]
# Rooms beside each other that know nothing of one another.
APART = ["ropebook.widgets", "ropebook.exercises", "ropebook.experiments", "ropebook.figures"]
# The doors between them: an exercise is shown by a widget, a widget finds its task by name.
DOORS = {
    "ropebook.exercises.asking": {"ropebook.widgets.__init__"},
    "ropebook.widgets.base": {"ropebook.exercises.definitions", "ropebook.exercises.language"},
}
# What everything fast is compared with rests on nothing that is compared with it.
ALONE = {
    "ropelib.reference": {"ropelib.checks"},
    "ropelib.conformance.build": {
        "ropelib.reference",
        "ropelib.conformance.cases",
        "ropelib.conformance.formulas",
    },
    "ropelib.conformance.cases": set(),
    "ropelib.conformance.formulas": set(),
}

ROOMS = {
    *("core", "encodings", "config", "diagnosis", "conformance"),
    *("widgets", "exercises", "experiments", "claims", "book", "browser", "repository"),
    *("benchmarks", "museum"),
}
CHAPTERS = {file.rpartition("/")[2] for file in FILES}
WIDGETS = sorted(path.parent for path in (ROOT / "ropebook/widgets").glob("*/widget.py"))


SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path
    for package in ("ropelib", "ropebook")
    for path in sorted((ROOT / package).rglob("*.py"))
    if not path.name.startswith("test_") and path.name != "setup.py"
}


def own(name):
    """The module of that name in one of the two packages, or None."""
    return next((module for module in (name, f"{name}.__init__") if module in SOURCES), None)


def imports(module):
    """All own modules that a module imports: (module, name taken from it, name it is bound to)."""
    for node in ast.walk(ast.parse(SOURCES[module].read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports say whole names"
            for alias in node.names:
                if whole := own(f"{node.module}.{alias.name}"):
                    yield whole, None, alias.asname or alias.name
                elif other := own(node.module):
                    yield other, alias.name, None
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if other := own(alias.name):
                    yield other, None, alias.asname or alias.name


NEEDS = {module: {other for other, *_ in imports(module)} for module in SOURCES}


def inside(module, name):
    return f"{module}.".startswith(f"{name}.")


def floor_of(module):
    """The floor of the longest name that the module is inside."""
    found = {name: i for i, floor in enumerate(FLOORS) for name in floor if inside(module, name)}
    return found[max(found, key=len)]


def test_imports_go_downward():
    wrong = [
        f"{module} imports {other}"
        for module, needs in NEEDS.items()
        for other in needs
        if floor_of(other) > floor_of(module) or other not in ALONE.get(module, SOURCES)
    ]
    assert wrong == []


def test_rooms_beside_each_other_know_nothing_of_one_another():
    def room_of(module):
        return next((room for room in APART if inside(module, room)), None)

    wrong = [
        f"{module} imports {other}"
        for module in filter(room_of, SOURCES)
        for other in NEEDS[module]
        if room_of(other) not in (None, room_of(module)) and other not in DOORS.get(module, ())
    ]
    assert wrong == []


def test_no_modules_import_each_other():
    try:
        TopologicalSorter(NEEDS).prepare()
    except CycleError as error:
        pytest.fail(f"in a circle: {' -> '.join(error.args[1])}")


def test_nothing_private_is_used_in_another_module():
    used = set()
    for module in SOURCES:
        bound = {name: other for other, _, name in imports(module) if name}
        used |= {
            (module, f"{other}.{name}")
            for other, name, _ in imports(module)
            if name and name.startswith("_") and not name.endswith("__")
        }
        for node in ast.walk(ast.parse(SOURCES[module].read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.value.id in bound and re.match("_(?!_)", node.attr):
                    used.add((module, f"{bound[node.value.id]}.{node.attr}"))
    assert used == set()


def test_no_file_of_the_packages_is_long():
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines())
        for path in SOURCES.values()
    }
    assert {name for name, lines in lengths.items() if lines > 450} == set()


@pytest.mark.parametrize("folder", WIDGETS, ids=lambda folder: folder.name)
def test_a_widgets_folder_has_its_files(folder):
    files = {path.name for path in folder.iterdir()} - {"__pycache__"}
    needed = {"__init__.py", "widget.py", "widget.js", f"test_{folder.name}.py"}
    needed |= {f"{path.stem}.test.mjs" for path in folder.glob("*.js")}
    assert needed <= files
    # Beside them: its style, parts of the picture with their tests, what its tests share, and twins
    # in Python of what stands in JavaScript.
    known = needed | {"widget.css"} | {name for name in files if name.endswith((".js", ".mjs"))}
    parts = [path.stem for path in folder.glob("*.js")]
    assert files - known <= {f"{kind}{part}.py" for part in parts for kind in ("test_", "")}


def test_every_test_stands_in_a_room_named_after_what_it_tests():
    for path in [*(ROOT / "tests").rglob("*.py"), *(ROOT / "ropebook").rglob("test_*.py")]:
        if "ropebook" in path.relative_to(ROOT).parts:
            assert path.parent in WIDGETS, path
            continue
        room = path.relative_to(ROOT / "tests").parts[0]
        if path.name.startswith("test_"):
            assert room in ROOMS and path.parent.parent == ROOT / "tests", path
        for kind in ("claims", "exercises"):
            if path.stem.startswith(f"test_{kind}_"):
                assert room == kind and path.stem.removeprefix(f"test_{kind}_") in CHAPTERS, path
    # A folder of tests is no package: pytest takes two files of one name for one module.
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
    homes = dict.fromkeys(("encodings", "config", "diagnosis", "conformance"), "ropelib")
    homes |= {"widgets": "ropebook", "exercises": "ropebook", "museum": "ropebook"}
    assert all((ROOT / home / room).is_dir() for room, home in homes.items())
