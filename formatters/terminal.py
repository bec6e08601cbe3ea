"""Colours and cell widths of a terminal; the only formatter that imports rich."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.style import Style

from wirelens.formatters import layout as lay
from wirelens.formatters.palettes import LOOKS
from wirelens.formatters.palettes import style as style_of

if TYPE_CHECKING:
    from typing import Final

    from wirelens.formatters.layout import Line


class Painter:
    """Adds colour sequences to lines, for a theme of `palettes` and a number of colours."""

    def __init__(self, theme: str, colours: int = 256) -> None:
        self.around: dict[str, tuple[str, str]] = {lay.PLAIN: ("", "")}
        system = ColorSystem.EIGHT_BIT if colours >= 256 else ColorSystem.STANDARD
        for name in LOOKS:
            look = Style.parse(style_of(name, theme, colours))
            before, _, after = look.render("\0", color_system=system).partition("\0")
            self.around[name] = (before, after)

    def paint(self, line: Line) -> str:
        """A line as text with colour sequences."""
        parts: list[str] = []
        for style, text in line:
            if text:
                before, after = self.around[style]
                parts.append(f"{before}{text}{after}")
        return "".join(parts)


def cells(text: str) -> int:
    """The number of terminal cells that a text takes."""
    return len(text) if text.isascii() else cell_len(text)


# A name with its colon, a text, a number, or a word of JSON.
_JSON: Final = re.compile(
    r'(?P<name>"(?:[^"\\]|\\.)*+")(?=\s*+:)|(?P<string>"(?:[^"\\]|\\.)*+")'
    r"|(?P<number>-?\d[\d.eE+-]*+)|(?P<word>true|false|null|NaN|Infinity)"
)


def json_segments(text: str) -> Line:
    """JSON text, or a part of it that does not begin or end inside a token, with the styles of its tokens."""
    line: Line = []
    at = 0
    for token in _JSON.finditer(text):
        start, end = token.span()
        if start > at:
            line.append((lay.PLAIN, text[at:start]))
        line.append((token.lastgroup or lay.PLAIN, token[0]))
        at = end
    line.append((lay.PLAIN, text[at:]))
    return line
