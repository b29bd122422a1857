"""The ledger in the browser: filtered by each choice, by words, by keyboard, by its address."""

import itertools
from collections import Counter

import pytest
from browser import PHONE, WIDE, accessibility_faults, open_page
from claims import APPENDIX

from ropebook.ledger import VERDICTS, read_ledger

PAGE = "book/appendix/sources.html"
LEDGER = read_ledger(APPENDIX)
ALL = len(LEDGER.claims)
SHOWN = """() => [...document.querySelectorAll(".ledger-claims > li")]
  .filter((row) => row.checkVisibility()).map((row) => row.id.toUpperCase())"""
COUNTS = {
    "verdict": Counter(claim.verdict for claim in LEDGER.claims),
    "source": Counter(claim.document for claim in LEDGER.claims),
    "chapter": Counter(claim.chapter for claim in LEDGER.claims if claim.chapter),
}


def ids(**wanted):
    """Ids of the claims with these verdict, document, chapter, in their order."""
    return [
        claim.id
        for claim in LEDGER.claims
        if all(getattr(claim, name) == value for name, value in wanted.items())
    ]


class Sources:
    """The opened page."""

    def __init__(self, page, address):
        self.page, self.address = page, address
        self.form = page.locator(".ledger-form")
        self.none = page.locator(".ledger-none")

    def choose(self, name, value):
        self.form.locator(f"[name={name}]").select_option(value)

    def search(self, words):
        self.form.locator("[name=words]").fill(words)

    def shown(self):
        return self.page.evaluate(SHOWN)

    def count(self):
        return self.form.locator("output").inner_text()

    def hash(self):
        return self.page.evaluate("location.hash")

    def go(self, hash):
        """As a reader who opens such an address, from elsewhere."""
        self.page.goto("about:blank")
        self.page.goto(self.address + hash)
        self.page.wait_for_load_state("load")


@pytest.fixture
def opened(built_book, chromium):
    """Return a function that opens the page from disk; at the end it has complained of nothing."""
    contexts = []

    def opened(size=WIDE, theme="light", hash="", **options):
        width, height = size
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,
            offline=True,
            **options,
        )
        address = (built_book / PAGE).as_uri()
        page, log = open_page(context, address + hash, settle=False)
        contexts.append((context, log))
        return Sources(page, address)

    yield opened
    for context, log in contexts:
        context.close()
        assert (log.outside(), log.failed, log.complaints) == ([], [], [])


def test_at_first_all_claims_are_shown(opened):
    sources = opened()
    assert sources.shown() == ids()
    assert sources.count() == f"{ALL} of {ALL} claims"
    assert not sources.none.is_visible()
    assert sources.hash() == ""


def test_a_choice_shows_those_claims_and_no_other(opened):
    sources = opened()
    for name, field in (("verdict", "verdict"), ("source", "document"), ("chapter", "chapter")):
        choices = sources.form.locator(f"[name={name}] option").evaluate_all(
            "(options) => options.map((option) => option.value)"
        )
        assert choices[0] == "" and set(choices[1:]) == set(COUNTS[name])
        for value in choices[1:]:
            sources.choose(name, value)
            assert sources.shown() == ids(**{field: value}), value
            assert sources.count() == f"{COUNTS[name][value]} of {ALL} claims"
        sources.choose(name, "")
        assert len(sources.shown()) == ALL


def _having(how, words, texts, names):
    """The names whose text has any or all of the words."""
    return [name for name in names if how(word in texts[name] for word in words)]


