"""The book's colors: one per thing, the same in widgets, figures, formulae and prose.

Each thing has a `mark` (lines, arrows, dots) and a `text` shade with a contrast of at least 4.5 on
its page; dark pages have lighter twins. The hues are of Okabe and Ito's color-blind safe set.

What is no thing has colors of its own: lines that only must be told apart, such as methods that are
compared, take those of a series (with a dash or a symbol each), and a map of numbers of either sign
the two of a ramp. Of the ramp's two, one is the lighter on either page: without hues, too, signs
differ.
"""

# Each in a row: its mark and its text on a light page, then on a dark one.
_THINGS = {
    "q": ("#0072B2", "#0067A1", "#56B4E9", "#56B4E9"),
    "k": ("#D55E00", "#AB4B00", "#FF9A4D", "#FF9A4D"),
    "score": ("#009E73", "#00734F", "#3DD6A3", "#3DD6A3"),
    "position": ("#CC79A7", "#9F4576", "#E8A5CB", "#E8A5CB"),
    "angle": ("#E69F00", "#8A5F00", "#F2C14E", "#F2C14E"),
    "lit": ("#DFA800", "#7A5C00", "#FFD152", "#FFD152"),
    "neutral": ("#6B7280", "#5B6270", "#9CA3AF", "#A9B0BB"),
}
_SERIES = {
    "one": ("#A4243B", "#9A2137", "#F0788C", "#F0788C"),
    "two": ("#6C4AB6", "#6443AB", "#B39DF0", "#B39DF0"),
    "three": ("#627F14", "#556E10", "#B5D04F", "#B5D04F"),
    "four": ("#0F7C8A", "#0E7380", "#5CCBD8", "#5CCBD8"),
    "five": ("#7A5230", "#73502F", "#D3A67E", "#D3A67E"),
}


def _shades(table: dict[str, tuple[str, ...]], first: int) -> dict[str, dict[str, str]]:
    return {name: {"mark": row[first], "text": row[first + 1]} for name, row in table.items()}


LIGHT, DARK = _shades(_THINGS, 0), _shades(_THINGS, 2)
LIGHT_SERIES, DARK_SERIES = _shades(_SERIES, 0), _shades(_SERIES, 2)
LIGHT_RAMP = {"below": "#5A3E9B", "above": "#8FB03A"}
DARK_RAMP = {"below": "#8B74D1", "above": "#C6E377"}
# What lies around the things: page, a panel on it, hairlines, ordinary text.
LIGHT_PAGE = {"page": "#FFFFFF", "panel": "#F6F7F9", "line": "#D5D9E0", "ink": "#1F2430"}
DARK_PAGE = {"page": "#14181E", "panel": "#1D232C", "line": "#3A4351", "ink": "#E4E7EC"}

_DARK_PAGES = (
    'html[data-theme="dark"]',
    'body[data-jp-theme-light="false"]',
    "body.vscode-dark",
)


def named(*, dark: bool = False) -> dict[str, str]:
    """Return every color by its name, "q", "q-text", "one", "below", "page", ...

    Args:
        dark: whether for a dark page.

    Example:
        >>> named()["q"], named(dark=True)["q"]
        ('#0072B2', '#56B4E9')
    """
    shaded = {**DARK, **DARK_SERIES} if dark else {**LIGHT, **LIGHT_SERIES}
    colors = {name: shades["mark"] for name, shades in shaded.items()}
    colors |= {f"{name}-text": shades["text"] for name, shades in shaded.items()}
    plain = (DARK_RAMP, DARK_PAGE) if dark else (LIGHT_RAMP, LIGHT_PAGE)
    return colors | plain[0] | plain[1]


def css() -> str:
    """Return the palette as CSS custom properties, `--rope-q`, `--rope-q-text`, `--rope-page`, ...

    A page is dark where the book's theme, JupyterLab or VS Code says so.
    """
    light, dark = (
        " ".join(f"--rope-{name}: {color};" for name, color in named(dark=dark).items())
        for dark in (False, True)
    )
    return f":root {{ {light} }}\n{', '.join(_DARK_PAGES)} {{ {dark} }}\n"
