"""The ways of rotating: by size, by a kernel that was built, and by programs for CUDA."""

import programs
import pytest

from ropelib import cuda, kernels, native

if cuda.INTERPRETED:
    programs.round_to_nearest()


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The compiled kernel, in a cache of its own."""
    if not native.compiler():
        pytest.skip("no C++ compiler")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        native.build()
        function = native.kernel()
    native.kernel.cache_clear()
    return function


@pytest.fixture(params=["few", "many", "native"])
def way(request, monkeypatch):
    """Rotate few elements, as these tests do, by each of the ways, whatever this machine has."""
    function = request.getfixturevalue("built") if request.param == "native" else None
    monkeypatch.setattr(native, "kernel", lambda: function)
    if request.param != "few":
        monkeypatch.setattr(kernels, "FEW", 0)
        monkeypatch.setattr(kernels, "TINY", 0)


@pytest.fixture
def launches(monkeypatch):
    """The names of the programs that were started; empty where plain operations do it all."""
    started = []
    if programs.RUN_PROGRAMS:
        from ropelib.cuda import launch

        def counted(name, start):
            def count(*args, **kwargs):
                started.append(name)
                return start(*args, **kwargs)

            return count

        for name in ("rotate", "rotate_into_cache"):
            monkeypatch.setattr(launch, name, counted(name, getattr(launch, name)))
    return started
