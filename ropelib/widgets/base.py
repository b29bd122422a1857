"""What every widget of the book shares: one bundler, one style sheet, one base class."""

import re
from collections.abc import Mapping
from pathlib import Path

from ropelib import palette
from ropelib.extras import book_extra

with book_extra("ropelib.widgets"):
    import anywidget

_HERE = Path(__file__).parent
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_ANY_IMPORT = re.compile(
    r"^\s*(?:import\b|export\s*(?:\*|\{[^}]*\})[^;\n]*\bfrom\b).*|\bimport\(.*", re.MULTILINE
)
_DECLARED = re.compile(
    r"^(?:export )?(?:async )?(?:const|let|class|function\*?) (\w+)", re.MULTILINE
)


def bundle(name: str) -> str:
    """Return the JavaScript of a widget with what it imports inlined, as one module.

    A built page mounts a widget from a blob URL, and such a module cannot import a neighbor. Each
    imported file of this folder is inlined once, before the first file that asks for it.

    Args:
        name: the widget's file name without its suffix, `"rotation_explorer"`.

    Returns:
        Source of an ES module whose default export has `render`.

    Raises:
        ValueError: an import is renamed, is not of the form `import { a } from "./file.js";`, or
            asks for a file or a name that is not there, files import each other in a circle, or two
            declare the same name.

    Example:
        >>> "import" in bundle("rotation_explorer").split()
        False
    """
    return _join(name, {path.stem: path.read_text("utf-8") for path in _HERE.glob("*.js")})


def _join(name: str, sources: Mapping[str, str]) -> str:
    bodies: dict[str, str] = {}
    homes: dict[str, str] = {}

    def add(file: str, importers: tuple[str, ...]) -> None:
        if file in importers:
            raise ValueError(f"files must not import each other, got {file}.js in a circle")
        for names, other in _IMPORT.findall(sources[file]):
            if re.search(r"\bas\b", names):
                raise ValueError(
                    f"names from {other}.js must keep their name, got {{{names.strip()}}}"
                )
            if other not in sources:
                raise ValueError(f"{file}.js must import from a file beside it, got ./{other}.js")
            for wanted in filter(None, map(str.strip, names.split(","))):
                if not re.search(rf"^export (?:\w+ )*{wanted}\b", sources[other], re.MULTILINE):
                    raise ValueError(
                        f"{file}.js imports {wanted}, which {other}.js does not export"
                    )
            add(other, (*importers, file))
        body = _IMPORT.sub("", sources[file])
        remaining = _ANY_IMPORT.search(body)
        if remaining:
            raise ValueError(
                "a widget may import only names from a file beside it, got "
                f"{remaining[0].strip()!r} in {file}.js"
            )
        for declared in _DECLARED.findall(body):
            if homes.setdefault(declared, file) != file:
                raise ValueError(
                    f"a name must be declared once, got {declared} in {homes[declared]}.js and "
                    f"{file}.js"
                )
        bodies[file] = body if file == name else re.sub(r"^export ", "", body, flags=re.MULTILINE)

    add(name, ())
    return "".join(bodies.values())


def stylesheet() -> str:
    """Return the palette's CSS variables and the kit's rules, all scoped to `.rope-widget`."""
    return palette.css() + (_HERE / "kit.css").read_text("utf-8")


class RopeWidget(anywidget.AnyWidget):
    """An anywidget with the book's style sheet; subclasses set `_esm = bundle(...)`."""

    _css = stylesheet()
