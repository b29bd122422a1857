"""The widgets' Python side, their bundle, and (by way of node) their pure JavaScript."""

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


# ---- bundle ----


@pytest.mark.parametrize("name", CLASSES)
def test_bundle_is_one_small_module_without_imports(name):
    source = base.bundle(name)
    assert not re.search(r"^\s*import\b", source, re.MULTILINE)
    assert "export default { render };" in source
    assert "fetch(" not in source and "http://www.w3.org/2000/svg" in source
    assert re.findall(r"https?://[^\"'\s]+", source) == ["http://www.w3.org/2000/svg"]
    assert len(source.encode()) < 35_000
    assert CLASSES[name]._esm == source or str(CLASSES[name]._esm) == source


KIT = "kit/kit.js"
OWN = "own/widget.js"


@pytest.mark.parametrize(
    "line",
    [
        'import "../kit/kit.js";',
        'import whole from "../kit/kit.js";',
        'export { a } from "../kit/kit.js";',
        'export * from "../kit/kit.js";',
        'const late = await import("../kit/kit.js");',
        'import { a } from "https://example.org/kit.js";',
    ],
)
def test_bundle_refuses_any_other_import(line):
    own = f'import {{ a }} from "../kit/kit.js";\n{line}\n'
    with pytest.raises(ValueError, match=r"only names from a file .* got .* in own/widget\.js"):
        base._join(OWN, {KIT: "export const a = 1;\n", OWN: own})


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ('import { a as b } from "../kit/kit.js";\n', r"must keep their name, got \{a as b\}"),
        (
            'import { a } from "./other.js";\n',
            r"own/widget\.js must import from a file of .*, got \./other\.js",
        ),
        ('import { b } from "../kit/kit.js";\n', r"imports b, which kit/kit\.js does not export"),
        (
            'import { c } from "./ring.js";\n',
            r"must not import each other, got own/widget\.js in a circle",
        ),
        (
            'import { a } from "../kit/kit.js";\nconst d = 1;\n',
            r"declared once, got d in kit/kit\.js and own",
        ),
    ],
)
def test_bundle_refuses_what_would_break_in_the_page(own, message):
    sources = {KIT: "export const a = 1;\nconst d = 2;\n", OWN: f"{own}export const e = 1;\n"}
    sources["own/ring.js"] = 'import { e } from "./widget.js";\nexport const c = 1;\n'
    with pytest.raises(ValueError, match=message):
        base._join(OWN, sources)


def test_bundle_has_each_file_once_and_before_who_asks_for_it():
    kit = 'import { a } from "../kit/kit.js";\n'
    sources = {
        KIT: "export const a = 1;\n",
        "own/part.js": kit + "export function b() {}\n",
        OWN: kit + 'import { b } from "./part.js";\nexport default b;\n',
    }
    expected = "const a = 1;\nfunction b() {}\nexport default b;\n"
    assert base._join(OWN, sources) == expected


def test_style_is_palette_then_rules_scoped_to_the_widget():
    css = base.stylesheet()
    assert css.startswith(":root { --rope-q:")
    rules = (WIDGETS / "kit/kit.css").read_text("utf-8")
    selectors = re.findall(r"^\s*([^@\s{}][^{}]*)\{", rules, re.MULTILINE)
    assert len(selectors) > 50
    for selector in ",".join(selectors).split(","):
        assert selector.strip().startswith(".rope-widget"), selector
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|rgb", rules), "colors live in palette.py"


@pytest.mark.parametrize("name", CLASSES)
def test_words_stand_in_the_table_only(name):
    source = (WIDGETS / f"{name}/widget.js").read_text("utf-8")
    table, code = re.fullmatch(r"(.*?^};\n)(.*)", source, re.DOTALL | re.MULTILINE).groups()
    assert "const WORDS = {" in table
    used = set(re.findall(r"\bwords\.(\w+)", code))
    listed = set(re.findall(r"^    (\w+):", table, re.MULTILINE))
    assert used == listed


@pytest.mark.parametrize("name", CLASSES)
def test_every_synced_trait_is_read_by_the_picture(name):
    source = base.bundle(name)
    own = set(CLASSES[name]().keys) - set(base.RopeWidget().keys)
    own.discard("preset")  # the picture writes it; it recognizes presets by their values
    for trait in own:
        assert f'model.get("{trait}")' in source or f"{trait}:" in source, trait


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


@pytest.mark.parametrize("name", CLASSES)
def test_the_bundle_parses_as_a_module(name):
    program = (
        "let s='';process.stdin.on('data',d=>s+=d).on('end',async()=>{"
        "const m=await import('data:text/javascript,'+encodeURIComponent(s));"
        "if(typeof m.default.render!=='function')process.exit(1)})"
    )
    source = base.bundle(name)
    command = [javascript.node(), "-e", program]
    run = subprocess.run(command, input=source, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
