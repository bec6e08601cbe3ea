"""What foreign data looks like, for detection: the cheapest price of a byte (see detection.py)."""

from typing import Final

from mypy_extensions import i64

MEETS: Final = 6.0  # bits of a length that leads to where something shows: a header, a change of kind
CHANGE: Final = 3.0  # bits of a change between text and other bytes at a place that is foretold
OTHER: Final = 18.0  # bits where the other direction is proved: odds of 1 in 2^14 become much more than even
PROVED: Final = 24.0  # bits that prove it; of bytes that are whole messages half of them


def proved(bits: float, whole: bool, at_end: float) -> bool:
    """True where evidence of one direction is enough to help the other."""
    return bits >= PROVED or (whole and bits + at_end >= PROVED / 2.0)


def price(byte: i64) -> float:
    """Bits that a byte of a fixed value costs at least in foreign data."""
    if byte == 0:
        return 1.0
    if byte < 0x10:
        return 3.0
    if byte == 0xFF:
        return 2.0
    if byte < 0x80:
        return 5.0
    return 7.0


def prices(data: bytes, at: i64, size: i64) -> float:
    """The same for a field of several bytes."""
    bits = 0.0
    end = min(at + size, len(data))
    while at < end:
        bits += price(data[at])
        at += 1
    return bits
