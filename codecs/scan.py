"""Looking over bytes, eight at a time: what is plain text, what is JSON as it stands, what equals what.

Uncompiled, scan_uncompiled.py takes the place of the functions that it has.
"""

from typing import Final

from librt.strings import (
    BytesWriter,
    read_i16_le,
    read_i32_le,
    read_i64_le,
    write_i16_le,
    write_i32_le,
    write_i64_le,
)
from mypy_extensions import i64

SLOTS: Final = 1024
# By first byte of a character in UTF-8: whether it may be one that JSON has escaped.
_HIDES: Final = bytes([byte in b"\xc2\xd8\xdb\xdc\xe0\xe1\xe2\xef\xf0\xf3" for byte in range(256)])
_SHORT: Final = 96  # bytes that are copied by words


def plain_end(data: bytes, at: i64, end: i64) -> i64:
    """Where printable ASCII without what JSON escapes ends: the first position from `at` on of another byte.

    `end`, a position in the data, if there is none before it.
    """
    # Products, because compiled code takes no literal of more than 62 bits as a native number.
    ones: i64 = 0x0101010101010101
    spaces = ones * 0x20
    quotes = ones * 0x22
    backslashes = ones * 0x5C
    deletes = ones * 0x7F
    tops = ~deletes
    one = ones & 0xFF  # as a literal it would be shifted in 32 bits
    size: i64 = len(data)
    while at < end and at + 8 <= size:
        word = read_i64_le(data, at)
        left = end - at
        if left < 8:
            kept = (one << left * 8) - 1
            word = (word & kept) | (spaces & ~kept)
        # Eight bytes tested at once. Where no top bit is set, a subtraction sets that of a byte that is
        # smaller than what is taken away, and, by the borrow, at most those of bytes after such a one.
        found = (word - spaces) | ((word ^ quotes) - ones)
        found |= ((word ^ backslashes) - ones) | ((word ^ deletes) - ones)
        if (word | found) & tops != 0:
            break
        if left <= 8:
            return end
        at += 8
    while at < end:
        byte: i64 = data[at]
        if byte < 0x20 or byte > 0x7E or byte == 0x22 or byte == 0x5C:
            return at
        at += 1
    return end


def json_end(data: bytes, at: i64, end: i64) -> i64:
    """Where bytes end that can be the inside of a JSON string as they are: well-formed UTF-8, no escapes.

    The position of the first character that cannot; `end`, a position in the data, if there is none.
    """
    while True:
        at = plain_end(data, at, end)
        if at >= end:
            return end
        byte: i64 = data[at]
        if byte < 0x80:
            return at
        size: i64 = 2
        low: i64 = 0x80
        high: i64 = 0xC0
        if byte >= 0xE0:
            size = 3
            if byte >= 0xF0:
                size = 4
        if at + size > end or byte < 0xC2 or byte > 0xF4:
            return at
        if byte == 0xE0:
            low = 0xA0
        elif byte == 0xED:  # followed by it, a surrogate
            high = 0xA0
        elif byte == 0xF0:
            low = 0x90
        elif byte == 0xF4:
            high = 0x90
        if not low <= data[at + 1] < high:
            return at
        if size > 2 and data[at + 2] & 0xC0 != 0x80:
            return at
        if _HIDES[byte] and _is_hidden(byte, data[at + 1], data[at + 2] if size > 2 else 0):
            return at
        if size > 3 and data[at + 3] & 0xC0 != 0x80:
            return at
        at += size


def _is_hidden(first: i64, second: i64, third: i64) -> bool:
    """Whether UTF-8 may be of a control or format character, which json_text.py escapes."""
    if first == 0xC2:
        return second < 0xA0 or second == 0xAD
    if first == 0xE2:
        if second == 0x80:
            return 0x8B <= third <= 0x8F or 0xA8 <= third <= 0xAE
        return second == 0x81 and third >= 0xA0
    if first == 0xE0:
        return second == 0xA2 or second == 0xA3
    if first == 0xE1:
        return second == 0xA0 and third == 0x8E
    if first == 0xEF:
        return (second == 0xBB and third == 0xBF) or (second == 0xBF and 0xB9 <= third <= 0xBB)
    if first == 0xD8:
        return second <= 0x85 or second == 0x9C
    if first == 0xDB:
        return second == 0x9D
    if first == 0xDC:
        return second == 0x8F
    if first == 0xF0:
        return second == 0x91 or second == 0x93 or second == 0x9B or second == 0x9D
    return True


