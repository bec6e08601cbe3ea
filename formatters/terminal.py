"""Colours and cell widths of a terminal; the only formatter that imports rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.style import Style

from wirelens.formatters import layout as lay
from wirelens.formatters.palettes import LOOKS
from wirelens.formatters.palettes import style as style_of

if TYPE_CHECKING:
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
