"""Every chapter: runs in time and offline, keeps its form, and its exercises are sound."""

import ast
import dis
import json
import re

import nbformat
import pytest
from nbclient import NotebookClient
from toc import NOTEBOOKS, ROOT, TEXT_NOTEBOOKS

TEMPLATE = "tests/book/template/chapter.ipynb"  # what a new chapter begins as
CHAPTERS = [*NOTEBOOKS, TEMPLATE]
HIDDEN = {"remove-cell", "remove-input", "hide-input", "hide-cell"}
NETWORK = re.compile(
    r"\b(?:pip|conda|apt(?:-get)?) install\b|^\s*[!%]|\b(?:wget|curl)\b"
    r"|\bimport (?:requests|httpx|aiohttp|urllib|socket|http\.client)\b"
    r"|\bfrom (?:requests|httpx|aiohttp|urllib|socket|http)\b"
    r"|\burlopen\(|\bfrom_pretrained\(|\bhf_hub_download\(|\bload_dataset\(|\btorch\.hub\b",
    re.MULTILINE,
)
CHECKED = re.compile(r"""\b(?:check|solution_of)\(\s*(["'])(.+?)\1""")
ASKED = re.compile(r"""\b(?:ask\(|task=)\s*(["'])(.+?)\1""")
VARIABLE = "ROPELIB_RUN_SOLUTIONS"  # under it solutions are checked at once
FOLDED = "# Solution: open this cell when you have tried."  # a folded cell shows its first line


def read(path):
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def tags(cell):
    return set(cell.metadata.get("tags", []))


def code_cells(notebook, tag=None):
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [cell for cell in cells if tag is None or tag in tags(cell)]


def headings(text):
    """Lines of Markdown that are first-level headings, fenced code left out."""
    prose = re.sub(r"^(`{3,}|~{3,}).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"^# .+$", prose, re.MULTILINE)


def verdicts(cell):
    """The kinds of verdict that a cell's outputs show."""
    html = "".join(str(output.get("data", {}).get("text/html", "")) for output in cell.outputs)
    return re.findall(r"rope-verdict-(\w+)", html)


# ---- form, as git keeps it --------------------------------------------------------------------


def test_every_notebook_stands_in_the_table_of_contents():
    written = {str(path.relative_to(ROOT)) for path in (ROOT / "book").rglob("*.ipynb")}
    written = {path for path in written if ".ipynb_checkpoints" not in path}
    assert written == set(NOTEBOOKS)


@pytest.mark.parametrize("name", CHAPTERS)
def test_notebook_is_kept_without_outputs(name):
    notebook = read(ROOT / name)
    assert "widgets" not in notebook.metadata
    for number, cell in enumerate(code_cells(notebook)):
        assert cell.outputs == [], f"code cell {number}"
        assert cell.execution_count is None, f"code cell {number}"


@pytest.mark.parametrize("name", CHAPTERS)
def test_notebook_is_valid_and_its_cells_have_names(name):
    notebook = read(ROOT / name)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) >= (4, 5), "cells have ids since 4.5"
    # Not from nbformat, which quietly renames one of two cells with the same id.
    names = [cell["id"] for cell in json.loads((ROOT / name).read_text("utf-8"))["cells"]]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", CHAPTERS)
def test_notebook_has_one_title_and_begins_with_it(name):
    cells = [cell for cell in read(ROOT / name).cells if cell.cell_type == "markdown"]
    titles = [title for cell in cells for title in headings(cell.source)]
    assert len(titles) == 1, titles
    assert cells[0].source.startswith(titles[0])


@pytest.mark.parametrize("name", CHAPTERS)
def test_visible_code_cells_are_short(name):
    for cell in code_cells(read(ROOT / name)):
        if not HIDDEN & tags(cell):
            assert len(cell.source.splitlines()) <= 25, cell.source


@pytest.mark.parametrize("name", CHAPTERS)
def test_no_cell_installs_or_downloads(name):
    for cell in code_cells(read(ROOT / name)):
        found = NETWORK.search(cell.source)
        assert found is None, f"{found[0]!r} in\n{cell.source}"


# ---- runs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHAPTERS)
def test_notebook_runs_offline_from_top_to_bottom(ran, name):
    if ran(name).problem:
        pytest.fail(ran(name).problem, pytrace=False)


@pytest.mark.parametrize("name", CHAPTERS)
def test_notebook_runs_within_a_minute_of_one_core(ran, name):
    # Of the processor's time, which does not grow when the machine is busy with other things.
    assert ran(name).seconds <= 60


@pytest.mark.parametrize("name", CHAPTERS)
def test_running_leaves_no_error_and_nothing_on_standard_error(ran, name):
    for cell in code_cells(read(ran(name).path)):
        for output in cell.outputs:
            assert output.output_type != "error", output.get("evalue")
            assert output.get("name") != "stderr", f"{output.get('text')}\nfrom\n{cell.source}"


