"""The built book in Chromium, from disk with the network cut off: what a reader sees and moves."""

import functools
import json
import math
import random
import re
import threading
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from browser import FRAMES, PHONE, WIDE, listen, open_page, widgets_of
from toc import CONTENT_PAGES, PAGES

# Rules that axe reports and that we let pass, each with its reason: {(page, rule): reason}.
AXE_EXCEPTIONS: dict[tuple[str, str], str] = {}

# A page takes seconds to be looked at: each size once and each theme once.
LOOKS = [(*WIDE, "light"), (*PHONE, "dark")]
LOOK_NAMES = [f"{'wide' if width > 1000 else 'phone'}-{theme}" for width, _, theme in LOOKS]


# ---- every page, in every look, looked at once ------------------------------------------------


@dataclass(frozen=True)
class Visit:
    """What was seen when a page was opened, scrolled to its end and searched by axe."""

    log: object
    facts: dict
    violations: list[str]


_AXE_OPTIONS = {"resultTypes": ["violations"], "preload": False}
_FACTS = """() => {
  const root = document.documentElement;
  const wider = (node) => {
    // Only what pushes the page itself: not what scrolls inside its own box.
    for (let up = node; up !== document.body && up; up = up.parentElement) {
      const { overflowX, position } = getComputedStyle(up);
      if (overflowX !== "visible" || position === "fixed") return false;
    }
    return node.getBoundingClientRect().right > root.clientWidth + 1;
  };
  const all = (selector) => [...document.querySelectorAll(selector)];
  const isDrawn = (figure) =>
    figure.querySelector(".main-svg") && figure.dataset.drawn === root.dataset.theme;
  return {
    theme: root.dataset.theme,
    width: root.clientWidth,
    scrollWidth: root.scrollWidth,
    wider: all("body *").filter(wider).slice(0, 5).map((node) => node.outerHTML.slice(0, 120)),
    formulae: all(".math").length,
    typeset: all(".math:has(mjx-container)").length,
    // An unknown command is no error to MathJax: it prints the command in red.
    texErrors: all("mjx-merror, [data-mjx-error], mjx-mtext[style*='color: red']")
      .map((node) => node.getAttribute("data-mjx-error") || node.textContent),
    figures: all("figure.rope-figure").length,
    drawn: all("figure.rope-figure").filter(isDrawn).length,
    views: all(".rope-widget-host").length,
    mounted: all(".rope-widget-host:has(.rope-widget svg)").length,
    alerts: all("[role=alert]").map((node) => node.textContent),
  };
}"""


@pytest.fixture(scope="session")
def visit(built_book, chromium):
    """Return a function that opens a page in a look, once per test run."""
    from axe_playwright_python.sync_playwright import Axe

    axe = Axe()

    @functools.cache
    def visit(name, look):
        width, height, theme = look
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, offline=True
        )
        try:
            page, log = open_page(context, (built_book / name).as_uri())
            # What is folded must be as sound as what is open.
            page.evaluate(
                "document.querySelectorAll('details').forEach((fold) => (fold.open = true))"
            )
            page.evaluate(FRAMES)
            facts = page.evaluate(_FACTS)
            # Preloading would have axe fetch style sheets, which browsers refuse from file://.
            found = axe.run(page, options=_AXE_OPTIONS).response["violations"]
        finally:
            context.close()
        violations = [
            f"{rule['id']} ({rule['impact']}): {node['target']} {node['html'][:160]}"
            for rule in found
            if (name, rule["id"]) not in AXE_EXCEPTIONS
            for node in rule["nodes"]
        ]
        return Visit(log, facts, violations)

    return visit


@pytest.mark.parametrize("name", PAGES)
def test_no_request_leaves_the_book(visit, name):
    for look in LOOKS:
        assert visit(name, look).log.outside() == []


@pytest.mark.parametrize("name", PAGES)
def test_every_request_succeeds(visit, name):
    for look in LOOKS:
        assert visit(name, look).log.failed == []


@pytest.mark.parametrize("name", PAGES)
def test_console_stays_silent(visit, name):
    for look in LOOKS:
        assert visit(name, look).log.complaints == []


@pytest.mark.parametrize("look", LOOKS, ids=LOOK_NAMES)
@pytest.mark.parametrize("name", PAGES)
def test_page_does_not_scroll_sideways(visit, name, look):
    facts = visit(name, look).facts
    assert facts["scrollWidth"] <= facts["width"], facts["wider"]


@pytest.mark.parametrize("look", LOOKS, ids=LOOK_NAMES)
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_violation(visit, name, look):
    assert visit(name, look).facts["theme"] == look[-1]
    violations = visit(name, look).violations
    assert not violations, "\n".join(violations)


@pytest.mark.parametrize("name", CONTENT_PAGES)
def test_formulae_are_typeset(visit, name):
    for look in LOOKS:
        facts = visit(name, look).facts
        assert facts["texErrors"] == []
        assert facts["typeset"] == facts["formulae"]


@pytest.mark.parametrize("name", CONTENT_PAGES)
def test_every_figure_is_drawn_in_the_theme_of_the_page(visit, name):
    for look in LOOKS:
        facts = visit(name, look).facts
        assert facts["drawn"] == facts["figures"], facts["alerts"]


@pytest.mark.parametrize("name", CONTENT_PAGES)
def test_every_widget_mounts(visit, built_book, name):
    tags = (built_book / name).read_text("utf-8").count("vnd.jupyter.widget-view+json")
    for look in LOOKS:
        facts = visit(name, look).facts
        assert (facts["mounted"], facts["views"], facts["alerts"]) == (tags, tags, [])


def test_every_built_page_is_visited(built_book):
    built = {str(page.relative_to(built_book)) for page in built_book.rglob("*.html")}
    assert {page for page in built if not page.startswith("_static")} == set(PAGES)


# ---- the same over http -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def served_book(built_book):
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    serve = functools.partial(Quiet, directory=built_book)
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("name", PAGES)
def test_the_book_works_over_http(chromium, served_book, name):
    context = chromium.new_context()
    # Offline would cut off this machine too, so everything else is refused by hand.
    context.route(lambda address: not address.startswith(served_book), lambda route: route.abort())
    try:
        page, log = open_page(context, served_book + name)
        facts = page.evaluate(_FACTS)
    finally:
        context.close()
    assert (log.outside(served_book), log.failed, log.complaints) == ([], [], [])
    assert facts["mounted"] == facts["views"]
    assert facts["drawn"] == facts["figures"]
    assert facts["typeset"] == facts["formulae"]


# ---- widgets ----------------------------------------------------------------------------------


