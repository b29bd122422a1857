"""The museum as a page shows it: a tree of folds by symptom, whose leaves are the exhibits."""

import html
import re
from collections.abc import Iterable
from pathlib import Path

from ropebook import palette
from ropebook.museum.kit import SHOWS, Exhibit, Hall
from ropelib.diagnosis import Finding, Report

FORKS = {"kvcache-ai/sglang"}  # their name alone would be taken for what they forked
FEW = 6  # as many leaves hang from a branch without another question
FITS = 30  # letters of a line of code that stand side by side on the narrowest phone


class Walls:
    """The halls as a notebook's output.

    Attributes:
        halls: what is shown, in its order.
        reports: by the name of an exhibit, what `diagnose` said and whether it had to be told what
            was meant.
    """

    def __init__(self, halls: Iterable[Hall]):
        """Have every bug diagnosed.

        Args:
            halls: what to show.
        """
        self.halls = list(halls)
        self.reports: dict[str, tuple[Report, bool]] = {
            exhibit.name: exhibit.examined(exhibit.wrong())
            for hall in self.halls
            for exhibit in hall.exhibits
        }

    @property
    def told(self) -> int:
        """How many bugs no measurement shows that is not told what was meant."""
        return sum(told for _, told in self.reports.values())

    @property
    def found(self) -> int:
        """How many are reported to be wrong by measuring alone; a note does not say so."""
        return sum(not told and not report.ok for report, told in self.reports.values())

    @staticmethod
    def branches(hall: Hall) -> dict[str, list[Exhibit]]:
        """Return a hall's exhibits by how they show, or all under "" where they are few.

        Args:
            hall: what is asked about.
        """
        if len(hall.exhibits) <= FEW:
            return {"": hall.exhibits}
        asked = {name: [e for e in hall.exhibits if e.shows == name] for name in SHOWS}
        return {name: leaves for name, leaves in asked.items() if leaves}

    def __repr__(self) -> str:
        """Say it in words, for a terminal."""
        return "\n".join(
            f"{exhibit.name}: {self.finding(exhibit).code}"
            for hall in self.halls
            for exhibit in hall.exhibits
        )

    def finding(self, exhibit: Exhibit) -> Finding:
        """Return what names the bug: its code, or whatever was said first.

        Args:
            exhibit: one of the halls'.
        """
        report, _ = self.reports[exhibit.name]
        named = [finding for finding in report.findings if finding.code == exhibit.code]
        return (named or report.findings)[0]

    def _repr_html_(self) -> str:
        halls = "".join(
            _fold(f"museum-{hall.name}", "hall", hall.asks, self._branches(hall), hall.exhibits)
            for hall in self.halls
        )
        return f'<div class="rope-museum"><style>{style()}</style>{halls}</div>'

    def _branches(self, hall: Hall) -> str:
        shown = f'<p class="rope-museum-aside">{_linked(hall.aside)}</p>' if hall.aside else ""
        for name, leaves in self.branches(hall).items():
            body, address = "".join(map(self._leaf, leaves)), f"museum-{hall.name}-{name}"
            shown += _fold(address, "branch", SHOWS[name], body, leaves) if name else body
        return shown

    def _leaf(self, exhibit: Exhibit) -> str:
        finding, (_, told) = self.finding(exhibit), self.reports[exhibit.name]
        numbers = "" if has_its_numbers(finding) else measured(finding)
        small = f'<small class="rope-museum-measured">{_text(numbers)}</small>' if numbers else ""
        lists = {"The same bug": exhibit.also, "Another one, the same effect": exhibit.akin}
        threads = "".join(
            f"<p>{label}: {', '.join(map(_link, named))}.</p>"
            for label, named in lists.items()
            if named
        )
        asides = "".join(
            f"<p>{_linked(text)}</p>" for text in (exhibit.price, exhibit.differs) if text
        )
        called = _words(how(exhibit, told)) + (", as a note" if finding.severity == "note" else "")
        body = (
            f"<p><strong>{_text(exhibit.name.capitalize())}</strong>, {_link(exhibit.where)}</p>"
            f'<pre tabindex="0"><code>{_code(exhibit)}</code></pre>{asides}'
            f"<p><code>diagnose</code>, {called}: {_code_word(finding.code)}. "
            f"{_text(finding.sentence)} {small}</p>"
            f'<div class="highlight"><pre tabindex="0">$ {command(exhibit)}</pre></div>{threads}'
        )
        name = exhibit.name[0].upper() + exhibit.name[1:]
        return _fold(f"bug-{slug(exhibit.name)}", "leaf", exhibit.saw, body, title=name)


class Shelf:
    """What hangs nowhere, as a notebook's output: each with its thread and the test that sees it.

    Attributes:
        rows: what went wrong, its thread, the test.
    """

    def __init__(self, rows: Iterable[tuple[str, str, str]]):
        """Keep the rows.

        Args:
            rows: what went wrong, its thread, the test.
        """
        self.rows = list(rows)

    def __repr__(self) -> str:
        """Say it in words, for a terminal."""
        return "\n".join(f"{what} ({where}): {test}" for what, where, test in self.rows)

    def _repr_html_(self) -> str:
        items = "".join(
            f"<li>{_text(what)} ({_link(where)}). <em>Seen by:</em> {_text(test)}.</li>"
            for what, where, test in self.rows
        )
        return f"<ul>{items}</ul>"


