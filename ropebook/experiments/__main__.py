"""Record a study: `python -m ropebook.experiments run language --seeds 0-4`."""

import argparse
import sys
from pathlib import Path

from ropebook.experiments import processes, recorded
from ropebook.experiments.runner import Runner, names, study

RUNS = Path(".runs")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, or 2 where nothing could be run."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "list":
            for name in names():
                print(f"{name}: {', '.join(study(name).CASES)}")
            return 0
        with processes.together(options.device) as options.device:
            Runner(options).run()
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        return 130
    return 0


def _seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of `0-4` or `0,2,5`."""
    seeds = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        last = last if dash else first
        if not (first.isdigit() and last.isdigit() and int(first) <= int(last)):
            raise argparse.ArgumentTypeError(f"seeds must be like 0-4 or 0,2,5, got {text!r}")
        seeds += range(int(first), int(last) + 1)
    return tuple(seeds)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a positive integer, got {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ropebook.experiments", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name all studies and their cases")
    run = commands.add_parser("run", help="run what is not recorded yet, and record it")
    run.add_argument("study")
    run.add_argument("--seeds", type=_seeds, default=tuple(range(5)), help="0-4 or 0,2,5")
    run.add_argument("--cases", help="some of them, with commas between; all unless given")
    run.add_argument("--jobs", type=_positive, default=1, help="runs at the same time")
    run.add_argument("--device", default="cpu", help="cpu or cuda")
    run.add_argument("--out", type=Path, default=recorded.RESULTS, help="folder of the results")
    run.add_argument("--folder", type=Path, default=RUNS, help="folder of models, whole or half")
    run.add_argument("--steps", type=_positive, help="training steps, to try a study quickly")
    return parser


if __name__ == "__main__":
    sys.exit(main())