@pytest.fixture
def widgets_on(built_book, chromium):
    """Return a function that opens a page from disk, offline, and gives its widgets."""
    contexts = []

    def opened(name, size=WIDE, **options):
        width, height = size
        viewport = {"width": width, "height": height}
        contexts.append(chromium.new_context(viewport=viewport, offline=True, **options))
        page, _ = open_page(contexts[-1], (built_book / name).as_uri())
        return widgets_of(page, (built_book / name).read_text("utf-8"))

    yield opened
    for context in contexts:
        context.close()


def find_widget(built_book, widgets_on, kind, **options):
    """The first widget of a kind in the book, freshly opened."""
    for name in CONTENT_PAGES:
        if f".{kind}" in (built_book / name).read_text("utf-8"):
            return next(w for w in widgets_on(name, **options) if str(w) == kind)
    pytest.fail(f"no page shows a {kind}")


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


def dead_controls(widgets, move):
    """Move every control once; name those after which nothing else in the widget changed."""
    dead = []
    for widget in widgets:
        names = widget.controls()
        assert names, f"{widget} shows no control"
        for name in names:
            kind = role(widget, name)
            if kind == "button":
                disarrange(widget)
                if widget.control(name).get_attribute("aria-pressed") == "true":
                    others = (o for o in names if o != name and role(widget, o) == "button")
                    widget.control(next(others)).press("Enter")
                    widget.still()
            # A switch is moved there and back, or it would stay on for the controls after it.
            for _ in range(2 if kind in ("checkbox", "radiogroup") else 1):
                if not move(widget, name, kind):
                    dead.append(f"{widget}: {name} ({kind})")
            running = widget.snapshot()
            if kind == "button" and widget.changes(running, seconds=0.2):
                widget.control(name).press("Enter")  # stops what it started
            widget.still()
    return dead


@pytest.mark.parametrize("name", CONTENT_PAGES)
def test_every_control_is_alive_by_keyboard(widgets_on, name):
    assert dead_controls(widgets_on(name), by_keyboard) == []


@pytest.mark.parametrize("name", CONTENT_PAGES)
def test_every_control_is_alive_by_pointer(widgets_on, name):
    assert dead_controls(widgets_on(name), by_pointer) == []


@pytest.mark.parametrize("name", CONTENT_PAGES)
def test_every_control_is_alive_by_touch_on_a_phone(widgets_on, name):
    widgets = widgets_on(name, PHONE, has_touch=True, is_mobile=True)
    assert dead_controls(widgets, by_touch) == []


@pytest.mark.parametrize("name", CONTENT_PAGES)
def test_every_control_is_reached_by_the_tab_key(widgets_on, name):
    for widget in widgets_on(name):
        names = widget.controls()
        reached = set()
        widget.host.evaluate("(host) => { host.tabIndex = -1; host.focus(); }")
        for _ in range(len(names) + 2):
            widget.page.keyboard.press("Tab")
            reached.add(
                widget.page.evaluate(
                    "document.activeElement.closest('[data-control]')?.dataset.control"
                )
            )
        assert set(names) <= reached, str(widget)


# What ropelib says about the inputs that a widget is set to: name -> values, in order.


def explorer_oracle(inputs):
    import torch

    from ropelib import apply_rotary, cos_sin

    turn = torch.tensor([inputs["theta"]], dtype=torch.float64)

    def turned(vector, position):
        cos, sin = cos_sin(torch.tensor([position]), turn, dtype=torch.float64)
        x = torch.tensor([vector], dtype=torch.float64)
        return apply_rotary(x, cos, sin, layout="interleaved")[0]

    q, k = turned(inputs["q"], inputs["m"]), turned(inputs["k"], inputs["n"])
    cosine = torch.dot(q, k) / (q.norm() * k.norm())
    return {
        "score": torch.dot(q, k).item(),
        "angle_between": math.acos(max(-1.0, min(1.0, cosine.item()))),
        "distance": inputs["n"] - inputs["m"],
        "q_rotated_x": q[0].item(),
        "q_rotated_y": q[1].item(),
        "k_rotated_x": k[0].item(),
        "k_rotated_y": k[1].item(),
    }


def clocks_oracle(inputs):
    from ropelib import inv_freq
    from ropelib.frequencies import turns, wavelength

    frequencies = inv_freq(int(inputs["rotary_dim"]), inputs["base"])
    lengths = wavelength(frequencies)
    never = (lengths > inputs["context"]).nonzero().flatten().tolist()
    pair, position = int(inputs["pair"]), inputs["position"]
    return {
        "num_pairs": len(frequencies),
        "wavelength_fastest": lengths.min().item(),
        "wavelength_slowest": lengths.max().item(),
        "never_turn_count": len(never),
        "never_turn_first": never[0] if never else math.nan,
        "never_turn_last": never[-1] if never else math.nan,
        "pair_inv_freq": frequencies[pair].item(),
        "pair_wavelength": lengths[pair].item(),
        "pair_turns": turns(frequencies, inputs["context"])[pair].item(),
        "pair_angle": (position * frequencies[pair].item()) % math.tau,
        "hand": [(position * frequency).item() for frequency in frequencies],
    }


def inspector_oracle(inputs):
    from ropelib import RopeConfig, inv_freq
    from ropelib.frequencies import turns, wavelength
    from ropelib.gallery import GALLERY

    config = RopeConfig.from_hf(GALLERY["Llama 3.1 8B"].config)  # what the widget starts with
    plain, scaled = inv_freq(config.rotary_dim, config.base), config.inv_freq()
    pair = int(inputs["pair"])
    return {
        "base": config.base,
        "head_dim": config.head_dim,
        "rotary_dim": config.rotary_dim,
        "attention_factor": config.attention_factor(),
        "wavelength_fastest": wavelength(scaled).min().item(),
        "wavelength_slowest": wavelength(scaled).max().item(),
        "never_turn_count": int((turns(scaled, config.max_seq_len) < 1).sum()),
        "never_turn_trained": int((turns(plain, config.original_max_seq_len) < 1).sum()),
        "layers_rotating": len(config.rotating_layers),
        "layers_still": config.num_layers - len(config.rotating_layers),
        "pair_first": pair,
        "pair_second": pair + config.rotary_dim // 2,
        "pair_unscaled": wavelength(plain)[pair].item(),
        "pair_wavelength": wavelength(scaled)[pair].item(),
        "pair_stretch": (plain / scaled)[pair].item(),
        "pair_turns": turns(scaled, config.max_seq_len)[pair].item(),
        "wave": scaled.tolist(),
    }


