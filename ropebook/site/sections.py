"""What the search page searches: every section of the book, by its own words.

Sphinx's index knows pages; a reader of a long page wants the section. Each section's title, the
titles that it stands under and its words are written to `_static/sections.js`, a classic script
that hands them to `search.js`, since a page on disk may fetch nothing.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

from ropebook.site.leaves import leaves_of

UNREAD = (nodes.raw, nodes.comment, nodes.system_message, nodes.substitution_definition)
OBJECT = re.compile(r"<[\w.]+ object at 0x[0-9a-f]+>")
"""What stands in a notebook for an output that is no text, such as a widget."""
TEX = (
    (
        r"\\(?:begin|end)\{\w+\*?\}(?:\[\w*\])?|\\(?:left|right|bigl?|bigr)(?![a-z])|\\[,;:!]|\\\\|&",
        " ",
    ),
    (
        r"\\(?:math\w+|operatorname|text\w*|underbrace|overbrace)(?![a-z])\s*(?:\{([^{}]*)\})?",
        r"\1",
    ),
    (r"\\[td]?frac\s*([0-9])\s*([0-9])", r"\1/\2"),
    (r"\^\{?\\top(?![a-z])\}?", "ᵀ"),
    (r"\\(?:q?quad)(?![a-z])", " "),
    (r"\\(?:cdot|times)(?![a-z])", "·"),
    (r"\\[td]?frac\s*([0-9])\s*\{([^{}]*)\}", r"\1/\2"),
    (r"\\[lc]?dots(?![a-z])", "…"),
    (r"\\infty(?![a-z])", "∞"),
    (r"\\to(?![a-z])", "→"),
    (r"\\[lr]?vert(?![a-z])", "|"),
    (r"\\approx(?![a-z])", "≈"),
    (r"\\propto(?![a-z])", "∝"),
    (r"\\leq?(?![a-z])", "≤"),
    (r"\\geq?(?![a-z])", "≥"),
    (r"\\sqrt\s*\{([^{}]*)\}", r"√(\1)"),
    (r"([\^_])\{([^{}]{2,})\}", r"\1(\2)"),
    (r"([\^_])\{([^{}]*)\}", r"\1\2"),
    (r"\\[td]?frac\s*\{([^{} +-]*)\}\s*\{([^{} +-]*)\}", r"\1/\2"),
    (r"\\[td]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", r"(\1)/(\2)"),
)
"""Patterns of TeX and what a reader of plain text sees instead."""


def sections_of(doctree: nodes.document, page: str) -> list[dict]:
    """Return the sections of a page in their order.

    Args:
        doctree: the page, as it was read.
        page: its document's name, `"book/rope/distance"`.

    Returns:
        For each section its `page`, its `anchor` (empty for the page's first section), its
        `titles` from the page's down to its own, its `text` without that of sections in it, and
        its `code`, which is all that is no prose: listings, outputs, where an answer comes from;
        and, where raw HTML says so in its attribute `names`, the `names` that lead there. After a
        section come the folds of its outputs that have a title of their own.
    """
    found = []

    def visit(section: nodes.section, titles: tuple[str, ...]) -> None:
        title = section.next_node(nodes.title)
        titles = (*titles, _words(title.astext()))
        own = [child for child in section.children if child is not title]
        code = []
        text = " ".join(_read(child, code) for child in own if not isinstance(child, nodes.section))
        found.append(
            {
                "page": page,
                "anchor": section["ids"][-1] if len(titles) > 1 else "",
                "titles": list(titles),
                "text": _words(text),
                "code": _words(" ".join(code)),
            }
        )
        if names := [
            name for child in own if isinstance(child, nodes.raw) for name in child.get("names", ())
        ]:
            found[-1]["names"] = names
        for child in own:
            if not isinstance(child, nodes.section):
                found.extend(_leaves(child, page, titles))
        for child in own:
            if isinstance(child, nodes.section):
                visit(child, titles)

    for child in doctree.children:
        if isinstance(child, nodes.section):
            visit(child, ())
    return found


def _leaves(node: nodes.Node, page: str, titles: tuple[str, ...]) -> list[dict]:
    """Return the folds with a title in the raw HTML of a node, as sections under these titles."""
    return [
        {"page": page, **leaf, "titles": [*titles, *leaf["titles"]]}
        for raw in node.findall(nodes.raw)
        if "html" in raw["format"]
        for leaf in leaves_of(raw.astext())
    ]


def _read(node: nodes.Node, code: list[str]) -> str:
    """Return a node's prose as a reader sees it, and add to `code` what is none."""
    if isinstance(node, UNREAD):
        return ""
    if isinstance(node, nodes.literal_block) or _is_source(node):
        if not OBJECT.fullmatch(node.astext().strip()):
            code.append(node.astext())
        return ""
    if isinstance(node, (nodes.math, nodes.math_block)):
        return _plain(node.astext())
    if isinstance(node, addnodes.desc_parameterlist):
        return f"({', '.join(_read(child, code) for child in node.children)})"
    if isinstance(node, nodes.Text):
        return node.astext()
    between = "" if isinstance(node, nodes.TextElement) else " "
    return between.join(_read(child, code) for child in node.children)


def _is_source(node: nodes.Node) -> bool:
    """Return whether a paragraph says where a question's answer comes from, and no more."""
    return isinstance(node, nodes.paragraph) and node.astext().startswith("More: ")


def _plain(tex: str) -> str:
    """Return a formula's TeX without its marks: names stay words, so that a search finds them."""
    before = None
    while tex != before:  # what stands in braces first, then what these stood in
        before = tex
        for pattern, plain in TEX:
            tex = re.sub(pattern, plain, tex)
    return re.sub(r"[{}]", "", tex.replace("\\", " "))


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
