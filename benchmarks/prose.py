"""Measure, in Chromium, what the chapters of a built book ask of a reader; one line per chapter.

- `words`: of open prose, outside folds, code and pictures.
- `pictures`: the share of the article's height that is pictures, widgets, bets and boxes, folds
  closed, 1280 px wide.
- `bets`, `boxes`, `gaps`, `tasks`: `data-bet`, `data-answer`, `data-fill`, `data-task`.
- `first`: where the first picture begins, pixels from the top.
- `question`, `bet`, `picture`: how far down they stand: the end of the question and of the bet, and
  the top of the first picture that is neither the bet nor that of the whole. A reader sees 800 px.

Bets count as placed: what waits for one is shown. What breaks a limit is marked with `!`, and the
exit code is then 1.

    python benchmarks/prose.py                       # all chapters of _build/html
    python benchmarks/prose.py .tested/book/_build/html
    python benchmarks/prose.py path/to/page.html     # some pages
"""

import argparse
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "_build" / "html"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
WIDE, HIGH = 1280, 800

# Of each chapter; words by the part of the contents that it stands in.
ROAD_WORDS, BRANCH_WORDS = 1100, 800
LEAST = {"share": 0.25, "bets": 1, "boxes": 3}

READY = """() => document.readyState === "complete"
  && !document.querySelector('script[type="application/vnd.jupyter.widget-view+json"]')
  && [...document.querySelectorAll(".rope-widget-host")].every((host) => host.childElementCount)
  && [...document.querySelectorAll(".math")].every((node) => node.querySelector("mjx-container"))"""

MEASURE = """() => {
  // As it is once the bets are placed.
  document.querySelectorAll(".rope-veil").forEach((node) => node.remove());
  document.querySelectorAll(".rope-veiled").forEach((node) => node.classList.remove("rope-veiled"));
  const article = document.querySelector("article") || document.querySelector("main");
  const open = (node) => !node.closest("details:not([open])");
  const prose = (node) => open(node) && !node.closest("pre, .rope-widget-host, figure, nav");
  let words = 0;
  for (const node of article.querySelectorAll("p, li, h1, h2, h3, td")) {
    if (!prose(node) || node.querySelector("p, li")) continue;
    words += node.innerText.trim().split(/\\s+/).filter(Boolean).length;
  }
  const whole = ".rope-widget-host, figure";
  const pictures = [...article.querySelectorAll(`${whole}, canvas, img, svg`)]
    .filter((node) => prose(node) || (open(node) && node.matches(whole)))
    .filter((node) => !node.parentElement.closest(`${whole}, svg`));
  const box = (node) => node.getBoundingClientRect();
  const count = (name) => article.querySelectorAll(`[data-${name}]`).length;
  const paragraphs = [...article.querySelectorAll("p")];
  const asked = paragraphs.find((node) => /^The question\\./.test(node.innerText));
  const bet = article.querySelector("[data-bet]");
  const shown = pictures.find((node) =>
    !node.matches(".rope-here") && !node.querySelector("[data-bet]"));
  const at = (node, side) => (node ? box(node)[side] + scrollY : null);
  return {
    words,
    share: pictures.reduce((sum, node) => sum + box(node).height, 0) / box(article).height,
    bets: count("bet"), boxes: count("answer"), gaps: count("fill"), tasks: count("task"),
    first: at(pictures[0], "top"),
    question: at(asked, "bottom"), bet: at(bet, "bottom"), picture: at(shown, "top"),
  };
}"""


@dataclass(frozen=True)
class Chapter:
    """A chapter's built page and the words that its part of the contents allows it."""

    page: Path
    words: int


def chapters(built: Path) -> list[Chapter]:
    """Return the chapters of a built book in the order of its contents.

    Args:
        built: the folder of its HTML.

    Raises:
        ValueError: If no chapter has been built there.
    """
    parts = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))["parts"]
    found = [
        Chapter(page, BRANCH_WORDS if i else ROAD_WORDS)
        for i, part in enumerate(parts)
        for chapter in part["chapters"]
        if (ROOT / f"{chapter['file']}.ipynb").exists()
        and (page := built / f"{chapter['file']}.html").exists()
    ]
    if not found:
        raise ValueError(f"built must be a folder of a built book, got {built}")
    return found


def broken(found: dict, words: int) -> dict[str, str]:
    """Return which limits a chapter breaks, each with what it must be.

    Args:
        found: what `MEASURE` returned.
        words: the most that it may have.
    """
    wrong = {name: f"at least {least}" for name, least in LEAST.items() if found[name] < least}
    if found["words"] > words:
        wrong["words"] = f"at most {words}"
    for name in ("question", "bet", "picture"):
        if found[name] is None or found[name] > HIGH:
            wrong[name] = f"within {HIGH} px"
    return wrong


def measure(page: Page, chapter: Chapter) -> dict:
    """Open a chapter and return what is found there, when all that it holds has come."""
    page.goto(chapter.page.as_uri())
    page.wait_for_function(READY, timeout=60_000)
    page.evaluate("document.fonts.ready.then(() => null)")
    return page.evaluate(MEASURE)


COLUMNS = (
    "words",
    "share",
    "bets",
    "boxes",
    "gaps",
    "tasks",
    "first",
    *("question", "bet", "picture"),
)
NAMES = {"share": "pictures"}


def told(name: str, value: float | None) -> str:
    """A number of the table as text."""
    return "-" if value is None else f"{value:.0%}" if name == "share" else f"{value:.0f}"


def main() -> int:
    """Print the table; return how the process is to end."""
    parser = argparse.ArgumentParser(
        description="What the chapters of a built book ask of a reader."
    )
    parser.add_argument("places", nargs="*", type=Path, default=[BUILT], help="a folder, or pages")
    places = [place.resolve() for place in parser.parse_args().places]
    if places[0].is_dir():
        listed = chapters(places[0])
    else:
        every = {chapter.page.name: chapter.words for chapter in chapters(places[0].parents[2])}
        listed = [Chapter(place, every.get(place.name, BRANCH_WORDS)) for place in places]
    print(f"{'':20}", *(f"{NAMES.get(name, name):>9}" for name in COLUMNS))
    every = []
    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=path, args=OPTIONS)
        page = browser.new_page(viewport={"width": WIDE, "height": HIGH})
        for chapter in listed:
            found = measure(page, chapter)
            wrong = broken(found, chapter.words)
            cells = (f"{told(name, found[name])}{'!' * (name in wrong)}" for name in COLUMNS)
            print(f"{chapter.page.stem:20}", *(f"{cell:>9}" for cell in cells), flush=True)
            every.append((found, wrong))
        browser.close()
    sums = {name: sum(found[name] for found, _ in every) for name in ("words", "bets", "boxes")}
    limits = sum(len(wrong) for _, wrong in every)
    print(
        f"{len(every)} chapters: {sums['words']} words of open prose, {sums['bets']} bets, "
        f"{sums['boxes']} answer boxes; {limits} limits broken"
    )
    return 1 if limits else 0


if __name__ == "__main__":
    sys.exit(main())
