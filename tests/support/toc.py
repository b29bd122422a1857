"""What _toc.yml lists, read before anything is built, so that tests can be named after it."""

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def _files(entry) -> list[str]:
    if isinstance(entry, list):
        return [file for part in entry for file in _files(part)]
    own = [entry[key] for key in ("root", "file") if key in entry]
    lists = [entry[key] for key in ("parts", "chapters", "sections", "entries") if key in entry]
    return own + [file for part in lists for file in _files(part)]


FILES = _files(yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8")))
NOTEBOOKS = [f"{file}.ipynb" for file in FILES if (ROOT / f"{file}.ipynb").exists()]
TEXT_NOTEBOOKS = [
    f"{file}.md"
    for file in FILES
    if (ROOT / f"{file}.md").exists() and "{code-cell}" in (ROOT / f"{file}.md").read_text("utf-8")
]
# Sphinx adds an index and a search page, and Jupyter Book a redirect to the first page.
CONTENT_PAGES = [f"{file}.html" for file in FILES]
PAGES = [*CONTENT_PAGES, "index.html", "genindex.html", "search.html"]
