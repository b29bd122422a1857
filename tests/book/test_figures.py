"""Every figure carries its words, and its colors are those of the palette."""

import itertools
import json

import plotly.graph_objects as go
import pytest
import torch
from collisions import DRAWN, learn
from hypothesis import given
from hypothesis import strategies as st
from plotly.offline import get_plotlyjs
from plotly.subplots import make_subplots
from toc import ROOT

from ropebook import figures, labels
from ropebook.palette import LIGHT, LIGHT_PAGE, LIGHT_RAMP, LIGHT_SERIES


def test_a_figure_without_words_is_refused():
    figure = figures.change_by_shift([1], {"a": [1.0], "b": [1.0], "c": [1.0]})
    with pytest.raises(ValueError, match="alt must say something, got ' '"):
        figures.describe(figure, alt=" ", caption="c")
    with pytest.raises(ValueError, match="caption must say something, got ''"):
        figures.describe(figure, alt="a", caption="")


def test_words_travel_with_the_figure():
    figure = figures.change_by_shift([1], {"a": [1.0], "b": [1.0], "c": [1.0]})
    described = figures.describe(figure, alt="what it shows", caption="what to see")
    assert described.to_dict()["layout"]["meta"] == {
        "alt": "what it shows",
        "caption": "what to see",
    }


def test_a_figure_is_shown_as_data_and_not_as_a_script():
    import plotly.io

    figures.signed_maps([{"a": torch.eye(2)}])
    assert plotly.io.renderers.default == "plotly_mimetype"


def test_lines_differ_by_more_than_color():
    figure = figures.change_by_shift([1, 2], {"a": [1, 1], "b": [1, 1], "c": [1, 1]})
    looks = {(t.line.dash, t.marker.symbol) for t in figure.data}
    assert len(looks) == 3
    marks = {shades["mark"] for shades in LIGHT_SERIES.values()}
    assert {trace.line.color for trace in figure.data} <= marks


def test_a_described_figure_is_small():
    weights = torch.rand(6, 6)
    figure = figures.signed_maps([{"a": weights, "b": weights}], tokens="abcdef")
    figures.describe(figure, alt="a", caption="c")
    assert len(json.dumps(figure.to_dict(), default=list)) < 8_000


def test_signed_maps_keep_signs_and_scales():
    first, second = torch.eye(3), -4 * torch.ones(3, 3)
    own = figures.signed_maps([{"a": first, "b": second}])
    assert [trace.zmax for trace in own.data] == [1, 4]
    assert all(trace.zmin == -trace.zmax for trace in own.data)
    shared = figures.signed_maps([{"a": first, "b": second}], one_scale=True)
    assert [trace.zmax for trace in shared.data] == [4, 4]
    assert torch.equal(torch.tensor(own.data[1].z), second)
    negative, _, positive = (color for _, color in own.data[0].colorscale)
    assert negative == LIGHT_RAMP["below"] and positive == LIGHT["score"]["mark"]
    assert all(axis.autorange == "reversed" for axis in own.select_yaxes())


def test_signed_maps_name_every_map_once():
    maps = {"a": torch.eye(2), "b": torch.eye(2)}
    twice = figures.signed_maps([maps, maps], row_titles=["here", "there"])
    assert [note.text for note in twice.layout.annotations] == ["a", "b", "here", "there"]
    lone = figures.signed_maps([maps, {"sum": torch.eye(2)}], tokens=["x", "y"], show_values=True)
    assert [note.text for note in lone.layout.annotations] == ["a", "b", "sum"]
    assert lone.layout.annotations[2].x == 0.5 and len(lone.data) == 3
    assert lone.data[0].texttemplate and list(lone.data[0].x) == ["x", "y"]


# ---- names at the ends of lines, titles above axes ----------------------------------------------


def lines_that_end(*heights, height=420):
    figure = go.Figure().update_layout(height=height)
    for i, end in enumerate(heights):
        figures.draw(figure, [0, 1], [i, end], f"line {i}", "one")
    return figure


