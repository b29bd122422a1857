"""Code and tables wider than their own box scroll in it, say so, and take the keyboard."""

import base64

import pytest
import small_book
from browser import PHONE, WIDE, open_page

from ropebook.museum import HALLS
from ropebook.museum.walls import Walls

NAME = "from_transformers"
LINE = "a_long_name = another_long_name + 'words ' * 40  # and no end to it, on no screen at all"


def two():
    """A page with code that is wide, code that is not, a wide table and a table of names."""
    cell = "<td><p>{}</p></td>"
    code = '<code class="docutils literal notranslate"><span class="pre">{}</span></code>'
    table = (
        '<div class="pst-scrollable-table-container"><table class="autosummary longtable table '
        f'autosummary"><tbody><tr>{cell.format(code.format(NAME))}'
        f"{cell.format('Make rotations of ' + code.format('module(q,k,position_ids=None)'))}"
        "</tr></tbody></table></div>"
    )
    rows = [["name", "value"], ["---"] * 2, [f"`{'name' * 9}`", f"`{'1234' * 9}`"]]
    wide = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    walls = Walls([HALLS["batch"]])._repr_html_()
    return (
        f"# Two\n\n```python\n{LINE}\n```\n\n```python\nx = 1\n```\n\n{wide}\n\n"
        f"```{{raw}} html\n{table}\n{walls}\n```\n\n"
        f"{{#softmax .deeper}}\n## Fold\n\n```python\n{LINE}\n```\n"
    )


