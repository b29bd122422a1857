"""Measure, in Chromium, how long a filter of the ledger takes, script and layout of its frame.

It opens the built page from disk and chooses verdicts and words, one by one; each time runs
from the event to a page that is styled and laid out again. A screen at 60 Hz leaves 16.7 ms.

    python benchmarks/ledger.py                  # of _build/html
    python benchmarks/ledger.py path/to/html     # of another build
"""

import argparse
import shutil
import statistics
from pathlib import Path

from playwright.sync_api import sync_playwright

BUILT = Path(__file__).parent.parent / "_build" / "html"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
SIZES = {"1280 px": (1280, 900), "390 px": (390, 844)}

MEASURE = """async (rounds) => {
  const form = document.querySelector(".ledger-form");
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  form.scrollIntoView({ behavior: "instant" });
  const steps = [["verdict", "false"], ["verdict", ""], ["words", "rotation"], ["words", ""],
    ["source", "001"], ["source", ""], ["words", "nothing matches this"], ["words", ""]];
  const times = [];
  for (let i = 0; i < rounds * steps.length; i += 1) {
    const [name, value] = steps[i % steps.length];
    await frame();
    const start = performance.now();
    form.elements[name].value = value;
    form.dispatchEvent(new Event("input", { bubbles: true }));
    document.body.getBoundingClientRect();  // style and layout, now
    times.push(performance.now() - start);
  }
  return times;
}"""


def main() -> None:
    """Print median, 95th percentile and the longest, for a wide screen and a phone."""
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
            times = page.evaluate(MEASURE, args.rounds)
            late = statistics.quantiles(times, n=20)[-1]
            print(
                f"{name:8} median {statistics.median(times):5.1f} ms, "
                f"95% {late:5.1f} ms, longest {max(times):5.1f} ms"
            )
        browser.close()


if __name__ == "__main__":
    main()
