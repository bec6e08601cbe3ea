"""The members of frames of HTTP/2 in JSON."""

from typing import Final

from wirelens.codecs.http2 import vocabulary as v
from wirelens.codecs.schema import (
    FLAGS,
    WIRE,
    Member,
    Notation,
    Schema,
    boolean,
    hexadecimal,
    integer,
    other,
    text,
)

_DERIVED: Final = "; not encoded"

FRAME: Final = Schema(
    "frame",
    boolean("preface", "the client's preface, which is not a frame and has no other member", usual="false"),
    integer("type", 0, 255, "what the frame is", names=v.TYPES, usual="needed but for the preface"),
    Member("flags", FLAGS, default=0, names=v.FLAG_NAMES, high=255),
    boolean("ack", "of SETTINGS and PING: the flag ACK", False),
    integer("stream", 0, v.LAST_STREAM, "the number of the stream, 0 for the connection", 0),
    hexadecimal("data", "of DATA, PING and types without a name", usual="none, of PING eight zeros"),
    hexadecimal("fragment", "the frame's part of a header block", usual="made of headers"),
    hexadecimal("padding", "bytes after the content", usual="none"),
    boolean("exclusive", "of a priority", False),
    integer("depends_on", 0, v.LAST_STREAM, "of a priority: a stream", 0),
    integer("weight", 1, 256, "of a priority", 16),
    integer("error_code", 0, (1 << 32) - 1, "of RST_STREAM and GOAWAY", 0, names=v.ERRORS),
    other("settings", "an array of settings", []),
    integer("promised_stream", 0, v.LAST_STREAM, "of PUSH_PROMISE", 0),
    integer("last_stream", 0, v.LAST_STREAM, "of GOAWAY", 0),
    text("debug", "of GOAWAY", usual="none"),
    integer("increment", 0, v.LAST_STREAM, "of WINDOW_UPDATE", 1),
    other(
        "headers",
        "pairs [name, value] of the header block that ends here, null for what cannot be known; "
        "encoded, without the header table, if there is no fragment",
    ),
    other("headers_error", "why the header block did not decode" + _DERIVED),
    other("header_frames", "offsets of the frames of a header block in several" + _DERIVED),
    other("messages", "messages of gRPC that end here" + _DERIVED),
    other("left_over", "bytes of a message that has no end" + _DERIVED),
    other("status_details", "what grpc-status-details-bin holds" + _DERIVED),
    other("call", "what is known of the stream's call where a side of it ends" + _DERIVED),
    WIRE,
)
SETTING: Final = Schema(
    "setting",
    integer("id", 0, 0xFFFF, "which setting", needed=True, names=v.SETTING_NAMES),
    integer("value", 0, (1 << 32) - 1, needed=True),
)
WIRE_FORMS: Final = Schema(
    "$wire of a frame",
    boolean("reserved", "the reserved bit before the stream is set", False),
    boolean("reserved_payload", "the one in the payload is set", False),
)

PRIORITY: Final = ("exclusive", "depends_on", "weight")
COMMON_MEMBERS: Final = (
    "preface",
    "type",
    "flags",
    "stream",
    "call",
    "header_frames",
    "headers_error",
    "left_over",
    "messages",
    "status_details",
    "$wire",
)
MEMBERS: Final[dict[int, tuple[str, ...]]] = {
    v.DATA: ("data", "padding"),
    v.HEADERS: ("fragment", "padding", "headers", *PRIORITY),
    v.PRIORITY: PRIORITY,
    v.RST_STREAM: ("error_code",),
    v.SETTINGS: ("ack", "settings"),
    v.PUSH_PROMISE: ("promised_stream", "fragment", "padding", "headers"),
    v.PING: ("ack", "data"),
    v.GOAWAY: ("last_stream", "error_code", "debug"),
    v.WINDOW_UPDATE: ("increment",),
    v.CONTINUATION: ("fragment", "headers"),
}
OTHER_MEMBERS: Final = ("data",)

SCHEMAS: Final = {
    "http2": Notation(
        (FRAME, SETTING, WIRE_FORMS),
        {
            "preface": {"preface": True},
            "settings": {"type": "SETTINGS", "settings": [{"id": "MAX_CONCURRENT_STREAMS", "value": 100}]},
            "headers": {
                "type": "HEADERS",
                "flags": "END_HEADERS",
                "stream": 1,
                "headers": [
                    [":method", "POST"],
                    [":scheme", "http"],
                    [":path", "/shop.Orders/Find"],
                    ["content-type", "application/grpc"],
                ],
            },
            "data": {"type": "DATA", "flags": "END_STREAM", "stream": 1, "data": "00000000050a03416461"},
        },
    )
}
