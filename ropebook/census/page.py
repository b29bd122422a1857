"""Sphinx extension: the page of the census, written from what was recorded.

In the page's Markdown stands `{census} rotating`, and so on for each of its parts.
`book/_static/census_typed.js` and `census.js` filter the rows by typing, and by a part of the
picture (ropebook/census/picture.py); without them all of them stand there.
"""

import html
import re
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from ropebook.census.picture import picture, said_of, still
from ropebook.census.survey import WITHIN, recorded
from ropelib.config.model_types import HALF, INTERLEAVED, TEXT_TYPES

PAGE = "book/practice/census"
COLUMNS = ("model type", "pairs", "dimensions", "base", "scaling", "layers")
_NUMBER = ' class="census-number"'
_OF_EACH = re.compile(
    'model_type "…"(?: is not supported)?: '
    '|model_type "…" is unknown and no key here is about rotation[:;] (?:there is )?'
)
# What `from_hf` says of keys, for who has not seen that file: of all such types, and of each.
_IN_WORDS = {
    r"hidden_size must be a multiple of num_attention_heads .*, got (.*) and (.*)": (
        "Its default leaves the width of a head open",
        r"\1 for \2 heads",
    ),
    r"rope_scaling and rope_parameters are missing, .*": (
        "Its default has no rope_parameters, and what they would be cannot be guessed",
        "",
    ),
    r"the model does not rotate, whatever else its configuration says": (
        "It does not rotate, whatever else its configuration says",
        "",
    ),
    r"no text_config, but (.*) may rotate: read one of them": (
        "It has no text_config, but parts that may rotate: read one of them",
        r"\1",
    ),
}


# Of whose text nothing rotates, and of something else it does: the type of that, and the words.
ROTATES_BESIDE = {
    "glm5_next": ("glm5_next_vision", "its images do rotate"),
    "inkling2": ("inkling2_vision", "its images do rotate"),
    "nemo_speechlm": ("nemotron3_5_transcribe_asr_audio", "its sound does rotate"),
    "sam3": ("sam3_vit_model", "its images do rotate"),
    "sam3_lite_text": ("sam3_vit_model", "its images do rotate"),
}


def breakable(name: str) -> str:
    """Return the HTML of a model type, which may break between its words.

    Example:
        >>> breakable("qwen2_vl_text")
        '<code>qwen2_<wbr>vl_<wbr>text</code>'
    """
    names = html.escape(name).replace("_", "_<wbr>").split(WITHIN)
    return WITHIN.join(f"<code>{one}</code>" for one in names)


def dimensions(facts: dict[str, Any]) -> str:
    """Return the HTML of which dimensions of a head turn.

    Example:
        >>> facts = {"layout": "half", "head_dim": 512, "rotary_dim": 512, "still_pairs": 192}
        >>> dimensions(facts)
        '128 of 512<span class="census-kind">, the first of each half (64 of 256 pairs)</span>'
        >>> facts = {"head_dim": 192, "rotary_dim": 64, "still_pairs": 0, "latent": True}
        >>> dimensions(facts)
        '64 of 192<span class="census-kind">, latent attention</span>'
        >>> dimensions({"head_dim": 64, "rotary_dim": 64, "still_pairs": 0})
        'all 64'
    """
    pairs, still = facts["rotary_dim"] // 2, facts["still_pairs"]
    if facts["head_dim"] == 2 * (pairs - still):
        return f"all {facts['head_dim']}"
    width = f"{2 * (pairs - still)} of {facts['head_dim']}"
    if facts.get("latent"):
        return f'{width}<span class="census-kind">, latent attention</span>'
    if not still:
        return width
    which = ", the first of each half" if facts["layout"] == "half" else ""
    told = f"{which} ({pairs - still} of {pairs} pairs)"
    return f'{width}<span class="census-kind">{told}</span>'


def row(model_type: str, kinds: list[dict[str, Any]]) -> str:
    """Return the rows of a model type, one for each kind of its layers that rotates in its way.

    Args:
        model_type: its name.
        kinds: facts of each, as `survey` records them.

    Returns:
        HTML of one `tbody`.
    """
    lines = []
    for facts in kinds:
        name = breakable(model_type)
        if facts["kind"] is not None:
            name += f'<span class="census-kind"> {html.escape(facts["kind"].replace("_", " "))}'
            name += "</span>"
        if facts["where"] is not None:
            name += f'<span class="census-kind"> where {html.escape(facts["where"])}</span>'
        layers = "not said"
        if facts["layers"] is not None:
            all_of_them = facts["layers"] == facts["num_layers"]
            layers = f"{'all' if all_of_them else facts['layers']} of {facts['num_layers']}"
            layers = layers.replace("all of", "all")
        cells = (
            facts["layout"],
            dimensions(facts),
            f"{facts['base']:,.0f}",
            facts["scaling"] or "none",
            layers,
        )
        lines.append(
            f'<tr><th scope="row">{name}</th>'
            + "".join(
                f'<td data-label="{label}"{_NUMBER * (label == "base")}>{cell}</td>'
                for label, cell in zip(COLUMNS[1:], cells, strict=True)
            )
            + "</tr>"
        )
    return f'<tbody data-said="{" ".join(said_of(kinds))}">{"".join(lines)}</tbody>'


