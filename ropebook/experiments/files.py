"""Files that are there whole or not at all."""

import os
from collections.abc import Callable
from pathlib import Path


def replace(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file beside `path` and put it there when it is whole; folders are made.

    Whatever stops it, a full disk too, leaves at `path` what stood there.

    Args:
        path: the file.
        write: called with the path to write to.

    Raises:
        OSError: if it cannot be written; the message names `path` and the reason.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     replace(Path(folder) / "a" / "b", lambda path: path.write_text("whole"))
        ...     (Path(folder) / "a" / "b").read_text()
        'whole'
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(beside)
        with open(beside, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(beside, path)
    except (OSError, RuntimeError) as error:  # torch.save says RuntimeError for a full disk
        raise OSError(f"cannot write {path}, which stays as it was: {error}") from error
    finally:
        if beside.exists():
            beside.unlink()
