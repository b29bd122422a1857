"""The built book as files: nothing from elsewhere, no dead link, no heavy page, words for all."""

import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup
from toc import CONTENT_PAGES, PAGES, ROOT

MIME = "application/vnd.{}+json"
FIGURE, STATE, VIEW = (
    MIME.format(kind) for kind in ("plotly.v1", "jupyter.widget-state", "jupyter.widget-view")
)
# Attributes by which a page loads something, as opposed to pointing at it.
LOADING = [
    ("script", "src"),
    ("link", "href"),
    ("img", "src"),
    ("img", "srcset"),
    ("source", "src"),
    ("source", "srcset"),
    ("iframe", "src"),
    ("video", "src"),
    ("video", "poster"),
    ("audio", "src"),
    ("track", "src"),
    ("embed", "src"),
    ("object", "data"),
    ("input", "src"),
    ("use", "href"),
    ("image", "href"),
    ("form", "action"),
    ("base", "href"),
]
_QUOTE = r"""\\?["'`]"""
ELSEWHERE = r"(?:(?:https?|wss?):)?//"
LOADING_SCRIPT = re.compile(
    rf"\b(?:import|from|fetch|importScripts|WebSocket|EventSource|open)\s*\(?\s*"
    rf"(?:{_QUOTE}(?:GET|POST){_QUOTE}\s*,\s*)?{_QUOTE}{ELSEWHERE}[^\"'`]*"
    rf"|\.(?:src|href)\s*=\s*{_QUOTE}{ELSEWHERE}[^\"'`]*"
)
LOADING_STYLE = re.compile(
    rf"url\(\s*[\"']?{ELSEWHERE}[^)]*|@import\s+(?:url\()?\s*[\"']?{ELSEWHERE}[^;]*"
)
DELIVERY_NETWORKS = re.compile(
    r"jsdelivr\.net|unpkg\.com|cdnjs\.|esm\.sh|skypack\.dev|cdn\.plot\.ly"
)
BUDGET = 300_000
WIDGET_BUDGET = 101_000


@cache
def soup(page: Path):
    return BeautifulSoup(page.read_text("utf-8"), "html.parser")


def loaded(page: Path):
    """(tag, attribute, address) of everything that a page loads by its markup."""
    for tag, attribute in LOADING:
        for node in soup(page).find_all(tag, attrs={attribute: True}):
            for address in re.split(r",\s+", node[attribute]):
                yield tag, attribute, address.split()[0] if address.split() else ""


def elsewhere(address):
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme not in ("", "data")


def local_file(page: Path, address: str, root: Path):
    """The file that a relative address of a page means."""
    path = unquote(urlsplit(address).path)
    target = (page.parent / path).resolve() if path else page
    assert root.resolve() in target.parents or target == root.resolve(), (
        f"{address} leaves the book"
    )
    return target / "index.html" if target.is_dir() else target


def widget_files(page: Path, root: Path):
    """The files with the code of the widgets that a page shows."""
    for tag in soup(page).find_all("script", type=STATE):
        for model in json.loads(tag.string)["state"].values():
            if source := model["state"].get("_source"):
                yield root / "_static/widgets" / source.partition("?")[0]


def scripts_and_styles(page: Path, root: Path):
    """All code that a page brings or loads: (where, kind, text)."""
    for file in {*widget_files(page, root)}:
        yield from _code_of(file)
    for tag in soup(page).find_all(["script", "style"]):
        kind = "css" if tag.name == "style" else "js"
        if tag.string and tag.get("type") not in (FIGURE, VIEW):
            yield page.name, kind, tag.string
    for node in soup(page).find_all(style=True):
        yield page.name, "css", node["style"]
    for tag, _, address in loaded(page):
        file = local_file(page, address, root) if tag in ("script", "link") else None
        if file and file.suffix in (".js", ".css"):
            yield from _code_of(file)


