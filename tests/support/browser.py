"""What the browser tests do to a page: open it, wait until it stands still, read its widgets."""

import json
from dataclasses import dataclass, field
from pathlib import Path

WIDE, PHONE = (1280, 900), (390, 844)
# Of a machine that is busy with other things, in milliseconds; no test is about time.
PATIENCE = 180_000
# Addresses that leave this machine for nobody.
LOCAL = ("file:", "data:", "blob:")

# Runs in the page: what a reader sees of a widget, except the named control's own label and value.
SNAPSHOT = """(host, own) => JSON.stringify([
  [...host.querySelectorAll("svg")].map((picture) => picture.outerHTML),
  [...host.querySelectorAll("[data-report]")].filter((node) => node.dataset.report !== own)
    .map((node) => [node.dataset.report, node.dataset.value, node.textContent]),
  [...host.querySelectorAll("[aria-pressed]")].map((node) => node.getAttribute("aria-pressed")),
  [...host.querySelectorAll("input[type=checkbox]")].map((node) => node.checked),
])"""

PAGE_TIME = Path(__file__).parent / "page_time.js"

# Runs in the page: the browser has drawn, and what one frame scheduled stands there too.
FRAMES = "async () => { await whenDrawn(); await passFrames(2); }"

_SETTLE = """async (lift) => {
  const until = async (done, what) => {
    for (const end = Date.now() + 180_000; Date.now() < end; ) {
      if (done()) return;
      await new Promise((go) => setTimeout(go, 50));
    }
    throw new Error(`waited three minutes for ${what}`);
  };
  if (document.querySelector(".math")) {
    await until(() => window.MathJax?.startup?.promise, "MathJax to load");
    await MathJax.startup.promise;
  }
  // What is folded or hidden is drawn when it is seen, and must be as sound as what is open.
  document.documentElement.dataset.code = "shown";
  const unfold = () => {
    for (const fold of document.querySelectorAll("details")) fold.open = true;
  };
  unfold();
  const hosts = () => [...document.querySelectorAll(".rope-widget-host")];
  await until(() => !document.querySelector('script[type$="widget-view+json"]'), "widget hosts");
  await until(() => hosts().every((host) => host.childNodes.length), "widgets to mount");
  unfold(); // theirs, too
  const lifts = document.querySelectorAll(".rope-veil button:last-of-type");
  if (lift) for (const button of lifts) button.click();
  for (const figure of document.querySelectorAll("figure.rope-figure")) {
    figure.scrollIntoView({ behavior: "instant" });
    await until(() => figure.dataset.drawn || figure.querySelector("[role=alert]"), "a figure");
  }
  scrollTo({ top: document.body.scrollHeight, behavior: "instant" });
  await new Promise((go) => setTimeout(go, 150));
  scrollTo({ top: 0, behavior: "instant" });
}"""


@dataclass
class Log:
    """What a page asked for and what it complained about."""

    requests: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def outside(self, *allowed):
        """Requests to anywhere but the allowed address beginnings."""
        return [address for address in self.requests if not address.startswith((*LOCAL, *allowed))]


def listen(page):
    """Return a log that fills while the page lives."""
    log = Log()

    def hear(message):
        if message.type in ("error", "warning"):
            where = message.location.get("url", "").rpartition("/")[2]
            log.complaints.append(f"{message.type}: {message.text} ({where})")

    def hear_response(response):
        if response.status >= 400:
            log.failed.append(f"{response.status} {response.url}")

    def hear_failure(request):
        # What was on its way where a page is left is given up; a missing file fails otherwise.
        if request.failure != "net::ERR_ABORTED":
            log.failed.append(f"{request.failure} {request.url}")

    page.on("console", hear)
    page.on("pageerror", lambda error: log.complaints.append(f"uncaught: {error} {error.stack}"))
    page.on("request", lambda request: log.requests.append(request.url))
    page.on("requestfailed", hear_failure)
    page.on("response", hear_response)
    return log


def open_page(context, address, settle=True, lift=True):
    """Open an address in a new page; return the page and its log once everything is drawn.

    `settle` waits for what is drawn, folds opened; `lift` shows what waits for a bet, too.
    """
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.add_init_script(path=PAGE_TIME)
    log = listen(page)
    page.goto(address)
    # The redirect on the first page is instant, but it is a second navigation.
    page.wait_for_load_state("load")
    page.wait_for_function(
        "document.readyState === 'complete' && !document.querySelector('meta[http-equiv=refresh]')"
    )
    if settle:
        settle_down(page, lift)
    return page, log


def settle_down(page, lift=True):
    """Open what is folded or veiled; wait for formulae, widgets and figures, each scrolled to."""
    page.evaluate(_SETTLE, lift)


def watched(widget, button, names, seconds):
    """Press a button and read some readouts over the seconds that follow, 30 times a second.

    Seconds are the page's own: what is seen is the same on a busy machine.
    """
    return widget.host.evaluate(
        """async (host, [button, names, count]) => {
          const read = () => names.map((name) =>
            Number(host.querySelector(`[data-report="${name}"]`).dataset.value));
          const seen = [read()];
          host.querySelector(`[data-control="${button}"]`).click();
          for (let i = 0; i < count; i += 1) {
            await passFrames(2);
            seen.push(read());
          }
          return seen;
        }""",
        [button, names, round(30 * seconds)],
    )


