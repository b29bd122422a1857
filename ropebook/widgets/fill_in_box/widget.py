"""Code with gaps that the reader fills in."""

from ropebook.widgets.asking import Asking


class FillInBox(Asking, folder="fill_in_box"):
    """A function with gaps; what is written in them is run on the exercise's cases.

    Args:
        definition: a fill-in, told as a dictionary.

    Raises:
        ValueError: the definition is of another kind.

    Attributes:
        answer: the texts of the gaps that were checked last.
        done: whether the function was right, which it stays.
    """

    kinds = ("fill-in",)
