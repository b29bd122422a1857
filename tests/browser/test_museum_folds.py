"""The museum on a page of the book: opened all at once, by a link, by the search, and on paper."""

from urllib.parse import quote

import pytest
import small_book
from browser import PHONE, WIDE, open_page

from ropebook.museum import HALLS
from ropebook.museum.plan import Plan
from ropebook.museum.walls import Walls

FOLDS = ".rope-museum details"
CLOSED = f"document.querySelectorAll('{FOLDS}:not([open])').length"
STEP = "bug-every-step-at-position-0"
PADDED = "bug-one-row-of-positions-for-all"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    halls = Walls([HALLS["batch"], HALLS["cache"]])
    plan, walls = Plan(halls)._repr_html_(), halls._repr_html_()
    text = f"# Two\n\n```{{raw}} html\n{plan}\n```\n"
    text += f"\n## Walk by what you see\n\n```{{raw}} html\n{walls}\n```\n"
    text += f'\n<a href="#{STEP}">every step</a>\n'
    return small_book.build(tmp_path_factory.mktemp("museum"), {"two.md": text})


@pytest.fixture
def reader(chromium, pages):
    """Return a function that opens a page of the small book; nothing may go wrong."""
    context = chromium.new_context(offline=True)
    logs = []

    def reader(address, size=WIDE):
        name, _, rest = address.partition("#")
        name, _, asked = name.partition("?q=")
        url = (pages / name).as_uri() + (f"?q={quote(asked)}" if asked else "")
        page, log = open_page(context, url + (f"#{rest}" if rest else ""), settle=False)
        page.set_viewport_size({"width": size[0], "height": size[1]})
        logs.append(log)
        return page

    yield reader
    context.close()
    heard = [(log.outside(), log.failed, log.complaints) for log in logs]
    assert heard == [([], [], [])] * len(logs)


def in_sight(page, name):
    """Wait until a fold is open, with all around it, and stands on the screen."""
    page.wait_for_function(
        """(name) => {
          const fold = document.getElementById(name);  // none while a page is on its way
          if (fold === null) return false;
          const { top } = fold.getBoundingClientRect();
          return fold.open && fold.checkVisibility() && top >= 0 && top < innerHeight;
        }""",
        arg=name,
    )


def test_open_all_opens_every_exhibit_and_closes_it(reader):
    page = reader("two.html")
    count = page.locator(FOLDS).count()
    assert page.evaluate(CLOSED) == count > 10
    page.get_by_role("button", name="Open all").click()
    assert page.evaluate(CLOSED) == 0
    page.get_by_role("button", name="Close all").click()
    assert page.evaluate(CLOSED) == count


def test_a_fold_opened_by_hand_is_counted(reader):
    page = reader("two.html")
    page.evaluate(f"document.querySelectorAll('{FOLDS}').forEach((fold) => {{ fold.open = true }})")
    page.get_by_role("button", name="Close all").wait_for()


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_an_address_opens_its_exhibit(reader, size):
    page = reader(f"two.html#{STEP}", size)
    in_sight(page, STEP)
    assert page.locator(f"{FOLDS}[open]").count() == 3, "its hall, its branch and itself"


def test_a_link_on_the_page_opens_it_each_time(reader):
    page = reader("two.html")
    for _ in range(2):  # the second time, the address does not change
        page.get_by_role("link", name="every step", exact=True).click()
        in_sight(page, STEP)
        page.evaluate(f"document.getElementById('museum-cache').open = false; '{STEP}'")


def test_on_paper_every_exhibit_is_open_and_afterwards_as_before(reader):
    page = reader(f"two.html#{STEP}", PHONE)
    in_sight(page, STEP)
    before = page.evaluate(CLOSED)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(CLOSED) == 0 < before
    page.emulate_media(media="print")
    wide = page.locator(".rope-museum pre").evaluate_all(
        "(boxes) => boxes.filter((box) => box.scrollWidth > box.clientWidth).length"
    )
    assert wide == 0, "paper does not scroll"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(CLOSED) == before


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("every step at position 0", STEP),
        ("position 0 in the cache", STEP),
        ("Every word that follows stands at its beginning", STEP),
        ("Liger", PADDED),
        ("liger-kernel", PADDED),
    ],
)
def test_the_search_leads_to_the_exhibit_opened(reader, asked, name):
    page = reader(f"search.html?q={asked}")
    page.locator(".rope-results a").first.wait_for()
    page.locator(f".rope-results li:first-child a[href$='two.html#{name}']").click()
    page.wait_for_url(f"**/two.html#{name}")
    in_sight(page, name)


def test_an_exhibit_found_stands_under_its_hall(reader):
    page = reader("search.html?q=every step at position 0")
    first = page.locator(".rope-results li").first
    first.wait_for()
    assert first.locator("a").inner_text() == "Every step at position 0"
    assert "It reads well and writes badly" in first.locator(".rope-found-in").inner_text()
    assert "The prompt is read rightly" in first.locator("p").inner_text()


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_the_plan_is_one_stop_of_the_keyboard_and_arrows_walk_it(reader, size):
    page = reader("two.html", size)
    plan = page.get_by_role("toolbar", name="Bugs by where they show")
    links = plan.locator("a")
    assert links.evaluate_all("(all) => all.filter(({ tabIndex }) => tabIndex === 0).length") == 1

    def at():
        return links.evaluate_all("(all) => all.indexOf(document.activeElement)")

    batch, cache = (len(HALLS[name].exhibits) for name in ("batch", "cache"))
    links.first.focus()
    seen = []
    for key in ("ArrowLeft", "ArrowDown", "ArrowRight", "End", "ArrowRight", "Home", "ArrowRight"):
        page.keyboard.press(key)
        seen.append(at())
    below = batch + 1 if size == WIDE else 1  # on a phone the squares stand below their hall
    assert seen == [0, below, below + 1, batch + cache + 1, batch + cache + 1, 0, 1]
    page.keyboard.press("ArrowDown")
    assert at() == (batch + 2 if size == WIDE else batch + 1), "what stands below"
    page.keyboard.press("ArrowUp")
    assert at() == 1
    page.keyboard.press("Tab")
    assert at() == -1, "out of the plan"
    page.keyboard.press("Shift+Tab")
    assert at() == 1, "and back to where it was left"
    page.keyboard.press("Enter")
    in_sight(page, links.nth(1).get_attribute("href")[1:])
