"""Lines of code on a phone: no flag is broken, no name amid a word, and no code is cut."""

import pytest
import small_book
from browser import PHONE, WIDE, open_page
from playwright.sync_api import expect

SMALL = (320, 700)
NAME = "transformers.models.llama.modeling_llama:LlamaRotaryEmbedding"
FLAGS = ("--expected", "--head-dim", "--layer-type", "--json")
# Words of many lengths, so that any of them would be broken somewhere.
SAID = " ".join(f"{'and ' * i}`{flag}` or `{flag} llama-2-7b`," for i, flag in enumerate(FLAGS))
CODE = """# a b c d e f g h i j k l m n o p q r s t u v w x y z, up to the edge of any phone
def rotate(x, position_ids):
    tables = cos_sin(position_ids, inv_freq(x.shape[-1]))  # of each position
    torch.testing.assert_close(rotate_half_of_all(x), meant.rotate(x, position_ids))
    if x.ndim == 4:
        return apply_rotary(x, *tables, layout="half").to(x.dtype).contiguous()"""
TEXT = f"""# Two

{SAID} then `{NAME}`.

- {SAID}

  - In `{NAME}`, and `ropelib.scaling.llama3_inv_freq_of_a_long_name(config)`.

```python
{CODE}
```

```console
$ python -m ropelib diagnose rope.py:rotate --head-dim 128 --expected llama-2-7b
$ python -m ropelib diagnose {NAME}
```

```yaml
steps:
  - run: pip install third_party/rope-book
  - run: python -m ropelib diagnose rope.py:rotate --json --head-dim 128
```

{{#softmax}}
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return small_book.build(tmp_path_factory.mktemp("broken"), {"two.md": TEXT})


@pytest.fixture
def reader(chromium, pages):
    """Return a function that opens the page at a size; nothing may go wrong."""
    opened = []

    def reader(size, **options):
        viewport = {"width": size[0], "height": size[1]}
        context = chromium.new_context(viewport=viewport, offline=True, **options)
        page, log = open_page(context, (pages / "two.html").as_uri())
        opened.append((context, log))
        return page

    yield reader
    for context, log in opened:
        context.close()
        assert (log.outside(), log.failed, log.complaints) == ([], [], [])


# Runs in the page: the text of each line of each node, and where it begins.
_LINES = """(nodes) => nodes.map((node) => {
  const lines = new Map();
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (walker.nextNode()) {
    for (let at = 0; at < walker.currentNode.length; at++) {
      if (/\\s/.test(walker.currentNode.data[at])) continue;
      range.setStart(walker.currentNode, at);
      range.setEnd(walker.currentNode, at + 1);
      const { left, top } = range.getBoundingClientRect();
      const line = lines.get(Math.round(top)) ?? [left, ""];
      lines.set(Math.round(top), [line[0], line[1] + walker.currentNode.data[at]]);
    }
  }
  return [...lines.values()];
})"""


def lines(page, selector):
    return page.locator(selector).evaluate_all(_LINES)


def test_no_flag_is_broken_on_a_phone_of_any_width(reader):
    page = reader(PHONE)
    flags = page.locator(".rope-whole", has_text="-")
    assert flags.count() > 4 * len(FLAGS)
    for width in range(SMALL[0], PHONE[0] + 40, 7):
        page.set_viewport_size({"width": width, "height": PHONE[1]})
        broken = [flag for flag in lines(page, ".rope-whole") if len(flag) > 1]
        assert broken == [], width
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width


@pytest.mark.parametrize("size", [SMALL, PHONE], ids=str)
def test_a_long_name_is_broken_behind_its_signs_alone(reader, size):
    page = reader(size)
    for selector in ("code .pre", ".highlight-console pre > span"):
        names = [name for name in lines(page, selector) if NAME in "".join(by for _, by in name)]
        assert names and all(len(name) > 1 for name in names)
        for name in names:
            assert all(line[-1] in "._:e" for _, line in name[:-1]), name  # e: of `diagnose`
            assert "".join(line for _, line in name).endswith(NAME)


@pytest.mark.parametrize("size", [SMALL, PHONE], ids=str)
def test_a_long_call_begins_where_it_is_written_and_goes_on_behind_a_sign(reader, size):
    page = reader(size)
    (call,) = (
        boxes
        for boxes in lines(page, ".highlight-python [style]")
        if "assert_close" in "".join(line for _, line in boxes)
    )
    (first, begins), *after = call
    assert begins.startswith("torch.testing.") and all(left > first for left, _ in after)
    assert all(line[-1] in "._(," for _, line in call[:-1]), call


def test_what_is_a_line_of_yaml_goes_on_further_in_beside_one_with_flags(reader):
    page = reader(SMALL)
    for boxes in lines(page, ".highlight-yaml [style]"):
        (first, _), *after = boxes
        assert after and all(left > first for left, _ in after)
    assert len(lines(page, ".highlight-yaml [style]")) == 2


@pytest.mark.parametrize("options", [{}, {"has_touch": True, "is_mobile": True}], ids=str)
@pytest.mark.parametrize("size", [SMALL, PHONE], ids=str)
def test_on_a_phone_code_is_read_whole_and_its_button_covers_none(reader, size, options):
    page = reader(size, **options)
    wide = "(boxes) => boxes.filter((box) => box.scrollWidth > box.clientWidth).length"
    assert page.locator(".highlight pre").evaluate_all(wide) == 0
    broken = [line for line in lines(page, ".highlight-python [style]") if len(line) > 1]
    assert len(broken) >= 2
    for (first, _), *after in broken:
        assert len({round(left) for left, _ in after}) == 1 and after[0][0] > first + 10
    assert page.locator(".highlight button.copybtn").count() == 3
    assert page.locator(".highlight").evaluate_all(_COVERED) == []


# Runs in the page: pieces of code that stand under the button of their block.
_COVERED = """(blocks) => blocks.flatMap((block) => {
  const button = block.querySelector("button").getBoundingClientRect();
  const walker = document.createTreeWalker(block.querySelector("pre"), NodeFilter.SHOW_TEXT);
  const covered = [];
  while (walker.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    const under = ({ left, right, top, bottom, width }) => width > 0 &&
      left < button.right && right > button.left && top < button.bottom && bottom > button.top;
    if ([...range.getClientRects()].some(under)) covered.push(walker.currentNode.data);
  }
  return covered;
})"""


def test_where_there_is_room_no_line_of_code_is_broken(reader):
    page = reader(WIDE)
    shown = lines(page, ".highlight-python pre")[0]
    assert ["".join(line.split()) for line in CODE.splitlines()] == [line for _, line in shown]
    indents = [len(line) - len(line.lstrip()) for line in CODE.splitlines()]
    lefts = [left - shown[0][0] for left, _ in shown]
    assert [round(left / lefts[2] * 4) for left in lefts] == indents


def test_what_is_copied_has_no_sign_of_where_it_was_broken(reader):
    page = reader(PHONE, permissions=["clipboard-read", "clipboard-write"])
    button = page.locator(".highlight-console button.copybtn")
    button.click()
    expect(button).to_have_attribute("data-tooltip", "Copied!")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.splitlines()[-1] == f"python -m ropelib diagnose {NAME}"
