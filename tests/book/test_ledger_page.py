"""The ledger's pages as HTML: what is said of a claim, and which files they bring."""

from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup
from claims import APPENDIX
from toc import FILES, PAGES, ROOT

from ropebook import ledger_page
from ropebook.ledger import Claim, System, read_ledger

LEDGER = read_ledger(APPENDIX)
CLAIM = Claim(
    "S003-6",
    "1 Proof (证明)",
    "The angle is `a < b`.",
    "identity",
    "false",
    correction="It is θ_i = b^(−2i/d).",
    check="test_it_turns",
    citation="su2021, section 3.2",
    link="distance#the-base",
)


@pytest.fixture(scope="module")
def book():
    return ledger_page.Book(ROOT, lambda name: f"../../{name}.html", FILES)


def parsed(markup):
    return BeautifulSoup(markup, "html.parser")


def test_a_row_says_what_is_claimed_what_is_right_and_what_decides_it(book):
    row = parsed(ledger_page.row(CLAIM, book)).li
    assert (row["id"], row["data-verdict"], row["data-chapter"]) == ("s003-6", "false", "distance")
    said, verdict, right = row.find_all(recursive=False)
    assert said.get_text() == "S003-6 1 Proof (证明)The angle is a < b."
    assert said.a["href"] == "#s003-6"
    assert [span.get_text() for span in said.select("[lang=zh]")] == ["证明"]
    assert verdict.get_text() == "false"
    assert right.p.decode_contents() == "It is θ<sub>i</sub> = b<sup>−2i/d</sup>."
    place, paper = right.find_all("a")
    assert place["href"] == "../../book/rope/distance.html#the-base"
    assert place.get_text().endswith("· The base")
    assert paper.get_text() == "Su et al. 2021" and paper["href"].startswith("https://")
    assert right.code.get_text() == "test_it_turns"
    assert "not decided" not in row.get_text()


def test_a_claim_that_nothing_decides_says_so(book):
    bare = Claim("S003-1", "1", "It turns.", "code", "true")
    assert "not decided yet" in parsed(ledger_page.row(bare, book)).get_text()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"link": "distance#no-such-heading"}, "the book has no place 'distance#no-such-heading'"),
        ({"link": "no_such_chapter"}, "the book has no place 'no_such_chapter'"),
        ({"citation": "nobody1900, page 1"}, r"references\.bib has no entry 'nobody1900'"),
    ],
)
def test_what_leads_nowhere_is_refused(book, wrong, words):
    claim = Claim(**{**vars(CLAIM), **wrong})
    with pytest.raises(ValueError, match=words):
        ledger_page.row(claim, book)


@pytest.mark.parametrize(
    ("words", "markup"),
    [
        ("x_m^T", "x<sub>m</sub><sup>T</sup>"),
        ("x_{2i}, 2^{k}", "x<sub>2i</sub>, 2<sup>k</sup>"),
        ("max_positions", "max_positions"),
        ("`x_m`", "<code>x_m</code>"),
        ("a < b & c", "a &lt; b &amp; c"),
        ("为什么选择在 Attention", '<span lang="zh">为什么选择在</span> Attention'),
    ],
)
def test_words_are_set_as_they_are_read(words, markup):
    assert ledger_page.text(words) == markup


def test_a_document_says_itself_who_wrote_it(book):
    assert book.citation("itself, afterword") == "the document itself, afterword"


def test_counts_add_up(book):
    table = parsed(ledger_page.counts(LEDGER, book))
    rows = [[int(cell.get_text()) for cell in row.find_all("td")] for row in table.select("tr")[1:]]
    *documents, total = rows
    assert [sum(column) for column in zip(*documents, strict=True)] == total
    assert all(sum(row[:-1]) == row[-1] for row in rows) and total[-1] == 282
    chosen = {link["data-filter"] for link in table.find_all("a")}
    assert {"source=004&verdict=false", "verdict=true", "source=003"} <= chosen


def test_systems_say_where_they_run(book):
    system = System("PaLM", ["000"], "model", "Turns.", "Right.", "One layer.", test="tests/a/b.py")
    ledger = SimpleNamespace(systems=[system])
    (row,) = parsed(ledger_page.systems(ledger, book)).select("li")
    assert [part.get_text() for part in row.find_all("div")] == [
        "PaLMmodel; 000",
        "Turns.Right.",
        "One layer.tests/a/b.py",
    ]


CLAIMS, SYSTEMS = "book/appendix/sources.html", "book/appendix/systems.html"


@pytest.mark.parametrize(
    ("file", "pages"), [("ledger.js", (CLAIMS,)), ("ledger.css", (CLAIMS, SYSTEMS))]
)
def test_only_the_ledger_brings_its_script_and_style(built_book, file, pages):
    address = f"_static/{file}"
    brought = [name for name in PAGES if address in (built_book / name).read_text("utf-8")]
    assert brought == [*pages]


@pytest.mark.parametrize("page", [CLAIMS])
def test_the_ledger_weighs_no_more_than_a_chapter(built_book, page):
    files = [page, "_static/ledger.js", "_static/ledger.css"]
    assert sum((built_book / name).stat().st_size for name in files) < 300_000
