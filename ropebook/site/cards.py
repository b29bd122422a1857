"""Tables of sentences: on a phone each row is a card, each cell under its column's name.

Three columns of sentences are five words wide on a phone. A table whose cells are mostly words is
marked here, and `tables.css` lays it out as cards below 600 px. What is no longer laid out as a
table stays one for readers of the screen, by the roles that are written into it.
"""

import html
import re

WORDY = 60
"""Letters in a row, on average, from which a table of three columns or more becomes cards."""

_TABLE = re.compile(r'<table(?: class="table")?>.*?</table>', re.DOTALL)
_ROW = re.compile(r"<tr[^>]*>.*?</tr>", re.DOTALL)
_CELL = re.compile(r"<(td|th)\b([^>]*)>(.*?)</\1>", re.DOTALL)


def words_of(markup: str) -> str:
    """Return the words of a piece of HTML, with spaces as they are read.

    Example:
        >>> words_of("<p>what <em>you</em>  see &amp; say</p>")
        'what you see & say'
    """
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())


def as_cards(body: str) -> str:
    """Return a page's HTML with its tables of sentences marked.

    Args:
        body: the page. A table whose first row is not all headers, or which holds numbers to be
            compared, stays as it is.
    """
    return _TABLE.sub(lambda found: _marked(found[0]), body)


def _marked(table: str) -> str:
    head, *rows = _ROW.findall(table)
    names = [words_of(cell[3]) for cell in _CELL.finditer(head)]
    if not rows or "rope-table-number" in table or "</thead>" not in table:
        return table
    letters = sum(len(words_of(row)) for row in rows) / len(rows)
    if len(names) < 3 or letters < WORDY:
        return table

    def labeled(row: str) -> str:
        columns = iter(names)

        def cell(found: re.Match) -> str:
            role = "rowheader" if found[1] == "th" else "cell"
            label = html.escape(next(columns))
            return (
                f'<{found[1]}{found[2]} role="{role}" data-label="{label}">{found[3]}</{found[1]}>'
            )

        return _CELL.sub(cell, row).replace("<tr", '<tr role="row"', 1)

    for row in rows:
        table = table.replace(row, labeled(row), 1)
    named = re.sub(r"<(th|td)\b", r'<\1 role="columnheader"', head)
    table = table.replace(head, named.replace("<tr", '<tr role="row"', 1), 1)
    table = re.sub(r"<(thead|tbody)\b", r'<\1 role="rowgroup"', table)
    return re.sub(r"^<table[^>]*>", '<table class="table rope-cards" role="table">', table)


def setup(app) -> None:
    """Mark the tables of every page that is built."""

    def mark(app, page, template, context, doctree):
        if context.get("body"):
            context["body"] = as_cards(context["body"])

    app.connect("html-page-context", mark)
