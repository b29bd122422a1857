"""The base classes of the book's widgets."""

from typing import Any

import anywidget
import traitlets

from ropebook.widgets.bundle import bundle, stylesheet


class FolderWidget(anywidget.AnyWidget):
    """An anywidget whose module and style sheet stand in a folder beside this file.

    Example:
        >>> class Explorer(FolderWidget, folder="rotation_explorer"):
        ...     pass
        >>> "rope-widget" in Explorer._css
        True
    """

    _css = ""  # of a class without a folder
    _folder = ""
    _sheet = "kit/kit.css"  # the kit's rules that its widgets share

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
            cls._css = stylesheet(folder, cls._sheet)
            cls._folder = folder
        super().__init_subclass__(**kwargs)


class TaskTrait(traitlets.TraitType[dict | None, dict | str | None]):
    """A task of the widget that has this trait: given by its name, kept as a page is told of it."""

    def __init__(self) -> None:
        super().__init__(None, allow_none=True)
        self.tag(sync=True)

    def validate(self, obj: traitlets.HasTraits, value: Any) -> dict | None:
        """Return the task of that name, told as a dictionary."""
        from ropebook.exercises.definitions import DEFINITIONS
        from ropebook.exercises.language import expression

        name = value.get("name") if isinstance(value, dict) else value
        folder = type(obj)._folder
        tasks = [one for one in DEFINITIONS.values() if one.kind == "task"]
        known = {task.name: task for task in tasks if task.widget == folder}
        if name not in known:
            names = ", ".join(known) or "none"
            raise traitlets.TraitError(f"task must be one of {folder} ({names}), got {name!r}")
        return known[name].told() | {"rule": expression(known[name].done)}


class RopeWidget(FolderWidget):
    """A picture that a reader moves.

    Args:
        task: name of a task of this widget, which the picture shows under its sentence and ticks
            once it is done; None for none.
        card: what makes a card of the widget in a built page, its picture over a sentence: it,
            `says`, the `title` and address, `to`, of the page that it leads to, and, where controls
            stay beside the picture, their names, `moves`; None for none.

    Raises:
        traitlets.TraitError: there is no such task, or it is one of another widget.
    """

    task = TaskTrait()
    card = traitlets.Dict(
        default_value=None,
        allow_none=True,
        key_trait=traitlets.Enum(["says", "title", "to", "moves"]),
        value_trait=traitlets.Unicode(),
    ).tag(sync=True)
