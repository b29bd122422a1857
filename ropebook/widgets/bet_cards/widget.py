"""A bet: a question with options, of which the first that is chosen is the bet."""

from collections.abc import Mapping
from typing import Any

from ropebook.widgets.asking import Asking
from ropebook.widgets.traits import IntInRange

MOST_VEILS = 9


class BetCards(Asking, folder="bet_cards"):
    """Options as cards; the first choice is the bet, and every choice shows its sentence.

    Args:
        definition: a bet, told as a dictionary.
        veils: how many blocks of text after it the built page veils until the bet is placed, in
            [0, 9]; headings, folds and widgets are no such blocks.

    Raises:
        ValueError: the definition is no bet.
        traitlets.TraitError: `veils` breaks its rule.

    Attributes:
        answer: the index of the option that was bet on, None before.
    """

    kinds = ("bet",)

    veils = IntInRange(0, low=0, high=MOST_VEILS, unit="blocks")

    def __init__(self, definition: Mapping[str, Any], *, veils: int = 0) -> None:
        super().__init__(definition, veils=veils)

    @property
    def won(self) -> bool:
        """Whether the bet was placed on the right option."""
        return self.answer is not None and self.definition["options"][self.answer]["right"]
