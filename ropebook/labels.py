"""Where the words of a figure stand: names at the ends of lines, titles above their axes.

A name beside its line needs no legend to be looked up; a title that lies above its axis needs no
head to be turned, and no number of the axis runs into it.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from ropebook import palette

HEIGHT = 420  # of a figure that says nothing else
LINE = 15  # pixels from line to line of a label
LETTER = 6.6  # pixels of a letter, on average, at the labels' size
WRAP = 16  # letters after which a label goes on below
TITLE_ROOM = 24  # pixels of a title above its axis
PHONE_LETTERS = 44  # letters of a title that a phone has room for, if its panel is as wide as it
_MARGIN = {"t": 36, "b": 48}


def label_ends(figure: go.Figure) -> go.Figure:
    """Write each line's name at its right end, and leave it out of the legend.

    Names that would cover each other move apart, by as little as possible, and a thin line leads
    from the end to a name that moved. What is no visible line, such as dots alone, stays in the
    legend.

    Args:
        figure: a figure with one panel.

    Raises:
        ValueError: If the figure has several panels: there is no room between them.
    """
    if len(_panels(figure)) > 1:
        raise ValueError(f"figure must have one panel, got {len(_panels(figure))}")
    ended = [i for i, trace in enumerate(figure.data) if _is_line(trace)]
    if not ended:
        return figure
    top, bottom = _MARGIN["t"], _MARGIN["b"]
    height = (figure.layout.height or HEIGHT) - top - bottom
    x_axis, y_axis = _Axis(figure, "x"), _Axis(figure, "y")
    ends = []
    for i in ended:
        trace = figure.data[i]
        points = [
            (x_axis.share(x), y_axis.share(y), x, y)
            for x, y in zip(trace.x, trace.y, strict=True)
            if y is not None and x is not None and y_axis.holds(y)
        ]
        if points:
            _, share, x, y = max(points, key=lambda point: point[0])
            ends.append((height * (1 - share), x, y, _wrapped(trace.name), i))
    ends.sort(key=lambda end: end[0])
    lines = [end[3].count("<br>") + 1 for end in ends]
    heights = [LINE * count for count in lines]
    # Between the halves of the first and the last, so that none reaches over the edge of the panel.
    above, below = heights[0] / 2, heights[-1] / 2
    wanted = [min(max(end[0] - above, 0), height - above - below) for end in ends]
    places = [place + above for place in spread(wanted, heights, height - above - below)]
    for (wanted, x, y, name, i), place in zip(ends, places, strict=True):
        note = figure.add_annotation(
            **_label(figure.data[i], name, place - wanted), x=x_axis.value(x), y=y_axis.value(y)
        ).layout.annotations[-1]
        if x_axis.share(x) < 0.95:  # other lines may pass behind it
            note.bgcolor = palette.LIGHT_PAGE["page"]
        figure.data[i].update(showlegend=False, meta="ended")  # the page may name it otherwise
    x_axis.fix()
    y_axis.fix()
    longest = max(len(part) for end in ends for part in end[3].split("<br>"))
    named = [t for t in figure.data if t.name and t.showlegend is not False]
    figure.update_layout(
        margin={"r": math.ceil(28 + LETTER * longest), "t": top, "b": bottom},
        showlegend=bool(named),
    )
    return figure


def _label(trace: Any, name: str, moved: float) -> dict[str, Any]:
    marks = {color: thing for thing, color in palette.named().items()}
    thing = marks.get(trace.line.color)
    color = palette.named().get(f"{thing}-text", palette.LIGHT_PAGE["ink"])
    style = {"name": "end", "text": name, "font": {"size": 12, "color": color}, "align": "left"}
    style |= {"xanchor": "left", "yanchor": "middle"}
    if abs(moved) <= 3:
        return {**style, "showarrow": False, "xshift": 6}
    leader = {
        "showarrow": True,
        "arrowhead": 0,
        "arrowwidth": 1,
        "arrowcolor": palette.LIGHT["neutral"]["mark"],
    }
    return {**style, **leader, "ax": 18, "ay": moved, "standoff": 4}


def point_out(
    figure: go.Figure, text: str, x: Any, y: float, way: tuple[float, float], look: str = "ink"
) -> go.Figure:
    """Write words beside a point of a finished figure; a thin line leads from it to them.

    Args:
        figure: what `figures.finish` has returned, with one panel.
        text: the words.
        x: the point, in the units of the axis.
        y: the same, vertically.
        way: pixels to the right and down from the point to the words.
        look: the thing or the series of the palette whose color the words have.
    """
    right, down = way
    leader = {"arrowhead": 0, "arrowwidth": 1, "arrowcolor": palette.LIGHT["neutral"]["mark"]}
    return figure.add_annotation(
        text=text,
        x=_Axis(figure, "x").value(x),
        y=_Axis(figure, "y").value(y),
        ax=right,
        ay=down,
        xanchor="left" if right > 0 else "right" if right < 0 else "center",
        yanchor="middle" if right else "top" if down > 0 else "bottom",
        font={"size": 12, "color": palette.named()[look if look == "ink" else f"{look}-text"]},
        standoff=5,
        **leader,
    )


def spread(wanted: Sequence[float], heights: Sequence[float], room: float) -> list[float]:
    """Return places as near as possible to the wanted ones where nothing covers another.

    Least squares: neighbors that are too close share the way, and so does a whole group.

    Args:
        wanted: middles, from the top, in order, pixels.
        heights: how high each is, pixels.
        room: places stay between 0 and this, as long as all fit.

    Example:
        >>> spread([10, 12, 50], [10, 10, 10], 100)
        [6.0, 16.0, 50.0]
    """
    below = [0.0]  # how far below the first each stands at least
    for upper, lower in itertools.pairwise(heights):
        below.append(below[-1] + (upper + lower) / 2)
    groups: list[list[float]] = []  # mean, count
    for place, least in zip(wanted, below, strict=False):
        groups.append([place - least, 1])
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            mean, count = groups.pop()
            before, many = groups[-1]
            groups[-1] = [(before * many + mean * count) / (many + count), many + count]
    last = room - below[-1]
    firsts = [max(0.0, min(mean, last)) for mean, count in groups for _ in range(int(count))]
    return [first + least for first, least in zip(firsts, below, strict=False)]


def titles_above(figure: go.Figure) -> go.Figure:
    """Lay the title of each vertical axis above it, and make room for every title and number.

    The title of a panel stands at its left end, before that of its axis, or above it where a phone
    has no room for both beside the next panel.

    Args:
        figure: any figure; a second time changes nothing.
    """
    figure.update_xaxes(automargin=True, title_standoff=8)
    figure.update_yaxes(automargin=True)
    lines = 0
    for y_axis, x_domain, y_domain in _panels(figure):
        note = _panel_title(figure, x_domain, y_domain)
        title = y_axis.title.text
        if note is not None and title:
            both = f"{note.text}: {title}"
            fits = len(both) <= PHONE_LETTERS * (x_domain[1] - x_domain[0])
            note.text = both if fits else f"{note.text}:<br>{title}"
        if note is not None:
            note.update(x=x_domain[0], xanchor="left", align="left", name="title", font_size=13)
        elif title:
            right = y_axis.side == "right"
            figure.add_annotation(
                name="title",
                text=_wrapped(title, 48),
                showarrow=False,
                align="right" if right else "left",
                **{"xref": "paper", "x": x_domain[right], "xanchor": "right" if right else "left"},
                **{"yref": "paper", "y": y_domain[1], "yanchor": "bottom", "yshift": 5},
            )
        if title:
            y_axis.title.text = None
            lines = max(lines, 1, note is not None and 1 + note.text.count("<br>"))
    legend = figure.layout.legend
    if lines and legend.orientation == "h" and (legend.y or 0) >= 1:
        # More than a line for each: shares of a panel, which a legend of many lines makes lower.
        room = TITLE_ROOM + 1.5 * LINE * (lines - 1)
        legend.y = 1 + room / ((figure.layout.height or HEIGHT) - sum(_MARGIN.values()))
    return figure


def _panels(figure: go.Figure) -> list[tuple[Any, tuple[float, float], tuple[float, float]]]:
    """Each vertical axis that is drawn on, with the stretches of its panel."""
    panels = []
    for name in dict.fromkeys((trace.yaxis or "y") for trace in figure.data if "yaxis" in trace):
        y_axis = figure.layout[f"yaxis{name[1:]}"]
        x_axis = figure.layout[f"xaxis{(y_axis.anchor or 'x')[1:]}"]
        panels.append((y_axis, tuple(x_axis.domain or (0, 1)), tuple(y_axis.domain or (0, 1))))
    return panels


def _panel_title(figure: go.Figure, x_domain: Sequence[float], y_domain: Sequence[float]) -> Any:
    """The title that `make_subplots` wrote over a panel, if it did."""
    for note in figure.layout.annotations:
        above = note.yref == "paper" and note.yanchor == "bottom" and note.name is None
        middle = (x_domain[0] + x_domain[1]) / 2
        if above and abs(note.x - middle) < 1e-6 and abs(note.y - y_domain[1]) < 1e-6:
            return note
    return None


def _is_line(trace: Any) -> bool:
    shown = trace.visible in (None, True) and trace.showlegend is not False
    return (
        trace.type == "scatter"
        and "lines" in (trace.mode or "lines")
        and bool(shown and trace.name)
    )


def _wrapped(text: str, letters: int = WRAP) -> str:
    """Break a text between words into lines of about that many letters."""
    lines = [""]
    for word in text.replace(" = ", "\u00a0=\u00a0").split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > letters:
            lines.append(word)
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return "<br>".join(lines)


class _Axis:
    """An axis of the one panel, and where values lie on it: 0 at its start, 1 at its end."""

    def __init__(self, figure: go.Figure, letter: str):
        self.axis = figure.layout[f"{letter}axis"]
        self.log = self.axis.type == "log"
        drawn = [trace for trace in figure.data if trace.type == "scatter"]
        shown = [trace for trace in drawn if trace.visible in (None, True)]
        dots = any("markers" in (trace.mode or "lines") for trace in shown)
        self.pad = 0.05 if letter == "y" else 0.03 * dots  # a line ends at the edge, a dot before
        values = [value for trace in shown for value in trace[letter] if value is not None]
        self.names = list(dict.fromkeys(v for v in values if isinstance(v, str)))
        if letter == "y":
            for trace in shown:
                if trace.error_y.array is not None:
                    for value, error in zip(trace.y, trace.error_y.array, strict=True):
                        if value is not None and error is not None:
                            values += [value + error, *([value - error] * (not self.log))]
        self.range = self._range([value for value in values if not self.log or value > 0])

    def _range(self, values: Sequence[Any]) -> tuple[float, float]:
        if self.axis.range is not None:
            return tuple(self.axis.range)
        numbers = [self.value(value) for value in values]
        low, high = min(numbers), max(numbers)
        from_zero = self.axis.rangemode == "tozero" and not self.log
        if from_zero:
            low, high = min(low, 0), max(high, 0)
        pad = self.pad * (high - low) if high > low else 0.5
        low -= 0 if from_zero and low == 0 else pad
        high += 0 if from_zero and high == 0 else pad
        return (high, low) if self.axis.autorange == "reversed" else (low, high)

    def value(self, value: Any) -> float:
        """A value as an axis counts: the place of a name, the power of ten of a logarithmic one."""
        if isinstance(value, str):
            return self.names.index(value)
        return math.log10(value) if self.log else float(value)

    def share(self, value: Any) -> float:
        """How far along the axis a value lies."""
        start, end = self.range
        return (self.value(value) - start) / (end - start)

    def holds(self, value: Any) -> bool:
        """Whether the value is on the axis."""
        return (not self.log or value > 0) and -0.001 <= self.share(value) <= 1.001

    def fix(self) -> None:
        """Keep the range for which the labels were placed."""
        self.axis.range = self.range
        self.axis.autorange = None
