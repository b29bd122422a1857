"""The room of blind tests as a page shows it: each on its bug, beside the test that sees."""

import html
from collections.abc import Iterable

from ropebook.museum import EXHIBITS
from ropebook.museum.blind import Blind, sees, verdict
from ropebook.museum.walls import style

HEADS = ("blind test, on the bug", "seeing test, on the bug", "seeing test, mended")
MEANS = {
    ("passes", False): ("bad", "passes: missed"),
    ("skipped", False): ("bad", "skipped: missed"),
    ("fails", False): ("good", "fails: seen"),
    ("passes", True): ("good", "passes: right"),
    ("fails", True): ("bad", "fails: wronged"),
    ("skipped", True): ("bad", "skipped: not asked"),
}
"""Verdict, and whether on what is mended: whether that is good, and what it means."""


class Room:
    """Blind tests in rows, as a notebook's output.

    Attributes:
        rows: of each test its name, why it is blind, and its three verdicts, in the order of
            `HEADS`.
    """

    def __init__(self, tests: Iterable[Blind]):
        """Run every test, and the one that sees, on its bug.

        Args:
            tests: what to show.
        """
        self.rows = [
            (
                blind.test.__name__.replace("_", " "),
                blind.test.__doc__,
                verdict(blind.test, EXHIBITS[blind.bug]),
                verdict(sees, EXHIBITS[blind.bug]),
                verdict(sees, EXHIBITS[blind.bug], mended=True),
            )
            for blind in tests
        ]

    def __repr__(self) -> str:
        """Say it in words, for a terminal."""
        return "\n".join(f"{name}: {', '.join(verdicts)}" for name, _, *verdicts in self.rows)

    def _repr_html_(self) -> str:
        heads = "".join(f'<th scope="col">{head}</th>' for head in ("test", *HEADS))
        rows = "".join(
            f'<tr role="row"><th scope="row" role="rowheader"><b>{html.escape(name)}</b> '
            f"<span>{html.escape(why)}</span></th>{''.join(map(_cell, HEADS, verdicts))}</tr>"
            for name, why, *verdicts in self.rows
        )
        return (
            f'<div class="rope-museum"><style>{style()}</style>'
            f'<table class="rope-museum-room" role="table"><thead><tr>{heads}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div>"
        )


def _cell(head: str, said: str) -> str:
    kind, means = MEANS[said, head == HEADS[-1]]
    sign = {"good": "✓", "bad": "✗"}[kind]
    return (
        f'<td role="cell" data-head="{head}"><span class="rope-museum-{kind}">'
        f'<span aria-hidden="true">{sign} </span>{means}</span></td>'
    )
