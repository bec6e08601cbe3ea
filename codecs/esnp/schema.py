"""The members of ESNP's messages in JSON, in lines and in frames, and the tags of its values."""

from typing import Final

from wirelens.codecs.esnp import vocabulary as v
from wirelens.codecs.node import Json
from wirelens.codecs.schema import WIRE, Member, Notation, Schema, hexadecimal, integer, other, text, word

# What the texts write before the names of types of entries, flags, addresses and kinds.
TYPE_PREFIX: Final = "MT_"
_FLAG_PREFIX: Final = "FLAG_"
_ADDRESS_PREFIX: Final = "ADDRESS_"
_KIND_PREFIX: Final = "MK_"

TYPES: Final = {**v.TYPES, v.CLOSE_CHANNEL: "CLOSE_CHANNEL"}
_KINDS: Final = {**v.KINDS, **v.LATER_KINDS}
_ADDRESSES: Final = {**v.ADDRESSES, **v.LATER_ADDRESSES}
_LOW: Final = -1 << 31
_HIGH: Final = (1 << 31) - 1

_COUNTS: Final = word("counts", ("zigzag", "unsigned"), "how Maps and Lists have their counts", "zigzag")
LINES: Final = Schema("message", other("lines", "an array of entries", needed=True), _COUNTS)
FRAMES: Final = Schema("message", other("frames", "an array of entries", needed=True), _COUNTS)

_TYPE: Final = integer("type", 0, 255, needed=True, names=TYPES, prefixes=(TYPE_PREFIX,))
_DATA: Final = hexadecimal("data", "the bytes of the entry's body", needed=True)
_REST: Final = (
    hexadecimal("extra", "bytes after the members"),
    other("error", "why the body did not decode; not encoded"),
    WIRE,
)


def _member(kind: int, name: str, flags: dict[int, str]) -> Member:
    """The member of an entry of type `kind`."""
    if name == "data":
        return _DATA if kind != v.XDATA else hexadecimal("data", "bytes, in place of value")
    if name == "flag":
        return integer(name, _LOW, _HIGH, needed=True, names=flags, prefixes=(_FLAG_PREFIX,))
    if name == "address":
        return integer(name, _LOW, _HIGH, needed=True, names=_ADDRESSES, prefixes=(_ADDRESS_PREFIX,))
    if name == "kind":
        return integer(name, 0, 255, needed=True, names=_KINDS, prefixes=(_KIND_PREFIX,))
    if name in ("current", "last", "id"):
        return integer(name, _LOW, _HIGH, needed=True)
    if name == "version":
        return other(name, 'text of four numbers: "1.2.3.4"', needed=True)
    if name in ("name", "text") or kind in (v.ADDRESS, v.SOURCE_ADDRESS):
        return text(name, needed=True)
    if kind in (v.MESSAGE_ID, v.SOURCE_MESSAGE_ID):
        return integer(name, 0, (1 << 64) - 1, needed=True)
    return other(name, "a value", needed=kind != v.XDATA)


def _entries(flags: dict[int, str]) -> dict[int, Schema]:
    """The entries by type, of the text that has these flags."""
    return {
        kind: Schema(f"entry {v.TYPES[kind]}", _TYPE, *[_member(kind, name, flags) for name in names], *_REST)
        for kind, names in v.MEMBERS.items()
    }


ENTRIES: Final = _entries(v.LINE_FLAGS)
FRAME_ENTRIES: Final = _entries(v.FRAME_FLAGS)
FORMS: Final[dict[tuple[str, ...], Schema]] = {  # the $wire of entries, by members
    names: Schema(
        f"$wire of an entry with {' and '.join(names)}" if names else "$wire of other entries",
        *[other(name, 'the bytes of its varint; "wide": beyond its limits') for name in names],
    )
    for names in ((), ("flag",), ("address", "value"), ("current", "last"), ("id",), ("name",))
}
WIDE: Final = Schema("$wire of an integer beyond its limits", other("wide", "the bytes of its varint"))
RAW_ENTRY: Final = Schema("entry of another type, or one that is not decoded", _TYPE, _DATA, *_REST)

VALUES: Final[dict[str, str]] = {
    "$null": "null",
    "$bool": "true or false",
    "$int": "a varint, an integer of 32 bits",
    "$int8": "an integer of 8 bits",
    "$int16": "an integer of 16 bits",
    "$int32": "an integer of 32 bits",
    "$int64": "an integer of 64 bits",
    "$uint": "a varint, an integer of 32 bits from 0 on",
    "$uint8": "0 … 255",
    "$uint16": "an integer of 16 bits from 0 on",
    "$uint32": "an integer of 32 bits from 0 on",
    "$uint64": "an integer of 64 bits from 0 on",
    "$float32": 'a number of 32 bits, "NaN", "Infinity" or "-Infinity"',
    "$double": "a number of 64 bits, likewise",
    "$bytes": "hex: bytes",
    "$map": "an object, or an array of pairs [key, value]",
    "$list": "an array of values",
    "$string": "text",
    "$raw": "hex: a string whose bytes are not text",
}


def _examples(member: str) -> dict[str, Json]:
    request: list[Json] = [
        {"type": "MESSAGE_ID", "value": 7},
        {"type": "FLAG", "flag": "REQUEST"},
        {"type": "ADDRESS", "address": "SERVICE", "value": "test"},
        {"type": "ADDRESS", "address": "OP", "value": "add"},
        {"type": "DATA", "name": "a", "value": 1},
        {"type": "DATA", "name": "b", "value": {"$int64": 2}},
    ]
    response: list[Json] = [
        {"type": "SOURCE_MESSAGE_ID", "value": 7},
        {"type": "FLAG", "flag": "RESP"},
        {"type": "DATA", "name": "c", "value": 3},
    ]
    error: list[Json] = [*response[:2], {"type": "ERROR", "text": "no such service"}]
    return {"request": {member: request}, "response": {member: response}, "error": {member: error}}


_OTHERS: Final = (RAW_ENTRY, *FORMS.values(), WIDE)
SCHEMAS: Final = {
    "esnp-line": Notation((LINES, *ENTRIES.values(), *_OTHERS), _examples("lines"), VALUES),
    "esnp-frame": Notation((FRAMES, *FRAME_ENTRIES.values(), *_OTHERS), _examples("frames"), VALUES),
}
