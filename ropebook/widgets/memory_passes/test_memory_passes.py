"""The counted passes: against PyTorch, which is asked what each step reads and writes."""

import json
import math
import re

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

pytest.importorskip("anywidget")

from browser import watched
from oracles import Oracle, held_by, wrong_readouts
from refusals import assert_refused

from ropebook.exercises import check
from ropebook.widgets import MemoryPasses
from ropebook.widgets.memory_passes.widget import (
    CLOCKS,
    SIZES,
    WAYS,
    expected_of,
    new_memory_of,
    passes_of,
)
from ropelib import apply_rotary, cos_sin, inv_freq


class Counted(TorchDispatchMode):
    """What each step that moves anything reads and writes, over the bytes of one tensor."""

    def __init__(self, unit):
        super().__init__()
        self.unit, self.steps = unit, []

    def __torch_dispatch__(self, step, types, args=(), kwargs=None):
        result = step(*args, **(kwargs or {}))
        if not step.is_view:
            self.steps.append((self.sizes((args, kwargs)), self.sizes(result)))
        return result

    def sizes(self, tree):
        found = [x.nbytes / self.unit for x in tree_leaves(tree) if isinstance(x, torch.Tensor)]
        return [size for size in found if size >= 0.25]  # tables, shared by all heads, are small


@pytest.fixture(scope="module")
def given():
    x = torch.randn(1, 32, 16, 128)
    cos, sin = (torch.cat((t, t), -1) for t in cos_sin(torch.arange(16), inv_freq(128)))
    return x, cos, sin


def test_line_by_line_it_reads_and_writes_what_pytorch_does(given):
    x, cos, sin = given
    names = {"cos": cos, "sin": sin, "cat": lambda *halves: torch.cat(halves, -1)}
    names |= {"x": x, "x1": x[..., :64], "x2": x[..., 64:]}
    for step in WAYS["steps"]:
        with Counted(x.nbytes) as counted:
            exec(step.code, {}, names)
        ((reads, (writes,)),) = counted.steps
        assert sorted(reads) == sorted(SIZES[name] for name in step.reads)
        assert writes == SIZES[step.writes] == names[step.writes].nbytes / x.nbytes
    half_cos, half_sin = cos[..., :64], sin[..., :64]
    wanted = apply_rotary(x, half_cos, half_sin, layout="half")
    torch.testing.assert_close(names["y"], wanted)


def test_compiled_each_line_reads_the_tensors_that_it_names(given):
    x, cos, sin = given
    names = {"cos": cos, "sin": sin, "cat": lambda *halves: torch.cat(halves, -1)}
    names |= {"x": x, "x1": x[..., :64], "x2": x[..., 64:]}
    for step in WAYS["compiled"]:
        target, code = step.code.split(" = ")
        read = {name[0] for name in re.findall(r"\w+", code) if name in SIZES}
        assert (set(step.reads), step.writes) == (read, target)
        exec(step.code, {}, names)
    wanted = apply_rotary(x, cos[..., :64], sin[..., :64], layout="half")
    torch.testing.assert_close(names["y"], wanted)


def test_the_sums_are_those_of_shipped_code(given):
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    x, cos, sin = given
    with Counted(x.nbytes) as counted:
        apply_rotary_pos_emb(x, x.clone(), cos[None], sin[None])
    both = sum(sum(reads) + sum(writes) for reads, writes in counted.steps)
    assert both - 2 == 2 * passes_of(WAYS["steps"]) == 20  # 2: the clone
    written = sum(sum(writes) for _, writes in counted.steps)
    assert written - 1 == 2 * new_memory_of(WAYS["steps"]) == 9


def test_a_way_is_told_by_its_passes_and_its_new_memory():
    sums = {way: (passes_of(steps), new_memory_of(steps)) for way, steps in WAYS.items()}
    assert sums == {
        "steps": (10, 4.5),
        "compiled": (5, 2),
        "fused": (2, 1),
        "in_place": (2, 0),
    }


@pytest.mark.parametrize(
    ("step", "passes", "new"), [(0, 0, 0), (1, 2, 1), (2, 3, 1.5), (3, 5, 2.5), (4, 7, 3.5)]
)
def test_sums_grow_line_by_line(step, passes, new):
    memory = MemoryPasses(step=step)
    assert (memory.passes, memory.new_memory) == (passes, new)


