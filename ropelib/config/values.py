"""What a configuration says, each value by its rule, and what is worth a warning."""

import re
from typing import Any, NamedTuple

from ropelib.checks import shown
from ropelib.config.keys import (
    ABOUT_ROTATION,
    DEFAULTS,
    KEYS,
    MODEL_TYPES,
    SPELLINGS,
    TEXT_PARTS,
)
from ropelib.config.rules import checked, plain, same


class Note(NamedTuple):
    """What a reader of the result should know: `code` is one of a few, `key` what it is about."""

    code: str
    key: str
    sentence: str


class Values:
    """The text part of a configuration, checked key by key.

    Args:
        config: as `files.loaded` returns it.

    Raises:
        TypeError: if a value has a wrong type.
        ValueError: if a value breaks its rule, or what stands around the text part disagrees.

    Attributes:
        text: every key of `KEYS`, and any other that is about rotation.
        model_type: as the text has it.
        is_known: whether the layout of this model type is known.
        notes: what is worth a warning or was assumed.
    """

    def __init__(self, config: dict[str, Any]):
        self.text = _text_part(config)
        self.notes: list[Note] = []
        for key, rule in KEYS.items():
            if self.text.get(key) is not None:
                self.text[key] = checked(key, self.text[key], rule)
        self.model_type = self.text.get("model_type")
        self.is_known = self.belongs("interleaved") or self.belongs("half")

    def belongs(self, group: str) -> bool:
        """Say whether the model type is one of a group of `MODEL_TYPES`."""
        return self.model_type in MODEL_TYPES[group]

    def spelled(self, name: str) -> Any:
        """Return a size under any of its names; None where it is missing."""
        return agreed(name, {spelling: self.text.get(spelling) for spelling in SPELLINGS[name]})

    def first(self, *names: str) -> Any:
        """Return the first value that is there, or None."""
        return next((self.text[name] for name in names if self.text.get(name) is not None), None)

    def or_default(self, key: str) -> Any:
        """Return a value, or the table's default for it."""
        value = self.text.get(key)
        return DEFAULTS[key] if value is None else value

    def note(self, code: str, key: str, sentence: str) -> None:
        """Keep a warning."""
        self.notes.append(Note(code, key, sentence))

    def assume(self, key: str, value: Any, why: str | None = None) -> None:
        """Keep what was assumed, and why."""
        why = why or f"transformers' default for model_type {self.model_type!r}"
        self.note("assumed", key, f"{key} {value}: {why}")


def agreed(name: str, found: dict[str, Any]) -> Any:
    """Return the one number that all who say any agree on.

    Args:
        name: of the number, for the message.
        found: numbers by who says them; None is no number.

    Returns:
        The number, or None where nobody says any.

    Raises:
        ValueError: if two differ.
    """
    found = {said: value for said, value in found.items() if value is not None}
    if len(set(found.values())) > 1:
        which = ", ".join(f"{shown(value)} by {said}" for said, value in found.items())
        raise ValueError(f"{name} must be one number, got {which}")
    return next(iter(found.values()), None)


def listed(names: Any) -> str:
    """Return names for a message, the first twenty of them."""
    names = [shown(name) for name in names]
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")


def _text_part(config: dict[str, Any]) -> dict[str, Any]:
    """Return what the part about text says of rotation; what stands around it must agree."""
    text = config
    for name in TEXT_PARTS:
        if config.get(name) is None:
            continue
        text = checked(name, config[name], "mapping")
        for key in _REPEATED:
            outer, inner = plain(config.get(key), key), plain(text.get(key), key)
            if outer is not None and not same(outer, inner):
                raise ValueError(f"{key} is {shown(outer)}, but {shown(inner)} within {name}")
        text = {"model_type": config.get("model_type"), **text}
        break
    return {
        key: plain(value, key)
        for key, value in text.items()
        if isinstance(key, str) and (key in KEYS or _is_about_rotation(key))
    }


def _is_about_rotation(key: str) -> bool:
    return re.search(ABOUT_ROTATION, key, re.IGNORECASE | re.ASCII) is not None


_REPEATED = [key for key in KEYS if _is_about_rotation(key)]
