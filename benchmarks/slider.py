"""Measure, in Chromium, how long a slider's move takes to be drawn; one line per widget.

It opens pages of a built book from disk, gives every slider of every widget input events one after
the other, and times each from the event to the frame that shows it:

- `to frame`: from the event until that frame is done; includes waiting for the screen's next frame.
- `work`: script, style, layout and paint of that frame alone; a screen at 60 Hz leaves 16.7 ms.
- `long`: frames whose work took longer than 16.7 ms.

    python benchmarks/slider.py                      # every page of _build/html
    python benchmarks/slider.py path/to/page.html    # some pages
"""

import argparse
import shutil
import statistics
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

BUILT = Path(__file__).parent.parent / "_build" / "html"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
FRAME = 1000 / 60

MEASURE = """async ([host, moves]) => {
  const sliders = [...host.querySelectorAll("input[type=range]")];
  const painted = () => new Promise((done) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done(performance.now());
    channel.port2.postMessage(null);
  });
  const times = [];
  for (let i = 0; i < moves; i += 1) {
    const input = sliders[i % sliders.length];
    const [low, high] = [Number(input.min), Number(input.max)];
    const turn = Math.floor(i / sliders.length) + 1;
    input.value = low + (high - low) * ((turn * 0.6180339887) % 1);
    let begin;
    requestAnimationFrame(() => (begin = performance.now()));  // before the widget's own drawing
    const event = performance.now();
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((done) => requestAnimationFrame(done));  // after it, in the same frame
    const end = await painted();
    times.push([end - event, end - begin]);
  }
  return times;
}"""


def summary(times: list[float]) -> str:
    """Median and 95th percentile, in milliseconds."""
    return f"{statistics.median(times):6.1f} {statistics.quantiles(times, n=20)[-1]:6.1f}"


def main() -> None:
    """Measure every widget of the given pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", type=Path, help="built pages; default: all")
    parser.add_argument("--moves", type=int, default=200, help="slider moves per widget")
    parser.add_argument("--phone", action="store_true", help="390 x 844 at four times less speed")
    arguments = parser.parse_args()
    pages = arguments.pages or sorted(
        page for page in BUILT.rglob("*.html") if "widget-view+json" in page.read_text("utf-8")
    )
    if not pages:
        sys.exit(f"no built page with a widget under {BUILT}; build the book first: make book")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    print(f"{'':46} {'to frame, ms':^13}   {'work, ms':^13}   long")
    print(f"{'widget':46} {'median':>6} {'p95':>6}   {'median':>6} {'p95':>6}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=OPTIONS)
        size = (390, 844) if arguments.phone else (1280, 900)
        viewport = {"width": size[0], "height": size[1]}
        for address in pages:
            page = browser.new_page(viewport=viewport, offline=True)
            if arguments.phone:
                slow = page.context.new_cdp_session(page)
                slow.send("Emulation.setCPUThrottlingRate", {"rate": 4})
            page.goto(address.resolve().as_uri())
            page.locator(".rope-widget svg").first.wait_for()
            for host in page.locator(".rope-widget-host").element_handles():
                title = host.query_selector(".rope-widget").get_attribute("aria-label")
                name = f"{address.stem}: {title.split(':')[0]}"
                if host.query_selector("input[type=range]") is None:
                    print(f"{name:46.46} no slider", flush=True)
                    continue
                host.scroll_into_view_if_needed()
                page.evaluate(MEASURE, [host, 20])  # warms up
                times = page.evaluate(MEASURE, [host, arguments.moves])
                to_frame, work = zip(*times, strict=True)
                long = sum(time > FRAME for time in work)
                row = f"{name:46.46} {summary(to_frame)}   {summary(work)}"
                print(f"{row}   {long} of {len(times)}", flush=True)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
