"""The minutes that pages state are those that their sources take."""

import json
import re
from collections import Counter

import pytest
from toc import NOTEBOOKS, ROOT

from ropebook import reading
from ropebook.reading import count_code, count_prose, read

# Pages whose head has the older form still. Nothing may be added; in the end the set is empty.
STILL_OLD = {
    "book/foundations/absolute.ipynb",
    "book/foundations/relative.ipynb",
    "book/rope/inside_attention.ipynb",
    "book/rope/distance.ipynb",
}
HOURS = {"two and a half": 2.5, "three": 3, "three and a half": 3.5, "four": 4}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_chapter_states_the_minutes_that_it_takes(name):
    stated = reading.stated(ROOT / name)
    if stated is None and name in STILL_OLD:
        return
    assert stated == read(ROOT / name).line


def test_the_landing_page_states_the_sum_of_the_road():
    road = next(iter(reading.pages().values()))
    text = (ROOT / "book/index.md").read_text("utf-8")
    stated = re.search(rf"about ({'|'.join(sorted(HOURS, key=len, reverse=True))}) hours", text)
    assert stated, f"book/index.md must say how long the road is, one of {list(HOURS)}"
    minutes = sum(read(path).minutes[0] for path in road)
    assert abs(minutes - 60 * HOURS[stated[1]]) <= 20, f"the road takes {minutes:.0f} minutes"


# What the student's six pages held, at the commit that `CLOCKED` names: all open, all code shown.
HELD = {
    "foundations/why_positions": (3260, 78, 12, 87, 2, 1, 6),
    "foundations/absolute": (4509, 208, 15, 228, 3, 1, 7),
    "foundations/relative": (3929, 128, 21, 202, 4, 1, 7),
    "foundations/complex_numbers": (2863, 221, 23, 126, 2, 1, 6),
    "rope/two_dimensions": (3630, 230, 18, 166, 3, 2, 6),
    "rope/many_dimensions": (3938, 200, 15, 217, 2, 2, 7),
}
PARTS = (
    *("words", "inline formulas", "displayed lines", "code lines"),
    *("figures", "widgets", "kernel exercises"),
)


@pytest.mark.parametrize("page", reading.CLOCKED)
def test_the_rates_meet_what_a_student_took(page):
    took = reading.minutes(Counter(dict(zip(PARTS, HELD[page], strict=True))))
    assert 1 / 1.3 <= took / reading.CLOCKED[page] <= 1.3


# What was open on the road's pages, at the commit that `ROAD_CLOCKED` names; of the last, the folds
# too, which ask to be opened.
OPEN = {
    "foundations/why_positions": "1019 8 1 16 2 0 2 1 1 4 0 1",
    "foundations/complex_numbers": "723 58 7 9 4 0 1 1 1 4 1 1",
    "rope/two_dimensions": "757 38 2 7 4 1 1 1 1 4 1 1",
    "rope/many_dimensions": "899 14 2 8 4 0 2 1 2 3 1 2",
    "rope/implementations": "711 39 0 14 2 1 2 1 1 3 1 1",
    "rope/checks": "667 0 0 23 0 2 1 1 1 3 1 1",
    "next": "560 0 0 0 0 0 0 0 0 0 0 0",
}


def test_the_rates_meet_what_a_student_took_on_the_road():
    kinds = [name for name in reading.RATES if name != "kernel exercises"]
    held = {
        page: Counter(dict(zip(kinds, map(int, counts.split()), strict=True)))
        for page, counts in OPEN.items()
    }
    took = {page: reading.minutes(counts) for page, counts in held.items()}
    assert took.keys() == reading.ROAD_CLOCKED.keys()
    for page, needed in reading.ROAD_CLOCKED.items():
        assert 1 / 1.2 <= took[page] / needed <= 1.2, page
    assert abs(sum(took.values()) / sum(reading.ROAD_CLOCKED.values()) - 1) <= 0.02


def test_the_road_takes_three_hours():
    road = next(iter(reading.pages().values()))
    assert 180 <= sum(read(path).minutes[0] for path in road) <= 190
    assert all(reading.stated(path) == read(path).line for path in road)


def notebook(tmp_path, *cells):
    path = tmp_path / "page.ipynb"
    cells = [
        {"cell_type": kind, "source": source, "metadata": {"tags": tags}}
        for kind, source, *tags in cells
    ]
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    return path


def test_what_is_under_a_fold_is_counted_apart(tmp_path):
    path = notebook(
        tmp_path,
        ("markdown", "# A title\n\none two"),
        ("markdown", "## Deep water\n\nthree", "deeper"),
        ("markdown", "### Deeper still\n\nfour"),
        ("markdown", "five\n\n## Open again\n\nsix"),
        ("markdown", "### Down\n\nseven", "deeper"),
        ("markdown", "### Up\n\neight"),
    )
    times = read(path)
    assert times.open["words"] == 4 + 3 + 2
    assert times.deeper["words"] == 3 + 3 + 1 + 2


