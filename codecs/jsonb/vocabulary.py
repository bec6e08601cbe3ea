"""JSONB's type bytes, the heads of nodes, and the sorts of scalars that only it has.

Every `$wire` of JSONB:

| value | `$wire` |
|---|---|
| a text that the usual writer would send in another encoding | "latin-1", "utf-8", "utf-16", "utf-16-le", … |
| any other scalar or name that is not in its shortest form | {"bytes": hex}: all of its bytes |
| a list whose length is not in its shortest form | {"length": hex} |
| a list, map or typed value whose type is unusual, unknown or empty | {"type": hex} |
| a NaN other than the usual one | its bits, as hex digits |

The bytes under `$wire` must be of the value that they accompany.
"""

from datetime import UTC, datetime, timedelta
from struct import pack
from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.node import Json, Node, field, hint, scalar

CHAR: Final = 0x90
BINARY: Final = 0x91
TYPED: Final = 0x92
REFERENCE: Final = 0x93
LIST_SHORT: Final = 0x94  # to 0xA3
LIST: Final = 0xA4
MAP_END: Final = 0xA5
MAP: Final = 0xA6
TIME: Final = 0xA7
DATE_TIME: Final = 0xA8
DATE: Final = 0xA9
ZONED: Final = 0xAA
MILLIS: Final = 0xAB
SECONDS: Final = 0xAC
MINUTES: Final = 0xAD
INSTANT: Final = 0xAE
NULL: Final = 0xAF
FALSE: Final = 0xB0
TRUE: Final = 0xB1
DOUBLE_0: Final = 0xB2
DOUBLE_1: Final = 0xB3
DOUBLE_LONG: Final = 0xB4
DOUBLE_8: Final = 0xB5
FLOAT_INT: Final = 0xB6
FLOAT_4: Final = 0xB7
DECIMAL_LONG: Final = 0xB8
DECIMAL: Final = 0xB9
BIG_LONG: Final = 0xBA
BIG: Final = 0xBB
SHORT: Final = 0xBC
BYTE: Final = 0xBD
LONG_8: Final = 0xBE
LONG_4: Final = 0xBF
SYMBOL: Final = 0x7F
TEXT_SHORT: Final = 0x49  # to 0x78: 0 to 47 bytes
LATIN1: Final = 0x79
UTF8: Final = 0x7A
UTF16: Final = 0x7B
UTF16LE: Final = 0x7C
UTF16BE: Final = 0x7D
GB18030: Final = 0x7E
INT_5: Final = 0x48
LONGEST_SHORT: Final = 47  # bytes of a text whose length is in its first byte
MOST_LEVELS: Final = 1 << 14  # containers inside one another; the readers of Java have no stack for more
MOST_DIGITS: Final = 1024  # bytes of a big integer that is shown in decimal digits

# The kind of a text that is not ASCII, by its first byte.
TEXT_KINDS: Final[dict[int, int]] = {
    LATIN1: t.LATIN1,
    UTF8: t.STRING,
    UTF16: t.UTF16,
    UTF16LE: t.UTF16LE,
    UTF16BE: t.UTF16BE,
    GB18030: t.GB18030,
}
ENCODING_BYTES: Final[dict[str, int]] = {
    "latin-1": LATIN1,
    "utf-8": UTF8,
    "utf-16": UTF16,
    "utf-16-le": UTF16LE,
    "utf-16-be": UTF16BE,
    "gb18030": GB18030,
}
ENCODING_NAMES: Final[dict[int, str]] = {byte: name for name, byte in ENCODING_BYTES.items()}


def int_at(data: bytes, at: int) -> tuple[int, int]:
    """The int or long in any form at a position that has one, and the position after it."""
    byte = data[at]
    at += 1
    if byte >= 0xF0:
        return byte - 256, at
    if byte < 0x30:
        return byte, at
    if byte < 0x40:
        return ((byte - 0x38) << 8) + data[at], at + 1
    if byte < 0x48:
        return ((byte - 0x44) << 16) + int.from_bytes(data[at : at + 2]), at + 2
    if byte == INT_5 or byte == LONG_4:
        return int.from_bytes(data[at : at + 4], signed=True), at + 4
    if byte == LONG_8:
        return int.from_bytes(data[at : at + 8], signed=True), at + 8
    if byte >= 0xD8:
        return byte - 0xE0, at
    if byte >= 0xC8:
        return ((byte - 0xD0) << 8) + data[at], at + 1
    if byte >= 0xC0:
        return ((byte - 0xC4) << 16) + int.from_bytes(data[at : at + 2]), at + 2
    size = 1 if byte == BYTE else 2
    return int.from_bytes(data[at : at + size], signed=True), at + size


