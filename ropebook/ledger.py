"""The ledger of the sources: what five documents claim, what is true, and what decides it.

The data stand in `book/appendix/`: `documents.json`, `claims/NUMBER.json` (one file per document),
`systems.json`. Every file is read through the rules below; an error names the entry, the value and
the rule. Which check decides a claim is said twice, here by the check's name and there by the
claim's id (`tests/support/claims.py`); a test holds that both say the same.
"""

import json
import re
from dataclasses import MISSING, dataclass, fields
from pathlib import Path

VERDICTS = ("true", "imprecise", "false", "depends")
KINDS = ("identity", "code", "numeric", "empirical", "historical", "list")
COMPUTED = ("identity", "code", "numeric")
"""Kinds of claims that a computation decides."""
ITSELF = "itself"
"""As the key of a citation: the document's own words about itself."""
MISTAKES = 20
"""How many claims the front of the ledger remembers."""

_SHAPES = {  # of a field's text, and what an error says of it
    "check": (r"test_\w+", "the name of a test function, test_..."),
    "citation": (r"[a-z]\w*, \S.*", "a key of references.bib and a place, 'su2021, section 3'"),
    "link": (r"[a-z_]+(#[a-z0-9-]+)?", "a chapter, and a heading of it, 'distance#the-base'"),
    "test": (
        r"(tests|ropebook)/[\w/]+\.py::test_\w+",
        "a test, 'tests/ROOM/test_FILE.py::test_X'",
    ),
}


@dataclass(frozen=True)
class Claim:
    """One claim of one document, in our words.

    `correction` says what is right, wherever the claim is not plainly true. `check` names the test
    that decides it, `citation` the text that does. `link` is the place in the book that tells more.
    `remember` is the claim's place among the mistakes most worth remembering.
    """

    id: str
    where: str
    claim: str
    kind: str
    verdict: str
    correction: str = ""
    check: str = ""
    citation: str = ""
    link: str = ""
    remember: int = 0

    @property
    def document(self) -> str:
        """The number of the document that claims it."""
        return self.id[1:4]

    @property
    def chapter(self) -> str:
        """The chapter of the book that it belongs to, or nothing."""
        return self.link.partition("#")[0]

    @property
    def is_decided(self) -> bool:
        """Whether what its kind asks for is there: a check, or a check or a citation."""
        return bool(self.check or (self.citation and self.kind not in COMPUTED))


@dataclass(frozen=True)
class Document:
    """One of the documents, and what it says of itself; `name` is what this book calls it."""

    number: str
    name: str
    title: str
    title_in_english: str
    kind: str
    author: str
    date: str


@dataclass(frozen=True)
class System:
    """A model, an encoding, an implementation or a technique that the documents name."""

    system: str
    documents: list[str]
    kind: str
    said: str
    assessment: str
    runs: str
    link: str = ""
    test: str = ""


@dataclass(frozen=True)
class Ledger:
    """All of it, validated."""

    documents: list[Document]
    claims: list[Claim]
    systems: list[System]


def read_ledger(folder: Path) -> Ledger:
    """Read the ledger from its folder.

    Args:
        folder: that of `documents.json`, `systems.json` and `claims/`.

    Raises:
        TypeError: a value of an entry is of another type than its field.
        ValueError: an entry breaks a rule; the message has its id, the value and the rule.
    """
    documents = [
        _entry(Document, one, one.get("number")) for one in _list(folder / "documents.json")
    ]
    numbers = {document.number for document in documents}
    claims = []
    for path in sorted((folder / "claims").glob("*.json")):
        if path.stem not in numbers:
            raise ValueError(f"claims/{path.name}: documents.json has no document {path.stem}")
        claims += claims_of(path.stem, _list(path))
    _check_remembered(claims)
    systems = _entries(System, _list(folder / "systems.json"))
    for system in systems:
        _check_system(system, numbers)
    return Ledger(documents, claims, systems)


