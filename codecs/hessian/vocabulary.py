"""The dialects of Hessian and their opcodes: what a byte opens where a value or a message starts.

Sources: the Hessian 2.0 draft text sections 3 to 6, and the notes on deployed software, section 1, for
the other two dialects and for misprints of the draft. `LAYOUT_2006` is the layout that Resin wrote for
half a year before the draft; it is recognised only to be refused by name.

The values of `$wire` are listed in forms.py (values) and message_forms.py (messages).
"""

from typing import Final

from mypy_extensions import i64

V1: Final = 0  # Hessian 1.0
DRAFT: Final = 1  # Hessian 2.0, first draft
FINAL: Final = 2  # Hessian 2.0 as published
LAYOUT_2006: Final = 3

NAMES: Final = ("hessian1", "hessian2-draft", "hessian2", "the Hessian layout of 2006")

# What a byte opens: an action.
BAD: Final = 0
INT_1: Final = 1
INT_2: Final = 2
INT_3: Final = 3
INT_4: Final = 4
STRING_SHORT: Final = 5
STRING_MEDIUM: Final = 6
STRING_LAST: Final = 7
STRING_CHUNK: Final = 8
BINARY_SHORT: Final = 9
BINARY_MEDIUM: Final = 10
BINARY_LAST: Final = 11
BINARY_CHUNK: Final = 12
LONG_1: Final = 13
LONG_2: Final = 14
LONG_3: Final = 15
LONG_4: Final = 16
LONG_8: Final = 17
TRUE: Final = 18
FALSE: Final = 19
NULL: Final = 20
DOUBLE_8: Final = 21
DOUBLE_0: Final = 22
DOUBLE_1: Final = 23
DOUBLE_BYTE: Final = 24
DOUBLE_SHORT: Final = 25
DOUBLE_FLOAT: Final = 26
DOUBLE_MILL: Final = 27
DATE_8: Final = 28
DATE_4: Final = 29
REF_1: Final = 30
REF_2: Final = 31
REF_4: Final = 32
REF_INT: Final = 33
LIST_ENDED: Final = 34  # V of 1.0 and the draft: type?, length?, items, z
LIST_AGAIN: Final = 35  # v of the draft: type number, length, items
LIST_TYPED: Final = 36  # V of final: type, length, items
LIST_UNTYPED: Final = 37  # X
LIST_TYPED_OPEN: Final = 38  # U: type, items, Z
LIST_OPEN: Final = 39  # W
LIST_TYPED_SHORT: Final = 40  # 70-77
LIST_SHORT: Final = 41  # 78-7f
MAP_ENDED: Final = 42  # M of 1.0 and the draft: type?, pairs, z
MAP_TYPED: Final = 43  # M of final
MAP_UNTYPED: Final = 44  # H
OBJECT_INT: Final = 45  # o of the draft, O of final: class number
OBJECT_SHORT: Final = 46  # 60-6f
CLASS_2006: Final = 47  # a definition and its first object; containers: LIST_ENDED to CLASS_2006
END: Final = 48
CLASS_DRAFT: Final = 49
CLASS_FINAL: Final = 50
XML_LAST: Final = 51
XML_CHUNK: Final = 52
REMOTE: Final = 53
DOUBLE_INT: Final = 54  # the layout of 2006 only
DOUBLE_FIXED: Final = 55  # the layout of 2006 only

LEAST_SECONDS: Final = 600_000_000  # minutes, in the year 3110: as seconds they are in 1989

