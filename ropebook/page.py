"""The one picture of the whole: where in a layer of attention a chapter stands.

Five words go through one head of attention, from left to right, one row each. All numbers in the
picture are computed, from embeddings and projections that were chosen to be seen at this size:
both words *the* have the same three arrows, and only the turn tells them apart.
"""

import html
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ropebook import palette

WORDS = ("the", "dog", "sees", "the", "cat")
STATIONS = {
    "words": ("words", "foundations/why_positions"),
    "embeddings": ("embeddings", "foundations/why_positions"),
    "qkv": ("q, k, v", "foundations/why_positions"),
    "turn": ("turn", "rope/two_dimensions"),
    "scores": ("scores", "rope/many_dimensions"),
    "weights": ("weights", "foundations/why_positions"),
    "output": ("output", "foundations/why_positions"),
}
"""Station: its name on the page, and the chapter of the book that explains it."""
FRAMES = {"head": "a head, one of many", "layer": "a layer, one of many"}

SAID = (
    "One head of attention, from left to right, for the words the, dog, sees, the, cat: each word "
    "becomes an embedding, a row of numbers; each embedding gives three arrows, q, k and v; q and "
    "k, not v, are turned by the word's position; every q with every k gives a score; each row of "
    "scores becomes weights; with these weights the arrows v are mixed into the output. Around "
    "the arrows, scores, weights and output stands a frame: a head, one of many; around it "
    "another: a layer, one of many."
)

# ---- the numbers of the picture -----------------------------------------------------------------

_EMBEDDINGS = {
    "the": (0.2, -0.6, 0.5, -0.2),
    "dog": (0.9, 0.4, -0.3, 0.6),
    "sees": (-0.5, 0.8, 0.7, 0.3),
    "cat": (0.6, 0.7, -0.7, -0.4),
}
_PROJECTIONS = {
    "q": ((0.9, -0.3), (0.2, 0.9), (0.7, 0.5), (-0.6, 0.4)),
    "k": ((0.3, 0.8), (-0.8, 0.3), (0.9, 0.4), (0.4, -0.9)),
    "v": ((-0.4, 0.9), (0.9, 0.2), (-0.3, 0.7), (0.8, 0.5)),
}
TURN = math.radians(40)


def _projected(name: str) -> list[complex]:
    """One arrow per word, scaled so that the longest has length 1."""
    rows = [
        sum(x * complex(*w) for x, w in zip(_EMBEDDINGS[word], _PROJECTIONS[name], strict=True))
        for word in WORDS
    ]
    longest = max(map(abs, rows))
    return [row / longest for row in rows]


def _turned(arrows: list[complex]) -> list[complex]:
    turn = complex(math.cos(TURN), math.sin(TURN))
    return [arrow * turn**m for m, arrow in enumerate(arrows)]


def _scores() -> list[list[float]]:
    q, k = (_turned(_projected(name)) for name in "qk")
    return [[(a.conjugate() * b).real for b in k] for a in q]


def _weights() -> list[list[float]]:
    rows = [[math.exp(2 * score) for score in row] for row in _scores()]
    return [[weight / sum(row) for weight in row] for row in rows]


def _outputs() -> list[complex]:
    v = _projected("v")
    return [sum(w * arrow for w, arrow in zip(row, v, strict=True)) for row in _weights()]


# ---- drawing ------------------------------------------------------------------------------------

_ROW = 12.4  # from word to word
_TOP = 23  # of the first row
_MIDDLE, _BOTTOM = _TOP + 2.5 * _ROW, _TOP + 5 * _ROW
_OVER = 17.8  # the way of v, above everything that it passes


@dataclass(frozen=True)
class _Form:
    """Where things stand, in pixels at full size.

    Per station: its middle, half the width of its picture, half that of its lamp.
    """

    name: str
    width: int
    height: int
    centers: tuple[float, ...]
    halves: tuple[float, ...]
    lamps: tuple[float, ...]
    pitches: tuple[float, float, float]  # of the cells of embeddings, of arrows, of scores
    name_lines: tuple[float, float]  # where the names of even and of odd stations stand
    frames: tuple[tuple[float, float, float, float], ...]  # head, layer: left, top, right, bottom


