"""A chapter's head and its parts stand in one order, which readers learn once."""

import ast
import re

import nbformat
import pytest
from toc import NOTEBOOKS, ROOT

from ropebook import reading
from ropebook.exercises.base import CHECKERS
from ropebook.exercises.definitions import DEFINITIONS

TEMPLATE = "tests/book/template/chapter.ipynb"
# A chapter whose head has the older form is read by test_reading_times.py's list alone.
CHAPTERS = [*(name for name in NOTEBOOKS if reading.stated(ROOT / name)), TEMPLATE]
SEEN_AT_ONCE = 12  # lines of code
LONGER = {"book/rope/checks.ipynb": 14}  # one function, to be pasted whole


@pytest.fixture(autouse=True)
def definitions():
    """The template's exercises, which are no part of the book, for as long as a test runs."""
    before = dict(DEFINITIONS), dict(CHECKERS)
    for cell in cells(TEMPLATE):
        if cell.cell_type == "code" and "define(" in cell.source:
            exec(compile(cell.source, TEMPLATE, "exec"), {})
    yield
    for table, kept in zip((DEFINITIONS, CHECKERS), before, strict=True):
        table.clear()
        table.update(kept)


def cells(name):
    """A chapter's cells, but for those that nobody sees."""
    notebook = nbformat.read(ROOT / name, as_version=nbformat.NO_CONVERT)
    return [cell for cell in notebook.cells if name == TEMPLATE or not gone(cell)]


def gone(cell):
    return "remove-cell" in tags(cell)


def tags(cell):
    return set(cell.metadata.get("tags", []))


def last_call(cell):
    """The name of the function that a cell's last line calls, and its first argument."""
    body = ast.parse(cell.source).body if cell.cell_type == "code" else []
    if not body or not isinstance(body[-1], ast.Expr) or not isinstance(body[-1].value, ast.Call):
        return None, None
    call = body[-1].value
    name = getattr(call.func, "id", getattr(call.func, "attr", None))
    return name, call.args[0].value if call.args and isinstance(
        call.args[0], ast.Constant
    ) else None


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_opens_with_question_time_picture_of_the_whole_and_bet(name):
    head, whole, bet = [cell for cell in cells(name) if not gone(cell)][:3]
    title, question, time = head.source.split("\n\n")[:3]
    assert re.match(r"# \S", title) and question.startswith("**The question.** ")
    assert time == reading.stated(ROOT / name)
    assert last_call(whole)[0] == "here" and "remove-input" in tags(whole)
    called, exercise = last_call(bet)
    assert called == "ask" and "remove-input" in tags(bet)
    assert DEFINITIONS[exercise].kind == "bet"


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_picture_follows_the_bet_before_the_first_section(name):
    shown = 0
    for cell in [cell for cell in cells(name) if not gone(cell)][3:]:
        if cell.cell_type == "markdown" and re.match("##+ ", cell.source):
            break
        if cell.cell_type == "code":
            counts = reading.count_code(cell.source, tags(cell))
            shown += counts["widgets"] + counts["figures"]
    assert shown


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_asks_for_one_bet_and_three_answers_at_least(name):
    times = reading.read(ROOT / name)
    counts = times.open + times.deeper
    assert counts["bets"] >= 1 and counts["answers"] >= 3, counts


@pytest.mark.parametrize("name", CHAPTERS)
def test_code_that_is_the_lesson_is_seen_at_once(name):
    for cell in cells(name):
        if "lesson" in tags(cell):
            lines = [line for line in cell.source.splitlines() if line.strip()]
            assert cell.cell_type == "code" and len(lines) <= LONGER.get(name, SEEN_AT_ONCE), (
                cell.source
            )


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_fold_begins_with_its_heading_and_is_folded_in_jupyterlab(name):
    for cell in cells(name):
        folded = cell.metadata.get("jp-MarkdownHeadingCollapsed", False)
        assert ("deeper" in tags(cell)) == bool(folded), cell.source
        if folded:
            assert cell.cell_type == "markdown" and re.match("##{1,2} ", cell.source), cell.source


@pytest.mark.parametrize("name", CHAPTERS)
def test_exercises_that_need_a_kernel_stand_last_under_a_fold(name):
    shown = cells(name)
    asked = [i for i, cell in enumerate(shown) if "exercise" in tags(cell)]
    if asked:
        folds = [
            i
            for i, cell in enumerate(shown)
            if re.match("##{1,2} With a kernel", cell.source) and "deeper" in tags(cell)
        ]
        assert folds and folds[0] < asked[0]


def test_the_template_states_the_minutes_that_it_takes():
    assert reading.stated(ROOT / TEMPLATE) == reading.read(ROOT / TEMPLATE).line
