"""Random actions of a reader on one widget, in a seeded order, and what is wrong after each."""

import random

from browser import listen
from scratch import page_of

from ropebook.widgets import base

KEYS = [
    *("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"),
    *("Shift+ArrowLeft", "Shift+ArrowUp", "Space", "Enter", "Escape", "Tab", "Shift+Tab"),
]
WIDTHS = [340, 390, 640, 1000]
HEIGHT = 3000  # nothing has to be scrolled to
FOCUSABLE = "button, input, textarea, [tabindex='0']"
PRESSABLE = "button, input[type=checkbox], [role=radio], label"
DRAGGABLE = "[role=slider], input[type=range], svg"

# Runs in the page: the middle of a visible element of a kind, chosen by a number in [0, 1).
_FIND = """([kind, chance, focus]) => {
  const found = [...document.querySelectorAll(`.rope-widget :is(${kind})`)]
    .filter((node) => node.checkVisibility({ visibilityProperty: true }));
  if (!found.length) return null;
  const node = found[Math.floor(chance * found.length)];
  if (focus) node.focus({ preventScroll: true });
  const { x, y, width, height } = node.getBoundingClientRect();
  const name = node.dataset.control ?? node.textContent.trim().slice(0, 20);
  return { name: `${node.localName} ${name}`, x, y, width, height };
}"""

# Runs in the page: every attribute and readout that is no number where one is meant. A value that
# a widget does not have is NaN in data-value, and words (or a dash) stand where its digits would.
_WRONG = r"""() => {
  const wrong = [];
  const bad = /\bNaN\b|undefined|Infinity|\[object/;
  for (const node of document.querySelectorAll(".rope-widget, .rope-widget *")) {
    for (const { name, value } of node.attributes) {
      if (!bad.test(value)) continue;
      if (name === "data-value" && value === "NaN" && !/^[(−\d]/.test(node.textContent)) continue;
      const what = `${name}="${value}" ${node.textContent.slice(0, 40)}`;
      wrong.push(`<${node.localName} class="${node.getAttribute("class")}"> ${what}`);
    }
    for (const part of node.childNodes) {
      const text = part.nodeType === Node.TEXT_NODE && part.data;
      if (text && bad.test(text)) wrong.push(`<${node.localName}> ${text}`);
    }
  }
  return wrong;
}"""


class Reader:
    """Somebody who presses, drags, types and resizes at random on a page with one widget."""

    def __init__(self, chromium, folder, widget, seed):
        self.draw = random.Random(seed)
        self.traits = sorted(set(widget.keys) - set(base.RopeWidget().keys))
        address = folder / "index.html"
        address.write_text(page_of(widget), encoding="utf-8")
        context = chromium.new_context(
            viewport={"width": 1000, "height": HEIGHT}, offline=True, reduced_motion="no-preference"
        )
        self.page = context.new_page()
        self.log = listen(self.page)
        self.page.goto(address.as_uri())
        self.page.wait_for_selector(".rope-widget-host .rope-widget")
        self.done, self.seen, self.holds = [], [], False

    def act(self):
        """Do one thing; return what is wrong after it, each with the last things done."""
        choices = {
            self.press: 6,
            self.key: 5,
            self.drag: 5,
            self.slide: 3,
            self.recall: 2,
            self.theme: 1,
            self.resize: 1,
        }
        (action,) = self.draw.choices([*choices], [*choices.values()])
        self.done.append(f"{action.__name__} {action()}")
        # At once, after some frames, or after most motions have come to their end.
        pause = self.draw.choice([0, 0, 0, 0, 20, 20, 60, 60, 400])
        if pause:
            self.page.wait_for_timeout(pause)
            self.done.append(f"wait {pause} ms")
        return self._wrong()

    def leave(self):
        """Take the widget off the page, be it in the midst of a motion; return what is wrong."""
        self.page.evaluate("unmount()")
        self.page.wait_for_timeout(100)
        self.done.append("leave")
        wrong = self._wrong()
        self.page.context.close()
        return wrong

    def _wrong(self):
        wrong = self.page.evaluate(_WRONG) + self.log.complaints + self.log.failed
        self.log.complaints.clear()
        self.log.failed.clear()
        return [f"{message} after {'; '.join(self.done[-8:])}" for message in wrong]

    def press(self):
        return self._at(PRESSABLE, lambda x, y: self.page.mouse.click(x, y))

    def key(self):
        name = self._at(FOCUSABLE, lambda x, y: None, focus=True)
        keys = self.draw.choices(KEYS, k=self.draw.randint(1, 3))
        for key in keys:
            self.page.keyboard.press(key)
        return f"{name} {' '.join(keys)}"

    def drag(self):
        mouse = self.page.mouse
        if not self.holds:
            name = self._at(DRAGGABLE, lambda x, y: (mouse.move(x, y), mouse.down()))
        else:
            name = "on"
        for _ in range(self.draw.randint(1, 4)):
            mouse.move(self.draw.uniform(-20, 1020), self.draw.uniform(-20, 1000))
        self.holds = self.draw.random() < 0.3  # and does something else meanwhile
        if not self.holds:
            mouse.up()
        return f"{name}{' and hold' if self.holds else ''}"

    def slide(self):
        chance = self.draw.choice([0, 1, self.draw.random()])
        self.page.evaluate(
            """([which, chance]) => {
              const inputs = document.querySelectorAll(".rope-widget input[type=range]");
              if (!inputs.length) return;
              const input = inputs[Math.floor(which * inputs.length)];
              const [low, high] = [Number(input.min), Number(input.max)];
              input.value = low + chance * (high - low);
              input.dispatchEvent(new Event("input", { bubbles: true }));
            }""",
            [self.draw.random(), chance],
        )
        return f"to {chance:.3f}"

    def recall(self):
        """Send an earlier state, as Python does when a cell sets traits."""
        state = self.page.evaluate(
            "(traits) => Object.fromEntries(traits.map((name) => [name, model.get(name)]))",
            self.traits,
        )
        self.seen.append(state)
        names = self.draw.sample(self.traits, len(self.traits))
        values = self.draw.choice(self.seen)
        self.page.evaluate(
            "(changes) => { for (const [name, value] of changes) model.set(name, value) }",
            [[name, values[name]] for name in names],
        )
        return ""

    def theme(self):
        theme = self.draw.choice(["light", "dark"])
        self.page.evaluate("(theme) => { document.documentElement.dataset.theme = theme }", theme)
        return theme

    def resize(self):
        width = self.draw.choice(WIDTHS)
        self.page.set_viewport_size({"width": width, "height": HEIGHT})
        return str(width)

    def _at(self, kind, do, focus=False):
        found = self.page.evaluate(_FIND, [kind, self.draw.random(), focus])
        across, down = self.draw.random(), self.draw.random()
        if found is None:
            return f"no {kind}"
        # Anywhere on a picture or a track, in the middle half of the rest.
        if not found["name"].startswith(("svg", "input")):
            across, down = 0.25 + across / 2, 0.25 + down / 2
        do(found["x"] + across * found["width"], found["y"] + down * found["height"])
        return found["name"]
