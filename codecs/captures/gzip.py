"""gzip unpacked in chunks, with everything that a damaged stream still gives.

Source: RFC 1952 (members section 2.2, header and trailer section 2.3). The deflate data of a member is
unpacked without its header and trailer, so that a wrong checksum costs no bytes.
"""

import zlib
from collections.abc import Iterator
from typing import Final

from mypy_extensions import i64

from wirelens.codecs.captures.magic import GZIP
from wirelens.codecs.captures.unpacking import Unpacking

STEP: Final = 1 << 18  # bytes that a portion has at most
HEADER_LIMIT: Final = 1 << 17  # bytes of a member's header that may wait for its end
UNPROVEN: Final = 1 << 17  # bytes that look like gzip and give nothing, until they are taken for gzip

_TRAILER: Final = 8  # checksum and length, four bytes each
_MASK: Final = 0xFFFFFFFF
_CHECKSUM_FLAG: Final = 2
_EXTRA_FLAG: Final = 4
_NAME_FLAG: Final = 8
_COMMENT_FLAG: Final = 16
_RESERVED: Final = 0xE0

# Where the unpacker stands.
_AT_HEADER: Final = 0
_IN_DATA: Final = 1
_AT_TRAILER: Final = 2
_LOST: Final = 3  # in damage: what follows is not read
_PLAIN: Final = 4  # it is not gzip


class Unpacker(Unpacking):
    """Chunks of a gzip file in, portions of its content out, each of at most STEP bytes.

    Members may follow one another, with zeros between and after them. A member whose checksum does not match
    is given out whole, a damaged or cut one as far as it goes; what follows damage is lost. Each is a note,
    with the offset in the content; `damages` counts them all. What only begins like gzip and unpacks to
    nothing is given out as it is, and `is_gzip` is False. `unpacked`: bytes of content so far.
    """

    def __init__(self) -> None:
        super().__init__("gzip")
        self._place: i64 = _AT_HEADER
        self._pending: bytes = b""  # of a header or trailer that is not whole
        self._unproven: list[bytes] | None = []  # the bytes so far, as long as they have given nothing
        self._unproven_size: i64 = 0
        self._inflater: zlib._Decompress = zlib.decompressobj(-zlib.MAX_WBITS)
        self._checksum: int = 0
        self._length: i64 = 0  # of the member's content
        self._members: int = 0

    def steps(self, chunk: bytes) -> Iterator[bytes]:
        """What a chunk unpacks to, in portions."""
        unproven = self._unproven
        if unproven is not None:
            unproven.append(chunk)
            self._unproven_size += len(chunk)
        data = self._pending + chunk if self._pending else chunk
        self._pending = b""
        more = False  # whether the inflater holds back content of bytes that it has taken
        while data or more:
            if self._place == _AT_HEADER:
                data = self._header(data)
            elif self._place == _IN_DATA:
                before = self._inflater.copy()
                try:
                    content = self._inflater.decompress(data, STEP)
                except zlib.error:
                    content = _salvage(before, data)
                    data, more = b"", False
                    self._place = _LOST
                else:
                    more = len(content) == STEP
                    data = self._inflater.unconsumed_tail
                    if self._inflater.eof:
                        data, more = self._inflater.unused_data, False
                        self._place = _AT_TRAILER
                if content:
                    self._unproven = None
                    self._checksum = zlib.crc32(content, self._checksum)
                    self._length += len(content)
                    self.unpacked += len(content)
                    yield content
                if self._place == _LOST and not self._give_back():
                    self.note("bad-value", "the gzip data is damaged here; the rest is lost")
            elif self._place == _AT_TRAILER:
                data = self._trailer(data)
            elif self._place == _PLAIN:
                self.unpacked += len(data)
                yield data
                data = b""
            else:
                data = b""
            if self._place == _PLAIN and self._unproven is not None:
                data, more = b"".join(self._unproven), False
                self._unproven = None
        if self._unproven_size > UNPROVEN:
            self._unproven = None

    def close(self) -> bytes:
        """The end of the file: bytes that are left because it is not gzip, else b""."""
        if self._unproven is not None:
            left = b"".join(self._unproven)
            self._unproven = None
            self.is_packed = False
            self.unpacked += len(left)
            return left
        if self._place in (_IN_DATA, _AT_TRAILER) or (self._place == _AT_HEADER and self._pending):
            self.note("truncated", "the gzip data is cut off")
        return b""

    def _give_back(self) -> bool:
        """Whether all that came turns out not to be gzip; it is given out as it is then."""
        if self._unproven is None:
            return False
        self._place = _PLAIN
        self.is_packed = False
        return True

    def _header(self, data: bytes) -> bytes:
        """Read a member's header, or wait for the rest of it; what follows it."""
        if self._members:
            data = data.lstrip(b"\0")
            if not data:
                return b""
        size = _header_size(data)
        if size < 0 or (size == 0 and len(data) > HEADER_LIMIT):
            self._place = _LOST
            if not self._give_back():
                self.note("skipped-bytes", "what follows the gzip data is not gzip")
            return b""
        if size == 0:
            self._pending = data
            return b""
        self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        self._checksum = 0
        self._length = 0
        self._place = _IN_DATA
        return data[size:]

    def _trailer(self, data: bytes) -> bytes:
        """Compare a member's checksum and length, or wait for the rest of them; what follows."""
        if len(data) < _TRAILER:
            self._pending = data
            return b""
        checksum = int.from_bytes(data[:4], "little")
        length = int.from_bytes(data[4:8], "little")
        matches = checksum == self._checksum and length == int(self._length) & _MASK
        if not matches:
            if self._give_back():
                return b""
            self.note("bad-checksum", "the gzip checksum does not match the data before it")
        self._unproven = None
        self._members += 1
        self._place = _AT_HEADER
        return data[_TRAILER:]


def _header_size(data: bytes) -> int:
    """The bytes of the member header that data begins with; 0 if more are needed, -1 if it is not one."""
    if not data.startswith(GZIP[: len(data)]) or data[2:3] not in (b"", b"\x08"):
        return -1
    if len(data) < 10:
        return 0
    flags = data[3]
    if flags & _RESERVED:
        return -1
    position = 10
    if flags & _EXTRA_FLAG:
        if len(data) < position + 2:
            return 0
        position += 2 + int.from_bytes(data[position : position + 2], "little")
    for flag in (_NAME_FLAG, _COMMENT_FLAG):
        if flags & flag:
            end = data.find(b"\0", position)
            if end < 0:
                return 0
            position = end + 1
    if flags & _CHECKSUM_FLAG:
        position += 2
    return position if position <= len(data) else 0


def _salvage(inflater: "zlib._Decompress", data: bytes) -> bytes:
    """What unpacks before the damage, however the data was cut into chunks.

    zlib gives nothing of a call that meets damage. So it is fed less and less, down to the damaged byte, and
    is then asked for single bytes of content.
    """
    parts: list[bytes] = []
    at = 0
    for size in (1 << 12, 1 << 6, 1):
        while at < len(data):
            before = inflater.copy()
            try:
                parts.append(inflater.decompress(data[at : at + size]))
            except zlib.error:
                inflater = before
                break
            at += size
    damaged = data[at : at + 1]
    try:
        while part := inflater.decompress(damaged, 1):
            parts.append(part)
            damaged = inflater.unconsumed_tail
    except zlib.error:
        pass
    return b"".join(parts)
