"""SinusoidExplorer's Python side: positions as clock readings, and their dot products."""

import math

import pytest
import torch
import traitlets

pytest.importorskip("anywidget")

from browser import watched
from oracles import Oracle, held_by, wrong_readouts
from refusals import assert_refused

from ropebook.widgets import SinusoidExplorer
from ropebook.widgets.sinusoid_explorer.widget import CODES
from ropelib import inv_freq
from ropelib.encodings.sinusoidal import sinusoids
from ropelib.frequencies import wavelength


def test_it_starts_as_the_transformers_code_on_a_bump():
    explorer = SinusoidExplorer()
    assert (explorer.code, explorer.position, explorer.offset) == ("transformer", 20, 5)
    assert (explorer.pair, explorer.model_dim, explorer.base) == (3, 32, 10_000.0)
    assert explorer.inner == pytest.approx(11.777382878638058, abs=1e-12)
    explorer.offset = 4
    assert explorer.inner < 11.777


def test_the_transformers_rows_are_those_of_the_encoding():
    explorer = SinusoidExplorer(model_dim=64, base=500.0)
    positions = torch.arange(-64, 192)
    expected = sinusoids(positions, 64, base=500.0, dtype=torch.float64)
    assert torch.equal(explorer.codes(positions), expected)
    assert torch.equal(explorer.inv_freq, inv_freq(64, 500.0))


def test_rows_equal_the_papers_formula_entry_by_entry():
    codes = SinusoidExplorer(model_dim=32).codes([0, 7, 127])
    for row, position in zip(codes, (0, 7, 127), strict=True):
        for i in range(16):
            angle = position / 10_000 ** (2 * i / 32)
            assert row[2 * i] == pytest.approx(math.sin(angle), abs=1e-12)
            assert row[2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-12)


def test_bits_count_and_wrap_around():
    counter = SinusoidExplorer(code="binary")
    rows = counter.codes(torch.arange(-64, 192))
    for position, row in zip(range(-64, 192), rows, strict=True):
        digits = f"{position % 128:07b}"[::-1]
        assert row.tolist() == [2.0 * int(digit) - 1 for digit in digits]


def test_the_counters_waves_have_its_periods():
    waves = SinusoidExplorer(code="counter_waves")
    assert waves.wavelengths.tolist() == pytest.approx([2, 4, 8, 16, 32, 64, 128])
    rows = waves.codes(torch.arange(256))
    assert rows[1, 2:4].tolist() == pytest.approx([1, 0])  # a quarter turn: sine first, then cosine
    for i, period in enumerate((2, 4, 8, 16, 32, 64, 128)):
        pair = rows[:, 2 * i : 2 * i + 2]
        torch.testing.assert_close(pair[period:], pair[:-period])
        assert (pair[period // 2 :] - pair[: -(period // 2)]).abs().max() > 0.5


@pytest.mark.parametrize("code", CODES)
def test_only_the_counters_curve_depends_on_the_position(code):
    explorer = SinusoidExplorer(code=code, position=7)
    before = explorer.curve
    explorer.position = 8
    moved = (explorer.curve - before).abs().max()
    assert moved > 5 if code == "binary" else moved < 1e-9
    assert before[64] == pytest.approx(explorer.num_pairs)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(("position", "offset"), [(20, 5), (127, 64), (0, -64), (7, 1)])
def test_the_curve_and_the_range_hold_the_inner_product(code, position, offset):
    explorer = SinusoidExplorer(code=code, position=position, offset=offset)
    assert explorer.other == position + offset
    assert float(explorer.curve[64 + offset]) == pytest.approx(explorer.inner, abs=1e-12)
    low, high = explorer.elsewhere
    assert low - 1e-9 <= explorer.inner <= high + 1e-9
    if code != "binary":
        assert high - low < 1e-9
        expected = torch.cos(offset * explorer.inv_freq).sum()
        assert explorer.inner == pytest.approx(float(expected), abs=1e-9)


def test_seven_to_eight_flips_four_bits():
    counter = SinusoidExplorer(code="binary", position=7, offset=1)
    assert (counter.inner, counter.elsewhere) == (-1.0, (-7.0, 5.0))


def test_the_turn_is_offset_times_frequency():
    explorer = SinusoidExplorer(offset=-5, pair=4)
    assert explorer.turn == pytest.approx(-0.5, abs=1e-12)


def test_a_code_with_fewer_hands_takes_the_last_of_them():
    explorer = SinusoidExplorer(pair=12)
    explorer.code = "binary"
    assert (explorer.pair, explorer.num_pairs) == (6, 7)
    explorer.code = "transformer"
    explorer.pair = 15
    explorer.model_dim = 8
    assert explorer.pair == 3


def test_a_picture_may_send_code_and_pair_together():
    explorer = SinusoidExplorer(code="binary", pair=6)
    explorer.set_state({"pair": 12, "code": "transformer"})
    assert (explorer.code, explorer.pair) == ("transformer", 12)
    explorer.set_state({"pair": 5, "code": "counter_waves"})
    assert (explorer.code, explorer.pair) == ("counter_waves", 5)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("code", "gray", "code must be one of binary, counter_waves, transformer, got 'gray'"),
        ("position", 128, r"position must lie in \[0, 127\] tokens, got 128"),
        ("position", -1, r"position must lie in \[0, 127\] tokens, got -1"),
        ("offset", 65, r"offset must lie in \[-64, 64\] tokens, got 65"),
        ("offset", -65, r"offset must lie in \[-64, 64\] tokens, got -65"),
        ("pair", 16, r"pair must lie in \[0, 15\] for this code, got 16"),
        ("pair", -1, r"pair must lie in \[0, 15\] for this code, got -1"),
        ("model_dim", 7, r"model_dim must be even and lie in \[4, 128\], got 7"),
        ("model_dim", 130, r"model_dim must be even and lie in \[4, 128\], got 130"),
        ("base", 0.0, "base must be finite and greater than 0, got 0.0"),
        ("base", math.nan, "base must be finite and greater than 0, got nan"),
    ],
)
def test_it_refuses(name, value, message):
    assert_refused(SinusoidExplorer, name, value, message)


