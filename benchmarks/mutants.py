"""Measure how much of the library its tests hold: break one thing at random, see who notices.

Each mutant is one change of one module: a number, an operator, a truth value, a condition. It is
made in a copy of the tree, where the module's own tests and docstring examples run, those that
compile or start processes left out. What no test notices is printed; it is a missing test, or a
change that changes nothing.

    python benchmarks/mutants.py --count 60
    python benchmarks/mutants.py --module diagnosis --module encodings --count 30 --seed 2

Strings, annotations and what is raised are left alone. Numbers below 0.1 count as tolerances, which
have room on purpose, so they move by a factor of 1000; `<` becomes `<=` beside whole numbers only.
"""

import argparse
import ast
import os
import random
import resource
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = "attention axes checks config decoding devices diagnosis distance embedding encodings"
MODULES += " frequencies kernels memory native pairs rotation scaling symbolic tensor_checks"
BOOK = ("symbolic",)
CONFIG = ["files", "gallery", "layers", "model_types", "rope_config", "rope_part", "rules"]
EMBEDDING = ["embedding", "embedding_lengths", "embedding_positions", "embedding_table"]
TESTS = {  # of modules that have more than one file, or one of another name
    "config": [*CONFIG, "text_report", "widths"],
    "diagnosis": ["adapters", "diagnose", "exhibits", "expectation", "measured"],
    "decoding": ["native", *EMBEDDING],
    "embedding": [*EMBEDDING, "rerotate"],
    "kernels": ["kernels", "rotation", "gradients", *EMBEDDING],
    "pairs": ["kernels", "rotation"],
    "rotation": ["rotation", "cos_sin", "gradients", "tensor_checks", "embedding"],
    "scaling": ["scaling", "scaling_errors", "scaling_transformers"],
    "tensor_checks": ["tensor_checks", "cos_sin", "memory", *EMBEDDING],
}
HEAVY = ["pytest", "hypothesis", "torch", "transformers.models.llama.modeling_llama"]
_SERVER = get_context("forkserver")  # imports what is heavy once, and forks for each mutant

_SWAPS = {
    ast.Add: [ast.Sub], ast.Sub: [ast.Add], ast.Mult: [ast.Div], ast.Div: [ast.Mult],
    ast.Pow: [ast.Mult], ast.FloorDiv: [ast.Mult], ast.Mod: [ast.Mult],
    ast.BitAnd: [ast.BitOr], ast.BitOr: [ast.BitAnd], ast.And: [ast.Or], ast.Or: [ast.And],
    ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq], ast.Is: [ast.IsNot], ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn], ast.NotIn: [ast.In], ast.Lt: [ast.GtE, ast.LtE],
    ast.LtE: [ast.Gt, ast.Lt], ast.Gt: [ast.LtE, ast.GtE], ast.GtE: [ast.Lt, ast.Gt],
}  # fmt: skip


@dataclass(frozen=True, order=True)
class Mutant:
    """One change of one file: the text between two offsets, in bytes, becomes another."""

    path: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def apply(self, source: str) -> str:
        """Return `source` with the change made."""
        text = source.encode()
        return (text[: self.start] + self.new.encode() + text[self.end :]).decode()

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: `{self.old}` -> `{self.new}`"


