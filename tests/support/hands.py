"""What a reader's hands do to a widget: keys, pointer, finger, over every control it shows."""

from browser import FRAMES


def role(widget, name):
    """How a reader would name the control: range, checkbox, button, slider, radiogroup, ..."""
    return widget.control(name).evaluate(
        """(node) => node.getAttribute("role")
          || (node.tagName === "INPUT" ? node.type : node.tagName.toLowerCase())"""
    )


def disarrange(widget):
    """Move every slider, so that no button finds its work already done."""
    widget.slide(**dict.fromkeys(widget.sliders(), 0.37))
    widget.still()


def retype(widget, name, before):
    """Type over a text box that has the focus, look, and put its text back."""
    control = widget.control(name)
    text = control.input_value()
    widget.page.keyboard.press("Control+A")
    widget.page.keyboard.type("{")
    changed = widget.changes(before, name)
    mistyped = widget.snapshot(without=name)
    control.fill(text)
    restored = widget.changes(mistyped, name)
    widget.still()
    return changed and restored


def by_keyboard(widget, name, kind):
    control = widget.control(name)
    pressed = {"button": "Enter", "checkbox": " "}
    if kind == "radiogroup":
        control.locator("[tabindex='0']").first.focus()
        widget.frames()
    else:
        control.focus()
    before = widget.snapshot(without=name)
    if kind == "textarea":
        return retype(widget, name, before)
    if kind in pressed:
        widget.page.keyboard.press(pressed[kind])
        return widget.changes(before, name)
    keys = ["ArrowRight", "ArrowLeft"]
    if kind == "range" and widget.native(name) == float(control.get_attribute("max")):
        keys.reverse()
    ends = [control.get_attribute(f"aria-value{end}") for end in ("now", "max")]
    if kind == "slider" and ends[0] == ends[1]:
        keys.reverse()
    if kind == "radiogroup" and control.evaluate(
        """(group) => [...group.querySelectorAll("[role=radio]")]
          .filter((radio) => radio.style.display !== "none").at(-1).ariaChecked === "true" """
    ):
        keys.reverse()
    for key in keys:
        widget.page.keyboard.press(key)
        if not widget.changes(before, name):
            return False
        widget.still()
        before = widget.snapshot(without=name)
    return True


def by_pointer(widget, name, kind, touch=False):
    page = widget.page
    press = page.touchscreen.tap if touch else page.mouse.click
    part = "[role=radio][aria-checked=false]" if kind == "radiogroup" else ""
    widget.reveal(name, part)
    at = widget.center(name, part)
    before = widget.snapshot(without=name)
    if kind == "range":
        box = widget.control(name).bounding_box()
        low, high = (float(widget.control(name).get_attribute(end)) for end in ("min", "max"))
        filled = (widget.native(name) - low) / (high - low)
        press(box["x"] + box["width"] * (0.25 if filled > 0.5 else 0.75), at[1])
    elif kind == "slider":
        # Towards the middle of its picture, where there is room; to the left, if it stands there.
        *area, width = widget.control(name).evaluate(
            "(node) => { const b = node.ownerSVGElement.getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2, b.width]; }"
        )
        area[0] -= width / 3 if abs(at[0] - area[0]) < 5 else 0
        to = [(a + 2 * b) / 3 for a, b in zip(at, area, strict=True)]
        drag(page, at, to, touch)
    else:
        press(*at)
    if kind == "textarea":
        return retype(widget, name, before)
    return widget.changes(before, name)


def drag(page, start, end, touch=False):
    path = [[a + (b - a) * part / 4 for a, b in zip(start, end, strict=True)] for part in range(5)]
    if not touch:
        page.mouse.move(*path[0])
        page.mouse.down()
        for point in path[1:]:
            page.mouse.move(*point)
        page.mouse.up()
        return
    fingers = page.context.new_cdp_session(page)
    for kind, point in [("touchStart", path[0]), *[("touchMove", point) for point in path[1:]]]:
        points = [{"x": point[0], "y": point[1]}]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        page.evaluate(FRAMES)
    fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def by_touch(widget, name, kind):
    return by_pointer(widget, name, kind, touch=True)


def dead_controls(widget, move):
    """Move every control once; name those after which nothing else in the widget changed."""
    dead = []
    names = widget.controls()
    assert names, f"{widget} shows no control"
    for name in names:
        kind = role(widget, name)
        if kind == "button":
            disarrange(widget)
            if widget.control(name).get_attribute("aria-pressed") == "true":
                # Until one takes its place: what copies a text, say, takes nobody's.
                for other in (o for o in names if o != name and role(widget, o) == "button"):
                    widget.control(other).press("Enter")
                    widget.still()
                    if widget.control(name).get_attribute("aria-pressed") == "false":
                        break
        # A switch is moved there and back, or it would stay on for the controls after it.
        for _ in range(2 if kind in ("checkbox", "radiogroup") else 1):
            if not move(widget, name, kind):
                dead.append(f"{widget}: {name} ({kind})")
        running = widget.snapshot()
        if kind == "button" and widget.changes(running, seconds=0.2):
            widget.control(name).press("Enter")  # stops what it started
        widget.still()
    return dead
