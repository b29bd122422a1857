"""A book of three pages with all that pages are made of: it needs no chapter and no kernel."""

import json
import re
import sys
from pathlib import Path

import nbformat
import yaml
from prepared import environment, run_logged
from toc import ROOT

from ropebook.site import PLOTLY_MIME
from ropebook.site.widgets import STATE_MIME

PARAGRAPH = "Words that take their place on the page, so that there is something to scroll. " * 12
# A widget that marks what it is named after, as bets and boxes do.
_BET = """
function render({ model, el }) {
  const name = model.get("definition").name;
  const button = document.createElement("button");
  button.dataset.bet = name;
  button.textContent = name;
  button.addEventListener("click", () => {
    const key = "rope-book:marks";
    const kept = JSON.parse(localStorage.getItem(key));
    localStorage.setItem(key, JSON.stringify({ ...kept, [name]: 1 }));
    const detail = { name, value: 1 };
    button.dispatchEvent(new CustomEvent("rope-mark", { bubbles: true, detail }));
  });
  el.append(button);
}
export default { render };
"""
_FIGURE = {
    "data": [{"type": "scatter", "x": [0, 1], "y": [0, 1]}],
    "layout": {"meta": {"alt": "a line that rises", "caption": "A line."}, "height": 300},
}


def _markdown(source, *tags):
    return nbformat.v4.new_markdown_cell(source, metadata={"tags": list(tags)} if tags else {})


def _code(source, *tags, output=None):
    outputs = []
    if isinstance(output, str):
        outputs = [nbformat.v4.new_output("stream", name="stdout", text=output)]
    elif output:
        outputs = [nbformat.v4.new_output("display_data", data=output)]
    return nbformat.v4.new_code_cell(
        source, metadata={"tags": list(tags)}, outputs=outputs, execution_count=1
    )


def _bet(number):
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": f"bet{number}"}}
    return _code("ask()", "remove-input", output=view)


def _states():
    own = {"_anywidget_id": "ropebook.widgets.Bet", "_esm": _BET, "_css": ".a { color: inherit }"}
    return {
        f"bet{n}": {
            "model_name": "AnyModel",
            "state": {**own, "definition": {"kind": "bet", "name": f"bet {n}"}},
        }
        for n in range(3)  # the third is made and never shown
    }


def _sections(names):
    return [_markdown(f"## {name}\n\n{PARAGRAPH}\n\n{PARAGRAPH}") for name in names]


def _notebook():
    cells = [
        _markdown(
            f"# One\n\n**The question.** What? See [a term](glossary.md#softmax).\n\n{PARAGRAPH}"
        ),
        _code("bare = 1", output="said by bare\n"),
        _code("lesson = 2", "lesson", output="said by lesson\n"),
        _code("folded_input = 3", "hide-input", output="said by folded input\n"),
        _code("check = 4", "hide-cell", output="said by check\n"),
        _code("silent = 5"),
        _bet(0),
        *_sections(["Alpha", "Beta"]),
        _markdown(f"## Fold\n\n{PARAGRAPH}", "deeper"),
        _markdown("### Inner place\n\nInside. $x^2$, and a [term](glossary.md#softmax)."),
        _bet(1),
        _markdown("### Inner fold\n\nFurther inside.", "deeper"),
        _code("figure", "hide-input", output={PLOTLY_MIME: _FIGURE}),
        *_sections(["Gamma", "Delta", "Epsilon"]),
    ]
    widgets = {STATE_MIME: {"state": _states(), "version_major": 2, "version_minor": 0}}
    kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
    return nbformat.v4.new_notebook(
        cells=cells, metadata={"widgets": widgets, "kernelspec": kernel}
    )


_INDEX = """# The small book

[One](one.ipynb), then [Two](two.md), and [One](one.ipynb) again.
"""
# Its anchor is that of a term, too, and means each on its own page.
_TWO = f"""# Two

Into the [inner place](one.ipynb#inner-place) of a fold, or the [inner fold](one.ipynb#inner-fold).

```console
$ pip install one
Successfully installed one
$ one --two
```

```pycon
>>> def one(x):
...     return x
>>> one({{
...     "a": 1,
... }})
what was printed
  ...
```

```yaml
steps:
  - run: one
```

{{#softmax .deeper}}
## A fold in Markdown

{PARAGRAPH}
"""
_TOC = {"format": "jb-book", "root": "index"}


def build(folder: Path, pages: dict | None = None) -> Path:
    """Build the book in an empty folder, every warning an error; return the folder of its HTML.

    Args:
        folder: where.
        pages: other texts than the book's own, and more of them, by file.

    Raises:
        RuntimeError: the build warns; the message is the log.
    """
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    config["execute"] = {"execute_notebooks": "off"}
    config["bibtex_bibfiles"] = ["references.bib"]
    config["title"] = "The small book"
    sphinx = config["sphinx"]
    for extension in ("ropebook.ledger_page", "ropebook.census.page"):
        sphinx["extra_extensions"].remove(extension)
    for key in ("templates_path", "html_static_path"):
        sphinx["config"][key] = [str(ROOT / path) for path in sphinx["config"][key]]
    sphinx["config"]["html_favicon"] = str(ROOT / sphinx["config"]["html_favicon"])
    # The book's own words, without the links to chapters, which are not here.
    glossary = (ROOT / "book/glossary.md").read_text("utf-8")
    glossary = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", glossary)
    files = dict.fromkeys(["one", "two", "glossary", *(name.split(".")[0] for name in pages or {})])
    toc = {**_TOC, "chapters": [{"file": name} for name in files if name != _TOC["root"]]}
    texts = {
        "index.md": _INDEX,
        "one.ipynb": nbformat.writes(_notebook()),
        "two.md": _TWO,
        "glossary.md": glossary,
        "references.bib": "",
        "_toc.yml": yaml.safe_dump(toc),
        "_config.yml": yaml.safe_dump(config, allow_unicode=True),
    }
    for name, text in (texts | (pages or {})).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    command = [
        Path(sys.executable).parent / "jupyter-book",
        "build",
        "-W",
        "-n",
        "--keep-going",
        ".",
    ]
    code, log = run_logged(command, folder, environment(), timeout=300)
    if code:
        raise RuntimeError(f"the small book does not build without warnings:\n{log}")
    return folder / "_build" / "html"


def tagged(source, kind="markdown"):
    """Return the text of a notebook of one page with one more cell, tagged `deeper`."""
    notebook = json.loads(nbformat.writes(_notebook()))
    notebook["cells"].append(
        {"cell_type": kind, "metadata": {"tags": ["deeper"]}, "source": source}
    )
    return json.dumps(notebook)