def product_oracle(inputs):
    import torch

    from ropelib.reference import rotation_matrix

    z, w = (torch.tensor(inputs[name], dtype=torch.float64) for name in ("z", "w"))

    def angle(number):
        return math.atan2(number[1], number[0]) if number.any() else math.nan

    # Not by the rule for products: stretched by the length of w, turned by its angle.
    turn = angle(w) if w.any() else 0.0
    matrix = w.norm() * rotation_matrix(1.0, [turn], layout="interleaved")
    numbers = {"z": z, "w": w, "product": matrix @ z}
    return {
        **{f"{name}_re": number[0].item() for name, number in numbers.items()},
        **{f"{name}_im": number[1].item() for name, number in numbers.items()},
        **{f"{name}_length": number.norm().item() for name, number in numbers.items()},
        **{f"{name}_angle": angle(number) for name, number in numbers.items()},
        **{f"matrix_{i}{j}": matrix[i, j].item() for i in (0, 1) for j in (0, 1)},
        "determinant": torch.linalg.det(matrix).item(),
    }


def sinusoid_oracle(inputs):
    import torch

    from ropelib import inv_freq
    from ropelib.encodings.sinusoidal import sinusoids
    from ropelib.frequencies import wavelength

    position, offset, pair = (int(inputs[name]) for name in ("position", "offset", "pair"))
    kind, model_dim = inputs["code"], inputs["model_dim"]
    frequencies = math.tau / 2.0 ** torch.arange(1, 8, dtype=torch.float64)
    if kind == "transformer":
        frequencies = inv_freq(model_dim)

    def rows(positions):
        if kind == "binary":
            digits = [[int(bit) for bit in f"{p % 128:07b}"[::-1]] for p in positions.tolist()]
            return 2 * torch.tensor(digits, dtype=torch.float64) - 1
        if kind == "transformer":
            return sinusoids(positions, model_dim, dtype=torch.float64)
        angles = positions[:, None] * frequencies
        return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)

    here, there = rows(torch.tensor([position, position + offset]))
    places = torch.arange(128)
    products = (rows(places) * rows(places + offset)).sum(-1)
    bits = kind == "binary"
    return {
        "inner": (here @ there).item(),
        "inner_max": len(frequencies),
        "elsewhere_low": products.min().item(),
        "elsewhere_high": products.max().item(),
        "other": position + offset,
        "wavelength": wavelength(frequencies)[pair].item(),
        "inv_freq": frequencies[pair].item(),
        "turn": offset * frequencies[pair].item(),
        "sin": math.nan if bits else here[2 * pair].item(),
        "cos": math.nan if bits else here[2 * pair + 1].item(),
        "bit": here[pair].item() if bits else math.nan,
    }


def bias_oracle(inputs):
    from ropelib.widgets import BiasExplorer

    names = ("query", "key", "shift", "clip_distance", "num_buckets", "max_distance", "head")
    chosen = {name: int(inputs[name]) for name in names if name in inputs}
    kept = {name: inputs[name] for name in ("encoding", "causal", "content")}
    explorer = BiasExplorer(**chosen, **kept)
    query, key = explorer.query, explorer.key
    count = query + 1 if explorer.causal else len(explorer.row_bias)
    hidden = key >= count
    return {
        "row_bias": explorer.row_bias[:count],
        "row_weight": explorer.row_weights[:count],
        "distance": key - query,
        "key_bias": math.nan if hidden else explorer.row_bias[key],
        "key_weight": math.nan if hidden else explorer.row_weights[key],
        "slope": math.nan if explorer.slope is None else explorer.slope,
        "bucket": math.nan if explorer.bucket is None else explorer.bucket,
        "different_values": explorer.different_values,
        "diagonal_spread": explorer.diagonal_spread,
    }


def shuffle_oracle(inputs):
    import torch

    from ropelib.attention import attention
    from ropelib.encodings import sinusoids
    from ropelib.widgets import token_shuffle

    order = inputs["order"]
    embeddings = token_shuffle.SENTENCES[inputs["sentence"]]["embeddings"]
    matrices = token_shuffle.QUERY_MATRIX, token_shuffle.KEY_MATRIX, token_shuffle.VALUE_MATRIX

    def attend(words):
        x = torch.tensor(embeddings, dtype=torch.float64)[words]
        x = x + inputs["positions"] * sinusoids(torch.arange(len(words)), 2, dtype=torch.float64)
        q, k, v = (x @ torch.tensor(matrix, dtype=torch.float64).T for matrix in matrices)
        return attention(q, k, v, causal=inputs["causal"])

    outputs, weights = attend(order)
    original, _ = attend(sorted(order))
    pooled = outputs.mean(dim=0)
    return {
        "output_x": outputs[:, 0].tolist(),
        "output_y": outputs[:, 1].tolist(),
        "weight": weights.flatten().tolist(),
        "change": (outputs - original[order]).abs().max().item(),
        "pooled_x": pooled[0].item(),
        "pooled_y": pooled[1].item(),
        "pooled_change": (pooled - original.mean(dim=0)).abs().max().item(),
    }


def builder_oracle(inputs):
    from ropelib.widgets import ScoreBuilder

    shape = {name: int(inputs[name]) for name in ("head_dim", "pairs", "pair", "distance")}
    content = {"amplitudes": inputs["pair_amplitude"], "start_angles": inputs["pair_start"]}
    builder = ScoreBuilder(base=inputs["base"], **shape, **content)
    parts = builder.contributions
    off = [0.0] * (builder.num_pairs - builder.pairs)
    return {
        "score": builder.score,
        "total": builder.total,
        "peak": builder.peak,
        "peak_score": builder.peak_score,
        "beside": builder.beside,
        "rival": math.nan if builder.rival is None else builder.rival,
        "rival_score": builder.rival_score,
        "wavelength": builder.wavelengths[builder.pair].item(),
        "contribution": parts + off,
        "pair_contribution": (parts + off)[builder.pair],
        # What the sliders last set is what the pair has.
        "amplitude": builder.amplitudes[builder.pair],
        "start_angle": builder.start_angles[builder.pair],
        "pair_amplitude": builder.amplitudes,
        "pair_start": builder.start_angles,
    }


def layout_oracle(inputs):
    import torch

    from ropelib import convert_layout, inv_freq, reference

    n, distance = int(inputs["n"]), int(inputs["distance"])

    def turned(name, position, layout, convert):
        x = torch.tensor([inputs[name]], dtype=torch.float64)
        if convert:
            x = convert_layout(x, source="interleaved", target=layout)
        return reference.rotate(x, [position], inv_freq(8, 100.0), layout=layout)[0]

    def score_at(position, q_layout, k_layout, convert):
        q = turned("q", position - distance, q_layout, convert)
        return (q @ turned("k", position, k_layout, convert)).item()

    seated = [inputs[name] for name in ("q_layout", "k_layout", "convert")]
    score = score_at(n, *seated)
    reference_score = score_at(n, "interleaved", "interleaved", False)
    scores = [score_at(position, *seated) for position in range(25)]
    return {
        "score": score,
        "reference": reference_score,
        "error": score - reference_score,
        "m": n - distance,
        "drift": max(scores) - min(scores),
    }