BOXES = {
    "code": ".highlight pre >> nth=0",
    "table": ".pst-scrollable-table-container >> nth=0",
    "folded code": "#softmax .highlight pre",
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return small_book.build(tmp_path_factory.mktemp("signs"), {"two.md": two()})


@pytest.fixture(params=["light", "dark"])
def phone(chromium, pages, request):
    viewport = {"width": PHONE[0], "height": PHONE[1]}
    options = {"offline": True, "color_scheme": request.param, "reduced_motion": "reduce"}
    context = chromium.new_context(viewport=viewport, **options)
    page, log = open_page(context, (pages / "two.html").as_uri())
    yield page
    context.close()
    assert (log.outside(), log.failed, log.complaints) == ([], [], [])


# Runs in the page: how far the darkest or lightest pixel of a strip is from the box's own color.
_CONTRAST = """async (data) => {
  const image = new Image();
  image.src = `data:image/png;base64,${data}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const paint = canvas.getContext("2d");
  paint.drawImage(image, 0, 0);
  const pixels = paint.getImageData(0, 0, image.width, image.height).data;
  const gray = (x) => pixels[4 * x] + pixels[4 * x + 1] + pixels[4 * x + 2];
  const row = Array.from({ length: image.width }, (_, x) => gray(x) / 3);
  return Math.max(...row) - Math.min(...row);
}"""


def shade(page, box):
    """How much the color changes along the last pixels of a line without letters in a box."""
    at, rows = box.bounding_box(), box.locator("tbody tr")
    top = (rows.first if rows.count() else box).bounding_box()["y"]
    clip = {"x": at["x"] + at["width"] - 24, "y": top + 3, "width": 20, "height": 1}
    data = base64.b64encode(page.screenshot(clip=clip)).decode()
    return page.evaluate(_CONTRAST, data)


def box_of(phone, name):
    """A box that scrolls; code does where a screen is a little wider."""
    if "code" in name:
        phone.set_viewport_size({"width": 640, "height": PHONE[1]})
    return phone.locator(BOXES[name])


@pytest.mark.parametrize("name", BOXES)
def test_a_box_that_scrolls_says_so_until_its_end(phone, name):
    box = box_of(phone, name)
    box.evaluate("(node) => node.scrollIntoView({ block: 'center' })")
    assert box.evaluate("(node) => node.scrollWidth > node.clientWidth + 8")
    assert shade(phone, box) > 25
    box.evaluate("(node) => { node.scrollLeft = node.scrollWidth }")
    assert shade(phone, box) < 8, "there is no more to see"


def test_what_fits_has_no_sign_and_no_stop_of_the_keyboard(phone):
    box = phone.locator(".highlight pre", has_text="x = 1")
    box.evaluate("(node) => node.scrollIntoView({ block: 'center' })")
    assert shade(phone, box) < 8
    assert box.get_attribute("tabindex") in (None, "-1")


@pytest.mark.parametrize("name", BOXES)
def test_the_keyboard_scrolls_it_and_sees_where_it_is(phone, name):
    box = box_of(phone, name)
    phone.wait_for_function(
        "(node) => node.tabIndex === 0 && node.hasAttribute('tabindex')", arg=box.element_handle()
    )
    phone.keyboard.press("Tab")  # whoever uses keys
    box.focus()
    assert box.evaluate("(node) => getComputedStyle(node).outlineStyle") == "solid"
    phone.keyboard.press("ArrowRight")
    phone.wait_for_function("(node) => node.scrollLeft > 0", arg=box.element_handle())


def test_code_of_an_exhibit_goes_on_below_itself_further_in_than_it_begins(phone):
    phone.evaluate(
        "document.querySelectorAll('.rope-museum details').forEach((f) => f.open = true)"
    )
    wide = "(boxes) => boxes.filter((box) => box.scrollWidth > box.clientWidth).length"
    assert phone.locator(".rope-museum pre").evaluate_all(wide) == 0
    broken = phone.locator(".rope-museum pre :is(del, ins, span)").evaluate_all(_STARTS)
    assert broken and all(len(set(after)) == 1 and after[0] > first for first, *after in broken)


# Runs in the page: of each line that is broken, where its letters begin and those below it.
_STARTS = """(nodes) => nodes.map((node) => {
  const range = document.createRange();
  const text = node.firstChild;
  const lines = new Map();
  for (let at = text.data.search(/\\w/); at < text.length; at++) {
    if (/\\s/.test(text.data[at])) continue;
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    const { left, top } = range.getBoundingClientRect();
    if (!lines.has(Math.round(top))) lines.set(Math.round(top), Math.round(left));
  }
  return [...lines.values()];
}).filter((lines) => lines.length > 1)"""


def test_a_table_of_names_fits_and_the_page_is_no_wider_than_the_phone(phone):
    table = phone.locator("table.autosummary")
    assert table.evaluate("({ parentElement: box }) => box.scrollWidth <= box.clientWidth")
    name = table.locator("td").first.locator("code")
    assert name.evaluate("(node) => node.getClientRects().length") == 1, "a name is not broken"
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_a_wide_screen_too(chromium, pages, theme):
    viewport = {"width": WIDE[0], "height": WIDE[1]}
    context = chromium.new_context(viewport=viewport, offline=True, color_scheme=theme)
    page, _ = open_page(context, (pages / "two.html").as_uri())
    box = page.locator(BOXES["code"])
    assert box.evaluate("(node) => node.scrollWidth > node.clientWidth") == (shade(page, box) > 25)
    context.close()


def test_where_a_screen_is_wide_code_is_as_wide_as_its_lines_and_printed_lines_break(
    chromium, tmp_path
):
    # Wider than the text, and not than the screen.
    line = "x = " + " + ".join(f"number_{i}" for i in range(9))
    said = "said " * 40
    page = f"# Two\n\n{{#softmax}}\n## First\n\nWords of a line. {'And more. ' * 20}\n\n"
    page += "".join(f"```python\n{one}\n```\n\n" for one in (line, "x = 1"))
    page += f"```pycon\n>>> {line}\n>>> x\n{said}\n```\n"
    built = small_book.build(tmp_path, {"two.md": page})
    context = chromium.new_context(viewport={"width": 1600, "height": 900}, offline=True)
    shown, _ = open_page(context, (built / "two.html").as_uri())
    widths = [one.bounding_box()["width"] for one in shown.locator("div.highlight").all()]
    text = shown.locator("#softmax > p").bounding_box()["width"]
    wide, short, printed = widths
    assert wide > text + 40 and abs(short - text) < 2 and abs(printed - text) < 2
    pre = shown.locator(".highlight pre")
    assert pre.first.evaluate("(node) => node.scrollWidth <= node.clientWidth")
    right = pre.last.evaluate("(node) => node.getBoundingClientRect().right")
    ends = "(node) => Math.max(...[...node.getClientRects()].map(({ right }) => right))"
    assert shown.locator(".go").first.evaluate(ends) <= right
    context.close()
