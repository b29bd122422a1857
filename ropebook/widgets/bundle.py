"""A widget's files as one module and one style sheet: what a built page can mount from a string."""

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

from ropebook import palette

_HERE = Path(__file__).parent
_IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.[\w./]+)";\n', re.MULTILINE)
_ANY_IMPORT = re.compile(
    r"^\s*(?:import\b|export\s*(?:\*|\{[^}]*\})[^;\n]*\bfrom\b).*|\bimport\(.*", re.MULTILINE
)
# Biome formats the files, so what stands at a line's very beginning stands outside of all braces.
_DECLARED = re.compile(
    r"^(?:export )?(?:async )?(?:const|let|class|function\*?) (\w+)", re.MULTILINE
)
_STATEMENT = re.compile(r"^(?=[\w$({\[])", re.MULTILINE)
_COMMENTS = re.compile(r"^[ \t]*//.*\n", re.MULTILINE)
_SCOPE = ".rope-widget"
_OPENING = re.compile(r"[^{}]+(?={)")  # a selector, or a condition on the width
_STYLE_IMPORT = re.compile(r'^@import "(\.[\w./]+)";\n', re.MULTILINE)


def bundle(name: str) -> str:
    """Return the JavaScript of a widget with what it imports inlined, as one module.

    A built page mounts a widget from a blob URL, and such a module cannot import a neighbor. Each
    imported file is inlined once, before the first file that asks for it, and without comments,
    indentation, and the functions, classes and constants that the default export never reaches.

    Args:
        name: the widget's folder, `"rotation_explorer"`.

    Returns:
        Source of an ES module whose default export has `render`.

    Raises:
        ValueError: an import is renamed, is not of the form `import { a } from "./file.js";`, or
            asks for a file or a name that is not there, files import each other in a circle, two
            declare the same name, the widget has no default export, or a template literal goes on
            over a line's end.

    Example:
        >>> "import" in bundle("rotation_explorer").split()
        False
    """
    return compact(reached(joined(f"{name}/widget.js", _sources("js"))))


def stylesheet(name: str, shared: str = "kit/kit.css") -> str:
    """Return a widget's style sheet: the palette's variables, the kit's rules, and its own.

    A widget's rules stand in its `widget.css`. Rules that several share, and not all, have a sheet
    of the kit's, which comes in by `@import "../kit/plot.css";` at the top. The widget's own weigh
    more than the kit's, which another widget on the page may bring once more, and later.

    Args:
        name: the widget's folder, `"rotation_explorer"`.
        shared: the sheet of the kit that all widgets of its kind have.

    Returns:
        The rules, all scoped to `.rope-widget`, without comments and idle space.

    Raises:
        ValueError: an import asks for a file that is not there, or does not stand at the top, or a
            selector does not begin with `.rope-widget`.
    """
    sheets = _sources("css")
    own = sheets[f"{name}/widget.css"]
    wanted = [shared, *(posixpath.normpath(f"{name}/{to}") for to in _imported(own))]
    for file in wanted:
        if file not in sheets:
            raise ValueError(f"{name}/widget.css must import a sheet of the kit, got {file}")
    own = _STYLE_IMPORT.sub("", own)
    if "@import" in own:
        raise ValueError(f"imports of {name}/widget.css must stand at its top, one to a line")
    kit = "".join(sheets[file] for file in wanted)
    return palette.css() + _nested(kit, _SCOPE) + _nested(own, 2 * _SCOPE)


def joined(name: str, sources: Mapping[str, str]) -> str:
    """Return one file with what it imports before it, each file once, and no import left.

    Args:
        name: path of the file, one of the keys of `sources`.
        sources: path -> text of every file that may be imported.

    Raises:
        ValueError: see `bundle`.
    """
    bodies: dict[str, str] = {}
    homes: dict[str, str] = {}

    def add(file: str, importers: tuple[str, ...]) -> None:
        if file in importers:
            raise ValueError(f"files must not import each other, got {file} in a circle")
        for names, target in _IMPORT.findall(sources[file]):
            add(_exporter(file, names, target, sources), (*importers, file))
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
        bodies[file] = re.sub(r"^export (?!default )", "", body, flags=re.MULTILINE)

    add(name, ())
    return "".join(bodies.values())


