"""The scaling explorer: its Python side, its JavaScript against ropelib, a link to any state."""

import math
import random
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
import torch

pytest.importorskip("anywidget")

import javascript
from browser import PAGE_TIME
from oracles import Oracle, wrong_readouts
from refusals import assert_refused
from scratch import page_of
from toc import ROOT

from ropebook.widgets import ScalingExplorer
from ropebook.widgets.scaling_explorer.widget import LIMITS, METHODS, PRESETS
from ropelib import scaling

STATE = ("method", "held", *LIMITS)
WORDS = ("method", "held")


def state_of(explorer):
    return {name: getattr(explorer, name) for name in STATE}


# ---- what a method does to the hands ----


def test_it_starts_on_yarn_that_keeps_every_hand_within_what_it_has_seen():
    explorer = ScalingExplorer()
    assert (explorer.method, explorer.held, explorer.factor) == ("yarn", "linear", 4.0)
    assert (explorer.outside, explorer.fell_short) == (0, 18)
    assert (explorer.slowed_in_vain, explorer.came_round) == (25, 46)
    assert explorer.attention_factor == pytest.approx(1 + 0.1 * math.log(4))


@pytest.mark.parametrize(
    ("method", "outside", "slowed_in_vain", "step"),
    [
        ("default", 18, 0, 1.0),
        ("linear", 0, 46, 0.25),
        ("ntk_aware", 17, 45, 1.0),
        ("ntk_fixed", 17, 46, 4 ** (-2 / 128)),
        ("ntk_by_parts", 0, 25, 1.0),
        ("yarn", 0, 25, 1.0),
        ("llama3", 0, 10, 1.0),
    ],
)
def test_methods_differ_in_whom_they_slow_down(method, outside, slowed_in_vain, step):
    explorer = ScalingExplorer(method=method)
    assert (explorer.outside, explorer.slowed_in_vain) == (outside, slowed_in_vain)
    assert explorer.inv_freq[0].item() == pytest.approx(step)


def test_ntk_aware_needs_a_higher_factor_than_the_length_it_is_asked_for():
    assert ScalingExplorer(**PRESETS["ntk_aware"]).outside == 0
    for factor in (4.0, 5.0, 6.0):
        assert ScalingExplorer(**{**PRESETS["ntk_aware"], "factor": factor}).outside > 0


def test_dynamic_ntk_stretches_by_the_present_length_and_not_before():
    short = ScalingExplorer(method="dynamic_ntk", new_length=4096)
    torch.testing.assert_close(short.stretch, torch.ones(64).double())
    grown = ScalingExplorer(method="dynamic_ntk", factor=1.0, new_length=16_384)
    torch.testing.assert_close(grown.inv_freq, ScalingExplorer(method="ntk_aware").inv_freq)


def test_a_new_base_and_hands_that_stand_still():
    raised = ScalingExplorer(**PRESETS["code_llama"])
    assert raised.equal_base == pytest.approx(1e6) and raised.outside == 0
    assert raised.stretch.max().item() == pytest.approx(100 ** (126 / 128))
    still = ScalingExplorer(method="proportional", share=0.7)
    assert (still.slowed_in_vain, still.outside) == (2, 0)
    nobody = ScalingExplorer(method="proportional", share=0.0)
    assert (nobody.equal_base, nobody.slowed_in_vain) == (None, 46)


def test_only_a_changed_base_is_the_same_as_another_base():
    bases = {name: ScalingExplorer(method=name).equal_base for name in METHODS}
    assert {name for name, base in bases.items() if base is not None} == {
        *("default", "ntk_aware", "dynamic_ntk", "raised_base")
    }
    assert bases["ntk_aware"] == pytest.approx(10_000 * 4 ** (128 / 126))


