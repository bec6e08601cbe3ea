"""HTTP/2's numbers and names: types of frames, flags, settings, error codes; the nodes of a frame.

All values of `$wire`:

| where | `$wire` | meaning |
|---|---|---|
| frame | `{"reserved": true}` | the reserved bit before the number of the stream is set |
| frame | `{"reserved_payload": true}` | the one before a stream or an increment in the payload is |
"""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.node import Json, Node, field, hint

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD: Final = 9  # bytes of a frame before its payload
MAX_LENGTH: Final = (1 << 24) - 1
MAX_OTHER: Final = 1 << 14  # bytes of a frame of an unknown type
LAST_STREAM: Final = (1 << 31) - 1

# Types.
DATA: Final = 0
HEADERS: Final = 1
PRIORITY: Final = 2
RST_STREAM: Final = 3
SETTINGS: Final = 4
PUSH_PROMISE: Final = 5
PING: Final = 6
GOAWAY: Final = 7
WINDOW_UPDATE: Final = 8
CONTINUATION: Final = 9
TYPES: Final[dict[int, str]] = {
    DATA: "DATA",
    HEADERS: "HEADERS",
    PRIORITY: "PRIORITY",
    RST_STREAM: "RST_STREAM",
    SETTINGS: "SETTINGS",
    PUSH_PROMISE: "PUSH_PROMISE",
    PING: "PING",
    GOAWAY: "GOAWAY",
    WINDOW_UPDATE: "WINDOW_UPDATE",
    CONTINUATION: "CONTINUATION",
    0x0A: "ALTSVC",
    0x0C: "ORIGIN",
    0x10: "PRIORITY_UPDATE",
}
OF_STREAMS: Final = (DATA, HEADERS, PRIORITY, RST_STREAM, PUSH_PROMISE, CONTINUATION)
OF_CONNECTIONS: Final = (SETTINGS, PING, GOAWAY)

# Flags.
END_STREAM: Final = 1
ACK: Final = 1
END_HEADERS: Final = 4
PADDED: Final = 8
HAS_PRIORITY: Final = 32
FLAGS: Final[dict[int, dict[int, str]]] = {
    DATA: {END_STREAM: "END_STREAM", PADDED: "PADDED"},
    HEADERS: {
        END_STREAM: "END_STREAM",
        END_HEADERS: "END_HEADERS",
        PADDED: "PADDED",
        HAS_PRIORITY: "PRIORITY",
    },
    PUSH_PROMISE: {END_HEADERS: "END_HEADERS", PADDED: "PADDED"},
    CONTINUATION: {END_HEADERS: "END_HEADERS"},
}
FLAG_NAMES: Final[dict[int, str]] = FLAGS[HEADERS]  # those of all types
ACKNOWLEDGED: Final = (SETTINGS, PING)  # types that have ACK, a member of its own

# Payloads of one length, by type.
LENGTHS: Final[dict[int, int]] = {PRIORITY: 5, RST_STREAM: 4, PING: 8, WINDOW_UPDATE: 4}
SETTING: Final = 6  # bytes
LEAST_GOAWAY: Final = 8
PRIORITY_SIZE: Final = 5

HEADER_TABLE_SIZE: Final = 1
SETTING_NAMES: Final[dict[int, str]] = {
    HEADER_TABLE_SIZE: "HEADER_TABLE_SIZE",
    2: "ENABLE_PUSH",
    3: "MAX_CONCURRENT_STREAMS",
    4: "INITIAL_WINDOW_SIZE",
    5: "MAX_FRAME_SIZE",
    6: "MAX_HEADER_LIST_SIZE",
    8: "ENABLE_CONNECT_PROTOCOL",
    9: "NO_RFC7540_PRIORITIES",
    0xFE03: "GRPC_ALLOW_TRUE_BINARY_METADATA",
}
NO_ERROR: Final = 0
CANCEL: Final = 8
ERRORS: Final[dict[int, str]] = {
    NO_ERROR: "NO_ERROR",
    1: "PROTOCOL_ERROR",
    2: "INTERNAL_ERROR",
    3: "FLOW_CONTROL_ERROR",
    4: "SETTINGS_TIMEOUT",
    5: "STREAM_CLOSED",
    6: "FRAME_SIZE_ERROR",
    7: "REFUSED_STREAM",
    CANCEL: "CANCEL",
    9: "COMPRESSION_ERROR",
    10: "CONNECT_ERROR",
    11: "ENHANCE_YOUR_CALM",
    12: "INADEQUATE_SECURITY",
    13: "HTTP_1_1_REQUIRED",
}


