"""Tables put digits under digits, and say with more than color what is the smallest."""

import re
from html.parser import HTMLParser

import pytest
import torch

from ropebook.tables import table, told

ROWS = [
    ("RoPE", told([1.0, 2.0, 3.0]), 461_312, None),
    ("ALiBi & co", told([4.0, 4.5, 5.0]), 7, 0.25),
    ("none", told([0.5, 0.5, 0.5]), -3, -0.125),
]
HEADER = ("encoding", "loss", "parameters", "`rest`")


class Cells(HTMLParser):
    """The cells of a table's HTML: (tag, attributes, text)."""

    def __init__(self, text):
        super().__init__()
        self.cells, self.open = [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag in ("td", "th"):
            self.cells.append([tag, dict(attrs), ""])
            self.open = tag

    def handle_endtag(self, tag):
        if tag == self.open:
            self.open = None

    def handle_data(self, data):
        if self.open:
            self.cells[-1][2] += data


def shown(*args, **kwargs):
    return table(*args, **kwargs)._repr_html_()


def test_told_is_a_text_and_a_number():
    mean = told(torch.tensor([-1.0, -2.0, -6.0]), 1)
    assert mean == "−3.0\u00a0±\u00a02.6"
    assert (mean.mean, round(mean.spread, 5)) == (-3.0, 2.64575)
    assert isinstance(mean, str)
    with pytest.raises(ValueError, match=r"at least two to have a spread, got \[1.0\]"):
        told([1.0])


def test_points_stand_under_each_other():
    lines = repr(table([("a", 1.5), ("b", 12), ("c", -0.125), ("d", None)], header=("n", "x")))
    lines = lines.splitlines()
    assert lines == ["n        x", "a   1.5", "b  12", "c  −0.125", "d        –"]
    cells = Cells(shown([("a", 1.5), ("b", 12), ("c", -0.125)], header=("n", "x"))).cells
    numbers = [text for tag, _, text in cells if tag == "td"]
    # Figure spaces are as wide as digits, punctuation spaces as points.
    assert numbers == ["1.5\u2007\u2007", "12\u2008\u2007\u2007\u2007", "−0.125"]


def test_columns_of_a_terminal_are_equally_wide():
    lines = repr(table(ROWS, header=HEADER, caption="The end.")).splitlines()
    assert lines[-1] == "The end."
    assert {line.index("±") for line in lines[1:4]} == {lines[1].index("±")}
    end = lines[0].index("parameters") + len("parameters")
    assert [line[:end].split()[-1] for line in lines[1:4]] == ["461,312", "7", "−3"]


def test_numbers_are_told_as_asked():
    cells = Cells(
        shown([("a", 0.5, 0.5), ("b", -2, 2)], header=("n", "x", "y"), formats={"x": "+.2f"})
    )
    texts = [text for tag, _, text in cells.cells if tag == "td"]
    assert texts[0] == "+0.50" and texts[2] == "−2.00"
    assert texts[1] == "0.5" and texts[3].rstrip("\u2007\u2008") == "2"


def test_what_is_no_plain_number_is_told_too():
    values = [
        ("a", float("inf")),
        ("b", float("nan")),
        ("c", 123456.7),
        ("d", "nowhere"),
        ("e", True),
    ]
    lines = repr(table(values, header=("n", "x"))).splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ["∞", "–", "123,457", "nowhere", "yes"]


def test_names_of_rows_and_columns_are_headers_and_text_is_escaped():
    text = shown(ROWS, header=HEADER, caption="a < b")
    cells = Cells(text).cells
    assert [attrs.get("scope") for tag, attrs, _ in cells if tag == "th"] == ["col"] * 4 + [
        "row"
    ] * 3
    assert "ALiBi &amp; co" in text and "a &lt; b" in text and "<code>rest</code>" in text


def test_an_extreme_is_marked_by_a_sign_a_word_and_bold_letters():
    marks = {"loss": "smallest", "parameters": "largest"}
    text = shown(ROWS, header=HEADER, marks=marks)
    chosen = [c for c in Cells(text).cells if "rope-table-chosen" in c[1].get("class", "")]
    assert [re.sub(r"\s", "", c[2]) for c in chosen] == ["461,312▴largest", "0.50±0.00▾smallest"]
    assert "▾&nbsp;smallest of its column." in text and "▴&nbsp;largest of its column." in text
    lines = repr(table(ROWS, header=HEADER, marks=marks)).splitlines()
    assert "▴" in lines[1] and "▾" in lines[3] and "▾" not in lines[1]
    tied = [("a", 1), ("b", 1), ("c", 2)]
    assert (
        shown(tied, header=("n", "x"), marks={"x": "smallest"}).count('aria-hidden="true">▾') == 2
    )


def test_bars_share_zero_and_scale():
    text = shown([("a", 2), ("b", -1), ("c", None), ("d", 0)], header=("n", "x"), bars=("x",))
    bars = re.findall(
        r'<i( class="rope-table-below")? style="left:([\d.]+)%;width:([\d.]+)%"', text
    )
    assert bars == [
        ("", "33.3", "66.7"),
        (' class="rope-table-below"', "0.0", "33.3"),
        ("", "33.3", "0.0"),
    ]
    text = shown([("a", 4), ("b", 3)], header=("n", "x"), bars=("x",))
    assert re.findall(r"left:([\d.]+)%;width:([\d.]+)%", text) == [
        ("0.0", "100.0"),
        ("0.0", "75.0"),
    ]


def test_a_table_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"a row must have 2 cells, got 1: \('a',\)"):
        table([("a",)], header=("n", "x"))
    with pytest.raises(ValueError, match="must have rows, got none"):
        table([], header=("n", "x"))
    for option in ({"formats": {"y": ".2f"}}, {"bars": ["y"]}, {"marks": {"y": "largest"}}):
        with pytest.raises(ValueError, match=r"must name columns, one of \('n', 'x'\), got 'y'"):
            table([("a", 1)], header=("n", "x"), **option)
        option = {name: {"n": "largest"} if name == "marks" else ["n"] for name in option}
        option = {
            name: {"n": ".2f"} if name == "formats" else value for name, value in option.items()
        }
        with pytest.raises(ValueError, match="must name a column of numbers, got 'n'"):
            table([("a", 1)], header=("n", "x"), **option)
    with pytest.raises(ValueError, match="a mark must be one of smallest, largest, got 'best'"):
        table([("a", 1)], header=("n", "x"), marks={"x": "best"})


def test_a_wide_table_scrolls_in_its_own_box(chromium):
    header = ("name", *(f"a column of number {i}" for i in range(9)))
    rows = [(f"row {i}", *(1000.5 * i + j for j in range(9))) for i in range(3)]
    tab = chromium.new_page(viewport={"width": 390, "height": 800})
    tab.set_content(f"<!doctype html>{shown(rows, header=header, bars=header[1:])}")
    page, box, wide, words = tab.evaluate("""() => {
      const box = document.querySelector(".rope-table-box");
      return [document.documentElement.scrollWidth, box.clientWidth, box.scrollWidth,
        [...document.querySelectorAll(".rope-table-number")]
          .map((node) => node.scrollWidth > node.clientWidth + 1)];
    }""")
    tab.close()
    assert page <= 390 and box <= 390 < wide
    assert not any(words)


def test_a_corner_without_a_name_is_no_header():
    shown = table([("a", 1.5)], header=("", "turns"))._repr_html_()
    assert "<td></td><th" in shown and shown.count('scope="col"') == 1
