"""The book's colors: one per thing, the same in widgets, figures, formulae and prose.

Each thing has a `mark` (lines, arrows, dots) and a `text` shade with a contrast of at least 4.5 on
its page; dark pages have lighter twins. The hues are of Okabe and Ito's color-blind safe set.
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
# What lies around the things: page, a panel on it, hairlines, ordinary text.
LIGHT_PAGE = {"page": "#FFFFFF", "panel": "#F6F7F9", "line": "#D5D9E0", "ink": "#1F2430"}
DARK_PAGE = {"page": "#14181E", "panel": "#1D232C", "line": "#3A4351", "ink": "#E4E7EC"}

# The share of itself that one of two patches keeps over the panel: on a dark page all colors are
# light, and patches would differ in hue alone.
LIGHT_SHARE, DARK_SHARE = "100%", "72%"

_DARK_PAGES = (
    'html[data-theme="dark"]',
    'body[data-jp-theme-light="false"]',
    "body.vscode-dark",
)


def _variables(things: dict[str, dict[str, str]], page: dict[str, str], share: str) -> str:
    lines = [f"--rope-{name}: {shades['mark']};" for name, shades in things.items()]
    lines += [f"--rope-{name}-text: {shades['text']};" for name, shades in things.items()]
    lines += [f"--rope-{name}: {color};" for name, color in page.items()]
    return " ".join([*lines, f"--rope-share: {share};"])


def css() -> str:
    """Return the palette as CSS custom properties, `--rope-q`, `--rope-q-text`, `--rope-page`, ...

    `--rope-share` is no color but the share of one that a patch keeps, for `color-mix`.

    A page is dark where the book's theme, JupyterLab or VS Code says so.
    """
    dark = ", ".join(_DARK_PAGES)
    light_variables = _variables(LIGHT, LIGHT_PAGE, LIGHT_SHARE)
    dark_variables = _variables(DARK, DARK_PAGE, DARK_SHARE)
    return f":root {{ {light_variables} }}\n{dark} {{ {dark_variables} }}\n"
