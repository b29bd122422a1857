"""What every widget of the book shares: one bundler, one style sheet, one base class."""

import re
from pathlib import Path

from ropelib import palette
from ropelib.extras import book_extra

with book_extra("ropelib.widgets"):
    import anywidget

_HERE = Path(__file__).parent
_KIT_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./kit\.js";\n', re.MULTILINE)
_ANY_IMPORT = re.compile(
    r"^\s*(?:import\b|export\s*(?:\*|\{[^}]*\})[^;\n]*\bfrom\b).*|\bimport\(.*", re.MULTILINE
)


def bundle(name: str) -> str:
    """Return the JavaScript of a widget with `kit.js` inlined, as one module without imports.

    A built page mounts a widget from a blob URL, and such a module cannot import a neighbor.

    Args:
        name: the widget's file name without its suffix, `"rotation_explorer"`.

    Returns:
        Source of an ES module whose default export has `render`.

    Raises:
        ValueError: a kit import is renamed, or an import other than that of `./kit.js` remains.

    Example:
        >>> "import" in bundle("rotation_explorer").split()
        False
    """
    return _join((_HERE / "kit.js").read_text("utf-8"), (_HERE / f"{name}.js").read_text("utf-8"))


def _join(kit: str, widget: str) -> str:
    for names in _KIT_IMPORT.findall(widget):
        if re.search(r"\bas\b", names):
            raise ValueError(f"names from kit.js must keep their name, got {{{names.strip()}}}")
    bundled = re.sub(r"^export ", "", kit, flags=re.MULTILINE) + _KIT_IMPORT.sub("", widget)
    remaining = _ANY_IMPORT.search(bundled)
    if remaining:
        raise ValueError(
            f"a widget may import only from ./kit.js, once, got {remaining[0].strip()!r}"
        )
    return bundled


def stylesheet() -> str:
    """Return the palette's CSS variables and the kit's rules, all scoped to `.rope-widget`."""
    return palette.css() + (_HERE / "kit.css").read_text("utf-8")


class RopeWidget(anywidget.AnyWidget):
    """An anywidget with the book's style sheet; subclasses set `_esm = bundle(...)`."""

    _css = stylesheet()
