"""Where a word of code in a sentence may end a line: a flag nowhere, a long name behind its signs.

A browser would break `--expected` behind its first hyphen, and a dotted path in the middle of a
word.
"""

import re

_WORD = re.compile(r'<span class="pre">([^<]*)</span>')
LONG = 24
"""Letters that fit on a line of the smallest phone beside other words."""
_SIGN = re.compile(r"([._/:]+)(?=\w)")


def breakable(markup: str) -> str:
    """Return a page's HTML, its words of code marked.

    Example:
        >>> breakable('<code><span class="pre">--head-dim</span></code>')
        '<code><span class="pre rope-whole">--head-dim</span></code>'
        >>> breakable('<span class="pre">transformers.modeling_rope_utils</span>')
        '<span class="pre">transformers.<wbr>modeling_<wbr>rope_<wbr>utils</span>'
    """
    return _WORD.sub(_marked, markup)


def _marked(found: re.Match) -> str:
    word = found[1]
    if word.startswith("-"):
        return f'<span class="pre rope-whole">{word}</span>'
    if len(word) > LONG:
        word = _SIGN.sub(r"\1<wbr>", word)
    return f'<span class="pre">{word}</span>'


def _mark(app, page, template, context, doctree):
    if context.get("body"):
        context["body"] = breakable(context["body"])


def setup(app):
    """Register the marks with Sphinx."""
    app.connect("html-page-context", _mark)
