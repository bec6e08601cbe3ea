"""The members of Bolt's frames in JSON."""

from typing import Final

from wirelens.codecs.bolt import vocabulary as v
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.schema import VALUES
from wirelens.codecs.payload import PROTOCOLS
from wirelens.codecs.schema import (
    DAMAGED,
    PARTIAL,
    WIRE,
    Notation,
    Schema,
    hexadecimal,
    integer,
    other,
    text,
    word,
)

FRAME: Final = Schema(
    "message",
    integer("version", 1, 2, "of the protocol", 1),
    integer("type", 0, 2, usual="a response if it has a status, else a request", names=v.TYPES),
    integer("command", 0, 0xFFFF, usual="request, or response", names=v.COMMANDS),
    integer("command_version", 0, 255, default=1),
    integer("id", 0, 0xFFFFFFFF, "of the request, and of its response", 1),
    integer("codec", 0, 255, "how the content is written", "hessian", names=v.CODEC_NAMES),
    integer("switch", 0, 255, "only of version 2; 1: a checksum follows", usual="1 with crc, else 0"),
    integer("timeout", -1 << 31, (1 << 31) - 1, "milliseconds; only of requests", 0),
    integer("status", 0, 0xFFFF, "only of responses", "SUCCESS", names=v.STATUSES),
    text("class", "the class of the content", usual="that of SOFA's requests, or responses"),
    other("headers", "an array of pairs [name, value], or damaged content", []),
    other("content", "values, JSON, or bytes that are not decoded", usual="empty"),
    word("hessian", PROTOCOLS, "the dialect of content in Hessian", "hessian2-draft"),
    hexadecimal("crc", "the checksum, which is computed", usual="none unless switch asks for it"),
    WIRE,
)
FRAME_WIRE: Final = Schema(
    "$wire of a message",
    integer("protocol_version", 0, 255, "the second byte of version 2", usual="2 with a checksum, else 1"),
    other("class", '"absent": no class before content in Hessian'),
    other("crc", '"wrong": the checksum is written as given'),
)
CONTENT: Final = Schema("content in Hessian", other("values", "an array of values", needed=True))
DATA: Final = Schema(
    "content that is not decoded", *DAMAGED, other("json", "the value of data; not encoded"), PARTIAL
)
JSON: Final = Schema("content in JSON", other("json", "any JSON", needed=True))
HEADERS: Final = Schema("headers that do not decode", *DAMAGED)

SCHEMAS: Final = {
    "bolt": Notation(
        (FRAME, CONTENT, JSON, DATA, HEADERS, FRAME_WIRE),
        {
            "request": {
                "type": "request",
                "id": 7,
                "timeout": 3000,
                "headers": [
                    ["sofa_head_target_service", "com.example.shop.OrderService:1.0"],
                    ["sofa_head_method_name", "find"],
                ],
                "content": {
                    "values": [
                        {
                            "$class": v.REQUEST_CLASS,
                            "targetAppName": None,
                            "methodName": "find",
                            "targetServiceUniqueName": "com.example.shop.OrderService:1.0",
                            "requestProps": {},
                            "methodArgSigs": {"$type": "[string", "$list": ["java.lang.String"]},
                        },
                        "Ada",
                    ]
                },
            },
            "response": {
                "type": "response",
                "status": "SUCCESS",
                "id": 7,
                "content": {
                    "values": [
                        {
                            "$class": v.RESPONSE_CLASS,
                            "isError": False,
                            "errorMsg": None,
                            "appResponse": "found",
                            "responseProps": None,
                        }
                    ]
                },
            },
            "heartbeat": {"type": "request", "command": "heartbeat", "id": 8},
        },
        VALUES[d.DRAFT],
    )
}
