"""What is read a second time: sections that a built page keeps folded until they are asked for.

In a notebook, a markdown cell tagged `deeper` begins such a section; in a Markdown page, a line
`{.deeper}` above the heading. The section ends where Markdown says: at the next heading of the same
or of a higher level. `book/_static/reading.js` opens the fold that a link leads into.
"""

import json
import re

from docutils import nodes
from sphinx.util import logging

TAG = "deeper"
_HEADING = re.compile(r"#{2,3} +\S")
_OPENING = '<details class="rope-deeper"><summary><span class="rope-deeper-label">%s</span>\n'
_BODY = '</summary>\n<div class="rope-deeper-body">\n'
_CLOSING = "</div></details>\n"
logger = logging.getLogger(__name__)


def marked(notebook: str) -> tuple[str, list[str]]:
    """Return a notebook's text with its tagged cells marked for the parser, and what is wrong.

    Args:
        notebook: the text of an `.ipynb` file.

    Returns:
        The text, and a sentence for each tagged cell that does not begin with a heading.
    """
    content = json.loads(notebook)
    wrong = []
    for number, cell in enumerate(content["cells"], start=1):
        if TAG not in cell.get("metadata", {}).get("tags", ()):
            continue
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and _HEADING.match(source):
            cell["source"] = f"{{.{TAG}}}\n{source}"
        else:
            wrong.append(
                f"a cell tagged {TAG} must be Markdown and begin with a heading (## or ###), "
                f"got cell {number}: {source[:40]!r}"
            )
    return json.dumps(content), wrong


def fold(doctree: nodes.document) -> list[str]:
    """Put each marked section's title into the summary of a fold, and its contents into the fold.

    The section keeps its anchor outside of the fold. What stands over its title is its `label`,
    where it has one.

    Returns:
        A sentence for each marked section that cannot be folded, as a page's title.
    """
    wrong = []
    for section in list(doctree.findall(nodes.section)):
        if TAG not in section["classes"]:
            continue
        if isinstance(section.parent, nodes.document):
            wrong.append(f"a page's title must not be {TAG}, got {section[0].astext()!r}")
            continue
        at = section.first_child_matching_class(nodes.title)
        opening = _OPENING % section.get("label", "Deeper")
        for place, html in ((len(section), _CLOSING), (at + 1, _BODY), (at, opening)):
            section.insert(place, nodes.raw(text=html, format="html"))
    return wrong


def _mark(app, name, source):
    if str(app.env.doc2path(name)).endswith(".ipynb"):
        source[0], wrong = marked(source[0])
        for sentence in wrong:
            logger.warning(sentence, location=name, type="ropebook", subtype="fold")


def _fold(app, doctree, name):
    if app.builder.format == "html":
        for sentence in fold(doctree):
            logger.warning(sentence, location=name, type="ropebook", subtype="fold")


def setup(app):
    """Register the folds with Sphinx."""
    app.connect("source-read", _mark)
    app.connect("doctree-resolved", _fold)  # the page's table of contents was collected before