def places(figure):
    """Where each label's middle stands, in pixels from the top of the panel."""
    notes = [note for note in figure.layout.annotations if note.name == "end"]
    low, high = figure.layout.yaxis.range
    room = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    return {
        note.text: room * (high - note.y) / (high - low) + (note.ay if note.showarrow else 0)
        for note in notes
    }


def test_names_at_the_ends_of_lines_never_cover_each_other():
    figure = figures.label_ends(lines_that_end(1.0, 1.01, 0.99, 5.0, 1.0))
    stand = sorted(places(figure).values())
    assert len(stand) == 5
    gaps = [below - above for above, below in itertools.pairwise(stand)]
    assert min(gaps) >= labels.LINE - 1e-9
    room = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    assert stand[0] >= 0 and stand[-1] <= room
    # Names stand in the order of the ends, and only those that moved have a leader.
    order = sorted(places(figure), key=places(figure).get)
    assert order[0] == "line 3" and order[1] == "line 1" and order[-1] == "line 2"
    moved = [note.text for note in figure.layout.annotations if note.showarrow]
    assert "line 3" not in moved and len(moved) >= 3
    assert figure.layout.showlegend is False


def test_a_name_stands_where_its_line_ends():
    figure = figures.label_ends(lines_that_end(0.0, 10.0))
    notes = {note.text: (note.x, note.y, note.showarrow) for note in figure.layout.annotations}
    assert notes == {"line 0": (1, 0, False), "line 1": (1, 10, False)}
    logs = lines_that_end(10.0, 1000.0).update_yaxes(type="log").update_xaxes(autorange="reversed")
    logs = figures.label_ends(logs)  # the right end of a reversed axis is its smallest value
    assert {note.text: (note.x, note.y) for note in logs.layout.annotations}["line 1"] == (0, 0)


def test_names_that_need_two_lines_have_room_for_two():
    figure = go.Figure().update_layout(height=300)
    for name in ("the smallest base that holds, d = 128", "its neighbor"):
        figures.draw(figure, [0, 1], [0, 1], name, "q")
    figures.label_ends(figure)
    two, one = sorted(places(figure), key=lambda text: -len(text))
    assert two == "the smallest<br>base that holds,<br>d\u00a0=\u00a0128"
    assert abs(places(figure)[two] - places(figure)[one]) >= 2 * labels.LINE


@given(
    wanted=st.lists(st.floats(0, 300), min_size=1, max_size=8).map(sorted),
    heights=st.lists(st.integers(10, 30), min_size=8, max_size=8),
)
def test_labels_keep_their_distance_and_stay_in_the_room(wanted, heights):
    heights = heights[: len(wanted)]
    found = labels.spread(wanted, heights, 300)
    for i, (above, below) in enumerate(itertools.pairwise(found)):
        assert below - above >= (heights[i] + heights[i + 1]) / 2 - 1e-6
    assert min(found) >= 0 and max(found) <= 300 + 1e-6
    alone = all(
        below - above >= (heights[i] + heights[i + 1]) / 2
        for i, (above, below) in enumerate(itertools.pairwise(wanted))
    )
    if alone:
        assert found == pytest.approx(wanted)


def test_names_stand_inside_the_panel():
    # Half a name over the edge would cover what the axis says there.
    figure = lines_that_end(0.0, 10.0).update_yaxes(range=[0, 10])
    figure = figures.label_ends(figure)
    room = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    half = labels.LINE / 2
    assert sorted(places(figure).values()) == pytest.approx([half, room - half])


