"""Sphinx extension: the pages of the ledger, written from its data.

In a page's Markdown stands `{ledger} counts`, `mistakes`, `documents`, `claims` or `systems`; each
is a piece of plain HTML. `book/_static/ledger.js` filters the claims in the reader's browser;
without it all of them stand there.
"""

import html
import json
import re
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

from docutils import nodes
from pybtex.database import Person, parse_file
from sphinx.util.docutils import SphinxDirective

from ropebook.ledger import ITSELF, VERDICTS, Claim, Document, Ledger, System, read_ledger

FOLDER = "book/appendix"
FILTERED, STYLED = f"{FOLDER}/sources", (f"{FOLDER}/sources", f"{FOLDER}/systems")
"""The page that brings the script, and those that bring the style."""
_INDEX = re.compile(r"(?<=\S)([_^])(?:\{([^{}]+)\}|\(([^()]+)\)|(\w)(?!\w))")
_CHINESE = re.compile(r"[\u3400-\u9fff][\u3000-\u303f\u3400-\u9fff\uff00-\uffef]*")


class Book:
    """What the pages say of the book itself: where its chapters are, and what it cites.

    Args:
        root: folder of the sources.
        address: gives the address of a chapter by its document's name.
        names: of all documents; a chapter is one that has a notebook.
    """

    def __init__(self, root: Path, address, names):
        self.root, self._address = root, address
        chapters = [name for name in names if (root / f"{name}.ipynb").exists()]
        self._names = {name.rpartition("/")[2]: name for name in chapters}
        self._entries = parse_file(str(root / "book/references.bib")).entries
        self._headings: dict[str, dict[str, str]] = {}

    def notebook(self, chapter: str) -> Path:
        """Return a chapter's file."""
        return self.root / f"{self._names[chapter]}.ipynb"

    def headings(self, chapter: str) -> dict[str, str]:
        """Return a chapter's headings by their ids, its title first."""
        if chapter not in self._headings:
            cells = json.loads(self.notebook(chapter).read_text("utf-8"))["cells"]
            text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
            titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
            self._headings[chapter] = {nodes.make_id(title): title for title in titles}
        return self._headings[chapter]

    def title(self, chapter: str) -> str:
        """Return a chapter's title."""
        return next(iter(self.headings(chapter).values()))

    def link(self, place: str) -> str:
        """Return the HTML of a link to a place such as `"distance#the-base"`."""
        chapter, _, heading = place.partition("#")
        if chapter not in self._names or (heading and heading not in self.headings(chapter)):
            raise ValueError(f"the book has no place {place!r}")
        words = self.title(chapter) + (f" · {self.headings(chapter)[heading]}" if heading else "")
        address = self._address(self._names[chapter]) + (f"#{heading}" if heading else "")
        return f'<a href="{html.escape(address)}">{text(words)}</a>'

    def citation(self, words: str) -> str:
        """Return the HTML of a citation such as `"su2021, section 3.2"`."""
        key, _, place = words.partition(", ")
        if key == ITSELF:
            return text(f"the document itself, {place}")
        if key not in self._entries:
            raise ValueError(f"references.bib has no entry {key!r}")
        entry = self._entries[key]
        authors = [_last_name(person) for person in entry.persons["author"]]
        named = " and ".join(authors) if len(authors) < 3 else f"{authors[0]} et al."
        named = " ".join(filter(None, (named, entry.fields.get("year"))))
        return f'<a href="{html.escape(entry.fields["url"])}">{text(named)}</a>, {text(place)}'


def _last_name(person: Person) -> str:
    return re.sub(r"[{}]|\\[\"'`v^~c] ?", "", " ".join(person.prelast_names + person.last_names))


def text(words: str) -> str:
    """Return words as HTML: escaped, `code` as code, x_i and e^(im) set, Chinese marked as Chinese.

    Example:
        >>> text("`a_b < c`, θ_i = b^(−2i/d) (性质)")
        '<code>a_b &lt; c</code>, θ<sub>i</sub> = b<sup>−2i/d</sup> (<span lang="zh">性质</span>)'
    """
    parts = html.escape(words, quote=False).split("`")
    parts[::2] = [_set_indices(part) for part in parts[::2]]
    parts[1::2] = [f"<code>{part}</code>" for part in parts[1::2]]
    return _CHINESE.sub(lambda found: f'<span lang="zh">{found[0]}</span>', "".join(parts))