def big_at(data: bytes, at: int) -> int:
    """The integer at a position: an int, a long or a big integer."""
    if data[at] == BIG_LONG:
        return int_at(data, at + 1)[0]
    if data[at] == BIG:
        size, at = int_at(data, at + 1)
        return int.from_bytes(data[at : at + size], signed=True)
    return int_at(data, at)[0]


def _whole_text(number: int) -> str:
    return str(number) if number.bit_length() <= MOST_DIGITS * 8 else hex(number)


def _big_integer(node: Node) -> Json:
    return _whole_text(big_at(node.raw, 0))


def _decimal(node: Node) -> Json:
    """As Java's BigDecimal.toString has it, which states the scale; ["0x…", scale] if it is large."""
    from decimal import Decimal  # takes half a millisecond, and few messages have one

    raw = node.raw
    scale = 0
    at = 1
    if raw[0] == DECIMAL:
        scale, at = int_at(raw, 1)
    unscaled = big_at(raw, at)
    if unscaled.bit_length() > MOST_DIGITS * 8:
        return [hex(unscaled), scale]
    digits = tuple([int(digit) for digit in str(abs(unscaled))])
    return str(Decimal((1 if unscaled < 0 else 0, digits, -scale)))


def _char(node: Node) -> Json:
    return chr(int_at(node.raw, 1)[0])


def _clock(raw: bytes, at: int) -> str:
    nanos = int_at(raw, at + 3)[0]
    fraction = f".{nanos:09}".rstrip("0") if nanos else ""
    return f"{raw[at]:02}:{raw[at + 1]:02}:{raw[at + 2]:02}{fraction}"


def _day(raw: bytes, at: int) -> str:
    year = int.from_bytes(raw[at : at + 2], signed=True)
    return f"{'-' if year < 0 else ''}{abs(year):04}-{raw[at + 2]:02}-{raw[at + 3]:02}"


def _time(node: Node) -> Json:
    return _clock(node.raw, 1)


def _date(node: Node) -> Json:
    return _day(node.raw, 1)


def _date_time(node: Node) -> Json:
    raw = node.raw
    return f"{_day(raw, 1)}T{_clock(raw, 5)}"


def _zoned(node: Node) -> Json:
    """A date and time, and the name of the zone in brackets."""
    raw = node.raw
    at = int_at(raw, 8)[1]
    return f"{_day(raw, 1)}T{_clock(raw, 5)}[{text_at(raw, at)}]"


def text_at(raw: bytes, at: int) -> str:
    """The text at a position, whose content is the rest of the bytes."""
    byte = raw[at]
    at += 1
    kind = t.LATIN1
    if byte >= LATIN1:
        _, at = int_at(raw, at)
        kind = TEXT_KINDS[byte]
    content = raw[at:]
    if kind == t.STRING:
        return content.decode()
    encoding = t.ENCODINGS[kind]
    if kind == t.UTF16 and content[:2] not in (b"\xfe\xff", b"\xff\xfe"):
        encoding = "utf-16-be"
    return content.decode(encoding, "strict" if kind == t.GB18030 else "surrogatepass")


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_SECOND: Final = -62135596800  # of year 1
LAST_SECOND: Final = 253402300799  # of year 9999


def _instant(node: Node) -> Json:
    """ISO 8601 in UTC; [seconds, nanoseconds] outside the years 1 to 9999."""
    raw = node.raw
    seconds, at = int_at(raw, 1)
    nanos, _ = int_at(raw, at)
    if not FIRST_SECOND <= seconds <= LAST_SECOND:
        return [seconds, nanos]
    fraction = f".{nanos:09}".rstrip("0") if nanos else ""
    return f"{(_EPOCH + timedelta(seconds=seconds)).isoformat()[:19]}{fraction}Z"


