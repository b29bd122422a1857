"""The vectors, written once."""

from types import SimpleNamespace

import pytest

from ropelib.conformance import write


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """The folder of the files, and what they hold."""
    folder = tmp_path_factory.mktemp("conformance")
    return SimpleNamespace(folder=folder, vectors=write(folder))


@pytest.fixture
def vectors(written):
    return written.vectors