def test_words_beside_a_point_are_led_to_it():
    axes = ({"title": "x", "type": "log"}, {"title": "y"})
    figure = figures.finish(lines_that_end(1.0), *axes, alt="a", caption="c")
    for right, anchor in ((20, "left"), (-20, "right"), (0, "center")):
        labels.point_out(figure, "here", 100, 1.5, (right, 30), "q")
        note = figure.layout.annotations[-1]
        assert (note.x, note.y, note.ax, note.ay) == (2, 1.5, right, 30)
        assert (note.xanchor, note.font.color) == (anchor, LIGHT["q"]["text"])
    assert note.yanchor == "top"


def test_dots_and_hidden_lines_keep_the_legend():
    figure = lines_that_end(1.0, 2.0)
    figure.add_scatter(x=[0], y=[0], mode="markers", name="dots")
    figures.finish(figure, alt="a", caption="c")
    assert figure.layout.showlegend is True
    assert [trace.showlegend for trace in figure.data] == [False, False, None]
    hidden = lines_that_end(1.0, 2.0)
    hidden.data[1].visible = "legendonly"
    figures.finish(hidden, alt="a", caption="c")
    assert not hidden.layout.annotations and hidden.layout.showlegend


def test_several_panels_keep_the_legend():
    figure = make_subplots(rows=1, cols=2, subplot_titles=["left", "right"])
    for col in (1, 2):
        figures.draw(figure, [0, 1], [0, 1], "a", "q", row=1, col=col)
    with pytest.raises(ValueError, match="figure must have one panel, got 2"):
        figures.label_ends(figure)
    figures.finish(figure, {"title": "x"}, {"title": "loss"}, alt="a", caption="c")
    notes = {note.text: (note.x, note.xanchor) for note in figure.layout.annotations}
    right = figure.layout.xaxis2.domain[0]
    assert notes == {"left: loss": (0, "left"), "right: loss": (right, "left")}


def test_the_title_of_an_axis_lies_above_it_once():
    figure = lines_that_end(1.0, 2.0)
    figure = figures.finish(figure, {"title": "tokens"}, {"title": "loss"}, alt="a", caption="c")
    figures.describe(figure, alt="again", caption="again")
    titles = [note for note in figure.layout.annotations if note.name == "title"]
    assert [(note.text, note.textangle, note.x) for note in titles] == [("loss", None, 0)]
    assert figure.layout.yaxis.title.text is None and figure.layout.xaxis.title.text == "tokens"
    assert figure.layout.xaxis.automargin and figure.layout.yaxis.automargin


def test_drawing_takes_what_chapters_have():
    figure = go.Figure()
    values = torch.tensor([[1.0, 2.0, float("nan")], [3.0, 2.0, 1.0]])
    figures.draw(figure, ["a", "b", "c"], values.mean(0), "mean", ("k", "dot"), error=values.std(0))
    trace = figure.data[0]
    assert trace.x == ("a", "b", "c") and trace.y == (2, 2, None)
    assert trace.error_y.array == (1.4, 0, None) and trace.mode == "lines+markers"
    assert (trace.line.color, trace.line.dash) == (LIGHT["k"]["mark"], "dot")
    figures.draw(figure, torch.tensor([65536.0]), [1.23456], "x", "five", symbol="star")
    assert figure.data[1].x == (65536,) and figure.data[1].y == (1.235,)
    figures.draw(figure, [0], [0], "plain", ("ink", "dash"))
    assert figure.data[2].line.color == LIGHT_PAGE["ink"]
    with pytest.raises(ValueError, match=r"look must be one of q, k, .*, five, ink, got 'red'"):
        figures.draw(figure, [0], [0], "x", "red")


def test_the_edge_is_dotted():
    figure = figures.edge(lines_that_end(1.0), 0.5)
    assert (figure.layout.shapes[0].x0, figure.layout.shapes[0].line.dash) == (0.5, "dot")