def accessibility_faults(page):
    """The rules of axe that the page breaks, by their names."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"preload": False}).response["violations"]
    return [rule["id"] for rule in found]


class Widget:
    """One mounted widget of a page, its controls and its readouts."""

    def __init__(self, page, index, name, state):
        self.page, self.name, self.state = page, name, state
        self.host = page.locator(".rope-widget-host").nth(index)

    def __str__(self):
        return self.name.rpartition(".")[2]

    def frames(self):
        self.page.evaluate(FRAMES)

    def snapshot(self, without=""):
        return self.host.evaluate(SNAPSHOT, without)

    def still(self, seconds=60):
        """Wait until the picture has stopped moving, and every number of it is found."""
        self.host.evaluate(
            f"""async (host, seconds) => {{
              const look = {SNAPSHOT};
              await whenDrawn();
              const end = performance.now() + 1000 * seconds;
              for (let before = look(host, ""), calm = 0; calm < 4;) {{
                if (performance.now() > end) throw new Error("the picture never stands still");
                await passFrames();
                const now = look(host, "");
                const sought = host.querySelector("[aria-busy=true]") !== null;
                calm = now === before && !sought ? calm + 1 : 0;
                before = now;
              }}
            }}""",
            seconds,
        )

    def changes(self, before, without="", seconds=None):
        """Whether what is shown differs from `before` within some seconds of the page's time.

        Without `seconds`, it is waited for: for what follows a pause of the reader, too.
        """
        return self.host.evaluate(
            f"""async (host, [before, own, seconds]) => {{
              const look = {SNAPSHOT};
              for (let frame = 0; frame < 60 * (seconds ?? 0.1); frame += 1) {{
                await passFrames();
                if (look(host, own) !== before) return true;
              }}
              for (const end = Date.now() + 3000; seconds === null && Date.now() < end;) {{
                await whenDrawn();
                if (look(host, own) !== before) return true;
              }}
              return false;
            }}""",
            [before, without, seconds],
        )

    def control(self, name):
        return self.host.locator(f'[data-control="{name}"]')

    def controls(self, selector=""):
        """Names of the controls that a reader sees, in reading order."""
        return self.host.evaluate(
            """(host, selector) => [...host.querySelectorAll(`${selector}[data-control]`)]
              .filter((node) => node.checkVisibility({ visibilityProperty: true }))
              .map((node) => node.dataset.control)""",
            selector,
        )

    def sliders(self):
        return self.controls("input[type=range]")

    def slide(self, **positions):
        """Put sliders, by name, to a fraction of their range, as an input event does."""
        self.host.evaluate(
            """(host, positions) => {
              for (const [name, fraction] of Object.entries(positions)) {
                const input = host.querySelector(`input[data-control="${name}"]`);
                const [low, high] = [Number(input.min), Number(input.max)];
                input.value = low + fraction * (high - low);
                input.dispatchEvent(new Event("input", { bubbles: true }));
              }
              return passFrames(2);
            }""",
            positions,
        )

    def native(self, name):
        """The number that a slider's own element holds."""
        return float(self.control(name).evaluate("(input) => input.value"))

    def reports(self):
        """All readouts: name -> (value, text as shown); a name may stand several times.

        Waits for numbers that are still being looked for.
        """
        found = self.host.evaluate(
            """async (host) => {
              while (host.querySelector("[aria-busy=true]")) await passFrames();
              return [...host.querySelectorAll("[data-report]")]
                .filter((node) => node.style.display !== "none" && "value" in node.dataset)
                .map((node) => [node.dataset.report, node.dataset.value, node.textContent]);
            }"""
        )
        reports = {}
        for name, value, text in found:
            reports.setdefault(name, []).append((float(value), text))
        return reports

    def report(self, name):
        value = self.host.locator(f'[data-report="{name}"]').first.get_attribute("data-value")
        return float(value)

    def part(self, name, selector=""):
        return self.control(name).locator(selector).first if selector else self.control(name)

    def reveal(self, name, selector=""):
        """Scroll a control (or a part of it) to the middle of the screen and wait for calm."""
        self.part(name, selector).evaluate(
            "(node) => node.scrollIntoView({ block: 'center', behavior: 'instant' })"
        )
        self.still()

    def center(self, name, selector=""):
        """The middle of a control (or of a part of it) on the screen."""
        box = self.part(name, selector).bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def widgets_of(page, source):
    """All widgets of an opened page; `source` is the page's HTML as it was built."""
    stored, views = stored_widgets(source)
    return [
        Widget(
            page,
            index,
            stored[view]["state"].get("_anywidget_id", "unnamed"),
            stored[view]["state"],
        )
        for index, view in enumerate(views)
    ]


def stored_widgets(source):
    """Return (state by model id, model ids in the order of their views) of a built page."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(source, "html.parser")
    kind = "application/vnd.jupyter.widget-{}+json"
    states = soup.find_all("script", type=kind.format("state"))
    views = soup.find_all("script", type=kind.format("view"))
    stored = {}
    for state in states:
        stored |= json.loads(state.string)["state"]
    return stored, [json.loads(view.string)["model_id"] for view in views]
