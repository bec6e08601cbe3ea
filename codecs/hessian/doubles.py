"""Doubles as 64 bits, and the shorter forms in which the dialects of Hessian 2.0 send them.

The bits are computed from integers: reading a double neither packs nor unpacks one.
"""

from typing import Final

from librt.strings import read_i64_be
from mypy_extensions import i64

from wirelens.codecs.hessian import vocabulary as d

NEGATIVE_ZERO: Final[i64] = read_i64_be(b"\x80" + bytes(7), 0)  # a literal would be an object when compiled


def int_bits(value: i64) -> i64:
    """The 64 bits of the double that equals an integer below 2^53."""
    if value == 0:
        return 0
    sign: i64 = 0
    if value < 0:
        sign = -1 << 63
        value = -value
    exponent: i64 = 0
    probe = value
    while probe >= 0x10000:
        probe >>= 16
        exponent += 16
    while probe > 1:
        probe >>= 1
        exponent += 1
    return sign | (1023 + exponent) << 52 | (value << (52 - exponent)) & 0xFFFFFFFFFFFFF


def mill_bits(value: i64) -> i64:
    """The 64 bits of the double value × 0.001, for 32-bit values."""
    product = float(value) * 0.001
    sign: i64 = 0
    if product < 0.0:
        sign = -1 << 63
        product = -product
    if product == 0.0:
        return 0
    exponent: i64 = 0
    while product >= 256.0:
        product *= 0.00390625
        exponent += 8
    while product >= 2.0:
        product *= 0.5
        exponent += 1
    while product < 1.0:
        product *= 2.0
        exponent -= 1
    mantissa = i64(product * 4503599627370496.0)
    return sign | (1023 + exponent) << 52 | mantissa & 0xFFFFFFFFFFFFF


def single_bits(bits: i64) -> i64:
    """The 64 bits of the double that equals a single given by its 32 bits; a NaN keeps its payload."""
    sign = -(bits >> 31 & 1) << 63
    exponent = bits >> 23 & 0xFF
    mantissa = bits & 0x7FFFFF
    if exponent == 0xFF:
        return sign | 0x7FF << 52 | mantissa << 29
    if exponent == 0:
        if mantissa == 0:
            return sign
        exponent = 1
        while mantissa & 0x800000 == 0:
            mantissa <<= 1
            exponent -= 1
        mantissa &= 0x7FFFFF
    return sign | (exponent + 896) << 52 | mantissa << 29


def single_fits(bits: i64) -> bool:
    """True where a double, given by its bits, is exactly a single and not a NaN."""
    exponent = bits >> 52 & 0x7FF
    mantissa = bits & 0xFFFFFFFFFFFFF
    if exponent == 0x7FF:
        return mantissa == 0
    if exponent == 0:
        return mantissa == 0
    if exponent > 1150:
        return False
    if exponent >= 897:
        return mantissa & 0x1FFFFFFF == 0
    shift = 29 + 897 - exponent
    if shift > 52:
        return False
    # no `1 << shift`: the compiler shifts a literal, or a name for one, in 32 bits
    mantissa |= 0x10000000000000
    return mantissa >> shift << shift == mantissa


def short_double(value: float) -> bool:
    """True for doubles that both dialects can send as integers of at most 16 bits."""
    if value < -32768.0 or value > 32767.0 or value != value:
        return False
    return float(i64(value)) == value


def mill_usual(value: i64) -> bool:
    """True where a writer of the final dialect sends value × 0.001 in thousandths."""
    product = float(value) * 0.001
    if short_double(product):
        return False
    return i64(product * 1000.0) == value


def double_shorter(value: float, bits: i64, dialect: i64) -> bool:
    """True where a writer of the dialect sends fewer than eight bytes for a double."""
    if bits == NEGATIVE_ZERO:
        return False
    if short_double(value):
        return True
    if dialect == d.FINAL:
        if value < -2147483.648 or value > 2147483.647 or value != value:
            return False
        return float(i64(value * 1000.0)) * 0.001 == value
    return single_fits(bits)


if __file__.endswith(".py"):
    globals().update(i64=int)  # a call of `i64` takes four times as long
