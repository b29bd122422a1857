"""The built book in Chromium, each page from disk and over http: what a reader sees of it."""

import functools
import json
import re
import threading
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from browser import FRAMES, PHONE, WIDE, listen, open_page, settle_down, widgets_of
from collisions import DRAWN, faults_of_page, faults_of_windows
from oracles import held_by, wrong_readouts
from toc import CONTENT_PAGES, PAGES

from ropebook import palette

# Rules that axe reports and that we let pass, each with its reason: {(page, rule): reason}.
AXE_EXCEPTIONS: dict[tuple[str, str], str] = {}
# Nearly all that axe does is to ask for the contrast of thousands of tokens and symbols. Of code
# and formulae each pair of colors is looked at once by `_FACTS`; code has all other rules, and
# formulae have them on one page, which has hundreds of every kind.
_AXE_SKIPS = {"exclude": [[".highlight"], ["mjx-container"]]}
_AXE_CODE = {"include": [[".highlight"]]}
_AXE_FORMULAE = {"include": [["mjx-container"]]}
_FORMULAE = "book/rope/two_dimensions.html"

# A page takes seconds to be looked at: each size, each theme and each way to it once.
LOOKS = {"disk-wide-light": (*WIDE, "light"), "http-phone-dark": (*PHONE, "dark")}


# ---- every page, in every look, looked at once ------------------------------------------------


@dataclass(frozen=True)
class Visit:
    """What was seen when a page was opened, scrolled to its end, moved and searched by axe."""

    source: str
    theme: str
    outside: list[str]
    log: object
    early: dict
    facts: dict
    texts: list[str]
    violations: list[str]
    wrong: list[str]
    themes: dict


# Preloading would have axe fetch style sheets, which browsers refuse from file://.
_AXE_OPTIONS = {"resultTypes": ["violations"], "preload": False}
_EARLY = """() => ({
  tops: [...document.querySelectorAll("figure.rope-figure")]
    .map((figure) => figure.getBoundingClientRect().top),
  plotly: Boolean(document.querySelector("script[src*=plotly]")),
})"""
_FACTS = """() => {
  const root = document.documentElement;
  const wider = (node) => {
    // Only what pushes the page itself: not what scrolls inside its own box.
    for (let up = node; up !== document.body && up; up = up.parentElement) {
      const { overflowX, position } = getComputedStyle(up);
      if (overflowX !== "visible" || position === "fixed") return false;
    }
    return node.getBoundingClientRect().right > root.clientWidth + 1;
  };
  const all = (selector) => [...document.querySelectorAll(selector)];
  // Each color of text there is, with the color behind it.
  const pairs = (selector) => [...new Set(all(selector).map((node) => {
    let back = node;
    const color = () => getComputedStyle(back).backgroundColor;
    while (back.parentElement && /^rgba\\(.*, 0\\)$/.test(color())) back = back.parentElement;
    return `${getComputedStyle(node).color} on ${color()}`;
  }))];
  const isDrawn = (figure) =>
    figure.querySelector(".main-svg") && figure.dataset.drawn === root.dataset.theme;
  return {
    theme: root.dataset.theme,
    width: root.clientWidth,
    scrollWidth: root.scrollWidth,
    wider: all("body *").filter(wider).slice(0, 5).map((node) => node.outerHTML.slice(0, 120)),
    formulae: all(".math").length,
    typeset: all(".math:has(mjx-container)").length,
    // An unknown command is no error to MathJax: it prints the command in red.
    texErrors: all("mjx-merror, [data-mjx-error], mjx-mtext[style*='color: red']")
      .map((node) => node.getAttribute("data-mjx-error") || node.textContent),
    figures: all("figure.rope-figure").length,
    drawn: all("figure.rope-figure").filter(isDrawn).length,
    views: all(".rope-widget-host").length,
    mounted: all(".rope-widget-host:has(.rope-frame svg, .rope-ask)").length,
    alerts: all("[role=alert]").map((node) => node.textContent),
    tokens: pairs(".highlight pre, .highlight pre *"),
    symbols: pairs("mjx-container, mjx-container *"),
  };
}"""