def slug(name: str) -> str:
    """Return a name as part of an address.

    Example:
        >>> slug("the prompt's last place, again")
        'the-prompt-s-last-place-again'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def how(exhibit: Exhibit, told: bool) -> str:
    """Return how `diagnose` was called, in words.

    Args:
        exhibit: whose lines it was called with.
        told: whether it had to be told what was meant.

    Example:
        >>> from ropebook.museum import EXHIBITS
        >>> how(EXHIBITS["every step at position 0"], False)
        'called with these lines as `decode=`, beside a right rotation'
    """
    if exhibit.part == "decode":
        return "called with these lines as `decode=`, beside a right rotation"
    if exhibit.part == "both":
        return "called with these lines as the rotation and as `decode=`"
    if told:
        return "once it is told what was meant"
    axes = exhibit.meant.axis_of_pairs
    return "from the rotation and the number of its axes" if axes else "from the rotation alone"


def command(exhibit: Exhibit) -> str:
    """Return the command that says the same.

    Args:
        exhibit: of the museum.

    Example:
        >>> from ropebook.museum import EXHIBITS
        >>> command(EXHIBITS["every step at position 0"])
        'python -m ropebook.museum every-step-at-position-0'
    """
    return f"python -m ropebook.museum {slug(exhibit.name)}"


def _fold(
    name: str, kind: str, asks: str, body: str, leaves: Iterable = (), title: str | None = None
) -> str:
    """Return a fold; a title is what a search finds it by (ropebook/site/leaves.py)."""
    number = len(list(leaves))
    count = f' <span class="rope-museum-count">{number}</span>' if number else ""
    found = "" if title is None else f' data-title="{html.escape(title)}"'
    return (
        f'<details id="{name}" class="rope-museum-{kind}"{found}>'
        f"<summary>{_text(asks)}{count}</summary>"
        f'<div class="rope-museum-body">{body}</div></details>'
    )


def _code(exhibit: Exhibit) -> str:
    """The source, and under the line that is wrong the line that mends it."""
    lines = []
    mended = exhibit.mended_source.splitlines()
    for before, after in zip(exhibit.source.splitlines(), mended, strict=True):
        if before != after:
            lines += [_line("del", f"- {before}"), _line("ins", f"+ {after}")]
        else:
            same = f"  {before}"
            lines.append(_line("span", same) if len(before) > FITS else _text(same))
    return "\n".join(lines)


def _line(tag: str, line: str) -> str:
    """Return a line that may go on below itself, further in than it begins."""
    inset = min(len(line) - len(line[2:].lstrip()) - 2, 8)
    return f'<{tag} style="--in: {inset}">{_text(line)}</{tag}>'


def _code_word(code: str) -> str:
    """Return a code of the diagnosis, which the book links to its row (ropebook/site/codes.py)."""
    return f'<a data-rope-page="codes#codes-{code}"><strong>{code}</strong></a>'


def _link(thread: str) -> str:
    repository, number = re.split("/(?:issues|pull)/", thread)
    name = repository if repository in FORKS else repository.rpartition("/")[2]
    return f'<a href="https://github.com/{thread}">{name} #{number}</a>'


def _linked(text: str) -> str:
    """Code as code; what stands in brackets as a link: to a thread, or to the exhibit so named."""

    def link(found: re.Match) -> str:
        name = found[1]
        return _link(name) if "/" in name else f'<a href="#bug-{slug(name)}">{name}</a>'

    return re.sub(r"\[([^]]+)\]", link, _words(text))


def measured(finding: Finding) -> str:
    """Return what was measured, in words.

    Example:
        >>> measured(Finding("off-by-one", "wrong", "", {"shift": 1.0}))
        'shift 1'
    """
    return ", ".join(f"{name} {_number(value)}" for name, value in finding.evidence.items())


def has_its_numbers(finding: Finding) -> bool:
    """Whether a finding's sentence has all that was measured.

    Example:
        >>> has_its_numbers(Finding("off-by-one", "wrong", "Shifted by +1.", {"shift": 1.0}))
        True
    """
    numbers = {*re.findall(r"\d[\d.e+-]*\d|\d", finding.sentence)}
    return all(
        value in finding.sentence if isinstance(value, str) else _number(value) in numbers
        for value in finding.evidence.values()
    )


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _words(text: str) -> str:
    """What stands between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _text(text))


def _text(words: str) -> str:
    return html.escape(words, quote=False)


def style() -> str:
    """Return the style sheet, the palette's colors in it."""
    css = palette.css() + Path(__file__).with_name("museum.css").read_text("utf-8")
    return re.sub(r"/\*.*?\*/|\s*\n\s*", " ", css).replace("  ", " ")