def mutants(source: str, path: str = "") -> list[Mutant]:
    """List every mutant of a module's source."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = set()
    for node, changed in _changes(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        old = " ".join(source.encode()[start:end].decode().split())
        found.add(Mutant(path, node.lineno, start, end, old, changed))
    return sorted(found)


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield nodes below this one, each with the text that may take its place."""
    if isinstance(node, (ast.JoinedStr, ast.Raise)):
        return
    for name, field in ast.iter_fields(node):
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST) and name not in ("annotation", "returns"):
                yield from _changes(child)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield node, str(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield node, str(node.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        factor = 1000 if node.value < 0.1 else 1.5
        yield node, str(node.value * factor or 1.0)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        yield node, f"({ast.unparse(node.operand)})"
    elif isinstance(node, (ast.BinOp, ast.BoolOp)):
        for swap in _SWAPS.get(type(node.op), []):
            yield node, _with(node, op=swap())
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        whole = any(_is_whole(side) for side in (node.left, *node.comparators))
        for swap in _SWAPS[type(node.ops[0])][: 2 if whole else 1]:
            yield node, _with(node, ops=[swap()])
    for condition in [getattr(node, "test", None), *getattr(node, "ifs", [])]:
        if condition is not None:
            yield condition, "False"


def _is_whole(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _with(node: ast.AST, **fields) -> str:
    return f"({ast.unparse(type(node)(**{**vars(node), **fields}))})"


def sample(root: Path, modules: list[str], count: int, seed: int) -> list[Mutant]:
    """Draw mutants of the modules, each as likely as any other."""
    every = []
    for module in modules:
        package = "ropebook" if module in BOOK else "ropelib"
        home = root / package / module
        files = sorted(home.rglob("*.py")) if home.is_dir() else [home.with_suffix(".py")]
        for file in files:
            every += mutants(file.read_text("utf-8"), file.relative_to(root).as_posix())
    return sorted(random.Random(seed).sample(every, min(count, len(every))))


def tests_of(path: str, root: Path = ROOT) -> list[str]:
    """Name the tests that stand for a module."""
    parts = Path(path).with_suffix("").parts
    dotted = ".".join(part for part in parts if part != "__init__")
    names = [f"test_{name}.py" for name in TESTS.get(parts[1], parts[1:2])]
    files = [
        str(file.relative_to(root)) for name in names for file in root.glob(f"tests/**/{name}")
    ]
    examples = "tests/repository/test_docstrings.py::test_examples_in_docstrings_run"
    return [*files, f"{examples}[{dotted}]"]


def fails(tree: Path, tests: list[str], seconds: int) -> bool:
    """Say whether one of the tests fails, or they take more of the processor than `seconds`."""
    process = _SERVER.Process(target=_pytest, args=(tree, tests, seconds))
    process.start()
    process.join(20 * seconds)  # on a busy machine that is longer, and on none for ever
    process.kill()
    process.join()
    # A usage error says that a test named on the command line cannot be imported any more.
    if process.exitcode in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError(f"pytest exits with {process.exitcode} for {tests}")
    return process.exitcode != 0


def _pytest(tree: Path, tests: list[str], seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    os.chdir(tree)
    sys.path.insert(0, str(tree))
    sys.dont_write_bytecode = True
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    present = [test for test in tests if Path(test.partition("::")[0]).exists()]
    options = ["-xq", "-p", "no:cacheprovider", "-k", "not compile and not process"]
    sys.exit(pytest.main([*options, *present]))


def run(root: Path, drawn: list[Mutant], jobs: int = 2, seconds: int = 120) -> list[Mutant]:
    """Return those of the mutants that no test notices; print them as they are found."""
    with tempfile.TemporaryDirectory() as folder:
        here = threading.local()

        def settle() -> None:
            ignored = shutil.ignore_patterns(".*", "_build", "__pycache__")
            home = tempfile.mkdtemp(dir=folder)
            here.tree = Path(shutil.copytree(root, home, dirs_exist_ok=True, ignore=ignored))

        def survives(mutant: Mutant) -> bool:
            file = here.tree / mutant.path
            source = file.read_text("utf-8")
            file.write_text(mutant.apply(source), "utf-8")
            survived = not fails(here.tree, tests_of(mutant.path, here.tree), seconds)
            file.write_text(source, "utf-8")
            if survived:
                print(mutant, flush=True)
            return survived

        with ThreadPoolExecutor(jobs, initializer=settle) as pool:
            tests = sorted({test for mutant in drawn for test in tests_of(mutant.path, root)})
            if pool.submit(lambda: fails(here.tree, tests, seconds * len(tests))).result():
                raise RuntimeError(f"some of {tests} fail, or take too long, as they are")
            return [m for m, kept in zip(drawn, pool.map(survives, drawn), strict=True) if kept]


def main() -> None:
    """Print the survivors and the share killed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--module", action="append", help=f"default: {MODULES}")
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=120, help="processor time for one mutant")
    options = parser.parse_args()
    os.nice(10)
    os.environ["OMP_NUM_THREADS"] = "1"
    _SERVER.set_forkserver_preload(HEAVY)
    modules = options.module or MODULES.split()
    drawn = sample(ROOT, modules, options.count, options.seed)
    left = run(ROOT, drawn, options.jobs, options.seconds)
    killed = len(drawn) - len(left)
    print(f"{killed} of {len(drawn)} killed ({killed / max(1, len(drawn)):.0%})")


if __name__ == "__main__":
    main()
