"""Which test decides which claim of the ledger: said at the test, and read without running it."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from toc import ROOT

APPENDIX = ROOT / "book/appendix"
ROOM = ROOT / "tests/claims"
_ID = re.compile(r"S\d{3}-[1-9]\d*")


def decides(*ids: str):
    """Mark a test as the check that decides these claims: `@decides("S003-6", "S003-14")`."""
    if not ids or not all(isinstance(name, str) and _ID.fullmatch(name) for name in ids):
        raise ValueError(f"a check decides claims by their ids, such as S003-6, got {ids!r}")
    return pytest.mark.decides(*ids)


@dataclass(frozen=True)
class Check:
    """A test as its file has it: what it is called, which claims it decides, how it is marked."""

    name: str
    file: str
    claims: tuple[str, ...]
    marks: tuple[str, ...]


def checks(folder: Path = ROOM) -> list[Check]:
    """All tests of a folder of checks, those too that decide nothing."""
    return [
        _check(path, node)
        for path in sorted(folder.glob("test_*.py"))
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def _check(path: Path, function: ast.FunctionDef) -> Check:
    marks, ids = [], []
    for mark in function.decorator_list:
        call = mark.func if isinstance(mark, ast.Call) else mark
        marks.append(ast.unparse(call))
        if marks[-1] == "decides":
            ids += [ast.literal_eval(name) for name in mark.args]
    return Check(function.name, path.name, tuple(ids), tuple(marks))
