"""The suite as files: JSON for those who have a reader of it, plain lines for those who do not."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ropelib.checks import shown
from ropelib.conformance.build import answers

FORMAT = 1  # what the keys and lines mean
GENERATOR = 2  # what is asked and answered: raised when a case is added or anything in one changes
JSON, TEXT = "vectors.json", "vectors.txt"


def suite() -> dict[str, Any]:
    """Return the whole suite.

    Returns:
        `format`, `generator` and `sha256` (that of the plain form), and `cases`, a list with one
        mapping for each case.

    Raises:
        ValueError: if a processor could compute an answer otherwise; no case of the suite does so.

    Example:
        >>> vectors = suite()
        >>> vectors["format"], vectors["cases"][0]["name"]
        (1, 'default-half')
    """
    cases = answers()
    return {"format": FORMAT, "generator": GENERATOR, "sha256": _sha256(cases), "cases": cases}


def write(folder: str | os.PathLike) -> dict[str, Any]:
    """Write `vectors.json` and `vectors.txt`, which hold the same.

    Args:
        folder: where; it is made if it is not there.

    Returns:
        What was written, as `suite` returns it.

    Raises:
        OSError: if the folder cannot be written to.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = write(folder)
        ...     read(f"{folder}/vectors.json") == written
        True
    """
    vectors, folder = suite(), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    head = {key: value for key, value in vectors.items() if key != "cases"}
    cases = ",\n".join(_json(case) for case in vectors["cases"])
    document = f'{_json(head)[:-1]},"cases":[\n{cases}\n]}}\n'
    for name, content in ((JSON, document), (TEXT, _plain(vectors["cases"]))):
        (folder / name).write_bytes(content.encode("ascii"))
    return vectors


def read(path: str | os.PathLike) -> dict[str, Any]:
    """Read `vectors.json` and make sure that it is whole.

    Args:
        path: of the file.

    Returns:
        As `suite`.

    Raises:
        OSError: if there is no such file.
        ValueError: if it is not JSON, of another format, or not what its sha256 says.

    Example:
        >>> read("vectors.json")["generator"]  # doctest: +SKIP
        2
    """
    vectors = json.loads(Path(path).read_text("utf-8"))
    if not isinstance(vectors, dict) or vectors.get("format") != FORMAT:
        found = vectors.get("format") if isinstance(vectors, dict) else vectors
        raise ValueError(f"format of the vectors must be {FORMAT}, got {shown(found)}")
    found = _sha256(vectors["cases"])
    if vectors["sha256"] != found:
        raise ValueError(f"sha256 of the cases must be {vectors['sha256']}, got {found}")
    return vectors


def _sha256(cases: list[Mapping[str, Any]]) -> str:
    return hashlib.sha256(_plain(cases).encode("ascii")).hexdigest()


def _plain(cases: list[Mapping[str, Any]]) -> str:
    """Lines of a key, how many words follow, and these."""
    lines: list[tuple[str, list]] = [("format", [FORMAT]), ("generator", [GENERATOR])]
    for case in cases:
        q, k = case["q"], case["k"]
        for key, value in case.items():
            value = [_compact(value)] if isinstance(value, dict) else [value]
            lines.append((key, list(_flat(_short(value)))))
            if key == "layout":
                axes, rows, tokens = len(case["position_ids"]), len(q), len(q[0][0])
                lines.append(("shape", [axes, rows, len(q[0]), len(k[0]), tokens]))
    return "".join(f"{key} {len(v)} {' '.join(map(str, v))}\n" for key, v in lines)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for part in value:
            yield from _flat(part)
    else:
        yield value


def _short(value: Any) -> Any:
    """Whole numbers without their fraction."""
    if isinstance(value, list):
        return list(map(_short, value))
    return int(value) if isinstance(value, float) and value == int(value) else value


def _json(case: Mapping[str, Any]) -> str:
    return _compact({key: _short(value) for key, value in case.items()})


def _compact(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"))
