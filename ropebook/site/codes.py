"""The page of the codes: each has an address, `#codes-off-by-one`, in the fold of its heading."""

from docutils import nodes

from ropebook.site.folds import TAG
from ropelib.diagnosis.codes import CODES

PAGE = "codes"


def address(code: str) -> str:
    """Return where the page tells of a code.

    Example:
        >>> address("off-by-one")
        'codes#codes-off-by-one'
    """
    return f"{PAGE}#codes-{code}"


def name_rows(doctree: nodes.document) -> None:
    """Give each row that begins with a code the id of that code, and fold its section."""
    for row in doctree.findall(nodes.row):
        literal = next(row.findall(nodes.literal), None)
        if literal is None or literal.parent.parent is not row[0] or literal.astext() not in CODES:
            continue
        row["ids"].append(address(literal.astext()).partition("#")[2])
        section = _section_of(row)
        section["count"] = section.get("count", 0) + 1
        section["label"] = f"{section['count']} code{'s' if section['count'] > 1 else ''}"
        section["classes"] = [TAG]


def _section_of(node: nodes.Node) -> nodes.Node:
    while not isinstance(node, nodes.section):
        node = node.parent
    return node


def setup(app) -> None:
    """Name the rows when the page is read, and bring what filters them."""

    def name(app, doctree):
        if app.env.docname == f"book/{PAGE}":
            name_rows(doctree)

    app.connect("doctree-read", name)

    def bring(app, page, template, context, doctree):
        if page == f"book/{PAGE}":
            app.add_js_file("codes.js", defer="defer")
            app.add_css_file("codes.css", priority=900)  # after book.css, which it departs from

    app.connect("html-page-context", bring)
