"""The ledger of the sources holds what it says: checks that are there, places that exist."""

import ast
import json
import re
from collections import Counter

import pytest
from claims import APPENDIX, checks
from docutils.nodes import make_id
from toc import FILES, ROOT

from ropebook.ledger import ITSELF, MISTAKES, VERDICTS, read_ledger, undecided

LEDGER = read_ledger(APPENDIX)
CHECKS = checks()


def headings_of(chapter):
    """The addresses of a chapter's headings, as the built page has them; None if it has no page."""
    found = [ROOT / f"{file}.ipynb" for file in FILES if file.endswith(f"/{chapter}")]
    if not (found and found[0].exists()):
        return None
    cells = json.loads(found[0].read_text("utf-8"))["cells"]
    text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return {make_id(title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


def test_each_document_has_its_claims():
    counts = Counter(claim.document for claim in LEDGER.claims)
    assert counts == {"000": 83, "001": 89, "002": 47, "003": 15, "004": 48}
    assert {document.number for document in LEDGER.documents} == set(counts)


def test_every_claim_is_decided():
    assert undecided(LEDGER.claims) == []


def test_a_claim_and_its_check_name_each_other():
    said_here = {(claim.id, claim.check) for claim in LEDGER.claims if claim.check}
    said_there = {(name, check.name) for check in CHECKS for name in check.claims}
    assert said_here - said_there == set(), "no test of tests/claims is marked with these claims"
    assert said_there - said_here == set(), "the ledger names no such check for these claims"


def test_the_name_of_a_check_is_that_of_one_test():
    assert [
        name for name, count in Counter(check.name for check in CHECKS).items() if count > 1
    ] == []


def test_no_check_is_skipped_or_expected_to_fail():
    for check in CHECKS:
        if check.claims:
            assert not [mark for mark in check.marks if re.search("skip|xfail", mark)], check


def test_a_mark_is_one_the_ledger_reads():
    """It stands at a test of `tests/claims`, at the top of its file."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        marks = [
            ast.unparse(mark.func)
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            for mark in getattr(node, "decorator_list", ())
            if isinstance(mark, ast.Call)
        ]
        read = [check for check in CHECKS if check.claims and check.file == path.name]
        assert marks.count("decides") == len(read), path


LINKS = {one.id: one.link for one in LEDGER.claims if one.link}
LINKS |= {one.system: one.link for one in LEDGER.systems if one.link}


@pytest.mark.parametrize("chapter", sorted({link.partition("#")[0] for link in LINKS.values()}))
def test_links_lead_to_headings(chapter):
    headings = headings_of(chapter)
    assert headings is not None, f"there is no chapter {chapter!r}"
    links = {name: link.split("#") for name, link in LINKS.items()}
    places = {name: rest for name, (start, *rest) in links.items() if start == chapter}
    assert {name: rest for name, rest in places.items() if not headings.issuperset(rest)} == {}


def test_citations_name_entries_of_the_bibliography():
    keys = set(
        re.findall(r"^@\w+\{(\w+),", (ROOT / "book/references.bib").read_text("utf-8"), re.M)
    )
    used = {one.id: one.citation.partition(",")[0] for one in LEDGER.claims if one.citation}
    assert {name: key for name, key in used.items() if key not in keys | {ITSELF}} == {}


def test_twenty_mistakes_are_remembered():
    places = sorted(claim.remember for claim in LEDGER.claims if claim.remember)
    assert places == [*range(1, MISTAKES + 1)]
    assert all(claim.verdict in VERDICTS[1:] for claim in LEDGER.claims if claim.remember)


def test_every_system_has_its_row():
    assert len(LEDGER.systems) == len({one.system for one in LEDGER.systems}) == 45
    assert {one.kind for one in LEDGER.systems if not one.test} == {"provenance"}


@pytest.mark.parametrize(
    "system", [one for one in LEDGER.systems if one.test], ids=lambda one: one.system
)
def test_the_test_that_runs_a_system_exists(system):
    file, name = system.test.split("::")
    body = ast.parse((ROOT / file).read_text("utf-8")).body
    assert name in {node.name for node in body if isinstance(node, ast.FunctionDef)}
