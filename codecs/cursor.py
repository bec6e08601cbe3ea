"""The cursor: the one bounded reader under every codec, and the one error it raises."""

from typing import Final

from librt.strings import read_i16_be, read_i32_be, read_i64_be
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs.errors import DecodeError as DecodeError
from wirelens.codecs.tape import Buffer
from wirelens.codecs.words import count

VARINT_BYTES: Final = 10


@mypyc_attr(acyclic=True, free_list_len=1)
class Cursor:
    """Reads a buffer from `pos` up to, not including, `end` (positions in `buffer.data`).

    `end` may be lowered while the body of a declared length is read, and restored after it. Every read
    method moves `pos` past what it read, or raises DecodeError and leaves `pos` where it was. `what` names
    the expected element in the error.
    """

    def __init__(self, buffer: Buffer, pos: i64, end: i64) -> None:
        self.buffer: Final = buffer
        self.data: Final = buffer.data
        self.pos: i64 = pos
        self.end: i64 = end

    def left(self) -> i64:
        """The number of bytes before `end`."""
        return self.end - self.pos

    def error(self, code: str, at: i64, text: str) -> DecodeError:
        """An error at a position of the buffer, to be raised by the caller."""
        return DecodeError(code, self.buffer.absolute(at), text)

    def short(self, size: i64, what: str) -> DecodeError:
        """The error that fewer than `size` bytes are left for `what`, to be raised by the caller."""
        needed: i64 = 0
        if self.end == len(self.data):
            needed = self.pos + size
        left = self.end - self.pos
        return DecodeError(
            "truncated",
            self.buffer.absolute(self.pos),
            f"expected {what} ({count(size, 'byte')}), {left} left",
            needed,
        )

    def need(self, count: i64, what: str) -> None:
        """Raise `truncated` unless `count` bytes are left; a negative count is `bad-length`."""
        if count < 0:
            raise self.error("bad-length", self.pos, f"{what} has the negative length {count}")
        if count > self.end - self.pos:
            raise self.short(count, what)

    def skip(self, count: i64, what: str) -> i64:
        """Pass over `count` bytes; returns the position where they start."""
        self.need(count, what)
        start = self.pos
        self.pos = start + count
        return start

    def peek(self) -> i64:
        """The next byte, not consumed; -1 at the end."""
        if self.pos >= self.end:
            return -1
        return self.data[self.pos]

    def u8(self, what: str) -> i64:
        """One byte, unsigned."""
        pos = self.pos
        if pos >= self.end:
            raise self.short(1, what)
        self.pos = pos + 1
        return self.data[pos]

    def u16(self, what: str) -> i64:
        """Two bytes, big-endian, unsigned."""
        pos = self.pos
        if self.end - pos < 2:
            raise self.short(2, what)
        self.pos = pos + 2
        return i64(read_i16_be(self.data, pos)) & 0xFFFF

    def u32(self, what: str) -> i64:
        """Four bytes, big-endian, unsigned."""
        pos = self.pos
        if self.end - pos < 4:
            raise self.short(4, what)
        self.pos = pos + 4
        return i64(read_i32_be(self.data, pos)) & 0xFFFFFFFF

    def int32(self, what: str) -> i64:
        """Four bytes, big-endian, signed."""
        pos = self.pos
        if self.end - pos < 4:
            raise self.short(4, what)
        self.pos = pos + 4
        return i64(read_i32_be(self.data, pos))

    def int64(self, what: str) -> i64:
        """Eight bytes, big-endian, signed; an unsigned number is given as its two's complement."""
        pos = self.pos
        if self.end - pos < 8:
            raise self.short(8, what)
        self.pos = pos + 8
        return read_i64_be(self.data, pos)

    def varint(self, what: str) -> i64:
        """An unsigned LEB128 varint of at most 64 bits, as two's complement.

        Overlong forms are read; the caller compares the bytes taken with `varint_size`. More than ten
        bytes or 64 bits is `varint-overflow`.
        """
        data = self.data
        start = self.pos
        end = self.end
        pos = start
        value: i64 = 0
        shift: i64 = 0
        while pos < end:
            byte: i64 = data[pos]
            pos += 1
            if byte < 0x80:
                if shift == 63 and byte > 1:
                    break
                self.pos = pos
                return value | signed64(byte, shift)
            if shift == 63:
                break
            value |= (byte & 0x7F) << shift
            shift += 7
        if pos - start >= VARINT_BYTES:
            raise self.error("varint-overflow", start, f"{what}: the varint overflows a 64-bit integer")
        raise self.short(pos - start + 1, what)


def signed64(byte: i64, shift: i64) -> i64:
    """`byte << shift` in two's complement, for the last byte of a varint (bit 63 is the sign)."""
    if shift < 63:
        return byte << shift
    return (-1 << 63) if byte & 1 else 0
