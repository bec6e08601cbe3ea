"""ESNP's numbers and names: types of entries, addresses, flags, kinds, types of a Var; members in JSON.

Every `$wire` of ESNP:

| value | `$wire` |
|---|---|
| a varint, or text or bytes with a length, that is not the shortest | the number of bytes of the varint |
| an integer outside the limits of its type | "wide"; {"wide": bytes} if it is not the shortest either |
| a Bool that is true by another byte than 1 | the byte |
| a NaN other than the usual one | its bits, as hex digits |

A plain member's `$wire` stands in its entry, as {member: bytes of the varint, or "wide"}.
"""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.node import Json, Node, field, hint

END: Final = 0x00
SESSION_INFO: Final = 0x10
MESSAGE_ID: Final = 0x11
SOURCE_MESSAGE_ID: Final = 0x12
MESSAGE_KIND: Final = 0x13
HEADER: Final = 0x14
DATA: Final = 0x15
PAYLOAD: Final = 0x16
ADDRESS: Final = 0x17
SOURCE_ADDRESS: Final = 0x18
TRACE: Final = 0x19
TRACE_RESP: Final = 0x1A
SEQ_NO: Final = 0x1B
XDATA: Final = 0x1C
ERROR: Final = 0x1D
FLAG: Final = 0x1E
VERSION: Final = 0x1F

TYPES: Final[dict[int, str]] = {
    END: "END",
    SESSION_INFO: "SESSION_INFO",
    MESSAGE_ID: "MESSAGE_ID",
    SOURCE_MESSAGE_ID: "SOURCE_MESSAGE_ID",
    MESSAGE_KIND: "MESSAGE_KIND",
    HEADER: "HEADER",
    DATA: "DATA",
    PAYLOAD: "PAYLOAD",
    ADDRESS: "ADDRESS",
    SOURCE_ADDRESS: "SOURCE_ADDRESS",
    TRACE: "TRACE",
    TRACE_RESP: "TRACE_RESP",
    SEQ_NO: "SEQ_NO",
    XDATA: "XDATA",
    ERROR: "ERROR",
    FLAG: "FLAG",
    VERSION: "VERSION",
}
# "Header line" and "body line" in the line text; the frame text has no such order.
HEADER_LINE: Final = 1
BODY_LINE: Final = 2
_HEADER_LINES: Final = (MESSAGE_ID, SOURCE_MESSAGE_ID, ADDRESS, SOURCE_ADDRESS, SEQ_NO, ERROR, FLAG, VERSION)
_BODY_LINES: Final = (SESSION_INFO, HEADER, DATA, PAYLOAD, XDATA)
# Of each type: whether it is one of these, or neither (0).
PARTS: Final = bytes(
    HEADER_LINE if kind in _HEADER_LINES else BODY_LINE if kind in _BODY_LINES else 0 for kind in range(256)
)

ADDRESSES: Final[dict[int, str]] = {50: "GROUP", 40: "HOST", 30: "SERVICE", 20: "OP", 10: "OBJECT"}
LATER_ADDRESSES: Final[dict[int, str]] = {35: "NODE"}  # of deployed code, in neither text
CLOSE_CHANNEL: Final = 0x09  # of deployed code of the frame era, in the range that the texts reserve
FIRST_UNDEFINED: Final = 0x20  # of the types of entries
FIRST_APPLICATION: Final = 0x80  # of the types of entries, and of flags: the application's own
FRAME_FLAGS: Final[dict[int, str]] = {
    1: "TRACE",
    2: "TRACE_INFO",
    3: "RESP",
    4: "REQUEST",
    5: "INFO",
    6: "EVENT",
}
TRACE_FLAGS: Final = (1, 2)  # they accompany the flag that determines a message's part in a conversation
LINE_FLAGS: Final[dict[int, str]] = {**FRAME_FLAGS, 7: "ASYNC"}
KINDS: Final[dict[int, str]] = {
    0: "UNKNOW",
    1: "REQUEST",
    2: "RESPONSE",
    3: "INFO",
    4: "EVENT",
}
LATER_KINDS: Final[dict[int, str]] = {5: "INFO_RESPONSE"}  # of later code; the texts do not give its number

# Var: the kind of the integer that follows each tag byte, where that is a varint.
_VARINT_KINDS: Final[dict[int, int]] = {
    2: t.VAR_INT,
    4: t.INT16,
    5: t.INT32,
    6: t.INT64,
    7: t.VAR_UINT,
    9: t.UINT16,
    10: t.UINT32,
    11: t.UINT64,
}
VARINT_KINDS: Final = bytes(_VARINT_KINDS.get(tag, 0) for tag in range(12))
VAR_TAGS: Final[dict[str, int]] = {
    "$null": 0,
    "$bool": 1,
    "$int": 2,
    "$int8": 3,
    "$int16": 4,
    "$int32": 5,
    "$int64": 6,
    "$uint": 7,
    "$uint8": 8,
    "$uint16": 9,
    "$uint32": 10,
    "$uint64": 11,
    "$float32": 13,
    "$double": 14,
    "$bytes": 17,
    "$map": 21,
    "$list": 23,
    "$string": 24,
    "$raw": 24,
}
MAX_SIZE: Final = 0xFFFFFF  # bytes of a body: a size has 24 bits