def css_color(color):
    """`#1F2430` as Chromium writes it."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgb({red}, {green}, {blue})"


_COLORS = """() => ({
  widget: [...document.querySelectorAll(".rope-widget-host:has(.rope-frame)")].map((host) => ({
    ink: getComputedStyle(host.querySelector(".rope-widget")).color,
    page: getComputedStyle(host.querySelector(".rope-frame")).backgroundColor,
  })),
  figures: [...document.querySelectorAll(".rope-plot")]
    .map((plot) => plot._fullLayout?.font.color),
  ticks: [...document.querySelectorAll(".rope-plot .xtick text")]
    .map((node) => getComputedStyle(node).fill),
})"""


@pytest.fixture(scope="session")
def served_book(built_book):
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    serve = functools.partial(Quiet, directory=built_book)
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


# One visit serves all tests of a page and a look: pytest runs them one after the other.
@pytest.fixture(scope="module", params=[(name, look) for name in PAGES for look in LOOKS], ids=str)
def visit(request, built_book, served_book, chromium):
    """Open a page in a look, and see what the tests ask for."""
    name, look = request.param
    width, height, theme = LOOKS[look]
    over_http = look.startswith("http")
    context = chromium.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme, offline=not over_http
    )
    # Offline would cut off this machine too, so everything else is refused by hand.
    allowed = (served_book,) if over_http else ()
    if over_http:
        context.route(lambda address: not address.startswith(allowed), lambda one: one.abort())
    try:
        root = served_book if over_http else f"{built_book.as_uri()}/"
        page, log = open_page(context, root + name, settle=False)
        # The first page sends its visitors on; what counts is where they arrive.
        source = (built_book / page.url.removeprefix(root)).read_text("utf-8")
        early = page.evaluate(_EARLY)
        settle_down(page)
        page.evaluate(FRAMES)
        facts = page.evaluate(_FACTS)
        texts = faults_of_page(page)
        violations = axe(page, name, _AXE_SKIPS)
        if facts["tokens"] and over_http:  # on the phone, where code is broken
            violations += axe(page, name, _AXE_CODE, contrast=False)
        if name == _FORMULAE:
            violations += axe(page, name, _AXE_FORMULAE, contrast=False)
        wrong = wrong_numbers(widgets_of(page, source))
        themes = {} if over_http else colors_of_both_themes(page)
    finally:
        context.close()
    outside = log.outside(*allowed)
    return Visit(source, theme, outside, log, early, facts, texts, violations, wrong, themes)


def axe(page, name, where, contrast=True):
    from axe_playwright_python.sync_playwright import Axe

    options = {**_AXE_OPTIONS, "rules": {"color-contrast": {"enabled": contrast}}}
    found = Axe().run(page, context=where, options=options).response["violations"]
    return [
        f"{rule['id']} ({rule['impact']}): {node['target']} {node['html'][:160]}"
        for rule in found
        if (name, rule["id"]) not in AXE_EXCEPTIONS
        for node in rule["nodes"]
    ]


def wrong_numbers(widgets):
    """What widgets report otherwise than ropelib, as they stand on the page and once moved."""
    wrong = []
    for widget in widgets:
        if widget.state.get("card"):
            continue  # a picture without controls and numbers
        wrong += wrong_readouts(widget, held_by(widget))
        before = widget.snapshot()
        widget.slide(**dict.fromkeys(widget.sliders(), 0.6))
        wrong += wrong_readouts(widget, held_by(widget))
        if widget.snapshot() == before and widget.sliders():
            wrong.append(f"{widget} is dead: its sliders move nothing")
    return wrong


def colors_of_both_themes(page):
    """Press the theme switch until both themes were seen; return colors and faults by theme."""
    seen, texts = {}, {}
    for _ in range(4):  # light, dark, as the system has it, and back
        theme = page.evaluate("document.documentElement.dataset.theme")
        page.wait_for_function(DRAWN)
        seen[theme] = page.evaluate(_COLORS)
        texts[theme] = faults_of_windows(page)
        if len(seen) == 2:
            break
        page.locator(".theme-switch-button:visible").first.click()
    kept = page.evaluate("localStorage.getItem('theme')")
    return {"kept": kept, "colors": seen, "texts": texts}


def test_no_request_leaves_the_book(visit):
    assert visit.outside == []


def test_every_request_succeeds(visit):
    assert visit.log.failed == []


def test_console_stays_silent(visit):
    assert visit.log.complaints == []


def test_page_does_not_scroll_sideways(visit):
    assert visit.facts["scrollWidth"] <= visit.facts["width"], visit.facts["wider"]


def test_axe_finds_no_violation(visit):
    assert visit.facts["theme"] == visit.theme
    assert not visit.violations, "\n".join(visit.violations)


def test_code_and_formulae_are_read_in_every_color_that_they_have(visit):
    assert bool(visit.facts["tokens"]) == ('<div class="highlight">' in visit.source)
    pairs = visit.facts["tokens"] + visit.facts["symbols"]
    assert {pair: contrast(pair) for pair in pairs if contrast(pair) < 4.5} == {}


def contrast(pair):
    """The contrast of `rgb(…) on rgb(…)` by the rule of WCAG 2."""
    light = sorted(luminance(color) for color in pair.split(" on "))
    return (light[1] + 0.05) / (light[0] + 0.05)


def luminance(color):
    values = [float(part) / 255 for part in re.findall(r"[\d.]+", color)[:3]]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]
    return sum(weight * v for weight, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_formulae_are_typeset(visit):
    assert visit.facts["texErrors"] == []
    assert visit.facts["typeset"] == visit.facts["formulae"]


def test_every_figure_is_drawn_in_the_theme_of_the_page(visit):
    assert visit.facts["drawn"] == visit.facts["figures"], visit.facts["alerts"]


def test_no_text_of_a_figure_or_a_widget_covers_another_or_is_cut(visit):
    assert not visit.texts, "\n".join(visit.texts)


def test_no_text_covers_another_or_is_cut_in_any_window_and_theme(visit):
    if not visit.themes:
        return  # windows and themes are tried in the other look
    assert visit.themes["texts"] == {"light": [], "dark": []}


def test_every_widget_mounts(visit):
    tags = visit.source.count("vnd.jupyter.widget-view+json")
    facts = visit.facts
    assert (facts["mounted"], facts["views"], facts["alerts"]) == (tags, tags, [])


def test_widgets_of_the_page_report_what_ropelib_gives(visit):
    assert not visit.wrong, "\n".join(visit.wrong)


def test_plotly_is_loaded_once_and_only_when_a_figure_comes_near(visit):
    loaded = sum("plotly" in address for address in visit.log.requests)
    assert loaded == (1 if visit.early["tops"] else 0)
    # Far below the screen and the 800 px ahead of it, however formulae still move what follows.
    if all(top > 4000 for top in visit.early["tops"]):
        assert not visit.early["plotly"]


def test_theme_switch_recolors_widgets_and_figures(visit):
    if not visit.themes:
        return  # the switch is tried in the other look
    assert visit.themes["kept"] is not None
    assert set(visit.themes["colors"]) == {"light", "dark"}
    for theme, around in (("light", palette.LIGHT_PAGE), ("dark", palette.DARK_PAGE)):
        colors = visit.themes["colors"][theme]
        for widget in colors["widget"]:
            assert widget["ink"] == css_color(around["ink"])
            assert widget["page"] == css_color(around["page"])
        assert {color.lower() for color in colors["figures"]} <= {around["ink"].lower()}
        assert set(colors["ticks"]) <= {css_color(around["ink"])}


def test_every_built_page_is_visited(built_book):
    built = {str(page.relative_to(built_book)) for page in built_book.rglob("*.html")}
    assert {page for page in built if not page.startswith("_static")} == set(PAGES)


# ---- failure --------------------------------------------------------------------------


@pytest.fixture
def tampered(built_book, tmp_path):
    """Return a function that writes a changed copy of a page beside links to everything else."""
    for entry in built_book.iterdir():
        if entry.name != "book":
            (tmp_path / entry.name).symlink_to(entry)

    def written(name, change):
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        source = (built_book / name).read_text("utf-8")
        pattern = r'<script type="application/vnd.jupyter.widget-state\+json">(.*?)</script>'
        stored = re.search(pattern, source, re.DOTALL)[1]
        state = json.loads(stored)
        change(state["state"])
        text = json.dumps(state).replace("</", "<\\/")
        target.write_text(source.replace(stored, text), encoding="utf-8")
        return target.as_uri()

    return written


def _lost(state):
    first = next(key for key, model in state.items() if "_source" in model["state"])
    del state[first]


def _broken(state):
    first = next(model for model in state.values() if "_source" in model["state"])
    first["state"]["_esm"] = (
        'export default { render() { throw new Error("broken on purpose"); } };'
    )


def _unreadable(state):
    first = next(model for model in state.values() if "_source" in model["state"])
    first["state"]["_esm"] = "export default {"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_lost, "stores no state"),
        (_broken, "broken on purpose"),
        (_unreadable, "Unexpected end of input"),
    ],
)
def test_a_widget_that_cannot_start_says_so_in_its_place(
    built_book, chromium, tampered, change, reason
):
    name = max(
        CONTENT_PAGES,
        key=lambda page: (built_book / page).read_text("utf-8").count("widget-view+json"),
    )
    context = chromium.new_context(offline=True)
    try:
        page = context.new_page()
        log = listen(page)
        page.goto(tampered(name, change))
        failed = page.locator(".rope-widget-failed[role=alert]")
        failed.first.wait_for()
        assert failed.count() == 1
        assert "This widget could not start" in failed.inner_text()
        assert reason in failed.inner_text()
        assert failed.bounding_box()["height"] > 10
        # The others live.
        page.wait_for_function(
            "[...document.querySelectorAll('.rope-widget-host:not(.rope-widget-failed)')]"
            ".every((host) => host.querySelector('svg, .rope-ask'))"
        )
        assert page.locator(".rope-widget-host").count() > 1
        assert any(reason in line for line in log.complaints)
    finally:
        context.close()
