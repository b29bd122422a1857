"""Tables of numbers as a page shows them: digits under digits, bars beside them, marks of extremes.

In place of printed columns. A chapter's cell ends with

    table(
        [("RoPE", told(losses), 461_312), ("ALiBi", told(others), 461_312)],
        header=("encoding", "loss, nats per byte", "parameters"),
        caption="Mean and standard deviation over five seeds.",
        bars=("loss, nats per byte",),
        marks={"loss, nats per byte": "smallest"},
    )

A cell is text (in which `` `code` `` is code), a number, `told(values)`, which is a mean with its
spread over seeds, or None for what does not exist. Numbers go in as numbers, for their bars and
marks; how they are written is the column's: `formats={"loss": ".3f"}`. A word beside numbers
("nowhere") stays a word. Where a chapter printed a line per row, it appends a tuple to a list.
"""

import html
import math
import re
import statistics
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ropebook import palette

MINUS, FIGURE_SPACE, POINT_SPACE, NO_BREAK = "\u2212", "\u2007", "\u2008", "\u00a0"
SIGNS = {"smallest": "▾", "largest": "▴"}
"""What stands beside the extreme of a column, for eyes; readers of the screen hear the word."""


class Told(str):
    """A mean with its spread as a text that a sentence can hold, and the mean as a number.

    Attributes:
        mean: the mean.
        spread: the standard deviation.
    """

    mean: float
    spread: float

    def __new__(cls, mean: float, spread: float, digits: int) -> "Told":
        """Make the text.

        Args:
            mean: the mean.
            spread: the standard deviation.
            digits: how many digits after the point are told of both.
        """
        text = f"{mean:.{digits}f}{NO_BREAK}±{NO_BREAK}{spread:.{digits}f}".replace("-", MINUS)
        self = super().__new__(cls, text)
        self.mean, self.spread = mean, spread
        return self


def told(values: Iterable[Any], digits: int = 2) -> Told:
    r"""Return mean and standard deviation of one number of each seed, as text without line breaks.

    Args:
        values: numbers, one per seed, at least two; a tensor will do.
        digits: digits after the point, of both.

    Raises:
        ValueError: If there are fewer than two values, of which no spread can be told.

    Example:
        >>> told([1.0, 2.0, 3.0], 1).replace("\u00a0", " ")
        '2.0 ± 1.0'
    """
    numbers = [float(value) for value in values]
    if len(numbers) < 2:
        raise ValueError(f"values must be at least two to have a spread, got {numbers}")
    return Told(statistics.fmean(numbers), statistics.stdev(numbers), digits)


def table(
    rows: Iterable[Sequence[Any]],
    *,
    header: Sequence[str],
    caption: str = "",
    formats: Mapping[str, str] | None = None,
    bars: Iterable[str] = (),
    marks: Mapping[str, str] | None = None,
) -> "Table":
    """Return a table that a notebook, the page and a terminal show, each in its way.

    Args:
        rows: one sequence of cells per row, as long as the header. The first cell names its row.
        header: the columns' names, units among them: "loss, nats per byte".
        caption: what to see in the table.
        formats: column -> format of its numbers, such as ".3f"; by default whole numbers are told
            whole and others with four significant digits.
        bars: columns whose numbers have a bar beside them, all from zero; one of a negative number
            goes to the left and is hollow.
        marks: column -> "smallest" or "largest": the cell that is gets a sign and bold letters.

    Raises:
        ValueError: If a row is not as long as the header, no column has a name that is asked for,
            a column with bars or marks holds no number, or a mark is none of the two.

    Example:
        >>> print(table([("a", 1.5), ("b", 12)], header=("hand", "turns")))
        hand  turns
        a       1.5
        b      12
    """
    return Table(
        [tuple(row) for row in rows],
        tuple(header),
        caption,
        dict(formats or {}),
        tuple(bars),
        dict(marks or {}),
    )


