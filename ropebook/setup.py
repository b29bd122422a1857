"""Installs the book's own package from its folder; every folder of Python files in it belongs."""

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py


class WithoutTests(build_py):
    """Tests stand beside what they test, and are of use where the repository is; so is this."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """Return (package, module, file) of all modules that a reader's Python may import."""
        found = super().find_package_modules(package, package_dir)
        return [one for one in found if one[1] != "setup" and not one[1].startswith("test_")]


setup(
    cmdclass={"build_py": WithoutTests},
    package_dir={"ropebook": "."},
    packages=["ropebook", *(f"ropebook.{name}" for name in find_packages("."))],
    # The kit holds no Python, so it is no package of its own.
    package_data={"": ["*.js", "*.css"], "ropebook.widgets": ["kit/*.js", "kit/*.css"]},
)
