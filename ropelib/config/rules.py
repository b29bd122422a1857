"""Interprets the rules of `keys.py`: what a value may be, and when two are the same."""

import math
import re
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from ropelib import checks
from ropelib.checks import shown
from ropelib.config.keys import MOST, RULES, SMALLEST


def checked(key: str, value: Any, rule: str) -> Any:
    """Return a value that keeps a rule of the table, a whole number as an integer.

    Args:
        key: of the value, for the message.
        value: what the file has.
        rule: a key of `RULES`.

    Returns:
        The value; 64.0 as 64 where a whole number is asked for.

    Raises:
        TypeError: if it has a wrong type.
        ValueError: if it lies outside the rule's bounds.

    Example:
        >>> checked("head_dim", 64.0, "dimensions")
        64
    """
    return _KINDS[RULES[rule]["of"]](key, value, RULES[rule])


def _text(key: str, value: Any, rule: dict) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{key} must be a string, got {shown(value)}")
    return value


def _boolean(key: str, value: Any, rule: dict) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{key} must be true or false, got {shown(value)}")
    return value


def _mapping(key: str, value: Any, rule: dict) -> Mapping:
    if not isinstance(value, Mapping):
        raise TypeError(f"{key} must be a mapping, got {shown(value)}")
    return value


def _number(key: str, value: Any, rule: dict) -> float:
    checks.number(key, value)
    if "above" in rule and value <= rule["above"]:
        raise ValueError(f"{key} must be positive, got {shown(value)}")
    if "least" in rule and value < rule["least"]:
        raise ValueError(f"{key} must be at least {rule['least']}, got {shown(value)}")
    most = rule.get("most", MOST["number"])
    if abs(value) > most:
        raise ValueError(f"{key} must be at most {most:g}, got {shown(value)}")
    if 0 < abs(value) < SMALLEST:
        raise ValueError(f"{key} must be at least {SMALLEST:g}, got {shown(value)}")
    return value


def _integer(key: str, value: Any, rule: dict) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return checks.integer(key, value, rule["least"], int(rule.get("most", MOST["number"])))


def _list(key: str, value: Any, rule: dict) -> list:
    if not isinstance(value, list):
        raise TypeError(f"{key} must be a list, got {shown(value)}")
    if len(value) > MOST["layers"]:
        raise ValueError(f"{key} must have at most {MOST['layers']} entries, got {len(value)}")
    return [checked(f"{key}[{i}]", entry, rule["each"]) for i, entry in enumerate(value)]


def _pattern(key: str, value: Any, rule: dict) -> int | str:
    if not isinstance(value, str):
        return checked(key, value, "count")
    if not re.fullmatch(rule["shape"], value):
        raise ValueError(f"{key} must be of L and G, got {shown(value)}")
    return value


_KINDS = {
    "text": _text,
    "boolean": _boolean,
    "mapping": _mapping,
    "number": _number,
    "integer": _integer,
    "list": _list,
    "pattern": _pattern,
    "any": lambda key, value, rule: value,
}


def same(first: Any, second: Any) -> bool:
    """Say whether two values of a configuration are equal; true is not 1, but 1.0 is.

    Args:
        first: a value as `plain` returns it.
        second: likewise.

    Returns:
        Whether they are equal, entry by entry.
    """
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    return isinstance(first, bool) == isinstance(second, bool) and first == second


def plain(value: Any, key: str = "config", depth: int = 0) -> Any:
    """Return a value of a configuration as JSON would hold it.

    Args:
        value: as a mapping has it, which may come from anywhere.
        key: of the value, for the message.
        depth: how many mappings and lists it stands in.

    Returns:
        The same of dict, list, str, bool, int, float and None.

    Raises:
        TypeError: if it is of another type, or a mapping has a key that is no string.
        ValueError: if it is nested too deep.
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, float):
        return float(value)
    if not isinstance(value, (list, tuple, dict)) and isinstance(value, Real):
        try:
            return int(value) if isinstance(value, Integral) else float(value)
        except OverflowError:
            return math.inf  # as JSON's numbers beyond a float are read
    if depth > MOST["nesting"]:
        raise ValueError(f"config must be nested at most {MOST['nesting']} deep, got {key}")
    if isinstance(value, (list, tuple)):
        return [plain(entry, key, depth + 1) for entry in value]
    if isinstance(value, (dict, Mapping)):
        for name in value:
            if not isinstance(name, str):
                raise TypeError(f"the keys of {key} must be strings, got {shown(name)}")
        return {name: plain(entry, name, depth + 1) for name, entry in value.items()}
    raise TypeError(f"{key} must be a value that JSON has, got {shown(value)}")
