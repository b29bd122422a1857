"""Every chapter: runs in time and offline, keeps its form, and its exercises are sound."""

import json
import re

import nbformat
import pytest
from toc import NOTEBOOKS, ROOT, TEXT_NOTEBOOKS

HIDDEN = {"remove-cell", "remove-input", "hide-input", "hide-cell"}
NETWORK = re.compile(
    r"\b(?:pip|conda|apt(?:-get)?) install\b|^\s*[!%]|\b(?:wget|curl)\b"
    r"|\bimport (?:requests|httpx|aiohttp|urllib|socket|http\.client)\b"
    r"|\bfrom (?:requests|httpx|aiohttp|urllib|socket|http)\b"
    r"|\burlopen\(|\bfrom_pretrained\(|\bhf_hub_download\(|\bload_dataset\(|\btorch\.hub\b",
    re.MULTILINE,
)
CHECKED = re.compile(r"""\bcheck\(\s*(["'])(.+?)\1""")


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


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_is_kept_without_outputs(name):
    notebook = read(ROOT / name)
    assert "widgets" not in notebook.metadata
    for number, cell in enumerate(code_cells(notebook)):
        assert cell.outputs == [], f"code cell {number}"
        assert cell.execution_count is None, f"code cell {number}"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_is_valid_and_its_cells_have_names(name):
    notebook = read(ROOT / name)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) >= (4, 5), "cells have ids since 4.5"
    # Not from nbformat, which quietly renames one of two cells with the same id.
    names = [cell["id"] for cell in json.loads((ROOT / name).read_text("utf-8"))["cells"]]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_has_one_title_and_begins_with_it(name):
    cells = [cell for cell in read(ROOT / name).cells if cell.cell_type == "markdown"]
    titles = [title for cell in cells for title in headings(cell.source)]
    assert len(titles) == 1, titles
    assert cells[0].source.startswith(titles[0])


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_visible_code_cells_are_short(name):
    for cell in code_cells(read(ROOT / name)):
        if not HIDDEN & tags(cell):
            assert len(cell.source.splitlines()) <= 25, cell.source


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_cell_installs_or_downloads(name):
    for cell in code_cells(read(ROOT / name)):
        found = NETWORK.search(cell.source)
        assert found is None, f"{found[0]!r} in\n{cell.source}"


# ---- runs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs_offline_from_top_to_bottom(ran, name):
    if ran(name).problem:
        pytest.fail(ran(name).problem, pytrace=False)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs_within_a_minute_of_one_core(ran, name):
    # Of the processor's time, which does not grow when the machine is busy with other things.
    assert ran(name).seconds <= 60


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_running_leaves_no_error_and_nothing_on_standard_error(ran, name):
    for cell in code_cells(read(ran(name).path)):
        for output in cell.outputs:
            assert output.output_type != "error", output.get("evalue")
            assert output.get("name") != "stderr", f"{output.get('text')}\nfrom\n{cell.source}"


# ---- exercises --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_stub_is_open_and_every_solution_right(ran, name):
    notebook = read(ran(name).path)
    for cell in code_cells(notebook, "exercise"):
        assert verdicts(cell) == ["open"], cell.source
    for cell in code_cells(notebook, "solution"):
        assert verdicts(cell) == ["right"], cell.source


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_exercise_is_followed_by_its_folded_solution(name):
    notebook = read(ROOT / name)
    asked = [CHECKED.search(cell.source)[2] for cell in code_cells(notebook, "exercise")]
    solved = [CHECKED.search(cell.source)[2] for cell in code_cells(notebook, "solution")]
    assert asked == solved
    for cell in code_cells(notebook, "solution"):
        assert "hide-cell" in tags(cell)
        assert cell.metadata.jupyter == {"source_hidden": True, "outputs_hidden": True}
    untagged = [cell for cell in code_cells(notebook) if not {"exercise", "solution"} & tags(cell)]
    assert not [cell.source for cell in untagged if CHECKED.search(cell.source)]


def test_every_checker_is_used_by_a_chapter():
    from ropelib.exercises.base import CHECKERS

    used = [
        CHECKED.search(cell.source)[2]
        for name in NOTEBOOKS
        for cell in code_cells(read(ROOT / name), "exercise")
    ]
    assert sorted(used) == sorted(CHECKERS), "each exercise stands once in the book"


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
