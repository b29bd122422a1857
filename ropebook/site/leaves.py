"""What an output of folds holds for a search: each fold that has a title of its own.

A notebook's output is raw HTML, in which no section is. A fold in it that says `data-title` is
found by that title, by its own words and those of the folds around it.
"""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class _Fold:
    """A fold that is being read: what it is, what stands in its summary, under it, and as code."""

    identifier: str
    title: str | None
    summary: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    """Reads folds; what is in a `span` of a summary, as a count, is none of its words."""

    def __init__(self):
        super().__init__()
        self.open: list[_Fold] = []
        self.inside: list[str] = []
        self.leaves: list[dict] = []

    def handle_starttag(self, tag, attrs):
        if tag == "details":
            named = dict(attrs)
            self.open.append(_Fold(named.get("id", ""), named.get("data-title")))
        if tag in ("summary", "span", "pre", "style"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if tag == "p" and self.open:
            self.open[-1].text.append(" ")
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()
        if tag != "details":
            return
        fold = self.open.pop()
        if fold.title is not None:
            above = [_words(one.summary) for one in self.open]
            text = _words([*fold.summary, " ", *fold.text])
            self.leaves.append(
                {
                    "anchor": fold.identifier,
                    "titles": [*above, fold.title],
                    "text": text,
                    "code": _words(fold.code),
                }
            )

    def handle_data(self, data):
        if not self.open or "style" in self.inside:
            return
        fold = self.open[-1]
        if "summary" in self.inside:
            if "span" not in self.inside:
                fold.summary.append(data)
        elif "pre" in self.inside:
            fold.code.append(data)
        else:
            fold.text.append(data)


def leaves_of(markup: str) -> list[dict]:
    """Return the folds of raw HTML that have a title of their own.

    Args:
        markup: HTML whose elements are closed.

    Returns:
        For each its `anchor`, its `titles` from the outermost fold's summary down to its own, its
        `text`, summary first, and its `code`.

    Example:
        >>> leaves_of('<details><summary>A</summary><details id="b" data-title="B">'
        ...     '<summary>Seen.</summary><p>Why.</p><pre>x = 1</pre></details></details>')
        [{'anchor': 'b', 'titles': ['A', 'B'], 'text': 'Seen. Why.', 'code': 'x = 1'}]
    """
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    return reader.leaves


def _words(parts: list[str]) -> str:
    return re.sub(r"\s+", " ", "".join(parts)).strip()
