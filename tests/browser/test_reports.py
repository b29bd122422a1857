"""Reports, diffs and tables of a text on a page of the book: colors, signs and broken lines."""

import pytest
import small_book
from browser import PHONE, WIDE, open_page

from ropebook import palette

SAID = """$ python -m ropelib diagnose rope.py:rotate
This rotation is wrong: off-by-one.
  layout            half, pairs (i, i + rotary_dim / 2)
wrong  off-by-one: Position 0 is turned, and so is all that stands after it.
$ python -m ropelib diagnose rope.py:mended
This rotation is right.
$ python -m ropelib diagnose rope.py:other
This rotation could not be checked."""
CODE = """-    angles = angles.repeat_interleave(2, dim=-1)
+    angles = torch.cat((angles, angles), dim=-1)"""
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


@pytest.mark.parametrize(("kind", "color"), [("gd", "k-text"), ("gi", "score-text")])
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
    assert len(starts) == 2 and all(len(set(lines)) == 1 for lines in starts)
    if shown.viewport_size["width"] == PHONE[0]:
        assert all(len(lines) > 1 for lines in starts), "they break"


def test_a_table_of_a_text_is_ruled_as_one_of_numbers_is(shown):
    line, below = rgb(shown.colors["line"]), {"of": "borderBottomColor"}
    assert style(shown, "table.table td", below) == line
    for side in ("borderLeftWidth", "borderRightWidth", "borderTopWidth"):
        assert style(shown, "table.table", side) == style(shown, "table.table td", side) == "0px"
    assert style(shown, "table.table thead tr", "backgroundColor") == "rgba(0, 0, 0, 0)"
