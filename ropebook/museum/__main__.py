"""The command line: `python -m ropebook.museum NAME` says what `diagnose` says of an exhibit."""

import argparse
from collections.abc import Sequence

from ropebook.museum import EXHIBITS
from ropebook.museum.walls import how, slug
from ropelib.__main__ import say


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the lines of an exhibit and what `diagnose` says of them.

    Args:
        arguments: those of the process unless given.

    Returns:
        0 if they are right, notes included, and 1 if they are wrong.

    Example:
        >>> status = main(["rows-that-are-never-written", "--mended"])  # doctest: +ELLIPSIS
        def first_row_alone(x, position_ids):
        ...
        >>> status
        0
    """
    exhibits = {slug(name): exhibit for name, exhibit in EXHIBITS.items()}
    parser = argparse.ArgumentParser(
        prog="python -m ropebook.museum", description=main.__doc__.partition("\n")[0]
    )
    parser.add_argument("name", choices=exhibits, metavar="name", help=", ".join(exhibits))
    parser.add_argument("--mended", action="store_true", help="with the line that mends it")
    options = parser.parse_args(arguments)
    exhibit = exhibits[options.name]
    rotation = exhibit.mended() if options.mended else exhibit.wrong()
    report, told = exhibit.examined(rotation)
    about = [exhibit.price if options.mended else "", exhibit.differs]
    parts = [exhibit.mended_source if options.mended else exhibit.source, *filter(None, about)]
    say("\n\n".join([*parts, f"diagnose, {how(exhibit, told)}:\n{report}"]))
    return 0 if report.ok else 1


if __name__ == "__main__":
    raise SystemExit(main())