@pytest.fixture
def drawn(chromium, tmp_path):
    """Return a page on which the book's script draws a figure in a window of some width."""
    (tmp_path / "plotly.min.js").write_text(get_plotlyjs(), encoding="utf-8")
    script = (ROOT / "book/_static/figures.js").read_text("utf-8")
    (tmp_path / "figures.js").write_text(script, encoding="utf-8")
    page = chromium.new_page()

    def opened(figure, width):
        page.set_viewport_size({"width": width, "height": 900})
        (tmp_path / "page.html").write_text(
            '<!doctype html><html data-theme="light"><body style="margin:0">'
            '<figure class="rope-figure" style="margin:0"><div class="rope-plot"></div>'
            f'<script type="application/json">{figure.to_json()}</script></figure>'
            '<script src="figures.js"></script>',
            encoding="utf-8",
        )
        page.goto((tmp_path / "page.html").as_uri())
        page.wait_for_function(DRAWN)
        learn(page)
        return page

    yield opened
    page.close()


def lines_of(page, selector):
    nodes = page.locator(f".rope-plot {selector}")
    return nodes.evaluate_all(
        "all => all.map((node) => [node.textContent, node.getBoundingClientRect().top])"
    )


def test_names_of_two_lines_stand_under_the_picture_on_any_screen(drawn):
    figure = lines_that_end(1.0, 2.0, 3.0)
    figure.data[1].name = "a name that takes more than one line"
    figure = figures.finish(figure, {"title": "tokens"}, {"title": "loss"}, alt="a", caption="c")
    assert any("<br>" in note.text for note in figure.layout.annotations)
    page = drawn(figure, 1280)
    assert [name for name, _ in lines_of(page, ".legendtext")] == [
        trace.name for trace in figure.data
    ]
    assert page.evaluate("textFaults(document.querySelector('figure'))") == []


def test_long_names_stand_under_the_picture_on_a_phone(drawn):
    figure = lines_that_end(1.0, 2.0, 3.0)
    for trace in figure.data:
        trace.name = f"{trace.name} with more"
    figure = figures.finish(figure, {"title": "tokens"}, {"title": "loss"}, alt="a", caption="c")
    page = drawn(figure, 390)
    ((_, below),) = lines_of(page, ".xtitle")
    names = lines_of(page, ".legendtext")
    assert [name for name, _ in names] == [trace.name for trace in figure.data]
    assert all(top > below for _, top in names)
    assert len(lines_of(page, ".annotation-text")) == 1  # the title of the axis
    for width in (1280, 390, 1280):  # a window that is pulled
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(f"innerWidth === {width}")
        page.wait_for_function(DRAWN)
        assert len(lines_of(page, ".legendtext")) == (3 if width == 390 else 0)
        assert page.evaluate("textFaults(document.querySelector('figure'))") == []


def test_maps_with_numbers_stand_above_each_other_on_a_phone(drawn):
    maps = {"here": torch.eye(5), "there": torch.ones(5, 5)}
    figure = figures.signed_maps([maps], tokens="abcde", show_values=True)
    figure = figures.describe(figure, alt="a", caption="c")
    for width, one_above in ((390, True), (1280, False)):
        page = drawn(figure, width)
        tops = [top for name, top in lines_of(page, ".annotation-text") if name in maps]
        assert (tops[1] - tops[0] > 100) == one_above
        assert page.evaluate("textFaults(document.querySelector('figure'))") == []


@pytest.mark.parametrize("count", [2, 9])
def test_a_legend_of_several_rows_leaves_the_titles_of_panels_free(drawn, count):
    figure = make_subplots(rows=2, cols=2, subplot_titles=["one", "two", "three", "four"])
    for i in range(count):
        for row, col in itertools.product((1, 2), (1, 2)):
            shown = {"row": row, "col": col, "showlegend": (row, col) == (1, 1)}
            figures.draw(figure, [0, 1], [0, i], f"a line of the name {i}", "q", **shown)
    figures.finish(figure, y={"title": "loss"}, alt="a", caption="c", height=500)
    for width in (390, 768, 1280):
        page = drawn(figure, width)
        assert page.evaluate("textFaults(document.querySelector('figure'))") == []


