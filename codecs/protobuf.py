"""Protobuf messages: bytes to nodes of a tape, JSON to bytes, with the members that a protocol knows by name.

Source: the Protocol Buffers encoding. Read here rather than by a library, because overlong varints and the
order of fields have to survive.

As JSON a message has its known fields under their names, and under `unknown` the fields after them:
{"field": number, "type": wire type, "value"}. Where known fields are repeated, out of order or follow
unknown ones, all fields stand in order under `fields`. Every `$wire` here: with a field whose varints are
not the shortest, {member: the hex of the whole field, key included}; in `unknown` and `fields` the member is
`value`.
"""

from typing import Final

from librt.strings import BytesWriter, read_i32_le, read_i64_le
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.json_input import Path, array_of, hex_bytes, number_of, object_of, one_of
from wirelens.codecs.node import Json, Node, field, hint
from wirelens.codecs.schema import WIRE, Schema, hexadecimal, integer, other, word
from wirelens.codecs.tape import Buffer, Tape

# Wire types.
VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5
WIRE_TYPES: Final[dict[int, str]] = {VARINT: "varint", FIXED64: "fixed64", BYTES: "bytes", FIXED32: "fixed32"}
_WIRE_NUMBERS: Final[dict[str, int]] = {name: number for number, name in WIRE_TYPES.items()}

HIGHEST_FIELD: Final = (1 << 29) - 1


class Member:
    """A field that a protocol knows: its name, wire type, `node.field` number, and whether it is signed."""

    def __init__(self, name: str, wire_type: i64, member: i64, signed: bool = False) -> None:
        self.name: Final = name
        self.wire_type: Final[i64] = wire_type
        self.field: Final[i64] = member
        self.signed: Final = signed


def _whole_field(node: Node) -> Json:
    """`$wire` of a field with an overlong varint: the bytes of the field, its key included."""
    return node.raw.hex()


OVERLONG: Final = hint(_whole_field)

_UNKNOWN: Final[i64] = t.head(t.ARRAY, field("unknown"))
_FIELDS: Final[i64] = t.head(t.ARRAY, field("fields"))
_ITEM: Final[i64] = t.head(t.STRUCT)
_NUMBER: Final[i64] = t.head(t.INTEGER, field("field"))
_WIRE_TYPE: Final[i64] = t.head(t.NAMED, field("type", WIRE_TYPES))
_VALUE: Final = field("value")


@mypyc_attr(acyclic=True)
class ProtobufField:
    """One field of a message: its span, key and value."""

    def __init__(self, start: i64, end: i64, number: i64, wire_type: i64, value: i64, overlong: bool) -> None:
        self.start: Final[i64] = start
        self.end: Final[i64] = end
        self.number: Final[i64] = number
        self.wire_type: Final[i64] = wire_type
        self.value: Final[i64] = value  # a number, or where bytes start
        self.overlong: Final = overlong


def read_fields(cursor: Cursor) -> list[ProtobufField]:
    """The fields of the message that fills the cursor's range. Raises DecodeError."""
    fields: list[ProtobufField] = []
    data = cursor.data
    while cursor.pos < cursor.end:
        start = cursor.pos
        key = cursor.varint("the key of a field")
        overlong = cursor.pos - start > 1 and data[cursor.pos - 1] == 0
        number = key >> 3
        wire_type = key & 7
        if number < 1 or number > HIGHEST_FIELD:
            raise cursor.error("bad-value", start, f"{number} is not a field number")
        value: i64 = 0
        at = cursor.pos
        if wire_type == VARINT:
            value = cursor.varint("a varint")
            overlong = overlong or (cursor.pos - at > 1 and data[cursor.pos - 1] == 0)
        elif wire_type == BYTES:
            size = cursor.varint("a length")
            overlong = overlong or (cursor.pos - at > 1 and data[cursor.pos - 1] == 0)
            if size < 0 or size > cursor.left():
                raise cursor.error(
                    "bad-length", at, f"bytes of length {size} do not fit in the {cursor.left()} left"
                )
            value = cursor.skip(size, "bytes")
        elif wire_type == FIXED64:
            cursor.skip(8, "a 64-bit number")
            value = read_i64_le(data, at)
        elif wire_type == FIXED32:
            cursor.skip(4, "a 32-bit number")
            value = i64(read_i32_le(data, at)) & 0xFFFFFFFF
        else:
            raise cursor.error("unknown-type", start, f"{wire_type} is not a wire type")
        fields.append(ProtobufField(start, cursor.pos, number, wire_type, value, overlong))
    return fields


def read_message(cursor: Cursor, tape: Tape, members: dict[int, Member]) -> None:
    """Write the message that fills the cursor's range: its known fields by name, or all fields in order.

    Raises DecodeError before anything is written.
    """
    start = cursor.pos
    fields = read_fields(cursor)
    end = cursor.end
    last: i64 = 0
    unknown = False
    plain = True
    for item in fields:
        member = members.get(int(item.number))
        if member is not None and member.wire_type == item.wire_type:
            if unknown or item.number <= last:
                plain = False
            last = item.number
        else:
            unknown = True
    array: i64 = -1
    if not plain:
        array = tape.open(_FIELDS, start, 0)
    for item in fields:
        if plain:
            member = members.get(int(item.number))
            if member is not None and member.wire_type == item.wire_type:
                _write_leaf(tape, item, member.field, member.signed)
                continue
            if array < 0:
                array = tape.open(_UNKNOWN, item.start, 0)
        node = tape.open(_ITEM, item.start, 0)
        tape.leaf(_NUMBER, item.start, item.start, item.number)
        tape.leaf(_WIRE_TYPE, item.start, item.start, item.wire_type)
        _write_leaf(tape, item, _VALUE, False)
        tape.close(node, item.end)
    if array >= 0:
        tape.close(array, end)


