"""The picture of the whole says where a chapter stands, and what it draws is computed."""

import math
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from collisions import set_in
from toc import FILES

from ropebook import page, site
from ropebook.page import STATIONS, here
from ropelib.attention import attend
from ropelib.encodings import NoPosition

FORMS = 2  # wide and narrow


def markup(*stations):
    return here(*stations)._repr_html_()


@pytest.mark.parametrize("station", [*STATIONS, "head", "layer"])
def test_one_station_is_lit_and_marked(station):
    shown = markup(station)
    assert shown.count("you are here") == FORMS
    lamps = shown.count('class="rope-here-lamp"')
    assert lamps == (FORMS if station in STATIONS else 0)
    assert ">You are here: " not in shown and 'aria-label="You are here: ' in shown
    lit = re.findall(r'class="rope-here-station rope-here-lit" data-rope-page="([^"]+)"', shown)
    assert lit == ([STATIONS[station][1]] * FORMS if station in STATIONS else [])


def test_several_stations_are_lit_in_the_order_of_the_picture():
    both = here("scores", "turn")
    assert both.stations == ("turn", "scores")
    assert both._repr_html_().count('class="rope-here-lamp"') == 2 * FORMS
    assert repr(both).startswith("You are here: turn; scores. One head of attention")


def test_of_the_whole_nothing_is_singled_out_or_dim():
    shown = markup("whole")
    assert "you are here" not in shown
    assert 'class="rope-here-dim"' not in shown and 'class="rope-here-lamp"' not in shown
    assert 'class="rope-here-dim"' in markup("turn")


def test_a_station_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"a station must be one of words, .* got 'turns'"):
        here("turns")
    with pytest.raises(ValueError, match=r"a station must be one of .*, got 'whole'"):
        here("turn", "whole")
    with pytest.raises(ValueError, match="must be told a station, or 'whole', got none"):
        here()


def test_the_picture_is_what_attention_with_rope_computes():
    """One plane that turns by 40 degrees a token, run by the book's own attention."""

    def plane(arrows):
        return torch.tensor([[a.real, a.imag] for a in arrows], dtype=torch.float64)

    q, k, v = (plane(page._projected(name)) for name in "qkv")
    m = torch.arange(5, dtype=torch.float64) * math.radians(40)
    turns = torch.stack([m.cos(), -m.sin(), m.sin(), m.cos()], 1).view(5, 2, 2)
    q, k = ((turns @ x[:, :, None])[:, :, 0] for x in (q, k))
    torch.testing.assert_close(plane(page._turned(page._projected("q"))), q)
    torch.testing.assert_close(torch.tensor(page._scores(), dtype=torch.float64), q @ k.T)
    out, weights = attend(NoPosition(), q, k, v, scale=2.0)
    torch.testing.assert_close(torch.tensor(page._weights(), dtype=torch.float64), weights)
    torch.testing.assert_close(plane(page._outputs()), out)


def test_only_the_turn_tells_the_two_the_apart():
    for name in "qkv":
        arrows = page._projected(name)
        assert arrows[0] == arrows[3]
    turned = page._turned(page._projected("q"))
    assert abs(turned[0] - turned[3]) > 0.5


def test_every_link_of_the_picture_leads_to_a_chapter_of_the_book():
    pages = {address for _, address in STATIONS.values()}
    assert {f"book/{address}" for address in pages} <= set(FILES)


def linked(page_name, body, found):
    app = SimpleNamespace(env=SimpleNamespace(found_docs=found))
    context = {"body": body, "pathto": lambda document: f"to/{document}.html"}
    site._link_stations(app, page_name, "page.html", context, None)
    return context["body"]


def test_the_built_page_links_every_station_but_its_own_and_those_that_are_not_built():
    chapters = {f"book/{address}" for _, address in STATIONS.values()}
    body = linked("book/rope/two_dimensions", markup("turn"), chapters)
    assert "data-rope-page" not in body
    assert body.count('aria-current="page"') == FORMS
    addresses = re.findall(r'href="([^"]+)"', body)
    assert len(addresses) == FORMS * (len(STATIONS) - 1)
    assert "to/book/rope/many_dimensions.html" in addresses
    assert 'href="' not in linked("book/rope/two_dimensions", markup("turn"), set())


def test_what_names_a_place_of_a_page_is_linked_to_it():
    named = '<a data-rope-page="codes#codes-off-by-one">off-by-one</a>'
    found = linked("book/practice/bugs", named, {"book/codes"})
    assert found == '<a href="to/book/codes.html#codes-off-by-one">off-by-one</a>'


def test_in_a_notebook_there_is_nothing_to_follow():
    assert 'href="' not in markup("turn")


def shown_in(chromium, faces, folder, width, body):
    """Return a page in the book's fonts, which every built page brings."""
    tab = chromium.new_page(viewport={"width": width, "height": 800}, offline=True)
    address = folder / "page.html"
    address.write_text(f'<!doctype html><html><meta charset="utf-8">{body}</html>', "utf-8")
    tab.goto(address.as_uri())
    set_in(tab, faces)
    return tab