def test_every_corner_of_the_sliders_has_frequencies():
    for method in METHODS:
        for head_dim in LIMITS["head_dim"]:
            for base in LIMITS["base"]:
                for original_length in LIMITS["original_length"]:
                    explorer = ScalingExplorer(
                        method=method,
                        head_dim=head_dim,
                        base=base,
                        original_length=original_length,
                        factor=64.0,
                    )
                    assert explorer.inv_freq.isfinite().all()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("factor", 0.9, r"factor must lie in \[1, 64\], got 0.9"),
        ("base", 999.0, r"base must lie in \[1000, 1e\+08\], got 999.0"),
        ("new_base", 2e8, r"new_base must lie in \[1000, 1e\+08\], got 200000000.0"),
        ("head_dim", 63, r"head_dim must be even and lie in \[8, 256\], got 63"),
        ("original_length", 127, r"original_length must lie in \[128, 131072\], got 127"),
        ("new_length", 1_048_577, r"new_length must lie in \[128, 1048576\], got 1048577"),
        ("share", 1.01, r"share must lie in \[0, 1\], got 1.01"),
        ("held", "longrope", r"held must be one of default, .*raised_base, got 'longrope'"),
    ],
)
def test_it_refuses(name, value, message):
    assert_refused(ScalingExplorer, name, value, message)


# ---- the picture's numbers ----

_PROGRAM = """
const { scaledBy, smoothMeans, survey } = await import("./scaling_explorer/methods.js");
console.log(JSON.stringify(given.map((state) => {
  const { inverse, attentionFactor } = scaledBy(state.method, state);
  const { hands, ...told } = survey(state);
  return { inverse, attentionFactor, told, means: [...smoothMeans(inverse, 1000, 20)] };
})));
"""


def drawn(draw, method):
    """A state somewhere between the limits; every third on marks of the sliders."""
    spread = {
        "factor": 2 ** draw.uniform(0, 6),
        "base": 10 ** draw.uniform(3, 8),
        "new_base": 10 ** draw.uniform(3, 8),
        "head_dim": draw.randrange(8, 258, 2),
        "original_length": round(2 ** draw.uniform(7, 17)),
        "new_length": round(2 ** draw.uniform(7, 20)),
        "share": draw.uniform(0, 1),
    }
    if draw.random() < 1 / 3:
        spread |= {name: 2 ** round(math.log2(spread[name])) for name in ("factor", "new_length")}
        spread["original_length"] = 2 ** round(math.log2(spread["original_length"]))
    return {"method": method, "held": "default", **spread}


def test_every_formula_and_number_is_ropelibs_all_over_its_sliders():
    draw = random.Random(0)
    states = [drawn(draw, method) for method in METHODS for _ in range(40)]
    states += [state_of(ScalingExplorer(**preset)) for preset in PRESETS.values()]
    answers = javascript.run(_PROGRAM, states)
    for state, found in zip(states, answers, strict=True):
        explorer = ScalingExplorer(**state)
        inverse = torch.tensor(found["inverse"], dtype=torch.float64)
        torch.testing.assert_close(inverse, explorer.inv_freq, rtol=1e-12, atol=0.0)
        assert found["attentionFactor"] == pytest.approx(explorer.attention_factor, rel=1e-12)
        for name, expected in answers_of(explorer).items():
            shown = found["told"][name]
            shown = math.nan if shown is None else shown  # as JSON has it
            assert shown == pytest.approx(expected, rel=1e-9, nan_ok=True), (name, state)
        assert all(-1 - 1e-9 <= mean <= 1 + 1e-9 for mean in found["means"])


