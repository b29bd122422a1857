"""What the definition of an exercise must be, told as a page gets it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ropebook.exercises import judging
from ropebook.exercises.language import free_names
from ropebook.exercises.meaning import CONSTANTS

_TAG = re.compile(r"</?(\w+)[^<>]*>|<(?=[/a-zA-Z!])")
_TAGS = ("b", "i", "code", "sub", "sup")
_READ = ("question", "text", "said", "solution", "otherwise", "items", "labels", "options", "hints")


def look_at(told: Mapping) -> None:
    """Refuse a definition that a reader would stumble over.

    Args:
        told: the definition as a page gets it.

    Raises:
        ValueError: If a text has an unknown tag or one that is not closed, there is not exactly
            one right option, the right answer is not accepted, a hint's example is right or gets
            another hint, or a rule uses an unknown name.
    """
    name = told["name"]
    for text in _texts([told[key] for key in _READ if key in told]):
        _look_at_tags(name, text)
    if "options" in told:
        _look_at_options(name, told["options"])
        return
    if told["kind"] == "task":
        free_names(told["done"])
        return
    if told["kind"] == "fill-in":
        _look_at_cases(told)
    elif not judging.decided(told, told["right"])[0]:
        raise ValueError(f"exercise {name!r}: its right answer {told['shown']} is not accepted")
    _look_at_names(told)
    for hint in told["hints"]:
        _look_at_hint(told, hint)


def _texts(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, Mapping):
        yield from _texts([part[key] for key in ("text", "said") if key in part])
    else:
        for item in part:
            yield from _texts(item)


def _look_at_tags(name: str, text: str) -> None:
    opened: list[str] = []
    for match in _TAG.finditer(text):
        tag = match[0]
        if tag.strip("</>") not in _TAGS:
            allowed = " ".join(f"<{tag}>" for tag in _TAGS)
            raise ValueError(f"exercise {name!r}: only {allowed} may stand in text, got {tag!r}")
        if not tag.startswith("</"):
            opened.append(match[1])
        elif not opened or opened.pop() != match[1]:
            raise ValueError(f"exercise {name!r}: {tag} closes nothing in {text!r}")
    if opened:
        raise ValueError(f"exercise {name!r}: <{opened[-1]}> is never closed in {text!r}")


def _look_at_options(name: str, options: Sequence[Mapping]) -> None:
    right = sum(option["right"] for option in options)
    if len(options) < 2 or right != 1:
        raise ValueError(
            f"exercise {name!r}: there must be two or more options and one right one, "
            f"got {len(options)} with {right} right"
        )
    if len({option["text"] for option in options}) < len(options):
        raise ValueError(f"exercise {name!r}: two options must not say the same")


def _look_at_cases(told: Mapping) -> None:
    if not told["gaps"]:
        raise ValueError(f"exercise {told['name']!r}: its code must have a gap, such as <<a + b>>")
    broken = [case["given"] for case in told["cases"] if case["right"] is None]
    if broken:
        raise ValueError(f"exercise {told['name']!r}: its code must give a value for {broken}")


def _look_at_names(told: Mapping) -> None:
    """Refuse a name in a rule or a text that means nothing there."""
    known = {"a", "right", *CONSTANTS, *told.get("parameters", [])}
    rules = [*told["let"], ("", told.get("accept", ""))]
    rules += [("", hint["when"]) for hint in told["hints"]]
    for text in (told["otherwise"], *(hint["said"] for hint in told["hints"])):
        rules += [("", match[1]) for match in judging.PLACE.finditer(text) if match[1]]
    for name, rule in rules:
        unknown = [used for used in free_names(rule) if used not in known] if rule else []
        if unknown:
            raise ValueError(f"exercise {told['name']!r}: {unknown[0]} means nothing in {rule!r}")
        known.add(name)


def _look_at_hint(told: Mapping, hint: Mapping) -> None:
    def verdict(exercise: Mapping) -> tuple[bool, str]:
        if exercise["kind"] == "fill-in":
            return judging.judged(exercise, hint["gaps"])
        return judging.decided(exercise, hint["example"])

    ok, message = verdict(told)
    example = hint.get("gaps", hint.get("example"))
    if ok:
        raise ValueError(
            f"exercise {told['name']!r}: a hint's example must be wrong, got {example!r}"
        )
    alone = verdict({**told, "hints": [hint], "otherwise": "\0"})[1]
    unknown = message.count("?") > judging.PLACE.sub("", hint["said"]).count("?")
    if message != alone or "\0" in message or unknown:
        raise ValueError(
            f"exercise {told['name']!r}: {example!r} must get its own hint, {hint['said']!r}, "
            f"got {message!r}"
        )
