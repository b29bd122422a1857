"""Installs the book's own package from its folder; every folder of Python files in it belongs."""

from setuptools import find_packages, setup

setup(
    package_dir={"ropebook": "."},
    packages=["ropebook", *(f"ropebook.{name}" for name in find_packages("."))],
    package_data={"": ["*.js", "*.css"]},
)
