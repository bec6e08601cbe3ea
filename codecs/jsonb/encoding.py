"""Encoding JSONB: the notation's JSON to the bytes that fastjson2's writer sends for it."""

import re
from typing import Final

from librt.strings import BytesWriter

from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.json_input import (
    Path,
    array_of,
    did_you_mean,
    hex_bytes,
    none_of,
    wrong,
)
from wirelens.codecs.json_text import dumps, loads
from wirelens.codecs.json_writers import tree_json
from wirelens.codecs.jsonb import vocabulary as v
from wirelens.codecs.jsonb.decoding import decode_message
from wirelens.codecs.jsonb.scalar_encoding import Scalars
from wirelens.codecs.jsonb.schema import CONTAINER, EXACT, MESSAGE, VALUES
from wirelens.codecs.node import Json
from wirelens.codecs.tape import Buffer, Tape

# How the items of an open container are named in paths and written.
_ITEMS: Final = 0  # of a list
_MEMBERS: Final = 1  # keys and values of a map
_FIELDS: Final = 2  # as _MEMBERS, with the keys as names with a number
_PAIRS: Final = 3  # keys and values, each any value
_INNER: Final = 4  # the value of a typed value

_ESCAPED: Final = re.compile(r"""[/:;`.~!@#%^&*\[\]<>?()\-+=\\"'{}]""")


def encode_message(message: Json, out: BytesWriter) -> None:
    """See Codec.encode."""
    if not isinstance(message, dict) or "value" not in message:
        raise EncodeError("", 'expected a message: an object with the key "value"')
    MESSAGE.members_of(message, "", "")
    encode_value(message["value"], out, "value")


def encode_value(value: Json, out: BytesWriter, path: str) -> None:
    """Write one document; `path` is its place in the JSON. Raises EncodeError."""
    Encoder(out).write(value, Path(None, path))


class _Frame:
    """A container being written: its items, of which `next` are done."""

    def __init__(self, items: list[Json], mode: int, closer: bytes, place: Path, path: Path) -> None:
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

    def path_step(self) -> Path:
        """The path, as references have it, to the item before `next`."""
        at = self.next - 1
        if self.mode == _INNER:
            return self.path
        if self.mode == _ITEMS:
            return Path(self.path, f"[{at}]")
        key = self.items[at - at % 2]
        if isinstance(key, dict) and len(key) == 1:
            key = next(iter(key.values()))
        return Path(self.path, "." + _ESCAPED.sub(r"\\\g<0>", key if isinstance(key, str) else str(key)))


class Encoder(Scalars):
    """Writes one document."""

    def __init__(self, out: BytesWriter) -> None:
        super().__init__(out)
        self.numbers: Final[dict[str, int]] = {}  # of types and names
        self.texts: Final[dict[int, str]] = {}
        self.defined = 0
        self.frames: Final[list[_Frame]] = []
        self.labels: Final[dict[str | int, Path]] = {}  # the paths of what has a label
        self.last_path = ""  # of the reference written last
        self.path: Path | None = None  # of the container with a label that is about to be opened

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
        path = self._path() if self.path is None else self.path
        self.path = None
        self.frames.append(_Frame(items, mode, closer, self.place, path))

    def _path(self) -> Path:
        """The path of the value being written, as references have it."""
        return self.frames[-1].path_step() if self.frames else Path(None, "$")

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
                self.write_long(item)
        elif isinstance(item, list):
            self._list(item, None)
        else:
            self.write_double(item)

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
            self.write_text(self.text_under(value, tag), byte)
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
        EXACT.members_of(wire, Path(self.place, ".$wire"), "")
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
            self.write_int(self.integer_under(value, tag, 32))
        elif tag == "$long":
            self.write_long(self.integer_under(value, tag, 64))
        elif tag == "$int16":
            out.append(v.SHORT)
            out.write(self.integer_under(value, tag, 16).to_bytes(2, signed=True))
        elif tag == "$int8":
            out.append(v.BYTE)
            out.write(self.integer_under(value, tag, 8).to_bytes(1, signed=True))
        elif tag == "$double":
            self.write_double(self.number_under(value, tag))
        elif tag == "$float32":
            self.write_float(self.number_under(value, tag))
        elif tag == "$string":
            self.write_text(self.text_under(value, tag))
        elif tag == "$bytes":
            data = hex_bytes(value, Path(self.place, ".$bytes"))
            out.append(v.BINARY)
            self.write_int(len(data))
            out.write(data)
        elif tag == "$date":
            self.write_date(value)
        elif tag == "$ref":
            self._reference(value)
        elif tag == "$symbol":
            self._symbol(v.SYMBOL, value)
        elif tag == "$text_symbol":
            number = self.integer_under(value, tag, 32)
            if number >= 0:
                raise self.wrong_under(tag, "expected a negative index")
            out.append(v.LATIN1)
            self.write_int(number)
        elif tag == "$char":
            text = self.text_under(value, tag)
            if len(text) != 1 or ord(text) > 0xFFFF:
                raise self.wrong_under(tag, "expected one UTF-16 unit")
            out.append(v.CHAR)
            self.write_int(ord(text))
        elif tag == "$bigint":
            self.write_big(self.big_under(value, tag), v.BIG_LONG)
        elif tag == "$decimal":
            self.write_decimal(value)
        else:
            self.write_moment(tag, value)

    # --- containers -------------------------------------------------------------------------------------

    def _label(self, item: dict[str, Json]) -> None:
        """Keep the path of a container with a label."""
        if "$id" in item:
            label = item["$id"]
            if isinstance(label, bool) or not isinstance(label, (int, str)):
                raise wrong(self.place, "expected a label: text or a number", ".$id")
            if label in self.labels:
                raise wrong(self.place, f"the label {label!r} is given twice in one document", ".$id")
            self.path = self._path()
            self.labels[label] = self.path

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
                        f"{key} is not a member of an object; such a name needs $fields{near}"
                    )
                items.append(key)
                items.append(value)
        self._open(items, _FIELDS, _END)

    def _container_wire(self, wire: Json) -> dict[str, Json]:
        if wire is None:
            return {}
        if not isinstance(wire, dict):
            raise wrong(self.place, "expected an object", ".$wire")
        CONTAINER.members_of(wire, Path(self.place, ".$wire"), "")
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
            name = tape.following(tape.following(0))  # the text in the symbol in the root
            number_at = int(tape.end(name) - 1 + at)
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
        if isinstance(target, bool) or not isinstance(target, (int, str)):
            raise self.wrong_under("$ref", "expected a path, or a label: text or a number")
        label = None if isinstance(target, str) and target[:1] in ("$", ".", "#") else self.labels.get(target)
        if label is None:
            if not isinstance(target, str):
                raise self.wrong_under("$ref", f"no $id before it has the label {target!r}")
            path = target
        elif label is self._holder():
            path = self.last_path = ".."
        else:
            path = label.text()
            if path == self.last_path:
                path = "#-1"
            else:
                self.last_path = path
        self.out.append(v.REFERENCE)
        self.write_text(path)

    def _holder(self) -> Path | None:
        """The path of the container that holds the value being written."""
        for frame in reversed(self.frames):
            if frame.mode != _INNER:
                return frame.path
        return None


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
_TAGS: Final = tuple([tag for tag in VALUES if tag != "$class"])
