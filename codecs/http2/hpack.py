"""HPACK: header blocks to header fields, with the table that they build up.

Source: RFC 7541. Of a stream whose beginning is missing the table holds what came since: an index counts from
the newest entry, so those are right whatever went before. A name or value that cannot be known is None.
"""

from typing import Any, Final

from wirelens.codecs.http2.huffman import unpack

ENTRY: Final = 32  # what an entry costs besides its name and value
USUAL_SIZE: Final = 4096  # of the table, unless SETTINGS or an update change it
MAX_SIZE: Final = 1 << 20  # bytes of a table that are kept
FREE: Final = 1 << 18  # bytes that the fields of any block may have,
FACTOR: Final = 64  # and this many more for each of its bytes
MAX_NUMBER: Final = (1 << 32) - 1

# Appendix A.
STATIC: Final[tuple[tuple[bytes, bytes], ...]] = (
    (b":authority", b""),
    (b":method", b"GET"),
    (b":method", b"POST"),
    (b":path", b"/"),
    (b":path", b"/index.html"),
    (b":scheme", b"http"),
    (b":scheme", b"https"),
    (b":status", b"200"),
    (b":status", b"204"),
    (b":status", b"206"),
    (b":status", b"304"),
    (b":status", b"400"),
    (b":status", b"404"),
    (b":status", b"500"),
    (b"accept-charset", b""),
    (b"accept-encoding", b"gzip, deflate"),
    (b"accept-language", b""),
    (b"accept-ranges", b""),
    (b"accept", b""),
    (b"access-control-allow-origin", b""),
    (b"age", b""),
    (b"allow", b""),
    (b"authorization", b""),
    (b"cache-control", b""),
    (b"content-disposition", b""),
    (b"content-encoding", b""),
    (b"content-language", b""),
    (b"content-length", b""),
    (b"content-location", b""),
    (b"content-range", b""),
    (b"content-type", b""),
    (b"cookie", b""),
    (b"date", b""),
    (b"etag", b""),
    (b"expect", b""),
    (b"expires", b""),
    (b"from", b""),
    (b"host", b""),
    (b"if-match", b""),
    (b"if-modified-since", b""),
    (b"if-none-match", b""),
    (b"if-range", b""),
    (b"if-unmodified-since", b""),
    (b"last-modified", b""),
    (b"link", b""),
    (b"location", b""),
    (b"max-forwards", b""),
    (b"proxy-authenticate", b""),
    (b"proxy-authorization", b""),
    (b"range", b""),
    (b"referer", b""),
    (b"refresh", b""),
    (b"retry-after", b""),
    (b"server", b""),
    (b"set-cookie", b""),
    (b"strict-transport-security", b""),
    (b"transfer-encoding", b""),
    (b"user-agent", b""),
    (b"vary", b""),
    (b"via", b""),
    (b"www-authenticate", b""),
)


class HpackError(Exception):
    """Bytes that are not a header block: their position in it, and why."""

    def __init__(self, position: int, text: str, code: str = "bad-value") -> None:
        super().__init__(text)
        self.position: Final = position
        self.text: Final = text
        self.code: Final = code


class HeaderField:
    """One header field; a name or value that cannot be known is None.

    `start` and `end` are its place in the block, `name_at` and `value_at` the places of name and value.
    """

    def __init__(
        self, name: bytes | None, value: bytes | None, start: int, name_at: int, value_at: int, end: int
    ) -> None:
        self.name: Final = name
        self.value: Final = value
        self.start: Final = start
        self.name_at: Final = name_at
        self.value_at: Final = value_at
        self.end: Final = end