_WIDE = _Form(
    name="wide",
    width=696,
    height=106,
    centers=(28, 105, 214, 313, 416, 532, 641),
    halves=(20, 28, 32, 22, 35, 35, 14),
    lamps=(28, 42, 42, 34, 44, 44, 32),
    pitches=(13, 21, 13.4),
    name_lines=(_BOTTOM + 9, _BOTTOM + 9),
    frames=((162, 10, 684, 102), (156, 4, 690, 105.5)),
)
_NARROW = _Form(
    name="narrow",
    width=358,
    height=134,
    centers=(16, 64.5, 127.5, 179, 228, 285, 331),
    halves=(15, 17, 22, 14, 22, 22, 8),
    lamps=(16, 28, 25.5, 22, 26, 26, 19),
    pitches=(8, 16, 9),
    name_lines=(_BOTTOM + 9, _BOTTOM + 21),
    frames=((100.5, 12, 353, 121), (96, 6, 357.5, 128)),
)


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _box(x: float, y: float, w: float, h: float) -> str:
    """A rectangle as part of a path."""
    return f"M{_n(x)} {_n(y)}h{_n(w)}v{_n(h)}h{_n(-w)}z"


def _draw_words(form: _Form, x: float) -> str:
    lines = (f'<text y="{_n(_TOP + _ROW * m + 9.8)}">{word}</text>' for m, word in enumerate(WORDS))
    return f'<g class="rope-here-word" transform="translate({_n(x)})">{"".join(lines)}</g>'


def _cells(x: float, pitch: float, table: list[list[float]], color: str) -> str:
    """A table of numbers from 0 to 1 as a map."""
    left, boxes = x - len(table[0]) / 2 * pitch, []
    for m, row in enumerate(table):
        for n, value in enumerate(row):
            box = _box(left + n * pitch + 0.6, _TOP + _ROW * m + 0.6, pitch - 1.2, _ROW - 1.2)
            boxes.append(f'<path opacity="{0.08 + 0.92 * value:.2f}" d="{box}"/>')
    return f'<g fill="var(--rope-{color})">{"".join(boxes)}</g>'


def _draw_embeddings(form: _Form, x: float) -> str:
    table = [[(value + 1) / 2 for value in _EMBEDDINGS[word]] for word in WORDS]
    return _cells(x, form.pitches[0], table, "neutral")


def _draw_scores(form: _Form, x: float) -> str:
    scores = _scores()
    low, high = min(map(min, scores)), max(map(max, scores))
    table = [[(score - low) / (high - low) for score in row] for row in scores]
    return _cells(x, form.pitches[2], table, "score")


def _draw_weights(form: _Form, x: float) -> str:
    pitch, weights = form.pitches[2], _weights()
    unit = (_ROW - 3) / max(map(max, weights))
    floors = bars = ""
    for m, row in enumerate(weights):
        floor = _TOP + _ROW * (m + 1) - 1
        floors += _box(x - 2.5 * pitch, floor, 5 * pitch, 0.8)
        for n, weight in enumerate(row):
            left, height = x + (n - 2.5) * pitch + 1, unit * weight
            bars += _box(left, floor - height, pitch - 2, height)
    return (
        f'<path fill="var(--rope-line)" d="{floors}"/><path fill="var(--rope-score)" d="{bars}"/>'
    )


def _arrows(x: float, arrows: list[complex], color: str) -> str:
    """One arrow a row, around the middle of its place; up in the plane is up on the page."""
    shafts = heads = ""
    for m, arrow in enumerate(arrows):
        along = arrow.conjugate() / abs(arrow)
        middle, reach = complex(x, _TOP + _ROW * (m + 0.5)), 4 + 3 * abs(arrow)
        tail, tip = middle - reach * along, middle + reach * along
        neck, left, right = tip - 3 * along, tip - along * (5 - 2.5j), tip - along * (5 + 2.5j)
        shafts += f"M{_n(tail.real)} {_n(tail.imag)}L{_n(neck.real)} {_n(neck.imag)}"
        heads += "M" + "L".join(f"{_n(p.real)} {_n(p.imag)}" for p in (tip, left, right)) + "z"
    return (
        f'<path class="rope-here-shaft" stroke="var(--rope-{color})" d="{shafts}"/>'
        f'<path fill="var(--rope-{color})" d="{heads}"/>'
    )