def test_bits_have_no_eighth():
    with pytest.raises(traitlets.TraitError, match=r"pair must lie in \[0, 6\]"):
        SinusoidExplorer(code="binary", pair=7)


# ---- what it must report ----


def answers(inputs):
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


ORACLE = Oracle(answers, held=("code", "model_dim"), wide_ranging="wavelength|inv_freq")


# ---- what it does when it is moved ----


@pytest.mark.parametrize("code", ["binary", "counter_waves", "transformer"])
def test_only_the_counters_curve_moves_with_the_position(on_scratch, code):
    explorer = on_scratch("sinusoid_explorer")
    explorer.control(f"code_{code}").click()
    held = {**held_by(explorer), "code": code}
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


def test_the_inner_product_stays_in_every_frame_of_a_walk(on_scratch):
    explorer = on_scratch("sinusoid_explorer")
    explorer.control("code_transformer").press("Enter")
    explorer.still()
    inner = explorer.report("inner")
    frames = watched(explorer, "walk_on", ["inner", "position", "other", "sin"], seconds=1.5)
    assert len({position for _, position, _, _ in frames}) > 10, "nothing moved"
    assert len({sin for *_, sin in frames}) > 10, "the hand stood still"
    assert all(abs(shown - inner) <= 1e-9 for shown, *_ in frames)
    assert len({round(other - position, 9) for _, position, other, _ in frames}) == 1


def test_the_picture_takes_the_last_hand_of_a_code_with_fewer(on_scratch):
    explorer = on_scratch("sinusoid_explorer")
    for code, slowest in [("transformer", explorer.state["model_dim"] // 2 - 1), ("binary", 6)]:
        explorer.control(f"code_{code}").click()
        explorer.control("slowest_hand").click()
        explorer.frames()
        assert explorer.report("pair") == slowest
        explorer.control("code_counter_waves").click()
        explorer.frames()
        assert explorer.report("pair") == 6
        held = {**held_by(explorer), "code": "counter_waves"}
        assert wrong_readouts(explorer, held) == []


def test_a_slider_that_changes_its_words_stays_a_slider(on_scratch):
    widget = on_scratch("sinusoid_explorer")
    slider = widget.page.locator("input[data-control=pair]")
    assert slider.aria_snapshot().startswith('- slider "pair"')
    widget.page.evaluate("model.set('code', 'binary')")
    widget.frames()
    assert slider.aria_snapshot().startswith('- slider "bit"')
