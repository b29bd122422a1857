"""The frequency clocks: which hands never turn, presets, and what a reader's hands do."""

import math
import re

import pytest
import torch

pytest.importorskip("anywidget")

from browser import watched
from hands import disarrange
from oracles import Oracle, wrong_readouts
from refusals import assert_refused

from ropebook.widgets import FrequencyClocks
from ropebook.widgets.frequency_clocks.widget import PRESETS
from ropelib import inv_freq
from ropelib.frequencies import turns, wavelength


def test_clocks_start_as_roformer_with_half_the_hands_short_of_a_turn():
    clocks = FrequencyClocks()
    assert (clocks.preset, clocks.rotary_dim, clocks.base, clocks.context) == (
        "roformer",
        64,
        10_000.0,
        512,
    )
    assert clocks.never_turn == list(range(16, 32))


@pytest.mark.parametrize(("preset", "first", "pairs"), [("llama3", 35, 64), ("roformer", 16, 32)])
def test_clocks_report_what_the_definition_gives(preset, first, pairs):
    clocks = FrequencyClocks(preset=preset)
    expected = [2 * math.pi * clocks.base ** (2 * i / clocks.rotary_dim) for i in range(pairs)]
    torch.testing.assert_close(clocks.wavelengths, torch.tensor(expected, dtype=torch.float64))
    assert clocks.never_turn == list(range(first, pairs))
    assert torch.equal(clocks.inv_freq, inv_freq(clocks.rotary_dim, clocks.base))
    assert clocks.never_turn == (clocks.turns < 1).nonzero().flatten().tolist()


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_sets_its_three_values_now_and_later(name):
    late = FrequencyClocks(rotary_dim=8, base=7.0, context=9)
    heard = []
    late.observe(lambda change: heard.append(change["new"]), "preset")
    late.preset = name
    assert heard == [name]
    for clocks in (late, FrequencyClocks(preset=name)):
        values = {key: getattr(clocks, key) for key in PRESETS[name]}
        assert (values, clocks.preset) == (PRESETS[name], name)


def test_a_changed_value_leaves_the_preset_and_changing_it_back_returns():
    clocks = FrequencyClocks(preset="llama3")
    clocks.base = 10_000.0
    assert clocks.preset == "llama3_old_base"
    clocks.context = 4096
    assert clocks.preset == "custom"
    clocks.base, clocks.context = 500_000.0, 8192
    assert clocks.preset == "llama3"
    assert FrequencyClocks(preset="llama3", context=100).preset == "custom"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("rotary_dim", 7, r"rotary_dim must be even and lie in \[2, 256\], got 7"),
        ("rotary_dim", 258, r"rotary_dim must be even and lie in \[2, 256\], got 258"),
        ("rotary_dim", 0, r"rotary_dim must be even and lie in \[2, 256\], got 0"),
        ("base", 0.0, "base must be finite and greater than 0, got 0.0"),
        ("base", math.inf, "base must be finite and greater than 0, got inf"),
        ("context", 0, "context must be at least 1 token, got 0"),
        ("position", -1.0, "position must be finite and at least 0, got -1.0"),
        ("position", math.nan, "position must be finite and at least 0, got nan"),
        ("preset", "gpt", "preset must be one of roformer, .*, custom, got 'gpt'"),
    ],
)
def test_clocks_refuse(name, value, message):
    assert_refused(FrequencyClocks, name, value, message)


# ---- what it must report ----


def answers(inputs):
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


ORACLE = Oracle(
    answers,
    chosen=("pair",),
    scales={"base": lambda power: 10**power, "context": lambda power: 2**power},
    nearest={"base": 0.013},
    wide_ranging="wavelength|inv_freq|turns|^base$|^context$",
    angles=("pair_angle",),
    untold=("hand", "pair"),
)


# ---- what it does when it is moved ----


def test_presets_set_what_they_name(on_scratch):
    clocks = on_scratch("frequency_clocks")
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


@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_as_high_for_any_number_of_dials(on_scratch, width):
    clocks = on_scratch("frequency_clocks", (width, 844))
    heights = clocks.page.evaluate(
        """async () => {
          const heights = [];
          for (let rotary_dim = 2; rotary_dim <= 256; rotary_dim += 2) {
            model.set("rotary_dim", rotary_dim);
            await new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
            const shown = document.querySelectorAll("[role=radio]:not([style*=none])").length;
            heights.push([shown, document.querySelector(".rope-frame").offsetHeight]);
          }
          return heights;
        }"""
    )
    assert [dials for dials, _ in heights] == list(range(1, 129))
    assert len({height for _, height in heights}) == 1, heights


def test_arrow_keys_and_clicks_choose_the_pair(on_scratch):
    clocks = on_scratch("frequency_clocks")
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


def test_play_runs_until_it_is_paused(on_scratch):
    clocks = on_scratch("frequency_clocks")
    frames = watched(clocks, "play", ["position"], seconds=0.6)
    positions = [position for (position,) in frames]
    assert positions == sorted(positions) and len(set(positions)) > 10
    clocks.control("play").click()
    clocks.frames()
    held = clocks.snapshot()
    assert not clocks.changes(held, seconds=0.4), "it ran on after pause"
    assert clocks.report("position") == round(clocks.report("position"))
    assert wrong_readouts(clocks) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_the_sentence_tells_of_running_clocks_and_takes_no_other_room(on_scratch, width):
    clocks = on_scratch("frequency_clocks", (width, 844))
    seen = clocks.host.evaluate(
        """async (host) => {
          const read = () => [host.querySelector(".rope-lesson").textContent,
            host.querySelector(".rope-frame").offsetHeight];
          const seen = [read()];
          for (const pause of [false, true]) {
            host.querySelector('[data-control="play"]').click();
            await passFrames(pause ? 3 : 60);
            seen.push(read());
          }
          return seen;
        }"""
    )
    (before, *_), (running, _), (after, _) = seen
    assert len({height for _, height in seen}) == 1, seen
    assert before == after != running
    said = re.fullmatch(
        r"At token (\d+), hand 0 has made ([\d.]+) turns, hand (\d+) has made ([\d.·⁻⁰-⁹]+).",
        running,
    )
    token, fast, slowest = int(said[1]), float(said[2]), int(said[3])
    # The token is rounded, the turns have three digits.
    assert token > 0 and abs(fast - token / math.tau) <= 0.5 / math.tau + 0.005 * fast
    assert slowest == clocks.report("num_pairs") - 1
