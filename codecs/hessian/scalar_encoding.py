"""Writing ints, longs, doubles and dates, in the form that a dialect's writer uses or that `$wire` gives."""

from datetime import UTC, datetime, timedelta
from struct import Struct
from typing import Final

from librt.strings import write_f64_be, write_i32_be, write_i64_be
from mypy_extensions import i32, i64, mypyc_attr, u8

from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.doubles import short_double
from wirelens.codecs.hessian.json_path import Place
from wirelens.codecs.hessian.texts import cesu8
from wirelens.codecs.json_input import hex_bytes
from wirelens.codecs.node import Json
from wirelens.codecs.numbers import DATE_LENGTH, EPOCH, NO_DATE, read_date

_MILLISECOND: Final = timedelta(milliseconds=1)
_SINGLE: Final = Struct(">f")


def is_single(value: float) -> bool:
    """True for a double that a single holds exactly; false for NaN."""
    if value != value:
        return False
    try:
        return bool(_SINGLE.unpack(_SINGLE.pack(value))[0] == value)
    except OverflowError:
        return False


def usual_date(text: str) -> i64:
    """The milliseconds of a date in the form that `decode` prints; NO_DATE for any other text."""
    if len(text) == DATE_LENGTH:
        content, _ = cesu8(text)
        if len(content) == DATE_LENGTH:
            return read_date(content)
    return NO_DATE


