"""The museum on a page of the book: opened all at once, by a link, by the search, and on paper."""

from urllib.parse import quote

import pytest
import small_book
from browser import FRAMES, PHONE, WIDE, open_page
from hands import drag

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
    shown = f'<div class="cell_output"><div class="output">{plan}</div></div>'  # as a cell's
    text = f"# Two\n\n```{{raw}} html\n{shown}\n```\n"
    text += f"\n## Walk by what you see\n\n```{{raw}} html\n{walls}\n```\n"
    text += f'\n<a href="#{STEP}">every step</a>\n'
    return small_book.build(tmp_path_factory.mktemp("museum"), {"two.md": text})


@pytest.fixture
def reader(chromium, pages):
    """Return a function that opens a page of the small book; nothing may go wrong."""
    contexts, logs = [], []

    def reader(address, size=WIDE, **options):
        name, _, rest = address.partition("#")
        name, _, asked = name.partition("?q=")
        url = (pages / name).as_uri() + (f"?q={quote(asked)}" if asked else "")
        viewport = {"width": size[0], "height": size[1]}
        contexts.append(chromium.new_context(offline=True, viewport=viewport, **options))
        page, log = open_page(contexts[-1], url + (f"#{rest}" if rest else ""), settle=False)
        logs.append(log)
        return page

    yield reader
    for context in contexts:
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


# ---- on a phone, the name of a square is a card over the page -----------------------------------

SEATS = ".rope-plan-seat"
# The squares whose cards are shown: where these stand, from top to bottom.
CARDS = """() => [...document.querySelectorAll("a.rope-plan-square")].flatMap((square, at) => {
  const { display, top, height } = getComputedStyle(square, "::after");
  return display === "none" ? [] : [[at, parseFloat(top), parseFloat(top) + parseFloat(height)]];
})"""
NO_CARD = f"() => ({CARDS})().length === 0"


@pytest.fixture
def phone(reader):
    """Return a function that opens the plan on a phone so high, more of a page around it."""

    def phone(height=PHONE[1]):
        page = reader("two.html", (PHONE[0], height), has_touch=True, is_mobile=True)
        page.add_style_tag(content=".rope-plan { margin-block: 1000px 2000px }")
        return page

    return phone


def brought(page, seat, block):
    """Bring a square to the start, center or end of the screen, and tell where it stands."""
    place = page.locator(SEATS).nth(seat)
    place.evaluate("(seat, block) => seat.scrollIntoView({ block, behavior: 'instant' })", block)
    page.evaluate(FRAMES)
    box = place.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def named(page, seat):
    """Wait until the card of a square alone is shown; return its top and bottom."""
    page.wait_for_function(
        f"(seat) => ({CARDS})().map(([at]) => at).join() === `${{seat}}`", arg=seat
    )
    return page.evaluate(CARDS)[0][1:]


def kept(page, event):
    """Have the page keep the focus where it is, as some browsers do after a touch or a link."""
    page.evaluate(
        f"addEventListener('{event}', (event) => event.preventDefault(), {{ once: true }})"
    )


def follow(page, at):
    page.touchscreen.tap(*at)
    page.wait_for_function("location.hash !== ''")


def follow_and_stay(page, at):
    kept(page, "click")
    page.touchscreen.tap(*at)


def touch_elsewhere(page, at):
    kept(page, "mousedown")
    page.touchscreen.tap(at[0], at[1] + 150)


def scroll_by_finger(page, at):
    drag(page, (at[0], at[1] + 150), (at[0], at[1] + 90), touch=True)


def leave_behind(page, at):
    page.evaluate("scrollBy({ top: innerHeight, behavior: 'instant' })")


def escape(page, at):
    page.keyboard.press("Escape")


@pytest.mark.parametrize("go", [follow, follow_and_stay])
def test_a_card_goes_when_it_is_followed(phone, go):
    page = phone()
    at = brought(page, 0, "center")
    page.touchscreen.tap(*at)
    named(page, 0)
    go(page, at)
    page.wait_for_function(NO_CARD)


@pytest.mark.parametrize("go", [escape, touch_elsewhere, scroll_by_finger, leave_behind])
def test_a_card_that_is_sent_away_or_left_behind_goes_and_comes_by_a_touch(phone, go):
    page = phone()
    at = brought(page, 1, "center")
    page.touchscreen.tap(*at)
    named(page, 1)
    go(page, at)
    page.wait_for_function(NO_CARD)
    page.touchscreen.tap(*brought(page, 1, "center"))
    named(page, 1)
    assert page.evaluate("location.hash") == "", "it is named anew, not followed"
    follow(page, brought(page, 1, "center"))


@pytest.mark.parametrize(("block", "end"), [("start", "foot"), ("end", "top")])
def test_a_card_stands_where_it_hides_no_square(phone, block, end):
    page = phone()
    # As if halls stood between: where the last is at the foot, the first is clear of its own card.
    page.add_style_tag(content=".rope-plan-halls li:last-child { margin-top: 200px }")
    last = page.locator(SEATS).count() - 1
    for seat in (0, last) if block == "end" else (last, 0):
        brought(page, 0 if block == "start" else last, block)
        page.locator(SEATS).nth(seat).tap()
        top, bottom = named(page, seat)
        assert (bottom > PHONE[1] - 20) == (end == "foot")
        boxes = [one.bounding_box() for one in page.locator(SEATS).all()]
        hidden = [box for box in boxes if box["y"] < bottom and box["y"] + box["height"] > top]
        assert hidden == []


@pytest.mark.parametrize("block", ["start", "center", "end"])
def test_where_squares_fill_the_screen_a_card_leaves_its_own_in_sight(phone, block):
    page = phone(240)
    for seat in range(page.locator(SEATS).count()):
        _, y = brought(page, seat, block)
        page.locator(SEATS).nth(seat).evaluate("(seat) => seat.focus({ preventScroll: true })")
        top, bottom = named(page, seat)
        assert y + 16 <= top or y - 16 >= bottom


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_nothing_cuts_the_ring_of_what_stands_first(reader, size):
    page = reader("two.html", size)
    for first in (".rope-plan-square", ".rope-plan-hall"):
        room = page.locator(f".rope-plan-halls {first}").first.evaluate(
            """(first) => {
              const [room, { left }] = [[], first.getBoundingClientRect()];
              for (let around = first.parentElement; around; around = around.parentElement) {
                if (getComputedStyle(around).overflowX === "visible") continue;
                room.push(left - around.getBoundingClientRect().left);
              }
              return Math.min(...room, 5);
            }"""
        )
        assert room == 5, "pixels for a ring"


def test_the_script_of_the_plan_is_on_its_page_alone(pages):
    with_it = [page.name for page in pages.glob("*.html") if "plan.js" in page.read_text("utf-8")]
    assert with_it == ["two.html"]
