"""Reports, diffs and tables of a text on a page of the book: colors, signs and broken lines."""

import pytest
import small_book
from browser import PHONE, WIDE, open_page

from ropebook import palette
from ropebook.tables import table

SAID = """$ python -m ropelib diagnose rope.py:rotate
This rotation is wrong: off-by-one.
  layout            half, pairs (i, i + rotary_dim / 2)
wrong  off-by-one: Position 0 is turned, and so is all that stands after it.
$ python -m ropelib diagnose rope.py:longer
This rotation is wrong: interleaved-angles-on-half-pairs.
$ python -m ropelib diagnose rope.py:mended
This rotation is right.
$ python -m ropelib diagnose rope.py:other
This rotation could not be checked."""
CODE = """-    angles = angles.repeat_interleave(2, dim=-1)
+    angles = torch.cat((angles, angles), dim=-1)"""
TYPED = """>>> def rotate(x, position_ids):
...     return apply_rotary(x, *tables(position_ids), layout="half")
>>> print(finding)
note   attention-factor: cos and sin are multiplied by one factor.
       measured: attention factor 1.34657, of which scores have the square
>>> assert_rotates(lambda x, position_ids: x, max_position=64)
Traceback (most recent call last):
AssertionError: This rotation is wrong: does-not-rotate."""
# As `Room` and the census write theirs.
CELLS = "<thead><tr><th>name</th><th>value</th></tr></thead><tr><td>a</td><td>1</td></tr>"
TABLES = f"""{table([["a", 1]], header=["name", "value"])._repr_html_()}
<div class="rope-museum"><table class="rope-museum-room">{CELLS}</table></div>"""
TEXT = f"""# Two

```console
{SAID}
```

```diff
{CODE}
```

| name | value |
|---|---|
| a | 1 |

```{{raw}} html
{TABLES}
```

```pycon
{TYPED}
```

{{#softmax}}
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return small_book.build(tmp_path_factory.mktemp("reports"), {"two.md": TEXT})


@pytest.fixture(params=[("light", PHONE), ("dark", PHONE), ("light", WIDE)])
def shown(chromium, pages, request):
    theme, (width, height) = request.param
    viewport = {"width": width, "height": height}
    context = chromium.new_context(viewport=viewport, offline=True, color_scheme=theme)
    page, log = open_page(context, (pages / "two.html").as_uri())
    page.colors = palette.named(dark=theme == "dark")
    yield page
    context.close()
    assert (log.outside(), log.failed, log.complaints) == ([], [], [])


def style(page, selector, name):
    return page.locator(selector).first.evaluate(
        "(node, name) => getComputedStyle(node, name.pseudo)[name.of]",
        name if isinstance(name, dict) else {"of": name},
    )


def rgb(color):
    return f"rgb({', '.join(str(int(color[i : i + 2], 16)) for i in (1, 3, 5))})"


@pytest.mark.parametrize(("kind", "color"), [("Right", "score-text"), ("Wrong", "one-text")])
def test_a_verdict_stands_out_and_not_by_its_color_alone(shown, kind, color):
    assert style(shown, f".go-{kind}", "color") == rgb(shown.colors[color])
    assert int(style(shown, f".go-{kind}", "fontWeight")) >= 600
    assert int(style(shown, ".go-Unchecked", "fontWeight")) >= 600
    sign = style(shown, f".go-{kind}", {"of": "content", "pseudo": "::before"})
    assert {"Right": "✓", "Wrong": "✗"}[kind] in sign


@pytest.mark.parametrize(("kind", "color"), [("gd", "one-text"), ("gi", "score-text")])
def test_a_diff_has_the_colors_of_the_museum(shown, kind, color):
    assert style(shown, f".highlight-diff .{kind}", "color") == rgb(shown.colors[color])


def test_a_diff_is_read_whole_on_a_phone(shown):
    pre = shown.locator(".highlight-diff pre")
    assert pre.evaluate("(node) => node.scrollWidth <= node.clientWidth")
    assert not shown.locator(".highlight-diff .copybtn").is_visible()


def test_what_a_report_says_goes_on_under_its_column(shown):
    starts = shown.locator(".go[style]").evaluate_all("""(nodes) => nodes.map((node) => {
      const range = document.createRange();
      const at = Number(node.style.getPropertyValue("--in"));
      const lefts = new Set();
      for (let i = at; i < node.firstChild.length; i++) {
        if (node.firstChild.data[i] === " ") continue;
        range.setStart(node.firstChild, i);
        range.setEnd(node.firstChild, i + 1);
        lefts.add(range.getBoundingClientRect());
      }
      const tops = new Map();
      for (const { left, top } of lefts) if (!tops.has(top)) tops.set(top, Math.round(left));
      return [...tops.values()];
    })""")
    assert len(starts) == 4 and all(len(set(lines)) == 1 for lines in starts)
    if shown.viewport_size["width"] == PHONE[0]:
        assert all(len(lines) > 1 for lines in starts), "they break"


# Runs in the page: where the letters of each line begin, of nodes that are broken.
_LINES = """(nodes) => nodes.map((node) => {
  const lines = new Map();
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const range = document.createRange();
    for (let at = 0; at < walker.currentNode.length; at++) {
      if (/\\s/.test(walker.currentNode.data[at])) continue;
      range.setStart(walker.currentNode, at);
      range.setEnd(walker.currentNode, at + 1);
      const { left, top } = range.getBoundingClientRect();
      if (!lines.has(Math.round(top))) lines.set(Math.round(top), Math.round(left));
    }
  }
  return [...lines.values()];
}).filter((lines) => lines.length > 1)"""


@pytest.mark.parametrize(
    ("which", "count"), [(".go-Wrong", 1), (".highlight-pycon [style]:not(.go)", 2)]
)
def test_a_verdict_and_what_is_typed_go_on_further_in(shown, which, count):
    broken = shown.locator(which).evaluate_all(_LINES)
    if shown.viewport_size["width"] == PHONE[0]:
        assert len(broken) == count, "they break"
    edge = shown.locator(which).first.evaluate("(node) => node.getBoundingClientRect().left")
    for first, *after in broken:
        assert len(set(after)) == 1 and after[0] > edge + 10 and first <= after[0]
    pre = shown.locator(".highlight-pycon pre")
    assert pre.evaluate("(node) => node.scrollWidth <= node.clientWidth")


def test_an_error_stands_out(shown):
    assert style(shown, ".gr", "color") == rgb(shown.colors["one-text"])
    assert int(style(shown, ".gr", "fontWeight")) >= 600


def test_tables_have_one_size(shown):
    kinds = ("table.table", ".rope-table table", ".rope-museum-room")
    for name in ("fontSize", "lineHeight"):
        assert len({style(shown, kind, name) for kind in kinds}) == 1
    for name in ("paddingTop", "paddingRight", "paddingBottom", "paddingLeft"):
        assert len({style(shown, f"{kind} thead th:first-child", name) for kind in kinds}) == 1


def test_a_table_of_a_text_is_ruled_as_one_of_numbers_is(shown):
    line, below = rgb(shown.colors["line"]), {"of": "borderBottomColor"}
    assert style(shown, "table.table td", below) == line
    for side in ("borderLeftWidth", "borderRightWidth", "borderTopWidth"):
        assert style(shown, "table.table", side) == style(shown, "table.table td", side) == "0px"
    assert style(shown, "table.table thead tr", "backgroundColor") == "rgba(0, 0, 0, 0)"
