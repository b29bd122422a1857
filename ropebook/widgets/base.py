"""What every widget of the book shares: one bundler, one style sheet, one base class."""

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

import anywidget

from ropebook import palette

_HERE = Path(__file__).parent
_IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.[\w./]+)";\n', re.MULTILINE)
_ANY_IMPORT = re.compile(
    r"^\s*(?:import\b|export\s*(?:\*|\{[^}]*\})[^;\n]*\bfrom\b).*|\bimport\(.*", re.MULTILINE
)
_DECLARED = re.compile(
    r"^(?:export )?(?:async )?(?:const|let|class|function\*?) (\w+)", re.MULTILINE
)


def bundle(name: str) -> str:
    """Return the JavaScript of a widget with what it imports inlined, as one module.

    A built page mounts a widget from a blob URL, and such a module cannot import a neighbor. Each
    imported file is inlined once, before the first file that asks for it.

    Args:
        name: the widget's folder, `"rotation_explorer"`.

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
    paths = _HERE.glob("*/*.js")
    sources = {path.relative_to(_HERE).as_posix(): path.read_text("utf-8") for path in paths}
    return _join(f"{name}/widget.js", sources)


def _join(name: str, sources: Mapping[str, str]) -> str:
    bodies: dict[str, str] = {}
    homes: dict[str, str] = {}

    def add(file: str, importers: tuple[str, ...]) -> None:
        if file in importers:
            raise ValueError(f"files must not import each other, got {file} in a circle")
        for names, target in _IMPORT.findall(sources[file]):
            if re.search(r"\bas\b", names):
                raise ValueError(
                    f"names from {target} must keep their name, got {{{names.strip()}}}"
                )
            other = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
            if other not in sources:
                raise ValueError(
                    f"{file} must import from a file of a widget or of the kit, got {target}"
                )
            for wanted in filter(None, map(str.strip, names.split(","))):
                if not re.search(rf"^export (?:\w+ )*{wanted}\b", sources[other], re.MULTILINE):
                    raise ValueError(f"{file} imports {wanted}, which {other} does not export")
            add(other, (*importers, file))
        body = _IMPORT.sub("", sources[file])
        remaining = _ANY_IMPORT.search(body)
        if remaining:
            raise ValueError(
                "a widget may import only names from a file of a widget or of the kit, got "
                f"{remaining[0].strip()!r} in {file}"
            )
        for declared in _DECLARED.findall(body):
            if homes.setdefault(declared, file) != file:
                raise ValueError(
                    f"a name must be declared once, got {declared} in {homes[declared]} and {file}"
                )
        bodies[file] = body if file == name else re.sub(r"^export ", "", body, flags=re.MULTILINE)

    add(name, ())
    return "".join(bodies.values())


def stylesheet() -> str:
    """Return the palette's CSS variables and the kit's rules, all scoped to `.rope-widget`."""
    return palette.css() + (_HERE / "kit/kit.css").read_text("utf-8")


class RopeWidget(anywidget.AnyWidget):
    """An anywidget with the book's style sheet; subclasses set `_esm = bundle(...)`."""

    _css = stylesheet()
