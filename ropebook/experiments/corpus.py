"""A text that stands wherever Python does: the bytes of the standard library's own source."""

import functools
import hashlib
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from ropelib import checks

SPLITS = ("train", "valid")
# Not source that somebody wrote for this release: what is installed beside it, made while building
# it, or left out by some systems.
SKIPPED = {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "turtledemo"}
GENERATED = ("_sysconfigdata", "pydoc_data", "encodings/")


@dataclass(frozen=True, eq=False)
class Corpus:
    """Two texts that share no file.

    Args:
        train: bytes, `(num_bytes,)`, uint8.
        valid: likewise, of other files.
        num_files: how many files stand in both.
    """

    train: Tensor = field(repr=False)
    valid: Tensor = field(repr=False)
    num_files: int

    @property
    def sha256(self) -> str:
        """What tells one release's text from another's."""
        digest = hashlib.sha256(self.train.numpy().tobytes())
        digest.update(self.valid.numpy().tobytes())
        return digest.hexdigest()

    def windows(
        self, split: str, count: int, length: int, generator: torch.Generator | int = 0
    ) -> Tensor:
        """Return pieces of one text that begin anywhere.

        Args:
            split: "train" or "valid".
            count: how many pieces, at least 1.
            length: bytes of each, at least 1.
            generator: of the places where they begin, or its seed.

        Returns:
            Whole numbers from 0 to 255, `(count, length)`.

        Raises:
            TypeError: if a number is not an integer.
            ValueError: if there is no such split, a number is not positive, or a piece is longer
                than the text.

        Example:
            >>> text = Corpus(torch.arange(9, dtype=torch.uint8), torch.zeros(9).byte(), 2)
            >>> text.windows("train", 1, 9)
            tensor([[0, 1, 2, 3, 4, 5, 6, 7, 8]])
        """
        if split not in SPLITS:
            raise ValueError(f"split must be one of {list(SPLITS)}, got {checks.shown(split)}")
        checks.integer("count", count, 1)
        checks.integer("length", length, 1)
        text = getattr(self, split)
        if length > len(text):
            raise ValueError(
                f"length must be at most the {split} text's {len(text)} bytes, got {length}"
            )
        if not isinstance(generator, torch.Generator):
            generator = torch.Generator().manual_seed(generator)
        starts = torch.randint(len(text) - length + 1, (count, 1), generator=generator)
        return text[starts + torch.arange(length)].long()


@functools.cache
def corpus() -> Corpus:
    """Return the standard library's source, split by file, one file in ten for validation.

    Which file goes where is decided by a hash of its name, so that a further file moves no other.

    Raises:
        FileNotFoundError: if this Python comes without its library's source.
    """
    return read(Path(sysconfig.get_path("stdlib")))


def read(folder: Path) -> Corpus:
    """Return the text of all `.py` files of a folder, in the order of their names.

    Args:
        folder: of the files, and of folders of files.

    Raises:
        FileNotFoundError: if one of the two texts would be empty.
    """
    texts = {split: [] for split in SPLITS}
    for name, path in sorted((p.relative_to(folder).as_posix(), p) for p in folder.rglob("*.py")):
        if SKIPPED.isdisjoint(Path(name).parts) and not name.startswith(GENERATED):
            held_out = hashlib.sha256(name.encode()).digest()[0] % 10 == 0
            texts["valid" if held_out else "train"].append(path.read_bytes())
    for split, files in texts.items():
        if not sum(map(len, files)):
            raise FileNotFoundError(
                f"the source of Python's library is missing: no {split} text in {folder}"
            )
    train, valid = (
        torch.frombuffer(bytearray(b"\0".join(texts[s])), dtype=torch.uint8) for s in SPLITS
    )
    return Corpus(train, valid, sum(map(len, texts.values())))
