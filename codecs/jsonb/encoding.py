"""Encoding JSONB: the notation's JSON to the bytes that fastjson2's writer sends for it."""

import re
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Final

from librt.strings import BytesWriter, write_i32_be, write_i64_be
from mypy_extensions import i32, i64

from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.json_input import (
    NOT_FINITE,
    Path,
    array_of,
    did_you_mean,
    hex_bytes,
    none_of,
    only,
    wrong,
)
from wirelens.codecs.json_text import dumps, loads
from wirelens.codecs.jsonb import vocabulary as v
from wirelens.codecs.jsonb.decoding import decode_message
from wirelens.codecs.node import Json
from wirelens.codecs.notation import tree_json
from wirelens.codecs.numbers import PLAIN_NAN, PLAIN_SINGLE_NAN
from wirelens.codecs.tape import Buffer, Tape

# How the items of an open container are named in paths and written.
_ITEMS: Final = 0  # of a list
_MEMBERS: Final = 1  # keys and values of a map
_FIELDS: Final = 2  # as _MEMBERS, with the keys as names with a number
_PAIRS: Final = 3  # keys and values, each any value
_INNER: Final = 4  # the value of a typed value

_ESCAPED: Final = re.compile(r"""[/:;`.~!@#%^&*\[\]<>?()\-+=\\"'{}]""")
_DAY: Final = r"(-?\d{4,5})-(\d\d)-(\d\d)"
_CLOCK: Final = r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?"
_DATE: Final = re.compile(_DAY)
_TIME: Final = re.compile(_CLOCK)
_DATE_TIME: Final = re.compile(f"{_DAY}T{_CLOCK}")
_ZONED: Final = re.compile(rf"{_DAY}T{_CLOCK}\[(.*)\]", re.DOTALL)
_INSTANT: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z")


def encode_message(message: Json, out: BytesWriter) -> None:
    """See Codec.encode."""
    if not isinstance(message, dict) or "value" not in message:
        raise EncodeError("", 'expected a message: an object with the key "value"')
    only(message, ("value",), "")
    encode_value(message["value"], out, "value")


def encode_value(value: Json, out: BytesWriter, path: str) -> None:
    """Write one document; `path` is its place in the JSON. Raises EncodeError."""
    Encoder(out).write(value, Path(None, path))


class _Frame:
    """A container being written: its items, of which `next` are done."""

    def __init__(self, items: list[Json], mode: int, closer: bytes, place: Path, path: str) -> None:
        self.items: Final = items
        self.mode: Final = mode
        self.closer: Final = closer
        self.place: Final = place
        self.path: Final = path  # as references have it
        self.next = 0

    def step(self) -> str:
        """The step in the JSON to the item before `next`."""
        at = self.next - 1
        if self.mode == _ITEMS:
            return f"[{at}]"
        if self.mode == _PAIRS:
            return f"[{at // 2}][{at % 2}]"
        if self.mode == _INNER:
            return ".$value"
        return f".{self.items[at - at % 2]}"

    def path_step(self) -> str:
        """The path, as references have it, to the item before `next`."""
        at = self.next - 1
        if self.mode == _INNER:
            return self.path
        if self.mode == _ITEMS:
            return f"{self.path}[{at}]"
        key = self.items[at - at % 2]
        if isinstance(key, dict) and len(key) == 1:
            key = next(iter(key.values()))
        return f"{self.path}." + _ESCAPED.sub(r"\\\g<0>", key if isinstance(key, str) else str(key))


