"""How each style of a line looks on a dark background, on a light one, and on either.

Colours are numbers of the 256: 16 to 255 look the same in every terminal. Each has a contrast of at least
4.5:1 (WCAG 2.2, 1.4.3) on the backgrounds of its theme.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from wirelens.formatters import layout as lay

if TYPE_CHECKING:
    from typing import Final

DARK: Final = "dark"
LIGHT: Final = "light"
EITHER: Final = "either"
THEMES: Final = (DARK, LIGHT, EITHER)

Colour = tuple[int, int, int]  # red, green, blue: 0 to 255

# Usual backgrounds of terminals for each theme.
BACKGROUNDS: Final[dict[str, dict[str, Colour]]] = {
    DARK: {"black": (0, 0, 0), "VS Code dark": (0x1E, 0x1E, 0x1E), "Solarized dark": (0x00, 0x2B, 0x36)},
    LIGHT: {"white": (255, 255, 255), "Solarized light": (0xFD, 0xF6, 0xE3)},
    EITHER: {"black": (0, 0, 0), "white": (255, 255, 255)},
}


class Look(NamedTuple):
    """The colour of a style in each theme, None for the terminal's own, and its form (bold, italic, …)."""

    dark: int | None = None
    light: int | None = None
    either: int | None = None
    form: str = ""


_NAME: Final = Look(80, 24, 63)
_TEXT: Final = Look(114, 22, 29)
_NUMBER: Final = Look(183, 91, 98)
_QUIET: Final = Look(248, 241, 243)
_QUIETEST: Final = Look(246, 242, 243)
_LINK: Final = Look(111, 25, 63)
_REMARK: Final = Look(179, 94, 131)
_ERROR: Final = Look(210, 124, 163, "bold")
_BOLD: Final = Look(form="bold")

LOOKS: Final[dict[str, Look]] = {
    lay.PROTOCOL: _BOLD,
    lay.SUMMARY: _BOLD,
    lay.HEADING: _BOLD,
    lay.WORD: _BOLD,
    lay.NAME: _NAME,
    lay.STRING: _TEXT,
    lay.NUMBER: _NUMBER,
    lay.BYTES: _NUMBER,
    lay.TYPE: _QUIET,
    lay.DIM: _QUIETEST,
    lay.REFERENCE: _LINK._replace(form="underline"),
    lay.BAR: _LINK,
    lay.ANNOTATION: _REMARK._replace(form="italic"),
    lay.NOTE: _REMARK._replace(form="bold"),
    lay.ERROR: _ERROR,
    lay.ADDED: _TEXT,
    lay.REMOVED: _ERROR,
    lay.MATCH: Look(form="bold reverse"),
}

# Terminals with sixteen colours, whose look the user's settings decide.
_SIXTEEN: Final[dict[str, dict[str, str]]] = {
    DARK: {
        lay.NAME: "cyan",
        lay.STRING: "green",
        lay.ADDED: "green",
        lay.ANNOTATION: "italic yellow",
        lay.NOTE: "bold yellow",
    },
    LIGHT: {lay.NAME: "blue", lay.NUMBER: "magenta", lay.BYTES: "magenta"},
    EITHER: {lay.ANNOTATION: ""},
}


def style(name: str, theme: str, colours: int = 256) -> str:
    """The look of a style, as rich writes styles, on a terminal with that many colours."""
    look = LOOKS[name]
    if colours < 256:
        if look is _ERROR:
            return "bold reverse"
        return _SIXTEEN[theme].get(name, look.form)
    colour: int | None = getattr(look, theme)
    return look.form if colour is None else f"{look.form} color({colour})".strip()


def rgb(colour: int) -> Colour:
    """The red, green and blue of a colour from 16 to 255 of the 256."""
    if colour >= 232:
        grey = 8 + (colour - 232) * 10
        return grey, grey, grey
    steps = (0, 95, 135, 175, 215, 255)
    cube = colour - 16
    return steps[cube // 36], steps[cube // 6 % 6], steps[cube % 6]


def luminance(colour: Colour) -> float:
    """The relative luminance of a colour, from 0 (black) to 1 (white); WCAG 2.2."""
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (part / 255 for part in colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Colour, other: Colour) -> float:
    """The contrast ratio of two colours, from 1 to 21; WCAG 2.2."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def theme_for(background: Colour) -> str:
    """The theme for a background: the one whose text would stand out more."""
    return DARK if contrast(background, (255, 255, 255)) >= contrast(background, (0, 0, 0)) else LIGHT
