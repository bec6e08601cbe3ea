"""Protobuf messages: bytes to nodes of a tape, with the members that a protocol knows by name.

protobuf_encoding.py: JSON to bytes.

Source: the Protocol Buffers encoding. Read here rather than by a library, because overlong varints and the
order of fields have to survive.

As JSON a message has its known fields under their names, and under `unknown` the fields after them:
{"field": number, "type": wire type, "value"}. Where known fields are repeated, out of order or follow
unknown ones, all fields stand in order under `fields`. Every `$wire` here: with a field whose varints are
not the shortest, {member: the hex of the whole field, key included}; in `unknown` and `fields` the member is
`value`.
"""

from typing import Final

from librt.strings import read_i32_le, read_i64_le
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor
from wirelens.codecs.node import Json, Node, field, hint
from wirelens.codecs.tape import Tape

# Wire types.
VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5
WIRE_TYPES: Final[dict[int, str]] = {VARINT: "varint", FIXED64: "fixed64", BYTES: "bytes", FIXED32: "fixed32"}

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
