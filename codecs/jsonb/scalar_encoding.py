"""Encoding JSONB's scalars, each in the form that the usual writer gives it."""

import re
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Final

from librt.strings import BytesWriter, write_i32_be, write_i64_be
from mypy_extensions import i32, i64

from wirelens.codecs.errors import EncodeError
from wirelens.codecs.json_input import NOT_FINITE, Path, wrong
from wirelens.codecs.jsonb import vocabulary as v
from wirelens.codecs.node import Json
from wirelens.codecs.numbers import PLAIN_NAN, PLAIN_SINGLE_NAN

_DAY: Final = r"(-?\d{4,5})-(\d\d)-(\d\d)"
_CLOCK: Final = r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?"
_DATE: Final = re.compile(_DAY)
_TIME: Final = re.compile(_CLOCK)
_DATE_TIME: Final = re.compile(f"{_DAY}T{_CLOCK}")
_ZONED: Final = re.compile(rf"{_DAY}T{_CLOCK}\[(.*)\]", re.DOTALL)
_INSTANT: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z")
MOMENTS: Final[dict[str, tuple[re.Pattern[str], int, str]]] = {  # how they are written, and an example
    "$localtime": (_TIME, v.TIME, "23:59:58.5"),
    "$localdate": (_DATE, v.DATE, "2026-11-28"),
    "$localdatetime": (_DATE_TIME, v.DATE_TIME, "2026-11-28T23:59:58.5"),
    "$zoned": (_ZONED, v.ZONED, "2026-11-28T23:59:58.5[Europe/Berlin]"),
    "$instant": (_INSTANT, v.INSTANT, "2026-11-28T23:59:58.5Z"),
}


