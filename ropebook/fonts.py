"""The book's own fonts: pages are laid out alike on every machine, and ask nobody for anything.

The faces come as packages of font files (`fontpkg-*`, under the SIL Open Font License). The build
keeps of each the characters that the book may use, as WOFF2, with the license beside them.
"""

import shutil
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont

# Latin and Greek, general punctuation, small raised and lowered digits, arrows, operators, shapes,
# the marks of the tests. What a font lacks of these comes from the reader's machine, as Chinese.
_CHARACTERS = [
    *((0x20, 0x7E), (0xA0, 0x17F), (0x1CD, 0x1DC), (0x2C6, 0x2DD), (0x384, 0x3CE)),
    *((0x2009, 0x2044), (0x2070, 0x209C), (0x2190, 0x2199), (0x2200, 0x22FF), (0x25A0, 0x25FF)),
    *((0x2713, 0x2713), (0x2717, 0x2717)),
]


@dataclass(frozen=True)
class Face:
    """One file of a font package: a style of a family in all weights."""

    family: str
    package: str
    file: str
    style: str = "normal"
    pinned: tuple[tuple[str, float], ...] = ()  # axes of the file that the book does not vary
    features: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """File name of the face in the built book."""
        return f"{self.family}-{self.style}.woff2".lower().replace(" ", "-")


_TEXT = {"pinned": (("opsz", 14),), "features": ("kern", "mark", "mkmk", "ccmp", "tnum", "calt")}
# No ligatures in code: "!=" is two characters.
_CODE = {"features": ("mark", "mkmk", "ccmp")}
FACES = (
    Face("Inter", "fontpkg_inter", "Inter[opsz,wght].ttf", **_TEXT),
    Face("Inter", "fontpkg_inter", "Inter-Italic[opsz,wght].ttf", "italic", **_TEXT),
    Face("JetBrains Mono", "fontpkg_jetbrains_mono", "JetBrainsMono[wght].ttf", **_CODE),
)


def css() -> str:
    """Return the `@font-face` rules, with addresses relative to the folder that `write` fills.

    Text waits for its font rather than be drawn in another and jump.
    """
    return "".join(
        f'@font-face {{ font-family: "{face.family}"; font-style: {face.style}; '
        f"font-weight: 100 900; font-display: block; "
        f'src: url("{face.name}") format("woff2"); }}\n'
        for face in FACES
    )


def write(folder: Path) -> None:
    """Write the faces, their style sheet `fonts.css` and their licenses into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for face in FACES:
        _write_subset(face, folder / face.name)
        license_name = f"{face.family}-LICENSE.txt".replace(" ", "")
        shutil.copyfile(files(face.package) / "LICENSE", folder / license_name)
    (folder / "fonts.css").write_text(css(), encoding="utf-8")


def _write_subset(face: Face, target: Path) -> None:
    with TTFont(files(face.package) / "files" / face.file, recalcTimestamp=False) as font:
        subsetter = Subsetter(Options(layout_features=list(face.features), notdef_outline=True))
        subsetter.populate(unicodes=[c for a, b in _CHARACTERS for c in range(a, b + 1)])
        subsetter.subset(font)
        instantiateVariableFont(font, dict(face.pinned), inplace=True)
        font.flavor = "woff2"
        font.save(target)
