"""What `import ropelib` costs beyond torch: fresh processes, in random order."""

import os
import random
import subprocess
import sys
import time
from importlib import metadata

STATEMENTS = {"copy": "import torch", "ropelib": "import ropelib", "Python alone": "pass"}
ROUNDS = 7


def measured(rounds: int = ROUNDS) -> dict:
    """Time processes that import one thing and end.

    Args:
        rounds: how often each.

    Returns:
        A run as it is recorded, in which torch alone is what everything is measured by.
    """
    found = {name: [] for name in STATEMENTS}
    # The first round compiles what was not compiled yet, as installing does; the others find it.
    keeping = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for i in range(rounds + 1):
        for name in random.sample(list(STATEMENTS), len(STATEMENTS)):
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", STATEMENTS[name]], check=True, env=keeping)
            if i:
                found[name].append(time.perf_counter() - begin)
    of = {"copy": f"torch {metadata.version('torch')}", "ropelib": "with its torch"}
    rows = [
        {"candidate": name, "of": of.get(name, ""), "seconds": seconds}
        for name, seconds in found.items()
    ]
    return {"kind": "imports", "case": {"name": "imports"}, "rows": rows, "untimed": {}}
