"""What an index shows of ropelib: the section of the README about it, and none of its pictures."""

import re
from pathlib import Path

from setuptools import setup

README = Path(__file__).with_name("README.md").read_text("utf-8")
(library,) = re.findall(r"^## The library\n(.*?)(?=^## )", README, re.MULTILINE | re.DOTALL)

setup(
    long_description=f"# ropelib\n{library}",
    long_description_content_type="text/markdown",
)