def _write_leaf(tape: Tape, item: ProtobufField, member: i64, signed: bool) -> None:
    """Write a field's value."""
    kind: i64 = t.UNSIGNED
    if item.wire_type == BYTES:
        kind = t.HEX
    elif signed:
        kind = t.INTEGER
    tape.leaf(t.head(kind, member, OVERLONG if item.overlong else 0), item.start, item.end, item.value)


def schema_of(title: str, members: dict[int, Member]) -> Schema:
    """What a message with these members has in JSON; `title` names it."""
    fields = []
    for member in members.values():
        if member.wire_type == BYTES:
            fields.append(hexadecimal(member.name))
        else:
            fields.append(integer(member.name, *_limits(int(member.wire_type), member.signed)))
    unknown = other("unknown", "an array of other fields", [])
    return Schema(title, *fields, unknown, WIRE)


FIELDS: Final = Schema(
    "body of protobuf whose fields are out of order", other("fields", "an array of all fields")
)
FIELD: Final = Schema(
    "field of protobuf",
    integer("field", 1, HIGHEST_FIELD, "its number", needed=True),
    word("type", tuple(_WIRE_NUMBERS), needed=True),
    other("value", "an integer, or hex", needed=True),
    WIRE,
)


def message_bytes(body: dict[str, Json], members: dict[int, Member], schema: Schema, path: str) -> bytes:
    """The bytes of a message in JSON: named fields, then unknown ones; or all fields in order.

    `schema` is that of the members (`schema_of`). Raises EncodeError with the place below `path`.
    """
    out = BytesWriter()
    if "fields" in body:
        FIELDS.members_of(body, path, "")
        _encode_fields(body["fields"], Path(None, f"{path}.fields"), out)
        return out.getvalue()
    schema.members_of(body, path, "")
    wire = object_of(body.get("$wire", {}), f"{path}.$wire", "fields with the hex of their bytes")
    for number, member in members.items():
        name = member.name
        if name in body:
            place = Path(None, f"{path}.{name}")
            _encode_field(number, member.wire_type, body[name], wire.get(name), place, member.signed, out)
    if "unknown" in body:
        _encode_fields(body["unknown"], Path(None, f"{path}.unknown"), out)
    return out.getvalue()


def _encode_fields(items: Json, place: Path, out: BytesWriter) -> None:
    """Write the fields of an array."""
    for position, item in enumerate(array_of(items, place, "fields")):
        here = Path(place, f"[{position}]")
        members = FIELD.members_of(item, here, "a field")
        FIELD.require(members, here, "a field")
        number = number_of(members["field"], {}, Path(here, ".field"), 1, HIGHEST_FIELD)
        name_of_type = one_of(members["type"], _WIRE_NUMBERS, Path(here, ".type"))
        wire = object_of(members.get("$wire", {}), Path(here, ".$wire"), '"value" with the hex of the field')
        value = Path(here, ".value")
        wire_type = _WIRE_NUMBERS[name_of_type]
        _encode_field(number, wire_type, members["value"], wire.get("value"), value, False, out)


def _encode_field(
    number: int, wire_type: int, value: Json, wire: Json, place: Path, signed: bool, out: BytesWriter
) -> None:
    """Write one field; by the bytes of `wire` if these mean the same."""
    content = b""
    if wire_type == BYTES:
        content = hex_bytes(value, place)
        amount = len(content)
    else:
        bits = 32 if wire_type == FIXED32 else 64
        low, high = _limits(wire_type, signed)
        amount = number_of(value, {}, place, low, high) & ((1 << bits) - 1)
    if wire is not None:
        raw = hex_bytes(wire, place)
        if not _same_field(raw, number, wire_type, content, amount):
            raise place.error("its $wire is not the bytes of this field with this value")
        out.write(raw)
        return
    _write_varint(out, number << 3 | wire_type)
    if wire_type == VARINT:
        _write_varint(out, amount)
    elif wire_type == BYTES:
        _write_varint(out, amount)
        out.write(content)
    else:
        out.write(amount.to_bytes(8 if wire_type == FIXED64 else 4, "little"))


def _limits(wire_type: int, signed: bool) -> tuple[int, int]:
    """The smallest and the largest integer of a field."""
    bits = 32 if wire_type == FIXED32 else 64
    return (-1 << 63, (1 << 63) - 1) if signed else (0, (1 << bits) - 1)


def _same_field(raw: bytes, number: int, wire_type: int, content: bytes, amount: int) -> bool:
    """Whether bytes are exactly one field with this key and value."""
    try:
        fields = read_fields(Cursor(Buffer(raw), 0, len(raw)))
    except DecodeError:
        return False
    if len(fields) != 1 or fields[0].number != number or fields[0].wire_type != wire_type:
        return False
    value = fields[0].value
    return raw[value:] == content if wire_type == BYTES else int(value) & 0xFFFFFFFFFFFFFFFF == amount


def _write_varint(out: BytesWriter, number: int) -> None:
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