def test_half_the_passes_are_expected_and_a_price_for_what_is_new():
    assert [expected_of(steps) for steps in WAYS.values()] == [5, 2.5, 1, 1]
    assert [expected_of(steps, 2.0) for steps in WAYS.values()] == [14, 6.5, 3, 1]


def test_new_memory_costs_what_a_clone_took_longer():
    memory = MemoryPasses(step=5, clocks=CLOCKS | {"clone": [1.5, 3.5]})
    assert (memory.page_price, memory.counted["steps"]) == (0, 5)
    memory.fresh = True
    assert memory.page_price == 2
    assert memory.counted == {"steps": 14, "compiled": 6.5, "fused": 3, "in_place": 1}
    memory.clocks = CLOCKS | {"clone": [1.5, 1.4]}
    assert memory.counted["steps"] == 5, "no discount"


def test_a_way_has_its_recorded_time_once_it_is_done():
    memory = MemoryPasses(step=4, fresh=True)
    assert math.isnan(memory.recorded["steps"]) and memory.recorded["fused"] == CLOCKS["fused"][1]
    memory.set_trait("step", 5)
    assert memory.recorded["steps"] == CLOCKS["steps"][1]
    memory.fresh = False
    assert memory.recorded["steps"] == CLOCKS["steps"][0]


@pytest.mark.parametrize("pair", [None, [1.0], [1.0, 0.0], [1.0, math.nan], [1.0, "2"], 3.0])
def test_clocks_without_two_times_for_each_way_are_refused(pair):
    message = r"clocks must give two positive numbers for fused, got "
    assert_refused(MemoryPasses, "clocks", CLOCKS | {"fused": pair}, message)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("way", "twice", "way must be one of steps, compiled, fused, in_place, got 'twice'"),
        ("step", 6, r"step must lie in \[0, 5\], got 6"),
        ("step", -1, r"step must lie in \[0, 5\], got -1"),
    ],
)
def test_it_refuses(name, value, message):
    assert_refused(MemoryPasses, name, value, message)


# ---- what it must report ----


def answers(inputs):
    memory = MemoryPasses(**inputs)
    clocks = {f"counted_{way}": copies for way, copies in memory.counted.items()}
    clocks |= {f"recorded_{way}": copies for way, copies in memory.recorded.items()}
    return {"passes": memory.passes, "new_memory": memory.new_memory, **clocks}


ORACLE = Oracle(answers, held=("way", "step", "fresh", "clocks"))

# ---- what it does when it is moved ----

ASKED = MemoryPasses().asked
ANSWERED = json.dumps({ASKED: ["10"]})


def keep_answer(widget, value):
    widget.page.evaluate("(text) => { localStorage['rope-book:marks'] = text }", value)
    widget.page.reload()
    widget.still()


def told(widget):
    """The names of readouts that have a number."""
    return {name for name, ((value, _),) in widget.reports().items() if not math.isnan(value)}


def bar_of(widget, way):
    """How far the bar of a way reaches on the page, in pixels."""
    bars = widget.host.locator(".rope-passes > .rope-passes-clocks .rope-passes-clock").nth(
        list(WAYS).index(way)
    )
    return bars.evaluate(
        """(bar) => Math.max(...[...bar.querySelectorAll("g g rect")].map((part) =>
          Number(part.getAttribute("x")) + Number(part.getAttribute("width"))))"""
    )


def open_end(widget, way):
    """Where the bar of a way goes on untold, in pixels: from, to; and what stands there."""
    return (
        widget.host.locator(".rope-passes > .rope-passes-clocks .rope-passes-clock")
        .nth(list(WAYS).index(way))
        .evaluate(
            """(bar) => {
          const lines = bar.querySelector(".rope-passes-open").getAttribute("d");
          const numbers = (lines.match(/[\\d.]+/g) ?? []).map(Number);
          const text = bar.querySelector(".rope-passes-untold").textContent;
          return [numbers[0] ?? null, numbers[2] ?? null, text];
        }"""
        )
    )


def outlines(widget):
    """How wide the outline of each way is: 0 where all of it is not told."""
    return widget.host.locator(
        ".rope-passes > .rope-passes-clocks .rope-passes-whole"
    ).evaluate_all("(all) => all.map((node) => Number(node.getAttribute('width')))")


