"""Where the links of the book's Markdown lead, read from its sources: no page need be built."""

import json
import re
from functools import cache

from docutils.nodes import make_id
from toc import FILES, ROOT

LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")


@cache
def places(page: str) -> set[str] | None:
    """Return the addresses within a page, those of headings and those given; None if it is none.

    Args:
        page: as `_toc.yml` has it, without "book/": "rope/distance".
    """
    named = [ROOT / f"book/{page}{end}" for end in (".ipynb", ".md")]
    file = next((path for path in named if path.exists()), None)
    if file is None or f"book/{page}" not in FILES:
        return None
    text = file.read_text("utf-8")
    if file.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    headings = {make_id(title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}
    return headings | set(re.findall(r"\{#([a-z0-9-]+)", text))


def leads_somewhere(address: str) -> bool:
    """Whether a link from a page at the root of the book leads to a page, and a place on it.

    Args:
        address: as it stands in the Markdown: "rope/distance.ipynb#the-base".
    """
    page, _, place = address.partition("#")
    found = places(page.rpartition(".")[0])
    return found is not None and (not place or place in found)
