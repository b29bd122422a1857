"""Every figure carries its words, and its colors are those of the palette."""

import json

import pytest
import torch

from ropebook import figures
from ropebook.palette import LIGHT


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
    marks = {shades["mark"] for shades in LIGHT.values()}
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
    assert negative == LIGHT["position"]["mark"] and positive == LIGHT["score"]["mark"]
    assert all(axis.autorange == "reversed" for axis in own.select_yaxes())


def test_signed_maps_name_every_map_once():
    maps = {"a": torch.eye(2), "b": torch.eye(2)}
    twice = figures.signed_maps([maps, maps], row_titles=["here", "there"])
    assert [note.text for note in twice.layout.annotations] == ["a", "b"]
    lone = figures.signed_maps([maps, {"sum": torch.eye(2)}], tokens=["x", "y"], show_values=True)
    assert [note.text for note in lone.layout.annotations] == ["a", "b", "sum"]
    assert lone.layout.annotations[2].x == 0.5 and len(lone.data) == 3
    assert lone.data[0].texttemplate and list(lone.data[0].x) == ["x", "y"]