class Encoder:
    """Writes one document."""

    def __init__(self, out: BytesWriter) -> None:
        self.out: Final = out
        self.numbers: Final[dict[str, int]] = {}  # of types and names
        self.texts: Final[dict[int, str]] = {}
        self.defined = 0
        self.frames: Final[list[_Frame]] = []
        self.labels: Final[dict[Json, str]] = {}  # the paths of what has a label
        self.last_path = ""  # of the reference written last
        self.place = Path(None, "")

    def write(self, value: Json, place: Path) -> None:
        """Write the document of a value. Raises EncodeError."""
        frames = self.frames
        self.place = place
        self._value(value)
        while frames:
            frame = frames[-1]
            if frame.next == len(frame.items):
                self.out.write(frame.closer)
                frames.pop()
                continue
            item = frame.items[frame.next]
            frame.next += 1
            self.place = Path(frame.place, frame.step())
            if frame.mode == _FIELDS and frame.next & 1:
                self._symbol(v.SYMBOL, str(item))
            else:
                self._value(item)

    def _open(self, items: list[Json], mode: int, closer: bytes) -> None:
        if len(self.frames) >= v.MOST_LEVELS:
            raise self.place.error(f"more than {v.MOST_LEVELS:,} containers inside one another")
        self.frames.append(_Frame(items, mode, closer, self.place, self._path()))

    def _path(self) -> str:
        """The path of the value being written, as references have it."""
        return self.frames[-1].path_step() if self.frames else "$"

    def _value(self, item: Json) -> None:
        out = self.out
        if isinstance(item, str):
            self.write_text(item)
        elif isinstance(item, dict):
            self._dict(item)
        elif item is None:
            out.append(v.NULL)
        elif isinstance(item, bool):
            out.append(v.TRUE if item else v.FALSE)
        elif isinstance(item, int):
            if -0x80000000 <= item <= 0x7FFFFFFF:
                self.write_int(item)
            else:
                self._long(item)
        elif isinstance(item, list):
            self._list(item, None)
        else:
            self._double(item)

    # --- tagged values ----------------------------------------------------------------------------------

    def _dict(self, item: dict[str, Json]) -> None:
        if "$class" in item:
            self._bean(item)
            return
        tag = next((key for key in item if key in _TAGS), "")
        if not tag:
            odd = next((key for key in item if key.startswith("$")), None)
            if odd is not None:
                known = ["$class", *_TAGS]
                raise self.place.error(f"as a tag, {none_of(odd, known)} (a map with such keys needs $map)")
            self.out.append(v.MAP)
            self._open(_flat(item), _MEMBERS, _END)
            return
        others = _CONTAINER_MEMBERS if tag in ("$list", "$map", "$value") else ("$wire",)
        for key in item:
            if key != tag and key not in others:
                near = did_you_mean(key, others)
                raise self.place.error(f"{key} cannot accompany {tag}; there are {', '.join(others)}{near}")
        value = item[tag]
        wire = item.get("$wire")
        if tag in ("$list", "$map", "$value"):
            self._container(item, tag, value, wire)
        elif tag == "$string" and isinstance(wire, str):
            byte = v.ENCODING_BYTES.get(wire)
            if byte is None:
                raise wrong(self.place, none_of(wire, v.ENCODING_BYTES), ".$wire")
            self.write_text(self._string(value, tag), byte)
        elif isinstance(wire, dict):
            if tag == "$symbol":
                self._exact_symbol(v.SYMBOL, value, wire.get("bytes"), ".$wire.bytes")
            else:
                self._exact(item, tag, wire)
        elif isinstance(wire, str) and value == "NaN" and tag in ("$double", "$float32"):
            bits = hex_bytes(wire, Path(self.place, ".$wire"))
            if len(bits) != (8 if tag == "$double" else 4):
                raise wrong(self.place, "expected the bits of a NaN", ".$wire")
            self.out.append(v.DOUBLE_8 if tag == "$double" else v.FLOAT_4)
            self.out.write(bits)
        elif wire is not None:
            raise wrong(self.place, 'expected {"bytes": hex}', ".$wire")
        else:
            self._tagged(tag, value)

    def _exact(self, item: dict[str, Json], tag: str, wire: dict[str, Json]) -> None:
        """Write a scalar as the bytes under its `$wire`, which must be of its value."""
        only(wire, ("bytes",), Path(self.place, ".$wire"))
        where = Path(self.place, ".$wire.bytes")
        data = hex_bytes(wire.get("bytes"), where)
        buffer = Buffer(data)
        tape = Tape(buffer)
        cursor = Cursor(buffer, 0, len(data))
        try:
            decode_message(cursor, tape, True)
        except DecodeError as error:
            raise where.error(f"no value of JSONB: {error.text}") from None
        message = loads(tree_json(tape).decode())
        found = message["value"] if isinstance(message, dict) else None
        if isinstance(found, dict):
            found = found.get(tag)
        if cursor.pos != len(data) or dumps(found) != dumps(item[tag]):
            raise where.error("these bytes are of another value; without $wire, the usual ones are written")
        self.out.write(data)

    def _tagged(self, tag: str, value: Json) -> None:
        """Write a scalar in its usual form."""
        out = self.out
        if tag == "$int":
            self.write_int(self._integer(value, tag, 32))
        elif tag == "$long":
            self._long(self._integer(value, tag, 64))
        elif tag == "$int16":
            out.append(v.SHORT)
            out.write(self._integer(value, tag, 16).to_bytes(2, signed=True))
        elif tag == "$int8":
            out.append(v.BYTE)
            out.write(self._integer(value, tag, 8).to_bytes(1, signed=True))
        elif tag == "$double":
            self._double(self._number(value, tag))
        elif tag == "$float32":
            self._float(self._number(value, tag))
        elif tag == "$string":
            self.write_text(self._string(value, tag))
        elif tag == "$bytes":
            data = hex_bytes(value, Path(self.place, ".$bytes"))
            out.append(v.BINARY)
            self.write_int(len(data))
            out.write(data)
        elif tag == "$date":
            self._date(value)
        elif tag == "$ref":
            self._reference(value)
        elif tag == "$symbol":
            self._symbol(v.SYMBOL, value)
        elif tag == "$text_symbol":
            number = self._integer(value, tag, 32)
            if number >= 0:
                raise self._wrong(tag, "expected a negative index")
            out.append(v.LATIN1)
            self.write_int(number)
        elif tag == "$char":
            text = self._string(value, tag)
            if len(text) != 1 or ord(text) > 0xFFFF:
                raise self._wrong(tag, "expected one UTF-16 unit")
            out.append(v.CHAR)
            self.write_int(ord(text))
        elif tag == "$bigint":
            self._big(self._big_integer(value, tag), v.BIG_LONG)
        elif tag == "$decimal":
            self._decimal(value)
        else:
            self._moment(tag, value)

    def _wrong(self, tag: str, text: str) -> EncodeError:
        return wrong(self.place, text, "." + tag)

    def _integer(self, value: Json, tag: str, bits: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(tag, "expected an integer")
        if not -1 << (bits - 1) <= value < 1 << (bits - 1):
            raise self._wrong(tag, f"{value} does not fit {bits} bits")
        return value

    def _number(self, value: Json, tag: str) -> float:
        number = NOT_FINITE.get(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise self._wrong(tag, 'expected a number, "NaN", "Infinity" or "-Infinity"')
        try:
            return float(number)
        except OverflowError:
            raise self._wrong(tag, f"{number} is too large for a double") from None

    def _string(self, value: Json, tag: str) -> str:
        if not isinstance(value, str):
            raise self._wrong(tag, "expected text")
        return value

    # --- containers -------------------------------------------------------------------------------------

    def _label(self, item: dict[str, Json]) -> None:
        """Keep the path of a container with a label."""
        if "$id" in item:
            label = item["$id"]
            if isinstance(label, bool) or not isinstance(label, (int, str)):
                raise wrong(self.place, "expected a label: text or a number", ".$id")
            if label in self.labels:
                raise wrong(self.place, f"the label {label!r} is given twice in one document", ".$id")
            self.labels[label] = self._path()

    def _type(self, kind: Json, wire: dict[str, Json]) -> None:
        """Write the type before a container, if it has one."""
        if "type" in wire:
            self._exact_symbol(v.TYPED, kind, wire["type"], ".$wire.type")
        elif kind is not None:
            self._symbol(v.TYPED, kind)

    def _bean(self, item: dict[str, Json]) -> None:
        wire = self._container_wire(item.get("$wire"))
        self._label(item)
        self._type(item["$class"], wire)
        self.out.append(v.MAP)
        fields = item.get("$fields")
        items: list[Json] = []
        if fields is not None:
            for key in item:
                if key not in ("$class", "$id", "$wire", "$fields"):
                    raise self.place.error(f"{key} cannot accompany $fields")
            for at, pair in enumerate(array_of(fields, Path(self.place, ".$fields"), "pairs")):
                if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
                    raise wrong(self.place, "expected a pair: a name and its value", f".$fields[{at}]")
                items.extend(pair)
        else:
            for key, value in item.items():
                if key in ("$class", "$id", "$wire"):
                    continue
                if key.startswith("$"):
                    near = did_you_mean(key, ("$class", "$id", "$wire", "$fields"))
                    raise self.place.error(
                        f"{key} is no member of an object; such a name needs $fields{near}"
                    )
                items.append(key)
                items.append(value)
        self._open(items, _FIELDS, _END)

    def _container_wire(self, wire: Json) -> dict[str, Json]:
        if wire is None:
            return {}
        if not isinstance(wire, dict):
            raise wrong(self.place, "expected an object", ".$wire")
        only(wire, ("type", "length"), Path(self.place, ".$wire"))
        return wire

    def _container(self, item: dict[str, Json], tag: str, value: Json, given: Json) -> None:
        """Write a list, a map or a typed value with what accompanies it."""
        wire = self._container_wire(given)
        self._label(item)
        self._type(item.get("$type"), wire)
        if tag == "$value":
            if item.get("$type") is None and "type" not in wire:
                raise self.place.error("$value needs a $type")
            self._open([value], _INNER, b"")
        elif tag == "$list":
            self._list(array_of(value, Path(self.place, ".$list"), "items"), wire.get("length"))
        else:
            self.out.append(v.MAP)
            if isinstance(value, dict):
                self._open(_flat(value), _MEMBERS, _END)
                return
            items: list[Json] = []
            for at, pair in enumerate(array_of(value, Path(self.place, ".$map"), "pairs")):
                if not isinstance(pair, list) or len(pair) != 2:
                    raise wrong(self.place, "expected a pair: a key and its value", f".$map[{at}]")
                items.extend(pair)
            self._open(items, _PAIRS, _END)

    def _list(self, items: list[Json], length: Json) -> None:
        out = self.out
        if length is not None:
            where = Path(self.place, ".$wire.length")
            data = hex_bytes(length, where)
            if not _is_whole_int(data, 1) or data[0] != v.LIST or v.int_at(data, 1)[0] != len(items):
                raise where.error(f"not the bytes of a list of {len(items)} items")
            out.write(data)
        elif len(items) <= 15:
            out.append(v.LIST_SHORT + len(items))
        else:
            out.append(v.LIST)
            self.write_int(len(items))
        self._open(items, _ITEMS, b"")

    def _symbol(self, lead: int, text: Json) -> None:
        """Write a type or a name with its number: defined where it is new."""
        out = self.out
        if isinstance(text, int) and not isinstance(text, bool):
            if not -0x80000000 <= text < 0:
                raise self.place.error("expected a name, or a negative index outside the data")
            out.append(lead)
            self.write_int(text)
            return
        if not isinstance(text, str):
            raise self.place.error("expected a name")
        out.append(lead)
        number = self.numbers.get(text)
        if number is None:
            self.write_text(text)
            number = self.defined
            self._define(text, number)
        self.write_int(number)

    def _define(self, text: str, number: int) -> None:
        self.numbers.setdefault(text, number)
        self.texts[number] = text
        self.defined += 1

    def _exact_symbol(self, lead: int, text: Json, given: Json, step: str) -> None:
        """Write a type or a name as the bytes under `$wire`, which must be of that text."""
        where = Path(self.place, step)
        data = hex_bytes(given, where)
        if text is None and lead == v.TYPED:
            text = ""  # as the notation leaves it out
        at = 2 if lead == v.TYPED and data[1:2] == b"\x7f" else 1
        if data[:1] != bytes([lead]) or len(data) <= at:
            raise where.error(f"expected bytes that start with {lead:02x}")
        if v.TEXT_SHORT <= data[at] < v.SYMBOL:
            buffer = Buffer(bytes([v.SYMBOL]) + data[at:])
            tape = Tape(buffer)
            cursor = Cursor(buffer, 0, len(buffer.data))
            try:
                decode_message(cursor, tape, True)
            except DecodeError as error:
                raise where.error(error.text) from None
            message = loads(tree_json(tape).decode())
            found = message["value"] if isinstance(message, dict) else None
            if not isinstance(found, dict) or found.get("$symbol") != text or cursor.pos != cursor.end:
                raise where.error("these bytes are of another name")
            number_at = int(tape.end(2) - 1 + at)
            self._define(str(text), v.int_at(data, number_at)[0])
        else:
            if not _is_whole_int(data, at):
                raise where.error("expected the number of a name")
            number = v.int_at(data, at)[0]
            if self.texts.get(number) != text and not (number < 0 and text in ("", number)):
                raise where.error("these bytes are of another name")
        self.out.write(data)

    def _reference(self, target: Json) -> None:
        """Write a reference: a path as it is, or what the usual writer has for a label."""
        path = target
        if target in self.labels and (not isinstance(target, str) or target[:1] not in "$.#"):
            path = self.labels[target]
            if self.frames and self._holder() == path:
                path = ".."
            elif path == self.last_path:
                path = "#-1"
            if path != "#-1":
                self.last_path = str(path)
        if not isinstance(path, str):
            raise self._wrong("$ref", f"no $id before it has the label {target!r}")
        self.out.append(v.REFERENCE)
        self.write_text(path)

    def _holder(self) -> str:
        """The path of the container that holds the value being written."""
        for frame in reversed(self.frames):
            if frame.mode != _INNER:
                return frame.path
        return ""

    # --- scalars ----------------------------------------------------------------------------------------

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

    def _long(self, value: int) -> None:
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

    def _double(self, value: float) -> None:
        out = self.out
        bits = PLAIN_NAN if value != value else v.double_bits(value)
        if bits == 0:
            out.append(v.DOUBLE_0)
        elif value == 1:
            out.append(v.DOUBLE_1)
        elif value.is_integer() and -0x80000000 <= value <= 0x7FFFFFFF and value != 0:
            out.append(v.DOUBLE_LONG)
            self._long(int(value))
        else:
            out.append(v.DOUBLE_8)
            write_i64_be(out, i64(bits))

    def _float(self, value: float) -> None:
        out = self.out
        try:
            bits = PLAIN_SINGLE_NAN if value != value else v.single_bits(value)
        except OverflowError:
            raise self._wrong("$float32", f"{value} is too large for a float") from None
        if value.is_integer() and -0x40000 <= value <= 0x3FFFF and bits != 0x80000000:
            out.append(v.FLOAT_INT)
            self.write_int(int(value))
        else:
            out.append(v.FLOAT_4)
            out.write(bits.to_bytes(4))

    def _big_integer(self, value: Json, tag: str) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        try:
            return int(self._string(value, tag), 0)
        except ValueError:
            raise self._wrong(
                tag, "expected the digits of an integer, or of a large one 0x and hex"
            ) from None

    def _big(self, value: int, byte: int) -> None:
        """Write a big integer: after `byte` as a long where it fits."""
        out = self.out
        if -1 << 63 <= value < 1 << 63:
            out.append(byte)
            self._long(value)
            return
        data = value.to_bytes(((value if value >= 0 else ~value).bit_length() + 8) // 8, signed=True)
        out.append(v.BIG)
        self.write_int(len(data))
        out.write(data)

    def _decimal(self, value: Json) -> None:
        if isinstance(value, list):
            if len(value) != 2:
                raise self._wrong("$decimal", "expected [unscaled, scale]")
            unscaled = self._big_integer(value[0], "$decimal")
            scale = self._integer(value[1], "$decimal", 32)
        else:
            unscaled, scale = self._decimal_text(value)
        out = self.out
        if scale == 0 and -1 << 63 <= unscaled < 1 << 63:
            out.append(v.DECIMAL_LONG)
            self._long(unscaled)
            return
        out.append(v.DECIMAL)
        self.write_int(scale)
        if -0x80000000 <= unscaled <= 0x7FFFFFFF:
            self.write_int(unscaled)
        elif -1 << 63 <= unscaled < 1 << 63:
            self._long(unscaled)
        else:
            self._big(unscaled, v.BIG_LONG)

    def _decimal_text(self, value: Json) -> tuple[int, int]:
        """The unscaled number and the scale of a decimal as text, or of a JSON number."""
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            value = str(value)
        try:
            sign, digits, exponent = Decimal(self._string(value, "$decimal")).as_tuple()
            if not isinstance(exponent, int):
                raise self._wrong("$decimal", "expected a finite number")
            unscaled = int("".join([str(digit) for digit in digits]) or "0")
        except (InvalidOperation, ValueError):
            raise self._wrong("$decimal", "expected a decimal number as text") from None
        return -unscaled if sign else unscaled, self._integer(-exponent, "$decimal", 32)

    def _date(self, value: Json) -> None:
        out = self.out
        if isinstance(value, str):
            try:
                when = datetime.fromisoformat(value)
            except ValueError:
                raise self._wrong("$date", "expected a date as in 2026-11-28T12:00:00.000Z") from None
            when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
            span = when - datetime(1970, 1, 1, tzinfo=UTC)
            value = (span.days * 86400 + span.seconds) * 1000 + span.microseconds // 1000
        milliseconds = self._integer(value, "$date", 64)
        byte = v.date_byte(milliseconds)
        out.append(byte)
        if byte == v.MILLIS:
            write_i64_be(out, i64(milliseconds))
        else:
            write_i32_be(out, i32(milliseconds // (1000 if byte == v.SECONDS else 60000)))

    def _moment(self, tag: str, value: Json) -> None:
        """Write a date or time of Java's java.time."""
        out = self.out
        if tag == "$instant" and isinstance(value, list):
            if len(value) != 2:
                raise self._wrong(tag, "expected [seconds, nanoseconds]")
            nanos = self._integer(value[1], tag, 32)
            out.append(v.INSTANT)
            self._long(self._integer(value[0], tag, 64))
            self._nanos(nanos, tag)
            return
        pattern, byte, example = _MOMENTS[tag]
        match = pattern.fullmatch(self._string(value, tag))
        if match is None:
            raise self._wrong(tag, f"expected text as in {example}")
        out.append(byte)
        groups = match.groups()
        if tag == "$instant":
            try:
                when = datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
            except ValueError:
                raise self._wrong(tag, "there is no such time") from None
            span = when - datetime(1970, 1, 1, tzinfo=UTC)
            self._long(span.days * 86400 + span.seconds)
            self._nanos(_nanos_of(match[2]), tag)
            return
        if tag != "$localtime":
            year, month, day = (int(group) for group in groups[:3])
            if not -0x8000 <= year <= 0x7FFF or not 1 <= month <= 12 or not 1 <= day <= 31:
                raise self._wrong(tag, "there is no such day")
            out.write(year.to_bytes(2, signed=True))
            out.append(month)
            out.append(day)
            groups = groups[3:]
        if tag == "$localdate":
            return
        hours, minutes, seconds = (int(group) for group in groups[:3])
        if hours > 23 or minutes > 59 or seconds > 59:
            raise self._wrong(tag, "there is no such time of day")
        out.append(hours)
        out.append(minutes)
        out.append(seconds)
        self._nanos(_nanos_of(groups[3]), tag)
        if tag == "$zoned":
            self.write_text(groups[4])

    def _nanos(self, nanos: int, tag: str) -> None:
        if not 0 <= nanos <= 999_999_999:
            raise self._wrong(tag, f"{nanos} nanoseconds are not part of a second")
        self.write_int(nanos)


def _nanos_of(fraction: str | None) -> int:
    return int(fraction.ljust(9, "0")) if fraction else 0


def _flat(members: dict[str, Json]) -> list[Json]:
    """Keys and values in turn."""
    items: list[Json] = []
    for key, value in members.items():
        items.append(key)
        items.append(value)
    return items


def _is_whole_int(data: bytes, at: int) -> bool:
    """Whether the bytes from a position on are one int."""
    if at >= len(data) or v.INT_5 < data[at] < 0xF0:
        return False
    byte = data[at]
    size = 1 if byte >= 0xF0 or byte < 0x30 else 2 if byte < 0x40 else 3 if byte < v.INT_5 else 5
    return len(data) - at == size


_END: Final = bytes([v.MAP_END])
_CONTAINER_MEMBERS: Final = ("$type", "$id", "$wire")
_MOMENTS: Final[dict[str, tuple[re.Pattern[str], int, str]]] = {
    "$localtime": (_TIME, v.TIME, "23:59:58.5"),
    "$localdate": (_DATE, v.DATE, "2026-11-28"),
    "$localdatetime": (_DATE_TIME, v.DATE_TIME, "2026-11-28T23:59:58.5"),
    "$zoned": (_ZONED, v.ZONED, "2026-11-28T23:59:58.5[Europe/Berlin]"),
    "$instant": (_INSTANT, v.INSTANT, "2026-11-28T23:59:58.5Z"),
}
_TAGS: Final = (
    "$list",
    "$map",
    "$value",
    "$int",
    "$long",
    "$int16",
    "$int8",
    "$double",
    "$float32",
    "$string",
    "$bytes",
    "$date",
    "$ref",
    "$symbol",
    "$text_symbol",
    "$char",
    "$bigint",
    "$decimal",
    *_MOMENTS,
)
