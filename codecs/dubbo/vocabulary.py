"""Dubbo's numbers, names and defaults, and the parts of its messages.

All values of `$wire`:

| where | `$wire` | meaning |
|---|---|---|
| message | `{"status": n}` | a request whose fourth byte, which only responses use, is not 0 |
| body | `{"argument_count": n}` | dubbox: the int after the method; if 0 or more, there is no descriptor |
| body | `{"attachments": "absent"}` | a request that ends after its arguments |
| body | `{"result": …}` | the form of the int that states the kind of result, as of an int |
| body | `{"result": {"bytes": hex}}` | in fastjson2: a kind of result that is not sent as a byte |
"""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.hessian import forms
from wirelens.codecs.node import Json, Node, field, hint

HEADER_SIZE: Final = 16  # bytes
MAGIC: Final = b"\xda\xbb"
# Flags of the third byte; its low five bits are the serialization.
REQUEST_FLAG: Final = 0x80
TWO_WAY_FLAG: Final = 0x40
EVENT_FLAG: Final = 0x20
SERIALIZATION_MASK: Final = 0x1F
MAX_BODY: Final = (1 << 28) - HEADER_SIZE  # bytes; Dubbo's own default limit is 8 MiB

SERIALIZATIONS: Final[dict[int, str]] = {
    1: "dubbo",
    2: "hessian2",
    3: "java",
    4: "compactedjava",
    5: "json",
    6: "fastjson",
    7: "nativejava",
    8: "kryo",
    9: "fst",
    10: "native-hessian",
    11: "avro",
    12: "protostuff",
    16: "gson",
    18: "jackson",
    21: "protobuf-json",
    22: "protobuf",
    23: "fastjson2",
    25: "kryo2",
    27: "msgpack",
    28: "fury",
    31: "custom-messagepack",
}
HESSIAN: Final = (2, 10)  # serializations in Hessian, the usual one first
FASTJSON2: Final = 23
JAVA: Final = (3, 4, 7)  # serializations by Java's ObjectOutputStream
JAVA_HEADER: Final = b"\xac\xed\0\5"
JSON_TEXTS: Final = (5, 6, 16, 18, 21)  # serializations in lines of JSON
OK: Final = 20
STATUSES: Final[dict[int, str]] = {
    OK: "OK",
    25: "SERIALIZATION_ERROR",
    30: "CLIENT_TIMEOUT",
    31: "SERVER_TIMEOUT",
    35: "CHANNEL_INACTIVE",
    40: "BAD_REQUEST",
    50: "BAD_RESPONSE",
    60: "SERVICE_NOT_FOUND",
    70: "SERVICE_ERROR",
    80: "SERVER_ERROR",
    90: "CLIENT_ERROR",
    100: "SERVER_THREADPOOL_EXHAUSTED_ERROR",
}
TYPES: Final[dict[int, str]] = {0: "response", 1: "request"}
# Kinds of a result: without attachments, then with them.
RESULTS: Final[dict[int, str]] = {
    0: "exception",
    1: "value",
    2: "null",
    3: "exception",
    4: "value",
    5: "null",
}
WITH_ATTACHMENTS: Final = 3  # added to a result's kind if attachments follow
DEFAULT_SERVICE_VERSION: Final = "0.0.0"
GENERIC_METHODS: Final = ("$invoke", "$invokeAsync")  # their arguments name the method that is called


def _count_wire(node: Node) -> Json:
    """dubbox's int: its number, or with its form if that is unusual."""
    form = forms.int_form(node.buffer.data, node.tape.start(node.index))
    return node.number if form is None else {"$int": node.number, "$wire": form}


def _status_byte(node: Node) -> Json:
    return node.raw[0]


_STATUS_FIELD: Final = field("status", STATUSES)


def _result_bytes(node: Node) -> Json:
    return {"bytes": node.raw.hex()}


# Wire forms, and the heads of nodes: the header, then the body.
NO_ATTACHMENTS_FORM: Final[i64] = hint({"attachments": "absent"})
RESULT_BYTES: Final[i64] = hint(_result_bytes)

ROOT: Final[i64] = t.head(t.STRUCT)
MAGIC_MARK: Final[i64] = t.head(t.MARK, field("magic")) | t.HIDDEN
TYPE: Final[i64] = t.head(t.NAMED, field("type", TYPES))
TWO_WAY: Final[i64] = t.head(t.BOOLEAN, field("two_way"))
EVENT: Final[i64] = t.head(t.BOOLEAN, field("event"))
SERIALIZATION: Final[i64] = t.head(t.NAMED, field("serialization", SERIALIZATIONS))
STATUS: Final[i64] = t.head(t.NAMED, _STATUS_FIELD)
UNUSED_STATUS: Final[i64] = t.head(t.MARK, _STATUS_FIELD, hint(_status_byte)) | t.HIDDEN
ID: Final[i64] = t.head(t.INTEGER, field("id"))
LENGTH: Final[i64] = t.head(t.LENGTH, field("length")) | t.HIDDEN

BODY: Final[i64] = t.head(t.STRUCT, field("body"))
ARGUMENT_COUNT: Final[i64] = t.head(t.INT, field("argument_count"), hint(_count_wire)) | t.HIDDEN
ARGUMENTS: Final[i64] = t.head(t.ARRAY, field("arguments"))
RESULT: Final[i64] = t.head(t.NAMED, field("result", RESULTS))

# Members of the body that are Hessian values: the fields alone, for a value sets its kind.
DUBBO_VERSION: Final[i64] = field("dubbo_version")
PATH: Final[i64] = field("path")
VERSION: Final[i64] = field("version")
METHOD: Final[i64] = field("method")
PARAMETER_TYPES: Final[i64] = field("parameter_types")
ATTACHMENTS: Final[i64] = field("attachments")
VALUE: Final[i64] = field("value")
ERROR_VALUE: Final[i64] = field("error")
EVENT_VALUE: Final[i64] = field("event")
