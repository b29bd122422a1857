"""What a built page stores of its widgets: the states of those that it shows.

A notebook stores every widget that it ever made, with its JavaScript and its style sheet; a check
that makes ten widgets would weigh as much as ten pictures. In the book, each class of widgets has
its code in one file, `_static/widgets/NAME.js`, that `static_host.js` loads where it is needed.
"""

import hashlib
import json
import re
from pathlib import Path

from sphinx.util import logging

STATE_MIME = "application/vnd.jupyter.widget-state+json"
CODE = ("_esm", "_css")
logger = logging.getLogger(__name__)


def shown_states(states: dict, shown: set[str]) -> dict:
    """Return the widget states that a page needs: those shown, and those that they refer to.

    Args:
        states: model id -> state, as a notebook's metadata has it.
        shown: ids of the models that the page shows.
    """
    needed, found = set(), shown & set(states)
    while found:
        needed |= found
        text = json.dumps([states[model] for model in found])
        found = (set(re.findall(r"IPY_MODEL_(\w+)", text)) & set(states)) - needed
    return {model: state for model, state in states.items() if model in needed}


def without_layouts(states: dict) -> dict:
    """Return widget states without those of Jupyter's layouts, which a page mounts nowhere."""
    return {
        model: stored
        for model, stored in states.items()
        if stored.get("model_name") != "LayoutModel"
    }


def without_code(states: dict) -> tuple[dict, dict[str, str]]:
    """Return widget states that name their code instead of holding it, and that code by file.

    A file's text is a classic script, which pages may load from disk: it gives its own element the
    module and the style sheet.

    Args:
        states: model id -> state, as a notebook's metadata has it.
    """
    slim, files = {}, {}
    for model, stored in states.items():
        state = stored["state"]
        if "_esm" in state:
            name = state["_anywidget_id"].rpartition(".")[2]
            code = {key: state[key] for key in CODE if key in state}
            text = f"document.currentScript.source = {json.dumps(code, ensure_ascii=False)};\n"
            files[f"{name}.js"] = text
            version = hashlib.sha256(text.encode()).hexdigest()[:8]
            state = {key: value for key, value in state.items() if key not in CODE}
            stored = {**stored, "state": {**state, "_source": f"{name}.js?v={version}"}}
        slim[model] = stored
    return slim, files


def setup(app):
    """Register with Sphinx what happens to the states of a page."""
    written = {}

    def keep(app, page, template, context, doctree):
        shown = set(re.findall(r'"model_id": "(\w+)"', context.get("body") or ""))
        for script in context.get("script_files", ()):
            attributes = getattr(script, "attributes", {})
            if attributes.get("type") == STATE_MIME:
                stored = json.loads(attributes["body"])
                states = without_layouts(shown_states(stored["state"], shown))
                stored["state"], files = without_code(states)
                attributes["body"] = json.dumps(stored).replace("</", r"<\/")
                for name, text in files.items():
                    if written.setdefault(name, text) != text:
                        sentence = f"{name}: notebooks bring different code; run them all anew"
                        logger.warning(sentence, location=page, type="ropebook", subtype="widget")
                    target = Path(app.outdir) / "_static" / "widgets" / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_text(text, encoding="utf-8")

    app.connect("html-page-context", keep, priority=900)  # after myst-nb's scripts