class Scalars:
    """Writes scalars; `place` is where the value being written is in the JSON."""

    def __init__(self, out: BytesWriter) -> None:
        self.out: Final = out
        self.place = Path(None, "")

    def wrong_under(self, tag: str, text: str) -> EncodeError:
        """An error at the value under a tag, to be raised by the caller."""
        return wrong(self.place, text, "." + tag)

    def integer_under(self, value: Json, tag: str, bits: int) -> int:
        """The integer under a tag, which fits in `bits` bits."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong_under(tag, "expected an integer")
        if not -1 << (bits - 1) <= value < 1 << (bits - 1):
            raise self.wrong_under(tag, f"{value} does not fit {bits} bits")
        return value

    def number_under(self, value: Json, tag: str) -> float:
        """The double under a tag."""
        number = NOT_FINITE.get(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise self.wrong_under(tag, 'expected a number, "NaN", "Infinity" or "-Infinity"')
        try:
            return float(number)
        except OverflowError:
            raise self.wrong_under(tag, f"{number} is too large for a double") from None

    def text_under(self, value: Json, tag: str) -> str:
        """The text under a tag."""
        if not isinstance(value, str):
            raise self.wrong_under(tag, "expected text")
        return value

    def write_int(self, value: int) -> None:
        """Write an int in its shortest form."""
        out = self.out
        if -16 <= value <= 47:
            out.append(value & 0xFF)
        elif -0x800 <= value <= 0x7FF:
            out.append(0x38 + (value >> 8))
            out.append(value & 0xFF)
        elif -0x40000 <= value <= 0x3FFFF:
            out.append(0x44 + (value >> 16))
            out.append(value >> 8 & 0xFF)
            out.append(value & 0xFF)
        else:
            out.append(v.INT_5)
            write_i32_be(out, i32(value))

    def write_long(self, value: int) -> None:
        """Write a long in its shortest form."""
        out = self.out
        if not -1 << 63 <= value < 1 << 63:
            raise self.place.error(f"{value} does not fit 64 bits; larger ones are $bigint")
        if -8 <= value <= 15:
            out.append(0xE0 + value)
        elif -0x800 <= value <= 0x7FF:
            out.append(0xD0 + (value >> 8))
            out.append(value & 0xFF)
        elif -0x40000 <= value <= 0x3FFFF:
            out.append(0xC4 + (value >> 16))
            out.append(value >> 8 & 0xFF)
            out.append(value & 0xFF)
        elif -0x80000000 <= value <= 0x7FFFFFFF:
            out.append(v.LONG_4)
            write_i32_be(out, i32(value))
        else:
            out.append(v.LONG_8)
            write_i64_be(out, i64(value))

    def write_text(self, text: str, byte: int = 0) -> None:
        """Write a text, in the usual writer's encoding or in that of a first byte."""
        out = self.out
        if byte == 0:
            byte = v.usual_encoding(text)
            if byte == v.LATIN1 and len(text) <= v.LONGEST_SHORT:
                out.append(v.TEXT_SHORT + len(text))
                out.write(text.encode("latin-1"))
                return
        content = v.encoded(text, byte)
        if content is None:
            raise self.place.error(f"{v.ENCODING_NAMES[byte]} has no bytes for this text")
        out.append(byte)
        self.write_int(len(content))
        out.write(content)

    def write_double(self, value: float) -> None:
        """Write a double in its shortest form."""
        out = self.out
        bits = PLAIN_NAN if value != value else v.double_bits(value)
        if bits == 0:
            out.append(v.DOUBLE_0)
        elif value == 1:
            out.append(v.DOUBLE_1)
        elif value.is_integer() and -0x80000000 <= value <= 0x7FFFFFFF and value != 0:
            out.append(v.DOUBLE_LONG)
            self.write_long(int(value))
        else:
            out.append(v.DOUBLE_8)
            write_i64_be(out, i64(bits))

    def write_float(self, value: float) -> None:
        """Write a float in its shortest form."""
        out = self.out
        try:
            bits = PLAIN_SINGLE_NAN if value != value else v.single_bits(value)
        except OverflowError:
            raise self.wrong_under("$float32", f"{value} is too large for a float") from None
        if value.is_integer() and -0x40000 <= value <= 0x3FFFF and bits != 0x80000000:
            out.append(v.FLOAT_INT)
            self.write_int(int(value))
        else:
            out.append(v.FLOAT_4)
            out.write(bits.to_bytes(4))

    def big_under(self, value: Json, tag: str) -> int:
        """The integer under a tag, as a number, as digits or as 0x and hex."""
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        try:
            return int(self.text_under(value, tag), 0)
        except ValueError:
            raise self.wrong_under(
                tag, "expected the digits of an integer, or of a large one 0x and hex"
            ) from None

    def write_big(self, value: int, byte: int) -> None:
        """Write a big integer: after `byte` as a long where it fits."""
        out = self.out
        if -1 << 63 <= value < 1 << 63:
            out.append(byte)
            self.write_long(value)
            return
        data = value.to_bytes(((value if value >= 0 else ~value).bit_length() + 8) // 8, signed=True)
        out.append(v.BIG)
        self.write_int(len(data))
        out.write(data)

    def write_decimal(self, value: Json) -> None:
        """Write a decimal, given as text or as [unscaled, scale]."""
        if isinstance(value, list):
            if len(value) != 2:
                raise self.wrong_under("$decimal", "expected [unscaled, scale]")
            unscaled = self.big_under(value[0], "$decimal")
            scale = self.integer_under(value[1], "$decimal", 32)
        else:
            unscaled, scale = self._decimal_text(value)
        out = self.out
        if scale == 0 and -1 << 63 <= unscaled < 1 << 63:
            out.append(v.DECIMAL_LONG)
            self.write_long(unscaled)
            return
        out.append(v.DECIMAL)
        self.write_int(scale)
        if -0x80000000 <= unscaled <= 0x7FFFFFFF:
            self.write_int(unscaled)
        elif -1 << 63 <= unscaled < 1 << 63:
            self.write_long(unscaled)
        else:
            self.write_big(unscaled, v.BIG_LONG)

    def _decimal_text(self, value: Json) -> tuple[int, int]:
        """The unscaled number and the scale of a decimal as text, or of a JSON number."""
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            value = str(value)
        try:
            sign, digits, exponent = Decimal(self.text_under(value, "$decimal")).as_tuple()
            if not isinstance(exponent, int):
                raise self.wrong_under("$decimal", "expected a finite number")
            unscaled = int("".join([str(digit) for digit in digits]) or "0")
        except (InvalidOperation, ValueError):
            raise self.wrong_under("$decimal", "expected a decimal number as text") from None
        return -unscaled if sign else unscaled, self.integer_under(-exponent, "$decimal", 32)

    def write_date(self, value: Json) -> None:
        """Write a date, given as ISO 8601 or in milliseconds since 1970."""
        out = self.out
        if isinstance(value, str):
            try:
                when = datetime.fromisoformat(value)
            except ValueError:
                raise self.wrong_under("$date", "expected a date as in 2026-11-28T12:00:00.000Z") from None
            when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
            span = when - datetime(1970, 1, 1, tzinfo=UTC)
            value = (span.days * 86400 + span.seconds) * 1000 + span.microseconds // 1000
        milliseconds = self.integer_under(value, "$date", 64)
        byte = v.date_byte(milliseconds)
        out.append(byte)
        if byte == v.MILLIS:
            write_i64_be(out, i64(milliseconds))
        else:
            write_i32_be(out, i32(milliseconds // (1000 if byte == v.SECONDS else 60000)))

    def write_moment(self, tag: str, value: Json) -> None:
        """Write a date or time of Java's java.time."""
        out = self.out
        if tag == "$instant" and isinstance(value, list):
            if len(value) != 2:
                raise self.wrong_under(tag, "expected [seconds, nanoseconds]")
            nanos = self.integer_under(value[1], tag, 32)
            out.append(v.INSTANT)
            self.write_long(self.integer_under(value[0], tag, 64))
            self._nanos(nanos, tag)
            return
        pattern, byte, example = MOMENTS[tag]
        match = pattern.fullmatch(self.text_under(value, tag))
        if match is None:
            raise self.wrong_under(tag, f"expected text as in {example}")
        out.append(byte)
        groups = match.groups()
        if tag == "$instant":
            try:
                when = datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
            except ValueError:
                raise self.wrong_under(tag, "there is no such time") from None
            span = when - datetime(1970, 1, 1, tzinfo=UTC)
            self.write_long(span.days * 86400 + span.seconds)
            self._nanos(_nanos_of(match[2]), tag)
            return
        if tag != "$localtime":
            year, month, day = (int(group) for group in groups[:3])
            if not -0x8000 <= year <= 0x7FFF or not 1 <= month <= 12 or not 1 <= day <= 31:
                raise self.wrong_under(tag, "there is no such day")
            out.write(year.to_bytes(2, signed=True))
            out.append(month)
            out.append(day)
            groups = groups[3:]
        if tag == "$localdate":
            return
        hours, minutes, seconds = (int(group) for group in groups[:3])
        if hours > 23 or minutes > 59 or seconds > 59:
            raise self.wrong_under(tag, "there is no such time of day")
        out.append(hours)
        out.append(minutes)
        out.append(seconds)
        self._nanos(_nanos_of(groups[3]), tag)
        if tag == "$zoned":
            self.write_text(groups[4])

    def _nanos(self, nanos: int, tag: str) -> None:
        if not 0 <= nanos <= 999_999_999:
            raise self.wrong_under(tag, f"{nanos} nanoseconds are not part of a second")
        self.write_int(nanos)


def _nanos_of(fraction: str | None) -> int:
    return int(fraction.ljust(9, "0")) if fraction else 0
