"""What a reader can do on each page: the names of its bets, answer boxes, fill-ins and tasks.

The browser keeps what was done by name (`ropebook/widgets/kit/marks.js`). `_static/marks.js` says
which page has which names, so that any page can show how much of each is done (`done.js`).
"""

import json
import re
from pathlib import Path

from docutils import nodes
from myst_nb.sphinx_ import NbMetadataCollector

from ropebook.site.widgets import STATE_MIME, shown_states

_KEY = "rope_marks"
_VIEW = re.compile(r'"model_id": ?"(\w+)"')


def names(states: dict) -> list[str]:
    """Return the names that widgets can mark, each once, in the order of the states.

    Args:
        states: model id -> state, as a notebook's metadata has it.
    """
    found = []
    for stored in states.values():
        told = (stored["state"].get(key) for key in ("definition", "task"))
        found += [one["name"] for one in told if isinstance(one, dict) and one.get("name")]
    return list(dict.fromkeys(found))


def _collect(app, doctree):
    page = app.env.docname
    html = "".join(node.astext() for node in doctree.findall(nodes.raw))
    shown = set(_VIEW.findall(html))
    for _, attributes in NbMetadataCollector.get_js_files(app.env, page).values():
        if attributes.get("type") == STATE_MIME and shown:
            states = json.loads(attributes["body"])["state"]
            app.env.metadata[page][_KEY] = names(shown_states(states, shown))


def _write(app, error):
    if error is None and app.builder.format == "html":
        pages = sorted(app.env.found_docs)
        table = {page: app.env.metadata[page].get(_KEY) for page in pages}
        text = json.dumps({page: found for page, found in table.items() if found})
        target = Path(app.outdir) / "_static" / "marks.js"
        target.write_text(f"document.currentScript.table = {text};\n", encoding="utf-8")


def setup(app):
    """Register the table of marks with Sphinx."""
    app.connect("doctree-read", _collect)
    app.connect("build-finished", _write)