@mypyc_attr(acyclic=True)
class Scalars(Place):
    """Writes numbers and dates. Base of `Encoder`."""

    def integer(self, value: int, form: Json, path: str) -> None:
        """Write an int that is part of a layout, in the form that `$wire` gives (None: the usual one)."""
        self.place(path)
        self.write_int_as(value, form, "")

    def write_int(self, number: i64) -> None:
        """Write an int as the writer of the dialect sends it."""
        out = self.out
        if self.dialect != d.V1:
            if -16 <= number <= 47:
                out.append(u8(number + 0x90))
                return
            if -0x800 <= number <= 0x7FF:
                out.append(u8((number >> 8) + 0xC8))
                out.append(u8(number & 0xFF))
                return
            if -0x40000 <= number <= 0x3FFFF:
                out.append(u8((number >> 16) + 0xD4))
                self.write_u16(number)
                return
        out.append(0x49)
        write_i32_be(out, i32(number))

    def write_int_as(self, value: int, form: Json, step: str) -> None:
        """Write an int in a given form; None for the usual one. Errors are at the member `step`."""
        if form is None:
            self.write_int(value)
        elif form == "I":
            self.out.append(0x49)
            write_i32_be(self.out, i32(self.within(value, 32, step)))
        elif form == "two-byte" and self.dialect != d.V1 and -0x800 <= value <= 0x7FF:
            self.out.append(u8((value >> 8) + 0xC8))
            self.out.append(u8(value & 0xFF))
        elif form == "three-byte" and self.dialect != d.V1 and -0x40000 <= value <= 0x3FFFF:
            self.out.append(u8((value >> 16) + 0xD4))
            self.write_u16(value)
        else:
            raise self.error(f"{d.NAMES[self.dialect]} has no form {form!r} of the int {value}", step)

    def within(self, value: int, bits: int, step: str) -> i64:
        """A number as an i64, if it fits in 32 or 64 bits; an error at `step` otherwise."""
        # most values fit in the compiler's short integers, whose comparisons are faster
        if -0x3FFFFFFFFFFFFFFF <= value <= 0x3FFFFFFFFFFFFFFF:
            number: i64 = value
            if bits == 64 or -0x80000000 <= number <= 0x7FFFFFFF:
                return number
        elif bits == 64 and -1 << 63 <= value < 1 << 63:
            return value
        raise self.error(f"{value} is not in {-1 << (bits - 1)} … {(1 << (bits - 1)) - 1}", step)

    def write_u16(self, number: i64) -> None:
        """Write the low 16 bits of a number."""
        self.out.append(u8(number >> 8 & 0xFF))
        self.out.append(u8(number & 0xFF))

    def write_long(self, value: int) -> None:
        """Write a long as the writer of the dialect sends it."""
        self.write_i64(self.within(value, 64, ""))

    def write_i64(self, number: i64) -> None:
        """Write a long that fits in 64 bits."""
        out = self.out
        if self.dialect != d.V1:
            if -8 <= number <= 15:
                out.append(u8(number + 0xE0))
                return
            if -0x800 <= number <= 0x7FF:
                out.append(u8((number >> 8) + 0xF8))
                out.append(u8(number & 0xFF))
                return
            if -0x40000 <= number <= 0x3FFFF:
                out.append(u8((number >> 16) + 0x3C))
                self.write_u16(number)
                return
            if -0x80000000 <= number <= 0x7FFFFFFF:
                out.append(0x59 if self.dialect == d.FINAL else 0x77)
                write_i32_be(out, i32(number))
                return
        out.append(0x4C)
        write_i64_be(out, number)

    def write_long_as(self, value: int, form: Json) -> None:
        """Write a long in a given form; None for the usual one."""
        if form is None:
            self.write_long(value)
            return
        out = self.out
        number = self.within(value, 64, "")
        if form == "L":
            out.append(0x4C)
            write_i64_be(out, number)
        elif self.dialect == d.V1:
            raise self.error(f"hessian1 has no form {form!r} of a long", ".$wire")
        elif form == "two-byte" and -0x800 <= number <= 0x7FF:
            out.append(u8((number >> 8) + 0xF8))
            out.append(u8(number & 0xFF))
        elif form == "three-byte" and -0x40000 <= number <= 0x3FFFF:
            out.append(u8((number >> 16) + 0x3C))
            self.write_u16(number)
        elif form == "four-byte" and -0x80000000 <= number <= 0x7FFFFFFF:
            out.append(0x59 if self.dialect == d.FINAL else 0x77)
            write_i32_be(out, i32(number))
        else:
            raise self.error(f"Hessian has no form {form!r} of the long {value}", ".$wire")

    def write_double(self, value: float) -> None:
        """Write a double as the writer of the dialect sends it."""
        out = self.out
        dialect = self.dialect
        if dialect != d.V1 and (value != 0.0 or str(value) != "-0.0"):
            if short_double(value):
                number = i64(value)
                if number == 0 or number == 1:
                    out.append(u8((0x5B if dialect == d.FINAL else 0x67) + number))
                elif -128 <= number <= 127:
                    out.append(0x5D if dialect == d.FINAL else 0x69)
                    out.append(u8(number & 0xFF))
                else:
                    out.append(0x5E if dialect == d.FINAL else 0x6A)
                    self.write_u16(number)
                return
            if dialect == d.FINAL:
                if -2147483.648 <= value <= 2147483.647:
                    mills = i64(value * 1000.0)
                    if float(mills) * 0.001 == value:
                        out.append(0x5F)
                        write_i32_be(out, i32(mills))
                        return
            elif is_single(value):
                out.append(0x6B)
                out.write(_SINGLE.pack(value))
                return
        out.append(0x44)
        if value != value:
            out.write(b"\x7f\xf8\0\0\0\0\0\0")
        else:
            write_f64_be(out, value)

    def write_double_as(self, value: float, form: Json) -> None:
        """Write a double in a given form; None for the usual one."""
        out = self.out
        dialect = self.dialect
        if form is None:
            self.write_double(value)
        elif form == "D":
            out.append(0x44)
            if value != value:
                out.write(b"\x7f\xf8\0\0\0\0\0\0")
            else:
                write_f64_be(out, value)
        elif isinstance(form, str) and len(form) == 16 and value != value:
            out.append(0x44)
            out.write(hex_bytes(form, self.error("", ".$wire").path))
        elif dialect == d.V1:
            raise self.error(f"hessian1 has no form {form!r} of a double", ".$wire")
        elif form == "byte" and short_double(value) and -128.0 <= value <= 127.0:
            out.append(0x5D if dialect == d.FINAL else 0x69)
            out.append(u8(int(value) & 0xFF))
        elif form == "short" and short_double(value):
            out.append(0x5E if dialect == d.FINAL else 0x6A)
            self.write_u16(int(value))
        elif form == "mill" and dialect == d.FINAL:
            mills = round(value * 1000.0) if -2147484.0 < value < 2147484.0 else 1 << 31
            out.append(0x5F)
            write_i32_be(out, i32(self.within(mills, 32, ".$wire")))
        elif form == "float" and dialect == d.DRAFT and (value != value or is_single(value)):
            out.append(0x6B)
            out.write(_SINGLE.pack(value) if value == value else b"\x7f\xc0\0\0")
        elif isinstance(form, dict) and dialect == d.DRAFT and "float" in form:
            out.append(0x6B)
            content = hex_bytes(form["float"], self.error("", ".$wire.float").path)
            if len(content) != 4:
                raise self.error("expected the 8 hex digits of a single", ".$wire.float")
            out.write(content)
        else:
            raise self.error(f"{d.NAMES[dialect]} has no form {form!r} of the double {value}", ".$wire")

    def write_date(self, value: Json, form: Json) -> None:
        """Write a date in a given form; None for the usual one."""
        self.write_moment(self._milliseconds(value), form)

    def write_moment(self, milliseconds: i64, form: Json) -> None:
        """Write a date, in milliseconds since 1970, in a given form; None for the usual one."""
        out = self.out
        if self.dialect != d.FINAL:
            if form is not None:
                raise self.error(f"{d.NAMES[self.dialect]} has no form {form!r} of a date", ".$wire")
            out.append(0x64)
            write_i64_be(out, milliseconds)
        elif form is None and milliseconds % 60000 == 0 and -1 << 31 <= milliseconds // 60000 < 1 << 31:
            out.append(0x4B)
            write_i32_be(out, i32(milliseconds // 60000))
        elif form is None or form == "long":
            out.append(0x4A)
            write_i64_be(out, milliseconds)
        else:
            raise self.error(f'unknown form {form!r} of a date; there is "long"', ".$wire")

    def _milliseconds(self, value: Json) -> i64:
        """A date given as text, or as milliseconds since 1970."""
        if isinstance(value, int) and not isinstance(value, bool):
            return self.within(value, 64, ".$date")
        if isinstance(value, str):
            usual = usual_date(value)
            if usual != NO_DATE:
                return usual
            try:
                moment = datetime.fromisoformat(value)
            except ValueError:
                raise self.error(
                    f"{value!r} is not a date such as 1998-05-08T09:51:31.000Z", ".$date"
                ) from None
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            whole, rest = divmod(moment - EPOCH, _MILLISECOND)
            if rest:
                raise self.error("a date has no fraction of a millisecond", ".$date")
            return whole
        raise self.error("expected a date as text, or milliseconds since 1970", ".$date")
