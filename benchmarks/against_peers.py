"""Print what the diagnosis says of real code: every implementation that is found installed.

transformers' models with their own configurations, and the packages of `.venv/peers`, where
`make bench` puts them. Whatever is not installed is said to be missing.

    python benchmarks/against_peers.py                  # all
    python benchmarks/against_peers.py llama phi onnx   # those whose name has one of these words
"""

import argparse
import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from real_code import FAMILIES, Case

from ropelib.diagnosis import diagnose, from_transformers

PEERS = Path(__file__).parents[1] / ".venv" / "peers"


def transformers() -> Iterator[Case]:
    """The text of each model type by its own defaults, and each of its kinds of layers."""
    try:
        automatic = importlib.import_module("transformers.models.auto.configuration_auto")
    except ImportError:
        yield "transformers", partial(importlib.import_module, "transformers"), {}
        return
    for model_type in sorted(automatic.CONFIG_MAPPING):
        try:
            from_transformers(model_type)
        except Exception as error:  # a file may need a package that is not here
            kinds = re.search("layer_type must be one of (.*), which rotate", str(error))
        else:
            kinds = None
        for kind in kinds.group(1).split(", ") if kinds else [None]:
            made = partial(from_transformers, model_type, layer_type=kind)
            yield " ".join(filter(None, ("transformers", model_type, kind))), made, {}


def same_as(rotation: object) -> object | None:
    """Return what decides a rotation of transformers: its code, as text, and its numbers.

    Most files hold a copy of one code; a rotation of the same text and the same numbers as one that
    was measured is not measured again.
    """
    try:
        call = _found_in(_found_in(rotation[0], "rotate"), "module")
        module, apply = (_found_in(call, name) for name in ("module", "apply"))
    except (KeyError, TypeError):
        return None
    helpers = inspect.getclosurevars(apply).globals.values()
    code = [apply, type(module).forward, *filter(inspect.isfunction, helpers)]
    numbers = {name: value.tolist() for name, value in module.named_buffers()}
    settings = {k: v for k, v in vars(module).items() if isinstance(v, (int, float, str, list))}
    rope = str(getattr(module.config, "rope_parameters", ""))
    way = [_found_in(call, name) for name in ("options", "rotated", "transposed")]
    return str(
        ([inspect.getsource(each) for each in code], numbers, settings, rope, way, call.head_dim)
    )


def _found_in(function: Callable, name: str) -> object:
    return inspect.getclosurevars(function).nonlocals[name]


def verdict(made: Callable[[], object], options: dict, seen: dict) -> tuple[str, str]:
    """Return in a word and a sentence what was said; `seen` is what was said of others."""
    try:
        rotation = made()
    except ImportError as error:
        return "missing", str(error)
    except Exception as error:  # a default configuration may fit nothing
        no_rotation = re.search(
            "defines no class whose name ends in|no code of its own", str(error)
        )
        return "none" if no_rotation else "refused", f"{type(error).__name__}: {error}"
    known = same_as(rotation)
    if known is None or known not in seen:
        seen[known] = _said_of(rotation, options)
    return seen[known]


def _said_of(rotation: object, options: dict) -> tuple[str, str]:
    try:
        report = diagnose(rotation, max_position=2048, **options)
    except (TypeError, ValueError) as error:
        return "refused", f"{type(error).__name__}: {error}"
    if not report.ok:
        return "wrong", f"{report.codes[0]}: {report.findings[0].sentence}"
    said = f"{report.layout}, {report.rotary_dim} of {report.head_dim}"
    return "right", ", ".join((said, *report.codes))


def main() -> None:
    """Print one line for each implementation, and how many there were of each verdict."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="of the names to look at; all unless given")
    words = parser.parse_args().words
    warnings.simplefilter("ignore")
    sys.path.append(str(PEERS))
    counts: dict[str, int] = {}
    seen: dict[object, tuple[str, str]] = {}
    for family in (*FAMILIES, transformers):
        for name, made, options in family():
            if words and not any(word in name for word in words):
                continue
            word, sentence = verdict(made, options, seen)
            counts[word] = counts.get(word, 0) + 1
            print(f"{word:8} {name:50} {' '.join(sentence.split())[:200]}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
