"""What comes out: findings, and the report that holds and shows them."""

import html
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

from torch import Tensor

from ropelib.diagnosis.codes import CODES, UNMEASURED

PAIRS_OF = {"interleaved": "(2i, 2i + 1)", "half": "(i, i + rotary_dim / 2)"}


@dataclass(frozen=True)
class Finding:
    """One thing worth saying about a rotation.

    `code` is stable and made for programs, `sentence` for people. `severity` is "wrong" for a bug
    and "note" for what is right but unusual. `evidence` holds measured numbers by name, `cause`
    what usually lies behind it, `fix` how it is mended, `since` the first position where it shows;
    `where` is "q" or "k" if it was found in that one of a pair alone, "head 1" if in that head.

    Example:
        >>> print(Finding("off-by-one", "wrong", "Position 0 is turned.", {"shift": 1.0}))
        wrong  off-by-one: Position 0 is turned.
               measured: shift 1
               mend: Let the first token be 0.
    """

    code: str
    severity: str
    sentence: str
    evidence: dict[str, object] = field(default_factory=dict)
    cause: str = ""
    since: int | None = None
    where: str = ""

    @property
    def fix(self) -> str:
        """What mends a bug of this code, as `codes.CODES` has it; "" of what may be meant."""
        code = CODES.get(self.code)
        return code.fix if code and self.severity == "wrong" else ""

    def __str__(self) -> str:
        where = f" (in {self.where})" if self.where else ""
        lines = [f"{self.severity:5}  {self.code}{where}: {self.sentence}"]
        lines += [f"       {name}: {text}" for name, text in self._details()]
        return "\n".join(lines)

    def _details(self) -> Iterator[tuple[str, str]]:
        if self.since is not None:
            yield "since position", str(self.since)
        measured = dict(self.evidence)
        for name in ("raised at", "stopped at"):
            if name in measured:
                yield name, measured.pop(name)
        if measured:
            yield "measured", ", ".join(f"{k} {_number(v)}" for k, v in measured.items())
        if self.cause:
            yield "usual cause", self.cause
        if self.fix:
            yield "mend", self.fix


