"""What the search page searches: every section of the book, by its own words.

Sphinx's index knows pages; a reader of a long page wants the section. Each section's title, the
titles that it stands under and its words are written to `_static/sections.js`, a classic script
that hands them to `search.js`, since a page on disk may fetch nothing.
"""

import json
import re
from pathlib import Path

from docutils import nodes

UNREAD = (nodes.raw, nodes.comment, nodes.system_message, nodes.substitution_definition)
OBJECT = re.compile(r"<[\w.]+ object at 0x[0-9a-f]+>")
"""What stands in a notebook for an output that is no text, such as a widget."""
TEX = (
    (
        r"\\(?:begin|end)\{\w+\*?\}(?:\[\w*\])?|\\(?:left|right|bigl?|bigr|[,;:!])(?![a-z])|\\\\|&",
        " ",
    ),
    (r"\\sqrt\{([^{}]*)\}", r"√(\1)"),
    (r"\\[td]?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2"),
    (r"\\(?:q?quad)(?![a-z])", " "),
    (r"\\(?:cdot|times)(?![a-z])", "·"),
    (r"\\(?:math\w+|operatorname|text\w*)(?![a-z])", ""),
    (r"[{}]", ""),
    (r"\\", " "),
)
"""Patterns of TeX and what a reader of plain text sees instead."""


def sections_of(doctree: nodes.document, page: str) -> list[dict]:
    """Return the sections of a page in their order.

    Args:
        doctree: the page, as it was read.
        page: its document's name, `"book/rope/distance"`.

    Returns:
        For each section its `page`, its `anchor` (empty for the page's first section), its
        `titles` from the page's down to its own, and its `text` without that of sections in it.
    """
    found = []

    def visit(section: nodes.section, titles: tuple[str, ...]) -> None:
        title = section.next_node(nodes.title)
        titles = (*titles, _words(title.astext()))
        own = [child for child in section.children if child is not title]
        text = " ".join(_read(child) for child in own if not isinstance(child, nodes.section))
        found.append(
            {
                "page": page,
                "anchor": section["ids"][-1] if len(titles) > 1 else "",
                "titles": list(titles),
                "text": _words(text),
            }
        )
        for child in own:
            if isinstance(child, nodes.section):
                visit(child, titles)

    for child in doctree.children:
        if isinstance(child, nodes.section):
            visit(child, ())
    return found


def _read(node: nodes.Node) -> str:
    """Return the words of a node as a reader sees them: no markup, no other language's source."""
    if isinstance(node, UNREAD):
        return ""
    if isinstance(node, nodes.literal_block) and OBJECT.fullmatch(node.astext().strip()):
        return ""
    if isinstance(node, (nodes.math, nodes.math_block)):
        return _plain(node.astext())
    if isinstance(node, nodes.Text):
        return node.astext()
    between = "" if isinstance(node, nodes.TextElement) else " "
    return between.join(_read(child) for child in node.children)


def _plain(tex: str) -> str:
    """Return a formula's TeX without its marks: names stay words, so that a search finds them."""
    for pattern, plain in TEX:
        tex = re.sub(pattern, plain, tex)
    return tex


def _words(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _collect(app, doctree):
    if not hasattr(app.env, "rope_sections"):
        app.env.rope_sections = {}
    app.env.rope_sections[app.env.docname] = sections_of(doctree, app.env.docname)


def _forget(app, env, page):
    getattr(env, "rope_sections", {}).pop(page, None)


def _merge(app, env, pages, other):
    env.rope_sections = getattr(env, "rope_sections", {}) | getattr(other, "rope_sections", {})


def _write(app, error):
    if error is not None or app.builder.format != "html":
        return
    pages = getattr(app.env, "rope_sections", {})
    listed = [section for page in sorted(pages) for section in pages[page]]
    text = json.dumps(listed, ensure_ascii=False, separators=(",", ":"))
    script = f'document.dispatchEvent(new CustomEvent("rope-sections",{{detail:{text}}}));\n'
    (Path(app.outdir) / "_static" / "sections.js").write_text(script, encoding="utf-8")


def setup(app):
    """Register what collects sections while pages are read."""
    app.connect("doctree-read", _collect)
    app.connect("env-purge-doc", _forget)
    app.connect("env-merge-info", _merge)
    app.connect("build-finished", _write)