class Table:
    """The dynamic table of one direction.

    `whole`: whether it holds everything that the sender's table does. `allowed`: the largest size that the
    receiver has announced, 0 if that is not known.
    """

    def __init__(self) -> None:
        self.entries: list[tuple[bytes | None, bytes | None]] = []  # the newest last
        self.size = 0  # at least this many bytes
        self.maximum = USUAL_SIZE
        self.allowed = USUAL_SIZE
        self.whole = True

    def lose(self) -> None:
        """Forget everything: header blocks may be missing before the next one."""
        self.entries.clear()
        self.size = 0
        self.maximum = MAX_SIZE
        self.whole = False

    def entry(self, index: int, position: int) -> tuple[bytes | None, bytes | None]:
        """The entry of an index; None for what cannot be known. Raises HpackError."""
        if index == 0:
            raise HpackError(position, "0 is not an index of the header tables")
        if index <= len(STATIC):
            return STATIC[index - 1]
        place = index - len(STATIC)
        if place <= len(self.entries):
            return self.entries[-place]
        if self.whole:
            most = len(STATIC) + len(self.entries)
            raise HpackError(position, f"index {index} is beyond the {most} entries of the header tables")
        return None, None

    def add(self, name: bytes | None, value: bytes | None) -> None:
        """Put in a new entry; the oldest leave."""
        self.entries.append((name, value))
        self.size += entry_size(name, value)
        self._evict()

    def resize(self, size: int, position: int) -> None:
        """Change the largest size, as an update in a block does. Raises HpackError."""
        if self.allowed and size > self.allowed:
            text = f"a header table of {size} bytes; the receiver allows {self.allowed}"
            raise HpackError(position, text)
        self.maximum = min(size, MAX_SIZE)
        self._evict()
        if size < ENTRY:  # nothing is left of what may be missing
            self.whole = True
        elif size > MAX_SIZE:
            self.whole = False

    def _evict(self) -> None:
        leaving = 0
        while self.size > self.maximum and leaving < len(self.entries):
            self.size -= entry_size(*self.entries[leaving])
            leaving += 1
        del self.entries[:leaving]

    def save(self) -> tuple[Any, ...]:
        """The table as plain values."""
        return (tuple(self.entries), self.maximum, self.allowed, self.whole)

    def load(self, state: tuple[Any, ...]) -> None:
        """Continue with what `save` gave."""
        entries, self.maximum, self.allowed, self.whole = state
        self.entries = [(name, value) for name, value in entries]
        self.size = sum([entry_size(name, value) for name, value in self.entries])


def entry_size(name: bytes | None, value: bytes | None) -> int:
    """What an entry takes in the table, at least if a part of it is unknown."""
    return ENTRY + len(name or b"") + len(value or b"")


def read_number(data: bytes, at: int, bits: int) -> tuple[int, int]:
    """A number whose first byte has `bits` bits for it, and the position after it. Raises HpackError."""
    start = at
    if at >= len(data):
        raise HpackError(at, "the header block ends inside a field")
    limit = (1 << bits) - 1
    value = data[at] & limit
    at += 1
    if value < limit:
        return value, at
    shift = 0
    while True:
        if at >= len(data):
            raise HpackError(at, "the header block ends inside a number")
        byte = data[at]
        at += 1
        value += (byte & 0x7F) << shift
        if value > MAX_NUMBER or shift > 28:
            raise HpackError(start, "a number of a header block has more than 32 bits")
        if byte < 0x80:
            return value, at
        shift += 7


def read_text(data: bytes, at: int) -> tuple[bytes, int]:
    """A name or value, and the position after it. Raises HpackError."""
    start = at
    length, at = read_number(data, at, 7)
    end = at + length
    if end > len(data):
        raise HpackError(start, f"a text of {length} bytes; {len(data) - at} are left in the header block")
    if data[start] < 0x80:
        return data[at:end], end
    text = unpack(data[at:end])
    if text is None:
        raise HpackError(at, "a text is not in the Huffman code of HPACK")
    return text, end


def read_block(data: bytes, table: Table) -> list[HeaderField]:
    """The fields of a header block, which changes the table. Raises HpackError."""
    fields: list[HeaderField] = []
    left = FREE + FACTOR * len(data)  # bytes that they may still have
    at = 0
    while at < len(data):
        start = at
        byte = data[at]
        if byte & 0xE0 == 0x20:
            if fields:
                raise HpackError(at, "an update of the header table's size after a field")
            size, at = read_number(data, at, 5)
            table.resize(size, start)
            continue
        name: bytes | None
        value: bytes | None
        if byte >= 0x80:
            index, at = read_number(data, at, 7)
            name, value = table.entry(index, start)
            fields.append(HeaderField(name, value, start, start, start, at))
        else:
            added = byte >= 0x40
            index, at = read_number(data, at, 6 if added else 4)
            name_at = start
            if index:
                name, _ = table.entry(index, start)
            else:
                name_at = at
                name, at = read_text(data, at)
            value_at = at
            value, at = read_text(data, at)
            if added:
                table.add(name, value)
            fields.append(HeaderField(name, value, start, name_at, value_at, at))
        left -= len(name or b"") + len(value or b"")
        if left < 0:
            raise HpackError(start, "the header fields have far more bytes than their block", "limit")
    return fields