def reached(source: str) -> str:
    """Return a module without the top-level declarations that its other statements never reach.

    A declaration is kept if its name occurs as a word in anything kept, be it in a string; any
    other statement is kept. So nothing needed is ever left out, if declarations only declare.

    Args:
        source: a module as Biome formats it, one name to a declaration, with a default export.

    Raises:
        ValueError: the module has no default export.
    """
    if not re.search(r"^export default ", source, re.MULTILINE):
        raise ValueError("a widget must have a default export: nothing else is reached from a page")
    statements = [part for part in _STATEMENT.split(_COMMENTS.sub("", source)) if part.strip()]
    names = [found[1] if (found := _DECLARED.match(part)) else None for part in statements]
    words = [set(re.findall(r"[\w$]+", part)) for part in statements]
    kept = {i for i, name in enumerate(names) if name is None}
    fresh = set(kept)
    while fresh:
        wanted = set().union(*(words[i] for i in fresh))
        fresh = {i for i, name in enumerate(names) if name in wanted} - kept
        kept |= fresh
    return "".join(part for i, part in enumerate(statements) if i in kept)


def compact(source: str) -> str:
    """Return a module without comments on lines of their own, indentation and idle line ends.

    Raises:
        ValueError: a template literal goes on over a line's end, where a space would count.
    """
    lines = [stripped for line in source.splitlines() if (stripped := line.strip())]
    lines = [line for line in lines if not line.startswith("//")]
    for line in lines:
        if line.count("`") % 2:
            raise ValueError(f"a template literal must end on its line, got {line!r}")
    # After these a statement goes on; a comment would swallow what comes.
    goes_on = [line[-1] in ",{([" and "//" not in line for line in lines]
    return "".join(line + "\n" * (not on) for line, on in zip(lines, goes_on, strict=True))


def _sources(suffix: str) -> dict[str, str]:
    paths = _HERE.glob(f"*/*.{suffix}")
    return {path.relative_to(_HERE).as_posix(): path.read_text("utf-8") for path in paths}


def _imported(sheet: str) -> list[str]:
    return _STYLE_IMPORT.findall(sheet)


def _exporter(file: str, names: str, target: str, sources: Mapping[str, str]) -> str:
    if re.search(r"\bas\b", names):
        raise ValueError(f"names from {target} must keep their name, got {{{names.strip()}}}")
    other = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
    if other not in sources:
        raise ValueError(f"{file} must import from a file of a widget or of the kit, got {target}")
    for wanted in filter(None, map(str.strip, names.split(","))):
        if not re.search(rf"^export (?:\w+ )*{wanted}\b", sources[other], re.MULTILINE):
            raise ValueError(f"{file} imports {wanted}, which {other} does not export")
    return other


def _nested(rules: str, scope: str) -> str:
    """Return rules inside one rule for a scope, in which they need not name it."""

    def without_scope(opening: re.Match) -> str:
        if opening[0].startswith("@"):
            return opening[0]
        each = [one.strip() for one in re.split(r",(?![^(]*\))", opening[0])]
        for selector in each:
            if not re.match(rf"{re.escape(_SCOPE)}(?![\w-])", selector):
                raise ValueError(f"a selector must begin with {_SCOPE}, got {selector!r}")
        rest = [one.removeprefix(_SCOPE) for one in each]
        # `.rope-widget[data-done]` is the widget itself, `.rope-widget b` something in it.
        return ",".join(one[1:] if one.startswith(" ") else f"&{one}" for one in rest)

    return f"{scope}{{{_OPENING.sub(without_scope, _squeezed(rules).strip())}}}"


def _squeezed(rules: str) -> str:
    rules = re.sub(r"/\*.*?\*/", "", rules, flags=re.DOTALL)
    rules = re.sub(r"\s+", " ", rules)
    rules = re.sub(r" ?([{};,]) ?", r"\1", rules)
    return re.sub(r"([\w-]): ", r"\1:", rules).replace(";}", "}")
