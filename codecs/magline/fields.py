"""Numbers of fixed width in either byte order: the specified head leaves the order open.

The caller of the reading functions knows that the bytes are present.
"""

from librt.strings import BytesWriter, read_i16_be, read_i16_le, read_i32_be, read_i32_le
from mypy_extensions import i64

from wirelens.codecs.cursor import Cursor
from wirelens.codecs.tape import Tape


def u16_at(data: bytes, at: i64, little: bool) -> i64:
    """The unsigned 16-bit number at a position."""
    if little:
        return i64(read_i16_le(data, at)) & 0xFFFF
    return i64(read_i16_be(data, at)) & 0xFFFF


def u32_at(data: bytes, at: i64, little: bool) -> i64:
    """The unsigned 32-bit number at a position."""
    if little:
        return i64(read_i32_le(data, at)) & 0xFFFFFFFF
    return i64(read_i32_be(data, at)) & 0xFFFFFFFF


def read_u16(cursor: Cursor, tape: Tape, head: i64, little: bool) -> i64:
    """Read an unsigned 16-bit number and write its leaf."""
    start = cursor.pos
    number = u16_at(cursor.data, start, little)
    cursor.pos = start + 2
    tape.leaf(head, start, start + 2, number)
    return number


def read_u32(cursor: Cursor, tape: Tape, head: i64, little: bool) -> i64:
    """Read an unsigned 32-bit number and write its leaf."""
    start = cursor.pos
    number = u32_at(cursor.data, start, little)
    cursor.pos = start + 4
    tape.leaf(head, start, start + 4, number)
    return number


def read_int32(cursor: Cursor, tape: Tape, head: i64, little: bool) -> i64:
    """Read a signed 32-bit number and write its leaf."""
    start = cursor.pos
    number = u32_at(cursor.data, start, little)
    if number >> 31:
        number -= 1 << 32
    cursor.pos = start + 4
    tape.leaf(head, start, start + 4, number)
    return number


def write_number(out: BytesWriter, number: int, width: int, little: bool) -> None:
    """Write an unsigned number of `width` bytes."""
    out.write(number.to_bytes(width, "little" if little else "big"))
