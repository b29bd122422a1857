"""The census at a glance: bars of how many model types rotate in which way, each part a link."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

_STILL = re.compile(
    "does not (seem to )?rotate|none of its layers rotates|its attention has no position encoding"
)


def _share(kinds: list[dict[str, Any]]) -> str:
    whole = all(one["head_dim"] == one["rotary_dim"] - 2 * one["still_pairs"] for one in kinds)
    return "whole-head" if whole else "part-of-the-head"


def _base(kinds: list[dict[str, Any]]) -> str:
    bases = {one["base"] for one in kinds if one["layers"] != 0} or {kinds[0]["base"]}
    if bases == {PLAIN_BASE}:
        return "plain-base"
    return "two-bases" if PLAIN_BASE in bases else "another-base"


def _scaling(kinds: list[dict[str, Any]]) -> str:
    # "proportional" lets pairs rest, and slows none: no default has a factor beside it.
    slowed = any(one["scaling"] not in (None, "proportional") for one in kinds)
    return "scaled" if slowed else "never-scaled"


def _layers(kinds: list[dict[str, Any]]) -> str:
    layers = [one["layers"] for one in kinds]
    if None in layers or not any(layers):
        return "layers-not-said"
    return "every-layer" if sum(layers) >= kinds[0]["num_layers"] else "some-layers"


PLAIN_BASE = 10_000.0


@dataclass(frozen=True)
class Part:
    """A part of a bar: its word in a row, how it is called there, and alone."""

    said: str
    name: str
    also: str = ""


BARS = {
    "Pairs": (
        lambda kinds: kinds[0]["layout"],
        Part("half", "half"),
        Part("interleaved", "interleaved"),
    ),
    "Dimensions": (
        _share,
        Part("whole-head", "the whole head"),
        Part("part-of-the-head", "a part of it", "part of the head"),
    ),
    "Base": (
        _base,
        Part("plain-base", "10,000", "one base, 10,000"),
        Part("two-bases", "10,000 and another", "10,000 and another base"),
        Part("another-base", "others", "another base alone"),
    ),
    "Scaling": (
        _scaling,
        Part("never-scaled", "none", "never scaled"),
        Part("scaled", "in some layers or all", "scaled in layers"),
    ),
    "Layers": (
        _layers,
        Part("every-layer", "every layer"),
        Part("some-layers", "some layers"),
        Part("layers-not-said", "none by the default, or not said", "layers not said"),
    ),
}
"""Name of a bar: what a type's kinds of layers say of it, and its parts."""


def in_full(bar: str, part: Part) -> str:
    """Return how a part is called beside its bar: in the box, and in the answer over the bars."""
    return f"{bar}: {part.name}"


def still(sentence: str) -> bool:
    """Return whether a sentence says of a model type that nothing in it rotates.

    Example:
        >>> still("the model does not rotate"), still("it rotates by two coordinates")
        (True, False)
    """
    return bool(_STILL.search(sentence))


def said_of(kinds: list[dict[str, Any]]) -> list[str]:
    """Return in which part of each bar a model type is.

    Args:
        kinds: facts of each kind of its layers, as `survey` records them.
    """
    return [which(kinds) for which, *_ in BARS.values()]


def picture(census: dict[str, Any]) -> str:
    """Return the HTML of the bars; the lists under them say the same in words.

    Args:
        census: as `survey` returns it.
    """
    types, others = census["rotating"].values(), census["others"].items()
    stand = sum(len(names) for sentence, names in others if still(sentence))
    count = len(types) + len(census["parts"]) + sum(len(names) for _, names in others)
    groups = [
        (len(types), "rotate", 'href="#types-that-rotate"'),
        (len(census["parts"]), "are read by the text within", 'href="#types-read-by-their-text"'),
        (
            count - len(types) - len(census["parts"]) - stand,
            "rotate otherwise, or cannot be read",
            'href="#types-that-rotate-otherwise"',
        ),
        (stand, "do not rotate, or do not seem to", 'href="#types-that-do-not-rotate"'),
    ]
    bars = [_bar(f"All {count} model types", groups, "census-all")]
    for name, (which, *parts) in BARS.items():
        found = Counter(which(kinds) for kinds in types)
        bars.append(_bar(name, [(found[one.said], one.name, _link(name, one)) for one in parts]))
    first = [parts[0].said for _, *parts in BARS.values()]
    asked = sum(all(one["where"] for one in kinds) for kinds in types)
    usual = sum(said_of(kinds) == first for kinds in types)
    return (
        '<figure class="census-picture" id="census-picture">'
        "<p>More than half of all model types do not rotate, or do not seem to. Press a part to go "
        f"to its list.</p>{bars[0]}"
        f'<div class="census-answer" data-room="{_room(len(types))}"><p>The {len(types)} that '
        f"rotate, {asked} of them by keys that their default lacks. Press a part: every bar shows "
        "its types. Press another: those in both. Press one again to let it go.</p>"
        "<p data-off><strong></strong> <span></span> for <em></em>. <span>None of them is in these "
        'bars. </span><a href="#the-table">See them in the list</a><span>Press a part again to let '
        "go of it.</span><span>Try a part of its model_type, a base, half, yarn or no rotation, or "
        f'<a href="your_model.html">paste the file</a>.</span></p></div>{"".join(bars[1:])}'
        "<figcaption>Of those that rotate, more than half are in the first part of each bar, and "
        f"{usual} in all five: halves of the whole head, by base 10,000, unscaled, in every layer. "
        "Bars count types as their rows have them: by the default configuration, or with a key "
        "set. A ? stands for types without a row.</figcaption></figure>"
    )


def _room(count: int) -> str:
    """Return the longest answer: its room is kept, so that no bar moves."""
    called = [[in_full(bar, one) for one in parts] for bar, (_, *parts) in BARS.items()]
    longest = "; ".join(max(names, key=len) for names in called)
    return f"{count} of {count} for {longest}. Press a part again to let go of it."


def _link(bar: str, part: Part) -> str:
    where = f"?type={quote(in_full(bar, part))}#the-table"
    also = f' data-also="{part.also}"' if part.also else ""
    return f'href="{where}" data-typed="{in_full(bar, part)}" data-said="{part.said}"{also}'


def _bar(name: str, parts: list[tuple[int, str, str]], kind: str = "") -> str:
    shown = [part for part in parts if part[0]]
    pieces = "".join(
        f'<a {link} tabindex="-1" title="{words} {count}" style="flex-grow: {count}"></a>'
        for count, words, link in shown
    )
    words = "".join(
        f'<li><a {link}><span></span>{words} <strong style="--most: {len(str(count))}">{count}'
        "</strong></a></li>"
        for count, words, link in shown
    )
    return (
        f'<div class="census-bar {kind}"><p>{name}</p>'
        f'<div class="census-pieces" aria-hidden="true">{pieces}</div>'
        f'<ul aria-label="{name}">{words}</ul></div>'
    )
