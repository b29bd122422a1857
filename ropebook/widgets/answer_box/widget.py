"""An exercise that is answered on the page: numbers, a choice, an order, a formula."""

from ropebook.widgets.asking import Asking


class AnswerBox(Asking, folder="answer_box"):
    """A question with what its answer is given in, checked as often as the reader likes.

    Args:
        definition: an answer of any kind, told as a dictionary.

    Raises:
        ValueError: the definition is of another kind.

    Attributes:
        answer: what was checked last: a text, a list of texts, an index or a list of indices.
        done: whether an answer was right, which it stays.
    """

    kinds = ("number", "numbers", "set", "choice", "order", "expression")
