"""What helps to read a page, on a small book: folds, code, places, marks, terms, paper."""

import pytest
import small_book
from browser import FRAMES, PHONE, WIDE, accessibility_faults, open_page
from playwright.sync_api import expect

SECTIONS = ["Alpha", "Beta", "Fold", "Inner place", "Inner fold", "Gamma", "Delta", "Epsilon"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return small_book.build(tmp_path_factory.mktemp("small_book"))


@pytest.fixture
def reader(chromium, pages):
    """Return a function that opens a page, in a browser that remembers; nothing may go wrong."""
    context, logs = None, []

    def reader(address, size=WIDE, **options):
        nonlocal context
        if context is None:
            viewport = {"width": size[0], "height": size[1]}
            context = chromium.new_context(viewport=viewport, offline=True, **options)
        name, _, place = address.partition("#")
        url = (pages / name).as_uri() + (f"#{place}" if place else "")
        page, log = open_page(context, url, settle=False)
        page.wait_for_selector("body")
        logs.append(log)
        return page

    yield reader
    if context:
        context.close()
    heard = [(log.outside(), log.failed, log.complaints) for log in logs]
    assert heard == [([], [], [])] * len(logs)


@pytest.fixture
def without_storage(chromium):
    """What the browser does where it may keep nothing."""
    return """Object.defineProperty(window, "localStorage", {
      get() { throw new DOMException("refused", "SecurityError"); } })"""


def fold_of(page, section):
    return page.locator(f"section#{section} > details.rope-deeper")


def is_open(page, section):
    return fold_of(page, section).evaluate("(fold) => fold.open")


# ---- folds ------------------------------------------------------------------------------------


def test_a_tagged_section_is_a_fold_with_its_heading_as_summary_and_its_contents_inside(reader):
    page = reader("one.html")
    assert page.locator("details.rope-deeper").count() == 2
    for section, heading in (("fold", "h2"), ("inner-fold", "h3")):
        assert not is_open(page, section)
        summary = fold_of(page, section).locator("> summary")
        assert summary.locator(heading).count() == 1
        assert "Deeper" in summary.text_content()
    expect(page.locator("#inner-place")).to_be_hidden()
    expect(page.locator("#gamma")).to_be_visible()
    assert page.locator("#fold #gamma").count() == 0, "the fold ends where the section does"
    lines = page.locator(".bd-sidebar-secondary .toc-entry > a").all_text_contents()
    assert [line.strip() for line in lines] == SECTIONS


def test_a_fold_of_a_markdown_page(reader):
    page = reader("two.html")
    fold_of(page, "softmax").locator("summary").press("Enter")
    assert is_open(page, "softmax")


@pytest.mark.parametrize("folded", [True, False], ids=["closed", "open"])
def test_axe_finds_no_fault_in_a_page_with_folds(reader, folded):
    page = reader("one.html")
    if not folded:
        page.get_by_role("button", name="Open all").click()
    assert accessibility_faults(page) == []


def seen(page, selector):
    """Whether a place stands on the screen, below the bar at its top."""
    page.wait_for_function(
        """(selector) => {
          const place = document.querySelector(selector);  // none while a page is on its way
          if (place === null) return false;
          const { top, height } = place.getBoundingClientRect();
          return height > 0 && top > 0 && top < innerHeight;
        }""",
        arg=selector,
    )


def test_an_address_inside_a_fold_opens_it(reader):
    page = reader("one.html#inner-place")
    seen(page, "#inner-place")
    assert is_open(page, "fold") and not is_open(page, "inner-fold")
    page = reader("one.html#inner-fold")
    seen(page, "#inner-fold > details > div")
    assert is_open(page, "fold") and is_open(page, "inner-fold")


def test_a_link_from_another_page_opens_the_fold_and_back_comes_back(reader):
    page = reader("two.html")
    page.locator("a[href='one.html#inner-place']").click()
    seen(page, "#inner-place")
    page.go_back()
    page.wait_for_url("**/two.html")
    page.go_forward()
    seen(page, "#inner-place")


def test_a_link_of_the_page_itself_opens_the_fold_each_time(reader):
    page = reader("one.html")
    for _ in range(2):  # the second time, the address does not change
        page.locator(".bd-sidebar-secondary a[href='#fold']").click()
        seen(page, "#fold > details > div")
        fold_of(page, "fold").locator("> summary").evaluate("(summary) => summary.click()")
        assert not is_open(page, "fold")
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    page.evaluate("location.hash = '#inner-place'")
    seen(page, "#inner-place")
    page.evaluate("location.hash = '#alpha'")
    fold_of(page, "fold").locator("> summary").evaluate("(summary) => summary.click()")
    page.go_back()
    seen(page, "#inner-place")


GROW = """() => {
  const box = document.createElement("div");
  box.style.height = "1500px";
  document.querySelector("article h1").after(box);
  return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}"""


def test_an_addressed_place_stays_in_sight_while_what_is_above_it_grows(reader):
    page = reader("one.html#gamma")
    seen(page, "#gamma")
    page.add_style_tag(
        content="* { overflow-anchor: none !important }"
    )  # what no browser evens out
    page.evaluate(GROW)
    page.wait_for_function(
        "document.getElementById('gamma').getBoundingClientRect().top < innerHeight"
    )
    page.keyboard.press("Shift")  # from here on the reader moves
    page.evaluate(GROW)
    assert page.locator("#gamma").bounding_box()["y"] > WIDE[1]


def test_all_folds_open_and_close_by_one_button(reader):
    page = reader("one.html")
    button = page.locator('.rope-tool[data-tool="folds"]')
    expect(button).to_have_accessible_name("Open all")
    button.click()
    assert is_open(page, "fold") and is_open(page, "inner-fold")
    expect(button).to_have_accessible_name("Close all")
    button.press("Enter")
    assert not is_open(page, "fold") and not is_open(page, "inner-fold")
    expect(reader("index.html").locator('.rope-tool[data-tool="folds"]')).to_be_hidden()


# ---- code -------------------------------------------------------------------------------------

OUTPUTS = ["said by bare", "said by lesson", "said by folded input"]


def shown_code(page):
    sources = page.locator(".cell_input").all()
    return [one.inner_text().strip() for one in sources if one.is_visible()]


def shown_outputs(page):
    outputs = page.locator("article .cell_output pre").all()
    return [one.inner_text().strip() for one in outputs if one.is_visible()]


def test_code_is_hidden_until_it_is_asked_for_and_then_for_the_whole_book(reader):
    page = reader("one.html")
    button = page.locator('.rope-tool[data-tool="code"]')
    assert shown_code(page) == ["lesson = 2"] and shown_outputs(page) == OUTPUTS
    expect(page.locator("details.hide").first).to_be_hidden()
    expect(button).to_have_accessible_name("Code: hidden")
    button.press("Enter")
    expect(button).to_have_accessible_name("Code: shown")
    assert shown_code(page) == ["bare = 1", "lesson = 2", "silent = 5"]
    assert shown_outputs(page) == OUTPUTS
    bars = page.locator("details.hide:visible")
    assert bars.count() == 2, "of the folded input and of the check; the third is in a fold"
    again = reader("one.html")
    assert shown_code(again) == ["bare = 1", "lesson = 2", "silent = 5"]
    again.locator('.rope-tool[data-tool="code"]').click()
    assert shown_code(reader("one.html")) == ["lesson = 2"]
    expect(reader("index.html").locator('.rope-tool[data-tool="code"]')).to_be_hidden()


def test_code_is_hidden_and_shown_where_nothing_is_kept(reader, chromium, pages, without_storage):
    context = chromium.new_context(offline=True)
    try:
        page = context.new_page()
        problems = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.add_init_script(without_storage)
        page.goto((pages / "one.html").as_uri())
        assert shown_code(page) == ["lesson = 2"]
        page.locator('.rope-tool[data-tool="code"]').click()
        assert "bare = 1" in shown_code(page)
        # The theme has scripts of its own that count on storage.
        assert [line for line in problems if "refused" not in line] == []
    finally:
        context.close()


def test_without_javascript_code_is_shown_folds_open_and_terms_are_links(chromium, pages):
    context = chromium.new_context(offline=True, java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto((pages / "one.html").as_uri())
        assert shown_code(page) == ["bare = 1", "lesson = 2", "silent = 5"]
        expect(page.locator(".rope-tool").first).to_be_hidden()
        fold_of(page, "fold").locator("> summary").click()
        expect(page.locator("#inner-place")).to_be_visible()
        term = page.locator("a.rope-term").first
        expect(term).to_have_attribute("href", "glossary.html#softmax")
        expect(page.locator(".rope-definition").first).to_be_hidden()
    finally:
        context.close()


# ---- where the reader is ----------------------------------------------------------------------


@pytest.mark.parametrize("folded", [True, False], ids=["closed", "open"])
def test_one_line_of_the_contents_is_marked_at_every_place_of_the_page(reader, folded):
    page = reader("one.html")
    if not folded:
        page.get_by_role("button", name="Open all").click()
    marks = page.evaluate(
        """async () => {
          const found = [];
          const height = document.documentElement.scrollHeight;
          for (let top = 0; top < height; top += 97) {
            scrollTo({ top, behavior: "instant" });
            await whenDrawn();
            await passFrames(2);
            const lines = [...document.querySelectorAll(".page-toc a[aria-current]")]
              .filter((line) => line.checkVisibility());
            found.push(lines.map((line) => line.textContent.trim()).join(" and "));
          }
          return found;
        }"""
    )
    inside = SECTIONS[3:5]
    expected = [name for name in SECTIONS if name not in inside or not folded]
    assert list(dict.fromkeys(marks)) == expected, "each in its turn, and never none"


def test_what_stands_under_a_fold_steps_back_in_the_contents_and_says_so(reader):
    page = reader("one.html")
    lines = page.locator(".bd-sidebar-secondary .toc-entry > a").evaluate_all(
        """(lines) => lines.map((line) => [line.textContent.trim(), line.title,
          Number.parseFloat(getComputedStyle(line).paddingLeft), getComputedStyle(line).color])"""
    )
    folded = {"Fold", "Inner place", "Inner fold"}
    assert {name for name, title, *_ in lines if title} == folded
    open_ones = [line for line in lines[1:] if line[0] not in folded]
    for name, title, left, color in lines:
        if name in folded:
            assert title.startswith("Folded")
            assert left > max(one[2] for one in open_ones)
            assert color not in {one[3] for one in open_ones}, name


def test_a_printed_page_has_no_list_of_contents(reader):
    page = reader("one.html")
    contents = page.locator("#jb-print-toc")
    assert contents.count() == 1
    page.emulate_media(media="print")
    expect(contents).to_be_hidden()
    expect(page.locator("#jb-print-docs-body h1")).to_have_text("One")
    expect(page.locator("#jb-print-docs-body h1")).to_be_visible()


def test_the_bar_has_the_pages_name_once_the_title_has_gone_and_how_far_one_has_read(reader):
    page = reader("one.html", size=PHONE)
    name = page.locator(".rope-page-name")
    width = "document.querySelector('.rope-progress').getBoundingClientRect().width / innerWidth"
    expect(name).to_be_hidden()
    assert page.evaluate(width) == 0
    page.evaluate("scrollTo({ top: document.body.scrollHeight, behavior: 'instant' })")
    expect(name).to_be_visible()
    expect(name).to_have_text("One")
    page.wait_for_function(f"{width} > 0.99")


# What an element of the page covers of the text.
LIES_UNDER = """(selector) => {
  const over = document.querySelector(selector).getBoundingClientRect();
  return [...document.querySelectorAll("article :is(h1, h2, h3, p, li, pre)")]
    .filter((text) => !text.closest(selector))
    .filter((text) => {
      const at = text.getBoundingClientRect();
      const beside = at.left >= over.right || at.right <= over.left;
      return at.width && !beside && at.top < over.bottom && at.bottom > over.top;
    })
    .map((text) => text.textContent.slice(0, 40));
}"""


def go_to(page, section):
    page.evaluate(
        "(id) => document.getElementById(id).scrollIntoView({ behavior: 'instant' })", section
    )
    page.evaluate(FRAMES)


def test_a_page_offers_the_place_where_it_was_left_and_the_first_page_the_page(reader):
    page = reader("one.html")
    assert page.locator(".rope-continue").count() == 0, "nothing was read yet"
    go_to(page, "gamma")
    page = reader("one.html")
    offer = page.locator(".rope-continue")
    expect(offer.get_by_role("link")).to_have_text("Continue: Gamma")
    hidden = page.evaluate(LIES_UNDER, ".rope-continue")
    assert hidden == [], "the offer has a place of its own"
    offer.get_by_role("link").click()
    seen(page, "#gamma")
    expect(offer).to_have_count(0)
    page = reader("index.html")
    link = page.locator(".rope-continue").get_by_role("link")
    expect(link).to_have_text("Continue: One: Gamma")
    link.click()
    seen(page, "#gamma")
    page = reader("one.html")
    page.locator(".rope-continue").get_by_role("button", name="Stay here").click()
    expect(page.locator(".rope-continue")).to_have_count(0)
    assert page.evaluate("scrollY") == 0
    assert reader("two.html").locator(".rope-continue").count() == 0, "each page has its own"
    assert reader("one.html#alpha").locator(".rope-continue").count() == 0, "a link says where"


def test_a_page_read_to_its_end_offers_nothing(reader):
    page = reader("one.html")
    page.evaluate("scrollTo({ top: document.body.scrollHeight, behavior: 'instant' })")
    page.evaluate(FRAMES)
    assert reader("one.html").locator(".rope-continue").count() == 0


# ---- what was done ----------------------------------------------------------------------------


def test_what_was_done_is_counted_in_the_sidebar_and_on_the_first_page(reader):
    page = reader("one.html#inner-place")
    own = page.locator(".bd-sidebar-primary .rope-done")
    expect(own).to_be_hidden()
    page.locator("[data-bet='bet 0']").click()
    expect(own).to_have_text("1/2")
    expect(own).to_have_attribute("title", "1 of 2 bets and boxes done")
    for address in ("index.html", "two.html"):
        first = reader(address)
        expect(first.locator(".bd-sidebar-primary .rope-done")).to_have_text("1/2")
    first = reader("index.html")
    expect(first.locator("article .rope-done")).to_have_text("1/2")  # once, of two links
    page.locator("[data-bet='bet 1']").click()
    expect(own).to_have_text("✓")
    expect(own.locator("xpath=..")).to_have_accessible_name("One 2 of 2 bets and boxes done")
    expect(first.locator("article .rope-done")).to_have_text("✓")
    assert reader("two.html").locator("article .rope-done").count() == 0


# ---- terms ------------------------------------------------------------------------------------

MEANING = "weights that are positive and add up to one"


def test_a_term_explains_itself_to_pointer_keyboard_and_screen_reader(reader):
    page = reader("one.html")
    term, words = page.locator("a.rope-term").first, page.locator(".rope-definition").first
    expect(term).to_have_role("button")
    assert MEANING in term.evaluate("(term) => term.ariaDescribedByElements[0].textContent")
    expect(words).to_be_hidden()
    term.hover()
    expect(words).to_be_visible()
    expect(words).to_contain_text(MEANING)
    words.hover()
    expect(words).to_be_visible()
    assert accessibility_faults(page) == []
    page.keyboard.press("Escape")
    expect(words).to_be_hidden()
    page.mouse.move(5, 700)
    page.locator('.rope-tool[data-tool="code"]').focus()
    while not term.evaluate("(term) => term === document.activeElement"):
        page.keyboard.press("Tab")
    expect(words).to_be_visible()
    page.keyboard.press("Tab")
    expect(words).to_be_hidden()


def test_a_term_explains_itself_to_a_finger_and_stays_on_the_screen(reader):
    page = reader("one.html#inner-place", size=PHONE, has_touch=True)
    for term, words in zip(
        page.locator("a.rope-term").all(), page.locator(".rope-definition").all(), strict=True
    ):
        expect(words).to_be_hidden()
        term.tap()
        expect(words).to_be_visible()
        box = words.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE[0]
        page.touchscreen.tap(200, 830)
        expect(words).to_be_hidden()
    assert page.url.endswith("one.html#inner-place")


# ---- code that is copied ------------------------------------------------------------------------

COPIED = {
    "console": "pip install one\none --two",
    "pycon": 'def one(x):\n    return x\none({\n    "a": 1,\n})',
    "yaml": "steps:\n  - run: one",
}


@pytest.mark.parametrize("language", COPIED)
def test_a_block_is_copied_without_prompts_and_without_what_it_prints(reader, language):
    page = reader("two.html", permissions=["clipboard-read", "clipboard-write"])
    button = page.locator(f".highlight-{language} button.copybtn")
    page.locator(f".highlight-{language} pre").hover()
    button.click()
    expect(button).to_have_attribute("data-tooltip", "Copied!")
    assert page.evaluate("navigator.clipboard.readText()") == COPIED[language]


def test_what_copies_a_block_is_seen_named_and_large_enough_for_a_finger(reader):
    page = reader("two.html", size=PHONE, has_touch=True, is_mobile=True)
    for language in COPIED:
        button = page.locator(f".highlight-{language} button.copybtn")
        expect(button).to_have_css("opacity", "1")
        expect(button).to_have_accessible_name("Copy to clipboard")
        box, block = button.bounding_box(), page.locator(f".highlight-{language}").bounding_box()
        assert min(box["width"], box["height"]) >= 32
        assert block["y"] <= box["y"] and box["y"] + box["height"] <= block["y"] + block["height"]


# ---- paper ------------------------------------------------------------------------------------


def test_on_paper_folds_are_open_and_figures_drawn_and_afterwards_all_is_as_before(reader):
    page = reader("one.html")
    assert page.locator("figure.rope-figure .main-svg").count() == 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert is_open(page, "fold") and is_open(page, "inner-fold")
    page.locator("figure.rope-figure .main-svg").first.wait_for()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not is_open(page, "fold") and not is_open(page, "inner-fold")
    page.emulate_media(media="print")
    assert shown_code(page) == ["lesson = 2"], "what is shown is printed"
    for selector in (".rope-tools", ".rope-continue", ".rope-progress"):
        assert page.locator(f"{selector}:visible").count() == 0


@pytest.mark.parametrize("way", ["key", "button"])
def test_who_prints_from_the_page_gets_its_figures(reader, way):
    page = reader("one.html")
    page.evaluate(
        """() => {
          window.drawn = [];
          const figures = () => document.querySelectorAll("figure .main-svg").length;
          window.print = () => window.drawn.push(figures());
        }"""
    )
    if way == "key":
        page.keyboard.press("Control+p")
    else:
        page.locator(".btn-download-pdf-button").evaluate("(button) => button.click()")
    page.wait_for_function("drawn.length > 0")
    assert page.evaluate("drawn.every(Boolean) && drawn.length === 1")


@pytest.mark.parametrize("width", [340, 390])
def test_both_chevrons_stand_on_a_phone_whatever_the_titles(reader, width):
    page = reader("two.html", size=(width, 844))
    titles = page.locator(".prev-next-title")
    assert titles.count() == 2
    titles.evaluate_all(
        "(all) => all.forEach((one) => { one.textContent = 'Multidimensional implementations' })"
    )
    marks = page.locator(".prev-next-area svg, .prev-next-area i")
    marks.first.wait_for()
    assert marks.count() == 2
    for place in [mark.bounding_box() for mark in marks.all()]:
        assert place["width"] > 5 and 0 <= place["x"] <= width - place["width"]


# ---- the build --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("one.ipynb", small_book.tagged("In full.\n\n## A proof"), "begin with a heading"),
        ("two.md", "{.deeper}\n# Two\n", "a page's title must not be deeper"),
        ("glossary.md", "# Glossary\n\nterm\n: What it means.\n", "a term must have an anchor"),
        (
            "glossary.md",
            "# Glossary\n\n[term]{#softmax}\n: What $x$ means.\n",
            "begin with a paragraph without formulae",
        ),
        ("two.md", "# Two\n\n[no term](glossary.md#nothing)\n", "local id not found"),
    ],
)
def test_the_build_refuses(tmp_path, file, text, told):
    with pytest.raises(RuntimeError, match=told):
        small_book.build(tmp_path, {file: text})
