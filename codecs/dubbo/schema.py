"""The members of Dubbo's messages in JSON."""

from typing import Final

from wirelens.codecs.dubbo import vocabulary as v
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.schema import VALUES
from wirelens.codecs.payload import PROTOCOLS
from wirelens.codecs.schema import (
    DAMAGED,
    PARTIAL,
    WIRE,
    Notation,
    Schema,
    boolean,
    hexadecimal,
    integer,
    other,
    word,
)

_EXTRA: Final = hexadecimal("extra", "bytes after the last value")
_ATTACHMENTS: Final = other("attachments", "a map of values", {})

MESSAGE: Final = Schema(
    "message",
    integer("type", 0, 1, usual="a response if it has a status or a result, else a request", names=v.TYPES),
    boolean("two_way", "a response is expected", usual="true in a request"),
    boolean("event", "a heartbeat or another event", default=False),
    integer("serialization", 0, 31, "how the body is written", "hessian2", names=v.SERIALIZATIONS),
    integer("status", 0, 255, "only of a response", "OK", names=v.STATUSES),
    integer("id", -1 << 63, (1 << 64) - 1, "of the request, and of its response", 1),
    word("hessian", PROTOCOLS, "the dialect of a body in Hessian", "hessian2"),
    other("body", "a request, a response, an event, an error, or damaged or JSON content", usual="empty"),
    WIRE,
)
MESSAGE_WIRE: Final = Schema(
    "$wire of a message", integer("status", 0, 255, "the fourth byte of a request", default=0)
)
REQUEST: Final = Schema(
    "body of a request",
    other("dubbo_version", "text: the version of Dubbo's protocol", "2.0.2"),
    other("path", "text: the service's name, most often its interface", needed=True),
    other("version", "text: the service's version", v.DEFAULT_SERVICE_VERSION),
    other("method", "text: the method's name", needed=True),
    other("parameter_types", "text: Java's descriptor of the parameters", usual="from the arguments"),
    other("arguments", "an array of values", []),
    _ATTACHMENTS,
    _EXTRA,
    WIRE,
)
REQUEST_WIRE: Final = Schema(
    "$wire of the body of a request",
    other("argument_count", "dubbox: the int after the method; from 0 on, there is no descriptor"),
    other("attachments", '"absent": the request ends after its arguments'),
)
RESPONSE: Final = Schema(
    "body of a response whose status is OK",
    integer(
        "result", 0, 5, "0 to 2 without attachments, 3 to 5 with", usual='"value", or "null"', names=v.RESULTS
    ),
    other("value", "a value: the result or the exception"),
    other("attachments", "a map of values"),
    _EXTRA,
    WIRE,
)
RESPONSE_WIRE: Final = Schema(
    "$wire of the body of a response", other("result", "the form of the kind of result")
)
EVENT: Final = Schema("body of an event", other("event", "a value", usual="null, a heartbeat"), _EXTRA)
ERROR: Final = Schema(
    "body of a response whose status is not OK",
    other("error", "a value: the error's text", usual="null"),
    _EXTRA,
)
DATA: Final = Schema(
    "body that is not decoded", *DAMAGED, other("json", "the values of data; not encoded"), PARTIAL
)
JSON: Final = Schema("body in JSON", other("json", "an array: the value of each line", needed=True))
RESULT_WIRE: Final = Schema(
    "$wire of a result in fastjson2",
    hexadecimal("bytes", "the kind of result, not sent as a byte", needed=True),
)

SCHEMAS: Final = {
    "dubbo": Notation(
        (
            MESSAGE,
            REQUEST,
            RESPONSE,
            ERROR,
            EVENT,
            JSON,
            DATA,
            MESSAGE_WIRE,
            REQUEST_WIRE,
            RESPONSE_WIRE,
            RESULT_WIRE,
        ),
        {
            "request": {
                "type": "request",
                "id": 7,
                "body": {
                    "path": "com.example.shop.OrderService",
                    "version": "1.0.0",
                    "method": "find",
                    "parameter_types": "Ljava/lang/String;J",
                    "arguments": ["Ada", {"$long": 20260117001}],
                    "attachments": {
                        "path": "com.example.shop.OrderService",
                        "interface": "com.example.shop.OrderService",
                        "version": "1.0.0",
                        "timeout": "3000",
                    },
                },
            },
            "response": {
                "type": "response",
                "status": "OK",
                "id": 7,
                "body": {
                    "result": "value",
                    "value": {
                        "$class": "com.example.shop.Order",
                        "id": {"$long": 20260117001},
                        "buyer": "Ada",
                    },
                    "attachments": {"dubbo": "2.0.2"},
                },
            },
            "exception": {
                "type": "response",
                "status": "OK",
                "id": 7,
                "body": {
                    "result": "exception",
                    "value": {"$class": "java.lang.IllegalStateException", "detailMessage": "sold out"},
                },
            },
            "error": {
                "type": "response",
                "status": "SERVICE_NOT_FOUND",
                "id": 7,
                "body": {"error": "no provider for com.example.shop.OrderService"},
            },
            "heartbeat": {"type": "request", "event": True, "id": 8, "body": {"event": None}},
        },
        VALUES[d.FINAL],
    )
}