def distance_oracle(inputs):
    from ropelib.widgets import DistanceCurve

    whole = {name: round(inputs[name]) for name in ("head_dim", "context")}
    curve = DistanceCurve(base=inputs["base"], kept=inputs["kept"], **whole)
    return {
        "rises": curve.rises,
        "first_negative": math.nan if curve.first_negative is None else curve.first_negative,
        "base_bound": math.nan if curve.base_bound is None else curve.base_bound,
        "cosine_at_context": curve.curve[-1].item(),
        "bound_at_context": curve.bound[-1].item(),
        "wavelength_slowest": curve.slowest_wavelength or math.nan,
        "turning_pairs": int((curve.inv_freq > 0).sum()),
    }


def value_oracle(inputs):
    import torch

    from ropelib import apply_rotary, cos_sin
    from ropelib.attention import attention
    from ropelib.widgets import value_rotation as head

    turn = torch.tensor([inputs["theta"]], dtype=torch.float64)
    q, k, v = (torch.tensor(x, dtype=torch.float64) for x in (head.QUERIES, head.KEYS, head.VALUES))

    def attend(way, shift):
        cos, sin = cos_sin(torch.arange(5) + shift, turn, dtype=torch.float64)
        q_, k_, v_ = (apply_rotary(x, cos, sin, layout="interleaved") for x in (q, k, v))
        output, weights = attention(q_, k_, v if way == "alone" else v_)
        if way == "turned_back":
            output = apply_rotary(output, cos, -sin, layout="interleaved")
        return output[int(inputs["query"])], weights[int(inputs["query"])]

    shift = int(inputs["shift"])
    output, weights = attend(inputs["values"], shift)
    return {
        "weight": weights.tolist(),
        "output_x": output[0].item(),
        "output_y": output[1].item(),
        "output_angle": math.atan2(output[1].item(), output[0].item()),
        "output_length": output.norm().item(),
        "change": (output - attend(inputs["values"], 0)[0]).norm().item(),
        "gap": (output - attend("alone", shift)[0]).norm().item(),
    }


ORACLES = {
    "ValueRotation": value_oracle,
    "DistanceCurve": distance_oracle,
    "TokenShuffle": shuffle_oracle,
    "BiasExplorer": bias_oracle,
    "LayoutPairs": layout_oracle,
    "RotationExplorer": explorer_oracle,
    "FrequencyClocks": clocks_oracle,
    "ConfigInspector": inspector_oracle,
    "ComplexProduct": product_oracle,
    "SinusoidExplorer": sinusoid_oracle,
    "ScoreBuilder": builder_oracle,
}
# How a slider's own number becomes the input's value, where it is not that number.
SCALES = {
    "theta": math.radians,
    "start_angle": math.radians,
    "base": lambda power: 10**power,
    "context": lambda power: 2**power,
}
# Sliders that stand on the mark nearest to a value that was set otherwise, and how near it is.
NEAREST = {"base": 0.013}
# Readouts that span many powers of ten are held to a relative 1e-6, others to an absolute one.
WIDE_RANGING = re.compile("wave|unscaled|inv_freq|turns|^base$|^context$")


def same(name, shown, expected):
    if math.isnan(expected):
        return math.isnan(shown)
    if name == "pair_angle":
        return abs(math.remainder(shown - expected, math.tau)) <= 1e-6
    limit = 1e-6 * abs(expected) if WIDE_RANGING.search(name) else 1e-6
    return abs(shown - expected) <= limit


def wrong_readouts(widget, vectors=None):
    """Compare all readouts with ropelib and with the settings; return what differs."""
    shown = widget.reports()
    set_to = {name: SCALES.get(name, float)(widget.native(name)) for name in widget.sliders()}
    for name in set(NEAREST) & set(set_to):
        value = shown[name][0][0]
        assert value == pytest.approx(set_to[name], rel=NEAREST[name])
        set_to[name] = value
    # Beside the sliders: the vectors that the handles hold, the chosen pair.
    inputs = {**set_to, **(vectors or {})}
    if "pair" in shown:
        inputs["pair"] = shown["pair"][0][0]
    # One for each pair: they keep what the sliders of one pair after the other have set.
    for name in {"pair_amplitude", "pair_start"} & set(shown):
        inputs[name] = [value for value, _ in shown[name]]
    expected = {**ORACLES[str(widget)](inputs), **set_to}
    unknown = set(shown) - set(expected) - {"pair"}
    assert not unknown, f"{widget} shows readouts that no oracle knows: {unknown}"
    wrong = []
    for name, right in expected.items():
        right = right if isinstance(right, list) else [right]
        values = [value for value, _ in shown[name]]
        if len(values) != len(right) or not all(map(same, [name] * len(right), values, right)):
            wrong.append(f"{widget} at {inputs}: {name} reports {values}, ropelib says {right}")
    return wrong + [
        f"{widget} at {inputs}: {name} is {value} and shows {text!r}"
        for name, found in shown.items()
        for value, text in found
        if name not in ("hand", "pair", "wave") and not says(text, value)
    ]


_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def says(text, value):
    """Whether a readout's text is its value, rounded, and in degrees where it says so."""
    text = text.replace("−", "-").replace("\u202f", "")
    number = re.match(r"(-?\d+(?:\.(\d+))?)(?:·10([⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+))?", text)
    if number is None:
        return math.isnan(value) or (text == "none" and value == 0)
    if re.fullmatch(r"[^a-z(]*°", text):
        value = math.degrees(value)
    unit = 10.0 ** -len(number[2] or "")
    power = 10.0 ** int((number[3] or "0").translate(_SUPERSCRIPTS))
    return abs(float(number[1]) * power - value) <= 0.5001 * unit * power


def vectors_of(widget):
    held = ("q", "k", "z", "w", "code", "model_dim", "encoding", "causal", "content")
    held += ("sentence", "order", "positions", "q_layout", "k_layout", "convert", "values")
    return {name: widget.state[name] for name in held if name in widget.state}