_COMMON: Final[dict[int, int]] = {
    0x42: BINARY_LAST,
    0x44: DOUBLE_8,
    0x46: FALSE,
    0x49: INT_4,
    0x4C: LONG_8,
    0x4E: NULL,
    0x53: STRING_LAST,
    0x54: TRUE,
}
_FIRST: Final[dict[int, int]] = {  # 1.0 and draft
    0x4D: MAP_ENDED,
    0x52: REF_4,
    0x56: LIST_ENDED,
    0x58: XML_LAST,
    0x62: BINARY_CHUNK,
    0x64: DATE_8,
    0x72: REMOTE,
    0x73: STRING_CHUNK,
    0x78: XML_CHUNK,
    0x7A: END,
}
_DRAFT: Final[dict[int, int]] = {
    0x4A: REF_1,
    0x4B: REF_2,
    0x4F: CLASS_DRAFT,
    0x67: DOUBLE_0,
    0x68: DOUBLE_1,
    0x69: DOUBLE_BYTE,
    0x6A: DOUBLE_SHORT,
    0x6B: DOUBLE_FLOAT,
    0x6F: OBJECT_INT,
    0x76: LIST_AGAIN,
    0x77: LONG_4,
}
_FINAL: Final[dict[int, int]] = {
    0x41: BINARY_CHUNK,
    0x43: CLASS_FINAL,
    0x48: MAP_UNTYPED,
    0x4A: DATE_8,
    0x4B: DATE_4,
    0x4D: MAP_TYPED,
    0x4F: OBJECT_INT,
    0x51: REF_INT,
    0x52: STRING_CHUNK,
    0x55: LIST_TYPED_OPEN,
    0x56: LIST_TYPED,
    0x57: LIST_OPEN,
    0x58: LIST_UNTYPED,
    0x59: LONG_4,
    0x5A: END,
    0x5B: DOUBLE_0,
    0x5C: DOUBLE_1,
    0x5D: DOUBLE_BYTE,
    0x5E: DOUBLE_SHORT,
    0x5F: DOUBLE_MILL,
}
_OF_2006: Final[dict[int, int]] = {
    0x4F: CLASS_2006,
    0x61: LONG_4,
    0x65: REF_1,
    0x66: REF_2,
    0x68: DOUBLE_0,
    0x69: DOUBLE_1,
    0x6A: DOUBLE_BYTE,
    0x6B: DOUBLE_SHORT,
    0x6E: DOUBLE_INT,
    0x6F: OBJECT_INT,
    0x70: DOUBLE_FIXED,
    0x71: DOUBLE_FLOAT,
    0x76: LIST_AGAIN,
}
# Ranges of the compact forms: first byte, byte after the last, action.
_COMPACT: Final = (
    (0x00, 0x20, STRING_SHORT),
    (0x20, 0x30, BINARY_SHORT),
    (0x38, 0x40, LONG_3),
    (0x80, 0xC0, INT_1),
    (0xC0, 0xD0, INT_2),
    (0xD0, 0xD8, INT_3),
    (0xD8, 0xF0, LONG_1),
    (0xF0, 0x100, LONG_2),
)
_COMPACT_FINAL: Final = (
    (0x30, 0x34, STRING_MEDIUM),
    (0x34, 0x38, BINARY_MEDIUM),
    (0x60, 0x70, OBJECT_SHORT),
    (0x70, 0x78, LIST_TYPED_SHORT),
    (0x78, 0x80, LIST_SHORT),
)
_COMPACT_2006: Final = ((0x10, 0x20, BAD), (0xB0, 0xC0, BAD))


def _table(maps: list[dict[int, int]], ranges: list[tuple[int, int, int]]) -> bytes:
    table = bytearray(256)
    for first, end, action in ranges:
        for byte in range(first, end):
            table[byte] = action
    for actions in maps:
        for byte, action in actions.items():
            table[byte] = action
    return bytes(table)


# For each dialect, the action of each of the 256 bytes where a value starts.
TABLES: Final[list[bytes]] = [
    _table([_COMMON, _FIRST], []),
    _table([_COMMON, _FIRST, _DRAFT], list(_COMPACT)),
    _table([_COMMON, _FINAL], list(_COMPACT + _COMPACT_FINAL)),
    _table([_COMMON, _FIRST, _OF_2006], list(_COMPACT + _COMPACT_2006)),
]

# First bytes of what is not, or may not be, a value, by dialect.
OPENERS: Final = (b"cr", b"crpPECRH", b"HCEPp", b"cr")


def _dialects_by_opener() -> bytes:
    """Of each byte, the dialects in which it is one of OPENERS, a bit each."""
    table = bytearray(256)
    for dialect, openers in enumerate(OPENERS):
        for byte in openers:
            table[byte] |= 1 << dialect
    return bytes(table)


# A look into OPENERS itself makes a tuple, which took a fourth of the time for a row of short values.
_OPENED: Final = _dialects_by_opener()


def may_open(dialect: i64, byte: i64) -> bool:
    """Whether messages of the dialect, other than plain values, may start with a byte."""
    return _OPENED[byte] >> dialect & 1 == 1


def opens_message(dialect: i64, data: bytes, pos: i64, end: i64) -> bool:
    """True where bytes that no value of the dialect has start a message at `pos`."""
    byte: i64 = data[pos]
    if not may_open(dialect, byte):
        return False
    if dialect == FINAL:
        if byte == 0x48:
            return end - pos >= 4 and data[pos + 1 : pos + 3] == b"\2\0" and data[pos + 3] in b"CRF"
        return byte == 0x45 or byte == 0x50
    if byte == 0x72 or byte == 0x52:  # r, R: a version follows, where a value has a type or a number
        return (
            end - pos >= 3
            and data[pos + 1] <= 2
            and data[pos + 2] <= 1
            and (byte == 0x72 or data[pos + 1] == 2)
        )
    return True
