"""The text that stands wherever Python does."""

import sysconfig
from pathlib import Path

import pytest
import torch

from ropebook.experiments.corpus import corpus, read


@pytest.fixture
def folder(tmp_path):
    for number in range(40):
        (tmp_path / f"m{number:02}.py").write_text(f"x = {number}\n")
    for skipped in ("test/t.py", "site-packages/s.py", "pydoc_data/p.py"):
        path = tmp_path / skipped
        path.parent.mkdir(exist_ok=True)
        path.write_text("skipped")
    (tmp_path / "notes.txt").write_text("skipped")
    return tmp_path


def files_of(text):
    return bytes(text.tolist()).split(b"\0")


def test_each_file_stands_in_one_of_two_texts(folder):
    found = read(folder)
    train, valid = files_of(found.train), files_of(found.valid)
    assert set(train).isdisjoint(valid)
    assert sorted(train + valid) == sorted(f"x = {n}\n".encode() for n in range(40))
    assert found.num_files == 40
    assert 0 < len(valid) < len(train)


def test_a_further_file_moves_no_other(folder):
    before = read(folder)
    (folder / "a_new_one.py").write_text("new = 1\n")
    after = read(folder)
    for split in ("train", "valid"):
        left = set(files_of(getattr(before, split))) - set(files_of(getattr(after, split)))
        assert left == set()
    assert after.num_files == before.num_files + 1 and after.sha256 != before.sha256


def test_a_changed_byte_changes_the_digest(folder):
    before = read(folder).sha256
    (folder / "m00.py").write_text("x = 1\n")
    assert read(folder).sha256 != before


def test_a_python_without_source_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="the source of Python's library is missing"):
        read(tmp_path)


def test_windows_are_pieces_of_the_text():
    found = corpus()
    text = bytes(found.valid.tolist())
    for window in found.windows("valid", 5, 300, seed_of(1)).tolist():
        assert bytes(window) in text
    source = Path(sysconfig.get_path("stdlib"), "this.py").read_bytes()
    assert any(source in bytes(x.tolist()) for x in (found.train, found.valid))


def seed_of(seed):
    return torch.Generator().manual_seed(seed)


def test_windows_repeat_for_a_seed_and_move_on_with_a_generator():
    found = corpus()
    assert found.windows("train", 2, 9, 3).equal(found.windows("train", 2, 9, seed_of(3)))
    assert not found.windows("train", 2, 9, 3).equal(found.windows("train", 2, 9, 4))
    generator = seed_of(3)
    assert not found.windows("train", 2, 9, generator).equal(
        found.windows("train", 2, 9, generator)
    )


def test_what_is_no_window_is_refused():
    found = corpus()
    with pytest.raises(ValueError, match=r"split must be one of .*, got 'test'"):
        found.windows("test", 1, 4)
    size = len(found.valid)
    with pytest.raises(ValueError, match=f"at most the valid text's {size} bytes, got {size + 1}"):
        found.windows("valid", 1, size + 1)
    assert found.windows("valid", 1, size).shape == (1, size)
    for count, length in ((0, 4), (1, 0)):
        with pytest.raises(ValueError, match="must be positive, got 0"):
            found.windows("train", count, length)
    with pytest.raises(TypeError, match=r"length must be an integer, got 4\.0"):
        found.windows("train", 1, 4.0)