def form() -> str:
    """Return the HTML of the box to type in; the script shows it."""
    return (
        '<div class="census-form" hidden>'
        '<input type="search" placeholder="A model, a base, half, no rotation"'
        ' aria-label="Filter the census"><div role="status" aria-live="polite"><p></p>'
        '</div><button type="button" hidden>Clear</button>'
        '<a href="#census-picture" hidden>Back to the picture</a>'
        '<a href="#the-table" hidden>To the list</a></div>'
    )


def rotating(census: dict[str, Any]) -> str:
    """Return the HTML of the table of what rotates."""
    head = "".join(
        f'<th scope="col"{_NUMBER * (column == "base")}>{column}</th>' for column in COLUMNS
    )
    body = "".join(row(name, kinds) for name, kinds in census["rotating"].items())
    return (
        '<div class="census census-table" tabindex="0" role="region" '
        f'aria-label="Model types that rotate"><table><thead><tr>{head}</tr></thead>{body}</table>'
        "</div>"
    )


def within(census: dict[str, Any]) -> str:
    """Return the HTML of the list of what is read by the text within."""
    names = (name + WITHIN + text for name, text in census["parts"].items())
    items = "".join(f"<li>{breakable(name)}</li>" for name in names)
    return f'<ul class="census census-parts">{items}</ul>'


def others(census: dict[str, Any], stand: bool) -> str:
    """Return the HTML of the other types, under what is said of them, the most first.

    Args:
        census: as `survey` returns it.
        stand: whether those of which nothing rotates, or all others.
    """
    partial, told = census["partial"], defaultdict(list)
    for sentence, names in census["others"].items():
        if still(sentence) == stand:
            title, detail = heading(sentence)
            for name in names:
                _, beside = ROTATES_BESIDE.get(name.split(WITHIN)[0], ("", ""))
                told[title].append((name, _known(name, partial), detail or beside))
    said = "".join(
        f"<dt{' data-still' * stand}>{html.escape(title, quote=False)}</dt><dd><ul>"
        + "".join(f"<li>{breakable(name)}{_aside(*details)}</li>" for name, *details in types)
        + f"</ul>{GO_ON if any(known for _, known, _ in types) else ''}</dd>"
        for title, types in sorted(told.items(), key=lambda one: (-len(one[1]), one[0]))
    )
    return f'<dl class="census census-others">{said}</dl>'


def heading(sentence: str) -> tuple[str, str]:
    """Return what is said of types without what is said of each, and what is said of each.

    Example:
        >>> heading('model_type "…" is not supported: it rotates clockwise')
        ('It rotates clockwise', '')
        >>> heading("head_dim is missing")
        ('head_dim is missing', '')
        >>> heading("no text_config, but 'decoder' may rotate: read one of them")
        ('It has no text_config, but parts that may rotate: read one of them', 'decoder')
    """
    said = _OF_EACH.sub("", sentence)
    for of_keys, (title, detail) in _IN_WORDS.items():
        if match := re.fullmatch(of_keys, said):
            return title, match.expand(detail).replace("'", "")
    return said if "_" in said.split()[0] else said[0].upper() + said[1:], ""


def _aside(*details: str) -> str:
    text = html.escape("; ".join(filter(None, details)), quote=False)
    return f'<span class="census-kind"> {text}</span>' if text else ""


def _known(name: str, partial: dict[str, float]) -> str:
    """Return what is known of a type whose default file fits no model."""
    text = name.split(WITHIN)[-1]
    for layout, types in (("half", HALF), ("interleaved", INTERLEAVED)):
        if TEXT_TYPES.get(text, text) in types:
            share = f", {Fraction(partial[name])} of a head" if name in partial else ""
            return f"{layout}{share}"
    return ""


GO_ON = '<p>A model\'s own file says the rest: <a href="your_model.html">paste it</a>.</p>'
"""Where to go on from a type whose default file fits no model."""


PARTS = {
    "form": lambda census: form(),
    "picture": picture,
    "top": lambda census: '<div class="census-top" role="status"><p hidden></p></div>',
    "rotating": rotating,
    "within": within,
    "otherwise": lambda census: others(census, False),
    "still": lambda census: others(census, True),
}
"""What `{census}` may be followed by, and the HTML of it."""


def names(census: dict[str, Any]) -> list[str]:
    """Return every model type of the census: who searches for one is led to its row.

    Example:
        >>> names({"rotating": {"a": []}, "parts": {"b": "a"}, "others": {"why": ["c → d", "e"]}})
        ['a', 'b', 'c', 'e']
    """
    others = [name.split(WITHIN)[0] for listed in census["others"].values() for name in listed]
    return [*census["rotating"], *census["parts"], *others]


class CensusPage(SphinxDirective):
    """`{census} rotating`: a part of the census."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the part as raw HTML; who searches for a type is led to where the lists begin."""
        part = self.arguments[0]
        if part not in PARTS:
            raise self.error(f"census must be followed by one of {', '.join(PARTS)}, got {part}")
        path = Path(self.env.srcdir) / "book/results/census.json"
        self.env.note_dependency(str(path))
        census = recorded(path)
        found = names(census) if part == "top" else []
        return [nodes.raw(text=PARTS[part](census), format="html", names=found)]


def _bring_files(app, page, template, context, doctree):
    if page == PAGE:
        app.add_css_file("census.css")
        app.add_js_file("census_typed.js", defer="defer")
        app.add_js_file("census.js", defer="defer")


def setup(app):
    """Register the extension with Sphinx."""
    app.add_directive("census", CensusPage)
    app.connect("html-page-context", _bring_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
