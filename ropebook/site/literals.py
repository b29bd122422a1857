"""Where a word of code may end a line: a flag nowhere, a long name behind its signs.

A browser would break `--expected` behind its hyphens, and a dotted path in the middle of a word.
"""

import re

LONG = 24
"""Letters that fit on a line of the smallest phone, inside of a list or a fold."""
_WORD = re.compile(r'<span class="pre">([^<]*)</span>')
_FLAG = re.compile(rf"--?[A-Za-z][\w-]{{,{LONG}}}")
_TYPED = re.compile(r"(?<![^\s>])[^\s<>]+(?![^<]*>)")
_SIGN = re.compile(r"(?<=[^\W_])([._/:]+)(?=\w)")


def breakable(markup: str) -> str:
    """Return a page's HTML, its words of code marked.

    Example:
        >>> breakable('<code><span class="pre">--head-dim</span></code>')
        '<code><span class="pre rope-whole">--head-dim</span></code>'
        >>> breakable('<span class="pre">transformers.modeling_rope_utils</span>')
        '<span class="pre">transformers.<wbr>modeling_<wbr>rope_<wbr>utils</span>'
    """

    def marked(found: re.Match) -> str:
        kind = "pre rope-whole" if _FLAG.fullmatch(found[1]) else "pre"
        return f'<span class="{kind}">{_parted(found[1])}</span>'

    return _WORD.sub(marked, markup)


def typed(line: str) -> str:
    """Return the HTML of a line of code, its words marked.

    Example:
        >>> typed('read configurations/smollm3-3b.json --json')
        'read configurations/<wbr>smollm3-3b.<wbr>json <span class="rope-whole">--json</span>'
    """

    def marked(found: re.Match) -> str:
        word = found[0]
        return f'<span class="rope-whole">{word}</span>' if _FLAG.fullmatch(word) else _parted(word)

    return _TYPED.sub(marked, line)


def _parted(word: str) -> str:
    return _SIGN.sub(r"\1<wbr>", word) if len(word) > LONG else word


def _mark(app, page, template, context, doctree):
    if context.get("body"):
        context["body"] = breakable(context["body"])


def setup(app):
    """Register the marks with Sphinx."""
    app.connect("html-page-context", _mark)
