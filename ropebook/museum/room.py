"""The room of blind tests as a page shows it: each on its bug, then the test that sees."""

import html
from collections.abc import Iterable

from ropebook.museum import EXHIBITS
from ropebook.museum.blind import Blind, sees, verdict
from ropebook.museum.walls import style

HEADS = ("test", "on its bug")
MEANS = {
    "passes": ("bad", "passes: missed"),
    "skipped": ("bad", "skipped: missed"),
    "fails": ("good", "fails: seen"),
}
"""Verdict on a bug: whether that is good, and what it means."""


class Room:
    """Blind tests in rows, and one that sees, as a notebook's output.

    Attributes:
        rows: of each test its name, why it is blind, and its verdict on the bug.
        seen: by the name of a bug, verdicts of the test that sees, on it and on what is mended.
    """

    def __init__(self, tests: Iterable[Blind]):
        """Run every test, and the one that sees, on its bug.

        Args:
            tests: what to show.
        """
        tests = list(tests)
        self.rows = [
            (
                blind.test.__name__.replace("_", " "),
                blind.test.__doc__,
                verdict(blind.test, EXHIBITS[blind.bug]),
            )
            for blind in tests
        ]
        self.seen = {
            bug: tuple(verdict(sees, EXHIBITS[bug], mended=mended) for mended in (False, True))
            for bug in dict.fromkeys(blind.bug for blind in tests)
        }

    def __repr__(self) -> str:
        """Say it in words, for a terminal."""
        return "\n".join(f"{name}: {said}" for name, _, said in self.rows)

    def _repr_html_(self) -> str:
        heads = "".join(f'<th scope="col">{head}</th>' for head in HEADS)
        rows = "".join(_row(name, why, *MEANS[said]) for name, why, said in self.rows)
        return (
            f'<div class="rope-museum"><style>{style()}</style>'
            f'<table class="rope-museum-room" role="table"><thead><tr>{heads}</tr></thead>'
            f"<tbody>{rows}{self._seeing()}</tbody></table></div>"
        )

    def _seeing(self) -> str:
        """The row of the test that sees: how many bugs fail it, and how many pass once mended."""
        number = len(self.seen)
        failed = sum(bug == "fails" for bug, _ in self.seen.values())
        passed = sum(mended == "passes" for _, mended in self.seen.values())
        kind = "good" if failed == passed == number else "bad"
        said = f"fails on {failed} of {number} bugs, and passes {passed} once mended"
        return _row("the test that sees", sees.__doc__, kind, said)


def _row(name: str, why: str, kind: str, said: str) -> str:
    sign = {"good": "✓", "bad": "✗"}[kind]
    return (
        f'<tr role="row"><th scope="row" role="rowheader"><b>{html.escape(name)}</b> '
        f'<span>{html.escape(why)}</span></th><td role="cell">'
        f'<span class="rope-museum-{kind}"><span aria-hidden="true">{sign} </span>{said}</span>'
        "</td></tr>"
    )
