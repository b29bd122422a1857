"""What the book needs beyond the library, named where it is missing."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def book_extra(part: str) -> Iterator[None]:
    """Import what only the book needs, or say how to install it.

    Args:
        part: the module that needs it, `__name__`.

    Raises:
        ModuleNotFoundError: If a module imported inside is not installed; it names the extra.

    Example:
        >>> with book_extra("ropelib.figures"):
        ...     import no_such_plotly
        Traceback (most recent call last):
        ...
        ModuleNotFoundError: ropelib.figures needs no_such_plotly: pip install 'ropelib[book]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{part} needs {error.name}: pip install 'ropelib[book]'", name=error.name
        ) from error