@pytest.mark.parametrize("name", CONTENT_PAGES)
def test_readouts_equal_ropelib(widgets_on, name):
    draw = random.Random(0)
    for widget in widgets_on(name):
        assert str(widget) in ORACLES, f"write an oracle for {widget}: what should it report?"
        wrong = wrong_readouts(widget, vectors_of(widget))
        sliders = widget.sliders()
        spread = [dict.fromkeys(sliders, end) for end in (0.0, 1.0)]
        spread += [{slider: draw.random() for slider in sliders} for _ in range(12)]
        for settings in spread:
            widget.slide(**settings)
            wrong += wrong_readouts(widget, vectors_of(widget))
        assert not wrong, "\n".join(wrong)


def test_the_right_vectors_are_turned_after_arrow_keys(built_book, widgets_on):
    explorer = find_widget(built_book, widgets_on, "RotationExplorer")
    vectors = {name: list(vector) for name, vector in vectors_of(explorer).items()}
    for handle, key, axis, step in [
        ("q", "ArrowLeft", 0, -0.1),
        ("q", "ArrowUp", 1, 0.1),
        ("k", "Shift+ArrowUp", 1, 0.5),
        ("k", "ArrowRight", 0, 0.1),
        ("k", "ArrowDown", 1, -0.1),
    ]:
        explorer.control(handle).focus()
        for _ in range(2):
            explorer.page.keyboard.press(key)
            explorer.frames()
            vectors[handle][axis] += step
        assert wrong_readouts(explorer, vectors) == []
    explorer.slide(theta=0.6, m=0.9, n=0.2)
    assert wrong_readouts(explorer, vectors) == []


def test_keys_that_arrive_within_one_frame_all_count(built_book, widgets_on):
    explorer = find_widget(built_book, widgets_on, "RotationExplorer")
    vectors = {name: list(vector) for name, vector in vectors_of(explorer).items()}
    explorer.control("q").evaluate(
        """(handle) => {
          const press = () => new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true });
          for (let i = 0; i < 3; i += 1) handle.dispatchEvent(press());
        }"""
    )
    explorer.frames()
    vectors["q"][0] -= 0.3
    assert wrong_readouts(explorer, vectors) == []


def test_a_dragged_vector_follows_the_pointer(built_book, widgets_on):
    explorer = find_widget(built_book, widgets_on, "RotationExplorer")
    explorer.slide(theta=0)  # without a turn the readouts show the vectors themselves
    for handle in ("q", "k"):
        explorer.reveal(handle)
        start = explorer.center(handle)
        before = [explorer.report(f"{handle}_rotated_{axis}") for axis in "xy"]
        area = explorer.control(handle).evaluate("(node) => node.ownerSVGElement.clientWidth")
        moved = (-37, 29)
        drag(explorer.page, start, [start[0] + moved[0], start[1] + moved[1]])
        explorer.frames()
        after = [explorer.report(f"{handle}_rotated_{axis}") for axis in "xy"]
        # The picture shows -2.2 to 2.2 in both directions, and y points up.
        unit = area / 4.4
        assert after[0] - before[0] == pytest.approx(moved[0] / unit, abs=1.5 / unit)
        assert after[1] - before[1] == pytest.approx(-moved[1] / unit, abs=1.5 / unit)
        at = explorer.control(handle).bounding_box()
        assert at["x"] + at["width"] / 2 == pytest.approx(start[0] + moved[0], abs=2)
        assert at["y"] + at["height"] / 2 == pytest.approx(start[1] + moved[1], abs=2)


def test_score_stays_while_the_distance_is_kept(built_book, widgets_on):
    explorer = find_widget(built_book, widgets_on, "RotationExplorer")
    explorer.slide(m=0.25, n=0.5)
    before = {name: explorer.report(name) for name in ("score", "distance", "m", "q_rotated_x")}
    explorer.control("keep_distance").click()
    explorer.control("m").focus()
    for step in range(1, 6):
        explorer.page.keyboard.press("ArrowRight")
        explorer.frames()
        assert explorer.report("m") == before["m"] + step
        assert explorer.report("distance") == before["distance"]
        assert explorer.report("score") == pytest.approx(before["score"], abs=1e-9)
    assert explorer.report("q_rotated_x") != pytest.approx(before["q_rotated_x"], abs=1e-3)
    explorer.control("keep_distance").click()
    explorer.page.keyboard.press("Tab")
    explorer.control("m").press("ArrowRight")
    explorer.frames()
    assert explorer.report("distance") == before["distance"] - 1
    assert explorer.report("score") != pytest.approx(before["score"], abs=1e-3)


def test_score_stays_in_every_frame_while_both_move(built_book, widgets_on):
    explorer = find_widget(built_book, widgets_on, "RotationExplorer")
    score = explorer.report("score")
    frames = watched(explorer, "both_move", ["score", "m", "distance"], seconds=1.5)
    assert len({m for _, m, _ in frames}) > 10, "nothing moved"
    assert all(abs(shown - score) <= 1e-9 for shown, _, _ in frames)
    assert len({round(distance, 9) for *_, distance in frames}) == 1


def test_score_changes_while_only_the_key_moves(built_book, widgets_on):
    explorer = find_widget(built_book, widgets_on, "RotationExplorer")
    frames = watched(explorer, "only_k_moves", ["score", "m", "n"], seconds=1.5)
    assert len({round(score, 6) for score, _, _ in frames}) > 10
    assert len({m for _, m, _ in frames}) == 1


_PRODUCT_STOPS = {
    "w_i": lambda z: 1j,
    "w_minus_one": lambda z: -1,
    "w_one_plus_i": lambda z: 1 + 1j,
    "w_z": lambda z: z,
    "w_conjugate": lambda z: z.conjugate(),
}


def test_stops_set_the_factor_that_they_name(built_book, widgets_on):
    product = find_widget(built_book, widgets_on, "ComplexProduct")
    start = vectors_of(product)
    product.control("unit").click()
    for stop, factor in _PRODUCT_STOPS.items():
        product.control(stop).click()
        product.still()
        w = complex(factor(complex(*start["z"])))
        assert wrong_readouts(product, {"z": start["z"], "w": [w.real, w.imag]}) == []
        assert product.control(stop).get_attribute("aria-pressed") == "true"
        # A factor off the unit circle cannot leave the switch on.
        assert product.control("unit").is_checked() == (stop in ("w_i", "w_minus_one"))
    product.control("reset").click()
    product.still()
    assert wrong_readouts(product, start) == []


