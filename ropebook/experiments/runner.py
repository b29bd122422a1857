"""Runs what a study has not recorded yet, and records each run as soon as it is done."""

import argparse
import datetime
import importlib
import pkgutil
from collections.abc import Iterator
from concurrent import futures
from multiprocessing import get_context
from types import ModuleType

import torch
from filelock import FileLock

from ropebook.experiments import processes, recorded, studies
from ropebook.experiments.training import check_seeds
from ropebook.experiments.workshop import Workshop
from ropelib import checks


def names() -> list[str]:
    """Return the names of all studies."""
    return sorted(module.name for module in pkgutil.iter_modules(studies.__path__))


def study(name: str) -> ModuleType:
    """Return a study, a module with `CONFIG`, `CASES` and `run(case, seed, workshop)`.

    Raises:
        ValueError: if there is none of that name.
    """
    if name not in names():
        raise ValueError(f"study must be one of {names()}, got {checks.shown(name)}")
    return importlib.import_module(f"{studies.__name__}.{name}")


class Runner:
    """Runs what is not recorded yet, and records each run as soon as it is done.

    Raises:
        OSError: if results cannot be written, which is tried before anything is run.
        ValueError: if a name or seed is wrong, or the file holds runs of another configuration.
    """

    def __init__(self, options: argparse.Namespace):
        self.options, self.name = options, options.study
        module = study(self.name)
        self.cases = _chosen(options.cases, module.CASES)
        check_seeds(options.seeds)
        self.config = recorded.plain(module.CONFIG)
        if options.steps:
            self.config["steps"] = options.steps
        if options.steps and options.out == recorded.RESULTS:
            raise ValueError("--steps is for trying: name another folder with --out")
        self.path = options.out / f"{self.name}.json"
        self.place = recorded.here(options.device)

    def run(self) -> None:
        """Run every case with every seed, seed by seed."""
        if processes.rank() == 0:
            with self._lock():
                recorded.save(self.so_far(), self.path)
        so_far = processes.agreed(self.so_far() if processes.rank() == 0 else None)
        todo = [(c, s) for s in self.options.seeds for c in self.cases if not so_far.has(c, s)]
        skipped = len(self.cases) * len(self.options.seeds) - len(todo)
        if skipped:
            self._say(f"{skipped} runs are recorded already")
        for number, (case, seed, numbers) in enumerate(self.results(todo), 1):
            if processes.rank() == 0:
                self.record(case, seed, numbers)
                self._say(f"[{number}/{len(todo)}] {case}, seed {seed}: {_short(numbers)}")

    def results(self, todo: list[tuple[str, int]]) -> Iterator[tuple]:
        """Yield each run as it is done, in one process or in several."""
        if self.options.jobs == 1:
            for case, seed in todo:
                yield case, seed, one(self.name, case, seed, self._workshop(quiet=False))
            return
        with futures.ProcessPoolExecutor(self.options.jobs, get_context("spawn")) as pool:
            going = {
                pool.submit(one, self.name, case, seed, self._workshop(quiet=True)): (case, seed)
                for case, seed in todo
            }
            try:
                for done in futures.as_completed(going):
                    yield *going[done], done.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _workshop(self, quiet: bool) -> Workshop:
        folder = self.options.folder
        return Workshop(folder, self.options.device, self.options.steps, quiet)

    def so_far(self) -> recorded.Recorded:
        """Return what is recorded, if it is of this configuration."""
        if not self.path.exists():
            return recorded.Recorded(self.name, self.config)
        found = recorded.load(self.path)
        if found.config != self.config:
            differing = sorted(
                key
                for key in self.config.keys() | found.config.keys()
                if self.config.get(key) != found.config.get(key)
            )
            raise ValueError(
                f"{self.path} was recorded with other {', '.join(differing)}: "
                "move it away, or name another folder with --out"
            )
        return found

    def record(self, case: str, seed: int, numbers: dict) -> None:
        """Add one run to the file, which others may write to as well."""
        with self._lock():
            so_far = self.so_far()
            today = datetime.date.today().isoformat()
            so_far.add(case, seed, numbers, place=self.place, date=today)
            recorded.save(so_far, self.path)

    def _lock(self) -> FileLock:
        self.options.folder.mkdir(parents=True, exist_ok=True)
        return FileLock(self.options.folder / f"{self.name}.lock")

    def _say(self, text: str) -> None:
        if processes.rank() == 0:
            print(text, flush=True)


def one(name: str, case: str, seed: int, workshop: Workshop) -> dict:
    """Return the numbers of one run, computed on one thread."""
    torch.set_num_threads(1)
    return study(name).run(case, seed, workshop)


def _chosen(wanted: str | None, cases: tuple[str, ...]) -> list[str]:
    chosen = list(cases) if wanted is None else [case.strip() for case in wanted.split(",")]
    for case in chosen:
        if case not in cases:
            raise ValueError(f"case must be one of {list(cases)}, got {checks.shown(case)}")
    return chosen


def _short(numbers: dict) -> str:
    single = {name: x for name, x in numbers.items() if isinstance(x, int | float)}
    return ", ".join(f"{name} {x:.4g}" for name, x in single.items()) or "done"