def _set_indices(words: str) -> str:
    def tag(found: re.Match) -> str:
        name = "sub" if found[1] == "_" else "sup"
        return f"<{name}>{found[2] or found[3] or found[4]}</{name}>"

    return _INDEX.sub(tag, words)


def verdict(which: str) -> str:
    """Return the HTML of a verdict."""
    return f'<span class="ledger-verdict ledger-{which}">{which}</span>'


def name(test: str) -> str:
    """Return the HTML of a test's name, which may break between its words."""
    return f"<code>{test.replace('_', '_<wbr>').replace('::', '::<wbr>')}</code>"


# ---- the front --------------------------------------------------------------------------------


def counts(ledger: Ledger, book: Book) -> str:
    """Return the table of how many claims of each document have each verdict."""

    def line(title: str, chosen: dict[str, str]) -> str:
        cells = [_count(ledger, chosen | {"verdict": one}) for one in VERDICTS]
        cells.append(_count(ledger, chosen))
        return f'<tr><th scope="row">{title}</th>{"".join(cells)}</tr>'

    columns = ["document", *map(verdict, VERDICTS), "all"]
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    body = "".join(
        line(
            f'{one.number}<span class="ledger-name"> {text(one.name)}</span>',
            {"source": one.number},
        )
        for one in ledger.documents
    )
    return (
        f'<div class="ledger-counts"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody><tfoot>{line('all', {})}</tfoot></table></div>"
    )


def _count(ledger: Ledger, chosen: dict[str, str]) -> str:
    """A cell that leads to the claims it counts."""
    number = sum(
        claim.verdict == chosen.get("verdict", claim.verdict)
        and claim.document == chosen.get("source", claim.document)
        for claim in ledger.claims
    )
    if not number:
        return "<td>0</td>"
    address = html.escape(urlencode(chosen))
    return f'<td><a href="#the-ledger" data-filter="{address}">{number}</a></td>'


def mistakes(ledger: Ledger, book: Book) -> str:
    """Return the list of the mistakes most worth remembering."""
    remembered = sorted((c for c in ledger.claims if c.remember), key=lambda c: c.remember)
    items = [
        f'<li><p class="ledger-belief">{text(c.claim)}</p><p>{verdict(c.verdict)} '
        f'{text(c.correction)} <a class="ledger-more" href="#{c.id.lower()}">{c.id}</a></p></li>'
        for c in remembered
    ]
    return f'<ol class="ledger-mistakes">{"".join(items)}</ol>'


def documents(ledger: Ledger, book: Book) -> str:
    """Return what is known of each document."""

    def entry(one: Document) -> str:
        facts = {"what it is": one.kind, "author": one.author, "date": one.date}
        said = "".join(f"<dt>{name}</dt><dd>{text(fact)}</dd>" for name, fact in facts.items())
        title = f'<span lang="zh">{html.escape(one.title)}</span>'
        return (
            f"<li><p><strong>{one.number}</strong> {title}<br>{text(one.title_in_english)}</p>"
            f"<dl>{said}</dl></li>"
        )

    return f'<ul class="ledger-documents">{"".join(map(entry, ledger.documents))}</ul>'


# ---- the ledger -------------------------------------------------------------------------------


def claims(ledger: Ledger, book: Book) -> str:
    """Return the filter and all claims."""
    rows = "".join(row(claim, book) for claim in ledger.claims)
    return (
        f'{_form(ledger, book)}<p class="ledger-none" hidden>No claim matches. '
        f"Fewer words, or another filter, will find some.</p>"
        f'<ol class="ledger-claims" role="list">{rows}</ol>'
    )


