"""Numbers and times as the notation's text: integers, doubles, dates, seconds.

Written eight digits at a time, which makes no object for a number. Times are in UTC.
"""

from datetime import UTC, datetime
from typing import Final

from librt.strings import BytesWriter, read_f64_le, read_i64_le, write_i64_le
from mypy_extensions import i64

PLAIN_NAN: Final = 0x7FF8000000000000  # the NaN that carries no `$wire`, of doubles and of singles
PLAIN_SINGLE_NAN: Final = 0x7FC00000
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
DAY: Final = 86_400_000  # milliseconds
MARCH_DAYS: Final = 719468  # from the first of March of the year 0 to 1970
DATE_LENGTH: Final = 24  # bytes of the text that `write_date` writes
NO_DATE: Final = -1 << 62
# The three words of a date's text, with digits 0. Less these, bytes are digits' values, and 0 where signs
# are: the limits, added, set the top bit of any other.
_YEAR_SIGNS: Final[i64] = read_i64_le(b"0000-00-", 0)
_HOUR_SIGNS: Final[i64] = read_i64_le(b"00T00:00", 0)
_FRACTION_SIGNS: Final[i64] = read_i64_le(b":00.000Z", 0)
_YEAR_LIMITS: Final[i64] = read_i64_le(b"vvvv\x7fvv\x7f", 0)
_HOUR_LIMITS: Final[i64] = read_i64_le(b"vv\x7fvv\x7fvv", 0)
_FRACTION_LIMITS: Final[i64] = read_i64_le(b"\x7fvv\x7fvvv\x7f", 0)
_TOPS: Final[i64] = read_i64_le(b"\x80" * 8, 0)
FIRST_MILLISECOND: Final = -62135596800000  # 0001-01-01T00:00:00.000Z
LAST_MILLISECOND: Final = 253402300799999  # 9999-12-31T23:59:59.999Z
LAST_MICROSECOND: Final = LAST_MILLISECOND * 1000 + 999

# Powers of two for the doubles from 2^-10 to 2^39, by their exponent on the wire, less the least.
_LEAST_EXPONENT: Final = 1013
_POWERS: Final[list[float]] = [2.0 ** (exponent - 1075) for exponent in range(_LEAST_EXPONENT, 1062)]

_INTEGERS: Final = 1075  # exponent on the wire from which on all doubles are integers,
_LEAST_DIGITS: Final = _INTEGERS - 55  # and the least of which `_write_shortest` writes the digits: of 1/8

_LEAST: Final = -1 << 63
_EXACT: Final = 10**15  # integers below it have a double for each of their thousandths and millionths
_SHORT: Final[list[bytes]] = [b"%d" % number for number in range(100)]
HEX_PORTION: Final = 1 << 16  # bytes


def write_hex(out: BytesWriter, data: bytes) -> None:
    """Write bytes as hex digits; many of them in portions, as whole they would be in memory three times."""
    size: i64 = len(data)
    if size <= HEX_PORTION:
        out.write(data.hex().encode())
        return
    at: i64 = 0
    while at < size:
        out.write(data[at : at + HEX_PORTION].hex().encode())
        at += HEX_PORTION


