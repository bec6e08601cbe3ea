"""JSON of protobuf messages to bytes; protobuf.py reads them, and has the notation."""

from typing import Final

from librt.strings import BytesWriter

from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.json_input import Path, array_of, hex_bytes, number_of, object_of, one_of
from wirelens.codecs.node import Json
from wirelens.codecs.protobuf import (
    BYTES,
    FIXED32,
    FIXED64,
    HIGHEST_FIELD,
    VARINT,
    WIRE_TYPES,
    Member,
    read_fields,
)
from wirelens.codecs.schema import WIRE, Schema, hexadecimal, integer, other, word
from wirelens.codecs.tape import Buffer

_WIRE_NUMBERS: Final[dict[str, int]] = {name: number for number, name in WIRE_TYPES.items()}


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