class Table:
    """What `table` returns: shown by a notebook as HTML, by a terminal as aligned text."""

    def __init__(
        self,
        rows: list[tuple[Any, ...]],
        header: tuple[str, ...],
        caption: str,
        formats: dict[str, str],
        bars: tuple[str, ...],
        marks: dict[str, str],
    ):
        """Check what is asked for and write the cells; `table` has the arguments."""
        for row in rows:
            if len(row) != len(header):
                raise ValueError(f"a row must have {len(header)} cells, got {len(row)}: {row}")
        if not rows:
            raise ValueError("a table must have rows, got none")
        self.header, self.caption, self.bars, self.marks = header, caption, bars, marks
        self._columns = [
            _Column(name, [row[i] for row in rows], formats.get(name, ""))
            for i, name in enumerate(header)
        ]
        for what, names in (("formats", formats), ("bars", bars), ("marks", marks)):
            for name in names:
                if name not in header:
                    raise ValueError(f"{what} must name columns, one of {header}, got {name!r}")
                if not any(number is not None for number in self._column(name).numbers):
                    raise ValueError(f"{what} must name a column of numbers, got {name!r}")
        for mark in marks.values():
            if mark not in SIGNS:
                raise ValueError(f"a mark must be one of {', '.join(SIGNS)}, got {mark!r}")

    def _column(self, name: str) -> "_Column":
        return self._columns[self.header.index(name)]

    def __repr__(self) -> str:
        """Aligned columns for a terminal, extremes with their sign."""
        columns = []
        for column in self._columns:
            chosen = column.chosen(self.marks.get(column.name))
            sign = SIGNS.get(self.marks.get(column.name, ""), "")
            cells = [
                f"{text}{(NO_BREAK + (sign if i in chosen else ' ')) if sign else ''}"
                for i, text in enumerate(column.texts)
            ]
            cells = [_plain(cell) for cell in (column.name, *cells)]
            width = max(map(_width, cells))
            columns.append(
                [
                    f"{' ' * (width - _width(cell))}{cell}"
                    if column.numeric
                    else f"{cell}{' ' * (width - _width(cell))}"
                    for cell in cells
                ]
            )
        lines = ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]
        return "\n".join([*lines, *([self.caption] if self.caption else [])])

    def _repr_html_(self) -> str:
        head = "".join(
            f'<th scope="col"{_class(column.numeric and "rope-table-number")}>'
            f"{_inline(column.name)}</th>"
            if column.name
            else "<td></td>"  # a corner without a name is no header
            for column in self._columns
        )
        cells = [self._cells(column, i) for i, column in enumerate(self._columns)]
        body = "".join(f"<tr>{''.join(row)}</tr>" for row in zip(*cells, strict=True))
        words = [_inline(self.caption)] if self.caption else []
        words += [
            f"{SIGNS[mark]}&nbsp;{mark} of its column."
            for mark in SIGNS
            if mark in self.marks.values()
        ]
        others = [text for column in self._columns[1:] for text in column.texts]
        marks = _class(len(self.header) > 2 and max(map(len, others)) < 2 and "rope-table-marks")
        caption = f"<figcaption>{' '.join(words)}</figcaption>" if words else ""
        return (
            f'<figure class="rope-table"><style>{style()}</style>'
            f'<div class="rope-table-box pst-scrollable-table-container"><table{marks}>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{caption}</figure>"
        )

    def _cells(self, column: "_Column", place: int) -> list[str]:
        tag = 'th scope="row"' if place == 0 else "td"
        mark = self.marks.get(column.name)
        chosen = column.chosen(mark)
        cells = []
        for i, text in enumerate(column.texts):
            shown = _inline(text)
            if mark:
                said = f'<span class="rope-table-said"> {mark}</span>'
                sign = f'<span aria-hidden="true">{SIGNS[mark]}</span>{said}'
                shown += f'<span class="rope-table-sign">{sign if i in chosen else ""}</span>'
            if column.name in self.bars:
                shown += column.bar(i)
            classes = (column.numeric and "rope-table-number", i in chosen and "rope-table-chosen")
            cells.append(f"<{tag}{_class(*classes)}>{shown}</{tag.split()[0]}>")
        return cells


