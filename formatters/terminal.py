"""Colours and cell widths of a terminal; the only formatter that imports rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.style import Style

from wirelens.formatters import layout as lay

if TYPE_CHECKING:
    from typing import Final

    from wirelens.formatters.layout import Line

# Only the sixteen colours that follow the terminal's theme, light or dark.
STYLES: Final[dict[str, str]] = {
    lay.PROTOCOL: "bold magenta",
    lay.SUMMARY: "bold",
    lay.NAME: "cyan",
    lay.TYPE: "dim",
    lay.NUMBER: "magenta",
    lay.STRING: "green",
    lay.BYTES: "yellow",
    lay.WORD: "bold",
    lay.REFERENCE: "blue",
    lay.ANNOTATION: "italic green",
    lay.DIM: "dim",
    lay.NOTE: "yellow",
    lay.ERROR: "bold red",
    lay.HEADING: "bold",
}


class Painter:
    """Adds colour sequences to lines."""

    def __init__(self) -> None:
        self.around: dict[str, tuple[str, str]] = {lay.PLAIN: ("", "")}
        for name, look in STYLES.items():
            before, _, after = (
                Style.parse(look).render("\0", color_system=ColorSystem.STANDARD).partition("\0")
            )
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
