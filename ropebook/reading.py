"""How long a page takes a first-year student who reads in earnest: `python -m ropebook.reading`.

A page is counted from its source: the words of its prose, formulas, lines of code that are shown,
pictures, and what asks for something to be done. What stands under a heading tagged `deeper` is
counted apart. The times of a page's head and of the landing page are these numbers, rounded to five
minutes (`tests/book/test_reading_times.py`).

The rates were set by reason and fitted to two students with a clock. One read six whole chapters,
every fold open, and did every exercise (`CLOCKED`): each comes out within a factor of 1.3. The
other read the road with paper, folds closed (`ROAD_CLOCKED`): each page comes out within 1.2, and
their sum within a hundredth. Fitted were the rates of words, lines of code, tables, fill-ins and
tasks; at first the road's sum came out at 0.85 of what was needed, pages of code the lowest.
"""

import argparse
import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ropebook import widgets
from ropebook.exercises.definitions import DEFINITIONS, Answer, Bet, FillIn, Task

ROOT = Path(__file__).resolve().parents[1]

# Minutes for one of each.
RATES = {
    "words": 1 / 80,  # a third of a novel's speed: sentences to be understood are read twice
    "inline formulas": 5 / 60,  # as long as eight words
    "displayed lines": 30 / 60,  # each line is held against the one before it
    "code lines": 12 / 60,  # read, and the shapes followed
    "figures": 1,  # axes, lines, caption
    "tables": 2,  # every row looked up, and what its columns mean
    "widgets": 3,  # every button once, one slider for oneself
    "heads": 0.5,  # "you are here": the picture is known from the first page
    "bets": 1,  # a guess, and why not
    "answers": 2,  # a number on paper, one wrong try, its hint
    "fill-ins": 6,  # two or three gaps, one wrong run, and a sketch on paper
    "tasks": 3,  # something to be set in a widget
    "kernel exercises": 9,  # a function to be written, and run until it is right
}
CLOCKED = {  # minutes that the student took, at commit f5d6933
    "foundations/why_positions": 135,
    "foundations/absolute": 180,
    "foundations/relative": 200,
    "foundations/complex_numbers": 135,
    "rope/two_dimensions": 150,
    "rope/many_dimensions": 180,
}
ROAD_CLOCKED = {  # at commit 003953f; without 7 minutes each for two boxes that were at fault
    "foundations/why_positions": 38,
    "foundations/complex_numbers": 39,
    "rope/two_dimensions": 38,
    "rope/many_dimensions": 50,
    "rope/implementations": 42,
    "rope/checks": 42,
    "next": 8,
}
ROUND = 5
STATED = re.compile(
    r'^\*\*Time:\*\* about (\d+) minutes(?:, and (\d+) more under "Deeper")?\.$', re.MULTILINE
)

_HIDDEN = {"remove-cell", "remove-input", "hide-input", "hide-cell", "exercise", "solution"}
_KINDS = {Bet: "bets", Answer: "answers", FillIn: "fill-ins", Task: "tasks"}
_DISPLAYED = re.compile(
    r"\$\$(.*?)\$\$|\\begin\{(align|gather|equation)\*?\}(.*?)\\end\{\2\*?\}", re.DOTALL
)
_WORD = re.compile(r"\w[\w'’-]*")


@dataclass
class Times:
    """What a page holds, open and under its folds.

    Attributes:
        open: counts by the names of `RATES`, of what a page shows at once.
        deeper: the same under the folds.
    """

    open: Counter = field(default_factory=Counter)
    deeper: Counter = field(default_factory=Counter)

    @property
    def minutes(self) -> tuple[float, float]:
        """Minutes of what is open and of what is under folds."""
        return minutes(self.open), minutes(self.deeper)

    @property
    def line(self) -> str:
        """The line that the page's head must have."""
        first, more = (rounded(value) for value in self.minutes)
        rest = f', and {more} more under "Deeper"' if more else ""
        return f"**Time:** about {first} minutes{rest}."


