"""The book's colors: one per thing, the same in widgets, figures, formulae and prose.

Each thing has a `mark` (lines, arrows, dots) and a `text` shade with a contrast of at least 4.5 on
its page; dark pages have lighter twins. The hues are of Okabe and Ito's color-blind safe set.

What is no thing has colors of its own: lines that only must be told apart, such as methods that are
compared, take those of a series (with a dash or a symbol each), and a map of numbers of either sign
the two of a ramp. Of the ramp's two, one is the lighter on either page: without hues, too, signs
differ.
"""

LIGHT = {
    "q": {"mark": "#0072B2", "text": "#0067A1"},
    "k": {"mark": "#D55E00", "text": "#AB4B00"},
    "score": {"mark": "#009E73", "text": "#00734F"},
    "position": {"mark": "#CC79A7", "text": "#9F4576"},
    "angle": {"mark": "#E69F00", "text": "#8A5F00"},
    "neutral": {"mark": "#6B7280", "text": "#5B6270"},
}
DARK = {
    "q": {"mark": "#56B4E9", "text": "#56B4E9"},
    "k": {"mark": "#FF9A4D", "text": "#FF9A4D"},
    "score": {"mark": "#3DD6A3", "text": "#3DD6A3"},
    "position": {"mark": "#E8A5CB", "text": "#E8A5CB"},
    "angle": {"mark": "#F2C14E", "text": "#F2C14E"},
    "neutral": {"mark": "#9CA3AF", "text": "#A9B0BB"},
}
LIGHT_SERIES = {
    "one": {"mark": "#A4243B", "text": "#9A2137"},
    "two": {"mark": "#6C4AB6", "text": "#6443AB"},
    "three": {"mark": "#627F14", "text": "#556E10"},
    "four": {"mark": "#0F7C8A", "text": "#0E7380"},
    "five": {"mark": "#7A5230", "text": "#73502F"},
}
DARK_SERIES = {
    "one": {"mark": "#F0788C", "text": "#F0788C"},
    "two": {"mark": "#B39DF0", "text": "#B39DF0"},
    "three": {"mark": "#B5D04F", "text": "#B5D04F"},
    "four": {"mark": "#5CCBD8", "text": "#5CCBD8"},
    "five": {"mark": "#D3A67E", "text": "#D3A67E"},
}
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
