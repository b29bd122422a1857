"""The widgets' Python side, and (by way of node) their pure JavaScript."""

import math
import re
import subprocess
import sys

import pytest
import torch
import traitlets

pytest.importorskip("anywidget")

import javascript
from javascript import WIDGETS

from ropebook.widgets import ComplexProduct, FrequencyClocks, RotationExplorer, base
from ropebook.widgets.bundle import bundle
from ropebook.widgets.frequency_clocks.widget import PRESETS
from ropelib import apply_rotary, cos_sin, inv_freq

CLASSES = {
    "rotation_explorer": RotationExplorer,
    "frequency_clocks": FrequencyClocks,
    "complex_product": ComplexProduct,
}


def rotation(angle):
    c, s = math.cos(angle), math.sin(angle)
    return torch.tensor([[c, -s], [s, c]], dtype=torch.float64)


@pytest.mark.parametrize("name", CLASSES)
def test_words_stand_in_the_table_only(name):
    source = (WIDGETS / f"{name}/widget.js").read_text("utf-8")
    table, code = re.fullmatch(r"(.*?^};\n)(.*)", source, re.DOTALL | re.MULTILINE).groups()
    assert "const WORDS = {" in table
    used = {"title", *re.findall(r"\bwords\.(\w+)", code)}  # the frame reads the title
    listed = set(re.findall(r"^    (\w+):", table, re.MULTILINE))
    assert used == listed


@pytest.mark.parametrize("name", CLASSES)
def test_every_synced_trait_is_read_by_the_picture(name):
    source = bundle(name)
    own = set(CLASSES[name]().keys) - set(base.RopeWidget().keys)
    own.discard("preset")  # the picture writes it; it recognizes presets by their values
    for trait in own:
        assert f'"{trait}"' in source or f"{trait}:" in source, trait


def test_importing_ropelib_loads_no_widget():
    code = "import sys, ropelib; assert 'anywidget' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- rotation explorer ----


@pytest.mark.parametrize(("theta", "m", "n"), [(0.5, 3, 7), (0.0, 24, 0), (math.pi, 1, 24)])
def test_explorer_reports_what_explicit_matrices_give(theta, m, n):
    explorer = RotationExplorer(theta=theta, m=m, n=n, q=[0.3, -1.7], k=[1.1, 0.2])
    q_m = rotation(m * theta) @ torch.tensor(explorer.q, dtype=torch.float64)
    k_n = rotation(n * theta) @ torch.tensor(explorer.k, dtype=torch.float64)
    torch.testing.assert_close(torch.tensor(explorer.q_rotated, dtype=torch.float64), q_m)
    torch.testing.assert_close(torch.tensor(explorer.k_rotated, dtype=torch.float64), k_n)
    assert explorer.score == pytest.approx(float(q_m @ k_n), abs=1e-12)
    cosine = float(q_m @ k_n / (q_m.norm() * k_n.norm()))
    assert math.cos(explorer.angle_between) == pytest.approx(cosine, abs=1e-12)


def test_explorer_reports_what_ropelib_gives():
    explorer = RotationExplorer()
    turn = torch.tensor([math.pi / 6], dtype=torch.float64)
    tables = cos_sin([3], turn, dtype=torch.float64)
    q = torch.tensor([explorer.q], dtype=torch.float64)
    q_m = apply_rotary(q, *tables, layout="half")
    assert explorer.q_rotated == tuple(q_m[0].tolist())


def test_explorer_score_stays_when_both_move_and_changes_when_one_does():
    explorer = RotationExplorer()
    before = explorer.score
    explorer.m, explorer.n = explorer.m + 8, explorer.n + 8
    assert explorer.score == pytest.approx(before, abs=1e-12)
    explorer.n += 1
    assert abs(explorer.score - before) > 0.1


def test_explorer_starts_on_a_clear_score():
    explorer = RotationExplorer()
    assert (explorer.m, explorer.n, explorer.keep_distance) == (3, 7, False)
    assert abs(explorer.score) > 0.5


def test_angle_is_unknown_for_a_vector_of_length_zero():
    explorer = RotationExplorer(q=[0, 0])
    assert explorer.score == 0
    assert math.isnan(explorer.angle_between)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("theta", 7.0, r"theta must lie in \[0, pi\] rad per token, got 7.0"),
        ("theta", -0.1, r"theta must lie in \[0, pi\] rad per token, got -0.1"),
        ("theta", math.nan, r"theta must lie in \[0, pi\] rad per token, got nan"),
        ("m", 25, r"m must lie in \[0, 24\] tokens, got 25"),
        ("n", -1, r"n must lie in \[0, 24\] tokens, got -1"),
        ("q", [1.0], r"q must have two coordinates, got \[1.0\]"),
        ("k", [2.0, 0.1], r"k must have length at most 2, got \[2.0, 0.1\]"),
        ("k", [math.nan, 0.1], r"k must have length at most 2, got \[nan, 0.1\]"),
    ],
)
def test_explorer_refuses(name, value, message):
    with pytest.raises(traitlets.TraitError, match=message):
        RotationExplorer(**{name: value})
    explorer = RotationExplorer()
    before = getattr(explorer, name)
    with pytest.raises(traitlets.TraitError, match=message):
        setattr(explorer, name, value)
    assert getattr(explorer, name) == before


@pytest.mark.parametrize(("name", "value"), [("theta", math.pi), ("m", 24), ("q", [2, 0])])
def test_explorer_takes_the_edge_of_each_rule(name, value):
    assert getattr(RotationExplorer(**{name: value}), name) == value


# ---- frequency clocks ----


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
    with pytest.raises(traitlets.TraitError, match=message):
        FrequencyClocks(**{name: value})
    clocks = FrequencyClocks()
    before = getattr(clocks, name)
    with pytest.raises(traitlets.TraitError, match=message):
        setattr(clocks, name, value)
    assert getattr(clocks, name) == before


def test_python_hears_of_every_change():
    heard = []
    explorer = RotationExplorer()
    explorer.observe(lambda change: heard.append(change["new"]), "theta")
    explorer.theta = 1.0
    assert heard == [1.0]


# ---- JavaScript ----


JAVASCRIPT = [path.relative_to(WIDGETS).as_posix() for path in sorted(WIDGETS.glob("*/*.js"))]


@pytest.mark.parametrize("name", JAVASCRIPT)
def test_pure_javascript_functions(name):
    file = (WIDGETS / name).with_suffix(".test.mjs")
    assert file.exists(), "every JavaScript file has its tests beside it"
    command = [javascript.node(), "--test", file]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
