"""Sphinx extension: what the built book needs so that its pages work from disk, offline, at once.

It draws Plotly figures from JSON with one shared script, colors formulae by the palette, brings the
fonts, and takes thebe (which needs a server) out of every page; `folds` and `widgets` are beside
it. The scripts in `book/_static` are the other half: they run in the reader's browser.
"""

import html
import json
import os
import re
from pathlib import Path

from docutils import nodes
from pygments.formatters import HtmlFormatter
from pygments.token import Name, Punctuation, Text, Whitespace
from sphinx.highlighting import PygmentsBridge
from sphinx.util import logging

from ropebook import page as whole
from ropebook import palette, tables
from ropebook.exercises import RUN_SOLUTIONS
from ropebook.site import (
    cards,
    codes,
    folds,
    glossary,
    literals,
    marks,
    reports,
    sections,
    widgets,
)

PLOTLY_MIME = "application/vnd.plotly.v1+json"
logger = logging.getLogger(__name__)


class PlotlyRenderer:
    """Writes a Plotly figure as a JSON script tag that the static host draws.

    myst-nb finds this class in every environment that ropebook is in, so it leaves figures alone in
    books that do not list `ropebook.site` among their extensions.
    """

    mime_priority_overrides = ()  # until `setup`

    @staticmethod
    def handle_mime(renderer, data, inline):
        """Return the figure's nodes, or None for another MIME type.

        The figure must carry its text alternative and its caption (`figures.describe`); one that
        does not is a warning, which the tests' build turns into an error.
        """
        if data.mime_type != PLOTLY_MIME or not PlotlyRenderer.mime_priority_overrides:
            return None
        figure = data.content
        words = (figure.get("layout", {}).get("meta")) or {}
        for word in ("alt", "caption"):
            if not words.get(word):
                renderer.logger.warning(
                    f"a Plotly figure has no {word}: pass it through ropebook.figures.describe",
                    subtype="figure",
                    line=data.line,
                )
        height = figure["layout"].get("height", 420)
        figure = {"data": figure["data"], "layout": figure["layout"]}
        text = _with_css_variables(json.dumps(_short(figure), separators=(",", ":"))).replace(
            "</", r"<\/"
        )
        markup = (
            f'<figure class="rope-figure"><div class="rope-plot" role="img" '
            f'aria-label="{html.escape(words.get("alt", ""))}" style="height:{height}px"></div>'
            f'<script type="{PLOTLY_MIME}">{text}</script>'
            f"<figcaption>{html.escape(words.get('caption', ''))}</figcaption></figure>"
        )
        return [nodes.raw(text=markup, format="html")]


