"""Bolt's numbers, names and defaults, and the parts of its frames.

All values of `$wire`:

| where | `$wire` | meaning |
|---|---|---|
| message | `{"protocol_version": n}` | v2: the second byte, if it is not 2 with a checksum and 1 without |
| message | `{"class": "absent"}` | no class before content in Hessian, although nearly every frame has one |
| message | `{"crc": "wrong"}` | the checksum is not that of the bytes: it is written as given |
"""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.node import Json, Node, field, hint

MAX_CONTENT: Final = (1 << 28) - (1 << 18)  # bytes
HEADER_SIZE: Final = 20  # bytes of a response's header in version 1,
REQUEST_SIZE: Final = 22  # and of a request's; version 2 has two more

RESPONSE: Final = 0
REQUEST: Final = 1
ONEWAY: Final = 2
TYPES: Final[dict[int, str]] = {RESPONSE: "response", REQUEST: "request", ONEWAY: "oneway"}
HEARTBEAT: Final = 0
REQUEST_COMMAND: Final = 1
RESPONSE_COMMAND: Final = 2
COMMANDS: Final[dict[int, str]] = {
    HEARTBEAT: "heartbeat",
    REQUEST_COMMAND: "request",
    RESPONSE_COMMAND: "response",
}
HESSIAN: Final = 1
JSON_TEXT: Final = 12
CODEC_NAMES: Final[dict[int, str]] = {HESSIAN: "hessian", 11: "protobuf", JSON_TEXT: "json"}
STATUSES: Final[dict[int, str]] = {
    0: "SUCCESS",
    1: "ERROR",
    2: "SERVER_EXCEPTION",
    3: "UNKNOWN",
    4: "SERVER_THREADPOOL_BUSY",
    5: "ERROR_COMM",
    6: "NO_PROCESSOR",
    7: "TIMEOUT",
    8: "CLIENT_SEND_ERROR",
    9: "CODEC_EXCEPTION",
    16: "CONNECTION_CLOSED",
    17: "SERVER_SERIAL_EXCEPTION",
    18: "SERVER_DESERIAL_EXCEPTION",
}
CHECKED: Final = 2  # protocol version of v2 frames that may have a checksum
SWITCH_CHECKSUM: Final = 1  # bit of the switch
REQUEST_CLASS: Final = "com.alipay.sofa.rpc.core.request.SofaRequest"
RESPONSE_CLASS: Final = "com.alipay.sofa.rpc.core.response.SofaResponse"
SERVICE_HEADER: Final = b"sofa_head_target_service"
METHOD_HEADER: Final = b"sofa_head_method_name"


def _byte(node: Node) -> Json:
    return node.raw[0]


_HEADERS_FIELD: Final = field("headers")

# Wire forms, and the heads of nodes: the header, then what follows it.
VERSION_FORM: Final[i64] = hint(_byte)
WRONG_FORM: Final[i64] = hint("wrong")
NO_CLASS_FORM: Final[i64] = hint({"class": "absent"})

ROOT: Final[i64] = t.head(t.STRUCT)
VERSION: Final[i64] = t.head(t.INTEGER, field("version"))
PROTOCOL_VERSION: Final[i64] = t.head(t.MARK, field("protocol_version")) | t.HIDDEN
TYPE: Final[i64] = t.head(t.NAMED, field("type", TYPES))
COMMAND: Final[i64] = t.head(t.NAMED, field("command", COMMANDS))
COMMAND_VERSION: Final[i64] = t.head(t.INTEGER, field("command_version"))
ID: Final[i64] = t.head(t.INTEGER, field("id"))
CODEC: Final[i64] = t.head(t.NAMED, field("codec", CODEC_NAMES))
SWITCH: Final[i64] = t.head(t.INTEGER, field("switch"))
TIMEOUT: Final[i64] = t.head(t.INTEGER, field("timeout"))
STATUS: Final[i64] = t.head(t.NAMED, field("status", STATUSES))
LENGTH: Final[i64] = t.head(t.LENGTH, field("length")) | t.HIDDEN

CLASS: Final[i64] = t.head(t.TEXT, field("class"))
HEADERS: Final[i64] = t.head(t.ARRAY, _HEADERS_FIELD)
DAMAGED_HEADERS: Final[i64] = t.head(t.STRUCT, _HEADERS_FIELD)
PAIR: Final[i64] = t.head(t.ARRAY)
TEXT: Final[i64] = t.head(t.TEXT)
NULL_TEXT: Final[i64] = t.head(t.ABSENT)
CONTENT: Final[i64] = t.head(t.STRUCT, field("content"))
VALUES: Final[i64] = t.head(t.ARRAY, field("values"))
CRC: Final[i64] = t.head(t.HEX, field("crc"))
