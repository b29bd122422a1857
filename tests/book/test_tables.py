"""Tables put digits under digits, and say with more than color what is the smallest."""

import base64
import re
from html.parser import HTMLParser

import pytest
import torch
from toc import ROOT

from ropebook.site.cards import as_cards, words_of
from ropebook.tables import style, table, told

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


# ---- on a phone: rows of sentences as cards, columns of marks ----

SENTENCES = """<table class="table"><thead><tr class="row-odd"><th class="head"><p>what you
see</p></th><th class="head"><p>look &amp; first</p></th>
<th class="head"><p>seen in</p></th></tr></thead>
<tbody><tr class="row-even"><td><p>good up to some length, then not</p></td>
<td><p>speeds that were to be slowed, and were not</p></td>
<td><p><a href="#x">a project</a></p></td></tr>
<tr class="row-odd"><td><p>worse from the first word on, and everywhere</p></td>
<td><p>the seats of the pairs, or the direction</p></td>
<td><p>another one</p></td></tr></tbody></table>"""


def test_a_table_of_sentences_names_the_column_of_each_cell_and_stays_a_table_to_be_heard():
    cells = Cells(as_cards(f"<p>before</p>{SENTENCES}"))
    named = [attributes.get("data-label") for _, attributes, _ in cells.cells]
    columns = ["what you see", "look & first", "seen in"]
    assert named == [None] * 3 + columns * 2
    roles = [attributes["role"] for _, attributes, _ in cells.cells]
    assert roles == ["columnheader"] * 3 + ["cell"] * 6
    text = as_cards(SENTENCES)
    assert text.count('role="row"') == 3 and text.count('role="rowgroup"') == 2
    assert words_of(text) == words_of(SENTENCES)


def test_tables_of_few_words_or_of_numbers_stay_tables():
    two = SENTENCES.replace('<th class="head"><p>seen in</p></th>', "")
    short = SENTENCES.replace("speeds that were to be slowed, and were not", "a").replace(
        "the seats of the pairs, or the direction", "b"
    )
    numbers = shown([("a name of many, many words " * 3, 1.5, 2)], header=("n", "x", "y"))
    for markup in (two, short, numbers, "<p>no table</p>"):
        assert as_cards(markup) == markup


@pytest.mark.parametrize("width", [390, 340])
def test_on_a_phone_cards_are_as_wide_as_the_page_and_say_their_columns(chromium, width):
    tab = chromium.new_page(viewport={"width": width, "height": 800})
    box = f'<div class="pst-scrollable-table-container">{as_cards(SENTENCES)}</div>'
    tab.set_content(f"<!doctype html><style>{style()}</style>{box}")
    beyond, widths, labels = tab.evaluate("""() => {
      const cells = [...document.querySelectorAll("tbody td")];
      const box = document.querySelector(".pst-scrollable-table-container");
      return [box.scrollWidth - box.clientWidth, cells.map((cell) => cell.clientWidth),
        cells.map((cell) => getComputedStyle(cell, "::before").content)];
    }""")
    tab.set_viewport_size({"width": 1000, "height": 800})
    shown_wide = tab.evaluate("getComputedStyle(document.querySelector('tbody td')).display")
    tab.close()
    assert beyond <= 0 and min(widths) > 0.75 * width
    assert [label != "none" for label in labels] == [False, True, True] * 2
    assert shown_wide == "table-cell"


def test_columns_of_marks_fit_a_phone(chromium):
    tests = ("length", "at 0", "by hand", "7 on", "alike", "cache", "far", "original")
    rows = [
        (
            f"cached keys turned twice {i}".replace(" ", "\u00a0"),
            *("●" if i == j else "" for j in range(8)),
        )
        for i in range(3)
    ]
    tab = chromium.new_page(viewport={"width": 390, "height": 800})
    # The book's own style sheet has rules for the tables of its texts.
    book = f"<style>{(ROOT / 'book/_static/book.css').read_text('utf-8')}</style>"
    tab.set_content(f"<!doctype html>{book}{shown(rows, header=('bug', *tests))}")
    box = tab.locator(".rope-table-box").evaluate("(box) => box.scrollWidth - box.clientWidth")
    tab.close()
    assert box <= 0


def test_a_shade_says_that_there_is_more_until_all_is_seen(chromium):
    header = ("name", *(f"a column of number {i}" for i in range(9)))
    rows = [(f"row {i}", *(1000.5 * i + j for j in range(9))) for i in range(3)]
    tab = chromium.new_page(viewport={"width": 390, "height": 800})
    tab.set_content(f"<!doctype html>{shown(rows, header=header)}")
    box = tab.locator(".rope-table-box")
    looks = []
    for left in (0, 10_000):
        box.evaluate("(box, left) => { box.scrollLeft = left }", left)
        picture = base64.b64encode(box.screenshot()).decode()
        looks.append(tab.evaluate(_RIGHT_EDGE, f"data:image/png;base64,{picture}"))
    tab.close()
    assert looks[0] < 200 < 240 < looks[1], looks


# Runs in the page: how light a picture is just inside its right edge, above its first line.
_RIGHT_EDGE = """async (address) => {
  const picture = Object.assign(new Image(), { src: address });
  await picture.decode();
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: picture.width, height: picture.height });
  const pen = canvas.getContext("2d");
  pen.drawImage(picture, 0, 0);
  return pen.getImageData(picture.width - 2, 2, 1, 1).data[1];
}"""
