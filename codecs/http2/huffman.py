"""The Huffman code of HPACK. Source: RFC 7541, section 5.2 and appendix B."""

from typing import Final

# The code is canonical: these are its symbols by the number of bits, in the order of their codes.
_SYMBOLS: Final[dict[int, bytes]] = {
    5: b"012aceiost",
    6: b" %-./3456789=A_bdfghlmnpru",
    7: b":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz",
    8: b"&*,;XZ",
    10: b'!"()?',
    11: b"'+|",
    12: b"#>",
    13: b"\x00$@[]~",
    14: b"^}",
    15: b"<`{",
    19: b"\\\xc3\xd0",
    20: b"\x80\x82\x83\xa2\xb8\xc2\xe0\xe2",
    21: b"\x99\xa1\xa7\xac\xb0\xb1\xb3\xd1\xd8\xd9\xe3\xe5\xe6",
    22: b"\x81\x84\x85\x86\x88\x92\x9a\x9c\xa0\xa3\xa4\xa9\xaa"
    b"\xad\xb2\xb5\xb9\xba\xbb\xbd\xbe\xc4\xc6\xe4\xe8\xe9",
    23: b"\x01\x87\x89\x8a\x8b\x8c\x8d\x8f\x93\x95\x96\x97\x98\x9b"
    b"\x9d\x9e\xa5\xa6\xa8\xae\xaf\xb4\xb6\xb7\xbc\xbf\xc5\xe7\xef",
    24: b"\t\x8e\x90\x91\x94\x9f\xab\xce\xd7\xe1\xec\xed",
    25: b"\xc7\xcf\xea\xeb",
    26: b"\xc0\xc1\xc8\xc9\xca\xcd\xd2\xd5\xda\xdb\xee\xf0\xf2\xf3\xff",
    27: b"\xcb\xcc\xd3\xd4\xd6\xdd\xde\xdf\xf1\xf4\xf5\xf6\xf7\xf8\xfa\xfb\xfc\xfd\xfe",
    28: b"\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f\x10\x11\x12"
    b"\x13\x14\x15\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f\xdc\xf9",
    30: b"\n\r\x16",
}
LONGEST: Final = 30  # bits
_FAST: Final = 8  # bits that one look at a table decides


def _codes() -> dict[int, int]:
    """The symbols by code, with a 1 before its first bit."""
    codes: dict[int, int] = {}
    code = 0
    last = 0
    for bits, symbols in _SYMBOLS.items():
        code <<= bits - last
        last = bits
        for symbol in symbols:
            codes[1 << bits | code] = symbol
            code += 1
    return codes


_CODES: Final[dict[int, int]] = _codes()
# A symbol and its bits, by the next eight bits, where these decide it.
_SHORT: Final[list[tuple[int, int] | None]] = [None] * (1 << _FAST)
LENGTHS: Final[list[int]] = [0] * 256  # of the code of each byte, in bits
WORDS: Final[list[int]] = [0] * 256  # these codes


def _fill() -> None:
    for marked, symbol in _CODES.items():
        bits = marked.bit_length() - 1
        code = marked - (1 << bits)
        LENGTHS[symbol] = bits
        WORDS[symbol] = code
        if bits <= _FAST:
            first = code << (_FAST - bits)
            for at in range(first, first + (1 << (_FAST - bits))):
                _SHORT[at] = (symbol, bits)


_fill()


def unpack(data: bytes) -> bytes | None:
    """The text of a code; None if it is not one: a wrong end, or the code of the end itself."""
    out = bytearray()
    window = 0  # bits that are not used yet
    have = 0
    for byte in data:
        window = window << 8 | byte
        have += 8
        while have >= _FAST:
            short = _SHORT[window >> (have - _FAST) & 0xFF]
            if short is not None:
                symbol, bits = short
            else:
                symbol, bits = _long(window, have)
                if bits == 0:
                    break
            out.append(symbol)
            have -= bits
            window &= (1 << have) - 1
        if have >= LONGEST:
            return None
    while have:
        if have < _FAST and window == (1 << have) - 1:  # the rest is the start of the end's code
            return bytes(out)
        symbol, bits = _any(window, have)
        if bits == 0:
            return None
        out.append(symbol)
        have -= bits
        window &= (1 << have) - 1
    return bytes(out)


def _long(window: int, have: int) -> tuple[int, int]:
    """The first symbol of more than eight bits, and its bits; 0 bits if there is none yet."""
    for bits in range(_FAST + 1, min(have, LONGEST) + 1):
        symbol = _CODES.get(1 << bits | window >> (have - bits))
        if symbol is not None:
            return symbol, bits
    return 0, 0


def _any(window: int, have: int) -> tuple[int, int]:
    """As `_long`, of any length."""
    for bits in range(5, min(have, LONGEST) + 1):
        symbol = _CODES.get(1 << bits | window >> (have - bits))
        if symbol is not None:
            return symbol, bits
    return 0, 0
