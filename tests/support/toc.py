"""What _toc.yml lists, read before anything is built, so that tests can be named after it."""

from pathlib import Path

from sphinx_external_toc.parsing import parse_toc_yaml

ROOT = Path(__file__).parents[2]
FILES = [*parse_toc_yaml(ROOT / "_toc.yml")]
NOTEBOOKS = [f"{file}.ipynb" for file in FILES if (ROOT / f"{file}.ipynb").exists()]
TEXT_NOTEBOOKS = [
    f"{file}.md"
    for file in FILES
    if (ROOT / f"{file}.md").exists() and "{code-cell}" in (ROOT / f"{file}.md").read_text("utf-8")
]
# Sphinx adds an index and a search page, and Jupyter Book a redirect to the first page.
CONTENT_PAGES = [f"{file}.html" for file in FILES]
PAGES = [*CONTENT_PAGES, "index.html", "genindex.html", "search.html"]
