"""Text as Hessian sends it: UTF-8 of UTF-16 units (CESU-8), after a count of these units."""

import re
from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from wirelens.codecs import tape as t
from wirelens.codecs.scan import plain_end, write_part
from wirelens.codecs.tape import Tape

# Flags in the result of `measure`, below the position.
NOT_SIMPLE: Final = 1  # a character that JSON escapes, or one of several bytes
BROKEN: Final = 2  # not well-formed
WIDE: Final = 4  # a character of four bytes
OVERLONG: Final = 8  # a character in two or three bytes that needs fewer
MEASURE_SHIFT: Final = 4
MEASURE_FLAGS: Final = 15  # all of them

LOOKED_BACK: Final = 8  # nodes before an error in which a text is looked for that causes it
# Regular expressions, compiled when they are first used
_CONTROL: Final = rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]"
_SUPPLEMENTARY: Final = "[\U00010000-\U0010ffff]"


def measure(data: bytes, at: i64, end: i64, units: i64, wide: i64) -> i64:
    """Where text of `units` UTF-16 units ends, and what it is like.

    `wide`: the units that a four-byte character counts. The result is the position after the text, shifted
    by MEASURE_SHIFT, with the flags above; -1 where the data ends before that; or -2 - the position of a
    byte that starts no character.
    """
    stop = at + units
    if stop <= end:  # most texts are simple throughout
        at = plain_end(data, at, stop)
        if at == stop:
            return stop << MEASURE_SHIFT
    flags: i64 = 0
    left = stop - at
    while left > 0:
        if at >= end:
            return -1
        byte: i64 = data[at]
        if byte < 0x80:
            if byte < 0x20 or byte == 0x22 or byte == 0x5C or byte == 0x7F:
                flags |= NOT_SIMPLE
            at += 1
            left -= 1
            continue
        flags |= NOT_SIMPLE
        if 0xC0 <= byte < 0xE0:
            if at + 2 > end:
                return -1
            if data[at + 1] & 0xC0 != 0x80:
                flags |= BROKEN
            elif byte < 0xC2:
                flags |= OVERLONG
            at += 2
            left -= 1
        elif 0xE0 <= byte < 0xF0:
            if at + 3 > end:
                return -1
            second: i64 = data[at + 1]
            if second & 0xC0 != 0x80 or data[at + 2] & 0xC0 != 0x80:
                flags |= BROKEN
            elif byte == 0xE0 and second < 0xA0:
                flags |= OVERLONG
            at += 3
            left -= 1
        elif 0xF0 <= byte < 0xF8:
            if at + 4 > end:
                return -1
            second = data[at + 1]
            flags |= WIDE
            if (
                second & 0xC0 != 0x80
                or data[at + 2] & 0xC0 != 0x80
                or data[at + 3] & 0xC0 != 0x80
                or byte > 0xF4
                or (byte == 0xF0 and second < 0x90)
                or (byte == 0xF4 and second >= 0x90)
            ):
                flags |= BROKEN
            if left < wide:
                return -2 - at
            at += 4
            left -= wide
        else:
            return -2 - at
    return at << MEASURE_SHIFT | flags


def content_of(tape: Tape, index: i64, data: bytes) -> bytes:
    """The content of a text node whose buffer has `data`, its chunks joined."""
    number = tape.number(index)
    if number >= 0:
        return data[number : tape.end(index)]
    parts: list[bytes] = []
    at = tape.following(index)
    while at < tape.next(index):
        parts.append(data[tape.number(at) : tape.end(at)])
        at = tape.next(at)
    return b"".join(parts)


def as_read(content: bytes) -> bytes:
    """A text as readers in Java take it, which do not check what follows a lead byte, in proper UTF-8."""
    text: list[str] = []
    at = 0
    while at < len(content):
        byte = content[at]
        if byte >= 0xE0:
            text.append(chr((byte & 0x0F) << 12 | _low(content, at + 1) << 6 | _low(content, at + 2)))
            at += 3
        elif byte >= 0xC0:
            text.append(chr((byte & 0x1F) << 6 | _low(content, at + 1)))
            at += 2
        else:
            text.append(chr(byte))
            at += 1
    return "".join(text).encode("utf-8", "surrogatepass")


def _low(content: bytes, at: int) -> int:
    return content[at] & 0x3F if at < len(content) else 0


def note_overrun(tape: Tape) -> None:
    """After an error, note the last text before it if control characters show that it goes on too far."""
    last: list[int] = []  # nodes
    index: i64 = 0
    while index < tape.size():
        if len(last) == LOOKED_BACK:
            del last[0]
        last.append(int(index))
        index = tape.following(index)
    for index in reversed(last):
        kind = tape.kind(index)
        if kind == t.STRING16 and tape.number(index) >= 0 and tape.start(index) < tape.number(index):
            content = tape.buffer.data[tape.number(index) : tape.end(index)]
            found = re.search(_CONTROL, content)
            if found is not None and found.start() > 0:
                units = units_of_raw(content)
                text = f"a text of {units} units, with a control character after {found.start()} bytes"
                tape.note(
                    "text-overrun", tape.start(index), text + ": it may run over what follows", tape.buffer
                )
                return


def cesu8(text: str) -> tuple[bytes, int]:
    """Text as Hessian sends it, and its number of UTF-16 units."""
    try:
        content = text.encode()
    except UnicodeEncodeError:  # lone surrogates
        wide = as_units(text)
        return wide.encode("utf-8", "surrogatepass"), len(wide)
    return cesu8_of(content, len(text))


def cesu8_of(content: bytes, size: int) -> tuple[bytes, int]:
    """Text of `size` characters, given in UTF-8, as Hessian sends it, and its number of UTF-16 units."""
    if len(content) == size:  # ASCII
        return content, size
    units = units_of_raw(content)
    if units == size:
        return content, size
    out = BytesWriter()
    write_cesu8(out, content, 0, len(content))
    return out.getvalue(), units


def as_units(text: str) -> str:
    """Text with each character above U+FFFF as its two surrogates."""
    return re.sub(_SUPPLEMENTARY, _surrogates, text)


def _surrogates(match: re.Match[str]) -> str:
    code = ord(match[0]) - 0x10000
    return chr(0xD800 + (code >> 10)) + chr(0xDC00 + (code & 0x3FF))


def write_cesu8(out: BytesWriter, data: bytes, at: i64, end: i64) -> None:
    """Write well-formed UTF-8, data[at:end], with characters of four bytes as their two surrogates."""
    done = at
    while at < end:
        byte: i64 = data[at]
        if byte < 0xF0:
            at += 1
            continue
        write_part(out, data, done, at)
        second: i64 = data[at + 1]
        third: i64 = data[at + 2]
        fourth: i64 = data[at + 3]
        code = (byte & 7) << 18 | (second & 0x3F) << 12 | (third & 0x3F) << 6 | fourth & 0x3F
        code -= 0x10000
        out.append(0xED)
        out.append(u8(0xA0 | code >> 16))
        out.append(u8(0x80 | code >> 10 & 0x3F))
        out.append(0xED)
        out.append(u8(0xB0 | code >> 6 & 0x0F))
        out.append(u8(0x80 | code & 0x3F))
        at += 4
        done = at
    write_part(out, data, done, end)


def units_of_raw(content: bytes) -> i64:
    """The number of units that a reader counts in content that may not be well-formed."""
    count: i64 = 0
    at: i64 = 0
    size: i64 = len(content)
    while at < size:
        byte: i64 = content[at]
        at += 1 if byte < 0xC0 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
        count += 2 if byte >= 0xF0 else 1
    return count
