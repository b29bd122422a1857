"""The Sphinx extension: colored formulae, figures as data, one palette."""

import json
import os
import re
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup
from contrast import contrast
from docutils import nodes
from docutils.utils import new_document
from myst_nb.core.render import get_mime_priority
from pygments import highlight
from pygments.lexers import PythonLexer
from pygments.styles import get_style_by_name
from pygments.token import Keyword, Name
from toc import ROOT

from ropebook import palette, site
from ropebook.exercises import RUN_SOLUTIONS
from ropebook.site import folds, marks, widgets


@pytest.mark.parametrize(
    ("tex", "letters"),
    [
        (r"\mathbf{q}_m \cdot \mathbf{k}_n", "qmkn"),
        (r"R((n - m)\theta)", ["n", "m", r"\theta"]),
        (r"e^{im\theta}", ["m", r"\theta"]),
        (r"\cos\theta_i", [r"\theta"]),
        (r"\text{queries and keys, m and n}", []),
        (r"\begin{matrix} a & b \\ c & d \end{matrix}", []),
        (r"\operatorname{Re} \sin \min \mathrm{kn}", []),
    ],
)
def test_a_letter_is_colored_where_it_is_a_symbol_and_not_in_a_word(tex, letters):
    colored = site.color_tex(tex)
    for letter in letters:
        assert f"{{{letter}}}}}" in colored
    assert colored.count(r"\class") == len(letters)
    plain = colored
    for thing in ("q", "k", "position", "angle"):
        plain = plain.replace(rf"{{\class{{rope-{thing}}}", "")
    for letter in letters:
        plain = plain.replace(f"{{{letter}}}}}", letter)
    assert plain == tex


def test_a_formula_stays_on_one_line_with_the_signs_that_touch_it():
    paragraph = nodes.paragraph()
    paragraph += [nodes.Text("Here ("), nodes.math("", "a"), nodes.Text("), then ")]
    paragraph += [nodes.math("", "b"), nodes.Text(" alone, then "), nodes.math("", "c")]
    title = nodes.title("", "", nodes.math("", "d"), nodes.Text("."))
    doctree = new_document("page")
    doctree += [title, paragraph]
    before = doctree.astext()
    site.hold_signs(doctree)
    held = [node.astext() for node in doctree.findall(nodes.inline)]
    assert held == ["(a),"]
    assert doctree.astext() == before, "no letter is lost"


@pytest.fixture
def in_the_book(monkeypatch):
    """What `setup` does to the process that builds the book; undone after the test."""
    name = "mime_priority_overrides"
    monkeypatch.setattr(site.PlotlyRenderer, name, getattr(site.PlotlyRenderer, name))
    monkeypatch.setenv(RUN_SOLUTIONS, "")
    nothing = dict.fromkeys(("connect", "add_directive", "add_transform"), lambda *_, **__: None)
    app = SimpleNamespace(**nothing)
    return lambda: site.setup(app)


def rendered(layout):
    warnings = []
    logger = SimpleNamespace(warning=lambda message, **_: warnings.append(message))
    data = SimpleNamespace(
        mime_type=site.PLOTLY_MIME,
        line=1,
        content={"data": [{"line": {"color": "#0072B2"}, "name": "</script>"}], "layout": layout},
    )
    (node,) = site.PlotlyRenderer.handle_mime(SimpleNamespace(logger=logger), data, False)
    return node.astext(), warnings


def test_a_figure_becomes_data_in_palette_colors_with_its_words(in_the_book):
    in_the_book()
    html, warnings = rendered({"meta": {"alt": 'a "b"', "caption": "c < d"}, "height": 300})
    assert not warnings
    assert 'aria-label="a &quot;b&quot;"' in html and "c &lt; d" in html
    assert "var(--rope-q)" in html and "#0072B2" not in html
    body = html.split(f'<script type="{site.PLOTLY_MIME}">')[1].split("</script>")[0]
    assert json.loads(body)["data"][0]["name"] == "</script>"


@pytest.mark.parametrize("missing", ["alt", "caption"])
def test_a_figure_without_words_is_a_warning(in_the_book, missing):
    in_the_book()
    words = {"alt": "a", "caption": "c"}
    del words[missing]
    _, warnings = rendered({"meta": words})
    assert warnings == [
        f"a Plotly figure has no {missing}: pass it through ropebook.figures.describe"
    ]


