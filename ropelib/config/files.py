"""Gets a configuration from a file, a text, a mapping or an object, and drops nothing of it."""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ropelib.checks import printable, shown
from ropelib.config.keys import MOST

_MOST_SHOWN_OF_A_PATH = 200


def parsed(text: str) -> dict[str, Any]:
    """Return the JSON object that a text holds.

    A byte order mark is no part of it. As in the page, no key may stand twice, and what Python
    alone reads, such as NaN, is refused.

    Args:
        text: of a config.json.

    Returns:
        The object.

    Raises:
        ValueError: if the text is too long, is not JSON, is nested too deep or repeats a key.
        TypeError: if it is JSON, but not an object.

    Example:
        >>> parsed('{"head_dim": 64}')
        {'head_dim': 64}
    """
    if len(text) > MOST["characters"]:
        raise ValueError(
            f"config must have at most {MOST['characters']} characters, got {len(text)}"
        )
    try:
        content = _DECODER.decode(text.removeprefix("\ufeff"))
        _check_depth(content)
    except RecursionError as error:
        raise ValueError(f"config must be nested at most {MOST['nesting']} deep") from error
    except ValueError as error:
        raise ValueError(f"config must be JSON: {error}") from error
    if not isinstance(content, dict):
        raise TypeError(f"config must be a JSON object, got {shown(content)}")
    return content


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key {shown(name)} stands twice")
        found[name] = value
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_without_repetition,
    parse_constant=_refuse_constant,
    parse_int=lambda digits: int(digits) if len(digits) < 400 else float(digits),
)


def _check_depth(content: Any) -> None:
    level, depth = [content], 0
    while level := [part for part in level if isinstance(part, (dict, list))]:
        depth += 1
        if depth > MOST["nesting"]:
            raise ValueError(f"it must be nested at most {MOST['nesting']} deep")
        level = [
            inner for part in level for inner in (part.values() if isinstance(part, dict) else part)
        ]


def loaded(config: Any) -> dict[str, Any]:
    """Return a configuration as a dict, whichever way it is given.

    Args:
        config: a mapping, the path of a config.json, or an object with `to_dict()`, as the
            configurations of transformers are.

    Returns:
        A copy of what it holds.

    Raises:
        TypeError: if it is none of these, or does not hold an object.
        ValueError: if the file cannot be read, is no ordinary file, is too large or is not JSON, or
            `to_dict()` raises.
    """
    if isinstance(config, Mapping):
        return dict(config)
    if isinstance(config, (str, os.PathLike)):
        path = Path(config)
        said = str(path).encode("unicode_escape").decode()[-_MOST_SHOWN_OF_A_PATH:]
        try:
            text = _content(path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise ValueError(f"config must be a file that can be read: {said}: {reason}") from error
        try:
            return parsed(text)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{error}: {said}") from error
    to_dict = None if isinstance(config, type) else getattr(config, "to_dict", None)
    try:
        values = to_dict() if callable(to_dict) else None
    except Exception as error:  # whichever kind: it is somebody else's code
        raise ValueError(
            f"config must have a to_dict() that returns a mapping, got {type(error).__name__} from "
            f"that of {type(config).__name__}: {printable(str(error))}"
        ) from error
    if isinstance(values, Mapping):
        return dict(values)
    raise TypeError(
        "config must be a mapping or the path of a config.json, or have to_dict() as transformers' "
        f"configurations do, got {type(config).__name__}"
    )


def _content(path: Path) -> str:
    """Return the text of an ordinary file that is not too large; look before opening."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(0, "it is no ordinary file")
    with path.open("rb") as file:
        # Some files of the system say 0 and have more.
        content = file.read(MOST["characters"] + 1) if status.st_size <= MOST["characters"] else b""
    if status.st_size > MOST["characters"] or len(content) > MOST["characters"]:
        raise OSError(0, f"it has more than {MOST['characters']} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise OSError(0, f"it is not UTF-8 at byte {error.start}") from error
