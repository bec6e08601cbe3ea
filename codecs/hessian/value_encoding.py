"""Writing Hessian values of any dialect from the notation's JSON, as the dialect's Java writer sends them.

What a writer chooses (the notes on deployed software, section 1.1) is the default; `$wire` (see forms.py)
says where a sender chose otherwise.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from struct import Struct
from typing import Final

from librt.strings import BytesWriter, write_f64_be, write_i32_be, write_i64_be
from mypy_extensions import i32, i64, mypyc_attr

from wirelens.codecs.errors import EncodeError
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.forms import CHUNK_BYTES, CHUNK_UNITS, usual_binary, usual_string
from wirelens.codecs.hessian.value_decoding import short_double
from wirelens.codecs.json_input import NOT_FINITE, hex_bytes
from wirelens.codecs.node import Json
from wirelens.codecs.numbers import DATE_LENGTH, EPOCH, NO_DATE, read_date

_SUPPLEMENTARY: Final = re.compile("[\U00010000-\U0010ffff]")
_HIGH_SURROGATE: Final = re.compile(f"[{chr(0xD800)}-{chr(0xDBFF)}]")
_MILLISECOND: Final = timedelta(milliseconds=1)
_SINGLE: Final = Struct(">f")

# What a tag makes of a value.
_NULL: Final = 0
_BOOL: Final = 1
_INT: Final = 2
_LONG: Final = 3
_DOUBLE: Final = 4
_DATE: Final = 5
_STRING: Final = 6
_RAW: Final = 7
_BYTES: Final = 8
_XML: Final = 9
_REMOTE: Final = 10
_REF: Final = 11
_LIST: Final = 12
_MAP: Final = 13


class _Tag:
    """What a tag makes of a value, and which members may stand beside it."""

    def __init__(self, kind: i64, *beside: str) -> None:
        self.kind: Final = kind
        self.beside: Final = (*beside, "$wire")


TAGS: Final[dict[str, _Tag]] = {
    "$null": _Tag(_NULL),
    "$bool": _Tag(_BOOL),
    "$int": _Tag(_INT),
    "$long": _Tag(_LONG),
    "$double": _Tag(_DOUBLE),
    "$date": _Tag(_DATE),
    "$string": _Tag(_STRING),
    "$raw": _Tag(_RAW),
    "$bytes": _Tag(_BYTES),
    "$xml": _Tag(_XML),
    "$remote": _Tag(_REMOTE, "url"),
    "$ref": _Tag(_REF),
    "$list": _Tag(_LIST, "$type", "$id"),
    "$map": _Tag(_MAP, "$type", "$id"),
}

_NO_NAMES: Final[list[str]] = []
_USUAL: Final[dict[str, Json]] = {}  # the `$wire` of what has none


class _Class:
    """A class whose objects have the keys `keys` in the notation: "$class", then the fields."""

    def __init__(self, name: str, keys: list[str]) -> None:
        self.name: Final = name
        self.keys: Final = keys
        self.identity: Final[tuple[str | bytes, ...]] = (name, *keys[1:])  # as of `class_key`
        self.definition = b""  # the usual one, once it was written


# The last class of a name that was defined, by dialect: messages repeat the same few.
_classes: Final[list[dict[str, _Class]]] = [{} for _ in d.NAMES]
_KEPT: Final = 1024
_KEPT_BYTES: Final = 4096

# How the members of an open container are named in paths.
_ITEMS: Final = 0
_TAGGED_ITEMS: Final = 1
_KEYS: Final = 2
_TAGGED_KEYS: Final = 3
_PAIRS: Final = 4
_FIELDS: Final = 5
_FIELD_PAIRS: Final = 6


@mypyc_attr(acyclic=True)  # nothing refers back to it: not for the garbage collector
class _Frame:
    """A container being written: what is in it, in the order of the bytes."""

    def __init__(
        self,
        above: "_Frame | None",
        items: list[Json],
        naming: int,
        names: list[str],
        closer: int,
        first: i64 = 0,
    ) -> None:
        self.above: Final = above
        self.items: Final = items
        self.naming: Final = naming
        self.names: Final = names  # of fields
        self.closer: Final = closer  # the byte that ends it, or -1
        self.size: Final[i64] = len(items)
        self.next = first

    def step(self) -> str:
        """The member being written, for a path."""
        at = int(self.next) - 1
        if self.naming == _ITEMS:
            return f"[{at}]"
        if self.naming == _TAGGED_ITEMS:
            return f".$list[{at}]"
        if self.naming == _PAIRS:
            return f".$map[{at // 2}][{at % 2}]"
        if self.naming == _FIELD_PAIRS:
            return f".$fields[{at}][1]"
        if self.naming == _FIELDS:
            return "." + self.names[at]
        key = self.items[at & ~1]
        return (".$map." if self.naming == _TAGGED_KEYS else ".") + (
            key if isinstance(key, str) else "$fields"
        )


def cesu8(text: str) -> tuple[bytes, int]:
    """Text as Hessian has it, and how many UTF-16 units it counts."""
    size = len(text)
    try:
        content = text.encode()
        if len(content) == size:  # ASCII
            return content, size
        units = len(text.encode("utf-16")) // 2 - 1  # a byte order mark stands before them
        if units == size:
            return content, size
    except UnicodeEncodeError:
        pass  # lone surrogates
    wide = _as_units(text)
    return wide.encode("utf-8", "surrogatepass"), len(wide)


def _as_units(text: str) -> str:
    """Text with every character beyond U+FFFF as its two surrogates."""
    return _SUPPLEMENTARY.sub(_surrogates, text)


def _surrogates(match: re.Match[str]) -> str:
    code = ord(match[0]) - 0x10000
    return chr(0xD800 + (code >> 10)) + chr(0xDC00 + (code & 0x3FF))


def units_of_raw(content: bytes) -> int:
    """How many units a reader counts in content that need not be well-formed."""
    count = 0
    at = 0
    while at < len(content):
        byte = content[at]
        at += 1 if byte < 0xC0 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
        count += 2 if byte >= 0xF0 else 1
    return count


@mypyc_attr(acyclic=True)  # as a frame
class Encoder:
    """Writes values that share one scope: one reference, one class and one type table."""

    def __init__(self, out: BytesWriter, dialect: int) -> None:
        self.out: Final = out
        self.dialect: Final = dialect
        self.count = 0  # of lists, maps and objects so far
        self.classes: dict[tuple[str | bytes, ...], int] = {}
        self.class_count = 0
        self.types: dict[bytes, int] = {}
        self.type_count = 0
        self.labels: dict[str | int, int] = {}
        self._base = ""
        self._position = -1  # of the value in an array of values
        self._frame: _Frame | None = None  # the innermost open container
        self._whole: list[Json] = []
        self._first = 0
        self._ahead: dict[str | int, int] | None = None

    def clear_references(self) -> None:
        """Forget the references, as between packets; classes and types stay."""
        self.count = 0
        self.labels = {}

    def values(self, items: Json, path: str) -> None:
        """Write an array's values, one after the other. Raises EncodeError."""
        if not isinstance(items, list):
            raise EncodeError(path, "expected an array of values")
        self._whole = items
        self._first = self.count
        self._ahead = None
        self._base = path
        for position, item in enumerate(items):
            self._position = position
            self._value(item)
        self._position = -1

    def value(self, value: Json, path: str) -> None:
        """Write one value; `path` is where it stands in the JSON. Raises EncodeError."""
        self._whole = [value]
        self._first = self.count
        self._ahead = None
        self._base = path
        self._position = -1
        self._value(value)

    def _value(self, value: Json) -> None:
        out = self.out
        self._frame = None
        item = value
        while True:
            if isinstance(item, str):
                self._text(item)
            elif isinstance(item, dict):
                self._dict(item)
            elif item is None:
                out.append(0x4E)
            elif isinstance(item, bool):
                out.append(0x54 if item else 0x46)
            elif isinstance(item, int):
                if -0x80000000 <= item <= 0x7FFFFFFF:
                    self._int(item)
                else:
                    self._long(item)
            elif isinstance(item, list):
                self._list(item, None, _USUAL, _ITEMS)
            else:
                self._double(item)
            frame: _Frame | None = self._frame
            while frame is not None and frame.next == frame.size:
                if frame.closer >= 0:
                    out.append(frame.closer)
                frame = frame.above
                self._frame = frame
            if frame is None:
                return
            item = frame.items[frame.next]
            frame.next += 1

    def place(self, path: str) -> None:
        """Say where in the JSON the next part stands that is no value (a name, a length), for errors."""
        self._base = path
        self._position = -1
        self._frame = None

    def integer(self, value: int, form: Json, path: str) -> None:
        """Write an int that is part of a layout, in the form that `$wire` gives (None: the usual one)."""
        self.place(path)
        self._int_as(value, form, "")

    def _error(self, text: str, step: str = "") -> EncodeError:
        """An error at the value being written, or at a member of it."""
        path = self._base if self._position < 0 else f"{self._base}[{self._position}]"
        steps: list[str] = []
        frame = self._frame
        while frame is not None:
            steps.append(frame.step())
            frame = frame.above
        path += "".join(reversed(steps)) + step
        return EncodeError(path.removeprefix("."), text)

    # --- scalars ----------------------------------------------------------------------------------------

    def _int(self, number: i64) -> None:
        """An int as the writer of the dialect sends it."""
        out = self.out
        if self.dialect != d.V1:
            if -16 <= number <= 47:
                out.append(number + 0x90)
                return
            if -0x800 <= number <= 0x7FF:
                out.append((number >> 8) + 0xC8)
                out.append(number & 0xFF)
                return
            if -0x40000 <= number <= 0x3FFFF:
                out.append((number >> 16) + 0xD4)
                self._u16(number)
                return
        out.append(0x49)
        write_i32_be(out, i32(number))

    def _int_as(self, value: int, form: Json, what: str) -> None:
        """An int in a given form; None for the usual one."""
        if form is None:
            self._int(value)
        elif form == "I":
            self.out.append(0x49)
            write_i32_be(self.out, i32(self._within(value, 32, what)))
        elif form == "two-byte" and self.dialect != d.V1 and -0x800 <= value <= 0x7FF:
            self.out.append((value >> 8) + 0xC8)
            self.out.append(value & 0xFF)
        elif form == "three-byte" and self.dialect != d.V1 and -0x40000 <= value <= 0x3FFFF:
            self.out.append((value >> 16) + 0xD4)
            self._u16(value)
        else:
            raise self._error(
                f"{form!r} is no form in which {d.NAMES[self.dialect]} has the int {value}", what
            )

    def _within(self, value: int, bits: int, step: str) -> i64:
        # most are shorter than the compiler's own integers, which compare faster
        if -0x3FFFFFFFFFFFFFFF <= value <= 0x3FFFFFFFFFFFFFFF:
            number: i64 = value
            if bits == 64 or -0x80000000 <= number <= 0x7FFFFFFF:
                return number
        elif bits == 64 and -1 << 63 <= value < 1 << 63:
            return value
        raise self._error(f"{value} does not fit in {bits} bits", step)

    def _u16(self, number: i64) -> None:
        """The low 16 bits of a number."""
        self.out.append(number >> 8 & 0xFF)
        self.out.append(number & 0xFF)

    def _long(self, value: int) -> None:
        """A long as the writer of the dialect sends it."""
        out = self.out
        number = self._within(value, 64, "")
        if self.dialect != d.V1:
            if -8 <= number <= 15:
                out.append(number + 0xE0)
                return
            if -0x800 <= number <= 0x7FF:
                out.append((number >> 8) + 0xF8)
                out.append(number & 0xFF)
                return
            if -0x40000 <= number <= 0x3FFFF:
                out.append((number >> 16) + 0x3C)
                self._u16(number)
                return
            if -0x80000000 <= number <= 0x7FFFFFFF:
                out.append(0x59 if self.dialect == d.FINAL else 0x77)
                write_i32_be(out, i32(number))
                return
        out.append(0x4C)
        write_i64_be(out, number)

    def _long_as(self, value: int, form: Json) -> None:
        """A long in a given form; None for the usual one."""
        if form is None:
            self._long(value)
            return
        out = self.out
        number = self._within(value, 64, "")
        if form == "L":
            out.append(0x4C)
            write_i64_be(out, number)
        elif self.dialect == d.V1:
            raise self._error(f"{form!r} is no form in which hessian1 has a long", ".$wire")
        elif form == "two-byte" and -0x800 <= number <= 0x7FF:
            out.append((number >> 8) + 0xF8)
            out.append(number & 0xFF)
        elif form == "three-byte" and -0x40000 <= number <= 0x3FFFF:
            out.append((number >> 16) + 0x3C)
            self._u16(number)
        elif form == "four-byte" and -0x80000000 <= number <= 0x7FFFFFFF:
            out.append(0x59 if self.dialect == d.FINAL else 0x77)
            write_i32_be(out, i32(number))
        else:
            raise self._error(f"{form!r} is no form in which Hessian has the long {value}", ".$wire")

    def _double(self, value: float) -> None:
        """A double as the writer of the dialect sends it."""
        out = self.out
        dialect = self.dialect
        if dialect != d.V1 and (value != 0.0 or str(value) != "-0.0"):
            if short_double(value):
                number = i64(value)
                if number == 0 or number == 1:
                    out.append((0x5B if dialect == d.FINAL else 0x67) + number)
                elif -128 <= number <= 127:
                    out.append(0x5D if dialect == d.FINAL else 0x69)
                    out.append(number & 0xFF)
                else:
                    out.append(0x5E if dialect == d.FINAL else 0x6A)
                    self._u16(number)
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

    def _double_as(self, value: float, form: Json) -> None:
        """A double in a given form; None for the usual one."""
        out = self.out
        dialect = self.dialect
        if form is None:
            self._double(value)
        elif form == "D":
            out.append(0x44)
            if value != value:
                out.write(b"\x7f\xf8\0\0\0\0\0\0")
            else:
                write_f64_be(out, value)
        elif isinstance(form, str) and len(form) == 16 and value != value:
            out.append(0x44)
            out.write(hex_bytes(form, self._error("", ".$wire").path))
        elif dialect == d.V1:
            raise self._error(f"{form!r} is no form in which hessian1 has a double", ".$wire")
        elif form == "byte" and short_double(value) and -128.0 <= value <= 127.0:
            out.append(0x5D if dialect == d.FINAL else 0x69)
            out.append(int(value) & 0xFF)
        elif form == "short" and short_double(value):
            out.append(0x5E if dialect == d.FINAL else 0x6A)
            self._u16(int(value))
        elif form == "mill" and dialect == d.FINAL:
            mills = round(value * 1000.0) if -2147484.0 < value < 2147484.0 else 1 << 31
            out.append(0x5F)
            write_i32_be(out, i32(self._within(mills, 32, ".$wire")))
        elif form == "float" and dialect == d.DRAFT and (value != value or is_single(value)):
            out.append(0x6B)
            out.write(_SINGLE.pack(value) if value == value else b"\x7f\xc0\0\0")
        elif isinstance(form, dict) and dialect == d.DRAFT and "float" in form:
            out.append(0x6B)
            content = hex_bytes(form["float"], self._error("", ".$wire.float").path)
            if len(content) != 4:
                raise self._error("expected the 8 hex digits of a single", ".$wire.float")
            out.write(content)
        else:
            raise self._error(
                f"{form!r} is no form in which {d.NAMES[dialect]} has the double {value}", ".$wire"
            )

    def _date(self, value: Json, form: Json) -> None:
        out = self.out
        milliseconds = self._milliseconds(value)
        if self.dialect != d.FINAL:
            if form is not None:
                raise self._error(f"{form!r} is no form of a date in {d.NAMES[self.dialect]}", ".$wire")
            out.append(0x64)
            write_i64_be(out, milliseconds)
        elif form is None and milliseconds % 60000 == 0 and -1 << 31 <= milliseconds // 60000 < 1 << 31:
            out.append(0x4B)
            write_i32_be(out, i32(milliseconds // 60000))
        elif form is None or form == "long":
            out.append(0x4A)
            write_i64_be(out, milliseconds)
        else:
            raise self._error(f'{form!r} is no form of a date; there is "long"', ".$wire")

    def _milliseconds(self, value: Json) -> i64:
        if isinstance(value, int) and not isinstance(value, bool):
            return self._within(value, 64, ".$date")
        if isinstance(value, str):
            if len(value) == DATE_LENGTH:
                content, _ = cesu8(value)
                plain = read_date(content) if len(content) == DATE_LENGTH else NO_DATE
                if plain != NO_DATE:
                    return plain
            try:
                moment = datetime.fromisoformat(value)
            except ValueError:
                raise self._error(
                    f"{value!r} is no date such as 1998-05-08T09:51:31.000Z", ".$date"
                ) from None
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            whole, rest = divmod(moment - EPOCH, _MILLISECOND)
            if rest:
                raise self._error("a date has whole milliseconds", ".$date")
            return whole
        raise self._error("expected a date as text, or milliseconds since 1970", ".$date")

    # --- text and bytes ---------------------------------------------------------------------------------

    def _text(self, text: str) -> None:
        """A string as the writer of the dialect sends it."""
        content, units = cesu8(text)
        if units <= 31 and self.dialect != d.V1:
            self.out.append(units)
            self.out.write(content)
            return
        self._chunks(text, content, units)

    def _chunks(self, text: str, content: bytes, units: int) -> None:
        """A string's opcodes and content, cut as writers cut it."""
        if units <= CHUNK_UNITS:
            self._string_opcode(usual_string(self.dialect, units), units)
            self.out.write(content)
            return
        wide = _as_units(text)
        sizes: list[int] = []
        at = 0
        while units - at > CHUNK_UNITS:
            size = CHUNK_UNITS
            if _HIGH_SURROGATE.match(wide, at + size - 1):
                size -= 1
            sizes.append(size)
            at += size
        sizes.append(units - at)
        self._cut_string(wide, sizes, usual_string(self.dialect, units - at), False)

    def _cut_string(self, wide: str, sizes: list[int], last: str, xml: bool) -> None:
        """A string of one character a unit in chunks of given sizes."""
        at = 0
        for position, size in enumerate(sizes):
            final = position == len(sizes) - 1
            self._string_opcode(last if final else "more", size, xml)
            self.out.write(wide[at : at + size].encode("utf-8", "surrogatepass"))
            at += size

    def _string_opcode(self, name: str, units: int, xml: bool = False) -> None:
        """The opcode of a chunk of a string: "short", "medium", "S" or "more"."""
        out = self.out
        dialect = self.dialect
        if name == "short" and not xml and dialect != d.V1 and units <= 31:
            out.append(units)
        elif name == "medium" and not xml and dialect == d.FINAL and units <= 1023:
            out.append(0x30 + (units >> 8))
            out.append(units & 0xFF)
        elif name in ("S", "more") and units <= 0xFFFF:
            if name == "S":
                out.append(0x58 if xml else 0x53)
            else:
                out.append(0x78 if xml else 0x52 if dialect == d.FINAL else 0x73)
            self._u16(units)
        else:
            raise self._error(f"no chunk {name!r} of {units} units in {d.NAMES[dialect]}", ".$wire")

    def string(self, value: Json, wire: Json, step: str = "", xml: bool = False) -> None:
        """A string that may be {"$raw": hex} or {"$string": text}, with what `$wire` says of it."""
        if isinstance(value, dict) and ("$string" in value or "$raw" in value):
            wire = value.get("$wire", wire)
            if "$string" in value:
                value = value["$string"]
        if isinstance(wire, dict) and "exact" in wire:
            self._exact(wire["exact"], step, xml)
            return
        if isinstance(value, dict) and "$raw" in value:
            content = hex_bytes(value["$raw"], self._error("", step + ".$raw").path)
            units = self._declared(wire, step)
            if units < 0:
                units = units_of_raw(content)
            self._string_opcode("S" if xml else usual_string(self.dialect, units), units, xml)
            self.out.write(content)
            return
        if not isinstance(value, str):
            raise self._error("expected text", step)
        if wire is None and not xml:
            self._text(value)
            return
        units = self._declared(wire, step)
        if units >= 0:
            self._string_opcode("S" if xml else usual_string(self.dialect, units), units, xml)
            self.out.write(value.encode("utf-8", "surrogatepass"))
            return
        wide = _as_units(value)
        if wire is None:
            sizes = [CHUNK_UNITS] * (len(wide) // CHUNK_UNITS) if len(wide) > CHUNK_UNITS else []
            sizes = sizes or [len(wide)]
            if sum(sizes) < len(wide):
                sizes.append(len(wide) - sum(sizes))
            self._cut_string(wide, sizes, "S", xml)
        elif isinstance(wire, str):
            self._cut_string(wide, [len(wide)], wire, xml)
        else:
            sizes = self._sizes(wire, len(wide), step)
            last = wire.get("last") if isinstance(wire, dict) else None
            usual = "S" if xml else usual_string(self.dialect, sizes[-1])
            self._cut_string(wide, sizes, last if isinstance(last, str) else usual, xml)

    def _declared(self, wire: Json, step: str) -> int:
        """The `units` of a `$wire`; -1 for none."""
        if not isinstance(wire, dict) or "units" not in wire:
            return -1
        units = wire["units"]
        if isinstance(units, bool) or not isinstance(units, int) or units < 0:
            raise self._error("expected a number of units", step + ".$wire.units")
        return units

    def _sizes(self, wire: Json, total: int, step: str) -> list[int]:
        """The `chunks` of a `$wire`, which must add up to what there is."""
        given = wire.get("chunks") if isinstance(wire, dict) else None
        sizes: list[int] = []
        if isinstance(given, list):
            for size in given:
                if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= 0xFFFF:
                    raise self._error("expected sizes of chunks, up to 65535", step + ".$wire.chunks")
                sizes.append(size)
        if not sizes:
            raise self._error("expected an opcode's name, chunks, units or exact", step + ".$wire")
        if sum(sizes) != total:
            raise self._error(f"the chunks have {sum(sizes)}, the value {total}", step + ".$wire.chunks")
        return sizes

    def _exact(self, given: Json, step: str, xml: bool) -> None:
        """A string given chunk by chunk."""
        if not isinstance(given, list):
            raise self._error("expected chunks: [opcode, units, hex]", step + ".$wire.exact")
        for chunk in given:
            if not isinstance(chunk, list) or len(chunk) != 3:
                raise self._error("expected chunks: [opcode, units, hex]", step + ".$wire.exact")
            name, units, content = chunk
            if not isinstance(name, str) or isinstance(units, bool) or not isinstance(units, int):
                raise self._error("expected chunks: [opcode, units, hex]", step + ".$wire.exact")
            self._string_opcode(name, units, xml)
            self.out.write(hex_bytes(content, self._error("", step + ".$wire.exact").path))

    def counted(self, value: Json, wire: Json, step: str = "") -> bytes:
        """Text behind a 16-bit count of units (types, methods, header names); gives its content."""
        content, units = self.text_of(value, wire, step)
        if units > 0xFFFF:
            raise self._error("a name has 65535 units at most", step)
        self._u16(units)
        self.out.write(content)
        return content

    def text_of(self, value: Json, wire: Json = None, step: str = "") -> tuple[bytes, int]:
        """The content of text that may be tagged, and the units that it counts."""
        if isinstance(value, dict) and ("$string" in value or "$raw" in value):
            wire = value.get("$wire", wire)
            if "$string" in value:
                value = value["$string"]
        units = self._declared(wire, step)
        if isinstance(value, dict) and "$raw" in value:
            content = hex_bytes(value["$raw"], self._error("", step + ".$raw").path)
            return content, units_of_raw(content) if units < 0 else units
        if not isinstance(value, str):
            raise self._error("expected text", step)
        if units >= 0:
            return value.encode("utf-8", "surrogatepass"), units
        return cesu8(value)

    def binary(self, content: bytes, wire: Json, step: str = "") -> None:
        """Bytes, in the usual chunks or as `$wire` says."""
        size = CHUNK_BYTES[self.dialect]
        sizes: list[int] = []
        last = ""
        if wire is None:
            left = len(content)
            while left > size:
                sizes.append(size)
                left -= size
            sizes.append(left)
        elif isinstance(wire, str):
            sizes = [len(content)]
            last = wire
        else:
            sizes = self._sizes(wire, len(content), step)
            given = wire.get("last") if isinstance(wire, dict) else None
            last = given if isinstance(given, str) else ""
        at = 0
        for position, part in enumerate(sizes):
            if position < len(sizes) - 1:
                self.out.append(0x41 if self.dialect == d.FINAL else 0x62)
                self._u16(part)
            else:
                self._binary_opcode(last or usual_binary(self.dialect, part), part, step)
            self.out.write(content[at : at + part])
            at += part

    def _binary_opcode(self, name: str, size: int, step: str) -> None:
        out = self.out
        if name == "short" and self.dialect != d.V1 and size <= 15:
            out.append(0x20 + size)
        elif name == "medium" and self.dialect == d.FINAL and size <= 1023:
            out.append(0x34 + (size >> 8))
            out.append(size & 0xFF)
        elif name == "B" and size <= 0xFFFF:
            out.append(0x42)
            self._u16(size)
        else:
            raise self._error(
                f"no chunk {name!r} of {size} bytes in {d.NAMES[self.dialect]}", step + ".$wire"
            )

    # --- tagged values ----------------------------------------------------------------------------------

    def _dict(self, item: dict[str, Json]) -> None:
        """A value given as a JSON object: an object, a map, or a tagged value."""
        if "$class" in item:
            self._object(item)
            return
        name = ""
        tag: _Tag | None = None
        for key in item:
            if key.startswith("$"):
                name = key
                tag = TAGS.get(key)
                if tag is not None:
                    break
        if not name:
            self._map(item, None, _USUAL, _KEYS)
            return
        if tag is None:
            raise self._error(f"{name} is no tag of a Hessian value; a map with such keys needs $map")
        kind = tag.kind
        value = item[name]
        wire: Json = None
        if len(item) > 1:
            wire = self._beside(item, name, tag)
        if kind == _LONG:
            self._long_as(self._integer(value, name), wire)
        elif kind == _LIST or kind == _MAP:
            self._label(item)
            if wire is None:
                wire = _USUAL
            if not isinstance(wire, dict):
                raise self._error("expected an object", ".$wire")
            if kind == _MAP:
                self._map(value, item.get("$type"), wire, _TAGGED_KEYS)
            elif isinstance(value, list):
                self._list(value, item.get("$type"), wire, _TAGGED_ITEMS)
            else:
                raise self._error("expected an array", ".$list")
        elif kind == _STRING:
            self.string(value, wire)
        elif kind == _RAW:
            self.string({"$raw": value}, wire)
        elif kind == _REF:
            self._reference(value, wire)
        elif kind == _BYTES:
            self.binary(hex_bytes(value, self._error("", ".$bytes").path), wire)
        elif kind == _DATE:
            self._date(value, wire)
        elif kind == _XML:
            if self.dialect == d.FINAL:
                raise self._error("hessian2 has no XML values")
            self.string(value, wire, "", True)
        elif kind == _REMOTE:
            self._remote(item, wire)
        elif kind == _DOUBLE:
            number = NOT_FINITE.get(value) if isinstance(value, str) else value
            if isinstance(number, bool) or not isinstance(number, (int, float)):
                raise self._error('expected a number, "NaN", "Infinity" or "-Infinity"', ".$double")
            try:
                self._double_as(float(number), wire)
            except OverflowError:
                raise self._error(f"{number} is too large for a double", ".$double") from None
        elif kind == _INT:
            small = self._within(self._integer(value, name), 32, ".$int")
            self._int_as(small, wire, ".$wire")
        else:
            if (value is not None) if kind == _NULL else not isinstance(value, bool):
                raise self._error("expected null" if kind == _NULL else "expected true or false", "." + name)
            if wire is not None:
                raise self._error("there is but one form of it", ".$wire")
            self.out.append(0x4E if value is None else 0x54 if value else 0x46)

    def _beside(self, item: dict[str, Json], name: str, tag: _Tag) -> Json:
        """The `$wire` of a tagged value, after the class definitions that it asks for."""
        for key in item:
            if key != name and key not in tag.beside:
                raise self._error(f"{key} may not stand beside {name}")
        wire = item.get("$wire")
        if isinstance(wire, dict) and "define" in wire:
            self._define(wire["define"])
            wire = {key: one for key, one in wire.items() if key != "define"}
            if tag.kind != _LIST and tag.kind != _MAP:
                wire = wire.get("form")
        return wire

    def _integer(self, value: Json, name: str) -> int:
        """The integer under a tag."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._error("expected an integer", "." + name)
        return value

    def _label(self, item: dict[str, Json]) -> None:
        """Remember the label of the list, map or object that comes next."""
        if "$id" not in item:
            return
        label = item["$id"]
        if isinstance(label, bool) or not isinstance(label, (int, str)):
            raise self._error("expected a label: text or a number", ".$id")
        if label in self.labels:
            raise self._error(f"the label {label!r} is given twice in one scope", ".$id")
        self.labels[label] = self.count

    def _reference(self, label: Json, form: Json) -> None:
        out = self.out
        if isinstance(label, bool) or not isinstance(label, (int, str)):
            raise self._error("expected a label: text or a number", ".$ref")
        number = self.labels.get(label)
        if number is None:
            number = self._looked_up(label)
        if self.dialect == d.FINAL:
            out.append(0x51)
            self._within(number, 32, ".$ref")
            self._int_as(number, form, ".$wire")
            return
        if form is None:
            form = "R"
            if self.dialect != d.V1 and 0 <= number <= 0xFFFF:
                form = "byte" if number <= 0xFF else "short"
        if form == "R":
            out.append(0x52)
            write_i32_be(out, i32(self._within(number, 32, ".$ref")))
        elif form == "byte" and self.dialect != d.V1 and 0 <= number <= 0xFF:
            out.append(0x4A)
            out.append(number)
        elif form == "short" and self.dialect != d.V1 and 0 <= number <= 0xFFFF:
            out.append(0x4B)
            self._u16(number)
        else:
            raise self._error(f"{form!r} is no form of the reference {number}", ".$wire")

    def _looked_up(self, label: str | int) -> int:
        """The number of a label that comes later, or the number that it is."""
        if self._ahead is None:
            self._ahead = _labels(self._whole, self._first)
        found = self._ahead.get(label)
        if found is not None:
            return found
        if isinstance(label, str):
            raise self._error(f"no $id has the label {label!r}", ".$ref")
        return label

    def _remote(self, item: dict[str, Json], wire: Json) -> None:
        if self.dialect == d.FINAL:
            raise self._error("hessian2 has no remote values")
        if "url" not in item:
            raise self._error('a remote value needs its address, "url"')
        how = wire if isinstance(wire, dict) else {}
        self.out.append(0x72)
        given = how.get("type")
        if isinstance(given, int) and not isinstance(given, bool):
            self.out.append(0x75)
            self._int_as(given, how.get("type_form"), ".$wire.type_form")
        else:
            text = item["$remote"] if given is None or given == "text" or given == "empty" else given
            self._type_text("" if text is None else text)
        self.string(item["url"], None, ".url")

    # --- containers -------------------------------------------------------------------------------------

    def _type_text(self, text: Json) -> None:
        """A type as text; it takes its place in the type table."""
        if self.dialect == d.FINAL:
            content, _ = self.text_of(text, None, ".$type")
            self.string(text, None, ".$type")
        else:
            self.out.append(0x74)
            content = self.counted(text, None, ".$type")
        self.types.setdefault(content, self.type_count)
        self.type_count += 1

    def _type_number(self, kind: Json, given: Json) -> int:
        """The number under which a type is written; -1 where it is written as text, -2 for none."""
        if isinstance(given, int) and not isinstance(given, bool):
            return given
        if isinstance(given, dict) or given in ("text", "empty"):
            return -1
        if kind is None or kind == "":
            return -2
        if self.dialect == d.V1:
            return -1
        content, _ = self.text_of(kind, None, ".$type")
        return self.types.get(content, -1)

    def _typed(self, kind: Json, given: Json) -> Json:
        """The text of a type that is written as text."""
        if isinstance(given, dict):
            return given
        return "" if given == "empty" or kind is None else kind

    def _open(self, items: list[Json], naming: int, names: list[str], closer: int, first: i64 = 0) -> None:
        """Write `items` from the index `first` on next: the members of a list, map or object."""
        self._frame = _Frame(self._frame, items, naming, names, closer, first)
        self.count += 1

    def _list(self, items: list[Json], kind: Json, wire: dict[str, Json], naming: int) -> None:
        """The head of a list; its items follow."""
        out = self.out
        size = len(items)
        if self.dialect == d.FINAL and kind is None and size <= 7 and not wire:
            out.append(0x78 + size)
            self._open(items, naming, _NO_NAMES, -1)
            return
        given = wire.get("type")
        number = self._type_number(kind, given)
        declared: Json = wire.get("length", size)
        length_form = wire.get("length_form")
        form = wire.get("form")
        if declared is not None:
            if isinstance(declared, bool) or not isinstance(declared, int):
                raise self._error("expected a length, or null for none", ".$wire.length")
            self._within(declared, 32, ".$wire.length")
        closer = -1
        if self.dialect == d.FINAL:
            if number == -2:
                if declared is None:
                    out.append(0x57)
                    closer = 0x5A
                elif declared <= 7 and form is None:
                    out.append(0x78 + declared)
                else:
                    out.append(0x58)
                    self._int_as(declared, length_form, ".$wire.length_form")
            else:
                if declared is None:
                    out.append(0x55)
                    closer = 0x5A
                elif declared <= 7 and form is None:
                    out.append(0x70 + declared)
                else:
                    out.append(0x56)
                if number >= 0 or isinstance(given, int):
                    self._int_as(number, wire.get("type_form"), ".$wire.type_form")
                else:
                    self._type_text(self._typed(kind, given))
                if declared is not None and (declared > 7 or form is not None):
                    self._int_as(declared, length_form, ".$wire.length_form")
            if declared is not None and declared != size:
                raise self._error("a list of hessian2 has as many items as it says", ".$wire.length")
        elif (number >= 0 or isinstance(given, int)) and form != "V":
            if self.dialect == d.V1 or declared is None:
                raise self._error("a type's number stands only before a length, in the draft", ".$wire.type")
            out.append(0x76)
            self._int_as(number, wire.get("type_form"), ".$wire.type_form")
            self._int_as(declared, length_form, ".$wire.length_form")
        else:
            out.append(0x56)
            closer = 0x7A
            if number >= 0 or isinstance(given, int):
                out.append(0x75)
                self._int_as(number, wire.get("type_form"), ".$wire.type_form")
            elif number == -1:
                self._type_text(self._typed(kind, given))
            if declared is not None:
                if self.dialect != d.V1 and 0 <= declared < 256 and length_form is None:
                    out.append(0x6E)
                    out.append(declared)
                else:
                    out.append(0x6C)
                    write_i32_be(out, i32(declared))
        self._open(items, naming, _NO_NAMES, closer)

    def _map(self, value: Json, kind: Json, wire: dict[str, Json], naming: int) -> None:
        """The head of a map; its keys and values follow."""
        out = self.out
        items: list[Json] = []
        if isinstance(value, dict):
            for key, member in value.items():
                items.append(key)
                items.append(member)
        elif isinstance(value, list):
            naming = _PAIRS
            for position, pair in enumerate(value):
                if not isinstance(pair, list) or len(pair) != 2:
                    raise self._error("expected a pair [key, value]", f".$map[{position}]")
                items.extend(pair)
        else:
            raise self._error("expected an object, or an array of pairs [key, value]", ".$map")
        if self.dialect == d.FINAL and kind is None and not wire:
            out.append(0x48)
            self._open(items, naming, _NO_NAMES, 0x5A)
            return
        given = wire.get("type")
        number = self._type_number(kind, given)
        if self.dialect == d.FINAL:
            out.append(0x48 if number == -2 else 0x4D)
        else:
            out.append(0x4D)
            if number == -2 and self.dialect == d.V1 and given != "absent":
                number = -1
        if number >= 0 or isinstance(given, int):
            if self.dialect != d.FINAL:
                out.append(0x75)
            self._int_as(number, wire.get("type_form"), ".$wire.type_form")
        elif number == -1:
            self._type_text(self._typed(kind, given))
        self._open(items, naming, _NO_NAMES, 0x5A if self.dialect == d.FINAL else 0x7A)

    def _object(self, item: dict[str, Json]) -> None:
        """The head of an object, with its class definition where that is new; its fields follow."""
        name = item["$class"]
        keys = list(item.keys())
        if not isinstance(name, str) or self.dialect == d.V1:
            self._object_with_more(item)
            return
        known = _classes[self.dialect].get(name)
        if known is None or known.keys != keys:
            if keys[0] != "$class" or any(key.startswith("$") for key in keys[1:]):
                self._object_with_more(item)
                return
            known = _Class(name, keys)
        number = self.classes.get(known.identity, -1)
        if number < 0:
            number = self.class_count
            self._define_usual(known)
        if self.dialect == d.FINAL and number <= 15:
            self.out.append(0x60 + number)
        else:
            self.out.append(0x4F if self.dialect == d.FINAL else 0x6F)
            self._int(number)
        self._open(list(item.values()), _FIELDS, keys, -1, 1)

    def _object_with_more(self, item: dict[str, Json]) -> None:
        """The head of an object that has more than a class and fields, or is no object in its dialect."""
        out = self.out
        name = item["$class"]
        texts: list[str] = []
        items: list[Json] = []
        for key, member in item.items():
            if not key or ord(key[0]) != 0x24:  # $
                texts.append(key)
                items.append(member)
        how = _USUAL
        names: Sequence[Json] = texts
        naming = _FIELDS
        if len(texts) + 1 < len(item):
            how = self._beside_class(item)
            if "$fields" in item:
                names, items = self._field_pairs(item["$fields"], texts)
                naming = _FIELD_PAIRS
        if self.dialect == d.V1:
            self._object_as_map(name, names, items)
            return
        identity = class_key(name, names)
        if how:
            number = self._class_number(identity, name, names, how)
        else:
            number = self.classes.get(identity, -1)
            if number < 0:
                number = self.class_count
                self._define_one(name, names, how)
        if self.dialect == d.FINAL and 0 <= number <= 15 and "form" not in how and "class_form" not in how:
            out.append(0x60 + number)
        else:
            out.append(0x4F if self.dialect == d.FINAL else 0x6F)
            self._int_as(number, how.get("class_form"), ".$wire.class_form")
        self._open(items, naming, texts, -1)

    def _field_pairs(self, pairs: Json, texts: list[str]) -> tuple[list[Json], list[Json]]:
        """The names and the values of fields given as pairs."""
        if texts:
            raise self._error("an object has its fields either beside $class or in $fields")
        if not isinstance(pairs, list):
            raise self._error("expected an array of pairs [name, value]", ".$fields")
        names: list[Json] = []
        items: list[Json] = []
        for position, pair in enumerate(pairs):
            if not isinstance(pair, list) or len(pair) != 2:
                raise self._error("expected a pair [name, value]", f".$fields[{position}]")
            names.append(pair[0])
            items.append(pair[1])
        return names, items

    def _beside_class(self, item: dict[str, Json]) -> dict[str, Json]:
        """What stands beside an object's class and fields: its label, and its `$wire`."""
        for key in item:
            if key.startswith("$") and key not in ("$class", "$id", "$wire", "$fields"):
                raise self._error(f"{key} may not stand beside $class; such fields go in $fields")
        self._label(item)
        wire = item.get("$wire")
        if wire is None:
            return _USUAL
        if not isinstance(wire, dict):
            raise self._error("expected an object", ".$wire")
        return wire

    def _class_number(
        self,
        identity: tuple[str | bytes, ...],
        name: Json,
        names: Sequence[Json],
        how: dict[str, Json],
    ) -> int:
        """The class number of an object with a `$wire`, after the definitions that this asks for."""
        if "define" in how:
            self._define(how["define"])
        number = self.classes.get(identity, -1)
        given = how.get("class")
        if isinstance(given, int) and not isinstance(given, bool):
            if "define" not in how and given == self.class_count:
                self._define_one(name, names, how)
            return given
        if number < 0:
            number = self.class_count
            self._define_one(name, names, how)
        return number

    def _object_as_map(self, name: Json, names: Sequence[Json], items: list[Json]) -> None:
        """An object in 1.0, which has none: a map with the class as its type."""
        self.out.append(0x4D)
        self._type_text(name)
        both: list[Json] = []
        for key, member in zip(names, items, strict=True):
            both.append(key)
            both.append(member)
        self._open(both, _KEYS, _NO_NAMES, 0x7A)

    def _define(self, given: Json) -> None:
        """Class definitions that stand before a value."""
        if self.dialect == d.V1 or not isinstance(given, list):
            raise self._error("expected class definitions, of a dialect that has them", ".$wire.define")
        for one in given:
            if not isinstance(one, dict) or not isinstance(one.get("fields"), list) or "name" not in one:
                raise self._error('expected {"name", "fields": […]}', ".$wire.define")
            fields = one["fields"]
            assert isinstance(fields, list)
            how = {
                "name": one.get("name_form"),
                "count": one.get("count_form"),
                "length": one.get("length_form"),
            }
            self._define_one(one["name"], fields, how)

    def _define_usual(self, known: _Class) -> None:
        """Write the usual definition of a class, and keep it."""
        definition = known.definition
        if not definition:
            aside = BytesWriter()
            Encoder(aside, self.dialect)._define_one(known.name, known.keys[1:], _USUAL)
            definition = aside.getvalue()
            if len(definition) <= _KEPT_BYTES:
                known.definition = definition
                kept = _classes[self.dialect]
                if len(kept) >= _KEPT:
                    kept.clear()
                kept[known.name] = known
        self.out.write(definition)
        self.classes[known.identity] = self.class_count
        self.class_count += 1

    def _define_one(self, name: Json, fields: Sequence[Json], how: dict[str, Json]) -> None:
        """Write a class definition; it takes the next number in the class table."""
        out = self.out
        if self.dialect == d.FINAL:
            out.append(0x43)
            self.string(name, None, ".$class")
        else:
            out.append(0x4F)
            form = how.get("name")
            if form == "t":
                out.append(0x74)
                self.counted(name, None, ".$class")
            elif form == "string":
                self.string(name, None, ".$class")
            elif form is None or form == "int":
                content, units = self.text_of(name, None, ".$class")
                self._int_as(units, how.get("length"), ".$wire.define")
                out.write(content)
            else:
                raise self._error(
                    f'{form!r} is no form of a class name; there are "string" and "t"', ".$wire.name"
                )
        self._int_as(len(fields), how.get("count"), ".$wire.define")
        for field in fields:
            self.string(field, None, ".$class")
        self.classes.setdefault(class_key(name, fields), self.class_count)
        self.class_count += 1


def class_key(name: Json, fields: Sequence[Json]) -> tuple[str | bytes, ...]:
    """What tells a class from others: its name and its fields' names."""
    key: list[str | bytes] = [_key_part(name)]
    key.extend([field if isinstance(field, str) else _key_part(field) for field in fields])
    return tuple(key)


def _key_part(text: Json) -> str | bytes:
    if isinstance(text, str):
        return text
    if isinstance(text, dict):
        wire = text.get("$wire")
        plain = text.get("$string")
        if isinstance(plain, str):
            wide = isinstance(wire, dict) and ("units" in wire or "exact" in wire)
            return plain.encode("utf-8", "surrogatepass") if wide else plain
        raw = text.get("$raw")
        if isinstance(raw, str):
            return raw.encode()
    return b""


def is_single(value: float) -> bool:
    """True for what a single has exactly; not for a NaN."""
    if value != value:
        return False
    try:
        return bool(_SINGLE.unpack(_SINGLE.pack(value))[0] == value)
    except OverflowError:
        return False


def _labels(values: list[Json], first: int) -> dict[str | int, int]:
    """The numbers of all labels in values of which the first list, map or object has the number `first`."""
    found: dict[str | int, int] = {}
    work: list[Json] = list(reversed(values))
    while work:
        item = work.pop()
        inner: list[Json] = []
        if isinstance(item, list):
            inner = item
        elif isinstance(item, dict):
            label = item.get("$id")
            if isinstance(label, (str, int)):
                found.setdefault(label, first)
            if "$class" in item:
                pairs = item.get("$fields")
                if isinstance(pairs, list):
                    inner = [pair[1] for pair in pairs if isinstance(pair, list) and len(pair) == 2]
                else:
                    inner = [member for key, member in item.items() if not key.startswith("$")]
            elif "$list" in item:
                listed = item["$list"]
                inner = listed if isinstance(listed, list) else []
            else:
                mapped = item.get("$map", item)
                if isinstance(mapped, list):
                    for pair in mapped:
                        inner.extend(pair if isinstance(pair, list) else [])
                elif isinstance(mapped, dict):
                    if "$map" not in item and any(key in TAGS for key in item):
                        continue
                    inner = list(mapped.values())
        else:
            continue
        first += 1
        work.extend(reversed(inner))
    return found
