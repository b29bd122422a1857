"""Plotly figures of the chapters, in one style and with a text alternative each.

Importing this module makes Plotly emit only its own MIME type, which JupyterLab and VS Code draw
and which the book turns into a figure that its pages draw themselves (`ropebook.site`).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio
from plotly.subplots import make_subplots

from ropebook.labels import HEIGHT, label_ends, titles_above
from ropebook.palette import LIGHT, LIGHT_PAGE, LIGHT_RAMP, named

pio.renderers.default = "plotly_mimetype"

_AXIS = {
    "gridcolor": LIGHT_PAGE["line"],
    "linecolor": LIGHT_PAGE["line"],
    "zerolinecolor": LIGHT_PAGE["line"],
    "ticks": "",
    "ticklabelstandoff": 4,  # the first numbers of both axes do not touch in the corner
    "title": {"font": {"size": 13}},
    "fixedrange": True,
}
_TEMPLATE = go.layout.Template(
    layout={
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": LIGHT_PAGE["ink"], "size": 13},
        "margin": {"l": 56, "r": 16, "t": 32, "b": 48},
        # A finger on a figure scrolls the page.
        "dragmode": False,
        "xaxis": _AXIS,
        "yaxis": _AXIS,
    }
)


def describe(figure: go.Figure, *, alt: str, caption: str) -> go.Figure:
    """Give a figure its text alternative and its caption; the book refuses one without.

    The titles of its vertical axes come to lie above them (`labels.titles_above`).

    Args:
        figure: any Plotly figure.
        alt: what a reader who cannot see the figure needs to know.
        caption: the sentence under the figure: what to see in it.

    Raises:
        ValueError: If `alt` or `caption` is empty.
    """
    for name, text in (("alt", alt), ("caption", caption)):
        if not text.strip():
            raise ValueError(f"{name} must say something, got {text!r}")
    figure.update_layout(template=_TEMPLATE, meta={"alt": alt, "caption": caption})
    return titles_above(figure)


def draw(
    figure: go.Figure,
    x: Iterable[Any],
    y: Iterable[Any],
    name: str,
    look: str | tuple[str, str],
    *,
    dash: str | None = None,
    symbol: str | None = None,
    error: Iterable[Any] | None = None,
    **where: Any,
) -> go.Figure:
    """Draw a line with its name, in a color of the palette.

    Covers what chapters drew with helpers of their own: `draw(figure, x, y, "exact", "score")`,
    lines with `dash="dash"`, dots on them with `symbol="circle"`, the spread over seeds with
    `error=values.std(0)`, a look that is looked up, `draw(figure, x, y, name, LOOKS[case])`, and a
    panel of several, `row=1, col=2`. For dots alone, `.update_traces(mode="markers",
    selector={"name": name})`.

    Args:
        figure: what to draw into.
        x: where, numbers or names; tensors will do.
        y: how high; what is no number (nan, None) leaves a gap.
        name: what the line is, as its label says.
        look: a thing or a series of the palette, "score" or "one", or "ink"; or that and a dash.
        dash: Plotly's name of a dash, such as "dot"; with a look that has one, the latter holds.
        symbol: Plotly's name of a symbol at each point.
        error: how far up and down the bar of each point goes.
        **where: anything else of Plotly's `add_scatter`: `row`, `col`, `visible`, `legendgroup`.

    Raises:
        ValueError: If the palette has no such thing or series.
    """
    thing, dash = (look, dash) if isinstance(look, str) else look
    looks = [name.removesuffix("-text") for name in named() if "-text" in name] + ["ink"]
    if thing not in looks:
        things = ", ".join(looks)
        raise ValueError(f"look must be one of {things}, got {thing!r}")
    bars = error is not None
    return figure.add_scatter(
        x=[at if isinstance(at, str) else _rounded(at, 6) for at in x],
        y=[_rounded(value, 4) for value in y],
        error_y={"array": [_rounded(e, 2) for e in error], "thickness": 1, "width": 0}
        if bars
        else None,
        name=name,
        mode="lines+markers" if symbol or bars else "lines",
        line={"color": named()[thing], "dash": dash, "width": 2},
        marker={"symbol": symbol, "size": 7 if symbol else 4},
        hovertemplate="%{x}: %{y}<extra>" + name + "</extra>",
        **where,
    )


def finish(
    figure: go.Figure,
    x: Mapping[str, Any] | None = None,
    y: Mapping[str, Any] | None = None,
    *,
    alt: str,
    caption: str,
    height: int = HEIGHT,
    ends: bool | None = None,
) -> go.Figure:
    """Give a figure its axes, labels, height and words: the last call of a figure's cell.

    Args:
        figure: what was drawn.
        x: Plotly's options of the horizontal axes: `{"title": "distance, tokens", "type": "log"}`.
        y: the same of the vertical ones.
        alt: what a reader who cannot see the figure needs to know.
        caption: what to see, the takeaway first.
        height: in pixels.
        ends: whether names stand at the ends of their lines instead of in a legend; unless told, in
            a figure of one panel with two to ten lines of which a click shows none.
    """
    figure.update_xaxes(**(x or {}))
    figure.update_yaxes(**(y or {}))
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "xanchor": "left"}
    figure.update_layout(height=height, showlegend=len(figure.data) > 1, legend=legend)
    if ends is None:
        hidden = any(trace.visible == "legendonly" for trace in figure.data)
        panels = {trace.yaxis or "y" for trace in figure.data if "yaxis" in trace}
        lines = [t for t in figure.data if t.type == "scatter" and "lines" in (t.mode or "lines")]
        ends = not hidden and len(panels) == 1 and 2 <= len(lines) <= 10
    if ends:
        label_ends(figure)
    return describe(figure, alt=alt, caption=caption)


def edge(figure: go.Figure, at: float, **where: Any) -> go.Figure:
    """Draw a dotted upright line, such as the length of training.

    Args:
        figure: what to draw into.
        at: where on the horizontal axis.
        **where: `row` and `col` of a panel.
    """
    line = {"color": LIGHT["neutral"]["mark"], "dash": "dot", "width": 1}
    return figure.add_vline(x=at, line=line, **where)


def _rounded(value: Any, digits: int) -> float | None:
    """As many digits as can be seen, or None for what is no number."""
    number = math.nan if value is None else float(value)
    return float(f"{number:.{digits}g}") if math.isfinite(number) else None


def change_by_shift(shifts: Sequence[int], changes: Mapping[str, Sequence[float]]) -> go.Figure:
    """Draw how far scores move when a whole sequence is shifted, one line per method.

    Args:
        shifts: tokens by which the sequence was moved.
        changes: method -> largest absolute change of any score, one per shift.
    """
    figure = go.Figure()
    looks = (("one", "circle", "solid"), ("two", "diamond", "dash"), ("three", "square", "dot"))
    for (name, values), (thing, symbol, dash) in zip(changes.items(), looks, strict=True):
        draw(figure, shifts, values, name, thing, symbol=symbol, dash=dash)
    figure.update_traces(marker_size=8, hovertemplate="shift %{x}: %{y}")
    figure.update_xaxes(title="shift of the whole sequence (tokens)", type="log", dtick=1)
    figure.update_yaxes(title="largest change of a score", type="log", exponentformat="power")
    return label_ends(figure.update_layout(height=380))


def signed_maps(
    rows: Sequence[Mapping[str, object]],
    *,
    row_titles: Sequence[str] = (),
    tokens: Sequence[str] = (),
    one_scale: bool = False,
    show_values: bool = False,
) -> go.Figure:
    """Draw matrices of numbers of either sign as small maps: queries down, keys across.

    Zero has the color of the panel, green is positive and purple negative. A last row with fewer
    maps stands in the middle.

    Args:
        rows: per row of maps, title -> square matrix. Equal titles of a later row are left out.
        row_titles: what to write beside each row.
        tokens: the words, one per position; without them the axes bear no marks.
        one_scale: whether all maps share one scale; otherwise each reaches to its own largest.
        show_values: whether to write the numbers into the cells.
    """
    columns = len(rows[0])
    titles = [title for row in rows for title in [*row] + [""] * (columns - len(row))]
    shown = [t if t not in titles[:columns] or i < columns else "" for i, t in enumerate(titles)]
    figure = make_subplots(
        rows=len(rows),
        cols=columns,
        subplot_titles=[title.replace(" to ", "<br>to ") for title in shown],
        horizontal_spacing=0.14 if tokens else 0.02,
        vertical_spacing=0.06 if not any(shown[columns:]) else 0.14,
    )
    colors = LIGHT_RAMP["below"], LIGHT_PAGE["panel"], LIGHT["score"]["mark"]
    everything = [
        float(value) for row in rows for z in row.values() for line in z for value in line
    ]
    for i, row in enumerate(rows, 1):
        for j, z in enumerate(row.values(), 1):
            z = [[float(f"{float(value):.3g}") for value in line] for line in z]
            values = everything if one_scale else [value for line in z for value in line]
            largest = max(map(abs, values))
            figure.add_heatmap(
                z=z,
                x=list(tokens) or None,
                y=list(tokens) or None,
                zmin=-largest,
                zmax=largest,
                colorscale=list(zip((0, 0.5, 1), colors, strict=True)),
                showscale=False,
                texttemplate="%{z:.1f}" if show_values else None,
                hovertemplate="query %{y}, key %{x}: %{z}<extra></extra>",
                xgap=2 if tokens else 0,
                ygap=2 if tokens else 0,
                row=i,
                col=j,
            )
        if row_titles:
            low, high = next(figure.select_yaxes(row=i, col=1)).domain
            figure.add_annotation(
                **{"text": row_titles[i - 1], "textangle": -90, "showarrow": False},
                **{"xref": "paper", "x": 0, "xanchor": "right"},
                **{"yref": "paper", "y": (low + high) / 2, "yanchor": "middle", "xshift": -4},
            )
    lone = len(rows[-1]) == 1 and columns == 2
    if lone:
        figure.update_xaxes(domain=[0.28, 0.72], row=len(rows), col=1)
        figure.layout.annotations[titles.index(next(iter(rows[-1])))].x = 0.5
    figure.update_xaxes(showgrid=False, showticklabels=bool(tokens))
    figure.update_yaxes(showgrid=False, showticklabels=bool(tokens), autorange="reversed")
    figure.update_annotations(font_size=12)
    left = 40 if tokens else 28 if row_titles else 4
    margin = {"l": left, "r": 4, "t": 44, "b": 8 if not tokens else 28}
    height = 52 + len(rows) * (190 if columns == 2 else 150)
    return figure.update_layout(height=height, margin=margin)


def plane(
    arrows: Sequence[tuple[str, Sequence[float], str]],
    *,
    x: tuple[float, float],
    y: tuple[float, float],
    arcs: Sequence[tuple[str, float, float, float, str]] = (),
    lines: Sequence[tuple[Sequence[float], Sequence[float], str]] = (),
    grid: bool = False,
    height: int = 300,
) -> go.Figure:
    """Draw named arrows from the origin of a plane whose two axes have the same unit.

    Args:
        arrows: per arrow its name, its tip, and the thing whose color it has.
        x: from where to where the plane is shown, horizontally.
        y: the same, vertically.
        arcs: per arc around the origin its name, the angle where it begins and that where it ends
            (degrees, counterclockwise), its radius, and its thing.
        lines: per dashed line its two ends and its thing.
        grid: whether whole numbers have lines; otherwise there is the horizontal axis alone.
        height: of the figure, in pixels.
    """
    figure = go.Figure()
    for start, end, thing in lines:
        look = {"color": LIGHT[thing]["mark"], "width": 1.5, "dash": "dash"}
        along = dict(zip("xy", map(list, zip(start, end, strict=True)), strict=True))
        figure.add_scatter(**along, mode="lines", line=look, hoverinfo="skip")
    for name, begin, end, radius, thing in arcs:
        angles = [math.radians(begin + (end - begin) * step / 24) for step in range(25)]
        points = [(radius * math.cos(angle), radius * math.sin(angle)) for angle in angles]
        across, up = ([round(value, 4) for value in values] for values in zip(*points, strict=True))
        look = {"color": LIGHT[thing]["mark"], "width": 2}
        figure.add_scatter(x=across, y=up, mode="lines", line=look, hoverinfo="skip")
        figure.add_annotation(_label(name, (across[16], up[16]), thing))
    for name, tip, thing in arrows:
        figure.add_annotation(
            x=tip[0],
            y=tip[1],
            ax=0,
            ay=0,
            axref="x",
            ayref="y",
            text="",
            arrowhead=2,
            arrowwidth=2.5,
            arrowcolor=LIGHT[thing]["mark"],
        )
        figure.add_annotation(_label(name, tip, thing))
    figure.update_xaxes(range=list(x), constrain="domain", zeroline=grid)
    figure.update_yaxes(range=list(y), scaleanchor="x")
    for axis in (figure.layout.xaxis, figure.layout.yaxis):
        axis.update(dtick=1, showticklabels=False, showgrid=grid)
    margin = {"l": 8, "r": 8, "t": 8, "b": 8}
    return figure.update_layout(height=height, margin=margin, showlegend=False)


def _label(text: str, point: Sequence[float], thing: str) -> dict:
    """Return the words at a point, some pixels further from the origin and beside what is there."""
    length = math.hypot(*point) or 1
    along, up = point[0] / length, point[1] / length
    return {
        "x": point[0],
        "y": point[1],
        "xshift": 10 * along,
        "yshift": 13 * up if abs(up) > 0.2 else 10,  # not on the horizontal axis
        "xanchor": "left" if along > 0.4 else "right" if along < -0.4 else "center",
        "text": text,
        "showarrow": False,
        "font": {"color": LIGHT[thing]["text"]},
    }