def write_int(out: BytesWriter, number: i64) -> None:
    """Write a decimal integer."""
    if number < 0:
        if number == _LEAST:
            out.write(b"-9223372036854775808")
            return
        out.append(0x2D)
        number = -number
    if number < 100:
        out.write(_SHORT[number])
    elif number < 100_000_000:
        _write_digits(out, number, _length(number))
    else:
        write_int(out, number // 100_000_000)
        write_i64_le(out, eight_digits(number % 100_000_000))


def _length(number: i64) -> i64:
    """How many digits a number from 100 to 10^8 has."""
    if number < 10_000:
        return 3 if number < 1000 else 4
    if number < 1_000_000:
        return 5 if number < 100_000 else 6
    return 7 if number < 10_000_000 else 8


def _write_digits(out: BytesWriter, number: i64, count: i64) -> None:
    """Write the last digits of a number below 10^8, 8 at most.

    Tables of texts would be read from all over memory.
    """
    write_i64_le(out, eight_digits(number) >> (64 - (count << 3)))
    out.truncate(len(out) - 8 + count)


def eight_digits(number: i64) -> i64:
    """The eight decimal digits of a number below 10^8, in ASCII, the first in the lowest byte.

    Halved three times: into fours, twos and single digits, all parts at once, by fixed-point multiplication.
    """
    fours = number // 10000 | number % 10000 << 32
    tops = fours * 10486 >> 20 & 0x7F_0000007F  # hundreds of each
    twos = tops | (fours - tops * 100) << 16
    tens = twos * 103 >> 10 & 0x000F_000F_000F_000F
    return (tens | (twos - tens * 10) << 8) + 0x3030_3030_3030_3030


def write_date(out: BytesWriter, milliseconds: i64) -> None:
    """Write the ISO 8601 text of `date_text`."""
    days = milliseconds // DAY
    rest = milliseconds % DAY
    # years from March on, in cycles of 400 years: the leap day comes last
    days += MARCH_DAYS
    cycle = days // 146097
    day = days % 146097
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    year += 400 * cycle
    if month < 10:
        month += 3
    else:
        month -= 9
        year += 1
    date = eight_digits((year * 100 + month) * 100 + day + 1)
    time = eight_digits((rest // 3_600_000 * 100 + rest // 60_000 % 60) * 10000 + rest // 1000 % 60 * 100)
    thousandths = eight_digits(rest % 1000) >> 40 | 0x5A00_0000
    # yyyy-mm-, ddThh:mm, :ss.fffZ
    write_i64_le(out, date & 0xFFFF_FFFF | (date >> 32 & 0xFFFF) << 40 | 0x2D00_002D_0000_0000)
    write_i64_le(out, date >> 48 | (time & 0xFFFF) << 24 | (time >> 16 & 0xFFFF) << 48 | 0x3A00_0054_0000)
    write_i64_le(out, (time >> 32 & 0xFFFF) << 8 | thousandths << 32 | 0x2E00_003A)


def read_date(text: bytes, at: i64 = 0) -> i64:
    """The milliseconds of a text that `write_date` writes, of DATE_LENGTH bytes; NO_DATE for any other."""
    first = read_i64_le(text, at) ^ _YEAR_SIGNS
    second = read_i64_le(text, at + 8) ^ _HOUR_SIGNS
    third = read_i64_le(text, at + 16) ^ _FRACTION_SIGNS
    found = first | second | third
    found |= (first + _YEAR_LIMITS) | (second + _HOUR_LIMITS) | (third + _FRACTION_LIMITS)
    if found & _TOPS != 0:
        return NO_DATE
    # in each byte, the number of its digit and the next one
    first = first * 10 + (first >> 8)
    second = second * 10 + (second >> 8)
    thousandths = (third >> 32 & 0xFF) * 100
    third = third * 10 + (third >> 8)
    thousandths += third >> 40 & 0xFF
    year = (first & 0xFF) * 100 + (first >> 16 & 0xFF)
    month = first >> 40 & 0xFF
    day = second & 0xFF
    hour = second >> 24 & 0xFF
    minute = second >> 48 & 0xFF
    second = third >> 8 & 0xFF
    if year < 1 or month < 1 or month > 12 or day < 1 or hour > 23 or minute > 59 or second > 59:
        return NO_DATE
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    last: i64 = 31
    if month == 2:
        last = 29 if leap else 28
    elif month == 4 or month == 6 or month == 9 or month == 11:
        last = 30
    if day > last:
        return NO_DATE
    if month > 2:
        month -= 3
    else:
        month += 9
        year -= 1
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 1 - MARCH_DAYS
    return days * DAY + (hour * 3600 + minute * 60 + second) * 1000 + thousandths


def write_double(out: BytesWriter, bits: i64) -> None:
    """Write the shortest decimal that reads back as a finite double, as Python's repr does."""
    if bits == 0:
        out.write(b"0.0")
        return
    exponent = bits >> 52 & 0x7FF
    if _LEAST_EXPONENT <= exponent < _LEAST_EXPONENT + len(_POWERS):
        value = float(bits & 0xFFFFFFFFFFFFF | 0x10000000000000) * _POWERS[exponent - _LEAST_EXPONENT]
        # no other decimal of at most 15 digits is the same double
        thousandths = i64(value * 1000.0 + 0.5)
        if float(thousandths) / 1000.0 == value:
            if bits < 0:
                out.append(0x2D)
            write_int(out, thousandths // 1000)
            out.append(0x2E)
            _write_fraction(out, thousandths % 1000, 3)
            return
    if _LEAST_DIGITS <= exponent < _INTEGERS and _write_shortest(out, bits, _INTEGERS - exponent):
        return
    scratch = BytesWriter()
    write_i64_le(scratch, bits)
    out.write(repr(read_f64_le(scratch.getvalue(), 0)).encode())


def _write_shortest(out: BytesWriter, bits: i64, places: i64) -> bool:
    """Write the shortest decimal of a double with `places` binary places, 55 at most; False for some.

    Digit by digit, until no other double is as near (Steele and White 1990; where two are, readers round to
    even): `repr` takes seven times as long, and a quarter of all orders have such a sum of prices.
    """
    mantissa = bits & 0xFFFFFFFFFFFFF
    if mantissa == 0:  # a power of two, to which lower doubles are nearer
        return False
    even = mantissa & 1 == 0
    mantissa |= 0x10000000000000
    # twice the fraction and half the distance to the next double, both of `unit`
    unit: i64 = 2
    unit <<= places
    rest = mantissa << 1 & (unit - 1)
    half: i64 = 1
    digits: i64 = 0
    count: i64 = 0
    while True:
        rest *= 10
        half *= 10
        digits = digits * 10 + (rest >> places + 1)
        count += 1
        rest &= unit - 1
        is_low = rest < half or (even and rest == half)
        is_high = rest + half > unit or (even and rest + half == unit)
        if is_low or is_high:
            break
    if is_high and (not is_low or rest * 2 > unit or (rest * 2 == unit and digits & 1 != 0)):
        digits += 1
    if digits % 10 == 0:
        return False
    if bits < 0:
        out.append(0x2D)
    write_int(out, mantissa >> places)
    out.append(0x2E)
    _write_places(out, digits, count)
    return True


def _write_places(out: BytesWriter, number: i64, count: i64) -> None:
    """Write that many digits of a number, zeros before it included."""
    if count > 8:
        _write_places(out, number // 100_000_000, count - 8)
        write_i64_le(out, eight_digits(number % 100_000_000))
    else:
        _write_digits(out, number, count)


def fits32(number: i64) -> bool:
    """Whether 32 signed bits hold a number."""
    return -0x80000000 <= number <= 0x7FFFFFFF


def not_finite(bits: i64) -> str | None:
    """The notation's word for a double that is not finite; None for the others."""
    if bits >> 52 & 0x7FF != 0x7FF:
        return None
    if bits & 0x000FFFFFFFFFFFFF:
        return "NaN"
    return "-Infinity" if bits < 0 else "Infinity"


class _Second:
    """A second since 1970, with the text of its times up to their fractions."""

    def __init__(self, number: i64) -> None:
        out = BytesWriter()
        write_date(out, 1000 * number)
        out.truncate(len(out) - 4)
        self.number: Final[i64] = number
        self.text: Final = out.getvalue()


_last_second: Final = [_Second(0)]


def write_time(out: BytesWriter, microseconds: i64) -> None:
    """Write the ISO 8601 text, in UTC and to the microsecond, of microseconds since 1970 up to 9999."""
    second = _last_second[0]  # most times are in the second of the one before
    number = microseconds // 1_000_000
    if second.number != number:
        second = _last_second[0] = _Second(number)
    out.write(second.text)
    # ffffffZ, and one byte too many
    write_i64_le(out, eight_digits(microseconds % 1_000_000) >> 16 | 0x5A_0000_0000_0000)
    out.truncate(len(out) - 1)


def time_text(microseconds: i64) -> str:
    """The text of `write_time`; empty outside 1970 to 9999."""
    if microseconds < 0 or microseconds > LAST_MICROSECOND:
        return ""
    out = BytesWriter()
    write_time(out, microseconds)
    return out.getvalue().decode()


def duration(seconds: float) -> str:
    """A duration with three significant digits in µs, ms or s; from 100 s on in minutes and hours."""
    if seconds >= 100.0:
        minutes, rest = divmod(round(seconds), 60)
        if minutes < 100:
            return f"{minutes} min {rest} s"
        return f"{minutes // 60:,} h {minutes % 60} min"
    if seconds < 0.0009995:
        return f"{seconds * 1e6:.0f} µs" if seconds < 0 else f"{int(seconds * 1e6 + 0.5)} µs"
    unit = "s"
    if seconds < 0.9995:
        seconds *= 1e3
        unit = "ms"
    # whole numbers are several times as fast to write as a double with a number of digits
    if seconds >= 99.95:
        return f"{int(seconds + 0.5)} {unit}"
    if seconds >= 9.995:
        tenths = int(seconds * 10 + 0.5)
        return f"{tenths // 10}.{tenths % 10} {unit}"
    hundredths = int(seconds * 100 + 0.5)
    zero = "0" if hundredths % 100 < 10 else ""
    return f"{hundredths // 100}.{zero}{hundredths % 100} {unit}"


def write_seconds(out: BytesWriter, microseconds: i64) -> None:
    """Write a number of microseconds from 0 on in seconds, as Python writes the double."""
    rest = microseconds % 1_000_000
    if (microseconds < 100 and rest) or microseconds >= _EXACT:
        out.write(repr(int(microseconds) / 1_000_000).encode())
        return
    write_int(out, microseconds // 1_000_000)
    out.append(0x2E)
    _write_fraction(out, rest, 6)


def _write_fraction(out: BytesWriter, number: i64, digits: i64) -> None:
    """Write a fraction of that many digits without trailing zeros, but at least one digit."""
    while digits > 1 and number % 10 == 0:
        number //= 10
        digits -= 1
    _write_digits(out, number, digits)


def date_text(milliseconds: int) -> str:
    """ISO 8601 in UTC of milliseconds since 1970. Raises OverflowError outside the years 1 to 9999."""
    if not FIRST_MILLISECOND <= milliseconds <= LAST_MILLISECOND:
        raise OverflowError(f"{milliseconds} milliseconds are outside the years 1 to 9999")
    out = BytesWriter()
    write_date(out, milliseconds)
    return out.getvalue().decode()


if __file__.endswith(".py"):
    globals().update(_INTEGERS=0)  # uncompiled, `repr` is faster
