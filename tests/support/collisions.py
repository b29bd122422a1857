"""Texts that cover each other or stick out of what they stand in, as a reader sees the page."""

import math
from pathlib import Path

from browser import FRAMES, PHONE, WIDE

from ropebook.widgets import base, traits

WINDOWS = (WIDE, PHONE, (768, 1024), (1600, 1000))
# Every figure stands as wide as its place and in the theme of the page.
DRAWN = """() => [...document.querySelectorAll("figure.rope-figure")].every((figure) => {
  const plot = figure.querySelector(".rope-plot");
  const fits = !plot.clientWidth || Number(plot.dataset.width) === plot.clientWidth;
  return fits && figure.dataset.drawn === document.documentElement.dataset.theme;
})"""
_MEASURE = Path(__file__).parent / "collisions.js"


def learn(page):
    """Teach an opened page to measure its texts."""
    page.evaluate(f"() => {{ {_MEASURE.read_text('utf-8')} }}")


def set_in(page, folder):
    """Set a page in the fonts that the book brings, which `ropebook.fonts` wrote into a folder."""
    page.add_style_tag(url=(folder / "fonts.css").as_uri())
    loaded = page.evaluate("""async () => {
      document.body.style.fontFamily = "Inter, sans-serif";
      const weights = [400, 500, 600, 650, 700];
      const faces = await Promise.all(weights.map((weight) =>
        document.fonts.load(`${weight} 14px Inter`)));
      return faces.every((found) => found.length && found[0].status === "loaded");
    }""")
    assert loaded, "Inter is not there"


def faults_of_page(page):
    """What is wrong with the texts of each drawn figure and each widget of a page."""
    learn(page)
    return page.evaluate("""() =>
      ["figure.rope-figure", ".rope-widget .rope-frame"].flatMap((kind) =>
        [...document.querySelectorAll(kind)].flatMap((node, i) =>
          textFaults(node).map((fault) => `${kind} ${i + 1}: ${fault}`)))""")


def faults_of_windows(page):
    """What is wrong with the texts of a page in a window pulled to each size."""
    began, found = page.viewport_size, {}
    for width, height in WINDOWS:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(FRAMES)
        page.wait_for_function(DRAWN)
        page.evaluate(FRAMES)
        for fault in faults_of_page(page):
            found.setdefault(fault, []).append(width)
    page.set_viewport_size(began)
    return [f"{fault}, at {widths} px" for fault, widths in found.items()]


def faults_of_states(widget, cls):
    """What is wrong with a widget's texts in its extreme states, and how many there were."""
    own = sorted(set(cls().keys) - set(base.RopeWidget().keys))
    return tuple(widget.page.evaluate("(given) => faultsOfStates(...given)", [own, _told(cls)]))


def _told(cls):
    """Changes of traits that no slider has: each vector on the edge of its disc, all ways round."""
    discs = {
        name: trait.radius
        for name, trait in cls.class_traits().items()
        if isinstance(trait, traits.InDisc)
    }
    angles = [math.pi / 4 * step for step in range(8)]
    points = [[0.999 * math.cos(angle), 0.999 * math.sin(angle)] for angle in angles]
    single = [{name: [radius * x, radius * y]} for name, radius in discs.items() for x, y in points]
    every = [
        {name: [radius * x, radius * y] for name, radius in discs.items()} for x, y in points[::2]
    ]
    return single + (every if len(discs) > 1 else [])
