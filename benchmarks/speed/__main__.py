"""`python benchmarks/speed`, whose words stand in `command.py`."""

import sys
from pathlib import Path

# Of a folder that is run, Python finds what is inside and not the folder itself.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).parents[1]))

from speed.command import main

if __name__ == "__main__":
    sys.exit(main())