@cache
def _code_of(file: Path):
    text = file.read_text("utf-8", errors="replace")
    return ((file.name, file.suffix[1:], text),)


@pytest.mark.parametrize("name", PAGES)
def test_no_markup_loads_from_another_host(built_book, name):
    page = built_book / name
    assert [found for found in loaded(page) if elsewhere(found[2])] == []
    refresh = soup(page).find("meta", attrs={"http-equiv": "refresh"})
    if refresh:
        assert "//" not in refresh["content"]


@pytest.mark.parametrize("name", PAGES)
def test_no_style_or_script_loads_from_another_host(built_book, name):
    patterns = {"js": LOADING_SCRIPT, "css": LOADING_STYLE}
    found = [
        (where, match[0][:120])
        for where, kind, text in scripts_and_styles(built_book / name, built_book)
        for match in patterns[kind].finditer(text)
    ]
    assert found == []


@pytest.mark.parametrize("name", PAGES)
def test_no_page_names_a_delivery_network_thebe_or_require_js(built_book, name):
    page = built_book / name
    text = page.read_text("utf-8")
    assert DELIVERY_NETWORKS.findall(text) == []
    loads = " ".join(address for _, _, address in loaded(page))
    inline = " ".join(tag.string or "" for tag in soup(page).find_all("script", type=None))
    for unwanted in ("thebe", "require.js", "require.min.js", "requirejs", "html-manager"):
        assert unwanted not in loads.lower(), unwanted
        assert unwanted not in inline.lower(), unwanted


def test_own_scripts_and_styles_name_no_host(built_book):
    own = [
        path.name for path in (ROOT / "book/_static").iterdir() if path.suffix in (".js", ".css")
    ]
    assert "static_host.js" in own
    for name in [*own, "palette.css", "marks.js"]:
        text = (built_book / "_static" / name).read_text("utf-8")
        assert not re.search(r"(?:https?|wss?)://", text), name


@pytest.mark.parametrize("name", PAGES)
def test_internal_links_lead_somewhere(built_book, name):
    page = built_book / name
    dead = []
    addresses = [address for _, _, address in loaded(page)]
    addresses += [link["href"] for link in soup(page).find_all("a", href=True)]
    for address in addresses:
        if urlsplit(address).scheme or urlsplit(address).netloc:
            continue
        target = local_file(page, address, built_book)
        fragment = unquote(urlsplit(address).fragment)
        if not target.exists():
            dead.append(f"{address}: no such file")
        elif fragment and target.suffix == ".html" and not soup(target).find(id=fragment):
            dead.append(f"{address}: no such place")
    assert dead == []


@pytest.mark.parametrize("name", PAGES)
def test_outside_links_are_encrypted_and_plain(built_book, name):
    for link in soup(built_book / name).find_all("a", href=True):
        assert urlsplit(link["href"]).scheme in ("", "https", "mailto"), link["href"]


@pytest.mark.parametrize("name", PAGES)
def test_page_stays_in_its_budget(built_book, name):
    users = {}
    for other in PAGES:
        for _, _, address in loaded(built_book / other):
            file = local_file(built_book / other, address, built_book)
            if file.exists():
                users.setdefault(file, set()).add(other)
    own = [file for file, pages in users.items() if pages == {name} and file.suffix != ".html"]
    # Search is one page's work; its index grows with the book.
    own = [file for file in own if file.name not in ("searchindex.js", "sections.js")]
    weights = {file.name: file.stat().st_size for file in [built_book / name, *own]}
    assert sum(weights.values()) < BUDGET, weights


def test_the_code_of_each_widget_stays_in_its_budget(built_book):
    weights = {path.name: path.stat().st_size for path in built_book.glob("_static/widgets/*.js")}
    print(f"widgets weigh {sum(weights.values())} bytes: {weights}")
    assert weights and max(weights.values()) < WIDGET_BUDGET, weights
    used = {file for name in PAGES for file in widget_files(built_book / name, built_book)}
    assert {path.name for path in used} == set(weights), "each page names files that are there"


