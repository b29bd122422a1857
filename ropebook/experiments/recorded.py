"""Recorded runs: one JSON file per study; every run says its seed, machine and command."""

import json
import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy
import torch
from torch import Tensor

from ropebook.experiments import files
from ropebook.experiments.corpus import corpus
from ropelib import __version__, checks

FORMAT = 1
RESULTS = Path(__file__).parents[2] / "book" / "results"
KEYS = {"format", "study", "command", "config", "places", "runs"}


@dataclass
class Recorded:
    """The runs of one study.

    Args:
        study: its name.
        config: all that decides its numbers, but for the seed.
        places: where runs were made: machine, versions, text.
        runs: one mapping per case and seed: `case`, `seed`, `numbers`, `date`, and `place`, which
            counts in `places`.
    """

    study: str
    config: dict[str, Any]
    places: list[dict[str, Any]] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)

    @property
    def cases(self) -> list[str]:
        """The cases that have a run, in the order in which they were first recorded."""
        return list(dict.fromkeys(run["case"] for run in self.runs))

    def seeds(self, case: str) -> list[int]:
        """Return the seeds of a case, in order.

        Raises:
            ValueError: if it has no run.
        """
        return [run["seed"] for run in self._of(case)]

    def has(self, case: str, seed: int) -> bool:
        """Return whether a run is recorded."""
        return any(run["case"] == case and run["seed"] == seed for run in self.runs)

    def numbers(self, case: str, name: str) -> Tensor:
        """Return what was measured, one row per seed, nan where it could not be.

        Args:
            case: one of `cases`.
            name: of a number, or of a list of numbers.

        Returns:
            `(num_seeds, ...)`, float64.

        Raises:
            ValueError: if the case has no run, or its runs no such number.
        """
        runs = self._of(case)
        if any(name not in run["numbers"] for run in runs):
            known = sorted(set.intersection(*(set(run["numbers"]) for run in runs)))
            raise ValueError(f"name must be one of {known}, got {checks.shown(name)}")
        return torch.tensor([_unfolded(run["numbers"][name]) for run in runs], dtype=torch.float64)

    @property
    def command(self) -> str:
        """The command that makes all of these runs again."""
        seeds = sorted({run["seed"] for run in self.runs})
        spans = f" --seeds {_spans(seeds)}" if seeds else ""
        return f"python -m ropebook.experiments run {self.study}{spans}"

    def told(self) -> str:
        """Return in one line of Markdown what was recorded, when, where, and how to do it again."""
        seeds = {case: len(self.seeds(case)) for case in self.cases}
        dates = sorted({run["date"] for run in self.runs})
        fewest, most = min(seeds.values()), max(seeds.values())
        count = f"{most}" if fewest == most else f"{fewest} to {most}"
        machines = " and ".join(
            sorted({f"{place['processor']}, torch {place['torch']}" for place in self.places})
        )
        when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
        return (
            f"{len(seeds)} cases with {count} seeds each, recorded {when} on {machines}; "
            f"again by `{self.command}`"
        )

    def add(self, case: str, seed: int, numbers: Mapping[str, Any], **told: Any) -> None:
        """Add a run, in place of one of the same case and seed.

        Args:
            case: its case.
            seed: its seed.
            numbers: what was measured: numbers, and lists of them.
            **told: `place` and `date`.
        """
        place = told.pop("place")
        if place not in self.places:
            self.places.append(place)
        self.runs = [r for r in self.runs if (r["case"], r["seed"]) != (case, seed)]
        folded = {name: _folded(value) for name, value in numbers.items()}
        index = self.places.index(place)
        self.runs.append({"case": case, "seed": seed, "place": index, **told, "numbers": folded})
        self.runs.sort(key=lambda run: run["seed"])

    def _of(self, case: str) -> list[dict[str, Any]]:
        runs = [run for run in self.runs if run["case"] == case]
        if not runs:
            raise ValueError(f"case must be one of {self.cases}, got {checks.shown(case)}")
        return sorted(runs, key=lambda run: run["seed"])


