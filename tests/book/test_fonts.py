"""The fonts that the book brings: small, complete, licensed, and used wherever text stands."""

import json
import re
import unicodedata

import pytest
from toc import FILES, ROOT

pytest.importorskip("fontTools")

from fontTools.ttLib import TTFont

from ropebook import fonts

pytestmark = pytest.mark.slow  # cuts the fonts, twice

# One page with a widget, code and a figure of Plotly's.
PAGE = "book/foundations/why_positions.html"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fonts")
    fonts.write(folder)
    return folder


def letters_of(face, folder):
    with TTFont(folder / face.name) as font:
        return {chr(code) for code in font.getBestCmap()}


def test_each_face_is_a_small_woff2_with_its_license_beside_it(written):
    for face in fonts.FACES:
        assert (written / face.name).read_bytes()[:4] == b"wOF2"
        assert (written / face.name).stat().st_size < 80_000
        (license,) = written.glob(f"{face.family.replace(' ', '')}-LICENSE.txt")
        text = license.read_text("utf-8")
        assert "SIL OPEN FONT LICENSE Version 1.1" in text
        # The license forbids an altered font the names that its makers reserve.
        assert "Reserved Font Name" not in text.split("\n\n")[0]
    assert len(list(written.iterdir())) == len(fonts.FACES) + 2 + 1


def test_the_style_sheet_names_the_files_beside_it_and_no_others(written):
    css = (written / "fonts.css").read_text("utf-8")
    assert css == fonts.css()
    assert re.findall(r'url\("([^"]+)"\)', css) == [face.name for face in fonts.FACES]
    assert css.count("@font-face") == len(fonts.FACES) == css.count("font-display: block")


def test_text_keeps_its_weights_and_digits_of_one_width(written):
    for face in fonts.FACES:
        with TTFont(written / face.name) as font:
            (axis,) = font["fvar"].axes
            assert axis.axisTag == "wght"
            assert axis.minValue <= 400 and axis.maxValue >= 700
            widths = {font["hmtx"][font.getBestCmap()[ord(digit)]][0] for digit in "0123456789"}
            features = {
                record.FeatureTag for record in font["GSUB"].table.FeatureList.FeatureRecord
            }
            assert "tnum" in features or len(widths) == 1
            # An unknown letter must be seen to be one.
            assert font["glyf"][".notdef"].numberOfContours > 0


def prose():
    for file in FILES:
        source = ROOT / f"{file}.ipynb"
        if source.exists():
            cells = json.loads(source.read_text("utf-8"))["cells"]
            yield (
                file,
                "".join(
                    "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
                ),
            )
        else:
            yield file, (ROOT / f"{file}.md").read_text("utf-8")
    for source in sorted((ROOT / "ropebook/widgets").glob("*/*.js")):
        yield str(source), source.read_text("utf-8")


def test_the_text_face_has_every_letter_of_the_book_that_is_not_chinese(written):
    upright, italic, _ = (letters_of(face, written) for face in fonts.FACES)
    for name, text in prose():
        wanted = {c for c in text if c.isprintable() and not unicodedata.name(c).startswith("CJK")}
        assert wanted <= upright, (name, wanted - upright)
        assert wanted <= italic, (name, wanted - italic)


def test_two_builds_write_the_same_bytes(written, tmp_path):
    fonts.write(tmp_path)
    for file in written.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes(), file.name


# Text of each kind -> the family of the book in which it must be drawn.
KINDS = {
    "body": ("article p", "Inter"),
    "heading": ("article h1", "Inter"),
    "sidebar": (".bd-sidebar-primary a", "Inter"),
    "code": ("div.highlight pre", "JetBrains Mono"),
    "inline code": ("article code", "JetBrains Mono"),
    "widget text": (".rope-lesson p", "Inter"),
    "widget button": (".rope-button", "Inter"),
    "widget svg text": (".rope-widget svg text.rope-tokens-place", "Inter"),
    "figure": (".rope-plot svg text", "Inter"),
}

# Runs in the page: the first visible element of a kind whose letters all are the book's own.
_FIRST_SEEN = r"""(selector) => [...document.querySelectorAll(selector)].find((node) =>
  node.checkVisibility({ visibilityProperty: true }) && node.textContent.trim()
  && !node.querySelector(".math") && !/\p{Script=Han}/u.test(node.textContent))"""


def test_text_of_every_kind_on_a_page_is_drawn_in_the_books_fonts(chromium, built_book):
    from browser import open_page

    licenses = sorted(file.name for file in (built_book / "_static/fonts").glob("*LICENSE*"))
    assert licenses == ["Inter-LICENSE.txt", "JetBrainsMono-LICENSE.txt"]
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page, log = open_page(context, (built_book / PAGE).as_uri())
    loaded = page.evaluate(
        """() => [...document.fonts].filter((face) => face.status === "loaded")
          .map((face) => `${face.family.replaceAll('"', "")} ${face.style}`)"""
    )
    assert {"Inter normal", "Inter italic", "JetBrains Mono normal"} <= set(loaded)
    own = (built_book / "_static/fonts").as_uri()
    asked = {address for address in log.requests if "/fonts/" in address and "woff2" in address}
    assert {f"{own}/{face.name}" for face in fonts.FACES} <= asked
    session = context.new_cdp_session(page)
    session.send("DOM.enable")
    session.send("CSS.enable")
    root = session.send("DOM.getDocument")["root"]["nodeId"]
    for kind, (selector, family) in KINDS.items():
        node = page.evaluate_handle(_FIRST_SEEN, selector).as_element()
        assert node, kind
        first = node.evaluate("(node) => getComputedStyle(node).fontFamily.split(',')[0]")
        assert first.strip('"') == family, kind
        # What the browser drew with, letter by letter.
        node.evaluate("(node, kind) => { node.dataset.kind = kind }", kind)
        mark = {"nodeId": root, "selector": f'[data-kind="{kind}"]'}
        found = session.send("DOM.querySelector", mark)["nodeId"]
        drawn = session.send("CSS.getPlatformFontsForNode", {"nodeId": found})["fonts"]
        assert drawn, kind
        assert all(font["isCustomFont"] for font in drawn), (kind, drawn)
        assert {font["familyName"] for font in drawn} <= {family, f"{family} Italic"}, (kind, drawn)
    context.close()