def test_the_methods_that_are_not_told_apart_by_a_picture_are_ropelibs_own_functions():
    explorer = ScalingExplorer(factor=8.0)
    turned = {"factor": 8.0, "original_max_seq_len": 4096}
    for name, options in {
        "ntk_fixed": {"factor": 8.0},
        "ntk_by_parts": turned,
        "yarn": turned,
        "llama3": {**turned, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    }.items():
        expected = getattr(scaling, name)(128, 10_000.0, **options)
        assert torch.equal(explorer.frequencies_of(name)[0], expected[0])
        assert explorer.frequencies_of(name)[1] == expected[1]


# ---- on a page ----


def test_readouts_are_ropelibs_at_every_method_and_stop(on_scratch):
    widget = on_scratch("scaling_explorer")
    for method in METHODS:
        widget.page.evaluate("(name) => model.set('method', name)", method)
        widget.still()
        assert wrong_readouts(widget, {"method": method, "held": "linear"}) == []
    for name, preset in PRESETS.items():
        widget.control(f"preset_{name}").click()
        widget.still()
        assert wrong_readouts(widget, {"held": "linear", **preset}) == [], name
        assert widget.control(f"preset_{name}").get_attribute("aria-pressed") == "true"


def test_a_ghost_is_held_and_let_go(on_scratch):
    widget = on_scratch("scaling_explorer")
    ghost = widget.host.locator("path.rope-scaling-held")

    def drawn_as():
        widget.still()
        kept = widget.page.evaluate("model.get('held')")
        return kept, [one.get_attribute("d") != "" for one in ghost.all()][:2]

    assert drawn_as() == ("linear", [True, True])
    widget.control("hold").click()
    assert drawn_as() == ("yarn", [False, False])
    widget.page.evaluate("model.set('method', 'llama3')")
    assert drawn_as() == ("yarn", [True, True])
    widget.control("hold").click()
    widget.control("hold").click()
    assert drawn_as() == ("default", [False, False])


# ---- any state is a link ----


def seen(page):
    """The state of the widget that was mounted last."""
    return page.evaluate("(names) => names.map((name) => model.get(name))", [*STATE])


def looks(widget):
    return widget.host.locator("svg").evaluate_all("(all) => all.map((one) => one.outerHTML)")


def settled(page, address=None):
    """Open an address, or the page's own once more, until its widgets stand and have drawn."""
    page.goto(address) if address else page.reload()
    page.wait_for_selector(".rope-widget-host .rope-widget")
    page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
    page.evaluate("whenDrawn()")


def test_a_link_brings_back_its_state_from_disk(on_scratch):
    widget = on_scratch("scaling_explorer")
    page = widget.page
    first = [state_of(ScalingExplorer())[name] for name in STATE]
    for traits in [drawn(random.Random(seed), METHODS[seed]) for seed in range(3)]:
        page.evaluate("(all) => { for (const name in all) model.set(name, all[name]) }", traits)
        widget.still()
        assert widget.control("link").get_attribute("aria-pressed") == "false"
        widget.control("link").click()
        widget.still()
        assert widget.control("link").get_attribute("aria-pressed") == "true"
        before = str(widget.reports()), looks(widget)
        assert page.url.startswith("file:") and "#scaling_explorer?method=" in page.url
        settled(page)
        assert seen(page) == [traits[name] for name in STATE]
        assert (str(widget.reports()), looks(widget)) == before
        ScalingExplorer(**dict(zip(STATE, seen(page), strict=True)))
    # Without its address the page is what it was.
    page.evaluate("history.replaceState(null, '', location.pathname)")
    settled(page)
    assert seen(page) == first


def test_a_link_brings_back_its_state_over_http(chromium, tmp_path):
    host = ROOT / "book/_static/static_host.js"
    text = page_of(ScalingExplorer()).replace(host.as_uri(), "/static_host.js")
    (tmp_path / "index.html").write_text(text, encoding="utf-8")
    (tmp_path / "static_host.js").write_bytes(host.read_bytes())
    handler = partial(Quiet, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        context = chromium.new_context()
        page = context.new_page()
        page.add_init_script(path=PAGE_TIME)
        asked = "method=llama3&factor=8&new_length=131072"
        settled(page, f"http://127.0.0.1:{server.server_port}/index.html#scaling_explorer?{asked}")
        traits = {"method": "llama3", "factor": 8, "new_length": 131_072}
        assert seen(page) == [*state_of(ScalingExplorer(**traits)).values()]
        context.close()
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    """A server that does not write what it is asked for."""

    def log_message(self, *arguments):
        """Write nothing."""


def test_a_link_within_the_page_is_obeyed_and_a_heading_is_left_alone(on_scratch):
    widget = on_scratch("scaling_explorer")
    page = widget.page
    page.evaluate(
        """() => {
          document.querySelector("h1").id = "scratch";
          document.querySelector("main").insertAdjacentHTML("beforeend",
            "<div style='height: 2000px'></div><a href='#scratch'>up</a>" +
            "<a href='#scaling_explorer?method=ntk_aware&factor=8'>there</a>");
        }"""
    )
    page.get_by_text("there").click()
    widget.still()
    assert seen(page)[:3] == ["ntk_aware", "linear", 8]
    top = "() => document.querySelector('.rope-widget').getBoundingClientRect().top"
    assert abs(page.evaluate(top)) < 1
    kept = widget.snapshot()
    page.get_by_text("up", exact=True).click()
    widget.still()
    assert page.url.endswith("#scratch") and page.evaluate("scrollY") < 100
    assert widget.snapshot() == kept


@pytest.mark.parametrize(
    "asked", ["factor=1000", "method=longrope", "speed=1", "method=linear&head_dim=63"]
)
def test_a_link_that_cannot_be_shown_changes_nothing_and_says_so(on_scratch, asked):
    widget = on_scratch("scaling_explorer")
    before = widget.snapshot()
    widget.page.evaluate("(asked) => { location.hash = `scaling_explorer?${asked}` }", asked)
    said = widget.host.get_by_text("asks for a state that does not exist")
    said.wait_for()
    assert widget.snapshot() == before
    widget.control("link").click()
    widget.still()
    assert said.count() == 0


def test_each_of_two_on_a_page_has_its_own_address(chromium, tmp_path):
    address = tmp_path / "index.html"
    address.write_text(page_of(ScalingExplorer(), ScalingExplorer()), encoding="utf-8")
    context = chromium.new_context(offline=True)
    page = context.new_page()
    page.add_init_script(path=PAGE_TIME)
    settled(page, f"{address.as_uri()}#scaling_explorer.2?method=llama3")
    pressed = "[aria-checked=true]"
    shown = [host.locator(pressed).inner_text() for host in page.locator(".rope-widget").all()]
    assert shown == ["YaRN", "Llama 3"]
    assert page.evaluate("scrollY") > 300, "the second is in sight"
    for index, name in enumerate(["scaling_explorer?", "scaling_explorer.2?"]):
        page.locator("[data-control=link]").nth(index).click()
        assert f"#{name}" in page.url
    context.close()


# ---- what it must report ----


def answers_of(explorer):
    return {
        "outside": explorer.outside,
        "fell_short": explorer.fell_short,
        "slowed_in_vain": explorer.slowed_in_vain,
        "came_round": explorer.came_round,
        "first_step_before": explorer.frequencies_of("default")[0][0].item(),
        "first_step": explorer.inv_freq[0].item(),
        "equal_base": explorer.equal_base or math.nan,
        "attention_factor": explorer.attention_factor,
    }


def answers(inputs):
    whole = ("head_dim", "original_length", "new_length")
    state = {name: inputs[name] for name in STATE if name in inputs}
    state |= {name: round(state[name]) for name in whole}
    return answers_of(ScalingExplorer(**state))


ORACLE = Oracle(
    answers,
    held=WORDS,
    scales={
        "factor": lambda power: float(f"{2**power:.3g}"),
        "original_length": lambda power: 2**power,
        "new_length": lambda power: 2**power,
        **dict.fromkeys(("base", "new_base"), lambda power: 10**power),
    },
    nearest={"base": 0.013, "new_base": 0.013},
    wide_ranging="base$|_length$",
)