def load(study: str | Path) -> Recorded:
    """Return the recorded runs of a study.

    Args:
        study: its name, of a file in `book/results/`; or a path.

    Raises:
        FileNotFoundError: if nothing is recorded.
        ValueError: if the file is not what this version writes.
    """
    path = study if isinstance(study, Path) else RESULTS / f"{study}.json"
    if not path.exists():
        raise FileNotFoundError(
            f"nothing is recorded at {path}: "
            f"python -m ropebook.experiments run {path.stem} records it"
        )
    try:
        told = json.loads(path.read_text("utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} must be JSON: {error}") from error
    found = told.get("format") if isinstance(told, dict) else None
    if found != FORMAT or set(told) != KEYS:
        raise ValueError(
            f"{path} must be results of format {FORMAT}, got {checks.shown(found)}: move it away "
            "and record again, or use the version of this library that wrote it"
        )
    return Recorded(told["study"], told["config"], told["places"], told["runs"])


def plain(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration as it is read again from JSON: lists for tuples, text for keys."""
    return json.loads(json.dumps(config))


def save(recorded: Recorded, path: Path) -> None:
    """Write the runs, all of them or, if that fails, none.

    Args:
        recorded: the runs.
        path: the file, which stays as it was until the new one is whole.

    Raises:
        OSError: if it cannot be written.
    """
    write({"command": recorded.command, **vars(recorded)}, path)


def write(told: Mapping[str, Any], path: Path) -> None:
    """Write a file of results, a line for each run: the whole of it or, if that fails, nothing.

    Args:
        told: what it says, by all of `KEYS` but the format.
        path: the file, which stays as it was until the new one is whole.

    Raises:
        OSError: if it cannot be written.
        ValueError: if a key is missing or another is there, or a number is not finite.
    """
    told = {"format": FORMAT, **told}
    if set(told) != KEYS:
        raise ValueError(f"results must have {sorted(KEYS)}, got {sorted(told)}")
    runs = ",\n".join("  " + json.dumps(run, allow_nan=False) for run in told.pop("runs"))
    rest = json.dumps(told, indent=1, allow_nan=False).removesuffix("\n}")
    text = f'{rest},\n "runs": [\n{runs}\n ]\n}}\n'
    files.replace(path, lambda beside: beside.write_text(text, "utf-8"))


def here(device: str = "cpu") -> dict[str, Any]:
    """Return what a run's numbers may depend on, beside its configuration.

    Args:
        device: on which it computes.
    """
    text = f"{corpus().num_files} files, sha256 {corpus().sha256[:16]}"
    return {**machine(device), "text": text}


def machine(device: str = "cpu") -> dict[str, Any]:
    """Return which machine computes, and with which versions.

    Args:
        device: on which it computes.
    """
    if device.startswith("cuda"):
        processor = torch.cuda.get_device_name(device)
    else:
        processor = f"{_processor()}, {torch.backends.cpu.get_cpu_capability()}"
    return {
        "processor": processor,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": numpy.__version__,
        "ropelib": __version__,
    }


def _processor() -> str:
    """Return the processor's name; the standard library knows it on few systems only."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _folded(value: Any) -> Any:
    """Return numbers for JSON: seven digits, None for what is no number."""
    if isinstance(value, Tensor):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_folded(entry) for entry in value]
    if isinstance(value, float):
        return float(f"{value:.7g}") if math.isfinite(value) else None
    return value


def _unfolded(value: Any) -> Any:
    if isinstance(value, list):
        return [_unfolded(entry) for entry in value]
    return math.nan if value is None else value


def _spans(seeds: list[int]) -> str:
    """Return seeds in short: 0-4, or 0,2,5."""
    if len(seeds) > 1 and seeds == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]}-{seeds[-1]}"
    return ",".join(map(str, seeds))