def _draw_qkv(form: _Form, x: float) -> str:
    columns = (("q", "q", -1), ("k", "k", 0), ("v", "score", 1))
    return "".join(
        _arrows(x + place * form.pitches[1], _projected(name), color)
        for name, color, place in columns
    )


def _draw_turn(form: _Form, x: float) -> str:
    return "".join(
        _arrows(x + place * form.pitches[1], _turned(_projected(name)), name)
        for name, place in (("q", -0.5), ("k", 0.5))
    )


def _draw_output(form: _Form, x: float) -> str:
    return _arrows(x, _outputs(), "score")


_DRAWN: dict[str, Callable[[_Form, float], str]] = {
    "words": _draw_words,
    "embeddings": _draw_embeddings,
    "qkv": _draw_qkv,
    "turn": _draw_turn,
    "scores": _draw_scores,
    "weights": _draw_weights,
    "output": _draw_output,
}


def _flows(form: _Form) -> str:
    """Arrows from station to station; v goes over the turn, the scores and the weights."""
    lines = tips = ""
    for i in range(len(form.centers) - 1):
        start = form.centers[i] + form.halves[i]
        end = form.centers[i + 1] - form.halves[i + 1]
        x, reach = (start + end) / 2, min(7, (end - start) / 2 - 1)
        lines += f"M{_n(x - reach)} {_n(_MIDDLE)}H{_n(x + reach - 3)}"
        tips += f"M{_n(x + reach)} {_n(_MIDDLE)}l-4 -2.6v5.2z"
    start, end = form.centers[2] + form.pitches[1], form.centers[-1]
    over = f"M{_n(start)} {_n(_TOP)}V{_OVER}H{_n(end)}V{_n(_TOP - 3)}"
    tips += f"M{_n(end)} {_n(_TOP + 1)}l-2.6 -4h5.2z"
    return (
        f'<path class="rope-here-flow" d="{lines}"/><path class="rope-here-over" d="{over}"/>'
        f'<path class="rope-here-tip" d="{tips}"/>'
    )


def _frames(form: _Form, lit: set[str], pin: float | None) -> str:
    """The frames, each with its name in its edge, where no pin is in the way."""
    parts = []
    for name, (left, top, right, bottom) in reversed(list(zip(FRAMES, form.frames, strict=True))):
        shine = " rope-here-lit" if name in lit else ""
        box = f'x="{left}" y="{top}" width="{_n(right - left)}" height="{_n(bottom - top)}"'
        parts.append(f'<rect {box} rx="8" class="rope-here-frame{shine}"/>')
    (left, top, right, bottom), (_, outer, _, below) = form.frames
    if form.name == "narrow":
        places = {"head": (left + 66, bottom), "layer": (right - 62, below)}
    else:
        clear = 49 + 44 + 20  # half a name, half of "you are here", and what keeps them apart
        free = [pin is None or abs(x - pin) > clear for x in (right - 200, right - 64)]
        head = right - 200 if free[0] else left + 64
        layer = right - 64 if free[1] else head + (-140 if free[0] else 140)
        places = {"head": (head, top), "layer": (layer, outer)}
    for name, (x, y) in places.items():
        half, shine = 49, " rope-here-lit" if name in lit else ""
        parts.append(f'<path class="rope-here-paper" d="{_box(x - half, y - 3, 2 * half, 6)}"/>')
        parts.append(
            f'<text class="rope-here-framed{shine}" x="{_n(x)}" y="{_n(y + 3.3)}">'
            f"{FRAMES[name]}</text>"
        )
    return "".join(parts)


def _lamp(form: _Form, i: int) -> str:
    x, half, bottom = form.centers[i], form.lamps[i], max(form.name_lines) + 7
    size = f'width="{2 * half}" height="{_n(bottom - _TOP + 3)}"'
    return f'<rect class="rope-here-lamp" x="{x - half}" y="{_TOP - 3}" {size} rx="6"/>'