# ---- exercises --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_stub_is_open_and_every_solution_right(ran, name):
    notebook = read(ran(name).path)
    for cell in code_cells(notebook, "exercise"):
        assert verdicts(cell) == ["open"], cell.source
    for cell in code_cells(notebook, "solution"):
        assert verdicts(cell) == ["right"], cell.source


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_exercise_is_followed_by_its_folded_solution(name):
    notebook = read(ROOT / name)
    asked = [CHECKED.search(cell.source)[2] for cell in code_cells(notebook, "exercise")]
    solved = [CHECKED.search(cell.source)[2] for cell in code_cells(notebook, "solution")]
    assert asked == solved
    for cell in code_cells(notebook, "solution"):
        assert "hide-cell" in tags(cell)
    untagged = [cell for cell in code_cells(notebook) if not {"exercise", "solution"} & tags(cell)]
    assert not [cell.source for cell in untagged if CHECKED.search(cell.source)]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_solution_gives_nothing_away_while_it_is_folded_and_is_one_function(name):
    for cell in code_cells(read(ROOT / name), "solution"):
        assert cell.source.splitlines()[0] == FOLDED
        (function,) = ast.parse(cell.source).body
        assert isinstance(function, ast.FunctionDef), cell.source
        (decorator,) = function.decorator_list
        assert decorator.func.id == "solution_of"


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_stub_takes_no_name_of_its_chapter(name):
    notebook = read(ROOT / name)
    stubs = code_cells(notebook, "exercise")
    asked = {name for cell in stubs for name in assigned(cell)}
    others = [cell for cell in code_cells(notebook) if not {"exercise", "solution"} & tags(cell)]
    assert not asked & {name for cell in others for name in assigned(cell)}


def assigned(cell):
    """The names that a cell gives a meaning to in its notebook."""
    code = compile(cell.source, "cell", "exec")
    return {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_NAME"}


@pytest.mark.parametrize("name", CHAPTERS)
def test_what_the_page_folds_is_folded_in_jupyterlab(name):
    for cell in code_cells(read(ROOT / name)):
        source = {"hide-input", "hide-cell", "remove-input", "remove-cell"} & tags(cell)
        outputs = {"hide-output", "hide-cell", "remove-output", "remove-cell"} & tags(cell)
        folded = {"source_hidden": True} if source else {}
        if outputs and "solution" not in tags(cell):  # who runs a solution wants to see its verdict
            folded["outputs_hidden"] = True
        assert cell.metadata.get("jupyter", {}) == folded, cell.source


@pytest.mark.notebook
def test_run_all_answers_no_exercise_and_takes_no_name(offline_environment, tmp_path):
    """As a reader's JupyterLab runs a chapter; the solutions of this one use two of its names."""
    notebook = read(ROOT / "book/foundations/complex_numbers.ipynb")
    look = nbformat.v4.new_code_cell("names_before = dict(globals())")
    compare = nbformat.v4.new_code_cell(
        "print(sorted(name for name, value in globals().items() if name[0] != '_'"
        " and name != 'names_before' and names_before.get(name) is not value))"
    )
    for cell in code_cells(notebook, "solution"):
        at = notebook.cells.index(cell)
        notebook.cells[at : at + 1] = [look.copy(), cell, compare.copy()]
    # IPython stops keeping the last output in _ once that name has a meaning, as in this chapter.
    again = ["del _", cell.source, "6 * 7", "assert _ == 42"]
    notebook.cells += [nbformat.v4.new_code_cell(source) for source in again]
    environment = {name: value for name, value in offline_environment.items() if name != VARIABLE}
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    client.execute(env=environment)

    for cell in code_cells(notebook, "exercise"):
        assert "Not answered yet." in str(cell.outputs)
    for cell in code_cells(notebook, "solution"):
        assert verdicts(cell) == ["open"], cell.source
        assert "run this cell once more" in str(cell.outputs)
        after = notebook.cells[notebook.cells.index(cell) + 1]
        # A busy kernel sends what is printed in several pieces.
        assert "".join(part.text for part in after.outputs).strip() == "[]", cell.source


def test_every_checker_is_used_by_a_chapter():
    from ropebook.exercises.base import CHECKERS

    cells = [cell for name in NOTEBOOKS for cell in code_cells(read(ROOT / name))]
    sources = [*(cell.source for cell in cells), (ROOT / "book/index.md").read_text("utf-8")]
    asked = [match[2] for source in sources for match in ASKED.finditer(source)]
    stubs = [CHECKED.search(cell.source)[2] for cell in cells if "exercise" in tags(cell)]
    for names in (asked, stubs):
        assert sorted(names) == sorted(set(names)), "each exercise stands once in the book"
    assert {*asked, *stubs} == {*CHECKERS}


# ---- text notebooks run during the build ------------------------------------------------------


@pytest.mark.parametrize("name", TEXT_NOTEBOOKS)
def test_text_notebook_has_one_title(name):
    text = (ROOT / name).read_text("utf-8")
    assert len(headings(text)) == 1


@pytest.mark.parametrize("name", TEXT_NOTEBOOKS)
def test_text_notebook_was_run_by_the_build(built_book, name):
    page = (built_book / name).with_suffix(".html").read_text("utf-8")
    cells = (ROOT / name).read_text("utf-8").count("{code-cell}")
    assert page.count('class="cell docutils container"') + page.count("cell_output") >= cells
    assert "cell_output" in page