def test_plotly_is_in_the_book_once_and_no_page_loads_it_up_front(built_book):
    assert len(list(built_book.rglob("*plotly*.js"))) == 1
    for name in PAGES:
        assert not [address for _, _, address in loaded(built_book / name) if "plotly" in address]


@pytest.mark.parametrize("name", CONTENT_PAGES)
def test_every_figure_has_a_text_alternative_and_a_caption(built_book, name):
    page = soup(built_book / name)
    figures = page.find_all("figure")
    assert len(page.find_all("script", type=FIGURE)) == len(page.select("figure.rope-figure"))
    for figure in figures:
        if "rope-table" in figure.get("class", ()):  # its cells are the words
            assert figure.select("thead th[scope=col]"), figure
            continue
        picture = figure.find(["img", "svg"]) or figure.find(attrs={"role": "img"})
        if "census-picture" in figure.get("class", ()):  # each part is a link, and named
            assert picture is None and len(figure.select("li a[href]")) > 10
            assert all(re.search(r"\w \d+$", link.get_text()) for link in figure.select("li a"))
        else:
            words = picture.get("alt") or picture.get("aria-label") or ""
            assert len(words.split()) >= 5, f"alt: {words!r}"
        if "rope-here" in figure.get("class", ()):  # its stations are named in it
            continue
        caption = figure.find("figcaption")
        assert caption and len(caption.get_text().split()) >= 3, figure
    for image in page.select("article img"):
        assert image.get("alt", "").strip(), image


@pytest.mark.parametrize("name", CONTENT_PAGES)
def test_figures_are_plotly_json_without_binary_or_remote_parts(built_book, name):
    for tag in soup(built_book / name).find_all("script", type=FIGURE):
        figure = json.loads(tag.string)
        assert figure["data"] or figure["layout"].get("shapes"), "an empty figure"
        assert not re.search(ELSEWHERE + r"\w", tag.string)


@pytest.mark.parametrize("name", CONTENT_PAGES)
def test_every_widget_has_its_state_in_the_page(built_book, name):
    page = soup(built_book / name)
    states = [json.loads(tag.string)["state"] for tag in page.find_all("script", type=STATE)]
    views = [json.loads(tag.string)["model_id"] for tag in page.find_all("script", type=VIEW)]
    assert len(states) <= 1
    stored = states[0] if states else {}
    for view in views:
        assert "_esm" not in stored[view]["state"], "the code of a class stands in its own file"
        name = stored[view]["state"]["_source"].partition("?")[0]
        code = (built_book / "_static/widgets" / name).read_text("utf-8")
        assert code.startswith("document.currentScript.source = ") and "export default" in code
    # A widget class that is not ours would need a kernel or a foreign script.
    models = [model["state"] for model in stored.values() if "_source" in model["state"]]
    foreign = [state.get("_anywidget_id") for state in models]
    assert [name for name in foreign if not str(name).startswith("ropebook.widgets.")] == []


def test_the_book_shows_widgets_and_figures_at_all(built_book):
    text = "".join((built_book / name).read_text("utf-8") for name in CONTENT_PAGES)
    assert text.count(VIEW) >= 3 and text.count(FIGURE) >= 1


@pytest.mark.parametrize("name", CONTENT_PAGES)
def test_every_page_names_its_language_and_itself(built_book, name):
    page = soup(built_book / name)
    assert page.html["lang"] == "en"
    title = page.select_one("article h1").get_text().rstrip("#").strip()
    assert title in page.title.get_text()
    assert page.find("meta", attrs={"name": "viewport"})


@pytest.mark.parametrize("name", CONTENT_PAGES)
def test_tables_and_pictures_share_one_style_sheet(built_book, name):
    page = soup(built_book / name)
    assert page.select("article style") == []
    if page.select("figure.rope-table, figure.rope-here"):
        assert page.select("link[href*='parts.css']")