def _form(form: _Form, lit: set[str]) -> str:
    """One form of the picture: the drawing, and over it the names of its stations."""
    pin, whole = _pin(form, lit), not lit & set(STATIONS)
    drawing, names = [_frames(form, lit, pin)], []
    for i, (name, draw) in enumerate(_DRAWN.items()):
        if name in lit:
            drawing.append(_lamp(form, i))
        dim = "" if whole or name in lit else ' class="rope-here-dim"'
        drawing.append(f"<g{dim}>{draw(form, form.centers[i])}</g>")
        names.append(_station(form, i, name, name in lit))
    if pin is not None:
        place = f"left:clamp(40px, {100 * pin / form.width:.2f}%, 100% - 40px)"
        names.append(f'<span class="rope-here-you" style="{place}">you are here</span>')
    return (
        f'<div class="rope-here-form rope-here-{form.name}">'
        f'<svg viewBox="0 0 {form.width} {form.height}" role="img" '
        f'aria-label="{html.escape(said(lit))}">{"".join(drawing)}{_flows(form)}</svg>'
        f"{''.join(names)}</div>"
    )


def _station(form: _Form, i: int, name: str, lit: bool) -> str:
    """A station's name, a link over all of it."""
    called, page = STATIONS[name]
    left = 100 * (form.centers[i] - form.lamps[i]) / form.width
    width = 200 * form.lamps[i] / form.width
    top = 100 * form.name_lines[i % 2] / form.height
    return (
        f'<a class="rope-here-station{" rope-here-lit" if lit else ""}" data-rope-page="{page}" '
        f'style="left:{left:.2f}%;width:{width:.2f}%">'
        f'<span style="top:{top:.2f}%">{called}</span></a>'
    )


def _pin(form: _Form, lit: set[str]) -> float | None:
    """Where "you are here" stands: over the first lit stations that stand side by side."""
    run = []
    for x, name in zip(form.centers, STATIONS, strict=True):
        if name in lit:
            run.append(x)
        elif run:
            break
    if not run:
        frames = [frame for name, frame in zip(FRAMES, form.frames, strict=True) if name in lit]
        run = [frame[0] + 60 for frame in frames][:1]
    return sum(run) / len(run) if run else None


def said(lit: set[str]) -> str:
    """Return the picture in words, for a reader who does not see it.

    Args:
        lit: the stations and frames that the chapter is about.
    """
    named = [name for name in (*STATIONS, *FRAMES) if name in lit]
    if not named:
        return f"The whole. {SAID}"
    names = [STATIONS[name][0] if name in STATIONS else f"the {name}" for name in named]
    return f"You are here: {'; '.join(names)}. {SAID}"


# ---- what a chapter calls -----------------------------------------------------------------------


class Here:
    """The picture of the whole as a notebook's output.

    Attributes:
        stations: what is lit, in the order of the picture; empty for the whole.
    """

    def __init__(self, stations: tuple[str, ...]):
        """Keep what is lit.

        Args:
            stations: names of `STATIONS` and `FRAMES`.
        """
        self.stations = stations

    def __repr__(self) -> str:
        """Say it in words, for a terminal."""
        return said(set(self.stations))

    def _repr_html_(self) -> str:
        lit = set(self.stations)
        forms = "".join(_form(form, lit) for form in (_WIDE, _NARROW))
        return f'<figure class="rope-here"><style>{style()}</style>{forms}</figure>'


def here(*stations: str) -> Here:
    """Return the picture of the whole with the stations of a chapter lit.

    Args:
        *stations: of "words", "embeddings", "qkv", "turn", "scores", "weights", "output", and the
            frames "head" and "layer"; or "whole" alone: the picture with nothing singled out.

    Raises:
        ValueError: If there is no such station, or "whole" stands beside another.

    Example:
        >>> here("turn").stations
        ('turn',)
        >>> here("scores", "turn").stations
        ('turn', 'scores')
    """
    known = (*STATIONS, *FRAMES)
    if stations == ("whole",):
        return Here(())
    for station in stations:
        if station not in known:
            names = ", ".join((*known, "whole alone"))
            raise ValueError(f"a station must be one of {names}, got {station!r}")
    if not stations:
        raise ValueError("here must be told a station, or 'whole', got none")
    return Here(tuple(name for name in known if name in stations))


def style() -> str:
    """Return the style sheet of the picture, the palette's colors in it."""
    css = palette.css() + Path(__file__).with_suffix(".css").read_text("utf-8")
    return re.sub(r"/\*.*?\*/|\s*\n\s*", " ", css).replace("  ", " ")