def test_handles_of_a_product_obey_arrow_keys_and_the_unit_circle(built_book, widgets_on):
    product = find_widget(built_book, widgets_on, "ComplexProduct")
    start = vectors_of(product)
    z, w = (list(start[name]) for name in ("z", "w"))
    for handle, number in (("z", z), ("w", w)):
        product.control(handle).focus()
        for key, axis, step in (("ArrowRight", 0, 0.1), ("Shift+ArrowDown", 1, -0.5)):
            product.page.keyboard.press(key)
            number[axis] += step
    product.frames()
    assert wrong_readouts(product, {"z": z, "w": w}) == []
    product.control("unit").click()
    angle = math.atan2(w[1], w[0])
    product.control("w").focus()
    for key, turn in (("ArrowRight", 5), ("ArrowDown", -5), ("Shift+ArrowUp", 25)):
        product.page.keyboard.press(key)
        product.frames()
        angle += math.radians(turn)
        on_circle = [math.cos(angle), math.sin(angle)]
        assert wrong_readouts(product, {"z": z, "w": on_circle}) == []
    product.reveal("w")
    at = product.center("w")
    drag(product.page, at, [at[0] + 150, at[1] - 20])
    product.frames()
    assert product.report("w_length") == pytest.approx(1, abs=1e-9)
    assert product.report("w_angle") != pytest.approx(math.remainder(angle, math.tau), abs=0.1)
    held = {"z": z, "w": [product.report("w_re"), product.report("w_im")]}
    assert wrong_readouts(product, held) == []


def test_lengths_hold_while_the_factor_runs_once_around(built_book, widgets_on):
    product = find_widget(built_book, widgets_on, "ComplexProduct")
    product.control("unit").click()
    names = ["w_length", "product_length", "z_angle", "w_angle", "product_angle"]
    start = [product.report(name) for name in names]
    frames = watched(product, "once_around", names, seconds=6.0)
    product.still()
    for shown in frames:
        assert shown[:3] == pytest.approx(start[:3], abs=1e-9)
        apart = shown[4] - shown[3] - shown[2]
        assert math.remainder(apart, math.tau) == pytest.approx(0, abs=1e-9)
    assert {round(frame[3]) for frame in frames} == {-3, -2, -1, 0, 1, 2, 3}, "not all around"
    assert [product.report(name) for name in names] == pytest.approx(start, abs=1e-9)


def words_of(shuffle):
    """The words as they stand on the screen, from left to right."""
    return shuffle.host.evaluate(
        """(host) => [...host.querySelectorAll("[role=slider]")]
          .sort((a, b) => a.getBoundingClientRect().x - b.getBoundingClientRect().x)
          .map((tile) => tile.querySelector("text").textContent)"""
    )


def test_stops_and_switches_of_the_shuffle_report_what_ropelib_gives(built_book, widgets_on):
    from ropelib.widgets.token_shuffle import SENTENCES, swapped

    shuffle = find_widget(built_book, widgets_on, "TokenShuffle")
    for name, sentence in SENTENCES.items():
        choice = shuffle.control("sentence").get_by_role("radio", name=" ".join(sentence["words"]))
        choice.click()
        for switch in ("positions", "causal", "positions", "causal"):
            shuffle.control("original").click()
            orders = [("swap", swapped(name)), *(("shuffle", o) for o in sentence["shuffles"])]
            orders.append(("original", sorted(swapped(name))))
            for button, order in orders:
                shuffle.control(button).click()
                shuffle.frames()
                inputs = {"sentence": name, "order": order}
                inputs |= {s: shuffle.control(s).is_checked() for s in ("positions", "causal")}
                assert wrong_readouts(shuffle, inputs) == [], button
                shuffle.still()
                assert words_of(shuffle) == [sentence["words"][word] for word in order]
                moved = button != "original" and (inputs["positions"] or inputs["causal"])
                statuses = shuffle.host.locator(".rope-tokens-status").all_text_contents()
                assert ("changed" in statuses) == moved
            shuffle.control(switch).click()


def test_keys_and_pointer_move_a_word_and_the_focus_goes_with_it(built_book, widgets_on):
    shuffle = find_widget(built_book, widgets_on, "TokenShuffle")
    state = {"sentence": "chinese", "order": [0, 1, 2], "positions": True, "causal": False}
    shuffle.control("original").click()
    shuffle.control("positions").click()
    shuffle.control("tile_0").focus()
    for key, order, place in [
        ("ArrowRight", [1, 0, 2], 1),
        ("ArrowRight", [1, 2, 0], 2),
        ("ArrowRight", [1, 2, 0], 2),
        ("ArrowLeft", [1, 0, 2], 1),
        ("Home", [0, 1, 2], 0),
        ("End", [1, 2, 0], 2),
    ]:
        shuffle.page.keyboard.press(key)
        shuffle.frames()
        assert wrong_readouts(shuffle, state | {"order": order}) == [], key
        focused = shuffle.page.evaluate("document.activeElement.dataset.control")
        assert focused == f"tile_{place}"
    shuffle.reveal("tile_0")
    start, end = shuffle.center("tile_0"), shuffle.center("tile_2")
    drag(shuffle.page, start, [end[0] + 20, end[1] + 40])
    shuffle.still()
    assert words_of(shuffle) == ["你", "我", "喜欢"]
    assert wrong_readouts(shuffle, state | {"order": [2, 0, 1]}) == []


def test_a_finger_drags_a_word_and_scrolls_beside_it(built_book, widgets_on):
    touch = {"size": PHONE, "has_touch": True, "is_mobile": True}
    shuffle = find_widget(built_book, widgets_on, "TokenShuffle", **touch)
    shuffle.control("original").tap()
    shuffle.reveal("tile_0")
    start, end = shuffle.center("tile_0"), shuffle.center("tile_2")
    drag(shuffle.page, start, [end[0], end[1] + 150], touch=True)
    shuffle.still()
    assert words_of(shuffle) == ["喜欢", "你", "我"]
    before = shuffle.page.evaluate("scrollY")
    drag(shuffle.page, [start[0], start[1] + 90], [start[0], start[1] - 60], touch=True)
    shuffle.page.wait_for_timeout(300)
    assert shuffle.page.evaluate("scrollY") > before + 50
    assert words_of(shuffle) == ["喜欢", "你", "我"]


def watched(widget, button, names, seconds):
    """Press a button and read some readouts in every frame that follows."""
    return widget.host.evaluate(
        """async (host, [button, names, seconds]) => {
          const nodes = names.map((name) => host.querySelector(`[data-report="${name}"]`));
          const read = () => nodes.map((node) => Number(node.dataset.value));
          const seen = [read()];
          host.querySelector(`[data-control="${button}"]`).click();
          const end = performance.now() + 1000 * seconds;
          while (performance.now() < end) {
            await new Promise((go) => requestAnimationFrame(go));
            seen.push(read());
          }
          return seen;
        }""",
        [button, names, seconds],
    )