def test_choices_and_words_narrow_one_another(opened):
    sources = opened()
    sources.choose("verdict", "false")
    sources.choose("source", "004")
    both = sources.shown()
    assert both == ids(verdict="false", document="004")
    rows = sources.page.locator(".ledger-claims > li")
    texts = dict(zip(ids(), map(str.lower, rows.all_text_contents()), strict=True))
    words, with_one, with_both = next(
        (words, found(any), found(all))
        for words in itertools.combinations(("position", "distance", "angle", "vector"), 2)
        for found in [lambda how, words=words: _having(how, words, texts, both)]
        if 0 < len(found(all)) < len(found(any)) < len(both)
    )
    for text in (f"{words[1]}  {words[0].title()}", " ".join(words)):  # any case, any order
        sources.search(text)
        assert sources.shown() == with_both != with_one
    sources.search("s004-16")
    assert sources.shown() == ["S004-16"]
    sources.search("伪代码")
    under = [claim.id for claim in LEDGER.claims if claim.id in both and "伪代码" in claim.where]
    assert sources.shown() == under != [], "headings of the documents are found too"


def test_when_nothing_matches_the_page_says_so_and_shows_all_again(opened):
    sources = opened()
    sources.choose("verdict", "true")
    sources.search("no claim says this")
    assert sources.shown() == []
    assert sources.none.is_visible()
    assert sources.count() == f"0 of {ALL} claims"
    sources.form.get_by_role("button", name="Show all").click()
    assert sources.shown() == ids() and not sources.none.is_visible()
    assert sources.hash() == ""
    assert sources.page.evaluate("document.activeElement.name") == "words"


def test_the_keyboard_alone_filters_and_returns(opened):
    sources = opened()
    keyboard = sources.page.keyboard
    sources.form.locator("[name=verdict]").focus()
    keyboard.type("fa")
    assert sources.shown() == ids(verdict="false")
    for name in ("source", "chapter", "words"):
        keyboard.press("Tab")
        assert sources.page.evaluate("document.activeElement.name") == name
    keyboard.type("decay")
    some = sources.shown()
    assert 0 < len(some) < COUNTS["verdict"]["false"]
    keyboard.press("Enter")
    assert sources.shown() == some, "Enter sends nothing anywhere"
    keyboard.press("Tab")
    keyboard.press("Enter")
    assert sources.shown() == ids()


def test_an_address_opens_the_same_claims(opened):
    sources = opened()
    sources.choose("verdict", "imprecise")
    sources.choose("chapter", "distance")
    sources.search("θ decay")
    chosen, seen = sources.hash(), sources.shown()
    assert chosen.startswith("#verdict=imprecise&chapter=distance&words=")
    sources.go(chosen)
    assert sources.shown() == seen
    assert sources.form.locator("[name=words]").input_value() == "θ decay"
    sources.page.evaluate("location.hash = 'source=003'")
    sources.page.wait_for_function(
        "document.querySelector('.ledger-form [name=source]')?.value === '003'"
    )
    assert sources.shown() == ids(document="003")
    assert sources.form.evaluate("(form) => form.getBoundingClientRect().top < innerHeight")


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_claim_has_an_address_that_no_filter_hides(opened, size):
    sources = opened(size, hash="#verdict=true")
    assert "S004-42" not in sources.shown()
    sources.page.evaluate("location.hash = 's004-42'")
    row = sources.page.locator("#s004-42")
    row.wait_for(state="visible")
    assert sources.shown() == ids()
    # Not under the filter that stays at the top, nor below the screen.
    sources.page.wait_for_function(
        """() => {
          const claim = document.querySelector("#s004-42 p");
          if (claim === null) return false;
          const { left, top } = claim.getBoundingClientRect();
          return document.elementFromPoint(left + 2, top + 2)?.closest("#s004-42");
        }"""
    )


