"""ESNP's numbers and names: types of entries, addresses, flags, kinds, types of a Var; members in JSON."""

from typing import Final

from wirelens.codecs import tape as t

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
HEADER_LINES: Final = frozenset(
    (MESSAGE_ID, SOURCE_MESSAGE_ID, ADDRESS, SOURCE_ADDRESS, SEQ_NO, ERROR, FLAG, VERSION)
)
BODY_LINES: Final = frozenset((SESSION_INFO, HEADER, DATA, PAYLOAD, XDATA))

ADDRESSES: Final[dict[int, str]] = {50: "GROUP", 40: "HOST", 30: "SERVICE", 20: "OP", 10: "OBJECT"}
FRAME_FLAGS: Final[dict[int, str]] = {
    1: "TRACE",
    2: "TRACE_INFO",
    3: "RESP",
    4: "REQUEST",
    5: "INFO",
    6: "EVENT",
}
LINE_FLAGS: Final[dict[int, str]] = {**FRAME_FLAGS, 7: "ASYNC"}
KINDS: Final[dict[int, str]] = {0: "UNKNOW", 1: "REQUEST", 2: "RESPONSE", 3: "INFO", 4: "EVENT"}

# Var: type numbers of the value that follows the tag byte.
VAR_KINDS: Final[dict[int, int]] = {
    0: t.NULL,
    1: t.BOOL,
    2: t.VAR_INT,
    3: t.INT8,
    4: t.INT16,
    5: t.INT32,
    6: t.INT64,
    7: t.VAR_UINT,
    8: t.UINT8,
    9: t.UINT16,
    10: t.UINT32,
    11: t.UINT64,
    13: t.FLOAT32,
    14: t.DOUBLE,
    17: t.BYTES,
    21: t.MAP,
    23: t.LIST,
    24: t.STRING,
}
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
MAX_SIZE: Final = 0xFFFFFF

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
