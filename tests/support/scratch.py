"""A page with widgets and nothing else, mounted by the book's own script: it needs no book."""

import json
import re
from pathlib import Path

from samples import SAMPLES

import ropebook.widgets
from ropebook.exercises.definitions import DEFINITIONS
from ropebook.widgets import Asking, base

ROOT = Path(__file__).parents[2]
_HOST = ROOT / "book/_static/static_host.js"
# Beside what a reader gets, tests set traits as Python would, take the widget off its page, and
# learn which traits it has asked for or set.
_HOOK = """
export default { render(view) {
  const { model } = Object.assign(window, { model: view.model, touched: new Set() });
  view.el.model = model;
  for (const use of ["get", "set"]) {
    const plain = model[use];
    model[use] = (name, ...value) => (touched.add(name), plain.call(model, name, ...value));
  }
  return (window.unmount = underTest.render(view));
} };
"""


def widget_classes():
    """Every picture found on disk, by its folder: `{"rotation_explorer": ...}`."""
    return {name: cls for name, cls in _classes().items() if not issubclass(cls, Asking)}


def asking_classes():
    """Every widget found on disk that asks: no picture, no numbers, made of a definition."""
    return {name: cls for name, cls in _classes().items() if issubclass(cls, Asking)}


def made(name, **traits):
    """A widget of a folder; one that asks has the first sample that it may show."""
    cls = _classes()[name]
    if issubclass(cls, Asking) and "definition" not in traits:
        traits["definition"] = next(
            one.told() for one in SAMPLES if one.told()["kind"] in cls.kinds
        )
    return cls(**traits)


def boxes():
    """Every exercise that asks, those of the book and samples of every kind, with its widget."""
    classes = asking_classes().values()
    every = [(one, one.told()) for one in (*DEFINITIONS.values(), *SAMPLES)]
    return [(one, cls(told)) for one, told in every for cls in classes if told["kind"] in cls.kinds]


def _classes():
    stems = sorted(path.parent.name for path in Path(base.__file__).parent.glob("*/widget.py"))
    return {
        stem: getattr(ropebook.widgets, "".join(map(str.capitalize, stem.split("_"))))
        for stem in stems
    }


def folder_of(name):
    """The folder of a widget's class: `"RotationExplorer"` stands in `"rotation_explorer"`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def page_of(*widgets):
    """Return the HTML of a page, as the book's build writes it, for widgets in their present state.

    In the page, `model` is the model of the widget mounted last, `touched` the traits that it has
    read or set, and `unmount()` takes it down; every widget's own model is its host's `model`.
    """
    mime = "application/vnd.jupyter.widget-{}+json"
    stored = {str(i): _stored(widget) for i, widget in enumerate(widgets)}
    views = [f'<script type="{mime.format("view")}">{{"model_id": "{i}"}}</script>' for i in stored]
    text = json.dumps({"state": stored}, sort_keys=True).replace("</", "<\\/")
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Scratch</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ margin: 12px; background: var(--rope-page); color: var(--rope-ink) }}</style>
<body><main><h1>Scratch</h1>
{"".join(views)}</main>
<script type="{mime.format("state")}">{text}</script>
<script defer src="{_HOST.as_uri()}"></script></body></html>"""


def _stored(widget):
    state = {k: v for k, v in widget.get_state().items() if not str(v).startswith("IPY_MODEL_")}
    code, found = re.subn("^export default ", "const underTest = ", state["_esm"], flags=re.M)
    assert found == 1, "a bundle has one default export"
    return {"model_name": "AnyModel", "state": state | {"_esm": code + _HOOK}}
