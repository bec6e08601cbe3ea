"""Rows of numbers in a file, of which some pages are in memory; columns of them that are read like arrays."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from typing import BinaryIO

NUMBER: Final = 8  # bytes of a number
IN_MEMORY: Final = 24 << 20  # bytes of a file


class Numbers(Protocol):
    """A column of numbers, in memory or in a file."""

    def __getitem__(self, index: int, /) -> int: ...
    def __setitem__(self, index: int, value: int, /) -> None: ...


class Rows:
    """So many rows of `width` numbers each, in a file; `page_rows` of them are read and written together."""

    def __init__(self, file: BinaryIO, width: int, page_rows: int, count: int) -> None:
        self.width: Final = width
        self.page_rows: Final = page_rows
        self._file: Final = file
        self._count: Final = count
        self._most: Final = IN_MEMORY // (page_rows * width * NUMBER)
        self._pages: OrderedDict[int, array[int]] = OrderedDict()
        self._changed: set[int] = set()

    def column(self, place: int) -> Column:
        """One of its columns."""
        return Column(self, place)

    def write(self, index: int, values: array[int]) -> None:
        """Write rows from an index on, before any are used by their columns."""
        self._file.seek(index * self.width * NUMBER)
        self._file.write(values)

    def read(self, index: int, count: int) -> array[int]:
        """The values of rows from an index on, likewise."""
        values = array("q")
        self._file.seek(index * self.width * NUMBER)
        values.frombytes(self._file.read(count * self.width * NUMBER))
        return values

    def fill(self, value: int) -> None:
        """Set all to one number, likewise."""
        page = array("q", [value]) * (self.page_rows * self.width)
        for index in range(0, self._count, self.page_rows):
            self.write(index, page[: (self._count - index) * self.width])

    def page(self, number: int) -> array[int]:
        """The values of a page."""
        pages = self._pages
        page = pages.get(number)
        if page is not None:
            pages.move_to_end(number)
            return page
        if len(pages) >= self._most:
            oldest, values = pages.popitem(last=False)
            if oldest in self._changed:
                self._changed.discard(oldest)
                self.write(oldest * self.page_rows, values)
        index = number * self.page_rows
        page = pages[number] = self.read(index, min(self.page_rows, self._count - index))
        return page

    def change(self, number: int) -> array[int]:
        """The values of a page, which is written before it is forgotten."""
        page = self.page(number)
        self._changed.add(number)
        return page


class Column:
    """A column of rows in a file."""

    def __init__(self, rows: Rows, place: int) -> None:
        self._rows: Final = rows
        self._place: Final = place

    def __getitem__(self, index: int) -> int:
        rows = self._rows
        number, row = divmod(index, rows.page_rows)
        return rows.page(number)[row * rows.width + self._place]

    def __setitem__(self, index: int, value: int) -> None:
        rows = self._rows
        number, row = divmod(index, rows.page_rows)
        rows.change(number)[row * rows.width + self._place] = value