def _outer_text(node: Node) -> Json:
    return int_at(node.raw, 1)[0]


CHAR_SORT: Final[i64] = scalar("$char", _char)
BIG_SORT: Final[i64] = scalar("$bigint", _big_integer)
DECIMAL_SORT: Final[i64] = scalar("$decimal", _decimal)
TIME_SORT: Final[i64] = scalar("$localtime", _time)
DATE_SORT: Final[i64] = scalar("$localdate", _date)
DATE_TIME_SORT: Final[i64] = scalar("$localdatetime", _date_time)
ZONED_SORT: Final[i64] = scalar("$zoned", _zoned)
INSTANT_SORT: Final[i64] = scalar("$instant", _instant)
OUTER_SORT: Final[i64] = scalar("$text_symbol", _outer_text)


def _bytes_wire(node: Node) -> Json:
    return {"bytes": node.raw.hex()}


def _container_wire(node: Node) -> Json:
    wire: dict[str, Json] = {}
    for part in node.parts():
        if part.kind == t.TYPE and (part.form or not part.text):
            wire["type"] = part.raw.hex()
        elif part.kind == t.LENGTH and part.form:
            wire["length"] = part.raw.hex()
        elif not part.hidden:
            break
    return wire


EXACT: Final[i64] = hint(_bytes_wire)
CONTAINER: Final[i64] = hint(_container_wire)
ENCODING_FORMS: Final[dict[int, int]] = {byte: hint(name) for name, byte in ENCODING_BYTES.items()}

VALUE: Final[i64] = field("value")
ROOT: Final[i64] = t.head(t.STRUCT)


def encoded(text: str, byte: int) -> bytes | None:
    """The content of a text under a first byte; None where its encoding lacks a character."""
    name = ENCODING_NAMES[byte]
    try:
        if byte in (UTF16, UTF16LE, UTF16BE):
            return text.encode("utf-16-be" if byte == UTF16 else name, "surrogatepass")
        return text.encode(name)
    except UnicodeEncodeError:
        return None


def mostly_wide(data: bytes, start: i64, end: i64) -> bool:
    """Whether the usual writer takes a text that is not LATIN1 as it is there in UTF-16LE."""
    low: i64 = 0
    at = start
    while at + 1 < end and at < start + 128:
        if data[at] == 0 or data[at + 1] == 0:
            low += 1
        at += 2
    return low == 0 or (end - start) // 2 // low >= 3


def is_usual_utf16(data: bytes, start: i64, end: i64) -> bool:
    """Whether these bytes are a text in UTF-16LE, without surrogates, that the usual writer writes so."""
    if end - start & 1:
        return False
    high: i64 = 0
    for at in range(start + 1, end, 2):
        byte: i64 = data[at]
        if byte & 0xF8 == 0xD8:
            return False
        high |= byte
    return high != 0 and mostly_wide(data, start, end)


def double_bits(value: float) -> int:
    """The 64 bits of a double, as a signed integer."""
    return int.from_bytes(pack(">d", value), signed=True)


def single_bits(value: float) -> int:
    """The 32 bits of a double rounded to single precision. Raises OverflowError."""
    return int.from_bytes(pack(">f", value))


DOUBLE_1_BITS: Final[i64] = double_bits(1.0)


def date_byte(milliseconds: int) -> int:
    """The first byte of the form that the usual writer gives a date."""
    if milliseconds % 1000 == 0 and -0x80000000 <= milliseconds // 1000 <= 0x7FFFFFFF:
        return SECONDS
    if milliseconds % 60000 == 0 and -0x80000000 <= milliseconds // 60000 <= 0x7FFFFFFF:
        return MINUTES
    return MILLIS


def usual_encoding(text: str) -> int:
    """The first byte with which the usual writer (on Java 9 or later) starts a text; short ones as LATIN1."""
    if not text or ord(max(text)) < 256:
        return LATIN1
    wide = text.encode("utf-16-le", "surrogatepass")
    if mostly_wide(wide, 0, len(wide)):
        return UTF16LE
    try:
        return UTF8 if len(text.encode()) <= len(wide) else UTF16LE
    except UnicodeEncodeError:
        return UTF16LE
