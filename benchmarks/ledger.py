"""Measure, in Chromium, what a filter of the ledger costs the page's thread.

It opens the built page from disk, chooses verdicts, a document and words, one by one, and prints
the processor's time for each, which other work of the machine does not change: script, style,
layout, and all tasks until the frame is done. A screen at 60 Hz leaves 16.7 ms.

    python benchmarks/ledger.py                  # of _build/html
    python benchmarks/ledger.py path/to/html     # of another build
"""

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

BUILT = Path(__file__).parent.parent / "_build" / "html"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
SIZES = {"1280 px": (1280, 900), "390 px": (390, 844)}

MEASURE = """async (rounds) => {
  const form = document.querySelector(".ledger-form");
  form.scrollIntoView({ behavior: "instant" });
  const steps = [["verdict", "false"], ["verdict", ""], ["words", "rotation"], ["words", ""],
    ["source", "001"], ["source", ""], ["words", "nothing matches this"], ["words", ""]];
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  for (let i = 0; i < rounds * steps.length; i += 1) {
    const [name, value] = steps[i % steps.length];
    form.elements[name].value = value;
    form.dispatchEvent(new Event("input", { bubbles: true }));
    await frame();
  }
  return rounds * steps.length;
}"""
PARTS = {
    "script": "ScriptDuration",
    "style": "RecalcStyleDuration",
    "layout": "LayoutDuration",
    "all": "TaskDuration",
}


def metrics(session) -> dict[str, float]:
    """Seconds of the page's thread until now, by kind."""
    found = session.send("Performance.getMetrics")["metrics"]
    return {one["name"]: one["value"] for one in found}


def main() -> None:
    """Print milliseconds for each filter, on a wide screen and on a phone."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("built", nargs="?", type=Path, default=BUILT, help="folder of the HTML")
    parser.add_argument("--rounds", type=int, default=10, help="how often each of 8 filters")
    args = parser.parse_args()
    address = (args.built / "book/appendix/sources.html").resolve().as_uri()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=OPTIONS)
        for name, (width, height) in SIZES.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(address)
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            before = metrics(session)
            count = page.evaluate(MEASURE, args.rounds)
            spent = {part: now - before[part] for part, now in metrics(session).items()}
            parts = (f"{part} {1000 * spent[key] / count:.1f}" for part, key in PARTS.items())
            print(f"{name:8} {', '.join(parts)} ms")
        browser.close()


if __name__ == "__main__":
    main()
