"""One process, one allocator: measures cases, and prints what it found as lines of JSON."""

import argparse
import json
import sys
from dataclasses import asdict

import psutil
import torch

from speed import ours, peers, tables
from speed.candidates import Candidate, Inputs, Untimed
from speed.cases import ALL, FAST, Case, fitted
from speed.oracle import Oracle
from speed.timing import peak_bytes, seconds

# On the curve: nothing compiles for every length, and a loop is a loop.
ON_CURVE = {"ropelib", "ropelib out=", "ropelib native out=", "transformers", "complex product"}


def listed(inputs: Inputs, *, compiled: bool = True) -> list[Candidate | Untimed]:
    """Return all candidates for a case, this library's first.

    Args:
        inputs: of the case.
        compiled: whether to compile.
    """
    found = [
        *ours.candidates(inputs, compiled=compiled),
        *peers.candidates(inputs, compiled=compiled),
    ]
    if inputs.case.name == "curve":
        found = [c for c in found if isinstance(c, Candidate) and c.name in ON_CURVE]
    return found


def measured(case: Case, budget: float, *, compiled: bool = True) -> dict:
    """Measure every candidate of a case that is right.

    Args:
        case: what to measure.
        budget: seconds for the timing.
        compiled: whether to compile.

    Returns:
        A run as it is recorded: the case, one row per candidate, and who has none and why.
    """
    torch.compiler.reset()
    inputs = Inputs(case)
    oracle = Oracle(inputs)
    rows, untimed, before = [], {}, {}
    calls = {"copy": inputs.copy(), "clone": inputs.clone()}
    for candidate in listed(inputs, compiled=compiled and case.name != "curve"):
        if isinstance(candidate, Untimed):
            untimed[candidate.name] = candidate.reason
            continue
        key = f"{candidate.name}, {candidate.layout}"
        candidate.before()
        with torch.set_grad_enabled(case.backward):
            call = inputs.call(candidate)
            error = oracle.error(candidate, call())
        within = candidate.within(case)
        if not error <= within:
            untimed[key] = f"WRONG: it is off by {error:.4g} ulp, within {within:.4g} is right"
            continue
        calls[key], before[key] = call, candidate.before
        rows.append(
            {
                "candidate": candidate.name,
                "layout": candidate.layout,
                "of": candidate.of,
                "writes": candidate.writes,
                "error": error,
                "within": within,
            }
        )
        with torch.set_grad_enabled(case.backward):
            peak = peak_bytes(call) / case.bytes if candidate.seen else None
        rows[-1]["memory"] = peak
    units = {"copy": "buffer", "clone": "new"}
    rows = [{"candidate": name, "writes": writes} for name, writes in units.items()] + rows
    with torch.set_grad_enabled(case.backward):
        found = seconds(calls, budget, before)
    for row, times in zip(rows, found.values(), strict=True):
        row["seconds"] = times
    return {"kind": "rotation", "case": asdict(case), "rows": rows, "untimed": untimed}


def main() -> None:
    """Measure the cases of one name and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=[*ALL, "tables"])
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--budget", type=float, default=6.0, help="seconds for each table")
    arguments = parser.parse_args()
    # What is printed by the code that is measured must not come among the results.
    results, sys.stdout = sys.stdout, sys.stderr
    if arguments.name == "tables":
        print(json.dumps(tables.measured(arguments.budget)), file=results)
        return
    for case in (FAST if arguments.fast else ALL)[arguments.name]:
        free = psutil.virtual_memory().available // 2
        run = measured(fitted(case, free), arguments.budget)
        print(json.dumps(run), file=results, flush=True)


if __name__ == "__main__":
    main()
