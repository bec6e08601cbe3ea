"""The background of detection: what a byte costs at least in foreign data (see detection.py)."""

from typing import Final

from mypy_extensions import i64

MEETS: Final = 6.0  # bits of a length that leads to something recognisable: a header, a change of kind
CHANGE: Final = 3.0  # bits of a change between text and other bytes at a predicted place
OTHER: Final = 18.0  # bits if the other direction is proved: odds of 1 in 2^14 become much better than even
PROVED: Final = 24.0  # bits that prove it; half of them for bytes that are whole messages


def proved(bits: float, whole: bool, at_end: float) -> bool:
    """Whether the evidence of one direction is enough to help the other."""
    return bits >= PROVED or (whole and bits + at_end >= PROVED / 2.0)


def price(byte: i64) -> float:
    """The bits that a fixed byte value costs at least in foreign data."""
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
    """The bits of a field of several bytes."""
    bits = 0.0
    end = min(at + size, len(data))
    while at < end:
        bits += price(data[at])
        at += 1
    return bits