def joined_pair(data: bytes, at: i64, end: i64) -> bytes:
    """The UTF-8 of the character whose two surrogates are at a position in CESU-8; else nothing."""
    if end - at < 6 or data[at] != 0xED or data[at + 3] != 0xED:
        return b""
    high: i64 = data[at + 1]
    low: i64 = data[at + 4]
    third: i64 = data[at + 2]
    sixth: i64 = data[at + 5]
    if high & 0xF0 != 0xA0 or low & 0xF0 != 0xB0 or third & 0xC0 != 0x80 or sixth & 0xC0 != 0x80:
        return b""
    code = 0x10000 + ((high & 0x0F) << 16 | (third & 0x3F) << 10 | (low & 0x0F) << 6 | sixth & 0x3F)
    joined = chr(code).encode()
    if _HIDES[joined[0]] and _is_hidden(joined[0], joined[1], joined[2]):
        return b""
    return joined


def past_space(data: bytes, at: i64) -> i64:
    """The first position from `at` on that is not JSON's space. Raises IndexError if there is none."""
    while True:
        byte: i64 = data[at]
        if byte > 0x20 or (byte != 0x20 and byte != 0x0A and byte != 0x0D and byte != 0x09):
            return at
        at += 1


def slot_of(data: bytes, at: i64, size: i64) -> i64:
    """A hash below SLOTS of the name of `size` bytes at a position: the index of its entry in a table."""
    key = size
    if size >= 8:
        # names differ in their last word, rarely in the package they start with
        key += read_i64_le(data, at + size - 8) * 31 + read_i64_le(data, at + size // 2 - 4)
    else:
        end = at + size
        while at < end:
            key = key * 31 + data[at]
            at += 1
    key ^= key >> 29
    key *= 0x2545F491
    return (key >> 20 ^ key) & (SLOTS - 1)


def starts_with(data: bytes, at: i64, prefix: bytes) -> bool:
    """Whether `prefix` is at a position of the data."""
    size: i64 = len(prefix)
    if at + size > len(data):
        return False
    place: i64 = 0
    while place + 16 <= size:  # two words at a time take a third fewer instructions
        first = read_i64_le(data, at + place) ^ read_i64_le(prefix, place)
        if first | (read_i64_le(data, at + place + 8) ^ read_i64_le(prefix, place + 8)) != 0:
            return False
        place += 16
    if size >= 8:
        if place + 8 < size and read_i64_le(data, at + place) != read_i64_le(prefix, place):
            return False
        place = size - 8  # the last word, some of which may have been compared before
        return read_i64_le(data, at + place) == read_i64_le(prefix, place)
    while place < size:
        if data[at + place] != prefix[place]:
            return False
        place += 1
    return True


def same_bytes(data: bytes, first: i64, second: i64, size: i64) -> bool:
    """Whether two ranges of the data are equal."""
    end = first + size
    while first + 8 <= end:
        if read_i64_le(data, first) != read_i64_le(data, second):
            return False
        first += 8
        second += 8
    while first < end:
        if data[first] != data[second]:
            return False
        first += 1
        second += 1
    return True


def write_part(out: BytesWriter, data: bytes, at: i64, end: i64) -> None:
    """Write data[at:end]; short parts without making an object of them."""
    if end - at > _SHORT:
        out.write(data[at:end])
        return
    if end + 8 <= len(data):
        # whole words, the last one often too long: branches on the rest would be mispredicted
        while at < end:
            write_i64_le(out, read_i64_le(data, at))
            at += 8
        out.truncate(len(out) - at + end)
        return
    while at + 8 <= end:
        write_i64_le(out, read_i64_le(data, at))
        at += 8
    left = end - at
    if left & 4:
        write_i32_le(out, read_i32_le(data, at))
        at += 4
    if left & 2:
        write_i16_le(out, read_i16_le(data, at))
        at += 2
    if left & 1:
        out.append(data[at])


if __file__.endswith(".py"):  # a function's own test for it would take 1 % of a message's time
    from wirelens.codecs import scan_uncompiled

    globals().update(scan_uncompiled.FUNCTIONS)