def _short(value):
    """Write whole numbers without the point and the zero that say nothing to a browser."""
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_short(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _with_css_variables(figure_json: str) -> str:
    """Name the palette's colors instead of spelling them, so that one figure serves both themes."""
    names = {color: name for name, color in palette.named().items()}
    pattern = re.compile("|".join(map(re.escape, names)))
    return pattern.sub(lambda found: f"var(--rope-{names[found.group()]})", figure_json)


# The letters that stand for a thing of the palette wherever they appear in a formula.
_THING_OF_LETTER = {"q": "q", "k": "k", "m": "position", "n": "position", r"\theta": "angle"}
_TEX_TOKEN = re.compile(
    r"\\(?:text|mathrm|operatorname\*?|begin|end|hspace|label)\s*\{[^}]*\}"  # names, not symbols
    r"|\\[a-zA-Z]+|\\."
    r"|[a-zA-Z]"
)


def color_tex(tex: str) -> str:
    r"""Color the letters q, k, m, n and theta of a formula as their things are colored elsewhere.

    Notebooks keep plain LaTeX, which every viewer can show; the book adds `\class{rope-q}{q}`.

    Example:
        >>> color_tex(r"q^\top k")
        '{\\class{rope-q}{q}}^\\top {\\class{rope-k}{k}}'
    """

    def color(token: re.Match) -> str:
        letter = token.group()
        thing = _THING_OF_LETTER.get(letter)
        return rf"{{\class{{rope-{thing}}}{{{letter}}}}}" if thing else letter

    return _TEX_TOKEN.sub(color, tex)


def _color_formulae(app, doctree):
    for kind in (nodes.math, nodes.math_block):
        for formula in doctree.findall(kind):
            formula[:] = [nodes.Text(color_tex(formula.astext()))]


_SIGNS_BEFORE = re.compile(r"[(\[“‘]+$")
_SIGNS_AFTER = re.compile(r"[.,;:!?)\]”’…]+")


def hold_signs(doctree: nodes.document) -> None:
    """Keep each formula on one line with the signs that touch it.

    A browser may break a line on either side of a formula, even before a full stop.
    """
    for formula in list(doctree.findall(nodes.math)):
        parent = formula.parent
        if isinstance(parent, nodes.title):  # copied into the contents, where nothing is held
            continue
        at = parent.index(formula)
        held = nodes.inline(classes=["rope-with-sign"])
        if at > 0 and isinstance(parent[at - 1], nodes.Text):
            if found := _SIGNS_BEFORE.search(text := parent[at - 1]):
                parent[at - 1] = nodes.Text(text[: found.start()])
                held += nodes.Text(found[0])
        held += formula.deepcopy()
        if at + 1 < len(parent) and isinstance(parent[at + 1], nodes.Text):
            if found := _SIGNS_AFTER.match(text := parent[at + 1]):
                parent[at + 1] = nodes.Text(text[found.end() :])
                held += nodes.Text(found[0])
        if len(held) > 1:
            parent[at] = held


def _drop_thebe(app, config):
    # Jupyter Book loads thebe on every page, twice, whether asked for or not; it needs a server.
    for listeners in app.events.listeners.values():
        listeners[:] = [
            listener
            for listener in listeners
            if not listener.handler.__module__.startswith("sphinx_thebe")
        ]
    app.registry.css_files[:] = [
        (name, attributes) for name, attributes in app.registry.css_files if "thebe" not in name
    ]


def _place_tools(app, config):
    # The page's name, and its own tools before those of the theme.
    config.html_theme_options |= {
        "article_header_start": ["toggle-primary-sidebar.html", "page-name.html"],
        "article_header_end": ["page-tools.html", "article-header-buttons.html"],
    }


def _name_citations(app, page, template, context, doctree):
    # Sphinx gives each entry of a bibliography a role that ARIA has withdrawn, inside a list.
    if context.get("body"):
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')


def _part_styles() -> tuple[str, ...]:
    from ropebook.museum import walls  # its exhibits need torch, which other books may lack

    return tables.style(), whole.style(), walls.style()


def _share_styles(app, page, template, context, doctree):
    # In a notebook each table and picture brings its style sheet; a page links all, once.
    for style in _part_styles():
        if context.get("body"):
            context["body"] = context["body"].replace(f"<style>{style}</style>", "")


def _bring_plan(app, page, template, context, doctree):
    # The museum's plan is walked by a script that no other page needs.
    if 'rope-museum rope-plan"' in (context.get("body") or ""):
        app.add_js_file("plan.js", defer="defer")


def _link_stations(app, page, template, context, doctree):
    # The picture of the whole names chapters; what address they have, only a page knows.
    def link(found: re.Match) -> str:
        document, place = f"book/{found[1]}", found[2] or ""
        if document == page:
            return 'aria-current="page"'
        if document not in app.env.found_docs:
            return ""
        return f'href="{context["pathto"](document)}{place}"'

    if context.get("body"):
        context["body"] = re.sub(r'data-rope-page="([\w/]+)(#[\w-]+)?"', link, context["body"])


PLAIN_TOKENS = {Name, Name.Namespace, Name.Other, Punctuation, Punctuation.Marker, Whitespace}
"""What stands in the color of the text in both themes."""


class CodeFormatter(HtmlFormatter):
    """Tags only what has a color of its own: plain names and brackets are half of all tags.

    Example:
        >>> from pygments import highlight
        >>> from pygments.lexers import PythonLexer
        >>> print(highlight("f(x)", PythonLexer(), CodeFormatter(nowrap=True)), end="")
        f(x)
    """

    def format_unencoded(self, tokensource, outfile):
        """Write the tokens to a file, those in the text's color as text."""
        plain = ((Text if kind in PLAIN_TOKENS else kind, text) for kind, text in tokensource)
        super().format_unencoded(reports.judged(plain), outfile)

    def wrap(self, source):
        """Frame the lines; what a report says goes on under its own column."""
        return super().wrap(reports.hung(source))


def _write_assets(app, error):
    if error is not None or app.builder.format != "html":
        return
    import plotly.offline

    from ropebook import fonts

    static = Path(app.outdir) / "_static"
    words = [f".rope-{name} {{ color: var(--rope-{name}-text); }}\n" for name in palette.LIGHT]
    (static / "palette.css").write_text(palette.css() + "".join(words), encoding="utf-8")
    (static / "parts.css").write_text("".join(_part_styles()), encoding="utf-8")
    (static / "plotly.min.js").write_text(plotly.offline.get_plotlyjs(), encoding="utf-8")
    fonts.write(static / "fonts")
    if "book/library/conformance" in app.env.found_docs:  # its page links them
        from ropelib import conformance

        conformance.write(static / "conformance")


def setup(app):
    """Register the extension with Sphinx."""
    PlotlyRenderer.mime_priority_overrides = (("*", PLOTLY_MIME, 5),)
    PygmentsBridge.html_formatter = CodeFormatter
    os.environ[RUN_SOLUTIONS] = "1"  # for the kernels that run the notebooks during the build
    app.connect("config-inited", _drop_thebe)
    app.connect("config-inited", _place_tools)
    cards.setup(app)
    codes.setup(app)
    folds.setup(app)
    glossary.setup(app)
    literals.setup(app)
    reports.setup(app)
    sections.setup(app)
    widgets.setup(app)
    marks.setup(app)
    app.connect("doctree-read", _color_formulae)
    app.connect("doctree-read", lambda app, doctree: hold_signs(doctree))
    app.connect("html-page-context", _name_citations)
    app.connect("html-page-context", _share_styles)
    app.connect("html-page-context", _bring_plan)
    app.connect("html-page-context", _link_stations)
    app.connect("build-finished", _write_assets)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