@dataclass(frozen=True)
class Report:
    """What `diagnose` found; numbers first, words when printed.

    `layout`, `base`, `inv_freq`, `rotary_dim`, `direction` and `attention_factor` describe the
    rotation as measured and are None where that makes no sense: the factor where lengths differ,
    frequencies and direction where near positions are not turned at even steps. `inv_freq` is
    float64, rad/token, in the order of the pairs. `factor` is what geometric frequencies are
    divided by. `direction` is +1 for counterclockwise, -1 for clockwise. `axis_of_pairs` is the
    axis that turns each pair, where positions have several. Positions from 0 to `positions` - 1
    were asked for, `probed` of them with every basis vector. `tables_made` says that cos and sin
    were made here and handed to it. `ok` says that no finding is "wrong".

    Example:
        >>> Report(head_dim=4, findings=(Finding("not-linear", "wrong", "Twice x is new."),)).ok
        False
    """

    head_dim: int
    layout: str | None = None
    base: float | None = None
    factor: float | None = None
    inv_freq: Tensor | None = None
    rotary_dim: int | None = None
    direction: int | None = None
    attention_factor: float | None = None
    axis_of_pairs: tuple[int, ...] | None = None
    positions: int | None = None
    probed: int | None = None
    profile: str | None = None
    tables_made: bool = False
    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Say whether nothing is wrong; notes do not count."""
        return not any(finding.severity == "wrong" for finding in self.findings)

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the findings, in their order."""
        return tuple(finding.code for finding in self.findings)

    def to_dict(self) -> dict[str, object]:
        """Return the same as values that JSON knows; numbers that it lacks are None.

        Example:
            >>> Report(head_dim=4, layout="half").to_dict()["layout"]
            'half'
        """
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        named["inv_freq"] = None if self.inv_freq is None else self.inv_freq.tolist()
        named["findings"] = [vars(each) | {"mend": each.fix} for each in self.findings]
        return {"ok": self.ok, **_for_json(named)}

    def __str__(self) -> str:
        width = max((len(name) for name, _ in self._rows()), default=0)
        lines = [self._verdict(), *(f"  {name:{width}}  {text}" for name, text in self._rows())]
        return "\n".join([*lines, *map(str, self.findings)])

    def _repr_html_(self) -> str:
        """Return the table for a notebook; colors are the book's, where the page defines them."""
        tone = "var(--rope-score, #00734F)" if self.ok else "var(--rope-k, #D55E00)"
        cell = "text-align: left; padding: 0.15rem 1rem 0.15rem 0; background: none; "
        line = f"{cell}border-top: 1px solid var(--rope-line, #8884); vertical-align: top;"
        rows = "".join(
            f'<tr><th scope="row" style="{line} font-weight: normal;">{_escape(name)}</th>'
            f'<td style="{line}">{_escape(text)}</td></tr>'
            for name, text in self._rows()
        )
        table = (
            f'<table style="border-collapse: collapse; margin: 0.5rem 0;"><tbody>{rows}</tbody>'
            "</table>"
        )
        return (
            f'<div class="rope-report" style="border-left: 4px solid {tone}; padding: 0.5rem '
            f'0.75rem; color: inherit; background: var(--rope-panel, transparent);">'
            f"<strong>{_escape(self._verdict())}</strong>"
            f"{table if rows else ''}{''.join(map(_finding_html, self.findings))}</div>"
        )

    def _verdict(self) -> str:
        if self.codes[:1] and self.codes[0] in UNMEASURED:
            return f"This rotation could not be checked: {self.codes[0]}."
        if not self.ok:
            return f"This rotation is wrong: {self.codes[0]}."
        of_what = ", of tables that were made for it" if self.tables_made else ""
        return f"This rotation is right{of_what}{', with notes' if self.findings else ''}."

    def _rows(self) -> list[tuple[str, str]]:
        turns = {1: "+1, counterclockwise", -1: "-1, clockwise"}
        whose = ": of tables that were made for it" if self.tables_made else ""
        neither = self.rotary_dim and "neither interleaved nor half"  # which pairs turn, was seen
        rows = [
            ("layout", f"{self.layout}, pairs {PAIRS_OF[self.layout]}" if self.layout else neither),
            ("rotary_dim", self.rotary_dim and f"{self.rotary_dim} of {self.head_dim}"),
            ("inv_freq", self.profile and self.profile + whose),
            ("direction", turns.get(self.direction)),
            ("attention_factor", _number(self.attention_factor)),
            ("positions", self.positions and f"{self.probed} of 0 to {self.positions - 1} probed"),
        ]
        if not any(text for _, text in rows):
            return []  # nothing was measured, and what is found says why
        return [(name, text or "not measured") for name, text in rows]


def _finding_html(finding: Finding) -> str:
    tone = "--rope-k, #D55E00" if finding.severity == "wrong" else "--rope-line, #8888"
    where = f" in {finding.where}" if finding.where else ""
    details = "".join(
        f'<br><span style="color: var(--rope-neutral-text, inherit);">{_escape(name)}:</span> '
        f"{_escape(text)}"
        for name, text in finding._details()
    )
    return (
        f'<p style="border-left: 2px solid var({tone}); padding-left: 0.5rem; margin: 0.5rem 0;">'
        f"<strong>{_escape(finding.severity + where)}</strong> <code>{_escape(finding.code)}</code>"
        f"<br>{_escape(finding.sentence)}{details}</p>"
    )


def _for_json(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(name): _for_json(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_for_json(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def _escape(text: str) -> str:
    return html.escape(str(text))


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)


def wrong(
    code: str, sentence: str, cause: str, since: int | None = None, **evidence: object
) -> Finding:
    """Return a finding of a bug.

    Example:
        >>> wrong("off-by-one", "Position 0 is turned.", "counted from 1", all_by=1.0).evidence
        {'all by': 1.0}
    """
    named = {name.replace("_", " "): value for name, value in evidence.items()}
    return Finding(code, "wrong", sentence, named, cause, since)


def note(code: str, sentence: str, **evidence: object) -> Finding:
    """Return a finding of what is right but unusual.

    Example:
        >>> print(note("partial", "The first 16 of 64 dimensions rotate."))
        note   partial: The first 16 of 64 dimensions rotate.
    """
    named = {name.replace("_", " "): value for name, value in evidence.items()}
    return Finding(code, "note", sentence, named)
