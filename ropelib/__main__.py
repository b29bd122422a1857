"""The command line: `python -m ropelib diagnose module:function`, `inspect`, `conformance`."""

import argparse
import contextlib
import importlib
import importlib.util
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NoReturn, TextIO

from ropelib.checks import LAYOUTS, escaped, positive

RIGHT, WRONG, COULD_NOT_RUN = 0, 1, 2
STATUS = {RIGHT: "right", WRONG: "wrong", COULD_NOT_RUN: "could-not-run"}
SCHEMA = 1  # of what --json prints: raised when a key goes or changes its meaning


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        arguments: those of the process unless given.

    Returns:
        0 if the rotation is right or the configuration was read, 1 if the rotation is wrong, 2 if
        the command could not run; the reason then stands on standard error.

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
        return _could_not_run(options, f"{kind}{error}")


def alone() -> int:
    """Run the command of this process; strange code in another one, which it may end.

    Returns:
        As `main`.
    """
    from ropelib.diagnosis import apart

    options = _parser().parse_args()
    _show_as_notes(warnings.showwarning)
    if options.command != "diagnose":
        return main()
    if apart.begin(keep_output=options.json):
        return apart.hand_in(main())
    status, how = apart.again()
    return _could_not_run(options, how) if status is None else status


def _show_as_notes(others: Callable) -> None:
    """Say what this package warns of without the line of code; `others` shows what others do."""
    home = Path(__file__).parent

    def show(message: Warning | str, category: type, filename: str, *where: object) -> None:
        if Path(filename).is_relative_to(home):
            say(f"note: {escaped(str(message))}", sys.stderr)
        else:
            others(message, category, filename, *where)

    warnings.showwarning = show


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ropelib")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    _add_diagnose(commands)
    _add_inspect(commands)
    _add_conformance(commands)
    return parser


def _could_not_run(options: argparse.Namespace, reason: str, report: object = None) -> int:
    """Say why, and return the status."""
    reason = escaped(" ".join(reason.split()))
    if getattr(options, "json", False):
        _print_json(COULD_NOT_RUN, options, reason, report)
    elif report is not None:
        say(escaped(str(report)), sys.stderr)
    elif options.command == "diagnose":
        asked = escaped(options.function)
        said = f"This rotation could not be checked.\n  rotation  {asked}\n  why       {reason}"
        say(said, sys.stderr)
    else:
        say(f"python -m ropelib {options.command}: {reason}", sys.stderr)
    return COULD_NOT_RUN


def say(text: str, file: TextIO | None = None) -> None:
    """Print; who reads may close the pipe before the end, as `head` does.

    Args:
        text: what is printed, with the end of a line after it.
        file: where to; standard output unless given.

    Example:
        >>> say("right")
        right
    """
    file = file or sys.stdout
    try:
        print(text, file=file, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())  # for what is left in its buffer