# Members of an entry in the JSON notation, in the order of the wire.
MEMBERS: Final[dict[int, tuple[str, ...]]] = {
    END: (),
    SESSION_INFO: ("name", "value"),
    HEADER: ("name", "value"),
    DATA: ("name", "value"),
    MESSAGE_ID: ("value",),
    SOURCE_MESSAGE_ID: ("value",),
    MESSAGE_KIND: ("kind",),
    PAYLOAD: ("data",),
    ADDRESS: ("address", "value"),
    SOURCE_ADDRESS: ("address", "value"),
    TRACE: (),
    TRACE_RESP: (),
    SEQ_NO: ("current", "last"),
    XDATA: ("id", "value", "data"),
    ERROR: ("text",),
    FLAG: ("flag",),
    VERSION: ("version",),
}


def _varint_bytes(node: Node) -> Json:
    """`$wire` of an overlong varint: how many bytes it takes."""
    kind = node.kind
    start = node.tape.start(node.index)
    data = node.buffer.data
    if kind >= t.NULL and not (kind == t.STRING and node.form == KEY_VARINT):
        start += 1  # the tag
    at = start
    while data[at] >= 0x80:
        at += 1
    return int(at + 1 - start)


def _wide(node: Node) -> Json:
    """`$wire` of an integer outside its type's limits: "wide", and the bytes of an overlong varint."""
    size = _varint_bytes(node)
    overlong = size != 1 and node.raw[-1] == 0
    return {"wide": size} if overlong else "wide"


def _bool_byte(node: Node) -> Json:
    """`$wire` of a true that is not 1: the byte."""
    return node.raw[-1]


def _version(node: Node) -> Json:
    """Four bytes as "1.2.3.4"."""
    return ".".join(str(byte) for byte in node.raw)


# Wire forms other than the usual ones.
VARINT: Final = hint(_varint_bytes)
KEY_VARINT: Final = hint(_varint_bytes)
WIDE: Final = hint(_wide)
TRUE_BYTE: Final = hint(_bool_byte)

# HEAD words of the nodes.
VALUE_FIELD: Final[i64] = field("value")
ID_HEAD: Final[i64] = t.head(t.UNSIGNED, VALUE_FIELD)
NAME_HEAD: Final[i64] = t.head(t.TEXT, field("name"))
VALUE_TEXT_HEAD: Final[i64] = t.head(t.TEXT, VALUE_FIELD)
DATA_HEAD: Final[i64] = t.head(t.HEX, field("data"))
EXTRA_HEAD: Final[i64] = t.head(t.HEX, field("extra"))
FAULT_HEAD: Final[i64] = t.head(t.FAULT, field("error"))
ADDRESS_HEAD: Final[i64] = t.head(t.NAMED, field("address", ADDRESSES))
CURRENT_HEAD: Final[i64] = t.head(t.INTEGER, field("current"))
LAST_HEAD: Final[i64] = t.head(t.INTEGER, field("last"))
XDATA_ID_HEAD: Final[i64] = t.head(t.INTEGER, field("id"))
TEXT_HEAD: Final[i64] = t.head(t.TEXT, field("text"))
LINE_FLAG_HEAD: Final[i64] = t.head(t.NAMED, field("flag", LINE_FLAGS))
FRAME_FLAG_HEAD: Final[i64] = t.head(t.NAMED, field("flag", FRAME_FLAGS))
KIND_HEAD: Final[i64] = t.head(t.NAMED, field("kind", KINDS))
VERSION_HEAD: Final[i64] = t.head(t.COMPUTED, field("version", None, _version))
TYPE_HEAD: Final[i64] = t.head(t.NAMED, field("type", TYPES))
SIZE_HEAD: Final[i64] = t.head(t.LENGTH, field("size")) | t.HIDDEN
ENTRY_HEAD: Final[i64] = t.head(t.STRUCT)
MESSAGE_HEAD: Final[i64] = t.head(t.STRUCT)
LINES_HEAD: Final[i64] = t.head(t.ARRAY, field("lines"))
FRAMES_HEAD: Final[i64] = t.head(t.ARRAY, field("frames"))
COUNTS_HEAD: Final[i64] = t.head(t.NAMED, field("counts", {1: "unsigned"}))