def test_other_outputs_are_left_to_others(in_the_book):
    in_the_book()
    data = SimpleNamespace(mime_type="text/html")
    assert site.PlotlyRenderer.handle_mime(None, data, False) is None


def test_figures_of_another_book_are_left_to_it(in_the_book):
    figure = SimpleNamespace(mime_type=site.PLOTLY_MIME)
    assert site.PlotlyRenderer.handle_mime(None, figure, False) is None
    assert site.PLOTLY_MIME not in get_mime_priority("html", ())
    in_the_book()
    order = get_mime_priority("html", ())
    assert order.index(site.PLOTLY_MIME) < order.index("text/html")


def test_notebooks_of_the_book_run_with_their_solutions(in_the_book):
    in_the_book()
    assert os.environ[RUN_SOLUTIONS]


def test_a_page_keeps_the_states_of_the_widgets_that_it_shows():
    states = {
        "a": {"state": {"layout": "IPY_MODEL_b"}},
        "b": {"state": {"style": ["IPY_MODEL_c", "IPY_MODEL_gone"]}},
        "c": {"state": {}},
        "d": {"state": {"layout": "IPY_MODEL_e"}},
        "e": {"state": {}},
    }
    assert list(widgets.shown_states(states, {"a", "elsewhere"})) == ["a", "b", "c"]
    assert list(widgets.shown_states(states, {"e"})) == ["e"]
    assert widgets.shown_states(states, set()) == {}


def test_layouts_are_left_out_of_a_page():
    states = {"a": {"model_name": "AnyModel", "state": {}}, "b": {"model_name": "LayoutModel"}}
    assert list(widgets.without_layouts(states)) == ["a"]


def test_code_of_widgets_is_in_one_file_per_class_and_nothing_else_is_lost():
    code = {"_esm": "export default {}; // é </script>", "_css": ".a{}"}
    plain = {"state": {"_view_name": "LayoutView"}, "model_name": "LayoutModel"}
    states = {
        str(n): {"state": {**code, "_anywidget_id": "a.b.Turn", "m": n}, "model_name": "AnyModel"}
        for n in range(2)
    }
    slim, files = widgets.without_code({**states, "layout": plain})
    assert slim["layout"] == plain
    assert list(files) == ["Turn.js"]
    head, body = files["Turn.js"].split(" = ", 1)
    assert head == "document.currentScript.source" and body.endswith(";\n")
    assert json.loads(body[:-2]) == code
    (source,) = {slim[n]["state"].pop("_source") for n in states}
    assert re.fullmatch(r"Turn\.js\?v=[0-9a-f]{8}", source)
    for n, stored in states.items():
        assert slim[n] | {"state": slim[n]["state"] | code} == stored
    changed = {"0": {**states["0"], "state": {**states["0"]["state"], "_css": ""}}}
    ((_, other),) = widgets.without_code(changed)[0].items()
    assert other["state"]["_source"] != source


@pytest.mark.parametrize(
    ("things", "page"),
    [
        (palette.LIGHT | palette.LIGHT_SERIES, palette.LIGHT_PAGE),
        (palette.DARK | palette.DARK_SERIES, palette.DARK_PAGE),
    ],
    ids=["light", "dark"],
)
def test_text_can_be_read_and_marks_can_be_seen_on_page_and_panel(things, page):
    for shades in things.values():
        for ground in (page["page"], page["panel"]):
            assert contrast(shades["text"], ground) >= 4.5
            assert contrast(shades["mark"], ground) >= 2
    assert contrast(page["ink"], page["panel"]) >= 7


def test_what_has_the_keyboard_has_one_ring_everywhere():
    """The theme's own rings have the color that it calls its accent."""
    sheets = [*(ROOT / "book/_static").glob("*.css"), *(ROOT / "ropebook").rglob("*.css")]
    css = "\n".join(sheet.read_text("utf-8") for sheet in sheets)
    rings = re.findall(r":focus-visible(?:::[\w-]+)? \{[^}]*?outline: (\d[^;]+);", css)
    assert len(rings) > 10 and set(rings) == {"3px solid var(--rope-q-text)"}
    assert re.findall("--pst-color-accent: ([^;]+);", css) == ["var(--rope-q-text)"]