def minutes(counts: Counter) -> float:
    """Return how long so much takes.

    Args:
        counts: by the names of `RATES`.

    Raises:
        ValueError: If there is no rate of that name.

    Example:
        >>> minutes(Counter(words=200, widgets=1))
        5.5
    """
    if unknown := set(counts) - set(RATES):
        raise ValueError(f"counts must have names of RATES, got {sorted(unknown)}")
    return sum(RATES[name] * count for name, count in counts.items())


def rounded(value: float) -> int:
    """Return minutes as a page states them: to five, and never 0 where there is something.

    Example:
        >>> rounded(22.4), rounded(1.0), rounded(0.0)
        (20, 5, 0)
    """
    return max(ROUND, ROUND * round(value / ROUND)) if value else 0


def read(path: Path, *, all_code: bool = False) -> Times:
    """Return what a page holds.

    Args:
        path: a notebook, or a page of MyST Markdown.
        all_code: whether visible cells count that are no `lesson`: a page before the book hid its
            code, or one whose reader shows it.
    """
    times, fold = Times(), 0
    for kind, source, tags in _cells(path):
        if kind == "markdown":
            heading = re.match(r"(#+) ", source)
            if heading and fold and len(heading[1]) <= fold:
                fold = 0
            if heading and "deeper" in tags:
                fold = len(heading[1])
            counts = count_prose(source)
        else:
            counts = count_code(source, tags, all_code=all_code)
        (times.deeper if fold else times.open).update(counts)
    return times


def _cells(path: Path) -> Iterator[tuple[str, str, set[str]]]:
    """Kind, source and tags of a page's cells; a heading after prose begins one of its own."""
    text = path.read_text("utf-8")
    if path.suffix == ".ipynb":
        for cell in json.loads(text)["cells"]:
            tags = set(cell["metadata"].get("tags", []))
            source = "".join(cell["source"])
            if cell["cell_type"] != "markdown":
                yield "code", source, tags
                continue
            # The tag is of the heading that the cell begins with.
            for i, part in enumerate(_at_headings(source)):
                yield "markdown", part, set() if i else tags
    else:
        text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
        parts = re.split(
            r"^```\{code-cell\}[^\n]*\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE
        )
        for i, part in enumerate(parts):
            if i % 2:
                tags = set(
                    re.findall(r"[\w-]+", (re.match(r":tags: \[(.*)\]", part) or [""] * 2)[1])
                )
                yield "code", re.sub(r"^:.*\n", "", part, flags=re.MULTILINE), tags
                continue
            for section in _at_headings(part):
                attributes = re.match(r"\{([^}\n]*)\}\n", section)
                deeper = attributes and ".deeper" in attributes[1].split()
                prose = section[attributes.end() :] if attributes else section
                yield "markdown", prose, {"deeper"} if deeper else set()


def _at_headings(source: str) -> list[str]:
    """A text cut before each heading, with the attributes that stand above it."""
    parts = re.split(
        r"^(?=(?:\{[^}\n]*\}\n)#{2,6} )|(?<!\}\n)^(?=#{2,6} )", source, flags=re.MULTILINE
    )
    return [part for part in parts if part.strip()]


def count_prose(source: str) -> Counter:
    r"""Return words and formulas of Markdown; code, addresses and comments are no words.

    Example:
        >>> sorted(count_prose("# Two *words*\n\nand $x$: $$a = b$$ [here](there.md)").items())
        [('displayed lines', 1), ('inline formulas', 1), ('words', 4)]
    """
    counts: Counter = Counter()
    source = re.sub(r"<!--.*?-->|^(`{3,}|~{3,}).*?^\1", " ", source, flags=re.DOTALL | re.MULTILINE)
    for found in _DISPLAYED.finditer(source):
        counts["displayed lines"] += 1 + (found[1] or found[3]).count(r"\\")
    source = _DISPLAYED.sub(" ", source)
    source, counts["inline formulas"] = re.subn(r"\$[^$\n]+(?:\n[^$\n]+)?\$", " ", source)
    source = re.sub(r"\]\([^)]*\)", "]", source)
    counts["words"] = len(_WORD.findall(re.sub(r"<[^>]+>", " ", source)))
    return +counts