class _Column:
    """One column: its cells as numbers where they are, and as texts of one width."""

    def __init__(self, name: str, cells: list[Any], form: str):
        self.name = name
        self.numbers = [_number(cell) for cell in cells]
        self.numeric = any(number is not None for number in self.numbers)
        self.texts = [
            _text(cell, number, form) for cell, number in zip(cells, self.numbers, strict=True)
        ]
        if self.numeric:
            self.texts = _under_each_other(self.texts)

    def chosen(self, mark: str | None) -> set[int]:
        """Rows that hold the column's extreme."""
        if mark is None:
            return set()
        known = [number for number in self.numbers if number is not None and not math.isnan(number)]
        extreme = min(known) if mark == "smallest" else max(known)
        return {i for i, number in enumerate(self.numbers) if number == extreme}

    def bar(self, i: int) -> str:
        """The bar beside a cell; all of a column share zero and scale."""
        known = [n for n in self.numbers if n is not None and math.isfinite(n)]
        low, high = min(0.0, *known), max(0.0, *known)
        number = self.numbers[i]
        inside = ""
        if number is not None and math.isfinite(number) and high > low:
            left = 100 * (min(number, 0) - low) / (high - low)
            width = 100 * abs(number) / (high - low)
            below = ' class="rope-table-below"' if number < 0 else ""
            inside = f'<i{below} style="left:{left:.1f}%;width:{width:.1f}%"></i>'
        return f'<span class="rope-table-bar" aria-hidden="true">{inside}</span>'


def _number(cell: Any) -> float | None:
    if isinstance(cell, Told):
        return cell.mean
    if cell is None or isinstance(cell, (str, bool)):
        return None
    return float(cell)  # a tensor with one number will do


def _text(cell: Any, number: float | None, form: str) -> str:
    if cell is None:
        return "–"
    if number is None or isinstance(cell, Told):
        return {True: "yes", False: "no"}[cell] if isinstance(cell, bool) else str(cell)
    if not math.isfinite(number):
        return {math.inf: "∞", -math.inf: f"{MINUS}∞"}.get(number, "–")
    if form:
        text = f"{number:{form}}"
    elif number == int(number) and abs(number) < 1e15:
        text = f"{int(number):,}"
    else:
        text = f"{number:.4g}" if abs(number) < 10_000 else f"{number:,.0f}"
    return text.replace("-", MINUS)


def _under_each_other(texts: list[str]) -> list[str]:
    """Fill numbers up on the right, so that their points stand under each other."""
    parts = [re.fullmatch(rf"([+{MINUS}]?[\d,]*)(\.\d+)?(.*)", text, re.DOTALL) for text in texts]
    fraction = max(len(part[2] or "") for part in parts if part)
    rest = max(len(part[3]) for part in parts if part)
    filled = []
    for text, part in zip(texts, parts, strict=True):
        if part is None or not part[1]:
            filled.append(text)
            continue
        missing = fraction - len(part[2] or "")
        space = (POINT_SPACE if missing and not part[2] else "") + FIGURE_SPACE * (
            missing - (not part[2] and missing > 0)
        )
        filled.append(
            f"{part[1]}{part[2] or ''}{space}{part[3]}{FIGURE_SPACE * (rest - len(part[3]))}"
        )
    return filled


def _inline(text: str) -> str:
    """Escape a text; what stands between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def _plain(text: str) -> str:
    for space in (FIGURE_SPACE, POINT_SPACE, NO_BREAK):
        text = text.replace(space, " ")
    return text


def _width(text: str) -> int:
    return sum(0 if unicodedata.combining(letter) else 1 for letter in text)


def _class(*names: str | bool) -> str:
    kept = " ".join(name for name in names if name)
    return f' class="{kept}"' if kept else ""


def style() -> str:
    """Return the style sheet, each color with the light page's for pages that have no palette."""
    css = Path(__file__).with_suffix(".css").read_text("utf-8")
    colors = palette.named()
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    css = re.sub(r"var\(--rope-([a-z-]+)\)", lambda m: f"var({m[0][4:-1]}, {colors[m[1]]})", css)
    return re.sub(r"\s+", " ", css).strip()
