"""The page of the diagnosis: each code has an address, `#codes-off-by-one`."""

from docutils import nodes

from ropelib.diagnosis.codes import CODES

PAGE = "library/diagnosis"


def address(code: str) -> str:
    """Return where the page tells of a code.

    Example:
        >>> address("off-by-one")
        'library/diagnosis#codes-off-by-one'
    """
    return f"{PAGE}#codes-{code}"


def name_rows(doctree: nodes.document) -> None:
    """Give each row that begins with a code the id of that code."""
    for row in doctree.findall(nodes.row):
        literal = next(row.findall(nodes.literal), None)
        if literal is not None and literal.parent.parent is row[0] and literal.astext() in CODES:
            row["ids"].append(address(literal.astext()).partition("#")[2])


def setup(app) -> None:
    """Name the rows when the page is read."""

    def name(app, doctree):
        if app.env.docname.endswith(PAGE):
            name_rows(doctree)

    app.connect("doctree-read", name)
