"""What a page mounts: each widget's module and style sheet, made of its files and the kit's."""

import re
import statistics

import pytest

pytest.importorskip("anywidget")

import javascript
from javascript import WIDGETS
from scratch import asking_classes, made, widget_classes

from ropebook.widgets.base import RopeWidget
from ropebook.widgets.bundle import bundle, compact, joined, reached, stylesheet

CLASSES = widget_classes() | asking_classes()
KIT = "kit/kit.js"
OWN = "own/widget.js"
# And 10 kB for each file of its own beside widget.js; what judges answers brings their language.
MOST_BYTES, LANGUAGE_BYTES = 42_000, 10_000


@pytest.mark.parametrize("name", CLASSES)
def test_a_widget_carries_its_bundle_and_its_style(name):
    state = made(name).get_state()
    assert state["_esm"] == bundle(name)
    assert state["_css"] == stylesheet(name, CLASSES[name]._sheet)


@pytest.mark.parametrize("name", CLASSES)
def test_the_bundle_is_one_small_module_without_imports_or_addresses(name):
    source = bundle(name)
    assert not re.search(r"^\s*import\b|\bimport\(|\bfetch\(", source, re.MULTILINE)
    assert set(re.findall(r"https?://[^\"'\s]+", source)) <= {"http://www.w3.org/2000/svg"}
    parts = len([*(WIDGETS / name).glob("*.js")]) - 1
    language = LANGUAGE_BYTES if "function readExpression(" in source else 0
    assert len(source.encode()) < MOST_BYTES + language + 10_000 * parts


_RENDERS = """
const { default: widget } = await import("data:text/javascript," + encodeURIComponent(given));
console.log(JSON.stringify(typeof widget.render));
"""


@pytest.mark.parametrize("name", CLASSES)
def test_the_bundle_parses_as_a_module_that_renders(name):
    assert javascript.run(_RENDERS, bundle(name)) == "function"


JAVASCRIPT = [(path.parent.name, path.name) for path in sorted(WIDGETS.glob("*/*.js"))]


@pytest.mark.parametrize(("folder", "name"), JAVASCRIPT)
def test_pure_javascript_functions(folder, name):
    file = (WIDGETS / folder / name).with_suffix(".test.mjs")
    assert file.exists(), "every JavaScript file has its tests beside it"
    javascript.started("--test", file)


# ---- how files are joined ----


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
        joined(OWN, {KIT: "export const a = 1;\n", OWN: own})


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
        joined(OWN, sources)


def test_bundle_has_each_file_once_and_before_who_asks_for_it():
    kit = 'import { a } from "../kit/kit.js";\n'
    sources = {
        KIT: "export const a = 1;\n",
        "own/part.js": kit + "export function b() {}\n",
        OWN: kit + 'import { b } from "./part.js";\nexport default b;\n',
    }
    expected = "const a = 1;\nfunction b() {}\nexport default b;\n"
    assert joined(OWN, sources) == expected


def test_what_the_default_export_never_reaches_is_left_out():
    source = """// about a
const a = 1;

function used() {
  return a;
}
// about b
const b = {
  c: 2,
};
async function alone() {
  return alone(b);
}
class Kept extends used {}
export default { render: Kept };
"""
    kept = "const a = 1;\n\nfunction used() {\n  return a;\n}\nclass Kept extends used {}\n"
    assert reached(source) == kept + "export default { render: Kept };\n"


def test_what_is_no_declaration_is_kept_with_all_it_reaches():
    source = "const a = 1;\nconst { b } = a;\n[1].map(c);\nfunction c() {}\nexport default 1;\n"
    assert reached(source) == source


def test_a_bundle_without_a_default_export_is_refused():
    with pytest.raises(ValueError, match="must have a default export"):
        reached("export const a = 1;\n")


def test_a_compact_module_has_no_idle_lines_and_all_its_texts():
    source = "// a\nfunction a() {\n  // b\n\n  return `  // c`; // d\n}\n"
    assert compact(source) == "function a() {return `  // c`; // d\n}\n"
    with pytest.raises(ValueError, match="must end on its line, got 'const a = `b'"):
        compact("const a = `b\n  c`;\n")


# ---- style ----


@pytest.mark.parametrize("name", CLASSES)
def test_style_is_palette_then_rules_scoped_to_the_widget(name):
    css = CLASSES[name]._css
    assert css.startswith(":root { --rope-q:")
    rules = css.split("\n", 2)[2]
    kit, own = re.fullmatch(
        r"\.rope-widget\{(.*)\}\.rope-widget\.rope-widget\{(.*)\}", rules
    ).groups()
    assert (".rope-slider" in kit) != (name in asking_classes())
    assert "rope-widget" not in kit + own, "said once"
    for part in (kit, own):
        assert part.count("{") == part.count("}") > 0
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|\brgb", rules), "colors live in palette.py"


def test_a_widget_carries_the_rules_it_needs():
    sizes = {name: len(cls._css) for name, cls in CLASSES.items()}
    assert statistics.mean(sizes[name] for name in widget_classes()) < 13_000, sizes
    assert max(sizes[name] for name in asking_classes()) < 5_500, sizes


def test_every_class_of_a_sheet_is_given_to_some_node():
    """Its name stands in JavaScript, or begins there and ends with a value: `rope-tone-${x}`."""
    for sheet in sorted(WIDGETS.glob("*/*.css")):
        folder = "*" if sheet.parent.name == "kit" else sheet.parent.name
        kit = [*WIDGETS.glob("kit/*.js"), *WIDGETS.glob(f"{folder}/*.js")]
        code = "".join(path.read_text("utf-8") for path in kit)
        begun = tuple(set(re.findall(r"rope-[\w-]*(?=\$\{)", code)) - {"rope-"})
        for name in set(re.findall(r"\.(rope-[\w-]+)", sheet.read_text("utf-8"))):
            short = name.count("-") == 1  # rope-${name}: one word
            known = re.search(rf"\b{name}\b(?!-)", code) or name.startswith(begun)
            assert short or known, f"{sheet.parent.name}/{sheet.name}: .{name}"


@pytest.mark.parametrize(
    ("sheet", "message"),
    [
        ('@import "../kit/none.css";\n', "must import a sheet of the kit, got kit/none.css"),
        ('.a { color: red }\n@import url("x.css");\n', "must stand at its top, one to a line"),
        (".rope-widget a, .b { color: red }\n", r"must begin with \.rope-widget, got '\.b'"),
        (".rope-widgets { color: red }\n", r"must begin with \.rope-widget, got '\.rope-widgets'"),
    ],
)
def test_style_refuses_what_it_cannot_find(monkeypatch, sheet, message):
    sheets = {"kit/kit.css": "", "own/widget.css": sheet}
    monkeypatch.setattr("ropebook.widgets.bundle._sources", lambda suffix: sheets)
    with pytest.raises(ValueError, match=message):
        stylesheet("own")


def test_a_class_without_a_folder_has_its_parents_files():
    class Own(CLASSES["rotation_explorer"]):
        pass

    assert issubclass(Own, RopeWidget)
    assert Own().get_state()["_css"] == stylesheet("rotation_explorer")
