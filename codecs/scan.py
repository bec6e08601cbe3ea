"""Looking over text in bytes, eight at a time: what of it is plain, what of it is JSON as it stands."""

from librt.strings import read_i64_le
from mypy_extensions import i64


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
        # smaller than what is taken away, and, by the borrow, at most those of bytes behind such a one.
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
            if byte != 0x7F:
                return at
            at += 1
            continue
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
        elif byte == 0xED:  # behind it, a surrogate
            high = 0xA0
        elif byte == 0xF0:
            low = 0x90
        elif byte == 0xF4:
            high = 0x90
        if not low <= data[at + 1] < high:
            return at
        if size > 2 and data[at + 2] & 0xC0 != 0x80:
            return at
        if size > 3 and data[at + 3] & 0xC0 != 0x80:
            return at
        at += size


def joined_pair(data: bytes, at: i64, end: i64) -> bytes:
    """The UTF-8 of the character whose two surrogates stand at a position in CESU-8; else nothing."""
    if end - at < 6 or data[at] != 0xED or data[at + 3] != 0xED:
        return b""
    high: i64 = data[at + 1]
    low: i64 = data[at + 4]
    third: i64 = data[at + 2]
    sixth: i64 = data[at + 5]
    if high & 0xF0 != 0xA0 or low & 0xF0 != 0xB0 or third & 0xC0 != 0x80 or sixth & 0xC0 != 0x80:
        return b""
    code = 0x10000 + ((high & 0x0F) << 16 | (third & 0x3F) << 10 | (low & 0x0F) << 6 | sixth & 0x3F)
    return chr(code).encode()
