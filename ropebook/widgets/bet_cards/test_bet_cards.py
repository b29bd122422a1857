"""The bet: what it veils in a built page, until when, and what else lifts the veil."""

import pytest

pytest.importorskip("anywidget")

from answering import Box
from browser import open_page
from oracles import Oracle
from refusals import assert_refused
from samples import SAMPLES
from scratch import ROOT, made, page_of

from ropebook.widgets import BetCards, TokenShuffle

ORACLE = Oracle(lambda inputs: {})
BET = next(one for one in SAMPLES if one.kind == "bet")
AFTER = """
<p id="first">The score stands still.</p>
<h2 id="below">Below</h2>
<details><summary>Deeper</summary><p>a fold</p></details>
<div class="cell"><figure id="second"><svg width="90" height="60"></svg></figure></div>
<p id="third">Read on. <a id="there" href="#first">There</a></p>
"""


@pytest.mark.parametrize("value", [-1, 10])
def test_refuses_a_number_of_blocks_that_no_bet_needs(value):
    message = rf"^veils must lie in \[0, 9\] blocks, got {value}$"
    assert_refused(lambda **traits: made("bet_cards", **traits), "veils", value, message)


def test_python_learns_whether_the_bet_was_won():
    bet = BetCards(BET.told())
    assert (bet.answer, bet.won) == (None, False)
    bet.set_state({"answer": 0, "done": True})
    assert not bet.won
    bet.set_state({"answer": 1})
    assert bet.won


@pytest.fixture
def opened(chromium, tmp_path):
    """Return a function that opens a page with a bet, a picture, and text after them."""
    contexts = []

    def opened(article=True, veils=2, anchor="", context=None, fold=False):
        text = page_of(BetCards(BET.told(), veils=veils), TokenShuffle())
        sheet = (ROOT / "book/_static/book.css").as_uri()
        text = text.replace("<style>", f'<link rel="stylesheet" href="{sheet}"><style>', 1)
        parts = text.split("</main>")
        text = f"{parts[0]}{AFTER}</section></main>{parts[1]}"
        text = text.replace("<main>", f"<main{' class=bd-article' if article else ''}><section>")
        if fold:
            begin = "<details open><summary>Fold</summary><div class=rope-deeper-body>"
            text = text.replace("<section>", f"<section>{begin}", 1)
            text = text.replace("</section></main>", "</div></details></section></main>")
        address = tmp_path / "index.html"
        address.write_text(text, encoding="utf-8")
        context = context or chromium.new_context(
            viewport={"width": 900, "height": 900}, offline=True, reduced_motion="reduce"
        )
        contexts.append(context)
        page, log = open_page(context, address.as_uri() + anchor, lift=False)
        assert log.complaints == []
        return page

    yield opened
    for context in contexts:
        context.close()


def veiled(page):
    """What is veiled: the ids of the blocks, each both unseen and out of reach."""
    found = page.evaluate(
        """() => [...document.querySelectorAll("main *")]
          .filter((node) => node.inert || node.matches(".rope-veiled"))
          .map((node) => [node.id || node.firstElementChild.id, node.inert,
            getComputedStyle(node).display === "none", node.className])"""
    )
    assert all(inert and unseen for _, inert, unseen, _ in found)
    assert bool(found) == (page.locator(".rope-veil").count() == 1)
    return [name for name, *_ in found]


def test_the_next_blocks_are_veiled_but_no_heading_no_fold_and_no_widget(opened):
    assert [veiled(opened(veils=count)) for count in (0, 1, 2, 3)] == [
        [],
        ["first"],
        ["first", "second"],
        ["first", "second", "third"],
    ]


def test_a_bet_in_a_fold_veils_what_follows_it_there(opened):
    page = opened(veils=1, fold=True)
    assert veiled(page) == ["first"]
    assert page.locator(".rope-deeper-body > .rope-veil").count() == 1


@pytest.mark.parametrize("hand", ["keyboard", "pointer"])
def test_the_bet_lifts_the_veil_for_good_won_or_lost(opened, hand):
    page = opened()
    Box(page, BET).answer(0, hand)
    assert veiled(page) == []
    assert veiled(opened(context=page.context)) == []


def test_the_veil_is_lifted_without_a_bet_and_the_keyboard_goes_on_there(opened):
    page = opened()
    page.get_by_role("button", name="Show it without a bet").press("Enter")
    assert veiled(page) == []
    assert page.evaluate("document.activeElement.id") == "first"
    assert not Box(page, BET).done()


@pytest.mark.parametrize("hand", ["keyboard", "pointer"])
def test_the_veil_leads_back_to_its_bet(opened, hand):
    page = opened()
    page.set_viewport_size({"width": 390, "height": 500})
    back = page.get_by_role("button", name="Go to the bet")
    back.scroll_into_view_if_needed()
    bet = page.locator("[data-bet]")
    assert bet.evaluate("(node) => node.getBoundingClientRect().bottom") < 0, "it is out of sight"
    back.press("Enter") if hand == "keyboard" else back.click()
    page.wait_for_function(
        "() => { const top = document.querySelector('[data-bet]')?.getBoundingClientRect().top;"
        " return top >= -1 && top < innerHeight / 2; }"
    )
    held = "(node) => node.contains(document.activeElement) && document.activeElement.role"
    assert bet.evaluate(held) == "radio"
    assert veiled(page) == ["first", "second"] and not Box(page, BET).done()
    page.keyboard.press("Enter")
    assert veiled(page) == []


def test_the_veil_is_reached_by_tab_and_what_lies_under_it_is_not(opened):
    page = opened(veils=3)
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.innerText")
        )
    assert "Show it without a bet" in reached and "there" not in reached


@pytest.mark.parametrize("anchor", ["#first", "#second"])
def test_a_link_into_the_veil_lifts_it(opened, anchor):
    assert veiled(opened(anchor=anchor)) == []
    page = opened()
    page.evaluate("(anchor) => { location.hash = anchor }", anchor)
    page.wait_for_function("document.querySelector('.rope-veil') === null")
    assert veiled(page) == []


def test_a_link_elsewhere_leaves_the_veil(opened):
    page = opened(anchor="#third")
    assert veiled(page) == ["first", "second"]


def test_a_search_that_marks_a_word_under_the_veil_lifts_it(opened):
    page = opened()
    mark = "node.innerHTML = 'The <span class=\"highlighted\">score</span> stands still.'"
    page.evaluate(f"() => {{ const node = document.getElementById('first'); {mark}; }}")
    page.wait_for_function("document.querySelector('.rope-veil') === null")
    assert veiled(page) == []


def test_paper_and_a_page_that_is_not_built_know_no_veil(opened):
    assert veiled(opened(article=False)) == []
    page = opened()
    page.emulate_media(media="print")
    assert not page.locator(".rope-veil").is_visible()
    assert page.locator("#first").evaluate("(node) => getComputedStyle(node).filter") == "none"


def test_arrows_lead_from_card_to_card_and_choose_nothing(opened):
    page = opened()
    radios = page.get_by_role("radio")
    count = len(BET.options)
    page.locator("[data-bet] [tabindex='0']").focus()
    for key, index in [("ArrowDown", 1), ("ArrowRight", 2), ("ArrowDown", 0), ("End", count - 1)]:
        page.keyboard.press(key)
        assert radios.nth(index).evaluate("(node) => node === document.activeElement"), key
        assert page.locator("[data-bet] [tabindex='0']").count() == 1
    assert not Box(page, BET).done()
    page.keyboard.press("Space")
    assert Box(page, BET).done()
    assert radios.nth(count - 1).get_attribute("aria-checked") == "true"