def claims_of(document: str, entries: list[dict]) -> list[Claim]:
    """Return the claims of one document, each checked.

    Args:
        document: its number, such as "003".
        entries: as its file has them, in the order of their ids.

    Raises:
        TypeError: a value of an entry is of another type than its field.
        ValueError: an entry breaks a rule.
    """
    claims = _entries(Claim, entries)
    for place, claim in enumerate(claims, 1):
        if claim.id != (expected := f"S{document}-{place}"):
            raise ValueError(f"{claim.id}: ids count up without a gap, here must stand {expected}")
        _check_claim(claim)
    return claims


def dump(entries: list[dict]) -> str:
    """Return entries as their file has them: one line per field, so that a diff can be read."""
    return json.dumps(entries, ensure_ascii=False, indent=1) + "\n"


def _list(path: Path) -> list[dict]:
    text = path.read_text("utf-8")
    entries = json.loads(text)
    if dump(entries) != text:
        raise ValueError(f"{path.name}: must be written as ropebook.ledger.dump writes it")
    return entries


def _entries(kind: type, entries: list[dict]) -> list:
    """Return entries as instances of their class; the first field of one is its name."""
    first = fields(kind)[0].name
    return [_entry(kind, entry, entry.get(first)) for entry in entries]


def _entry(kind: type, entry: dict, name: object) -> object:
    """Return an entry as its class, when its fields are known, in order, typed and filled."""
    known = {field.name: field.type for field in fields(kind)}
    order = ", ".join(known)
    if unknown := set(entry) - set(known):
        raise ValueError(f"{name}: unknown field {sorted(unknown)[0]!r}, known are {order}")
    if [*entry] != [field for field in known if field in entry]:
        raise ValueError(f"{name}: fields stand in the order {order}, got {', '.join(entry)}")
    for field in fields(kind):
        if field.default is MISSING and field.name not in entry:
            raise ValueError(f"{name}: {field.name} is missing")
    for field, value in entry.items():
        _check_value(name, field, value, known[field])
    return kind(**entry)


def _check_value(name: object, field: str, value: object, kind: type) -> None:
    wanted = list if kind == list[str] else kind
    if type(value) is not wanted:
        raise TypeError(f"{name}: {field} must be of type {wanted.__name__}, got {value!r}")
    if not value:
        raise ValueError(f"{name}: {field} must not be empty; leave the field out")
    if isinstance(value, str):
        if " ".join(value.split()) != value or "\\" in value:
            raise ValueError(f"{name}: {field} must be one line of plain text, got {value!r}")
        shape, rule = _SHAPES.get(field, (".*", ""))
        if not re.fullmatch(shape, value):
            raise ValueError(f"{name}: {field} must be {rule}, got {value!r}")


def _check_claim(claim: Claim) -> None:
    for field, known in (("kind", KINDS), ("verdict", VERDICTS)):
        if (value := getattr(claim, field)) not in known:
            raise ValueError(
                f"{claim.id}: {field} must be one of {', '.join(known)}, got {value!r}"
            )
    if claim.verdict == "true" and (claim.correction or claim.remember):
        raise ValueError(f"{claim.id}: a claim that is true has no correction, and is no mistake")
    if claim.verdict != "true" and not claim.correction:
        raise ValueError(f"{claim.id}: a claim that is {claim.verdict!r} needs its correction")
    if not 0 <= claim.remember <= MISTAKES:
        raise ValueError(f"{claim.id}: remember must be 1 to {MISTAKES}, got {claim.remember}")


def _check_remembered(claims: list[Claim]) -> None:
    taken: dict[int, str] = {}
    for claim in claims:
        if claim.remember and claim.remember in taken:
            other = taken[claim.remember]
            raise ValueError(f"{claim.id}: remember {claim.remember} is taken by {other}")
        taken[claim.remember] = claim.id


def _check_system(system: System, numbers: set[str]) -> None:
    for number in system.documents:
        if number not in numbers:
            raise ValueError(f"{system.system}: documents.json has no document {number!r}")


def undecided(claims: list[Claim]) -> list[str]:
    """Return the ids of the claims that nothing decides yet.

    What a computation can decide needs a check; any other claim a check or a citation.
    """
    return [claim.id for claim in claims if not claim.is_decided]
