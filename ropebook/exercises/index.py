"""The bet of the first page."""

from ropebook.exercises.definitions import Bet, Option, define

define(
    Bet(
        "both arrows turn on",
        question="A query <i>q</i> and a key <i>k</i>, each turned by θ for every place. "
        "Eight words come in front: both turn on. <b>What becomes of their score?</b>",
        options=(
            Option(
                "It changes with them.",
                said="Both arrows changed, and they changed alike: the angle between them is the "
                "same, and with it the score.",
            ),
            Option(
                "It shrinks, far on.",
                said="A turn makes no arrow shorter, however far it goes, and the angle between "
                "the two stays: so does the score.",
            ),
            Option(
                "It stays as it was.",
                said="Both turned by 8θ more, so the angle between them is the same.",
                right=True,
            ),
        ),
    ),
)