def count_code(source: str, tags: set[str], *, all_code: bool = False) -> Counter:
    """Return what a code cell gives a reader: lines to read, a picture, something to do.

    Args:
        source: the cell's code.
        tags: the cell's tags.
        all_code: whether any visible cell's lines count, and not those of a `lesson` alone.
    """
    counts: Counter = Counter()
    if "exercise" in tags:
        counts["kernel exercises"] += 1
    elif "solution" not in tags and "remove-cell" not in tags:
        if "lesson" in tags or (all_code and not _HIDDEN & tags):
            counts["code lines"] = sum(bool(line.strip()) for line in source.splitlines())
        counts.update(_shown(source))
    return +counts


def _shown(source: str) -> Counter:
    """What the calls of a cell's last line show."""
    counts: Counter = Counter()
    body = ast.parse(source).body
    if not body or not isinstance(body[-1], ast.Expr):
        return counts
    for call in (node for node in ast.walk(body[-1]) if isinstance(node, ast.Call)):
        name = (
            call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        )
        if name in ("describe", "finish", "Plan"):
            counts["figures"] += 1
        elif name in ("table", "here"):
            counts[{"table": "tables", "here": "heads"}[name]] += 1
        elif name == "ask":
            counts[_KINDS[type(DEFINITIONS[_first(call)])]] += 1
        elif name in widgets.__all__:
            counts["widgets"] += 1
            counts["tasks"] += any(keyword.arg == "task" for keyword in call.keywords)
    return counts


def _first(call: ast.Call) -> Any:
    return ast.literal_eval(call.args[0])


def pages() -> dict[str, list[Path]]:
    """Return the pages that are read from first to last, by the part of the contents."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    found: dict[str, list[Path]] = {}
    for i, part in enumerate(toc["parts"]):
        for chapter in part["chapters"]:
            page = ROOT / chapter["file"]
            if page.with_suffix(".ipynb").exists():
                found.setdefault(part["caption"], []).append(page.with_suffix(".ipynb"))
            elif i == 0:  # the road ends with a page of prose; other such pages are for looking up
                found.setdefault(part["caption"], []).append(page.with_suffix(".md"))
    return found


def main(arguments: list[str] | None = None) -> None:
    """Print the minutes of every page and of every part."""
    parser = argparse.ArgumentParser(prog="python -m ropebook.reading", description=main.__doc__)
    parser.add_argument("pages", nargs="*", type=Path, help="notebooks; all of the book otherwise")
    parser.add_argument("--parts", action="store_true", help="what the minutes are made of")
    parser.add_argument("--write", action="store_true", help="correct the lines that pages state")
    options = parser.parse_args(arguments)
    parts = {"": options.pages} if options.pages else pages()
    print(f"{'':28}{'open':>6}{'deeper':>8}")
    for part, paths in parts.items():
        every = [(path, read(path)) for path in paths]
        for path, times in every:
            first, more = times.minutes
            if options.write:
                write(path, times.line)
            note = "" if stated(path) == times.line else f"   must say: {times.line}"
            print(f"{path.stem:28}{first:6.0f}{more:8.0f}{note}")
            for name in RATES if options.parts else ():
                if times.open[name] or times.deeper[name]:
                    print(f"    {name:24}{times.open[name]:6}{times.deeper[name]:8}")
        if part:
            sums = [sum(times.minutes[i] for _, times in every) for i in (0, 1)]
            print(f"{part:28}{sums[0]:6.0f}{sums[1]:8.0f}\n")


def stated(path: Path) -> str | None:
    """Return the line of a page's head that says how long it takes, if it has the book's form."""
    found = STATED.search(_prose(path))
    return found and found[0]


def write(path: Path, line: str) -> None:
    """Put a line in place of the one that a page states, where it states one in the book's form.

    Args:
        path: a notebook or a page of Markdown.
        line: the line that it must have.
    """
    old = stated(path)
    if old and old != line:
        text = path.read_text("utf-8")
        if path.suffix == ".ipynb":
            old, line = (json.dumps(words)[1:-1] for words in (old, line))
        path.write_text(text.replace(old, line), encoding="utf-8")


def _prose(path: Path) -> str:
    return "\n".join(source for kind, source, _ in _cells(path) if kind == "markdown")


if __name__ == "__main__":
    main()