@pytest.mark.parametrize("width", [696, 358, 288])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_is_low_and_its_words_stand_apart(chromium, faces, tmp_path, width, theme):
    stations = ["whole", *STATIONS, "head", "layer"]
    pictures = "".join(markup(station) for station in stations)
    tab = shown_in(chromium, faces, tmp_path, width, f'<body style="margin: 0">{pictures}</body>')
    tab.evaluate("(theme) => { document.documentElement.dataset.theme = theme }", theme)
    found = tab.evaluate(_LAYOUT)
    tab.close()
    assert len(found) == len(stations)
    for station, one in zip(stations, found, strict=True):
        assert one["height"] <= (110 if width == 696 else 140), station
        assert one["collisions"] == [], station
        assert one["outside"] == [], station
        assert one["cut"] == [], f"{station}: an output cuts what stands out of it"
        assert one["abutting"] == [], f"{station}: the flag stands apart from other words"
        assert one["between"] >= 24, f"{station}: the names of the frames are two"
        assert one["shown"] == 1, station


_LAYOUT = """() => [...document.querySelectorAll(".rope-here")].map((figure) => {
  const seen = (node) => node.getClientRects().length > 0;
  const named = ".rope-here-station > span, .rope-here-framed, .rope-here-you";
  const words = [...figure.querySelectorAll(named)].filter(seen)
    .map((node) => [node.textContent, node.getBoundingClientRect()]);
  const apart = (a, b) =>
    a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
  const collisions = [];
  words.forEach(([name, a], i) => words.slice(i + 1).forEach(([other, b]) => {
    const small = { left: b.left + 1, right: b.right - 1, top: b.top + 3, bottom: b.bottom - 3 };
    if (!apart(a, small)) collisions.push([name, other]);
  }));
  const outside = words.filter(([, box]) => box.left < -1 || box.right > innerWidth + 1)
    .map(([name]) => name);
  const { top, bottom } = figure.getBoundingClientRect();
  const cut = words.filter(([, box]) => box.top < top - 0.5 || box.bottom > bottom + 0.5);
  const flag = figure.querySelectorAll(".rope-here-you");
  const abutting = [...flag].filter(seen).flatMap((you) => {
    const box = you.getBoundingClientRect();
    const wide = { left: box.left - 32, right: box.right + 32, top: box.top, bottom: box.bottom };
    return [...figure.querySelectorAll(".rope-here-framed")].filter(seen)
      .filter((node) => !apart(node.getBoundingClientRect(), wide)).map((node) => node.textContent);
  });
  const [head, layer] = [...figure.querySelectorAll(".rope-here-framed")].filter(seen)
    .map((node) => node.getBoundingClientRect());
  const between = head ? Math.max(layer.left - head.right, head.left - layer.right) : 24;
  return {
    between, cut: cut.map(([name]) => name), abutting,
    height: figure.getBoundingClientRect().height,
    shown: [...figure.querySelectorAll("svg[role=img]")].filter(seen).length,
    collisions, outside,
  };
})"""


def test_the_style_stands_in_the_picture_once_and_fits_both_themes():
    shown = markup("turn")
    assert shown.count("<style>") == 1
    assert 'html[data-theme="dark"]' in shown and "--rope-q: #0072B2" in shown
    used = set(re.findall(r"var\((--rope-[a-z-]+)\)", shown))
    assert all(f"{name}: " in shown for name in used)
    css = Path(page.__file__).with_suffix(".css").read_text("utf-8")
    named = set(re.findall(r"\.(rope-here[a-z-]*)", css))
    drawn = "".join(markup(s) for s in ("whole", "turn", "head"))
    assert named <= set(re.findall(r"rope-here[a-z-]*", re.sub("<style>.*?</style>", "", drawn)))


@pytest.mark.parametrize("lit", [*STATIONS, "whole"])
@pytest.mark.parametrize("width", [340, 390])
def test_on_a_phone_no_name_touches_another_station(chromium, faces, tmp_path, lit, width):
    body = f'<body style="margin: 16px">{markup(lit)}</body>'
    tab = shown_in(chromium, faces, tmp_path, width, body)
    apart = tab.evaluate(
        """() => {
          const narrow = document.querySelector(".rope-here-narrow");
          const boxes = (selector) => [...narrow.querySelectorAll(selector)]
            .map((node) => ({ node, at: node.getBoundingClientRect() }));
          const names = boxes(".rope-here-station > span");
          const lamps = boxes(".rope-here-lamp");
          const gap = (a, b) => Math.max(
            b.left - a.right, a.left - b.right, b.top - a.bottom, a.top - b.bottom);
          const found = [];
          names.forEach((one, i) => {
            const lit = one.node.parentElement.classList.contains("rope-here-lit");
            for (const other of names.slice(i + 1)) found.push(gap(one.at, other.at));
            if (!lit) for (const lamp of lamps) found.push(gap(one.at, lamp.at));
          });
          return Math.min(...found);
        }"""
    )
    tab.close()
    assert apart > 1, "more than the line around a lamp"
