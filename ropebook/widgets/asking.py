"""The base class of what asks the reader: bets, answer boxes, fill-ins."""

from collections.abc import Mapping
from typing import Any

import traitlets

from ropebook.widgets.base import FolderWidget


class Asking(FolderWidget):
    """A widget that shows one exercise, and knows what the reader has answered.

    Args:
        definition: the exercise, told as a dictionary of JSON values: its `kind` is one of `kinds`.

    Raises:
        ValueError: the definition is of another kind.

    Attributes:
        answer: what the reader has given last, None before: read-only.
        done: whether the exercise is done, which it stays: read-only.
    """

    _sheet = "kit/ask.css"
    kinds: tuple[str, ...] = ()

    definition = traitlets.Dict(read_only=True).tag(sync=True)
    answer = traitlets.Any(None, read_only=True, allow_none=True).tag(sync=True)
    done = traitlets.Bool(False, read_only=True).tag(sync=True)

    def __init__(self, definition: Mapping[str, Any], **values: Any) -> None:
        kind = definition.get("kind")
        if kind not in self.kinds:
            raise ValueError(
                f"{type(self).__name__} shows {', '.join(self.kinds)}, got a definition of {kind!r}"
            )
        super().__init__(**values)
        self.set_trait("definition", dict(definition))
