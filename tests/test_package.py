import subprocess
import sys
from importlib.metadata import version

import ropelib

HEAVY = [
    "sympy",
    "plotly",
    "ipywidgets",
    "anywidget",
    "transformers",
    "IPython",
    "sphinx",
    "triton",
]


def test_public_names_are_importable():
    expected = {"inv_freq", "cos_sin", "apply_rotary", "convert_layout", "RotaryEmbedding"}
    assert expected <= set(ropelib.__all__)
    assert all(callable(getattr(ropelib, name)) for name in ropelib.__all__)


def test_version_is_the_installed_one():
    assert ropelib.__version__ == version("ropelib")


def test_import_loads_nothing_heavy():
    # Against what torch itself loads: only the difference is ours.
    code = (
        "import sys, torch; before = set(sys.modules); import ropelib;"
        f"print([m for m in {HEAVY} if m in set(sys.modules) - before])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
