"""Fields of fixed width: each function reads a number at the cursor and writes its leaf on the tape.

`head` is the leaf's HEAD word, `what` names the field in the error. Functions, because in compiled code they
cost nothing; methods of an object that holds cursor and tape cost 9 %. All are big-endian.
"""

from mypy_extensions import i64

from wirelens.codecs.cursor import Cursor
from wirelens.codecs.tape import Tape


def read_u8(cursor: Cursor, tape: Tape, head: i64, what: str) -> i64:
    """Read one unsigned byte. Raises DecodeError."""
    start = cursor.pos
    number = cursor.u8(what)
    tape.leaf(head, start, start + 1, number)
    return number


def read_u16(cursor: Cursor, tape: Tape, head: i64, what: str) -> i64:
    """Read two bytes, unsigned. Raises DecodeError."""
    start = cursor.pos
    number = cursor.u16(what)
    tape.leaf(head, start, start + 2, number)
    return number


def read_u32(cursor: Cursor, tape: Tape, head: i64, what: str) -> i64:
    """Read four bytes, unsigned. Raises DecodeError."""
    start = cursor.pos
    number = cursor.u32(what)
    tape.leaf(head, start, start + 4, number)
    return number


def read_int32(cursor: Cursor, tape: Tape, head: i64, what: str) -> i64:
    """Read four bytes, signed. Raises DecodeError."""
    start = cursor.pos
    number = cursor.int32(what)
    tape.leaf(head, start, start + 4, number)
    return number


def read_int64(cursor: Cursor, tape: Tape, head: i64, what: str) -> i64:
    """Read eight bytes, signed; an unsigned number is its two's complement. Raises DecodeError."""
    start = cursor.pos
    number = cursor.int64(what)
    tape.leaf(head, start, start + 8, number)
    return number


def read_rest(cursor: Cursor, tape: Tape, head: i64) -> None:
    """Read all bytes up to the cursor's end as one text or bytes."""
    start = cursor.pos
    cursor.pos = cursor.end
    tape.leaf(head, start, cursor.end, start)