def test_presets_set_what_they_name(built_book, widgets_on):
    from ropelib.widgets.frequency_clocks import PRESETS

    clocks = find_widget(built_book, widgets_on, "FrequencyClocks")
    for preset, values in PRESETS.items():
        disarrange(clocks)
        clocks.control(f"preset_{preset}").click()
        clocks.still()
        for name, value in values.items():
            assert clocks.report(name) == pytest.approx(value), (preset, name)
        pressed = {
            other: clocks.control(f"preset_{other}").get_attribute("aria-pressed")
            for other in PRESETS
        }
        assert pressed == {other: str(other == preset).lower() for other in PRESETS}
        assert wrong_readouts(clocks) == []


def test_arrow_keys_and_clicks_choose_the_pair(built_book, widgets_on):
    clocks = find_widget(built_book, widgets_on, "FrequencyClocks")
    dials = clocks.host.locator("[role=radio]")
    dials.nth(5).click()
    clocks.frames()
    assert clocks.report("pair") == 5
    clocks.page.mouse.move(0, 0)
    last = clocks.report("num_pairs") - 1
    expected = [("ArrowRight", 6), ("ArrowLeft", 5), ("End", last), ("Home", 0), ("ArrowLeft", 0)]
    for key, pair in expected:
        clocks.page.keyboard.press(key)
        clocks.frames()
        assert clocks.report("pair") == pair, key
        assert wrong_readouts(clocks) == []


def test_play_runs_until_it_is_paused(built_book, widgets_on):
    clocks = find_widget(built_book, widgets_on, "FrequencyClocks")
    frames = watched(clocks, "play", ["position"], seconds=0.6)
    positions = [position for (position,) in frames]
    assert positions == sorted(positions) and len(set(positions)) > 10
    clocks.control("play").click()
    clocks.frames()
    held = clocks.snapshot()
    assert not clocks.changes(held, seconds=0.4), "it ran on after pause"
    assert clocks.report("position") == round(clocks.report("position"))
    assert wrong_readouts(clocks) == []


@pytest.mark.parametrize("code", ["binary", "counter_waves", "transformer"])
def test_only_the_counters_curve_moves_with_the_position(built_book, widgets_on, code):
    explorer = find_widget(built_book, widgets_on, "SinusoidExplorer")
    explorer.control(f"code_{code}").click()
    held = {**vectors_of(explorer), "code": code}
    curve = explorer.host.locator(".rope-sinusoid-curve")
    explorer.slide(position=7 / 127, offset=65 / 128)  # from 7 on to 8
    before = explorer.report("inner"), curve.get_attribute("d")
    assert wrong_readouts(explorer, held) == []
    explorer.control("position").press("ArrowRight")
    explorer.frames()
    after = explorer.report("inner"), curve.get_attribute("d")
    assert wrong_readouts(explorer, held) == []
    if code == "binary":
        assert (before[0], after[0]) == (-1, 5) and before[1] != after[1]
    else:
        assert after[0] == pytest.approx(before[0], abs=1e-9) and before[1] == after[1]


def test_the_inner_product_stays_in_every_frame_of_a_walk(built_book, widgets_on):
    explorer = find_widget(built_book, widgets_on, "SinusoidExplorer")
    explorer.control("code_transformer").press("Enter")
    explorer.still()
    inner = explorer.report("inner")
    frames = watched(explorer, "walk_on", ["inner", "position", "other", "sin"], seconds=1.5)
    assert len({position for _, position, _, _ in frames}) > 10, "nothing moved"
    assert len({sin for *_, sin in frames}) > 10, "the hand stood still"
    assert all(abs(shown - inner) <= 1e-9 for shown, *_ in frames)
    assert len({round(other - position, 9) for _, position, other, _ in frames}) == 1


