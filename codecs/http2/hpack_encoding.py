"""HPACK: header fields to a block that needs no table: indexes of the static one, and literals.

Source: RFC 7541.
"""

from typing import Final

from wirelens.codecs.http2.hpack import STATIC
from wirelens.codecs.http2.huffman import LENGTHS, WORDS

_PAIRS: Final[dict[tuple[bytes, bytes], int]] = {pair: at + 1 for at, pair in reversed([*enumerate(STATIC)])}
_NAMES: Final[dict[bytes, int]] = {name: at + 1 for at, (name, _) in reversed([*enumerate(STATIC)])}


def pack_block(fields: list[tuple[bytes, bytes]]) -> bytes:
    """A header block; literals are not indexed, and in the Huffman code where that is shorter."""
    out = bytearray()
    for name, value in fields:
        index = _PAIRS.get((name, value))
        if index is not None:
            out += _number(index, 7, 0x80)
            continue
        index = _NAMES.get(name, 0)
        out += _number(index, 4, 0)
        if not index:
            out += _text(name)
        out += _text(value)
    return bytes(out)


def _number(value: int, bits: int, first: int) -> bytes:
    limit = (1 << bits) - 1
    if value < limit:
        return bytes([first | value])
    out = bytearray([first | limit])
    value -= limit
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _text(text: bytes) -> bytes:
    packed = huffman(text)
    if len(packed) < len(text):
        return _number(len(packed), 7, 0x80) + packed
    return _number(len(text), 7, 0) + text


def huffman(text: bytes) -> bytes:
    """Text in the Huffman code, the last byte filled with the start of the end's code."""
    word = 0
    bits = 0
    for byte in text:
        word = word << LENGTHS[byte] | WORDS[byte]
        bits += LENGTHS[byte]
    filling = -bits % 8
    word = word << filling | ((1 << filling) - 1)
    return word.to_bytes((bits + filling) // 8, "big")
