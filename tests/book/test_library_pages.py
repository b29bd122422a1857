"""The library's pages: one per module, examples that run, and a table that leaves nothing out."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

import ropelib

ROOT = Path(__file__).parents[2]
OVERVIEW = ROOT / "book" / "api.md"
PAGES = sorted((ROOT / "book" / "library").glob("*.md"))
DOCUMENTED = re.compile(r"^\.\. automodule:: (\S+)\n   :members: (.*)$", re.MULTILINE)
SUMMED_UP = re.compile(
    r"^\.\. currentmodule:: (\S+)\n\n\.\. autosummary::\n   :nosignatures:\n\n((?:   \w+\n)+)",
    re.MULTILINE,
)


def documented(page):
    """Module -> names that a page documents."""
    found = DOCUMENTED.findall(page.read_text("utf-8"))
    return {module: names.split(", ") for module, names in found}


ALL = {
    (module, name) for page in PAGES for module, names in documented(page).items() for name in names
}


@pytest.mark.parametrize("page", [OVERVIEW, *PAGES], ids=lambda page: page.stem)
def test_examples_of_the_library_s_pages_run(page):
    text = page.read_text("utf-8")
    examples = "\n".join(re.findall(r"^```pycon\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    parsed = doctest.DocTestParser().get_doctest(examples, {}, page.stem, str(page), 0)
    assert parsed.examples, "a page begins with an example"
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.DocTestRunner(optionflags=options).run(parsed).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_s_table_has_what_it_documents(page):
    text = page.read_text("utf-8")
    tables = {module: names.split() for module, names in SUMMED_UP.findall(text)}
    assert tables == documented(page) != {}
    assert text.index("```pycon") < text.index("```{eval-rst}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_overview_names_every_function_of_a_page(page):
    rows = [
        row for row in OVERVIEW.read_text("utf-8").splitlines() if f"library/{page.name}" in row
    ]
    (row,) = rows
    assert re.findall(r"`(\w+)`", row) == [n for names in documented(page).values() for n in names]


def test_every_public_name_has_its_page():
    objects = {getattr(importlib.import_module(module), name) for module, name in ALL}
    public = {name: getattr(ropelib, name) for name in ropelib.__all__}
    missing = [n for n, v in public.items() if not inspect.ismodule(v) and v not in objects]
    assert missing == []