def test_the_box_that_it_waits_for_asks_for_its_passes():
    assert check(ASKED, passes_of(WAYS["steps"]))


@pytest.mark.parametrize("way", WAYS)
def test_each_state_reports_its_sums_once_the_box_is_answered(on_scratch, way):
    for step in range(len(WAYS[way]) + 1):
        fresh = step % 2 == 1
        widget = on_scratch("memory_passes", traits={"way": way, "step": step, "fresh": fresh})
        keep_answer(widget, ANSWERED)
        assert wrong_readouts(widget, held_by(widget)) == []


def test_until_the_box_is_answered_the_last_lines_are_not_summed(on_scratch):
    widget = on_scratch("memory_passes", traits={"step": 2})
    widget.control("on").click()  # from here on, bars are drawn in the page's fonts
    widget.still()
    passes = widget.host.locator("[data-report=passes]")
    counted = widget.host.locator("[data-report=counted_steps]")
    assert (passes.text_content(), counted.text_content()) == ("5", "2.5")
    longest = bar_of(widget, "steps")
    for _ in range(2):
        widget.control("on").click()
        widget.still()
        assert (passes.text_content(), counted.text_content()) == ("?", "?")
        assert bar_of(widget, "steps") == longest and not outlines(widget)[0]
        assert "recorded_steps" not in told(widget)
    widget.control("back").click()
    widget.still()
    picture = widget.host.locator("svg[role=img]")
    assert "reads ?" in picture.text_content() and "How many passes" in widget.host.text_content()
    event = "new CustomEvent('rope-mark', { bubbles: true, detail: { name, value: ['10'] } })"
    widget.page.evaluate(
        f"""(name) => {{
          localStorage["rope-book:marks"] = JSON.stringify({{ [name]: ["10"] }});
          document.body.dispatchEvent({event});
        }}""",
        ASKED,
    )
    widget.still()
    assert passes.text_content() == "7" and "?" not in picture.text_content()
    assert counted.text_content() == "3.5" and bar_of(widget, "steps") > longest
    assert outlines(widget)[0] > bar_of(widget, "steps")


@pytest.mark.parametrize("fresh", [False, True])
def test_until_the_box_is_answered_the_bar_has_an_open_end(on_scratch, fresh):
    """A bar that stood still at the third line would say that all lines take no longer."""
    widget = on_scratch("memory_passes", traits={"step": 0, "fresh": fresh})
    for step in range(len(WAYS["steps"]) + 1):
        begin, end, text = open_end(widget, "steps")
        assert begin == pytest.approx(bar_of(widget, "steps"), abs=0.01) and text == "?"
        assert end > 1.5 * begin
        assert [open_end(widget, way) for way in WAYS][1:] == [[None, None, ""]] * (len(WAYS) - 1)
        if step < len(WAYS["steps"]):
            widget.control("on").click()
            widget.still()
    assert widget.page.evaluate("model.get('step')") == len(WAYS["steps"])
    keep_answer(widget, ANSWERED)
    assert open_end(widget, "steps") == [None, None, ""]


def test_bars_grow_line_by_line_on_the_scale_of_the_longest_with_this_memory(on_scratch):
    widget = on_scratch("memory_passes", traits={"step": 0})
    keep_answer(widget, ANSWERED)
    seen = []
    for step in range(len(WAYS["steps"]) + 1):
        seen.append([bar_of(widget, way) for way in WAYS])
        copy = seen[1][list(WAYS).index("fused")] if step else 1
        wanted = [expected_of(WAYS[way][:step]) * copy for way in WAYS]
        assert seen[-1] == pytest.approx(wanted, abs=0.05)
        if step < len(WAYS["steps"]):
            widget.control("on").click()
            widget.still()
    widget.control("fresh").click()
    widget.still()
    price = CLOCKS["clone"][1] - CLOCKS["clone"][0]
    room = [
        max(
            *(told[fresh] for told in CLOCKS.values()),
            *(expected_of(s, paid) for s in WAYS.values()),
        )
        for fresh, paid in enumerate((0, price))
    ]
    copy *= room[0] / room[1]
    wanted = [expected_of(steps, price) * copy for steps in WAYS.values()]
    assert [bar_of(widget, way) for way in WAYS] == pytest.approx(wanted, abs=0.05)