def _add_diagnose(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser(
        "diagnose",
        help="say what a rotation is, or which bug it has",
        description="Say what a rotation is, or which bug it has.",
        epilog="Exit status: 0 right, notes included; 1 wrong; 2 could not be checked: it cannot "
        "be found or imported, it raises on an ordinary call, takes longer than --timeout, "
        "returns what cannot be measured, or ends the process. The reason stands on standard "
        "error, with --json in what is printed.",
    )
    command.add_argument(
        "function",
        metavar="module:function",
        help="or path/to/file.py:function: rotate(x, position_ids), x of shape (batch, num_heads, "
        "seq_len, head_dim), or any other form that ropelib.diagnose takes",
    )
    command.add_argument("--head-dim", type=int, metavar="N", help="its own, or 64, unless given")
    command.add_argument(
        "--axes", type=int, metavar="N", help="how many axes a position has, where it has several"
    )
    command.add_argument("--max-position", type=int, default=8192, metavar="N")
    command.add_argument("--decode", metavar="module:function", help="the same for generation")
    command.add_argument(
        "--expected",
        metavar="WHAT",
        help="what the rotation is meant for: a config.json, a model of the gallery such as "
        "llama-3.1-8b, or another implementation as module:function",
    )
    command.add_argument(
        "--layer-type",
        metavar="NAME",
        help="which layers of --expected, such as sliding_attention, where they rotate differently",
    )
    command.add_argument(
        "--layout",
        choices=LAYOUTS,
        help="pairs that the weights want, where they are not those of --expected",
    )
    command.add_argument(
        "--seq-first",
        action="store_true",
        help="x is of shape (batch, seq_len, num_heads, head_dim)",
    )
    command.add_argument("--device", default="cpu", metavar="NAME", help="such as cuda")
    command.add_argument(
        "--timeout",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="for one call, or to load it; 120",
    )
    command.add_argument("--json", action="store_true", help="print one JSON object and no words")
    command.set_defaults(run=_diagnose, waited_for="rotate")


def _diagnose(options: argparse.Namespace) -> int:
    from ropelib.diagnosis import diagnose
    from ropelib.diagnosis.guards import UNMEASURED, giving_up

    positive("timeout", options.timeout)
    if options.layer_type and not options.expected:
        raise ValueError("--layer-type says which layers of --expected, which is missing")
    sys.path.insert(0, "")  # as `python -m` has it: modules of the current folder
    # What strange code prints must not stand before the object.
    aside = contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext()
    with aside, giving_up(lambda: _give_up(options)):
        report = diagnose(
            _rotations(options.function, options),
            head_dim=options.head_dim,
            axes=options.axes,
            max_position=options.max_position,
            layout=options.layout,
            decode=options.decode and _step(options.decode, options),
            expected=options.expected and _expected(options),
            device=options.device,
            timeout=options.timeout,
        )
    if any(code in UNMEASURED for code in report.codes):
        return _could_not_run(options, report.findings[0].sentence, report)
    status = RIGHT if report.ok else WRONG
    if options.json:
        _print_json(status, options, None, report)
    else:
        say(escaped(str(report)))
    return status


def _print_json(status: int, options: argparse.Namespace, reason: str | None, report) -> None:
    said = {
        "schema": SCHEMA,
        "status": STATUS[status],
        "rotation": options.function,
        "error": reason,
        "report": report and report.to_dict(),
    }
    say(json.dumps(said, indent=1))


def _give_up(options: argparse.Namespace) -> NoReturn:
    """End the program from outside of the rotation: it does not come back to Python."""
    from ropelib.diagnosis.apart import hand_in

    sys.stdout = sys.__stdout__
    reason = f"{options.waited_for} did not come back for longer than {options.timeout:g} s"
    _could_not_run(options, reason)
    os._exit(hand_in(COULD_NOT_RUN))


def _add_inspect(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("inspect", help="say what a model's config.json asks for")
    command.add_argument("path", metavar="config.json")
    command.add_argument(
        "--layer-type",
        metavar="NAME",
        help="such as sliding_attention, where a model rotates its layers differently; all unless "
        "given",
    )
    command.set_defaults(run=_inspect)


def _inspect(options: argparse.Namespace) -> int:
    from ropelib.config import RopeConfig, layer_types, report

    kinds = [options.layer_type] if options.layer_type else layer_types(options.path)
    reports = (report(RopeConfig.as_read(options.path, kind)) for kind in kinds)
    say(escaped("\n\n".join(reports)))
    return RIGHT


def _add_conformance(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("conformance", help="write test vectors for any language")
    command.add_argument("--out", metavar="DIR", required=True, help="made if it is not there")
    command.set_defaults(run=_conformance)


def _conformance(options: argparse.Namespace) -> int:
    from ropelib.conformance import write

    vectors = write(options.out)
    say(f"{len(vectors['cases'])} cases, sha256 of vectors.txt {vectors['sha256']}")
    return RIGHT


def _expected(options: argparse.Namespace) -> object:
    from ropelib.config import RopeConfig
    from ropelib.config.gallery import named

    name = options.expected
    if not os.path.exists(name) and ":" in name:
        return _limited(options, f"loading {name}", _load, name)
    if options.layer_type is None:
        return name  # a file, one of the gallery, or what is said of one that is not in it
    if not os.path.exists(name):
        name = named(name) or name
    return RopeConfig.as_read(name, options.layer_type)


def _rotations(name: str, options: argparse.Namespace) -> tuple:
    return _limited(options, f"loading {name}", _loaded, name, options)


def _step(name: str, options: argparse.Namespace) -> Any:
    from ropelib.diagnosis.forms import as_a_step

    return _limited(options, f"loading {name}", _loaded, name, options, as_a_step)[-1]


def _loaded(name: str, options: argparse.Namespace, form: Callable = lambda found: found) -> tuple:
    from ropelib.diagnosis.forms import adapted

    found = form(_load(name))
    return adapted(found, options.head_dim, options.max_position, options.seq_first)


def _limited(options: argparse.Namespace, what: str, call: Callable[..., Any], *args) -> Any:
    """Return what a call of strange code returns, which may take as long as one of the rotation."""
    from ropelib.diagnosis.guards import Overdue, within

    options.waited_for = what
    try:
        return within(options.timeout, call, *args)
    except Overdue as error:
        raise TimeoutError(f"{what} took longer than {options.timeout:g} s") from error
    finally:
        options.waited_for = "rotate"


def _load(name: str):
    from ropelib.diagnosis.guards import Overdue

    module_name, _, function = name.rpartition(":")
    if not module_name or not function:
        raise ValueError(
            f"a function is named module:function, got {name}; or path/to/file.py:function"
        )
    try:
        module = _imported(module_name)
    except (KeyboardInterrupt, Overdue):
        raise
    except BaseException as error:  # whatever a module does when it is imported, exits included
        raise ImportError(
            f"module {module_name} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    try:
        return attrgetter(function)(module)
    except AttributeError as error:
        raise AttributeError(f"module {module_name} has no {function}") from error
    except (KeyboardInterrupt, Overdue):
        raise
    except BaseException as error:  # a module may have code that answers for what it lacks
        raise ImportError(f"{name} cannot be loaded: {type(error).__name__}: {error}") from error


def _imported(name: str):
    """Import a module by its name, or by its file; what stands beside a file is found from it."""
    if not name.endswith(".py"):
        return importlib.import_module(name)
    path = Path(name).resolve()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(alone())
