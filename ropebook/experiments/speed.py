"""Recorded speed: what `make bench` found, every ratio within one run of it."""

import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ropebook.experiments import recorded
from ropelib import checks

COMMAND = "make bench FAST=1 OUT=book/results/speed_cpu.json"
COPY = "copy"
IDLE = 0.5  # a machine whose load is above it is busy


@dataclass(frozen=True)
class Run:
    """What ran side by side: the same rounds, one process, one allocator.

    Args:
        told: the run as it is recorded.
    """

    told: Mapping[str, Any]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One mapping per candidate: what it is, its `seconds` per round, `memory`, `error`."""
        return self.told["rows"]

    def row(self, candidate: str, layout: str | None = None) -> dict[str, Any]:
        """Return what was found of a candidate.

        Args:
            candidate: its name.
            layout: "half" or "interleaved"; None for what has none, such as the copy.

        Raises:
            ValueError: if it did not run.
        """
        for row in self.rows:
            if (row["candidate"], row.get("layout")) == (candidate, layout):
                return row
        known = [", ".join(filter(None, (r["candidate"], r.get("layout")))) for r in self.rows]
        name = ", ".join(filter(None, (candidate, layout)))
        raise ValueError(f"candidate must be one of {known}, got {checks.shown(name)}")

    def seconds(self, candidate: str, layout: str | None = None) -> list[float]:
        """Return the seconds of a candidate in each round in which it took part.

        Args:
            candidate: its name.
            layout: as in `row`.

        Raises:
            ValueError: if it did not run.
        """
        return [t for t in self.row(candidate, layout)["seconds"] if t is not None]

    def ratio(
        self,
        candidate: str,
        layout: str | None = None,
        *,
        to: str = COPY,
        to_layout: str | None = None,
    ) -> tuple[float, float, float]:
        """Return how many times as long a candidate takes as another one.

        One ratio for each round in which both took part.

        Args:
            candidate: its name.
            layout: as in `row`.
            to: the name of the other one; the copy of the same bytes unless given.
            to_layout: its layout.

        Returns:
            First quartile, median, third quartile of the ratios.

        Raises:
            ValueError: if one of them did not run.
        """
        pairs = zip(
            self.row(candidate, layout)["seconds"], self.row(to, to_layout)["seconds"], strict=False
        )
        return quartiles([a / b for a, b in pairs if a is not None and b is not None])


@dataclass(frozen=True)
class Speed:
    """A recorded `make bench`.

    Args:
        config: what was asked for, and what the numbers mean.
        places: on which machine, with which versions.
        runs: what was found.
    """

    config: Mapping[str, Any]
    places: list[dict[str, Any]]
    runs: list[Run]

    def matching(self, name: str, allocator: str | None = None, **case: Any) -> Iterator[Run]:
        """Yield the runs of a name, such as "prefill", in the order in which they were measured.

        Args:
            name: of the case.
            allocator: "stock" or "warm"; either unless given.
            **case: what else its case must say, such as `dtype="bfloat16"`, `backward=True`.
        """
        for run in self.runs:
            found = run.told["case"]
            fits = all(key in found and found[key] == value for key, value in case.items())
            if found["name"] == name and allocator in (None, run.told["allocator"]) and fits:
                yield run

    def run(self, name: str, allocator: str | None = None, **case: Any) -> Run:
        """Return the run of a case.

        Args:
            name: as in `matching`.
            allocator: as in `matching`.
            **case: as in `matching`.

        Raises:
            ValueError: if there is no such run, or more than one.
        """
        found = list(self.matching(name, allocator, **case))
        if len(found) != 1:
            asked = checks.shown({"name": name, "allocator": allocator, **case})
            raise ValueError(f"one run must match {asked}, got {len(found)}")
        return found[0]

    def curve(
        self, candidate: str, layout: str | None = None, *, allocator: str
    ) -> tuple[list[int], list[tuple[float, float, float]]]:
        """Return a candidate's ratio to the copy over the length of a sequence.

        Args:
            candidate: its name.
            layout: its layout.
            allocator: "stock" or "warm".

        Returns:
            Lengths, and for each the quartiles of `Run.ratio`.

        Raises:
            ValueError: if it is not on the curve.
        """
        runs = list(self.matching("curve", allocator))
        lengths = [run.told["case"]["shape"][2] for run in runs]
        return lengths, [run.ratio(candidate, layout) for run in runs]

    def told(self) -> str:
        """Return in one line of Markdown what was recorded, when, where, and how to do it again."""
        dates = sorted({run.told["date"] for run in self.runs})
        when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
        machines = " and ".join(
            sorted(
                {
                    f"{place['processor']}, {place['threads']} threads, torch {place['torch']}"
                    for place in self.places
                }
            )
        )
        return f"{len(self.runs)} runs, recorded {when} on {machines}; again by `{COMMAND}`"


def quartiles(values: list[float]) -> tuple[float, float, float]:
    """Return first quartile, median and third quartile, of a single value three times itself.

    Args:
        values: at least one.

    Raises:
        ValueError: if there is none.
    """
    if not values:
        raise ValueError("values must be at least one, got none")
    if len(values) == 1:
        return (values[0],) * 3
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def load(name: str | Path = "speed_cpu") -> Speed:
    """Return a recorded `make bench`.

    Args:
        name: of a file in `book/results/`; or a path.

    Raises:
        FileNotFoundError: if nothing is recorded.
        ValueError: if the file is not what this version writes, or a round's seconds are no
            positive number.
    """
    path = name if isinstance(name, Path) else recorded.RESULTS / f"{name}.json"
    if not path.exists():
        raise FileNotFoundError(f"nothing is recorded at {path}: {COMMAND} records it")
    told = recorded.load(path)
    for run in told.runs:
        for row in run["rows"]:
            for seconds in row["seconds"]:
                if seconds is not None and not (0 < seconds < math.inf):
                    raise ValueError(
                        f"seconds of {row['candidate']} in {path} must be positive, got {seconds}"
                    )
    return Speed(told.config, told.places, [Run(run) for run in told.runs])


def save(speed: Speed, path: Path) -> None:
    """Write a `make bench`, all of it or, if that fails, nothing.

    Args:
        speed: what to write.
        path: the file.

    Raises:
        OSError: if it cannot be written.
    """
    told = {"study": path.stem, "command": COMMAND, "config": speed.config}
    runs = [run.told for run in speed.runs]
    recorded.write({**told, "places": speed.places, "runs": runs}, path)
