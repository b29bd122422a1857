"""`python -m ropebook.census --write`: take the census of the transformers that is installed."""

import argparse
import sys

from ropebook.census import survey


def main(arguments: list[str] | None = None) -> int:
    """Take the census, and write it or say whether it is the recorded one.

    Args:
        arguments: of the command line.

    Returns:
        0, or 1 where the recorded census is another.
    """
    parser = argparse.ArgumentParser(prog="python -m ropebook.census", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write book/results/census.json")
    if parser.parse_args(arguments).write:
        survey.write()
        return 0
    same = survey.survey() == survey.recorded()
    print("the recorded census holds" if same else "the census is another: --write records it")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
