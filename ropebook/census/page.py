"""Sphinx extension: the page of the census, written from what was recorded.

In the page's Markdown stands `{census}`. `book/_static/census.js` filters its rows by typing;
without it all of them stand there.
"""

import html
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from ropebook.census.survey import WITHIN, recorded

PAGE = "book/practice/census"
COLUMNS = ("model type", "pairs", "dimensions", "base", "scaling", "layers")
_STILL = re.compile(
    "does not (seem to )?rotate|none of its layers rotates|its attention has no position encoding"
)


def still(sentence: str) -> bool:
    """Return whether a sentence says of a model type that nothing in it rotates.

    Example:
        >>> still("the model does not rotate"), still("it rotates by two coordinates")
        (True, False)
    """
    return bool(_STILL.search(sentence))


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
        >>> dimensions({"layout": "half", "head_dim": 64, "rotary_dim": 64, "still_pairs": 0})
        'all 64'
    """
    pairs, still = facts["rotary_dim"] // 2, facts["still_pairs"]
    if facts["head_dim"] == 2 * (pairs - still):
        return f"all {facts['head_dim']}"
    width = f"{2 * (pairs - still)} of {facts['head_dim']}"
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
                f'<td data-label="{label}">{cell}</td>'
                for label, cell in zip(COLUMNS[1:], cells, strict=True)
            )
            + "</tr>"
        )
    return f"<tbody>{''.join(lines)}</tbody>"


def page(census: dict[str, Any]) -> str:
    """Return the HTML of the census.

    Args:
        census: as `survey` returns it.

    Returns:
        A table of what rotates, a list of what is read by the text within, and one of what is said
        of the others.
    """
    rotating, parts, others = census["rotating"], census["parts"], census["others"]
    count = sum(map(len, others.values()))
    head = "".join(f'<th scope="col">{column}</th>' for column in COLUMNS)
    body = "".join(row(name, kinds) for name, kinds in rotating.items())
    within = "".join(f"<li>{breakable(name + WITHIN + text)}</li>" for name, text in parts.items())
    said = "".join(
        f"<dt{' data-still' * still(sentence)}>{html.escape(sentence, quote=False)}</dt><dd><ul>"
        + "".join(f"<li>{breakable(name)}</li>" for name in names)
        + "</ul></dd>"
        for sentence, names in sorted(others.items(), key=lambda one: (-len(one[1]), one[0]))
    )
    return (
        '<div class="census"><div class="census-form" hidden>'
        '<input type="search" placeholder="A model, a base, half, 64 of, yarn, none"'
        ' aria-label="Filter the census"><div role="status" aria-live="polite"><p></p>'
        "<p hidden></p></div></div>"
        f'<section id="that-rotate"><h2>{len(rotating)} that rotate</h2>'
        '<div class="census-table" tabindex="0" role="region" aria-label="Model types that rotate">'
        f"<table><thead><tr>{head}</tr></thead>{body}</table></div></section>"
        f'<section id="read-by-their-text"><h2>{len(parts)} read by the text within</h2>'
        f'<ul class="census-parts">{within}</ul></section>'
        f'<section id="the-others"><h2>{count} others, and what is said of them</h2>'
        f'<dl class="census-others">{said}</dl></section></div>'
    )


def names(census: dict[str, Any]) -> list[str]:
    """Return every model type of the census: who searches for one is led to its row.

    Example:
        >>> names({"rotating": {"a": []}, "parts": {"b": "a"}, "others": {"why": ["c → d", "e"]}})
        ['a', 'b', 'c', 'e']
    """
    others = [name.split(WITHIN)[0] for listed in census["others"].values() for name in listed]
    return [*census["rotating"], *census["parts"], *others]


class CensusPage(SphinxDirective):
    """`{census}`: the whole census."""

    def run(self) -> list[nodes.Node]:
        """Return the census as raw HTML."""
        path = Path(self.env.srcdir) / "book/results/census.json"
        self.env.note_dependency(str(path))
        census = recorded(path)
        return [nodes.raw(text=page(census), format="html", names=names(census))]


def _bring_files(app, page, template, context, doctree):
    if page == PAGE:
        app.add_css_file("census.css")
        app.add_js_file("census.js", defer="defer")


def setup(app):
    """Register the extension with Sphinx."""
    app.add_directive("census", CensusPage)
    app.connect("html-page-context", _bring_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