def test_a_number_of_the_front_leads_to_its_claims(opened):
    sources = opened()
    counts = sources.page.locator(".ledger-counts")
    for row, document in enumerate(sorted(COUNTS["source"])):
        cells = counts.locator("tbody tr").nth(row).locator("td")
        numbers = [int(cell) for cell in cells.all_inner_texts()]
        expected = [len(ids(document=document, verdict=verdict)) for verdict in VERDICTS]
        assert numbers == [*expected, sum(expected)]
    assert counts.locator("tfoot td").last.inner_text() == str(ALL)
    counts.locator("tbody tr").nth(4).locator("td").nth(2).locator("a").click()
    assert sources.shown() == ids(document="004", verdict="false")
    assert sources.hash() == "#verdict=false&source=004"
    assert sources.page.evaluate("document.activeElement.name") == "verdict"
    sources.page.wait_for_function(
        "document.querySelector('.ledger-form')?.getBoundingClientRect().top < innerHeight / 2"
    )


def test_the_mistakes_lead_to_their_claims(opened):
    sources = opened()
    links = sources.page.locator(".ledger-mistakes .ledger-more")
    remembered = sorted((c for c in LEDGER.claims if c.remember), key=lambda c: c.remember)
    assert links.all_inner_texts() == [claim.id for claim in remembered]
    links.nth(3).click()
    assert sources.hash() == f"#{remembered[3].id.lower()}"


def test_a_filter_touches_each_row_at_most_once_and_leaves_the_others_alone(opened):
    sources = opened()
    touched = sources.page.evaluate(
        """async () => {
          const rows = [...document.querySelectorAll(".ledger-claims > li")];
          const seen = [];
          const observer = new MutationObserver((records) => seen.push(...records));
          observer.observe(document.querySelector(".ledger-claims"),
            { subtree: true, attributes: true, childList: true, characterData: true });
          const select = document.querySelector(".ledger-form [name=verdict]");
          select.value = "true";
          select.dispatchEvent(new Event("input", { bubbles: true }));
          await new Promise((go) => setTimeout(go));
          observer.disconnect();
          return seen.map(({ target, attributeName }) => [target.id, attributeName]);
        }"""
    )
    others = [claim.id.lower() for claim in LEDGER.claims if claim.verdict != "true"]
    assert sorted(touched) == sorted([name, "class"] for name in others)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_filtered_or_empty_it_is_accessible_and_no_wider_than_the_screen(opened, size, theme):
    sources = opened(size, theme, hash="#source=004&verdict=false")
    wider = "document.documentElement.scrollWidth - innerWidth"
    assert sources.page.evaluate(wider) <= 0
    assert accessibility_faults(sources.page) == []
    sources.search("no claim says this")
    assert sources.page.evaluate(wider) <= 0
    assert accessibility_faults(sources.page) == []


@pytest.mark.parametrize(("size", "columns"), [(WIDE, 3), (PHONE, 1)], ids=["wide", "phone"])
def test_a_claim_is_a_row_or_on_a_phone_a_card_and_no_word_of_it_is_cut(opened, size, columns):
    sources = opened(size)
    # What is off the screen is not laid out, and what is wider than its row would be cut off.
    sources.page.add_style_tag(content=".ledger-claims > li { content-visibility: visible }")
    lefts, cut = sources.page.evaluate(
        """() => {
          const rows = [...document.querySelectorAll(".ledger-claims > li")];
          const left = (part) => part.getBoundingClientRect().left;
          const lefts = [...document.querySelector("#s004-42").children].map(left);
          const cut = rows.filter((row) => row.scrollWidth > row.clientWidth + 1);
          return [lefts, cut.map((row) => row.id)];
        }"""
    )
    assert (len(set(lefts)), cut) == (columns, [])


def test_without_a_script_every_claim_can_be_read(built_book, chromium):
    context = chromium.new_context(java_script_enabled=False, offline=True)
    try:
        page = context.new_page()
        page.goto((built_book / PAGE).as_uri())
        assert page.locator(".ledger-claims > li").count() == ALL
        page.locator("#s004-42").scroll_into_view_if_needed()
        assert page.locator("#s004-42").is_visible()
        assert not page.locator(".ledger-form").is_visible()
        assert not page.locator(".ledger-none").is_visible()
    finally:
        context.close()