def row(claim: Claim, book: Book) -> str:
    """Return the HTML of one claim."""
    anchor = claim.id.lower()
    by = [book.link(claim.link)] if claim.link else []
    by += [name(claim.check)] if claim.check else []
    by += [book.citation(claim.citation)] if claim.citation else []
    by += [] if claim.is_decided else ["not decided yet"]
    correction = f"<p>{text(claim.correction)}</p>" if claim.correction else ""
    return (
        f'<li id="{anchor}" data-verdict="{claim.verdict}" data-chapter="{claim.chapter}">'
        f'<div><p class="ledger-where"><a href="#{anchor}">{claim.id}</a> {text(claim.where)}</p>'
        f"<p>{text(claim.claim)}</p></div>{verdict(claim.verdict)}"
        f'<div>{correction}<p class="ledger-by">{"<br>".join(by)}</p></div></li>'
    )


def _form(ledger: Ledger, book: Book) -> str:
    chapters = dict.fromkeys(claim.chapter for claim in ledger.claims if claim.chapter)
    choices = {
        "verdict": {name: name for name in VERDICTS},
        "source": {one.number: f"{one.number} {one.name}" for one in ledger.documents},
        "chapter": {name: book.title(name) for name in chapters},
    }
    selects = "".join(
        f'<label>{name}<select name="{name}"><option value="">all</option>'
        + "".join(
            f'<option value="{value}">{html.escape(words)}</option>'
            for value, words in options.items()
        )
        + "</select></label>"
        for name, options in choices.items()
    )
    return (
        f'<form class="ledger-form" role="search" aria-label="Filter the claims" hidden>{selects}'
        '<label>words<input type="search" name="words" autocomplete="off"></label>'
        '<output aria-live="polite"></output><button type="reset">Show all</button></form>'
    )


# ---- the systems ------------------------------------------------------------------------------


def systems(ledger: Ledger, book: Book) -> str:
    """Return all systems that the documents name."""

    def entry(one: System) -> str:
        by = [book.link(one.link)] if one.link else []
        by += [name(one.test)] if one.test else []
        return (
            f'<li><div><p><strong>{text(one.system)}</strong></p><p class="ledger-where">'
            f"{text(one.kind)}; {', '.join(one.documents)}</p></div>"
            f"<div><p>{text(one.said)}</p><p>{text(one.assessment)}</p></div>"
            f'<div><p>{text(one.runs)}</p><p class="ledger-by">{"<br>".join(by)}</p></div></li>'
        )

    head = (
        '<p class="ledger-head" aria-hidden="true"><span>system</span>'
        "<span>what the documents say; what is right</span><span>where it runs</span></p>"
    )
    rows = "".join(map(entry, ledger.systems))
    return f'{head}<ol class="ledger-systems" role="list">{rows}</ol>'


PARTS = {part.__name__: part for part in (counts, mistakes, documents, claims, systems)}


class LedgerPart(SphinxDirective):
    """`{ledger} PART`: one part of the ledger, by its name in `PARTS`."""

    required_arguments = 1

    def run(self):
        """Return the part as raw HTML; an error in the data is an error of the build."""
        if self.arguments[0] not in PARTS:
            names = ", ".join(PARTS)
            raise self.error(f"the ledger has the parts {names}, got {self.arguments[0]!r}")
        root = Path(self.env.srcdir)
        address = partial(self.env.app.builder.get_relative_uri, self.env.docname)
        book = Book(root, address, self.env.found_docs)
        try:
            ledger = read_ledger(root / FOLDER)
            markup = PARTS[self.arguments[0]](ledger, book)
        except ValueError as error:
            raise self.error(str(error)) from error
        chapters = {claim.chapter for claim in ledger.claims if claim.chapter}
        for path in [*(root / FOLDER).rglob("*.json"), *map(book.notebook, chapters)]:
            self.env.note_dependency(str(path))
        return [nodes.raw(text=markup, format="html")]


def _bring_files(app, page, template, context, doctree):
    if page in STYLED:
        app.add_css_file("ledger.css")
    if page == FILTERED:
        app.add_js_file("ledger.js", defer="defer")


def setup(app):
    """Register the extension with Sphinx."""
    app.add_directive("ledger", LedgerPart)
    app.connect("html-page-context", _bring_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
