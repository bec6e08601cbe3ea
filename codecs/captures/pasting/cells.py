"""Characters in cells (od -c, hexdump -c, od -a), whose width is fixed."""

import re
from typing import Final

from wirelens.codecs.captures.pasting.cutting import PartReader
from wirelens.codecs.captures.pasting.plain import ambiguous
from wirelens.codecs.captures.pasting.source import LIMIT, PastedError

_NAMED: Final = {
    **{
        name: value
        for value, name in enumerate(
            [
                "nul",
                "soh",
                "stx",
                "etx",
                "eot",
                "enq",
                "ack",
                "bel",
                "bs",
                "ht",
                "nl",
                "vt",
                "ff",
                "cr",
                "so",
                "si",
                "dle",
                "dc1",
                "dc2",
                "dc3",
                "dc4",
                "nak",
                "syn",
                "etb",
                "can",
                "em",
                "sub",
                "esc",
                "fs",
                "gs",
                "rs",
                "us",
                "sp",
            ]
        )
    },
    "del": 127,
}
_CELL_ESCAPES: Final = {"0": 0, "a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "\\": 92}


class Cells(PartReader):
    """Reads one part as characters in cells."""

    def quiet(self) -> tuple[bytes, str] | None:
        """The bytes and form, or None where reading is not certain."""
        if self._names():
            return None
        try:
            return self.read()
        except PastedError:
            return None

    def read(self) -> tuple[bytes, str] | None:
        """The bytes and form of the rows; None if they are not a table of cells. Raises PastedError."""
        rows = self.rows
        lines = self.source.lines
        if any(row.mark or row.zero for row in rows) or len(rows) < 2:
            return None
        heads = [len(lines[row.index]) - len(lines[row.index].lstrip()) + len(row.offset) for row in rows]
        if self._names():
            raise self.error(
                rows[0], 0, "named characters (od -a) leave the top bit of each byte out", code="pasted-cut"
            )
        # Blanks at the ends of the lines are bytes here; only where none fits are they taken for lost.
        for exact in (True, False):
            found = {data for radix in (8, 16, 10) if (data := self._cells(radix, heads, exact)) is not None}
            if len(found) > 1:
                raise ambiguous(
                    self.source, self.source_offset(rows[0]), "characters at octal offsets", "others"
                )
            if found:
                return found.pop(), "dump"
        if self._look_like_cells():
            return self._cell_error()
        return None

    def _cells(self, radix: int, heads: list[int], exact: bool) -> bytes | None:
        """Octets of rows of cells whose offsets are of this radix; None if they do not fit."""
        rows, stars = self.rows, self.part.stars
        try:
            places = [row.at(radix) for row in rows]
        except ValueError:
            return None
        out: list[bytes] = []
        total = 0
        previous = b""
        for number, row in enumerate(rows):
            gap = places[number] - places[0] - total
            if number in stars:
                if gap <= 0 or not previous or gap % len(previous):
                    return None
                if total + gap > LIMIT:
                    raise self.error(
                        row, 0, f"the repeated rows stand for more than {LIMIT} bytes", code="pasted-limit"
                    )
                out.append(previous * (gap // len(previous)))
                total += gap
            elif gap:
                return None
            if number == len(rows) - 1 and not row.body:
                break
            size = -1
            if number + 1 in stars:
                size = len(previous) or 16
            elif number + 1 < len(rows):
                size = places[number + 1] - places[number]
            if size > 256:
                return None
            cells = _cell_bytes(self.source.lines[row.index][heads[number] :], size, exact)
            if cells is None:
                return None
            out.append(cells)
            total += len(cells)
            previous = cells
        return b"".join(out)

    def _names(self) -> bool:
        cells = [cell for row in self.rows for cell in row.body.split()]
        named = [cell for cell in cells if cell in _NAMED]
        return len(named) > 0 and all(cell in _NAMED or len(cell) == 1 for cell in cells)

    def _look_like_cells(self) -> bool:
        """Whether most rows have cells of one character or an escape, the mark of od -c."""
        good = 0
        for row in self.rows:
            cells = row.body.split()
            good += bool(cells) and all(re.fullmatch(r"[0-3][0-7]{2}|\\.|\S", cell) for cell in cells)
        return good * 2 >= len(self.rows) and good >= 1

    def _cell_error(self) -> tuple[bytes, str]:
        lines = self.source.lines
        for radix in (8, 16):
            for number, row in enumerate(self.rows[:-1]):
                try:
                    size = self.rows[number + 1].at(radix) - row.at(radix)
                except ValueError:
                    break
                head = lines[row.index].find(row.offset) + len(row.offset)
                if (
                    number + 1 not in self.part.stars
                    and 0 <= size <= 256
                    and _cell_bytes(lines[row.index][head:], size, False) is None
                ):
                    if number == 0 and radix == 8 and size != 16:
                        break
                    raise self.error(
                        row, head, f"the characters of this row are not the {size} bytes of the offsets"
                    )
        raise self.error(self.rows[0], 0, "the offsets and the characters do not agree")


def _cell_bytes(text: str, size: int, exact: bool) -> bytes | None:
    """Octets of a row of cells four characters wide; size -1 for an unknown number of them."""
    out = bytearray()
    count = size if size >= 0 else -(-len(text.rstrip()) // 4)
    if text[4 * count :].strip() or (exact and len(text) < 4 * count):
        return None
    for position in range(0, 4 * count, 4):
        cell = text[position : position + 4]
        bare = cell.strip()
        if not bare:
            out.append(0x20)
        elif len(cell) < 4 or cell[0] not in " \t":
            return None
        elif len(bare) == 1 and cell[3:] == bare and bare.isascii():
            out.append(ord(bare))
        elif len(bare) == 2 and bare[0] == "\\" and bare[1] in _CELL_ESCAPES and cell[2:] == bare:
            out.append(_CELL_ESCAPES[bare[1]])
        elif re.fullmatch("[0-3][0-7]{2}", bare):
            out.append(int(bare, 8))
        else:
            return None
    return bytes(out)
