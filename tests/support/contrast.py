"""How well one color is told from another."""


def channels(color):
    """Red, green and blue, up to 255, of a color such as `#0072B2`."""
    return [int(color[at : at + 2], 16) for at in (1, 3, 5)]


def contrast(one, other):
    """The contrast of two colors by the rule of WCAG 2; each is `#rrggbb`, or its channels."""

    def luminance(color):
        values = channels(color) if isinstance(color, str) else color
        shares = [value / 255 for value in values]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]
        return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
