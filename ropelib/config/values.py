"""What a configuration says, each value by its rule, and what is worth a warning."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ropelib.checks import printable, shown
from ropelib.config.keys import (
    ABOUT_ROTATION,
    DEFAULTS,
    KEYS,
    MODEL_TYPES,
    PARTS_OF_THE_TEXT,
    SPELLINGS,
    TEXT_PARTS,
)
from ropelib.config.rotating import check_keys, check_model_type, refuse_silence, rotating_parts
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
        whole, self.text = _text_part(config)
        self.notes: list[Note] = []
        self.model_type = _model_type(self.text)
        check_model_type(self.model_type)
        bases = self.text.get("rope_theta")
        if isinstance(bases, list) and bases and all(type(base) in (int, float) for base in bases):
            raise ValueError(
                "rope_theta must be one number, got a list of one for each layer: give the "
                "configuration as transformers writes it, with rope_parameters for each kind"
            )
        for key, rule in KEYS.items():
            if self.text.get(key) is not None:
                self.text[key] = checked(key, self.text[key], rule)
        check_keys(self.text)
        self.is_known = self.belongs("interleaved") or self.belongs("half")
        if not self.is_known and not any(
            _is_about_rotation(key) and value not in (None, False)
            for key, value in self.text.items()
        ):
            refuse_silence(self.model_type, rotating_parts(whole, _is_about_rotation))

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


def _model_type(text: dict[str, Any]) -> str | None:
    """Return the type of the text part, by which it is read."""
    if text.get("model_type") is None:
        return None
    model_type = checked("model_type", text["model_type"], "text")
    text["model_type"] = MODEL_TYPES["text_types"].get(model_type, model_type)
    return text["model_type"]


def _text_part(config: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the part about text and what it says of rotation; what is around it must agree."""
    text = config
    if isinstance(config.get("model_type"), str):
        if config["model_type"] in MODEL_TYPES["unsupported"]:
            check_model_type(config["model_type"])
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
    return text, {
        key: plain(value, key)
        for key, value in _with_parts(text).items()
        if isinstance(key, str) and (key in KEYS or _is_about_rotation(key))
    }


def _with_parts(text: dict[str, Any]) -> dict[str, Any]:
    """Return the text part and what its attention's own part says of rotation, as DBRX's does."""
    text = dict(text)
    for name in PARTS_OF_THE_TEXT:
        part = text.get(name)
        for key, value in part.items() if isinstance(part, Mapping) else ():
            if not isinstance(key, str) or value is None or not _is_about_rotation(key):
                continue
            if text.get(key) is not None and not same(plain(text[key], key), plain(value, key)):
                raise ValueError(
                    f"{printable(key)} is {shown(text[key])}, but {shown(value)} within {name}"
                )
            text[key] = value
    return text


def _is_about_rotation(key: str) -> bool:
    return re.search(ABOUT_ROTATION, key, re.IGNORECASE | re.ASCII) is not None


_REPEATED = [key for key in KEYS if _is_about_rotation(key)]