def test_pages_of_markdown_are_read_too(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(
        "---\nkernelspec: python3\n---\n# One\n\ntwo\n\n```{code-cell} python3\n"
        ":tags: [remove-input]\n\nfrom ropebook.widgets import RotationExplorer\n\n"
        "RotationExplorer()\n```\n\nthree\n",
        encoding="utf-8",
    )
    assert read(path).open == Counter(words=3, widgets=1)
    path.write_text(
        "# One\n\n{#name .deeper}\n### Two\n\nthree\n\n## Four\n\nfive\n", encoding="utf-8"
    )
    times = read(path)
    assert (times.open, times.deeper) == (Counter(words=3), Counter(words=2))


def test_prose_is_counted_without_code_formulas_and_addresses():
    text = "Say *it*:\n```python\nnot this\n```\n[a link](not/this.md), $x + y$ and `inv_freq`"
    text += " <!-- no -->"
    assert count_prose(text) == Counter({"words": 6, "inline formulas": 1})
    shown = "$$\na &= b \\\\\n&= c\n$$\n\\begin{align*}a\\\\b\\\\c\\end{align*}"
    assert count_prose(shown) == Counter({"displayed lines": 5})


@pytest.mark.parametrize(
    ("source", "counts"),
    [
        ("figures.describe(figure, alt='a', caption='c')", {"figures": 1}),
        ("finish(figure, alt='a', caption='c').update_layout(height=3)", {"figures": 1}),
        ("figure = finish(figure)", {}),
        ("tables.table(rows, header=head)", {"tables": 1}),
        ('here("turn")', {"heads": 1}),
        ("RotationExplorer(theta=1.0)", {"widgets": 1}),
        ('ScoreBuilder(task="peak")', {"widgets": 1, "tasks": 1}),
        ("x = RotationExplorer()", {}),
        ("", {}),
    ],
)
def test_a_cell_counts_for_what_it_shows(source, counts):
    assert count_code(source, {"hide-input"}) == Counter(counts)
    assert count_code(source, {"remove-cell"}) == Counter()


def test_what_asks_for_something_to_be_done_is_counted_by_its_kind(monkeypatch):
    from ropebook.exercises.definitions import Answer, Bet, FillIn, Task

    kinds = {"b": Bet, "a": Answer, "f": FillIn, "t": Task}
    made = {name: kind.__new__(kind) for name, kind in kinds.items()}
    monkeypatch.setattr(reading, "DEFINITIONS", made)
    found = sum((count_code(f'ask("{name}")', {"remove-input"}) for name in kinds), Counter())
    assert found == Counter({"bets": 1, "answers": 1, "fill-ins": 1, "tasks": 1})
    assert count_code("check('x', ...)", {"exercise"}) == Counter({"kernel exercises": 1})
    assert count_code("@solution_of('x')\ndef _(): ...", {"solution", "hide-cell"}) == Counter()


def test_code_counts_where_it_is_the_lesson():
    code = "a = 1\n\nb = 2"
    assert count_code(code, {"lesson"}) == Counter({"code lines": 2})
    assert count_code(code, set()) == Counter()
    assert count_code(code, set(), all_code=True) == Counter({"code lines": 2})
    assert count_code(code, {"hide-input"}, all_code=True) == Counter()


def test_a_line_says_both_times_and_only_this_form_is_read(tmp_path):
    times = reading.Times(open=Counter(words=1_760), deeper=Counter(words=3_280))
    assert times.line == '**Time:** about 20 minutes, and 40 more under "Deeper".'
    assert reading.Times(open=Counter(words=10)).line == "**Time:** about 5 minutes."
    path = notebook(tmp_path, ("markdown", f"# T\n\n{times.line}"))
    assert reading.stated(path) == times.line
    old = notebook(tmp_path, ("markdown", "# T\n\n**Time:** about 90 minutes with the exercises."))
    assert reading.stated(old) is None


def test_a_count_without_a_rate_is_refused():
    with pytest.raises(ValueError, match=r"must have names of RATES, got \['poems'\]"):
        reading.minutes(Counter(poems=1))


def test_the_command_says_the_time_of_pages_and_parts(capsys, tmp_path):
    reading.main([])
    told = capsys.readouterr().out
    assert "The road" in told and "two_dimensions" in told
    reading.main([str(notebook(tmp_path, ("markdown", "# T\n\n" + "word " * 800))), "--parts"])
    told = capsys.readouterr().out
    assert "must say: **Time:** about 10 minutes." in told and "words" in told


def test_the_command_corrects_what_pages_state_and_nothing_else(tmp_path, capsys):
    old = '**Time:** about 95 minutes, and 10 more under "Deeper".'
    path = notebook(tmp_path, ("markdown", f"# T\n\n{old}\n\n" + "word " * 800), ("code", "1"))
    before = path.read_text("utf-8")
    reading.main([str(path), "--write"])
    assert "must say" not in capsys.readouterr().out
    assert reading.stated(path) == "**Time:** about 10 minutes."
    changed = before.replace(json.dumps(old)[1:-1], "**Time:** about 10 minutes.")
    assert path.read_text("utf-8") == changed