def test_a_code_with_fewer_hands_takes_the_last_of_them(built_book, widgets_on):
    explorer = find_widget(built_book, widgets_on, "SinusoidExplorer")
    for code, slowest in [("transformer", explorer.state["model_dim"] // 2 - 1), ("binary", 6)]:
        explorer.control(f"code_{code}").click()
        explorer.control("slowest_hand").click()
        explorer.frames()
        assert explorer.report("pair") == slowest
        explorer.control("code_counter_waves").click()
        explorer.frames()
        assert explorer.report("pair") == 6
        held = {**vectors_of(explorer), "code": "counter_waves"}
        assert wrong_readouts(explorer, held) == []


_LAYOUT_STOPS = {
    "both_interleaved": ("interleaved", "interleaved", False),
    "both_half": ("half", "half", False),
    "both_half_converted": ("half", "half", True),
    "one_of_each": ("interleaved", "half", False),
}


def test_stops_of_the_layouts_seat_q_and_k_as_they_say(built_book, widgets_on):
    pairs = find_widget(built_book, widgets_on, "LayoutPairs")
    held = vectors_of(pairs)
    for stop, (q_layout, k_layout, convert) in _LAYOUT_STOPS.items():
        pairs.control(stop).click()
        pairs.frames()
        assert pairs.control(stop).get_attribute("aria-pressed") == "true"
        assert pairs.control("convert").is_checked() == convert
        seated = {"q_layout": q_layout, "k_layout": k_layout, "convert": convert}
        assert wrong_readouts(pairs, held | seated) == [], stop
        frames = watched(pairs, "both_move", ["score", "n"], seconds=1.5)
        assert len({n for _, n in frames}) > 10, "nothing moved"
        scores = [score for score, _ in frames]
        assert (max(scores) - min(scores) > 0.5) == (q_layout != k_layout), stop
        pairs.control("both_move").click()
        pairs.frames()
    pairs.control("reset").click()
    pairs.still()
    assert wrong_readouts(pairs, held) == []


@pytest.mark.parametrize(
    ("way", "spins"), [("alone", False), ("turned", True), ("turned_back", False)]
)
def test_only_turned_values_make_the_output_spin(built_book, widgets_on, way, spins):
    head = find_widget(built_book, widgets_on, "ValueRotation")
    ways = head.control("values").locator("[role=radio]")
    ways.nth(["alone", "turned", "turned_back"].index(way)).click()
    head.frames()
    assert wrong_readouts(head, {"values": way}) == []
    frames = watched(head, "push_on", ["shift", "change"], seconds=1.5)
    assert len({shift for shift, _ in frames}) > 10, "nothing moved"
    changes = [change for _, change in frames]
    assert (max(changes) - min(changes) > 0.5) == spins
    assert spins or max(changes) < 1e-9


@pytest.mark.parametrize(
    ("kind", "button", "moved", "kept"),
    [
        ("RotationExplorer", "both_move", "m", "score"),
        ("RotationExplorer", "only_k_moves", "n", "m"),
        ("FrequencyClocks", "play", "position", "base"),
        ("ComplexProduct", "once_around", "w_angle", "z_length"),
        ("SinusoidExplorer", "walk_on", "position", "offset"),
        ("LayoutPairs", "both_move", "n", "reference"),
        ("ValueRotation", "push_on", "shift", "output_length"),
    ],
)
def test_reduced_motion_arrives_without_traveling(
    built_book, widgets_on, kind, button, moved, kept
):
    widget = find_widget(built_book, widgets_on, kind, reduced_motion="reduce")
    frames = watched(widget, button, [moved, kept], seconds=0.8)
    positions = [position for position, _ in frames]
    assert len(set(positions)) == 2, "a jump has two places: before and after"
    assert positions == sorted(positions)
    assert max(value for _, value in frames) - min(value for _, value in frames) <= 1e-9


# ---- themes, figures, search, failure ---------------------------------------------------------


def css_color(color):
    """`#1F2430` as Chromium writes it."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgb({red}, {green}, {blue})"


_COLORS = """() => ({
  widget: [...document.querySelectorAll(".rope-widget-host")].map((host) => ({
    ink: getComputedStyle(host.querySelector(".rope-widget")).color,
    page: getComputedStyle(host.querySelector(".rope-frame")).backgroundColor,
  })),
  figures: [...document.querySelectorAll(".rope-plot")]
    .map((plot) => plot._fullLayout?.font.color),
  ticks: [...document.querySelectorAll(".rope-plot .xtick text")]
    .map((node) => getComputedStyle(node).fill),
})"""


@pytest.mark.parametrize("name", CONTENT_PAGES)
def test_theme_switch_recolors_widgets_and_figures(built_book, chromium, name):
    from ropelib import palette

    context = chromium.new_context(offline=True, color_scheme="light")
    try:
        page, log = open_page(context, (built_book / name).as_uri())
        for _ in range(4):
            for theme, around in (("light", palette.LIGHT_PAGE), ("dark", palette.DARK_PAGE)):
                if page.evaluate("document.documentElement.dataset.theme") != theme:
                    continue
                page.wait_for_function(
                    "[...document.querySelectorAll('figure.rope-figure')].every("
                    "(figure) => figure.dataset.drawn === document.documentElement.dataset.theme)"
                )
                colors = page.evaluate(_COLORS)
                for widget in colors["widget"]:
                    assert widget["ink"] == css_color(around["ink"])
                    assert widget["page"] == css_color(around["page"])
                assert {color.lower() for color in colors["figures"]} <= {around["ink"].lower()}
                assert set(colors["ticks"]) <= {css_color(around["ink"])}
            page.locator(".theme-switch-button:visible").first.click()
        modes = page.evaluate("localStorage.getItem('theme') !== null")
        assert modes and log.complaints == []
    finally:
        context.close()


@pytest.mark.parametrize("name", CONTENT_PAGES)
def test_plotly_is_loaded_only_when_a_figure_comes_near(built_book, chromium, name):
    context = chromium.new_context(offline=True, viewport={"width": 1280, "height": 900})
    try:
        page, log = open_page(context, (built_book / name).as_uri(), settle=False)
        page.wait_for_timeout(300)
        places = page.evaluate(
            "[...document.querySelectorAll('figure.rope-figure')]"
            ".map((figure) => figure.getBoundingClientRect().top)"
        )
        loaded = [address for address in log.requests if "plotly" in address]
        assert bool(loaded) == any(top < 900 + 800 for top in places)
        if places:
            page.locator("figure.rope-figure").last.scroll_into_view_if_needed()
            page.locator("figure.rope-figure .main-svg").last.wait_for()
            assert sum("plotly" in address for address in log.requests) == 1
    finally:
        context.close()


def test_search_finds_the_chapter(built_book, chromium):
    context = chromium.new_context(offline=True, viewport={"width": 1280, "height": 900})
    try:
        page, log = open_page(context, (built_book / "index.html").as_uri())
        page.locator("button.search-button-field:visible").first.click()
        page.locator("input[name=q]:visible").fill("relativity")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search.html?q=relativity*")
        found = page.locator("#search-results a[href*='two_dimensions']").first
        found.click()
        page.wait_for_url("**/two_dimensions.html*")
        assert "dimensions" in page.locator("article h1").inner_text()
        assert (log.outside(), log.failed, log.complaints) == ([], [], [])
    finally:
        context.close()


@pytest.fixture
def tampered(built_book, tmp_path):
    """Return a function that writes a changed copy of a page beside links to everything else."""
    for entry in built_book.iterdir():
        if entry.name != "book":
            (tmp_path / entry.name).symlink_to(entry)

    def written(name, change):
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        source = (built_book / name).read_text("utf-8")
        pattern = r'<script type="application/vnd.jupyter.widget-state\+json">(.*?)</script>'
        stored = re.search(pattern, source, re.DOTALL)[1]
        state = json.loads(stored)
        change(state["state"])
        text = json.dumps(state).replace("</", "<\\/")
        target.write_text(source.replace(stored, text), encoding="utf-8")
        return target.as_uri()

    return written


def _lost(state):
    first = next(key for key, model in state.items() if "_esm" in model["state"])
    del state[first]


def _broken(state):
    first = next(model for model in state.values() if "_esm" in model["state"])
    first["state"]["_esm"] = (
        'export default { render() { throw new Error("broken on purpose"); } };'
    )


def _unreadable(state):
    first = next(model for model in state.values() if "_esm" in model["state"])
    first["state"]["_esm"] = "export default {"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_lost, "stores no state"),
        (_broken, "broken on purpose"),
        (_unreadable, "Unexpected end of input"),
    ],
)
def test_a_widget_that_cannot_start_says_so_in_its_place(
    built_book, chromium, tampered, change, reason
):
    name = max(
        CONTENT_PAGES,
        key=lambda page: (built_book / page).read_text("utf-8").count("widget-view+json"),
    )
    context = chromium.new_context(offline=True)
    try:
        page = context.new_page()
        log = listen(page)
        page.goto(tampered(name, change))
        failed = page.locator(".rope-widget-failed[role=alert]")
        failed.first.wait_for()
        assert failed.count() == 1
        assert "This widget could not start" in failed.inner_text()
        assert reason in failed.inner_text()
        assert failed.bounding_box()["height"] > 10
        # The others live.
        page.wait_for_function(
            "[...document.querySelectorAll('.rope-widget-host:not(.rope-widget-failed)')]"
            ".every((host) => host.querySelector('svg'))"
        )
        assert page.locator(".rope-widget-host").count() > 1
        assert any(reason in line for line in log.complaints)
    finally:
        context.close()