def test_light_and_dark_name_the_same_things():
    assert list(palette.LIGHT) == list(palette.DARK)
    assert list(palette.LIGHT_PAGE) == list(palette.DARK_PAGE)
    css = palette.css()
    light, dark = palette.named(), palette.named(dark=True)
    assert list(light) == list(dark)
    for name in light:
        assert css.count(f"--rope-{name}:") == 2
    # A figure names its colors by what they are, so no two things may share one.
    marks = [color for name, color in light.items() if not name.endswith("-text")]
    assert len(set(marks)) == len(marks)


@pytest.mark.parametrize(
    ("ramp", "page"),
    [(palette.LIGHT_RAMP, palette.LIGHT_PAGE), (palette.DARK_RAMP, palette.DARK_PAGE)],
    ids=["light", "dark"],
)
def test_signs_differ_from_zero_and_without_hues_from_each_other(ramp, page):
    assert contrast(ramp["below"], ramp["above"]) >= 1.8
    for color in ramp.values():
        assert contrast(color, page["panel"]) >= 2


CODE = "def turn(x, *, layout):\n    return f(x[0], layout) + 1  # a half turn\n"


def test_code_is_tagged_only_where_it_has_a_color_of_its_own():
    html = highlight(CODE, PythonLexer(), site.CodeFormatter())
    tagged = dict(re.findall(r'<span class="(\w+)">([^<]*)</span>', html))
    assert tagged == {
        "k": "return",
        "nf": "turn",
        "o": "+",
        "mi": "1",
        "c1": "# a half turn",
    }
    plain = BeautifulSoup(html, "html.parser").get_text()
    assert plain.strip() == CODE.strip(), "no letter is lost"


@pytest.mark.parametrize("name", ["a11y-high-contrast-light", "a11y-high-contrast-dark"])
def test_what_is_not_tagged_has_one_color_in_both_themes(name):
    style = get_style_by_name(name)
    colors = {style.style_for_token(kind)["color"] for kind in site.PLAIN_TOKENS}
    assert colors == {style.style_for_token(Name)["color"]}
    assert style.style_for_token(Keyword)["color"] not in colors


def notebook_of(*cells):
    return json.dumps({"cells": [dict(zip(CELL, cell, strict=True)) for cell in cells]})


CELL = ("cell_type", "metadata", "source")
DEEPER = {"tags": ["deeper"]}


def test_a_tagged_cell_is_marked_and_the_others_are_left_as_they_are():
    cells = [
        ("markdown", DEEPER, ["## A proof\n", "In full."]),
        ("markdown", {}, "## A proof\nIn full."),
        ("code", {"tags": ["hide-input"]}, "## a comment"),
    ]
    text, wrong = folds.marked(notebook_of(*cells))
    assert wrong == []
    first, *rest = [cell["source"] for cell in json.loads(text)["cells"]]
    assert first == "{.deeper}\n## A proof\nIn full."
    assert rest == [source for *_, source in cells[1:]]


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("markdown", "In full.\n## A proof"),
        ("markdown", "# A title"),
        ("markdown", "##no heading"),
        ("markdown", "\n## A proof"),
        ("code", "## A proof"),
    ],
)
def test_a_tagged_cell_that_does_not_begin_with_a_heading_is_told(kind, source):
    notebook = notebook_of(("markdown", {}, "# Page"), (kind, DEEPER, source))
    text, (sentence,) = folds.marked(notebook)
    assert "must be Markdown and begin with a heading" in sentence and "got cell 2" in sentence
    assert json.loads(text) == json.loads(notebook)


def test_what_can_be_done_on_a_page_is_named_once_by_bets_boxes_and_tasks():
    def state(**traits):
        return {"state": traits}

    states = {
        "a": state(definition={"kind": "bet", "name": "push"}),
        "b": state(task={"kind": "task", "name": "peak"}, limit=3),
        "c": state(definition={"kind": "bet", "name": "push"}),
        "d": state(task=None, definition={}),
    }
    assert marks.names(states) == ["push", "peak"]
