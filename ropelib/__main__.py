"""The command line: `python -m ropelib diagnose module:function`, `... inspect config.json`."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from operator import attrgetter

from ropelib.checks import escaped

RIGHT, WRONG, COULD_NOT_RUN = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        arguments: those of the process unless given.

    Returns:
        0 if the rotation is right or the configuration was read, 1 if the rotation is wrong, 2 if
        the command could not run; the reason then stands in one line on standard error.

    Example:
        >>> main(["diagnose", "math:cosine"])
        2
    """
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever strange code does: only a report is a verdict
        expected = (ImportError, AttributeError, OSError, TypeError, ValueError)
        kind = "" if isinstance(error, expected) else f"{type(error).__name__}: "
        said = " ".join(f"python -m ropelib {options.command}: {kind}{error}".split())
        print(escaped(said), file=sys.stderr)
        return COULD_NOT_RUN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ropelib")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    command = commands.add_parser(
        "diagnose",
        help="say what a rotation is, or which bug it has",
        description="Exit status: 0 right, 1 wrong, 2 could not be checked.",
    )
    command.add_argument(
        "function",
        metavar="module:function",
        help="rotate(x, position_ids), x of shape (batch, num_heads, seq_len, head_dim)",
    )
    command.add_argument("--head-dim", type=int, default=64, metavar="N")
    command.add_argument("--max-position", type=int, default=8192, metavar="N")
    command.add_argument("--decode", metavar="module:function", help="the same for generation")
    command.add_argument("--expected", metavar="config.json", help="what the rotation is meant for")
    command.add_argument(
        "--layer-type",
        metavar="NAME",
        help="which layers of --expected, such as sliding_attention, where they rotate differently",
    )
    command.add_argument(
        "--seq-first",
        action="store_true",
        help="x is of shape (batch, seq_len, num_heads, head_dim)",
    )
    command.set_defaults(run=_diagnose)
    command = commands.add_parser("inspect", help="say what a model's config.json asks for")
    command.add_argument("path", metavar="config.json")
    command.add_argument(
        "--layer-type",
        metavar="NAME",
        help="such as sliding_attention, where a model rotates its layers differently; all unless "
        "given",
    )
    command.set_defaults(run=_inspect)
    return parser


def _diagnose(options: argparse.Namespace) -> int:
    from ropelib.diagnosis import diagnose

    if options.layer_type and not options.expected:
        raise ValueError("--layer-type says which layers of --expected, which is missing")
    sys.path.insert(0, "")  # as `python -m` has it: modules of the current folder
    report = diagnose(
        _rotations(options.function, options.seq_first),
        head_dim=options.head_dim,
        max_position=options.max_position,
        decode=options.decode and _rotations(options.decode, options.seq_first)[-1],
        expected=options.expected and _config(options.expected, options.layer_type),
    )
    print(escaped(str(report)))
    return RIGHT if report.ok else WRONG


def _inspect(options: argparse.Namespace) -> int:
    from ropelib.config import RopeConfig, layer_types, report

    kinds = [options.layer_type] if options.layer_type else layer_types(options.path)
    reports = (report(RopeConfig.from_hf(options.path, kind)) for kind in kinds)
    print(escaped("\n\n".join(reports)))
    return RIGHT


def _config(path: str, layer_type: str | None):
    from ropelib.config import RopeConfig

    return RopeConfig.from_hf(path, layer_type)


def _rotations(name: str, takes_seq_first: bool):
    from ropelib.diagnosis.adapters import adapted, seq_first

    rotations = adapted(_load(name))
    return tuple(map(seq_first, rotations)) if takes_seq_first else rotations


def _load(name: str):
    module_name, _, function = name.partition(":")
    if not module_name or not function:
        raise ValueError(f"a function is named module:function, got {name}")
    try:
        module = importlib.import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a module does when it is imported, exits included
        raise ImportError(
            f"module {module_name} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    try:
        return attrgetter(function)(module)
    except AttributeError as error:
        raise AttributeError(f"module {module_name} has no {function}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may have code that answers for what it lacks
        raise ImportError(f"{name} cannot be loaded: {type(error).__name__}: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
