"""The museum at a glance: a square for each exhibit, by who finds it, that leads to it."""

import html

from ropebook.museum.kit import Exhibit, Hall
from ropebook.museum.walls import Walls, slug, style

STATES = {
    "alone": "found from what it does",
    "told": "found once told what was meant",
    "noted": "noted only, as it is right for some uses",
    "missed": "not found",
}
"""Whether a bug is found, and how it is said."""

HINT = (
    'A square is a bug: <span class="rope-plan-point">point at one for its name, press</span>'
    '<span class="rope-plan-touch">touch one for its name, and again</span>'
    '<span class="rope-plan-keys">arrow keys name them one by one, press Enter</span> to go there.'
)
"""What stands over the plan until a square is named there."""


class Plan:
    """A row of squares for each hall, as a notebook's output.

    Attributes:
        walls: the halls, with what was said of their exhibits.
    """

    def __init__(self, walls: Walls):
        """Take what was said.

        Args:
            walls: the halls, with what was said of their exhibits.
        """
        self.walls = walls

    def state(self, exhibit: Exhibit) -> str:
        """Return whether a bug was found, a key of `STATES`.

        Args:
            exhibit: one of the walls'.
        """
        report, told = self.walls.reports[exhibit.name]
        if exhibit.code not in report.codes:
            return "missed"
        if told:
            return "told"
        return "noted" if report.ok else "alone"

    def shown(self, hall: Hall) -> list[Exhibit]:
        """Return a hall's exhibits by who finds them, each kind in the order of its folds.

        Args:
            hall: one of the walls'.
        """
        hung = [exhibit for leaves in self.walls.branches(hall).values() for exhibit in leaves]
        return sorted(hung, key=lambda exhibit: [*STATES].index(self.state(exhibit)))

    @property
    def counts(self) -> dict[str, int]:
        """State: how many bugs."""
        found = [self.state(exhibit) for hall in self.walls.halls for exhibit in hall.exhibits]
        return {state: found.count(state) for state in STATES if state in found}

    def __repr__(self) -> str:
        """Say it in words, for a terminal."""
        return "\n".join(f"{number} {STATES[state]}" for state, number in self.counts.items())

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<li><a class="rope-plan-hall" href="#museum-{hall.name}">{_text(hall.when)}</a>'
            f'<span class="rope-plan-squares">{"".join(map(self._square, self.shown(hall)))}</span>'
            "</li>"
            for hall in self.walls.halls
        )
        key = "".join(
            f'<li><span class="rope-plan-square rope-plan-{state}"></span>'
            f"{number} {STATES[state]}</li>"
            for state, number in self.counts.items()
        )
        return (
            f'<div class="rope-museum rope-plan"><style>{style()}</style>'
            f'<ul class="rope-plan-key">{key}</ul><ul class="rope-plan-halls">{rows}</ul>'
            f'<p class="rope-plan-line" aria-hidden="true">{HINT}</p></div>'
        )

    def _square(self, exhibit: Exhibit) -> str:
        state = self.state(exhibit)
        said = html.escape(f"{exhibit.name[0].upper()}{exhibit.name[1:]}: {STATES[state]}")
        # The seat takes the first touch, by which its square is named; the second one follows it.
        return (
            '<span class="rope-plan-seat" tabindex="-1">'
            f'<a class="rope-plan-square rope-plan-{state}" href="#bug-{slug(exhibit.name)}" '
            f'aria-label="{said}"></a></span>'
        )


def _text(words: str) -> str:
    return html.escape(words, quote=False)
