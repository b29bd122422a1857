"""The two ways of rotating that the size of a tensor chooses between."""

import pytest

from ropelib import kernels


@pytest.fixture(params=["few", "many"])
def way(request, monkeypatch):
    """Rotate few elements, as these tests do, by either of the two ways."""
    if request.param == "many":
        monkeypatch.setattr(kernels, "FEW", 0)
