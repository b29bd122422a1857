"""Plotly figures of the chapters, in one style and with a text alternative each.

Importing this module makes Plotly emit only its own MIME type, which JupyterLab and VS Code draw
and which the book turns into a figure that its pages draw themselves (`ropebook.site`).
"""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
import plotly.io as pio
from plotly.subplots import make_subplots

from ropebook.palette import LIGHT, LIGHT_PAGE

pio.renderers.default = "plotly_mimetype"

_AXIS = {
    "gridcolor": LIGHT_PAGE["line"],
    "linecolor": LIGHT_PAGE["line"],
    "zerolinecolor": LIGHT_PAGE["line"],
    "ticks": "",
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
    return figure


def change_by_shift(shifts: Sequence[int], changes: Mapping[str, Sequence[float]]) -> go.Figure:
    """Draw how far scores move when a whole sequence is shifted, one line per method.

    Args:
        shifts: tokens by which the sequence was moved.
        changes: method -> largest absolute change of any score, one per shift.
    """
    figure = go.Figure()
    looks = (("score", "circle", "solid"), ("k", "diamond", "dash"), ("position", "square", "dot"))
    for (name, values), (thing, symbol, dash) in zip(changes.items(), looks, strict=True):
        figure.add_scatter(
            x=list(shifts),
            y=[float(f"{value:.3g}") for value in values],
            name=name,
            mode="lines+markers",
            line={"color": LIGHT[thing]["mark"], "dash": dash},
            marker={"symbol": symbol, "size": 8},
            hovertemplate="shift %{x}: %{y}<extra>" + name + "</extra>",
        )
    figure.update_xaxes(title="shift of the whole sequence (tokens)", type="log", dtick=1)
    figure.update_yaxes(title="largest change of a score", type="log", exponentformat="power")
    figure.update_layout(
        height=380, showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"}
    )
    figure.update_layout(margin_l=76)  # powers are wide
    return figure


def signed_maps(
    rows: Sequence[Mapping[str, object]],
    *,
    row_titles: Sequence[str] = (),
    tokens: Sequence[str] = (),
    one_scale: bool = False,
    show_values: bool = False,
) -> go.Figure:
    """Draw matrices of numbers of either sign as small maps: queries down, keys across.

    Zero has the color of the panel, green is positive and pink negative. A last row with fewer maps
    stands in the middle.

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
    colors = LIGHT["position"]["mark"], LIGHT_PAGE["panel"], LIGHT["score"]["mark"]
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
            title = {"text": row_titles[i - 1], "font": {"size": 12}}
            figure.update_yaxes(title=title, row=i, col=1)
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
