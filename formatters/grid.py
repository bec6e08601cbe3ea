"""Rows of texts as a table whose columns line up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.codecs.words import clean
from wirelens.formatters import layout as lay

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Final

    from wirelens.formatters.layout import Layout, Line

GAP: Final = "  "
LEAST: Final = 6  # cells of a column that is cut
WIDEST: Final = 200  # cells of a column where lines have no end


class Grid:
    """Lays out rows with these names; `right`: whether each column is aligned to the right.

    Where the layout limits lines, the widest columns are cut until a line fits.
    """

    def __init__(self, names: Sequence[str], right: Sequence[bool], layout: Layout) -> None:
        self._names: Final = [clean(name) for name in names]
        self._right: Final = right
        self._layout: Final = layout
        self._widths: list[int] = []

    def measure(self, rows: Sequence[Sequence[str]]) -> None:
        """Set the widths of columns by these rows."""
        cells = self._layout.measure
        self._widths = [
            max([cells(name), *[cells(clean(row[column])) for row in rows]])
            for column, name in enumerate(self._names)
        ]
        width = self._layout.limit
        if width is None:
            self._widths = [min(size, WIDEST) for size in self._widths]
            return
        room = width - len(GAP) * (len(self._widths) - 1)
        while sum(self._widths) > room and max(self._widths, default=0) > LEAST:
            widest = self._widths.index(max(self._widths))
            rest = max([size for place, size in enumerate(self._widths) if place != widest], default=0)
            surplus = sum(self._widths) - room
            size = self._widths[widest]
            self._widths[widest] = max(LEAST, size - surplus, min(rest, size - 1))

    def head(self) -> Line:
        """The names."""
        return self._line(self._names, lay.DIM)

    def lines(self, rows: Sequence[Sequence[str]]) -> Iterator[Line]:
        """A line for each row."""
        for row in rows:
            yield self._line([clean(text) for text in row], lay.PLAIN)

    def _line(self, texts: Sequence[str], style: str) -> Line:
        cells = self._layout.measure
        parts: list[str] = []
        for text, width, right in zip(texts, self._widths, self._right, strict=True):
            # without a width nothing is cut
            long = self._layout.limit is not None and cells(text) > width
            shown = self._layout.cut(text, width - 1) + "…" if long else text
            blanks = " " * max(0, width - cells(shown))
            parts.append(blanks + shown if right else shown + blanks)
        return [(style, GAP.join(parts))]
