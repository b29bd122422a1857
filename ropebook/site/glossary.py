"""Words that explain themselves: a link to a term of the glossary brings the term's definition.

The glossary is the page named `glossary`, one definition list; how its entries are written stands
at its top. A link to `glossary.md#term` stays a link, with the definition hidden behind it as its
description; `book/_static/glossary.js` shows it where the reader points, tabs or taps.
"""

import html

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

_KEY = "rope_terms"
logger = logging.getLogger(__name__)


def terms(doctree: nodes.document) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Return the terms of a glossary's page, slug -> (term, definition), and what is wrong.

    Args:
        doctree: the page as it was read.

    Returns:
        The terms, and a sentence for each entry that has no anchor or no plain first paragraph.
    """
    found, wrong = {}, []
    for item in doctree.findall(nodes.definition_list_item):
        term = item.next_node(nodes.term)
        anchors = [one["ids"][0] for one in term.findall(nodes.inline) if one["ids"]]
        first = item.next_node(nodes.definition)[0]
        plain = isinstance(first, nodes.paragraph) and not first.next_node(nodes.math)
        if not anchors:
            wrong.append(f"a term must have an anchor, {{#slug}}, got {term.astext()!r}")
        elif not plain:
            wrong.append(
                f"a definition must begin with a paragraph without formulae, got {term.astext()!r}"
            )
        for slug in anchors:
            found[slug] = (term.astext(), first.astext().replace("\n", " "))
    return found, wrong


def explain(doctree: nodes.document, address: str, known: dict[str, tuple[str, str]]) -> None:
    """Put behind each link to a term what the term means.

    Args:
        doctree: a page with its links resolved.
        address: of the glossary, as the page's links have it.
        known: slug -> (term, definition).
    """
    links = [
        (link, slug)
        for link in doctree.findall(nodes.reference)
        for page, _, slug in [link.get("refuri", "").partition("#")]
        if page == address and slug in known
    ]
    for number, (link, slug) in enumerate(links):
        name = f"term-{number}-{slug}"
        opening = (
            f'<a class="rope-term" href="{html.escape(link["refuri"])}" aria-describedby="{name}">'
        )
        text = html.escape(known[slug][1])
        closing = f'</a><span class="rope-definition" id="{name}" hidden>{text}</span>'
        link.replace_self(
            [
                nodes.raw(text=opening, format="html"),
                *(child.deepcopy() for child in link.children),
                nodes.raw(text=closing, format="html"),
            ]
        )


class LocalAnchors(SphinxTransform):
    """Keeps a term's anchor the page's own: Sphinx would make it a label of the whole book."""

    default_priority = 840  # before Sphinx collects labels, at 850

    def apply(self, **kwargs):
        """Do it."""
        if _is_glossary(self.env.docname):
            for node in self.document.findall(nodes.inline):
                for name in node["names"]:
                    self.document.nametypes[name] = False


def _is_glossary(name: str) -> bool:
    return name.rpartition("/")[2] == "glossary"


def _collect(app, doctree):
    name = app.env.docname
    if _is_glossary(name):
        found, wrong = terms(doctree)
        for sentence in wrong:
            logger.warning(sentence, location=name, type="ropebook", subtype="glossary")
        metadata = app.env.metadata[name]
        metadata[_KEY] = found
        # MyST lets links lead to headings; now also to terms.
        slugs = {slug: (0, slug, term) for slug, (term, _) in found.items()}
        metadata["myst_slugs"] = {**metadata.get("myst_slugs", {}), **slugs}


def _explain(app, doctree, name):
    glossary = next(filter(_is_glossary, sorted(app.env.found_docs)), None)
    if app.builder.format == "html" and glossary and not _is_glossary(name):
        address = app.builder.get_relative_uri(name, glossary)
        explain(doctree, address, app.env.metadata[glossary][_KEY])


def setup(app):
    """Register the glossary with Sphinx."""
    app.add_transform(LocalAnchors)
    app.connect("doctree-read", _collect)
    app.connect("doctree-resolved", _explain)
