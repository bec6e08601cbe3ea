"""Coloured lines as a page of HTML or a picture in SVG, by rich's export; nothing in them is fetched."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from wirelens.formatters.layout import plain
from wirelens.formatters.palettes import DARK, style
from wirelens.formatters.terminal import cells

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from wirelens.formatters.layout import Line

_SIXTEEN: Final = [(0, 0, 0)] * 8  # no style uses them
_THEMES: Final = {
    True: TerminalTheme((0, 0, 0), (229, 229, 229), _SIXTEEN),
    False: TerminalTheme((255, 255, 255), (0, 0, 0), _SIXTEEN),
}
FONT: Final = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
_HTML: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<title>wirelens</title>
<style>
body {{ color: {foreground}; background-color: {background}; }}
pre {{ font: 14px/1.3 FONT; }}
{stylesheet}
</style>
</head>
<body>
<pre>{code}</pre>
</body>
</html>
""".replace("FONT", FONT)
_SVG: Final = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {terminal_width} {terminal_height}">
<style>
.{unique_id}-matrix {{ font-family: FONT; font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<rect width="{terminal_width}" height="{terminal_height}" fill="BACKGROUND"/>
<defs>
{lines}
</defs>
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</svg>
""".replace("FONT", FONT)


def html(lines: Iterable[Line], theme: str) -> str:
    """A page that shows the lines; `theme` is one of `palettes.THEMES`, light for any but dark."""
    console = _drawn(list(lines), theme)
    return console.export_html(theme=_THEMES[theme == DARK], code_format=_HTML)


def svg(lines: Iterable[Line], theme: str) -> str:
    """A picture of the lines; `theme` as for `html`."""
    console = _drawn(list(lines), theme)
    background = "#000000" if theme == DARK else "#ffffff"
    return console.export_svg(
        theme=_THEMES[theme == DARK],
        code_format=_SVG.replace("BACKGROUND", background),
        unique_id="wirelens",
    )


def _drawn(lines: list[Line], theme: str) -> Console:
    """A console that has recorded the lines."""
    shown = theme if theme == DARK else "light"
    width = max([cells(plain(line)) for line in lines], default=1)
    console = Console(
        record=True,
        width=max(width, 1),
        file=StringIO(),
        force_terminal=True,
        color_system="256",
        legacy_windows=False,
        highlight=False,
    )
    styles = {
        name: Style.parse(style(name, shown)) for name in {name for line in lines for name, _ in line} if name
    }
    for line in lines:
        text = Text(no_wrap=True, end="\n")
        for name, part in line:
            text.append(part, styles.get(name, ""))
        console.print(text, soft_wrap=True)
    return console
