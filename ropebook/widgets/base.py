"""The base class of every widget of the book."""

from typing import Any

import anywidget

from ropebook.widgets.bundle import bundle, stylesheet


class RopeWidget(anywidget.AnyWidget):
    """An anywidget whose picture stands in a folder beside this file.

    Example:
        >>> class Explorer(RopeWidget, folder="rotation_explorer"):
        ...     pass
        >>> "rope-widget" in Explorer._css
        True
    """

    _css = ""  # of a class without a folder

    def __init_subclass__(cls, folder: str | None = None, **kwargs: Any) -> None:
        """Give the class the module and the style sheet of a folder.

        Args:
            folder: name of the folder, with `widget.js` and `widget.css`; None for a class that
                has those of its parent.
            **kwargs: for the parent class.

        Raises:
            ValueError: the files break a rule of `bundle` or of `stylesheet`.
        """
        if folder is not None:
            cls._esm = bundle(folder)
            cls._css = stylesheet(folder)
        super().__init_subclass__(**kwargs)