def test_fresh_memory_is_told_in_the_sentence(on_scratch):
    widget = on_scratch("memory_passes", traits={"step": 5, "fresh": True})
    keep_answer(widget, ANSWERED)
    said = widget.host.locator(".rope-lesson")
    price = CLOCKS["clone"][1] - CLOCKS["clone"][0]
    assert f"Pages for 4½ x: {4.5 * price:.1f} copies more." in said.text_content()
    new = f"Pages for y: {price:.1f} copies"
    for way, sentence in [("fused", new), ("in place", "No page is new.")]:
        widget.host.get_by_role("radio", name=way, exact=True).click()
        widget.still()
        assert sentence in said.text_content()
    widget.control("fresh").click()
    widget.still()
    assert "page" not in said.text_content()


def test_paper_has_all_lines_and_the_clocks_at_their_ends(on_scratch):
    widget = on_scratch("memory_passes")
    paper = widget.host.locator(".rope-passes-paper")
    assert not paper.is_visible()
    widget.page.emulate_media(media="print")
    assert (
        not widget.host.locator("svg[role=img], .rope-lesson, button, input")
        .filter(visible=True)
        .count()
    )
    text = paper.inner_text()
    places = [text.index(step.code) for steps in WAYS.values() for step in steps]
    assert places == sorted(places)
    numbers = paper.locator(".rope-passes-lines > :nth-child(5n)").all_inner_texts()
    assert numbers == ["passes", "2", "3", "5", "7", "10", "2", "5", "2", "2"]
    ends = paper.locator(".rope-passes-clocks").all_inner_texts()
    price = CLOCKS["clone"][1] - CLOCKS["clone"][0]
    for fresh, end in enumerate(ends):
        expected = [expected_of(steps, price * fresh) for steps in WAYS.values()]
        pairs = zip(expected, [CLOCKS[way][fresh] for way in WAYS], strict=True)
        shown = [float(number) for number in re.findall(r"\d+\.\d", end)]
        # Within a tenth's rounding: a sum of 27.95 is 27.9 or 28.0, as its parts were added.
        assert shown == pytest.approx([one for pair in pairs for one in pair], abs=0.0501)
    assert len(ends) == 2


def test_arrow_keys_go_through_the_lines(on_scratch):
    widget = on_scratch("memory_passes")
    step = "model.get('step')"
    widget.control("on").focus()
    for key, then in [("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("ArrowLeft", 1)]:
        widget.page.keyboard.press(key)
        widget.still()
        assert widget.page.evaluate(step) == then


def test_a_line_that_is_pressed_is_carried_out(on_scratch):
    widget = on_scratch("memory_passes")
    words = widget.host.locator(".rope-passes-code")
    for line in (4, 2, 2):
        words.nth(line - 1).click(force=True)  # what is hit is the box behind the words
        widget.still()
        assert widget.page.evaluate("model.get('step')") == line
    lit = widget.host.locator(".rope-passes-lit[width='174']")
    assert lit.count() == 1 and "Line 2" in widget.host.locator(".rope-lesson").text_content()


def test_a_second_press_does_not_lose_a_line(on_scratch):
    widget = on_scratch("memory_passes", traits={"step": 0})
    for _ in range(2):
        widget.control("on").click()
    widget.still()
    assert widget.page.evaluate("model.get('step')") == 2


def test_play_carries_out_all_lines_and_nothing_plays_by_itself(on_scratch):
    widget = on_scratch("memory_passes")
    keep_answer(widget, ANSWERED)
    before = widget.snapshot()
    assert not widget.changes(before, seconds=0.5)
    frames = watched(widget, "play", ["new_memory"], seconds=6)
    widget.still()
    (values,) = zip(*frames, strict=True)
    assert list(values) == sorted(values) and widget.page.evaluate("model.get('step')") == 5
    widget.control("play").click()
    widget.frames()
    assert widget.reports()["new_memory"][0][0] < 4.5, "from the start again"


def test_on_a_phone_it_is_seen_as_a_whole(on_scratch):
    traits = {"task": "two passes and nothing new"}
    widget = on_scratch("memory_passes", (390, 844), traits=traits)
    assert widget.host.bounding_box()["height"] <= 720
    heights = widget.host.locator("button").evaluate_all(
        "(all) => all.map((node) => node.getBoundingClientRect().height)"
    )
    assert len(heights) == 3 + len(WAYS) and min(heights) >= 44