def flag_words(frame_type: int, flags: int) -> str:
    """The names of a frame's flags, joined by `|`; empty if not all have names."""
    names = FLAGS.get(frame_type, {})
    words = [name for number, name in names.items() if flags & number]
    known = sum([number for number in names if flags & number])
    return "|".join(words) if known == flags else ""


def _flags(node: Node) -> Json:
    return flag_words(int(node.tape.number_of(0, TYPE)), node.number) or node.number


# Parts that a frame has in unusual forms.
RESERVED: Final = 1
RESERVED_PAYLOAD: Final = 2
FORMS: Final = (
    0,
    hint({"reserved": True}),
    hint({"reserved_payload": True}),
    hint({"reserved": True, "reserved_payload": True}),
)

ROOT: Final[i64] = t.head(t.STRUCT)
PREFACE_NODE: Final[i64] = t.head(t.BOOLEAN, field("preface"))
LENGTH: Final[i64] = t.head(t.LENGTH, field("length")) | t.HIDDEN
TYPE: Final[i64] = t.head(t.NAMED, field("type", TYPES))
ACK_NODE: Final[i64] = t.head(t.BOOLEAN, field("ack"))
FLAGS_NODE: Final[i64] = t.head(t.COMPUTED, field("flags", None, _flags))
STREAM: Final[i64] = t.head(t.INTEGER, field("stream"))
PAD_LENGTH: Final[i64] = t.head(t.LENGTH, field("pad_length")) | t.HIDDEN
EXCLUSIVE: Final[i64] = t.head(t.BOOLEAN, field("exclusive"))
DEPENDS_ON: Final[i64] = t.head(t.INTEGER, field("depends_on"))
WEIGHT: Final[i64] = t.head(t.INTEGER, field("weight"))
PROMISED: Final[i64] = t.head(t.INTEGER, field("promised_stream"))
FRAGMENT: Final[i64] = t.head(t.HEX, field("fragment"))
DATA_NODE: Final[i64] = t.head(t.HEX, field("data"))
PADDING: Final[i64] = t.head(t.HEX, field("padding"))
ERROR_CODE: Final[i64] = t.head(t.NAMED, field("error_code", ERRORS))
SETTINGS_NODE: Final[i64] = t.head(t.ARRAY, field("settings"))
SETTING_NODE: Final[i64] = t.head(t.STRUCT)
SETTING_ID: Final[i64] = t.head(t.NAMED, field("id", SETTING_NAMES))
SETTING_VALUE: Final[i64] = t.head(t.INTEGER, field("value"))
LAST_STREAM_NODE: Final[i64] = t.head(t.INTEGER, field("last_stream"))
DEBUG: Final[i64] = t.head(t.TEXT, field("debug"))
INCREMENT: Final[i64] = t.head(t.INTEGER, field("increment"))

# What is known from several frames: header fields, and the part of a frame in its call.
HEADER_FIELDS: Final[i64] = t.head(t.ARRAY, field("headers"))
PAIR: Final[i64] = t.head(t.ARRAY)
TEXT: Final[i64] = t.head(t.TEXT)
UNKNOWN_TEXT: Final[i64] = t.head(t.ABSENT)
BLOCK_FRAMES: Final[i64] = t.head(t.ARRAY, field("header_frames"))
FRAMES: Final[i64] = t.head(t.ARRAY, field("frames"))
FRAME_OFFSET: Final[i64] = t.head(t.INTEGER)
PART: Final[i64] = t.head(t.MARK, field("part")) | t.HIDDEN  # number of the frame among those of its call
ROLE: Final[i64] = t.head(t.MARK, field("role")) | t.HIDDEN  # one of the following
REQUEST: Final = 1
REPLY: Final = 2
LAST_REPLY: Final = 3
CANCELLING: Final = 4
UPGRADED: Final = 8  # added to a reply: to the request of HTTP/1.1 before
EXCEPTION: Final[i64] = t.head(t.TEXT, field("exception"))