@pytest.mark.parametrize("width", [696, 390])
def test_nothing_of_a_figure_is_cut_or_covered(chromium, width):
    figure = lines_that_end(1.0, 1.0, 1.0, 1.02, 30.0)
    figure.data[0].name = "a name that needs more room than others have"
    y = {"title": "a title of some length, nats per byte", "type": "log"}
    figure = figures.finish(figure, {"title": "distance, tokens"}, y, alt="a", caption="c")
    page = chromium.new_page(viewport={"width": width, "height": 600})
    page.set_content('<!doctype html><body style="margin:0"><div id="plot"></div>')
    page.add_script_tag(content=get_plotlyjs())
    page.evaluate("(f) => Plotly.newPlot('plot', f.data, f.layout)", json.loads(figure.to_json()))
    boxes = page.evaluate("""() => [...document.querySelectorAll(
      ".annotation-text-g text, .xtick text, .ytick text, .xtitle, .ytitle")].map((node) => {
        const { left, right, top, bottom } = node.getBoundingClientRect();
        return [node.textContent, left, right, top, bottom];
      })""")
    page.close()
    assert len(boxes) > 10
    for i, (name, left, right, top, bottom) in enumerate(boxes):
        assert left >= 0 and right <= width and top >= 0 and bottom <= 420, name
        for other, l2, r2, t2, b2 in boxes[i + 1 :]:
            # Lines of text may touch with what hangs below their letters.
            apart = right <= l2 + 1 or r2 <= left + 1 or bottom <= t2 + 3 or b2 <= top + 3
            assert apart, (name, other)


def test_a_plane_has_equal_units_and_names_its_arrows_and_arcs():
    figure = figures.plane(
        [("z", (3, 1), "q"), ("half a turn", (-3, -1), "k")],
        arcs=[("90°", 0, 90, 2.0, "angle")],
        lines=[((3, 1), (0, 0), "neutral")],
        x=(-4, 4),
        y=(-2, 2),
    )
    assert figure.layout.yaxis.scaleanchor == "x"
    heads = [(one.x, one.y) for one in figure.layout.annotations if one.showarrow is not False]
    assert heads == [(3, 1), (-3, -1)]
    names = {one.text: one for one in figure.layout.annotations if one.text}
    assert set(names) == {"z", "half a turn", "90°"}
    # Beside its tip, away from the origin.
    assert (names["z"].xanchor, names["half a turn"].xanchor) == ("left", "right")
    line, arc = figure.data
    assert (line.x, line.y) == ((3, 0), (1, 0))
    assert torch.allclose(
        torch.hypot(torch.tensor(arc.x), torch.tensor(arc.y)), torch.tensor(2.0), atol=1e-3
    )
    assert (arc.x[0], arc.y[0]) == (2, 0) and (arc.x[-1], arc.y[-1]) == (0, 2)


def test_a_name_above_an_arrow_stands_in_the_middle():
    figure = figures.plane([("up", (0, 2), "q")], x=(-1, 1), y=(0, 3))
    (name,) = (one for one in figure.layout.annotations if one.text)
    assert name.xanchor == "center" and name.yshift > 0


def test_titles_of_panels_side_by_side_have_room_on_a_phone():
    figure = make_subplots(rows=1, cols=2, subplot_titles=["passkey", "nearest"])
    for col in (1, 2):
        for name, look in (("a", "q"), ("b", "k")):
            figures.draw(figure, [0, 1], [0, 1], name, look, row=1, col=col)
    figure.update_yaxes(title="right answers, %", col=1)
    figures.finish(figure, alt="a", caption="c")
    assert [note.text for note in figure.layout.annotations] == [
        "passkey:<br>right answers, %",
        "nearest",
    ]
    room = figure.layout.height - 84  # margins
    assert (figure.layout.legend.y - 1) * room >= labels.TITLE_ROOM + labels.LINE
